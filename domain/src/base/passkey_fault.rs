//! Why a passkey is not accepted, in the words of a reader's language.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::words::Language;

/// Why the registration of a passkey, or its signature, is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PasskeyFault {
    /// The server has no domain for which passkeys could be made.
    NoDomain,
    /// The challenge has lapsed, or was used.
    OpenTooLong,
    /// It is none of the person's passkeys.
    NotOwn,
    /// Its counter went back, or stood still.
    Copied,
    /// The person has a passkey, and none of them signed the change.
    NotAllowed,
    /// The server has it already.
    Registered,
    /// The person has as many as there may be.
    TooMany(usize),
    /// It signed another thing at the same moment.
    AtTheSameTime,
    /// The address of a link is not that of a listed person.
    NotListed,
    /// The form came without a signature.
    NotAsked,
    /// The bytes of the authenticator have another form.
    AuthenticatorData,
    /// The public key has another form, or an algorithm that was not offered.
    PublicKey,
    /// The browser's data is not JSON, or lacks a member.
    ClientData,
    /// A registration came in place of a signature, or the other way round.
    Ceremony,
    /// The challenge is another one.
    Challenge,
    /// The page was another site's, or stood in a frame of another site.
    Origin,
    /// The passkey belongs to another domain.
    OtherDomain,
    /// No person was present.
    NotPresent,
    /// The device did not verify its user.
    NotVerified,
    /// It is known as another person's.
    OtherPerson,
    /// The signature is not that of the public key.
    Signature,
}

impl PasskeyFault {
    /// The reason, as the end of the sentence "the passkey is not accepted: ".
    pub fn words(self, language: Language) -> String {
        match language {
            Language::English => self.in_english(),
            Language::German => self.in_german(),
        }
    }

    fn in_english(self) -> String {
        let words = match self {
            Self::NoDomain => "the server's public address has no domain name",
            Self::OpenTooLong => "the page was open for too long; try again",
            Self::NotOwn => "it is not one of this person's passkeys",
            Self::Copied => "its counter did not advance, as that of a copied passkey",
            Self::NotAllowed => "a passkey that you have already must allow another one",
            Self::Registered => "it is registered already",
            Self::TooMany(most) => return format!("a person has at most {most} passkeys; remove one first"),
            Self::AtTheSameTime => "it signed something else at the same time",
            Self::NotListed => "the address of this link is not that of a person who has logged in here",
            Self::NotAsked => "your device was not asked, or did not sign",
            Self::AuthenticatorData => "the authenticator's data has another form",
            Self::PublicKey => "its public key is neither ES256, EdDSA nor RS256 in the form of COSE",
            Self::ClientData => "the browser's data has another form",
            Self::Ceremony => "it was asked for something else",
            Self::Challenge => "it signed something else: the challenge is another one",
            Self::Origin => "it was used on another site",
            Self::OtherDomain => "it belongs to another domain",
            Self::NotPresent => "no person was present",
            Self::NotVerified => "the device did not verify its user by a PIN, a fingerprint or a face",
            Self::OtherPerson => "it is another person's",
            Self::Signature => "its signature is wrong",
        };
        words.to_owned()
    }

    fn in_german(self) -> String {
        let words = match self {
            Self::NoDomain => "Die öffentliche Adresse des Servers hat keinen Domainnamen",
            Self::OpenTooLong => "Die Seite war zu lange offen; versuchen Sie es noch einmal",
            Self::NotOwn => "Er ist keiner der Passkeys dieser Person",
            Self::Copied => "Sein Zähler ist nicht weitergegangen, wie bei einem kopierten Passkey",
            Self::NotAllowed => "Ein Passkey, den Sie schon haben, muss einen weiteren erlauben",
            Self::Registered => "Er ist schon eingetragen",
            Self::TooMany(most) => return format!("Eine Person hat höchstens {most} Passkeys; entfernen Sie zuerst einen"),
            Self::AtTheSameTime => "Er hat gleichzeitig etwas anderes signiert",
            Self::NotListed => "Die Adresse dieses Links gehört keiner Person, die sich hier angemeldet hat",
            Self::NotAsked => "Ihr Gerät wurde nicht gefragt oder hat nicht signiert",
            Self::AuthenticatorData => "Die Daten des Geräts haben eine andere Form",
            Self::PublicKey => "Sein öffentlicher Schlüssel ist weder ES256 noch EdDSA noch RS256 in der Form von COSE",
            Self::ClientData => "Die Daten des Browsers haben eine andere Form",
            Self::Ceremony => "Er wurde um etwas anderes gebeten",
            Self::Challenge => "Er hat etwas anderes signiert: Die Aufgabe ist eine andere",
            Self::Origin => "Er wurde auf einer anderen Website benutzt",
            Self::OtherDomain => "Er gehört zu einer anderen Domain",
            Self::NotPresent => "Es war keine Person am Gerät",
            Self::NotVerified => "Das Gerät hat seinen Benutzer nicht durch PIN, Fingerabdruck oder Gesicht geprüft",
            Self::OtherPerson => "Er gehört einer anderen Person",
            Self::Signature => "Seine Signatur ist falsch",
        };
        words.to_owned()
    }
}

/// The reason in English, as the API tells it.
impl fmt::Display for PasskeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_english())
    }
}
