//! Named points at which a test kills the server, as a crash would: between a commit and what follows it.
//!
//! They exist in builds with debug assertions and the feature `kill-points`, which only the tests ask for; a release has none.

/// A moment in which a crash must lose nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// All of a batch has run, nothing is on the disk.
    BeforeCommit,
    /// The batch is on the disk, nobody has been told.
    AfterCommit,
    /// Some jobs of a batch have run, others have not.
    WithinBatch,
    /// Messages are leased, none has left.
    AfterLease,
    /// A message has left, which is not recorded.
    AfterSend,
    /// Some questions of a batch have got time back, others have not.
    WithinRecovery,
    /// A batch of questions has got time back, others have not.
    BetweenRecoveries,
    /// The tables are made, the transaction that makes them is open.
    WithinMigration,
    /// Some rows were moved to another database, others were not.
    WithinMove,
    /// All is moved; the file is marked, the mark of the database is still there.
    BetweenMarks,
}

#[cfg(all(feature = "kill-points", debug_assertions))]
impl Point {
    /// The name in `PLACET_KILL_AT`.
    fn name(self) -> &'static str {
        match self {
            Self::BeforeCommit => "before-commit",
            Self::AfterCommit => "after-commit",
            Self::WithinBatch => "within-batch",
            Self::AfterLease => "after-lease",
            Self::AfterSend => "after-send",
            Self::WithinRecovery => "within-recovery",
            Self::BetweenRecoveries => "between-recoveries",
            Self::WithinMigration => "within-migration",
            Self::WithinMove => "within-move",
            Self::BetweenMarks => "between-marks",
        }
    }
}

/// Ends the process if `PLACET_KILL_AT` names this point: `after-send`, or `after-send:3` for the third time it is reached.
///
/// Not while `PLACET_KILL_ARMED_BY` names a file that is missing: a test makes it when everything before is as it wants it.
#[cfg(all(feature = "kill-points", debug_assertions))]
#[expect(clippy::disallowed_methods, reason = "no setting of the server's: only the tests have it")]
pub fn reached(point: Point) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static REACHED: AtomicU32 = AtomicU32::new(0);
    let Ok(asked) = std::env::var("PLACET_KILL_AT") else { return };
    let (name, time) = asked.split_once(':').unwrap_or((&asked, "1"));
    if name != point.name() || std::env::var("PLACET_KILL_ARMED_BY").is_ok_and(|file| !std::path::Path::new(&file).exists()) {
        return;
    }
    if (REACHED.fetch_add(1, Ordering::SeqCst) + 1).to_string() == time {
        // No destructor runs, no buffer is flushed, no lock is given back: what SIGKILL leaves.
        std::process::abort();
    }
}

/// Nothing: this build has no such points.
#[cfg(not(all(feature = "kill-points", debug_assertions)))]
#[inline]
pub fn reached(_: Point) {}
