//! A stop: a suspension that waits for no answer. The intent is paused or parked and goes on when it is resumed, or its work is ended.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Asker, FallbackPolicy, Kind, ResponseType, Suspension};
use crate::base::ids::{IntentId, SuspensionId};
use crate::suspension::hands::Hands;

/// The largest input with which an intent is resumed, in bytes of JSON.
pub const RESUME_INPUT_BYTES_MAX: usize = 64 * 1024;

/// The longest time after which a parked intent goes on or is abandoned, in minutes: 366 days, as for every deadline.
pub const TIMEOUT_MINUTES_MAX: u32 = 527_040;
/// The longest name of an event, in characters.
pub const EVENT_NAME_MAX: usize = 200;
/// The largest payload of an event, in bytes of JSON.
pub const EVENT_PAYLOAD_BYTES_MAX: usize = 64 * 1024;
/// The largest trigger, in bytes of JSON.
pub const TRIGGER_BYTES_MAX: usize = 4 * 1024;
/// The largest document that an agent hands in when its work is ended, in bytes of JSON.
pub const HANDOFF_BYTES_MAX: usize = 64 * 1024;
/// The most seconds that an agent may be given to hand it in.
pub const HANDOFF_SECONDS_MAX: u32 = 3_600;
/// The seconds that an agent is given unless the configuration says otherwise.
pub const HANDOFF_SECONDS: u32 = 60;
/// The most names of events in one trigger.
pub const TRIGGER_EVENTS_MAX: usize = 20;

/// How an agent is asked to stop. In every mode nothing begins; an immediate interruption also ends the writes of the step under way.
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

/// The effect when no condition was met in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// The intent goes on, and its agent gets a summary in place of what it remembers.
    #[default]
    ResumeWithSummary,
    /// The intent is abandoned.
    Fail,
    /// The intent goes on with an input.
    ResumeWithInput,
}

impl OnTimeout {
    /// All of them, in Harn's order.
    pub const ALL: [Self; 3] = [Self::ResumeWithSummary, Self::Fail, Self::ResumeWithInput];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ResumeWithSummary => "resume_with_summary",
            Self::Fail => "fail",
            Self::ResumeWithInput => "resume_with_input",
        }
    }

    /// The action with this name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == text)
    }
}

/// A source of events to which a trigger can be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Keys of operators and admins.
    Placet,
    /// Keys of gateways.
    Webhook,
}

impl Provider {
    /// All providers.
    pub const ALL: [Self; 2] = [Self::Placet, Self::Webhook];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Placet => "placet",
            Self::Webhook => "webhook",
        }
    }

    /// The provider with this name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == text)
    }
}

/// The conditions under which a parked intent goes on: any one of them is enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Conditions {
    /// An event of this name, from any provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_event: Option<String>,
    /// An event of one provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// A time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
}

/// An event of one provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trigger {
    /// The agent's own word for it.
    pub kind: String,
    /// The provider.
    pub provider: Provider,
    /// The names of the events.
    pub events: Vec<String>,
}

/// A time, and what happens then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Timeout {
    /// How many minutes after the intent was parked.
    pub duration_minutes: u32,
    /// The effect when it is over.
    pub on_timeout: OnTimeout,
    /// The input, for `resume_with_input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub input: Option<Value>,
}

/// An event that came, as far as parked intents wait for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fired {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub provider: Provider,
    /// The payload of the event.
    pub payload: Option<Value>,
    /// The `webhook-id` of the message, if a signature proves its sender: by it the sender finds its message in the log.
    pub webhook_id: Option<String>,
}

impl Conditions {
    /// Why this event lets the intent go on; `None` if it does not.
    pub fn met_by(&self, fired: &Fired) -> Option<Cause> {
        if self.on_event.as_ref() == Some(&fired.name) {
            return Some(Cause::ExternalEvent);
        }
        let trigger = self.trigger.as_ref().filter(|trigger| trigger.provider == fired.provider)?;
        trigger.events.contains(&fired.name).then_some(Cause::ConditionFired)
    }

