//! Endpoints that are pushed the changes of a task. They are subscriptions to the changes of the status, with the same rights, the same tries
//! and the same end of them; only the message is another one.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::IntentId;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::subscription::{PUSH_DAYS_MAX, PUSHES_OF_TASK_MAX, Subscription, SubscriptionBody};
use domain::suspension::Asker;

use super::allowance::{admit, charge};
use super::subscriptions::SUBSCRIPTION_ROW_BYTES;
use crate::reads::may;
use crate::request::NewPush;
use crate::rows::prelude::*;
use crate::rows::{Decided, IntentRow, ListedSubscriptions, RowsResult, SubscriptionRow};
use crate::surroundings::Env;

/// The type of the events that an endpoint is told of: those that change the state of a task.
const CHANGED: &str = "status_changed";

pub(crate) fn create<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, new: &NewPush) -> Decided<Subscription> {
    let now = env.clock.now();
    let row = match own(rows.reads(), principal, new.intent_id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if let Err(rejection) = admit(rows, env, principal, Action::Subscribe, None, now)? {
        return Ok(Err(rejection));
    }
    let Some(key_id) = principal.key_id() else {
        return Ok(Err(Rejection::Forbidden { reason: "only a caller with an API key may do this".to_owned() }));
    };
    for known in made_by(rows.reads(), principal, row.rid, now)? {
        if known.subscription.push.as_ref().is_some_and(|push| push.id == new.push.id) {
            rows.delete_subscription(known.rid)?;
        }
    }
    let all = ListedSubscriptions { pushes: true, creator: None, intent: Some(row.rid), now, limit: 0, offset: 0 };
    if rows.reads().count_subscriptions(all)? >= PUSHES_OF_TASK_MAX {
        let message = format!("a task has at most {PUSHES_OF_TASK_MAX} push configurations; delete one first");
        return Ok(Err(Rejection::invalid("id", "limit", message)));
    }
    let body = SubscriptionBody {
        claimed_subscriber: None,
        event_types: vec![CHANGED.to_owned()],
        webhook_url: new.url.clone(),
        expires_at: now + TimeDelta::days(PUSH_DAYS_MAX),
    };
    let created_by = Asker { name: principal.name.clone(), owner: principal.owner.clone() };
    let push = Some(new.push.clone());
    let subscription = Subscription { id: new.id, intent_id: new.intent_id, created_by, key_id, created_at: now, body, push };
    // A task may end between the message that begins it and this call; then its end is still told.
    let sequence = if row.intent.status.is_final() { 0 } else { row.last_sequence };
    rows.insert_subscription(row.rid, &subscription, sequence)?;
    charge(rows, &principal.name, new.url.len() + new.push.sealed.len() + SUBSCRIPTION_ROW_BYTES, now)?;
    Ok(Ok(subscription))
}

pub(crate) fn list<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    intent: IntentId,
    now: DateTime<Utc>,
) -> Decided<Vec<Subscription>> {
    let row = match own(rows, principal, intent, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    Ok(Ok(made_by(rows, principal, row.rid, now)?.into_iter().map(|row| row.subscription).collect()))
}

pub(crate) fn delete<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, intent: IntentId, id: &str) -> Decided<()> {
    let now = env.clock.now();
    let row = match own(rows.reads(), principal, intent, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    for known in made_by(rows.reads(), principal, row.rid, now)? {
        if known.subscription.push.as_ref().is_some_and(|push| push.id == id) {
            rows.delete_subscription(known.rid)?;
        }
    }
    Ok(Ok(()))
}

/// The intent, if the principal may have endpoints told of it.
fn own<R: ReadRows>(rows: &mut R, principal: &Principal, intent: IntentId, now: DateTime<Utc>) -> Decided<IntentRow> {
    if let Err(rejection) = authorize(principal, Action::Subscribe, Object::Server) {
        return Ok(Err(rejection));
    }
    let Some(row) = rows.intent(intent)? else { return Ok(Err(Rejection::NotFound)) };
    Ok(may(rows, principal, Action::Subscribe, &row, None, now)?.map(|()| row))
}

/// The endpoints that the principal made for an intent, the newest first.
fn made_by<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    intent: i64,
    now: DateTime<Utc>,
) -> RowsResult<Vec<SubscriptionRow>> {
    let limit = u32::try_from(PUSHES_OF_TASK_MAX).unwrap_or(u32::MAX);
    let creator = Some(principal.name.as_str());
    rows.subscriptions(ListedSubscriptions { pushes: true, creator, intent: Some(intent), now, limit, offset: 0 })
}
