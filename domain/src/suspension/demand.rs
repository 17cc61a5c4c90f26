//! The stakes of a question, as its asker declares them, and what they demand of an answer beside the right person.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::field::FieldError;
use crate::base::text::is_blank;
use crate::base::words::Language;

/// The longest comment of an answer, in bytes.
pub const COMMENT_BYTES_MAX: usize = 4 * 1024;
/// The member of an answer's `metadata` that holds the comment.
pub const COMMENT: &str = "comment";

/// How sure the server must be of the person who answers. A later one includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequiredAssurance {
    /// The person has logged in, or a passkey of the person signs the answer.
    Session,
    /// The person has logged in by the issuer of identities, and the issuer says that this was a few minutes ago; or a passkey signs.
    RecentLogin,
    /// A passkey of the person signs the answer.
    Passkey,
}

impl std::fmt::Display for RequiredAssurance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::RecentLogin => "recent_login",
            Self::Passkey => "passkey",
        })
    }
}

/// How much is at stake, as the asker declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// All.
    Critical,
}

impl Risk {
    /// The name of the level in the API, in the log and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// The sentence of a message about the question.
    pub fn sentence(self, language: Language) -> &'static str {
        match self {
            Self::Low => language.says_low_risk(),
            Self::Medium => language.says_medium_risk(),
            Self::High => language.says_high_risk(),
            Self::Critical => language.says_critical_risk(),
        }
    }
}

/// The people who are kept from answering, whichever way their answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Separation {
    /// The person who owns the key that asked. Every question with a quorum keeps that person from answering.
    Owner,
}

/// The demand that a person who refuses says why. It is also stored in the event that asks the question, so its members never change
/// their names or forms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommentOnRefusal {
    /// The values that refuse.
    pub refusing: Vec<String>,
}

impl CommentOnRefusal {
    /// Whether an answer with this value needs a comment.
    pub fn is_for(&self, value: &Value) -> bool {
        value.as_str().is_some_and(|value| self.refusing.iter().any(|refusing| refusing == value))
    }

    /// Refuses an answer that refuses and does not say why.
    ///
    /// # Errors
    ///
    /// The member that holds the comment.
    pub fn check(&self, value: &Value, metadata: Option<&Map<String, Value>>) -> Result<(), FieldError> {
        if !self.is_for(value) {
            return Ok(());
        }
        let field = format!("metadata.{COMMENT}");
        match metadata.and_then(|metadata| metadata.get(COMMENT)).and_then(Value::as_str) {
            Some(comment) if comment.len() > COMMENT_BYTES_MAX => {
                Err(FieldError::new(field, "length", format!("must be at most {COMMENT_BYTES_MAX} bytes")))
            }
            Some(comment) if !is_blank(comment) => Ok(()),
            Some(_) | None => {
                Err(FieldError::new(field, "required", "is needed: the question demands that a person who refuses says why"))
            }
        }
    }
}

/// The operator's rules about the answers to one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRule {
    /// The name of the agent's key.
    pub name: String,
    /// The least assurance; absent if every answer counts.
    pub assurance: Option<RequiredAssurance>,
    /// The people who are kept from answering; absent if there are none.
    pub separation: Option<Separation>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_needs_a_comment_within_its_bounds() {
        let demand = CommentOnRefusal { refusing: vec!["no".to_owned(), "deny".to_owned()] };
        let check = |value: &str, metadata: Value| demand.check(&json!(value), metadata.as_object()).is_ok();
        assert!(check("yes", Value::Null) && check("no", json!({"comment": "Too late."})));
        let longest = "x".repeat(COMMENT_BYTES_MAX);
        assert!(check("deny", json!({ "comment": longest })) && !check("deny", json!({"comment": format!("{longest}x")})));
        for none in [Value::Null, json!({}), json!({"comment": " \n"}), json!({"comment": 1}), json!({"notes": "Too late."})] {
            assert!(!check("no", none.clone()), "{none}");
        }
    }

    #[test]
    fn what_is_demanded_and_declared_has_an_order() {
        let all = [RequiredAssurance::Session, RequiredAssurance::RecentLogin, RequiredAssurance::Passkey];
        assert!(all.is_sorted() && all.iter().all(|level| json!(level) == json!(level.to_string())));
        assert!(Risk::Low < Risk::Medium && Risk::Medium < Risk::High && Risk::High < Risk::Critical);
        for risk in [Risk::Low, Risk::Medium, Risk::High, Risk::Critical] {
            assert_eq!(json!(risk), json!(risk.as_str()));
        }
    }
}
