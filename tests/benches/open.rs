//! What many open questions cost: memory, the start, and the time of asking, answering and reading beside them (W6, W8, W10).
//!
//! ```text
//! cargo bench -p placet-tests --bench open -- --open 10000 --probes 5000 --starts 5 --outage
//! ```
//!
//! With `--outage` the server is at last started as after an outage of ten minutes in which every open question had a fallback: the most
//! a start ever has to do.

use clap::Parser;
use harness::bench::arrival::{Done, closed_loop};
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Open, Subject, Told, VALUES, ask, create, question, respond, suspend};
use harness::bench::{percentile, resident_mebibytes, run};

/// Requests under way at the same time.
const CLIENTS: usize = 32;
/// Pages of each kind that are read.
const PAGES: usize = 500;
/// How long an outage the last start makes good for, in seconds.
const OUTAGE_SECONDS: i64 = 600;

#[derive(Parser)]
struct Arguments {
    /// Questions that stay open.
    #[arg(long, default_value_t = 10_000)]
    open: usize,
    /// Questions asked and answered beside them.
    #[arg(long, default_value_t = 5_000)]
    probes: usize,
    /// Starts after a kill.
    #[arg(long, default_value_t = 5)]
    starts: usize,
    /// Starts once more, after an outage.
    #[arg(long)]
    outage: bool,
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

/// The slowest hundredth of a loop, with the same on an empty server.
fn beside_open<R, S>(what: &str, open: usize, beside: &Done<R>, empty: &Done<S>) -> [Figure; 2] {
    let (beside, empty) = (percentile(&beside.milliseconds, 0.99), percentile(&empty.milliseconds, 0.99));
    let figure = |text: &str, unit, value| Figure::new("W6", format!("{what}, p99, {open} open{text}"), unit, vec![value]);
    [figure("", "ms", beside), figure(", against none", "×", beside / empty).at_most(2.0)]
}

/// How long a page takes beside everything that is open, asked for once at a time.
async fn page(subject: &Subject, what: &str, path: String) -> Figure {
    let step = async |connection: &mut Connection, ()| assert_eq!(connection.get(&path).await.status, 200);
    let read = closed_loop(&subject.operator, 1, vec![(); PAGES], step).await;
    Figure::new("W10", what, "ms", vec![percentile(&read.milliseconds, 0.99)]).at_most(30.0)
}

async fn measure(arguments: Arguments, report: &mut Report) {
    let Arguments { open, probes, starts, outage } = arguments;
    let question = question(31_536_000);
    let mut subject = Subject::start(Told::Nobody).await;
    probe(&subject, &question, probes / 5).await; // Warms up.
    let empty = probe(&subject, &question, probes).await;
    let asked =
        closed_loop(&subject.agent, CLIENTS, vec![(); open], async |connection, ()| ask(connection, &question).await).await;
    report.add(Figure::new("W6", format!("create and suspend, until {open} are open"), "/s", vec![asked.per_second]));
    let beside = probe(&subject, &question, probes).await;
    beside_open("suspend", open, &beside.0, &empty.0).into_iter().for_each(|figure| report.add(figure));
    beside_open("respond", open, &beside.1, &empty.1).into_iter().for_each(|figure| report.add(figure));
    let memory = Figure::new("W6", format!("memory, {open} open"), "MiB", vec![resident_mebibytes(subject.server())]);
    report.add(match open {
        0..=10_000 => memory.at_most(64.0),
        10_001..=1_000_000 => memory.at_most(128.0),
        _ => memory.at_most(256.0),
    });
    let what = format!("page of 100 open questions, p99, {open} open");
    report.add(page(&subject, &what, "api/v1/suspensions?limit=100".to_owned()).await);
    let events = format!("api/v1/intents/{}/events?include=all", asked.results[open / 2].intent);
    report.add(page(&subject, &format!("events of one intent, p99, {open} open"), events).await);
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
