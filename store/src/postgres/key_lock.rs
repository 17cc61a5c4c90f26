//! Idempotency keys: how long they count, and the lock that keeps two requests with one key apart.

/// How long an idempotency record counts, in hours.
pub(super) const IDEMPOTENCY_HOURS: i64 = 24;

/// The number under which a key is locked. Two keys that share a number wait for each other, which does no harm.
pub(super) fn lock_of(key_hash: &[u8; 32]) -> i32 {
    let [a, b, c, d, ..] = *key_hash;
    i32::from_be_bytes([a, b, c, d])
}
