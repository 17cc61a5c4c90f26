//! Receipts of decisions.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::ReceiptId;
use domain::intent::receipt::Standing;

use super::Writing;
use crate::columns::{ReceiptColumns, closed};
use crate::rows::{ReadReceipts, ReceiptRow, RowsResult, WriteReceipts};
use crate::schema::receipts;
use crate::sql::Key;

impl WriteReceipts for Writing<'_> {
    fn insert_receipt(&mut self, row: &ReceiptRow) -> RowsResult<()> {
        let values = (
            receipts::suspension.eq(row.suspension),
            receipts::id.eq(Key(row.id.0)),
            receipts::event.eq(row.event),
            receipts::statement.eq(&row.statement),
        );
        diesel::insert_into(receipts::table).values(values).execute(self.conn)?;
        Ok(())
    }

    fn close_receipt(&mut self, suspension: i64, standing: &Standing) -> RowsResult<bool> {
        let unused = receipts::table.find(suspension).filter(receipts::standing.eq(0));
        let (code, by, at) = closed(standing);
        let closed = (receipts::standing.eq(code), receipts::closed_by.eq(by), receipts::closed_at.eq(at));
        Ok(diesel::update(unused).set(closed).execute(self.conn)? == 1)
    }
}

impl ReadReceipts for SqliteConnection {
    fn receipt(&mut self, id: ReceiptId) -> RowsResult<Option<ReceiptRow>> {
        let row = receipts::table.filter(receipts::id.eq(Key(id.0))).select(ReceiptColumns::selection());
        row.first::<ReceiptColumns>(self).optional()?.map(ReceiptColumns::into_row).transpose()
    }

    fn receipt_of(&mut self, suspension: i64) -> RowsResult<Option<ReceiptRow>> {
        let row = receipts::table.find(suspension).select(ReceiptColumns::selection());
        row.first::<ReceiptColumns>(self).optional()?.map(ReceiptColumns::into_row).transpose()
    }
}
