//! Looks at a database without changing anything: no table is made, no row is written.

use anyhow::Context;
use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Timestamptz};
use domain::base::clock::Clock;

use super::address::Address;
use super::connection::connect;
use super::migrate::{check_version, schema};
use super::rows;
use crate::columns::KeyColumns;
use crate::host::clock::SystemClock;
use crate::inspection::{Directory, Gateway, KeyOfLog};
use crate::schema::{api_keys, events, presence, secrets, tree};
use crate::sql::At;
use crate::{Inspection, PRODUCTION_MARK, Schema};

/// Facts about a database, and about the PostgreSQL server that holds it.
#[derive(Debug)]
pub struct Examination {
    pub inspection: Inspection,
    /// How far the server's clock is ahead of this machine's.
    pub ahead: TimeDelta,
    /// Connections that the server can still give.
    pub connections_free: i64,
    /// Whether a commit survives a power failure.
    pub durable: bool,
    /// Whether the server compares each page with a checksum.
    pub has_checksums: bool,
}

#[derive(QueryableByName)]
struct Server {
    #[diesel(sql_type = Timestamptz)]
    now: DateTime<Utc>,
    #[diesel(sql_type = BigInt)]
    connections_free: i64,
    #[diesel(sql_type = Bool)]
    durable: bool,
    #[diesel(sql_type = Bool)]
    has_checksums: bool,
}

const SERVER: &str = "SELECT clock_timestamp() AS now, \
     current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint \
     - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections_free, \
     current_setting('fsync')::boolean AND current_setting('full_page_writes')::boolean AS durable, \
     current_setting('data_checksums')::boolean AS has_checksums";

/// Looks at the database, and reads the secret named `secret`.
///
/// # Errors
///
/// A database that cannot be reached or is too old.
pub async fn examine(address: &Address, secret: &'static str) -> anyhow::Result<Examination> {
    let address = address.clone();
    let looked = tokio::task::spawn_blocking(move || look(&address, secret)).await;
    looked.context("the database's thread has ended")?
}

/// Whether the database is empty: no server has ever made its tables there.
///
/// # Errors
///
/// A database that cannot be reached or is too old.
pub(crate) async fn is_empty(address: &Address) -> anyhow::Result<bool> {
    let address = address.clone();
    let looked = tokio::task::spawn_blocking(move || {
        let (mut conn, _pump) = connect(&address)?;
        check_version(&mut conn, &address)?;
        Ok::<_, anyhow::Error>(schema(&mut conn)? == Schema::Empty)
    });
    looked.await.context("the database's thread has ended")?
}

fn look(address: &Address, secret: &str) -> anyhow::Result<Examination> {
    let (mut conn, _pump) = connect(address)?;
    check_version(&mut conn, address)?;
    let before = SystemClock.now();
    let server = diesel::sql_query(SERVER).get_result::<Server>(&mut conn)?;
    let ahead = server.now - (before + (SystemClock.now() - before) / 2);
    let mut seen = Inspection::of(schema(&mut conn)?);
    seen.write_ahead = true;
    if matches!(seen.schema, Schema::Older(_) | Schema::Current) {
        let newest = events::table.order(events::rid.desc()).select(events::created_at);
        seen.last_event = newest.first::<At>(&mut conn).optional()?.map(|at| at.0);
        seen.keys = api_keys::table.filter(api_keys::revoked_at.is_null()).count().get_result(&mut conn)?;
        let held_since = presence::table.find(1).select(presence::held_since).first::<Option<At>>(&mut conn).optional()?;
        seen.held_since = held_since.flatten().map(|at| at.0);
        let kept: Option<Vec<u8>> = secrets::table.find(secret).select(secrets::value).first(&mut conn).optional()?;
        seen.secret = kept.and_then(|kept| kept.try_into().ok());
        let mark = secrets::table.find(PRODUCTION_MARK).select(secrets::name).first::<String>(&mut conn).optional()?;
        seen.was_in_production = mark.is_some();
    }
    if seen.schema == Schema::Current {
        let beat_at = presence::table.find(1).select(presence::beat_at).first::<At>(&mut conn).optional()?;
        seen.beat_at = beat_at.map(|at| at.0);
        let keys = api_keys::table.order(api_keys::rid).select(KeyColumns::selection()).load::<KeyColumns>(&mut conn)?;
        seen.gateways = Gateway::among(keys.into_iter().map(KeyColumns::into_view).collect::<Result<_, _>>()?);
        seen.log_key = rows::tree::log_keys(&mut conn)?.pop().map(KeyOfLog::from);
        let size = tree::table.find(1).select(tree::size).first::<i64>(&mut conn).optional()?;
        seen.tree_size = Some(u64::try_from(size.unwrap_or_default())?);
        seen.directory = Some(Directory { people: rows::people::all(&mut conn)?, groups: rows::groups::all(&mut conn)? });
    }
    Ok(Examination {
        inspection: seen,
        ahead,
        connections_free: server.connections_free,
        durable: server.durable,
        has_checksums: server.has_checksums,
    })
}
