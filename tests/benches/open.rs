//! The cost of many open questions: memory, the start, and the time of asking, answering and reading beside them (W6, W8, W10).
//!
//! ```text
//! cargo bench -p placet-tests --bench open -- --open 10000 --probes 5000 --starts 5 --outage
//! ```
//!
//! With `--outage` the last start comes after an outage of ten minutes in which every open question had a fallback: the most work
//! that a start can have. With `--database` the questions are asked once, into a file that stays, and can be measured again and
//! again.

use std::path::PathBuf;

use clap::Parser;
use harness::bench::arrival::{Done, closed_loop};
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Open, Subject, Told, VALUES, ask, create, question, respond, suspend};
use harness::bench::{file_bytes_of, percentile, resident_mebibytes, run, shuffled};
use serde::Deserialize;
use uuid::Uuid;

/// Requests under way at the same time.
const CLIENTS: usize = 32;
/// Pages of each kind that are read.
const PAGES: usize = 500;
/// The size of a page of the database, in bytes.
const PAGE: f64 = 4_096.0;
/// The length of the outage before the last start, in seconds.
const OUTAGE_SECONDS: i64 = 600;

#[derive(Parser)]
struct Arguments {
    /// Questions that stay open.
    #[arg(long, default_value_t = 10_000)]
    open: usize,
    /// Questions asked and answered beside them.
    #[arg(long, default_value_t = 5_000)]
    probes: usize,
    /// How many of the open questions are answered, in random order over all of them. If the questions were asked in an earlier
    /// run (`--database`), none of them is answered.
    #[arg(long, default_value_t = 5_000)]
    random: usize,
    /// Starts after a kill.
    #[arg(long, default_value_t = 5)]
    starts: usize,
    /// After the other starts, also measures a start after an outage of ten minutes.
    #[arg(long)]
    outage: bool,
    /// The file with the open questions. If it does not exist, it is made and the questions are asked.
    #[arg(long, conflicts_with = "outage")]
    database: Option<PathBuf>,
}

/// Asks `count` questions and answers each.
async fn probe(subject: &Subject, question: &str, count: usize) -> (Done<Open>, Done<()>) {
    let intents = closed_loop(&subject.agent, CLIENTS, vec![(); count], async |connection, ()| create(connection).await).await;
    let step = async |connection: &mut Connection, intent| suspend(connection, intent, question).await;
    let asked = closed_loop(&subject.agent, CLIENTS, intents.results, step).await;
    let step = async |connection: &mut Connection, open| {
        respond(connection, open, VALUES[0], None).await;
    };
    let answered = closed_loop(&subject.operator, CLIENTS, asked.results.clone(), step).await;
    (asked, answered)
}

/// Two figures of a loop on a server with open questions: its p99, and this p99 divided by that on a server without open
/// questions.
fn beside_open<R, S>(what: &str, open: usize, beside: &Done<R>, empty: &Done<S>) -> [Figure; 2] {
    let (beside, empty) = (percentile(&beside.milliseconds, 0.99), percentile(&empty.milliseconds, 0.99));
    let figure = |text: &str, unit, value| Figure::new("W6", format!("{what}, p99, {open} open{text}"), unit, vec![value]);
    [figure("", "ms", beside), figure(", against none", "×", beside / empty).at_most(2.0)]
}

/// How long a page takes beside all open questions, one request at a time.
async fn page(subject: &Subject, what: &str, path: String) -> Figure {
    let step = async |connection: &mut Connection, ()| assert_eq!(connection.get(&path).await.status, 200);
    let read = closed_loop(&subject.operator, 1, vec![(); PAGES], step).await;
    Figure::new("W10", what, "ms", vec![percentile(&read.milliseconds, 0.99)]).at_most(30.0)
}

/// How long requests take where no question is open.
async fn empty(question: &str, probes: usize) -> (Done<Open>, Done<()>) {
    let mut subject = Subject::start(Told::Nobody).await;
    probe(&subject, question, probes / 5).await; // Warms up.
    let done = probe(&subject, question, probes).await;
    subject.kill().await;
    done
}

/// A server with this many open questions.
async fn with_open(open: usize, question: &str, database: Option<PathBuf>, report: &mut Report) -> (Subject, Vec<Open>) {
    let (is_there, subject) = match database {
        Some(file) => (file.exists(), Subject::start_on_file(&file, Told::Nobody).await),
        None => (false, Subject::start(Told::Nobody).await),
    };
    let mut asked_now = Vec::new();
    if !is_there {
        let step = async |connection: &mut Connection, ()| ask(connection, question).await;
        let asked = closed_loop(&subject.agent, CLIENTS, vec![(); open], step).await;
        report.add(Figure::new("W6", format!("create and suspend, until {open} are open"), "/s", vec![asked.per_second]));
        report.add(memory(&subject, open, "right after they were asked"));
        asked_now = asked.results;
    }
    (subject, asked_now)
}

