//! The time zone and the locale that a person chooses after a login.
//!
//! Guarantee: a session changes those of its own person alone, and those that the configuration file says stay as it says. Mechanism: the
//! person is that of the session, and the row says whether the file decides. Failure: the change is refused, and nothing has changed.

use domain::people::answerer::answers_for;
use domain::people::preferences::Preferences;
use domain::people::principal::Principal;
use domain::problem::Rejection;

use super::{people, server_log};
use crate::error::Wanted;
use crate::rows::Decided;
use crate::rows::prelude::*;
use crate::surroundings::Env;

/// Sets the time zone and the locale of the person who has logged in. If they are so already, nothing happens, and no event is written.
pub(crate) fn choose<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, wanted: &Wanted<Preferences>) -> Decided<()> {
    let Some(address) = answers_for(principal, None).filter(|_| principal.session_id().is_some()) else {
        return Ok(Err(Rejection::NotFound));
    };
    server_log::begin(rows, env)?;
    let Some(mut person) = rows.reads().person_called(&address)? else { return Ok(Err(Rejection::NotFound)) };
    if person.preferences.managed {
        return Ok(Err(Rejection::managed_person(&person.address)));
    }
    let wanted = match wanted {
        Ok(wanted) => wanted.clone(),
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    if person.preferences != wanted {
        person.preferences = wanted;
        people::update(rows, env, principal, &person)?;
    }
    Ok(Ok(()))
}
