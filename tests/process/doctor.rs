//! `placet doctor` finds the faults that keep a server from working. It may run while the server runs, and it changes nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use harness::clock::FakeClock;
use harness::issuer::Issuer;
use harness::process::{Finished, MIGRATION, Running, Site};
use harness::smtp::SmtpSink;
use proof::checkpoint::TreeHead;
use proof::key::SigningKey;
use serde_json::Value;
use tokio::process::Command;

use super::desk::{heard, serving};

/// The doctor's findings about a site, as JSON.
struct Said {
    findings: Vec<Value>,
    ended: Finished,
}

impl Said {
    async fn by(site: &Site, command: Command) -> Self {
        let ended = site.run(command).await;
        let lines: Vec<&str> = ended.stdout.lines().collect();
        assert_eq!(lines.len(), 1, "one document: {ended:?}");
        let document: Value = serde_json::from_str(lines[0]).unwrap();
        let findings = document["findings"].as_array().unwrap().clone();
        let failed = findings.iter().any(|finding| finding["level"] == "fail");
        assert_eq!(ended.status.code(), Some(i32::from(failed)), "{ended:?}");
        assert_eq!(document["ok"], !failed);
        for finding in &findings {
            assert_eq!(finding["level"] == "ok", finding.get("what_to_do").is_none(), "{finding}");
        }
        Self { findings, ended }
    }

    /// Fails the test unless a finding of this check and level holds all the words.
    fn has(&self, check: &str, level: &str, words: &[&str]) {
        let fits = |finding: &Value| {
            let text = finding.to_string();
            finding["check"] == check && finding["level"] == level && words.iter().all(|word| text.contains(word))
        };
        assert!(self.findings.iter().any(fits), "no {level} of {check} with {words:?} in {:#?}", self.findings);
    }

    /// The checks with a finding of this level.
    fn checks(&self, level: &str) -> Vec<&str> {
        self.findings
            .iter()
            .filter(|finding| finding["level"] == level)
            .map(|finding| finding["check"].as_str().unwrap())
            .collect()
    }
}

async fn examine(site: &Site, more: &[&str]) -> Said {
    Said::by(site, site.command([&["doctor", "--json"], more].concat())).await
}

/// Every file below a folder, with its size and its mode.
fn files(folder: &Path) -> BTreeMap<String, (u64, u32)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let about = entry.metadata().unwrap();
        if about.is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(inner, about)| (format!("{name}/{inner}"), about)));
        }
        // The programs' own logs grow; they are no part of the data.
        if !name.starts_with("stderr-") {
            found.insert(name, (if about.is_dir() { 0 } else { about.len() }, about.permissions().mode()));
        }
    }
    found
}

/// A server that answers every request in the same way.
fn answering(reply: &'static str) -> SocketAddr {
    serving(move |_| reply.to_owned())
}

/// A healthy installation is examined while its server runs, and nothing may be reported as wrong: an operator who is told of
/// false problems stops listening.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_server_has_nothing_to_mend() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    site.key("admin", "admin").await;
    let server = site.serve().await;
    let file = site.folder().join("placet.toml");
    std::fs::write(&file, "[fallback]\nmin_window_seconds = 300\n").unwrap();
    // The server's signs of life make the write-ahead log grow, so only its existence is compared and not its length.
    let found = || {
        let mut found = files(site.folder());
        found.get_mut("data/placet.db-wal").unwrap().0 = 0;
        found
    };
    let before = found();
    let said = examine(&site, &["--config", file.to_str().unwrap()]).await;
    assert_eq!(found(), before, "the doctor changes nothing");
    assert_eq!(
        (said.checks("fail"), said.checks("warn").len()),
        (vec![], said.checks("warn").iter().filter(|check| **check == "disk").count())
    );
    said.has("configuration", "ok", &["production"]);
    said.has("configuration", "ok", &["Content is kept for ever", "400 days are recommended"]);
    said.has("database", "ok", &["of this version"]);
    said.has("mail", "ok", &["would take mails"]);
    said.has("public URL", "ok", &["leads to this server"]);
    said.has("A2A card", "ok", &["/a2a"]);
    said.has("clock", "ok", &[]);
    said.has("permissions", "ok", &[]);
    assert!(smtp.received().is_empty(), "the doctor sends no mail");
    let text = site.run(site.command(["doctor"])).await;
    assert!(text.succeeded().lines().any(|line| line.starts_with("warn  configuration")), "{text:?}");
    assert!(text.stdout.contains("The server can run. Warnings: "), "{text:?}");
    assert!(text.stdout.contains("→ Set min_window_seconds = 300"), "{text:?}");
    server.signal("TERM").await;
    assert!(server.finish().await.status.success(), "the server beside it was not disturbed");
}

