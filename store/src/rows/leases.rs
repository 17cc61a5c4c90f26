//! Leases of agents.

use domain::suspension::lease::Lease;

use super::error::RowsResult;

/// Writes leases, in one transaction.
pub(crate) trait WriteLeases {
    fn save_lease(&mut self, intent: i64, lease: &Lease) -> RowsResult<()>;
}

/// Reads leases, inside a transaction that writes or outside.
pub(crate) trait ReadLeases {
    /// The leases of an intent that were not released.
    fn leases(&mut self, intent: i64) -> RowsResult<Vec<Lease>>;
}
