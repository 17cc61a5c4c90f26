//! How many seeds it takes to find each planted bug: whether the simulator would find the next real one.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use domain::base::planted::{Bug, plant};
use store::sqlite::simulated::SimulatedDatabase;

use crate::shrink::Change;
use crate::world::run;

/// Plants each bug in turn, or those of these names if any are named, and prints the table.
pub(crate) fn print(names: &[String], seeds_max: u64) -> ExitCode {
    let wanted = |bug: &Bug| names.is_empty() || names.contains(&format!("{bug:?}"));
    let bugs: Vec<Bug> = Bug::ALL.into_iter().filter(wanted).collect();
    if bugs.is_empty() || (!names.is_empty() && bugs.len() < names.len()) {
        println!("Not every name is that of a bug in domain/src/base/planted.rs.");
        return ExitCode::FAILURE;
    }
    let (next, needed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(bug) = bugs.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let Some((seeds, violation)) = find(*bug, seeds_max) else {
                        println!("    -  {bug:?}: not found in {seeds_max} seeds");
                        continue;
                    };
                    println!("{seeds:>5}  {bug:?}: {violation}");
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

/// The seeds it took, and what gave the bug away.
fn find(bug: Bug, seeds_max: u64) -> Option<(u64, String)> {
    plant(Some(bug));
    let (database, runtime) = (Arc::new(SimulatedDatabase::new().unwrap()), crate::runtime());
    (1..=seeds_max).find_map(|seed| Some((seed, run(seed, &Change::default(), &database, &runtime).violation?)))
}
