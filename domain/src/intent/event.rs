//! Events: every change of an intent is one of these. An event that an RFC defines has the RFC's name on the wire.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ids::{IntentId, KeyId, SuspensionId};
use crate::base::passkey::Assertion;
use crate::container::coordinator_event::CoordinatorEvent;
use crate::container::event::TaskEvent;
use crate::container::plan_event::PlanEvent;
use crate::intent::access::AccessEvent;
use crate::intent::announcement::Announcement;
use crate::intent::assignment::{Assigned, Unassigned};
use crate::intent::body::{IntentBody, Patch};
use crate::intent::dependency::{BlockedReason, DependencyEvent};
use crate::intent::governance::{POLICY_REMOVED, POLICY_SET, Policy, VIOLATION};
use crate::intent::hands::HandsEvent;
use crate::intent::receipt::ReceiptEvent;
use crate::intent::record::Record;
use crate::intent::retry::RetryEvent;
use crate::intent::status::Status;
use crate::intent::stop_event::StopEvent;
use crate::people::principal::{Assurance, Credential, Role};
use crate::portfolio::membership::{self, Added, MemberEvent};
use crate::suspension::FallbackPolicy;
use crate::suspension::Kind;
use crate::suspension::channel::Way;
use crate::suspension::delivery::{Delivery, Failover};
use crate::suspension::errand::Via;
use crate::suspension::evidence::Evidence;
use crate::suspension::lease::Lease;
use crate::suspension::quorum::Tally;
use crate::suspension::requested::APPROVE;
use crate::suspension::{Ending, PortfolioDeadline, Question, ResolutionReason, Suspension};

/// The largest answer kept with a refusal, in bytes of JSON; a larger one is recorded without its value.
pub const REFUSED_VALUE_BYTES_MAX: usize = 16 * 1024;

