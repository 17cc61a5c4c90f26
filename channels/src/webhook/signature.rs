//! Signatures by which a receiver recognises the sender of a webhook (Standard Webhooks 1.0).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use sha2::Sha256;

/// The prefix of every secret.
const PREFIX: &str = "whsec_";
/// The shortest and the longest secret, in bytes.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A secret shared with the receiver.
#[derive(Clone, Debug)]
pub(crate) struct SigningKey(SecretSlice<u8>);

impl SigningKey {
    /// Reads `whsec_` and base64 of 24 to 64 bytes.
    pub(crate) fn parse(text: &SecretString) -> Option<Self> {
        let bytes = STANDARD.decode(text.expose_secret().strip_prefix(PREFIX)?).ok()?;
        SECRET_BYTES.contains(&bytes.len()).then(|| Self(bytes.into()))
    }

    /// `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`.
    pub(crate) fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        format!("v1,{}", STANDARD.encode(self.over(id, timestamp, body).finalize().into_bytes()))
    }

    /// Whether this is the signature that [`SigningKey::sign`] makes, compared in a time that tells nothing of it.
    pub(crate) fn has_made(&self, signature: &str, id: &str, timestamp: i64, body: &[u8]) -> bool {
        let given = signature.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
        given.is_some_and(|given| self.over(id, timestamp, body).verify_slice(&given).is_ok())
    }

    fn over(&self, id: &str, timestamp: i64, body: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret())
            .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body)
    }
}

/// The header of a message that is signed with each key, the newest first: a receiver that knows any of them accepts it.
pub(crate) fn signatures(keys: &[SigningKey], id: &str, timestamp: i64, body: &[u8]) -> String {
    keys.iter().map(|key| key.sign(id, timestamp, body)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Option<SigningKey> {
        SigningKey::parse(&SecretString::from(text))
    }

    /// The test vector of the libraries at standardwebhooks.com.
    #[test]
    fn the_signature_is_the_one_the_libraries_make() {
        let key = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_holds_at_its_bounds_and_not_beyond() {
        let secret = |bytes: usize| format!("{PREFIX}{}", STANDARD.encode(vec![7; bytes]));
        for (bytes, is_key) in [(23, false), (24, true), (64, true), (65, false)] {
            assert_eq!(key(&secret(bytes)).is_some(), is_key, "{bytes}");
        }
        for wrong in [
            "",
            "whsec_",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS!",
            "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            assert!(key(wrong).is_none(), "{wrong}");
        }
        assert!(!format!("{:?}", key(&secret(32)).unwrap()).contains("BwcH"));
    }

    /// During a change of the secret, some receivers know the old one and some the new one. So a message is signed with both.
    #[test]
    fn a_rotation_signs_with_both() {
        let keys =
            [key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap(), key("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD").unwrap()];
        let both = signatures(&keys, "id", 1, b"{}");
        assert_eq!(both, format!("{} {}", keys[0].sign("id", 1, b"{}"), keys[1].sign("id", 1, b"{}")));
    }
}
