//! The reads about coordinators: load, authorize, convert.

use chrono::{DateTime, Utc};
use domain::base::ids::{CoordinatorId, IntentId};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::CoordinatorView;

use crate::reads::browsable;
use crate::rows::Decided;
use crate::rows::prelude::*;

/// The most leases of an intent that are listed.
const LISTED_MAX: u32 = 100;

/// The lease of a coordinator of an intent that the principal may read.
pub(super) fn coordinator<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: CoordinatorId,
    now: DateTime<Utc>,
) -> Decided<CoordinatorView> {
    let Some((intent, lease, body)) = rows.coordinator(id)? else { return Ok(Err(Rejection::NotFound)) };
    let intent_id = rows.intent_at(intent)?.intent.id;
    if let Err(rejection) = browsable(rows, principal, intent_id, now)? {
        return Ok(Err(rejection));
    }
    Ok(Ok(CoordinatorView::of(intent_id, lease, body)))
}

/// The newest leases of coordinators of an intent that the principal may read, oldest first.
pub(super) fn coordinators<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    intent_id: IntentId,
    now: DateTime<Utc>,
) -> Decided<Vec<CoordinatorView>> {
    let row = match browsable(rows, principal, intent_id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let found = rows.coordinators(row.rid, LISTED_MAX)?;
    Ok(Ok(found.into_iter().map(|(lease, body)| CoordinatorView::of(intent_id, lease, body)).collect()))
}
