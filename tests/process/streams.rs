//! The refusals of the OpenIntent client's streams, which are held back because that client asks again at once.

use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::Site;

/// How long a refusal is held.
const HELD_FOR: Duration = Duration::from_secs(5);
/// An id that no intent has.
const NOBODYS: &str = "019ab0f2-0000-7000-8000-000000000000";

/// If the server refused a stream at once, the OpenIntent client would ask again at once: each agent up to fifty times a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_stream_is_held_for_five_seconds() {
    let site = Site::development();
    let server = site.serve().await;
    let (_, key) = site.key("agent", "bot").await;
    let requests = [
        ("agents/other", Some(&*key), 404),
        ("portfolios/1", Some(&key), 404),
        ("intents/1", None, 401),
        ("agents/bot", Some("no key"), 401),
    ];
    let base = site.base();
    let asked = requests.map(|(path, key, status)| {
        let api = Api::new(&base, key);
        async move {
            let began = Instant::now();
            let reply = api.get(&format!("api/v1/{path}/subscribe")).await;
            assert_eq!(reply.status, status, "{path}: {}", reply.text);
            assert!(began.elapsed() >= HELD_FOR, "{path} was refused after {:?}", began.elapsed());
        }
    });
    futures_util::future::join_all(asked).await;
    // Other routes that this server does not have are refused at once, because their clients do not ask again.
    let began = Instant::now();
    assert_eq!(Api::new(&base, Some(&key)).get(&format!("api/v1/intents/{NOBODYS}/channels")).await.status, 501);
    assert!(began.elapsed() < HELD_FOR);
    // A server that stops does not wait until it has sent the refusals that it holds back.
    let api = Api::new(&base, Some(&key));
    let began = Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.signal("TERM").await;
    };
    let (held, ()) = tokio::join!(api.try_send(api.request("GET", "api/v1/agents/other/subscribe")), stop);
    assert!(held.is_err(), "that client asks again at once after an answer, and pauses after a broken connection");
    server.finish().await.succeeded();
    assert!(began.elapsed() < HELD_FOR, "the stop took {:?}", began.elapsed());
}
