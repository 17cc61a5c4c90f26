//! The outcome of a command, as its caller sees it.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::base::name::is_same;
use domain::intent::access::{ChangeAccess, OpenRequest};
use domain::intent::body::SUSPENSION_KEY;
use domain::intent::command::{Command, Respond, Suspend};
use domain::intent::event::{Event, UnaskedAnswer};
use domain::log::Sealed;
use domain::log::payload::{AnswerCounted, EventBytes, Unread as _};
use domain::problem::Rejection;
use domain::suspension::evidence::Evidence;
use domain::suspension::quorum::Tally;
use domain::suspension::{Question, Resolution, Suspension};
use domain::wire::{AccessRequestView, AccessView, MembershipView, PlanView, RespondResponse, SuspensionRecord};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::loaded::Loaded;
use crate::Outcome;
use crate::assigning::as_it_counts;
use crate::reads::beside;
use crate::request::Idempotency;
use crate::rows::prelude::*;
use crate::rows::{Decided, ReadAnswers as _, RowsError, RowsResult};

/// The outcome of an accepted command, as its caller sees it.
pub(super) fn outcome<R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    command: &Command,
    events: &[Event],
    last: Option<Sealed>,
    warnings: Vec<String>,
    now: DateTime<Utc>,
) -> RowsResult<Outcome> {
    match command {
        Command::Suspend(suspend) => suspended(loaded, suspend, events, warnings),
        Command::SuspendByRecord(_) => {
            let mut view = crate::reads::intent_view(rows.reads(), &loaded.row)?;
            if let Some(Value::Object(shown)) = view.state.get_mut(SUSPENSION_KEY)
                && !warnings.is_empty()
            {
                shown.insert("warnings".to_owned(), warnings.into());
            }
            Ok(Outcome::Intent(Box::new(view)))
        }
        Command::Respond(respond) => answered(rows, loaded, respond, events.first(), now),
        Command::Stop(stop) => super::stops::shown(loaded, stop.names_suspension()),
        Command::Hand(hand) => super::hands::shown(rows, loaded, hand.suspension_id),
        Command::Cancel { suspension_id, .. } | Command::Extend { suspension_id, .. } | Command::Remind { suspension_id, .. } => {
            let row = loaded.suspension_row(*suspension_id)?;
            let question = rows.reads().question(row)?;
            let suspension = loaded.intent.suspension(*suspension_id).unwrap_or(&row.suspension);
            let suspension = as_it_counts(rows.reads(), suspension, &question)?;
            let record = Box::new(beside(rows.reads(), row, SuspensionRecord::of(&suspension, &question))?);
            Ok(Outcome::Suspension { version: record.version, record })
        }
        Command::AcquireLease { .. } | Command::RenewLease { .. } | Command::ReleaseLease { .. } => match events.first() {
            Some(Event::LeaseAcquired(lease) | Event::LeaseRenewed(lease) | Event::LeaseReleased(lease)) => {
                Ok(Outcome::Lease(lease.clone()))
            }
            _ => Err(RowsError::Inconsistent("a lease without its event")),
        },
        Command::Task(task) => Ok(Outcome::Task(Box::new(super::tasks::shown(rows, loaded, task)?))),
        Command::Coordinate(_) => super::coordinators::shown(rows, loaded),
        Command::Plan(plan) => Ok(Outcome::Plan(Box::new(PlanView { warnings, ..super::plans::shown(rows, loaded, plan.id)? }))),
        Command::Record(_) if events.len() > 1 => first_of(rows, loaded, events),
        Command::Append(_) | Command::Record(_) => {
            let appended = last.ok_or(RowsError::Inconsistent("an append without its event"))?;
            Ok(Outcome::Event(appended.served()))
        }
        Command::Assign(assigned) => {
            let rid = rows.reads().assigning_event(loaded.row.rid, &assigned.agent_id)?;
            let rid = rid.ok_or(RowsError::Inconsistent("an agent was assigned without an event"))?;
            Ok(Outcome::Event(rows.reads().event(rid)?.served()))
        }
        Command::Access(change) => Ok(Outcome::Access(Box::new(access(rows, loaded, change, last)?))),
        Command::Join(join) => {
            let place = loaded.intent.portfolio.as_ref().and_then(|joined| joined.membership);
            let place = place.ok_or(RowsError::Inconsistent("an intent was put into a portfolio and has no place there"))?;
            Ok(Outcome::Membership(MembershipView::of(join.portfolio_id, loaded.intent.id, &place)))
        }
        Command::Leave(_) | Command::Unassign { .. } => {
            let taken_off = last.ok_or(RowsError::Inconsistent("something was taken off an intent without an event"))?;
            Ok(Outcome::Event(taken_off.served()))
        }
        Command::PatchState { .. }
        | Command::SetStatus { .. }
        | Command::AnnouncementDue
        | Command::RetryDue { .. }
        | Command::AddDependency(_)
        | Command::RemoveDependency(_)
        | Command::DependencyCompleted(_)
        | Command::Govern(_)
        | Command::DeadlineReached { .. }
        | Command::AttemptDue { .. }
        | Command::RecordDelivery(_)
        | Command::Redrive(_) => Ok(Outcome::Intent(Box::new(crate::reads::intent_view(rows.reads(), &loaded.row)?))),
    }
}

