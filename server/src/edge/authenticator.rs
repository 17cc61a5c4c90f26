//! Finds the principal behind the key of a request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock;
use domain::base::ids::KeyId;
use domain::people::principal::Principal;
use store::{Store, StoreError};
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

/// How long a key that was found counts as valid before the store is asked again. A revocation by another process takes effect
/// within this time.
const BELIEVED: TimeDelta = TimeDelta::seconds(1);
/// The age from which the next use of a remembered key starts a lookup in the background, so that requests seldom wait for one.
const LOOKED_UP_AGAIN: TimeDelta = TimeDelta::milliseconds(500);
/// How long a request waits for the lookup of its key.
const LOOK_WAIT: Duration = Duration::from_secs(5);
/// How many unknown keys may wait to be looked up, all together. This many are looked up in about a tenth of a second.
const UNKNOWN_WAITING_MAX: usize = 1_024;
/// How often a long wait checks that its key is still valid: a key that another process revoked ends its waits within this time.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How many found keys are remembered.
const CACHE_MAX: usize = 50_000;

/// The hash of a key, which is all that is kept of it.
type KeyHash = [u8; 32];

/// A lookup of one key in the store: when it began, and, once it is over, the principal that it found.
#[derive(Clone)]
struct Look {
    began: DateTime<Utc>,
    over: watch::Receiver<Option<Result<Option<Principal>, LookError>>>,
}

/// Why a key could not be looked up; trying again may help.
#[derive(Clone, Copy, Debug, Error)]
pub enum LookError {
    /// Too many other keys wait to be looked up, or the lookup took too long.
    #[error("too many keys wait to be looked up")]
    Crowded,
    /// The store could not answer at present.
    #[error("the store is unavailable")]
    Unavailable,
    /// The store failed; the failure was logged.
    #[error("the store failed")]
    Failed,
}

/// Whether a remembered key may be used without asking the store again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Belief {
    Fresh,
    /// The key may be used, and is looked up again in the background.
    Ageing,
    Stale,
}

/// The remembered keys.
#[derive(Default)]
struct Memory {
    /// Principals, and when they were found.
    found: HashMap<KeyHash, (DateTime<Utc>, Principal)>,
    /// Lookups under way: all requests with the same key wait for the same lookup.
    looks: HashMap<KeyHash, Look>,
}

/// Finds the principal behind a key, and remembers it for a second.
///
/// Guarantee: however many requests use a valid key, at most two lookups a second are begun for it, and all requests that wait
/// for a lookup go on when it is over. Mechanism: a lookup is a task of its own and does not run on the threads that serve
/// requests. There each step of the lookup would wait while its thread is busy refusing requests.
pub struct Authenticator {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    runtime: Handle,
    // A std mutex, because it is held for a map operation and never across an await.
    memory: Mutex<Memory>,
    /// Lets one task at a time look up unknown keys, so that a flood of invalid keys does not delay a valid one.
    unknown: Semaphore,
    /// The places in the line of unknown keys, which are the keys that are not remembered. A valid key is unknown only at its
    /// first use on this server, or after all keys were forgotten because there were [`CACHE_MAX`] of them.
    waiting: Arc<Semaphore>,
    /// The key that this process revoked last.
    revoked: watch::Sender<Option<KeyId>>,
}

