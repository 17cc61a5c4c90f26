//! Changes rows behind a server's back, so that a test has rows that no present version of the program would leave.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::sql_types::{BigInt, Text};
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};

use crate::app::TestApp;
use crate::postgres::Cluster;

/// Runs SQL on a server's database, of either kind.
pub async fn change(app: &TestApp, sql: &str) {
    if let Some(scratch) = app.scratch() {
        return Cluster::of_this_process().sql(scratch.name(), sql).await;
    }
    change_file(&app.folder().join("placet.db"), sql);
}

/// Runs SQL on the SQLite database in a file, beside the server that uses it.
pub fn change_file(file: &Path, sql: &str) {
    let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    conn.batch_execute(&format!("PRAGMA busy_timeout = 5000; {sql}")).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The result of a query for one `number` on a server's database, of either kind.
pub async fn number(app: &TestApp, sql: &str) -> i64 {
    if let Some(scratch) = app.scratch() {
        return Cluster::of_this_process().number(scratch.name(), sql).await;
    }
    let file = app.folder().join("placet.db");
    let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    diesel::sql_query(sql).get_result::<Number>(&mut conn).unwrap().number
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// A SQLite database in memory that no program has touched yet.
pub struct Untouched(SqliteConnection);

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

impl Untouched {
    /// A new database, which disappears with this value.
    pub fn in_memory() -> Self {
        Self(SqliteConnection::establish(":memory:").unwrap())
    }

    /// Runs SQL.
    pub fn sql(&mut self, sql: &str) {
        self.0.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Whether the database refuses this SQL.
    pub fn refuses(&mut self, sql: &str) -> bool {
        self.0.batch_execute(&format!("BEGIN; {sql}")).is_err() && self.0.batch_execute("ROLLBACK").is_ok()
    }

    /// Asks for the texts of the column `line`.
    pub fn lines(&mut self, sql: &str) -> Vec<String> {
        let lines = diesel::sql_query(sql).load::<Line>(&mut self.0).unwrap();
        lines.into_iter().map(|line| line.line).collect()
    }
}
