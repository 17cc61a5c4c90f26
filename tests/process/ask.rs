//! `placet ask`, as scripts and CI jobs run it: without a terminal, in pipes, interrupted, cut off.

use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::{PATIENCE, Running, Site};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::desk::{Desk, LOOK, code, heard, text};

/// How long an interrupted program tries to withdraw its question before it ends.
const LAST_CALL: Duration = Duration::from_secs(10);

/// The word after a flag in a command line that a message names.
fn word_after<'a>(said: &'a str, flag: &str) -> &'a str {
    said.split_whitespace().skip_while(|word| *word != flag).nth(1).expect(flag)
}

/// A script acts on the exit code alone. If one of these is wrong, it deploys on a no, or when no answer came.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_ending_has_its_exit_code_and_prints_the_answer_alone() {
    let desk = Desk::open().await;
    let choices = ["Where to?", "--choice", "eu=Europe", "--choice", "us=America", "--timeout", "5m"];
    assert_eq!(code(&desk.hear(desk.ask(&["Deploy?", "--confirm", "--timeout", "10m"]), "yes").await), (Some(0), "yes\n"));
    assert_eq!(code(&desk.hear(desk.ask(&["Deploy?"]), "no").await), (Some(1), "no\n"));
    assert_eq!(code(&desk.hear(desk.ask(&choices), "us").await), (Some(0), "us\n"));
    assert_eq!(code(&desk.hear(desk.ask(&["Which tag?", "--text"]), "v1.2 \"final\"").await), (Some(0), "v1.2 \"final\"\n"));
    let schema = desk.site.folder().join("terms.schema.json");
    std::fs::write(&schema, r#"{"type": "object", "properties": {"cap": {"type": "integer", "maximum": 5}}}"#).unwrap();
    let form = ["Which terms?", "--form", schema.to_str().unwrap()];
    assert_eq!(code(&desk.hear(desk.ask(&form), json!({"cap": 5})).await), (Some(0), "{\"cap\":5}\n"));

    // A fallback counts only if a person was reached in time, so the mail gets some seconds.
    let window = ["--timeout", "10s"];
    let (confirm, choice, none) = tokio::join!(
        desk.site.run(desk.ask(&[&["Deploy?", "--fallback", "yes"], &window[..]].concat())),
        desk.site.run(desk.ask(&[&choices[..5], &["--fallback", "eu"], &window].concat())),
        desk.site.run(desk.ask(&[&["Destroy?"], &window[..]].concat())),
    );
    assert_eq!(code(&confirm), (Some(2), "yes\n"), "a fallback is nobody's yes");
    assert_eq!(code(&choice), (Some(2), "eu\n"));
    assert_eq!(code(&none), (Some(2), ""));
    assert!(none.stderr.contains("no person answered in time"), "{none:?}");

    let asking = desk.site.start(desk.ask(&["Deploy?"]));
    let question = desk.question().await;
    let admin = desk.site.api("admin", "boss").await;
    admin.post(&format!("api/v1/suspensions/{}/cancel", text(&question["id"])), json!({})).await.ok();
    let withdrawn = asking.finish().await;
    assert_eq!(code(&withdrawn), (Some(2), ""));
    assert!(withdrawn.stderr.contains("the question was withdrawn"), "{withdrawn:?}");

    let asking = desk.site.start(desk.ask(&["Deploy?"]));
    let question = desk.question().await;
    let newer = json!({"question": "Deploy later?", "response_type": "confirm", "supersedes": question["id"]});
    let agent = Api::new(&desk.site.base(), Some(&desk.key));
    agent.post(&format!("api/v1/intents/{}/suspend", text(&question["intent_id"])), newer).await.ok();
    let superseded = asking.finish().await;
    assert_eq!(code(&superseded), (Some(2), ""));
    assert!(superseded.stderr.contains("the question was superseded by a newer one"), "{superseded:?}");
}