/// One thing that happened to one intent.
#[derive(Clone, Debug)]
pub enum Event {
    /// The intent began.
    IntentCreated(Box<IntentBody>, Status),
    /// The intent's state was patched.
    StatePatched(Vec<Patch>),
    /// The intent's status changed.
    StatusChanged {
        /// The status before.
        old: Status,
        /// The status from now on.
        new: Status,
        /// The reason, in the caller's or the server's words.
        reason: Option<String>,
        /// Why the server blocked the intent; absent if the server did not block it.
        blocked_reason: Option<BlockedReason>,
        /// The intents that were not completed when a person completed this one.
        overrides: Vec<IntentId>,
    },
    /// An agent set the status for a question that it has not asked yet.
    Announced(Box<Announcement>),
    /// A person answered before the announced question came, so the answer belongs to no question.
    AnsweredUnasked(Box<UnaskedAnswer>),
    /// The asker asked its open question again, under another id of its own.
    Adopted {
        /// The suspension, which goes on as it was.
        suspension_id: SuspensionId,
        /// The id by which the asker's client knows it as well.
        client_id: String,
    },
    /// The agent that asked changed the intent while its question was open. It applies the deadline by its own clock, so it may
    /// have acted on its fallback before the server ended the question.
    AskerWentOn {
        /// The suspension, which stays open.
        suspension_id: SuspensionId,
    },
    /// A question was asked (RFC-0025 §3), or a request was made beside the intent (RFC-0013).
    Suspended(Box<Suspension>, Box<Question>),
    /// A person answered (RFC-0025 §3).
    Resumed(Box<Resumed>),
    /// A person answered a question that several people answer together, and more of them must agree.
    AnswerCounted(Box<AnswerCounted>),
    /// A person took back an answer that counted.
    AnswerTakenBack(AnswerTakenBack),
    /// The hands in which a question is have changed.
    Hands(Box<HandsEvent>),
    /// The intent was stopped, or goes on.
    Stop(Box<StopEvent>),
    /// The deadline passed, and no person had answered, or none had been reached (RFC-0025 §3).
    SuspensionExpired(Box<Expired>),
    /// People are asked again, or would have been while the server was away (RFC-0026 §4).
    SuspensionRenotified(Box<Renotified>),
    /// A step of the escalation ladder takes effect (RFC-0026 §4).
    SuspensionEscalated {
        /// The suspension.
        suspension_id: SuspensionId,
        /// The attempt at which it takes effect.
        attempt: u32,
        /// The people who are told from now on.
        escalated_to: Vec<String>,
        /// The channel from now on.
        channel_hint: Option<String>,
    },
    /// The people asked at present were reminded on request, between two attempts.
    SuspensionReminded(Box<Reminded>),
    /// The deadline moved, later only.
    SuspensionExtended(Box<Extended>),
    /// The deadline passed, and no person could be reached.
    SuspensionUndeliverable {
        /// The suspension.
        suspension_id: SuspensionId,
    },
    /// A question was withdrawn or superseded. Or its deadline is fixed, and the server was away, or its clock jumped, while the
    /// question was open.
    SuspensionCancelled {
        /// The suspension.
        suspension_id: SuspensionId,
        /// Which of these happened.
        reason: ResolutionReason,
        /// The reason, in the caller's words.
        note: Option<String>,
        /// The subject that did it.
        cancelled_by: String,
        /// The credential of that subject.
        credential: Option<Credential>,
    },
    /// An answer came after the deadline. It is refused, but recorded.
    LateAnswer(RefusedAnswer),
    /// An answer was refused: its question had already ended, or it was the asker's own, or it was no answer to the question.
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
        /// Whether a person who can answer has been reached, by this message or an earlier one.
        reached: bool,
    },
    /// A message will not arrive.
    DeliveryFailed(Delivery),
    /// A message that was accepted came back.
    DeliveryBounced {
        /// The message, with the text of the report.
        delivery: Delivery,
        /// Whether another message has reached a person who can answer. After the question's end, this report no longer changes
        /// the value.
        reached: bool,
    },
    /// No person of an attempt can be reached, so the people of a later step of the escalation ladder are asked at once.
    DeliveryFailover(Box<Failover>),
    /// A message that had failed is sent again on request.
    DeliveryRedriven {
        /// The message, with the reason for its failure.
        delivery: Delivery,
        /// The subject that requested it.
        redriven_by: String,
        /// The credential of that subject.
        credential: Option<Credential>,
    },
    /// An agent was assigned to the intent.
    AgentAssigned(Box<Assigned>),
    /// An agent was taken off the intent.
    AgentUnassigned(Unassigned),
    /// The access of agents to the intent changed.
    Access(Box<AccessEvent>),
    /// The intent was put into a portfolio, or its place there changed.
    Joined(Box<Added>),
    /// The intent was taken out of a portfolio.
    Left(membership::Removed),
    /// The intent, which is in a portfolio, waits for a person, or no longer does (RFC-0026 §4).
    Member(MemberEvent),
    /// The intents for which this one waits changed (RFC-0002).
    Dependency(Box<DependencyEvent>),
    /// Something happened to a task of the intent (RFC-0012).
    Task(Box<TaskEvent>),
    /// Something happened to a plan of the intent (RFC-0012).
    Plan(Box<PlanEvent>),
    /// Something happened to the lease of the agent that directs the intent (RFC-0013).
    Coordinator(Box<CoordinatorEvent>),
    /// Work on the intent failed, and is repeated or not (RFC-0010).
    Retry(Box<RetryEvent>),
    /// A receipt of a decision was made, used or revoked.
    Receipt(Box<ReceiptEvent>),
    /// The policy was set, or removed.
    PolicyChanged {
        /// The policy from now on; absent if it was removed.
        policy: Option<Policy>,
        /// The version of the intent from now on.
        version: u32,
    },
    /// A write broke the policy, and was refused.
    Violated(Violation),
    /// An agent keeps data with the intent.
    Recorded(Box<Record>),
    /// A client appended an event of its own.
    Appended(ClientEvent),
}

/// A reminder on request.
#[derive(Clone, Debug)]
pub struct Reminded {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The attempt in force, which goes on as it was.
    pub attempt: u32,
    /// The people who are told.
    pub notify_to: Vec<String>,
    /// The ways by which they are told; each message has events of its own.
    pub ways: Vec<Way>,
    /// The subject that requested it.
    pub reminded_by: String,
    /// The credential of that subject; absent if the server itself did it.
    pub credential: Option<Credential>,
}

/// A deadline that passed without an answer.
#[derive(Clone, Debug)]
pub struct Expired {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The kind of the deadline, and whether a person was reached.
    pub reason: ExpiryReason,
    /// The attempts made by then.
    pub attempts: u32,
    /// The fallback policy of the question.
    pub fallback_policy: FallbackPolicy,
    /// The value that replaces an answer, if one does.
    pub fallback_value: Option<Value>,
    /// Whether a person was reached.
    pub reached: bool,
    /// The deadline of a portfolio, if that was the deadline.
    pub portfolio: Option<PortfolioDeadline>,
}

