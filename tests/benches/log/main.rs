//! The cost of a log with millions of events: proofs and audit pages beside it (W10), its export and the verification of all of it (W11),
//! and the share that its tree has in each decision (W15).
//!
//! ```text
//! cargo bench -p placet-tests --bench log -- --questions 1000000 --database /tmp/log/placet.db
//! ```
//!
//! All events come from requests, so each row and each hash is one that the server wrote: five events for each question that is created,
//! asked and answered, and a thousandth of the questions stays open. With `--database` the questions are asked once, into a file that
//! stays, and the log can be measured again and again.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to the person who runs it and ends when it cannot go on"
)]

mod exporting;
mod filling;
mod pages;
mod proofs;
mod rows;
mod tree;

use std::path::{Path, PathBuf};

use clap::Parser;
use harness::bench::arrival::closed_loop;
use harness::bench::connection::{Connection, Target};
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Subject, Told};
use harness::bench::{circumstances, percentile, run};
use harness::process::run_instead;

use self::rows::Rows;

/// The option with which this program only verifies an export and reports what that took.
const VERIFY: &str = "--verify-export";

#[derive(Parser)]
struct Arguments {
    /// Questions in the database; each that is answered has five events.
    #[arg(long, default_value_t = 1_000_000)]
    questions: usize,
    /// Proofs that are read, and pages of each kind.
    #[arg(long, default_value_t = 2_000)]
    reads: usize,
    /// Decisions of one round with the tree or without it.
    #[arg(long, default_value_t = 40_000)]
    count: usize,
    /// Rounds with the tree, and as many without it.
    #[arg(long, default_value_t = 4)]
    rounds: usize,
    /// The parts to measure.
    #[arg(long, value_delimiter = ',', default_value = "W10,W11,W15")]
    workloads: Vec<String>,
    /// The file with the questions. If it does not exist, it is made and filled.
    #[arg(long)]
    database: Option<PathBuf>,
    /// The program to measure, if not the one built from these sources.
    #[arg(long)]
    program: Option<PathBuf>,
}

/// How long each of these reads takes a single client, in milliseconds, sorted.
async fn each(target: &Target, paths: Vec<String>) -> Vec<f64> {
    let step = async |connection: &mut Connection, path: String| assert_eq!(connection.get(&path).await.status, 200, "{path}");
    closed_loop(target, 1, paths, step).await.milliseconds
}

/// Two figures of sorted times, of which the slowest hundredth has a goal.
fn times(what: &str, sorted: &[f64], goal: f64) -> [Figure; 2] {
    let figure = |name, part| Figure::new("W10", format!("{what}, {name}"), "ms", vec![percentile(sorted, part)]);
    [figure("p50", 0.50), figure("p99", 0.99).at_most(goal)]
}

/// A server with this many questions, and the file of its database.
async fn filled(arguments: &Arguments, report: &mut Report) -> (Subject, PathBuf) {
    let (is_there, subject) = match &arguments.database {
        Some(file) => (file.exists(), Subject::start_on_file(file, Told::OnePerson).await),
        None => (false, Subject::start(Told::OnePerson).await),
    };
    let file = arguments.database.clone().unwrap_or_else(|| subject.site.database());
    if !is_there {
        filling::fill(&subject, arguments.questions, report).await;
    }
    (subject, file)
}

async fn measure(arguments: Arguments, report: &mut Report) {
    if let Some(program) = &arguments.program {
        run_instead(program.clone());
        report.circumstances = circumstances();
    }
    let (mut subject, file) = filled(&arguments, report).await;
    let mut rows = Rows::open(&file);
    tree::covered(&mut rows).await;
    let is_asked = |workload: &str| arguments.workloads.iter().any(|asked| asked == workload);
    if is_asked("W15") {
        tree::build_anew(&mut subject, &mut rows, report).await;
    }
    if is_asked("W10") {
        proofs::measure(&subject, &mut rows, arguments.reads, report).await;
        pages::measure((&mut subject, &file), &mut rows, arguments.reads, report).await;
    }
    if is_asked("W11") {
        exporting::measure(&mut subject, report).await;
    }
    if is_asked("W15") {
        tree::measure(&subject, &mut rows, (arguments.count, arguments.rounds), report).await;
    }
    subject.kill().await;
}

fn main() {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, word, file] if word == VERIFY => println!("{}", exporting::verified(Path::new(file))),
        _ => run("log", measure),
    }
}
