//! A server that is killed while one event wakes many, or one broadcast pauses many: the repeated call does the rest, and nothing twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use harness::api::{Api, Reply};
use harness::process::{PATIENCE, Running};
use harness::receiver::{Receiver, SECRET};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::kill_points::{Doomed, died};

/// How many intents wait for one event, and how many a broadcast pauses: many more than one commit takes.
const MANY: usize = 200;
/// How many of them are read or written at once by the test itself.
const AT_ONCE: usize = 16;
/// Where the server dies: before the commit, behind it, and between two jobs of one, each time with many intents done and many left.
const POINTS: [&str; 3] = ["before-commit:6", "after-commit:6", "within-batch:40"];
/// How long a server leases a message about a wake.
const LEASE: Duration = Duration::from_mins(1);
/// How often the server is killed from outside.
const KILLS: usize = 3;

/// How a server comes to its end.
#[derive(Clone, Copy)]
enum Death {
    /// By itself, at a point.
    At(&'static str),
    /// By SIGKILL, once this intent is done.
    Killed(usize),
}

fn deaths() -> Vec<Death> {
    let killed = (0..KILLS).map(|number| Death::Killed(number * MANY / 4));
    POINTS.into_iter().map(Death::At).chain(killed).collect()
}

/// Calls a server that does not live to answer. Returns once it is dead.
async fn interrupted(doomed: &Doomed, server: Running, death: Death, call: impl Future<Output = ()>, watched: &[String]) {
    match death {
        Death::At(_) => {
            doomed.arm();
            call.await;
            died(server).await;
            doomed.disarm();
        }
        Death::Killed(number) => {
            let kill = async {
                while done(&doomed.reader, &watched[number]).await.is_none() {}
                server.kill().await;
            };
            tokio::join!(call, kill);
        }
    }
}

/// A server that dies in this way, whose endpoint is told of wakes.
async fn serve(doomed: &Doomed, file: &Path, death: Death) -> Running {
    match death {
        Death::At(point) => doomed.serve_with(point, file).await,
        Death::Killed(_) => doomed.serve_with("none", file).await,
    }
}

/// The ids of what `make` returns for each of many.
async fn many(make: impl AsyncFn() -> String) -> Vec<String> {
    stream::iter(0..MANY).map(|_| make()).buffered(AT_ONCE).collect().await
}

/// A new intent; returns its id.
async fn active(agent: &Api) -> String {
    agent.active_intent().await.to_string()
}

/// Parks a new intent; returns the id of the suspension.
async fn parked(agent: &Api, event: &str) -> String {
    let body = json!({"reason": "Waiting for the build.", "conditions": {"on_event": event}});
    let record = agent.post(&format!("api/v1/intents/{}/park", active(agent).await), body).await.ok();
    record["id"].as_str().unwrap().to_owned()
}

/// The reason for which a stop is over, or for which an intent is blocked; `None` as long as nothing has happened.
async fn done(reader: &Api, id: &str) -> Option<Value> {
    let record = reader.get(&format!("api/v1/suspensions/{id}")).await;
    let found = if record.status == 200 {
        record.ok()["cause"].clone()
    } else {
        reader.get(&format!("api/v1/intents/{id}")).await.ok()["blocked_reason"].clone()
    };
    Some(found).filter(|found| !found.is_null())
}

async fn count_done(reader: &Api, ids: &[String]) -> usize {
    let found: Vec<_> = stream::iter(ids).map(|id| done(reader, id)).buffered(AT_ONCE).collect().await;
    found.into_iter().flatten().count()
}

/// How often an event of this type is in the log of each intent.
async fn times(reader: &Api, intents: &[String], event_type: &str) -> BTreeSet<usize> {
    let count = async |id: &String| {
        let types = reader.event_types(id.parse().unwrap()).await;
        types.iter().filter(|name| *name == event_type).count()
    };
    stream::iter(intents).map(count).buffered(AT_ONCE).collect().await
}

/// Waits until the endpoint was told of each of these stops; returns the ids of the messages about each. A message that a dead server had
/// leased leaves when the lease ends.
async fn told(receiver: &Receiver, stops: &[String]) -> BTreeMap<String, BTreeSet<String>> {
    let (mut told, until) = (BTreeMap::<String, BTreeSet<String>>::new(), Instant::now() + LEASE + PATIENCE);
    while told.len() < stops.len() {
        assert!(Instant::now() < until, "the endpoint was told of {} of {}", told.len(), stops.len());
        for posted in receiver.posted() {
            // A server that is killed while it posts leaves a message without its end, which it sends again.
            let Ok(message) = serde_json::from_slice::<Value>(&posted.body) else { continue };
            let id = message["data"]["suspension_id"].as_str().unwrap().to_owned();
            told.entry(id).or_default().insert(posted.headers["webhook-id"].clone());
        }
        sleep(Duration::from_millis(20)).await;
    }
    told
}

/// Wherever the server dies, the same event under the same key wakes those that are left. Each is woken once, and its endpoint gets one
/// message about it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_a_crash_breaks_off_wakes_the_rest_once() {
    let (doomed, receiver) = (Doomed::new().await, Receiver::start().await);
    let file = doomed.site.folder().join("wakes.toml");
    let endpoint = format!("url = '{}'\nsecret = '{SECRET}'\nallow_subnets = ['127.0.0.0/8']", receiver.url());
    std::fs::write(&file, format!("[[wake.webhook]]\n{endpoint}\n")).unwrap();
    let operator = doomed.site.api("operator", "operator").await;
    let (mut all, mut broken_off) = (Vec::new(), 0);
    for (round, death) in deaths().into_iter().enumerate() {
        let name = format!("build.{round}");
        let tell = async || {
            let call = operator.request("POST", "api/v1/events").header("idempotency-key", &name);
            operator.try_send(call.json(&json!({"name": name, "payload": {"build": round}}))).await
        };
        let server = serve(&doomed, &file, death).await;
        let stops = many(async || parked(&doomed.agent, &name).await).await;
        // The newest ones are woken first.
        let newest: Vec<String> = stops.iter().rev().cloned().collect();
        let call = async {
            if let Ok(reply) = tell().await {
                assert!(matches!(death, Death::Killed(_)), "the server was to die before it answers: {reply:?}");
            }
        };
        interrupted(&doomed, server, death, call, &newest).await;

        let server = doomed.serve_with("none", &file).await;
        let woken = count_done(&doomed.reader, &stops).await;
        broken_off += usize::from((1..MANY).contains(&woken));
        // An agent that parks itself only now waits for the next event.
        let later = parked(&doomed.agent, &name).await;
        for _ in 0..2 {
            assert_eq!(tell().await.unwrap().ok(), json!({"woken": MANY}), "{woken} were woken before");
        }
        assert_eq!(done(&doomed.reader, &later).await, None);
        assert_eq!(count_done(&doomed.reader, &stops).await, MANY);
        let intents: Vec<String> = stream::iter(&stops)
            .map(async |id| doomed.reader.suspension(id).await["intent_id"].as_str().unwrap().to_owned())
            .buffered(AT_ONCE)
            .collect()
            .await;
        assert_eq!(times(&doomed.reader, &intents, "lifecycle.resumed").await, BTreeSet::from([1]));
        all.extend(stops);
        server.kill().await;
    }
    // A kill from outside may come when all are woken; the server's own deaths come before.
    assert!(broken_off >= POINTS.len(), "only {broken_off} events were broken off");
    let _server = doomed.serve_with("none", &file).await;
    let told = told(&receiver, &all).await;
    assert_eq!(told.keys().cloned().collect::<BTreeSet<_>>(), all.into_iter().collect());
    assert!(told.values().all(|messages| messages.len() == 1), "a message that is sent again keeps its id: {told:?}");
}

