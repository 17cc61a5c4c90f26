//! The database that everything is moved to. Until all rows are there and compared, it carries a mark that keeps servers away.

use std::io::Cursor;
use std::path::Path;
use std::pin::pin;

use anyhow::{Context, bail};
use domain::log::{Follower, Hash, Sealed};
use futures_util::{Sink, SinkExt, StreamExt};
use tokio::runtime::Handle;
use tokio_postgres::{Client, Row};

use super::chains::{Chains, Head, Link};
use super::source::Source;
use super::tables::{Form, TABLES, Table};
use crate::Schema;
use crate::host::task::spawn_named;
use crate::postgres::{Address, LIVING, NO_SERVER, dial, tables_for_filling};

/// The most rows in one COPY, which is also how many rows an interruption costs at most.
const BATCH_ROWS_MAX: u64 = 500;
/// The most bytes in one COPY, apart from the last row.
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// The most rows that are taken from the connection at once when the database is read back: the thread waits for each chunk, and
/// not for each row.
const READ_ROWS: usize = 256;
/// The advisory lock held while a database is filled, so that two moves do not fill it at once. No other code uses this number.
const FILLING_LOCK: i64 = 0x706c_6163_6d76; // "placmv"

/// Reads the events of each intent in the order of their predecessors (`previous`). That is also the order of the events
/// themselves: the rows of a file are numbered by age, so of two events the later one has the larger `previous`.
const LINKS: &str = "SELECT i.rid, i.last_event, i.last_sequence, i.last_hash, e.rid, e.bytes, e.hash \
                     FROM intents i LEFT JOIN events e ON e.intent = i.rid ORDER BY i.rid, coalesce(e.previous, 0)";

const SERVER_EVENTS: &str = "SELECT bytes, hash FROM server_events ORDER BY sequence";
/// Each event of each portfolio, with the end of the log as the portfolio's row names it.
const PORTFOLIO_EVENTS: &str = "SELECT p.rid, p.last_sequence, p.last_hash, e.bytes, e.hash \
                                FROM portfolios p LEFT JOIN portfolio_events e ON e.portfolio = p.rid ORDER BY p.rid, e.sequence";
const SERVER_LOG: &str = "SELECT last_sequence, last_hash FROM server_log";

/// The database, and the connection that fills it.
pub(super) struct Target {
    client: Client,
    address: Address,
    runtime: Handle,
}

/// The contents of the database before anything is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The database is empty.
    Empty,
    /// The rows of an interrupted move from the same file, which has not changed since.
    Half,
    /// The rows of an interrupted move whose file has changed since. They were deleted.
    Outdated,
    /// The rows of a database that is in use.
    Used,
}

impl Target {
    /// Connects, makes the tables of an empty database, and keeps other moves out.
    ///
    /// # Errors
    ///
    /// A database that cannot be used, is of another version, is filled by another process, or is served.
    pub(super) fn open(address: &Address) -> anyhow::Result<(Self, Schema)> {
        let runtime = Handle::current();
        let (client, wire) = runtime.block_on(dial(address))?;
        // The task ends with the client.
        drop(spawn_named("database-target", async move {
            if let Err(error) = wire.await {
                tracing::debug!(error = %error, "the connection to the target ended");
            }
        }));
        let target = Self { client, address: address.clone(), runtime };
        // Rows need not be on the disk before the file is marked as moved; until then a crash of PostgreSQL costs only time.
        target.run("SET statement_timeout = 0; SET synchronous_commit = off; SET bytea_output = 'hex'; SET TimeZone = 'UTC'")?;
        let ours: bool = target.ask("SELECT pg_try_advisory_lock($1)", &[&FILLING_LOCK])?.get(0);
        if !ours {
            bail!("another placet migrate fills {address} already");
        }
        let schema = tables_for_filling(address)?;
        target.refuse_if_served()?;
        Ok((target, schema))
    }

