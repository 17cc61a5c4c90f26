//! Notes who opened the page of a question. A note decides nothing: it is for the audit pages.

use domain::base::ids::SuspensionId;

use crate::rows::RowsResult;
use crate::rows::prelude::*;
use crate::surroundings::Env;

/// Whether the link of this recipient opens the page of an open question for the first time.
pub(crate) fn is_new<R: ReadRows>(rows: &mut R, id: SuspensionId, recipient: &str) -> RowsResult<bool> {
    let open = rows.suspension(id)?.filter(|row| row.suspension.ending.is_none());
    let Some(row) = open else { return Ok(false) };
    Ok(!rows.is_viewed(row.rid, recipient)?)
}

/// Notes the first opening.
pub(crate) fn note<R: Rows>(rows: &mut R, env: &Env<'_>, id: SuspensionId, recipient: &str) -> RowsResult<()> {
    let Some(row) = rows.reads().suspension(id)? else { return Ok(()) };
    rows.insert_view(row.rid, recipient, env.clock.now())
}
