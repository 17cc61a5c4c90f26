//! One server per file, and `placet keys` beside it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::Site;
use serde_json::{Value, json};

/// A secret with more than 128 bits.
const STRONG: &str = "b7Kq2x9LmP4vT8wZ3nR6cY1h";
/// How long a revoked key may still be accepted.
const REVOKED_WITHIN: Duration = Duration::from_secs(1);

/// The status of a read with a key, or without one.
async fn status(site: &Site, key: &str) -> u16 {
    Api::new(&site.base(), Some(key)).get("api/v1/intents").await.status
}

/// Two servers on one file would each fire deadlines and send mails. A lock that outlives its holder would be as bad: after a
/// crash no server would start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_on_the_same_file_is_refused_until_the_first_is_gone() {
    let site = Site::development();
    let first = site.serve().await;
    let mut second = site.command(["serve", "--listen", "127.0.0.1:0"]);
    second.env_remove("PLACET_LISTEN");
    site.run(second).await.refused(&["another placet serves", "placet.db", "stop it first"]);
    assert_eq!(Api::new(&site.base(), None).get("healthz").await.status, 200, "the first one is not disturbed");
    first.kill().await; // SIGKILL: it cannot clean up.
    let _second = site.serve().await;
    assert_eq!(Api::new(&site.base(), None).get("healthz").await.status, 200);
}

/// Scripts read the last line; a log line among the results would end up in a configuration.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_created_key_is_one_line_of_json_and_works_at_once_beside_a_server() {
    let site = Site::development();
    let _server = site.serve().await;
    let mut create = site.command(["keys", "create", "--json", "--role", "agent", "--name", "refund-agent"]);
    create.env("RUST_LOG", "trace"); // The most logs there can be.
    let created = site.run(create).await;
    let lines: Vec<&str> = created.succeeded().lines().collect();
    let key: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let fields: Vec<&String> = key.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["id", "key", "name", "role"]);
    assert_eq!((&key["name"], &key["role"]), (&json!("refund-agent"), &json!("agent")));
    let secret = key["key"].as_str().unwrap();
    assert!(secret.starts_with("placet_agent_"));
    assert!(!created.stderr.contains(secret), "a secret is in the logs");
    assert_eq!(status(&site, secret).await, 200);
    assert_eq!(status(&site, "placet_agent_unknown").await, 401);

    let text = site.run(site.command(["keys", "create", "--role", "operator", "--name", "alice"])).await;
    // A shell keeps the text on standard output: the secret and nothing else.
    let secret = text.succeeded().strip_suffix('\n').unwrap();
    assert!(secret.starts_with("placet_operator_") && !secret.contains(char::is_whitespace), "{text:?}");
    assert!(text.stderr.contains("alice") && !text.stderr.contains(secret), "{text:?}");
    assert_eq!(status(&site, secret).await, 200);
}

/// A list shows which keys exist, never their secrets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_listed_without_their_secrets() {
    let site = Site::development();
    let (id, secret) = site.key("agent", "refund-agent").await;
    let named = ["keys", "create", "--role", "operator", "--name", "a-key", "--subject", "alice@example.com", "--owner", "team"];
    site.run(site.command(named)).await.succeeded();
    let list = site.run(site.command(["keys", "list"])).await;
    let lines: Vec<&str> = list.succeeded().lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains(&id) && lines[0].contains("refund-agent"), "{lines:?}");
    assert!(lines[1].contains("subject alice@example.com") && lines[1].contains("owner team"), "{lines:?}");
    assert!(!list.stdout.contains(&secret));
    let list = site.run(site.command(["keys", "list", "--json"])).await;
    let first: Value = serde_json::from_str(list.succeeded().lines().next().unwrap()).unwrap();
    assert_eq!((&first["id"], &first["revoked_at"]), (&json!(id), &json!(null)));
    assert!(!list.stdout.contains(&secret));
}

/// The command line checks names as the HTTP API does: a name in the log must be visible, and must not look like the server's
/// own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_hides_something_is_refused_on_the_command_line_too() {
    let site = Site::development();
    let named = |command: &str, flag: &str, name: &str| {
        site.command(["keys", command, "--role", "operator", "--name", "desk", flag, name])
    };
    for (flag, name, word) in [("--subject", "Рlасеt", "server's own name"), ("--owner", "a\u{202e}b", "show nothing")] {
        site.run(named("create", flag, name)).await.refused(&[flag, word]);
        site.run_with(named("import", flag, name), STRONG).await.refused(&[flag, word]);
    }
    let wrong = site.command(["keys", "create", "--role", "agent", "--name", "placet"]);
    site.run(wrong).await.refused(&["--name", "server's own name"]);
}

