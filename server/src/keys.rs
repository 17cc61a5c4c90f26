//! API keys: how they look, how they are made, how they are looked up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::authority::{Principal, Role};
use domain::clock::Clock;
use domain::ids::{Entropy, KeyId};
use domain::problem::FieldError;
use domain::wire::CreateKeyRequest;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use thiserror::Error;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::store::{NewKey, Store, StoreError};

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 27 of 62 characters carry 160 bits.
const RANDOM_CHARS: usize = 27;
const CHECK_CHARS: usize = 6;
/// The longest key that is looked up at all.
pub const KEY_CHARS_MAX: usize = 200;
/// The longest name, subject and owner, in characters.
pub const NAME_MAX: usize = 200;
/// An imported secret with fewer bits needs `--weak`.
pub const IMPORT_BITS_MIN: f64 = 128.0;
/// How long a found key is believed without looking again: a revocation from another process counts within this time.
const CACHE_SECONDS: i64 = 1;
/// How long a key waits to be looked up.
const LOOK_WAIT: Duration = Duration::from_secs(5);
/// How many keys nobody has seen before wait to be looked up, all together. So many are looked up in about a tenth of a second.
const UNKNOWN_WAITING_MAX: usize = 1_024;
/// How often whoever waits long looks whether its key still counts: a key revoked by another process ends its waits within this time.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How many found keys are remembered.
const CACHE_MAX: usize = 10_000;

/// Makes a key: `placet_<role>_<27 random characters><6 check characters>`, so that scanners find leaks and people find typos.
pub fn generate(role: Role, entropy: &dyn Entropy) -> SecretString {
    let mut key = format!("placet_{role}_");
    let mut drawn = 0;
    while drawn < RANDOM_CHARS {
        let mut byte = [0];
        entropy.fill(&mut byte);
        // 248 is the largest multiple of 62 in a byte: beyond it some characters would come more often.
        if byte[0] < 248 {
            key.push(char::from(BASE62[usize::from(byte[0] % 62)]));
            drawn += 1;
        }
    }
    let mut check = crc32fast::hash(key.as_bytes());
    let mut digits = [0; CHECK_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(check % 62) as usize];
        check /= 62;
    }
    key.extend(digits.map(char::from));
    key.into()
}

/// What is kept of a key. Keys carry 128 bits or more, so a fast hash is right.
pub fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// Roughly how many bits a secret somebody chose can carry: its length times the size of the alphabets it uses.
pub fn bits(secret: &str) -> f64 {
    let size = |holds: bool, size: f64| if holds { size } else { 0.0 };
    let alphabet = size(secret.chars().any(|c| c.is_ascii_digit()), 10.0)
        + size(secret.chars().any(|c| c.is_ascii_lowercase()), 26.0)
        + size(secret.chars().any(|c| c.is_ascii_uppercase()), 26.0)
        + size(secret.chars().any(|c| !c.is_ascii_alphanumeric()), 32.0);
    let distinct = secret.chars().collect::<std::collections::BTreeSet<_>>().len();
    // A secret of one repeated character carries almost nothing, however long.
    let length = u32::try_from(secret.chars().count().min(distinct * 2)).unwrap_or(u32::MAX);
    alphabet.max(1.0).log2() * f64::from(length)
}

/// Checks the names of a key and joins them with the hash of its secret.
///
/// # Errors
///
/// Every name that breaks a rule.
pub fn new_key(request: CreateKeyRequest, secret: &SecretString, id: KeyId) -> Result<NewKey, Vec<FieldError>> {
    let subject = request.subject.unwrap_or_else(|| request.name.clone());
    let owner = request.owner.unwrap_or_else(|| request.name.clone());
    let errors: Vec<FieldError> = [("name", &request.name), ("subject", &subject), ("owner", &owner)]
        .into_iter()
        .filter(|(_, text)| text.trim().is_empty() || text.chars().count() > NAME_MAX || text.chars().any(char::is_control))
        .map(|(field, _)| {
            FieldError::new(field, "length", format!("is 1 to {NAME_MAX} characters, none of them control characters"))
        })
        .collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(NewKey { id, name: request.name, role: request.role, subject, owner, hash: hash(secret.expose_secret()) })
}

/// A principal, and when it was found.
type Found = (DateTime<Utc>, Principal);

