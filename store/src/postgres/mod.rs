//! PostgreSQL, for several servers on one database and for databases beyond one machine.
//!
//! Diesel runs synchronously on a bounded number of blocking threads, over a driver in pure Rust (ADR 17). Commands on one intent
//! wait for each other on its row. The servers share timers and messages: each skips the rows that another one holds.

mod address;
mod begin;
mod connection;
mod group;
mod inspect;
mod key_lock;
mod listener;
mod migrate;
mod outcome;
mod pool;
mod prefetched;
mod proof;
mod queue;
mod rows;
mod session;
mod statements;
mod transaction;
mod waiting;
mod writers;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use domain::base::clock::Clock;
use domain::base::ids::IntentId;
use domain::intent::command::Command;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

pub use self::address::Address;
pub(crate) use self::connection::dial;
pub(crate) use self::inspect::is_empty;
pub use self::inspect::{Examination, examine};
pub(crate) use self::listener::{LIVING, NO_SERVER};
pub(crate) use self::migrate::tables_for_filling;
use self::pool::{CLOSE_WAIT, Pool};
use self::queue::Queue;
use self::rows::Writing;
use self::session::{DatabaseClock, Session};
use self::waiting::{Queued, Waiting};
use self::writers::Writers;
use crate::backend::Backend;
use crate::host::clock_watch::ClockWatch;
use crate::hub::Hub;
use crate::request::{Outcome, Request, Target};
use crate::rows::RowsResult;
use crate::surroundings::{Env, Surroundings};
use crate::{StoreError, Unit, units};

/// Connections that read only two things: API keys, and whether deadlines are held back. They are separate, so that heavy work
/// cannot keep every caller from being authenticated.
const CONNECTIONS_APART: u32 = 2;
/// The connection that listens.
const LISTENING_CONNECTIONS: u32 = 1;
/// The fewest connections a server works with.
pub const CONNECTIONS_MIN: u32 = CONNECTIONS_APART + LISTENING_CONNECTIONS + 2;
/// The most connections: beyond that number PostgreSQL gets slower, not faster.
pub const CONNECTIONS_MAX: u32 = 200;
/// Connections of one server, unless configured.
pub const CONNECTIONS_DEFAULT: u32 = 20;

/// The most groups of answers decided at the same time. With more groups at the same time, each group would have fewer answers,
/// and the same answers would take more trips to the database.
const GROUPS_MAX: u32 = 4;

/// How often the store looks for messages that are leased by a server that is gone.
const RELEASE_EVERY: Duration = Duration::from_secs(5);

/// How many connections write, and how many read.
#[derive(Clone, Copy, Debug)]
struct Shares {
    writing: u32,
    reading: u32,
}

impl Shares {
    /// Half write and half read, so that no number of reads keeps answers from being written.
    fn of(connections: u32) -> Self {
        let shared = connections.clamp(CONNECTIONS_MIN, CONNECTIONS_MAX) - CONNECTIONS_APART - LISTENING_CONNECTIONS;
        Self { writing: shared - shared / 2, reading: shared / 2 }
    }
}

/// A store on one PostgreSQL database, which other servers may share.
pub struct PostgresStore {
    writers: Arc<Writers>,
    answers: Arc<Queue<Waiting>>,
    /// The threads that decide answers.
    deciding: Mutex<Vec<JoinHandle<()>>>,
    readers: Arc<Pool>,
    readers_apart: Arc<Pool>,
    shares: Shares,
    /// When the store last looked for messages leased by servers that are gone.
    released: Mutex<Option<Instant>>,
    _runtime: OwnRuntime,
}

impl PostgresStore {
    /// Connects, and makes or changes the tables where that is needed.
    ///
    /// # Errors
    ///
    /// A database that cannot be reached, is too old, holds another program's tables, or was written by a newer version of this one.
    pub async fn open(address: &Address, connections: u32, surroundings: Surroundings) -> anyhow::Result<Self> {
        if address.is_exposed() {
            tracing::warn!(
                "{address} is reached unencrypted (sslmode=disable): every machine on the way can read the password, questions and answers"
            );
        }
        let shares = Shares::of(connections);
        let groups = shares.writing.min(GROUPS_MAX);
        let runtime = OwnRuntime::start(shares.writing + shares.reading + CONNECTIONS_APART + groups)?;
        let handle = runtime.handle().clone();
        let prepared = address.clone();
        handle.spawn_blocking(move || migrate::prepare(&prepared)).await.context("the database's thread has ended")??;
        // If two servers draw the same number out of two thousand million, each waits for the other's leases to
        // end; nothing worse happens.
        let server = i32::from_be_bytes(surroundings.entropy.bytes32()[..4].try_into()?) & i32::MAX;
        let database_clock = Arc::new(DatabaseClock::new(surroundings.clock.clone()));
        let pool = |connections| {
            Pool::new(address.clone(), server, surroundings.clock.clone(), database_clock.clone(), handle.clone(), connections)
        };
        let (writers, readers, readers_apart) = (pool(shares.writing), pool(shares.reading), pool(CONNECTIONS_APART));
        let hub = surroundings.hub.clone();
        let (listening, handle) = (address.clone(), handle.clone());
        let listener = handle.clone().spawn(async move { listener::start(listening, server, hub).await });
        let listener = listener.await.context("the database's thread has ended")??;
        let watch = Arc::new(ClockWatch::new(database_clock));
        let writers =
            Arc::new(Writers { pool: writers, surroundings: Arc::new(surroundings), watch, listener: Arc::new(listener) });
        let answers = Queue::new();
        let deciding = (0..groups).map(|_| {
            let (writers, answers) = (writers.clone(), answers.clone());
            handle.spawn_blocking(move || group::decide(&writers, &answers))
        });
        let deciding = Mutex::new(deciding.collect());
        Ok(Self { writers, answers, deciding, readers, readers_apart, shares, released: Mutex::default(), _runtime: runtime })
    }

