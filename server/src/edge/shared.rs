//! The parts that the handlers of every surface share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use channels::Subscribers;
use domain::asking::policy::AskingPolicy;
use domain::base::clock::Clock;
use domain::base::ids::{Entropy, KeyId};
use store::Store;
use tokio::sync::{Semaphore, watch};

use super::admission::Admission;
use super::authenticator::Authenticator;
use super::body::{BODIES_BYTES_MAX, Bodies, SIGNED_BODIES_BYTES_MAX};
use super::doors::Doors;
use super::health::Health;
use super::instance::Instance;
use super::problem::Failure;
use super::rates::Rates;
use super::stamps::Stamps;
use super::streams::Streams;
use crate::config::Limits;
use crate::log::checkpoints::Checkpoints;
use crate::observe::metrics::Metrics;

/// How many long waits one key may hold at a time.
pub const WAITERS_PER_KEY_MAX: usize = 2_000;

/// How many refusals are held back at a time.
pub(crate) const HELD_MAX: usize = 2_000;

/// The parts that every handler uses.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) checkpoints: Arc<Checkpoints>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) asking: AskingPolicy,
    /// How many seconds an agent has to hand in what it has, when its work is ended.
    pub(crate) handoff_seconds: u32,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) waiters: Waiters,
    pub(crate) streams: Arc<Streams>,
    /// The room for refusals that are held back.
    pub(crate) held: Semaphore,
    pub(crate) admission: Arc<Admission>,
    pub(crate) rates: Rates,
    pub(crate) bodies: Bodies,
    /// The room for bodies whose sender is known only by a signature over them.
    pub(crate) signed_bodies: Bodies,
    pub(crate) health: Health,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) instance: Instance,
    pub(crate) doors: Doors,
    pub(crate) stamps: Stamps,
    /// Becomes true when the server stops: long waits end then.
    pub(crate) stopping: watch::Sender<bool>,
}

impl Shared {
    /// Resolves when the server stops.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as `self`.
        drop(stopping.wait_for(|stopping| *stopping).await);
    }

    pub(crate) fn new(
        (store, checkpoints): (Arc<dyn Store>, Arc<Checkpoints>),
        asking: AskingPolicy,
        subscribers: Arc<Subscribers>,
        (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>),
        metrics: Arc<Metrics>,
        (instance, doors, stamps): (Instance, Doors, Stamps),
        limits: &Limits,
    ) -> Self {
        let authenticator = Arc::new(Authenticator::new(store.clone(), clock.clone()));
        Self {
            store,
            checkpoints,
            authenticator,
            asking,
            handoff_seconds: limits.handoff_seconds,
            subscribers,
            clock,
            entropy,
            waiters: Waiters::default(),
            streams: Arc::new(Streams::among(limits.connections)),
            held: Semaphore::new(HELD_MAX),
            admission: Arc::new(Admission::new(limits.concurrent_requests, &metrics.classes)),
            rates: Rates::new(limits),
            bodies: Bodies::new(BODIES_BYTES_MAX),
            signed_bodies: Bodies::new(SIGNED_BODIES_BYTES_MAX),
            health: Health::default(),
            metrics,
            instance,
            doors,
            stamps,
            stopping: watch::Sender::new(false),
        }
    }
}

/// Counts the long waits of each key.
#[derive(Default)]
pub(crate) struct Waiters {
    // A std mutex, because it is held for a map operation and never across an await.
    held: Mutex<HashMap<Option<KeyId>, usize>>,
}

impl Waiters {
    /// Takes one of the places that a key has for long waits.
    pub(crate) fn enter(&self, key: Option<KeyId>) -> Result<Waiting<'_>, Failure> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(key).or_default();
        if *count >= WAITERS_PER_KEY_MAX {
            return Err(Failure::too_many(format!("one key may hold {WAITERS_PER_KEY_MAX} waits at a time"), 1));
        }
        *count += 1;
        Ok(Waiting { waiters: self, key })
    }
}

/// A place of a key for a long wait. The place is given back when this value is dropped.
pub(crate) struct Waiting<'a> {
    waiters: &'a Waiters,
    key: Option<KeyId>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut held = self.waiters.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_so_many_places_and_gets_them_back() {
        let waiters = Waiters::default();
        let key = |number| Some(KeyId(uuid::Uuid::from_u128(number)));
        let mut places: Vec<Waiting<'_>> = (0..WAITERS_PER_KEY_MAX).map(|_| waiters.enter(key(1)).ok().unwrap()).collect();
        let refused = waiters.enter(key(1)).err().unwrap();
        assert_eq!((refused.entry.status, refused.more.retry_after), (429, Some(1)));
        assert!(waiters.enter(key(2)).is_ok(), "each key has its own");
        places.pop();
        places.push(waiters.enter(key(1)).ok().unwrap());
        assert!(waiters.enter(key(1)).is_err());
        drop(places);
        assert!(waiters.held.lock().unwrap().is_empty(), "a key that waits for nothing is forgotten");
    }
}
