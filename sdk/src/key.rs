//! The key that decides whether two questions are the same question.

use std::hash::{BuildHasher, RandomState};

use domain::base::field::FieldError;
use domain::base::ids::IntentId;
use domain::log::Hash;
use domain::wire::SuspendRequest;
use reqwest::header::HeaderValue;
use serde::Serialize;

use crate::error::CallError;
use crate::problem::Problem;

/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

/// The origin of a question's idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Derived from the question, its intent and the occasion.
    Derived {
        /// Distinguishes questions that are otherwise the same.
        occasion: Option<String>,
    },
    /// Given by the caller.
    Given(String),
}

impl Default for Key {
    fn default() -> Self {
        Self::Derived { occasion: None }
    }
}

/// The input of a derived key: everything that the question itself sets, because the server refuses the same key with another
/// body. The client's default policy is not part of it; see `Question::prepare`.
#[derive(Serialize)]
struct Covered<'a> {
    intent_id: IntentId,
    request: &'a SuspendRequest,
    #[serde(skip_serializing_if = "Option::is_none")]
    occasion: Option<&'a str>,
}

impl Key {
    /// The value of `Idempotency-Key`.
    ///
    /// A derived key is the SHA-256 of the canonical JSON (RFC 8785) of intent, request and occasion. Programs of different
    /// versions must derive the same key, or an upgraded program would not find its open questions. If the derivation changes,
    /// the prefix must change too.
    pub(crate) fn header(&self, intent_id: IntentId, request: &SuspendRequest) -> Result<HeaderValue, FieldError> {
        match self {
            Self::Given(key) => key_header(key),
            Self::Derived { occasion } => {
                let covered = Covered { intent_id, request, occasion: occasion.as_deref() };
                let bytes = domain::base::json::canonical(&covered)
                    .map_err(|_| FieldError::new("question", "type", "holds a number that JSON cannot express"))?;
                key_header(&format!("placet-1-{}", Hash::of(&bytes)))
            }
        }
    }
}

/// A key that is the same for the same request, and for no other. The error names `field` if the request cannot be serialized.
pub(crate) fn derived_key(prefix: &str, field: &'static str, request: &impl Serialize) -> Result<HeaderValue, CallError> {
    let refused = |error| CallError::Refused(Box::new(Problem::invalid(vec![error])));
    let bytes = domain::base::json::canonical(request)
        .map_err(|_| refused(FieldError::new(field, "type", "holds a number that JSON cannot express")))?;
    key_header(&format!("{prefix}-{}", Hash::of(&bytes))).map_err(refused)
}

/// A key that no other call has, by which the server recognizes the repetitions of one call. It is no secret, so it need not be
/// hard to guess.
pub(crate) fn fresh_key() -> HeaderValue {
    let random = || RandomState::new().hash_one(());
    let key = format!("placet-once-{:016x}{:016x}", random(), random());
    // The characters of the key all fit into a header. If they did not, the key would be empty, and the server would refuse it.
    HeaderValue::from_str(&key).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Checks that a key can be sent.
pub(crate) fn key_header(key: &str) -> Result<HeaderValue, FieldError> {
    let unusable = |message| FieldError::new("idempotency_key", "format", message);
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(unusable("must be 1 to 255 bytes"));
    }
    // A header could carry other bytes too, but not every proxy passes them on.
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(unusable("must be printable ASCII without spaces"));
    }
    HeaderValue::from_str(key).map_err(|_| unusable("must be printable ASCII without spaces"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTENT: IntentId = IntentId(uuid::Uuid::from_u128(7));

    fn request(question: &str) -> SuspendRequest {
        let mut request = SuspendRequest { question: question.to_owned(), ..SuspendRequest::default() };
        request.context.get_or_insert_default().insert("amount".to_owned(), 499.99.into());
        request
    }

    fn derived(intent_id: IntentId, question: &str, occasion: Option<&str>) -> HeaderValue {
        Key::Derived { occasion: occasion.map(str::to_owned) }.header(intent_id, &request(question)).unwrap()
    }

    #[test]
    fn the_same_question_has_the_same_key_in_every_version() {
        let key = derived(INTENT, "Go?", None);
        assert_eq!(key, derived(INTENT, "Go?", None));
        assert_eq!(key, "placet-1-sha256:8VE4RVHULZgiHWxYt8ahP80ihybl5vA8n4UOkaCZfWo");
    }

    #[test]
    fn another_intent_question_or_occasion_is_another_key() {
        let keys = [
            derived(INTENT, "Go?", None),
            derived(IntentId(uuid::Uuid::from_u128(8)), "Go?", None),
            derived(INTENT, "Go!", None),
            derived(INTENT, "Go?", Some("2")),
            derived(INTENT, "Go?", Some("3")),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key));
        }
    }

    #[test]
    fn a_fresh_key_is_no_other_calls() {
        let keys: std::collections::HashSet<_> = (0..1000).map(|_| fresh_key().to_str().unwrap().to_owned()).collect();
        assert!(keys.len() == 1000 && keys.iter().all(|key| key_header(key).is_ok() && key.len() == 44));
    }

    #[test]
    fn a_given_key_is_used_as_it_is_within_its_bounds() {
        let header = |key: &str| Key::Given(key.to_owned()).header(INTENT, &request("Go?"));
        assert_eq!(header("refund-12345").unwrap(), "refund-12345");
        assert!(header(&"x".repeat(KEY_BYTES_MAX)).is_ok());
        for wrong in ["", "a\nb", "grün", &"x".repeat(KEY_BYTES_MAX + 1)] {
            assert_eq!(header(wrong).unwrap_err().field, "idempotency_key");
        }
    }
}
