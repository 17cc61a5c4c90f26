//! The part of a store that differs by database: how a unit of work runs. [`Store`](crate::Store) is written once, on top of this
//! part.

use std::sync::Arc;

use domain::base::clock::Clock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::host::clock_watch::ClockWatch;
use crate::hub::Hub;
use crate::request::{Outcome, Request};
use crate::rows::{Decided, ReadRows, Rows, RowsResult};
use crate::scrub::{Leaves, Scrub, Scrubbed};
use crate::surroundings::Env;
use crate::{StoreError, Unit, units};

/// How units of work reach a database: SQLite queues them for its writer, PostgreSQL runs them on pooled connections, the
/// simulator runs them at once.
///
/// `name` is the name of the unit, as in [`Store`](crate::Store), for logs and for the simulator.
pub(crate) trait Backend: Send + Sync + 'static {
    /// The reads, inside or outside a transaction that writes.
    type Reads: ReadRows;
    /// The writes of one transaction.
    type Rows<'a>: Rows<Reads = Self::Reads>;

    /// The clock of this machine.
    fn clock(&self) -> &dyn Clock;
    /// The watch over the clock that decides whether an answer is in time.
    fn watch(&self) -> &Arc<ClockWatch>;
    /// The hub that announces commits.
    fn announcements(&self) -> &Hub;
    /// Proves that a write can be committed.
    fn prove(&self) -> Unit<'_, ()>;
    /// Writes the queued work, then refuses further work, and closes the database.
    fn finish(&self) -> BoxFuture<'_, ()>;
    /// Resolves when no further write is possible.
    fn finished(&self) -> BoxFuture<'_, ()>;

    /// Runs a unit that writes, in one transaction. The unit may be run again from the beginning, so its rows
    /// must be its only effect.
    fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn(&mut Self::Rows<'_>, &Env<'_>) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T>;

    /// Runs a read in one snapshot.
    fn read<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce(&mut Self::Reads) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T>;

    /// As [`Backend::read`], on connections apart from other reads: authentication and readiness must not wait behind heavy ones.
    fn read_apart<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce(&mut Self::Reads) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T>;

    /// As [`Backend::read_apart`], for one statement, which is a snapshot of its own.
    fn look_up<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn(&mut Self::Reads) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        self.read_apart(name, work)
    }

    /// Runs a unit that may be refused by the domain.
    fn decide<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn(&mut Self::Rows<'_>, &Env<'_>) -> Decided<T> + Send + 'static,
    ) -> Unit<'_, T> {
        let decided = self.write(name, work);
        async move { decided.await?.map_err(StoreError::Rejected) }.boxed()
    }

    /// Runs a read that may be refused by the domain.
    fn authorized<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce(&mut Self::Reads) -> Decided<T> + Send + 'static,
    ) -> Unit<'_, T> {
        let read = self.read(name, work);
        async move { read.await?.map_err(StoreError::Rejected) }.boxed()
    }

    /// Compares the next pages of the database's file with their checksums; only SQLite has a file. Behind the last page, the pass goes on
    /// with the log.
    fn scrub_pages(&self, _: u32) -> Unit<'_, Scrubbed> {
        let begin = |leaves| Scrubbed { next: Some(Scrub::Leaves(leaves)), ..Scrubbed::default() };
        self.read("scrub", move |rows| Leaves::begin(rows).map(begin))
    }

    /// Applies a command; a database may decide several waiting commands in one transaction.
    fn apply(&self, request: Request) -> Unit<'_, Outcome> {
        self.decide("execute", move |rows, env| units::execute::execute(rows, env, &request))
    }

    /// Whether the messages that vanished servers had leased should be released before this server leases any. Always false for a
    /// file, because a file has only one server.
    fn is_time_to_release(&self) -> bool {
        false
    }
}
