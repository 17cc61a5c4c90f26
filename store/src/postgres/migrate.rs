//! Finds out which program's tables a database holds, and makes or updates the tables of this program.

use anyhow::{Context, bail};
use diesel::connection::{Connection as _, SimpleConnection};
use diesel::migration::{Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::address::Address;
use super::connection::{Connection, connect};
use crate::Schema;
use crate::host::kill_points::{self, Point};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../migrations/postgres");

/// The oldest PostgreSQL that the server supports, in the form of `server_version_num`.
const VERSION_MIN: i32 = 140_000;
/// The advisory lock held while tables are changed, so that servers that start together change them once. No
/// other code uses this number.
const MIGRATION_LOCK: i64 = 0x706c_6163_6574; // "placet"

/// A position in `published` is the number of a transaction plus an offset. Rows may have come from another cluster whose
/// transactions have higher numbers. In that case this statement raises the offset, so that new rows follow those rows. In a
/// database that never got rows from another cluster it changes nothing, because transaction numbers only grow.
const RAISE_POSITIONS: &str = "SELECT setval('published_offset', position + 1 - pg_snapshot_xmax(pg_current_snapshot())::text::bigint) \
     FROM (SELECT position FROM published ORDER BY position DESC, rid DESC LIMIT 1) AS newest \
     WHERE position >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint + (SELECT last_value FROM published_offset)";

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = Integer)]
    number: i32,
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

/// Connects, and makes or changes the tables where that is needed. Call it only on a blocking thread.
///
/// # Errors
///
/// A database that cannot be reached, is too old, holds another program's tables, or was written by a newer version of this one.
pub(super) fn prepare(address: &Address) -> anyhow::Result<()> {
    let (mut conn, _pump) = connect(address)?;
    check_version(&mut conn, address)?;
    prepare_tables(&mut conn, address)?;
    conn.batch_execute(RAISE_POSITIONS).context("failed to raise the positions of events")
}

fn prepare_tables(conn: &mut Connection, address: &Address) -> anyhow::Result<()> {
    match schema(conn)? {
        Schema::Current => Ok(()),
        Schema::Foreign => bail!(
            "{address} holds the tables of another program; make a database for placet alone: createdb --owner={} placet",
            address.user()
        ),
        Schema::Newer(migration) => {
            bail!("{address} was written by a newer placet (migration {migration}); use that version or restore a backup")
        }
        Schema::Half => bail!(is_half(address)),
        Schema::Empty | Schema::Older(_) => make(conn, address),
    }
}

/// The message about a database that `placet migrate` has not finished filling.
pub(super) fn is_half(address: &Address) -> String {
    format!(
        "{address} is being filled by `placet migrate`, which has not finished; run that command again, it goes on where it ended"
    )
}

/// Makes the tables of an empty database that is about to be filled; returns the schema that was found.
/// Call it only on a blocking thread.
///
/// # Errors
///
/// As [`prepare`]; also tables of an older version, because a command that fills a database should not change its tables.
pub(crate) fn tables_for_filling(address: &Address) -> anyhow::Result<Schema> {
    let (mut conn, _pump) = connect(address)?;
    check_version(&mut conn, address)?;
    let found = schema(&mut conn)?;
    match found {
        Schema::Empty => make(&mut conn, address)?,
        Schema::Half if applied(&mut conn)?.len() == known()?.len() => {}
        Schema::Half | Schema::Older(_) => {
            bail!("{address} holds the tables of an older placet; drop and create the database: dropdb and createdb")
        }
        Schema::Current | Schema::Foreign | Schema::Newer(_) => prepare(address)?,
    }
    Ok(found)
}

fn make(conn: &mut Connection, address: &Address) -> anyhow::Result<()> {
    run(conn).with_context(|| format!("failed to make the tables of {address}; may {} create tables?", address.user()))
}

pub(super) fn check_version(conn: &mut Connection, address: &Address) -> anyhow::Result<()> {
    let version = "SELECT current_setting('server_version_num')::integer AS number";
    let version = diesel::sql_query(version).get_result::<Number>(conn)?.number;
    match too_old(version) {
        Some(why) => bail!("{address} is {why}"),
        None => Ok(()),
    }
}

/// The complaint about a PostgreSQL that is too old; `version` has the form of `server_version_num`.
fn too_old(version: i32) -> Option<String> {
    let oldest = VERSION_MIN / 10_000;
    (version < VERSION_MIN).then(|| format!("PostgreSQL {}; placet needs {oldest} or newer", version / 10_000))
}

/// Finds out which tables the database holds, and changes nothing.
pub(super) fn schema(conn: &mut Connection) -> anyhow::Result<Schema> {
    let tables = "SELECT tablename::text AS line FROM pg_tables WHERE schemaname = current_schema()";
    let tables = diesel::sql_query(tables).load::<Line>(conn)?;
    if !tables.iter().any(|table| table.line == "__diesel_schema_migrations") {
        return Ok(if tables.is_empty() { Schema::Empty } else { Schema::Foreign });
    }
    let applied = applied(conn)?;
    let known = known()?;
    if applied.is_empty() {
        // After an interrupted first start this is the only table, because all the others are made in one transaction. If there
        // are others, another program made them.
        return Ok(if tables.len() == 1 { Schema::Empty } else { Schema::Foreign });
    }
    if !applied.iter().any(|applied| known.contains(applied)) {
        return Ok(Schema::Foreign);
    }
    if let Some(newer) = applied.iter().find(|applied| !known.contains(applied)) {
        return Ok(Schema::Newer(newer.clone()));
    }
    if tables.iter().any(|table| table.line == "moving") {
        return Ok(Schema::Half);
    }
    Ok(match known.len() - applied.len() {
        0 => Schema::Current,
        missing => Schema::Older(missing),
    })
}

fn applied(conn: &mut Connection) -> anyhow::Result<Vec<String>> {
    let applied = diesel::sql_query("SELECT version::text AS line FROM __diesel_schema_migrations").load::<Line>(conn)?;
    Ok(applied.into_iter().map(|applied| applied.line).collect())
}

fn known() -> anyhow::Result<Vec<String>> {
    let migrations: Vec<Box<dyn Migration<Pg>>> = MIGRATIONS.migrations().map_err(|error| anyhow::anyhow!(error))?;
    Ok(migrations.iter().map(|migration| migration.name().version().to_string()).collect())
}

fn run(conn: &mut Connection) -> anyhow::Result<()> {
    // These limits are for the statements of requests. Making an index may take longer, and this server may have to wait
    // while another one makes the tables.
    conn.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0")?;
    conn.transaction(|conn| {
        diesel::sql_query("SELECT pg_advisory_xact_lock($1)").bind::<BigInt, _>(MIGRATION_LOCK).execute(conn)?;
        conn.run_pending_migrations(MIGRATIONS).map_err(|error| anyhow::anyhow!(error))?;
        kill_points::reached(Point::WithinMigration);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_older_than_the_oldest_is_named() {
        assert_eq!(too_old(130_022).unwrap(), "PostgreSQL 13; placet needs 14 or newer");
        assert_eq!((too_old(140_000), too_old(170_002)), (None, None));
    }
}