/// A deadline that moved.
#[derive(Clone, Debug)]
pub struct Extended {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The cause that made it necessary.
    pub cause: ExtensionCause,
    /// The deadline before.
    pub old_expires_at: DateTime<Utc>,
    /// The deadline from now on.
    pub new_expires_at: DateTime<Utc>,
    /// The reason, in the words of the subject that moved it.
    pub reason: Option<String>,
    /// The subject that moved it.
    pub extended_by: String,
    /// The credential of that subject; absent if the server itself did it.
    pub credential: Option<Credential>,
}

/// Why a deadline moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionCause {
    /// People were given more time on request.
    Request,
    /// The server was away, and gives back the time in which no one could answer. Otherwise an outage could make the fallback
    /// apply.
    Outage,
}

/// One attempt after the first.
#[derive(Clone, Debug)]
pub struct Renotified {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The attempt, from 2.
    pub attempt: u32,
    /// How many attempts there will be in all.
    pub max_attempts: u32,
    /// The preferred channel.
    pub channel_hint: Option<String>,
    /// The people who are told; after an outage, also those that the skipped attempts would have told.
    pub notify_to: Vec<String>,
    /// When the next attempt is due.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// Whether a later attempt had become due as well, because the server was away. A skipped attempt is recorded as an event,
    /// but no message is sent for it.
    pub skipped: bool,
    /// The first attempt that this one makes up for: the oldest skipped one, or itself.
    pub makes_up_from: u32,
}

/// Why a suspension expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpiryReason {
    /// No person answered.
    Timeout,
    /// No person was reached.
    Undeliverable,
    /// The deadline of a portfolio has passed.
    PortfolioDeadline,
}

/// An accepted answer and where it came from.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The kind of the suspension.
    pub kind: Kind,
    /// The answer, its time and its person.
    pub ending: Ending,
    /// The label of the selected choice.
    pub choice_label: Option<String>,
    /// The description of the selected choice.
    pub choice_description: Option<String>,
    /// The credential's role.
    pub role: Role,
    /// How sure the server is of the person.
    pub assurance: Assurance,
    /// The credential.
    pub credential: Option<Credential>,
    /// The person that the body claimed, if the credential names another one.
    pub claimed_responded_by: Option<String>,
    /// The hashes of what was decided and of what was shown for it.
    pub evidence: Option<Evidence>,
    /// The signature of a passkey under the answer, if the question demanded one.
    pub assertion: Option<Box<Assertion>>,
    /// The people whose answers made the quorum, in the order of these answers; empty if the question has none.
    pub agreed: Vec<Agreed>,
    /// The person in whose place this one answered, if a place was handed on.
    pub in_place_of: Option<String>,
    /// The door through which it came; absent in older events.
    pub via: Option<Via>,
    /// The action about which it decides; absent if the question proposes none.
    pub action: Option<Map<String, Value>>,
}

/// A person whose answer was one of those that made a quorum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    /// The person's address.
    pub person: String,
    /// When the person answered.
    #[serde(with = "crate::base::time::naive_form")]
    pub at: DateTime<Utc>,
    /// The person in whose place the answer was given, if a place was handed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<String>,
}

/// An answer that counts towards a quorum, and is not enough yet.
#[derive(Clone, Debug)]
pub struct AnswerCounted {
    /// The answer, as it would have ended the question.
    pub answer: Resumed,
    /// The address of the person.
    pub person: String,
    /// The key of the gateway through which it came, if it came through one.
    pub gateway: Option<KeyId>,
    /// How many people have given this answer now, and how many must give it.
    pub tally: Tally,
    /// The people whose approvals do not count any more, because this answer approves another action.
    pub clears: Vec<String>,
}

/// An answer that a person took back; also the payload of its event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerTakenBack {
    /// The suspension, which stays open.
    pub suspension_id: SuspensionId,
    /// The address of the person.
    pub person: String,
    /// The subject that took it back.
    pub taken_back_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An answer to an announced question that had not come.
#[derive(Clone, Debug)]
pub struct UnaskedAnswer {
    /// The id of the announcement.
    pub id: SuspensionId,
    /// The value. It is stored only in this event.
    pub value: Value,
    /// The person who answered.
    pub responded_by: String,
    /// The credential's role.
    pub role: Role,
    /// The credential.
    pub credential: Option<Credential>,
}

