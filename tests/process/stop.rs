//! Stopping: requests under way are finished, no new ones are taken, and no client waits longer than promised.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::{Running, Site};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest a server takes to stop.
const STOPPED_WITHIN: Duration = Duration::from_secs(25);
/// "At once", on a machine that runs other tests.
const AT_ONCE: Duration = Duration::from_secs(3);
/// How long a body may take to arrive.
const BODY_WAIT: Duration = Duration::from_secs(10);

/// A connection that sends the given bytes, one by one.
struct Slow(TcpStream);

impl Slow {
    async fn connect(site: &Site) -> std::io::Result<Self> {
        let address = site.base().trim_start_matches("http://").trim_end_matches('/').to_owned();
        TcpStream::connect(address).await.map(Self)
    }

    /// Sends the head of a request that creates an intent, and the first half of its body; returns the other half.
    async fn half_a_request(&mut self, key: &str) -> String {
        let body = json!({"title": "slow", "status": "active"}).to_string();
        let (first, second) = body.split_at(body.len() / 2);
        let head = format!(
            "POST /api/v1/intents HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.0.write_all(format!("{head}{first}").as_bytes()).await.unwrap();
        second.to_owned()
    }

    /// All bytes until the server hangs up.
    async fn rest(&mut self) -> String {
        let mut answer = String::new();
        match self.0.read_to_string(&mut answer).await {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
        }
        answer
    }
}

/// A question, and a task that waits for its answer.
async fn waiting(site: &Site, agent: &Api) -> tokio::task::JoinSet<(u16, Value)> {
    let intent = agent.active_intent().await;
    let suspension = agent.asked(intent).await;
    let (api, mut task) = (agent.clone(), tokio::task::JoinSet::new());
    task.spawn(async move {
        let reply = api.get(&format!("api/v1/suspensions/{suspension}?wait=50")).await;
        (reply.status, reply.body)
    });
    // The test cannot see whether the waiting request has arrived. The reply to a later request is a good sign of it.
    assert_eq!(Api::new(&site.base(), None).get("readyz").await.status, 200);
    tokio::time::sleep(Duration::from_millis(300)).await;
    task
}

async fn ends_well(server: Running, signalled: Instant) {
    let ended = server.finish().await;
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(signalled.elapsed() < STOPPED_WITHIN, "{:?}", signalled.elapsed());
}

/// A new version is rolled out while agents wait and people answer. Both must get an answer that they can use, and no client may
/// be let in to a server that is about to stop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_waits_finishes_requests_and_lets_nobody_in() {
    for signal in ["TERM", "INT"] {
        let site = Site::development();
        let agent = site.api("agent", "agent").await;
        let server = site.serve().await;
        let mut wait = waiting(&site, &agent).await;
        let mut slow = Slow::connect(&site).await.unwrap();
        let rest = slow.half_a_request(agent.key()).await;
        tokio::time::sleep(Duration::from_millis(300)).await;

        server.signal(signal).await;
        let signalled = Instant::now();
        let (status, record) = timeout(AT_ONCE, wait.join_next()).await.expect("the wait goes on").unwrap().unwrap();
        assert_eq!((status, &record["resolution"]), (200, &json!(null)), "a wait ends with what there is");
        if let Ok(mut late) = Slow::connect(&site).await {
            // The system may still accept the connection, but the server must not serve it.
            late.half_a_request(agent.key()).await;
            assert_eq!(late.rest().await, "", "a new connection was served");
        }
        slow.0.write_all(rest.as_bytes()).await.unwrap();
        let answer = slow.rest().await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "a request under way was cut off: {answer:?}");
        ends_well(server, signalled).await;

        let _next = site.serve().await;
        let intents = agent.get("api/v1/intents").await.ok();
        let titles: Vec<_> = intents["intents"].as_array().unwrap().iter().map(|intent| &intent["title"]).collect();
        assert!(titles.contains(&&json!("slow")), "what was acknowledged while stopping is kept: {titles:?}");
    }
}

/// A client that never finishes must not keep the server from stopping.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_can_hold_up_a_stop() {
    let site = Site::development();
    let agent = site.api("agent", "agent").await;
    let server = site.serve().await;
    let mut silent = Slow::connect(&site).await.unwrap();
    silent.0.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
    let mut half = Slow::connect(&site).await.unwrap();
    half.half_a_request(agent.key()).await;
    let idle = Api::new(&site.base(), None); // It keeps its connection for more requests.
    assert_eq!(idle.get("healthz").await.status, 200);
    server.signal("TERM").await;
    ends_well(server, Instant::now()).await;
}

/// Slow clients are cheap to make: each of them costs the server a little, for a time that must end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_or_a_head_that_does_not_come_is_cut_off_after_ten_seconds() {
    let site = Site::development();
    let agent = site.api("agent", "agent").await;
    let _server = site.serve().await;
    let mut half = Slow::connect(&site).await.unwrap();
    let mut silent = Slow::connect(&site).await.unwrap();
    half.half_a_request(agent.key()).await;
    silent.0.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
    let started = Instant::now();
    let timed = async |slow: &mut Slow| {
        let answer = slow.rest().await;
        (answer, started.elapsed())
    };
    let both = async { tokio::join!(timed(&mut half), timed(&mut silent)) };
    let both = timeout(BODY_WAIT + AT_ONCE, both).await.expect("a slow client is still served");
    for (answer, after) in [both.0, both.1] {
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer:?}");
        assert!(after + Duration::from_millis(500) >= BODY_WAIT, "cut off after {after:?}: some networks are slow");
    }
}
