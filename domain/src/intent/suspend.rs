//! Asks a question, or makes a request beside the intent: the one place for every way to ask.

use chrono::{DateTime, Utc};

use crate::base::ids::SuspensionId;
use crate::base::name::{is_same, is_same_in_any_case};
use crate::base::time::seconds;
use crate::intent::Intent;
use crate::intent::announcement::LEFT_SECONDS_MIN;
use crate::intent::announcing::taken_back;
use crate::intent::changing::changed;
use crate::intent::command::{ByRecord, Suspend};
use crate::intent::event::Event;
use crate::intent::refusal::{Refusal, expired, why_refused, withdrawn};
use crate::intent::status::Status;
use crate::intent::{plans, portfolios};
use crate::people::principal::Principal;
use crate::problem::Rejection;
use crate::suspension::grounds::Grounds;
use crate::suspension::hands::Hands;
use crate::suspension::requested::REQUESTS_OPEN_MAX;
use crate::suspension::{Asker, FallbackPolicy, Question, ResolutionReason, Suspension};

pub(super) fn suspend(intent: &Intent, suspend: &Suspend, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let mut events = Vec::with_capacity(2);
    events.extend(makes_room(intent, suspend, by, now)?);
    if suspend.kind.stops_intent() {
        undoes_nothing(intent, suspend)?;
    }
    let expires_at = suspend.expires_at(since(intent, suspend, now));
    if suspend.guard_seconds.is_some() && expires_at.is_some_and(|at| at < now + seconds(LEFT_SECONDS_MIN)) {
        let message = format!("would leave people less than {LEFT_SECONDS_MIN} seconds");
        return Err(Rejection::invalid("timeout_seconds", "min", message).into());
    }
    let suspension = Suspension {
        id: suspend.id,
        intent_id: intent.id,
        kind: suspend.kind,
        version: 1,
        attempt: 1,
        response_type: suspend.response_type,
        choices: suspend.choices.clone(),
        suspended_at: now,
        expires_at,
        fallback_policy: suspend.fallback_policy,
        fallback_value: suspend.fallback_value.clone(),
        // No person is reached yet. If the question is sent to no one, this stays false. Then no fallback applies if
        // `requires_delivery` is set.
        reached: false,
        requires_delivery: suspend.requires_delivery,
        fixed_deadline: suspend.guard_seconds.is_some(),
        refusals: 0,
        reminded_at: None,
        asked_by: Asker { name: by.name.clone(), owner: by.owner.clone() },
        quorum: suspend.quorum.clone(),
        schema: suspend.schema.clone(),
        counted: Vec::new(),
        hands: Hands::default(),
        ending: None,
        portfolio_deadline: intent.portfolio_deadline().filter(|_| suspend.kind.stops_intent()),
    };
    let mut question = escalating(intent, suspend, by);
    if let Some(requested) = &mut question.requested {
        requested.intent_version = intent.version;
    }
    let escalated = escalated(suspend.id, &question, 1);
    events.push(Event::Suspended(Box::new(suspension), Box::new(question)));
    events.extend(escalated);
    if suspend.kind.stops_intent() && intent.status != Status::SuspendedAwaitingInput {
        events.push(changed(intent, Status::SuspendedAwaitingInput, Some("suspended".into())));
    }
    Ok(events)
}

/// The question as it is asked: if the coordinator's policy is to escalate, its supervisor is asked at every attempt as well.
fn escalating(intent: &Intent, suspend: &Suspend, by: &Principal) -> Question {
    let mut question = suspend.question.clone();
    // The supervisor of a coordinator may not be among the assignees, and only people who may answer are asked.
    let live = intent.directed_by().filter(|_| suspend.kind.stops_intent() && question.assignees.is_none());
    let more = live.map(|live| live.escalates_for(by)).unwrap_or_default();
    let add = |people: &mut Vec<String>| {
        for person in more {
            if !people.iter().any(|other| other.eq_ignore_ascii_case(person)) {
                people.push(person.clone());
            }
        }
    };
    add(&mut question.recipients);
    for rung in question.retry_policy.iter_mut().flat_map(|policy| &mut policy.escalation_ladder) {
        if let Some(people) = rung.notify_to.as_mut().filter(|people| !people.0.is_empty()) {
            add(&mut people.0);
        }
    }
    question
}