/// An answer that was refused.
#[derive(Clone, Debug)]
pub struct RefusedAnswer {
    /// The suspension that the answer named.
    pub suspension_id: SuspensionId,
    /// The code of the refusal.
    pub code: &'static str,
    /// The value of the answer; absent if it is larger than [`REFUSED_VALUE_BYTES_MAX`].
    pub value: Option<Value>,
    /// The person who sent it.
    pub responded_by: String,
    /// The credential.
    pub credential: Option<Credential>,
    /// The door through which it came; absent in older events.
    pub via: Option<Via>,
}

/// A write that broke the policy of its intent; also the payload of its event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The rule: a member of the policy.
    pub rule: String,
    /// The reason for the refusal.
    pub detail: String,
}

/// An event a client appends.
#[derive(Clone, Debug)]
pub struct ClientEvent {
    /// One of the types clients may write.
    pub event_type: String,
    /// Its payload.
    pub payload: Map<String, Value>,
    /// The actor that the body named.
    pub claimed_actor: Option<String>,
    /// The trace id, for distributed tracing.
    pub trace_id: Option<String>,
    /// The id of the event that led to this one.
    pub parent_event_id: Option<String>,
}

/// The type of the events that ask people to approve an action.
pub const APPROVAL_REQUESTED: &str = "governance.approval_requested";
/// The type of the events by which a person approves.
pub const APPROVAL_GRANTED: &str = "governance.approval_granted";
/// The type of the events by which a person refuses to approve.
pub const APPROVAL_DENIED: &str = "governance.approval_denied";
/// The type of the events that ask people how to go on.
pub const ESCALATION_REQUESTED: &str = "escalation_requested";
/// The type of the events by which a person says how to go on.
pub const ESCALATION_RESOLVED: &str = "escalation_resolved";
/// The type of the events that ask people to settle a conflict.
pub const ARBITRATION_REQUESTED: &str = "arbitration_requested";
/// The type of the events by which a person settles a conflict.
pub const ARBITRATION_RESOLVED: &str = "arbitration_resolved";

/// The type of the event that asks people.
fn asked_as(kind: Kind) -> &'static str {
    match kind {
        Kind::AwaitingInput | Kind::Paused | Kind::Parked | Kind::Stopping => "intent.suspended",
        Kind::Approval => APPROVAL_REQUESTED,
        Kind::Escalation => ESCALATION_REQUESTED,
        Kind::Arbitration => ARBITRATION_REQUESTED,
    }
}

/// The type of the event of an accepted answer.
fn answered_as(resumed: &Resumed) -> &'static str {
    match resumed.kind {
        Kind::AwaitingInput | Kind::Paused | Kind::Parked | Kind::Stopping => "intent.resumed",
        Kind::Approval if resumed.approves() => APPROVAL_GRANTED,
        Kind::Approval => APPROVAL_DENIED,
        Kind::Escalation => ESCALATION_RESOLVED,
        Kind::Arbitration => ARBITRATION_RESOLVED,
    }
}

impl Resumed {
    /// Whether the answer approves the action of an approval.
    pub(crate) fn approves(&self) -> bool {
        self.kind == Kind::Approval && self.ending.response.as_ref().is_some_and(|value| value == APPROVE)
    }
}

impl Event {
    /// Whether the event ends its intent: the requests that are open beside the intent then end as well.
    pub fn ends_intent(&self) -> bool {
        matches!(self, Self::StatusChanged { new, .. } if new.is_final())
    }

    /// The wire name (RFC-0025 §3).
    pub fn event_type(&self) -> &str {
        match self {
            Self::IntentCreated(..) => "intent_created",
            Self::StatePatched(_) => "state_patched",
            Self::StatusChanged { .. } => "status_changed",
            Self::Announced(_) => "intent.suspension_announced",
            Self::AnsweredUnasked(_) => "intent.unasked_answer",
            Self::Adopted { .. } => "intent.suspension_adopted",
            Self::AskerWentOn { .. } => "intent.asker_went_on",
            Self::Suspended(suspension, _) => asked_as(suspension.kind),
            Self::Resumed(resumed) => answered_as(resumed),
            Self::AnswerCounted(_) => "intent.answer_counted",
            Self::AnswerTakenBack(_) => "intent.answer_taken_back",
            Self::Hands(change) => change.event_type(),
            Self::Stop(change) => change.event_type(),
            Self::SuspensionExpired(_) => "intent.suspension_expired",
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
            Self::AgentAssigned(_) => "agent_assigned",
            Self::AgentUnassigned(_) => "agent_unassigned",
            Self::Access(change) => change.event_type(),
            Self::Joined(_) => membership::ADDED,
            Self::Left(_) => membership::REMOVED,
            Self::Member(change) => change.event_type(),
            Self::Dependency(change) => change.event_type(),
            Self::Task(change) => change.event_type(),
            Self::Plan(change) => change.event_type(),
            Self::Coordinator(change) => change.event_type(),
            Self::Retry(change) => change.event_type(),
            Self::Receipt(change) => change.event_type(),
            Self::PolicyChanged { policy: Some(_), .. } => POLICY_SET,
            Self::PolicyChanged { policy: None, .. } => POLICY_REMOVED,
            Self::Violated(_) => VIOLATION,
            Self::Recorded(record) => record.event_type(),
            Self::Appended(event) => &event.event_type,
        }
    }

