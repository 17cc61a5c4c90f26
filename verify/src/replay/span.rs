//! The time in which something was so, between two events of the server's log.

use chrono::{DateTime, TimeDelta, Utc};

use super::course::Happened;

/// How far the time of a decision may lie beyond the events that begin and end a span, in seconds: the request came before, and was
/// decided after it. The clocks of several servers differ, too.
pub(super) const SLACK_SECONDS: i64 = 300;

/// A time and the leaf of the event that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) at: DateTime<Utc>,
    pub(super) leaf: u64,
}

impl Moment {
    /// The moment of an event, from its time as written; `None` if that is no time.
    pub(super) fn read(created_at: &str, leaf: u64) -> Option<Self> {
        domain::base::time::parse(created_at).map(|at| Self { at, leaf })
    }

    /// Whether it certainly came after an event. Both the time and the leaf must say so, because a clock may have been set back.
    pub(super) fn is_after(self, event: &Happened) -> bool {
        event.at < self.at - TimeDelta::seconds(SLACK_SECONDS) && event.leaf < self.leaf
    }

    /// Whether it certainly came before an event.
    pub(super) fn is_before(self, event: &Happened) -> bool {
        event.at > self.at + TimeDelta::seconds(SLACK_SECONDS) && event.leaf > self.leaf
    }
}

/// The time in which something was so.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    /// The event that began it; absent if it began before the log.
    pub(super) from: Option<Moment>,
    /// The event that ended it; absent if none did.
    pub(super) until: Option<Moment>,
}

impl Span {
    /// Whether it may have been so when an event happened.
    pub(super) fn may_hold(&self, event: &Happened) -> bool {
        !self.from.is_some_and(|from| from.is_after(event)) && !self.until.is_some_and(|until| until.is_before(event))
    }
}
