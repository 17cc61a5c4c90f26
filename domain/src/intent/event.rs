//! What happened: every change of state is one of these, under the RFC's wire names.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ids::SuspensionId;
use crate::intent::body::{IntentBody, Patch};
use crate::intent::status::Status;
use crate::people::principal::{Assurance, Credential, Role};
use crate::suspension::FallbackPolicy;
use crate::suspension::channel::Way;
use crate::suspension::delivery::{Delivery, Failover};
use crate::suspension::lease::Lease;
use crate::suspension::{Ending, Question, ResolutionReason, Suspension};

/// The largest answer kept with a refusal, in bytes of JSON; a larger one is recorded without its value.
pub const REFUSED_VALUE_BYTES_MAX: usize = 16 * 1024;

/// One thing that happened to one intent.
#[derive(Clone, Debug)]
pub enum Event {
    /// The intent began.
    IntentCreated(Box<IntentBody>, Status),
    /// Its state was patched.
    StatePatched(Vec<Patch>),
    /// Its status changed.
    StatusChanged {
        /// From.
        old: Status,
        /// To.
        new: Status,
        /// Why, in the caller's or the server's words.
        reason: Option<String>,
    },
    /// A question was asked (RFC-0025 §3).
    Suspended(Box<Suspension>, Box<Question>),
    /// A person answered (RFC-0025 §3).
    Resumed(Box<Resumed>),
    /// Nobody answered, or nobody was reached, until the deadline (RFC-0025 §3).
    SuspensionExpired {
        /// Which.
        suspension_id: SuspensionId,
        /// `timeout` or `undeliverable`.
        reason: ExpiryReason,
        /// Notifications sent out by then.
        attempts: u32,
        /// What was to happen.
        fallback_policy: FallbackPolicy,
        /// The value that stands in for an answer, where one does.
        fallback_value: Option<Value>,
        /// Whether anybody was reached.
        reached: bool,
    },
    /// People are asked again, or would have been while the server was away (RFC-0026 §4).
    SuspensionRenotified(Box<Renotified>),
    /// A rung of the ladder takes effect (RFC-0026 §4).
    SuspensionEscalated {
        /// Which.
        suspension_id: SuspensionId,
        /// The attempt it takes effect at.
        attempt: u32,
        /// Who is told from now on.
        escalated_to: Vec<String>,
        /// The channel from now on.
        channel_hint: Option<String>,
    },
    /// The people asked at present were reminded on request, between two attempts.
    SuspensionReminded(Box<Reminded>),
    /// The deadline moved, later only.
    SuspensionExtended(Box<Extended>),
    /// Nobody could be reached until the deadline.
    SuspensionUndeliverable {
        /// Which.
        suspension_id: SuspensionId,
    },
    /// Withdrawn or superseded.
    SuspensionCancelled {
        /// Which.
        suspension_id: SuspensionId,
        /// Which of the two.
        reason: ResolutionReason,
        /// The caller's words.
        note: Option<String>,
        /// Who.
        cancelled_by: String,
        /// By which credential.
        credential: Option<Credential>,
    },
    /// An answer came after the deadline: refused as a decision, kept as a record.
    LateAnswer(RefusedAnswer),
    /// An answer came for a question that had already ended.
    ResponseRejected(RefusedAnswer),
    /// A lease was taken.
    LeaseAcquired(Box<Lease>),
    /// A lease was prolonged.
    LeaseRenewed(Box<Lease>),
    /// A lease was given back.
    LeaseReleased(Box<Lease>),
    /// A message was accepted for delivery.
    DeliverySent {
        /// The message.
        delivery: Delivery,
        /// Whether anybody who can answer is reached with it.
        reached: bool,
    },
    /// A message will not arrive.
    DeliveryFailed(Delivery),
    /// A message that was accepted came back.
    DeliveryBounced {
        /// The message, with what the report said.
        delivery: Delivery,
        /// Whether anybody is reached without it.
        reached: bool,
    },
    /// Nobody of an attempt can be reached: the next rung's people are asked at once.
    DeliveryFailover(Box<Failover>),
    /// A message that had failed is sent again, because somebody asked for it.
    DeliveryRedriven {
        /// The message, with what it had failed of.
        delivery: Delivery,
        /// Who asked for it.
        redriven_by: String,
        /// By which credential.
        credential: Option<Credential>,
    },
    /// A client recorded something.
    Appended(ClientEvent),
}

