//! A server over HTTP on a disk that is full or whose syncs fail.

use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::future::join_all;
use harness::app::TestApp;
use placet_disk::{Disk, FailedPages, Syncs, Weather};
use serde_json::json;
use store::Database;

/// A server whose database is on a simulated disk.
async fn on_a_disk(seed: u64) -> (TestApp, Arc<Disk>) {
    let mut disk = None;
    let app = TestApp::start_with(|config| {
        let Database::Sqlite(path) = &config.database else { panic!("the disk is SQLite's") };
        disk = Some(Disk::mount(path.parent().unwrap(), seed));
    })
    .await;
    (app, disk.unwrap())
}

/// Creates intents at once. Returns the titles of the acknowledged ones and the number of refused ones.
async fn create(app: &TestApp, titles: impl Iterator<Item = String>) -> (Vec<String>, usize) {
    let agent = app.agent();
    let titles: Vec<String> = titles.collect();
    let replies = join_all(titles.iter().map(async |title| {
        let body = json!({"title": title, "status": "active"});
        let request = agent.request("POST", "api/v1/intents").header("idempotency-key", title).json(&body);
        agent.try_send(request).await.unwrap()
    }));
    let mut acknowledged = Vec::new();
    for (title, reply) in titles.iter().zip(replies.await) {
        if reply.status == 503 {
            assert_eq!((reply.problem().1, reply.headers.contains_key("retry-after")), ("unavailable", true), "{}", reply.text);
        } else {
            reply.ok();
            acknowledged.push(title.clone());
        }
    }
    let refused = titles.len() - acknowledged.len();
    (acknowledged, refused)
}

/// The titles of all intents, sorted.
async fn titles(app: &TestApp) -> Vec<String> {
    let listed = app.agent().get("api/v1/intents?limit=1000").await.ok();
    let titles = listed["intents"].as_array().unwrap().iter();
    let mut titles: Vec<String> = titles.map(|intent| intent["title"].as_str().unwrap().to_owned()).collect();
    titles.sort_unstable();
    titles
}

async fn is_ready(app: &TestApp) -> bool {
    app.anonymous().get("readyz").await.status == 200
}

/// On a full disk the server must not acknowledge a write that it does not keep, even if several writes share one commit. When
/// there is space again, the server goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_writes_are_refused_reads_go_on_and_room_is_enough() {
    let (app, disk) = on_a_disk(1).await;
    let (intent, id) = app.ask(json!({})).await;
    let link = app.next_link().await;
    let mut promised = titles(&app).await;

    disk.set(Weather { room: Some(disk.used() + 200_000), ..Weather::FINE });
    let mut refused = 0;
    for round in 0..20 {
        let (acknowledged, more) = create(&app, (0..32).map(|number| format!("round {round}, intent {number}"))).await;
        promised.extend(acknowledged);
        refused += more;
        if refused > 100 {
            break;
        }
    }
    assert!(refused > 100, "the disk was never full");
    // Writes that were rolled back have left room in the log for a small write. Without any room each write is refused.
    disk.set(Weather { room: Some(0), ..Weather::FINE });
    assert_eq!(create(&app, std::iter::once("too much".to_owned())).await, (vec![], 1));
    assert_eq!(app.operator().respond(intent, &id, "approve").await.status, 503);
    app.clock.jump(TimeDelta::seconds(30));
    assert!(app.deadlines().run_due().await.is_err(), "the loop knows, and tries again");
    assert!(!is_ready(&app).await, "/readyz reports that the server is not ready");
    assert_eq!(app.anonymous().get("healthz").await.status, 200);
    assert_eq!(app.agent().status(intent).await, "suspended_awaiting_input");
    assert_eq!(
        app.anonymous().get(link.strip_prefix(&app.base).unwrap()).await.status,
        200,
        "a person can still read the question"
    );

    disk.set(Weather::FINE);
    app.settle().await;
    assert!(is_ready(&app).await, "room is all it takes");
    assert_eq!(app.person().answer(&link, "approve").await.heading(), "Your answer was recorded");
    promised.extend(create(&app, std::iter::once("after".to_owned())).await.0);
    promised.sort_unstable();
    assert_eq!(titles(&app).await, promised, "what was promised is there, what was refused is not");
    app.finish().await;
}

/// After a failed sync the contents of the disk are unknown. The commit is therefore refused, and no later acknowledgement may
/// rely on it, whatever the kernel kept: neither in the same process nor after a crash or a power cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_promise_rests_on_a_sync_that_failed() {
    for failed_pages in [FailedPages::Kept, FailedPages::Dropped] {
        for crash in [false, true] {
            let (mut app, disk) = on_a_disk(7).await;
            let (mut promised, _) = create(&app, std::iter::once("before".to_owned())).await;

            disk.set(Weather { syncs: Syncs::Failing(100), failed_pages, ..Weather::FINE });
            let unsure: Vec<String> = (0..8).map(|number| format!("unsure {number}")).collect();
            assert_eq!(create(&app, unsure.iter().cloned()).await, (vec![], 8), "no write is acknowledged");
            assert!(!is_ready(&app).await);
            assert_eq!(titles(&app).await, promised, "reading goes on, and shows nothing that was refused");

            disk.set(Weather::FINE);
            if crash {
                disk.kill();
                app.restart().await;
            }
            app.settle().await;
            assert!(is_ready(&app).await);
            promised.extend(create(&app, (0..4).map(|number| format!("after {number}"))).await.0);
            disk.cut();
            app.restart().await;
            let there = titles(&app).await;
            for title in &promised {
                assert!(there.contains(title), "{title} is lost: {failed_pages:?}, crash: {crash}");
            }
            // A refused write may have been done or not. Sending it again is safe and leaves it done once.
            promised.extend(create(&app, unsure.iter().cloned()).await.0);
            promised.sort_unstable();
            assert_eq!(titles(&app).await, promised);
            app.finish().await;
        }
    }
}