    /// Decides an answer, together with other answers that wait.
    fn answer(&self, intent: IntentId, request: Request) -> Unit<'_, Outcome> {
        async move {
            let queued = Some(Queued::enter(&self.writers.surroundings.observer));
            let waiting = |reply| Waiting { intent, request: Arc::new(request), queued, reply };
            self.answers.ask(waiting).await?.map_err(StoreError::Rejected)
        }
        .boxed()
    }
}

impl Backend for PostgresStore {
    type Reads = Session;
    type Rows<'a> = Writing<'a>;

    fn clock(&self) -> &dyn Clock {
        &*self.writers.surroundings.clock
    }

    fn watch(&self) -> &Arc<ClockWatch> {
        &self.writers.watch
    }

    fn announcements(&self) -> &Hub {
        &self.writers.surroundings.hub
    }

    /// Proves that the database takes writes: each writing transaction asks for a number of its own, which a standby or a
    /// database in recovery cannot give.
    fn prove(&self) -> Unit<'_, ()> {
        self.write("probe", |_, _| Ok(()))
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        async move {
            self.answers.close();
            let deciding = std::mem::take(&mut *self.deciding.lock().unwrap_or_else(PoisonError::into_inner));
            // Work that takes longer is cut off; no caller was promised its result.
            drop(tokio::time::timeout(CLOSE_WAIT, join_all(deciding)).await);
            self.writers.pool.close(self.shares.writing).await;
            self.writers.listener.stop().await;
            self.readers.close(self.shares.reading).await;
            self.readers_apart.close(CONNECTIONS_APART).await;
        }
        .boxed()
    }

    /// Never resolves: a database that is away may come back.
    fn finished(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }

    fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        self.writers.clone().write(name, work).boxed()
    }

    fn read<T: Send + 'static>(
        &self,
        _: &'static str,
        work: impl FnOnce(&mut Session) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        async move { self.readers.run(move |pool| transaction::read(pool, work)).await }.boxed()
    }

    fn read_apart<T: Send + 'static>(
        &self,
        _: &'static str,
        work: impl FnOnce(&mut Session) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        async move { self.readers_apart.run(move |pool| transaction::read(pool, work)).await }.boxed()
    }

    fn look_up<T: Send + 'static>(
        &self,
        _: &'static str,
        work: impl Fn(&mut Session) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        async move { self.readers_apart.run(move |pool| transaction::look_up(pool, work)).await }.boxed()
    }

    fn apply(&self, request: Request) -> Unit<'_, Outcome> {
        match request.target {
            Target::Intent(intent) if matches!(request.command, Ok(Command::Respond(_))) => self.answer(intent, request),
            Target::Intent(_) | Target::Suspension(_) | Target::Task(_) | Target::Plan(_) | Target::Coordinator(_) => {
                self.decide("execute", move |rows, env| units::execute::execute(rows, env, &request))
            }
        }
    }

    /// Whether it is time to look for messages of servers that are gone; true for one call every few seconds.
    fn is_time_to_release(&self) -> bool {
        let mut released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = released.is_none_or(|at| at.elapsed() > RELEASE_EVERY);
        if is_time {
            *released = Some(Instant::now());
        }
        is_time
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        // This ends the threads that decide answers; they would otherwise wait for answers that never come.
        self.answers.close();
    }
}

/// The threads of the store: one runs tasks; the others wait for the database, one per connection, or decide answers in groups.
///
/// The store has a runtime of its own, so that a slow database blocks no other threads, and so that the connections outlive the
/// runtime that called `open`.
struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn start(threads: u32) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(threads as usize)
            .thread_name("store-postgres")
            .enable_all()
            .build()
            .context("failed to start the threads of the database's connections")?;
        Ok(Self(Some(runtime)))
    }

    fn handle(&self) -> &tokio::runtime::Handle {
        // Unwrap safety: the runtime is taken only when the store is dropped.
        self.0.as_ref().map(Runtime::handle).expect("a store that is in use has its runtime")
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        // Blocking on threads is not allowed where futures run, and nothing here is worth waiting for: `close` has finished the
        // work that had to be finished.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
