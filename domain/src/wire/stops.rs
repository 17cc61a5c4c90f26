//! Bodies about stops: intents that are paused, and go on when they are resumed.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::SuspensionRecord;
use crate::base::ids::{IntentId, SuspensionId};
use crate::suspension::stop::{Cause, Conditions, Initiator, Mode, ResumeOwner, Stage, Stop};
use crate::suspension::{Ending, Kind, Resolution};

/// `POST /api/v1/intents/{id}/pause`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    /// How the agent is asked to stop; `finish_step` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The reason, for the agent and for people; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub reason: Option<String>,
}

/// `POST /api/v1/intents/{id}/park`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkRequest {
    /// The reason, at most 2,000 characters.
    #[schema(min_length = 1, max_length = 2_000)]
    pub reason: String,
    /// The conditions of which any one lets the intent go on: `on_event`, `trigger` and `timeout`. Without conditions it waits to be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub conditions: Option<Value>,
    /// The principal that is expected to let it go on: `server` by default with conditions, and `parent` without. It gives no right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_owner: Option<ResumeOwner>,
}

/// `POST /api/v1/events`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FireRequest {
    /// The name of the event: letters, digits and characters of `._:/@-`.
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// The payload of the event, at most 64 KiB: the input of the agents that it wakes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub payload: Option<Value>,
}

/// The answer to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FiredView {
    /// How many parked intents go on because of it.
    pub woken: u64,
}

/// `POST /api/v1/intents/{id}/stop`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRequest {
    /// Whether the agent may hand in what it has before the intent ends, which is the default. Otherwise the intent ends at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graceful: Option<bool>,
    /// The reason, for the agent and for people; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub reason: Option<String>,
}

/// `POST /api/v1/suspensions/{id}/settle`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettleRequest {
    /// The stage that the agent has reached: `quiescing`, or `suspended`, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// The work that the agent hands over to those who go on with it: an object of at most 64 KiB. It goes with the stage `suspended`, if the work on
    /// the intent is being ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub handoff: Option<Value>,
}

/// `POST /api/v1/suspensions/{id}/resume`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// The input of the agent for its work: any JSON of at most 64 KiB, and no blank text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub input: Option<Value>,
    /// Whether the agent goes on with all that it remembers, which is the default. Otherwise it begins anew, with a summary and the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continue_transcript: Option<bool>,
    /// The id of the suspension once more; another one is refused. For protocols whose calls name the work and a handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub handle: Option<String>,
}

/// How a stop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopResolution {
    /// The intent goes on.
    Resumed,
    /// No condition came in time, and the intent was abandoned for that.
    Expired,
    /// The intent was abandoned.
    Cancelled,
}

impl StopResolution {
    /// The word for a stop that ended in this way.
    pub fn of(resolution: Resolution) -> Self {
        match resolution {
            Resolution::Responded => Self::Resumed,
            Resolution::Expired => Self::Expired,
            Resolution::Cancelled => Self::Cancelled,
        }
    }
}

