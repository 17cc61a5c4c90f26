//! The lists of errands.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::intent::fate::Fate;

use super::Writing;
use crate::errand_columns::{ERRAND, ErrandColumns, errand_row, listed_errands, reads_of_errands, writes_of_errands};
use crate::postgres::session::Session;
use crate::rows::{Code, Decided, ErrandRow, ListedErrands, ReadErrands, RowsError, RowsResult, WriteErrands};
use crate::schema::{errands, intents};
use crate::sql::At;

impl WriteErrands for Writing<'_> {
    writes_of_errands!(self, self.session.conn()?);

    fn whole_or_nothing<T>(&mut self, work: impl FnOnce(&mut Self) -> Decided<T>) -> Decided<T> {
        // The transaction has no other work, so all of it may be rolled back.
        work(self)?.map(Ok).map_err(|rejection| RowsError::Refused(Box::new(rejection)))
    }
}

impl ReadErrands for Session {
    reads_of_errands!(self, self.conn()?);
}
