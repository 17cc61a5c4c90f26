//! The forms of questions that people sent before a login.
//!
//! Guarantee: a form is kept for the person whose page it was, and shown to that person alone; it answers nothing. A person who only holds
//! the link replaces nothing that its recipient typed. Mechanism: it has a row for the question, the person and the browser, and only the
//! person's session reads it. Failure: a form that could not be kept is in the page that comes back.

use domain::base::ids::SuspensionId;

use crate::question::{Typist, UNSENT_BROWSERS_MAX, UNSENT_BYTES_MAX};
use crate::rows::prelude::*;
use crate::rows::{ReadUnsent as _, RowsResult, UnsentRow};
use crate::surroundings::Env;

/// Keeps a form for the listed person with this address, while the question is open. `false` if it is not kept.
pub(crate) fn keep<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    id: SuspensionId,
    address: &str,
    (from, form): (Typist, &[u8]),
) -> RowsResult<bool> {
    let open = rows.reads().suspension(id)?.filter(|row| row.suspension.ending.is_none());
    let Some(row) = open.filter(|_| form.len() <= UNSENT_BYTES_MAX) else { return Ok(false) };
    let address = address.to_lowercase();
    // The person may not be removed before the row is there: it would stay behind.
    rows.hold_person(&address)?;
    let Some(person) = rows.reads().person_called(&address)? else { return Ok(false) };
    let browser = from.browser();
    let kept = rows.reads().unsent(row.rid, person.id)?;
    let others = kept.iter().filter(|kept| !kept.browser.is_empty() && kept.browser != browser).count();
    if !browser.is_empty() && others >= UNSENT_BROWSERS_MAX {
        return Ok(false);
    }
    rows.save_unsent(row.rid, person.id, &UnsentRow { browser, form: form.to_vec(), kept_at: env.clock.now() })?;
    Ok(true)
}

/// Forgets the forms of a person who has answered.
pub(crate) fn forget<R: Rows>(rows: &mut R, id: SuspensionId, address: &str) -> RowsResult<()> {
    let Some(row) = rows.reads().suspension(id)? else { return Ok(()) };
    let Some(person) = rows.reads().person_called(&address.to_lowercase())? else { return Ok(()) };
    rows.delete_unsent(row.rid, person.id)
}
