//! Questions of callers that have no intent of their own, and answers in words.
//!
//! Guarantee: an intent and its question are there together, or neither is. Mechanism: one transaction makes the intent, and asks by the
//! unit of work that every question goes through. Failure: if that unit refuses the question, the intent is undone as well.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use domain::asking::errands::{self, Said, Words};
use domain::base::field::FieldError;
use domain::base::ids::IntentId;
use domain::base::text::is_blank;
use domain::intent::command::{Command, Respond};
use domain::intent::decide::misunderstood;
use domain::intent::status::Status;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::ResponseType;
use domain::suspension::errand::Via;
use domain::suspension::stop_refusal::StopRefusal;

use super::create::begin;
use super::execute::{execute, execute_on, warned_before};
use super::loaded::load;
use super::log::append;
use super::{allowance, outcome::kept_under, pushes};
use crate::drafts::permitted;
use crate::matter::{Heard, Matter, NewErrand, NewMessage, context_of, matter_of};
use crate::reads;
use crate::request::{Idempotency, NewIntent, Outcome, Precondition, Request, Target, Unreadable};
use crate::rows::prelude::*;
use crate::rows::{Decided, IntentRow, RowsError, RowsResult};
use crate::stopped::open_stop;
use crate::surroundings::Env;

pub(crate) fn ask<R: Rows>(rows: &mut R, env: &Env<'_>, errand: &NewErrand) -> Decided<Matter> {
    let (principal, key) = (&errand.principal, errand.idempotency);
    if let Err(rejection) = authorize(principal, Action::CreateIntent, Object::Server) {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    // No outcome is kept under the key of a question; this read locks the key until the transaction ends.
    if let Err(rejection) = kept_under(rows, key, now)? {
        return Ok(Err(rejection));
    }
    if let Some((body_hash, suspension)) = rows.reads().suspension_key(&key.key_hash)? {
        if body_hash != key.body_hash {
            return Ok(Err(Rejection::IdempotencyMismatch));
        }
        let asked = rows.reads().suspension_at(suspension)?;
        let asked_for = rows.reads().intent_at(asked.intent)?.intent.id;
        let question = rows.reads().question(&asked)?;
        let warnings = errand.asked.as_ref().map(|suspend| warned_before(suspend, &asked.suspension, &question));
        let matter = matter_of(rows.reads(), principal, asked_for, (now, env.watch))?;
        return Ok(matter.map(|matter| Matter { warnings: warnings.unwrap_or_default(), ..matter }));
    }
    if let Err(rejection) = allowance::admit(rows, env, principal, Action::CreateIntent, None, now)? {
        return Ok(Err(rejection));
    }
    let suspend = match &errand.asked {
        Ok(suspend) => suspend.clone(),
        Err(errors) => return Ok(Err(Rejection::Invalid { errors: errors.clone() })),
    };
    let body = errands::body(&suspend, principal);
    let request = Request {
        principal: principal.clone(),
        target: Target::Intent(errand.id),
        precondition: Precondition::None,
        idempotency: Some(key),
        command: Ok(Command::Suspend(suspend)),
        trace_parent: errand.trace_parent,
    };
    // The intent may not stay without its question, nor the question without its endpoint.
    rows.whole_or_nothing(|rows| {
        begin(rows, env, principal, &NewIntent { id: errand.id, status: Status::Active, body }, (None, &[]), now)?;
        let warnings = match execute(rows, env, &request)? {
            Ok(Outcome::Suspension { record, .. }) => record.warnings,
            Ok(_) => return Err(RowsError::Inconsistent("a question has another outcome")),
            Err(rejection) => return Ok(Err(rejection)),
        };
        if let Some(push) = &errand.push
            && let Err(rejection) = pushes::create(rows, env, principal, push)?
        {
            return Ok(Err(rejection));
        }
        let matter = matter_of(rows.reads(), principal, errand.id, (now, env.watch))?;
        Ok(matter.map(|matter| Matter { warnings, ..matter }))
    })
}

/// Takes a message, with the endpoint that it brings along. Its sender must not be told of a refusal although it was heard.
pub(crate) fn hear<R: Rows>(rows: &mut R, env: &Env<'_>, by: (&Principal, IntentId), message: &NewMessage) -> Decided<Matter> {
    let Some(push) = &message.push else { return say(rows, env, by, message) };
    let heard = rows.whole_or_nothing(|rows| {
        let heard = say(rows, env, by, message)?;
        // A message that is refused may be recorded, and the record stays.
        let was_heard = heard.as_ref().is_ok_and(|matter| matter.heard != Heard::Withheld);
        let made = if was_heard { pushes::create(rows, env, by.0, push)?.map(drop) } else { Ok(()) };
        Ok(made.map(|()| heard))
    });
    Ok(heard?.flatten())
}

pub(crate) fn say<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    (principal, id): (&Principal, IntentId),
    message: &NewMessage,
) -> Decided<Matter> {
    let NewMessage { said, message_id, idempotency, only_answers, .. } = message;
    let idempotency = *idempotency;
    let now = env.clock.now();
    let row = match reads::readable(rows.reads(), principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if let Some(named) = said.as_ref().ok().and_then(|said| said.context_id.as_ref())
        && *named != context_of(rows.reads(), &row)?
    {
        return Ok(Err(Rejection::invalid("context_id", "mismatch", "must be that of the task, or be left out")));
    }
    if let Some(key) = idempotency {
        match kept_under(rows, key, now)? {
            Err(rejection) => return Ok(Err(rejection)),
            Ok(Some(_)) => return matter_of(rows.reads(), principal, id, (now, env.watch)),
            Ok(None) => {}
        }
    }
    let mut said = Cow::Borrowed(said);
    let named = said.as_ref().as_ref().is_ok_and(|said| said.suspension_id.is_some());
    if row.open_suspension.is_none() && !named {
        match unasked(rows, principal, &row, &said, now)? {
            Unasked::Late(late) => said = Cow::Owned(Ok(late)),
            Unasked::ForTheAgent(..) if *only_answers => {
                let matter = matter_of(rows.reads(), principal, id, (now, env.watch))?;
                return Ok(matter.map(|matter| Matter { heard: Heard::Withheld, ..matter }));
            }
            Unasked::ForTheAgent(text, via) => {
                let comment = Command::Append(errands::comment(&text, message_id, via));
                return tell(rows, env, (principal, row), comment, idempotency);
            }
            Unasked::Refused => return Ok(Err(hears_nothing(rows, &row)?)),
        }
    }
    let said = said.as_ref();
    let open = row.open_suspension.map(|rid| rows.reads().suspension_at(rid)).transpose()?;
    let open = open.map(|open| open.suspension);
    let command = said.clone().and_then(|said| errands::said(&said, open.as_ref()));
    let command = command.map(|respond| Command::Respond(Box::new(respond)));
    let command = command.map_err(|errors| Unreadable { action: Action::Respond, errors });
    let request = Request { idempotency, ..Request::plain(principal.clone(), Target::Intent(id), command) };
    let refused = execute_on(rows, env, row.clone(), &request)?.err();
    let is_misunderstood = match (&refused, said, &request.command) {
        (
            Some(rejection @ (Rejection::InvalidChoice { .. } | Rejection::Invalid { .. })),
            Ok(Said { words: words @ Words::Text(_), .. }),
            Ok(Command::Respond(respond)),
        ) if respond.value.is_none() => {
            let respond = Respond { value: Some(words.to_value()), ..(**respond).clone() };
            note(rows, env, row, (&respond, rejection, principal), now)?;
            true
        }
        (_, _, _) => false,
    };
    if let Some(rejection) = refused.filter(|_| !is_misunderstood) {
        return Ok(Err(rejection));
    }
    let matter = matter_of(rows.reads(), principal, id, (now, env.watch))?;
    let heard = if is_misunderstood { Heard::NotUnderstood } else { Heard::AsAnswer };
    Ok(matter.map(|matter| Matter { heard, ..matter }))
}

/// Words to an intent that asks nothing.
enum Unasked {
    /// They answer the question that has just ended.
    Late(Said),
    /// They are for the agent at work.
    ForTheAgent(String, Via),
    Refused,
}

/// Tells what words to an intent that asks nothing are. A text that would have been an answer is late: its sender must not believe that it
/// counted, nor may it reach the agent as if it were more than one answer.
fn unasked<R: Rows>(
    rows: &mut R,
    principal: &Principal,
    row: &IntentRow,
    said: &Result<Said, Vec<FieldError>>,
    now: DateTime<Utc>,
) -> RowsResult<Unasked> {
    let Ok(said) = said else { return Ok(Unasked::Refused) };
    if let Some(rid) = row.newest_suspension {
        let newest = rows.reads().suspension_at(rid)?;
        let asked = &newest.suspension;
        let is_choice = matches!(asked.response_type, ResponseType::Choice | ResponseType::Confirm);
        let answers = (is_choice || row.intent.is_errand) && asked.ending.is_some() && said.words.meant(asked).is_some();
        if answers {
            let question = rows.reads().question(&newest)?;
            if permitted(rows.reads(), principal, Action::Respond, (row, &newest, &question), now)?.is_ok() {
                return Ok(Unasked::Late(Said { suspension_id: Some(asked.id.expose()), ..said.clone() }));
            }
        }
    }
    let runs = matches!(row.intent.status, Status::Active | Status::Blocked) && !row.intent.is_errand;
    Ok(match &said.words {
        // An agent that is stopped is told of no new work.
        Words::Text(text) if runs && !is_blank(text) && open_stop(rows.reads(), row)?.is_none() => {
            Unasked::ForTheAgent(text.clone(), said.via)
        }
        Words::Text(_) | Words::Value(_) => Unasked::Refused,
    })
}

/// Why an intent that asks nothing takes no words.
fn hears_nothing<R: Rows>(rows: &mut R, row: &IntentRow) -> RowsResult<Rejection> {
    Ok(match open_stop(rows.reads(), row)? {
        Some((_, stop)) => StopRefusal::HearsNothing { kind: stop.suspension.kind }.into(),
        None => Rejection::NotActive { status: row.intent.status.as_str().into() },
    })
}

/// Tells the agent at work.
fn tell<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    (principal, row): (&Principal, IntentRow),
    comment: Command,
    idempotency: Option<Idempotency>,
) -> Decided<Matter> {
    let id = row.intent.id;
    let request = Request { idempotency, ..Request::plain(principal.clone(), Target::Intent(id), Ok(comment)) };
    match execute_on(rows, env, row, &request)? {
        Ok(_) => {
            let matter = matter_of(rows.reads(), principal, id, (env.clock.now(), env.watch))?;
            Ok(matter.map(|matter| Matter { heard: Heard::ByTheAgent, ..matter }))
        }
        Err(rejection) => Ok(Err(rejection)),
    }
}

