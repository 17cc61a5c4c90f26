//! Recognises messages that others have signed (Standard Webhooks 1.0).

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::SecretString;

use super::WebhookSettingsError;
use super::signature::SigningKey;

/// How many seconds the time of a message may differ from the clock, in either direction.
pub const SIGNED_WITHIN_SECONDS: i64 = 300;
/// The longest id of a message, in bytes.
pub const MESSAGE_ID_MAX: usize = 255;
/// The most signatures of one message that are looked at. A sender that changes its secret signs with two.
const SIGNATURES_MAX: usize = 8;

/// A message with the three headers of its signature, as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct SignedMessage<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`: seconds since 1970.
    pub timestamp: &'a str,
    /// `webhook-signature`: signatures with spaces between them.
    pub signatures: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// A sender with which this server shares a secret.
#[derive(Clone)]
pub struct SignedSender {
    name: String,
    keys: Vec<SigningKey>,
}

/// `Debug` leaves the secrets out.
impl fmt::Debug for SignedSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedSender").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SignedSender {
    /// The sender of this name. While it changes its secret, it has two.
    ///
    /// # Errors
    ///
    /// A secret that is not `whsec_` and base64 of 24 to 64 bytes.
    pub fn new(name: String, secret: &SecretString, previous: Option<&SecretString>) -> Result<Self, WebhookSettingsError> {
        let key = |name, secret| SigningKey::parse(secret).ok_or(WebhookSettingsError::Secret(name));
        let mut keys = vec![key("secret", secret)?];
        if let Some(previous) = previous {
            keys.push(key("previous_secret", previous)?);
        }
        Ok(Self { name, keys })
    }

    /// The name that the operator gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this sender has signed the message, and not long before or after `now`.
    pub fn has_signed(&self, message: SignedMessage<'_>, now: DateTime<Utc>) -> bool {
        let SignedMessage { id, timestamp, signatures, body } = message;
        let is_id = (1..=MESSAGE_ID_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
        let is_number = timestamp.len() <= 15 && timestamp.bytes().all(|byte| byte.is_ascii_digit());
        let Some(at) = timestamp.parse::<i64>().ok().filter(|_| is_id && is_number) else { return false };
        let is_near =
            DateTime::from_timestamp(at, 0).is_some_and(|at| (now - at).abs() <= TimeDelta::seconds(SIGNED_WITHIN_SECONDS));
        let mut given = signatures.split(' ').take(SIGNATURES_MAX);
        is_near && given.any(|given| self.keys.iter().any(|key| key.has_made(given, id, at, body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const OTHER: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    /// The test vector of the libraries at standardwebhooks.com.
    const VECTOR: SignedMessage<'_> = SignedMessage {
        id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp: "1614265330",
        signatures: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        body: br#"{"test": 2432232314}"#,
    };

    fn sender(secret: &str, previous: Option<&str>) -> SignedSender {
        let previous = previous.map(SecretString::from);
        SignedSender::new("ci".to_owned(), &SecretString::from(secret), previous.as_ref()).unwrap()
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_614_265_330 + seconds, 0).unwrap()
    }

    #[test]
    fn a_message_of_the_libraries_is_recognised_within_five_minutes() {
        for (seconds, is_ours) in [(0, true), (300, true), (-300, true), (301, false), (-301, false)] {
            assert_eq!(sender(SECRET, None).has_signed(VECTOR, at(seconds)), is_ours, "{seconds}");
        }
        assert!(sender(OTHER, Some(SECRET)).has_signed(VECTOR, at(0)), "the secret of before");
        assert!(!sender(OTHER, None).has_signed(VECTOR, at(0)));
        let several = format!("v1a,xyz v1,AAAA {}", VECTOR.signatures);
        assert!(sender(SECRET, None).has_signed(SignedMessage { signatures: &several, ..VECTOR }, at(0)));
    }

    #[test]
    fn whatever_is_changed_is_noticed() {
        let ours = sender(SECRET, None);
        let (long, many) =
            ("x".repeat(MESSAGE_ID_MAX + 1), format!("{}{}", "v1,AAAA ".repeat(SIGNATURES_MAX), VECTOR.signatures));
        for changed in [
            SignedMessage { id: "msg_p5jXN8AQM9LWM0D4loKWxJel", ..VECTOR },
            SignedMessage { id: "", ..VECTOR },
            SignedMessage { id: &long, ..VECTOR },
            SignedMessage { timestamp: "1614265331", ..VECTOR },
            SignedMessage { timestamp: "+1614265330", ..VECTOR },
            SignedMessage { timestamp: "1614265330.0", ..VECTOR },
            SignedMessage { timestamp: "", ..VECTOR },
            SignedMessage { timestamp: "99999999999999999999", ..VECTOR },
            SignedMessage { signatures: "", ..VECTOR },
            SignedMessage { signatures: "v1,", ..VECTOR },
            SignedMessage { signatures: "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", ..VECTOR },
            SignedMessage { signatures: "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", ..VECTOR },
            SignedMessage { signatures: &many, ..VECTOR },
            SignedMessage { body: br#"{"test": 2432232315}"#, ..VECTOR },
            SignedMessage { body: b"", ..VECTOR },
        ] {
            assert!(!ours.has_signed(changed, at(0)), "{changed:?}");
        }
    }
}
