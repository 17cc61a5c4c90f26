//! The payload of each kind of event in the log: the object that is hashed.
//!
//! These types are written and read back. They are not the bodies of requests or responses, so a new member of a body does not
//! change the log. A log is verified for ever, so a member never changes its name or its form. A new member is optional and left
//! out if it has no value, so that the bytes of every older event stay as they are.

mod announced;
mod delivery;
mod earlier;
mod ending;
mod governance;
mod key;
mod question;
mod work;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::announced::{Adopted, Announced, Unasked, WentOn};
pub use self::delivery::{Delivery, Failover, Redriven, Tracked};
pub use self::earlier::EarlierDecision;
pub use self::ending::{AnswerCounted, Cancelled, Expired, RefusedAnswer, Resumed, Undeliverable};
pub use self::governance::{PolicyRemoved, PolicySet};
pub use self::key::{Key, KeyRevoked, ServerPayload};
pub use self::question::{AskedBefore, Choice, Escalated, Extended, Reminded, Renotified, RetryPolicy, Rung, Suspended};
pub use self::work::{IntentCreated, Lease, Patch, StatePatched, StatusChanged};
use crate::container::coordinator_event::CoordinatorEvent;
use crate::container::event::TaskEvent;
use crate::container::plan_event::PlanEvent;
use crate::intent::access::{self, AccessEvent};
use crate::intent::assignment::{Assigned, Unassigned};
use crate::intent::dependency::{self, DependencyAdded, DependencyEvent, DependencyMet, DependencyRemoved};
use crate::intent::event::{
    APPROVAL_DENIED, APPROVAL_GRANTED, APPROVAL_REQUESTED, ARBITRATION_REQUESTED, ARBITRATION_RESOLVED, AnswerTakenBack,
    ESCALATION_REQUESTED, ESCALATION_RESOLVED, Event, Violation,
};
use crate::intent::governance::{POLICY_REMOVED, POLICY_SET, Policy, VIOLATION};
use crate::intent::hands::HandsEvent;
use crate::intent::receipt::ReceiptEvent;
use crate::intent::record::Record;
use crate::intent::retry::RetryEvent;
use crate::intent::stop_event::StopEvent;
use crate::portfolio::membership::{self, MemberEvent};

/// A payload that was not read yet, because its form depends on the type of its event.
pub trait Unread {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// A member that is missing or has another form.
    fn read<T: DeserializeOwned>(self) -> Result<T, serde_json::Error>;
}

impl Unread for Value {
    fn read<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        serde_json::from_value(self)
    }
}

/// The bytes of a whole event, as JSON. Its payload is read from them without a [`Value`] in between, which takes half of the time.
#[derive(Clone, Copy, Debug)]
pub struct EventBytes<'b>(pub &'b [u8]);

impl Unread for EventBytes<'_> {
    fn read<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        /// An event of which the payload alone is read.
        #[derive(Deserialize)]
        struct Event<T> {
            payload: T,
        }
        serde_json::from_slice::<Event<T>>(self.0).map(|event| event.payload)
    }
}

/// The bytes of a payload alone, as JSON.
#[derive(Clone, Copy, Debug)]
pub struct PayloadBytes<'b>(pub &'b [u8]);

impl Unread for PayloadBytes<'_> {
    fn read<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.0)
    }
}