/// The key of a gateway says for which channels it may report or answer, or that it is tied to none. This is set when the key is
/// made, checked against the settings file if there is one, and examined by the doctor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateways_key_says_what_it_is_for() {
    let site = Site::development();
    let file = site.folder().join("placet.toml");
    let webhook = "[[channels.webhook]]\nname = 'pager'\nurl = 'https://hooks.example/x'\nsecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'\n";
    std::fs::write(&file, webhook).unwrap();
    let file = file.to_str().unwrap();
    let create = |more: &[&str]| site.command([&["keys", "create", "--role", "channel", "--name", "gate"], more].concat());
    site.run(create(&[])).await.refused(&["--for", "--unbound"]);
    site.run(create(&["--for", "pager", "--unbound"])).await.refused(&["--for", "not both"]);
    site.run(create(&["--for", "pagre", "--config", file])).await.refused(&["--for", "pagre", "email, pager"]);
    let wrong = ["keys", "create", "--role", "agent", "--name", "bot", "--for", "pager"];
    site.run(site.command(wrong)).await.refused(&["--for", "role channel"]);
    assert!(!site.database().exists(), "a refusal makes no database");
    for more in [vec!["--for", "pager", "email", "--config", file], vec!["--for", "pagre"], vec!["--unbound"]] {
        site.run(create(&more)).await.succeeded();
    }
    let list = site.run(site.command(["keys", "list"])).await;
    for (line, reach) in list.succeeded().lines().zip(["for email, pager", "for pagre", "unbound"]) {
        assert!(line.ends_with(reach), "{line}");
    }
    let looked = site.run(site.command(["doctor", "--config", file])).await;
    let warnings: Vec<&str> = looked.stdout.lines().filter(|line| line.starts_with("warn  keys")).collect();
    assert_eq!(warnings.len(), 2, "{looked:?}");
    assert!(warnings[0].contains("is for channels that this server does not have: pagre"), "{warnings:?}");
    assert!(warnings[1].contains("is unbound") && looked.stdout.contains("placet keys revoke"), "{looked:?}");
}

/// In another folder, or without the server's settings, an empty list would look like a server without keys, and a leaked key
/// would look as if it had been revoked long ago. And the folder would get a database by mistake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_key_that_is_made_makes_a_database() {
    let site = Site::development();
    let id = "0190a6c0-0000-7000-8000-000000000001";
    for arguments in [vec!["keys", "list"], vec!["keys", "revoke", id], vec!["release"], vec!["serve", "--after-restore"]] {
        let refused = site.run(site.command(&arguments)).await;
        refused.refused(&["there is no database at", site.database().to_str().unwrap(), "PLACET_DATABASE_URL"]);
    }
    let mut elsewhere = site.command(["keys", "list"]);
    elsewhere.env_remove("PLACET_DATABASE_URL");
    let named = std::path::absolute(site.folder().join("placet-data/placet.db")).unwrap();
    site.run(elsewhere).await.refused(&[named.to_str().unwrap()]);
    assert!(!site.database().exists() && !named.exists());
}

/// A caller who can make keys can act under any name, so the log names the caller who made or revoked a key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_says_who_made_and_revoked_a_key() {
    let site = Site::development();
    let server = site.serve().await;
    let admin = site.api("admin", "root-of-all").await;
    let made = admin.post("api/v1/keys", json!({"role": "operator", "name": "desk"})).await.ok();
    let id = made["id"].as_str().unwrap();
    admin.send(admin.request("DELETE", &format!("api/v1/keys/{id}"))).await.ok();
    let log = server.errors();
    for what in ["a key was made", "a key was revoked"] {
        let line = log.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{what} is not in {log}"));
        assert!(line.contains(id) && line.contains("desk") && line.contains("\"by\":\"root-of-all\""), "{line}");
    }
    assert!(!log.contains(made["key"].as_str().unwrap()), "a secret is in the log");
}

