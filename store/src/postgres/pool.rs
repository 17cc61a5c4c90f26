//! A bounded number of connections. Work that waits for a connection is a task, not a blocked thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::base::clock::Clock;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::address::Address;
use super::connection::{ConnectError, connect};
use super::session::{DatabaseClock, Session};
use crate::StoreError;

/// How many units of work may wait; further ones are refused at once rather than answered late.
pub(super) const WAITING_MAX: usize = 4_096;
/// How long a unit of work waits for a connection.
pub(super) const PLACE_WAIT: Duration = Duration::from_secs(5);
/// How long a unit of work may take, its retries included. Statements have their own, shorter limit; this one is for a
/// network that drops everything.
pub(super) const WORK_WAIT: Duration = Duration::from_mins(1);

/// How long closing waits for work that is under way.
pub(super) const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// Connections to one database.
pub(super) struct Pool {
    address: Address,
    server: i32,
    clock: Arc<dyn Clock>,
    database_clock: Arc<DatabaseClock>,
    runtime: Handle,
    places: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    // A std mutex is enough, because it is held only to push or pop, and never while the thread waits for something else.
    idle: Mutex<Vec<Session>>,
    /// The tasks that `beside` has started.
    beside: Mutex<JoinSet<()>>,
}

impl Pool {
    /// A pool of at most `connections_max` connections, each made when it is needed.
    pub(super) fn new(
        address: Address,
        server: i32,
        clock: Arc<dyn Clock>,
        database_clock: Arc<DatabaseClock>,
        runtime: Handle,
        connections_max: u32,
    ) -> Arc<Self> {
        Arc::new(Self {
            address,
            server,
            clock,
            database_clock,
            runtime,
            places: Arc::new(Semaphore::new(connections_max as usize)),
            waiting: Arc::default(),
            idle: Mutex::default(),
            beside: Mutex::default(),
        })
    }

    /// Runs `work` on a blocking thread once a connection is free. A caller that stops waiting does not stop the work.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(StoreError::Unavailable("too many requests are waiting for the database".into()));
        }
        let (pool, runtime) = (self.clone(), self.runtime.clone());
        let task = self.runtime.spawn(async move {
            let place = tokio::time::timeout(PLACE_WAIT, pool.places.clone().acquire_owned()).await;
            pool.waiting.fetch_sub(1, Ordering::Relaxed);
            let place = match place {
                Ok(Ok(place)) => place,
                Ok(Err(_)) => return Err(StoreError::Unavailable("the server is stopping".into())),
                Err(_) => return Err(StoreError::Unavailable("no connection to the database became free in time".into())),
            };
            let job = move || {
                let _place = place;
                work(&pool)
            };
            runtime.spawn_blocking(job).await.unwrap_or_else(|error| Err(StoreError::Failed(anyhow::anyhow!(error))))
        });
        match tokio::time::timeout(WORK_WAIT, task).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(StoreError::Failed(anyhow::anyhow!(error))),
            Err(_) => Err(StoreError::Unavailable("the database did not answer in time".into())),
        }
    }

    /// Waits for the right to use a connection; `None` once the pool is closed. Call it only on a blocking thread.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.runtime.block_on(self.places.clone().acquire_owned()).ok()
    }

    /// Runs a task that its caller does not wait for. A task that begins before the pool closes may still use a connection.
    pub(super) fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
        while beside.try_join_next().is_some() {}
        beside.spawn_on(work, &self.runtime);
    }

    /// Takes an idle session, or makes a new one. Call it only on a blocking thread.
    pub(super) fn take(&self) -> Result<Session, ConnectError> {
        let idle = self.idle().pop();
        match idle {
            Some(session) => Ok(session),
            None => Ok(Session::new(connect(&self.address)?, self.server, self.clock.clone(), self.database_clock.clone())),
        }
    }

    /// Keeps a session whose transaction is over.
    pub(super) fn give_back(&self, session: Session) {
        self.idle().push(session);
    }

    /// Drops every idle session: when one session has lost the database, the others have lost it, too.
    pub(super) fn forget_idle(&self) {
        let idle = std::mem::take(&mut *self.idle());
        drop(idle);
    }

    /// Refuses new work, and waits for work that is under way.
    pub(super) async fn close(&self, connections_max: u32) {
        let mut beside = std::mem::take(&mut *self.beside.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while beside.join_next().await.is_some() {} };
        // A task that takes longer goes on without an owner. If it holds or awaits a connection, the wait below includes it.
        if tokio::time::timeout(CLOSE_WAIT, all).await.is_err() {
            beside.detach_all();
        }
        // An inner error means that the pool is closed already. Work that takes longer than this wait is cut off; no
        // caller was promised its result.
        if let Ok(Ok(places)) = tokio::time::timeout(CLOSE_WAIT, self.places.acquire_many(connections_max)).await {
            places.forget();
        }
        self.places.close();
        self.forget_idle();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        // A panic cannot leave the list half changed, so a poisoned lock is safe to use.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
