//! A new intent.

use domain::intent::Intent;
use domain::intent::body::SUSPENSION_KEY;
use domain::intent::event::Event;
use domain::people::authority::{Action, Object, authorize};
use domain::problem::Rejection;
use domain::suspension::Asker;
use domain::wire::IntentView;

use super::allowance;
use super::loaded::Loaded;
use super::log::append;
use super::outcome::{kept_under, recalled};
use crate::reads;
use crate::request::{CreateIntent, Outcome};
use crate::rows::prelude::*;
use crate::rows::{Decided, IntentRow, Table};
use crate::surroundings::Env;

pub(crate) fn create<R: Rows>(rows: &mut R, env: &Env<'_>, request: &CreateIntent) -> Decided<Outcome> {
    let principal = &request.principal;
    if let Err(rejection) = authorize(principal, Action::CreateIntent, Object::Server) {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    if let Some(key) = request.idempotency {
        match kept_under(rows, key, now)? {
            Err(rejection) => return Ok(Err(rejection)),
            Ok(Some(kept)) => return Ok(Ok(recalled(rows, &kept)?)),
            Ok(None) => {}
        }
    }
    if let Err(rejection) = allowance::admit(rows, env, principal, Action::CreateIntent, None, now)? {
        return Ok(Err(rejection));
    }
    let new = match &request.intent {
        Ok(new) => new,
        Err(errors) => return Ok(Err(Rejection::Invalid { errors: errors.clone() })),
    };
    if let Some(parent) = new.body.parent_intent_id
        && reads::readable(rows.reads(), principal, parent, now)?.is_err()
    {
        return Ok(Err(Rejection::NotFound));
    }
    if new.body.state.contains_key(SUSPENSION_KEY) {
        return Ok(Err(Rejection::SuspensionIsServerOwned));
    }
    let creator = Asker { name: principal.name.clone(), owner: principal.owner.clone() };
    let intent = Intent::born(new.id, new.status, creator, now);
    let row = IntentRow {
        rid: rows.next(Table::Intents)?,
        intent: intent.clone(),
        open_suspension: None,
        newest_suspension: None,
        has_leases: false,
        last_event: 0,
        last_sequence: 0,
        last_hash: None,
    };
    rows.insert_intent(&row, &new.body)?;
    let mut loaded = Loaded {
        row,
        intent,
        suspensions: Vec::new(),
        requests: Vec::new(),
        lapsed: Vec::new(),
        is_announced: false,
        portfolio: None,
        writer: None,
        trace_parent: None,
    };
    append(rows, env, &mut loaded, &[Event::IntentCreated(Box::new(new.body.clone()), new.status)], &principal.name, now)?;
    let outcome = Outcome::Intent(Box::new(IntentView::of(&loaded.intent, new.body.clone(), None)));
    if let Some(key) = request.idempotency {
        let kept = serde_json::to_string(&outcome)?;
        allowance::charge(rows, &principal.name, kept.len(), now)?;
        rows.insert_idempotent(key, now, &kept)?;
    }
    Ok(Ok(outcome))
}
