//! A proposed action, and what people have changed in it.

use chrono::{DateTime, Utc};
use domain::base::text::visible;
use domain::base::words::Language;
use domain::form::{Entry, Schema, Shape, Typed};
use serde_json::{Map, Value};

use super::super::context::label;
use super::super::fields::named;
use super::Fields;

/// The action that a question proposes, as its page shows it.
#[derive(Debug, Clone)]
pub(in crate::pages) struct ProposalShown {
    /// The action as the agent proposed it.
    pub action: Value,
    /// The fields that people may edit.
    pub editable: Option<Box<Schema>>,
    /// Whether the question has a choice that refuses.
    pub refuses: bool,
    /// The values of the fields in the action as it stands, and as the reader typed them, one row for each field.
    pub rows: Vec<ChangeRow>,
    /// The person who has edited the action, if its answer counts, and when.
    pub edited_by: Option<(String, DateTime<Utc>)>,
    /// Whether the reader is that person.
    pub is_own_edit: bool,
    /// The changes of that person: the fields as they were proposed, and as they stand.
    pub edits: Vec<ChangeRow>,
    /// The other people who have approved the action as it stands. An edit clears these approvals.
    pub approved_by: Vec<String>,
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

/// The members of an action by the titles of the fields in which people may edit them. The names tell members with the same title apart.
pub(in crate::pages) fn titled<'a>(action: &'a Map<String, Value>, shape: &Shape) -> Vec<(String, &'a Value)> {
    let title = |key: &str| {
        shape.entries.iter().find_map(|entry| match entry {
            Entry::Field(field) => (field.name == key).then(|| named(field.title.as_deref(), key)),
            Entry::Group(group) => (group.name == key).then(|| named(group.title.as_deref(), key)),
        })
    };
    let titles: Vec<String> = action.keys().map(|key| title(key).unwrap_or_else(|| label(key))).collect();
    let is_alone = |title: &String| titles.iter().filter(|other| *other == title).count() == 1;
    let labels = titles.iter().zip(action.keys()).map(|(title, key)| if is_alone(title) { title.clone() } else { label(key) });
    labels.zip(action.values()).collect()
}

/// An action that was approved.
#[derive(Debug, Default, Clone)]
pub(in crate::pages) struct ApprovedShown {
    /// The members of the action as it was approved, with their labels.
    pub members: Vec<(String, Value)>,
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
    /// The fields that people may edit.
    pub(super) fn fields(&self, language: Language) -> Option<Fields> {
        Some(Fields::of_schema(self.editable.as_deref()?, language))
    }

    /// The members of the action as the agent proposed it, with their labels.
    pub(super) fn members(&self) -> Vec<(String, &Value)> {
        let shape = self.editable.as_deref().and_then(|schema| schema.shape().ok()).unwrap_or_default();
        self.action.as_object().map(|action| titled(action, &shape)).unwrap_or_default()
    }

    /// Whether the reader changes anything.
    pub(super) fn is_changed(&self) -> bool {
        self.rows.iter().any(|row| row.is_changed)
    }
}