/// The outcome of an answer, whose first event this is.
fn answered<R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    respond: &Respond,
    first: Option<&Event>,
    now: DateTime<Utc>,
) -> RowsResult<Outcome> {
    match first {
        Some(Event::AnsweredUnasked(answer)) => Ok(answered_unasked(loaded, answer, now)),
        Some(Event::AnswerCounted(counted)) => counting(loaded, respond, (Some(counted.tally), counted.answer.evidence), now),
        Some(Event::AnswerTakenBack(_)) => taken_back(rows, loaded, respond),
        None => counting(loaded, respond, (None, recorded(rows, loaded, respond)?), now),
        Some(Event::Resumed(resumed)) => {
            let ended = loaded.intent.suspension(resumed.suspension_id);
            let ended = ended.ok_or(RowsError::Inconsistent("an answer ended nothing"))?;
            responded(ended, resumed.evidence, resumed.action.clone(), loaded.intent.version)
        }
        _ => Err(RowsError::Inconsistent("an accepted answer without its event")),
    }
}

/// The first one of these events, which are the last ones in the log of the intent.
fn first_of<R: Rows>(rows: &mut R, loaded: &Loaded, events: &[Event]) -> RowsResult<Outcome> {
    let mut rid = loaded.row.last_event;
    for _ in 1..events.len() {
        let previous = rows.reads().event_link(rid)?.previous;
        rid = previous.ok_or(RowsError::Inconsistent("the log of an intent is shorter than the events that were appended"))?;
    }
    Ok(Outcome::Event(rows.reads().event(rid)?.served()))
}

const UNREADABLE: RowsError =
    RowsError::Inconsistent("an event about access is missing or not in the form in which it was written");

/// The request for access that the event in this row made.
fn requested<R: Rows>(rows: &mut R, event: i64) -> RowsResult<AccessRequestView> {
    let event = serde_json::from_str(&rows.reads().event(event)?.served())?;
    AccessRequestView::of(event).ok_or(UNREADABLE)
}