    /// The names of the events for which the intent waits, each with its provider if only that one counts.
    pub fn waits_for(&self) -> Vec<(&str, Option<Provider>)> {
        let on_event = self.on_event.iter().map(|name| (name.as_str(), None));
        let trigger =
            self.trigger.iter().flat_map(|trigger| trigger.events.iter().map(|name| (name.as_str(), Some(trigger.provider))));
        on_event.chain(trigger).collect()
    }
}

/// The principal that is expected to let a parked intent go on. It gives no right: that follows from the credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeOwner {
    /// The agent above, or an operator.
    Parent,
    /// This server, when a condition is met.
    Server,
    /// A program that the agent knows.
    External,
    /// The end of the pipeline to which the agent belongs.
    Drain,
}

/// The part that the principal has who stops an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Initiator {
    /// Another agent: the one that created the parent of the intent, or one of the same owner.
    Parent,
    /// An operator or an admin.
    Operator,
    /// The agent itself.
    #[serde(rename = "self")]
    Itself,
}

/// Why a stop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A principal resumed the intent.
    ExplicitResume,
    /// The event came for which the agent waits by its name.
    ExternalEvent,
    /// An event came that its trigger matches.
    ConditionFired,
    /// The time was over.
    Timeout,
    /// The intent was abandoned.
    Closed,
    /// A controller ended the work at once, or ended it while it was paused or parked.
    Stopped,
    /// The agent whose work was ended has stopped, and has handed in what it had.
    HandedOver,
}

/// The wishes of the principal that stops an intent; only the event of the stop keeps them.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// How the agent is asked to stop; absent if it parked itself.
    pub mode: Option<Mode>,
    /// The reason, in the words of the principal.
    pub reason: Option<String>,
    /// The part of the principal.
    pub initiator: Initiator,
    /// The subject of the principal.
    pub initiated_by: String,
    /// The conditions under which it goes on.
    pub conditions: Option<Conditions>,
    /// The principal that is expected to let it go on; absent if it is paused.
    pub resume_owner: Option<ResumeOwner>,
}

/// How a stop ended; only the event of the ending keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gone {
    /// Why.
    pub cause: Cause,
    /// The input of the agent for its work.
    pub input: Option<Value>,
    /// Whether the agent goes on with all that it remembers.
    pub continue_transcript: bool,
    /// A summary of the time for which it was stopped, if the agent does not go on with what it remembers.
    pub digest: Option<String>,
    /// The name of the event that let it go on.
    pub event: Option<String>,
    /// The document that the agent handed in.
    pub handoff: Option<Value>,
}

/// An intent that is stopped, or was.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The suspension, without the members that only questions use.
    pub suspension: Suspension,
    /// How far the agent has stopped.
    pub stage: Stage,
    /// The credential of the person that has taken the pause over from the agent that made it; absent if none has.
    pub taken_over_by: Option<Asker>,
    /// The terms; absent if the event that has them was erased.
    pub terms: Option<Terms>,
    /// How it ended; absent while it is open, and if the event that says so was erased.
    pub gone: Option<Gone>,
}

impl Stop {
    /// Whether the work ends when the time of the stop is over.
    pub fn ends_work(&self) -> bool {
        self.suspension.kind == Kind::Stopping || self.suspension.fallback_policy == FallbackPolicy::Fail
    }

    /// Whether a principal can let the work go on at all: work that is being ended never goes on.
    pub fn can_go_on(&self) -> bool {
        self.suspension.kind != Kind::Stopping
    }

    /// The credential whose stop it is: if it is an agent's, that agent may let the work go on.
    pub fn holder(&self) -> &Asker {
        self.taken_over_by.as_ref().unwrap_or(&self.suspension.asked_by)
    }

    /// Whether it is the pause of an agent, which a person may take over.
    pub fn is_an_agents_pause(&self) -> bool {
        let is_agents = self.terms.as_ref().is_some_and(|terms| terms.initiator == Initiator::Parent);
        self.suspension.kind == Kind::Paused && self.taken_over_by.is_none() && is_agents
    }
}

impl Kind {
    /// Whether the deadlines of the portfolios of its intent end it.
    pub fn is_in_portfolios(self) -> bool {
        self.stops_intent() && !self.is_stop()
    }

    /// Whether the suspension waits for no answer: the intent is paused or parked, or its work is being ended.
    pub fn is_stop(self) -> bool {
        match self {
            Self::Paused | Self::Parked | Self::Stopping => true,
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
