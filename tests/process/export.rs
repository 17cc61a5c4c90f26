//! The log as a file: `placet export`, and the tree after servers that were killed.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use domain::log::Sealed;
use harness::api::Api;
use harness::process::{Finished, Running, Site};
use proof::checkpoint::TreeHead;
use proof::key::VerifyingKey;
use proof::tree::{Rooting, leaf_hash};
use serde_json::{Value, json};
use tokio::process::Command;

use super::desk::serving;

/// How often the server is killed.
const KILLS: u32 = 4;

/// Fetches the log with a key of an auditor.
pub(super) async fn export(site: &Site, key: &str, out: &Path, more: &[&str]) -> Finished {
    export_from(&site.base(), site, key, out, more).await
}

async fn export_from(url: &str, site: &Site, key: &str, out: &Path, more: &[&str]) -> Finished {
    let mut command: Command = site.command(["export", "--out", out.to_str().unwrap(), "--url", url]);
    command.args(more).env("PLACET_API_KEY", key);
    site.run(command).await
}

/// A server, the key of an auditor, and an agent that has asked this many questions.
async fn asked(questions: u32) -> (Site, Running, String, Api) {
    let site = Site::development();
    let server = site.serve().await;
    let (_, auditor) = site.key("auditor", "carol").await;
    let agent = site.api("agent", "bot").await;
    for _ in 0..questions {
        agent.ask(json!({})).await;
    }
    (site, server, auditor, agent)
}

/// A server that breaks off each of its answers: a download that begins behind `begun`, and one that goes on behind `more`.
fn breaking_off(begun: String, more: &'static str) -> SocketAddr {
    serving(move |request| {
        let body = if request.contains("after=") { more } else { begun.as_str() };
        format!("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{body}")
    })
}

/// Computes the root over a whole export at each of these sizes, and compares it with the signed one.
pub(super) fn check(text: &str, checkpoints: &[TreeHead]) -> u64 {
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut rooting = Rooting::default();
    let mut compared = 0;
    for line in &lines[1..lines.len() - 1] {
        assert_eq!(line["leaf"], rooting.size(), "no leaf is missing and none comes twice");
        rooting.push(leaf_hash(&proof::leaf::of(&Sealed::from_served(&line["event"]).unwrap()).unwrap()));
        for head in checkpoints.iter().filter(|head| head.size == rooting.size()) {
            assert_eq!(head.root, rooting.root(), "the tree of {} leaves", head.size);
            compared += 1;
        }
    }
    assert_eq!(compared, checkpoints.len(), "each checkpoint is one of this tree's");
    rooting.size()
}

