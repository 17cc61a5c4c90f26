//! Runs units of work that write, and announces what they committed.

use std::sync::Arc;

use super::listener::Listener;
use super::pool::Pool;
use super::rows::Writing;
use super::transaction;
use super::waiting::{Queued, Waiting};
use crate::host::clock_watch::ClockWatch;
use crate::hub::Notice;
use crate::rows::RowsResult;
use crate::surroundings::{Env, Surroundings};
use crate::{StoreError, units};

/// The connections that write, with the services that every transaction on them uses.
pub(super) struct Writers {
    pub(super) pool: Arc<Pool>,
    pub(super) surroundings: Arc<Surroundings>,
    pub(super) watch: Arc<ClockWatch>,
    pub(super) listener: Arc<Listener>,
}

impl Writers {
    /// Runs a unit of work in a transaction of its own, once there is a connection.
    pub(super) async fn write<T: Send + 'static>(
        self: Arc<Self>,
        name: &'static str,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let queued = Queued::enter(&self.surroundings.observer);
        let writers = self.clone();
        let written = self.pool.run(move |pool| {
            queued.leave();
            let (value, notices) = transaction::write(pool, name, (&writers.surroundings, &writers.watch), &work)?;
            writers.announce(&notices);
            Ok(value)
        });
        written.await
    }

    /// Decides an answer in a transaction of its own, which may wait for another transaction that holds the intent.
    pub(super) fn decide_alone(self: &Arc<Self>, waiting: Waiting) {
        let writers = self.clone();
        self.pool.beside(async move {
            let Waiting { request, reply, .. } = waiting;
            let decided = writers.write("execute", move |rows, env| units::execute::execute(rows, env, &request)).await;
            // Sending fails only if the caller has stopped waiting.
            drop(reply.send(decided));
        });
    }

    /// Announces what a commit did, to this server and to the others.
    pub(super) fn announce(&self, notices: &[Notice]) {
        self.surroundings.announce(notices);
        self.listener.tell(notices);
    }
}