/// A person with an account on the machine needs no key to make one. So the server's own log, a chain of events that an auditor
/// can verify, says which account it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_command_line_does_to_keys_is_in_the_servers_own_log() {
    let site = Site::development();
    let _server = site.serve().await;
    let (id, secret) = site.key("operator", "leaked").await;
    site.run_with(site.command(["keys", "import", "--role", "agent", "--name", "legacy"]), STRONG).await.succeeded();
    site.run(site.command(["keys", "revoke", &id])).await.succeeded();
    let (_, auditor) = site.key("auditor", "carol").await;
    let log = async |more: &[&str]| {
        let mut command = site.command([&["log", "--server"], more].concat());
        command.env("PLACET_URL", site.base()).env("PLACET_API_KEY", &auditor);
        site.run(command).await
    };
    let shown = log(&[]).await;
    assert!(shown.succeeded().ends_with(" events fits together.\n"), "{shown:?}");
    let account = format!("by local:{}@", std::fs::metadata(site.folder()).unwrap().uid());
    for (kind, of) in [
        ("key.created", "leaked, operator"),
        ("key.imported", "legacy, agent"),
        ("key.revoked", "leaked"),
        ("key.created", "carol"),
    ] {
        assert!(
            shown.stdout.lines().any(|line| line.contains(kind) && line.contains(of) && line.contains(&account)),
            "{kind} {of}: {shown:?}"
        );
    }
    let begun = shown.stdout.lines().find(|line| line.contains("log_key.added")).unwrap();
    assert!(begun.contains("log_key.added  127.0.0.1"), "the name and the hash of the key are shown: {begun}");
    let lines: Vec<Value> = log(&["--json"]).await.succeeded().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|event| event["log"] == "server"), "{lines:?}");
    assert!(!shown.stdout.contains(&secret) && !shown.stdout.contains(STRONG), "{shown:?}");
    for wrong in [log(&["abc"]).await, site.run(site.command(["log"])).await] {
        assert!(wrong.status.code() == Some(3) && wrong.stderr.contains("--server"), "{wrong:?}");
    }
}

/// A key is revoked when it has leaked, so the command must take effect on a server that is running already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_key_stops_counting_within_a_second() {
    let site = Site::development();
    let _server = site.serve().await;
    let (id, secret) = site.key("agent", "leaked").await;
    let (_, other) = site.key("agent", "other").await;
    assert_eq!(status(&site, &secret).await, 200);
    let revoked = site.run(site.command(["keys", "revoke", &id])).await;
    let at = Instant::now();
    assert!(revoked.succeeded().contains(&id), "{revoked:?}");
    while status(&site, &secret).await != 401 {
        assert!(at.elapsed() < REVOKED_WITHIN + Duration::from_millis(200), "the key still counts after {:?}", at.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(status(&site, &other).await, 200);
    assert!(site.run(site.command(["keys", "list"])).await.succeeded().contains("revoked"));
    let named = site.run(site.command(["keys", "revoke", "other"])).await;
    named.refused(&["is the name of a key; revoke the key by its id", "agent, made "]);
    site.run(site.command(["keys", "revoke", "leaked"])).await.refused(&["no valid key has this name", "placet keys list"]);
    assert_eq!(status(&site, &other).await, 200, "a name revokes nothing");
    let unknown = ["keys", "revoke", "0190a6c0-0000-7000-8000-000000000001"];
    site.run(site.command(unknown)).await.refused(&["failed to revoke", "not found"]);
}

/// A secret that a person made up protects people's decisions: it must not be easy to guess.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn imported_secrets_come_from_standard_input_and_must_be_strong() {
    let site = Site::development();
    let _server = site.serve().await;
    let import = |more: &[&str]| site.command([&["keys", "import", "--role", "agent", "--name", "legacy"], more].concat());
    site.run_with(import(&[]), "dev-key\n").await.refused(&["can be guessed", "--weak"]);
    assert_eq!(status(&site, "dev-key").await, 401);
    assert!(site.run_with(import(&["--weak"]), "dev-key\n").await.succeeded().contains("Imported"));
    assert_eq!(status(&site, "dev-key").await, 200);

    let imported = site.run_with(import(&[]), STRONG).await;
    assert!(!imported.succeeded().contains(STRONG));
    assert_eq!(status(&site, STRONG).await, 200);
    site.run_with(import(&[]), STRONG).await.refused(&["imported before"]);
    assert_eq!(site.run(site.command(["keys", "list"])).await.succeeded().lines().count(), 2);

    for wrong in ["", "\n", "two words", "näme", &format!("{STRONG}{}", "x".repeat(200 - STRONG.len() + 1))] {
        site.run_with(import(&["--weak"]), wrong).await.refused(&["visible ASCII"]);
    }
    let longest = format!("{STRONG}{}", "x".repeat(200 - STRONG.len()));
    site.run_with(import(&[]), &longest).await.succeeded();
    assert_eq!(status(&site, &longest).await, 200);
}

