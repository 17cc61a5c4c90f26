//! Receipts of decisions.

use domain::base::ids::ReceiptId;
use domain::intent::receipt::Standing;

use super::error::RowsResult;

/// A receipt's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceiptRow {
    /// The row of the suspension that was decided.
    pub(crate) suspension: i64,
    pub(crate) id: ReceiptId,
    /// The event that made the receipt.
    pub(crate) event: i64,
    /// The signed statement, without its proof; empty if it was erased.
    pub(crate) statement: Vec<u8>,
    pub(crate) standing: Standing,
}

impl ReceiptRow {
    /// Whether the decision was erased, and the receipt with it.
    pub(crate) fn is_erased(&self) -> bool {
        self.statement.is_empty()
    }
}

/// Writes receipts, in one transaction.
pub(crate) trait WriteReceipts {
    fn insert_receipt(&mut self, row: &ReceiptRow) -> RowsResult<()>;
    /// Notes that the receipt was used or revoked; false if it was so before.
    fn close_receipt(&mut self, suspension: i64, standing: &Standing) -> RowsResult<bool>;
}

/// Reads receipts, inside a transaction that writes or outside.
pub(crate) trait ReadReceipts {
    fn receipt(&mut self, id: ReceiptId) -> RowsResult<Option<ReceiptRow>>;
    /// The receipt of the suspension in this row.
    fn receipt_of(&mut self, suspension: i64) -> RowsResult<Option<ReceiptRow>>;
}
