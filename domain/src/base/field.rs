//! A field of a request that breaks a rule.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One field that breaks one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// The field, as a path: `choices[2].value`.
    pub field: String,
    /// The rule's name: `required`, `length`, `range`, `type`, `unknown`, …
    pub rule: String,
    /// What is wrong and how to mend it.
    pub message: String,
}

impl FieldError {
    /// Names a field, a rule and what to do.
    pub fn new(field: impl Into<String>, rule: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into(), message: message.into() }
    }
}
