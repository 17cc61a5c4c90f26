//! Passkeys on their way from and to the pages.

use domain::base::ids::PersonId;
use domain::base::passkey::{Assertion, Octets};
use domain::people::passkey::Passkey;

/// A challenge that a passkey of the person signs next, once.
#[derive(Clone, Debug)]
pub struct PasskeyChallenge {
    pub challenge: [u8; 32],
    pub person: PersonId,
    /// The passkeys that the person has, one of which must allow the next change.
    pub passkeys: Vec<Passkey>,
}

/// A passkey that a browser made.
#[derive(Clone, Debug)]
pub struct NewPasskey {
    pub authenticator_data: Octets,
    pub client_data_json: Octets,
    /// The assertion by an existing passkey of the person, if there is one.
    pub allowed_by: Option<Assertion>,
}

/// The person of an answer link, as far as a passkey must sign the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signer {
    /// The address is not listed, or not confirmed.
    Unknown,
    /// A person with these passkeys, possibly none.
    Person(Vec<Passkey>),
}
