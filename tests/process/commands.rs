//! The commands about questions, for people and for scripts: their effects, and their messages without a server, with a wrong
//! key, with a revoked key, and with a key of another role.

use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::{Finished, Running, Site};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::time::sleep;

use super::desk::{Desk, LOOK, code, heard, text};

/// A person who waits must learn the reason within this time.
const FIRST_WORD_WITHIN: Duration = Duration::from_secs(1);

impl Desk {
    /// A command with a key of `role`.
    async fn of(&self, role: &str, arguments: &[&str]) -> Finished {
        let (_, key) = self.site.key(role, &format!("the-{role}")).await;
        self.site.run(self.with_key(&key, arguments)).await
    }

    /// An open question with two choices, and its short id.
    async fn asked(&self) -> (Running, String) {
        let choices = ["--choice", "approve=Approve refund", "--choice", "deny=Deny refund", "--timeout", "1h"];
        let asking = self.site.start(self.ask(&[&["Refund?"], &choices[..]].concat()));
        self.question().await;
        let list = self.site.run(self.answer(&[])).await;
        let id = list.succeeded().split(' ').next().unwrap().to_owned();
        (asking, id)
    }
}

fn line(finished: &Finished) -> Value {
    assert_eq!(finished.succeeded().lines().count(), 1, "{finished:?}");
    assert!(finished.stdout.trim_end().chars().all(|c| matches!(c, ' '..='~')), "{finished:?}");
    serde_json::from_str(&finished.stdout).unwrap()
}

/// An operator's day in a shell, without a mail: the list of questions, more time, a reminder to the others, and the outcome.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_are_listed_shown_extended_reminded_answered_and_logged() {
    let desk = Desk::open().await;
    let nothing = desk.of("auditor", &["list"]).await;
    assert!(nothing.succeeded().is_empty() && nothing.stderr.contains("no question is open"), "{nothing:?}");
    let (asking, id) = desk.asked().await;
    let id = id.as_str();
    let operator = async |arguments: &[&str]| desk.site.run(desk.with_key(desk.operator.key(), arguments)).await;

    let listed = operator(&["list"]).await;
    assert!(
        listed.succeeded().starts_with(&format!("{id}  │ Refund?\n")) && listed.stdout.contains("approve | deny"),
        "{listed:?}"
    );
    assert_eq!(line(&operator(&["list", "--json"]).await)["number"], json!(id));
    let shown = operator(&["show", id]).await;
    assert!(shown.succeeded().contains("value │ approve\n  label │ Approve refund"), "{shown:?}");
    let status = operator(&["status"]).await;
    assert!(status.succeeded().contains("ready") && status.stdout.contains("Open questions: 1"), "{status:?}");
    let status = line(&operator(&["status", "--json"]).await);
    assert_eq!((&status["ready"], &status["open"]), (&json!(true), &json!(1)));

    let before = line(&operator(&["show", id, "--json"]).await)["expires_at"].clone();
    let extended = operator(&["extend", id, "1h", "--reason", "lunch"]).await;
    assert!(extended.succeeded().starts_with(&format!("{id}: The question is now open until ")), "{extended:?}");
    let after = line(&operator(&["show", id, "--json"]).await)["expires_at"].clone();
    assert!(text(&after) > text(&before), "{before} {after}");
    assert!(operator(&["remind", id]).await.succeeded().contains("get the message once more"));
    let too_soon = operator(&["remind", id]).await;
    assert!(too_soon.status.code() == Some(3) && too_soon.stderr.contains("no reminder was sent"), "{too_soon:?}");

    let answered = operator(&["answer", id, "APP"]).await;
    assert_eq!(answered.succeeded(), "Recorded approve by alice.\n");
    assert_eq!(code(&asking.finish().await), (Some(0), "approve\n"));
    for late in [&["answer", id, "deny"][..], &["answer", id], &["withdraw", id], &["remind", id], &["extend", id, "1h"]] {
        let late = operator(late).await;
        assert_eq!(late.status.code(), Some(3), "{late:?}");
        assert!(late.stderr.contains("has ended: alice answered \"approve\""), "{late:?}");
    }
    assert!(operator(&["list"]).await.stderr.contains("no question is open"));
    let all = operator(&["list", "--all"]).await;
    assert!(all.succeeded().contains("ended: alice answered \"approve\""), "{all:?}");
    let shown = line(&operator(&["show", id, "--json"]).await);
    assert_eq!((&shown["response"], &shown["responded_by"]), (&json!("approve"), &json!("alice")));

    let log = operator(&["log", id]).await;
    for words in ["intent.suspended, ci", "intent.suspension_extended, alice", "intent.resumed, alice", "fits together"] {
        assert!(log.succeeded().contains(words), "{words}: {log:?}");
    }
    let log = operator(&["log", id, "--json"]).await;
    let question = desk.operator.get("api/v1/suspensions?state=all").await.ok()["suspensions"][0].clone();
    assert!(log.succeeded().contains(id) && !log.stdout.contains(text(&question["id"])), "the id is a capability: {log:?}");
    let unknown = operator(&["show", "00000000"]).await;
    assert!(unknown.status.code() == Some(3) && unknown.stderr.contains("placet list --all"), "{unknown:?}");
}

