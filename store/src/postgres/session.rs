//! A connection with its state between and inside transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{QueryFragment, QueryId};
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::async_connection_wrapper::BlockOn;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use domain::base::clock::Clock;
use domain::base::ids::IntentId;
use domain::base::time::{from_micros, micros};
use futures_util::future::{BoxFuture, join_all};

use super::connection::{Connection, Pump};
use super::prefetched::Prefetched;
use super::proof::Proof;
use super::statements as hot;
use crate::columns::{IntentColumns, SuspensionColumns};
use crate::rows::{IntentRow, RowsError, RowsResult, SuspensionRow, Table};
use crate::sql::Key;

/// How many ids the sequences of `events` and `tokens` give at a time; the migration that makes them has the same number.
const BLOCK: i64 = 64;

/// A reply that takes longer than this, in microseconds, is late.
const LATE_MICROS: i64 = 500_000;
/// The most writes that wait to be sent together.
const WAITING_MAX: usize = 128;

/// How rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// As they are in one snapshot.
    Snapshot,
    /// As they are now, after waiting for other transactions on the same intent. The rows then stay unchanged until the reading
    /// transaction ends.
    Locking,
}

/// The database's clock, as the last transaction of this server saw it. The watch for clock jumps compares it with the time since
/// boot, as it would compare this machine's wall clock.
pub(super) struct DatabaseClock {
    clock: Arc<dyn Clock>,
    /// Whether the database's time was seen. Before that, the time is this machine's, which may differ from the database's.
    is_known: AtomicBool,
    /// How far the database's clock is ahead of the time since boot, in microseconds.
    lead: AtomicI64,
}

impl DatabaseClock {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let boot = clock.since_boot().map_or(0, whole_micros);
        let lead = AtomicI64::new(micros(clock.now()) - boot);
        Self { clock, is_known: AtomicBool::new(false), lead }
    }

    /// Notes the database's time; `asked` is when the database was asked for it. A reply that took long makes the time look
    /// earlier than it is, so a late reply never sets the clock back.
    fn saw(&self, time: DateTime<Utc>, asked: i64) {
        let boot = self.clock.since_boot().map_or(0, whole_micros);
        let lead = micros(time) - boot;
        let was_known = self.is_known.swap(true, Ordering::Relaxed);
        if was_known && boot - asked > LATE_MICROS && lead < self.lead.load(Ordering::Relaxed) {
            return;
        }
        self.lead.store(lead, Ordering::Relaxed);
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> DateTime<Utc> {
        let boot = self.clock.since_boot().map_or(0, whole_micros);
        from_micros(self.lead.load(Ordering::Relaxed) + boot)
    }

    fn since_boot(&self) -> Option<Duration> {
        self.clock.since_boot().filter(|_| self.is_known.load(Ordering::Relaxed))
    }
}

fn whole_micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// The time inside a transaction: the database's time at the transaction's first statement, or when it last locked a row.
///
/// The time is read after the lock, so that an answer that waited for another command is dated after that command. In this way
/// several servers on one database have one clock. A test's clock ignores the database's time and keeps its own.
pub(super) struct TransactionClock {
    micros: AtomicI64,
    /// When the database was last asked for the time, in microseconds since boot.
    asked: AtomicI64,
    clock: Arc<dyn Clock>,
    database: Arc<DatabaseClock>,
}

impl TransactionClock {
    /// Notes that the database is asked for the time now.
    pub(super) fn asks(&self) {
        self.asked.store(self.clock.since_boot().map_or(0, whole_micros), Ordering::Relaxed);
    }

    /// Notes the database's time: at the beginning of a transaction, and once a row is locked.
    pub(super) fn saw(&self, time: DateTime<Utc>) {
        self.micros.store(micros(self.clock.agreed(time)), Ordering::Relaxed);
        self.database.saw(self.now(), self.asked.load(Ordering::Relaxed));
    }

    /// The time that a transaction beginning now will find, as far as can be told without asking the database.
    pub(super) fn expected(&self) -> DateTime<Utc> {
        self.database.now()
    }
}