/// The payload of one event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Payload {
    /// `intent_created`.
    IntentCreated(Box<IntentCreated>),
    /// `state_patched`.
    StatePatched(StatePatched),
    /// `status_changed`.
    StatusChanged(StatusChanged),
    /// `lease_acquired`, `lease_renewed` and `lease_released`.
    Lease(Lease),
    /// `intent.suspension_announced`.
    Announced(Announced),
    /// `intent.unasked_answer`.
    Unasked(Box<Unasked>),
    /// `intent.suspension_adopted`.
    Adopted(Adopted),
    /// `intent.asker_went_on`.
    WentOn(WentOn),
    /// `intent.suspended`, and the requests that do not suspend the intent.
    Suspended(Box<Suspended>),
    /// `intent.suspension_renotified`.
    Renotified(Renotified),
    /// `intent.suspension_escalated`.
    Escalated(Escalated),
    /// `intent.suspension_reminded`.
    Reminded(Reminded),
    /// `intent.suspension_extended`.
    Extended(Extended),
    /// `intent.resumed`, and the answers to requests that do not suspend the intent.
    Resumed(Box<Resumed>),
    /// `intent.answer_counted`.
    AnswerCounted(Box<AnswerCounted>),
    /// `intent.answer_taken_back`.
    AnswerTakenBack(AnswerTakenBack),
    /// The events by which the hands change in which a question is, each under its own type.
    Hands(Box<HandsEvent>),
    /// The events by which an intent is stopped and goes on, each under its own type.
    Stop(Box<StopEvent>),
    /// `intent.suspension_expired`.
    Expired(Expired),
    /// `intent.suspension_undeliverable`.
    Undeliverable(Undeliverable),
    /// `intent.suspension_cancelled`.
    Cancelled(Cancelled),
    /// `intent.late_answer` and `intent.response_rejected`.
    RefusedAnswer(RefusedAnswer),
    /// `delivery.failed`.
    Delivery(Delivery),
    /// `delivery.sent` and `delivery.bounced`.
    Tracked(Tracked),
    /// `delivery.failover`.
    Failover(Failover),
    /// `delivery.redriven`.
    Redriven(Redriven),
    /// `agent_assigned`.
    Assigned(Box<Assigned>),
    /// `agent_unassigned`.
    Unassigned(Unassigned),
    /// `access_granted`.
    AccessGranted(Box<access::Granted>),
    /// `access_revoked` and `access_expired`.
    AccessRemoved(access::Removed),
    /// `access_requested`.
    AccessRequested(Box<access::Requested>),
    /// `access_request_approved` and `access_request_denied`.
    AccessDecided(Box<access::Decided>),
    /// `added_to_portfolio`.
    Joined(Box<membership::Added>),
    /// `removed_from_portfolio`.
    Left(membership::Removed),
    /// `portfolio.member_suspended`.
    MemberSuspended(membership::MemberSuspended),
    /// `portfolio.member_resumed`.
    MemberResumed(membership::MemberResumed),
    /// `dependency_added`.
    DependencyAdded(DependencyAdded),
    /// `dependency_removed`.
    DependencyRemoved(DependencyRemoved),
    /// `intent.dependency_completed`.
    DependencyMet(DependencyMet),
    /// The events about tasks, each under its own type.
    Task(Box<TaskEvent>),
    /// The events about plans, each under its own type.
    Plan(Box<PlanEvent>),
    /// The events about coordinators, each under its own type.
    Coordinator(Box<CoordinatorEvent>),
    /// The events about retries, each under its own type.
    Retry(Box<RetryEvent>),
    /// The events about receipts, each under its own type.
    Receipt(Box<ReceiptEvent>),
    /// `governance.policy_set`.
    PolicySet(PolicySet),
    /// `governance.policy_removed`.
    PolicyRemoved(PolicyRemoved),
    /// `governance.violation`.
    Violated(Violation),
    /// Data that agents keep with the intent, each kind under the type of its own event.
    Recorded(Box<Record>),
    /// An event that a client appended, as the client wrote it.
    Appended(Map<String, Value>),
}

