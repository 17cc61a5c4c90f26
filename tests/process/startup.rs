//! Faults at the start and on a full disk: the message tells in a line or two what happened and what to do, and there is no
//! panic.

use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::{Finished, MIGRATION, Running, Site};
use harness::smtp::SmtpSink;
use serde_json::json;
use tokio::process::Command;

/// Fails the test unless the program refused in at most two lines of plain words.
fn refused_in_words(ended: &Finished, words: &[&str]) {
    ended.refused(words);
    assert!(ended.stderr.lines().count() <= 2, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("placet: "), "{}", ended.stderr);
    for fright in ["panicked", "RUST_BACKTRACE", "stack backtrace", "Error {"] {
        assert!(!ended.stderr.contains(fright), "{fright} is in {}", ended.stderr);
    }
}

/// `command`, but on the database at `url`.
fn on(site: &Site, arguments: &[&str], url: &str) -> Command {
    let mut command = site.command(arguments);
    command.env("PLACET_DATABASE_URL", url);
    command
}

/// A folder that takes no files is named in the refusal. `/proc` takes none even if the test runs as root.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_cannot_be_written_is_named() {
    let site = Site::development();
    let file = site.folder().join("a-file");
    std::fs::write(&file, "").unwrap();
    let below_a_file = format!("sqlite://{}/data/placet.db", file.display());
    for arguments in [vec!["serve"], vec!["keys", "list"], vec!["keys", "create", "--role", "admin", "--name", "admin"]] {
        let ended = site.run(on(&site, &arguments, "sqlite:///proc/placet/placet.db")).await;
        refused_in_words(&ended, &["/proc/placet", "PLACET_DATABASE_URL"]);
        let ended = site.run(on(&site, &arguments, &below_a_file)).await;
        refused_in_words(&ended, &["a-file", "PLACET_DATABASE_URL"]);
        let ended = site.run(on(&site, &arguments, "sqlite:///")).await;
        refused_in_words(&ended, &["PLACET_DATABASE_URL"]);
    }
}

/// The demo keeps its data in a folder of its own, and making that folder may fail too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_demo_without_room_for_scratch_data_says_so() {
    let site = Site::development();
    let mut demo = site.command(["demo", "--answer", "approve"]);
    demo.env("TMPDIR", "/proc");
    refused_in_words(&site.run(demo).await, &["scratch database", "TMPDIR", "/proc"]);
}

/// A person who starts on a full disk must learn that the disk is full.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_on_a_full_disk_is_refused_in_words() {
    let site = Site::development();
    let mut command = through_a_shell(&site, "trap '' XFSZ; ulimit -f 8; exec \"$0\" serve"); // Too small for a database.
    command.env("RUST_LOG", "error");
    refused_in_words(&site.run(command).await, &["placet.db", "is there room", "disk I/O error"]);
}

/// The program of a site, started by a shell that first sets limits like those of a full disk.
fn through_a_shell(site: &Site, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(harness::process::program()).current_dir(site.folder());
    for (name, value) in site.command(["serve"]).as_std().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// A file that is no database must not be written over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let site = Site::development();
    let file = site.folder().join("letter.txt");
    let letter = "Dear Placet, this is not a database. ".repeat(200);
    std::fs::write(&file, &letter).unwrap();
    let ended = site.run(on(&site, &["serve"], &format!("sqlite://{}", file.display()))).await;
    refused_in_words(&ended, &["letter.txt", "not a database", "PLACET_DATABASE_URL"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), letter);
}

/// An older program does not know which rules a newer one keeps in its data, so it refuses a database of a newer program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_a_newer_version_is_refused() {
    let site = Site::development();
    let server = site.serve().await;
    site.key("admin", "admin").await;
    server.signal("TERM").await;
    server.finish().await.succeeded();
    site.rewrite_database(MIGRATION, "99991231000000");
    for arguments in [vec!["serve"], vec!["keys", "list"]] {
        refused_in_words(&site.run(site.command(&arguments)).await, &["newer placet", "use that version or restore a backup"]);
    }
}