/// The reply to a change of the access to an intent: it shows only the part of the access that the change was about.
fn access<R: Rows>(rows: &mut R, loaded: &Loaded, change: &ChangeAccess, last: Option<Sealed>) -> RowsResult<AccessView> {
    Ok(match change {
        ChangeAccess::Set(_) => AccessView::Acl(crate::reads::acl_view(rows.reads(), &loaded.row, &loaded.intent.entries)?),
        ChangeAccess::Grant(grant) => {
            let granted = crate::reads::acl_view(rows.reads(), &loaded.row, &loaded.intent.entries)?;
            let entry = granted.entries.into_iter().find(|entry| entry.id == grant.id.to_string());
            AccessView::Entry(entry.ok_or(UNREADABLE)?)
        }
        ChangeAccess::Revoke(_) => AccessView::Revoked,
        ChangeAccess::Request(request) => {
            let by = loaded.writer.as_deref().unwrap_or_default();
            let is_it = |open: &OpenRequest| open.principal_id == request.principal_id && is_same(&open.requested_by.name, by);
            let open = rows.reads().access_requests(loaded.row.rid)?;
            let open = open.into_iter().find(|row| is_it(&row.request)).ok_or(UNREADABLE)?;
            AccessView::Request(requested(rows, open.event)?)
        }
        ChangeAccess::Decide { request_id, .. } => {
            let row = loaded.requests.iter().find(|row| row.request.id == *request_id).ok_or(UNREADABLE)?;
            let decision = serde_json::from_str(&last.ok_or(UNREADABLE)?.served())?;
            AccessView::Request(requested(rows, row.event)?.decided(&decision).ok_or(UNREADABLE)?)
        }
    })
}

/// The reply to a question that was asked.
fn suspended(loaded: &Loaded, suspend: &Suspend, events: &[Event], warnings: Vec<String>) -> RowsResult<Outcome> {
    let suspension = loaded.intent.opened(suspend.id);
    let suspension = suspension.ok_or(RowsError::Inconsistent("a suspend left no suspension open"))?;
    let record = Box::new(SuspensionRecord { warnings, ..SuspensionRecord::of(suspension, asked(events, suspend)) });
    Ok(Outcome::Suspension { record, version: loaded.intent.version })
}

/// The question as it was asked.
fn asked<'a>(events: &'a [Event], suspend: &'a Suspend) -> &'a Question {
    let asked = events.iter().find_map(|event| if let Event::Suspended(_, question) = event { Some(&**question) } else { None });
    asked.unwrap_or(&suspend.question)
}

/// The response to an accepted answer.
fn responded(
    ended: &Suspension,
    evidence: Option<Evidence>,
    proposal: Option<Map<String, Value>>,
    version: u32,
) -> RowsResult<Outcome> {
    let ending = ended.ending.as_ref().ok_or(RowsError::Inconsistent("an answer left its suspension open"))?;
    let value = ending.response.clone().unwrap_or_default();
    let choice = ended.choice(&value);
    let response = RespondResponse {
        intent_id: ended.intent_id,
        suspension_id: ended.id,
        resolution: Some(ending.resolution),
        approvals: None,
        choice_label: choice.map(|choice| choice.label.clone()),
        choice_description: choice.and_then(|choice| choice.description.clone()),
        responded_by: ending.by.clone().unwrap_or_default(),
        responded_at: ending.at,
        value,
        proposal,
        evidence,
    };
    Ok(Outcome::Responded { response: Box::new(response), version })
}

/// The hashes of the answer that the person has given before, as its event has them: the page may show more by now.
fn recorded<R: Rows>(rows: &mut R, loaded: &Loaded, respond: &Respond) -> RowsResult<Option<Evidence>> {
    let named = SuspensionId::parse(&respond.suspension_id).ok_or(RowsError::Inconsistent("an answer to no question"))?;
    let person = respond.answerer.as_ref().map(|answerer| &answerer.address);
    let answers = rows.reads().answers(loaded.suspension_row(named)?.rid)?;
    let answer = answers.iter().find(|answer| Some(&answer.person) == person);
    let answer = answer.ok_or(RowsError::Inconsistent("an answer without its event"))?;
    let event = rows.reads().event(answer.event)?;
    let counted: AnswerCounted = EventBytes(&event.bytes).read()?;
    Ok(counted.evidence)
}