/// An intent that is paused or parked, or was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StopRecord {
    /// The id of the suspension.
    pub id: SuspensionId,
    /// The stopped intent.
    pub intent_id: IntentId,
    /// `paused`, `parked` or `stopping`.
    pub kind: Kind,
    /// +1 per stage and ending.
    pub version: u32,
    /// How far the agent has stopped.
    pub stage: Stage,
    /// How the agent is asked to stop; null if it parked itself, or if the event that says so was erased.
    pub mode: Option<Mode>,
    /// The reason; null if there is none.
    pub reason: Option<String>,
    /// The part of the principal that stopped the intent; null if the event that says so was erased.
    pub initiator: Option<Initiator>,
    /// The subject of that principal; null if the event that says so was erased.
    pub initiated_by: Option<String>,
    /// The name of the key or person that has taken the pause over from the agent that made it; absent if none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over_by: Option<String>,
    /// When it began.
    #[serde(with = "crate::base::time::z")]
    pub suspended_at: DateTime<Utc>,
    /// The conditions under which it goes on; absent if there are none.
    #[serde(default, with = "super::conditions", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::conditions::AskedConditions>)]
    pub conditions: Option<Conditions>,
    /// When the time of the conditions is over, or that for handing in a document; absent if there is none.
    #[serde(default, with = "crate::base::time::z_option", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<DateTime<Utc>>,
    /// The principal that is expected to let it go on; absent if it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_owner: Option<ResumeOwner>,
    /// How it ended; null while it is open.
    pub resolution: Option<StopResolution>,
    /// Why it ended; null while it is open.
    pub cause: Option<Cause>,
    /// The input of the agent for its work; absent if it is given nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub input: Option<Value>,
    /// Whether the agent goes on with all that it remembers; null while it is open.
    pub continue_transcript: Option<bool>,
    /// A summary of the time for which it was stopped, in place of what the agent remembers; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The name of the event that let it go on; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The document that the agent handed in when its work was ended; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub handoff: Option<Value>,
    /// Those of the children of the intent whose work was ended, with what their agents handed in; absent if there are none, and unless the
    /// record is read by its id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildHandoff>,
    /// When it ended; null while it is open.
    #[serde(with = "crate::base::time::z_option")]
    pub resolved_at: Option<DateTime<Utc>>,
    /// The subject that ended it; null while it is open.
    pub resolved_by: Option<String>,
}

/// The work on a child of an intent that was ended as well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChildHandoff {
    /// The child.
    pub intent_id: IntentId,
    /// The stop of the child.
    pub suspension_id: SuspensionId,
    /// The document that its agent handed in; null if there is none.
    #[schema(value_type = Option<Object>)]
    pub handoff: Option<Value>,
    /// Whether the document was left out, because the record would be too large.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    /// The same of its own children; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub children: Vec<ChildHandoff>,
}

impl StopRecord {
    /// The record of a stop.
    pub fn of(stop: &Stop) -> Self {
        let (suspension, terms, gone) = (&stop.suspension, stop.terms.as_ref(), stop.gone.as_ref());
        let ending = suspension.ending.as_ref();
        let resolution = |ending: &Ending| StopResolution::of(ending.resolution);
        Self {
            id: suspension.id,
            intent_id: suspension.intent_id,
            kind: suspension.kind,
            version: suspension.version,
            stage: stop.stage,
            mode: terms.and_then(|terms| terms.mode),
            reason: terms.and_then(|terms| terms.reason.clone()),
            initiator: terms.map(|terms| terms.initiator),
            initiated_by: terms.map(|terms| terms.initiated_by.clone()),
            taken_over_by: stop.taken_over_by.as_ref().map(|by| by.name.clone()),
            suspended_at: suspension.suspended_at,
            conditions: terms.and_then(|terms| terms.conditions.clone()),
            expires_at: suspension.expires_at,
            resume_owner: terms.and_then(|terms| terms.resume_owner),
            resolution: ending.map(resolution),
            cause: gone.map(|gone| gone.cause),
            input: gone.and_then(|gone| gone.input.clone()),
            continue_transcript: gone.map(|gone| gone.continue_transcript),
            digest: gone.and_then(|gone| gone.digest.clone()),
            event: gone.and_then(|gone| gone.event.clone()),
            handoff: gone.and_then(|gone| gone.handoff.clone()),
            children: Vec::new(),
            resolved_at: ending.map(|ending| ending.at),
            resolved_by: ending.and_then(|ending| ending.by.clone()),
        }
    }

    /// The record as the OpenIntent client reads it in `state._pause`: times without `Z`.
    pub fn naive(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        for field in ["/suspended_at", "/expires_at", "/resolved_at"] {
            value.pointer_mut(field).map(super::suspensions::without_zone);
        }
        value
    }
}

/// A suspension of either kind: a question, or a stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum SuspensionView {
    /// A question, or a request beside the intent.
    Question(Box<SuspensionRecord>),
    /// An intent that is stopped.
    Stop(Box<StopRecord>),
}

impl SuspensionView {
    /// Its version.
    pub fn version(&self) -> u32 {
        match self {
            Self::Question(record) => record.version,
            Self::Stop(record) => record.version,
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        match self {
            Self::Question(record) => record.resolution.is_some(),
            Self::Stop(record) => record.resolution.is_some(),
        }
    }
}
