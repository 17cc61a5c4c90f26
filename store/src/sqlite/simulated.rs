//! The store of the simulator: the production rows and units of work, on a database in memory, without threads.
//!
//! [`Scheduler`] decides what happens to a transaction and how long it takes; wherever the store awaits the scheduler, the
//! simulated process may be stopped. The store has no writer's thread, queue or group commits: other tests cover those.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use diesel::connection::SimpleConnection;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use diesel::{Connection, QueryResult, RunQueryDsl};
use domain::asking::pressing::Pressing;
use domain::base::clock::Clock;
use domain::base::ids::Entropy;
use domain::suspension::channel::Channels;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::migrate::migrate;
use super::rows::{RowIds, Writing};
use super::writer::classify;
use crate::allowance::Allowance;
use crate::backend::Backend;
use crate::host::clock_watch::ClockWatch;
use crate::hub::{Hub, Notice};
use crate::observer::Unobserved;
use crate::rows::prelude::*;
use crate::rows::{Decided, PresenceRow, Restore, RowsError, RowsResult, WritePresence};
use crate::surroundings::Env;
use crate::{StoreError, Unit};

/// The tables in an order in which they can be emptied.
const TABLES: [&str; 66] = [
    "tree",
    "tree_tiles",
    "tree_runs",
    "checkpoints",
    "witnesses",
    "log_keys",
    "server_events",
    "server_log",
    "departures",
    "places",
    "agent_bytes",
    "bounces",
    "presence",
    "receipts",
    "redactions",
    "holds",
    "stops",
    "wakes",
    "wake_posts",
    "suspension_traces",
    "suspension_keys",
    "idempotency",
    "timers",
    "outbox",
    "tokens",
    "leases",
    "tasks",
    "plans",
    "coordinators",
    "retries",
    "assignments",
    "access_entries",
    "access_requests",
    "announcements",
    "client_ids",
    "graph_edges",
    "completions",
    "published",
    "portfolio_members",
    "portfolio_events",
    "portfolios",
    "views",
    "counted_answers",
    "inbox",
    "answered",
    "unsent_answers",
    "drafts",
    "alerts",
    "errands",
    "passkeys",
    "identities",
    "openid_logins",
    "sessions",
    "logins",
    "people_group_members",
    "people_groups",
    "people",
    "api_keys",
    "secrets",
    "suspensions",
    "events",
    "intent_bodies",
    "intents",
    // Last, see `copy`.
    "unplaced",
    "temp.fault",
    "temp.written",
];
/// The tables whose written rows are listed in `temp.written`, so that a test can look at each of them.
const WATCHED: [&str; 3] = ["intents", "suspensions", "outbox"];

/// The tables of the server.
fn kept_tables() -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().filter(|table| !table.contains('.'))
}

/// The fate of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The transaction is committed, and its caller hears of it.
    Committed,
    /// The transaction never begins.
    Refused,
    /// The disk fails after this number of written rows (0 or more), if the transaction writes more; nothing is left behind.
    BrokenAfter(u32),
    /// The transaction is committed or not, and its caller does not hear which.
    Unheard { applied: bool },
}

/// The end of one transaction, reported at once: nothing else has run since.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The unit of work, named like the method of the store.
    pub unit: &'static str,
    pub fate: Fate,
    /// Whether the transaction only reads.
    pub reads: bool,
    pub committed: bool,
    /// Whether the rules of the domain refused the command.
    pub refused: bool,
}

/// Decides the fate of the transactions of a simulated store.
pub trait Scheduler: Send + Sync {
    /// Resolves when a transaction has its turn.
    fn turn(&self, unit: &'static str) -> BoxFuture<'_, Fate>;
    /// Reports that a transaction has ended, before its caller hears of it.
    fn ended(&self, ended: Ended);
    /// Resolves when the caller of the transaction hears of its end.
    fn heard(&self) -> BoxFuture<'_, ()>;
}

/// Everything that outlives a simulated process: a database in memory, and the row ids given out.
pub struct SimulatedDatabase(Mutex<Engine>);

struct Engine {
    conn: SqliteConnection,
    ids: RowIds,
}

impl SimulatedDatabase {
    /// Makes an empty database with all tables.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub fn new() -> anyhow::Result<Self> {
        let mut conn = SqliteConnection::establish(":memory:")?;
        conn.batch_execute("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;")?;
        migrate(&mut conn)?;
        // While this table has a row, each row that a transaction writes counts `rows_left` down; below 0 the disk fails.
        conn.batch_execute("CREATE TEMP TABLE fault (rows_left INTEGER NOT NULL);")?;
        for table in kept_tables() {
            for verb in ["INSERT", "UPDATE", "DELETE"] {
                conn.batch_execute(&format!(
                    "CREATE TEMP TRIGGER fault_{verb}_{table} BEFORE {verb} ON main.{table} WHEN EXISTS (SELECT 1 FROM fault) BEGIN \
                     UPDATE fault SET rows_left = rows_left - 1; \
                     SELECT RAISE(ABORT, 'disk I/O error') FROM fault WHERE rows_left < 0; END;"
                ))?;
            }
        }
        // Lists the rows written since the list was last emptied; a transaction that is rolled back removes its own rows from the
        // list.
        conn.batch_execute(
            "CREATE TEMP TABLE written (place TEXT NOT NULL, rid INTEGER NOT NULL, PRIMARY KEY (place, rid)) WITHOUT ROWID;",
        )?;
        for table in WATCHED {
            for (verb, row) in [("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")] {
                conn.batch_execute(&format!(
                    "CREATE TEMP TRIGGER written_{verb}_{table} AFTER {verb} ON main.{table} BEGIN \
                     INSERT OR IGNORE INTO written VALUES ('{table}', {row}.rid); END;"
                ))?;
            }
        }
        // Holds the backup: the same tables, without their constraints.
        conn.batch_execute("ATTACH ':memory:' AS backup;")?;
        for table in kept_tables() {
            conn.batch_execute(&format!("CREATE TABLE backup.{table} AS SELECT * FROM main.{table} WHERE false"))?;
        }
        let ids = RowIds::load(&mut conn)?;
        Ok(Self(Mutex::new(Engine { conn, ids })))
    }