/// A person who writes a job wants to see which people it will ask, and when, without asking them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_says_who_would_be_told_when_and_asks_nobody() {
    let desk = Desk::open().await;
    let arguments = ["Deploy?", "--timeout", "10m", "--fallback", "no", "--notify", "bob@example.com", "--preview"];
    let preview = desk.site.run(desk.ask(&arguments)).await;
    assert_eq!(preview.status.code(), Some(0), "{preview:?}");
    let lines: Vec<&str> = preview.stdout.lines().collect();
    let [attempt, end] = lines.as_slice() else { panic!("{preview:?}") };
    assert!(attempt.ends_with(" UTC  bob@example.com (email)"), "{attempt}");
    assert!(end.contains(" UTC  If no person answers, the agent goes on with “No”"), "{end}");

    let secret = ["--context", "password=hunter2", "--json"];
    let preview = desk.site.run(desk.ask(&[&arguments[..], &secret].concat())).await;
    let json: Value = serde_json::from_str(&preview.stdout).unwrap();
    assert_eq!(json["schedule"][0]["recipients"], json!(["bob@example.com"]));
    assert_eq!((&json["at_the_end"]["what"], &json["at_the_end"]["value"]), (&json!("fallback"), &json!("no")));
    assert!(preview.stderr.contains("context.password looks like a password or a key"), "{preview:?}");
    assert!(!preview.stderr.contains("hunter2"), "{preview:?}");

    let stranger = ["Deploy?", "--notify", "eve@elsewhere.example", "--preview"];
    let refused = desk.site.run(desk.ask(&stranger)).await;
    assert_eq!((refused.status.code(), refused.stdout.as_str()), (Some(3), ""));
    let all = desk.operator.get("api/v1/suspensions?state=all").await.ok();
    assert_eq!(all["suspensions"], json!([]));
    assert_eq!(desk.operator.get("api/v1/intents").await.ok()["intents"], json!([]));
}

/// People are warned of choices that mislead. The author of the script must learn of this warning as well, both from a preview
/// and when the question is asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_asker_hears_what_the_people_are_warned_of() {
    let desk = Desk::open().await;
    let misleading = ["Refund?", "--choice", "approve=I deny", "--choice", "deny=Deny it"];
    let words = "the server warns: choices: An answer says one thing and sends another. People are warned.";
    let preview = desk.site.run(desk.ask(&[&misleading[..], &["--preview"]].concat())).await;
    assert!(!preview.succeeded().is_empty() && preview.stderr.matches(words).count() == 1, "{preview:?}");
    let asked = desk.hear(desk.ask(&misleading), "deny").await;
    assert_eq!((code(&asked), asked.stderr.matches(words).count()), ((Some(0), "deny\n"), 1), "{asked:?}");
}

/// If no person received the question, the script learns that no message arrived, and where to read the reason. It must not look
/// as if people were slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_reaches_nobody_is_undeliverable() {
    let site = Site::development();
    let (_, key) = site.key("agent", "ci").await;
    let mut serve = site.command(["serve"]);
    serve.env_remove("PLACET_OPERATORS");
    let mut server = site.start(serve);
    server.line_with("Placet listens on ").await;
    let mut ask = site.command(["ask", "Deploy?", "--timeout", "1s", "--fallback", "yes", "--json"]);
    ask.env("PLACET_URL", site.base()).env("PLACET_API_KEY", key);
    let ended = site.run(ask).await;
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    let said: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&said["outcome"], &said["source"], &said["value"]), (&json!("undeliverable"), &json!("none"), &json!(null)));
    assert!(ended.stderr.contains("no person by mail"), "{ended:?}");
    // The reason need not be the mail server.
    let why = "no message about the question reached a person; the list of its messages says why (GET /api/v1/suspensions/ID/deliveries)";
    assert!(ended.stderr.contains(why) && !ended.stderr.contains("doctor"), "{ended:?}");
}

/// People who read a job's log must learn for whose answer it waits, and the log must not give away the question's id or the key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_line_says_who_is_asked_until_when_and_what_silence_means() {
    let desk = Desk::open().await;
    let arguments =
        ["Deploy?", "--timeout", "10d", "--fallback", "no", "--notify", "bob@example.com", "--json", "--context", "commit=4f2a"];
    let mut asking = desk.site.start(desk.ask(&arguments));
    asking.close_input();
    let question = desk.respond("yes").await;
    let ended = asking.finish().await;
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for word in ["asking bob@example.com: “Deploy?”", "; if no answer comes, \"no\" is printed (exit 2)"] {
        assert!(lines[0].contains(word), "{word} is missing in {}", lines[0]);
    }
    // Asking may have taken a while.
    assert!(lines[0].contains("UTC (10 days)") || lines[0].contains("UTC (9 days 23 h)"), "{}", lines[0]);
    assert!(lines[1].contains("alice answered \"yes\""), "{}", lines[1]);
    assert_eq!(question["context"], json!({"commit": "4f2a"}));

    let said: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended.stdout.lines().count(), 1);
    let part = |name: &str| said[name].clone();
    assert_eq!((part("outcome"), part("source"), part("value")), (json!("answered"), json!("human"), json!("yes")));
    assert_eq!((part("responded_by"), part("exit_code"), part("replayed")), (json!("alice"), json!(0), json!(false)));
    for secret in [text(&question["id"]), &desk.key] {
        assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret), "a secret is shown");
    }
    let intent = desk.operator.intent(text(&question["intent_id"]).parse().unwrap()).await;
    assert_eq!(intent["status"], json!("completed"), "nothing is left behind");
}

