//! Announces a question, and takes an announcement back.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::base::field::UNSUPPORTED;
use crate::base::ids::SuspensionId;
use crate::base::name::is_same;
use crate::intent::Intent;
use crate::intent::announcement::Announcement;
use crate::intent::changing::changed;
use crate::intent::command::Respond;
use crate::intent::event::{Event, UnaskedAnswer};
use crate::intent::portfolios;
use crate::intent::refusal::{Refusal, names_a_person};
use crate::intent::status::Status;
use crate::people::principal::Principal;
use crate::problem::Rejection;
use crate::suspension::Asker;
use crate::suspension::proposal::PROPOSAL;

/// Announces a question. Nothing changes if the agent has announced one already, or if its question is open.
pub(super) fn announce(intent: &Intent, id: SuspensionId, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let asker = intent.open.as_ref().map(|open| &open.asked_by).or(intent.announcement.as_ref().map(|announced| &announced.by));
    if let Some(asker) = asker {
        let is_own = is_same(&asker.name, &by.name);
        return if is_own { Ok(Vec::new()) } else { Err(Rejection::others_question().into()) };
    }
    if !matches!(intent.status, Status::Draft | Status::Active) {
        return Err(Rejection::NotActive { status: intent.status.as_str().into() }.into());
    }
    portfolios::may_suspend(intent, now)?;
    let by = Asker { name: by.name.clone(), owner: by.owner.clone() };
    let new = Status::SuspendedAwaitingInput;
    Ok(vec![
        Event::Announced(Box::new(Announcement { id, from: intent.status, at: now, by })),
        changed(intent, new, Some("announced".into())),
    ])
}

/// The event that gives the intent back the status that it had before the announcement of a question that did not come.
pub(super) fn taken_back(intent: &Intent, announced: &Announcement, reason: &str) -> Event {
    changed(intent, announced.from, Some(reason.into()))
}

/// Takes the announcement back if its time is over.
pub(super) fn lapse(intent: &Intent, now: DateTime<Utc>) -> Vec<Event> {
    let announced = intent.announcement.as_ref().filter(|announced| announced.is_over(now));
    announced.map(|announced| taken_back(intent, announced, "no_record")).into_iter().collect()
}

/// Records an answer to an announced question that has not come. The value never becomes the answer to a later question.
pub(super) fn answer(
    intent: &Intent,
    announced: &Announcement,
    respond: &Respond,
    responded_by: String,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    if let Some(over) = intent.portfolio_deadline().filter(|deadline| deadline.at <= now) {
        let deadline = vec![taken_back(intent, announced, "portfolio_deadline")];
        return Err(Refusal { rejection: Rejection::Expired { expired_at: Some(over.at) }, deadline, record: None });
    }
    names_a_person(respond, by)?;
    let Some(value) = respond.value.clone().filter(|value| *value != Value::Null) else {
        return Err(Rejection::invalid("value", "required", "value is required").into());
    };
    if respond.named.action.is_some() {
        let message = "must be left out: the question has not come, so it proposes no action that could be edited";
        return Err(Rejection::invalid(PROPOSAL, UNSUPPORTED, message).into());
    }
    let unasked = UnaskedAnswer { id: announced.id, value, responded_by, role: by.role, credential: by.credential };
    Ok(vec![Event::AnsweredUnasked(Box::new(unasked)), changed(intent, Status::Active, Some("answered_unasked".into()))])
}
