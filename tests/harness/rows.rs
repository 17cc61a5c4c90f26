//! Rows as no program of today would have left them: changed behind a server's back.

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

use crate::app::TestApp;
use crate::postgres::Cluster;

/// Runs SQL on a server's database, whichever it is.
pub async fn change(app: &TestApp, sql: &str) {
    if let Some(scratch) = app.scratch() {
        return Cluster::of_this_process().sql(scratch.name(), sql).await;
    }
    let file = app.folder().join("placet.db");
    let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    conn.batch_execute(&format!("PRAGMA busy_timeout = 5000; {sql}")).unwrap();
}