/// A person says that the person works on a question, and takes that back; a place that cannot be handed on stays, with the reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_claimed_and_released_and_a_stranger_gets_no_place() {
    let desk = Desk::open().await;
    let (asking, id) = desk.asked().await;
    let id = id.as_str();
    let operator = async |arguments: &[&str]| desk.site.run(desk.with_key(desk.operator.key(), arguments)).await;
    let claimed = operator(&["claim", id]).await;
    assert!(claimed.succeeded().contains("Others see that you work on it, and may answer all the same."), "{claimed:?}");
    assert_eq!(line(&operator(&["show", id, "--json"]).await)["claimed_by"], json!("alice"));
    assert!(operator(&["show", id]).await.succeeded().contains("alice works on it"));
    assert!(operator(&["unclaim", id]).await.succeeded().contains("No person works on it any more."));
    let again = operator(&["unclaim", id]).await;
    assert!(again.status.code() == Some(3) && again.stderr.contains("the claim was not released"), "{again:?}");
    let stranger = operator(&["delegate", id, "--to", "stranger@example.com"]).await;
    assert!(stranger.status.code() == Some(3) && stranger.stderr.contains("no listed person"), "{stranger:?}");
    let unknown = operator(&["reassign", id, "--group", "finance", "--role", "admin"]).await;
    assert!(unknown.status.code() == Some(3) && unknown.stderr.contains("there is no group finance"), "{unknown:?}");
    assert_eq!(operator(&["answer", id, "APP"]).await.succeeded(), "Recorded approve by alice.\n");
    assert_eq!(code(&asking.finish().await), (Some(0), "approve\n"));
}

/// The agent that asked may withdraw its question, and so may an admin, both with a reason. The waiting `placet ask` ends then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_asker_and_an_admin_withdraw_a_question() {
    let desk = Desk::open().await;
    for (role, key) in [("agent", desk.key.clone()), ("admin", desk.site.key("admin", "boss").await.1)] {
        let (asking, id) = desk.asked().await;
        let question = desk.question().await;
        let withdrawn = desk.site.run(desk.with_key(&key, &["withdraw", &id, "--reason", "done by hand"])).await;
        assert!(withdrawn.succeeded().contains("withdrawn"), "{role}: {withdrawn:?}");
        assert_eq!(asking.finish().await.status.code(), Some(2));
        assert_eq!(desk.record(&question).await["resolution_reason"], json!("withdrawn"));
    }
}

