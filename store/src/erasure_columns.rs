//! How the rows of erasures and legal holds are read, once for both databases.

use domain::base::ids::HoldId;
use domain::people::hold::{Hold, HoldScope};

use crate::rows::{RedactionRow, RowsResult};
use crate::sql::{At, Json, Key, Said};
use crate::tree_columns::unsigned;

/// The columns of an erasure, in the order of the table.
pub(crate) type RedactionColumns = (i64, i64, i64, Option<i64>, i64);
/// The columns of a hold, in the order of the table.
pub(crate) type HoldColumns = (Key, Json<HoldScope>, Said, String, At);

pub(crate) fn redaction_of((intent, last, first, previous, server_event): RedactionColumns) -> RowsResult<RedactionRow> {
    let (first_sequence, last_sequence, server_event) = (unsigned(first)?, unsigned(last)?, unsigned(server_event)?);
    Ok(RedactionRow { intent, first_sequence, last_sequence, previous, server_event })
}

pub(crate) fn hold_of((id, scope, reason, placed_by, placed_at): HoldColumns) -> Hold {
    Hold { id: HoldId(id.0), scope: scope.0, reason: reason.0, placed_by, placed_at: placed_at.0 }
}
