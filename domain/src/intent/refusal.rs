//! The refusal of a command, with the events that are recorded although the command is refused.

use crate::base::ids::SuspensionId;
use crate::intent::Intent;
use crate::intent::changing::changed;
use crate::intent::command::Respond;
use crate::intent::event::{Event, Expired, ExpiryReason};
use crate::intent::status::Status;
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::FallbackPolicy;
use crate::suspension::{Ending, PortfolioDeadline, Resolution, ResolutionReason, Suspension};

/// A refusal, with the events that are recorded although the command is refused. A late or second answer, for example, is kept as
/// evidence.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The reason.
    pub rejection: Rejection,
    /// The events that the server records in its own name and not in the caller's, for example because a deadline has passed.
    pub deadline: Vec<Event>,
    /// The event that records the caller's attempt.
    pub record: Option<Box<Event>>,
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self { rejection, deadline: Vec::new(), record: None }
    }
}

pub(super) fn withdrawn(open: &Suspension, reason: ResolutionReason, note: Option<String>, by: &Principal) -> Event {
    let (cancelled_by, credential) = (by.subject.clone(), by.credential);
    Event::SuspensionCancelled { suspension_id: open.id, reason, note, cancelled_by, credential }
}

/// The refusal of a command after the deadline. It carries the deadline's own events, so that a passed
/// deadline always takes effect.
pub(super) fn expired(intent: &Intent, open: &Suspension) -> Refusal {
    Refusal {
        rejection: Rejection::Expired { expired_at: open.ends_at() },
        deadline: end_by_deadline(intent, open),
        record: None,
    }
}

/// The events of a deadline (RFC-0025 §6). If the deadline of a portfolio comes first, it decides. If no person was reached, the
/// question is recorded as undeliverable and not as unanswered, unless its fallback applies without delivery.
pub(super) fn end_by_deadline(intent: &Intent, open: &Suspension) -> Vec<Event> {
    if let Some(portfolio) = open.ended_by_portfolio() {
        return end_by_portfolio(intent, open, portfolio);
    }
    if !open.counted.is_empty() {
        return end_without_quorum(intent, open);
    }
    let falls_back = open.fallback_policy != FallbackPolicy::Fail;
    let excused = falls_back && !open.requires_delivery;
    let undeliverable = !open.reached && !excused;
    let continues = falls_back && !undeliverable;
    let (new, reason) = match (continues, undeliverable) {
        (true, _) => (Status::Active, "fallback_applied"),
        (false, true) => (Status::Abandoned, "undeliverable"),
        (false, false) => (Status::Abandoned, "suspension_expired"),
    };
    let mut events = Vec::with_capacity(3);
    // An errand has no work to which it could return.
    let new = if continues && intent.is_errand { Status::Completed } else { new };
    if undeliverable {
        events.push(Event::SuspensionUndeliverable { suspension_id: open.id });
    }
    events.push(Event::SuspensionExpired(Box::new(Expired {
        suspension_id: open.id,
        reason: if undeliverable { ExpiryReason::Undeliverable } else { ExpiryReason::Timeout },
        attempts: open.attempt,
        fallback_policy: open.fallback_policy,
        fallback_value: if continues { open.fallback_value.clone() } else { None },
        reached: open.reached,
        portfolio: None,
    })));
    if open.kind.stops_intent() {
        events.push(changed(intent, new, Some(reason.into())));
    }
    events
}

/// The events of a deadline at which people have answered, and not enough of them agree. No fallback applies: it would count as silence
/// what people have said. And the word is not `expired`, at which some clients apply a fallback of their own.
fn end_without_quorum(intent: &Intent, open: &Suspension) -> Vec<Event> {
    let mut events = vec![withdrawn(open, ResolutionReason::QuorumUnmet, None, &Principal::server())];
    if open.kind.stops_intent() {
        events.push(changed(intent, Status::Abandoned, Some("quorum_unmet".into())));
    }
    events
}

/// The events of the deadline of a portfolio: it ends the question and the intent, and no fallback applies (RFC-0026 §3, rule 5).
pub(super) fn end_by_portfolio(intent: &Intent, open: &Suspension, portfolio: PortfolioDeadline) -> Vec<Event> {
    let expired = Expired {
        suspension_id: open.id,
        reason: ExpiryReason::PortfolioDeadline,
        attempts: open.attempt,
        fallback_policy: open.fallback_policy,
        fallback_value: None,
        reached: open.reached,
        portfolio: Some(portfolio),
    };
    vec![
        Event::SuspensionExpired(Box::new(expired)),
        changed(intent, Status::Abandoned, Some("portfolio_deadline_exceeded".into())),
    ]
}

/// Why a command on a suspension that is not the open one is refused.
pub(super) fn why_refused(intent: &Intent, suspension_id: &str) -> Rejection {
    let named = SuspensionId::parse(suspension_id).and_then(|id| intent.ended.iter().find(|ended| ended.id == id));
    named
        .and_then(has_ended)
        .unwrap_or_else(|| if intent.open.is_some() { Rejection::SuspensionMismatch } else { Rejection::NotSuspended })
}

/// Why something that needs an open suspension is refused for one that has ended; `None` if it is open.
pub fn has_ended(suspension: &Suspension) -> Option<Rejection> {
    let ending = suspension.ending.as_ref()?;
    let Ending { resolution, reason, at, by, .. } = ending;
    Some(match (resolution, reason) {
        (Resolution::Expired, _)
        | (Resolution::Cancelled, Some(ResolutionReason::Undeliverable | ResolutionReason::QuorumUnmet)) => {
            Rejection::Expired { expired_at: suspension.expires_at }
        }
        (Resolution::Cancelled, Some(ResolutionReason::PortfolioDeadline)) => {
            Rejection::Expired { expired_at: ending.portfolio_deadline().or(Some(*at)) }
        }
        (Resolution::Responded | Resolution::Cancelled, _) => {
            Rejection::AlreadyResolved { resolution: *resolution, reason: *reason, resolved_at: *at, resolved_by: by.clone() }
        }
    })
}

/// The reason for which an intent goes on after an answer.
pub(super) const ANSWERED: &str = "answered";

/// The event that makes the intent active after `ended` has ended; `None` if the intent did not wait for it. An errand ends here:
/// with an answer it is completed.
pub(super) fn goes_on(intent: &Intent, ended: &Suspension, reason: &str) -> Option<Event> {
    let new = match (intent.is_errand, reason) {
        (false, _) => Status::Active,
        (true, ANSWERED) => Status::Completed,
        (true, _) => Status::Abandoned,
    };
    ended.kind.stops_intent().then(|| changed(intent, new, Some(reason.into())))
}

/// Refuses an answer from a gateway (a key of the role `channel`) that does not name the person for whom the gateway answers.
pub(super) fn names_a_person(respond: &Respond, by: &Principal) -> Result<(), Rejection> {
    if by.role == Role::Channel && respond.claimed_responded_by.is_none() {
        return Err(Rejection::invalid("responded_by", "required", "a channel key must name the person who answered"));
    }
    Ok(())
}
