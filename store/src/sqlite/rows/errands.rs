//! The lists of errands.

use chrono::{DateTime, Utc};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::intent::fate::Fate;

use super::Writing;
use crate::errand_columns::{ERRAND, ErrandColumns, errand_row, listed_errands, reads_of_errands, writes_of_errands};
use crate::rows::{Code, Decided, ErrandRow, ListedErrands, ReadErrands, RowsResult, WriteErrands};
use crate::schema::{errands, intents};
use crate::sql::At;

impl WriteErrands for Writing<'_> {
    writes_of_errands!(self, self.conn);

    fn whole_or_nothing<T>(&mut self, work: impl FnOnce(&mut Self) -> Decided<T>) -> Decided<T> {
        // An error would roll the whole batch back, and each of its jobs would have to be written alone.
        let (ids, notices) = (*self.ids, self.notices.len());
        self.conn.batch_execute("SAVEPOINT whole")?;
        let done = work(self)?;
        if done.is_err() {
            self.conn.batch_execute("ROLLBACK TO whole")?;
            *self.ids = ids;
            self.notices.truncate(notices);
        }
        self.conn.batch_execute("RELEASE whole")?;
        Ok(done)
    }
}

impl ReadErrands for SqliteConnection {
    reads_of_errands!(self, self);
}
