//! Rows in one PostgreSQL transaction.

mod bytes;
mod departures;
mod events;
mod idempotency;
mod intents;
mod keys;
mod leases;
mod outbox;
mod presence;
mod suspensions;
mod timers;
mod tokens;

use serde_json::Value;

use crate::hub::Notice;
use crate::postgres::session::Session;
use crate::rows::{Rows, RowsResult, Table};

/// A session in one transaction, with what it will announce.
pub(crate) struct Writing<'a> {
    pub(super) session: &'a mut Session,
    pub(super) notices: &'a mut Vec<Notice>,
}

fn json(value: &impl serde::Serialize) -> RowsResult<Value> {
    Ok(serde_json::to_value(value)?)
}

fn json_option<T: serde::Serialize>(value: Option<&T>) -> RowsResult<Option<Value>> {
    value.map(json).transpose()
}

impl Rows for Writing<'_> {
    type Reads = Session;

    fn reads(&mut self) -> &mut Session {
        self.session
    }

    fn next(&mut self, table: Table) -> RowsResult<i64> {
        self.session.next(table)
    }

    fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }
}
