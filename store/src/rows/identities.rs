//! Accounts of people at an issuer, and the logins there that browsers have begun.

use chrono::{DateTime, Utc};
use domain::base::ids::PersonId;
use domain::people::identity::Identity;

use super::error::RowsResult;

/// Writes accounts and logins at an issuer, in one transaction.
pub(crate) trait WriteIdentities {
    fn insert_identity(&mut self, identity: &Identity, person: PersonId, at: DateTime<Utc>) -> RowsResult<()>;
    /// Notes that a browser begins a login. `hash` is that of the state, and `browser` that of the cookie.
    fn insert_openid_login(&mut self, hash: &[u8; 32], browser: &[u8; 32], until: DateTime<Utc>) -> RowsResult<()>;
    /// Deletes a login that this browser has begun. `false` if there is none, or if it has ended.
    fn take_openid_login(&mut self, hash: &[u8; 32], browser: &[u8; 32], now: DateTime<Utc>) -> RowsResult<bool>;
    /// Deletes logins that have ended, at most `limit`.
    fn delete_ended_openid_logins(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<u64>;
}

/// Reads accounts at an issuer, inside a transaction that writes or outside.
pub(crate) trait ReadIdentities {
    fn person_identified(&mut self, identity: &Identity) -> RowsResult<Option<PersonId>>;
    fn has_identity(&mut self, person: PersonId) -> RowsResult<bool>;
}