    /// Copies every row into the backup, in the place of the earlier backup.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub fn back_up(&self) -> anyhow::Result<()> {
        self.copy("main", "backup")
    }

    /// Replaces all rows with those of the backup.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub fn restore(&self) -> anyhow::Result<()> {
        self.copy("backup", "main")?;
        let mut engine = self.engine();
        let engine = &mut *engine;
        engine.ids = RowIds::load(&mut engine.conn)?;
        Ok(())
    }

    fn copy(&self, from: &str, to: &str) -> anyhow::Result<()> {
        let conn = &mut self.engine().conn;
        // Rows that refer to each other are copied one after the other, so references are not checked meanwhile.
        conn.batch_execute("PRAGMA foreign_keys = OFF")?;
        for table in kept_tables() {
            conn.batch_execute(&format!("DELETE FROM {to}.{table}"))?;
        }
        // A trigger adds a row to `unplaced` for each event that is copied. So `unplaced` is copied last, and emptied again before.
        for table in kept_tables() {
            conn.batch_execute(&format!("DELETE FROM {to}.{table}; INSERT INTO {to}.{table} SELECT * FROM {from}.{table};"))?;
        }
        conn.batch_execute("PRAGMA foreign_keys = ON")?;
        Ok(())
    }

    /// Empties every table.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub fn clear(&self) -> anyhow::Result<()> {
        let mut engine = self.engine();
        let engine = &mut *engine;
        for table in TABLES {
            engine.conn.batch_execute(&format!("DELETE FROM {table}"))?;
        }
        engine.ids = RowIds::load(&mut engine.conn)?;
        Ok(())
    }

    /// The rows of a query with one text column; `number`, if given, is appended to the query.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub fn lines(&self, query: &str, number: Option<i64>) -> anyhow::Result<Vec<String>> {
        Lines { query, number }.load(&mut self.engine().conn).with_context(|| query.to_owned())
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        // A panic inside a transaction ends the simulated run; the next one begins with an empty database.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A query of a test that looks at the rows. It is prepared once: some queries run after every transaction.
#[derive(Clone, Copy)]
struct Lines<'a> {
    query: &'a str,
    number: Option<i64>,
}

impl QueryId for Lines<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Sqlite> for Lines<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(self.query);
        self.number.iter().try_for_each(|number| out.push_bind_param::<BigInt, i64>(number))
    }
}

impl Query for Lines<'_> {
    type SqlType = Text;
}

impl RunQueryDsl<SqliteConnection> for Lines<'_> {}

/// The connection of one simulated process to the database.
pub struct SimulatedStore {
    database: Arc<SimulatedDatabase>,
    clock: Arc<dyn Clock>,
    watch: Arc<ClockWatch>,
    channels: Channels,
    entropy: Arc<dyn Entropy>,
    scheduler: Arc<dyn Scheduler>,
    hub: Hub,
}

