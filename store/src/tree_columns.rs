//! How the rows of the tree are read and written, once for both databases.

use crate::rows::{CheckpointRow, Code, LogKeyRow, Place, RowsError, RowsResult, Run};
use crate::sql::At;

/// The most bytes of events that get their leaves in one step, apart from the last event.
pub(crate) const STEP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The name of the auditors' mails among the witnesses. No witness has it, because the key of a witness has a plus sign.
pub(crate) const MAILED: &str = "mail";

/// The columns of a run, in the order of the table.
pub(crate) type RunColumns = (i64, i32, i64, i64, i64);
/// The columns of a checkpoint, in the order of the table.
pub(crate) type CheckpointColumns = (i64, Vec<u8>, String, At);
/// The name of a log's key, its two halves, and the signature of the key before.
pub(crate) type LogKeyColumns = (String, Vec<u8>, Option<Vec<u8>>, Option<String>);

/// A number for a column.
pub(crate) fn signed(number: u64) -> RowsResult<i64> {
    i64::try_from(number).map_err(|_| RowsError::Inconsistent("a number beyond all numbers of rows"))
}

/// A number from a column.
pub(crate) fn unsigned(number: i64) -> RowsResult<u64> {
    u64::try_from(number).map_err(|_| RowsError::Inconsistent("a negative number"))
}

pub(crate) fn run_of((first_leaf, source, subject, number, length): RunColumns) -> RowsResult<Run> {
    let place = Place { source: Code::from_code(source)?, subject, number };
    Ok(Run { first_leaf: unsigned(first_leaf)?, place, length: unsigned(length)? })
}

pub(crate) fn checkpoint_of((size, root, note, at): CheckpointColumns) -> RowsResult<CheckpointRow> {
    let root = root.try_into().map_err(|_| RowsError::Inconsistent("a root of the wrong length"))?;
    Ok(CheckpointRow { size: unsigned(size)?, root, note, created_at: at.0 })
}

pub(crate) fn log_key_of((name, public, sealed, signature): LogKeyColumns) -> RowsResult<LogKeyRow> {
    let public = public.try_into().map_err(|_| RowsError::Inconsistent("a public key of the wrong length"))?;
    Ok(LogKeyRow { name, public, sealed, signature })
}
