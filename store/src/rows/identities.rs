//! Accounts of people at an issuer, and the logins there that browsers have begun.

use chrono::{DateTime, Utc};
use domain::base::ids::{PersonId, SuspensionId};
use domain::people::identity::Identity;

use super::error::RowsResult;
use crate::identity::TakenLogin;

/// A login that a browser has begun.
#[derive(Clone, Debug)]
pub(crate) struct OpenIdLoginRow {
    /// The hash of the state.
    pub(crate) hash: [u8; 32],
    /// The hash of the cookie.
    pub(crate) browser: [u8; 32],
    pub(crate) expires_at: DateTime<Utc>,
    /// The question to which the person is led back.
    pub(crate) question: Option<SuspensionId>,
}

/// Writes accounts and logins at an issuer, in one transaction.
pub(crate) trait WriteIdentities {
    fn insert_identity(&mut self, identity: &Identity, person: PersonId, at: DateTime<Utc>) -> RowsResult<()>;
    /// Notes that a browser begins a login.
    fn insert_openid_login(&mut self, login: &OpenIdLoginRow) -> RowsResult<()>;
    /// Deletes a login that this browser has begun, and gives the question to which it leads back. `None` if there is no login, or if it
    /// has ended.
    fn take_openid_login(&mut self, hash: &[u8; 32], browser: &[u8; 32], now: DateTime<Utc>) -> RowsResult<Option<TakenLogin>>;
    /// Deletes logins that have ended, at most `limit`.
    fn delete_ended_openid_logins(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<u64>;
}

/// Reads accounts at an issuer, inside a transaction that writes or outside.
pub(crate) trait ReadIdentities {
    fn person_identified(&mut self, identity: &Identity) -> RowsResult<Option<PersonId>>;
    fn has_identity(&mut self, person: PersonId) -> RowsResult<bool>;
}
