//! Writes to objects other than intents; a write may repeat an earlier one.

use chrono::{DateTime, Utc};
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};

use super::allowance::{self, charge};
use super::outcome::{kept_under, recalled};
use crate::request::{Idempotency, Outcome, Repeatable};
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult};
use crate::surroundings::Env;

/// A write that passed the checks before the decision.
pub(super) enum Admitted<'a, T> {
    /// The write has not been made before.
    New(&'a T),
    /// The write was made before, with this outcome.
    Repeated(Box<Outcome>),
}

/// The checks before the decision, in this order: whether the write repeats an earlier one, whether the limits permit it, and
/// whether it could be read.
pub(super) fn admit<'a, R: Rows, T>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    (action, write): (Action, &'a Repeatable<T>),
    now: DateTime<Utc>,
) -> Decided<Admitted<'a, T>> {
    if let Some(key) = write.idempotency {
        match kept_under(rows, key, now)? {
            Err(rejection) => return Ok(Err(rejection)),
            Ok(Some(kept)) => return Ok(Ok(Admitted::Repeated(Box::new(recalled(rows, &kept)?)))),
            Ok(None) => {}
        }
    }
    if let Err(rejection) = allowance::admit(rows, env, principal, action, None, now)? {
        return Ok(Err(rejection));
    }
    Ok(write.wanted.as_ref().map(Admitted::New).map_err(Clone::clone))
}

/// Keeps the outcome of a write for a repeat. If an agent writes, the bytes kept count against its daily limit.
pub(super) fn keep<R: Rows>(
    rows: &mut R,
    principal: &Principal,
    idempotency: Option<Idempotency>,
    outcome: &Outcome,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let Some(key) = idempotency else { return Ok(()) };
    let kept = serde_json::to_string(outcome)?;
    if principal.role == Role::Agent {
        charge(rows, &principal.name, kept.len(), now)?;
    }
    rows.insert_idempotent(key, now, &kept)
}