    /// Looks at the database, and marks it as being filled unless it is in use.
    ///
    /// # Errors
    ///
    /// The rows of an interrupted move from another file, or a server that has just started.
    pub(super) fn begin(&self, schema: &Schema, source: &Path, fingerprint: [u8; 32]) -> anyhow::Result<Found> {
        let (path, print) = (source.display().to_string(), fingerprint.to_vec());
        if *schema != Schema::Half {
            if !self.is_empty()? {
                return Ok(Found::Used);
            }
            self.check_columns()?;
            self.run("CREATE TABLE moving (source text NOT NULL, fingerprint bytea NOT NULL)")?;
            self.execute("INSERT INTO moving (source, fingerprint) VALUES ($1, $2)", &[&path, &print])?;
            // A server that starts at the same time takes its lock before it looks for this mark a last time. So at least one
            // of the two notices the other. If this process notices the server, it removes the mark, because the mark would
            // keep the next server out.
            if let Err(served) = self.refuse_if_served() {
                self.run("DROP TABLE moving")?;
                return Err(served);
            }
            return Ok(Found::Empty);
        }
        let mark = self.rows("SELECT source, fingerprint FROM moving")?;
        // The table has no row if the earlier move was interrupted between making the table and writing into it.
        let mark: (String, Vec<u8>) = mark.first().map_or_else(|| (path.clone(), Vec::new()), |row| (row.get(0), row.get(1)));
        if mark.0 != path {
            bail!(
                "{} holds the rows of an unfinished move from {}; finish that move, or drop and create the database: dropdb and \
                 createdb",
                self.address,
                mark.0
            );
        }
        if mark.1 == print {
            return Ok(Found::Half);
        }
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        self.run(&format!("TRUNCATE {}, moving", names.join(", ")))?;
        self.execute("INSERT INTO moving (source, fingerprint) VALUES ($1, $2)", &[&path, &print])?;
        Ok(Found::Outdated)
    }

