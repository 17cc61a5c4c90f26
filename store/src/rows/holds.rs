//! The legal holds in force.

use domain::base::ids::HoldId;
use domain::people::hold::Hold;

use super::error::RowsResult;

/// Writes holds, in one transaction.
pub(crate) trait WriteHolds {
    fn insert_hold(&mut self, hold: &Hold) -> RowsResult<()>;
    fn delete_hold(&mut self, id: HoldId) -> RowsResult<()>;
}

/// Reads holds, inside a transaction that writes or outside.
pub(crate) trait ReadHolds {
    /// All holds, oldest first.
    fn holds(&mut self) -> RowsResult<Vec<Hold>>;
}
