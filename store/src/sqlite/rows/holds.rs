//! The legal holds in force.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::HoldId;
use domain::people::hold::Hold;

use super::Writing;
use crate::erasure_columns::{HoldColumns, hold_of};
use crate::rows::{ReadHolds, RowsResult, WriteHolds};
use crate::schema::holds;
use crate::sql::{At, Key, Said, Written};

impl WriteHolds for Writing<'_> {
    fn insert_hold(&mut self, hold: &Hold) -> RowsResult<()> {
        let values = (
            holds::id.eq(Key(hold.id.0)),
            holds::scope.eq(Written::of(&hold.scope)?),
            holds::reason.eq(Said(hold.reason.clone())),
            holds::placed_by.eq(&hold.placed_by),
            holds::placed_at.eq(At(hold.placed_at)),
        );
        diesel::insert_into(holds::table).values(values).execute(self.conn)?;
        Ok(())
    }

    fn delete_hold(&mut self, id: HoldId) -> RowsResult<()> {
        diesel::delete(holds::table.find(Key(id.0))).execute(self.conn)?;
        Ok(())
    }
}

impl ReadHolds for SqliteConnection {
    fn holds(&mut self) -> RowsResult<Vec<Hold>> {
        let all = holds::table.order((holds::placed_at, holds::id)).load::<HoldColumns>(self)?;
        Ok(all.into_iter().map(hold_of).collect())
    }
}
