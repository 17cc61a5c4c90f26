//! The state of the server: how much is open, why work is held back, and the results of its regular work.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::FutureExt;

use crate::error::Unit;
use crate::host::clock_watch::ClockWatch;

/// How much is open, read from the same rows as the lists.
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

/// Why nothing that depends on the time happens at present: no deadline takes effect, no attempt is made, no message leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The wall clock jumped ahead, and has not been steady for long enough since.
    Clock,
    /// The database was restored, and its operator has not released it.
    Restore { since: DateTime<Utc> },
    /// Open questions are still getting back the time of an absence, or an absence or a step of the clock is not recorded yet.
    Recovery,
}

impl Hold {
    /// The reason in words.
    pub fn why(self) -> &'static str {
        match self {
            Self::Clock => "the clock jumped ahead and must be steady for 30 seconds first",
            Self::Restore { .. } => "the database was restored, and `placet release` has not been run yet",
            Self::Recovery => {
                "the server was away or its clock was set; deadlines go on when the consequences for open questions are recorded, usually within seconds"
            }
        }
    }
}

/// The result of one step of the recovery from an absence of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Whether nothing is left to do.
    pub done: bool,
    /// Whether the same step must be made again before requests are served.
    pub more: bool,
    /// The time from which deadlines and messages wait after a restore; absent if they do not wait.
    pub held_since: Option<DateTime<Utc>>,
}

/// The result of firing deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// How many timers, announcements and completed intents were dealt with. During a recovery: 1 if the deadline loop must run
    /// again at once, else 0.
    pub rows: usize,
    /// When the next timer is due.
    pub next_due: Option<DateTime<Utc>>,
    /// When this turn of the deadline loop (one run of its work) began, as time since boot. Absent if the turn does not count,
    /// because deadlines were held back by the clock or a restore, or because an absence was left unrecorded.
    pub turned: Option<Duration>,
}

/// Notes the time of a turn of the deadline loop (one run of its work) once the turn's transaction is on the disk.
pub(crate) fn noted(watch: Arc<ClockWatch>, fired: Unit<'_, Fired>) -> Unit<'_, Fired> {
    async move {
        let fired = fired.await?;
        if let Some(began) = fired.turned {
            watch.turned(began);
        }
        Ok(fired)
    }
    .boxed()
}

/// The result of a sweep over a page of open questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// How many missing timers were restored.
    pub mended: u64,
    /// How many questions could not be looked at or mended.
    pub left_out: u64,
    /// How many questions need more people to agree than could answer them now.
    pub out_of_reach: u64,
    /// The row after which the next page begins; absent at the end.
    pub next: Option<i64>,
}
