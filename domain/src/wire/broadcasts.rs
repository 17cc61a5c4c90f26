//! Bodies about broadcasts: many intents are paused by one call.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, SuspensionId};
use crate::suspension::stop::Mode;

/// `POST /api/v1/suspensions:broadcast`. Either `ids` or `filter` is needed. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BroadcastRequest {
    /// The intents, at most 10,000. An empty list pauses none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 10_000)]
    pub ids: Option<Vec<IntentId>>,
    /// Which intents, out of all that have begun and have not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<BroadcastFilter>,
    /// How their agents are asked to stop; `finish_step` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The reason, for the agents and for people; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub reason: Option<String>,
}

/// Which intents are paused, the newest first. An empty filter means all of them. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BroadcastFilter {
    /// Only those that a key with this name created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Only those that are older than this one: the `next` of the call before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<IntentId>,
    /// At most so many, from 1 to 10,000; 10,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10_000)]
    pub limit: Option<u32>,
}

/// The outcome of a broadcast for one intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BroadcastOutcome {
    /// It is paused by this call.
    Suspended,
    /// It was paused or parked before, or its work is being ended.
    AlreadySuspended,
    /// It has not begun, waits for a person, or has ended.
    NotRunning,
    /// There is no intent with this id.
    Unknown,
}

/// One intent of a broadcast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BroadcastResult {
    /// The intent.
    pub intent_id: IntentId,
    /// The outcome for this intent.
    pub outcome: BroadcastOutcome,
    /// The pause; absent if this call made none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension_id: Option<SuspensionId>,
}

/// The answer to a broadcast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BroadcastView {
    /// How many intents are paused by this call.
    pub suspended: usize,
    /// Each intent, in the order of the ids, or the newest first.
    pub results: Vec<BroadcastResult>,
    /// Where the next call goes on (`filter.after`); null if there are no more intents.
    pub next: Option<IntentId>,
}