/// Records words that are no answer to the question.
fn note<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: IntentRow,
    (respond, rejection, by): (&Respond, &Rejection, &Principal),
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let mut loaded = load(rows, row, None)?;
    if let Some(event) = misunderstood(&loaded.intent, respond, rejection, by) {
        append(rows, env, &mut loaded, &[event], &by.name, now)?;
    }
    Ok(())
}

pub(crate) fn call_off<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, id: IntentId) -> Decided<Matter> {
    let now = env.clock.now();
    let row = match reads::readable(rows.reads(), principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    // The work of an intent that is no errand is its agents' own; only a question could be withdrawn there, and work would go on.
    let Some(open) = row.open_suspension.filter(|_| row.intent.is_errand) else {
        let permitted = reads::may(rows.reads(), principal, Action::Cancel, &row, row.newest_suspension, now)?;
        let not_active = Rejection::NotActive { status: row.intent.status.as_str().into() };
        return Ok(permitted.and(Err(not_active)));
    };
    let suspension_id = rows.reads().suspension_at(open)?.suspension.id;
    let request =
        Request::plain(principal.clone(), Target::Suspension(suspension_id), Ok(Command::Cancel { suspension_id, reason: None }));
    match execute(rows, env, &request)? {
        Ok(_) => matter_of(rows.reads(), principal, id, (now, env.watch)),
        Err(rejection) => Ok(Err(rejection)),
    }
}
