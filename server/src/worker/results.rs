//! The results of messages, kept until the store has taken them: the store may be away, or may wait until it can trust the clock.
//!
//! Guarantee: a store that is away for a while makes no message go out twice. Mechanism: a result waits here from the moment its
//! message has left, and the loop offers it again after a pause; while one is being offered again, nothing is leased. If a
//! message is leased again all the same, it is not sent again, and its result gets the new lease. Only the holder of the lease
//! may record the result, so a late result changes nothing that another server has taken over. Failure: a crash loses the results
//! that wait here, and their messages go out once more.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::base::ids::DeliveryId;
use store::{DeliveryResult, LeasedDelivery};

/// The first pause between two tries; each later one is twice as long as the one before.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// How long a result is kept; much longer than a lease.
const KEPT_MAX: Duration = Duration::from_hours(1);

/// The result of a message, with the data needed to record it.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) rid: i64,
    pub(super) lease: [u8; 16],
    pub(super) id: DeliveryId,
    pub(super) channel: String,
    pub(super) result: DeliveryResult,
    /// When the result was known. Like all times here it counts from boot: setting the wall clock must neither drop a result nor
    /// hold it back.
    since: Duration,
    /// When the result is offered again; `None` while it is being offered.
    due_at: Option<Duration>,
    tries: u32,
}

impl Kept {
    /// The result of `delivery`, known at `now`.
    pub(super) fn new(delivery: &LeasedDelivery, result: DeliveryResult, now: Duration) -> Self {
        Self {
            rid: delivery.rid,
            lease: delivery.lease,
            id: delivery.id,
            channel: delivery.channel.clone(),
            result,
            since: now,
            due_at: None,
            tries: 0,
        }
    }

    /// Whether recording the result was tried before.
    pub(super) fn was_tried(&self) -> bool {
        self.tries > 0
    }

    /// Whether the message has left.
    pub(super) fn was_sent(&self) -> bool {
        matches!(self.result, DeliveryResult::Sent(_))
    }

    fn is_of(&self, other: &Self) -> bool {
        self.rid == other.rid && self.lease == other.lease
    }
}

/// The results that are not recorded yet, with those that are being recorded.
#[derive(Default)]
pub(super) struct Results(Mutex<Vec<Kept>>);

impl Results {
    /// Adds a result that is about to be recorded.
    pub(super) fn begin(&self, kept: &Kept) {
        self.kept().push(kept.clone());
    }

    /// Forgets a result that is recorded, or that the store no longer wants; false if the result has another lease by now, under
    /// which it is offered again.
    pub(super) fn end(&self, kept: &Kept) -> bool {
        let mut all = self.kept();
        let Some(index) = all.iter().position(|one| one.is_of(kept)) else { return false };
        all.swap_remove(index);
        true
    }

    /// Keeps a result that the store did not take; false if it has been kept for too long.
    pub(super) fn keep(&self, kept: &Kept, why: &str, now: Duration) -> bool {
        if now.saturating_sub(kept.since) >= KEPT_MAX {
            given_up(kept);
            return false;
        }
        if !kept.was_tried() {
            tracing::warn!(delivery.id = %kept.id, why, "the outcome of this message is not recorded yet; the server tries again");
        }
        let pause = (PAUSE * (1 << kept.tries.min(10))).min(PAUSE_MAX);
        if let Some(one) = self.kept().iter_mut().find(|one| one.is_of(kept)) {
            one.due_at = Some(now + pause);
            one.tries = kept.tries + 1;
        }
        true
    }

    /// The results to be offered again at `now`.
    pub(super) fn due(&self, now: Duration) -> Vec<Kept> {
        self.offered(|due_at| due_at <= now)
    }

    /// All results that are not being offered.
    pub(super) fn all(&self) -> Vec<Kept> {
        self.offered(|_| true)
    }

    /// Whether a result is being offered again.
    pub(super) fn is_offering(&self) -> bool {
        self.kept().iter().any(|kept| kept.was_tried() && kept.due_at.is_none())
    }

    /// The result of a message that is leased again, to be offered under its new lease.
    pub(super) fn under(&self, rid: i64, lease: [u8; 16]) -> Option<Kept> {
        let mut all = self.kept();
        let kept = all.iter_mut().find(|kept| kept.rid == rid)?;
        (kept.lease, kept.due_at) = (lease, None);
        Some(kept.clone())
    }

    /// When the next result is to be offered again; `None` if none waits.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.kept().iter().filter_map(|kept| kept.due_at).min()
    }

    /// Whether there is no result left to record.
    pub(super) fn is_empty(&self) -> bool {
        self.kept().is_empty()
    }

    /// Logs the results that will not be recorded.
    pub(super) fn give_up(&self) {
        self.kept().drain(..).for_each(|kept| given_up(&kept));
    }

    fn offered(&self, is_due: impl Fn(Duration) -> bool) -> Vec<Kept> {
        let mut offered = Vec::new();
        for kept in self.kept().iter_mut().filter(|kept| kept.due_at.is_some_and(&is_due)) {
            kept.due_at = None;
            offered.push(kept.clone());
        }
        offered
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        // A panic cannot leave the list half changed, so a poisoned lock is safe to use.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn given_up(kept: &Kept) {
    tracing::error!(
        delivery.id = %kept.id,
        delivery.channel = kept.channel,
        sent = kept.was_sent(),
        "the outcome of this message could not be recorded, so the message is sent once more"
    );
}