impl Authenticator {
    /// Makes an authenticator that looks keys up in `store`, on the runtime that calls this.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            clock,
            runtime: Handle::current(),
            memory: Mutex::default(),
            unknown: Semaphore::new(1),
            waiting: Arc::new(Semaphore::new(UNKNOWN_WAITING_MAX)),
            revoked: watch::Sender::new(None),
        }
    }

    /// The principal of the key with this hash; `None` for an unknown or revoked key.
    pub async fn principal(self: &Arc<Self>, key_hash: KeyHash) -> Result<Option<Principal>, LookError> {
        let mut look = match self.remembered(key_hash) {
            Some((Belief::Fresh, principal)) => return Ok(Some(principal)),
            Some((Belief::Ageing, principal)) => {
                drop(self.look(key_hash, None));
                return Ok(Some(principal));
            }
            Some((Belief::Stale, _)) => self.look(key_hash, None),
            None => self.look_for_unknown(key_hash)?,
        };
        let over = timeout(LOOK_WAIT, look.over.wait_for(Option::is_some)).await;
        // A lookup that panics closes its channel without a result.
        let Ok(Ok(found)) = over else { return Err(LookError::Crowded) };
        found.clone().unwrap_or(Err(LookError::Crowded))
    }

    /// The remembered principal of the key.
    fn remembered(&self, key_hash: KeyHash) -> Option<(Belief, Principal)> {
        let now = self.clock.now();
        let memory = self.memory();
        let (at, principal) = memory.found.get(&key_hash)?;
        let age = now - *at;
        // If the clock ran backwards, a found key becomes stale, and does not stay fresh for longer.
        let belief = if !(TimeDelta::zero()..BELIEVED).contains(&age) {
            Belief::Stale
        } else if age >= LOOKED_UP_AGAIN {
            Belief::Ageing
        } else {
            Belief::Fresh
        };
        Some((belief, principal.clone()))
    }

    fn look_for_unknown(self: &Arc<Self>, key_hash: KeyHash) -> Result<Look, LookError> {
        if let Some(look) = self.under_way(key_hash) {
            return Ok(look);
        }
        let place = self.waiting.clone().try_acquire_owned().map_err(|_| LookError::Crowded)?;
        Ok(self.look(key_hash, Some(place)))
    }

    /// The lookup of this key that is under way, if a request may still join it. It may not if the lookup panicked, because then
    /// there will be no result, or if the lookup began too long ago, because it may have seen a key that was revoked since.
    fn under_way(&self, key_hash: KeyHash) -> Option<Look> {
        let now = self.clock.now();
        let is_young = |look: &&Look| (TimeDelta::zero()..BELIEVED).contains(&(now - look.began));
        self.memory().looks.get(&key_hash).filter(|look| look.over.has_changed().is_ok()).filter(is_young).cloned()
    }

    /// Joins the lookup of this key, or starts one. `in_line` is the place of an unknown key, which waits for its turn.
    fn look(self: &Arc<Self>, key_hash: KeyHash, in_line: Option<OwnedSemaphorePermit>) -> Look {
        if let Some(look) = self.under_way(key_hash) {
            return look;
        }
        let (over, receiver) = watch::channel(None);
        let look = Look { began: self.clock.now(), over: receiver };
        self.memory().looks.insert(key_hash, look.clone());
        let (this, own) = (self.clone(), look.over.clone());
        self.runtime.spawn(async move {
            // This program never closes its semaphores.
            let _turn = if in_line.is_some() { this.unknown.acquire().await.ok() } else { None };
            over.send_replace(Some(this.find(key_hash).await));
            let mut memory = this.memory();
            // Another lookup of this key may have begun meanwhile; the entry of that lookup stays.
            if memory.looks.get(&key_hash).is_some_and(|look| look.over.same_channel(&own)) {
                memory.looks.remove(&key_hash);
            }
        });
        look
    }

    async fn find(&self, key_hash: KeyHash) -> Result<Option<Principal>, LookError> {
        // The time is read before the lookup, so the result is never older than the time that is remembered with it.
        let (now, revoked) = (self.clock.now(), self.revoked.subscribe());
        let found = self.store.principal(key_hash).await;
        let mut memory = self.memory();
        match &found {
            // If any key was revoked during the lookup, it may be this key, and the lookup may have read it just before. So the
            // result is not remembered.
            Ok(Some(principal)) if !revoked.has_changed().unwrap_or(true) => {
                if memory.found.len() >= CACHE_MAX {
                    memory.found.clear();
                }
                memory.found.insert(key_hash, (now, principal.clone()));
            }
            Ok(Some(_)) | Err(_) => {}
            Ok(None) => {
                memory.found.remove(&key_hash);
            }
        }
        found.map_err(|error| match error {
            StoreError::Unavailable(why) => {
                tracing::warn!(why, "the store could not look a key up");
                LookError::Unavailable
            }
            error @ (StoreError::Failed(_) | StoreError::Damaged(_) | StoreError::Rejected(_) | StoreError::Held(_)) => {
                tracing::error!(error = format!("{:#}", anyhow::Error::from(error)), "looking a key up failed");
                LookError::Failed
            }
        })
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a revoked key, and no other, because all others would have to be looked up again.
    pub fn forget(&self, key: KeyId) {
        let mut memory = self.memory();
        memory.found.retain(|_, (_, found)| found.key_id() != Some(key));
        // A lookup that began earlier may have found the key still valid; requests from now on begin another lookup.
        memory.looks.clear();
        self.revoked.send_replace(Some(key));
    }

    /// Resolves when a key is no longer valid: at once if this process revokes it, otherwise within seconds.
    pub(crate) async fn until_revoked(self: &Arc<Self>, key_hash: KeyHash, key: Option<KeyId>) {
        let mut revoked = self.revoked.subscribe();
        // `subscribe` comes before the first lookup, so a revocation between the two is noticed. If the store cannot be
        // reached, this loop takes the key for valid.
        while !matches!(self.principal(key_hash).await, Ok(None)) {
            // Of two keys revoked at the same moment only the later one is seen here. If this key is the earlier one, the next
            // lookup notices that.
            let this_one = async { while revoked.changed().await.is_ok() && *revoked.borrow_and_update() != key {} };
            drop(timeout(LOOK_AGAIN, this_one).await);
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::people::principal::Role;
    use domain::wire::CreateKeyRequest;
    use futures_util::poll;
    use secrecy::SecretString;

    use super::super::keys::{hash, new_key};
    use super::*;
    use store::host::account;
    use store::host::clock::SystemEntropy;
    use store::sqlite::Exclusive;
    use store::{self, Database, Surroundings};

    const KNOWN: KeyId = KeyId(uuid::Uuid::nil());

    /// A clock that the test sets.
    struct Stopped(Mutex<DateTime<Utc>>);

    impl Stopped {
        fn advance(&self, by: TimeDelta) {
            *self.0.lock().unwrap() += by;
        }
    }

    impl Clock for Stopped {
        fn now(&self) -> DateTime<Utc> {
            *self.0.lock().unwrap()
        }
    }

    /// An authenticator that has found one key, and its clock.
    async fn with_a_known_key() -> (tempfile::TempDir, Arc<Stopped>, Arc<Authenticator>) {
        let folder = tempfile::TempDir::new().unwrap();
        let clock = Arc::new(Stopped(Mutex::new(DateTime::UNIX_EPOCH)));
        let database = Database::Sqlite(folder.path().join("keys.db"));
        let surroundings = Surroundings::alone(clock.clone(), Arc::new(SystemEntropy));
        let store = store::open(&database, Exclusive::Beside, surroundings).await.unwrap();
        let request = CreateKeyRequest {
            role: Role::Agent,
            name: "a".to_owned(),
            subject: None,
            owner: None,
            tied_to: None,
            client: None,
            unbound: false,
        };
        let key = new_key(request, &SecretString::from("known"), KNOWN, None, store::SecretOrigin::Drawn).unwrap();
        store.create_key(account::principal(), Ok(key)).await.unwrap();
        let authenticator = Arc::new(Authenticator::new(store, clock.clone()));
        assert!(authenticator.principal(hash("known")).await.unwrap().is_some());
        (folder, clock, authenticator)
    }

    /// Requests with a remembered key do not wait behind the lookups of unknown keys, of which only a limited number may wait. So
    /// a client that presents invalid keys does not slow others down.
    #[tokio::test]
    async fn so_many_unknown_keys_wait_to_be_looked_up_and_a_known_one_is_not_behind_them() {
        let (_folder, _clock, authenticator) = with_a_known_key().await;
        let turn = authenticator.unknown.acquire().await.unwrap();
        let mut waiting: Vec<_> =
            (0..UNKNOWN_WAITING_MAX).map(|number| Box::pin(authenticator.principal(hash(&number.to_string())))).collect();
        for look in &mut waiting {
            assert!(poll!(look).is_pending());
        }
        assert!(matches!(authenticator.principal(hash("one more")).await, Err(LookError::Crowded)));
        assert!(poll!(Box::pin(authenticator.principal(hash("0")))).is_pending(), "needs no look of its own");
        assert!(authenticator.principal(hash("known")).await.unwrap().is_some());
        drop(turn);
        for look in waiting {
            assert!(look.await.unwrap().is_none());
        }
        assert!(authenticator.principal(hash("one more")).await.unwrap().is_none(), "in a place that came free");
        assert!(authenticator.memory().looks.is_empty());
    }

    /// A remembered key is looked up again in the background while it still counts as valid. Requests wait only if the last
    /// lookup of their key is older, and then all of them share one lookup. Otherwise the server would stall once a second.
    #[tokio::test]
    async fn a_key_is_looked_up_again_before_anybody_has_to_wait_and_once_for_a_crowd() {
        let (_folder, clock, authenticator) = with_a_known_key().await;
        for (milliseconds, waits, looks) in [(499, false, 0), (500, false, 1), (999, false, 1), (1_000, true, 1), (-1, true, 1)] {
            let found = authenticator.memory().found[&hash("known")].0;
            clock.advance(TimeDelta::milliseconds(milliseconds));
            let mut crowd: Vec<_> = (0..100).map(|_| Box::pin(authenticator.principal(hash("known")))).collect();
            for one in &mut crowd {
                assert_eq!(poll!(one).is_pending(), waits, "{milliseconds} ms");
            }
            assert_eq!(authenticator.memory().looks.len(), looks, "{milliseconds} ms");
            if waits {
                for one in crowd {
                    assert!(one.await.unwrap().is_some());
                }
            }
            while !authenticator.memory().looks.is_empty() {
                tokio::task::yield_now().await;
            }
            let found_again = authenticator.memory().found[&hash("known")].0;
            assert_eq!(found_again, if looks == 0 { found } else { clock.now() }, "{milliseconds} ms");
            clock.advance(found_again - clock.now());
        }
    }

    /// A lookup that hangs may have seen a key that another server has revoked since: after a second no request joins it.
    #[tokio::test]
    async fn a_look_that_takes_long_is_not_joined() {
        let (_folder, clock, authenticator) = with_a_known_key().await;
        clock.advance(BELIEVED);
        let mut first = Box::pin(authenticator.principal(hash("known")));
        assert!(poll!(&mut first).is_pending());
        clock.advance(BELIEVED - TimeDelta::milliseconds(1));
        assert!(authenticator.under_way(hash("known")).is_some());
        clock.advance(TimeDelta::milliseconds(1));
        assert!(authenticator.under_way(hash("known")).is_none());
        let second = authenticator.principal(hash("known"));
        assert!(first.await.unwrap().is_some() && second.await.unwrap().is_some());
        while !authenticator.memory().looks.is_empty() {
            tokio::task::yield_now().await;
        }
    }

    /// A lookup that saw a key just before the key was revoked must not make the key valid again.
    #[tokio::test]
    async fn what_was_seen_before_a_revocation_is_not_believed_after_it() {
        let (_folder, _clock, authenticator) = with_a_known_key().await;
        // The test needs a lookup that is still under way, so it tries again if a lookup is over at once.
        let before = loop {
            let mut before = Box::pin(authenticator.find(hash("known")));
            if poll!(&mut before).is_pending() {
                break before;
            }
        };
        authenticator.forget(KNOWN);
        assert!(before.await.unwrap().is_some());
        assert!(!authenticator.memory().found.contains_key(&hash("known")));
        let mut waiting = Box::pin(authenticator.principal(hash("known")));
        assert!(poll!(&mut waiting).is_pending() && authenticator.under_way(hash("known")).is_some());
        authenticator.forget(KNOWN);
        assert!(
            authenticator.under_way(hash("known")).is_none(),
            "the next request must look the key up again and not join a lookup from before the revocation"
        );
        assert!(waiting.await.unwrap().is_some());
    }
}
