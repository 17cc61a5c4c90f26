//! How a question names the decisions about earlier questions of the same kind.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::base::ids::{IntentId, SuspensionId};
use crate::base::sealed::Hash;
use crate::suspension::grounds::{self, Content};
use crate::suspension::{Resolution, ResolutionReason};

/// A decision about an earlier question. Its answer and its person stand in the event that has this hash, and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierDecision {
    /// The earlier question.
    pub suspension_id: SuspensionId,
    /// Its intent.
    pub intent_id: IntentId,
    /// The hash of the event that ended it.
    pub event_hash: Hash,
    /// How it ended.
    pub resolution: Resolution,
    /// The cause of the ending `cancelled`; absent for other endings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_reason: Option<ResolutionReason>,
    /// When it ended.
    #[serde(with = "crate::base::time::naive_form")]
    pub resolved_at: DateTime<Utc>,
}

impl EarlierDecision {
    pub(super) fn of(earlier: &grounds::EarlierDecision) -> Self {
        let grounds::EarlierDecision { suspension_id, intent_id, event_hash, resolution, reason, at, content: _ } = *earlier;
        Self { suspension_id, intent_id, event_hash, resolution, resolution_reason: reason, resolved_at: at }
    }

    pub(super) fn into_decision(self) -> grounds::EarlierDecision {
        let Self { suspension_id, intent_id, event_hash, resolution, resolution_reason, resolved_at } = self;
        grounds::EarlierDecision {
            suspension_id,
            intent_id,
            event_hash,
            resolution,
            reason: resolution_reason,
            at: resolved_at,
            content: Content::Unread,
        }
    }
}
