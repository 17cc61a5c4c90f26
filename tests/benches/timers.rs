//! How late deadlines are applied: so many due per second for a while, then many due at the same instant. (W7: p99 ≤ 50 ms; 10,000 at
//! once all applied within 3 s; never early.)
//!
//! ```text
//! cargo bench -p placet-tests --bench timers -- --per-second 1000 --seconds 60 --at-once 10000
//! ```
//!
//! The lateness of a question is what its record says: `resolved_at` was read in the transaction that ended it. From there to the disk it
//! is one commit more, which is printed beside it.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to whoever runs it and ends when it cannot go on"
)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::ids::IntentId;
use domain::time::{parse, rfc3339, seconds};
use harness::api::Api;
use harness::figures::{Arguments, circumstances, percentile, resident_kib};
use harness::process::Site;
use placet_server::clock::SystemClock;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Requests under way at the same time.
const CLIENTS: usize = 32;
/// Records of one page.
const PAGE: usize = 200;
/// From the last question asked until the first is due, in seconds: nobody asks while deadlines come.
const CALM_SECONDS: u32 = 3;
/// How long the last deadline may take before the run counts as failed.
const LAST_WITHIN: Duration = Duration::from_mins(2);

/// Runs `work` for each of `items`, some at a time.
async fn for_each<T, F, R>(items: Vec<T>, work: impl Fn(T) -> F) -> Vec<R>
where
    F: Future<Output = R> + Send + 'static,
    R: Send + 'static,
{
    let (mut tasks, mut results) = (JoinSet::new(), Vec::new());
    for item in items {
        if tasks.len() == CLIENTS {
            results.push(tasks.join_next().await.unwrap().unwrap());
        }
        tasks.spawn(work(item));
    }
    results.extend(tasks.join_all().await);
    results
}

async fn intents(agent: &Api, count: u32) -> Vec<IntentId> {
    let create = |_| {
        let agent = agent.clone();
        async move { agent.active_intent().await }
    };
    for_each((0..count).collect(), create).await
}

/// Asks; returns the question's id.
async fn ask(agent: Api, intent: IntentId, timeout_seconds: u32) -> String {
    let asked = agent.suspend(intent, json!({ "timeout_seconds": timeout_seconds })).await.ok();
    asked["id"].as_str().unwrap().to_owned()
}

/// Asks so many a second, so that so many are due a second later on.
async fn steadily(agent: &Api, per_second: u32, seconds: u32) -> BTreeSet<String> {
    let prepared = intents(agent, per_second * seconds).await;
    let mut pace = interval(Duration::from_secs(1) / per_second);
    pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut tasks = JoinSet::new();
    for intent in prepared {
        pace.tick().await;
        tasks.spawn(ask(agent.clone(), intent, seconds + CALM_SECONDS));
    }
    tasks.join_all().await.into_iter().collect()
}

/// Asks, then moves all deadlines to one instant, and waits until it is near.
async fn at_once(agent: &Api, operator: &Api, count: u32) -> BTreeSet<String> {
    let began = Instant::now();
    let prepared = intents(agent, count).await;
    // Asking and moving take a few times what preparing took; nothing may be due before all are moved.
    let window = u32::try_from(began.elapsed().as_secs()).unwrap() * 6 + 10;
    let asked = for_each(prepared, |intent| ask(agent.clone(), intent, window)).await;
    let instant = SystemClock.now() + seconds(window);
    drop(for_each(asked.clone(), |id| move_to(operator.clone(), id, instant)).await);
    let left = (instant - SystemClock.now()).to_std().expect("all were moved before the instant came");
    sleep(left).await;
    asked.into_iter().collect()
}

async fn move_to(operator: Api, id: String, instant: DateTime<Utc>) {
    let path = format!("api/v1/suspensions/{id}/extend");
    operator.post(&path, json!({ "expires_at": rfc3339(instant) })).await.ok();
}

/// Waits until all have ended; returns how late each was, in milliseconds, sorted.
async fn lateness(reader: &Api, asked: &BTreeSet<String>) -> Vec<f64> {
    let started = Instant::now();
    loop {
        let open = reader.get("api/v1/suspensions?limit=1").await.ok();
        if open["suspensions"].as_array().unwrap().is_empty() {
            break;
        }
        assert!(started.elapsed() < LAST_WITHIN, "deadlines do not come");
        sleep(Duration::from_millis(200)).await;
    }
    let mut late = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = reader.get(&format!("api/v1/suspensions?state=all&limit={PAGE}{cursor}")).await.ok();
        for record in page["suspensions"].as_array().unwrap() {
            if asked.contains(record["id"].as_str().unwrap()) {
                late.push(late_by(record));
            }
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(late.len(), asked.len(), "a question is missing");
    late.sort_by(f64::total_cmp);
    late
}

fn late_by(record: &Value) -> f64 {
    let time = |name: &str| parse(record[name].as_str().unwrap()).unwrap();
    let late = time("resolved_at") - time("expires_at");
    assert!(late >= TimeDelta::zero(), "a deadline came early: {record}");
    late.as_seconds_f64() * 1_000.0
}

/// The mean time of a commit, in milliseconds.
async fn commit_milliseconds(auditor: &Api) -> f64 {
    let scrape = auditor.get("metrics").await.text;
    let sample = |name: &str| -> f64 {
        let line = scrape.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    };
    sample("placet_writer_commit_duration_seconds_sum") / sample("placet_writer_commit_duration_seconds_count") * 1_000.0
}

fn print(what: &str, late: &[f64]) {
    println!(
        "{what}: lateness ms p50 {:.2}, p99 {:.2}, max {:.2}; none early; {}",
        percentile(late, 0.50),
        percentile(late, 0.99),
        percentile(late, 1.0),
        circumstances()
    );
}

async fn measure(arguments: &Arguments) {
    let site = Site::development();
    let agent = site.api("agent", "agent").await;
    let operator = site.api("operator", "operator").await;
    let auditor = site.api("auditor", "auditor").await;
    let mut command = site.command(["serve"]);
    // Nobody is mailed: what is measured are deadlines.
    command.env_remove("PLACET_OPERATORS");
    let mut server = site.start(command);
    server.line_with("Placet listens on ").await;
    let (per_second, seconds) = (arguments.value("per-second"), arguments.value("seconds"));
    if per_second > 0 && seconds > 0 {
        let asked = steadily(&agent, per_second, seconds).await;
        sleep(Duration::from_secs(u64::from(CALM_SECONDS))).await;
        print(&format!("{per_second} deadlines a second for {seconds} s"), &lateness(&auditor, &asked).await);
    }
    let count = arguments.value("at-once");
    if count > 0 {
        let asked = at_once(&agent, &operator, count).await;
        print(&format!("{count} deadlines at one instant"), &lateness(&auditor, &asked).await);
    }
    println!("a commit took {:.2} ms on average", commit_milliseconds(&auditor).await);
    if let Some(kib) = resident_kib(&server) {
        println!("the server's memory afterwards: {} MiB", kib / 1_024);
    }
    server.kill().await;
}

fn main() {
    // `cargo test --all-targets` starts benchmarks as well, but only `cargo bench` wants figures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let arguments = Arguments::read(&[("per-second", 1_000), ("seconds", 60), ("at-once", 10_000)]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(measure(&arguments));
}