/// Before the first start there is no database, and the doctor must not make one: it may run as another user.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_database_is_said_and_not_made() {
    let site = Site::development();
    let said = examine(&site, &[]).await;
    said.has("database", "warn", &["no database", "placet serve"]);
    said.has("configuration", "warn", &["development mode"]);
    said.has("public URL", "warn", &["Not checked", "start the server"]);
    assert_eq!(files(site.folder()), BTreeMap::new());
    let mut nowhere = site.command(["doctor", "--json"]);
    nowhere.env("PLACET_DATABASE_URL", "sqlite:///proc/placet/placet.db");
    Said::by(&site, nowhere).await.has("database", "fail", &["/proc", "takes no files"]);
}

/// A disk that was full, or a copy that broke off, can leave a file of 0 bytes where the questions were. A server starts on it as if all
/// were well, so the doctor must not call it well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_no_bytes_is_said_to_be_none() {
    let site = Site::development();
    std::fs::create_dir_all(site.database().parent().unwrap()).unwrap();
    std::fs::write(site.database(), "").unwrap();
    let said = examine(&site, &[]).await;
    said.has("database", "warn", &["has 0 bytes and is no database yet", "a new, empty database", "restore a backup"]);
    assert!(!said.checks("ok").contains(&"database"), "{:#?}", said.findings);
    assert_eq!(std::fs::metadata(site.database()).unwrap().len(), 0, "the doctor changes nothing");
}

/// Looking at a stopped server's file must leave no trace beside it, and must report that no server serves it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_server_is_no_trouble_and_a_foreign_or_newer_database_is() {
    let site = Site::development();
    let server = site.serve().await;
    server.signal("TERM").await;
    server.finish().await.succeeded();
    let before = files(site.folder());
    let said = examine(&site, &[]).await;
    said.has("database", "ok", &["of this version"]);
    said.has("public URL", "warn", &["was at work", "seconds ago", "has stopped since"]);
    assert_eq!(files(site.folder()), before);

    site.rewrite_database(MIGRATION, "99991231000000");
    examine(&site, &[]).await.has("database", "fail", &["newer placet", "99991231000000", "backup"]);
    site.rewrite_database("__diesel_schema_migrations", "__others_schema_migrations");
    examine(&site, &[]).await.has("database", "fail", &["another program", "PLACET_DATABASE_URL"]);
    let mut bytes = std::fs::read(site.database()).unwrap();
    bytes[..6].copy_from_slice(b"broken");
    std::fs::write(site.database(), bytes).unwrap();
    examine(&site, &[]).await.has("database", "fail", &["no SQLite database"]);
}

/// A question that is mailed to no person waits until its fallback: each cause has its own remedy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_trouble_with_the_mail_server_has_its_own_sentence() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gruff = smtp_answering("554 go away\r\n");
    let no_login = smtp_answering("220 fake\r\n250-fake\r\n250 AUTH PLAIN LOGIN\r\n535 5.7.8 wrong password\r\n");
    let no_tls = smtp_answering("220 fake\r\n250 fake\r\n");
    for (url, words) in [
        (format!("smtp://{closed}"), ["refused", "465"]),
        ("smtps://placet.invalid".to_owned(), ["placet.invalid does not resolve", "PLACET_SMTP_URL"]),
        (format!("smtp://{gruff}"), ["does not take mails", "554"]),
        (format!("smtp://user:hunter2@{no_login}"), ["refused the login", "535"]),
        (format!("smtp://{no_tls}?tls=required"), ["cannot be encrypted", "587"]),
        (format!("smtps://{no_tls}"), ["cannot be encrypted", "smtps://"]),
    ] {
        let site = Site::production(url.clone());
        let said = examine(&site, &[]).await;
        said.has("mail", "fail", &words);
        assert!(!said.ended.stdout.contains("hunter2") && !said.ended.stderr.contains("hunter2"), "{:?}", said.ended);
    }
}