/// Wrong usage that exits with 2 would look like a missing answer, and with 1 like a no.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_usage_is_told_in_a_line_and_exits_with_three() {
    let site = Site::development(); // No server: none of these may get that far.
    for (file, text) in [
        ("broken.json", "{\"type\": }"),
        ("numbers.json", "[1]"),
        ("none.json", "[]"),
        ("wrapped.json", "{\"questions\": []}"),
        ("empty.key", "\n"),
    ] {
        std::fs::write(site.folder().join(file), text).unwrap();
    }
    let wrong: [(&[&str], &str); 30] = [
        (&["Go?", "--asurance", "session"], "did you mean --assurance? see placet ask --help"),
        (&["Go?", "--form", "broken.json"], "broken.json (--form) is no JSON that this program reads: expected value at line 1"),
        (&["Go?", "--form", "numbers.json"], "numbers.json (--form) holds a list, and must hold a JSON Schema of the answer"),
        (&["Go?", "--form", "none.json"], "none.json (--form) holds an empty list"),
        (&["Go?", "--form", "wrapped.json"], "wrapped.json (--form): a list of questions is the list itself"),
        (&["Go?", "--proposal", "numbers.json"], "(--proposal) holds a list, and must hold a JSON object: the arguments"),
        (&["Go?", "--proposal", "numbers.json", "--editable", "none.json"], "numbers.json (--proposal)"),
        (&["Go?", "--key-file", "empty.key"], "empty.key, is empty"),
        (&[], "<QUESTION>"),
        (&["", "--confirm"], "empty"),
        (&["Go?", "--nonsense"], "--nonsense"),
        (&["Go?", "--confirm", "--text"], "--text"),
        (&["Go?", "--confirm", "--choice", "a"], "--choice"),
        (&["Go?", "--choice", "a=A", "--text"], "--text"),
        (&["Go?", "--choice", "=A"], "VALUE=LABEL"),
        (&["Go?", "--choice", "a=A", "--choice", "a=B"], "twice"),
        (&["Go?", "--choice", "a=A", "--timeout", "1m", "--fallback", "b"], "none of the choices; they are a"),
        (&["Go?", "--fallback", "no"], "--timeout"),
        (&["Go?", "--timeout", "1m", "--fallback", "maybe"], "yes or no"),
        (&["Go?", "--text", "--timeout", "1m", "--fallback", ""], "empty"),
        (&["Go?", "--timeout", "soon"], "90s, 10m, 2h, 1d"),
        (&["Go?", "--timeout", "0"], "1 second to 366 days"),
        (&["Go?", "--timeout", "367d"], "1 second to 366 days"),
        (&["Go?", "--context", "commit"], "KEY=VALUE"),
        (&["Go?", "--context", "a=1", "--context", "a=2"], "twice"),
        (&["Go?", "--key-file", "no-such-file"], "no-such-file"),
        (&["Go?", "--form", "no-such-form"], "no-such-form"),
        (&["Go?", "--form", "f", "--text"], "--text"),
        (&["Go?", "--api-key", "x"], "--api-key"),
        (&["Go?", "--url", "http://placet.example"], "--allow-insecure"),
    ];
    for (arguments, words) in wrong {
        let mut command = site.command([&["ask"], arguments].concat());
        command.env("PLACET_URL", site.base()).env("PLACET_API_KEY", "placet_agent_x");
        let ended = site.run(command).await;
        assert_eq!(code(&ended), (Some(3), ""), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words) && ended.stderr.lines().count() <= 2, "{arguments:?}: {}", ended.stderr);
    }
    let mut command = site.command(["ask", "Go?"]);
    command.env("PLACET_URL", site.base());
    let ended = site.run(command).await;
    assert!(ended.status.code() == Some(3) && ended.stderr.contains("PLACET_API_KEY"), "{ended:?}");
    let ended = site.run(site.command(["ask", "Go?"])).await;
    assert!(ended.status.code() == Some(3) && ended.stderr.contains("--url"), "{ended:?}");
    let help = site.run(site.command(["ask", "--help"])).await;
    assert!(help.succeeded().contains("Exit codes:") && help.stdout.contains("130"), "{help:?}");
    let misspelt = site.run(site.command(["aks", "Go?"])).await;
    assert_eq!(misspelt.status.code(), Some(3), "a misspelt command is no question without an answer: {misspelt:?}");
    assert!(misspelt.stderr.contains("'ask'"), "the command that was meant is named: {misspelt:?}");
    let unquoted = site.run(site.command(["ask", "Deploy", "to", "production?"])).await;
    assert!(unquoted.status.code() == Some(3) && unquoted.stderr.contains("into quotes"), "{unquoted:?}");
}

