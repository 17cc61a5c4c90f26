//! Leases: which agent works on which part of an intent's state (RFC-0003).

use std::fmt;
use std::time::Duration;

use domain::suspension::lease::{DURATION_SECONDS_MAX, Lease as LeaseView};
use domain::wire::{AcquireLeaseRequest, LeaseList, LeaseReleased, RenewLeaseRequest};

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::intent::Intent;
use crate::key::fresh_key;
use crate::problem::Problem;
use crate::seconds::whole_seconds;
use crate::transport::Call;

/// A lease, from [`Intent::lease`] or [`Intent::leases`].
///
/// Dropping it does **not** give the lease back: the agent holds it until its time runs out. A program that crashes leaves it
/// behind in the same way, and a drop cannot wait for the server or report that the server was not reached. Call
/// [`release`](Lease::release) to give it back. A short duration with [`renew`](Lease::renew) limits how long other agents wait
/// after a crash. [`Intent::leases`] finds it again.
///
/// While the intent waits for a person, its leases do not run out.
#[must_use = "a lease that is dropped is held until its time runs out; `release` gives it back"]
#[derive(Clone)]
pub struct Lease {
    client: Client,
    view: LeaseView,
}

impl Intent {
    /// Takes a lease on a part of the state: a scope of 1 to 200 characters, for 1 second to 1 day, in whole seconds. An agent that
    /// holds this scope already gets the same lease for the new duration.
    ///
    /// ```no_run
    /// # async fn example(intent: placet::Intent) -> Result<(), placet::CallError> {
    /// let mut lease = intent.lease("refund", std::time::Duration::from_mins(5)).await?;
    /// // The agent works on `state.refund`, and needs more time:
    /// lease.renew(std::time::Duration::from_mins(5)).await?;
    /// lease.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Refused` with `lease_conflict` if another agent has it (`existing_lease` in [`Problem::more`] tells which one and until
    /// when), with `lease_while_suspended` while the intent waits for a person, and with `invalid` for a duration beyond the limits
    /// or with a fraction of a second.
    pub async fn lease(&self, scope: &str, duration: Duration) -> Result<Lease, CallError> {
        let request = AcquireLeaseRequest { scope: scope.to_owned(), duration_seconds: Some(seconds(duration)?) };
        let call = Call::write("/api/v1/intents/{intent_id}/leases", [self.id().to_string()], &request, Repeat::Safe)?;
        let view = self.client.send(call.header("idempotency-key", fresh_key())).await?;
        Ok(Lease { client: self.client.clone(), view })
    }

    /// The leases of the intent that were not given back, oldest first, of all agents; [`LeaseView::status`] tells which have run
    /// out.
    pub async fn leases(&self) -> Result<Vec<Lease>, CallError> {
        let call = Call::read("/api/v1/intents/{intent_id}/leases", [self.id().to_string()]);
        let list: LeaseList = self.client.send(call).await?;
        Ok(list.leases.into_iter().map(|view| Lease { client: self.client.clone(), view }).collect())
    }
}

impl Lease {
    /// The lease as the server last sent it.
    pub fn view(&self) -> &LeaseView {
        &self.view
    }

    /// Holds the lease for `duration` from now on: 1 second to 1 day, in whole seconds. This is allowed while the intent waits for
    /// a person, and after the lease has run out.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid`, field `lease_id`, rule `expired`, if it has run out and another agent has taken the scope since; and
    /// with `not_found` for the lease of another agent, or one that was given back.
    pub async fn renew(&mut self, duration: Duration) -> Result<(), CallError> {
        let request = RenewLeaseRequest { duration_seconds: Some(seconds(duration)?) };
        // The call may be repeated: a second one prolongs the lease by the same duration, only counted from slightly later.
        let call = Call::write(LEASE, self.ids(), &request, Repeat::Safe)?.method(reqwest::Method::PATCH);
        self.view = self.client.send(call).await?;
        Ok(())
    }

    /// Gives the lease back, so that another agent can take it at once. If this fails, the lease runs out by itself.
    pub async fn release(self) -> Result<(), CallError> {
        let call = Call::delete(LEASE, self.ids()).header("idempotency-key", fresh_key());
        let _done: LeaseReleased = self.client.send(call).await?;
        Ok(())
    }

    fn ids(&self) -> [String; 2] {
        [self.view.intent_id.to_string(), self.view.id.to_string()]
    }
}

const LEASE: &str = "/api/v1/intents/{intent_id}/leases/{lease_id}";

fn seconds(duration: Duration) -> Result<u32, CallError> {
    whole_seconds("duration_seconds", duration, DURATION_SECONDS_MAX)
        .map_err(|error| CallError::Refused(Box::new(Problem::invalid(vec![error]))))
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}