/// A reminder that somebody asked for.
#[derive(Clone, Debug)]
pub struct Reminded {
    /// Which suspension.
    pub suspension_id: SuspensionId,
    /// The attempt in force, which goes on as it was.
    pub attempt: u32,
    /// Who is told.
    pub notify_to: Vec<String>,
    /// How; each message has events of its own for that.
    pub ways: Vec<Way>,
    /// Who asked for it.
    pub reminded_by: String,
    /// By which credential; absent where the server did.
    pub credential: Option<Credential>,
}

/// A deadline that moved.
#[derive(Clone, Debug)]
pub struct Extended {
    /// Which suspension.
    pub suspension_id: SuspensionId,
    /// What made it necessary.
    pub cause: ExtensionCause,
    /// The deadline before.
    pub old_expires_at: DateTime<Utc>,
    /// The deadline from now on.
    pub new_expires_at: DateTime<Utc>,
    /// The words of whoever moved it.
    pub reason: Option<String>,
    /// Who.
    pub extended_by: String,
    /// By which credential; absent where the server did.
    pub credential: Option<Credential>,
}

/// Why a deadline moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionCause {
    /// Somebody gave people more time.
    Request,
    /// The server was away, and gives back the time nobody could use: our outage must not become consent.
    Outage,
}

/// One attempt after the first.
#[derive(Clone, Debug)]
pub struct Renotified {
    /// Which suspension.
    pub suspension_id: SuspensionId,
    /// The attempt, from 2.
    pub attempt: u32,
    /// How many there will be.
    pub max_attempts: u32,
    /// The channel preferred.
    pub channel_hint: Option<String>,
    /// Who is told; after an outage, everybody the skipped attempts would have told as well.
    pub notify_to: Vec<String>,
    /// When the next one is due.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// Whether its time passed while the server was away: it has its event, and no message.
    pub skipped: bool,
    /// The first attempt it makes up for: the oldest skipped one, else itself.
    pub makes_up_from: u32,
}

/// Why a suspension expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpiryReason {
    /// Nobody answered.
    Timeout,
    /// Nobody was reached.
    Undeliverable,
}

/// An accepted answer and where it came from.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// Which suspension.
    pub suspension_id: SuspensionId,
    /// The answer, when, by whom.
    pub ending: Ending,
    /// The label of the selected choice.
    pub choice_label: Option<String>,
    /// Its description.
    pub choice_description: Option<String>,
    /// The credential's role.
    pub role: Role,
    /// How sure we are of the subject.
    pub assurance: Assurance,
    /// By which credential.
    pub credential: Option<Credential>,
    /// Whom the body claimed, where that is not whom the credential names.
    pub claimed_responded_by: Option<String>,
}

/// An answer that did not count.
#[derive(Clone, Debug)]
pub struct RefusedAnswer {
    /// Which suspension it named.
    pub suspension_id: SuspensionId,
    /// The code it was refused with.
    pub code: &'static str,
    /// What it said; absent when larger than [`REFUSED_VALUE_BYTES_MAX`].
    pub value: Option<Value>,
    /// Who sent it.
    pub responded_by: String,
    /// By which credential.
    pub credential: Option<Credential>,
}

/// An event a client appends.
#[derive(Clone, Debug)]
pub struct ClientEvent {
    /// One of the types clients may write.
    pub event_type: String,
    /// Its payload.
    pub payload: Map<String, Value>,
    /// The actor the body named.
    pub claimed_actor: Option<String>,
    /// For distributed tracing.
    pub trace_id: Option<String>,
    /// The event that led to it.
    pub parent_event_id: Option<String>,
}

/// Whether a client may append events of this type; all others are the server's.
pub fn client_may_append(event_type: &str) -> bool {
    event_type == "comment"
        || event_type == "engagement.decision"
        || ["tool_call_", "llm_request_", "stream_", "x."]
            .iter()
            .any(|prefix| event_type.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()))
}

/// Whether the OpenIntent client knows this type; it raises on any other, so `/events` hides those by default.
pub fn in_openintent_vocabulary(event_type: &str) -> bool {
    const STREAMS_AND_CALLS: [&str; 10] = [
        "tool_call_started",
        "tool_call_completed",
        "tool_call_failed",
        "llm_request_started",
        "llm_request_completed",
        "llm_request_failed",
        "stream_started",
        "stream_chunk",
        "stream_completed",
        "stream_cancelled",
    ];
    const OURS: [&str; 11] = [
        "intent_created",
        "state_patched",
        "status_changed",
        "lease_acquired",
        "lease_released",
        "comment",
        "intent.suspended",
        "intent.resumed",
        "intent.suspension_expired",
        "engagement.decision",
        "intent.suspension_renotified",
    ];
    OURS.contains(&event_type) || STREAMS_AND_CALLS.contains(&event_type) || event_type == "intent.suspension_escalated"
}

