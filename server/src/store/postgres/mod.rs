//! PostgreSQL, for several servers on one database and for databases beyond one machine.
//!
//! Synchronous diesel on a bounded number of blocking threads, over a driver in pure Rust (ADR 17). Commands on one intent wait for each
//! other on its row; timers and messages are shared among the servers by skipping rows that another one holds.

mod address;
mod ahead;
mod begin;
mod columns;
mod connection;
mod desk;
mod group;
mod inspect;
mod key_lock;
mod line;
mod listener;
mod migrate;
mod outcome;
mod pool;
mod proof;
mod reads;
mod rows;
mod schema;
mod session;
mod statements;
mod transaction;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use domain::base::ids::{DeliveryId, IntentId, KeyId, SuspensionId};
use domain::intent::command::Command;
use domain::people::principal::Principal;
use domain::suspension::lease::Lease;
use domain::wire::{DeliveryPage, DeliveryView, IntentPage, IntentView, KeyView, SuspensionPage, SuspensionRecord};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

pub use self::address::Address;
pub(in crate::store) use self::connection::dial;
use self::desk::{Desk, Queued};
use self::group::Waiting;
pub(in crate::store) use self::inspect::is_empty;
pub use self::inspect::{Examination, examine};
use self::line::Line;
pub(in crate::store) use self::listener::{LIVING, NOBODY};
pub(in crate::store) use self::migrate::tables_for_filling;
use self::pool::{CLOSE_WAIT, Pool};
use self::rows::Writing;
use self::session::{DatabaseClock, Session};
use super::hub::Hub;
use super::link::LinkToken;
use super::mailbox::{MailboxView, mailbox};
use super::outside::Outside;
use super::rows::{ReadRows, RowsResult};
use super::unit::{Decided, Env};
use super::{
    BounceReport, CreateIntent, DeliveryFilter, DeliveryResult, EventFilter, FailedFilter, Fired, Hold, Idempotency,
    IntentFilter, Leased, LeasedDelivery, LinkView, NewKey, Outcome, PRODUCTION_MARK, Recovered, Request, Standing, Store,
    StoreError, SuspensionFilter, Swept, Target, Turn, Unit, noted, reads as read, unit,
};
use crate::clock_watch::ClockWatch;

/// Connections that look keys up; apart, so that heavy work cannot lock everybody out.
const KEY_CONNECTIONS: u32 = 2;
/// The connection that listens.
const LISTENING_CONNECTIONS: u32 = 1;
/// The fewest connections a server works with.
pub const CONNECTIONS_MIN: u32 = KEY_CONNECTIONS + LISTENING_CONNECTIONS + 2;
/// The most: beyond it PostgreSQL gets slower, not faster.
pub const CONNECTIONS_MAX: u32 = 200;
/// Connections of one server, unless configured.
pub const CONNECTIONS_DEFAULT: u32 = 20;

/// Why a database cannot be prepared: what another server sends and decides meanwhile is what is to be held.
const IN_USE: &str = "the database is in use by a running placet; stop every server on it first, and start one with --after-restore \
                      (one whose machine or network is gone counts as running for half a minute)";

/// Groups of answers decided at the same time. More would be smaller, and each costs its trips.
const GROUPS_MAX: u32 = 4;

/// How often messages are looked for whose server is gone.
const RELEASE_EVERY: Duration = Duration::from_secs(5);

/// How many connections do what.
#[derive(Clone, Copy, Debug)]
struct Shares {
    writing: u32,
    reading: u32,
}

impl Shares {
    /// Half and half: reads, however many, never keep answers from being written.
    fn of(connections: u32) -> Self {
        let shared = connections.clamp(CONNECTIONS_MIN, CONNECTIONS_MAX) - KEY_CONNECTIONS - LISTENING_CONNECTIONS;
        Self { writing: shared - shared / 2, reading: shared / 2 }
    }
}

/// A store on one PostgreSQL database, which other servers may share.
pub struct PostgresStore {
    desk: Arc<Desk>,
    answers: Arc<Line<Waiting>>,
    /// The threads that decide answers.
    deciding: Mutex<Vec<JoinHandle<()>>>,
    readers: Arc<Pool>,
    key_readers: Arc<Pool>,
    shares: Shares,
    /// When messages of servers that live no more were last looked for.
    released: Mutex<Option<Instant>>,
    _runtime: OwnRuntime,
}

