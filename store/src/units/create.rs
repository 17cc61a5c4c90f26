//! A new intent.

use chrono::{DateTime, Utc};
use domain::intent::body::{IntentBody, PAUSE_KEY, SUSPENSION_KEY};
use domain::intent::event::Event;
use domain::intent::{Intent, depending};
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::Asker;
use domain::wire::IntentView;

use super::graph::Needed;
use super::loaded::{Answering, Loaded};
use super::log::append;
use super::outcome::{kept_under, recalled};
use super::{allowance, graph};
use crate::reads;
use crate::request::{CreateIntent, NewIntent, Outcome};
use crate::rows::prelude::*;
use crate::rows::{Decided, EdgeKind, EdgeRow, IntentRow, RowsResult, Table};
use crate::surroundings::Env;

pub(crate) fn create<R: Rows>(rows: &mut R, env: &Env<'_>, request: &CreateIntent) -> Decided<Outcome> {
    let principal = &request.principal;
    if let Err(rejection) = authorize(principal, Action::CreateIntent, Object::Server) {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    // The intents that are needed are locked before the one that needs them.
    let depends_on = request.intent.as_ref().map_or(&[][..], |new| &new.body.depends_on);
    let has_parent = request.intent.as_ref().is_ok_and(|new| new.body.parent_intent_id.is_some());
    let needed = graph::needed_by_new(rows, principal, depends_on, has_parent, now)?;
    if let Some(parent) = request.below
        && reads::readable(rows.reads(), principal, parent, now)?.is_err()
    {
        return Ok(Err(Rejection::NotFound));
    }
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
    let needed = match needed {
        Ok(needed) => needed,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let parent = match graph::parent_of_new(rows, principal, new.body.parent_intent_id, &needed, now)? {
        Ok(parent) => parent,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if [SUSPENSION_KEY, PAUSE_KEY].iter().any(|key| new.body.state.contains_key(*key)) {
        return Ok(Err(Rejection::SuspensionIsServerOwned));
    }
    let outcome = Outcome::Intent(Box::new(begin(rows, env, principal, new, (parent, &needed), now)?));
    if let Some(key) = request.idempotency {
        let kept = serde_json::to_string(&outcome)?;
        allowance::charge(rows, &principal.name, kept.len(), now)?;
        rows.insert_idempotent(key, now, &kept)?;
    }
    Ok(Ok(outcome))
}

/// Writes a new intent with its edges and its first events.
pub(super) fn begin<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    new: &NewIntent,
    (parent, needed): (Option<i64>, &[Needed]),
    now: DateTime<Utc>,
) -> RowsResult<IntentView> {
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
        stops: Vec::new(),
        requests: Vec::new(),
        lapsed: Vec::new(),
        is_announced: false,
        portfolios: Vec::new(),
        portfolio: None,
        upstream: None,
        writer: None,
        answering: Answering::default(),
        trace_parent: None,
    };
    if let Some(parent) = parent {
        rows.insert_edge(EdgeRow { intent: parent, kind: EdgeKind::Child, needs: loaded.row.rid, is_met: false })?;
    }
    // Each dependency has an event of its own, at creation as later.
    let body = IntentBody { depends_on: Vec::new(), ..new.body.clone() };
    let dependencies: Vec<_> = needed.iter().map(|needed| (needed.id, needed.is_completed)).collect();
    let mut events = vec![Event::IntentCreated(Box::new(body), new.status)];
    events.extend(depending(new.status, &dependencies, principal));
    append(rows, env, &mut loaded, &events, &principal.name, now)?;
    let blocked_by = dependencies.into_iter().filter(|(_, is_completed)| !is_completed).map(|(id, _)| id).collect();
    Ok(IntentView::of(&loaded.intent, new.body.clone(), None, blocked_by))
}
