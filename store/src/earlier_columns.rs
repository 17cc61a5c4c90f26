//! How the decisions about earlier questions are read, once for both databases.

use domain::base::ids::{IntentId, SuspensionId};
use domain::log::Hash;
use domain::suspension::grounds::{Content, EarlierDecision};

use crate::rows::{Code, RowsError, RowsResult};
use crate::schema::{intents, suspensions};
use crate::sql::{At, Key};

/// The questions that people decided, or that fell back: the condition of the partial index, in its words. The numbers are the codes of
/// [`Resolution`](domain::suspension::Resolution) and [`ResolutionReason`](domain::suspension::ResolutionReason).
pub(crate) const DECIDED: &str = "(suspensions.resolution < 2 OR suspensions.resolution_reason = 5)";

/// The columns of a question that was decided, with those of its intent.
#[derive(diesel::Queryable)]
pub(crate) struct DecidedColumns {
    id: Key,
    intent: Key,
    ending_event: Option<i64>,
    resolution: Option<i32>,
    resolution_reason: Option<i32>,
    resolved_at: Option<At>,
}

type Selection = (
    suspensions::id,
    intents::id,
    suspensions::ending_event,
    suspensions::resolution,
    suspensions::resolution_reason,
    suspensions::resolved_at,
);

impl DecidedColumns {
    pub(crate) fn selection() -> Selection {
        (
            suspensions::id,
            intents::id,
            suspensions::ending_event,
            suspensions::resolution,
            suspensions::resolution_reason,
            suspensions::resolved_at,
        )
    }

    /// The decision without the hash of its event, and the row of that event.
    pub(crate) fn into_decision(self) -> RowsResult<(EarlierDecision, i64)> {
        let missing = || RowsError::Inconsistent("a question that was decided has no ending");
        let decision = EarlierDecision {
            suspension_id: SuspensionId(self.id.0),
            intent_id: IntentId(self.intent.0),
            event_hash: Hash([0; 32]),
            resolution: Code::from_code(self.resolution.ok_or_else(missing)?)?,
            reason: self.resolution_reason.map(Code::from_code).transpose()?,
            at: self.resolved_at.ok_or_else(missing)?.0,
            content: Content::Unread,
        };
        Ok((decision, self.ending_event.ok_or_else(missing)?))
    }
}