/// The moment from which a question's window counts. If the client applies the deadline by its own clock, this is the moment of
/// the announcement, because the client starts to count shortly before it announces. If the server's clock was set back since the
/// announcement, it is `now`.
fn since(intent: &Intent, suspend: &Suspend, now: DateTime<Utc>) -> DateTime<Utc> {
    let announced = intent.announcement.as_ref().filter(|_| suspend.guard_seconds.is_some() && suspend.kind.stops_intent());
    announced.map_or(now, |announced| announced.at.min(now))
}

/// Refuses a question for which the intent cannot wait, and withdraws the open question that the new one supersedes.
fn makes_room(intent: &Intent, suspend: &Suspend, by: &Principal, now: DateTime<Utc>) -> Result<Option<Event>, Refusal> {
    let not_active = || Rejection::NotActive { status: intent.status.as_str().into() }.into();
    if !suspend.kind.stops_intent() {
        if matches!(intent.status, Status::Completed | Status::Abandoned) {
            return Err(not_active());
        }
        if intent.beside.len() >= REQUESTS_OPEN_MAX {
            let message = format!("at most {REQUESTS_OPEN_MAX} requests are open beside one intent; wait for an answer first");
            return Err(Rejection::invalid("intent_id", "count", message).into());
        }
        return Ok(None);
    }
    let announced = intent.announcement.as_ref().is_some_and(|announced| announced.is_by(by));
    match (&intent.open, suspend.supersedes.as_deref()) {
        (Some(open), Some(named)) => supersede(intent, open, suspend, named, by, now),
        (None, Some(named)) => Err(why_refused(intent, named).into()),
        (Some(_), None) => Err(not_active()),
        (None, None) if intent.status != Status::Active && !announced => Err(not_active()),
        (None, None) => Ok(portfolios::may_suspend(intent, now).map(|()| None)?),
    }
}

/// Refuses a fallback if people have answered an earlier question of this intent that ended, or ends now, without their answer: silence on
/// the new question could undo what they have said.
fn undoes_nothing(intent: &Intent, suspend: &Suspend) -> Result<(), Rejection> {
    let is_answered = intent.open.as_ref().is_some_and(|open| !open.counted.is_empty());
    let before = suspend.question.asked_before.as_ref().is_some_and(|before| before.answered);
    if (is_answered || before) && suspend.fallback_policy != FallbackPolicy::Fail {
        let message = "must be fail: people have answered a question of this intent that ended without their answer, and a fallback could undo it";
        return Err(Rejection::invalid("fallback_policy", "answered", message));
    }
    Ok(())
}

