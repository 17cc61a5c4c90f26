//! The decisions about earlier questions of the same kind, as a question shows them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::ids::{IntentId, SuspensionId};
use crate::base::sealed::Hash;
use crate::suspension::grounds::{self, Content, Decided};
use crate::suspension::{Resolution, ResolutionReason};

/// A decision about an earlier question with the same key of the same agent. It was chosen when the question was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EarlierDecision {
    /// The earlier question.
    pub suspension_id: SuspensionId,
    /// Its intent.
    pub intent_id: IntentId,
    /// The hash of the event that ended it, which covers the answer and the person.
    #[schema(value_type = String, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub event_hash: Hash,
    /// How it ended.
    pub resolution: Resolution,
    /// The cause of the ending `cancelled`; absent for other endings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_reason: Option<ResolutionReason>,
    /// When it ended.
    #[serde(with = "crate::base::time::z")]
    pub resolved_at: DateTime<Utc>,
    /// The answer, or the fallback value; absent if the agent was given none. This member and the next two are present only where one
    /// question alone is read, and only if the caller may read the earlier intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub response: Option<Value>,
    /// The label of the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice_label: Option<String>,
    /// The people who decided: one, or those who made the quorum; absent if time ended the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided_by: Vec<String>,
    /// Whether the members above were read; absent if they were not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shown: bool,
    /// Whether the content of the earlier decision was erased; absent if it was not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

impl EarlierDecision {
    pub(super) fn of(earlier: &grounds::EarlierDecision) -> Self {
        let grounds::EarlierDecision { suspension_id, intent_id, event_hash, resolution, reason, at, ref content } = *earlier;
        let decided = content.read().cloned().unwrap_or_default();
        Self {
            suspension_id,
            intent_id,
            event_hash,
            resolution,
            resolution_reason: reason,
            resolved_at: at,
            response: decided.value,
            choice_label: decided.label,
            decided_by: decided.by,
            shown: content.read().is_some(),
            redacted: *content == Content::Erased,
        }
    }

    /// The decision in this record.
    pub fn into_decision(self) -> grounds::EarlierDecision {
        let decided = Decided { value: self.response, label: self.choice_label, by: self.decided_by };
        let content = match (self.shown, self.redacted) {
            (true, _) => Content::Read(decided),
            (false, true) => Content::Erased,
            (false, false) => Content::Unread,
        };
        grounds::EarlierDecision {
            suspension_id: self.suspension_id,
            intent_id: self.intent_id,
            event_hash: self.event_hash,
            resolution: self.resolution,
            reason: self.resolution_reason,
            at: self.resolved_at,
            content,
        }
    }
}
