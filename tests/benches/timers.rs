//! How late deadlines are (W7): a thousand a second for a minute, then ten thousand at one instant.
//!
//! ```text
//! cargo bench -p placet-tests --bench timers -- --per-second 1000 --seconds 60 --at-once 10000
//! ```
//!
//! The lateness of a question comes from its record: `resolved_at` was read in the transaction that ended it. The time that the
//! commit of this transaction then takes is not part of the lateness.
#![expect(clippy::unwrap_used, reason = "a benchmark ends when it cannot go on")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use clap::Parser;
use domain::base::clock::Clock;
use domain::base::time::{parse, rfc3339, seconds};
use harness::bench::arrival::{closed_loop, open_loop};
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Open, Subject, Told, create, question, suspend};
use harness::bench::{percentile, run};
use serde_json::{Value, json};
use store::host::clock::SystemClock;
use tokio::time::sleep;
use uuid::Uuid;

/// Requests under way at the same time.
const CLIENTS: usize = 32;
/// Records of one page.
const PAGE: usize = 1_000;
/// The pause from the last question until the first deadline, in seconds: no question is asked while deadlines come.
const CALM_SECONDS: u32 = 3;
/// How long the last deadline may take before the run counts as failed.
const LAST_WITHIN: Duration = Duration::from_mins(2);

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 1_000)]
    per_second: u32,
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Questions due at one instant.
    #[arg(long, default_value_t = 10_000)]
    at_once: u32,
}

async fn intents(subject: &Subject, count: u32) -> Vec<Uuid> {
    let items = vec![(); usize::try_from(count).unwrap()];
    closed_loop(&subject.agent, CLIENTS, items, async |connection, ()| create(connection).await).await.results
}

/// Asks this many questions a second, so that the same number is due each second later on.
async fn steadily(subject: &Subject, per_second: u32, seconds: u32) -> Vec<Open> {
    let intents = intents(subject, per_second * seconds).await;
    let question = question(seconds + CALM_SECONDS);
    let ask = async |connection: &mut Connection, intent| suspend(connection, intent, &question).await;
    open_loop(&subject.agent, CLIENTS, per_second, intents, ask).await.results
}

/// Asks, then moves all deadlines to one instant, and waits until it is near.
async fn at_once(subject: &Subject, count: u32) -> Vec<Open> {
    let began = Instant::now();
    let intents = intents(subject, count).await;
    // Asking and moving take a few times as long as the preparation did; no question may be due before all are moved.
    let window = u32::try_from(began.elapsed().as_secs()).unwrap() * 6 + 10;
    let question = question(window);
    let ask = async |connection: &mut Connection, intent| suspend(connection, intent, &question).await;
    let asked = closed_loop(&subject.agent, CLIENTS, intents, ask).await.results;
    let instant = SystemClock.now() + seconds(window);
    let body = json!({"expires_at": rfc3339(instant)}).to_string();
    let move_to = async |connection: &mut Connection, open: Open| {
        connection.post(&format!("api/v1/suspensions/{}/extend", open.suspension), &body).await.ok::<Value>();
    };
    closed_loop(&subject.operator, CLIENTS, asked.clone(), move_to).await;
    let left = (instant - SystemClock.now()).to_std().expect("all were moved before the instant came");
    sleep(left).await;
    asked
}

/// Waits until all have ended; returns how late each was, in milliseconds, sorted.
async fn lateness(subject: &Subject, asked: &[Open]) -> Vec<f64> {
    let asked: BTreeSet<String> = asked.iter().map(|open| open.suspension.to_string()).collect();
    let mut reader = Connection::open(&subject.operator).await;
    let started = Instant::now();
    loop {
        let open: Value = reader.get("api/v1/suspensions?limit=1").await.ok();
        if open["suspensions"].as_array().unwrap().is_empty() {
            break;
        }
        assert!(started.elapsed() < LAST_WITHIN, "deadlines do not come");
        sleep(Duration::from_millis(200)).await;
    }
    let mut late = Vec::new();
    let mut cursor = String::new();
    loop {
        let page: Value = reader.get(&format!("api/v1/suspensions?state=all&limit={PAGE}{cursor}")).await.ok();
        let records = page["suspensions"].as_array().unwrap();
        late.extend(records.iter().filter(|record| asked.contains(record["id"].as_str().unwrap())).map(late_by));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(late.len(), asked.len(), "a question is missing");
    late.sort_by(f64::total_cmp);
    late
}

fn late_by(record: &Value) -> f64 {
    let time = |name: &str| -> DateTime<Utc> { parse(record[name].as_str().unwrap()).unwrap() };
    let late = time("resolved_at") - time("expires_at");
    assert!(late >= TimeDelta::zero(), "a deadline came early: {record}");
    late.as_seconds_f64() * 1_000.0
}

async fn measure(arguments: Arguments, report: &mut Report) {
    let mut subject = Subject::start(Told::Nobody).await;
    let Arguments { per_second, seconds, at_once: count } = arguments;
    let lateness_of = |name: &str, what: &str, late: &[f64], part| {
        Figure::new("W7", format!("{what}, lateness, {name}"), "ms", vec![percentile(late, part)])
    };
    if per_second > 0 && seconds > 0 {
        let asked = steadily(&subject, per_second, seconds).await;
        sleep(Duration::from_secs(u64::from(CALM_SECONDS))).await;
        let late = lateness(&subject, &asked).await;
        let what = format!("{per_second} deadlines a second for {seconds} s");
        report.add(lateness_of("p50", &what, &late, 0.50));
        report.add(lateness_of("p99", &what, &late, 0.99).at_most(50.0));
    }
    if count > 0 {
        let asked = at_once(&subject, count).await;
        let late = lateness(&subject, &asked).await;
        report.add(lateness_of("the last one", &format!("{count} deadlines at one instant"), &late, 1.0).at_most(3_000.0));
    }
    subject.kill().await;
}

fn main() {
    run("timers", measure);
}
