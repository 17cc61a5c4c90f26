//! The repetition of failed work: the row that an event implies.

use super::loaded::Loaded;
use crate::hub::Notice;
use crate::rows::RowsResult;
use crate::rows::prelude::*;

/// Writes the repetition of the work as it is now, if the intent has a retry policy.
pub(super) fn follow<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<()> {
    let Some(retry) = loaded.intent.retry.as_deref() else { return Ok(()) };
    let due_at = loaded.intent.retry_due_at();
    if due_at.is_some() {
        rows.notice(Notice::Timer);
    }
    rows.save_retry(loaded.row.rid, retry, due_at)
}
