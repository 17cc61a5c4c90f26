//! Errands: intents that exist for one question, of callers that have no intent of their own.
//!
//! An agent of another protocol asks, and wants an answer and nothing else. Its intent and its question are made in one transaction, and
//! the intent ends with the question: it is completed by an answer or a fallback, and abandoned by every other ending.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The longest id that another protocol gives a message or a conversation, in characters.
pub const FOREIGN_ID_MAX: usize = 200;

/// The door through which an answer or an errand came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// A page of a person who has logged in.
    Page,
    /// The page behind an answer link.
    Link,
    /// A call of this server's own API.
    Api,
    /// A call that OpenIntent defines.
    Openintent,
    /// A message of A2A.
    A2a,
}

/// How an errand began; stored with its question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errand {
    /// The door.
    pub via: Via,
    /// The id that the asker's protocol gave the message that asks.
    pub message_id: String,
    /// The conversation of that protocol to which the message belongs.
    pub context_id: String,
}

/// Whether another protocol may give a message or a conversation this id.
pub fn is_foreign_id(id: &str) -> bool {
    (1..=FOREIGN_ID_MAX).contains(&id.chars().count()) && !id.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_another_protocol_is_bounded() {
        assert!(is_foreign_id("m") && is_foreign_id(&"m".repeat(FOREIGN_ID_MAX)));
        for wrong in ["", "a\nb", &"m".repeat(FOREIGN_ID_MAX + 1)] {
            assert!(!is_foreign_id(wrong), "{wrong:?}");
        }
    }
}
