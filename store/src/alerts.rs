//! The part of the store for mails that tell admins of questions on which too few people are left to agree.

use domain::base::ids::PersonId;

use crate::backend::Backend;
use crate::error::Unit;
use crate::person::{LeasedAlert, LoginResult};
use crate::units;

/// Mails to admins. [`Store::sweep_timers`](crate::Store::sweep_timers) queues them.
pub trait Alerts {
    /// Leases mails that are due, at most a few at a time.
    fn lease_alerts(&self) -> Unit<'_, Vec<LeasedAlert>>;
    /// Records the result of a leased mail. If the lease is no longer valid, changes nothing.
    fn complete_alert(&self, mail: (i64, PersonId), lease: [u8; 16], result: LoginResult) -> Unit<'_, ()>;
}

impl<B: Backend> Alerts for B {
    fn lease_alerts(&self) -> Unit<'_, Vec<LeasedAlert>> {
        self.write("lease_alerts", |rows, env| units::alerts::lease(rows, env))
    }

    fn complete_alert(&self, mail: (i64, PersonId), lease: [u8; 16], result: LoginResult) -> Unit<'_, ()> {
        self.write("complete_alert", move |rows, env| units::alerts::complete(rows, env, mail, lease, result))
    }
}