/// A command that changes a question prints the result as JSON for scripts. It leaves out the question's id, because a caller
/// with the id may answer the question.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_done_to_a_question_is_told_as_json() {
    let desk = Desk::open().await;
    let (asking, id) = desk.asked().await;
    let id = id.as_str();
    let question = desk.question().await;
    let told = async |key: &str, arguments: &[&str]| {
        let said = desk.site.run(desk.with_key(key, arguments)).await;
        assert!(!said.stdout.contains(text(&question["id"])), "{said:?}");
        line(&said)
    };
    let operator = desk.operator.key();
    let extended = told(operator, &["extend", id, "1h", "--json"]).await;
    assert_eq!((&extended["number"], &extended["expires_at"]), (&json!(id), &desk.record(&question).await["expires_at"]));
    assert!(text(&extended["expires_at"]) > text(&question["expires_at"]), "{extended}");
    let reminded = told(operator, &["remind", id, "--json"]).await;
    assert_eq!((&reminded["number"], &reminded["resolution"]), (&json!(id), &json!(null)));
    let withdrawn = told(&desk.key, &["withdraw", id, "--reason", "done by hand", "--json"]).await;
    assert_eq!((&withdrawn["number"], &withdrawn["resolution_reason"]), (&json!(id), &json!("withdrawn")));
    assert_eq!(asking.finish().await.status.code(), Some(2));

    let (asking, id) = desk.asked().await;
    let answered = line(&desk.site.run(desk.answer(&[&id, "Deny", "--json"])).await);
    assert_eq!(
        (&answered["number"], &answered["value"], &answered["label"]),
        (&json!(id), &json!("deny"), &json!("Deny refund"))
    );
    assert_eq!(answered["responded_by"], json!("alice"));
    assert_eq!(code(&asking.finish().await), (Some(0), "deny\n"));
}

/// A person types "yes", "Deny" or the first letters: that counts if it fits one choice, and if that choice's label agrees with
/// its value.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_may_be_a_label_or_its_beginning_but_never_against_its_value() {
    let desk = Desk::open().await;
    let asked = async |choices: &[&str]| {
        let asking = desk.site.start(desk.ask(&[&["Refund?"], choices].concat()));
        desk.question().await;
        let list = desk.site.run(desk.answer(&[])).await;
        (asking, list.succeeded().split(' ').next().unwrap().to_owned())
    };
    let answer = async |id: &str, typed: &str| desk.site.run(desk.answer(&[id, typed])).await;

    let (asking, id) = asked(&["--confirm"]).await;
    assert_eq!(answer(&id, "YES").await.succeeded(), "Recorded yes by alice.\n");
    assert_eq!(code(&asking.finish().await), (Some(0), "yes\n"));

    let (asking, id) = asked(&["--choice", "eu-west=Europe", "--choice", "eu-north=Finland"]).await;
    for unclear in ["eu", "e", "EU-"] {
        let refused = answer(&id, unclear).await;
        assert!(refused.status.code() == Some(3) && refused.stderr.contains("more than one"), "{refused:?}");
    }
    assert!(answer(&id, "maybe").await.stderr.contains("none of the answers"));
    assert_eq!(answer(&id, "fin").await.succeeded(), "Recorded eu-north by alice.\n");
    assert_eq!(code(&asking.finish().await), (Some(0), "eu-north\n"));

    std::fs::write(
        desk.site.folder().join("terms.json"),
        r#"{"type": "object", "properties": {"cap": {"type": "integer", "maximum": 5}}}"#,
    )
    .unwrap();
    let (asking, id) = asked(&["--form", "terms.json"]).await;
    let shown = desk.site.run(desk.answer(&[&id])).await;
    assert!(shown.stderr.contains(&format!("give the fields: placet answer {id} '{{\"FIELD\": VALUE}}'")), "{shown:?}");
    for (typed, words) in [("5", "no object. Its fields: cap"), ("cap=5", "this is no JSON"), ("{\"cap\": 9}", "cap")] {
        let refused = answer(&id, typed).await;
        assert!(refused.status.code() == Some(3) && refused.stderr.contains(words), "{typed}: {refused:?}");
    }
    answer(&id, "{\"cap\": 5}").await.succeeded();
    assert_eq!(code(&asking.finish().await), (Some(0), "{\"cap\":5}\n"));

    let (asking, id) = asked(&["--choice", "approve=Deny", "--choice", "other=Something else"]).await;
    for lie in ["deny", "Deny", "d", "APPROVE", "other thing", "some"] {
        let refused = answer(&id, lie).await;
        assert_eq!(refused.status.code(), Some(3), "{lie}: {refused:?}");
    }
    let shown = desk.site.run(desk.answer(&[&id])).await;
    assert!(shown.succeeded().contains("approve") && shown.stdout.to_lowercase().contains("may mislead"), "{shown:?}");
    assert_eq!(answer(&id, "approve").await.succeeded(), "Recorded approve by alice.\n");
    assert_eq!(code(&asking.finish().await), (Some(0), "approve\n"));
}

