//! The mark in a file whose data was moved to another database.

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::sqlite::SqliteConnection;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

/// The name of the database to which the data of a file was moved, if it was.
pub(crate) fn moved_to(conn: &mut SqliteConnection) -> anyhow::Result<Option<String>> {
    let marks = "SELECT name AS line FROM sqlite_master WHERE type = 'table' AND name = 'moved'";
    if diesel::sql_query(marks).load::<Line>(conn)?.is_empty() {
        return Ok(None);
    }
    Ok(diesel::sql_query("SELECT moved_to AS line FROM moved").get_result::<Line>(conn).optional()?.map(|mark| mark.line))
}