fn header_of(text: &str) -> Value {
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

/// The public key that an export names.
pub(super) fn key_of(text: &str) -> String {
    header_of(text)["key"].as_str().unwrap().to_owned()
}

fn head_of(text: &str) -> TreeHead {
    let key: VerifyingKey = key_of(text).parse().unwrap();
    TreeHead::verify(header_of(text)["checkpoint"].as_str().unwrap(), &[key]).unwrap()
}

/// `placet verify` reads what `placet export` wrote, and ends as `placet-verify` does.
async fn check_with_the_program(site: &Site, file: &Path, text: &str) {
    let (key, name) = (&key_of(text), file.to_str().unwrap());
    let verified = site.run(site.command(["verify", "--key", key, name])).await;
    assert!(verified.succeeded().starts_with("VERIFIED"), "{verified:?}");
    let json = site.run(site.command(["verify", "--json", "--trust-export-key", name])).await;
    let report: Value = serde_json::from_str(json.succeeded()).unwrap();
    assert_eq!(report["exports"][0]["verdict"], "verified");
    let changed = site.folder().join("changed.jsonl");
    std::fs::write(&changed, text.replacen("\"bot\"", "\"bat\"", 1)).unwrap();
    for (arguments, code, words) in [
        (vec!["verify", "--key", key, changed.to_str().unwrap()], 1, "NOT VERIFIED"),
        (vec!["verify", "--key", key, "/nowhere"], 2, "NOT READ"),
        (vec!["verify", name], 2, "placet verify: no key is given"),
    ] {
        let done = site.run(site.command(arguments)).await;
        assert_eq!(done.status.code(), Some(code), "{done:?}");
        assert!(done.stdout.contains(words) || done.stderr.contains(words), "{done:?}");
    }
}

/// A download that broke off goes on behind its last whole line, and gives the file that an unbroken one would have given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_fetched_and_goes_on_where_it_broke_off() {
    let (site, server, auditor, agent) = asked(5).await;
    let (first, second) = (site.folder().join("first.jsonl"), site.folder().join("second.jsonl"));
    let done = export(&site, &auditor, &first, &[]).await;
    assert!(done.succeeded().contains("events.") && done.stdout.contains("placet verify --key"), "{done:?}");
    let whole = std::fs::read_to_string(&first).unwrap();
    check_with_the_program(&site, &first, &whole).await;
    check(&whole, &[head_of(&whole)]);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&first).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "it holds questions and answers");
    for cut in [0, 10, whole.len() / 2, whole.len() - 5] {
        std::fs::write(site.folder().join("second.jsonl.part"), &whole[..cut]).unwrap();
        export(&site, &auditor, &second, &[]).await.succeeded();
        let again = std::fs::read_to_string(&second).unwrap();
        let goes_on = head_of(&again) == head_of(&whole);
        assert!(if goes_on { again == whole } else { cut <= 10 }, "cut at {cut}");
        std::fs::remove_file(&second).unwrap();
    }
    refused(&export(&site, &auditor, &first, &[]).await, "exists; name another file");
    refused(&export(&site, &auditor, &second, &["--outcome", "maybe"]).await, "refused the export (422)");
    refused(&export(&site, agent.key(), &second, &[]).await, "refused the export (403)");
    server.kill().await;
}

fn refused(done: &Finished, words: &str) {
    assert!(done.status.code() == Some(3) && done.stderr.contains(words), "{words}: {done:?}");
}

/// A download that gets no new line any more must end. Once, the bytes of a line that was cut off again counted as progress, so a command
/// in a nightly job ran for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_breaks_off_each_time_ends() {
    let site = Site::development();
    let lines = "{\"placet_export\":1,\"size\":3,\"selection\":null}\n{\"leaf\":0,\"event\":{}}\n";
    let half = "{\"leaf\":1,\"event\":{\"intent_id\":";
    let fetch = async |name: &str, begun: String, format: &str| {
        let url = format!("http://{}/", breaking_off(begun, half));
        let done = export_from(&url, &site, "a-key", &site.folder().join(name), &["--format", format]).await;
        refused(&done, "the download broke off");
        (done, site.folder().join(format!("{name}.part")))
    };
    let ((with_events, kept), (without, none), (table, no_table)) = tokio::join!(
        fetch("log.jsonl", format!("{lines}{half}"), "jsonl"),
        fetch("none.jsonl", lines[..60].to_owned(), "jsonl"),
        fetch("log.csv", "leaf,created_at".to_owned(), "csv"),
    );
    refused(&with_events, "log.jsonl.part has what arrived so far; run the same command again");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), lines, "the lines that arrived whole");
    for (done, part) in [(without, none), (table, no_table)] {
        assert!(!done.stderr.contains("what arrived so far") && !part.exists(), "{done:?}");
    }
}

