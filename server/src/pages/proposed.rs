//! The part of a form about the proposed action.

use domain::form::{Field, Kind, Shape, Typed};
use domain::suspension::evidence::action_digest;
use serde_json::{Map, Value};

/// The prefix of the names of the inputs that hold the texts as the page showed them at first.
pub(super) const BASE_PREFIX: &str = "base.";

/// Why an edit in a form is refused before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfounded {
    /// The form does not have the text that stood in the field, or the digest of the action that the page showed.
    NoBase,
    /// The action has no field of this name that people may edit.
    Elsewhere,
}

/// The part of a form about the proposed action.
#[derive(Clone, Default)]
pub(super) struct ProposedFields {
    /// The digest of the action as it stood when the page was made.
    pub(super) based_on: String,
    /// The digest of the action whose changes the page showed.
    pub(super) shown: String,
    /// The texts that stood in the fields then.
    base: Typed,
    /// Whether the person only wants to see the changes.
    pub(super) looks: bool,
}

impl ProposedFields {
    /// Keeps a field, if it is about the action.
    pub(super) fn field(&mut self, name: &str, value: &str) -> bool {
        match name {
            "based_on" => value.clone_into(&mut self.based_on),
            "shown" => value.clone_into(&mut self.shown),
            "look" => self.looks = value == "changes",
            name => {
                let Some(field) = name.strip_prefix(BASE_PREFIX) else { return false };
                self.base.insert(field.to_owned(), value.to_owned());
            }
        }
        true
    }

    /// The part of a form on which nothing was typed yet, about the action as it stands.
    pub(super) fn of(current: &Map<String, Value>, base: Typed) -> Self {
        let based_on = action_digest(current).map(|digest| digest.to_string()).unwrap_or_default();
        Self { based_on, base, ..Self::default() }
    }

    /// The texts that the person changed. A box that is not ticked any more has an empty text.
    pub(super) fn changed(&self, shape: &Shape, typed: &Typed) -> Typed {
        let mut changed = Typed::new();
        for field in shape.fields().filter(|field| field.texts(&self.base) != field.texts(typed)) {
            let before = self.base.keys().filter(|name| field.owns(name)).map(|name| (name.clone(), String::new()));
            changed.extend(before);
            changed.extend(typed.iter().filter(|(name, _)| field.owns(name)).map(|(name, text)| (name.clone(), text.clone())));
        }
        changed
    }

    /// The same inputs, for a page that does not know the question.
    pub(super) fn hidden(&self) -> Vec<(String, String)> {
        if self.based_on.is_empty() {
            return Vec::new();
        }
        let digests = [("based_on", &self.based_on), ("shown", &self.shown)];
        let digests = digests.into_iter().map(|(name, value)| (name.to_owned(), value.clone()));
        digests.chain(self.base.iter().map(|(name, text)| (format!("{BASE_PREFIX}{name}"), text.clone()))).collect()
    }

    /// The fields that were edited although the form does not tell on which action the edit is based, and the texts for which the action
    /// has no field that people may edit. `current` has the texts of the action as it stands, on which the form is based if it tells one.
    pub(super) fn unfounded(&self, shape: &Shape, typed: &Typed, current: &Typed) -> Vec<(String, Unfounded)> {
        let elsewhere = typed.keys().filter(|name| !shape.fields().any(|field| field.owns(name)));
        let mut unfounded: Vec<_> = elsewhere.map(|name| (name.clone(), Unfounded::Elsewhere)).collect();
        let is_known = |field: &Field| !self.based_on.is_empty() && field.texts(&self.base) == field.texts(current);
        // A browser sends every field but a box that is not ticked. A field that a program left out is no edit.
        let is_box = |field: &Field| matches!(field.kind, Kind::Boolean | Kind::Many { .. });
        let is_there = |field: &Field| typed.keys().chain(self.base.keys()).any(|name| field.owns(name));
        let is_edited = |field: &Field| field.texts(typed) != field.texts(current) && (is_there(field) || is_box(field));
        // A form without any of the fields edits nothing: a person can approve the action as it is.
        if shape.fields().any(is_there) {
            let edited = shape.fields().filter(|field| is_edited(field) && !is_known(field));
            unfounded.extend(edited.map(|field| (field.pointer.clone(), Unfounded::NoBase)));
        }
        unfounded
    }

    /// The texts in the fields: where the person changed nothing, those of the action as it stands now.
    pub(super) fn merged(&self, shape: &Shape, typed: &Typed, current: &Typed) -> Typed {
        let is_left = |field: &Field| field.texts(&self.base) == field.texts(typed);
        let of = |field: &Field| {
            let texts = if is_left(field) { current } else { typed };
            let own = texts.iter().filter(|(name, _)| field.owns(name));
            own.map(|(name, text)| (name.clone(), text.clone())).collect::<Vec<_>>()
        };
        shape.fields().flat_map(of).collect()
    }
}
