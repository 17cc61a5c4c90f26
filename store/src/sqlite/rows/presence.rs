//! The server's sign of life.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::Writing;
use crate::columns::PresenceColumns;
use crate::rows::{PresenceRow, ReadPresence, Restore, RowsResult, WritePresence};
use crate::schema::presence;
use crate::sql::At;

impl WritePresence for Writing<'_> {
    fn save_presence(&mut self, row: &PresenceRow) -> RowsResult<()> {
        let recovery = row.recovery;
        let columns = (
            presence::rid.eq(1),
            presence::beat_at.eq(At(row.beat_at)),
            presence::held_since.eq(row.restore.held_since().map(At)),
            presence::released.eq(row.restore == Restore::Released),
            presence::tokens_void_to.eq(row.tokens_void_to),
            presence::absent_from.eq(recovery.map(|recovery| At(recovery.from))),
            presence::absent_until.eq(recovery.map(|recovery| At(recovery.until))),
            presence::restored.eq(recovery.is_some_and(|recovery| recovery.restored)),
            presence::done_to.eq(recovery.map_or(0, |recovery| recovery.done_to)),
            presence::up_to.eq(recovery.map_or(0, |recovery| recovery.up_to)),
        );
        diesel::replace_into(presence::table).values(columns).execute(self.conn)?;
        Ok(())
    }
}

impl ReadPresence for SqliteConnection {
    /// Always true: the lock on the file keeps other servers away.
    fn is_alone(&mut self) -> RowsResult<bool> {
        Ok(true)
    }

    fn presence(&mut self) -> RowsResult<Option<PresenceRow>> {
        Ok(presence::table
            .find(1)
            .select(PresenceColumns::selection())
            .get_result::<PresenceColumns>(self)
            .optional()?
            .map(PresenceColumns::into_row))
    }
}
