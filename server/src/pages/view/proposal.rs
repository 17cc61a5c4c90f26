//! A proposed action, and what people have changed in it.

use chrono::{DateTime, Utc};
use domain::base::text::visible;
use domain::base::words::Language;
use domain::form::{Schema, Typed};
use serde_json::Value;

use super::{FieldKind, Fields};

/// The action that a question proposes, as its page shows it.
#[derive(Debug, Clone)]
pub(in crate::pages) struct ProposalShown {
    /// The action as the agent proposed it.
    pub action: Value,
    /// The fields that people may edit.
    pub editable: Option<Box<Schema>>,
    /// Whether the question has a choice that refuses.
    pub refuses: bool,
    /// What the fields say before and after the edit, one row for each field.
    pub rows: Vec<ChangeRow>,
    /// The person who has edited the action, if its answer counts, and when.
    pub edited_by: Option<(String, DateTime<Utc>)>,
    /// The digest of the action as it stands.
    pub based_on: String,
    /// The digest of the action whose changes the page shows; empty if what was typed makes no action.
    pub shown: String,
    /// The texts of the action as it stands, by the names of the inputs that hold them.
    pub base: Vec<(String, String)>,
    /// The texts in the fields.
    pub typed: Typed,
    /// The address of the script that shows the changes as they are typed.
    pub script_path: String,
}

/// An action that was approved.
#[derive(Debug, Clone)]
pub(in crate::pages) struct ApprovedShown {
    /// The action as it was approved.
    pub action: Value,
    /// The fields that its approver changed.
    pub changes: Vec<ChangeRow>,
}

/// A field before and after the edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) struct ChangeRow {
    /// The name of its control.
    pub name: String,
    /// Its label.
    pub label: String,
    /// The text before.
    pub was: String,
    /// The text now.
    pub now: String,
    /// Whether the texts differ.
    pub is_changed: bool,
    /// Whether the control is one box to tick.
    pub is_boolean: bool,
    /// Whether there is a box for each of several options.
    pub is_many: bool,
}

impl ChangeRow {
    pub(super) fn shown_was(&self, language: Language) -> String {
        shown(&self.was, language)
    }

    pub(super) fn shown_now(&self, language: Language) -> String {
        shown(&self.now, language)
    }
}

fn shown(text: &str, language: Language) -> String {
    if text.is_empty() { language.empty().to_owned() } else { visible(text) }
}

impl ProposalShown {
    /// The fields that people may edit. A text with several lines gets a control with several lines: another one would drop its line breaks.
    pub(super) fn fields(&self, language: Language) -> Option<Fields> {
        let mut fields = Fields::of_schema(self.editable.as_deref()?, language);
        for field in &mut fields.fields {
            let has_lines = self.typed.get(&field.name).is_some_and(|text| text.contains(['\n', '\r']));
            if has_lines && matches!(field.kind, FieldKind::Line { .. }) {
                field.kind = FieldKind::Textarea;
            }
        }
        Some(fields)
    }

    /// Whether the page shows a change.
    pub(super) fn is_changed(&self) -> bool {
        self.rows.iter().any(|row| row.is_changed)
    }
}
