//! The file that everything is moved from. During the move no program writes to it, and afterwards no server
//! starts on it by mistake.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use chrono::{DateTime, Utc};
use diesel::connection::{DefaultLoadingMode, SimpleConnection};
use diesel::deserialize::{self, QueryableByName};
use diesel::prelude::*;
use diesel::row::{Field, NamedRow, Row};
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::{Sqlite, SqliteConnection, SqliteType};
use domain::base::time::micros;
use sha2::{Digest, Sha256};

use super::tables::{Cell, Form, TABLES, Table};
use crate::Schema;
use crate::sqlite::{connect, lock, moved_to, schema, url_of};

/// The file, locked against servers, inside one transaction that keeps every other writer out. `mark_moved` ends the transaction.
pub(super) struct Source {
    conn: SqliteConnection,
    path: PathBuf,
    /// The name of the database to which an earlier run has moved all data, if one has.
    moved_to: Option<String>,
    _lock: File,
}

/// A row as SQLite gives it, whatever its columns are.
struct Cells(Vec<Cell>);

impl QueryableByName<Sqlite> for Cells {
    fn build<'a>(row: &impl NamedRow<'a, Sqlite>) -> deserialize::Result<Self> {
        let cells = (0..Row::field_count(row)).map(|index| {
            let field = Row::get(row, index).ok_or("a row is shorter than it said")?;
            let Some(mut value) = field.value() else { return Ok(Cell::Nothing) };
            Ok(match value.value_type() {
                None => Cell::Nothing,
                Some(SqliteType::Text) => Cell::Text(value.read_text().to_owned()),
                Some(SqliteType::Binary) => Cell::Bytes(value.read_blob().to_owned()),
                Some(SqliteType::Float | SqliteType::Double) => Cell::Fraction(value.read_double()),
                Some(SqliteType::SmallInt | SqliteType::Integer | SqliteType::Long) => Cell::Whole(value.read_long()),
            })
        });
        Ok(Self(cells.collect::<deserialize::Result<_>>()?))
    }
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

