//! The time from sending an answer until the waiting agent has it (W5): 1,000 agents wait, people answer one by one, then many a
//! second.
//!
//! ```text
//! cargo bench -p placet-tests --bench wake
//! ```
//!
//! The server is its own process; it and this process share the machine.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to the person who runs it and ends when it cannot go on"
)]

use std::cell::RefCell;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::future::join_all;
use harness::bench::arrival::{closed_loop, connections, milliseconds, open_loop};
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Open, Subject, Told, VALUES, ask, question, respond};
use harness::bench::{percentile, resident_mebibytes, run};
use harness::process::run_instead;
use serde::Deserialize;
use tokio::time::{interval, sleep};
use uuid::Uuid;

/// Agents that wait at the same time, each on a connection of its own.
const WAITERS: usize = 1_000;
/// Answers of a first round that does not count.
const WARM_UP: usize = 200;
/// Answers a second when the machine is idle between them.
const IDLE_PER_SECOND: u32 = 250;
/// Answers a second when the machine is busy; an agent waits for every fifth of them.
const BUSY_PER_SECOND: u32 = 5_000;
const BUSY_FACTOR: usize = 5;
/// Requests under way at the same time while a round is prepared, and connections that answer.
const CLIENTS: usize = 32;
/// How long the server waits before it answers that the question is still open; a round must be over by then.
const WAIT_SECONDS: u32 = 50;
/// The time over which the agents begin to wait. If all began at the same moment, the server would refuse some, and tell them to
/// come again.
const GATHERING: Duration = Duration::from_secs(1);
/// The pause until the first answer: by then all requests that wait for an answer have reached the server.
const CALM: Duration = Duration::from_secs(2);

/// Syncs that show the cost of the disk alone.
const SYNCS: usize = 300;
/// Roughly the bytes that the commit of an answer adds to the log: five pages.
const COMMIT_BYTES: usize = 5 * 4_096;

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The program to measure, if not the one built from these sources.
    #[arg(long)]
    program: Option<PathBuf>,
}

/// The answer that an agent receives.
#[derive(Deserialize)]
struct Heard {
    id: Uuid,
    response: String,
}

/// The results of a round.
struct Round {
    /// How long each answer took to the agent that waited for it, in milliseconds, sorted.
    latencies: Vec<f64>,
    /// The memory that each wait takes in the server, in KiB.
    waiter_kibibytes: f64,
}

/// Asks `count` questions, lets an agent wait for every `factor`-th, then answers all at the given rate per second.
async fn round(subject: &Subject, count: usize, factor: usize, per_second: u32) -> Round {
    let question = question(3_600);
    let asked =
        closed_loop(&subject.agent, CLIENTS, vec![(); count], async |connection, ()| ask(connection, &question).await).await;
    let asked: Vec<(usize, Open)> = asked.results.into_iter().enumerate().collect();
    let before = resident_mebibytes(subject.server());
    let waits = connections(&subject.agent, count / factor).await.into_iter().zip(asked.iter().copied().step_by(factor));
    let waits = join_all(waits.map(|(connection, (place, open))| async move {
        sleep(GATHERING.mul_f64(f64::from(u32::try_from(place).unwrap()) / f64::from(u32::try_from(count).unwrap()))).await;
        hear(connection, place, open).await
    }));
    let sent = RefCell::new(vec![None; count]);
    let answer = async |connection: &mut Connection, (place, open): (usize, Open)| {
        sent.borrow_mut()[place] = Some(Instant::now());
        respond(connection, open, VALUES[place % VALUES.len()], None).await;
    };
    let answers = async {
        sleep(CALM).await;
        let waiting = resident_mebibytes(subject.server()) - before;
        open_loop(&subject.operator, CLIENTS, per_second, asked.clone(), answer).await;
        waiting
    };
    let (heard, waiting) = futures_util::join!(waits, answers);
    let sent = sent.borrow();
    let mut latencies: Vec<f64> = heard
        .iter()
        .map(|(place, at)| (*at - sent[*place].expect("nobody hears what was not said")).as_secs_f64() * 1_000.0)
        .collect();
    latencies.sort_by(f64::total_cmp);
    Round { latencies, waiter_kibibytes: waiting * 1_024.0 / f64::from(u32::try_from(count / factor).unwrap()) }
}

/// Waits for an answer; returns when it came.
async fn hear(mut connection: Connection, place: usize, open: Open) -> (usize, Instant) {
    let path = format!("api/v1/suspensions/{}?wait={WAIT_SECONDS}", open.suspension);
    let answer = connection.get(&path).await;
    let at = Instant::now();
    let heard: Heard = answer.ok();
    assert_eq!((heard.id, heard.response.as_str()), (open.suspension, VALUES[place % VALUES.len()]), "another agent's answer");
    (place, at)
}

/// How long the disk alone takes to keep the bytes of one commit, at the same pace, in milliseconds, sorted: no answer can be
/// quicker.
async fn disk(subject: &Subject) -> Vec<f64> {
    let mut file = File::create(subject.site.folder().join("disk")).unwrap();
    let pages = vec![7; COMMIT_BYTES];
    // The file is overwritten from its start over and over, like the database's log: a file that grows costs more.
    file.write_all(&pages.repeat(SYNCS)).unwrap();
    file.sync_all().unwrap();
    file.rewind().unwrap();
    let mut pace = interval(Duration::from_secs(1) / IDLE_PER_SECOND);
    let mut latencies = Vec::new();
    for _ in 0..SYNCS {
        pace.tick().await;
        let started = Instant::now();
        file.write_all(&pages).unwrap();
        file.sync_data().unwrap();
        latencies.push(milliseconds(started));
    }
    latencies.sort_by(f64::total_cmp);
    latencies
}

async fn measure(arguments: Arguments, report: &mut Report) {
    if let Some(program) = arguments.program {
        run_instead(program);
    }
    let mut subject = Subject::start(Told::Nobody).await;
    round(&subject, WARM_UP, 1, IDLE_PER_SECOND).await;
    let (mut idle, mut busy) = (Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        idle.push(round(&subject, WAITERS, 1, IDLE_PER_SECOND).await);
        busy.push(round(&subject, WAITERS * BUSY_FACTOR, BUSY_FACTOR, BUSY_PER_SECOND).await);
    }
    let figure = |rounds: &[Round], name: &str, part: f64, pace: u32| {
        let values = rounds.iter().map(|round| percentile(&round.latencies, part)).collect();
        Figure::new("W5", format!("wake-up, {WAITERS} waiting, {pace} answers a second, {name}"), "ms", values)
    };
    report.add(figure(&idle, "p50", 0.50, IDLE_PER_SECOND).at_most(0.7));
    report.add(figure(&idle, "p99", 0.99, IDLE_PER_SECOND).at_most(1.5));
    report.add(figure(&busy, "p50", 0.50, BUSY_PER_SECOND));
    report.add(figure(&busy, "p99", 0.99, BUSY_PER_SECOND).at_most(12.0));
    let memory = idle.iter().map(|round| round.waiter_kibibytes).collect();
    report.add(Figure::new("W5", format!("memory of one wait, {WAITERS} waiting"), "KiB", memory).at_most(16.0));
    let disk = disk(&subject).await;
    println!("one fdatasync alone: p50 {:.3} ms, p99 {:.3} ms", percentile(&disk, 0.50), percentile(&disk, 0.99));
    subject.kill().await;
}

fn main() {
    run("wake", measure);
}