/// Wherever the server dies, the repeated broadcast pauses those that are left, and says so of each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broadcast_that_a_crash_breaks_off_pauses_the_rest_once() {
    let doomed = Doomed::new().await;
    let file = doomed.site.folder().join("none.toml");
    std::fs::write(&file, "").unwrap();
    let admin = doomed.site.api("admin", "admin").await;
    let mut broken_off = 0;
    for death in deaths() {
        let server = serve(&doomed, &file, death).await;
        let intents = many(async || active(&doomed.agent).await).await;
        let pause = async || {
            let call = admin.request("POST", "api/v1/suspensions:broadcast");
            admin.try_send(call.json(&json!({"ids": intents}))).await
        };
        let call = async {
            if let Ok(reply) = pause().await {
                assert!(matches!(death, Death::Killed(_)), "the server was to die before it answers: {reply:?}");
            }
        };
        interrupted(&doomed, server, death, call, &intents).await;

        let server = doomed.serve_with("none", &file).await;
        let paused = count_done(&doomed.reader, &intents).await;
        broken_off += usize::from((1..MANY).contains(&paused));
        let outcomes = |reply: Reply| {
            let mut counts = BTreeMap::<String, usize>::new();
            for result in reply.ok()["results"].as_array().unwrap() {
                *counts.entry(result["outcome"].as_str().unwrap().to_owned()).or_default() += 1;
            }
            counts
        };
        let counts = outcomes(pause().await.unwrap());
        let count = |outcome: &str| counts.get(outcome).copied().unwrap_or_default();
        assert_eq!((count("already_suspended"), count("suspended")), (paused, MANY - paused));
        assert_eq!(outcomes(pause().await.unwrap()), BTreeMap::from([("already_suspended".to_owned(), MANY)]));
        assert_eq!(times(&doomed.reader, &intents, "lifecycle.paused").await, BTreeSet::from([1]));
        server.kill().await;
    }
    assert!(broken_off >= POINTS.len(), "only {broken_off} broadcasts were broken off");
}
