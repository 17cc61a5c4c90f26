//! How long after an answer is sent the agent that waits for it has it: 1,000 agents wait, people answer one by one.
//!
//! ```text
//! cargo bench -p placet-tests --bench wake
//! ```
//!
//! The server is its own process; it and this one share the machine. Goal (W5, idle): p50 ≤ 0.7 ms, p99 ≤ 1.5 ms.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to whoever runs it and ends when it cannot go on"
)]

use std::fs::File;
use std::io::{Seek, Write};
use std::time::{Duration, Instant};

use domain::ids::IntentId;
use harness::api::Api;
use harness::figures::{circumstances, percentile, resident_kib};
use harness::process::Site;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// Agents that wait at the same time, each on a connection of its own.
const WAITERS: usize = 1_000;
const ROUNDS: usize = 3;
/// Answers of a round that comes first and does not count.
const WARM_UP: usize = 200;
/// The time from one answer to the next: the machine is idle between them.
const PACE: Duration = Duration::from_millis(4);
/// Requests under way at the same time while a round is prepared.
const PREPARING: usize = 16;
/// How long the server waits before it answers that nothing has happened; a round must be over by then.
const WAIT_SECONDS: u32 = 50;
/// From the last connection until the first answer: what was asked has arrived by then.
const CALM: Duration = Duration::from_secs(2);

/// Syncs that show what the disk alone costs.
const SYNCS: usize = 300;
/// Roughly what the commit of an answer adds to the log: five pages.
const COMMIT_BYTES: usize = 5 * 4_096;

struct Asked {
    intent: IntentId,
    suspension: String,
}

/// When an agent had which value.
type Heard = (usize, Instant, Value);

async fn ask(agent: &Api) -> Asked {
    let intent = agent.active_intent().await;
    let context = json!({"context": {"order_id": "12345", "note": "x".repeat(1_000)}});
    let asked = agent.suspend(intent, context).await.ok();
    Asked { intent, suspension: asked["id"].as_str().unwrap().to_owned() }
}

async fn ask_many(agent: &Api, count: usize) -> Vec<Asked> {
    let mut tasks = JoinSet::new();
    let mut asked = Vec::new();
    for _ in 0..count {
        if tasks.len() == PREPARING {
            asked.push(tasks.join_next().await.unwrap().unwrap());
        }
        let agent = agent.clone();
        tasks.spawn(async move { ask(&agent).await });
    }
    asked.extend(tasks.join_all().await);
    asked
}

/// Lets everybody wait, then answers one by one; returns how long each answer took to arrive, in milliseconds.
async fn round(agent: &Api, operator: &Api, count: usize) -> Vec<f64> {
    let asked = ask_many(agent, count).await;
    let mut waiting = JoinSet::new();
    for (number, asked) in asked.iter().enumerate() {
        let (agent, path) = (agent.clone(), format!("api/v1/suspensions/{}?wait={WAIT_SECONDS}", asked.suspension));
        waiting.spawn(async move {
            let record = agent.get(&path).await.ok();
            let at = Instant::now();
            (number, at, record["response"].clone())
        });
    }
    let mut ticks = interval(CALM);
    ticks.tick().await;
    ticks.tick().await;
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut latencies = Vec::new();
    for (number, asked) in asked.iter().enumerate() {
        pace.tick().await;
        let value = if number % 2 == 0 { "approve" } else { "deny" };
        let answer = operator.respond(asked.intent, &asked.suspension, value);
        let sent = Instant::now();
        // The waiting agent may hear before the person is told that it counted.
        let (answered, heard) = tokio::join!(answer, timeout(Duration::from_secs(5), waiting.join_next()));
        assert_eq!(answered.status, 200, "{}", answered.text);
        let (who, at, heard): Heard = heard.expect("a waiting agent was not woken").unwrap().unwrap();
        assert_eq!((who, &heard), (number, &json!(value)), "another agent was woken, or with another value");
        latencies.push((at - sent).as_secs_f64() * 1_000.0);
    }
    latencies.sort_by(f64::total_cmp);
    latencies
}

/// The middle of the rounds, and from where to where they went.
fn over_rounds(rounds: &[Vec<f64>], figure: impl Fn(&[f64]) -> f64) -> String {
    let mut figures: Vec<f64> = rounds.iter().map(|round| figure(round)).collect();
    figures.sort_by(f64::total_cmp);
    format!("{:.3} ({:.3}–{:.3})", figures[figures.len() / 2], figures[0], figures[figures.len() - 1])
}

/// How long the disk alone takes to keep what one commit writes, at the same pace, in milliseconds, sorted: no answer can be quicker.
async fn disk(site: &Site) -> Vec<f64> {
    let mut file = File::create(site.folder().join("disk")).unwrap();
    let pages = vec![7; COMMIT_BYTES];
    // Like the database's log, which is overwritten from its start over and over: a file that grows costs more.
    file.write_all(&pages.repeat(SYNCS)).unwrap();
    file.sync_all().unwrap();
    file.rewind().unwrap();
    let mut pace = interval(PACE);
    let mut latencies = Vec::new();
    for _ in 0..SYNCS {
        pace.tick().await;
        let started = Instant::now();
        file.write_all(&pages).unwrap();
        file.sync_data().unwrap();
        latencies.push(started.elapsed().as_secs_f64() * 1_000.0);
    }
    latencies.sort_by(f64::total_cmp);
    latencies
}

async fn measure() {
    let site = Site::development();
    let agent = site.api("agent", "agent").await;
    let operator = site.api("operator", "operator").await;
    let server = site.serve().await;
    round(&agent, &operator, WARM_UP).await;
    let mut rounds = Vec::new();
    for number in 1..=ROUNDS {
        let latencies = round(&agent, &operator, WAITERS).await;
        println!(
            "round {number}: p50 {:.3} ms, p95 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
            percentile(&latencies, 0.50),
            percentile(&latencies, 0.95),
            percentile(&latencies, 0.99),
            percentile(&latencies, 1.0)
        );
        rounds.push(latencies);
    }
    let disk = disk(&site).await;
    let figure = |part| over_rounds(&rounds, |round| percentile(round, part));
    println!(
        "wake, {WAITERS} waiting, one answer every {} ms, median of {ROUNDS} rounds (from–to), ms: p50 {}, p95 {}, p99 {}, max {}; \
         one fdatasync p50 {:.3}, p99 {:.3}; {}",
        PACE.as_millis(),
        figure(0.50),
        figure(0.95),
        figure(0.99),
        figure(1.0),
        percentile(&disk, 0.50),
        percentile(&disk, 0.99),
        circumstances()
    );
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
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(measure());
}
