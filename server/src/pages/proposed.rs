//! The part of a form about the proposed action.

use domain::form::{Field, Shape, Typed};
use domain::suspension::evidence::action_digest;
use serde_json::{Map, Value};

/// The prefix of the names of the inputs that hold the texts as the page showed them at first.
pub(super) const BASE_PREFIX: &str = "base.";
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

    /// The texts in the fields: where the person changed nothing, those of the action as it stands now.
    pub(super) fn merged(&self, shape: &Shape, typed: &Typed, current: &Typed) -> Typed {
        if self.based_on.is_empty() {
            return current.clone();
        }
        let is_left = |field: &Field| field.texts(&self.base) == field.texts(typed);
        let of = |field: &Field| {
            let texts = if is_left(field) { current } else { typed };
            let own = texts.iter().filter(|(name, _)| field.owns(name));
            own.map(|(name, text)| (name.clone(), text.clone())).collect::<Vec<_>>()
        };
        shape.fields().flat_map(of).collect()
    }
}
