//! Makes receipts of decisions, and notes their use.
//!
//! Guarantee: a question has at most one receipt, and a receipt is used at most once. Mechanism: the transaction holds the intent before
//! it reads the receipt's row. Failure: a caller that does not hear the reply asks again; it gets the same receipt, or hears that the
//! receipt was used.

use chrono::{DateTime, Utc};
use domain::base::ids::{ReceiptId, SuspensionId};
use domain::intent::event::Event;
use domain::intent::receipt::{Decision, Issued, Receipt, ReceiptEvent, Standing, Use};
use domain::people::authority::{Action, Demands, Object, authorize};
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use proof::key::SigningKey;
use proof::receipt::Statement;

use super::allowance;
use super::loaded::{Loaded, load_of};
use super::log::append;
use crate::error::Wanted;
use crate::reads::{handed, may};
use crate::receipts::decision_of;
use crate::rows::prelude::*;
use crate::rows::{Decided, ReceiptRow, RowsError, RowsResult, SuspensionRow};
use crate::surroundings::Env;

/// Makes the receipt of an answered question, unless it has one. Returns the receipt's id.
pub(crate) fn issue<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    id: SuspensionId,
    key: Option<&SigningKey>,
) -> Decided<ReceiptId> {
    let Some(named) = rows.reads().suspension(id)? else { return Ok(Err(Rejection::NotFound)) };
    let mut loaded = load_of(rows, &named)?;
    let now = env.clock.now();
    if let Err(rejection) = may(rows.reads(), principal, Action::IssueReceipt, &loaded.row, Some(named.rid), now)? {
        return Ok(Err(rejection));
    }
    if rows.reads().question(&named)?.is_erased() {
        return Ok(Err(Rejection::Redacted));
    }
    if let Some(made) = rows.reads().receipt_of(named.rid)? {
        return Ok(Ok(made.id));
    }
    if let Err(rejection) = allowance::admit(rows, env, principal, Action::IssueReceipt, Some(&loaded), now)? {
        return Ok(Err(rejection));
    }
    // A key that was replaced a moment ago signs nothing any more.
    let in_force = rows.reads().log_keys()?.pop().map(|in_force| in_force.public);
    let Some(key) = key.filter(|key| in_force == Some(key.verifying().public())) else { return Ok(Err(Rejection::LogNotSigned)) };
    let row = loaded.suspension_row(id)?.clone();
    let receipt_id = ReceiptId(env.entropy.uuid(now));
    let Some(decision) = decided(rows, &row, receipt_id)? else { return Ok(Err(Rejection::NotAnswered)) };
    let statement = Statement::sign(&decision.bytes()?, &id.expose(), key)
        .map_err(|_| RowsError::Inconsistent("a decision is too long for a receipt"))?;
    loaded.writer = (principal.role == Role::Agent).then(|| principal.name.clone());
    let (suspension_id, statement_hash) = (id, statement.hash());
    let issued = Issued { receipt_id, suspension_id, statement_hash, credential: principal.credential };
    append(rows, env, &mut loaded, &[event(ReceiptEvent::Issued(issued))], &principal.name, now)?;
    let event = loaded.row.last_event;
    let statement = statement.bytes().to_vec();
    rows.insert_receipt(&ReceiptRow { suspension: row.rid, id: receipt_id, event, statement, standing: Standing::Unused })?;
    Ok(Ok(receipt_id))
}

fn event(event: ReceiptEvent) -> Event {
    Event::Receipt(Box::new(event))
}

/// The decision about a question; `None` if no person answered it, or before receipts were possible.
fn decided<R: Rows>(rows: &mut R, row: &SuspensionRow, receipt_id: ReceiptId) -> RowsResult<Option<Decision>> {
    let Some((answer, event)) = rows.reads().answer(row)? else { return Ok(None) };
    let question = rows.reads().question(row)?;
    Ok(answer.decision(receipt_id, &row.suspension, &question, event))
}

/// Uses a receipt for an action.
pub(crate) fn consume<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    id: ReceiptId,
    used: &Wanted<Use>,
) -> Decided<Standing> {
    let standing = |by: &Principal, at| Standing::Consumed { by: by.name.clone(), at };
    close(rows, env, principal, (id, Action::ConsumeReceipt), standing, |receipt| receipt.consume(&used.clone()?, principal))
}

/// Revokes a receipt that was not used.
pub(crate) fn revoke<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    id: ReceiptId,
    reason: &Wanted<Option<String>>,
) -> Decided<Standing> {
    let standing = |by: &Principal, at| Standing::Revoked { by: by.name.clone(), at };
    close(rows, env, principal, (id, Action::RevokeReceipt), standing, |receipt| receipt.revoke(reason.clone()?, principal))
}

/// Closes a receipt by the event that `decide` gives. Returns how the receipt stands now.
fn close<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    (id, action): (ReceiptId, Action),
    standing: impl Fn(&Principal, DateTime<Utc>) -> Standing,
    decide: impl Fn(&Receipt) -> Result<ReceiptEvent, Rejection>,
) -> Decided<Standing> {
    let Some(named) = rows.reads().receipt(id)? else { return Ok(Err(Rejection::NotFound)) };
    let suspension = rows.reads().suspension_at(named.suspension)?;
    let mut loaded = load_of(rows, &suspension)?;
    if let Err(rejection) = authorized(rows, principal, action, &loaded, &suspension)? {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    if let Err(rejection) = allowance::admit(rows, env, principal, action, Some(&loaded), now)? {
        return Ok(Err(rejection));
    }
    // The row is read again, because the intent is held only now.
    let row = rows.reads().receipt_of(suspension.rid)?.ok_or(RowsError::Inconsistent("a receipt is gone"))?;
    if row.is_erased() {
        return Ok(Err(Rejection::Redacted));
    }
    let event_of = match decide(&decision_of(&row)?) {
        Ok(decided) => event(decided),
        Err(rejection) => return Ok(Err(rejection)),
    };
    let standing = standing(principal, now);
    if !rows.close_receipt(suspension.rid, &standing)? {
        return Err(RowsError::Inconsistent("an unused receipt was closed already"));
    }
    append(rows, env, &mut loaded, &[event_of], &principal.name, now)?;
    Ok(Ok(standing))
}

fn authorized<R: Rows>(
    rows: &mut R,
    principal: &Principal,
    action: Action,
    loaded: &Loaded,
    suspension: &SuspensionRow,
) -> Decided<()> {
    let handed_for = &handed(rows.reads(), principal, Some(suspension.rid))?;
    let (created_by, asked_by) = (&loaded.intent.created_by, Some(&suspension.suspension.asked_by));
    Ok(authorize(
        principal,
        action,
        Object::Intent { created_by, asked_by, assigned: &[], entries: &[], handed_for, demands: Demands::default() },
    ))
}
