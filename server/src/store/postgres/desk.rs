//! Where units of work are written, with what they need and whom they tell.

use std::sync::Arc;

use crate::clock_watch::ClockWatch;
use crate::metrics::WriterMetrics;
use crate::store::StoreError;
use crate::store::hub::Notice;
use crate::store::outside::Outside;
use crate::store::rows::RowsResult;
use crate::store::unit::{self, Env};

use super::group::Waiting;
use super::listener::Listener;
use super::pool::Pool;
use super::rows::Writing;
use super::transaction::{self, Surroundings};

/// The connections that write, with what belongs to every transaction on them.
pub(super) struct Desk {
    pub(super) pool: Arc<Pool>,
    pub(super) outside: Arc<Outside>,
    pub(super) watch: Arc<ClockWatch>,
    pub(super) listener: Arc<Listener>,
}

impl Desk {
    /// Runs a unit of work in a transaction of its own, once there is a connection.
    pub(super) async fn write<T: Send + 'static>(
        self: Arc<Self>,
        name: &'static str,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let queued = Queued::enter(&self.outside.metrics.writer);
        let desk = self.clone();
        let written = self.pool.run(move |pool| {
            queued.leave();
            let (value, notices) = transaction::write(pool, name, &desk.surroundings(), &work)?;
            desk.announce(&notices);
            Ok(value)
        });
        written.await
    }

    /// Decides an answer in a transaction of its own, which may wait for whoever holds its intent.
    pub(super) fn decide_alone(self: &Arc<Self>, waiting: Waiting) {
        let desk = self.clone();
        self.pool.beside(async move {
            let Waiting { request, reply, .. } = waiting;
            let decided = desk.write("execute", move |rows, env| unit::execute(rows, env, &request)).await;
            // Whoever is gone needs no answer.
            drop(reply.send(decided));
        });
    }

    pub(super) fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            watch: &self.watch,
            entropy: &*self.outside.entropy,
            channels: &self.outside.channels,
            pressing: self.outside.pressing,
            allowance: &self.outside.allowance,
            traced: self.outside.traces.is_some(),
            metrics: &self.outside.metrics.writer,
        }
    }

    /// Tells what a commit did, here and at the other servers.
    pub(super) fn announce(&self, notices: &[Notice]) {
        self.outside.announce(notices);
        self.listener.tell(notices);
    }
}

/// A unit of work that waits for a connection; one that is dropped before it got one was refused.
pub(super) struct Queued {
    metrics: WriterMetrics,
    refused: bool,
}

impl Queued {
    pub(super) fn enter(metrics: &WriterMetrics) -> Self {
        metrics.queue.inc();
        Self { metrics: metrics.clone(), refused: true }
    }

    pub(super) fn leave(mut self) {
        self.refused = false;
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.metrics.queue.dec();
        if self.refused {
            self.metrics.refused.inc();
        }
    }
}