/// Answers some of the open questions, in random order over all of them.
async fn answer_at_random(subject: &Subject, open: usize, asked: Vec<Open>, count: usize, report: &mut Report) {
    let mut asked = shuffled(asked);
    asked.truncate(count);
    let step = async |connection: &mut Connection, open| {
        respond(connection, open, VALUES[0], None).await;
    };
    let before = file_bytes_of(subject.server().id());
    let answered = closed_loop(&subject.operator, CLIENTS, asked, step).await;
    let after = file_bytes_of(subject.server().id());
    let what = format!("respond in random order, {CLIENTS} clients, {open} open");
    let goals = if open > 100_000 { (5_000.0, 20.0, 40.0) } else { (10_000.0, 8.0, 20.0) };
    report.add(Figure::new("W3", what.clone(), "/s", vec![answered.per_second]).at_least(goals.0));
    for (name, part, goal) in [("p99", 0.99, goals.1), ("p99.9", 0.999, goals.2)] {
        let figure = Figure::new("W3", format!("{what}, {name}"), "ms", vec![percentile(&answered.milliseconds, part)]);
        report.add(figure.at_most(goal));
    }
    let answers = f64::from(u32::try_from(answered.results.len()).expect("fewer answers than that"));
    for (name, bytes) in [("read", after.0 - before.0), ("written", after.1 - before.1)] {
        report.add(Figure::new("W3", format!("{what}, pages {name} for each"), "", vec![bytes / PAGE / answers]));
    }
}

fn memory(subject: &Subject, open: usize, when: &str) -> Figure {
    let goal = match open {
        0..=10_000 => 64.0,
        10_001..=1_000_000 => 128.0,
        _ => 256.0,
    };
    let resident = resident_mebibytes(subject.server());
    Figure::new("W6", format!("memory, {open} open, {when}"), "MiB", vec![resident]).at_most(goal)
}

/// The intent of the question in the middle of the first page of open questions.
async fn intent_of_one(subject: &Subject) -> Uuid {
    #[derive(Deserialize)]
    struct Asked {
        intent_id: Uuid,
    }
    #[derive(Deserialize)]
    struct Page {
        suspensions: Vec<Asked>,
    }
    let page: Page = Connection::open(&subject.operator).await.get("api/v1/suspensions?limit=1000").await.ok();
    page.suspensions[page.suspensions.len() / 2].intent_id
}

async fn measure(arguments: Arguments, report: &mut Report) {
    let Arguments { open, probes, random, starts, outage, database } = arguments;
    let question = question(31_536_000);
    let empty = empty(&question, probes).await;
    let (mut subject, asked) = with_open(open, &question, database, report).await;
    probe(&subject, &question, probes / 5).await; // Warms up.
    let beside = probe(&subject, &question, probes).await;
    let suspended = beside_open("suspend", open, &beside.0, &empty.0);
    for figure in suspended.into_iter().chain(beside_open("respond", open, &beside.1, &empty.1)) {
        report.add(figure);
    }
    report.add(memory(&subject, open, "after the requests beside them"));
    let what = format!("page of 100 open questions, p99, {open} open");
    report.add(page(&subject, &what, "api/v1/suspensions?limit=100".to_owned()).await);
    let events = format!("api/v1/intents/{}/events?include=all", intent_of_one(&subject).await);
    report.add(page(&subject, &format!("events of one intent, p99, {open} open"), events).await);
    if !asked.is_empty() {
        answer_at_random(&subject, open, asked, random, report).await;
    }
    let mut ready = Vec::new();
    for _ in 0..starts.max(1) {
        subject.kill().await;
        ready.push(subject.start_again().await);
    }
    let ready = Figure::new("W8", format!("ready after kill -9, {open} open"), "ms", ready);
    report.add(ready.at_most(if open > 1_000_000 { 1_000.0 } else { 250.0 }));
    if outage {
        subject.kill().await;
        subject.site.away_for(OUTAGE_SECONDS).await;
        let what = format!("ready after an outage that gives time back to {open} questions");
        report.add(Figure::new("W8", what, "ms", vec![subject.start_again().await]));
    }
    subject.kill().await;
}

fn main() {
    run("open", measure);
}