impl Payload {
    /// The payload of `event`.
    pub fn of(event: &Event) -> Self {
        match event {
            Event::IntentCreated(body, status) => Self::IntentCreated(Box::new(IntentCreated::of(body, *status))),
            Event::StatePatched(patches) => Self::StatePatched(StatePatched::of(patches)),
            Event::StatusChanged { old, new, reason, blocked_reason, overrides } => {
                Self::StatusChanged(StatusChanged::of((*old, *new), reason.clone(), *blocked_reason, overrides.clone()))
            }
            Event::LeaseAcquired(lease) | Event::LeaseRenewed(lease) | Event::LeaseReleased(lease) => {
                Self::Lease(Lease::of(lease))
            }
            Event::Announced(announced) => Self::Announced(Announced::of(announced)),
            Event::AnsweredUnasked(answer) => Self::Unasked(Box::new(Unasked::of(answer))),
            Event::Adopted { suspension_id, client_id } => {
                Self::Adopted(Adopted { suspension_id: *suspension_id, client_id: client_id.clone() })
            }
            Event::AskerWentOn { suspension_id } => Self::WentOn(WentOn { suspension_id: *suspension_id }),
            Event::Suspended(suspension, question) => Self::Suspended(Box::new(Suspended::of(suspension, question))),
            Event::SuspensionRenotified(renotified) => Self::Renotified(Renotified::of(renotified)),
            Event::SuspensionEscalated { suspension_id, attempt, escalated_to, channel_hint } => Self::Escalated(Escalated {
                suspension_id: *suspension_id,
                attempt: *attempt,
                escalated_to: escalated_to.clone(),
                channel_hint: channel_hint.clone(),
            }),
            Event::SuspensionReminded(reminded) => Self::Reminded(Reminded::of(reminded)),
            Event::SuspensionExtended(extended) => Self::Extended(Extended::of(extended)),
            Event::Resumed(resumed) => Self::Resumed(Box::new(Resumed::of(resumed))),
            Event::AnswerCounted(counted) => Self::AnswerCounted(Box::new(AnswerCounted::of(counted))),
            Event::AnswerTakenBack(taken) => Self::AnswerTakenBack(taken.clone()),
            Event::Hands(change) => Self::Hands(change.clone()),
            Event::Stop(change) => Self::Stop(change.clone()),
            Event::SuspensionExpired(expired) => Self::Expired(Expired::of(expired)),
            Event::SuspensionUndeliverable { suspension_id } => {
                Self::Undeliverable(Undeliverable { suspension_id: *suspension_id })
            }
            Event::SuspensionCancelled { suspension_id, reason, note, cancelled_by, credential } => Self::Cancelled(Cancelled {
                suspension_id: *suspension_id,
                resolution_reason: *reason,
                reason: note.clone(),
                cancelled_by: cancelled_by.clone(),
                credential: *credential,
            }),
            Event::LateAnswer(refused) | Event::ResponseRejected(refused) => Self::RefusedAnswer(RefusedAnswer::of(refused)),
            Event::DeliveryFailed(delivery) => Self::Delivery(Delivery::of(delivery)),
            Event::DeliverySent { delivery, reached } | Event::DeliveryBounced { delivery, reached } => {
                Self::Tracked(Tracked { delivery: Delivery::of(delivery), reached: *reached })
            }
            Event::DeliveryFailover(failover) => Self::Failover(Failover::of(failover)),
            Event::DeliveryRedriven { delivery, redriven_by, credential } => Self::Redriven(Redriven {
                delivery: Delivery::of(delivery),
                redriven_by: redriven_by.clone(),
                credential: *credential,
            }),
            Event::AgentAssigned(assigned) => Self::Assigned(assigned.clone()),
            Event::AgentUnassigned(unassigned) => Self::Unassigned(unassigned.clone()),
            Event::Access(change) => Self::of_access(change),
            Event::Joined(added) => Self::Joined(added.clone()),
            Event::Left(removed) => Self::Left(removed.clone()),
            Event::Member(MemberEvent::Suspended(suspended)) => Self::MemberSuspended(*suspended),
            Event::Member(MemberEvent::Resumed(resumed)) => Self::MemberResumed(*resumed),
            Event::Dependency(change) => Self::of_dependency(change),
            Event::Task(change) => Self::Task(change.clone()),
            Event::Plan(change) => Self::Plan(change.clone()),
            Event::Coordinator(change) => Self::Coordinator(change.clone()),
            Event::Retry(change) => Self::Retry(change.clone()),
            Event::Receipt(change) => Self::Receipt(change.clone()),
            Event::PolicyChanged { policy, version } => Self::of_policy(policy.clone(), *version),
            Event::Violated(violation) => Self::Violated(violation.clone()),
            Event::Recorded(record) => Self::Recorded(record.clone()),
            Event::Appended(event) => Self::Appended(event.payload.clone()),
        }
    }

    fn of_access(change: &AccessEvent) -> Self {
        match change {
            AccessEvent::Granted(granted) => Self::AccessGranted(Box::new(granted.clone())),
            AccessEvent::Revoked(removed) | AccessEvent::Expired(removed) => Self::AccessRemoved(removed.clone()),
            AccessEvent::Requested(requested, _) => Self::AccessRequested(Box::new(requested.clone())),
            AccessEvent::Approved(decided) | AccessEvent::Denied(decided) => Self::AccessDecided(Box::new(decided.clone())),
        }
    }

    fn of_policy(policy: Option<Policy>, version: u32) -> Self {
        match policy {
            Some(governance_policy) => Self::PolicySet(PolicySet { governance_policy, version }),
            None => Self::PolicyRemoved(PolicyRemoved { version }),
        }
    }

    fn of_dependency(change: &DependencyEvent) -> Self {
        match change {
            DependencyEvent::Added(added) => Self::DependencyAdded(added.clone()),
            DependencyEvent::Removed(removed) => Self::DependencyRemoved(removed.clone()),
            DependencyEvent::Met(met) => Self::DependencyMet(met.clone()),
        }
    }

