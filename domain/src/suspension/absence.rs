//! The effect of a server's absence on deadlines. An outage, in which people cannot answer, must not make a fallback apply.

use chrono::{DateTime, TimeDelta, Utc};

use crate::base::time::seconds;
use crate::suspension::{FallbackPolicy, Question, Suspension};

/// The longest absence that changes nothing, in seconds: a restart or an upgrade takes less.
pub const ABSENCE_SECONDS_MAX: i64 = 60;
/// A question with a fixed deadline has lost too much time if an absence took more than the question's window divided by this
/// number.
pub const FIXED_WINDOW_PART: i32 = 10;

/// A time in which no person could answer, because the server was away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The last sign of life.
    pub from: DateTime<Utc>,
    /// When the server was back.
    pub until: DateTime<Utc>,
}

impl Absence {
    /// The absence between two signs of life, unless it is too short to count. If the clock was set back, no absence is found.
    pub fn between(from: DateTime<Utc>, until: DateTime<Utc>) -> Option<Self> {
        (until - from > TimeDelta::seconds(ABSENCE_SECONDS_MAX)).then_some(Self { from, until })
    }

    /// The time between the last sign of life in a backup and the first answer link after the restore. It counts however short it
    /// is, because no person could answer: the old links had ended and there were no new ones.
    pub fn without_links(from: DateTime<Utc>, until: DateTime<Utc>) -> Option<Self> {
        (until > from).then_some(Self { from, until })
    }

    /// Whether this absence of the server took too much of the window of a question with a fixed deadline. The deadline cannot be
    /// moved to make up for the absence, and the window may be so short that even an absence too brief to matter for other
    /// questions fills it.
    pub fn takes_too_much(&self, suspended_at: DateTime<Utc>, expires_at: DateTime<Utc>) -> bool {
        // Time before the question was asked is no loss for it.
        let lost = self.until - self.from.max(suspended_at);
        expires_at > self.from && lost * FIXED_WINDOW_PART > expires_at - suspended_at
    }

    /// The later deadline by which an open question gets the time of the absence back; `None` if it gets no time back.
    ///
    /// A question with the fallback policy `fail` gets no time back, because silence never counts as consent there. A question
    /// whose deadline came before the absence gets none either. The time given back is at most the window of one attempt: people
    /// who are asked again get as long as the question gave them, not as long as the outage lasted. If the clock was set back
    /// since the absence ended (`now` is before its end), that end was recorded too late, and the time is counted from `now`.
    pub fn extended(&self, suspension: &Suspension, question: &Question, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let interval = question.retry_policy.as_ref().map(|policy| policy.interval_seconds);
        let window = interval.or(question.timeout_seconds).map(seconds);
        let gap = self.until - self.from;
        Some(self.moved(suspension, now)? + gap.min(window.unwrap_or(gap)))
    }

    /// The later deadline of an open stop; `None` if it gets no time back.
    ///
    /// Its agent then has as much time as it had when the server went away, however long that was and however often it happens. No person
    /// is asked again, so nothing needs a whole window anew, and an end of work that grew with each outage would not be one.
    pub fn extended_stop(&self, suspension: &Suspension, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let lost = suspension.expires_at?.min(self.until) - self.from.max(suspension.suspended_at);
        Some(self.moved(suspension, now)? + lost).filter(|_| lost > TimeDelta::zero())
    }

    /// Whether it took time from a suspension that gets time back: one that goes on when its time is over.
    pub fn concerns(&self, suspension: &Suspension) -> bool {
        suspension.fallback_policy != FallbackPolicy::Fail && suspension.expires_at.is_some_and(|at| at > self.from)
    }

    /// The time to which the lost time is added: the deadline, or the end of the absence if that is later.
    fn moved(&self, suspension: &Suspension, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let expires_at = suspension.expires_at.filter(|_| self.concerns(suspension))?;
        Some(expires_at.max(self.until.min(now)))
    }
}
