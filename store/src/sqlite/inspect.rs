//! Looks at a database file without changing anything: no file is made, no lock is kept, no table is migrated.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::sqlite::SqliteConnection;

use super::file::{beside, connect, url_of};
use super::mark::moved_to;
use super::migrate::known_migrations;
use crate::inspection::{Directory, Gateway, KeyOfLog};
use crate::rows::prelude::*;
use crate::schema::{api_keys, events, presence, secrets, tree};
use crate::sql::At;
use crate::{Inspection, PRODUCTION_MARK, Schema};

/// The first bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The place in the header that says how the file is written, and its value for a write-ahead log.
const WRITE_VERSION: (usize, u8) = (18, 2);

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

/// Looks at the file, and reads the secret named `secret`.
///
/// # Errors
///
/// A file that cannot be read or is no SQLite database.
pub fn inspect(path: &Path, secret: &str) -> anyhow::Result<Inspection> {
    let mut seen = Inspection::of(Schema::Empty);
    // If there is a log, this process may hold locks on the file, and the process loses all these locks when it closes any handle
    // of the file. So if there is a log, SQLite is asked, below, and the file is not opened here.
    let has_log = beside(path, "-wal").exists();
    if !has_log {
        let Some(header) = header(path)? else { return Ok(seen) };
        seen.write_ahead = header[WRITE_VERSION.0] == WRITE_VERSION.1;
    }
    let mut conn = open(path)?;
    seen.damage = damage(&mut conn).with_context(|| format!("{} is no SQLite database", path.display()))?;
    if has_log {
        let mode = diesel::sql_query("SELECT journal_mode AS line FROM pragma_journal_mode").get_result::<Line>(&mut conn)?;
        seen.write_ahead = mode.line == "wal";
    }
    seen.schema = schema(&mut conn)?;
    if matches!(seen.schema, Schema::Older(_) | Schema::Current) {
        seen.moved_to = moved_to(&mut conn)?;
        let newest = events::table.order(events::rid.desc()).select(events::created_at);
        seen.last_event = newest.first::<At>(&mut conn).optional()?.map(|at| at.0);
        seen.keys = api_keys::table.filter(api_keys::revoked_at.is_null()).count().get_result(&mut conn)?;
        let kept: Option<Vec<u8>> = secrets::table.find(secret).select(secrets::value).first(&mut conn).optional()?;
        seen.secret = kept.and_then(|kept| kept.try_into().ok());
        let mark = secrets::table.find(PRODUCTION_MARK).select(secrets::name).first::<String>(&mut conn).optional()?;
        seen.was_in_production = mark.is_some();
    }
    if seen.schema == Schema::Current {
        let held = presence::table.select(presence::held_since).first::<Option<At>>(&mut conn).optional()?;
        seen.held_since = held.flatten().map(|at| at.0);
        seen.beat_at = presence::table.select(presence::beat_at).first::<At>(&mut conn).optional()?.map(|at| at.0);
        seen.gateways = Gateway::among(conn.keys().context("failed to read the keys")?);
        seen.log_key = conn.log_keys().context("failed to read the keys of the log")?.pop().map(KeyOfLog::from);
        let size = tree::table.find(1).select(tree::size).first::<i64>(&mut conn).optional()?;
        seen.tree_size = Some(u64::try_from(size.unwrap_or_default())?);
        let people = conn.people().context("failed to read the people")?;
        seen.directory = Some(Directory { people, groups: conn.groups().context("failed to read the groups")? });
    }
    Ok(seen)
}

/// The version of SQLite that is compiled in.
pub fn version() -> anyhow::Result<String> {
    let mut conn = SqliteConnection::establish(":memory:").context("failed to start SQLite")?;
    Ok(diesel::sql_query("SELECT sqlite_version() AS line").get_result::<Line>(&mut conn)?.line)
}

/// The first bytes of a database that no program has open; `None` if the file is empty.
fn header(path: &Path) -> anyhow::Result<Option<[u8; 100]>> {
    let mut file = File::open(path).with_context(|| format!("failed to open {}", path.display()))?;
    if file.metadata()?.len() == 0 {
        return Ok(None);
    }
    let mut header = [0; 100];
    file.read_exact(&mut header).with_context(|| format!("{} is no SQLite database", path.display()))?;
    if !header.starts_with(MAGIC) {
        bail!("{} is no SQLite database", path.display());
    }
    Ok(Some(header))
}

fn open(path: &Path) -> anyhow::Result<SqliteConnection> {
    let url = url_of(&path.canonicalize()?)?;
    let (escaped, mut mode) = (escaped(&url), "mode=ro");
    if !beside(path, "-wal").exists() {
        // No program has the file open. Only `immutable` keeps SQLite from making the files of the write-ahead log just to read.
        mode = "mode=ro&immutable=1";
    }
    let mut conn =
        connect(&format!("file:{escaped}?{mode}")).with_context(|| format!("failed to open {} for reading", path.display()))?;
    conn.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;")?;
    Ok(conn)
}

/// A path in the form in which it stands in SQLite's URIs.
fn escaped(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

fn damage(conn: &mut SqliteConnection) -> anyhow::Result<Option<String>> {
    #[derive(QueryableByName)]
    struct Check {
        #[diesel(sql_type = Text)]
        quick_check: String,
    }
    let said = diesel::sql_query("PRAGMA quick_check(1)").get_result::<Check>(conn)?.quick_check;
    Ok((said != "ok").then_some(said))
}

pub(crate) fn schema(conn: &mut SqliteConnection) -> anyhow::Result<Schema> {
    let tables = diesel::sql_query("SELECT name AS line FROM sqlite_master WHERE type = 'table'").load::<Line>(conn)?;
    if !tables.iter().any(|table| table.line == "__diesel_schema_migrations") {
        return Ok(if tables.is_empty() { Schema::Empty } else { Schema::Foreign });
    }
    let applied = diesel::sql_query("SELECT version AS line FROM __diesel_schema_migrations").load::<Line>(conn)?;
    let known = known_migrations()?;
    if let Some(newer) = applied.iter().find(|applied| !known.contains(&applied.line)) {
        return Ok(Schema::Newer(newer.line.clone()));
    }
    Ok(match known.len() - applied.len() {
        0 => Schema::Current,
        missing => Schema::Older(missing),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compiled SQLite is at least 3.50.7 (of the series 3.50) or 3.51.3. In older versions, two programs on one database can
    /// lose commits when the write-ahead log begins anew. It is enough to run `placet keys` while a server runs.
    #[test]
    fn the_compiled_sqlite_resets_its_log_without_a_loss() {
        let version = version().unwrap();
        let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
        let first_mended: [u32; 3] = if parts[..2] == [3, 50] { [3, 50, 7] } else { [3, 51, 3] };
        assert!(parts[..] >= first_mended[..], "{version}");
    }
}