/// One code for a command line that cannot be understood, whichever command it names: a script tells it from a no and from silence.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_usage_of_every_command_exits_with_three() {
    let site = Site::development();
    for wrong in [
        &["keys", "nonsense"][..],
        &["people", "ad"],
        &["serve", "--operatorz"],
        &["doctor", "--depth"],
        &["verify", "--nonsense"],
    ] {
        assert_eq!(site.run(site.command(wrong)).await.status.code(), Some(3), "{wrong:?} is wrong as a misspelt question is");
    }
}

/// Refusals of the server: no person was asked, and the line tells what to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_refuses_exits_with_three() {
    let desk = Desk::open().await;
    let refusals: [(Command, &str); 3] = [
        (desk.with_key("placet_agent_unknown", &["ask", "Go?"]), "does not accept this API key"),
        (desk.with_key(desk.operator.key(), &["ask", "Go?"]), "role agent"),
        (desk.ask(&["Go?", "--notify", "someone@else.example"]), "notify_to"),
    ];
    for (command, words) in refusals {
        let ended = desk.site.run(command).await;
        assert_eq!(code(&ended), (Some(3), ""), "{}", ended.stderr);
        assert!(ended.stderr.contains(words) && ended.stderr.lines().count() == 1, "{words}: {}", ended.stderr);
    }
    let unknown = desk.site.run(desk.with_key("placet_operator_unknown", &["answer"])).await;
    assert_eq!(code(&unknown), (Some(3), ""), "{unknown:?}");
    assert!(unknown.stderr.contains(&desk.site.base()) && unknown.stderr.contains("does not accept this API key"), "{unknown:?}");
    std::fs::write(desk.site.folder().join("key"), format!("{}\n", desk.key)).unwrap();
    let mut from_file = desk.ask(&["Go?", "--key-file", "key"]);
    from_file.env_remove("PLACET_API_KEY");
    assert_eq!(code(&desk.hear(from_file, "yes").await), (Some(0), "yes\n"));
}

/// The forms in which scripts use the command. None has a terminal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_fits_into_scripts() {
    let desk = Desk::open().await;
    let stops = "set -e\n\"$PLACET\" ask 'Deploy?' --confirm </dev/null >answer\necho deployed";
    assert_eq!(code(&desk.hear(desk.script(stops), "yes").await), (Some(0), "deployed\n"));
    assert_eq!(code(&desk.hear(desk.script(stops), "no").await), (Some(1), ""), "set -e stops at a no");
    let branch = "set -eu\nif \"$PLACET\" ask 'Deploy?' >/dev/null; then echo go; else echo \"stay $?\"; fi";
    assert_eq!(code(&desk.hear(desk.script(branch), "yes").await), (Some(0), "go\n"));
    assert_eq!(code(&desk.hear(desk.script(branch), "no").await), (Some(0), "stay 1\n"));
    let captured = "region=$(\"$PLACET\" ask 'Where?' --choice eu --choice us 2>/dev/null | tr a-z A-Z)\necho \"to $region\"";
    assert_eq!(code(&desk.hear(desk.script(captured), "eu").await), (Some(0), "to EU\n"));
    let closed = "exec <&- 2>&-\n\"$PLACET\" ask 'Deploy?' >&-";
    assert_eq!(code(&desk.hear(desk.script(closed), "no").await), (Some(1), ""), "everything is closed");
}

