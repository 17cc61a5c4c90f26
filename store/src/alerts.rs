//! The part of the store for mails that tell admins of questions on which too few people are left to agree.

use domain::base::ids::PersonId;
use futures_util::FutureExt;

use crate::backend::Backend;
use crate::error::Unit;
use crate::person::{LeasedAlert, LoginResult};
use crate::units;

/// Mails to admins. [`Store::sweep_timers`](crate::Store::sweep_timers) queues them.
pub trait Alerts {
    /// The number of the newest event of the server's log, and whether people, groups or keys changed behind event number `after`. The hub
    /// does not announce changes by a program that works beside the server.
    fn people_changed(&self, after: i64) -> Unit<'_, (i64, bool)>;
    /// Leases mails that are due, at most a few at a time.
    fn lease_alerts(&self) -> Unit<'_, Vec<LeasedAlert>>;
    /// Records the result of a leased mail. If the lease is no longer valid, changes nothing.
    fn complete_alert(&self, mail: (i64, PersonId), lease: [u8; 16], result: LoginResult) -> Unit<'_, ()>;
}

impl<B: Backend> Alerts for B {
    fn people_changed(&self, after: i64) -> Unit<'_, (i64, bool)> {
        self.look_up("people_changed", move |rows| units::server_log::changes_behind(rows, after))
    }

    fn lease_alerts(&self) -> Unit<'_, Vec<LeasedAlert>> {
        let now = self.clock().now();
        async move {
            let reach = self.read("lease_alerts", move |rows| units::alerts::reach(rows, now)).await?;
            if reach.is_empty() {
                return Ok(Vec::new());
            }
            self.write("lease_alerts", move |rows, env| units::alerts::lease(rows, env, &reach)).await
        }
        .boxed()
    }

    fn complete_alert(&self, mail: (i64, PersonId), lease: [u8; 16], result: LoginResult) -> Unit<'_, ()> {
        self.write("complete_alert", move |rows, env| units::alerts::complete(rows, env, mail, lease, result))
    }
}
