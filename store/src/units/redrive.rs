//! Sends a failed message again.

use domain::intent::command::Command;
use domain::intent::decide::decide;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::DeliveryView;

use super::allowance;
use super::execute::may_end;
use super::loaded::{load_of, load_what_ends};
use super::log::append;
use super::message::as_logged;
use super::outcome::kept_under;
use crate::error::Wanted;
use crate::fact::{Fact, Settled};
use crate::hub::Notice;
use crate::reads;
use crate::request::Redrive;
use crate::rows::prelude::*;
use crate::rows::{Decided, DeliveryState, RowsError};
use crate::surroundings::Env;

/// Queues a failed message as if it had never been tried, and lets the worker try the message's channel again, even if it had
/// stopped because the endpoint failed or was gone. The message keeps its id, so a receiver that did get it at an earlier try
/// recognises it.
pub(crate) fn redrive<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    redrive: &Wanted<Redrive>,
) -> Decided<DeliveryView> {
    if let Err(rejection) = authorize(principal, Action::Redrive, Object::Server) {
        return Ok(Err(rejection));
    }
    let Redrive { id, idempotency } = match redrive {
        Ok(redrive) => *redrive,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    let now = env.clock.now();
    // The key is checked before the message: once the message is queued again, it no longer counts as failed.
    if let Some(key) = idempotency {
        match kept_under(rows, key, now)? {
            Err(rejection) => return Ok(Err(rejection)),
            Ok(Some(kept)) => return Ok(Ok(serde_json::from_str(&kept)?)),
            Ok(None) => {}
        }
    }
    let Some(row) = rows.reads().failed_delivery(id)? else { return Ok(Err(Rejection::NotFound)) };
    if let Err(rejection) = allowance::admit(rows, env, principal, Action::Redrive, None, now)? {
        return Ok(Err(rejection));
    }
    let suspension = rows.reads().suspension_at(row.suspension)?;
    let mut loaded = load_of(rows, &suspension)?;
    load_what_ends(rows, &mut loaded, now)?;
    let detail = row.detail.clone().unwrap_or_default();
    let command = Command::Redrive(Box::new(as_logged(row.clone(), &suspension, &detail)));
    match decide(&loaded.intent, &command, principal, now) {
        Err(refusal) => {
            may_end(rows, env, &refusal)?;
            append(rows, env, &mut loaded, &refusal.deadline, &Principal::server().name, now)?;
            return Ok(Err(refusal.rejection));
        }
        Ok(events) => append(rows, env, &mut loaded, &events, &principal.name, now)?,
    };
    rows.revive_outbox(row.rid, now)?;
    rows.notice(Notice::Redriven(row.channel.clone()));
    rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Queued }));
    let (row, state) = rows.reads().delivery(row.rid)?.ok_or(RowsError::Inconsistent("a message vanished while it was read"))?;
    debug_assert_eq!(state, DeliveryState::Queued);
    let view = reads::delivery_view(rows.reads(), suspension.suspension.id, row, state)?;
    if let Some(key) = idempotency {
        rows.insert_idempotent(key, now, &serde_json::to_string(&view)?)?;
    }
    Ok(Ok(view))
}