impl PostgresStore {
    /// Connects, and makes or changes the tables where that is needed.
    ///
    /// # Errors
    ///
    /// A database that cannot be reached, is too old, holds another program's tables, or was written by a newer version of this one.
    pub async fn open(address: &Address, connections: u32, outside: Outside) -> anyhow::Result<Self> {
        if address.is_exposed() {
            tracing::warn!(
                "{address} is reached unencrypted (sslmode=disable): every machine on the way can read the password, questions and answers"
            );
        }
        let shares = Shares::of(connections);
        let groups = shares.writing.min(GROUPS_MAX);
        let runtime = OwnRuntime::start(shares.writing + shares.reading + KEY_CONNECTIONS + groups)?;
        let handle = runtime.handle().clone();
        let prepared = address.clone();
        handle.spawn_blocking(move || migrate::prepare(&prepared)).await.context("the database's thread has ended")??;
        // Two servers that draw the same number out of two thousand million would each wait for the other's leases; no worse.
        let server = i32::from_be_bytes(outside.entropy.bytes32()[..4].try_into()?) & i32::MAX;
        let database_clock = Arc::new(DatabaseClock::new(outside.clock.clone()));
        let pool = |connections| {
            Pool::new(address.clone(), server, outside.clock.clone(), database_clock.clone(), handle.clone(), connections)
        };
        let (writers, readers, key_readers) = (pool(shares.writing), pool(shares.reading), pool(KEY_CONNECTIONS));
        let hub = outside.hub.clone();
        let (listening, handle) = (address.clone(), handle.clone());
        let listener = handle.clone().spawn(async move { listener::start(listening, server, hub).await });
        let listener = listener.await.context("the database's thread has ended")??;
        let watch = Arc::new(ClockWatch::new(database_clock));
        let desk = Arc::new(Desk { pool: writers, outside: Arc::new(outside), watch, listener: Arc::new(listener) });
        let answers = Line::new();
        let deciding = (0..groups).map(|_| {
            let (desk, answers) = (desk.clone(), answers.clone());
            handle.spawn_blocking(move || group::decide(&desk, &answers))
        });
        let deciding = Mutex::new(deciding.collect());
        Ok(Self { desk, answers, deciding, readers, key_readers, shares, released: Mutex::default(), _runtime: runtime })
    }

    fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        self.desk.clone().write(name, work).boxed()
    }

    /// Whether this lease should look for messages of servers that live no more: every few seconds one does.
    fn is_time_to_release(&self) -> bool {
        let mut released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = released.is_none_or(|at| at.elapsed() > RELEASE_EVERY);
        if is_time {
            *released = Some(Instant::now());
        }
        is_time
    }

    fn decide<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> Decided<T> + Send + 'static,
    ) -> Unit<'_, T> {
        let decided = self.write(name, work);
        async move { decided.await?.map_err(StoreError::Rejected) }.boxed()
    }

    /// Decides an answer, together with others that wait.
    fn answer(&self, intent: IntentId, request: Request) -> Unit<'_, Outcome> {
        async move {
            let queued = Some(Queued::enter(&self.desk.outside.metrics.writer));
            let waiting = |reply| Waiting { intent, request: Arc::new(request), queued, reply };
            self.answers.ask(waiting).await?.map_err(StoreError::Rejected)
        }
        .boxed()
    }

    fn read<T: Send + 'static>(&self, work: impl FnOnce(&mut Session) -> RowsResult<T> + Send + 'static) -> Unit<'_, T> {
        async move { self.readers.run(move |pool| transaction::read(pool, work)).await }.boxed()
    }

    fn authorized<T: Send + 'static>(&self, work: impl FnOnce(&mut Session) -> Decided<T> + Send + 'static) -> Unit<'_, T> {
        let read = self.read(work);
        async move { read.await?.map_err(StoreError::Rejected) }.boxed()
    }
}