fn supersede(
    intent: &Intent,
    open: &Suspension,
    suspend: &Suspend,
    named: &str,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Option<Event>, Refusal> {
    if SuspensionId::parse(named) != Some(open.id) {
        return Err(why_refused(intent, named).into());
    }
    // A question whose time has passed is decided by its deadline, not by its asker.
    if open.is_expired(now) {
        return Err(expired(intent, open));
    }
    plans::may_take_back(intent, open.id, by)?;
    // If the new deadline is fixed, the server cannot move it to the later one that people were told.
    if suspend.guard_seconds.is_some() && ends_earlier(suspend.expires_at(now), open) {
        return Err(Rejection::EndsEarlier.into());
    }
    Ok(Some(withdrawn(open, ResolutionReason::Superseded, None, by)))
}

/// Whether a question with this deadline would end before the open one. That must not happen, because people have been told the
/// later deadline.
fn ends_earlier(expires_at: Option<DateTime<Utc>>, open: &Suspension) -> bool {
    expires_at.is_some_and(|at| open.expires_at.is_none_or(|before| at < before))
}

/// The event of the rung (a step of the escalation ladder) that takes effect at `attempt`, if there is one.
pub(super) fn escalated(suspension_id: SuspensionId, question: &Question, attempt: u32) -> Option<Event> {
    let rung = question.retry_policy.as_ref()?.rung_at(attempt)?;
    Some(Event::SuspensionEscalated {
        suspension_id,
        attempt,
        escalated_to: question.recipients_at(attempt).to_vec(),
        channel_hint: rung.channel_hint.clone(),
    })
}

/// Asks the question in a record. If the same question of this agent is open already, it is adopted: it goes on, and gets the
/// record's id as well. If a different question is open, the new one supersedes it. If the record is refused, the announcement
/// is taken back.
pub(super) fn suspend_by_record(
    intent: &Intent,
    record: &ByRecord,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    decided(intent, record, by, now).map_err(|mut refusal| {
        if let Some(announced) = intent.announcement.as_ref().filter(|announced| announced.is_by(by)) {
            refusal.deadline.push(taken_back(intent, announced, "record_refused"));
        }
        refusal
    })
}

fn decided(intent: &Intent, record: &ByRecord, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    if record.is_used {
        return Err(Rejection::RecordIdUsed.into());
    }
    let asked = record.asked.as_ref().map_err(|errors| Rejection::Invalid { errors: errors.clone() })?;
    match (&intent.open, &intent.announcement) {
        (Some(open), _) if !is_same(&open.asked_by.name, &by.name) => Err(Rejection::others_question().into()),
        (Some(open), _) if open.is_expired(now) => Err(expired(intent, open)),
        (Some(open), _) if ends_earlier(asked.expires_at(now), open) => Err(Rejection::EndsEarlier.into()),
        (Some(open), _) if is_adopted(intent, open, record.open.as_deref(), asked, by) => {
            Ok(vec![Event::Adopted { suspension_id: open.id, client_id: record.client_id.clone() }])
        }
        (Some(open), _) => {
            let anew = Suspend { supersedes: Some(open.id.expose()), ..(**asked).clone() };
            suspend(intent, &anew, by, now)
        }
        (None, Some(announced)) if announced.is_by(by) && !announced.is_over(now) => suspend(intent, asked, by, now),
        (None, Some(_) | None) => Err(Rejection::NotAnnounced.into()),
    }
}

/// Whether the agent asks its open question again, for example after a restart: then people are not asked twice. The two
/// questions must be equal, apart from their deadlines: the client never compares ids, so it would take an answer to a different
/// question for the answer to this one. If a key of another owner asks, the question is asked anew, so that this
/// owner may not answer it either.
fn is_adopted(intent: &Intent, open: &Suspension, text: Option<&Question>, asked: &Suspend, by: &Principal) -> bool {
    let wanted = escalating(intent, asked, by);
    let is_same_text = |text: &Question| {
        text.question == asked.question.question
            && text.context == asked.question.context
            && text.recipients == wanted.recipients
            && text.retry_policy == wanted.retry_policy
            && text.channel_hint == asked.question.channel_hint
            && text.required_assurance == asked.question.required_assurance
            && text.assignees == asked.question.assignees
            && text.risk == asked.question.risk
            && text.separation == asked.question.separation
            && text.comment_on_refusal == asked.question.comment_on_refusal
            && text.proposal == asked.question.proposal
            && Grounds::are_same(text.grounds.as_deref(), asked.question.grounds.as_deref())
            && text.decision_record == asked.question.decision_record
            && text.confidence_at_suspension == asked.question.confidence_at_suspension
    };
    open.fixed_deadline
        && is_same_in_any_case(open.asked_by.owner.as_str(), by.owner.as_str())
        && open.kind == asked.kind
        && open.response_type == asked.response_type
        && open.choices == asked.choices
        && open.fallback_policy == asked.fallback_policy
        && open.fallback_value == asked.fallback_value
        && open.quorum == asked.quorum
        && open.schema == asked.schema
        && text.is_some_and(is_same_text)
}
