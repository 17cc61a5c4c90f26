//! Proves that the server at an address is the one that serves a given database. A status alone proves nothing, because the
//! public URL may lead to another server, which answers 200 as well.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use domain::base::ids::Entropy;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::settings::Settings;

/// The name of the secret in the database from which proofs are made; the secret is used for nothing else.
pub(crate) const INSTANCE_SECRET: &str = "instance";
/// The length of a challenge: 32 random bytes.
pub(crate) const CHALLENGE_CHARS: usize = 43;
/// The domain separation prefix of the proofs that a server serves this database.
const PROOF_DOMAIN: &[u8] = b"placet.instance.v1";
/// The domain separation prefix of the proofs that a program can read the database.
const READER_DOMAIN: &[u8] = b"placet.reader.v1";

/// The identity of the server on one database. Its `Debug` shows nothing.
#[derive(Clone)]
pub(crate) struct Instance {
    secret: [u8; 32],
    /// The settings of the server; absent in a program that only looks for the server.
    settings: Option<Arc<Settings>>,
}

impl Instance {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        Self { secret, settings: None }
    }

    /// The same instance with its settings.
    pub(crate) fn running_with(self, settings: Settings) -> Self {
        Self { settings: Some(Arc::new(settings)), ..self }
    }

    /// The proof, made at `now`, that a program can read this server's database.
    pub(crate) fn read_by(&self, challenge: &str, now: DateTime<Utc>) -> String {
        URL_SAFE_NO_PAD.encode(self.reader_mac(challenge, minute(now)).finalize().into_bytes())
    }

    /// The settings of the server, for a program that proves that it can read the database.
    ///
    /// The program chooses the challenge itself, so only the minute limits the life of a proof: it is valid in its own minute,
    /// the minute before and the minute after. So a proof that a third party has seen opens nothing after two minutes, and the
    /// two clocks may differ by one minute.
    pub(crate) fn settings_for(&self, challenge: &str, reader: &str, now: DateTime<Utc>) -> Option<&Settings> {
        let bytes = URL_SAFE_NO_PAD.decode(reader).ok()?;
        let mut minutes = minute(now) - 1..=minute(now) + 1;
        let holds = minutes.any(|minute| self.reader_mac(challenge, minute).verify_slice(&bytes).is_ok());
        self.settings.as_deref().filter(|_| holds)
    }

    fn reader_mac(&self, challenge: &str, minute: i64) -> Hmac<Sha256> {
        self.mac(READER_DOMAIN, challenge).chain_update(format!(".{minute}"))
    }

    /// The answer to `challenge` that only this server can give.
    pub(crate) fn prove(&self, challenge: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(PROOF_DOMAIN, challenge).finalize().into_bytes())
    }

    /// Whether `proof` is this server's answer to `challenge`.
    pub(crate) fn proved_by(&self, challenge: &str, proof: &str) -> bool {
        URL_SAFE_NO_PAD.decode(proof).is_ok_and(|bytes| self.mac(PROOF_DOMAIN, challenge).verify_slice(&bytes).is_ok())
    }

    fn mac(&self, domain: &[u8], challenge: &str) -> Hmac<Sha256> {
        // Unwrap safety: HMAC takes a key of any length.
        let mac = Hmac::<Sha256>::new_from_slice(&self.secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
        mac.chain_update(domain).chain_update(challenge)
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Instance(…)")
    }
}

/// The number of the minute of `now`, counted from 1970.
fn minute(now: DateTime<Utc>) -> i64 {
    now.timestamp().div_euclid(60)
}

/// A challenge that was never used before.
pub(crate) fn challenge(entropy: &dyn Entropy) -> String {
    URL_SAFE_NO_PAD.encode(entropy.bytes32())
}

/// Whether `text` has the form of a challenge.
pub(crate) fn is_challenge(text: &str) -> bool {
    text.len() == CHALLENGE_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_one_challenge_and_one_server() {
        let (this, other) = (Instance::new([1; 32]), Instance::new([2; 32]));
        let (asked, another) = ("a".repeat(CHALLENGE_CHARS), "b".repeat(CHALLENGE_CHARS));
        let proof = this.prove(&asked);
        assert!(this.proved_by(&asked, &proof));
        assert!(!other.proved_by(&asked, &proof) && !this.proved_by(&another, &proof));
        assert!(!this.proved_by(&asked, "") && !this.proved_by(&asked, &proof[1..]));
        assert!(is_challenge(&asked) && !is_challenge(&asked[1..]) && !is_challenge(&format!("{asked}a")));
        assert!(!is_challenge(&format!("{}=", &asked[1..])));
        assert_eq!(format!("{this:?}"), "Instance(…)");
    }
}
