//! Named points at which a test kills the server as a crash would, for example between a commit and the steps that follow it.
//!
//! The points exist in builds with debug assertions and the feature `kill-points`, which only the tests
//! turn on; a release has none.

/// A moment in which a crash must lose nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// All jobs of a batch have run, and nothing is on the disk.
    BeforeCommit,
    /// The batch is on the disk, and no caller has been told.
    AfterCommit,
    /// Some jobs of a batch have run, others have not.
    WithinBatch,
    /// Messages are leased, and none has left.
    AfterLease,
    /// A message has left, and its result is not recorded.
    AfterSend,
    /// Some questions of a batch have got time back, others have not.
    WithinRecovery,
    /// A batch of questions has got time back, and other questions have not.
    BetweenRecoveries,
    /// The tables are made, and the transaction that makes them is open.
    WithinMigration,
    /// Some people and groups of the configuration file are written, others are not, and the transaction is open.
    WithinRoster,
    /// Some rows were moved to another database, others were not.
    WithinMove,
    /// Everything is moved and the file is marked as moved, but the database still carries the mark of an unfinished move.
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
            Self::WithinRoster => "within-roster",
            Self::WithinMove => "within-move",
            Self::BetweenMarks => "between-marks",
        }
    }
}

/// Ends the process if `PLACET_KILL_AT` names this point: `after-send`, or `after-send:3` for the third time it is reached.
///
/// A test may also name a file in `PLACET_KILL_ARMED_BY`: until that file exists, the process is not ended.
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
        // As after SIGKILL: no destructor runs, no buffer is flushed, no lock is released.
        std::process::abort();
    }
}

/// Does nothing: this build has no kill points.
#[cfg(not(all(feature = "kill-points", debug_assertions)))]
#[inline]
pub fn reached(_: Point) {}