/// Two downloads are joined only if they are parts of one export. A file of another selection, of another server, or with other bytes would
/// look whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_parts_of_one_export_are_joined() {
    let (site, server, auditor, _) = asked(5).await;
    let (out, part) = (site.folder().join("log.jsonl"), site.folder().join("log.jsonl.part"));
    let by_agent = ["--agent", "bot", "--from", "2020-01-01T00:00:00Z"];
    export(&site, &auditor, &out, &by_agent).await.succeeded();
    let selected = std::fs::read_to_string(&out).unwrap();
    std::fs::remove_file(&out).unwrap();
    let cut = selected.trim_end().rfind('\n').unwrap() - 7;
    std::fs::write(&part, &selected[..cut]).unwrap();
    let others: [&[&str]; 3] = [&[], &["--agent", "bot"], &["--agent", "another", "--from", "2020-01-01T00:00:00Z"]];
    for other in others {
        refused(&export(&site, &auditor, &out, other).await, "is a part of an export with other filters");
    }
    assert!(part.exists() && !out.exists());
    export(&site, &auditor, &out, &by_agent).await.succeeded();
    assert_eq!(std::fs::read_to_string(&out).unwrap(), selected, "the same filters go on");
    std::fs::remove_file(&out).unwrap();
    let changed = selected[..cut].replacen("\"actor\":\"bot\"", "\"actor\":\"bat\"", 1);
    assert_ne!(changed, selected[..cut]);
    std::fs::write(&part, changed).unwrap();
    let changed = "log.jsonl.part was changed, a witness signed the checkpoint, or the server was updated meanwhile";
    refused(&export(&site, &auditor, &out, &by_agent).await, changed);
    let leaves = header_of(&selected)["size"].to_string();
    let foreign = selected[..cut].replacen(&format!("\"size\":{leaves}"), "\"size\":999999", 1);
    std::fs::write(&part, foreign).unwrap();
    let elsewhere = "belongs to another server, or to this one before its log was rolled back; move it away";
    refused(&export(&site, &auditor, &out, &by_agent).await, elsewhere);
    assert!(!out.exists());
    server.kill().await;
}

/// A wrong filter must not hand out everything, and a refusal leaves nothing behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_that_select_nothing_are_told() {
    let (site, server, auditor, agent) = asked(1).await;
    let (out, part) = (site.folder().join("log.jsonl"), site.folder().join("log.jsonl.part"));
    for flag in ["--from", "--to", "--intent", "--agent", "--person", "--outcome"] {
        refused(&export(&site, &auditor, &out, &[flag, ""]).await, &format!("{flag} is empty"));
    }
    let inverted = ["--from", "2026-12-01T00:00:00Z", "--to", "2026-11-01T00:00:00Z"];
    refused(&export(&site, &auditor, &out, &inverted).await, "must be later than the time in from");
    refused(&export(&site, agent.key(), &out, &[]).await, "refused the export (403)");
    assert!(!part.exists() && !out.exists(), "a refusal leaves no file");
    let done = export(&site, &auditor, &out, &["--agent", "another"]).await;
    assert!(done.succeeded().contains("No event of an intent fits --agent."), "{done:?}");
    std::fs::remove_file(&out).unwrap();
    let done = export(&site, &auditor, &out, &["--agent", "bot"]).await;
    assert!(!done.succeeded().contains("No event"), "{done:?}");
    std::fs::remove_file(&out).unwrap();
    server.kill().await;
    let done = export(&site, &auditor, &out, &[]).await;
    refused(&done, "nothing answers at");
    assert!(!done.stderr.contains("broke off") && !part.exists(), "{done:?}");
}

/// The file holds questions and answers. Another user of the machine may have made it beforehand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_from_before_is_not_trusted() {
    use std::os::unix::fs::PermissionsExt as _;

    let site = Site::development();
    let server = site.serve().await;
    let (_, auditor) = site.key("auditor", "carol").await;
    let (out, part) = (site.folder().join("log.jsonl"), site.folder().join("log.jsonl.part"));
    let elsewhere = site.folder().join("elsewhere");
    std::fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &part).unwrap();
    refused(&export(&site, &auditor, &out, &[]).await, "is a symbolic link");
    assert_eq!(std::fs::metadata(&elsewhere).unwrap().len(), 0);
    std::fs::remove_file(&part).unwrap();
    std::fs::write(&part, "").unwrap();
    std::fs::set_permissions(&part, std::fs::Permissions::from_mode(0o666)).unwrap();
    export(&site, &auditor, &out, &[]).await.succeeded();
    assert_eq!(std::fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
    server.kill().await;
}

