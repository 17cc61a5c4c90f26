//! How much one endpoint that never answers delays the others: fifty webhooks, with and without one that hangs.
//!
//! ```text
//! cargo bench -p placet-tests --bench lanes
//! ```
//!
//! The server is its own process; it, the endpoints and this process share the machine. A figure is the time from the agent's
//! request that asks to the server's request that tells the endpoint. Goal: the p99 of the other endpoints is the same whether or
//! not one endpoint hangs. Both kinds of rounds ask the same number of questions, so that only the hanging endpoint differs.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to the person who runs it and ends when it cannot go on"
)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use clap::Parser;
use harness::api::Api;
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::UNPRESSED;
use harness::bench::{percentile, run};
use harness::process::Site;
use harness::receiver::{Answer, Receiver, SECRET};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

const ENDPOINTS: usize = 50;
/// Rounds of each kind: every round has a p99 of its own, and the medians are compared.
const ROUNDS: usize = 5;
/// Measured questions of a round, spread over the endpoints that answer.
const QUESTIONS: usize = 1_000;
/// The time from one question to the next.
const PACE: Duration = Duration::from_millis(20);
/// Further questions of a round, all to the endpoint that hangs, or in a calm round all to one that answers. The same number
/// waits for the endpoint that hangs before its first round.
const FURTHER: usize = 100;
/// How often the benchmark looks for new requests: the figures are as exact as this.
const LOOK: Duration = Duration::from_millis(1);

/// One `[[channels.webhook]]` per endpoint; the last one hangs.
fn settings(healthy: &Receiver, hanging: &Receiver) -> String {
    (0..ENDPOINTS).fold("[channels]\ndefault = ['email']\n".to_owned(), |mut text, number| {
        let url = if number + 1 == ENDPOINTS { hanging.url() } else { healthy.url() };
        writeln!(
            text,
            "[[channels.webhook]]\nname = 'w{number}'\nurl = '{url}'\nsecret = '{SECRET}'\nallow_subnets = ['127.0.0.0/8']\nlinks = true"
        )
        .unwrap();
        text
    })
}

/// Asks over an endpoint; returns the question's id.
async fn ask(agent: &Api, endpoint: usize) -> String {
    let intent = agent.active_intent().await;
    let asked = agent.suspend(intent, json!({"channel_hint": format!("w{endpoint}")})).await.ok();
    asked["id"].as_str().unwrap().to_owned()
}

/// Waits until this many questions have arrived at the endpoint; returns the moment at which each of them arrived, by its id.
async fn watch(receiver: &Receiver, questions: usize) -> HashMap<String, Instant> {
    let mut arrived = HashMap::new();
    while arrived.len() < questions {
        sleep(LOOK).await;
        let now = Instant::now();
        for posted in receiver.posted() {
            let id = posted.json()["data"]["suspension_id"].as_str().unwrap().to_owned();
            arrived.entry(id).or_insert(now);
        }
    }
    arrived
}

/// Asks one measured question after the other, and now and then one more for the endpoint with the number `further`; returns how
/// long each measured question took to its endpoint, in milliseconds, sorted.
async fn round(agent: &Api, healthy: &Receiver, further: usize) -> Vec<f64> {
    let told = if further + 1 == ENDPOINTS { QUESTIONS } else { QUESTIONS + FURTHER };
    let asking = async {
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut asked = Vec::new();
        for number in 0..QUESTIONS {
            pace.tick().await;
            if number % (QUESTIONS / FURTHER) == 0 {
                ask(agent, further).await;
            }
            let started = Instant::now();
            asked.push((ask(agent, number % (ENDPOINTS - 1)).await, started));
        }
        asked
    };
    let (asked, arrived) = tokio::join!(asking, timeout(Duration::from_mins(2), watch(healthy, told)));
    let arrived = arrived.expect("a healthy endpoint was not told");
    let mut latencies: Vec<f64> = asked.iter().map(|(id, started)| (arrived[id] - *started).as_secs_f64() * 1_000.0).collect();
    latencies.sort_by(f64::total_cmp);
    latencies
}

/// Adds the rounds of a kind to the report; returns the median of their p99.
fn add(report: &mut Report, name: &str, rounds: &[Vec<f64>]) -> f64 {
    let figure = |quantile, percent: &str| {
        let figures = rounds.iter().map(|latencies| percentile(latencies, quantile)).collect();
        Figure::new("W9", format!("asked to told, {ENDPOINTS} webhooks, {name}, {percent}"), "ms", figures)
    };
    report.add(figure(0.50, "p50"));
    let p99 = figure(0.99, "p99");
    let median = p99.median();
    report.add(p99);
    median
}

/// There are no options.
#[derive(Parser)]
struct Arguments {}

async fn measure(_: Arguments, report: &mut Report) {
    let (healthy, hanging) = (Receiver::start().await, Receiver::start().await);
    hanging.script(std::iter::repeat_n(Answer::Hang, 10_000));
    let site = Site::development();
    let file = site.folder().join("placet.toml");
    std::fs::write(&file, UNPRESSED.to_owned() + &settings(&healthy, &hanging)).unwrap();
    let agent = site.api("agent", "agent").await;
    let mut server = site.start(site.command(["serve", "--config", file.to_str().unwrap()]));
    server.line_with("Placet listens on ").await;

    round(&agent, &healthy, 0).await; // The first round warms everything up.
    let mut calm = Vec::new();
    for _ in 0..ROUNDS {
        calm.push(round(&agent, &healthy, 0).await);
    }
    for _ in 0..FURTHER {
        ask(&agent, ENDPOINTS - 1).await;
    }
    let mut disturbed = Vec::new();
    for _ in 0..ROUNDS {
        disturbed.push(round(&agent, &healthy, ENDPOINTS - 1).await);
    }
    assert!(hanging.connections() > 0, "the endpoint that hangs was tried");
    let (calm, disturbed) = (add(report, "none hangs", &calm), add(report, "one hangs", &disturbed));
    println!("the others' p99 changed by {:+.0} %", (disturbed / calm - 1.0) * 100.0);
    server.kill().await;
}

fn main() {
    run("lanes", measure);
}
