//! Copies of a database that is being served.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use harness::app::TestApp;
use placet_disk::query;
use serde_json::json;
use store::Database;

/// A backup that is made while the server works must open, must be whole, and must hold everything that the server had confirmed
/// before the backup began.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_made_under_load_is_whole_and_has_all_that_came_before() {
    let app = TestApp::start().await;
    let agent = app.agent();
    let titles = AtomicUsize::new(0);
    let create = async || {
        let title = titles.fetch_add(1, Ordering::SeqCst).to_string();
        agent.post("api/v1/intents", json!({"title": title, "status": "active"})).await.ok();
        title
    };
    for round in 0..3 {
        let (_, id) = app.ask(json!({})).await;
        let promised = join_all((0..20).map(|_| create())).await;
        let (from, to) = (app.folder().join("placet.db"), app.folder().join(format!("copy-{round}.db")));
        let sql = format!("VACUUM INTO '{}'", to.display());
        let copying = tokio::task::spawn_blocking(move || query(&from, &sql));
        let mut beside = 0;
        while !copying.is_finished() || beside == 0 {
            beside += join_all((0..4).map(|_| create())).await.len();
        }
        assert_eq!(copying.await.unwrap(), Ok(vec![]));
        assert_eq!(query(&to, "PRAGMA integrity_check"), Ok(vec!["ok".to_owned()]));

        let copy = TestApp::start_with(|config| config.database = Database::Sqlite(to)).await;
        let listed = copy.agent().get("api/v1/intents?limit=1000").await.ok();
        for title in &promised {
            let there = listed["intents"].as_array().unwrap().iter().any(|intent| intent["title"] == json!(title));
            assert!(there, "{title} was promised before the copy was begun");
        }
        assert_eq!(copy.agent().suspension(&id).await["resolution"], json!(null));
        copy.finish().await; // Every chain verifies.
    }
    app.finish().await;
}
