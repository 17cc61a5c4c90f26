//! The rows of the server's database, read and changed beside the server.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use uuid::Uuid;

/// An event, by the ids in its bytes.
#[derive(QueryableByName)]
pub(super) struct Sampled {
    #[diesel(sql_type = Text)]
    pub(super) intent: String,
    #[diesel(sql_type = Text)]
    pub(super) event: String,
}

#[derive(QueryableByName)]
struct Asked {
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// A connection of its own to the database.
pub(super) struct Rows {
    connection: SqliteConnection,
    random: ChaCha8Rng,
}

impl Rows {
    pub(super) fn open(file: &Path) -> Self {
        // Pages that are changed here keep their checksums.
        checksums::install();
        let mut connection = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
        connection.batch_execute("PRAGMA busy_timeout = 60000").unwrap();
        Self { connection, random: ChaCha8Rng::seed_from_u64(1) }
    }

    pub(super) fn change(&mut self, sql: &str) {
        self.connection.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// The result of a query for one `number`.
    pub(super) fn number(&mut self, sql: &str) -> i64 {
        diesel::sql_query(sql).get_result::<Number>(&mut self.connection).unwrap_or_else(|error| panic!("{sql}: {error}")).number
    }

    /// A number from 1 to `last`; all are as likely.
    pub(super) fn random(&mut self, last: i64) -> i64 {
        i64::try_from(self.random.next_u64() % u64::try_from(last).unwrap()).unwrap() + 1
    }

    /// So many events, at random over the whole table.
    pub(super) fn events(&mut self, count: usize) -> Vec<Sampled> {
        let last = self.number("SELECT max(rid) AS number FROM events");
        let sql = "SELECT json_extract(CAST(bytes AS TEXT), '$.intent_id') AS intent, json_extract(CAST(bytes AS TEXT), '$.id') AS event \
                   FROM events WHERE rid <= ? ORDER BY rid DESC LIMIT 1";
        let one = |_| {
            let rid = self.random(last);
            diesel::sql_query(sql).bind::<BigInt, _>(rid).get_result(&mut self.connection).unwrap()
        };
        (0..count).map(one).collect()
    }

    /// The ids of so many questions, at random over the whole table.
    pub(super) fn questions(&mut self, count: usize) -> Vec<Uuid> {
        let last = self.number("SELECT max(rid) AS number FROM suspensions");
        let sql = "SELECT id FROM suspensions WHERE rid <= ? ORDER BY rid DESC LIMIT 1";
        let one = |_| {
            let rid = self.random(last);
            let asked: Asked = diesel::sql_query(sql).bind::<BigInt, _>(rid).get_result(&mut self.connection).unwrap();
            Uuid::from_slice(&asked.id).unwrap()
        };
        (0..count).map(one).collect()
    }
}
