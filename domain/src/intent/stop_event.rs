//! Events by which an intent is stopped and goes on, in its log.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::ids::{IntentId, SuspensionId};
use crate::base::name::Owner;
use crate::intent::Intent;
use crate::people::principal::Credential;
use crate::suspension::stop::{Cause, Conditions, Gone, Initiator, Mode, OnTimeout, ResumeOwner, Stage, Stop, Terms};
use crate::suspension::{Asker, Ending, FallbackPolicy, Kind, Resolution, ResolutionReason, Suspension};

/// The type of the events by which an intent is paused.
pub const PAUSED: &str = "lifecycle.paused";
/// The type of the events by which an agent parks its intent.
pub const PARKED: &str = "lifecycle.parked";
/// The type of the events by which the work on an intent is ended.
pub const STOPPING: &str = "lifecycle.stopping";
/// The type of the events by which a person makes the pause of an agent its own.
pub const TAKEN_OVER: &str = "lifecycle.taken_over";
/// The type of the events that give the time of an outage back to a parked intent.
pub const EXTENDED: &str = "lifecycle.extended";
/// The type of the events that say how far the agent has stopped.
pub const SETTLED: &str = "lifecycle.settled";
/// The type of the events by which an intent goes on.
pub const RESUMED: &str = "lifecycle.resumed";
/// The type of the events by which the stop of an intent ends because the intent was abandoned.
pub const CLOSED: &str = "lifecycle.closed";

/// One thing that happened to the stop of an intent; also the payload of its event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum StopEvent {
    /// The intent was paused.
    Paused(Box<Paused>),
    /// The agent parked the intent.
    Parked(Box<Parked>),
    /// The work on the intent is being ended.
    Stopping(Box<Stopping>),
    /// A person has taken a pause over from the agent that made it.
    TakenOver(Box<TakenOver>),
    /// The time of an outage was given back.
    Extended(Extended),
    /// The agent has stopped further.
    Settled(Settled),
    /// The intent goes on.
    Resumed(Box<Resumed>),
    /// The intent was abandoned while it was stopped.
    Closed(Box<Closed>),
}

/// An intent that was paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// How the agent is asked to stop.
    pub mode: Mode,
    /// How far the agent has stopped already.
    pub stage: Stage,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The part of the principal.
    pub initiator: Initiator,
    /// The subject that paused it. The actor of the event is the name of the credential.
    pub paused_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// The name and the owner of the credential. The event has the name as its actor, and the server's log has the owner.
    #[serde(skip)]
    pub by: Option<Asker>,
}

/// An intent that its agent parked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parked {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The reason.
    pub reason: String,
    /// The conditions under which it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// When the time of the conditions is over.
    #[serde(default, with = "crate::base::time::z_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// The principal that is expected to let it go on.
    pub resume_owner: ResumeOwner,
    /// The subject that parked it.
    pub parked_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// The name and the owner of the credential. The event has the name as its actor, and the server's log has the owner.
    #[serde(skip)]
    pub by: Option<Asker>,
}

/// The work on an intent that is being ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopping {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// How far the agent has stopped already.
    pub stage: Stage,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Until when the agent may hand in what it has; absent if the work ends at once.
    #[serde(default, with = "crate::base::time::z_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// The part of the principal.
    pub initiator: Initiator,
    /// The subject that ended the work. The actor of the event is the name of the credential.
    pub stopped_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// The name and the owner of the credential. The event has the name as its actor, and the server's log has the owner.
    #[serde(skip)]
    pub by: Option<Asker>,
}

/// A pause of an agent that a person has taken over, so that the agent cannot lift it any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenOver {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The subject that took it over. The actor of the event is the name of the credential.
    pub taken_over_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// The name and the owner of the credential. The event has the name as its actor, and the server's log has the owner.
    #[serde(skip)]
    pub by: Option<Asker>,
}

/// The time of an outage that was given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extended {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The deadline before.
    #[serde(with = "crate::base::time::z")]
    pub old_expires_at: DateTime<Utc>,
    /// The deadline from now on.
    #[serde(with = "crate::base::time::z")]
    pub new_expires_at: DateTime<Utc>,
}

/// An agent that has stopped further.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// How far the agent has stopped now.
    pub stage: Stage,
    /// The credential that said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An intent that goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// Why.
    pub cause: Cause,
    /// The input of the agent for its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Whether the agent goes on with all that it remembers.
    pub continue_transcript: bool,
    /// A summary of the time for which it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The name of the event that let it go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The `webhook-id` of the signed message that told of the event; absent for every other event, and in logs of older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_id: Option<String>,
    /// The subject that resumed it.
    pub resumed_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A stop that ended with its intent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// Why.
    pub cause: Cause,
    /// The document that the agent handed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Value>,
    /// The subject that abandoned the intent.
    pub closed_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

