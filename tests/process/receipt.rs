//! `placet receipt get | verify`: the receipt of a decision, fetched by the agent that asked and checked without the server.

use std::os::unix::fs::PermissionsExt;

use harness::api::Api;
use harness::process::{PATIENCE, Site};
use proof::key::SigningKey;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::desk::{Desk, LOOK, on_screen, text};
use super::export::{export, key_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_is_fetched_by_its_asker_and_checked_without_the_server() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Refund order 12345?"]));
    let short_id = desk.short_id().await;
    let path = desk.site.folder().join("receipt.json");
    let file = path.to_str().unwrap().to_owned();
    let get = async |id: &str| desk.site.run(desk.with_key(&desk.key, &["receipt", "get", id, "--out", &file])).await;

    let early = get(&short_id).await;
    assert!(early.status.code() == Some(3) && early.stderr.contains("not_answered"), "{early:?}");
    let unknown = get("00000000").await;
    assert!(unknown.status.code() == Some(3) && unknown.stderr.contains("no question this key may read"), "{unknown:?}");
    assert!(!path.exists(), "a refusal leaves no file");

    desk.respond("yes").await;
    asking.finish().await.succeeded();
    let done = get(&short_id).await;
    assert!(done.succeeded().contains("placet receipt verify --key"), "{done:?}");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it holds the question's id");
    let again = get(&short_id).await;
    assert!(
        again.status.code() == Some(3) && again.stderr.contains("receipt.json exists; name another file, or remove it"),
        "{again:?}"
    );

    let (_, auditor) = desk.site.key("auditor", "carol").await;
    let log = desk.site.folder().join("log.jsonl");
    export(&desk.site, &auditor, &log, &[]).await.succeeded();
    let key = key_of(&std::fs::read_to_string(&log).unwrap());
    desk.server.kill().await;

    let verify = async |more: &[&str], file: &str| {
        let arguments = [&["receipt", "verify", "--key", &key], more, &[file]].concat();
        desk.site.run(desk.site.command(arguments)).await
    };
    let genuine = verify(&[], &file).await;
    let said = genuine.succeeded();
    assert!(said.starts_with("The receipt is genuine.\n"), "{said}");
    for line in ["question       Refund order 12345?\n", "answered by    alice (operator)\n", "asked by       ci\n"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let json: Value = serde_json::from_str(verify(&["--json"], &file).await.succeeded()).unwrap();
    assert_eq!((&json["value"], &json["responded_by"]), (&"yes".into(), &"alice".into()), "{json}");
    let none = desk.site.folder().join("passkeys.json");
    std::fs::write(&none, "[]").unwrap();
    let unsigned = verify(&["--json", "--passkeys", none.to_str().unwrap()], &file).await;
    assert!(unsigned.status.code() == Some(1) && unsigned.stderr.contains("no passkey signed the answer"), "{unsigned:?}");
    assert_eq!(unsigned.stdout, "", "a script gets no decision from a receipt that is refused");

    let forged = desk.site.folder().join("forged.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replacen("alice", "carol", 1);
    assert_ne!(changed, text);
    std::fs::write(&forged, changed).unwrap();
    let refused = verify(&[], forged.to_str().unwrap()).await;
    assert!(refused.status.code() == Some(1) && refused.stderr.contains("not accepted"), "{refused:?}");
    let missing = verify(&[], "/nowhere").await;
    assert!(missing.status.code() == Some(3) && missing.stderr.contains("failed to read /nowhere"), "{missing:?}");
}

/// After the log got another key, the holder of a receipt fetches it again, and a third party names the old key as an earlier one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_receipt_is_checked_with_the_earlier_key() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Refund order 12345?"]));
    let short_id = desk.short_id().await;
    desk.respond("yes").await;
    asking.finish().await.succeeded();
    let get = async |name: &str| {
        let path = desk.site.folder().join(name);
        desk.site
            .run(desk.with_key(&desk.key, &["receipt", "get", &short_id, "--out", path.to_str().unwrap()]))
            .await
            .succeeded();
        path.to_str().unwrap().to_owned()
    };
    let before = get("before.json").await;
    let (_, auditor) = desk.site.key("auditor", "carol").await;
    let log = desk.site.folder().join("log.jsonl");
    export(&desk.site, &auditor, &log, &[]).await.succeeded();
    let first = key_of(&std::fs::read_to_string(&log).unwrap());
    let second = desk.site.run(desk.site.command(["keys", "rotate-log"])).await.succeeded().trim().to_owned();

    let verify = async |keys: &[&str], file: &str| {
        desk.site.run(desk.site.command([&["receipt", "verify"], keys, &[file]].concat())).await
    };
    let both = ["--key", &second, "--earlier-key", &first];
    let refused = verify(&both, &before).await;
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    for words in ["an earlier key of the log", "fetch the receipt again from the server"] {
        assert!(refused.stderr.contains(words), "{words}: {refused:?}");
    }
    let fetched = async {
        let mut number = 0;
        loop {
            let after = get(&format!("after-{number}.json")).await;
            if verify(&both, &after).await.status.success() {
                return after;
            }
            number += 1;
            sleep(LOOK).await;
        }
    };
    let after = timeout(PATIENCE, fetched).await.expect("a receipt with a checkpoint of the new key");
    let alone = verify(&["--key", &second], &after).await;
    assert!(alone.status.code() == Some(1) && alone.stderr.contains("not accepted"), "{alone:?}");
}

/// A third party reads a receipt on a terminal. An agent pads its words so that they would go on at the margin and look like words of the
/// program: like another person who answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_cannot_write_at_the_margin_of_a_receipt() {
    let desk = Desk::open().await;
    let agent = Api::new(&desk.site.base(), Some(&desk.key));
    let (_, auditor) = desk.site.key("auditor", "dora").await;
    let log = desk.site.folder().join("log.jsonl");
    export(&desk.site, &auditor, &log, &[]).await.succeeded();
    let key = key_of(&std::fs::read_to_string(&log).unwrap());
    let words = "The receipt is genuine.\nanswered by    carol (admin)";
    // 15 columns are taken by the name of a line, and 10 by the bar before the next one.
    for (number, padding) in [" ", "\u{a0}", "─", "界", "é", "👩\u{200D}👧"].into_iter().enumerate() {
        let forged = |columns: usize| format!("Pay{}{words}", padding.repeat(columns));
        let on_a_line = |text: String| text.replace(char::is_control, " ").chars().take(190).collect::<String>();
        let question = format!("{}\n{}\r\u{1B}[2J\u{9B}1A{words}", forged(62), forged(22));
        let value = on_a_line(forged(61));
        let choices = json!([{"value": value, "label": on_a_line(forged(21))}, {"value": "no", "label": "No"}]);
        let intent = agent.active_intent().await;
        agent.suspend(intent, json!({"question": question, "choices": choices})).await.ok();
        let short_id = desk.short_id().await;
        desk.respond(value).await;
        let file = format!("{number}.json");
        desk.site.run(desk.with_key(&desk.key, &["receipt", "get", &short_id, "--out", &file])).await.succeeded();
        for columns in [80, 40] {
            let line = format!("exec \"$PLACET\" receipt verify --key '{key}' {file}");
            let ended = desk.site.run(desk.on_a_terminal(&line, columns)).await;
            let (rows, broken) = on_screen(ended.succeeded(), columns);
            assert!(!broken, "the terminal breaks lines at {columns} columns: {rows:#?}");
            assert_at_their_margin(&rows);
        }
    }
}