/// The response to an answer that counts, while more people must agree. Without a tally, the person has given this answer before.
fn counting(
    loaded: &Loaded,
    respond: &Respond,
    (tally, evidence): (Option<Tally>, Option<Evidence>),
    now: DateTime<Utc>,
) -> RowsResult<Outcome> {
    let named = SuspensionId::parse(&respond.suspension_id);
    let open = named.and_then(|id| loaded.intent.opened(id)).ok_or(RowsError::Inconsistent("an answer to no question"))?;
    let quorum = open.quorum.as_ref().ok_or(RowsError::Inconsistent("an answer without its event"))?;
    let value = respond.value.clone().unwrap_or_default();
    let person = respond.answerer.as_ref().map(|answerer| answerer.address.clone()).unwrap_or_default();
    let own = open.counted.iter().find(|counted| counted.person == person);
    let choice = open.choice(&value);
    let response = RespondResponse {
        intent_id: open.intent_id,
        suspension_id: open.id,
        resolution: None,
        approvals: Some(tally.unwrap_or_else(|| quorum.so_far(&open.counted, &value, own.and_then(|own| own.action.as_ref())))),
        choice_label: choice.map(|choice| choice.label.clone()),
        choice_description: choice.and_then(|choice| choice.description.clone()),
        responded_by: person,
        responded_at: own.map_or(now, |own| own.at),
        value,
        proposal: own.and_then(|own| own.action.clone()),
        evidence,
    };
    Ok(Outcome::Responded { response: Box::new(response), version: loaded.intent.version })
}

/// The question after a person took an answer back.
fn taken_back<R: Rows>(rows: &mut R, loaded: &Loaded, respond: &Respond) -> RowsResult<Outcome> {
    let named = SuspensionId::parse(&respond.suspension_id);
    let open = named.and_then(|id| loaded.intent.opened(id)).ok_or(RowsError::Inconsistent("an answer to no question"))?;
    let question = rows.reads().question(loaded.suspension_row(open.id)?)?;
    let open = as_it_counts(rows.reads(), open, &question)?;
    let record = Box::new(SuspensionRecord::of(&open, &question));
    Ok(Outcome::Suspension { version: record.version, record })
}

/// The response to an answer that came before its question.
fn answered_unasked(loaded: &Loaded, answer: &UnaskedAnswer, now: DateTime<Utc>) -> Outcome {
    let response = RespondResponse {
        intent_id: loaded.intent.id,
        suspension_id: answer.id,
        resolution: Some(Resolution::Responded),
        approvals: None,
        value: answer.value.clone(),
        choice_label: None,
        choice_description: None,
        responded_by: answer.responded_by.clone(),
        responded_at: now,
        proposal: None,
        evidence: None,
    };
    Outcome::Responded { response: Box::new(response), version: loaded.intent.version }
}

/// The value stored under an idempotency key. Keys are random, so new rows are scattered over all pages of the table. The
/// smaller the rows are, the fewer pages there are, and the more often two new rows are written to the same page.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    /// An accepted answer: the row of the suspension it ended, and the version of the intent after it. That row
    /// and the event that ended it hold everything else in the response.
    Answered(i64, u32),
    #[serde(untagged)]
    Whole(Outcome),
}

/// The form in which an outcome is stored under its key.
pub(super) fn kept(loaded: &Loaded, outcome: &Outcome) -> RowsResult<String> {
    Ok(match outcome {
        Outcome::Responded { response, version }
            if response.resolution.is_some() && loaded.intent.suspension(response.suspension_id).is_some() =>
        {
            serde_json::to_string(&Kept::Answered(loaded.suspension_row(response.suspension_id)?.rid, *version))?
        }
        whole @ (Outcome::Responded { .. }
        | Outcome::Intent(_)
        | Outcome::Suspension { .. }
        | Outcome::Event(_)
        | Outcome::Lease(_)
        | Outcome::Access(_)
        | Outcome::Portfolio(_)
        | Outcome::Membership(_)
        | Outcome::Task(_)
        | Outcome::Plan(_)
        | Outcome::Coordinator(_)
        | Outcome::Stop(_)
        | Outcome::Subscription(_)) => serde_json::to_string(whole)?,
    })
}

/// The outcome that was stored in this form.
pub(super) fn recalled<R: Rows>(rows: &mut R, kept: &str) -> RowsResult<Outcome> {
    match serde_json::from_str(kept)? {
        Kept::Answered(suspension, version) => {
            let row = rows.reads().suspension_at(suspension)?;
            let answer = rows.reads().answer(&row)?.map(|(answer, _)| answer);
            let evidence = answer.as_ref().and_then(|answer| answer.evidence);
            responded(&row.suspension, evidence, answer.and_then(|answer| answer.proposal), version)
        }
        Kept::Whole(outcome) => Ok(outcome),
    }
}