/// If the reader of the output is gone, the command must end with a message, never with a panic; an answer that no program could
/// read is no success.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_cannot_be_written_exits_with_three() {
    let desk = Desk::open().await;
    let gone = desk.script("( \"$PLACET\" ask 'Which tag?' --text; echo $? >code ) | true; cat code");
    let ended = desk.hear(gone, "v1").await;
    assert_eq!(ended.stdout, "3\n", "{ended:?}");
    assert!(ended.stderr.contains("could not be written") && !ended.stderr.contains("panicked"), "{ended:?}");
}

/// A cancelled job must not leave people with a question whose answer no program reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_withdraws_the_question() {
    let desk = Desk::open().await;
    for (signal, exit_code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        // If a person runs the tests under nohup, the programs that they start ignore SIGHUP too. `env` gives the signal its
        // effect back.
        let asking = desk.site.start(desk.script("exec env --default-signal=HUP \"$PLACET\" ask 'Deploy?' --timeout 10m"));
        heard(&asking, "waiting").await;
        let question = desk.question().await;
        asking.signal(signal).await;
        let ended = asking.finish().await;
        assert_eq!(code(&ended), (Some(exit_code), ""), "{ended:?}");
        assert!(ended.stderr.contains("the question is withdrawn"), "{ended:?}");
        let record = desk.record(&question).await;
        assert_eq!((&record["resolution"], &record["resolution_reason"]), (&json!("cancelled"), &json!("withdrawn")));
        let intent = text(&question["intent_id"]).parse().unwrap();
        assert_eq!(desk.operator.status(intent).await, "abandoned");
        let events = desk.operator.events(intent).await;
        let why = events.iter().any(|event| event["payload"].to_string().contains(&format!("SIG{signal}")));
        assert!(why, "the log does not say why: {events:?}");
    }
}

/// `nohup` means that a wait outlives its terminal. If it did not, a question asked overnight would be gone when the laptop is
/// closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_nohup_a_closed_terminal_does_not_end_the_wait() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.script("exec env --ignore-signal=HUP \"$PLACET\" ask 'Deploy?'"));
    heard(&asking, "waiting").await;
    asking.signal("HUP").await;
    desk.respond("yes").await;
    assert_eq!(code(&asking.finish().await), (Some(0), "yes\n"));
}

/// A person who has answered was told that the answer counts. A Ctrl-C that comes a moment later must not turn a yes into an
/// error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_comes_before_the_signal_counts() {
    let desk = Desk::open().await;
    for (value, exit_code) in [("yes", 0), ("no", 1)] {
        let asking = desk.site.start(desk.ask(&["Deploy?"]));
        heard(&asking, "waiting").await;
        asking.signal("STOP").await;
        let question = desk.respond(value).await;
        asking.signal("INT").await;
        asking.signal("CONT").await; // It wakes up and finds the answer and the signal.
        let ended = asking.finish().await;
        assert_eq!(code(&ended), (Some(exit_code), format!("{value}\n").as_str()), "{ended:?}");
        let intent = text(&question["intent_id"]).parse().unwrap();
        assert_eq!(desk.operator.status(intent).await, "completed");
    }
}

/// The server may be gone when Ctrl-C comes. Then the person must learn that the question is still open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_cannot_be_withdrawn_is_said_to_be_open() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Deploy?", "--timeout", "10m"]));
    heard(&asking, "waiting").await;
    desk.server.kill().await;
    asking.signal("INT").await;
    let ended = asking.finish().await;
    assert_eq!(code(&ended), (Some(130), ""), "{ended:?}");
    assert!(ended.stderr.contains("could not be withdrawn") && ended.stderr.contains("still open"), "{ended:?}");
}

