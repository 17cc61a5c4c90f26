//! API keys, and the secrets the server makes for itself.

use chrono::{DateTime, Utc};
use domain::base::ids::KeyId;
use domain::intent::assignment::Alias;
use domain::people::principal::Principal;
use domain::wire::KeyView;

use super::error::RowsResult;
use crate::request::NewKey;

/// Reads the names of the channels that a key is tied to. The key's row stores them separated by spaces, which no name contains.
pub(crate) fn names(kept: &str) -> Vec<String> {
    kept.split(' ').map(str::to_owned).collect()
}

/// Writes keys and secrets, in one transaction.
pub(crate) trait WriteKeys {
    fn insert_key(&mut self, key: &NewKey, now: DateTime<Utc>) -> RowsResult<()>;
    fn revoke_key(&mut self, id: KeyId, now: DateTime<Utc>) -> RowsResult<()>;
    fn insert_secret(&mut self, name: &str, value: &[u8; 32]) -> RowsResult<()>;
}

/// Reads keys and secrets, inside a transaction that writes or outside.
pub(crate) trait ReadKeys {
    fn principal(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<Principal>>;
    /// The principal of a key that is not revoked.
    fn principal_of(&mut self, id: KeyId) -> RowsResult<Option<Principal>>;
    fn key(&mut self, id: KeyId) -> RowsResult<Option<KeyView>>;
    fn keys(&mut self) -> RowsResult<Vec<KeyView>>;
    /// The name and the subject of each key of an agent, revoked or not, that has one of these texts as its name or its subject.
    fn agents_called(&mut self, texts: &[&str]) -> RowsResult<Vec<Alias>>;
    fn secret(&mut self, name: &str) -> RowsResult<Option<Vec<u8>>>;
}
