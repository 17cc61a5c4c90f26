//! The headings and the options of a form with a schema, as plain text of the agent.

use super::fold::{Folds, Length};

/// The heading of fields that belong together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Heading {
    /// The words of the heading; may be empty.
    pub label: String,
    /// The text below it; may be empty.
    pub description: String,
}

impl Heading {
    /// Whether it has no words.
    pub(super) fn is_empty(&self) -> bool {
        self.label.is_empty() && self.description.is_empty()
    }

    pub(super) fn folded(&mut self, anchor: &str, length: Length, folds: &mut Folds) -> impl Iterator<Item = String> + use<> {
        let label = folds.line(std::mem::take(&mut self.label), folds.1.a_key(), anchor, length);
        let description = folds.text(std::mem::take(&mut self.description), &label.text, anchor, length);
        (self.label, self.description) = (label.text, description.text);
        label.more.into_iter().chain(description.more)
    }
}

/// An option of a schema.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choosable {
    /// The name of its box, as it is typed: the place of the field and the number of the option.
    pub box_name: String,
    /// The value in the answer.
    pub value: String,
    /// The words that the person reads.
    pub label: String,
    /// A longer explanation; may be empty.
    pub description: String,
    /// The value, if the words do not tell it.
    pub sends: Option<String>,
}

impl Choosable {
    pub(super) fn folded(&mut self, anchor: &str, length: Length, folds: &mut Folds) -> Option<String> {
        let description = folds.text(std::mem::take(&mut self.description), &self.label, anchor, length);
        self.description = description.text;
        description.more
    }
}
