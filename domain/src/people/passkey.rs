//! Passkeys of people: the private half of each is on a device of the person, and signs answers there.

use chrono::{DateTime, Utc};

use crate::base::ids::PersonId;
use crate::base::passkey::{KnownPasskey, Octets};
use crate::people::person::Person;

/// The most passkeys of one person.
pub const PASSKEYS_MAX: usize = 20;

/// A passkey of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    /// The id under which the person's device knows it.
    pub credential_id: Octets,
    /// The person.
    pub person: PersonId,
    /// Its public key in COSE.
    pub public_key: Octets,
    /// The number of its algorithm in COSE.
    pub algorithm: i64,
    /// The domain for which it was made; it works on no other one.
    pub rp_id: String,
    /// How often it has signed, if it counts; else 0.
    pub counter: u32,
    /// When it was added.
    pub added_at: DateTime<Utc>,
    /// When it last signed; absent if it has not.
    pub used_at: Option<DateTime<Utc>>,
}

impl Passkey {
    /// The facts by which a verifier without this server checks its signatures.
    pub fn known(&self, person: &Person) -> KnownPasskey {
        let Self { credential_id, public_key, rp_id, .. } = self.clone();
        KnownPasskey { person: person.address.clone(), credential_id, public_key, rp_id }
    }
}