/// A mail server that sends these lines, one after each line it receives; then it hangs up.
fn smtp_answering(lines: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut heard = BufReader::new(stream.try_clone().unwrap()).lines();
            for line in lines.split_inclusive("\r\n") {
                stream.write_all(line.as_bytes()).unwrap();
                // A line with a hyphen after its code is not the last of its reply.
                if line.as_bytes()[3] != b'-' && heard.next().is_none_or(|heard| heard.is_err()) {
                    break;
                }
            }
        }
    });
    address
}

/// A server that answers 200 may still be another one: links in mails would lead people elsewhere, with their tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_public_url_must_lead_back_to_this_very_server() {
    let site = Site::development();
    let _server = site.serve().await;
    let other = Site::development();
    let _other_server = other.serve().await;
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let welcome = answering("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nwelcome");
    let moved =
        answering("HTTP/1.1 301 Moved\r\nlocation: https://user:hunter2@elsewhere.example/x?y\r\ncontent-length: 0\r\n\r\n");
    let gateway = answering("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
    for (url, words) in [
        (other.base(), ["leads elsewhere", "another placet"]),
        (format!("http://{welcome}"), ["leads elsewhere", "status 200"]),
        (format!("http://{moved}"), ["leads elsewhere", "elsewhere.example (status 301)"]),
        (format!("http://{gateway}"), ["leads to no server", "status 502"]),
        (format!("http://{closed}"), ["leads nowhere", "refused"]),
        ("https://placet.invalid".to_owned(), ["leads nowhere", "placet.invalid does not resolve"]),
        (site.base().replace("http:", "https:"), ["leads nowhere", "cannot be encrypted"]),
    ] {
        let said = examine(&site, &["--dev", "--public-url", &url]).await;
        said.has("public URL", "fail", &words);
        assert!(!said.ended.stdout.contains("welcome") && !said.ended.stdout.contains("hunter2"), "{:?}", said.ended);
    }
    examine(&site, &["--public-url", &site.base()]).await.has("public URL", "ok", &["leads to this server"]);
}

/// The server warns as well, once, in its log: few people run a doctor while all seems well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_public_url_leads_elsewhere_says_so_in_its_log() {
    let site = Site::development();
    let welcome = answering("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nwelcome");
    let mut server = site.start(site.command(["serve", "--public-url", &format!("http://{welcome}")]));
    server.line_with("Placet listens on ").await;
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while !server.errors().contains("leads elsewhere") {
        assert!(std::time::Instant::now() < until, "{}", server.errors());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(server.errors().contains("PLACET_PUBLIC_URL"), "{}", server.errors());
}

/// Questions, answers and the mail server's password are readable in the server's files; only tokens and keys are hashed. So the
/// doctor reports files that other users can read or change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_others_can_read_or_change_are_found() {
    let site = Site::development();
    site.key("admin", "admin").await;
    let chmod = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    let file = site.folder().join("placet.toml");
    std::fs::write(&file, "mail_from = 'a@example.com'\nsmtp_url = 'smtp://user:hunter2@127.0.0.1:9'\n").unwrap();
    chmod(&file, 0o640);
    let arguments = ["--dev", "--config", file.to_str().unwrap()];
    examine(&site, &arguments).await.has("permissions", "ok", &[]);
    chmod(&file, 0o644);
    let said = examine(&site, &arguments).await;
    said.has("permissions", "fail", &["placet.toml", "password", "chmod 640"]);
    assert!(!said.ended.stdout.contains("hunter2"));
    // An address without a password is no secret.
    std::fs::write(&file, "mail_from = 'a@example.com'\nsmtp_url = 'smtp://127.0.0.1:9'\n").unwrap();
    examine(&site, &arguments).await.has("permissions", "ok", &[]);
    // A webhook's URL and the key of its signatures are secrets as well.
    let secret = harness::receiver::SECRET;
    let webhook = format!("[[channels.webhook]]\nname = 'pager'\nurl = 'https://hooks.example/hunter2'\nsecret = '{secret}'\n");
    std::fs::write(&file, webhook).unwrap();
    let said = examine(&site, &arguments).await;
    said.has("permissions", "fail", &["placet.toml", "a webhook", "chmod 640"]);
    assert!(!said.ended.stdout.contains("hunter2") && !said.ended.stdout.contains(secret));
    chmod(&file, 0o640);

    let folder = site.database().parent().unwrap().to_owned();
    for (path, mode, level, words) in [
        (&site.database(), 0o640, "warn", vec!["Its group can read", "chmod 600"]),
        (&site.database(), 0o604, "fail", vec!["Others can read", "placet.db"]),
        (&site.database(), 0o620, "fail", vec!["Others can change"]),
        (&folder, 0o770, "fail", vec!["can replace the database", "chmod 700"]),
        (&folder, 0o755, "warn", vec!["look into the folder"]),
    ] {
        let usual = std::fs::metadata(path).unwrap().permissions().mode();
        chmod(path, mode);
        examine(&site, &["--dev"]).await.has("permissions", level, &words);
        chmod(path, usual);
    }
    examine(&site, &["--dev"]).await.has("permissions", "ok", &[]);
}