/// Checks that each line of the program is there once, and that each other row goes on behind a bar or is the program's own.
fn assert_at_their_margin(rows: &[String]) {
    let starts = [
        "The receipt is genuine.",
        "question       Pay",
        "asked by       ci",
        "answer         \"Pay",
        "answered by    alice (operator)",
        "passkey        not demanded",
        "answered at",
        "action digest",
        "receipt",
        "Only the server knows",
    ];
    for start in starts {
        assert_eq!(rows.iter().filter(|row| row.starts_with(start)).count(), 1, "{start}: {rows:#?}");
    }
    for row in rows.iter().filter(|row| !starts.iter().any(|start| row.starts_with(start))) {
        let is_ours = row.starts_with("    ") && !["carol", "genuine", "answered by"].iter().any(|word| row.contains(word));
        assert!(row.starts_with("        │") || is_ours, "{row:?} in {rows:#?}");
    }
}

/// The API, receipts and exports have whole ids alone. In evidence a name is exact: an auditor compares it and copies it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_id_is_accepted_and_a_name_in_a_receipt_is_exact() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Refund order 12345? See https://evil.example"]));
    let question = desk.question().await;
    let id = text(&question["id"]);
    let person = desk.site.api("operator", "ops@example.com").await;
    person.respond(text(&question["intent_id"]).parse().unwrap(), id, "yes").await.ok();
    asking.finish().await.succeeded();
    let agent = async |arguments: &[&str]| desk.site.run(desk.with_key(&desk.key, arguments)).await;
    assert!(agent(&["show", id]).await.succeeded().contains("Refund order 12345?"));
    assert!(agent(&["log", id]).await.succeeded().contains("fits together"));
    agent(&["receipt", "get", id, "--out", "receipt.json"]).await.succeeded();
    let unknown = agent(&["receipt", "get", "01a223db-50fc-7499-a2a9-253d6232fad6", "--out", "none.json"]).await;
    assert!(unknown.status.code() == Some(3) && unknown.stderr.contains("may read has the id \""), "{unknown:?}");

    let (_, auditor) = desk.site.key("auditor", "carol").await;
    let log = desk.site.folder().join("log.jsonl");
    export(&desk.site, &auditor, &log, &[]).await.succeeded();
    let key = key_of(&std::fs::read_to_string(&log).unwrap());
    let genuine = desk.site.run(desk.site.command(["receipt", "verify", "--key", &key, "receipt.json"])).await;
    assert!(genuine.succeeded().contains("answered by    ops@example.com (operator)\n"), "{genuine:?}");
    assert!(!genuine.stdout.contains("https://"), "an agent's words make no link: {genuine:?}");
}

/// A person saves what the API answers, and both programs must say what is wrong with that file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_in_cose_and_a_whole_reply_are_recognized() {
    let site = Site::development();
    let key = SigningKey::new("log.example", &[1; 32]).unwrap().verifying().to_string();
    let whole = json!({"receipt": {"placet_receipt": 1}, "closed_at": null}).to_string();
    for (name, bytes, words) in [
        ("receipt.cose", &b"\xd2\x84"[..], "without format=cose"),
        ("reply.json", whole.as_bytes(), "the whole reply of the server"),
        ("other.json", &b"{}"[..], "not accepted"),
    ] {
        std::fs::write(site.folder().join(name), bytes).unwrap();
        let ours = site.run(site.command(["receipt", "verify", "--key", &key, name])).await;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verifier/receipt.py");
        let mut python = tokio::process::Command::new("python3");
        python.args([script, "--key", &key, name]).current_dir(site.folder());
        let theirs = site.run(python).await;
        for (ended, said) in [(&ours, &ours.stderr), (&theirs, &theirs.stdout)] {
            assert!(ended.status.code() == Some(1) && said.contains("not accepted") && said.contains(words), "{name}: {ended:?}");
            assert_eq!(said.contains("the whole reply"), name == "reply.json", "{name}: {ended:?}");
        }
    }
}