/// Every command that speaks to a server, with its further arguments, and a role whose keys may not do it.
fn commands(id: &str) -> Vec<(Vec<String>, &'static str)> {
    let command = |words: &[&str], role| (words.iter().map(|word| (*word).to_owned()).collect(), role);
    vec![
        command(&["ask", "Go?"], "operator"),
        command(&["ask", "Go?", "--preview"], "auditor"),
        command(&["answer"], "channel"),
        command(&["answer", id, "approve"], "auditor"),
        command(&["list"], "channel"),
        command(&["list", "--all"], "channel"),
        command(&["show", id], "channel"),
        command(&["log", id], "channel"),
        command(&["log", "--server"], "operator"),
        command(&["withdraw", id], "operator"),
        command(&["remind", id], "auditor"),
        command(&["extend", id, "1h"], "auditor"),
        command(&["status"], "channel"),
    ]
}

fn fails(arguments: &[String], ended: &Finished, words: &[&str]) {
    assert_eq!(code(ended), (Some(3), ""), "{arguments:?}: {ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{arguments:?}: {ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "{arguments:?}: {word} is missing in {}", ended.stderr);
    }
}

/// With a wrong key, or without one, every command prints one line that tells what to do, prints nothing on standard output and
/// exits with 3, so that a script does not take an error for a result.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_command_says_what_is_wrong_with_its_key() {
    let desk = Desk::open().await;
    let (asking, id) = desk.asked().await;
    let question = desk.question().await;
    let mut roles = std::collections::BTreeMap::new();
    for role in ["agent", "operator", "auditor"] {
        roles.insert(role, desk.site.key(role, &format!("a-{role}")).await.1);
    }
    let gateway = ["keys", "create", "--role", "channel", "--name", "a-gateway", "--unbound"];
    let gateway = desk.site.run(desk.site.command(gateway)).await;
    roles.insert("channel", gateway.succeeded().trim_end().to_owned());
    let (revoked_id, revoked) = desk.site.key("admin", "leaver").await;
    desk.site.run(desk.site.command(["keys", "revoke", &revoked_id])).await.succeeded();
    let status = harness::api::Api::new(&desk.site.base(), Some(&revoked));
    while status.get("api/v1/intents").await.status != 401 {
        sleep(LOOK).await;
    }
    for (arguments, role) in commands(&id) {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let with = async |key: &str| desk.site.run(desk.with_key(key, &words)).await;
        let unknown = ["does not accept this API key", &desk.site.base()];
        fails(&arguments, &with("placet_operator_unknown").await, &unknown);
        fails(&arguments, &with(&revoked).await, &unknown);
        fails(&arguments, &with(&roles[role]).await, &["this needs a key with the role"]);
        let mut none = desk.with_key("", &words);
        none.env_remove("PLACET_API_KEY");
        fails(&arguments, &desk.site.run(none).await, &["no API key", "PLACET_API_KEY", "--key-file"]);
    }
    assert_eq!(desk.record(&question).await["resolution"], json!(null), "nothing happened to the question");
    desk.respond("deny").await;
    assert_eq!(code(&asking.finish().await), (Some(0), "deny\n"));
}

fn at(site: &Site, url: &str, arguments: &[String]) -> Command {
    let mut command = site.command(arguments);
    command.env("PLACET_URL", url).env("PLACET_API_KEY", "placet_operator_x");
    command
}

