//! The choices that a question offers to a person.

use domain::suspension::Style;
use domain::wire::ChoiceRequest;
use serde_json::Value;

/// One choice presented to a person (RFC-0025 §4.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Choice(pub(crate) ChoiceRequest);

impl Choice {
    /// Offers `label` to the person; the program receives `value`. Both are 1 to 200 characters, and no two choices of a question
    /// have the same value.
    pub fn new(value: impl Into<String>, label: impl Into<String>) -> Self {
        Self(ChoiceRequest { value: value.into(), label: label.into(), ..ChoiceRequest::default() })
    }

    /// Explains the effect of the choice, in at most 2,000 characters.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// Suggests a style; the size, the order and the words of the choices stay as they are.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        let word = match style {
            Style::Default => "default",
            Style::Primary => "primary",
            Style::Danger => "danger",
        };
        self.0.style = Some(word.to_owned());
        self
    }

    /// Attaches any other data.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.metadata.get_or_insert_default().insert(key.into(), value.into());
        self
    }
}

/// A type whose values are the choices of a question, usually an enum without fields.
///
/// One list holds both the offered choices and the meaning of each answer, so the two cannot drift apart.
///
/// ```
/// use placet::{Choice, Choices, Style};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum RefundDecision {
///     Approve,
///     Deny,
/// }
///
/// impl Choices for RefundDecision {
///     fn choices() -> Vec<(Self, Choice)> {
///         vec![
///             (Self::Approve, Choice::new("approve", "Approve refund").style(Style::Primary)),
///             (Self::Deny, Choice::new("deny", "Deny refund").style(Style::Danger)),
///         ]
///     }
/// }
/// ```
pub trait Choices: PartialEq + Sized {
    /// Lists the values with the choices that people see, in the order in which people see them.
    fn choices() -> Vec<(Self, Choice)>;
}
