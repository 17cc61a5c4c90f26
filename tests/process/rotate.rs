//! `placet keys rotate-log`, beside a server that runs.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use harness::process::{PATIENCE, Site};
use proof::checkpoint::TreeHead;
use proof::key::{KeyFile, VerifyingKey};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::export::{export, key_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_is_replaced_beside_the_server_and_the_old_one_still_leads_to_the_log() {
    let site = Site::development();
    let rotate = |more: &[&str]| site.command([&["keys", "rotate-log"], more].concat());
    site.run(rotate(&[])).await.refused(&["there is no database at"]);
    let (_, auditor) = site.key("auditor", "carol").await;
    site.run(rotate(&[])).await.refused(&["this log has no key yet"]);
    let server = site.serve().await;
    let log = site.folder().join("before.jsonl");
    export(&site, &auditor, &log, &[]).await.succeeded();
    let first = key_of(&std::fs::read_to_string(&log).unwrap());

    site.run(rotate(&["--log-key-file", "/nowhere"])).await.refused(&["failed to read the key file /nowhere"]);
    let done = site.run(rotate(&[])).await;
    let second = done.succeeded().trim().to_owned();
    assert!(second.parse::<VerifyingKey>().is_ok() && second != first, "the new key alone is printed: {done:?}");
    assert!(done.stderr.contains(&first) && done.stderr.contains("each witness"), "{done:?}");

    // The server notices at its next turn, without a restart, and signs what happens from then on.
    let admin = site.api("admin", "root").await;
    let newest = async {
        loop {
            admin.post("api/v1/portfolios", json!({"name": "a portfolio"})).await;
            let note = admin.get("api/v1/checkpoints?limit=1").await.body[0]["note"].as_str().unwrap_or_default().to_owned();
            if TreeHead::verify(&note, &[second.parse().unwrap()]).is_ok() {
                return;
            }
            sleep(Duration::from_millis(200)).await;
        }
    };
    timeout(PATIENCE, newest).await.expect("a checkpoint with the new key");
    let log = site.folder().join("after.jsonl");
    export(&site, &auditor, &log, &[]).await.succeeded();
    server.kill().await;
    for (key, words) in [(&first, "A key that you trust has named the key"), (&second, "")] {
        let verified = site.run(site.command(["verify", "--key", key, log.to_str().unwrap()])).await;
        assert!(verified.succeeded().starts_with("VERIFIED") && verified.stdout.contains(words), "{verified:?}");
    }
    let text = std::fs::read_to_string(&log).unwrap();
    let changed = site.folder().join("changed.jsonl");
    std::fs::write(&changed, text.replacen("\"signature\":\"", "\"signature\":\"AAAA", 1)).unwrap();
    for (file, code, words) in [(&log, 0, "verified  "), (&changed, 1, "not_verified")] {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verifier/verify.py");
        let mut python = tokio::process::Command::new("python3");
        python.args([script, "--key", &first, file.to_str().unwrap()]);
        let done = site.run(python).await;
        assert!(done.status.code() == Some(code) && done.stdout.starts_with(words), "the other verifier agrees: {done:?}");
        let ours = site.run(site.command(["verify", "--key", &first, file.to_str().unwrap()])).await;
        assert_eq!(ours.status.code(), Some(code), "{ours:?}");
    }
    assert!(!site.serve().await.errors().contains("signs no checkpoints"));
}

/// With the key file and a copy of the database, another user of the machine could sign in the name of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_key_file_that_others_can_read_is_told() {
    let site = Site::development();
    let server = site.serve().await;
    server.signal("TERM").await;
    server.finish().await.succeeded();
    for (name, mode, is_told) in [("closed", 0o600, false), ("open", 0o644, true)] {
        let next = site.folder().join(name);
        std::fs::write(&next, KeyFile::write(&[7; 32])).unwrap();
        std::fs::set_permissions(&next, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut rotate = site.command(["keys", "rotate-log", "--new-key-file", next.to_str().unwrap()]);
        if name == "open" {
            rotate.env("PLACET_LOG_KEY_FILE", site.folder().join("closed"));
        }
        let done = site.run(rotate).await;
        assert!(done.succeeded().trim().parse::<VerifyingKey>().is_ok(), "{done:?}");
        assert_eq!(done.stderr.contains("others can read the key file of the log"), is_told, "{done:?}");
    }
}
