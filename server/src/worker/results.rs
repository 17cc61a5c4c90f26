//! What became of messages, kept until the store has taken it.
//!
//! Guarantee: a store that is away for a while makes no message go out twice. Mechanism: a result waits here, and the loop offers it again
//! after a pause, and before it leases anything; a message that is leased again all the same is not sent again, its result gets the new
//! lease. Only the holder of the lease may record it, so a result that comes late changes nothing that another server has taken over.
//! Failure: a crash loses what waits here, and its messages go out once more.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::DeliveryId;

use crate::store::{DeliveryResult, LeasedDelivery};

/// The first pause between two tries, in seconds; each one is twice as long as the one before.
const PAUSE_SECONDS: i64 = 1;
/// The longest pause, in seconds.
const PAUSE_SECONDS_MAX: i64 = 10;
/// How long a result is kept, in seconds; much longer than a lease.
const KEPT_SECONDS_MAX: i64 = 3_600;

/// A message's result, with what it takes to record it.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) rid: i64,
    pub(super) lease: [u8; 16],
    pub(super) id: DeliveryId,
    pub(super) channel: String,
    pub(super) result: DeliveryResult,
    since: DateTime<Utc>,
    due_at: DateTime<Utc>,
    tries: u32,
}

impl Kept {
    /// What became of `delivery`.
    pub(super) fn new(delivery: &LeasedDelivery, result: DeliveryResult) -> Self {
        Self {
            rid: delivery.rid,
            lease: delivery.lease,
            id: delivery.id,
            channel: delivery.channel.clone(),
            result,
            since: delivery.now,
            due_at: delivery.now,
            tries: 0,
        }
    }

    /// Whether recording it was tried before.
    pub(super) fn was_tried(&self) -> bool {
        self.tries > 0
    }
}

/// The results that are not recorded yet.
#[derive(Default)]
pub(super) struct Results(Mutex<Vec<Kept>>);

impl Results {
    /// Keeps one that the store did not take; false if it has been kept for too long.
    pub(super) fn keep(&self, kept: &Kept, why: &str, now: DateTime<Utc>) -> bool {
        if now - kept.since >= TimeDelta::seconds(KEPT_SECONDS_MAX) {
            given_up(kept);
            return false;
        }
        if !kept.was_tried() {
            tracing::warn!(delivery.id = %kept.id, why, "what became of a message is not recorded yet; trying again");
        }
        let pause = (PAUSE_SECONDS << kept.tries.min(10)).min(PAUSE_SECONDS_MAX);
        let due_at = now + TimeDelta::seconds(pause);
        self.kept().push(Kept { due_at, tries: kept.tries + 1, ..kept.clone() });
        true
    }

    /// Takes out those to be offered again at `now`.
    pub(super) fn due(&self, now: DateTime<Utc>) -> Vec<Kept> {
        self.kept().extract_if(.., |kept| kept.due_at <= now).collect()
    }

    /// Takes out that of a message which is leased again, under its new lease.
    pub(super) fn under(&self, rid: i64, lease: [u8; 16]) -> Option<Kept> {
        let mut all = self.kept();
        let index = all.iter().position(|kept| kept.rid == rid)?;
        Some(Kept { lease, ..all.swap_remove(index) })
    }

    /// Takes out all.
    pub(super) fn all(&self) -> Vec<Kept> {
        std::mem::take(&mut self.kept())
    }

    /// When the next one is to be offered again; none if there is none.
    pub(super) fn next_due(&self) -> Option<DateTime<Utc>> {
        self.kept().iter().map(|kept| kept.due_at).min()
    }

    /// Says which ones will not be recorded.
    pub(super) fn give_up(&self) {
        self.kept().drain(..).for_each(|kept| given_up(&kept));
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        // A panic cannot leave the list half changed, so a poisoned lock is as good as any.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn given_up(kept: &Kept) {
    let sent = matches!(kept.result, DeliveryResult::Sent(_));
    tracing::error!(
        delivery.id = %kept.id,
        delivery.channel = kept.channel,
        sent,
        "what became of a message could not be recorded: it goes out once more"
    );
}
