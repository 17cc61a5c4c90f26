//! The deterministic simulator: one seed is one world, with its faults, its people and its clock (docs/simulator.md).
#![expect(clippy::unwrap_used, reason = "this program serves tests alone")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is what it is for")]

mod agent;
mod attacker;
mod bounce;
mod cast;
mod chance;
mod council;
mod coverage;
mod dependents;
mod endpoint;
mod executor;
mod grouping;
mod log;
mod mail;
mod model;
mod operator;
mod person;
mod plan;
mod process;
mod restore;
mod routes;
mod secrets;
mod shrink;
mod stopper;
mod stops;
mod subscriber;
mod tasker;
mod watch;
mod work;
mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use clap::Parser;
use store::sqlite::simulated::SimulatedDatabase;
use tokio::runtime::Runtime;

use crate::coverage::Coverage;
use crate::shrink::{Change, shrink};
use crate::world::{Report, run};

/// Seeds that failed once; they run first, for ever.
const KEPT: &str = include_str!("seeds.txt");

/// Runs the server in simulated worlds and checks the rules that must always hold.
#[derive(Parser)]
struct Arguments {
    /// Run one seed and print its trace.
    #[arg(long)]
    seed: Option<u64>,
    /// With --seed: write the export of the log that the seed ends with into this file.
    #[arg(long, requires = "seed")]
    export: Option<PathBuf>,
    /// How many seeds to run.
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    from: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Simulated channels panic on purpose; any other panic is reported with its seed.
    std::panic::set_hook(Box::new(|_| {}));
    match arguments.seed {
        Some(seed) => one(seed, arguments.export.as_deref()),
        None => many(&arguments),
    }
}

/// The runtime for tasks that the server itself spawns: on this thread, and without a clock.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

fn one(seed: u64, export: Option<&Path>) -> ExitCode {
    let (database, runtime) = (Arc::new(SimulatedDatabase::new().unwrap()), runtime());
    let report = run(seed, &Change::default(), &database, &runtime);
    print(seed, &report);
    if let Some(file) = export {
        std::fs::write(file, &report.exported).unwrap();
    }
    if report.violation.is_none() {
        return ExitCode::SUCCESS;
    }
    let (change, shortest) = shrink(seed, report, &database, &runtime);
    println!("\nThe same rule is broken with this left out: {change:?}");
    print(seed, &shortest);
    ExitCode::FAILURE
}

fn print(seed: u64, report: &Report) {
    for line in &report.trace {
        println!("{line}");
    }
    println!("seed {seed}: {} steps, {} faults drawn, trace hash {:016x}", report.steps, report.drawn, report.hash);
    if let Some(violation) = &report.violation {
        println!("{violation}");
    }
}

/// The parts that all threads share.
#[derive(Default)]
struct Total {
    next: AtomicU64,
    steps: AtomicU64,
    coverage: Coverage,
    failures: Mutex<Vec<(u64, String)>>,
}

fn many(arguments: &Arguments) -> ExitCode {
    let began = Instant::now();
    let kept: BTreeSet<u64> = KEPT.lines().filter_map(|line| line.split('#').next()?.trim().parse().ok()).collect();
    let seeds: Vec<u64> = kept.iter().copied().chain(arguments.from..arguments.from + arguments.seeds).collect();
    let total = Total::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(&seeds, &total));
        }
    });
    let failures = total.failures.into_inner().unwrap();
    for (what, count) in total.coverage.counts() {
        println!("{count:>9}  {what}");
    }
    let steps = total.steps.into_inner();
    println!("{} seeds, {steps} steps, {:.1} s", seeds.len(), began.elapsed().as_secs_f64());
    let missed = total.coverage.missed(arguments.seeds);
    for (seed, violation) in failures.iter().take(10) {
        eprintln!("FAILED seed {seed}: {violation}");
        eprintln!("  again: cargo run -p placet-tests --bin placet-sim -- --seed {seed}");
    }
    if failures.len() > 10 {
        eprintln!("… and {} more", failures.len() - 10);
    }
    for missed in &missed {
        eprintln!("FAILED to reach: {missed}");
    }
    if failures.is_empty() && missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn work(seeds: &[u64], total: &Total) {
    let (database, runtime) = (Arc::new(SimulatedDatabase::new().unwrap()), runtime());
    loop {
        let index = usize::try_from(total.next.fetch_add(1, Ordering::SeqCst)).unwrap();
        let Some(seed) = seeds.get(index).copied() else { return };
        let report = run(seed, &Change::default(), &database, &runtime);
        total.steps.fetch_add(report.steps, Ordering::SeqCst);
        total.coverage.add(&report.coverage);
        let Report { violation, hash, .. } = report;
        let mut violation = violation;
        // One seed in a hundred runs a second time and must leave the same trace: a failure that cannot be repeated cannot be
        // examined.
        if violation.is_none() && index.is_multiple_of(100) && run(seed, &Change::default(), &database, &runtime).hash != hash {
            violation = Some("the same seed took another course".to_owned());
        }
        if let Some(violation) = violation {
            total.failures.lock().unwrap().push((seed, violation));
        }
    }
}
