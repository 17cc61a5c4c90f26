//! A whole server on a small file system that fills up. If the system does not allow mounting one, the test prints that, and
//! proves nothing.

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

/// Mounts a file system of so many MiB over the data folder, which no other process sees, makes two keys, writes them to files outside
/// of that file system, and becomes the server.
const SCRIPT: &str = "mount -t tmpfs -o size=\"$2\"m none \"$1\" && \"$0\" keys create --role agent --name asker --json >agent-key && \
     \"$0\" keys create --role operator --name desk --json >operator-key && exec \"$0\" serve";
/// How long the server may take to notice that there is room.
const READY_AFTER_MAX: Duration = Duration::from_secs(20);

/// Whether a user without rights may mount a file system that only that user sees.
async fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).output().await;
    tried.is_ok_and(|tried| tried.status.success())
}

/// Starts a server on a small file system of so many MiB that keeps this many bytes for people; returns it with the connections of an
/// agent and of an operator.
async fn serve(site: &Site, mib: u32, reserve_bytes: u64) -> (Running, Api, Api) {
    let settings = site.folder().join("placet.toml");
    std::fs::write(&settings, format!("[limits]\nreserve_bytes = {reserve_bytes}\n")).unwrap();
    let data = site.database().parent().unwrap().to_owned();
    std::fs::create_dir_all(&data).unwrap();
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", SCRIPT]).arg(program()).arg(&data).arg(mib.to_string()).current_dir(site.folder());
    for (name, value) in site.command(["serve"]).as_std().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("PLACET_CONFIG", settings);
    let mut server = site.start(command);
    server.line_with("Placet listens on ").await;
    let way = |file: &str| {
        let key: Value = serde_json::from_slice(&std::fs::read(site.folder().join(file)).unwrap()).unwrap();
        Api::new(&site.base(), Some(key["key"].as_str().unwrap()))
    };
    (server, way("agent-key"), way("operator-key"))
}

/// The data folder as the server sees it: no other process sees the mounted file system.
fn mounted(server: &Running, site: &Site) -> String {
    format!("/proc/{}/root{}", server.id(), site.database().parent().unwrap().display())
}

/// The free bytes of the file system that holds `folder`.
fn free_bytes(folder: &str) -> u64 {
    let said = std::process::Command::new("stat").args(["-f", "-c", "%a %S", folder]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    said.split_whitespace().map(|number| number.parse::<u64>().unwrap()).product()
}

/// The bytes kept for people on the small file system.
const RESERVE_BYTES: u64 = 3 * 1024 * 1024;

/// When a small file system has little room left, by the kernel's own count, an agent can no longer write, but people can still
/// answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_answer_from_what_is_kept_of_a_small_file_system() {
    if !may_mount().await {
        println!("skipped: this system does not let `unshare -rm mount` work");
        return;
    }
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (server, agent, operator) = serve(&site, 8, RESERVE_BYTES).await;
    let asked = agent.ask(json!({})).await;
    let folder = mounted(&server, &site);
    let mut ballast = File::create(format!("{folder}/ballast")).unwrap();
    // At this request the server finds room. Then the disk fills up within the same second, and the next request must be refused
    // already.
    agent.post("api/v1/intents", json!({"title": "one", "status": "active"})).await.ok();
    while let Some(too_much) = free_bytes(&folder).checked_sub(RESERVE_BYTES) {
        ballast.write_all(&vec![1; usize::try_from(too_much).unwrap() + 16_384]).unwrap();
    }
    let refused = agent.post("api/v1/intents", json!({"title": "more", "status": "active"})).await;
    assert_eq!(refused.problem(), (507, "no_room"), "{}", refused.text);
    operator.respond(asked.0, &asked.1, "approve").await.ok();
    assert_eq!(agent.get("readyz").await.status, 200, "people can answer");
    assert!(server.errors().contains("keeps the remaining space for people's answers"), "{}", server.errors());
    std::fs::remove_file(format!("{folder}/ballast")).unwrap();
    drop(ballast);
    let began = Instant::now();
    while agent.post("api/v1/intents", json!({"title": "again", "status": "active"})).await.status != 200 {
        assert!(began.elapsed() < READY_AFTER_MAX, "{}", server.errors());
        sleep(Duration::from_millis(50)).await;
    }
    server.signal("TERM").await;
    server.finish().await.succeeded();
}

/// Other tests simulate a full disk; here the kernel itself reports that there is no room (ENOSPC). The server must also survive
/// a lack of room for the memory that SQLite's connections share, where the kernel could end it with SIGBUS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_a_small_file_system_outlives_that_it_is_full() {
    if !may_mount().await {
        println!("skipped: this system does not let `unshare -rm mount` work");
        return;
    }
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (server, agent, _) = serve(&site, 8, 0).await;
    let create = async |title: &str| agent.post("api/v1/intents", json!({ "title": title, "status": "active" })).await;
    create("before").await.ok();

    let ballast = format!("{}/ballast", mounted(&server, &site));
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

/// How many intents wait for the event that meets a full disk.
const WAITING: usize = 150;
/// The bytes that are free when it comes: more than the first wakes need, and fewer than all of them.
const ROOM_BYTES: u64 = 4 * 1024 * 1024;

/// An event writes its payload for each intent that it wakes, so the disk may be full in the middle of it. Those that are left wait on, and
/// the same call wakes them when there is room again: each of them once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_a_full_disk_breaks_off_wakes_the_rest_when_there_is_room() {
    if !may_mount().await {
        println!("skipped: this system does not let `unshare -rm mount` work");
        return;
    }
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (server, agent, operator) = serve(&site, 64, 0).await;
    let mut stops = Vec::new();
    for _ in 0..WAITING {
        let intent = agent.active_intent().await;
        let body = json!({"reason": "Waiting for the build.", "conditions": {"on_event": "build"}});
        let record = agent.post(&format!("api/v1/intents/{intent}/park"), body).await.ok();
        stops.push((intent, record["id"].as_str().unwrap().to_owned()));
    }
    let ballast = format!("{}/ballast", mounted(&server, &site));
    let mut file = File::create(&ballast).unwrap();
    while free_bytes(&mounted(&server, &site)) > ROOM_BYTES {
        file.write_all(&vec![1; 65_536]).unwrap();
    }
    let tell =
        async || operator.post_once("api/v1/events", "build", json!({"name": "build", "payload": "x".repeat(60_000)})).await;
    let woken = async || {
        let mut count = 0;
        for (_, id) in &stops {
            count += usize::from(agent.suspension(id).await["resolution"] == "resumed");
        }
        count
    };
    let refused = tell().await;
    assert!(refused.status == 503 && refused.headers.contains_key("retry-after"), "{}", refused.text);
    let before = woken().await;
    assert!((1..WAITING).contains(&before), "the disk was not full in the middle of the event: {before} were woken");
    drop(file);
    std::fs::remove_file(&ballast).unwrap();
    let began = Instant::now();
    let mut reply = tell().await;
    while reply.status == 503 {
        assert!(began.elapsed() < READY_AFTER_MAX, "{}", server.errors());
        sleep(Duration::from_millis(50)).await;
        reply = tell().await;
    }
    assert_eq!(reply.ok(), json!({"woken": WAITING}), "{before} were woken before");
    assert_eq!(woken().await, WAITING);
    for (intent, _) in &stops {
        let types = agent.event_types(*intent).await;
        assert_eq!(types.iter().filter(|name| *name == "lifecycle.resumed").count(), 1);
    }
    server.signal("TERM").await;
    server.finish().await.succeeded();
}