/// The key file of the log is a secret, and without it a server signs nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_file_of_the_log_that_others_can_read_or_that_is_not_the_logs_is_found() {
    let site = Site::development();
    let server = site.serve().await;
    server.signal("TERM").await;
    server.finish().await;
    let key = std::path::PathBuf::from(format!("{}.log-key", site.database().display()));
    examine(&site, &["--dev"]).await.has("log key", "ok", &["opens the key of the log"]);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o666)).unwrap();
    examine(&site, &["--dev"]).await.has("permissions", "fail", &["Others can change", "the key file of the log", "chmod 600"]);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let kept = std::fs::read(&key).unwrap();
    std::fs::write(&key, "no key\n").unwrap();
    examine(&site, &["--dev"]).await.has("log key", "warn", &["signs no checkpoints", "failed to use"]);
    std::fs::remove_file(&key).unwrap();
    examine(&site, &["--dev"]).await.has("log key", "warn", &["failed to read the key file", "PLACET_LOG_KEY_FILE"]);
    assert!(!key.exists(), "the doctor makes no file");
    std::fs::write(&key, kept).unwrap();
    examine(&site, &["--dev"]).await.has("log key", "ok", &[]);
}

async fn stop(server: Running) {
    server.signal("TERM").await;
    server.finish().await.succeeded();
}

/// A server that signs nothing serves as always, so an auditor who does not read its log learns it from the doctor alone. A key file that
/// others can read is told at each start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_running_server_the_doctor_says_whether_the_log_is_signed() {
    let site = Site::development();
    let server = site.serve().await;
    assert!(!server.errors().contains("the key file of the log, "), "{}", server.errors());
    examine(&site, &[]).await.has("log key", "ok", &["The server signs checkpoints"]);
    stop(server).await;
    let key = std::path::PathBuf::from(format!("{}.log-key", site.database().display()));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let server = site.serve().await;
    assert!(server.errors().contains("others can read the key file of the log, "), "{}", server.errors());
    stop(server).await;
    std::fs::remove_file(&key).unwrap();
    let server = site.serve().await;
    examine(&site, &[]).await.has("log key", "warn", &["The server that runs signs no checkpoints", "key file"]);
    server.kill().await;
}

/// The checkpoint file has more of the log than a database that was rolled back. The doctor shows both numbers, so it must compare them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_was_rolled_back_is_found_by_its_checkpoint_file() {
    let site = Site::development();
    let (file, backup) = (site.folder().join("checkpoints"), site.folder().join("backup.db"));
    let with_file = |words: &[&str]| {
        let mut command = site.command(words);
        command.env("PLACET_LOG_CHECKPOINT_FILE", &file);
        command
    };
    let serve = async || {
        let mut server = site.start(with_file(&["serve"]));
        server.line_with("Placet listens on ").await;
        server
    };
    let examined = async || Said::by(&site, with_file(&["doctor", "--json"])).await;
    stop(serve().await).await;
    std::fs::copy(site.database(), &backup).unwrap();
    let server = serve().await;
    for name in ["root", "boss", "chief"] {
        site.key("admin", name).await;
    }
    examined().await.has("checkpoint file", "ok", &["covers"]);
    stop(server).await;
    examined().await.has("checkpoint file", "ok", &["covers"]);
    std::fs::copy(&backup, site.database()).unwrap();
    examined().await.has("checkpoint file", "fail", &["rolled back or replaced", "move the file away"]);

    let server = serve().await;
    heard(&server, "nothing is signed until").await;
    let said = examined().await;
    said.has("checkpoint file", "fail", &["rolled back or replaced"]);
    said.has("log key", "warn", &["signs no checkpoints", "does not extend the last checkpoint"]);
    let metrics = site.api("auditor", "prometheus").await.get("metrics").await.text;
    assert!(metrics.lines().any(|line| line == "placet_log_signs 0"), "{metrics}");
    stop(server).await;
    let other = TreeHead::sign(1, [3; 32], &SigningKey::new("other.example", &[1; 32]).unwrap());
    std::fs::write(&file, format!("{other}\n")).unwrap();
    examined().await.has("checkpoint file", "fail", &["checkpoints of another log", "other.example"]);
}