impl Source {
    /// Opens the file, and keeps servers and every other writer out.
    ///
    /// # Errors
    ///
    /// The file is missing or of another version, a server uses it, or another command writes to it.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        if !path.exists() {
            bail!("there is no database at {}", path.display());
        }
        let path = path.canonicalize().with_context(|| format!("failed to open {}", path.display()))?;
        let lock = lock(&path)?;
        let unusable = || format!("failed to read {}; check that you may read and write it", path.display());
        let mut conn = connect(&url_of(&path)?).with_context(unusable)?;
        conn.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA synchronous = FULL;").with_context(unusable)?;
        match schema(&mut conn).with_context(unusable)? {
            Schema::Current => {}
            Schema::Empty => bail!("{} is empty; there is nothing to move", path.display()),
            Schema::Foreign => bail!("{} holds the tables of another program", path.display()),
            Schema::Older(_) => bail!(
                "{} was written by an older placet; start this version on it once and stop it again, so that its tables are those of \
                 this version",
                path.display()
            ),
            Schema::Newer(migration) => {
                bail!("{} was written by a newer placet (migration {migration}); use that version", path.display())
            }
            Schema::Half => bail!("{} is being filled by another `placet migrate`, which has not finished", path.display()),
        }
        // A key that is made during the move would be missing after it. So a command that makes a key is told that the database
        // is locked.
        conn.batch_execute("BEGIN IMMEDIATE").with_context(|| {
            format!("failed to keep others from writing to {}; does another placet command use it?", path.display())
        })?;
        let moved_to = moved_to(&mut conn)?;
        check_columns(&mut conn)?;
        Ok(Self { conn, path, moved_to, _lock: lock })
    }

    /// The path of the file, without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the database to which an earlier run has moved all data, if one has.
    pub(super) fn moved_to(&self) -> Option<&str> {
        self.moved_to.as_deref()
    }

    /// How many rows a table has.
    pub(super) fn count(&mut self, table: &Table) -> anyhow::Result<u64> {
        let count = diesel::sql_query(format!("SELECT count(*) AS count FROM {}", table.name));
        Ok(u64::try_from(count.get_result::<Count>(&mut self.conn)?.count)?)
    }

    /// Calls `each` once for every row after the first `skip` rows, and keeps no row in memory. `each` gets the row as one line
    /// in the form `form`.
    pub(super) fn lines(
        &mut self,
        table: &Table,
        form: Form,
        skip: u64,
        mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut line = Vec::new();
        let rows = diesel::sql_query(table.read(skip));
        for row in rows.load_iter::<Cells, DefaultLoadingMode>(&mut self.conn)? {
            line.clear();
            table.line(&row?.0, form, &mut line)?;
            each(&line)?;
        }
        Ok(())
    }

    /// A hash that changes with every run of a server on this file, and with every command that makes a key.
    pub(super) fn fingerprint(&mut self) -> anyhow::Result<[u8; 32]> {
        let mut digest = Sha256::new();
        for table in TABLES {
            digest.update(self.count(table)?.to_be_bytes());
            if table.tells_runs_apart {
                self.lines(table, Form::Written, 0, |line| {
                    digest.update(line);
                    Ok(())
                })?;
            }
        }
        Ok(digest.finalize().into())
    }

    /// Marks the file, so that no server starts on it any more. A server on the file and a server on the new database would not
    /// know of each other, and both would decide the same questions.
    pub(super) fn mark_moved(mut self, to: &str, now: DateTime<Utc>) -> anyhow::Result<()> {
        let marked = || format!("failed to mark {} as moved", self.path.display());
        let make = "CREATE TABLE moved (moved_to TEXT NOT NULL, moved_at BIGINT NOT NULL)";
        self.conn.batch_execute(make).with_context(marked)?;
        let mark = diesel::sql_query("INSERT INTO moved (moved_to, moved_at) VALUES (?, ?)");
        mark.bind::<Text, _>(to).bind::<BigInt, _>(micros(now)).execute(&mut self.conn).with_context(marked)?;
        self.conn.batch_execute("COMMIT").with_context(marked)
    }
}

/// Refuses a file that would not be moved whole, because it has an unknown column.
fn check_columns(conn: &mut SqliteConnection) -> anyhow::Result<()> {
    let columns = "SELECT m.name || '.' || c.name AS line FROM sqlite_master m, pragma_table_info(m.name) c \
                   WHERE m.type = 'table' AND m.name NOT IN ('__diesel_schema_migrations', 'moved') AND m.name NOT LIKE 'sqlite_%'";
    let held = diesel::sql_query(columns).load::<Line>(conn)?;
    let known: Vec<String> = TABLES
        .iter()
        .flat_map(|table| {
            table
                .columns
                .iter()
                .filter(|column| table.in_sqlite(column) == column.name)
                .map(|column| format!("{}.{}", table.name, column.name))
        })
        .collect();
    match held.iter().find(|held| !known.contains(&held.line)) {
        Some(unknown) => bail!("this version does not know the column {} and cannot move it", unknown.line),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::host::clock::{SystemClock, SystemEntropy};
    use crate::sqlite::{Exclusive, SqliteStore};
    use crate::{Store, Surroundings};

    /// Every table and column of a new file is in [`TABLES`], because a table that is missing there would be left behind.
    #[tokio::test]
    async fn every_table_and_column_of_a_new_file_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("placet.db");
        let surroundings = Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
        SqliteStore::open(&path, Exclusive::Serve, surroundings).unwrap().close().await;
        let mut source = Source::open(&path).unwrap();
        for table in TABLES {
            assert_eq!(source.count(table).unwrap(), 0, "{}", table.name);
            source.lines(table, Form::Written, 0, |_| Ok(())).unwrap();
        }
        source.conn.batch_execute("ALTER TABLE events ADD COLUMN new TEXT").unwrap();
        let refused = check_columns(&mut source.conn).unwrap_err().to_string();
        assert!(refused.contains("events.new"), "{refused}");
    }
}