/// The first command of a new installation is `keys create`: there is no database yet, and no other user may read the one it
/// makes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_command_makes_a_database_only_its_owner_can_read() {
    let site = Site::development();
    assert!(!site.database().exists());
    let (_, secret) = site.key("admin", "admin").await;
    let _server = site.serve().await;
    assert_eq!(status(&site, &secret).await, 200);
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(site.database().parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let name = entry.file_name().into_string().unwrap();
        if name != "placet.db.serve-lock" {
            assert_eq!(mode, 0o600, "{name} has mode {mode:o}");
        }
        seen.push(name);
    }
    assert!(seen.iter().any(|name| name == "placet.db-wal"), "{seen:?}");
}

/// In another folder, `keys create` makes a database of its own, and its keys are valid nowhere else: the command says so, and
/// names the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_made_beside_a_server_with_another_one_is_told() {
    let site = Site::development();
    let create = ["keys", "create", "--role", "agent", "--name", "ci"];
    let made = site.run(site.command(create)).await;
    assert!(made.succeeded().lines().count() == 1 && made.stderr.contains("made a new database: "), "{made:?}");
    assert!(made.stderr.contains(site.database().to_str().unwrap()) && !made.stderr.contains("another database"), "{made:?}");
    let _server = site.serve().await;
    let beside = site.run(site.command(create)).await;
    assert!(!beside.succeeded().is_empty() && beside.stderr.lines().count() == 1, "{beside:?}");

    let elsewhere = Site::development();
    let mut lost = elsewhere.command(create);
    lost.env("PLACET_LISTEN", format!("127.0.0.1:{}", site.port()));
    let lost = elsewhere.run(lost).await;
    lost.succeeded();
    for words in [
        "made a new database: ",
        elsewhere.database().to_str().unwrap(),
        "has another database",
        &site.base(),
        "PLACET_DATABASE_URL",
    ] {
        assert!(lost.stderr.contains(words), "{words}: {lost:?}");
    }
    for more in [&["keys", "list"][..], &["keys", "revoke", "ci"]] {
        let mut named = elsewhere.command(more);
        named.env("PLACET_URL", site.base()).env_remove("PLACET_LISTEN");
        assert!(elsewhere.run(named).await.stderr.contains("has another database"), "{more:?}");
    }
}

/// An auditor copies names and the key of the log from here, and asks why something was held or erased.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_own_log_shows_names_and_keys_whole_and_why_something_was_held_or_erased() {
    let site = Site::development();
    let _server = site.serve().await;
    let admin = site.api("admin", "carol@example.com").await;
    let agent = site.api("agent", "bot").await;
    let (held, erased) = (agent.completed_intent().await, agent.completed_intent().await);
    let scope = json!({"kind": "intent", "id": held});
    admin
        .post("api/v1/holds", json!({"scope": scope, "reason": "Litigation 2026-7\u{1b}[2J, see https://evil.example"}))
        .await
        .ok();
    admin.post(&format!("api/v1/intents/{erased}/redact"), json!({"legal_basis": "GDPR, article 17"})).await.ok();
    let (_, auditor) = site.key("auditor", "dora@example.com").await;
    let log = async |more: &[&str]| {
        let mut command = site.command([&["log", "--server"], more].concat());
        command.env("PLACET_URL", site.base()).env("PLACET_API_KEY", &auditor);
        site.run(command).await.succeeded().to_owned()
    };
    let (shown, events) = (log(&[]).await, log(&["--json"]).await);
    let line = |kind: &str| shown.lines().find(|line| line.contains(kind)).unwrap_or_else(|| panic!("no {kind} in {shown}"));
    let placed = line("hold.placed");
    assert!(placed.contains(&format!(" on intent {held}, reason: Litigation 2026-7")), "{placed}");
    assert!(!placed.contains("https://") && placed.ends_with(", by carol@example.com"), "{placed}");
    let redacted = line("payload.redacted");
    assert!(redacted.contains(&erased.to_string()) && redacted.contains(", events 1 to "), "{redacted}");
    assert!(redacted.ends_with(", legal basis: GDPR, article 17, by carol@example.com"), "{redacted}");
    assert!(shown.contains("(dora@example.com, auditor)") && !shown.contains('\u{1b}'), "{shown}");
    let mut events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let begun = events.find(|event| event["event_type"] == "log_key.added").unwrap();
    assert!(line("log_key.added").contains(begun["payload"]["key"].as_str().unwrap()), "{shown}");
}