/// Why a key could not be looked up; trying again may help.
#[derive(Debug, Error)]
pub enum LookError {
    /// Too many others wait for the same.
    #[error("too many keys wait to be looked up")]
    Crowded,
    /// The store could not say.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Finds the principal behind a key, remembering what it found for a second.
pub struct Authenticator {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    // A std mutex: held for a map operation, never across an await.
    found: Mutex<HashMap<[u8; 32], Found>>,
    /// One at a time looks keys up that were found before: the others of a crowd then find what the first has found.
    known: Semaphore,
    /// And one at a time others, so that a flood of keys that do not count keeps no other key waiting.
    unknown: Semaphore,
    /// Places in line for those. A key that counts was seen before, unless it is new or the server is.
    waiting: Semaphore,
    /// The key revoked last, by this process.
    revoked: watch::Sender<Option<KeyId>>,
}

impl Authenticator {
    /// Looks keys up in `store`.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            clock,
            found: Mutex::default(),
            known: Semaphore::new(1),
            unknown: Semaphore::new(1),
            waiting: Semaphore::new(UNKNOWN_WAITING_MAX),
            revoked: watch::Sender::new(None),
        }
    }

    /// The principal of the key with this hash; `None` for a key that does not count (any more).
    pub async fn principal(&self, key_hash: [u8; 32]) -> Result<Option<Principal>, LookError> {
        let is_known = match self.remembered(key_hash) {
            Some((true, principal)) => return Ok(Some(principal)),
            stale => stale.is_some(),
        };
        let turn = if is_known { &self.known } else { &self.unknown };
        let _in_line = if is_known { None } else { Some(self.waiting.try_acquire().map_err(|_| LookError::Crowded)?) };
        let turn = timeout(LOOK_WAIT, turn.acquire()).await;
        let Ok(Ok(_turn)) = turn else { return Err(LookError::Crowded) };
        if let Some((true, principal)) = self.remembered(key_hash) {
            return Ok(Some(principal));
        }
        // Before the look: what it finds is no younger.
        let now = self.clock.now();
        let principal = self.store.principal(key_hash).await?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(principal) = &principal {
            if found.len() >= CACHE_MAX {
                found.clear();
            }
            found.insert(key_hash, (now, principal.clone()));
        } else {
            found.remove(&key_hash);
        }
        Ok(principal)
    }

    /// Whom the key was found to be, and whether that is still believed.
    fn remembered(&self, key_hash: [u8; 32]) -> Option<(bool, Principal)> {
        let now = self.clock.now();
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, principal) = found.get(&key_hash)?;
        // A clock that ran backwards makes what was found stale, not fresh for longer.
        let fresh = (TimeDelta::zero()..TimeDelta::seconds(CACHE_SECONDS)).contains(&(now - *at));
        Some((fresh, principal.clone()))
    }

    /// Forgets a key that was revoked, and no other: all would have to be looked up again, one at a time.
    pub fn forget(&self, key: KeyId) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, (_, found)| found.key_id != Some(key));
        self.revoked.send_replace(Some(key));
    }

    /// Resolves when a key does not count any more: at once if it is revoked here, else within seconds.
    pub(crate) async fn until_revoked(&self, key_hash: [u8; 32], key: Option<KeyId>) {
        let mut revoked = self.revoked.subscribe();
        // Registered before the look. A store that cannot be asked revokes nothing.
        while !matches!(self.principal(key_hash).await, Ok(None)) {
            // Of two keys revoked at the same moment only the later one is seen here; the other is noticed at the next look.
            let this_one = async { while revoked.changed().await.is_ok() && *revoked.borrow_and_update() != key {} };
            drop(timeout(LOOK_AGAIN, this_one).await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{SystemClock, SystemEntropy};
    use crate::store::sqlite::Exclusive;
    use crate::store::{self, Database, Outside};

    #[test]
    fn a_key_has_its_role_its_length_and_a_check_that_finds_typos() {
        for role in Role::ALL {
            let key = generate(role, &SystemEntropy);
            let key = key.expose_secret();
            let rest = key.strip_prefix(&format!("placet_{role}_")).unwrap();
            assert_eq!(rest.len(), RANDOM_CHARS + CHECK_CHARS);
            assert!(rest.bytes().all(|byte| BASE62.contains(&byte)));
        }
        assert_ne!(generate(Role::Agent, &SystemEntropy).expose_secret(), generate(Role::Agent, &SystemEntropy).expose_secret());
    }

    /// Whoever presents keys that do not count must not make a line for those that do.
    #[tokio::test]
    async fn so_many_unknown_keys_wait_to_be_looked_up_and_a_known_one_is_not_behind_them() {
        let folder = tempfile::TempDir::new().unwrap();
        let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
        let database = Database::Sqlite(folder.path().join("keys.db"));
        let store = store::open(&database, Exclusive::Beside, Outside::alone(clock.clone(), entropy)).await.unwrap();
        let request = CreateKeyRequest { role: Role::Agent, name: "a".to_owned(), subject: None, owner: None };
        let secret = SecretString::from("known");
        store.create_key(new_key(request, &secret, KeyId(uuid::Uuid::nil())).unwrap()).await.unwrap();
        let authenticator = Authenticator::new(store, clock);
        assert!(authenticator.principal(hash("known")).await.unwrap().is_some());
        let turn = authenticator.unknown.acquire().await.unwrap();
        let mut waiting: Vec<_> =
            (0..UNKNOWN_WAITING_MAX).map(|number| Box::pin(authenticator.principal(hash(&number.to_string())))).collect();
        for look in &mut waiting {
            assert!(futures_util::poll!(look).is_pending());
        }
        assert!(matches!(authenticator.principal(hash("one more")).await, Err(LookError::Crowded)));
        assert!(authenticator.principal(hash("known")).await.unwrap().is_some());
        waiting.pop();
        let mut one_more = Box::pin(authenticator.principal(hash("one more")));
        assert!(futures_util::poll!(&mut one_more).is_pending(), "in the place that came free");
        drop(waiting);
        drop(turn);
        assert!(one_more.await.unwrap().is_none());
    }

    #[test]
    fn chosen_secrets_are_weighed() {
        assert!(bits("dev-key") < IMPORT_BITS_MIN);
        assert!(bits(&"a".repeat(100)) < IMPORT_BITS_MIN);
        assert!(bits("changeme-changeme-changeme") < IMPORT_BITS_MIN);
        assert!(bits("b7Kq2x9LmP4vT8wZ3nR6cY1h") >= IMPORT_BITS_MIN);
    }
}