/// An address is mistyped in few ways, and for each the right one can be named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_cannot_be_meant_is_answered_with_the_right_one() {
    let site = Site::development();
    let _server = site.serve().await;
    let host = format!("127.0.0.1:{}", site.port());
    for (url, words) in [
        (host.clone(), vec!["no scheme", "http://127.0.0.1"]),
        (format!("localhost:{}", site.port()), vec!["no scheme; write http://localhost"]),
        ("placet.example.com".to_owned(), vec!["no scheme; write https://placet.example.com"]),
        ("user:hunter2@placet.example.com".to_owned(), vec!["no user, no password"]),
        (format!("https://{host}"), vec!["does not encrypt; write http://127.0.0.1"]),
        (format!("http://{host}/api/v1"), vec!["/api/v1", "write http://127.0.0.1"]),
        (format!("http://{host}/api/v1/"), vec!["/api/v1", "write http://127.0.0.1"]),
        (format!("https://user:hunter2@{host}/api/v1"), vec!["no user, no password"]),
        (format!("http://{host}/elsewhere"), vec!["is not a Placet server", "PLACET_URL"]),
        ("https://user:p@hunter2/w:rd@placet.example.com".to_owned(), vec!["no user, no password"]),
        ("https://placet.invalid".to_owned(), vec!["https://placet.invalid/ could not be reached", "PLACET_URL"]),
    ] {
        let begun = Instant::now();
        let ended = site.run(at(&site, &url, &["list".to_owned()])).await;
        assert_eq!(code(&ended), (Some(3), ""), "{url}: {ended:?}");
        for word in words {
            assert!(ended.stderr.contains(word), "{url}: {word} is missing in {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
        // If waiting cannot fix the error, the command ends at once.
        assert!(url.contains("invalid") || begun.elapsed() < Duration::from_secs(5), "{url} took {:?}", begun.elapsed());
    }
    for (arguments, _) in commands("00000000") {
        let mut nowhere = site.command(&arguments);
        nowhere.env("PLACET_API_KEY", "placet_operator_x");
        fails(
            &arguments,
            &site.run(nowhere).await,
            &["no server is named", "PLACET_URL=https://", "--url", "http://127.0.0.1:7420"],
        );
    }
}

/// A person who sees nothing happen believes that the command hangs. So the command says within a second that the server does not
/// answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_said_within_a_second() {
    let site = Site::development();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for (address, ends) in [(silent.local_addr().unwrap(), false), (closed, true)] {
        let url = format!("http://{address}");
        let running: Vec<(Vec<String>, Instant, Running)> = commands("00000000")
            .into_iter()
            .map(|(arguments, _)| {
                let command = at(&site, &url, &arguments);
                (arguments, Instant::now(), site.start(command))
            })
            .collect();
        for (arguments, begun, running) in &running {
            heard(running, &format!("no answer from {url}/ yet")).await;
            // All commands start at the same time here, on few processors, so each may take four times as long.
            assert!(begun.elapsed() < FIRST_WORD_WITHIN * 4, "{arguments:?} took {:?}", begun.elapsed());
        }
        for (arguments, _, running) in running {
            if ends {
                let ended = running.finish().await;
                assert_eq!(code(&ended), (Some(3), ""), "{arguments:?}: {ended:?}");
                assert!(ended.stderr.contains("the connection was refused") && ended.stderr.lines().count() == 2, "{ended:?}");
            } else {
                running.kill().await;
            }
        }
    }
    // A single command must keep the limit. The time that a process takes to start on a busy machine is measured first and added
    // to the limit.
    let begun = Instant::now();
    site.run(site.command(["--version"])).await.succeeded();
    let start = begun.elapsed();
    let begun = Instant::now();
    let alone = site.start(at(&site, &format!("http://{closed}"), &["list".to_owned()]));
    heard(&alone, "no answer from").await;
    assert!(begun.elapsed() < FIRST_WORD_WITHIN + start, "{:?}, of which {start:?} are the start", begun.elapsed());
    alone.kill().await;
}

/// Completions and the manual know every command.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completions_and_the_manual_name_every_command() {
    let site = Site::development();
    let commands = [
        "ask", "answer", "list", "show", "log", "withdraw", "remind", "extend", "claim", "unclaim", "delegate", "reassign",
        "status", "keys", "serve", "doctor",
    ];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let completions = site.run(site.command(["completions", shell])).await;
        let missing: Vec<_> = commands.iter().filter(|name| !completions.succeeded().contains(**name)).collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
    }
    let manual = site.run(site.command(["man"])).await;
    assert!(
        manual.succeeded().contains(".TH placet 1") && commands.iter().all(|name| manual.stdout.contains(name)),
        "{manual:?}"
    );
    let page = site.run(site.command(["man", "answer"])).await;
    assert!(page.succeeded().contains(".TH placet\\-answer 1") || page.stdout.contains(".TH placet-answer 1"), "{page:?}");
    assert!(page.stdout.contains("PLACET_API_KEY_FILE"), "{page:?}");
    site.run(site.command(["man", "nonsense"])).await.refused(&["no command", "placet --help"]);
}

