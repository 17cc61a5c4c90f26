//! Several questions of one request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::suspension::ResponseType;

/// One of several questions that a form asks. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionRequest {
    /// The member of the answer, 1 to 64 characters, unique in the form.
    #[schema(min_length = 1, max_length = 64, examples("law"))]
    pub name: String,
    /// The question, at most 200 characters.
    #[schema(min_length = 1, max_length = 200, examples("Which law applies?"))]
    pub question: String,
    /// A longer explanation, at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub description: Option<String>,
    /// The kind of answer expected, `choice` by default. A `form` is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_type: Option<ResponseType>,
    /// The choices of a `choice`, 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 100)]
    pub choices: Option<Vec<OptionRequest>>,
    /// Whether people may select several choices. The answer is then a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiple: Option<bool>,
    /// Whether people must answer it; true by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// One choice of one of several questions. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionRequest {
    /// The value that the agent receives, 1 to 200 characters, unique in the question.
    #[schema(min_length = 1, max_length = 200)]
    pub value: String,
    /// The words that people read, at most 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    pub label: String,
    /// A longer explanation, at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub description: Option<String>,
}