/// Settings that a server would refuse are a finding like any other: the rest is still examined.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_are_wrong_or_unwise_are_found() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let mut bare = site.command(["doctor", "--json", "--public-url", "http://placet.example.com"]);
    bare.env_remove("PLACET_OPERATORS");
    let said = Said::by(&site, bare).await;
    said.has("configuration", "fail", &["unencrypted", "https://"]);
    said.has("database", "warn", &["no database"]);

    let (id, _) = site.key("admin", "admin").await; // This makes the database.
    site.run(site.command(["keys", "revoke", &id])).await.succeeded();
    let said = examine(&site, &[]).await;
    said.has("public URL", "warn", &["No server has run"]);
    said.has("keys", "fail", &["placet keys create"]);
    said.has("configuration", "warn", &["after 1 s", "min_window_seconds = 300"]);
    let said = examine(&site, &["--listen", "127.0.0.1:0"]).await;
    said.has("public URL", "warn", &["listen has port 0", "127.0.0.1:8080", "PLACET_LISTEN"]);
    for list in ["groups", "people"] {
        let none = site.run(site.command([list, "list"])).await;
        assert!(none.succeeded().is_empty() && none.stderr.contains(&format!("placet {list} ")), "{none:?}");
    }
    let mut nobody = site.command(["doctor", "--json"]);
    nobody.env_remove("PLACET_OPERATORS").env_remove("PLACET_NOTIFY_ALLOW");
    Said::by(&site, nobody).await.has("configuration", "warn", &["No person may be asked", "PLACET_OPERATORS"]);
    let mut left_out = site.command(["doctor", "--json"]);
    left_out.env("PLACET_NOTIFY_ALLOW", "*@example.org");
    Said::by(&site, left_out).await.has("configuration", "warn", &["leaves out operators: ops@example.com"]);
}

/// The doctor is called when something is wrong, in a second terminal, which has none of the server's settings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_second_terminal_the_running_server_is_examined() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    site.key("admin", "admin").await;
    let _server = site.serve().await;
    let bare = |site: &Site| {
        let mut command = site.command(["doctor", "--json"]);
        for name in ["OPERATORS", "NOTIFY_ALLOW", "SMTP_URL", "MAIL_FROM"] {
            command.env_remove(format!("PLACET_{name}"));
        }
        command
    };
    let said = Said::by(&site, bare(&site)).await;
    said.has(
        "configuration",
        "ok",
        &["A server runs on this database", "production", "not those of this terminal", &site.base()],
    );
    said.has("public URL", "ok", &["leads to this server"]);
    said.has("mail", "ok", &["not examined", "PLACET_SMTP_URL"]);
    assert_eq!(said.checks("fail"), Vec::<&str>::new(), "{:#?}", said.findings);
    let text = said.ended.stdout.clone();
    assert!(
        !text.contains("development mode") && !text.contains("no operators") && !text.contains("No person may be asked"),
        "{text}"
    );
    // A program that cannot read the database learns nothing of the settings.
    let (stranger, challenge) = (harness::api::Api::new(&site.base(), None), "a".repeat(43));
    let asked = format!(".well-known/placet.json?challenge={challenge}");
    let proof = stranger.get(&asked).await.ok()["proof"].as_str().unwrap().to_owned();
    // 32 bytes that prove nothing, and the server's own proof for the same challenge, which every caller can get.
    for reader in ["A".repeat(43), proof] {
        let answer = stranger.get(&format!("{asked}&reader={reader}")).await.ok();
        assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), ["implementation", "proof"], "{reader}");
    }

    let elsewhere = Site::development();
    let mut lost = bare(&elsewhere);
    lost.env("PLACET_LISTEN", format!("127.0.0.1:{}", site.port()));
    let said = Said::by(&elsewhere, lost).await;
    said.has("server", "warn", &["has another database", &site.base(), "PLACET_DATABASE_URL"]);
    // If settings stand on the command line, the doctor examines them instead, for the next start of the server.
    let mut named = site.command(["doctor", "--json", "--public-url", "http://placet.example.com"]);
    named.env_remove("PLACET_OPERATORS");
    Said::by(&site, named).await.has("configuration", "fail", &["unencrypted"]);
}

