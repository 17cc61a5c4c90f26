//! How much each agent has written on a day.

use super::error::RowsResult;

/// Writes how much agents have written, in one transaction.
pub(crate) trait WriteBytes {
    /// Counts bytes that were written for an agent on a day.
    fn add_agent_bytes(&mut self, agent: &str, day: i32, bytes: i64) -> RowsResult<()>;
    /// Deletes the counts of the days before `day`.
    fn forget_agent_bytes_before(&mut self, day: i32) -> RowsResult<()>;
}

/// Reads how much agents have written, inside a transaction that writes or outside.
pub(crate) trait ReadBytes {
    /// How many bytes were written for an agent on a day.
    fn agent_bytes(&mut self, agent: &str, day: i32) -> RowsResult<u64>;
}