impl Clock for TransactionClock {
    fn now(&self) -> DateTime<Utc> {
        from_micros(self.micros.load(Ordering::Relaxed))
    }
}

/// Row ids a connection has taken and not used yet.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    next: i64,
    end: i64,
}

/// A write whose result no code asks for.
trait Later: Send {
    fn send(self: Box<Self>, conn: &AsyncPgConnection) -> BoxFuture<'_, QueryResult<usize>>;
}

impl<S: QueryFragment<Pg> + QueryId + Send + 'static> Later for S {
    fn send(self: Box<Self>, conn: &AsyncPgConnection) -> BoxFuture<'_, QueryResult<usize>> {
        let mut conn = conn;
        diesel_async::RunQueryDsl::execute(*self, &mut conn)
    }
}

/// A write that waits to be sent.
struct Waiting {
    write: Box<dyn Later>,
    /// The error if the write changes no row; `None` if it is no error that the write changes no row.
    unless_changed: Option<&'static str>,
}

/// A connection with its state.
pub(crate) struct Session {
    pub(super) conn: Connection,
    pub(super) pump: Pump,
    pub(super) time: Arc<TransactionClock>,
    /// The number of this server among the servers on the database.
    pub(super) server: i32,
    pub(super) mode: Mode,
    /// The version of the presence this transaction has read.
    pub(super) presence_version: Option<i64>,
    /// The row by which this transaction differs from another one that gets the same number after a crash.
    pub(super) proof: Option<Proof>,
    /// The intents this transaction has locked: rows that belong to them cannot change while it runs.
    pub(super) locked: Vec<i64>,
    /// Rows that were read before they were asked for.
    pub(super) prefetched: Prefetched,
    /// Writes that are sent before the next read, all in one trip to the database.
    waiting: Vec<Waiting>,
    events: Block,
    tokens: Block,
}

impl Session {
    pub(super) fn new(
        (conn, pump): (Connection, Pump),
        server: i32,
        clock: Arc<dyn Clock>,
        database: Arc<DatabaseClock>,
    ) -> Self {
        let time = Arc::new(TransactionClock { micros: AtomicI64::new(0), asked: AtomicI64::new(0), clock, database });
        let (events, tokens) = (Block::default(), Block::default());
        Self {
            conn,
            pump,
            time,
            server,
            mode: Mode::Snapshot,
            presence_version: None,
            proof: None,
            locked: Vec::new(),
            prefetched: Prefetched::default(),
            waiting: Vec::new(),
            events,
            tokens,
        }
    }