impl Event {
    /// The wire name (RFC-0025 §3).
    pub fn event_type(&self) -> &str {
        match self {
            Self::IntentCreated(..) => "intent_created",
            Self::StatePatched(_) => "state_patched",
            Self::StatusChanged { .. } => "status_changed",
            Self::Suspended(..) => "intent.suspended",
            Self::Resumed(_) => "intent.resumed",
            Self::SuspensionExpired { .. } => "intent.suspension_expired",
            Self::SuspensionRenotified(_) => "intent.suspension_renotified",
            Self::SuspensionEscalated { .. } => "intent.suspension_escalated",
            Self::SuspensionReminded(_) => "intent.suspension_reminded",
            Self::SuspensionExtended(_) => "intent.suspension_extended",
            Self::SuspensionUndeliverable { .. } => "intent.suspension_undeliverable",
            Self::SuspensionCancelled { .. } => "intent.suspension_cancelled",
            Self::LateAnswer(_) => "intent.late_answer",
            Self::ResponseRejected(_) => "intent.response_rejected",
            Self::LeaseAcquired(_) => "lease_acquired",
            Self::LeaseRenewed(_) => "lease_renewed",
            Self::LeaseReleased(_) => "lease_released",
            Self::DeliverySent { .. } => "delivery.sent",
            Self::DeliveryFailed(_) => "delivery.failed",
            Self::DeliveryBounced { .. } => "delivery.bounced",
            Self::DeliveryFailover(_) => "delivery.failover",
            Self::DeliveryRedriven { .. } => "delivery.redriven",
            Self::Appended(event) => &event.event_type,
        }
    }

    /// The actor a client's body named, when it appended the event.
    pub fn claimed_actor(&self) -> Option<&str> {
        self.appended().and_then(|event| event.claimed_actor.as_deref())
    }

    /// The trace a client gave.
    pub fn trace_id(&self) -> Option<&str> {
        self.appended().and_then(|event| event.trace_id.as_deref())
    }

    /// The parent event a client gave.
    pub fn parent_event_id(&self) -> Option<&str> {
        self.appended().and_then(|event| event.parent_event_id.as_deref())
    }

    fn appended(&self) -> Option<&ClientEvent> {
        if let Self::Appended(event) = self { Some(event) } else { None }
    }
}

/// When an event says its suspension ended, for those that end one.
pub fn ending_of(event: &Event, now: DateTime<Utc>) -> Option<Ending> {
    use crate::suspension::Resolution;
    let ending = |resolution, reason, response, by| Some(Ending { resolution, reason, at: now, response, by, metadata: None });
    match event {
        Event::Resumed(resumed) => Some(resumed.ending.clone()),
        Event::SuspensionExpired { reason: ExpiryReason::Timeout, fallback_value, .. } => {
            ending(Resolution::Expired, None, fallback_value.clone(), None)
        }
        Event::SuspensionUndeliverable { .. } => ending(Resolution::Cancelled, Some(ResolutionReason::Undeliverable), None, None),
        Event::SuspensionCancelled { reason, note, cancelled_by, .. } => {
            let metadata = note.as_ref().map(|note| Map::from_iter([("reason".to_owned(), Value::from(note.as_str()))]));
            ending(Resolution::Cancelled, Some(*reason), None, Some(cancelled_by.clone()))
                .map(|ending| Ending { metadata, ..ending })
        }
        // `undeliverable` is told twice for readers of the RFC; the first telling ended it.
        Event::SuspensionExpired { reason: ExpiryReason::Undeliverable, .. }
        | Event::IntentCreated(..)
        | Event::StatePatched(_)
        | Event::StatusChanged { .. }
        | Event::Suspended(..)
        | Event::SuspensionRenotified(_)
        | Event::SuspensionEscalated { .. }
        | Event::SuspensionReminded(_)
        | Event::SuspensionExtended(_)
        | Event::LateAnswer(_)
        | Event::ResponseRejected(_)
        | Event::LeaseAcquired(_)
        | Event::LeaseRenewed(_)
        | Event::LeaseReleased(_)
        | Event::DeliverySent { .. }
        | Event::DeliveryFailed(_)
        | Event::DeliveryBounced { .. }
        | Event::DeliveryFailover(_)
        | Event::DeliveryRedriven { .. }
        | Event::Appended(_) => None,
    }
}