/// Starts to ask at an address where the test itself is the server; returns once the request has begun to arrive. A reply that is sent
/// before the request would be thrown away.
async fn asking_a_stranger(site: &Site, stranger: &TcpListener) -> (Running, TcpStream) {
    let mut ask = site.command(["ask", "Deploy?"]);
    ask.env("PLACET_URL", format!("http://{}/", stranger.local_addr().unwrap())).env("PLACET_API_KEY", "placet_agent_x");
    let asking = site.start(ask);
    let (mut connection, _) = timeout(PATIENCE, stranger.accept()).await.expect("the command calls").unwrap();
    let begun = timeout(PATIENCE, connection.read(&mut [0; 64])).await.expect("the command sends a request").unwrap();
    assert!(begun > 0, "the command closes its connection");
    (asking, connection)
}

/// A server that does not answer must not hold up a person who gives up: the second Ctrl-C ends the command at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_at_once() {
    let (site, stranger) = (Site::development(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let (asking, _connection) = asking_a_stranger(&site, &stranger).await;
    let first = Instant::now();
    asking.signal("INT").await;
    heard(&asking, "interrupted while asking").await;
    asking.signal("INT").await;
    let ended = asking.finish().await;
    assert_eq!(code(&ended), (Some(130), ""), "{ended:?}");
    assert!(ended.stderr.contains("if the question was asked, it is still open"), "{ended:?}");
    assert!(first.elapsed() < LAST_CALL, "it ended by itself: {:?}", first.elapsed());
}

/// A person who presses Ctrl-C wants to know whether people were asked. A refusal means that they were not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_after_a_signal_says_that_nobody_was_asked() {
    let (site, stranger) = (Site::development(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let (asking, mut connection) = asking_a_stranger(&site, &stranger).await;
    asking.signal("INT").await;
    heard(&asking, "interrupted while asking").await;
    let refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    connection.write_all(refusal).await.unwrap();
    let ended = asking.finish().await;
    assert_eq!(code(&ended), (Some(130), ""), "{ended:?}");
    assert!(ended.stderr.contains("the question was not asked") && !ended.stderr.contains("still open"), "{ended:?}");
}

/// If the server breaks off, it may have asked the question. The program must then say that this is unknown: told "probably not",
/// a person would ask once more, and two people would decide the same question separately.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_says_whether_the_question_may_be_open() {
    let failed = "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    let often = "HTTP/1.1 429 No\r\nRetry-After: 3600\r\nContent-Length: 39\r\nConnection: close\r\n\r\n\
                 {\"code\":\"bytes_spent\",\"detail\":\"spent\"}";
    for (reply, may_be_open) in [(failed, true), (often, false)] {
        let (site, stranger) = (Site::development(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let (asking, mut connection) = asking_a_stranger(&site, &stranger).await;
        connection.write_all(reply.as_bytes()).await.unwrap();
        let ended = asking.finish().await;
        assert_eq!(code(&ended), (Some(3), ""), "{ended:?}");
        assert!(!ended.stderr.contains("could not be reached"), "{ended:?}");
        let unknown = "it is unknown whether the question was asked; if it was, it is still open";
        assert_eq!(ended.stderr.contains(unknown), may_be_open, "{ended:?}");
        assert_eq!(ended.stderr.contains("run the same command with --idempotency-key "), may_be_open, "{ended:?}");
        assert_eq!(ended.stderr.contains("the question was not asked: spent (bytes_spent, 429)"), !may_be_open, "{ended:?}");
        assert!(!ended.stderr.contains("probably"), "{ended:?}");
    }
}

/// With `--keep`, a job that was cut off is run again and gets the answer to its first question.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_question_is_found_again_open_or_answered() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Deploy?", "--keep"]));
    heard(&asking, "waiting").await;
    let question = desk.question().await;
    asking.signal("INT").await;
    let ended = asking.finish().await;
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert_eq!(desk.record(&question).await["resolution"], json!(null));
    let key = word_after(&ended.stderr, "--idempotency-key");

    let again = desk.site.start(desk.ask(&["Deploy?", "--idempotency-key", key]));
    heard(&again, "waiting").await;
    assert_eq!(desk.respond("no").await["id"], question["id"], "it is the same question");
    assert_eq!(code(&again.finish().await), (Some(1), "no\n"));
    let after = desk.site.run(desk.ask(&["Deploy?", "--idempotency-key", key, "--json"])).await;
    assert_eq!(after.status.code(), Some(1), "{after:?}");
    let said: Value = serde_json::from_str(&after.stdout).unwrap();
    assert_eq!((&said["value"], &said["replayed"]), (&json!("no"), &json!(true)));
    let other = desk.site.run(desk.ask(&["Destroy?", "--idempotency-key", key])).await;
    assert!(other.status.code() == Some(3) && other.stderr.contains("names another question"), "{other:?}");
    // The same holds with `--title`: another question under the same key is refused and does not get the answer to the first.
    let titled = desk.site.start(desk.ask(&["Deploy?", "--title", "T", "--idempotency-key", "deploy-7"]));
    heard(&titled, "waiting").await;
    desk.respond("yes").await;
    assert_eq!(code(&titled.finish().await), (Some(0), "yes\n"));
    let other = desk.site.run(desk.ask(&["Destroy?", "--title", "T", "--idempotency-key", "deploy-7"])).await;
    assert!(other.status.code() == Some(3) && other.stderr.contains("names another question"), "{other:?}");
}

/// Sooner or later a server is restarted during a long wait. The script must not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_survives_a_server_that_is_killed_and_comes_back() {
    let mut desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Deploy?", "--timeout", "10m"]));
    heard(&asking, "waiting").await;
    desk.question().await;
    desk.server.kill().await;
    heard(&asking, "the server does not answer").await;
    desk.server = desk.site.serve().await;
    heard(&asking, "the server is back").await;
    desk.respond("yes").await;
    let ended = asking.finish().await;
    assert_eq!(code(&ended), (Some(0), "yes\n"), "{ended:?}");
    for words in ["the server does not answer", "is back"] {
        assert_eq!(ended.stderr.matches(words).count(), 1, "{words} is said once: {}", ended.stderr);
    }
}

/// A server that does not come back must not hold a job for ever, and a missing server is no answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stays_away_beyond_the_deadline_is_an_error() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Deploy?", "--timeout", "15s", "--grace", "1s", "--fallback", "yes"]));
    heard(&asking, "waiting").await;
    desk.server.kill().await; // Long before the deadline, or the answer would be the fallback.
    let ended = asking.finish().await;
    assert_eq!(code(&ended), (Some(3), ""), "{ended:?}");
    assert!(ended.stderr.contains("the server could not be reached until after the deadline"), "{ended:?}");
}

/// The server refuses a revoked key from then on. So a wait with that key ends with an error, and does not get the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_revoked_during_the_wait_is_an_error() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Deploy?", "--timeout", "10m"]));
    heard(&asking, "waiting").await;
    desk.question().await;
    desk.site.run(desk.site.command(["keys", "revoke", &desk.key_id])).await.succeeded();
    let revoked = Api::new(&desk.site.base(), Some(&desk.key));
    let look = async {
        while revoked.get("api/v1/intents").await.status != 401 {
            sleep(LOOK).await;
        }
    };
    timeout(PATIENCE, look).await.expect("the server goes on accepting a revoked key");
    desk.respond("yes").await; // This ends the wait under way.
    let ended = asking.finish().await;
    assert_eq!(code(&ended), (Some(3), ""), "{ended:?}");
    assert!(ended.stderr.contains("revoked") && ended.stderr.contains("make another key"), "{ended:?}");
}

/// A key revoked while the server is away must not lose the question: the person learns that it is open, and how to come back to
/// it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_revoked_while_the_server_is_away_leaves_the_question_to_come_back_to() {
    let mut desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Deploy?", "--timeout", "10m"]));
    heard(&asking, "waiting").await;
    let question = desk.question().await;
    desk.server.kill().await;
    heard(&asking, "the server does not answer").await;
    desk.site.run(desk.site.command(["keys", "revoke", &desk.key_id])).await.succeeded();
    let (_, key) = desk.site.key("agent", "ci").await;
    desk.server = desk.site.serve().await;
    let ended = asking.finish().await;
    assert_eq!(code(&ended), (Some(3), ""), "{ended:?}");
    assert!(ended.stderr.contains("revoked") && ended.stderr.contains("The question stays open"), "{ended:?}");
    let name = word_after(&ended.stderr, "--idempotency-key");

    let arguments = ["ask", "Deploy?", "--timeout", "10m", "--idempotency-key", name];
    let again = desk.site.start(desk.with_key(&key, &arguments));
    heard(&again, "waiting").await;
    assert_eq!(desk.respond("yes").await["id"], question["id"], "it is the same question");
    assert_eq!(code(&again.finish().await), (Some(0), "yes\n"));
}