    /// Forgets the state of the previous transaction.
    pub(super) fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.presence_version = None;
        self.proof = None;
        self.locked.clear();
        self.prefetched.clear();
        self.waiting.clear();
    }

    /// The connection, after all waiting writes have been sent: no read misses a write that was made before it.
    pub(super) fn conn(&mut self) -> RowsResult<&mut Connection> {
        self.flush()?;
        Ok(&mut self.conn)
    }

    /// Queues a write, which is sent before the next read or the commit at the latest. If `unless_changed` is given and the write
    /// changes no row, another transaction was first, and this one fails with that text.
    pub(super) fn later(
        &mut self,
        write: impl QueryFragment<Pg> + QueryId + Send + 'static,
        unless_changed: Option<&'static str>,
    ) -> RowsResult<()> {
        self.waiting.push(Waiting { write: Box::new(write), unless_changed });
        if self.waiting.len() == WAITING_MAX { self.flush() } else { Ok(()) }
    }

    /// Sends the waiting writes, in order and in one trip to the database.
    pub(super) fn flush(&mut self) -> RowsResult<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        let meanings: Vec<_> = waiting.iter().map(|waiting| waiting.unless_changed).collect();
        let conn: &AsyncPgConnection = &self.conn;
        // The write polled first is sent first.
        let sent = join_all(waiting.into_iter().map(|waiting| waiting.write.send(conn)));
        for (changed, meaning) in self.pump.block_on(sent).into_iter().zip(meanings) {
            // The first failure is the cause; the ones behind it say only that the transaction has failed.
            if changed? == 0
                && let Some(why) = meaning
            {
                return Err(overtaken(why));
            }
        }
        Ok(())
    }

    /// Begins a transaction that writes, reads the time, and returns the transaction's number, in one trip to the database.
    pub(super) fn begin(&mut self) -> QueryResult<String> {
        self.time.asks();
        let mut conn: &AsyncPgConnection = &self.conn;
        let mut first = conn;
        let begun = async {
            let opened = SimpleAsyncConnection::batch_execute(&mut first, "BEGIN");
            let asked = diesel_async::RunQueryDsl::get_result::<(DateTime<Utc>, String)>(hot::Begin, &mut conn);
            // The statement polled first is sent first.
            futures_util::try_join!(opened, asked)
        };
        let ((), (time, number)) = self.pump.block_on(begun)?;
        self.time.saw(time);
        Ok(number)
    }

    /// The next row id of a table. Ids that a rolled back transaction had taken are never given again.
    pub(super) fn next(&mut self, table: Table) -> RowsResult<i64> {
        let (sequence, block) = match table {
            Table::Intents => ("intents_rid", None),
            Table::Suspensions => ("suspensions_rid", None),
            Table::Outbox => ("outbox_rid", None),
            Table::Events => ("events_rid", Some(&mut self.events)),
            Table::Tokens => ("tokens_rid", Some(&mut self.tokens)),
        };
        let drawn = hot::NextRid { sequence: sequence.to_owned() };
        let Some(block) = block else { return Ok(drawn.get_result(&mut self.conn)?) };
        if block.next == block.end {
            block.next = drawn.get_result(&mut self.conn)?;
            block.end = block.next + BLOCK;
        }
        block.next += 1;
        Ok(block.next - 1)
    }

    /// Whether this transaction holds a lock that other transactions have to wait for.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.locked.is_empty()
    }

    /// Takes a lock and then runs a query, in one trip to the database. They are two statements, so the query sees what the
    /// previous holder of the lock has written.
    pub(super) fn behind<'q, Q, T>(&mut self, lock: hot::LockKey, query: Q) -> RowsResult<Option<T>>
    where
        Q: for<'c> diesel_async::methods::LoadQuery<'q, &'c AsyncPgConnection, T> + 'q,
        T: Send,
    {
        self.flush()?;
        let mut conn: &AsyncPgConnection = &self.conn;
        let mut first = conn;
        let asked = async {
            let locked = diesel_async::RunQueryDsl::execute(lock, &mut first);
            let found = diesel_async::RunQueryDsl::get_result::<T>(query, &mut conn);
            // The statement polled first is sent first.
            futures_util::join!(locked, found)
        };
        let (locked, found) = self.pump.block_on(asked);
        locked?;
        Ok(found.optional()?)
    }

    /// Locks an intent, and waits until no other transaction holds it.
    pub(super) fn lock(&mut self, rid: i64) -> RowsResult<IntentRow> {
        let found = hot::LockIntentAt { rid }.get_result::<(IntentColumns, DateTime<Utc>)>(self.conn()?)?;
        self.locked_now(found)
    }

    /// Notes that an intent was locked, and when.
    pub(super) fn locked_now(&mut self, (columns, time): (IntentColumns, DateTime<Utc>)) -> RowsResult<IntentRow> {
        let row = columns.into_row()?;
        self.time.saw(time);
        self.locked.push(row.rid);
        Ok(row)
    }

    /// A suspension as it is now: a row that was read before its intent was locked is read again.
    pub(super) fn settled(&mut self, row: SuspensionRow) -> RowsResult<SuspensionRow> {
        if self.mode == Mode::Snapshot || self.locked.contains(&row.intent) {
            return Ok(row);
        }
        self.lock(row.intent)?;
        let (columns, intent) = hot::SelectSuspensionAt { rid: row.rid }.get_result::<(SuspensionColumns, Key)>(self.conn()?)?;
        columns.into_row(IntentId(intent.0))
    }
}

/// Makes an error like that of a violated unique index, which means that another transaction was first. After this error the unit
/// of work is run again, and sees what the other transaction wrote.
pub(super) fn overtaken(why: &str) -> RowsError {
    RowsError::Database(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, Box::new(why.to_owned())))
}