impl Store for PostgresStore {
    fn execute(&self, request: Request) -> Unit<'_, Outcome> {
        match request.target {
            Target::Intent(intent) if matches!(request.command, Ok(Command::Respond(_))) => self.answer(intent, request),
            Target::Intent(_) | Target::Suspension(_) => {
                self.decide("execute", move |rows, env| unit::execute(rows, env, &request))
            }
        }
    }

    fn create(&self, request: CreateIntent) -> Unit<'_, Outcome> {
        self.decide("create", move |rows, env| unit::create(rows, env, &request))
    }

    fn intent(&self, principal: Principal, id: IntentId) -> Unit<'_, IntentView> {
        self.authorized(move |rows| read::intent(rows, &principal, id))
    }

    fn intents(&self, principal: Principal, filter: IntentFilter) -> Unit<'_, IntentPage> {
        self.read(move |rows| read::intents(rows, &principal, filter))
    }

    fn events(&self, principal: Principal, id: IntentId, filter: EventFilter) -> Unit<'_, Vec<String>> {
        self.authorized(move |rows| read::events(rows, &principal, id, &filter))
    }

    fn leases(&self, principal: Principal, id: IntentId) -> Unit<'_, Vec<Lease>> {
        let now = self.desk.outside.clock.now();
        self.authorized(move |rows| read::leases(rows, &principal, id, now))
    }

    fn suspension(&self, principal: Principal, id: SuspensionId) -> Unit<'_, SuspensionRecord> {
        self.authorized(move |rows| read::suspension(rows, &principal, id))
    }

    fn deliveries(&self, principal: Principal, id: SuspensionId, filter: DeliveryFilter) -> Unit<'_, DeliveryPage> {
        self.authorized(move |rows| read::deliveries(rows, &principal, id, filter))
    }

    fn suspensions(&self, principal: Principal, filter: SuspensionFilter) -> Unit<'_, SuspensionPage> {
        self.read(move |rows| read::suspensions(rows, &principal, &filter))
    }

    fn link(&self, token: LinkToken) -> Unit<'_, Option<LinkView>> {
        let watch = self.desk.watch.clone();
        self.read(move |rows| {
            rows.look_at_the_clock()?;
            read::link(rows, &token, &watch)
        })
    }

    fn mailbox(&self, limit: u32) -> Unit<'_, MailboxView> {
        self.read(move |rows| mailbox(rows, limit))
    }

    fn open_mail(&self, id: DeliveryId) -> Unit<'_, Option<LeasedDelivery>> {
        self.write("open_mail", move |rows, env| unit::deliveries::open_mail(rows, env, id))
    }

    fn fire_deadlines(&self) -> Unit<'_, Fired> {
        noted(self.desk.watch.clone(), self.write("fire_deadlines", |rows, env| unit::timers::fire_deadlines(rows, env)))
    }

    fn lease_deliveries(&self, turn: Turn) -> Unit<'_, Leased> {
        let release = self.is_time_to_release();
        self.write("lease_deliveries", move |rows, env| {
            if release && unit::deliveries::release_deliveries(rows, env)? > 0 {
                tracing::info!("messages a server that is gone had under way are due again");
            }
            unit::deliveries::lease_deliveries(rows, env, &turn)
        })
    }

    fn complete_delivery(&self, rid: i64, lease: [u8; 16], result: DeliveryResult) -> Unit<'_, bool> {
        self.write("complete_delivery", move |rows, env| unit::deliveries::complete_delivery(rows, env, rid, &lease, &result))
    }

    fn failed_deliveries(&self, filter: FailedFilter) -> Unit<'_, DeliveryPage> {
        self.read(move |rows| read::failed_deliveries(rows, filter))
    }

    fn redrive(&self, principal: Principal, idempotency: Option<Idempotency>, id: DeliveryId) -> Unit<'_, DeliveryView> {
        self.decide("redrive", move |rows, env| unit::redrive::redrive(rows, env, &principal, idempotency, id))
    }

    fn report_bounce(&self, report: BounceReport) -> Unit<'_, DeliveryView> {
        self.decide("report_bounce", move |rows, env| unit::deliveries::report_bounce(rows, env, &report))
    }

    /// Those of servers that are gone; one that lives holds a lock under its number.
    fn release_deliveries(&self) -> Unit<'_, u64> {
        self.write("release_deliveries", |rows, env| unit::deliveries::release_deliveries(rows, env))
    }

    fn attend(&self) {
        self.desk.watch.attend();
    }

    fn recover(&self) -> Unit<'_, Recovered> {
        self.write("recover", |rows, env| unit::presence::recover(rows, env))
    }

    fn depart(&self) -> Unit<'_, ()> {
        self.write("depart", |rows, env| unit::presence::depart(rows, env))
    }

    fn hold_after_restore(&self) -> Unit<'_, ()> {
        let held = self.write("hold_after_restore", |rows, env| {
            // One that starts now reads the presence after it took its lock; whichever of the two is later sees the other.
            let is_alone = rows.session.others()? == 0;
            is_alone.then(|| unit::presence::hold_after_restore(rows, env)).transpose()
        });
        async move { held.await?.ok_or_else(|| StoreError::Failed(anyhow::anyhow!(IN_USE))) }.boxed()
    }

    fn release(&self) -> Unit<'_, bool> {
        self.write("release", |rows, _| unit::presence::release(rows))
    }

    fn hold(&self) -> Unit<'_, Option<Hold>> {
        let watch = self.desk.watch.clone();
        let look = move |rows: &mut Session| {
            rows.look_at_the_clock()?;
            unit::presence::hold(rows, &watch)
        };
        // Whoever asks whether the server is ready does not queue behind heavy reads.
        async move { self.key_readers.run(move |pool| transaction::read(pool, look)).await }.boxed()
    }

    fn principal(&self, key_hash: [u8; 32]) -> Unit<'_, Option<Principal>> {
        async move { self.key_readers.run(move |pool| transaction::look_up(pool, |rows| rows.principal(&key_hash))).await }
            .boxed()
    }

    fn create_key(&self, key: NewKey) -> Unit<'_, KeyView> {
        self.write("create_key", move |rows, env| unit::keys::create_key(rows, env, &key))
    }

    fn keys(&self) -> Unit<'_, Vec<KeyView>> {
        self.read(ReadRows::keys)
    }

    fn revoke_key(&self, id: KeyId) -> Unit<'_, KeyView> {
        self.decide("revoke_key", move |rows, env| unit::keys::revoke_key(rows, env, id))
    }

    fn secret(&self, name: &'static str) -> Unit<'_, [u8; 32]> {
        self.write("secret", move |rows, env| unit::keys::secret(rows, env, name))
    }

    fn was_in_production(&self) -> Unit<'_, bool> {
        self.read(|rows| Ok(rows.secret(PRODUCTION_MARK)?.is_some()))
    }

    fn forget_expired(&self) -> Unit<'_, u64> {
        self.write("forget_expired", |rows, env| unit::forget_expired(rows, env))
    }

    fn sweep_timers(&self, after: i64) -> Unit<'_, Swept> {
        let now = self.desk.outside.clock.now();
        async move {
            let look = self.read(move |rows| unit::sweep::look(rows, after, now)).await?;
            let mend = |rid| self.write("sweep_timers", move |rows, env| unit::sweep::mend(rows, env, rid));
            Ok(unit::sweep::mend_each(look, mend).await)
        }
        .boxed()
    }

    fn standing(&self) -> Unit<'_, Standing> {
        self.read(read::standing)
    }

    /// A transaction with a number of its own: a standby or a database in recovery has none to give.
    fn probe(&self) -> Unit<'_, ()> {
        self.write("probe", |_, _| Ok(()))
    }

    fn hub(&self) -> &Hub {
        &self.desk.outside.hub
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            self.answers.close();
            let deciding = std::mem::take(&mut *self.deciding.lock().unwrap_or_else(PoisonError::into_inner));
            // What takes longer is cut off, and was promised to nobody.
            drop(tokio::time::timeout(CLOSE_WAIT, join_all(deciding)).await);
            self.desk.pool.close(self.shares.writing).await;
            self.desk.listener.stop().await;
            self.readers.close(self.shares.reading).await;
            self.key_readers.close(KEY_CONNECTIONS).await;
        }
        .boxed()
    }

    /// Never by itself: a database that is away may come back.
    fn closed(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        // Its threads wait for answers, and none will come.
        self.answers.close();
    }
}

/// The threads of the store: one for tasks, the others wait for the database, one per connection, or decide answers in groups.
///
/// Its own, so that a slow database blocks nobody else's threads, and so that the connections outlive whoever made them.
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
        // Unwrap safety: it is taken only when the store is dropped.
        self.0.as_ref().map(Runtime::handle).expect("a store that is in use has its runtime")
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        // Waiting for threads is not allowed where futures run, and nothing here is worth waiting for: what had to be finished was
        // finished by `close`.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