/// A person who wants to go on reads each of these refusals: one line, the setting's name, and the value to write instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_cannot_be_used_are_refused_in_a_line() {
    let site = Site::development();
    let file = site.folder().join("placet.toml");
    let in_file = |text: &str| {
        std::fs::write(&file, text).unwrap();
        site.command(["serve", "--config", file.to_str().unwrap()])
    };
    for (text, words) in [
        ("listen = '127.0.0.1:0'\noperatorz = ['a@example.com']", vec!["placet.toml", "line 2, operatorz", "unknown field"]),
        ("[fallback]\nmin_window_seconds = 'soon'", vec!["line 2, min_window_seconds"]),
        ("smtp_url = 'smtps://user:hunter2@mail.example.com", vec!["line 1, smtp_url"]),
    ] {
        let ended = site.run(in_file(text)).await;
        refused_in_words(&ended, &words);
        assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
    }
    for (url, words) in [
        ("placet.example.com", vec!["the public URL", "is not a URL"]),
        ("https://placet.example.com/approvals", vec!["a scheme, a host"]),
        ("ftp://placet.example.com", vec!["must begin with https://"]),
    ] {
        refused_in_words(&site.run(site.command(["serve", "--public-url", url])).await, &words);
    }
    let secret = site.folder().join("smtp-url");
    std::fs::write(&secret, "smtps://user:hunter2@mail.example.com").unwrap();
    let mut twice = site.command(["serve"]);
    twice.env("PLACET_SMTP_URL", "smtps://mail.example.com").env("PLACET_SMTP_URL_FILE", &secret);
    refused_in_words(&site.run(twice).await, &["PLACET_SMTP_URL and PLACET_SMTP_URL_FILE are both set", "keep one"]);
    let mut nonsense = site.command(["serve", "--mail-from", "placet@example.com"]);
    nonsense.env("PLACET_SMTP_URL", "mail.example.com");
    refused_in_words(&site.run(nonsense).await, &["PLACET_SMTP_URL", "smtp"]);
    assert!(!site.database().exists(), "a refused server leaves nothing behind");
}

/// Mail servers come and go; if a server did not start without one, answering and deadlines would stop with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_server_that_refuses_does_not_stop_the_server_and_is_in_the_log() {
    let site = Site::production("smtp://127.0.0.1:9".to_owned());
    site.key("admin", "admin").await;
    let server = site.serve().await;
    let agent = site.api("agent", "asker").await;
    let intent = agent.post("api/v1/intents", json!({"title": "x", "status": "active"})).await.ok();
    let question = json!({"question": "?", "response_type": "text", "timeout_seconds": 600});
    agent.post(&format!("api/v1/intents/{}/suspend", intent["id"].as_str().unwrap()), question).await.ok();
    said_in_log(&server, "placet doctor").await;
}

async fn said_in_log(server: &Running, words: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    while !server.errors().contains(words) {
        assert!(Instant::now() < until, "{words:?} is not in {}", server.errors());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Promised writes are there, refused ones are not.
pub(super) async fn assert_kept(agent: &Api, mut promised: Vec<String>) {
    let listed = agent.get("api/v1/intents?limit=300").await.ok();
    let mut titles: Vec<&str> =
        listed["intents"].as_array().unwrap().iter().map(|intent| intent["title"].as_str().unwrap()).collect();
    titles.sort_unstable();
    promised.sort_unstable();
    assert_eq!(titles, promised, "what was promised is there, what was refused is not");
}

/// Lets the server write files of this size and no larger, like a disk without more room; `unlimited` makes room.
async fn limit_files(server: &Running, bytes: &str) {
    let id = server.id().to_string();
    let limited = Command::new("prlimit").args(["--pid", &id, &format!("--fsize={bytes}:")]).status().await.unwrap();
    assert!(limited.success());
}

/// On a full disk the server may neither promise nor lose a write, and it must go on as soon as there is room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_a_full_disk_refuses_loses_nothing_and_goes_on_when_there_is_room() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    site.key("admin", "admin").await;
    // Without this the kernel kills a process that writes too much, where a full disk only refuses.
    let command = through_a_shell(&site, "trap '' XFSZ; exec \"$0\" serve");
    let mut server = site.start(command);
    server.line_with("Placet listens on ").await;
    let agent = site.api("agent", "asker").await;
    let create = async |title: String| agent.post("api/v1/intents", json!({ "title": title, "status": "active" })).await;
    create("before".into()).await.ok();

    let used = std::fs::metadata(site.folder().join("data/placet.db-wal")).unwrap().len();
    limit_files(&server, &used.to_string()).await;
    let mut promised = vec!["before".to_owned()];
    let mut refused = None;
    for number in 0..200 {
        let title = format!("intent {number}");
        let reply = create(title.clone()).await;
        if reply.status == 503 {
            refused = Some(reply);
            break;
        }
        reply.ok();
        promised.push(title);
    }
    let refused = refused.expect("a full disk is noticed");
    // The write-ahead log may begin again at its start, where the limit leaves room. Now there is none, not even for the server's log.
    limit_files(&server, "0").await;
    assert!(refused.headers.contains_key("retry-after"));
    assert!(refused.text.contains("the same Idempotency-Key"), "{}", refused.text);
    assert!(server.errors().contains("all earlier writes are kept"), "{}", server.errors());
    assert_eq!(agent.get("healthz").await.status, 200);
    assert_eq!(agent.get("readyz").await.status, 503, "/readyz reports that the server is not ready");
    assert_eq!(agent.get("api/v1/intents?limit=1").await.status, 200, "reading goes on");

    limit_files(&server, "unlimited").await;
    create("after".into()).await.ok();
    promised.push("after".into());
    assert_kept(&agent, promised).await;
    server.signal("TERM").await;
    server.finish().await.succeeded();
}