    /// Reads the payload of an event of this type.
    ///
    /// # Errors
    ///
    /// A member that is missing or has another form.
    pub fn read(event_type: &str, payload: impl Unread) -> Result<Self, serde_json::Error> {
        fn of<T: DeserializeOwned>(payload: impl Unread, kind: impl FnOnce(T) -> Payload) -> Result<Payload, serde_json::Error> {
            payload.read().map(kind)
        }
        match event_type {
            "intent_created" => of(payload, Self::IntentCreated),
            "state_patched" => of(payload, Self::StatePatched),
            "status_changed" => of(payload, Self::StatusChanged),
            "lease_acquired" | "lease_renewed" | "lease_released" => of(payload, Self::Lease),
            "intent.suspended" | APPROVAL_REQUESTED | ESCALATION_REQUESTED | ARBITRATION_REQUESTED => {
                of(payload, Self::Suspended)
            }
            "intent.suspension_announced" => of(payload, Self::Announced),
            "intent.unasked_answer" => of(payload, |answer| Self::Unasked(Box::new(answer))),
            "intent.suspension_adopted" => of(payload, Self::Adopted),
            "intent.asker_went_on" => of(payload, Self::WentOn),
            "intent.suspension_renotified" => of(payload, Self::Renotified),
            "intent.suspension_escalated" => of(payload, Self::Escalated),
            "intent.suspension_reminded" => of(payload, Self::Reminded),
            "intent.suspension_extended" => of(payload, Self::Extended),
            "intent.resumed" | APPROVAL_GRANTED | APPROVAL_DENIED | ESCALATION_RESOLVED | ARBITRATION_RESOLVED => {
                of(payload, Self::Resumed)
            }
            "intent.answer_counted" => of(payload, |counted| Self::AnswerCounted(Box::new(counted))),
            "intent.answer_taken_back" => of(payload, Self::AnswerTakenBack),
            "intent.suspension_expired" => of(payload, Self::Expired),
            "intent.suspension_undeliverable" => of(payload, Self::Undeliverable),
            "intent.suspension_cancelled" => of(payload, Self::Cancelled),
            "intent.late_answer" | "intent.response_rejected" => of(payload, Self::RefusedAnswer),
            "delivery.failed" => of(payload, Self::Delivery),
            "delivery.sent" | "delivery.bounced" => of(payload, Self::Tracked),
            "delivery.failover" => of(payload, Self::Failover),
            "delivery.redriven" => of(payload, Self::Redriven),
            "agent_assigned" => of(payload, |assigned| Self::Assigned(Box::new(assigned))),
            "agent_unassigned" => of(payload, Self::Unassigned),
            access::GRANTED => of(payload, |granted| Self::AccessGranted(Box::new(granted))),
            access::REVOKED | access::EXPIRED => of(payload, Self::AccessRemoved),
            access::REQUESTED => of(payload, |requested| Self::AccessRequested(Box::new(requested))),
            access::APPROVED | access::DENIED => of(payload, |decided| Self::AccessDecided(Box::new(decided))),
            membership::ADDED => of(payload, |added| Self::Joined(Box::new(added))),
            membership::REMOVED => of(payload, Self::Left),
            membership::SUSPENDED => of(payload, Self::MemberSuspended),
            membership::RESUMED => of(payload, Self::MemberResumed),
            dependency::ADDED => of(payload, Self::DependencyAdded),
            dependency::REMOVED => of(payload, Self::DependencyRemoved),
            dependency::MET => of(payload, Self::DependencyMet),
            POLICY_SET => of(payload, Self::PolicySet),
            POLICY_REMOVED => of(payload, Self::PolicyRemoved),
            VIOLATION => of(payload, Self::Violated),
            _ => Self::read_other(event_type, payload.read()?),
        }
    }

    /// Reads the payload of an event of an agent's data, of a task, of a plan, of a coordinator, of retries, or of one that a client appended.
    fn read_other(event_type: &str, payload: Value) -> Result<Self, serde_json::Error> {
        if let Some(record) = Record::read(event_type, &payload) {
            return record.map(|record| Self::Recorded(Box::new(record)));
        }
        if let Some(task) = TaskEvent::read(event_type, &payload) {
            return task.map(|task| Self::Task(Box::new(task)));
        }
        if let Some(plan) = PlanEvent::read(event_type, &payload) {
            return plan.map(|plan| Self::Plan(Box::new(plan)));
        }
        if let Some(coordinator) = CoordinatorEvent::read(event_type, &payload) {
            return coordinator.map(|coordinator| Self::Coordinator(Box::new(coordinator)));
        }
        if let Some(retry) = RetryEvent::read(event_type, &payload) {
            return retry.map(|retry| Self::Retry(Box::new(retry)));
        }
        if let Some(hands) = HandsEvent::read(event_type, &payload) {
            return hands.map(|hands| Self::Hands(Box::new(hands)));
        }
        if let Some(stop) = StopEvent::read(event_type, &payload) {
            return stop.map(|stop| Self::Stop(Box::new(stop)));
        }
        if let Some(receipt) = ReceiptEvent::read(event_type, &payload) {
            return receipt.map(|receipt| Self::Receipt(Box::new(receipt)));
        }
        serde_json::from_value(payload).map(Self::Appended)
    }
}
