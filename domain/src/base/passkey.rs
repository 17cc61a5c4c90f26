//! Passkeys (WebAuthn): where they belong, and the assertions that they make.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most bytes of a credential's id (WebAuthn Level 2, §4).
pub const CREDENTIAL_ID_BYTES_MAX: usize = 1_023;
/// The most bytes of a public key in COSE: an RSA key of 8,192 bits has fewer.
pub const PUBLIC_KEY_BYTES_MAX: usize = 1_100;
/// The most bytes of any other part of an assertion.
pub const PART_BYTES_MAX: usize = 4 * 1_024;

/// Bytes that are written in base64url without padding.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Octets(pub Vec<u8>);

impl Octets {
    /// Reads 1 to `bytes_max` bytes; `None` for any other text.
    pub fn read(text: &str, bytes_max: usize) -> Option<Self> {
        // Four characters hold three bytes, so a longer text is not worth decoding.
        let bytes = (text.len() <= bytes_max.div_ceil(3) * 4).then(|| URL_SAFE_NO_PAD.decode(text).ok())??;
        (1..=bytes_max).contains(&bytes.len()).then_some(Self(bytes))
    }
}

impl std::fmt::Display for Octets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(&self.0))
    }
}

impl std::fmt::Debug for Octets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Serialize for Octets {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        Self::read(&text, PART_BYTES_MAX).ok_or_else(|| D::Error::custom("not 1 to 4,096 bytes in base64url without padding"))
    }
}

/// The server's place on the web, to which passkeys belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The host of the public address, a domain name. The authenticator signs its hash.
    pub rp_id: String,
    /// The origin of the pages, with scheme and port. The browser writes it into what is signed.
    pub origin: String,
}

/// An assertion: a passkey's signature under a challenge, with everything that it covers (WebAuthn Level 2, §6.3.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// The passkey.
    pub credential_id: Octets,
    /// The hash of the RP id, the flags and the counter of the authenticator.
    pub authenticator_data: Octets,
    /// The challenge and the origin, as the browser wrote them.
    pub client_data_json: Octets,
    /// The signature under the two parts before.
    pub signature: Octets,
}

impl Assertion {
    /// Reads the parts of an assertion; `None` if one of them is missing, too long or no base64url.
    pub fn read(credential_id: &str, authenticator_data: &str, client_data_json: &str, signature: &str) -> Option<Self> {
        Some(Self {
            credential_id: Octets::read(credential_id, CREDENTIAL_ID_BYTES_MAX)?,
            authenticator_data: Octets::read(authenticator_data, PART_BYTES_MAX)?,
            client_data_json: Octets::read(client_data_json, PART_BYTES_MAX)?,
            signature: Octets::read(signature, PART_BYTES_MAX)?,
        })
    }
}

/// A passkey of which a verifier knows that it is the person's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownPasskey {
    /// The person's address.
    pub person: String,
    /// The passkey.
    pub credential_id: Octets,
    /// Its public key in COSE.
    pub public_key: Octets,
    /// The domain for which it was made.
    pub rp_id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_have_one_spelling_and_a_bound() {
        assert_eq!(Octets::read("AQID", 3), Some(Octets(vec![1, 2, 3])));
        assert_eq!(Octets(vec![251, 255]).to_string(), "-_8");
        for (wrong, bytes_max) in [("", 3), ("AQIDBA", 3), ("AQ==", 3), ("+/8", 3), ("AQJ", 3), ("A Q", 3)] {
            assert_eq!(Octets::read(wrong, bytes_max), None, "{wrong}");
        }
        let longest = Octets(vec![7; CREDENTIAL_ID_BYTES_MAX]).to_string();
        assert!(Octets::read(&longest, CREDENTIAL_ID_BYTES_MAX).is_some());
        let longer = Octets(vec![7; CREDENTIAL_ID_BYTES_MAX + 1]).to_string();
        assert!(Octets::read(&longer, CREDENTIAL_ID_BYTES_MAX).is_none());
    }
}
