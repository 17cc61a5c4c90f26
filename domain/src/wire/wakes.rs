//! Wakes: the messages to the endpoints that the operator has told when a suspension is over.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use crate::base::ids::{IntentId, SuspensionId};
use crate::suspension::stop::{Cause, Gone};
use crate::suspension::wake::WakeType;
use crate::suspension::{Kind, Resolution, ResolutionReason, Suspension};
use crate::wire::StopResolution;

/// The largest answer or input that a wake holds, in bytes of JSON. A message has room for 20 KB in all.
pub const WAKE_VALUE_BYTES_MAX: usize = 16 * 1024;

/// A message that a suspension is over.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WakeView {
    /// Whether the question has ended, or work goes on.
    pub r#type: WakeType,
    /// When it ended.
    #[serde(with = "crate::base::time::z")]
    pub timestamp: DateTime<Utc>,
    /// The suspension, and its end.
    pub data: WakeData,
}

/// The suspension that ended, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WakeData {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The intent.
    pub intent_id: IntentId,
    /// The kind of the suspension.
    pub kind: Kind,
    /// The agent that asked or parked its work; for a pause and an end of work, the one that created the intent.
    pub agent: String,
    /// How it ended, in the word that the record of the suspension has.
    pub resolution: WakeResolution,
    /// The kind of ending behind `cancelled`; for a question alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution_reason: Option<ResolutionReason>,
    /// Why a stop ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The name of the event that let the work go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Whether the agent goes on with all that it remembers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_transcript: Option<bool>,
    /// The answer of a question, or the input with which work goes on; only for endpoints that are told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Whether there is a value that is too large for a message; it is read by the id of the suspension.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub value_left_out: bool,
}

/// How a suspension ended: a question and a stop each in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum WakeResolution {
    /// A question.
    Question(Resolution),
    /// A stop.
    Stop(StopResolution),
}

impl WakeView {
    /// The message about a suspension of this agent; `None` while it is open. `gone` says how a stop ended, unless that was erased.
    pub fn of(suspension: &Suspension, gone: Option<&Gone>, agent: String, include_value: bool) -> Option<Self> {
        let ending = suspension.ending.as_ref()?;
        let resolution = if suspension.kind.is_stop() {
            WakeResolution::Stop(StopResolution::of(ending.resolution))
        } else {
            WakeResolution::Question(ending.resolution)
        };
        let value = gone.and_then(|gone| gone.input.as_ref()).or(ending.response.as_ref()).filter(|_| include_value);
        let has_room = |value: &&Value| serde_json::to_vec(value).is_ok_and(|bytes| bytes.len() <= WAKE_VALUE_BYTES_MAX);
        let told = value.filter(has_room).cloned();
        Some(Self {
            r#type: WakeType::of(suspension.kind, ending.resolution),
            timestamp: ending.at,
            data: WakeData {
                suspension_id: suspension.id,
                intent_id: suspension.intent_id,
                kind: suspension.kind,
                agent,
                resolution,
                // The record of a stop has a cause in its place.
                resolution_reason: ending.reason.filter(|_| !suspension.kind.is_stop()),
                cause: gone.map(|gone| gone.cause),
                event: gone.and_then(|gone| gone.event.clone()),
                continue_transcript: gone.map(|gone| gone.continue_transcript),
                value_left_out: value.is_some() && told.is_none(),
                value: told,
            },
        })
    }

    /// The id of the message, which is the same at every try. The time tells it from the message about another ending of the same
    /// suspension, from before the database was restored.
    pub fn message_id(&self) -> String {
        format!("{}-{}", self.data.suspension_id.expose(), self.timestamp.timestamp_micros())
    }
}
