//! The deadline is the server's: it comes whether or not the agent that asked still lives.

use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::{PATIENCE, Running, Site};
use harness::smtp::SmtpSink;
use serde_json::{Value, json};
use tokio::process::Command;

/// How long people have to answer each question, in seconds.
const WINDOW_SECONDS: u32 = 2;
/// How late a deadline may be on a machine that runs other tests.
const LATENESS_MAX: Duration = Duration::from_secs(3);

struct Question {
    policy: &'static str,
    intent: String,
    suspension: String,
}

/// Starts an agent that asks, waits until it has asked, and kills it.
async fn ask_and_die(site: &Site, key: &str, policy: &'static str) -> Question {
    let mut agent = start_agent(site, key, WINDOW_SECONDS, policy);
    let line = agent.line_with("asked ").await;
    agent.kill().await;
    let words: Vec<&str> = line.split(' ').collect();
    Question { policy, intent: words[1].to_owned(), suspension: words[2].to_owned() }
}

fn start_agent(site: &Site, key: &str, seconds: u32, policy: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_asking-agent"));
    command.args(["Refund?", &seconds.to_string(), policy]).env("PLACET_URL", site.base()).env("PLACET_API_KEY", key);
    site.start(command)
}

/// Looks until the suspension has ended.
async fn ended(reader: &Api, suspension: &str) -> Value {
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE {
        let record = reader.get(&format!("api/v1/suspensions/{suspension}?wait=5")).await.ok();
        if record["resolution"].is_string() {
            return record;
        }
    }
    panic!("the deadline did not come");
}

/// RFC-0025 §6 promises an ending even if the agent does not live to see it. An agent that crashed while it waited must find its
/// intent decided, not stuck.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fallback_is_applied_when_the_agent_is_dead() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (_, key) = site.key("agent", "doomed").await;
    let reader = site.api("auditor", "reader").await;
    let server = site.serve().await;
    let mut questions = Vec::new();
    for policy in ["fail", "complete_with_fallback", "use_default_and_continue"] {
        questions.push(ask_and_die(&site, &key, policy).await);
    }
    for question in questions {
        let record = ended(&reader, &question.suspension).await;
        let (response, status) = match question.policy {
            "fail" => (json!(null), "abandoned"),
            _ => (json!("deny"), "active"),
        };
        assert_eq!(record["fallback_policy"], json!(question.policy));
        assert_eq!(record["resolution"], json!("expired"), "{record}");
        assert_eq!((&record["response"], &record["responded_by"]), (&response, &json!(null)));
        let intent = reader.get(&format!("api/v1/intents/{}", question.intent)).await.ok();
        assert_eq!(intent["status"], json!(status), "{}", question.policy);

        let time = |name: &str| domain::base::time::parse(record[name].as_str().unwrap()).unwrap();
        let window = time("resolved_at") - time("suspended_at");
        let window = window.to_std().unwrap();
        assert!(window >= Duration::from_secs(WINDOW_SECONDS.into()), "{window:?} is early");
        assert!(window < Duration::from_secs(WINDOW_SECONDS.into()) + LATENESS_MAX, "{window:?} is late");
    }
    server.kill().await;
}

/// The control: the same process, left alive, learns how its question ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_lives_hears_of_the_fallback() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (_, key) = site.key("agent", "patient").await;
    let _server = site.serve().await;
    let done = start_agent(&site, &key, WINDOW_SECONDS, "complete_with_fallback").finish().await;
    assert!(done.succeeded().contains("answer deny Fallback"), "{done:?}");
}

/// A deadline that passes while no server runs is applied by the next one at its start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_that_passed_while_the_server_was_down_is_applied_at_its_start() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (_, key) = site.key("agent", "doomed").await;
    let reader = site.api("auditor", "reader").await;
    let server = site.serve().await;
    let question = ask_and_die(&site, &key, "fail").await;
    server.kill().await;
    tokio::time::sleep(Duration::from_secs(u64::from(WINDOW_SECONDS) + 1)).await;
    let _server = site.serve().await;
    let started = Instant::now();
    let record = ended(&reader, &question.suspension).await;
    assert!(started.elapsed() < LATENESS_MAX, "{:?}", started.elapsed());
    assert_eq!(record["resolution"].as_str().map(|_| record["response"].clone()), Some(json!(null)));
    assert_eq!(reader.get(&format!("api/v1/intents/{}", question.intent)).await.ok()["status"], json!("abandoned"));
}

/// The agent dies as soon as it has asked, and the server is killed between any two attempts. The escalation ladder still runs to
/// its end, no person is asked early, and none is asked twice except after a crash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ladder_plays_out_when_the_agent_is_dead_and_the_server_is_killed_between() {
    const INTERVAL_SECONDS: u32 = 3;
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (_, key) = site.key("agent", "doomed").await;
    let reader = site.api("auditor", "reader").await;
    let mut server = site.serve().await;
    let mut agent = start_agent(&site, &key, INTERVAL_SECONDS, "ladder");
    let line = agent.line_with("asked ").await;
    agent.kill().await;
    let (intent, suspension) = line.strip_prefix("asked ").unwrap().split_once(' ').unwrap();
    for person in ["ops@example.com", "lead@example.com", "duty@example.com"] {
        while smtp.next_mail().await.to != [person] {}
        server.kill().await;
        server = site.serve().await;
    }
    let record = ended(&reader, suspension).await;
    assert_eq!((&record["resolution"], &record["response"], &record["attempt"]), (&json!("expired"), &json!("deny"), &json!(3)));
    let intent = intent.parse().unwrap();
    let events = reader.events(intent).await;
    let at = |name: &str| -> Vec<f64> {
        let of_type = events.iter().filter(|event| event["event_type"] == name);
        let times = of_type.map(|event| domain::base::time::parse(event["created_at"].as_str().unwrap()).unwrap());
        let began = domain::base::time::parse(record["suspended_at"].as_str().unwrap()).unwrap();
        times.map(|time| (time - began).as_seconds_f64()).collect()
    };
    let (renotified, escalated, expired) =
        (at("intent.suspension_renotified"), at("intent.suspension_escalated"), at("intent.suspension_expired"));
    assert_eq!((renotified.len(), escalated.len(), expired.len()), (2, 2, 1), "{events:?}");
    for (seconds, due) in renotified.iter().chain(&expired).zip([1, 2, 3]) {
        let due = f64::from(due * INTERVAL_SECONDS);
        assert!((due..due + LATENESS_MAX.as_secs_f64()).contains(seconds), "{seconds} instead of {due}");
    }
    assert_eq!(reader.status(intent).await, "active");
    server.kill().await;
}
