//! The forms of questions that people sent before a login.
//!
//! Guarantee: a form is kept for the person whose page it was, and shown to that person alone; it answers nothing. Mechanism: it has a row
//! for the question and the person, and only the person's session reads it. Failure: a form that could not be kept is in the page that
//! comes back.

use domain::base::ids::SuspensionId;

use crate::question::UNSENT_BYTES_MAX;
use crate::rows::prelude::*;
use crate::rows::{RowsResult, UnsentRow};
use crate::surroundings::Env;

/// Keeps a form for the listed person with this address, while the question is open. `false` if it is not kept.
pub(crate) fn keep<R: Rows>(rows: &mut R, env: &Env<'_>, id: SuspensionId, address: &str, form: &[u8]) -> RowsResult<bool> {
    let open = rows.reads().suspension(id)?.filter(|row| row.suspension.ending.is_none());
    let Some(row) = open.filter(|_| form.len() <= UNSENT_BYTES_MAX) else { return Ok(false) };
    let address = address.to_lowercase();
    // The person may not be removed before the row is there: it would stay behind.
    rows.hold_person(&address)?;
    let Some(person) = rows.reads().person_called(&address)? else { return Ok(false) };
    rows.save_unsent(row.rid, person.id, &UnsentRow { form: form.to_vec(), kept_at: env.clock.now() })?;
    Ok(true)
}

/// Forgets the form of a person who has answered.
pub(crate) fn forget<R: Rows>(rows: &mut R, id: SuspensionId, address: &str) -> RowsResult<()> {
    let Some(row) = rows.reads().suspension(id)? else { return Ok(()) };
    let Some(person) = rows.reads().person_called(&address.to_lowercase())? else { return Ok(()) };
    rows.delete_unsent(row.rid, person.id)
}