    /// The actor that the body named, if a client appended the event.
    pub fn claimed_actor(&self) -> Option<&str> {
        self.appended().and_then(|event| event.claimed_actor.as_deref())
    }

    /// The trace id that a client gave.
    pub fn trace_id(&self) -> Option<&str> {
        self.appended().and_then(|event| event.trace_id.as_deref())
    }

    /// The id of the parent event that a client gave.
    pub fn parent_event_id(&self) -> Option<&str> {
        self.appended().and_then(|event| event.parent_event_id.as_deref())
    }

    fn appended(&self) -> Option<&ClientEvent> {
        if let Self::Appended(event) = self { Some(event) } else { None }
    }
}

/// The suspension that an event ends, and its ending; `None` for events that end none.
pub fn ending_of(event: &Event, now: DateTime<Utc>) -> Option<(SuspensionId, Ending)> {
    use crate::suspension::Resolution;
    let ending = |resolution, reason, response, by| Ending { resolution, reason, at: now, response, by, metadata: None };
    match event {
        Event::Resumed(resumed) => Some((resumed.suspension_id, resumed.ending.clone())),
        Event::SuspensionExpired(expired) => {
            let (resolution, reason) = match expired.reason {
                ExpiryReason::Timeout => (Resolution::Expired, None),
                ExpiryReason::PortfolioDeadline => (Resolution::Cancelled, Some(ResolutionReason::PortfolioDeadline)),
                // The event before, `SuspensionUndeliverable`, has ended the question. This one is for clients that know only the RFC.
                ExpiryReason::Undeliverable => return None,
            };
            let ending = ending(resolution, reason, expired.fallback_value.clone(), None);
            Some((expired.suspension_id, Ending { metadata: expired.portfolio.map(PortfolioDeadline::to_metadata), ..ending }))
        }
        Event::SuspensionUndeliverable { suspension_id } => {
            Some((*suspension_id, ending(Resolution::Cancelled, Some(ResolutionReason::Undeliverable), None, None)))
        }
        Event::SuspensionCancelled { suspension_id, reason, note, cancelled_by, .. } => {
            let metadata = note.as_ref().map(|note| Map::from_iter([("reason".to_owned(), Value::from(note.as_str()))]));
            let ending = ending(Resolution::Cancelled, Some(*reason), None, Some(cancelled_by.clone()));
            Some((*suspension_id, Ending { metadata, ..ending }))
        }
        Event::IntentCreated(..)
        | Event::StatePatched(_)
        | Event::StatusChanged { .. }
        | Event::Announced(_)
        | Event::AnsweredUnasked(_)
        | Event::Adopted { .. }
        | Event::AskerWentOn { .. }
        | Event::Suspended(..)
        | Event::SuspensionRenotified(_)
        | Event::SuspensionEscalated { .. }
        | Event::SuspensionReminded(_)
        | Event::SuspensionExtended(_)
        | Event::AnswerCounted(_)
        | Event::AnswerTakenBack(_)
        | Event::Hands(_)
        | Event::Stop(_)
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
        | Event::AgentAssigned(_)
        | Event::AgentUnassigned(_)
        | Event::Access(_)
        | Event::Joined(_)
        | Event::Left(_)
        | Event::Member(_)
        | Event::Dependency(_)
        | Event::Task(_)
        | Event::Plan(_)
        | Event::Coordinator(_)
        | Event::Retry(_)
        | Event::Receipt(_)
        | Event::PolicyChanged { .. }
        | Event::Violated(_)
        | Event::Recorded(_)
        | Event::Appended(_) => None,
    }
}
