//! The lists of errands.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::intent::fate::Fate;

use super::Writing;
use crate::errand_columns::{ERRAND, ErrandColumns, errand_row, listed_errands, reads_of_errands, writes_of_errands};
use crate::postgres::session::Session;
use crate::rows::{Code, ErrandRow, ListedErrands, ReadErrands, RowsResult, WriteErrands};
use crate::schema::{errands, intents};
use crate::sql::At;

impl WriteErrands for Writing<'_> {
    writes_of_errands!(self, self.session.conn()?);
}

impl ReadErrands for Session {
    reads_of_errands!(self, self.conn()?);
}
