//! Measures how many seeds it takes to find each planted bug, which shows how well the simulator would find the next real bug.
//! This file is part of the copy of the tree in which bugs are planted, as `tests/sim/table.rs`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use store::sqlite::simulated::SimulatedDatabase;

use crate::shrink::Change;
use crate::world::run;

/// Plants each of these bugs in turn, and prints the table.
pub(crate) fn print(bugs: &[String], seeds_max: u64) -> ExitCode {
    let (next, needed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(bug) = bugs.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let Some((seeds, violation)) = find(bug, seeds_max) else {
                        println!("    -  {bug}: not found in {seeds_max} seeds");
                        continue;
                    };
                    println!("{seeds:>5}  {bug}: {violation}");
                    needed.lock().unwrap().push(seeds);
                }
            });
        }
    });
    let mut needed = needed.into_inner().unwrap();
    needed.sort_unstable();
    let median = needed.get(needed.len() / 2).copied().unwrap_or_default();
    println!("{} of {} found, median {median} seeds", needed.len(), bugs.len());
    if needed.len() == bugs.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The number of seeds it took, and the violation that gave the bug away.
fn find(bug: &str, seeds_max: u64) -> Option<(u64, String)> {
    domain::plant(bug.to_owned().leak());
    let (database, runtime) = (Arc::new(SimulatedDatabase::new().unwrap()), crate::runtime());
    (1..=seeds_max).find_map(|seed| Some((seed, run(seed, &Change::default(), &database, &runtime).violation?)))
}