/// Killed at any instant, a server leaves one tree: the next one goes on with it, and each checkpoint stays true.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_are_killed_leave_one_tree() {
    let site = Site::development();
    let mut server = site.serve().await;
    let (agent, admin) = (site.api("agent", "bot").await, site.api("admin", "root").await);
    let (_, auditor) = site.key("auditor", "carol").await;
    let (mut heads, mut acknowledged) = (Vec::new(), 0);
    for round in 0..KILLS {
        agent.active_intent().await;
        acknowledged += 1;
        let load = async {
            for _ in 0..40 {
                // The server may be gone by then.
                let create = agent.request("POST", "api/v1/intents").json(&json!({"title": "t", "description": "d"}));
                acknowledged += u64::from(agent.try_send(create).await.is_ok_and(|reply| (200..300).contains(&reply.status)));
                drop(admin.try_send(admin.request("POST", "api/v1/admin/checkpoints")).await);
            }
        };
        let killed = async {
            tokio::time::sleep(Duration::from_millis(u64::from(30 + 70 * round))).await;
            server.kill().await;
        };
        tokio::join!(load, killed);
        server = site.serve().await;
        let signed = admin.post("api/v1/admin/checkpoints", json!({})).await;
        assert_eq!(signed.status, 201, "{}", signed.text);
        let listed = admin.get("api/v1/checkpoints?limit=1000").await.ok();
        let notes = listed.as_array().unwrap().iter().map(|one| TreeHead::read(one["note"].as_str().unwrap()).unwrap());
        heads.extend(notes);
    }
    heads.sort_by_key(|head| head.size);
    heads.dedup();
    assert!(heads.windows(2).all(|two| two[0].size < two[1].size), "no size has two roots");
    let out = site.folder().join("log.jsonl");
    export(&site, &auditor, &out, &[]).await.succeeded();
    let events = check(&std::fs::read_to_string(&out).unwrap(), &heads);
    assert!(events >= acknowledged, "{events} events survived of at least {acknowledged}");
    server.kill().await;
}

/// Auditors with a spreadsheet or a SIEM export in the same way as those who verify.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_written_in_each_format() {
    let (site, server, auditor, _) = asked(1).await;
    for (format, begins) in [("csv", "leaf,created_at,"), ("ocsf", "{"), ("cef", "CEF:0|")] {
        let out = site.folder().join(format!("log.{format}"));
        let part = site.folder().join(format!("log.{format}.part"));
        // A part of another export is not gone on with.
        std::fs::write(&part, "{\"placet_export\":1,\"size\":7,\"selection\":null}\n{\"leaf\":3}\n").unwrap();
        let done = export(&site, &auditor, &out, &["--format", format]).await;
        assert!(done.succeeded().contains("Only an export in the format jsonl can be verified"), "{done:?}");
        let text = std::fs::read_to_string(&out).unwrap();
        assert!(text.starts_with(begins) && text.contains("bot") && text.lines().count() > 3 && !part.exists(), "{text}");
        let events = text.lines().count() - usize::from(format == "csv");
        assert!(
            done.stdout.contains(&format!("{events} events in the format {format}")) && !done.stdout.contains("No event"),
            "{done:?}"
        );
        std::fs::remove_file(&out).unwrap();
        let done = export(&site, &auditor, &out, &["--format", format, "--agent", "another"]).await;
        assert!(done.succeeded().contains("No event of an intent fits --agent."), "{done:?}");
    }
    let folder = site.folder().join("folder");
    std::fs::create_dir(&folder).unwrap();
    refused(&export(&site, &auditor, &folder, &[]).await, "folder is a directory; name a file in it");
    let out = site.folder().join("log.xml");
    refused(&export(&site, &auditor, &out, &["--format", "xml"]).await, "must be jsonl, csv, ocsf or cef");
    refused(&export(&site, &auditor, &out, &["--format", "csv", "--intent", "x"]).await, "intent_id");
    assert!(!out.exists() && !site.folder().join("log.xml.part").exists());
    server.kill().await;
}
