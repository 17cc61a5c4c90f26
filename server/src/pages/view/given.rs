//! The value that the agent gets: an answer, or the fallback if no person gives one.

use domain::base::text::visible_line;
use serde_json::Value;

use super::super::context::{Table, entries};
use super::super::fold::{Folds, Length};
use super::{is_phrase, phrase};

/// The outcome if no person answers.
#[derive(Debug, Clone)]
pub(in crate::pages) enum Silence {
    /// Nothing is decided and the agent's task ends.
    Ends,
    /// Nothing is decided, and the agent does not wait, because the question did not stop its work.
    Beside,
    /// The agent goes on with the fallback it named.
    Fallback(Given),
}

/// An answer or a fallback: the value that the agent receives, and its label.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Given {
    /// The label, if the value is one of the choices.
    pub label: Option<String>,
    /// The value.
    pub value: Value,
    /// The parts of the value by the titles of their fields; empty if it has no fields.
    pub said: Vec<(String, Value)>,
}

impl Given {
    /// The label, or a text short enough for one of our sentences.
    pub(super) fn words(&self) -> Option<String> {
        match (&self.label, &self.value) {
            (Some(label), _) => Some(phrase(label)),
            (None, Value::String(text)) if is_phrase(text) => Some(visible_line(text)),
            (None, value @ (Value::Bool(_) | Value::Number(_))) => Some(value.to_string()),
            (None, _) => None,
        }
    }

    /// The raw value of a choice.
    pub(super) fn code(&self) -> Option<String> {
        self.label.as_ref().and(self.value.as_str()).map(visible_line)
    }

    /// A value that does not fit into a sentence, as a table.
    pub(super) fn table(&self, length: Length, folds: &mut Folds) -> Option<Table> {
        let rows = if !self.said.is_empty() {
            self.said.iter().map(|(name, value)| (name.clone(), value)).collect()
        } else if self.value.is_object() {
            entries(&self.value, folds.1)
        } else {
            vec![(folds.1.answer().to_owned(), &self.value)]
        };
        self.words().is_none().then(|| Table::new(rows, 's', length, folds))
    }
}