/// An operator pauses the work of an agent and lets it go on, from a shell: by the id of the intent, and by that of the pause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_is_paused_shown_and_resumed() {
    let desk = Desk::open().await;
    let agent = Api::new(desk.operator.base(), Some(&desk.key));
    let intent = agent.active_intent().await.to_string();
    let operator = async |arguments: &[&str]| desk.site.run(desk.with_key(desk.operator.key(), arguments)).await;
    let mut ids = Vec::new();
    for (by_intent, input) in [(true, "{\"supplier\": \"fine\"}"), (false, "Go on.")] {
        let paused = operator(&["pause", &intent, "--reason", "The supplier is checked.", "--json"]).await;
        let record = line(&paused);
        assert_eq!(
            (&record["kind"], &record["reason"], &record["mode"]),
            (&json!("paused"), &json!("The supplier is checked."), &json!("finish_step"))
        );
        let id = text(&record["id"]).to_owned();
        let shown = operator(&["show", &id]).await;
        assert!(shown.succeeded().contains("reason  │ The supplier is checked.\nopen, stage requested"), "{shown:?}");
        let own = desk.site.run(desk.with_key(&desk.key, &["resume", &id])).await;
        assert!(own.status.code() == Some(3) && own.stderr.contains("the intent was not resumed"), "{own:?}");
        let resumed = operator(&["resume", if by_intent { &intent } else { &id }, "--input", input]).await;
        assert_eq!(resumed.succeeded(), format!("{id}: The intent goes on.\n"));
        let shown = line(&operator(&["show", &id, "--json"]).await);
        let expected = if by_intent { json!({"supplier": "fine"}) } else { json!("Go on.") };
        assert_eq!((&shown["input"], &shown["cause"]), (&expected, &json!("explicit_resume")));
        ids.push(id);
    }
    let again = operator(&["resume", &ids[0]]).await;
    assert!(again.status.code() == Some(3) && again.stderr.contains("HARN-SUS-003"), "{again:?}");
    let nothing = operator(&["resume", &intent]).await;
    assert!(nothing.status.code() == Some(3) && nothing.stderr.contains("neither paused nor parked"), "{nothing:?}");
    for wrong in [&["pause", "x"][..], &["resume", "x"], &["pause", &intent, "--mode", "now"]] {
        let refused = operator(wrong).await;
        assert!(refused.status.code() == Some(3) && refused.stdout.is_empty() && !refused.stderr.is_empty(), "{refused:?}");
    }
    // A question is found by its short id alone: its whole id is a capability.
    let unknown = operator(&["show", "019ab0f2-0000-7000-8000-000000000000"]).await;
    assert_eq!(unknown.status.code(), Some(3));
}