impl StopEvent {
    /// The suspension.
    pub fn suspension_id(&self) -> SuspensionId {
        match self {
            Self::Paused(paused) => paused.suspension_id,
            Self::Parked(parked) => parked.suspension_id,
            Self::Stopping(stopping) => stopping.suspension_id,
            Self::TakenOver(taken) => taken.suspension_id,
            Self::Extended(extended) => extended.suspension_id,
            Self::Settled(settled) => settled.suspension_id,
            Self::Resumed(resumed) => resumed.suspension_id,
            Self::Closed(closed) => closed.suspension_id,
        }
    }

    /// The name on the wire.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Paused(_) => PAUSED,
            Self::Parked(_) => PARKED,
            Self::Stopping(_) => STOPPING,
            Self::TakenOver(_) => TAKEN_OVER,
            Self::Extended(_) => EXTENDED,
            Self::Settled(_) => SETTLED,
            Self::Resumed(_) => RESUMED,
            Self::Closed(_) => CLOSED,
        }
    }

    /// Whether the event ends the stop.
    pub fn ends(&self) -> bool {
        match self {
            Self::Resumed(_) | Self::Closed(_) => true,
            Self::Paused(_) | Self::Parked(_) | Self::Stopping(_) | Self::TakenOver(_) | Self::Extended(_) | Self::Settled(_) => {
                false
            }
        }
    }

    /// Reads the payload of an event of this type; `None` if no event about stops has this type.
    ///
    /// # Errors
    ///
    /// A member that is missing or has another form.
    pub fn read(event_type: &str, payload: &Value) -> Option<Result<Self, serde_json::Error>> {
        fn of<T: DeserializeOwned>(payload: &Value, kind: impl FnOnce(T) -> StopEvent) -> Result<StopEvent, serde_json::Error> {
            T::deserialize(payload).map(kind)
        }
        Some(match event_type {
            PAUSED => of(payload, |paused| Self::Paused(Box::new(paused))),
            PARKED => of(payload, |parked| Self::Parked(Box::new(parked))),
            STOPPING => of(payload, |stopping| Self::Stopping(Box::new(stopping))),
            TAKEN_OVER => of(payload, |taken| Self::TakenOver(Box::new(taken))),
            EXTENDED => of(payload, Self::Extended),
            SETTLED => of(payload, Self::Settled),
            RESUMED => of(payload, |resumed| Self::Resumed(Box::new(resumed))),
            CLOSED => of(payload, |closed| Self::Closed(Box::new(closed))),
            _ => return None,
        })
    }

    /// The terms of the stop that the event begins.
    pub fn terms(&self) -> Option<Terms> {
        match self {
            Self::Paused(paused) => {
                let Paused { mode, reason, initiator, paused_by, .. } = &**paused;
                let (mode, reason, initiated_by) = (Some(*mode), reason.clone(), paused_by.clone());
                Some(Terms { mode, reason, initiator: *initiator, initiated_by, conditions: None, resume_owner: None })
            }
            Self::Parked(parked) => Some(Terms {
                mode: None,
                reason: Some(parked.reason.clone()),
                initiator: Initiator::Itself,
                initiated_by: parked.parked_by.clone(),
                conditions: parked.conditions.clone(),
                resume_owner: Some(parked.resume_owner),
            }),
            Self::Stopping(stopping) => {
                let Stopping { reason, initiator, stopped_by, .. } = &**stopping;
                let (reason, initiated_by) = (reason.clone(), stopped_by.clone());
                Some(Terms { mode: None, reason, initiator: *initiator, initiated_by, conditions: None, resume_owner: None })
            }
            Self::TakenOver(_) | Self::Extended(_) | Self::Settled(_) | Self::Resumed(_) | Self::Closed(_) => None,
        }
    }

    /// How the stop ended that the event ends.
    pub fn gone(&self) -> Option<Gone> {
        match self {
            Self::Resumed(resumed) => {
                let Resumed { cause, input, continue_transcript, digest, event, .. } = &**resumed;
                let (input, digest, event) = (input.clone(), digest.clone(), event.clone());
                Some(Gone { cause: *cause, input, continue_transcript: *continue_transcript, digest, event, handoff: None })
            }
            Self::Closed(closed) => {
                let (cause, handoff) = (closed.cause, closed.handoff.clone());
                Some(Gone { cause, input: None, continue_transcript: false, digest: None, event: None, handoff })
            }
            Self::Paused(_) | Self::Parked(_) | Self::Stopping(_) | Self::TakenOver(_) | Self::Extended(_) | Self::Settled(_) => {
                None
            }
        }
    }

    /// Applies the event to the intent.
    pub(super) fn apply(&self, intent: &mut Intent, dated: DateTime<Utc>) {
        match self {
            Self::Paused(_) | Self::Parked(_) | Self::Stopping(_) => intent.stop = self.begun(intent.id, dated).map(Box::new),
            Self::TakenOver(taken) => {
                if let Some(stop) = intent.stop.as_mut().filter(|stop| stop.suspension.id == taken.suspension_id) {
                    stop.taken_over_by = Some(taken.by.clone().unwrap_or_else(|| unknown(&taken.taken_over_by)));
                    stop.suspension.version += 1;
                }
            }
            Self::Extended(extended) => {
                if let Some(stop) = intent.stop.as_mut().filter(|stop| stop.suspension.id == extended.suspension_id) {
                    stop.suspension.expires_at = Some(extended.new_expires_at);
                    stop.suspension.version += 1;
                }
            }
            Self::Settled(settled) => {
                if let Some(stop) = intent.stop.as_mut().filter(|stop| stop.suspension.id == settled.suspension_id) {
                    stop.stage = settled.stage;
                    stop.suspension.version += 1;
                }
            }
            Self::Resumed(resumed) => {
                let by = Some(resumed.resumed_by.clone());
                let (resolution, reason) = (Resolution::Responded, None);
                self.end(intent, Ending { resolution, reason, at: dated, response: None, by, metadata: None });
            }
            Self::Closed(closed) => {
                let by = Some(closed.closed_by.clone());
                let is_over = closed.cause == Cause::Timeout;
                let withdrawn = (Resolution::Cancelled, Some(ResolutionReason::Withdrawn));
                let (resolution, reason) = if is_over { (Resolution::Expired, None) } else { withdrawn };
                self.end(intent, Ending { resolution, reason, at: dated, response: None, by, metadata: None });
            }
        }
    }

    /// The stop that the event begins.
    fn begun(&self, intent: IntentId, dated: DateTime<Utc>) -> Option<Stop> {
        let asker = |by: &Option<Asker>, subject: &str| by.clone().unwrap_or_else(|| unknown(subject));
        let (suspension, stage) = match self {
            Self::Paused(paused) => {
                let by = asker(&paused.by, &paused.paused_by);
                (Suspension::stopping(paused.suspension_id, intent, Kind::Paused, dated, by), paused.stage)
            }
            Self::Parked(parked) => {
                let by = asker(&parked.by, &parked.parked_by);
                let mut suspension = Suspension::stopping(parked.suspension_id, intent, Kind::Parked, dated, by);
                suspension.expires_at = parked.expires_at;
                let timeout = parked.conditions.as_ref().and_then(|conditions| conditions.timeout.as_ref());
                // The rows of questions know three policies for silence. A parked intent that goes on in silence has one of the two
                // that let an intent go on, so the time of an outage is given back to it as to those questions.
                if timeout.is_some_and(|timeout| timeout.on_timeout != OnTimeout::Fail) {
                    suspension.fallback_policy = FallbackPolicy::CompleteWithFallback;
                }
                (suspension, Stage::Suspended)
            }
            Self::Stopping(stopping) => {
                let by = asker(&stopping.by, &stopping.stopped_by);
                let mut suspension = Suspension::stopping(stopping.suspension_id, intent, Kind::Stopping, dated, by);
                suspension.expires_at = stopping.expires_at;
                // As for a parked intent that goes on in silence: the time of an outage is given back.
                suspension.fallback_policy = FallbackPolicy::CompleteWithFallback;
                (suspension, stopping.stage)
            }
            Self::TakenOver(_) | Self::Extended(_) | Self::Settled(_) | Self::Resumed(_) | Self::Closed(_) => return None,
        };
        Some(Stop { suspension, stage, taken_over_by: None, terms: self.terms(), gone: None })
    }

    /// Ends the stop. The leases of the intent get back the time for which it was stopped.
    fn end(&self, intent: &mut Intent, ending: Ending) {
        let Some(mut stop) = intent.stop.take_if(|stop| stop.suspension.id == self.suspension_id()) else { return };
        for lease in &mut intent.leases {
            lease.outlive_suspension(stop.suspension.suspended_at, ending.at);
        }
        if let Some(coordinator) = &mut intent.coordinator {
            coordinator.silent_since = coordinator.silent_since.max(ending.at);
        }
        stop.suspension.version += 1;
        stop.suspension.ending = Some(ending);
        stop.gone = self.gone();
        intent.past_stop = Some(stop);
    }
}

/// The agent with this name, if the log of its intent alone is known.
fn unknown(name: &str) -> Asker {
    Asker { name: name.to_owned(), owner: Owner(name.to_owned()) }
}
