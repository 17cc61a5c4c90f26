//! Rows in one SQLite transaction.

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
mod groups;
mod holds;
mod idempotency;
mod identities;
mod inbox;
mod intents;
mod keys;
mod leases;
mod outbox;
mod passkeys;
mod people;
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
mod tree;
mod unsent;
mod wakes;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use crate::hub::Notice;
use crate::rows::{Rows, RowsResult, Table};
use crate::schema;

/// The writer's connection in one transaction, with the row ids it assigns and the notices it will announce.
pub(crate) struct Writing<'a> {
    pub(super) conn: &'a mut SqliteConnection,
    pub(super) ids: &'a mut RowIds,
    pub(super) notices: &'a mut Vec<Notice>,
}

/// The highest row id of each table whose ids the writer assigns; it is the only writer of these tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowIds {
    intents: i64,
    events: i64,
    suspensions: i64,
    outbox: i64,
    tokens: i64,
}

impl RowIds {
    /// Reads the highest ids once, with one seek for each table.
    pub(super) fn load(conn: &mut SqliteConnection) -> QueryResult<Self> {
        use diesel::dsl::max;
        let read = |highest: Option<i64>| highest.unwrap_or(0);
        Ok(Self {
            intents: read(schema::intents::table.select(max(schema::intents::rid)).get_result(conn)?),
            events: read(schema::events::table.select(max(schema::events::rid)).get_result(conn)?),
            suspensions: read(schema::suspensions::table.select(max(schema::suspensions::rid)).get_result(conn)?),
            outbox: read(schema::outbox::table.select(max(schema::outbox::rid)).get_result(conn)?),
            tokens: read(schema::tokens::table.select(max(schema::tokens::rid)).get_result(conn)?),
        })
    }
}

impl Rows for Writing<'_> {
    type Reads = SqliteConnection;

    fn reads(&mut self) -> &mut SqliteConnection {
        self.conn
    }

    fn next(&mut self, table: Table) -> RowsResult<i64> {
        let counter = match table {
            Table::Intents => &mut self.ids.intents,
            Table::Events => &mut self.ids.events,
            Table::Suspensions => &mut self.ids.suspensions,
            Table::Outbox => &mut self.ids.outbox,
            Table::Tokens => &mut self.ids.tokens,
        };
        *counter += 1;
        Ok(*counter)
    }

    fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }
}