/// The outcome that an earlier write with this key stored.
pub(super) fn kept_under<R: Rows>(rows: &mut R, key: Idempotency, now: DateTime<Utc>) -> Decided<Option<String>> {
    let Some((body_hash, outcome)) = rows.reads().idempotent(&key.key_hash, now)? else { return Ok(Ok(None)) };
    if body_hash != key.body_hash {
        return Ok(Err(Rejection::IdempotencyMismatch));
    }
    Ok(Ok(Some(outcome)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that an older version of this program stored under a key is still read. It counts for a day, in which a repeated
    /// request must neither act again nor fail.
    #[test]
    fn what_is_kept_is_read_in_the_old_form_and_the_new() {
        let response = r#"{"intent_id":"01a20114-994c-7e8e-b24b-975054fd6315","suspension_id":"01a20114-a165-7f85-b76e-9324e67a4166",
            "resolution":"responded","value":"approve","choice_label":"Approve","responded_by":"ada","responded_at":"2026-11-22T02:27:38.984569"}"#;
        let old = format!(r#"{{"responded":{{"response":{response},"version":3}}}}"#);
        let Kept::Whole(outcome @ Outcome::Responded { version: 3, .. }) = serde_json::from_str(&old).unwrap() else {
            panic!("the old form is not read")
        };
        assert_eq!(serde_json::to_string(&Kept::Whole(outcome.clone())).unwrap(), serde_json::to_string(&outcome).unwrap());
        let new = serde_json::to_string(&Kept::Answered(7, 3)).unwrap();
        assert_eq!(new, r#"{"answered":[7,3]}"#);
        assert!(matches!(serde_json::from_str(&new).unwrap(), Kept::Answered(7, 3)));
    }

    /// A stop that was stored while the events of a trigger stood beside its provider is read like one of the present form.
    #[test]
    fn a_stop_that_was_kept_with_its_events_beside_the_provider_is_read() {
        let kept = |events: &str| {
            let text = format!(
                r#"{{"stop":{{"id":"01a20114-a165-7f85-b76e-9324e67a4166","intent_id":"01a20114-994c-7e8e-b24b-975054fd6315",
                "kind":"parked","version":1,"stage":"suspended","mode":null,"reason":"r","initiator":"self","initiated_by":"bot",
                "suspended_at":"2026-11-24T08:00:00.000000Z","conditions":{{"trigger":{{"kind":"k","provider":"placet",{events}}}}},
                "resolution":null,"cause":null,"continue_transcript":null,"resolved_at":null,"resolved_by":null}}}}"#
            );
            let Kept::Whole(Outcome::Stop(record)) = serde_json::from_str(&text).unwrap() else {
                panic!("it is not read as a stop")
            };
            record
        };
        let old = kept(r#""events":["go"]"#);
        assert_eq!(old, kept(r#""match":{"events":["go"]}"#));
        assert_eq!(old.conditions.unwrap().trigger.unwrap().events, ["go"]);
    }

    /// An intent that was stored under a key by a version without dependencies between intents is still read, although it has no
    /// `blocked_by` and no `blocked_reason`.
    #[test]
    fn an_intent_that_was_kept_before_it_could_wait_is_read() {
        let old = r#"{"intent":{"id":"01a20114-994c-7e8e-b24b-975054fd6315","title":"t","description":"","created_by":"bot",
            "parent_intent_id":null,"parent_id":null,"depends_on":[],"constraints":{},"state":{},"status":"draft","confidence":0.0,"version":1,
            "governance_policy":null,"created_at":"2026-11-22T02:27:38.984569","updated_at":"2026-11-22T02:27:38.984569"}}"#;
        let Kept::Whole(Outcome::Intent(intent)) = serde_json::from_str(old).unwrap() else { panic!("the old form is not read") };
        assert!(intent.blocked_by.is_empty() && intent.blocked_reason.is_none());
    }
}