    /// Whether all tables are empty.
    pub(super) fn is_empty(&self) -> anyhow::Result<bool> {
        for table in TABLES {
            if self.ask(&format!("SELECT EXISTS (SELECT FROM {})", table.name), &[])?.get(0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns once every row written so far survives a crash of the database: a synchronous commit makes
    /// all earlier ones durable.
    pub(super) fn make_durable(&self) -> anyhow::Result<()> {
        self.run("SET synchronous_commit = on; UPDATE moving SET source = source")
    }

    /// Whether the database carries the mark of a move from `source`.
    pub(super) fn is_half_of(&self, source: &Path) -> anyhow::Result<bool> {
        let mark = self.rows("SELECT source FROM moving")?;
        Ok(mark.first().is_some_and(|row| row.get::<_, String>(0) == source.display().to_string()))
    }

    /// How many rows a table has.
    pub(super) fn count(&self, table: &Table) -> anyhow::Result<u64> {
        let count: i64 = self.ask(&format!("SELECT count(*) FROM {}", table.name), &[])?.get(0);
        Ok(u64::try_from(count)?)
    }

    /// Writes a table's rows behind those that are there, in batches; calls `after` with the number of rows after each batch.
    pub(super) fn fill(&self, source: &mut Source, table: &Table, mut after: impl FnMut(u64)) -> anyhow::Result<()> {
        // Rows are always written in the same order, and a batch is written as a whole or not at all. So the number of rows
        // that are there says where to go on.
        let there = self.count(table)?;
        after(there);
        let (mut lines, mut rows) = (Vec::with_capacity(BATCH_BYTES_MAX + 64 * 1024), 0);
        source.lines(table, Form::Written, there, |line| {
            lines.extend_from_slice(line);
            rows += 1;
            if rows == BATCH_ROWS_MAX || lines.len() >= BATCH_BYTES_MAX {
                self.copy(table, std::mem::take(&mut lines))?;
                after(std::mem::take(&mut rows));
            }
            Ok(())
        })?;
        if rows > 0 {
            self.copy(table, lines)?;
            after(rows);
        }
        if let Some(sequence) = table.draws_from {
            let draw = format!("SELECT setval('{sequence}', max(rid)) FROM {} HAVING max(rid) IS NOT NULL", table.name);
            self.run(&draw)?;
        }
        Ok(())
    }

    fn copy(&self, table: &Table, lines: Vec<u8>) -> anyhow::Result<()> {
        let copied = self.runtime.block_on(async {
            let mut sink = pin!(self.client.copy_in::<_, Cursor<Vec<u8>>>(&table.write()).await?);
            send(&mut sink, Cursor::new(lines)).await?;
            sink.finish().await
        });
        copied.map(drop).with_context(|| format!("failed to write {} to {}", table.name, self.address))
    }

    /// Compares a table with the file's, row by row and to the last byte; calls `after` with the number of rows as it goes on.
    ///
    /// # Errors
    ///
    /// The first row that differs, by its position.
    pub(super) fn compare(&self, source: &mut Source, table: &Table, mut after: impl FnMut(u64)) -> anyhow::Result<()> {
        let unread = || format!("failed to read {} back from {}", table.name, self.address);
        let read = self.runtime.block_on(self.client.copy_out(&table.read_back())).with_context(unread)?;
        let mut read = pin!(read.ready_chunks(READ_ROWS));
        let (mut waiting, mut row) = (Vec::new().into_iter(), 0_u64);
        let mut next = || -> anyhow::Result<Option<_>> {
            loop {
                match waiting.next() {
                    Some(line) => return Ok(Some(line?)),
                    None => match self.runtime.block_on(read.next()) {
                        Some(chunk) => waiting = chunk.into_iter(),
                        None => return Ok(None),
                    },
                }
            }
        };
        source.lines(table, Form::ReadBack, 0, |expected| {
            row += 1;
            match next().with_context(unread)? {
                Some(found) if found == expected => {}
                Some(_) => bail!("row {row} of {} is not what it was in the file", table.name),
                None => bail!("{} ends after {} rows", table.name, row - 1),
            }
            if row.is_multiple_of(BATCH_ROWS_MAX) {
                after(BATCH_ROWS_MAX);
            }
            Ok(())
        })?;
        if row == 0 || !row.is_multiple_of(BATCH_ROWS_MAX) {
            after(row % BATCH_ROWS_MAX);
        }
        match next().with_context(unread)? {
            Some(_) => bail!("{} has more rows than the file", table.name),
            None => Ok(()),
        }
    }

    /// Recomputes every chain of events; calls `after` at each new intent. Returns how many chains there are.
    pub(super) fn verify_chains(&self, mut after: impl FnMut()) -> anyhow::Result<u64> {
        let none: [&str; 0] = [];
        let read = self.runtime.block_on(self.client.query_raw(LINKS, none)).context("failed to read events back")?;
        let mut read = pin!(read.ready_chunks(READ_ROWS));
        let (mut chains, mut intent) = (Chains::default(), None);
        while let Some(chunk) = self.runtime.block_on(read.next()) {
            for row in chunk {
                let link = link(&row.context("failed to read events back")?)?;
                if intent.replace(link.intent) != Some(link.intent) {
                    after();
                }
                chains.follow(&link)?;
            }
        }
        chains.finish()
    }

    /// Recomputes the chain of events of each portfolio.
    ///
    /// # Errors
    ///
    /// The first event that does not fit, or a chain that does not end where the portfolio says.
    pub(super) fn verify_portfolios(&self) -> anyhow::Result<()> {
        let none: [&str; 0] = [];
        let read = self.runtime.block_on(self.client.query_raw(PORTFOLIO_EVENTS, none)).context("failed to read events back")?;
        let mut read = pin!(read.ready_chunks(READ_ROWS));
        let mut open: Option<(i64, u64, Hash, Follower)> = None;
        while let Some(chunk) = self.runtime.block_on(read.next()) {
            for row in chunk {
                let row = row.context("failed to read events back")?;
                let portfolio: i64 = row.get(0);
                if open.as_ref().is_none_or(|(of, ..)| *of != portfolio) {
                    whole(open.take())?;
                    let head = (u64::try_from(row.get::<_, i64>(1))?, hash(row.get(2))?);
                    open = Some((portfolio, head.0, head.1, Follower::default()));
                }
                let (Some(bytes), Some(kept)) = (row.get::<_, Option<Vec<u8>>>(3), row.get::<_, Option<Vec<u8>>>(4)) else {
                    bail!("the log of portfolio {portfolio} is empty");
                };
                if let Some((.., followed)) = &mut open {
                    let sealed = Sealed { bytes, hash: hash(kept)? };
                    followed.follow(&sealed).with_context(|| format!("the log of portfolio {portfolio} is broken"))?;
                }
            }
        }
        whole(open)
    }

    /// Recomputes the server's own chain of events.
    ///
    /// # Errors
    ///
    /// The first event that does not fit, or a chain that does not end where the log's row says.
    pub(super) fn verify_server_chain(&self) -> anyhow::Result<()> {
        let none: [&str; 0] = [];
        let read = self.runtime.block_on(self.client.query_raw(SERVER_EVENTS, none)).context("failed to read events back")?;
        let mut read = pin!(read.ready_chunks(READ_ROWS));
        let mut followed = Follower::default();
        while let Some(chunk) = self.runtime.block_on(read.next()) {
            for row in chunk {
                let row = row.context("failed to read events back")?;
                let sealed = Sealed { bytes: row.get(0), hash: hash(row.get(1))? };
                followed.follow(&sealed).context("the server's own log is broken")?;
            }
        }
        let ends = self.rows(SERVER_LOG)?.first().map(|row| (row.get::<_, i64>(0), row.get::<_, Option<Vec<u8>>>(1)));
        let (length, last) = ends.unwrap_or_default();
        if u64::try_from(length)? != followed.length() || last.map(hash).transpose()? != followed.head() {
            bail!("the server's own log does not end where its row says");
        }
        Ok(())
    }

    /// Removes the mark: from now on servers may start. The same transaction lists the events that have no leaf yet; in the file these are
    /// the events with a higher row id than the last one with a leaf.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        self.refuse_if_served()?;
        // This commit also makes the rows durable, because their records come before it in PostgreSQL's log.
        self.run("SET synchronous_commit = on")?;
        self.run(
            "INSERT INTO unplaced SELECT 1, 0, rid FROM events WHERE rid > coalesce((SELECT max(events) FROM tree), 0) \
             ON CONFLICT DO NOTHING; DROP TABLE moving",
        )?;
        self.run("ANALYZE")
    }

    /// Fails if a server uses the database, because the move must have it alone.
    pub(super) fn refuse_if_served(&self) -> anyhow::Result<()> {
        let living: i64 = self.ask(LIVING, &[&NO_SERVER])?.get(0);
        if living > 0 {
            bail!("{} is in use by a running placet; stop it first", self.address);
        }
        Ok(())
    }

    /// Refuses a database that would not be filled whole, because it has an unknown column.
    fn check_columns(&self) -> anyhow::Result<()> {
        let columns = "SELECT table_name || '.' || column_name FROM information_schema.columns \
                       WHERE table_schema = current_schema() AND table_name <> '__diesel_schema_migrations'";
        let held: Vec<String> = self.rows(columns)?.iter().map(|row| row.get(0)).collect();
        let names = |table: &Table| -> Vec<String> {
            table.columns.iter().map(|column| format!("{}.{}", table.name, column.name)).collect()
        };
        let known: Vec<String> = TABLES.iter().flat_map(names).collect();
        match held.iter().find(|held| !known.contains(held)) {
            Some(unknown) => bail!("this version does not know the column {unknown} and cannot move it"),
            None => Ok(()),
        }
    }

    fn run(&self, sql: &str) -> anyhow::Result<()> {
        self.runtime.block_on(self.client.batch_execute(sql)).with_context(|| format!("failed to use {}", self.address))
    }

    fn execute(&self, sql: &str, values: &[&(dyn tokio_postgres::types::ToSql + Sync)]) -> anyhow::Result<()> {
        let done = self.runtime.block_on(self.client.execute(sql, values));
        done.map(drop).with_context(|| format!("failed to use {}", self.address))
    }

    fn rows(&self, sql: &str) -> anyhow::Result<Vec<Row>> {
        self.runtime.block_on(self.client.query(sql, &[])).with_context(|| format!("failed to use {}", self.address))
    }

    fn ask(&self, sql: &str, values: &[&(dyn tokio_postgres::types::ToSql + Sync)]) -> anyhow::Result<Row> {
        self.runtime.block_on(self.client.query_one(sql, values)).with_context(|| format!("failed to use {}", self.address))
    }
}

/// Sends one item.
async fn send<T>(
    sink: &mut std::pin::Pin<&mut impl Sink<T, Error = tokio_postgres::Error>>,
    item: T,
) -> Result<(), tokio_postgres::Error> {
    sink.as_mut().send(item).await
}

fn hash(bytes: Vec<u8>) -> anyhow::Result<Hash> {
    Ok(Hash(bytes.try_into().ok().context("a hash of the wrong length")?))
}

/// Checks that the log of a portfolio ends where its row says.
fn whole(open: Option<(i64, u64, Hash, Follower)>) -> anyhow::Result<()> {
    let Some((portfolio, length, last, followed)) = open else { return Ok(()) };
    if followed.length() != length || followed.head() != Some(last) {
        bail!("the log of portfolio {portfolio} does not end where the portfolio says");
    }
    Ok(())
}

fn link(row: &Row) -> anyhow::Result<Link> {
    let head = Head { event: row.get(1), sequence: u64::try_from(row.get::<_, i64>(2))?, hash: hash(row.get(3))? };
    let event = match (row.get::<_, Option<i64>>(4), row.get::<_, Option<Vec<u8>>>(5), row.get::<_, Option<Vec<u8>>>(6)) {
        (Some(rid), Some(bytes), Some(kept)) => Some((rid, Sealed { bytes, hash: hash(kept)? })),
        _ => None,
    };
    Ok(Link { intent: row.get(0), head, event })
}
