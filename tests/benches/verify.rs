//! How fast a log is verified, and in how much memory (W11): the log of one intent, as the server returned it, line by line.
//!
//! ```text
//! cargo bench -p placet-tests --bench verify
//! ```
//!
//! The server writes no export into a file; the lines are those of its `GET /api/v1/intents/{id}/events?include=all`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to the person who runs it and ends when it cannot go on"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;

use clap::Parser;
use domain::log::{Follower, Hash, Sealed};
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Open, Subject, Told, VALUES, create, question, respond, suspend};
use harness::bench::{peak_mebibytes_of, processor_seconds, run};
use serde_json::Value;

/// Events of one page.
const PAGE: usize = 1_000;
/// The most events of one log that requests can read; a question that is answered makes about four.
const EVENTS_MAX: usize = 20_000;
/// For comparison a log is verified that is this many times shorter.
const SHORTER: usize = 10;
/// The option with which this program only verifies a log and reports the memory it took.
const PEAK: &str = "--peak-of";

#[derive(Parser)]
struct Arguments {
    /// Questions the intent asks, one after the other.
    #[arg(long, default_value_t = 4_000)]
    questions: usize,
    /// How often its log is read in one round.
    #[arg(long, default_value_t = 50)]
    times: usize,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Asks and answers in one intent, over and over; returns its events as they were served, oldest first.
async fn log(subject: &Subject, questions: usize) -> Vec<String> {
    let question = question(3_600);
    let (mut agent, mut operator) = (Connection::open(&subject.agent).await, Connection::open(&subject.operator).await);
    let intent = create(&mut agent).await;
    for place in 0..questions {
        let open: Open = suspend(&mut agent, intent, &question).await;
        respond(&mut operator, open, VALUES[place % VALUES.len()], None).await;
    }
    let mut events = Vec::new();
    loop {
        let path = format!("api/v1/intents/{intent}/events?include=all&limit={PAGE}&offset={}", events.len());
        let page = operator.get(&path).await;
        let read: Vec<Value> = page.ok();
        let served: Vec<String> = read.iter().map(|event| Sealed::from_served(event).unwrap().served()).collect();
        assert_eq!(format!("[{}]", served.join(",")).as_bytes(), page.body, "the lines are the bytes that were served");
        if served.is_empty() {
            break;
        }
        events.extend(served);
    }
    assert!(events.len() < EVENTS_MAX, "the oldest events cannot be read");
    events.reverse();
    events
}

/// Verifies the log in a file; returns how long it is, and the hash it ends with.
fn verify(file: &Path) -> (u64, Option<Hash>) {
    let mut lines = BufReader::new(File::open(file).unwrap());
    let (mut follower, mut line) = (Follower::default(), Vec::new());
    while lines.read_until(b'\n', &mut line).unwrap() > 0 {
        let sealed = Sealed::from_served_bytes(line.trim_ascii_end()).expect("the line is an event");
        follower.follow(&sealed).expect("the chain is whole");
        line.clear();
    }
    (follower.length(), follower.head())
}

/// The most memory a process takes that verifies the log in a file and does nothing else, in MiB.
fn peak_mebibytes(file: &Path) -> f64 {
    let verified = Command::new(std::env::current_exe().unwrap()).arg(PEAK).arg(file).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    String::from_utf8(verified.stdout).unwrap().trim().parse().unwrap()
}

fn write(file: &Path, events: &[String]) {
    let mut lines = File::create(file).unwrap();
    for event in events {
        writeln!(lines, "{event}").unwrap();
    }
}

async fn measure(arguments: Arguments, report: &mut Report) {
    let mut subject = Subject::start(Told::Nobody).await;
    let events = log(&subject, arguments.questions).await;
    subject.kill().await;
    let [file, shorter] = ["log", "shorter"].map(|name| subject.site.folder().join(name));
    write(&file, &events);
    write(&shorter, &events[..events.len() / SHORTER]);
    let head = Sealed::from_served_bytes(events.last().unwrap().as_bytes()).unwrap().hash;
    let length = events.len();
    let bytes: usize = events.iter().map(String::len).sum();
    assert_eq!(verify(&file), (length as u64, Some(head)), "warms up");
    let this = std::process::id();
    let mut paces = Vec::new();
    let mut grown = Vec::new();
    for _ in 0..arguments.rounds {
        let began = processor_seconds(this);
        for _ in 0..arguments.times {
            assert_eq!(verify(&file), (length as u64, Some(head)));
        }
        let took = processor_seconds(this) - began;
        paces.push(f64::from(u32::try_from(length * arguments.times).unwrap()) / took);
        // A negative difference is noise from whole pages.
        grown.push((peak_mebibytes(&file) - peak_mebibytes(&shorter)).max(0.0));
    }
    let what = format!("events verified in a second of processor time, {} bytes each", bytes / length);
    report.add(Figure::new("W11", what, "/s", paces).at_least(200_000.0));
    let what = format!("more memory at the peak of verifying {length} events than of {}", length / SHORTER);
    report.add(Figure::new("W11", what, "MiB", grown).at_most(1.0));
}

fn main() {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, word, file] if word == PEAK => {
            verify(Path::new(file));
            println!("{}", peak_mebibytes_of(std::process::id()));
        }
        _ => run("verify", measure),
    }
}
