//! Leases of coordinators.

use chrono::{DateTime, Utc};
use domain::base::ids::CoordinatorId;
use domain::container::coordinator::{Coordinator, CoordinatorBody};

use super::error::RowsResult;

/// Writes leases of coordinators, in one transaction.
pub(crate) trait WriteCoordinators {
    fn insert_coordinator(&mut self, intent: i64, lease: &Coordinator, body: &CoordinatorBody) -> RowsResult<()>;
    /// Writes a lease as it is now. `due_at` is the time at which the server looks at it.
    fn update_coordinator(&mut self, lease: &Coordinator, due_at: Option<DateTime<Utc>>) -> RowsResult<()>;
    /// Sets the time at which the server looks at a lease.
    fn move_coordinator(&mut self, id: CoordinatorId, due_at: Option<DateTime<Utc>>) -> RowsResult<()>;
}

/// Reads leases of coordinators, inside a transaction that writes or outside.
pub(crate) trait ReadCoordinators {
    /// A lease, with the row of its intent.
    fn coordinator(&mut self, id: CoordinatorId) -> RowsResult<Option<(i64, Coordinator, CoordinatorBody)>>;
    /// The newest lease of an intent.
    fn newest_coordinator(&mut self, intent: i64) -> RowsResult<Option<Coordinator>>;
    /// How many leases an intent has had.
    fn coordinator_count(&mut self, intent: i64) -> RowsResult<usize>;
    /// The newest leases of an intent, at most `limit`, oldest first.
    fn coordinators(&mut self, intent: i64, limit: u32) -> RowsResult<Vec<(Coordinator, CoordinatorBody)>>;
    /// The leases at which the server is to look by this time, the earliest first, each with the row of its intent.
    fn due_coordinators(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<(i64, CoordinatorId)>>;
    /// The earliest time at which the server looks at a lease.
    fn next_coordinator(&mut self) -> RowsResult<Option<DateTime<Utc>>>;
}
