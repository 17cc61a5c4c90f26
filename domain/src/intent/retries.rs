//! Decides about the repetition of work on an intent that failed (RFC-0010).

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value};

use crate::base::name::form;
use crate::intent::Intent;
use crate::intent::assignment::{ASSIGNED_MAX, Assigned};
use crate::intent::event::Event;
use crate::intent::govern::may_be_assigned;
use crate::intent::record::{DELAY_MS_MAX, Failure, Record};
use crate::intent::retry::{ExhaustedReason, HandedOver, Next, Retry, RetryEvent, Started, Step};
use crate::intent::status::Status;
use crate::people::principal::{Principal, Role};

/// The role of an agent that took over.
const FALLBACK: &str = "fallback";

/// Records a failure, and what follows from it by the retry policy. A failure that a person recorded has no consequence: it is not known
/// which agent is to try again.
pub(super) fn record(intent: &Intent, failure: &Failure, by: &Principal, now: DateTime<Utc>) -> Vec<Event> {
    let longest = TimeDelta::milliseconds(i64::try_from(DELAY_MS_MAX).unwrap_or(i64::MAX));
    let retry = intent.retry.as_deref().filter(|_| by.role == Role::Agent && !intent.status.is_final());
    let change = retry.and_then(|retry| retry.after(failure, longest, now));
    let mut failure = failure.clone();
    if let Some(RetryEvent::Scheduled(scheduled)) = &change {
        failure.retry_scheduled_at = failure.retry_scheduled_at.or(Some(scheduled.retry_at));
    }
    let recorded = Event::Recorded(Box::new(Record::Failure(failure)));
    [recorded].into_iter().chain(change.map(event_of)).collect()
}

fn event_of(event: RetryEvent) -> Event {
    Event::Retry(Box::new(event))
}

/// Takes the next step, if it is due and the intent is neither suspended nor blocked.
pub(super) fn take_next(intent: &Intent, now: DateTime<Utc>) -> Vec<Event> {
    let Some(retry) = intent.retry.as_deref().filter(|_| !intent.holds_retries()) else { return Vec::new() };
    let Some(next) = retry.next.as_ref().filter(|next| next.due_at <= now) else { return Vec::new() };
    match &next.step {
        Step::Retry(retry_attempt) if intent.is_worked_on_by(&next.agent_id) => {
            vec![event_of(RetryEvent::Started(Started {
                agent_id: next.agent_id.clone(),
                retry_attempt: *retry_attempt,
                last_error: next.last_error.clone(),
            }))]
        }
        Step::Retry(_) => vec![event_of(retry.exhausted(next, ExhaustedReason::AgentGone))],
        Step::TakeOver(fallback) => take_over(intent, retry, next, fallback),
    }
}

/// Assigns the fallback agent, under the rules that hold for each assignment.
fn take_over(intent: &Intent, retry: &Retry, next: &Next, fallback: &str) -> Vec<Event> {
    let is_assigned = intent.assigned.iter().any(|assigned| assigned == fallback);
    let has_place = is_assigned || intent.assigned.len() < ASSIGNED_MAX;
    let is_allowed = intent.governance.policy.as_ref().is_none_or(|policy| may_be_assigned(policy, fallback).is_ok());
    if !has_place || !is_allowed {
        return vec![event_of(retry.exhausted(next, ExhaustedReason::FallbackRefused))];
    }
    let error = next.last_error.clone().map(|error| ("last_error".to_owned(), Value::from(error)));
    let assigned = Assigned {
        agent_id: fallback.to_owned(),
        role: FALLBACK.to_owned(),
        delegated_by: Some(next.agent_id.clone()),
        payload: Some(Map::from_iter(error)),
    };
    let handed_over = HandedOver { agent_id: next.agent_id.clone(), fallback_agent_id: fallback.to_owned() };
    vec![Event::AgentAssigned(Box::new(assigned)), event_of(RetryEvent::HandedOver(handed_over))]
}

impl Intent {
    /// Whether the next attempt waits until the intent goes on, or for ever because the intent has ended.
    pub fn holds_retries(&self) -> bool {
        self.status.is_final() || matches!(self.status, Status::SuspendedAwaitingInput | Status::Blocked)
    }

    /// The time at which the server takes the next step after a failure; `None` if there is none, or if it waits.
    pub fn retry_due_at(&self) -> Option<DateTime<Utc>> {
        let next = self.retry.as_ref().filter(|_| !self.holds_retries())?.next.as_ref()?;
        Some(next.due_at)
    }

    /// Whether the agent created the intent, is assigned to it, or acts below the name of one that did or is.
    fn is_worked_on_by(&self, agent_id: &str) -> bool {
        let agent_id = form(agent_id);
        let names = self.assigned.iter().chain([&self.created_by.name]);
        names
            .map(|name| form(name))
            .any(|name| agent_id.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }
}
