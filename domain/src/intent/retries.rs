//! Decides about the repetition of work on an intent that failed (RFC-0010).

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::base::name::{form, is_at_or_below, is_same};
use crate::intent::Intent;
use crate::intent::assignment::{ASSIGNED_MAX, Assigned};
use crate::intent::event::Event;
use crate::intent::govern::may_be_assigned;
use crate::intent::record::{DELAY_MS_MAX, Failure, Record};
use crate::intent::retry::{ExhaustedReason, HandedOver, Next, RetryEvent, Started, Step};
use crate::intent::status::Status;
use crate::people::principal::{Principal, Role};

/// The role of an agent that took over.
const FALLBACK: &str = "fallback";

/// Records a failure, and what follows from it by the retry policy. A failure that a person recorded has no consequence: it is not known
/// which agent is to try again.
pub(super) fn record(intent: &Intent, failure: &Failure, by: &Principal, now: DateTime<Utc>) -> Vec<Event> {
    let longest = TimeDelta::milliseconds(i64::try_from(DELAY_MS_MAX).unwrap_or(i64::MAX));
    let retry = intent.retry.as_deref().filter(|_| by.role == Role::Agent && !intent.status.is_final());
    let worker = worker(intent, &failure.agent_id, by);
    let change = retry.zip(worker).and_then(|(retry, worker)| retry.after(worker, failure, longest, now));
    let mut failure = failure.clone();
    if let Some(RetryEvent::Scheduled(scheduled)) = &change {
        failure.retry_scheduled_at = failure.retry_scheduled_at.or(Some(scheduled.retry_at));
    }
    let recorded = Event::Recorded(Box::new(Record::Failure(failure)));
    [recorded].into_iter().chain(change.map(event_of)).collect()
}

/// The name by which the agent that reports a failure works on the intent, and under which it is told to try again: that of an assignment,
/// or that of the creator. An agent that has only an entry in the access list works on nothing that the server could hand back to it.
fn worker<'a>(intent: &'a Intent, reported: &str, by: &Principal) -> Option<&'a str> {
    let creator = Some(&intent.created_by.name).filter(|_| intent.is_created_by(by));
    let names = || creator.into_iter().chain(intent.assigned.iter().filter(|name| by.may_act_for(name))).map(String::as_str);
    let reported = form(reported);
    let nearest = names().filter(|name| is_at_or_below(&reported, &form(name))).max_by_key(|name| name.len());
    nearest.or_else(|| names().next())
}

fn event_of(event: RetryEvent) -> Event {
    Event::Retry(Box::new(event))
}

/// Takes the step that is due first, if the intent is neither suspended nor blocked. `in_force` is the assignment of the fallback agent, if
/// it is assigned already.
pub(super) fn take_next(intent: &Intent, in_force: Option<&Assigned>, now: DateTime<Utc>) -> Vec<Event> {
    let Some(retry) = intent.retry.as_deref().filter(|_| !intent.holds_retries()) else { return Vec::new() };
    let Some((failing, next)) = retry.first().filter(|(_, next)| next.due_at.is_none_or(|at| at <= now)) else {
        return Vec::new();
    };
    match &next.step {
        Step::Retry(retry_attempt) if intent.is_worked_on_by(&failing.agent_id) => {
            vec![event_of(RetryEvent::Started(Started {
                agent_id: failing.agent_id.clone(),
                retry_attempt: *retry_attempt,
                last_error: next.last_error.clone(),
            }))]
        }
        Step::Retry(_) => vec![event_of(retry.exhausted(failing, next, ExhaustedReason::AgentGone))],
        Step::TakeOver(fallback) => {
            let refused = || vec![event_of(retry.exhausted(failing, next, ExhaustedReason::FallbackRefused))];
            take_over(intent, (&failing.agent_id, next), fallback, in_force).unwrap_or_else(refused)
        }
    }
}

/// Assigns the fallback agent, under the rules that hold for each assignment; `None` if they forbid it. An agent that is assigned already
/// keeps its part, and is told of the error.
fn take_over(
    intent: &Intent,
    (agent_id, next): (&str, &Next),
    fallback: &str,
    in_force: Option<&Assigned>,
) -> Option<Vec<Event>> {
    let has_place = in_force.is_some() || intent.assigned.len() < ASSIGNED_MAX;
    let is_allowed = intent.governance.policy.as_ref().is_none_or(|policy| may_be_assigned(policy, fallback).is_ok());
    if !has_place || !is_allowed {
        return None;
    }
    let new = || Assigned {
        agent_id: fallback.to_owned(),
        role: FALLBACK.to_owned(),
        delegated_by: Some(agent_id.to_owned()),
        payload: None,
    };
    let mut assigned = in_force.cloned().unwrap_or_else(new);
    let error = next.last_error.clone().map(|error| ("last_error".to_owned(), Value::from(error)));
    assigned.payload.get_or_insert_default().extend(error);
    let handed_over = HandedOver { agent_id: agent_id.to_owned(), fallback_agent_id: fallback.to_owned() };
    Some(vec![Event::AgentAssigned(Box::new(assigned)), event_of(RetryEvent::HandedOver(handed_over))])
}

impl Intent {
    /// Whether the next attempt waits until the intent goes on, or for ever because the intent has ended.
    pub fn holds_retries(&self) -> bool {
        self.status.is_final() || matches!(self.status, Status::SuspendedAwaitingInput | Status::Blocked)
    }

    /// The time at which the server takes the next step after a failure; `None` if there is none, or if it waits. A step that is due at once
    /// has the earliest time of all, so that it waits for no clock.
    pub fn retry_due_at(&self) -> Option<DateTime<Utc>> {
        let (_, next) = self.retry.as_ref().filter(|_| !self.holds_retries())?.first()?;
        Some(next.due_at.unwrap_or(DateTime::UNIX_EPOCH))
    }

    /// Whether the agent created the intent, or is assigned to it.
    fn is_worked_on_by(&self, agent_id: &str) -> bool {
        self.assigned.iter().chain([&self.created_by.name]).any(|name| is_same(name, agent_id))
    }
}
