//! Passkeys of people.

use chrono::{DateTime, Utc};
use domain::base::ids::PersonId;
use domain::base::passkey::Octets;
use domain::people::passkey::Passkey;

use super::error::RowsResult;

/// Writes passkeys, in one transaction.
pub(crate) trait WritePasskeys {
    fn insert_passkey(&mut self, passkey: &Passkey) -> RowsResult<()>;
    /// Notes that a passkey has signed. `false` if its counter is not the one that was read before.
    fn use_passkey(&mut self, read: &Passkey, counter: u32, at: DateTime<Utc>) -> RowsResult<bool>;
    fn delete_passkey(&mut self, credential_id: &Octets) -> RowsResult<()>;
}

/// Reads passkeys, inside a transaction that writes or outside.
pub(crate) trait ReadPasskeys {
    /// The passkeys of a person, in the order in which they were added.
    fn passkeys_of(&mut self, person: PersonId) -> RowsResult<Vec<Passkey>>;
    fn passkey(&mut self, credential_id: &Octets) -> RowsResult<Option<Passkey>>;
}
