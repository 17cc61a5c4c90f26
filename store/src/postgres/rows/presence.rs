//! The servers' sign of life, and what a server knows of the others.

use diesel::prelude::*;
use diesel::sql_types::Timestamptz;

use super::Writing;
use crate::columns::PresenceColumns;
use crate::postgres::session::{Session, overtaken};
use crate::postgres::statements as hot;
use crate::rows::{PresenceRow, ReadPresence, Restore, RowsResult, WritePresence};
use crate::schema::presence;
use crate::sql::At;

impl WritePresence for Writing<'_> {
    fn save_presence(&mut self, row: &PresenceRow) -> RowsResult<()> {
        let recovery = row.recovery;
        let columns = (
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
        let Some(version) = self.session.presence_version else {
            let first = (presence::rid.eq(1), presence::version.eq(1_i64), columns);
            diesel::insert_into(presence::table).values(first).execute(self.session.conn()?)?;
            self.session.presence_version = Some(1);
            return Ok(());
        };
        let as_read = presence::table.find(1).filter(presence::version.eq(version));
        let next = (presence::version.eq(version + 1), columns);
        if diesel::update(as_read).set(next).execute(self.session.conn()?)? == 0 {
            return Err(overtaken("another server left a sign of life meanwhile"));
        }
        self.session.presence_version = Some(version + 1);
        Ok(())
    }
}

impl ReadPresence for Session {
    fn look_at_the_clock(&mut self) -> RowsResult<()> {
        self.time.asks();
        let now = diesel::select(diesel::dsl::sql::<Timestamptz>("clock_timestamp()")).get_result(&mut self.conn)?;
        self.time.saw(now);
        Ok(())
    }

    fn is_alone(&mut self) -> RowsResult<bool> {
        let server = self.server;
        Ok(hot::SelectAlone { server }.get_result(self.conn()?)?)
    }

    fn presence(&mut self) -> RowsResult<Option<PresenceRow>> {
        let found = presence::table.find(1).select((PresenceColumns::selection(), presence::version));
        let found = found.first::<(PresenceColumns, i64)>(self.conn()?).optional()?;
        // Every server reads this row and none locks it: a write succeeds only if no other server has written the row meanwhile.
        self.presence_version = found.as_ref().map(|(_, version)| *version);
        Ok(found.map(|(columns, _)| columns.into_row()))
    }
}
