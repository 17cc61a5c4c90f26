//! A field of a request that breaks a rule.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The `rule` of an error about a member that is refused because this server does not support its effect.
pub const UNSUPPORTED: &str = "unsupported";

/// One field that breaks one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// The field, as a path: `choices[2].value`.
    pub field: String,
    /// The rule's name: `required`, `length`, `range`, `type`, `unknown`, …
    pub rule: String,
    /// The problem and how to mend it.
    pub message: String,
}

impl FieldError {
    /// An error of a field: the rule that it breaks, and a message that says how to mend it.
    pub fn new(field: impl Into<String>, rule: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into(), message: message.into() }
    }
}
