//! The history of one question so far, for the people who may read it.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::delivery::DeliveryState;

use crate::reads::may;
use crate::rows::Decided;
use crate::rows::prelude::*;

/// A message about a question, as far as its people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The attempt to which it belongs, from 1.
    pub attempt: u32,
    pub recipient: String,
    pub state: DeliveryState,
    /// When it was sent, or failed; before that, when it was queued.
    pub at: DateTime<Utc>,
}

/// The history of one question so far, beside the question itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The messages, oldest first.
    pub told: Vec<Told>,
    /// The people whose pages showed the question, each with the first time.
    pub seen: Vec<(String, DateTime<Utc>)>,
}

/// The history of a question for a person who logged in, and who may read the intent.
pub(crate) fn history<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: SuspensionId,
    now: DateTime<Utc>,
) -> Decided<History> {
    let row = if principal.session_id().is_some() { rows.suspension(id)? } else { None };
    let Some(row) = row else { return Ok(Err(Rejection::NotFound)) };
    let intent = rows.intent_at(row.intent)?;
    if let Err(rejection) = may(rows, principal, Action::Read, &intent, Some(row.rid), now)? {
        return Ok(Err(rejection));
    }
    let told = rows.deliveries(row.rid)?.into_iter().map(|(message, state)| Told {
        attempt: message.attempt,
        state: state.shown(&message),
        at: message.settled_at.unwrap_or(message.queued_at),
        recipient: message.recipient,
    });
    let told = told.collect();
    let seen = rows.views_in(row.rid, row.rid)?.into_iter().map(|(_, recipient, at)| (recipient, at)).collect();
    Ok(Ok(History { told, seen }))
}
