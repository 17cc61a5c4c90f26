//! The body of an error of Placet's own endpoints (RFC 9457).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::field::FieldError;

/// An error of Placet's own endpoints: `application/problem+json` (RFC 9457).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// A URI reference naming the kind of problem.
    pub r#type: String,
    /// A short title.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The problem with this request.
    pub detail: String,
    /// The stable code to match on.
    pub code: String,
    /// The fields that break a rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// Further members, which depend on `code`: `valid_choices`, `current_version`, …
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub more: Map<String, Value>,
}
