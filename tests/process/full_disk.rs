//! A whole server on a small file system that fills up. Where the system lets nobody mount one, this says so and proves nothing.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use harness::api::Api;
use harness::bench::{circumstances, percentile};
use harness::process::{Running, Site, program};
use harness::smtp::SmtpSink;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::sleep;

use super::startup::assert_kept;

/// Mounts 8 MiB over the data folder, for itself alone, makes a key outside of it, and becomes the server.
const SCRIPT: &str = "mount -t tmpfs -o size=8m none \"$1\" && \"$0\" keys create --role agent --name asker --json >agent-key && exec \"$0\" serve";
/// How long the server may take to find that there is room.
const READY_AFTER_MAX: Duration = Duration::from_secs(20);

/// Whether somebody without rights may mount something only they see.
async fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).output().await;
    tried.is_ok_and(|tried| tried.status.success())
}

async fn serve(site: &Site) -> (Running, Api) {
    let data = site.database().parent().unwrap().to_owned();
    std::fs::create_dir_all(&data).unwrap();
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", SCRIPT]).arg(program()).arg(&data).current_dir(site.folder());
    for (name, value) in site.command(["serve"]).as_std().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut server = site.start(command);
    server.line_with("Placet listens on ").await;
    let key: Value = serde_json::from_slice(&std::fs::read(site.folder().join("agent-key")).unwrap()).unwrap();
    let agent = Api::new(&site.base(), Some(key["key"].as_str().unwrap()));
    (server, agent)
}

/// The real thing once, with a kernel that says ENOSPC, also to the memory connections share, where it could be a SIGBUS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_a_small_file_system_outlives_that_it_is_full() {
    if !may_mount().await {
        println!("skipped: this system does not let `unshare -rm mount` work");
        return;
    }
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (server, agent) = serve(&site).await;
    let create = async |title: &str| agent.post("api/v1/intents", json!({ "title": title, "status": "active" })).await;
    create("before").await.ok();

    let ballast = format!("/proc/{}/root{}/ballast", server.id(), site.database().parent().unwrap().display());
    let mut file = File::create(&ballast).unwrap();
    while file.write_all(&[1; 4_096]).is_ok() {}
    let mut promised = vec!["before".to_owned()];
    let mut refused = Vec::new();
    for number in 0..200 {
        let title = format!("intent {number}");
        let asked = Instant::now();
        let reply = create(&title).await;
        if reply.status == 503 {
            assert!(reply.headers.contains_key("retry-after"), "{}", reply.text);
            refused.push(asked.elapsed().as_secs_f64() * 1_000.0);
        } else {
            reply.ok();
            promised.push(title);
        }
    }
    assert!(!refused.is_empty(), "the disk was never full");
    assert!(server.errors().contains("database or disk is full: make room"), "{}", server.errors());
    assert_eq!(agent.get("readyz").await.status, 503);
    assert_eq!(agent.get("api/v1/intents?limit=1").await.status, 200, "reading goes on");

    drop(file);
    std::fs::remove_file(&ballast).unwrap();
    let waited = Instant::now();
    while agent.get("readyz").await.status != 200 {
        assert!(waited.elapsed() < READY_AFTER_MAX, "{}", server.errors());
        sleep(Duration::from_millis(50)).await;
    }
    let waited = waited.elapsed();
    create("after").await.ok();
    promised.push("after".to_owned());
    refused.sort_by(f64::total_cmp);
    println!(
        "full: {} of 200 writes refused (p50 {:.1} ms, p99 {:.1} ms), all {} others kept; ready again {waited:?} after there was room; {}",
        refused.len(),
        percentile(&refused, 0.5),
        percentile(&refused, 0.99),
        promised.len(),
        circumstances(),
    );
    assert_kept(&agent, promised).await;
    server.signal("TERM").await;
    server.finish().await.succeeded();
}
