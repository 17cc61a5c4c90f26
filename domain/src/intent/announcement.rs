//! Announced questions: the OpenIntent client sets the status first, and sends its question in a second call.

use chrono::{DateTime, Utc};

use crate::base::ids::SuspensionId;
use crate::base::name::is_same;
use crate::base::time::seconds;
use crate::intent::status::Status;
use crate::people::principal::Principal;
use crate::suspension::Asker;

/// How long an agent may take from setting the status to sending its question, in seconds. After that, the former status returns.
pub const RECORD_WITHIN_SECONDS: u32 = 10;

/// The time by which a question that was announced at `announced_at` must have come.
pub fn record_until(announced_at: DateTime<Utc>) -> DateTime<Utc> {
    announced_at + seconds(RECORD_WITHIN_SECONDS)
}

/// The least time, in seconds, that people must have for an answer when a question with a fixed deadline is asked.
pub const LEFT_SECONDS_MIN: u32 = 5;

/// An announced question: the agent has set the status `suspended_awaiting_input`, and has not sent the question yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The id of the announcement. If an answer comes before the question, the response has this id in place of the question's.
    pub id: SuspensionId,
    /// The status before the announcement.
    pub from: Status,
    /// When the agent set the status.
    pub at: DateTime<Utc>,
    /// The agent.
    pub by: Asker,
}

impl Announcement {
    /// The time by which the question must have come.
    pub fn record_until(&self) -> DateTime<Utc> {
        record_until(self.at)
    }

    /// Whether the time for the question is over. If the clock was set back since the announcement, the time counts as over, too.
    pub fn is_over(&self, now: DateTime<Utc>) -> bool {
        now >= self.record_until() || now < self.at
    }

    /// Whether this credential, or another one with the same name, announced the question.
    pub fn is_by(&self, principal: &Principal) -> bool {
        is_same(&self.by.name, &principal.name)
    }
}
