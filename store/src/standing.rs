//! Where the server stands: what is open, what holds it up, and what its regular work did.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// What stands open, read from the rows the lists are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Questions that wait for an answer.
    pub questions_open: i64,
    /// Messages that wait for their turn.
    pub deliveries_queued: i64,
    /// Messages under way.
    pub deliveries_leased: i64,
    /// When the earliest deadline is due.
    pub next_deadline: Option<DateTime<Utc>>,
    /// When the earliest message is due.
    pub next_delivery: Option<DateTime<Utc>>,
}

/// Why nothing that time decides happens at present: no deadline, no attempt, no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The wall clock jumped ahead, and has not been steady for long enough since.
    Clock,
    /// The database was restored, and its operator has not released it.
    Restore { since: DateTime<Utc> },
    /// Open questions get back the time an absence took.
    Recovery,
}

impl Hold {
    /// In words.
    pub fn why(self) -> &'static str {
        match self {
            Self::Clock => "the clock jumped ahead and must be steady for 30 seconds first",
            Self::Restore { .. } => "the database was restored; `placet release` lets them go on",
            Self::Recovery => "open questions get back the time the server was away or the clock jumped over",
        }
    }
}

/// What making good for an absence did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Whether nothing is left to do.
    pub done: bool,
    /// Since when everything waits after a restore, if it does.
    pub held_since: Option<DateTime<Utc>>,
}

/// What firing deadlines did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Timer rows dealt with.
    pub rows: usize,
    /// When the next one is due.
    pub next_due: Option<DateTime<Utc>>,
    /// When it began, since boot, if the loop did its work in it: nothing was held, and no absence goes unnoticed.
    pub turned: Option<Duration>,
}

/// What a sweep over a page of open questions did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Timers that were missing, and are there again.
    pub mended: u64,
    /// Questions that could not be looked at or mended.
    pub left_out: u64,
    /// Where the next page begins; absent at the end.
    pub next: Option<i64>,
}
