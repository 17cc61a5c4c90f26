//! Events by which an intent is stopped and goes on, in its log.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::ids::SuspensionId;
use crate::base::name::Owner;
use crate::intent::Intent;
use crate::people::principal::Credential;
use crate::suspension::stop::{Cause, Gone, Initiator, Mode, Stage, Stop, Terms};
use crate::suspension::{Asker, Ending, Kind, Resolution, ResolutionReason, Suspension};

/// The type of the events by which an intent is paused.
pub const PAUSED: &str = "lifecycle.paused";
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
    /// The agent has stopped further.
    Settled(Settled),
    /// The intent goes on.
    Resumed(Box<Resumed>),
    /// The intent was abandoned while it was stopped.
    Closed(Closed),
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
    /// What the agent is given for its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Whether the agent goes on with all that it remembers.
    pub continue_transcript: bool,
    /// The subject that resumed it.
    pub resumed_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A stop that ended with its intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// Why.
    pub cause: Cause,
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
            Self::Settled(settled) => settled.suspension_id,
            Self::Resumed(resumed) => resumed.suspension_id,
            Self::Closed(closed) => closed.suspension_id,
        }
    }

    /// The name on the wire.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Paused(_) => PAUSED,
            Self::Settled(_) => SETTLED,
            Self::Resumed(_) => RESUMED,
            Self::Closed(_) => CLOSED,
        }
    }

    /// Whether the event ends the stop.
    pub fn ends(&self) -> bool {
        match self {
            Self::Resumed(_) | Self::Closed(_) => true,
            Self::Paused(_) | Self::Settled(_) => false,
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
            SETTLED => of(payload, Self::Settled),
            RESUMED => of(payload, |resumed| Self::Resumed(Box::new(resumed))),
            CLOSED => of(payload, Self::Closed),
            _ => return None,
        })
    }

    /// The terms of the stop that the event begins.
    pub fn terms(&self) -> Option<Terms> {
        let Self::Paused(paused) = self else { return None };
        let Paused { mode, reason, initiator, paused_by, .. } = &**paused;
        Some(Terms { mode: *mode, reason: reason.clone(), initiator: *initiator, initiated_by: paused_by.clone() })
    }

    /// How the stop ended that the event ends.
    pub fn gone(&self) -> Option<Gone> {
        match self {
            Self::Resumed(resumed) => {
                let Resumed { cause, input, continue_transcript, .. } = &**resumed;
                Some(Gone { cause: *cause, input: input.clone(), continue_transcript: *continue_transcript })
            }
            Self::Closed(closed) => Some(Gone { cause: closed.cause, input: None, continue_transcript: false }),
            Self::Paused(_) | Self::Settled(_) => None,
        }
    }

    /// Applies the event to the intent.
    pub(super) fn apply(&self, intent: &mut Intent, dated: DateTime<Utc>) {
        match self {
            Self::Paused(paused) => {
                let unknown = || Asker { name: paused.paused_by.clone(), owner: Owner(paused.paused_by.clone()) };
                let by = paused.by.clone().unwrap_or_else(unknown);
                let suspension = Suspension::stopping(paused.suspension_id, intent.id, Kind::Paused, dated, by);
                let (stage, terms) = (paused.stage, self.terms());
                intent.stop = Some(Box::new(Stop { suspension, stage, terms, gone: None }));
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
                let (resolution, reason) = (Resolution::Cancelled, Some(ResolutionReason::Withdrawn));
                self.end(intent, Ending { resolution, reason, at: dated, response: None, by, metadata: None });
            }
        }
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
