//! Legal holds. Each change of them is an event of the server's own log.
//!
//! Guarantee: nothing is erased that a hold covers. Mechanism: a transaction that changes holds, and one that erases, first locks the
//! row of the log's end, so one waits for the other. Failure: an erasure that was first is done, and the hold covers what is left.

use domain::base::ids::{HoldId, IntentId};
use domain::base::name::is_same_in_any_case;
use domain::people::authority::{Action, Object, authorize};
use domain::people::event::{HoldChanged, ServerEvent};
use domain::people::hold::{HOLDS_MAX, Hold, HoldScope};
use domain::people::principal::Principal;
use domain::problem::Rejection;

use super::server_log;
use crate::error::Wanted;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult};
use crate::surroundings::Env;

/// Places a hold. `NotFound` for a hold on an intent that does not exist, or on an agent whose name no key has ever had: a hold on
/// nothing would calm people for no reason.
pub(crate) fn place<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    hold: &Wanted<(HoldScope, String)>,
) -> Decided<Hold> {
    if let Err(rejection) = authorize(principal, Action::Redact, Object::Server) {
        return Ok(Err(rejection));
    }
    let (scope, reason) = match hold {
        Ok(hold) => hold.clone(),
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    let exists = match &scope {
        HoldScope::Everything => true,
        HoldScope::Intent(id) => rows.reads().intent(*id)?.is_some(),
        HoldScope::Agent(name) => rows.reads().keys()?.iter().any(|key| is_same_in_any_case(&key.name, name)),
    };
    if !exists {
        return Ok(Err(Rejection::NotFound));
    }
    server_log::begin(rows, env)?;
    if rows.reads().holds()?.len() >= HOLDS_MAX {
        return Ok(Err(Rejection::TooManyHolds { most: HOLDS_MAX }));
    }
    let now = env.clock.now();
    let hold = Hold { id: HoldId(env.entropy.uuid(now)), scope, reason, placed_by: principal.name.clone(), placed_at: now };
    let changed = changed(&hold, hold.reason.clone(), principal);
    server_log::append(rows, env, &principal.name, &ServerEvent::HoldPlaced(changed))?;
    rows.insert_hold(&hold)?;
    Ok(Ok(hold))
}

/// Lifts a hold.
pub(crate) fn lift<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    id: &Wanted<HoldId>,
    reason: &Wanted<String>,
) -> Decided<Hold> {
    if let Err(rejection) = authorize(principal, Action::Redact, Object::Server) {
        return Ok(Err(rejection));
    }
    server_log::begin(rows, env)?;
    let id = match id {
        Ok(id) => *id,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    let Some(hold) = rows.reads().holds()?.into_iter().find(|hold| hold.id == id) else { return Ok(Err(Rejection::NotFound)) };
    let reason = match reason {
        Ok(reason) => reason.clone(),
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    server_log::append(rows, env, &principal.name, &ServerEvent::HoldLifted(changed(&hold, reason, principal)))?;
    rows.delete_hold(id)?;
    Ok(Ok(hold))
}

fn changed(hold: &Hold, reason: String, principal: &Principal) -> HoldChanged {
    HoldChanged { hold_id: hold.id, scope: hold.scope.clone(), reason, credential: principal.credential }
}

/// The holds in force, oldest first.
pub(crate) fn list<R: ReadRows>(rows: &mut R, principal: &Principal) -> Decided<Vec<Hold>> {
    if let Err(rejection) = authorize(principal, Action::ReadServerLog, Object::Server) {
        return Ok(Err(rejection));
    }
    rows.holds().map(Ok)
}

/// Whether a hold covers the intent. No hold is placed or lifted before this transaction is over.
pub(super) fn covers<R: Rows>(rows: &mut R, env: &Env<'_>, intent: IntentId, creator: &str) -> RowsResult<bool> {
    server_log::begin(rows, env)?;
    Ok(rows.reads().holds()?.iter().any(|hold| hold.scope.covers(intent, creator)))
}
