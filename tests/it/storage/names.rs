//! A database file that gets a second name, loses its name or is replaced while it is open (SQLite).

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::base::ids::IntentId;
use harness::app::{Backend, TestApp};
use serde_json::json;
use store::host::clock::{SystemClock, SystemEntropy};
use store::sqlite::{Exclusive, SqliteStore, beside};
use store::{Store as _, Surroundings};

/// Opens the file as a server or as a command beside one, and returns the error, if any.
async fn refusal(path: &Path, exclusive: Exclusive) -> Option<String> {
    let outside = Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
    match SqliteStore::open(path, exclusive, outside) {
        Ok(store) => {
            store.close().await;
            None
        }
        Err(error) => Some(format!("{error:#}")),
    }
}

/// A way to remove a file's name, and the words of the error that follows.
type Loss = (fn(&Path), &'static str);

fn moved_away(path: &Path) {
    fs::rename(path, away(path)).unwrap();
}

fn replaced(path: &Path) {
    moved_away(path);
    fs::copy(away(path), path).unwrap();
}

fn away(path: &Path) -> PathBuf {
    beside(path, ".away")
}

/// Checks that the server is not ready and refuses writes, but still runs.
async fn assert_refuses_writes(app: &TestApp, id: &str, intent: IntentId, why: &str) {
    // This is the check behind `/readyz`, which answers 503 in these tests anyway because no worker loop runs.
    assert!(app.store().probe().await.is_err(), "{why}");
    let answer = app.operator().respond(intent, id, "approve").await;
    let asked = app.agent().post("api/v1/intents", json!({"title": "Refund?"})).await;
    assert_eq!((answer.status, asked.status), (503, 503), "{why}: {}", answer.text);
    assert_eq!(app.anonymous().get("healthz").await.status, 200, "the process lives");
}

/// Two servers on one file would each keep a log, and the second would overwrite answers that the first had accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_with_two_names_is_opened_under_neither() {
    let app = TestApp::start_on(Backend::Sqlite, |_| {}).await;
    let path = app.folder().join("placet.db");
    let (intent, id) = app.agent().ask(json!({})).await;
    let other = tempfile::tempdir_in(app.folder()).unwrap();
    let link = other.path().join("other.db");
    fs::hard_link(&path, &link).unwrap();
    for name in [&path, &link] {
        let refused = refusal(name, Exclusive::Beside).await.unwrap();
        assert!(refused.contains("has 2 names (hard links)") && refused.contains("remove the others"), "{refused}");
    }
    let refused = refusal(&link, Exclusive::Serve).await.unwrap();
    assert!(refused.contains("has 2 names"), "{refused}");
    assert_refuses_writes(&app, &id, intent, "a second name").await;
    fs::remove_file(&link).unwrap();
    app.store().probe().await.expect("nothing is left to refuse");
    app.operator().respond(intent, &id, "approve").await.ok();
    // A symbolic link is no second name: it leads to the same file and so to the same lock.
    let symbolic = app.folder().join("symbolic.db");
    std::os::unix::fs::symlink(&path, &symbolic).unwrap();
    let refused = refusal(&symbolic, Exclusive::Serve).await.unwrap();
    assert!(refused.contains("another placet serves"), "{refused}");
    app.finish().await;
}

/// Writes to a file that has lost its name would be lost at the next start, although the server had confirmed them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_files_are_gone_or_replaced_takes_no_write() {
    let losses: [Loss; 2] = [(moved_away, "deleted or moved"), (replaced, "replaced")];
    for ending in ["", "-wal", "-shm", ".serve-lock"] {
        for (lose, said) in losses {
            let app = TestApp::start_on(Backend::Sqlite, |_| {}).await;
            let (intent, id) = app.agent().ask(json!({})).await;
            let file = beside(&app.folder().join("placet.db"), ending);
            lose(&file);
            let failed = app.store().probe().await.unwrap_err().to_string();
            assert!(failed.contains(said) && failed.contains("stop the server"), "{ending}: {failed}");
            assert_refuses_writes(&app, &id, intent, said).await;
            // Even after the file is put back, open connections may lead to another file, so the server must be restarted.
            fs::rename(away(&file), &file).unwrap();
            assert_refuses_writes(&app, &id, intent, "put back").await;
            app.discard().await;
        }
    }
}
