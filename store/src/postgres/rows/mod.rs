//! Rows in one PostgreSQL transaction.

mod access;
mod alerts;
mod announcements;
mod answers;
mod assignments;
mod audit;
mod bytes;
mod coordinators;
mod departures;
mod drafts;
mod errands;
mod events;
mod graph;
pub(super) mod groups;
mod holds;
mod idempotency;
mod identities;
mod inbox;
mod intents;
mod keys;
mod leases;
mod outbox;
mod passkeys;
pub(super) mod people;
mod plans;
mod portfolios;
mod presence;
mod published;
mod receipts;
mod redactions;
mod retries;
mod server_log;
mod stops;
mod subscriptions;
mod suspensions;
mod tasks;
mod timers;
mod tokens;
pub(super) mod tree;
mod unsent;
mod wakes;

use crate::hub::Notice;
use crate::postgres::session::Session;
use crate::rows::{Rows, RowsResult, Table};

/// A session in one transaction, with the notices it will announce.
pub(crate) struct Writing<'a> {
    pub(super) session: &'a mut Session,
    pub(super) notices: &'a mut Vec<Notice>,
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