impl SimulatedStore {
    /// Opens the database as a starting process does.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub fn open(
        database: Arc<SimulatedDatabase>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        channels: Channels,
        scheduler: Arc<dyn Scheduler>,
    ) -> anyhow::Result<Self> {
        {
            let mut engine = database.engine();
            let engine = &mut *engine;
            engine.ids = RowIds::load(&mut engine.conn)?;
        }
        let watch = Arc::new(ClockWatch::new(clock.clone()));
        Ok(Self { database, clock, watch, channels, entropy, scheduler, hub: Hub::new(Arc::new(Unobserved)) })
    }

    /// Whether the next run of the deadline loop does more than leave a sign of life, although no timer is due.
    ///
    /// # Errors
    ///
    /// An error of the database.
    pub fn must_turn(&self) -> anyhow::Result<bool> {
        let is_set = !self.watch.is_steady() || self.watch.has_stepped();
        let goes_on = |presence: PresenceRow| match presence.restore {
            // While a restored database waits for its release, the loop handles neither a step of the clock nor an earlier
            // absence.
            Restore::Held { .. } => false,
            Restore::Released => true,
            Restore::Over => is_set || presence.recovery.is_some(),
        };
        Ok(self.database.engine().conn.presence()?.is_none_or(goes_on))
    }

    /// Leaves the sign of life that an idle deadline loop would have left by now. Returns false, and leaves none, while a
    /// restored database waits for its release.
    ///
    /// # Errors
    ///
    /// An error of the database.
    pub fn turned_meanwhile(&self) -> anyhow::Result<bool> {
        let mut engine = self.database.engine();
        let Engine { conn, ids } = &mut *engine;
        let is_held = |presence: &PresenceRow| presence.restore.held_since().is_some();
        let Some(presence) = conn.presence()?.filter(|presence| !is_held(presence)) else { return Ok(false) };
        if let Some(now) = self.watch.since_boot() {
            self.watch.turned(now);
        }
        let beat = PresenceRow { beat_at: self.clock.now(), ..presence };
        Writing { conn, ids, notices: &mut Vec::new() }.save_presence(&beat)?;
        Ok(true)
    }

    /// Runs one transaction without a break.
    fn transact<T>(
        &self,
        fate: Fate,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T>,
    ) -> Result<(T, Vec<Notice>), RowsError> {
        let mut engine = self.database.engine();
        let Engine { conn, ids } = &mut *engine;
        let before = *ids;
        let allowance = &Allowance::unlimited();
        let env = Env {
            clock: &*self.clock,
            watch: &self.watch,
            entropy: &*self.entropy,
            channels: &self.channels,
            pressing: Pressing::OFF,
            allowance,
            rules: &[],
            wakes: &[],
            site: None,
            traced: false,
        };
        if let Fate::BrokenAfter(rows) = fate {
            conn.batch_execute(&format!("INSERT INTO fault VALUES ({rows})"))?;
        }
        let mut notices = Vec::new();
        conn.batch_execute("BEGIN IMMEDIATE")?;
        let mut done = work(&mut Writing { conn: &mut *conn, ids: &mut *ids, notices: &mut notices }, &env);
        if fate == (Fate::Unheard { applied: false }) {
            done = Err(RowsError::Database(diesel::result::Error::RollbackTransaction));
        }
        if done.is_ok() {
            conn.batch_execute("COMMIT")?;
        } else {
            *ids = before;
            conn.batch_execute("ROLLBACK")?;
        }
        if let Fate::BrokenAfter(_) = fate {
            conn.batch_execute("DELETE FROM fault")?;
        }
        done.map(|done| (done, notices))
    }

    /// Waits until the scheduler lets the transaction run, runs it, and waits until its caller may hear of its end.
    async fn run<T>(
        &self,
        unit: &'static str,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T>,
        is_refused: impl Fn(&T) -> bool,
    ) -> Result<T, StoreError> {
        let fate = self.scheduler.turn(unit).await;
        if fate == Fate::Refused {
            self.scheduler.heard().await;
            return Err(StoreError::Unavailable("database is locked".into()));
        }
        let done = self.transact(fate, work);
        let refused = done.as_ref().is_ok_and(|(done, _)| is_refused(done));
        self.scheduler.ended(Ended { unit, fate, reads: false, committed: done.is_ok(), refused });
        if let Ok((_, notices)) = &done {
            self.hub.announce(notices);
        }
        self.scheduler.heard().await;
        if let Fate::Unheard { .. } = fate {
            return Err(StoreError::Unavailable("the writer stopped before it answered".into()));
        }
        done.map(|(done, _)| done).map_err(|error| classify(&error))
    }
}

impl Backend for SimulatedStore {
    type Reads = SqliteConnection;
    type Rows<'a> = Writing<'a>;

    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    fn watch(&self) -> &Arc<ClockWatch> {
        &self.watch
    }

    fn announcements(&self) -> &Hub {
        &self.hub
    }

    fn prove(&self) -> Unit<'_, ()> {
        self.write("probe", |_, _| Ok(()))
    }

    /// This store has no queue to finish.
    fn finish(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn finished(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }

    fn write<T: Send + 'static>(
        &self,
        unit: &'static str,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        self.run(unit, work, |_| false).boxed()
    }

    fn decide<T: Send + 'static>(
        &self,
        unit: &'static str,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> Decided<T> + Send + 'static,
    ) -> Unit<'_, T> {
        async move { self.run(unit, work, Result::is_err).await?.map_err(StoreError::Rejected) }.boxed()
    }

    fn read<T: Send + 'static>(
        &self,
        unit: &'static str,
        work: impl FnOnce(&mut SqliteConnection) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        async move {
            let fate = self.scheduler.turn(unit).await;
            if fate != Fate::Committed {
                return Err(StoreError::Unavailable("too many reads are waiting".into()));
            }
            let read = {
                let conn = &mut self.database.engine().conn;
                work(conn)
            };
            self.scheduler.ended(Ended { unit, fate, reads: true, committed: true, refused: false });
            self.scheduler.heard().await;
            read.map_err(|error| classify(&error))
        }
        .boxed()
    }

    fn read_apart<T: Send + 'static>(
        &self,
        unit: &'static str,
        work: impl FnOnce(&mut SqliteConnection) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        self.read(unit, work)
    }
}
