//! The damaged pages that this process has met.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// How many damaged pages a process remembers.
pub const REMEMBERED_MAX: usize = 1_000;

/// A page whose bytes do not give its checksum.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DamagedPage {
    /// The database.
    pub file: PathBuf,
    /// The number of the page, from 1.
    pub page: u32,
}

static FOUND: Mutex<BTreeSet<DamagedPage>> = Mutex::new(BTreeSet::new());

/// The damaged pages that a read of this process has met, at most [`REMEMBERED_MAX`].
pub fn found() -> Vec<DamagedPage> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// Remembers a page.
pub(crate) fn note(damaged: DamagedPage) {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if found.len() < REMEMBERED_MAX {
        found.insert(damaged);
    }
}
