//! Stops the work of an intent, and lets it go on, for callers of other protocols: they name the intent, and get it back as a matter.
//!
//! Guarantee: these callers have the same rights and get the same refusals as callers of the API. Mechanism: each unit gives the command
//! that the API gives. Failure: none of its own.

use domain::asking::errands::{Said, Words};
use domain::asking::stopping;
use domain::base::ids::{IntentId, SuspensionId};
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::errand::Via;
use domain::wire::ResumeRequest;
use uuid::Uuid;

use super::errands::say;
use super::execute::execute_on;
use crate::matter::{Halted, Matter, NewMessage, matter_halted};
use crate::request::{Outcome, Request, Target, Unreadable};
use crate::rows::prelude::*;
use crate::rows::{Decided, IntentRow, RowsError, RowsResult};
use crate::stopped::open_stop;
use crate::surroundings::Env;

pub(crate) fn halt<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    (principal, id): (&Principal, IntentId),
    command: &Result<Command, Unreadable>,
) -> Decided<Halted> {
    let Some(row) = rows.reads().intent(id)? else { return Ok(Err(Rejection::NotFound)) };
    commanded(rows, env, (principal, row), command.clone())
}

/// Gives a command about the stop of an intent.
fn commanded<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    (principal, row): (&Principal, IntentRow),
    command: Result<Command, Unreadable>,
) -> Decided<Halted> {
    let id = row.intent.id;
    let request = Request::plain(principal.clone(), Target::Intent(id), command);
    let stop = match execute_on(rows, env, row, &request)? {
        Ok(Outcome::Stop(stop)) => *stop,
        Ok(_) => return Err(RowsError::Inconsistent("a command about a stop has another outcome")),
        Err(rejection) => return Ok(Err(rejection)),
    };
    let matter = matter_halted(rows.reads(), principal, id, (env.clock.now(), env.watch))?;
    Ok(matter.map(|matter| {
        let changed_at = stop.resolved_at.map_or(matter.changed_at, |at| at.max(matter.changed_at));
        Halted { matter: Matter { changed_at, ..matter }, stop: Some(stop) }
    }))
}

pub(crate) fn go_on<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    (principal, id): (&Principal, IntentId),
    resume: &ResumeRequest,
    via: Via,
) -> Decided<Halted> {
    let Some(row) = rows.reads().intent(id)? else { return Ok(Err(Rejection::NotFound)) };
    let named = resume.handle.as_deref().and_then(SuspensionId::parse);
    let stopped = stopped(rows, &row)?;
    let input = resume.input.as_ref().filter(|input| !input.is_null());
    if let Some(input) = input.filter(|_| stopped.is_none())
        && (row.open_suspension.is_some() || has_asked(rows, &row, named)?)
    {
        let said = Said { suspension_id: resume.handle.clone(), ..Said::words(Words::Value(input.clone()), via) };
        let message = NewMessage {
            said: Ok(said),
            message_id: String::new(),
            idempotency: None,
            messages: 0,
            push: None,
            only_answers: true,
        };
        let matter = say(rows, env, (principal, id), &message)?;
        return Ok(matter.map(|matter| Halted { matter, stop: None }));
    }
    // The domain says why nothing is resumed if the intent is not stopped; no stop has the id of zeros.
    let suspension_id = stopped.or(named).unwrap_or(SuspensionId(Uuid::nil()));
    let command = stopping::resuming(suspension_id, resume.clone(), env.clock.now());
    let command = command.map_err(|errors| Unreadable { action: Action::Resume, errors });
    commanded(rows, env, (principal, row), command)
}

/// Whether the named suspension is a question of the intent that has ended. An input is then an answer that comes too late, and is recorded as
/// one.
fn has_asked<R: Rows>(rows: &mut R, row: &IntentRow, named: Option<SuspensionId>) -> RowsResult<bool> {
    let Some(id) = named else { return Ok(false) };
    let found = rows.reads().suspension(id)?;
    Ok(found.is_some_and(|found| found.intent == row.rid && found.suspension.ending.is_some()))
}

/// The open stop of an intent.
fn stopped<R: Rows>(rows: &mut R, row: &IntentRow) -> RowsResult<Option<SuspensionId>> {
    Ok(open_stop(rows.reads(), row)?.map(|(stop, _)| stop.suspension.id))
}
