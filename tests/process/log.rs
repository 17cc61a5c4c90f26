//! The server's log: the lines that an operator reads about each question, and the contents that must not stand there.

use std::time::{Duration, Instant};

use harness::process::{PATIENCE, Running, Site};
use serde_json::{Value, json};
use tokio::time::sleep;

/// How often the test looks at the log.
const LOOK: Duration = Duration::from_millis(50);

/// The lines about one intent, as soon as there are this many, without the members that every line has.
async fn lines(server: &Running, intent: &str, count: usize) -> Vec<Value> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let log = server.errors();
        let all = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let found: Vec<Value> = all.map(|line| line["fields"].clone()).filter(|fields| fields["intent.id"] == intent).collect();
        if found.len() >= count {
            return found;
        }
        assert!(Instant::now() < give_up, "{count} lines about {intent} are expected in {log}");
        sleep(LOOK).await;
    }
}

/// A person who runs a server sees in its log that it works: one line for each event of each question. No line lets a reader
/// answer, or tells the question.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_tells_of_each_question_and_gives_nothing_away() {
    let site = Site::development();
    let server = site.serve().await;
    let agent = site.api("agent", "refund-agent").await;
    let operator = site.api("operator", "alice").await;
    let mut secrets = vec![agent.key().to_owned(), operator.key().to_owned(), "ops@example.com".to_owned()];
    let mut asked = Vec::new();
    for (question, more) in [
        ("the question that is answered", json!({})),
        ("the question that expires", json!({"timeout_seconds": 5, "fallback_policy": "fail"})),
        ("the question that is withdrawn", json!({"context": {"why": "the reason nobody may read"}})),
    ] {
        let mut change = json!({"question": question});
        change.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (intent, id) = agent.ask(change).await;
        secrets.extend([question.to_owned(), id.clone(), id.replace('-', "")]);
        asked.push((intent, id));
    }
    // Each message has left before its question ends.
    for (intent, _) in &asked {
        lines(&server, &intent.to_string(), 2).await;
    }
    operator.respond(asked[0].0, &asked[0].1, "approve").await.ok();
    agent.post(&format!("api/v1/suspensions/{}/cancel", asked[2].1), json!({"reason": "the reason nobody may read"})).await.ok();
    let ends = [
        ("a question was answered", "answered", "api_key"),
        ("a question expired", "expired_failed", "server"),
        ("a question was withdrawn", "withdrawn", "api_key"),
    ];
    for ((intent, _), (message, outcome, method)) in asked.iter().zip(ends) {
        let intent = intent.to_string();
        let about = |more: Value| {
            let mut line = json!({"intent.id": intent, "agent": "refund-agent"});
            line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            line
        };
        let told = lines(&server, &intent, 3).await;
        assert_eq!(
            told,
            [
                about(json!({"message": "a question was asked"})),
                about(json!({"message": "a question was delivered", "delivery.channel": "email"})),
                about(json!({"message": message, "outcome": outcome, "method": method})),
            ]
        );
    }
    secrets.extend(["approve".to_owned(), "the reason nobody may read".to_owned()]);
    let log = server.errors();
    for secret in secrets {
        assert!(!log.contains(&secret), "the log holds {secret}: {log}");
    }
    server.kill().await;
}
