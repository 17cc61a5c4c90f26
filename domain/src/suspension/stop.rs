//! A stop: a suspension that waits for no answer. The intent is paused by another principal, and goes on when it is resumed.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Asker, FallbackPolicy, Kind, ResponseType, Suspension};
use crate::base::ids::{IntentId, SuspensionId};
use crate::suspension::hands::Hands;

/// The largest input with which an intent is resumed, in bytes of JSON.
pub const RESUME_INPUT_BYTES_MAX: usize = 64 * 1024;

/// How an agent is asked to stop. The server sends it no new work in any mode; the rest is the agent's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The agent ends the step at which it works, and begins no other one.
    #[default]
    FinishStep,
    /// The agent ends its turn as usual.
    WaitForCompletion,
    /// The agent breaks its turn off.
    InterruptImmediate,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::FinishStep, Self::WaitForCompletion, Self::InterruptImmediate];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FinishStep => "finish_step",
            Self::WaitForCompletion => "wait_for_completion",
            Self::InterruptImmediate => "interrupt_immediate",
        }
    }

    /// The mode with this name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

/// How far the agent has stopped. A stop can be resumed at every stage: the stage never decides who wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The stop is asked for, and the agent has not acknowledged it.
    Requested,
    /// The agent has acknowledged it, and its turn has not ended.
    Quiescing,
    /// The turn has ended, or there was none.
    Suspended,
}

impl Stage {
    /// All stages, in their order.
    pub const ALL: [Self; 3] = [Self::Requested, Self::Quiescing, Self::Suspended];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Quiescing => "quiescing",
            Self::Suspended => "suspended",
        }
    }

    /// The stage with this name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == text)
    }
}

/// The part that the principal has who stops an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Initiator {
    /// Another agent: the one that created the parent of the intent, or one of the same owner.
    Parent,
    /// An operator or an admin.
    Operator,
}

/// Why a stop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A principal resumed the intent.
    ExplicitResume,
    /// The intent was abandoned.
    Closed,
}

/// What the principal wants who stops an intent; only the event of the stop keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How the agent is asked to stop.
    pub mode: Mode,
    /// The reason, in the words of the principal.
    pub reason: Option<String>,
    /// The part of the principal.
    pub initiator: Initiator,
    /// The subject of the principal.
    pub initiated_by: String,
}

/// How a stop ended; only the event of the ending keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gone {
    /// Why.
    pub cause: Cause,
    /// What the agent is given for its work.
    pub input: Option<Value>,
    /// Whether the agent goes on with all that it remembers.
    pub continue_transcript: bool,
}

/// An intent that is stopped, or was.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The suspension, without the members that only questions use.
    pub suspension: Suspension,
    /// How far the agent has stopped.
    pub stage: Stage,
    /// The terms; absent if the event that has them was erased.
    pub terms: Option<Terms>,
    /// How it ended; absent while it is open, and if the event that says so was erased.
    pub gone: Option<Gone>,
}

impl Kind {
    /// Whether the deadlines of the portfolios of its intent end it.
    pub fn is_in_portfolios(self) -> bool {
        self.stops_intent() && !self.is_stop()
    }

    /// Whether the suspension waits for no answer: the intent is paused or parked.
    pub fn is_stop(self) -> bool {
        match self {
            Self::Paused | Self::Parked => true,
            Self::AwaitingInput | Self::Approval | Self::Escalation | Self::Arbitration => false,
        }
    }
}

impl Suspension {
    /// The suspension of an intent that is stopped.
    pub fn stopping(id: SuspensionId, intent_id: IntentId, kind: Kind, at: DateTime<Utc>, asked_by: Asker) -> Self {
        Self {
            id,
            intent_id,
            kind,
            version: 1,
            attempt: 1,
            response_type: ResponseType::Choice,
            choices: Vec::new(),
            suspended_at: at,
            expires_at: None,
            fallback_policy: FallbackPolicy::Fail,
            fallback_value: None,
            reached: false,
            requires_delivery: false,
            fixed_deadline: false,
            refusals: 0,
            reminded_at: None,
            asked_by,
            quorum: None,
            schema: None,
            counted: Vec::new(),
            hands: Hands::default(),
            ending: None,
            portfolio_deadline: None,
        }
    }
}
