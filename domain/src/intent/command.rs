//! What somebody, or time, wants to do to an intent.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value};

use crate::base::ids::{LeaseId, SuspensionId};
use crate::base::time::rfc3339;
use crate::intent::body::Patch;
use crate::intent::event::{ClientEvent, ExtensionCause};
use crate::intent::status::Status;
use crate::people::authority::Action;
use crate::suspension::FallbackPolicy;
use crate::suspension::delivery::{Asked, Delivery, DeliveryRecord};
use crate::suspension::retry::Schedule;
use crate::suspension::seeming::SeemingSecret;
use crate::suspension::{Kind, Question, ResponseType, SuspensionChoice};

/// A question as asked, resolved against the server's policy but not yet against time.
#[derive(Clone, Debug)]
pub struct Suspend {
    /// The id it will have.
    pub id: SuspensionId,
    /// What it waits for.
    pub kind: Kind,
    /// What people read.
    pub question: Question,
    /// The kind of answer.
    pub response_type: ResponseType,
    /// The choices.
    pub choices: Vec<SuspensionChoice>,
    /// When it ends.
    pub schedule: Schedule,
    /// What happens then.
    pub fallback_policy: FallbackPolicy,
    /// The value that stands in.
    pub fallback_value: Option<Value>,
    /// Whether a fallback other than `fail` needs somebody to have been reached.
    pub requires_delivery: bool,
    /// What becomes of it if the title of its intent, which nobody has looked at, seems to hold a secret.
    pub seeming_secret: SeemingSecret,
    /// The open suspension it replaces.
    pub supersedes: Option<String>,
}

impl Suspend {
    /// When its time is over if it is asked now: not before that of the question it supersedes would have been.
    pub fn expires_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let own = self.schedule.expires_at(now);
        self.question.asked_before.as_ref().map_or(own, |before| before.at_least(own))
    }

    /// What its asker should know of that.
    pub fn deadline_warning(&self, now: DateTime<Utc>) -> Option<String> {
        let (own, kept) = (self.schedule.expires_at(now), self.expires_at(now));
        (own != kept).then(|| {
            let until = kept.map_or("it has no deadline".to_owned(), |at| format!("it ends at {}", rfc3339(at)));
            format!(
                "{until}, later than timeout_seconds or retry_policy say: the question it supersedes was asked with that deadline"
            )
        })
    }
}

/// An answer as given.
#[derive(Clone, Debug)]
pub struct Respond {
    /// The suspension it names.
    pub suspension_id: String,
    /// The answer; absent when the body had none.
    pub value: Option<Value>,
    /// Whom the body says it is from.
    pub claimed_responded_by: Option<String>,
    /// What came with it.
    pub metadata: Option<Map<String, Value>>,
}

/// A later deadline as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Later {
    /// At this time.
    Until(DateTime<Utc>),
    /// So long after the present deadline.
    By(TimeDelta),
}

/// What somebody, or time, wants to do to an intent that exists.
#[derive(Clone, Debug)]
pub enum Command {
    /// Patch its state, acting as this agent.
    PatchState {
        /// The patches, in order.
        patches: Vec<Patch>,
        /// The acting agent.
        agent_id: String,
    },
    /// Change its status.
    SetStatus {
        /// To what.
        status: Status,
        /// Why.
        reason: Option<String>,
    },
    /// Append a client's event.
    Append(ClientEvent),
    /// Take a lease.
    AcquireLease {
        /// The id it will have.
        id: LeaseId,
        /// For whom.
        agent_id: String,
        /// On what.
        scope: String,
        /// For how long.
        duration_seconds: u32,
    },
    /// Prolong a lease.
    RenewLease {
        /// Which.
        id: LeaseId,
        /// For whom.
        agent_id: String,
        /// For how long, from now.
        duration_seconds: u32,
    },
    /// Give a lease back.
    ReleaseLease {
        /// Which.
        id: LeaseId,
        /// For whom.
        agent_id: String,
    },
    /// Ask a question (RFC-0025 §9.1).
    Suspend(Box<Suspend>),
    /// Answer one (RFC-0025 §8).
    Respond(Box<Respond>),
    /// Take one back.
    Cancel {
        /// Which.
        suspension_id: SuspensionId,
        /// Why.
        reason: Option<String>,
    },
    /// Move the deadline of an open one, later only.
    Extend {
        /// Which.
        suspension_id: SuspensionId,
        /// Until when.
        later: Later,
        /// Why.
        reason: Option<String>,
        /// What made it necessary.
        cause: ExtensionCause,
    },
    /// Remind the people an open one asks at present, now.
    Remind {
        /// Which.
        suspension_id: SuspensionId,
        /// What it asks, and who was told of it how; the store reads it where the suspension is open.
        asked: Option<Box<Asked>>,
    },
    /// The deadline of a suspension is due (RFC-0025 §6).
    DeadlineReached {
        /// Which.
        suspension_id: SuspensionId,
    },
    /// The next attempt of a suspension is due (RFC-0026 §4).
    AttemptDue {
        /// Which.
        suspension_id: SuspensionId,
        /// What it asks, and whom; the caller read it beside the suspension.
        question: Box<Question>,
    },
    /// A message about a suspension was accepted for delivery, came back, or never will be accepted.
    RecordDelivery(Box<DeliveryRecord>),
    /// A message that has failed is sent again.
    Redrive(Box<Delivery>),
}

impl Command {
    /// What the caller must be allowed to do; `None` for what only the server does.
    pub fn action(&self) -> Option<Action> {
        match self {
            Self::PatchState { .. } => Some(Action::PatchState),
            Self::SetStatus { .. } => Some(Action::SetStatus),
            Self::Append(_) => Some(Action::AppendEvent),
            Self::AcquireLease { .. } | Self::RenewLease { .. } | Self::ReleaseLease { .. } => Some(Action::Lease),
            Self::Suspend(_) => Some(Action::Suspend),
            Self::Respond(_) => Some(Action::Respond),
            Self::Cancel { .. } => Some(Action::Cancel),
            Self::Extend { .. } => Some(Action::Extend),
            Self::Remind { .. } => Some(Action::Remind),
            Self::Redrive(_) => Some(Action::Redrive),
            Self::DeadlineReached { .. } | Self::AttemptDue { .. } | Self::RecordDelivery(_) => None,
        }
    }

    /// The suspension it names, so that a store can load it even if it has ended.
    pub fn names_suspension(&self) -> Option<SuspensionId> {
        match self {
            Self::Respond(respond) => SuspensionId::parse(&respond.suspension_id),
            Self::Suspend(suspend) => suspend.supersedes.as_deref().and_then(SuspensionId::parse),
            Self::Cancel { suspension_id, .. }
            | Self::Extend { suspension_id, .. }
            | Self::Remind { suspension_id, .. }
            | Self::DeadlineReached { suspension_id }
            | Self::AttemptDue { suspension_id, .. } => Some(*suspension_id),
            Self::RecordDelivery(record) => Some(record.delivery.suspension_id),
            Self::Redrive(delivery) => Some(delivery.suspension_id),
            Self::PatchState { .. }
            | Self::SetStatus { .. }
            | Self::Append(_)
            | Self::AcquireLease { .. }
            | Self::RenewLease { .. }
            | Self::ReleaseLease { .. } => None,
        }
    }
}
