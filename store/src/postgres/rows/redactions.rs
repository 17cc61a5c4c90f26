//! Erasures.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use domain::base::ids::IntentId;

use super::Writing;
use crate::erasure_columns::{RedactionColumns, redaction_of};
use crate::postgres::session::Session;
use crate::rows::redactions::{of_intent, of_replies, of_suspension};
use crate::rows::{Blanks, ReadRedactions, RedactionRow, RowsResult, WriteRedactions};
use crate::schema::{events, redactions};
use crate::tree_columns::signed;

const BLANKS: Blanks = Blanks { prose: "'\"\"'", bytes: "''", lease: "lease = NULL, leased_by = NULL" };

impl WriteRedactions for Writing<'_> {
    fn erase_event(&mut self, rid: i64, leaf: &[u8]) -> RowsResult<()> {
        diesel::update(events::table.find(rid)).set(events::bytes.eq(leaf)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn erase_suspension(&mut self, rid: i64) -> RowsResult<()> {
        Ok(self.session.conn()?.batch_execute(&of_suspension(rid, &BLANKS))?)
    }

    fn erase_intent(&mut self, rid: i64) -> RowsResult<()> {
        Ok(self.session.conn()?.batch_execute(&of_intent(rid, &BLANKS))?)
    }

    fn erase_replies(&mut self, intent: IntentId) -> RowsResult<()> {
        Ok(self.session.conn()?.batch_execute(&of_replies(intent))?)
    }

    fn insert_redaction(&mut self, row: &RedactionRow) -> RowsResult<()> {
        let values = (
            redactions::intent.eq(row.intent),
            redactions::last_sequence.eq(signed(row.last_sequence)?),
            redactions::first_sequence.eq(signed(row.first_sequence)?),
            redactions::previous.eq(row.previous),
            redactions::server_event.eq(signed(row.server_event)?),
        );
        diesel::insert_into(redactions::table).values(values).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadRedactions for Session {
    fn redactions(&mut self, intent: i64) -> RowsResult<Vec<RedactionRow>> {
        let found = redactions::table.filter(redactions::intent.eq(intent)).order(redactions::last_sequence.desc());
        found.load::<RedactionColumns>(self.conn()?)?.into_iter().map(redaction_of).collect()
    }
}