/// A healthy server in a private network must not be called broken for settings that only this terminal lacks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_at_an_unencrypted_address_is_not_judged_by_this_terminals_settings() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    site.key("admin", "admin").await;
    let _server = site.serve().await;
    let address = format!("http://0.0.0.0:{}/", site.port()); // It leads to this machine, but does not look like it.
    let mut bare = site.command(["doctor", "--json"]);
    for name in ["LISTEN", "PUBLIC_URL", "OPERATORS", "NOTIFY_ALLOW", "SMTP_URL", "MAIL_FROM", "CONFIG"] {
        bare.env_remove(format!("PLACET_{name}"));
    }
    bare.env("PLACET_URL", &address);
    let said = Said::by(&site, bare).await;
    said.has("configuration", "warn", &["A server runs on this database", &address, "not asked for", "PLACET_URL=https://"]);
    assert_eq!(said.checks("fail"), Vec::<&str>::new(), "{:#?}", said.findings);
    for wrong in ["evelopment", "No person may be asked", "does not run"] {
        assert!(!said.ended.stdout.contains(wrong), "{wrong}: {:#?}", said.findings);
    }
    // Settings that are given to the doctor are examined as well.
    let mut with_settings = site.command(["doctor", "--json"]);
    with_settings.env("PLACET_URL", &address).env("PLACET_LISTEN", "127.0.0.1:1").env("PLACET_NOTIFY_ALLOW", "*@example.org");
    let said = Said::by(&site, with_settings).await;
    said.has("configuration", "warn", &["not asked for"]);
    said.has("configuration", "warn", &["leaves out operators: ops@example.com"]);
}

/// A server that listens on another port than this terminal knows is not said to be stopped, and is found by its address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_another_port_is_not_called_stopped() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    site.key("admin", "admin").await;
    let _server = site.serve().await;
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let from_another_port = || {
        let mut command = site.command(["doctor", "--json"]);
        command.env("PLACET_LISTEN", closed.to_string()).env("PLACET_PUBLIC_URL", format!("http://{closed}"));
        command
    };
    let said = Said::by(&site, from_another_port()).await;
    said.has("public URL", "warn", &["was at work", &closed.to_string(), "on another address", "PLACET_URL=http://127.0.0.1:"]);
    assert!(!said.ended.stdout.contains("does not run"), "{:#?}", said.findings);
    let mut named = from_another_port();
    named.env("PLACET_URL", site.base());
    Said::by(&site, named).await.has("public URL", "ok", &["leads to this server"]);
}

/// A person who cannot log in asks the operator, and the operator asks the doctor: does the issuer answer, and what must it know?
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_issuer_by_which_people_log_in_is_asked() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    site.key("admin", "admin").await;
    let issuer = Issuer::start(Arc::new(FakeClock::default())).await;
    let file = site.folder().join("placet.toml");
    let settings = format!(
        "[login.openid]\nissuer = '{}'\nclient_id = 'placet'\nclient_secret = 's3cr3t'\ndomains = ['example.com']\n\
         groups_claim = 'groups'\n[login.openid.groups]\na = 'finance'\nb = 'board'\n",
        issuer.url()
    );
    std::fs::write(&file, settings).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    site.run(site.command(["people", "add", "ada@example.com", "--role", "auditor"])).await.succeeded();
    let arguments = ["--config", file.to_str().unwrap()];
    let redirect = format!("{}login/openid", site.base());
    let said = examine(&site, &arguments).await;
    said.has("login", "ok", &[issuer.url(), "answers", &redirect]);
    said.has("login", "warn", &["do not exist: board, finance."]);
    said.has("permissions", "fail", &["placet.toml", "issuer of identities", "chmod 640"]);
    site.run(site.command(["groups", "set", "finance", "ada@example.com"])).await.succeeded();
    issuer.behave(|behaviour| drop(behaviour.metadata.insert("issuer".to_owned(), "https://evil.example".into())));
    let said = examine(&site, &arguments).await;
    said.has("login", "fail", &["cannot be used", "unexpected issuer", &redirect]);
    said.has("login", "warn", &["do not exist: board."]);
    assert!(!said.ended.stdout.contains("s3cr3t"), "{:#?}", said.findings);
}