/// A person copies what a stop waits for from a terminal, and finds a stop by the intent as well: `placet pause` was given no other id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_is_shown_and_logged_by_its_intent_and_by_its_own_id() {
    let desk = Desk::open().await;
    let agent = Api::new(desk.operator.base(), Some(&desk.key));
    let intent = agent.active_intent().await.to_string();
    let operator = async |arguments: &[&str]| desk.site.run(desk.with_key(desk.operator.key(), arguments)).await;
    // A line may be broken between words.
    let words = |finished: &Finished| finished.succeeded().split_whitespace().collect::<Vec<_>>().join(" ");

    let trigger = json!({"kind": "review", "provider": "webhook", "match": {"events": ["ci.example.com/built"]}});
    let timeout = json!({"duration_minutes": 5, "on_timeout": "fail"});
    let conditions = json!({"on_event": "cli.ev", "trigger": trigger, "timeout": timeout});
    let park = json!({"reason": "See docs.example.com.", "conditions": conditions});
    let parked = agent.post(&format!("api/v1/intents/{intent}/park"), park).await.ok();
    let id = text(&parked["id"]).to_owned();
    for named in [&intent, &id] {
        let shown = words(&operator(&["show", named]).await);
        assert!(shown.starts_with(&format!("intent {intent} is parked (since ")), "{shown}");
        let lines = "reason │ See docs[.]example[.]com. open, stage suspended event │ cli.ev trigger │ ci.example.com/built from │ webhook";
        assert!(shown.contains(lines) && shown.ends_with(": then the work is given up"), "{shown}");
        assert_eq!(shown.matches("until").count(), 1, "{shown}");
        let logged = words(&operator(&["log", named]).await);
        assert!(logged.contains("lifecycle.parked, ci") && logged.contains("fits together"), "{logged}");
    }
    // The name that was shown is that of the event.
    let event = json!({"name": "cli.ev", "payload": {"at": "a.example"}});
    assert_eq!(desk.operator.post("api/v1/events", event).await.ok()["woken"], 1);
    let shown = words(&operator(&["show", &id]).await);
    assert!(shown.starts_with(&format!("intent {intent} was parked at ")) && !shown.contains("until"), "{shown}");
    assert!(shown.ends_with("an event let it go on event │ cli.ev input │ {\"at\":\"a.example\"}"), "{shown}");
    for command in ["show", "log"] {
        let refused = operator(&[command, &intent]).await;
        assert!(refused.status.code() == Some(3) && refused.stderr.contains("an intent that is not stopped"), "{refused:?}");
    }

    let paused = line(&operator(&["pause", &intent, "--json"]).await);
    let shown = words(&operator(&["show", &intent]).await);
    assert!(shown.starts_with(&format!("intent {intent} is paused (since ")), "{shown}");
    agent.post(&format!("api/v1/suspensions/{}/settle", text(&paused["id"])), json!({"stage": "quiescing"})).await.ok();
    let again = words(&operator(&["pause", &intent]).await);
    assert!(again.ends_with("its agent has acknowledged it, and has not stopped yet."), "{again}");
    let reason = json!({"reason": "Another team does it."});
    let stop = desk.operator.post(&format!("api/v1/intents/{intent}/stop"), reason).await.ok();
    let shown = words(&operator(&["show", &intent]).await);
    assert!(shown.starts_with(&format!("the work on intent {intent} is being ended (since ")), "{shown}");
    assert!(shown.contains("open, stage quiescing") && shown.ends_with(": then the intent ends"), "{shown}");
    let handoff = json!({"left": ["docs.example.com"]});
    agent.post(&format!("api/v1/suspensions/{}/settle", text(&stop["id"])), json!({"handoff": handoff})).await.ok();
    let shown = words(&operator(&["show", text(&stop["id"])]).await);
    assert!(shown.starts_with(&format!("the work on intent {intent} was ended at ")), "{shown}");
    assert!(shown.ends_with(": its agent had stopped handoff │ {\"left\":[\"docs.example.com\"]}"), "{shown}");
}

/// An erased answer is not told as an empty one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erased_answer_is_told_as_erased() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Refund order 12345?"]));
    let question = desk.respond("yes").await;
    asking.finish().await.succeeded();
    let admin = desk.site.api("admin", "root").await;
    let erase = format!("api/v1/intents/{}/redact", question["intent_id"].as_str().unwrap());
    admin.post(&erase, json!({"legal_basis": "a request"})).await.ok();
    let list = desk.site.run(desk.with_key(desk.operator.key(), &["list", "--all"])).await;
    assert!(list.succeeded().contains("the answer was erased since"), "{list:?}");
    assert!(!list.stdout.contains("answered \"\""), "{list:?}");
}

/// A person names the file as other programs want it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_named_without_out_is_told_where_it_belongs() {
    let site = Site::development();
    let export = site.run(site.command(["export", "log.jsonl"])).await;
    assert!(export.status.code() == Some(3) && export.stderr.contains("name the file with --out"), "{export:?}");
    let show = site.run(site.command(["show", "a", "b"])).await;
    assert!(show.status.code() == Some(3) && show.stderr.contains("put a text with spaces into quotes"), "{show:?}");
}
