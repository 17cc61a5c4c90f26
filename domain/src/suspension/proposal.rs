//! The action that a question proposes: people may edit parts of it before they approve it.
//!
//! Guarantee: an answer decides about one action, which is the proposed one except for the fields that the agent lets people edit.
//! Mechanism: [`Proposal::check_edit`] compares everything else by its canonical bytes, and judges the edited fields by the agent's schema.
//! Failure: an edit of anything else is refused, and names the field.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::field::FieldError;
use crate::base::json::{self, canonical};
use crate::base::sealed::Hash;
use crate::base::words::Language;
use crate::form::{Entry, Field, Problem, Schema, Shape, Typed, hidden, segment};
pub use crate::suspension::action::{action_digest, is_same};
use crate::suspension::quorum::Counted;

/// The largest proposed action, in bytes of canonical JSON.
pub const PROPOSAL_BYTES_MAX: usize = 64 * 1024;
/// The most changes that a refusal of a stale edit names.
pub const CHANGES_MAX: usize = 50;

/// The member of a request and of an event that holds the action.
pub const PROPOSAL: &str = "proposal";

type Members = Map<String, Value>;

/// The action that a question proposes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The action's arguments, as the agent proposes them.
    pub action: Members,
    /// The fields that people may edit; absent if they may edit none.
    pub editable: Option<Box<Schema>>,
    /// The values that refuse: an answer with one of them edits nothing.
    pub refusing: Vec<String>,
}

/// The part of an answer that says about which action it decides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named {
    /// The action as the person wants it; absent if it is the one that was shown.
    pub action: Option<Members>,
    /// The digest of the action that was shown; absent for the one that the agent proposed.
    pub based_on: Option<Hash>,
}

/// A part of an action that differs from another action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Change {
    /// The place, as a JSON pointer.
    pub field: String,
    /// The value before; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub from: Option<Value>,
    /// The value now; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub to: Option<Value>,
}

impl Proposal {
    /// Checks a proposed action.
    ///
    /// # Errors
    ///
    /// Every field that breaks a rule.
    pub fn check(&self) -> Result<(), Vec<FieldError>> {
        let error = |rule: &str, message: String| vec![FieldError::new(PROPOSAL, rule, message)];
        if self.action.is_empty() {
            return Err(error("required", "must have at least one member".to_owned()));
        }
        let bytes = canonical(&self.action).map_or(usize::MAX, |bytes| bytes.len());
        if bytes > PROPOSAL_BYTES_MAX {
            return Err(error("length", format!("must be at most {PROPOSAL_BYTES_MAX} bytes of JSON")));
        }
        self.check_edited(&self.action)
    }

    /// Whether an answer with this value refuses.
    pub fn is_refused_by(&self, value: &Value) -> bool {
        value.as_str().is_some_and(|value| self.refusing.iter().any(|refusing| refusing == value))
    }

    /// The action as it stands: as the newest answer that counts has it, or else as it was proposed.
    pub fn current<'a>(&'a self, counted: &'a [Counted]) -> &'a Members {
        let approving = counted.iter().filter(|counted| counted.may_answer && !self.is_refused_by(&counted.value));
        approving.filter_map(|counted| counted.action.as_ref()).next_back().unwrap_or(&self.action)
    }

    /// The person whose edit is the action as it stands; absent if it stands as it was proposed.
    pub fn edited_by<'a>(&self, counted: &'a [Counted]) -> Option<&'a Counted> {
        let current = self.current(counted);
        if is_same(current, &self.action) {
            return None;
        }
        let has_it = |counted: &&Counted| counted.action.as_ref().is_some_and(|action| is_same(action, current));
        counted.iter().filter(|counted| counted.may_answer && !self.is_refused_by(&counted.value)).find(has_it)
    }

    /// Checks an edited action.
    ///
    /// # Errors
    ///
    /// Every place that may not be edited, or that breaks the schema.
    pub fn check_edit(&self, edited: &Members) -> Result<(), Vec<FieldError>> {
        if json::size(edited) > PROPOSAL_BYTES_MAX {
            let message = format!("must be at most {PROPOSAL_BYTES_MAX} bytes of JSON");
            return Err(vec![FieldError::new(PROPOSAL, "length", message)]);
        }
        let shape = self.shape();
        let fixed = changes(&without(&self.action, &shape), &without(edited, &shape));
        if !fixed.is_empty() {
            let fixed = fixed.into_iter().take(CHANGES_MAX);
            let error = |change: Change| FieldError::new(format!("{PROPOSAL}{}", change.field), "editable", "may not be edited");
            return Err(fixed.map(error).collect());
        }
        self.check_edited(edited)
    }

    /// Judges the fields that people may edit.
    fn check_edited(&self, action: &Members) -> Result<(), Vec<FieldError>> {
        let Some(schema) = &self.editable else { return Ok(()) };
        let shape = schema.shape().map_err(in_proposal)?;
        // A person cannot edit what the page cannot show.
        let unseen = |field: &Field| hidden(field.pointer.clone(), at(action, &field.pointer)?.as_str()?);
        let unseen: Vec<Problem> = shape.fields().filter_map(unseen).collect();
        if !unseen.is_empty() {
            return Err(in_proposal(unseen));
        }
        schema.check(&Value::Object(only(action, &shape))).map_err(in_proposal)
    }

    /// The fields that people may edit.
    pub fn shape(&self) -> Shape {
        self.editable.as_ref().and_then(|schema| schema.shape().ok()).unwrap_or_default()
    }

    /// The texts that stand in the fields at first.
    pub fn typed(&self, current: &Members, language: Language) -> Typed {
        self.shape().typed(Some(&Value::Object(current.clone())), language)
    }

    /// The action that was typed into the fields. A field whose text was left as it was keeps its value.
    ///
    /// # Errors
    ///
    /// Every field whose text is not an answer.
    pub fn read(&self, current: &Members, typed: &Typed, language: Language) -> Result<Members, Vec<Problem>> {
        let Some(schema) = &self.editable else { return Ok(current.clone()) };
        let shape = schema.shape()?;
        let before = shape.typed(Some(&Value::Object(current.clone())), language);
        let is_left = |field: &Field| field.texts(&before) == field.texts(typed);
        // A text that was left as it was need not be readable: a browser may have trimmed it.
        let mut merged = typed.clone();
        for field in shape.fields().filter(|field| is_left(field)) {
            merged.retain(|name, _| !field.owns(name));
            merged.extend(before.iter().filter(|(name, _)| field.owns(name)).map(|(name, text)| (name.clone(), text.clone())));
        }
        let (answer, problems) = shape.read(&merged, language);
        let left: BTreeSet<&str> = shape.fields().filter(|field| is_left(field)).map(|field| &*field.pointer).collect();
        let problems: Vec<Problem> = problems.into_iter().filter(|problem| !left.contains(&*problem.pointer)).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut edited = current.clone();
        for entry in &shape.entries {
            match entry {
                Entry::Field(field) => put(&mut edited, field, &answer, &left),
                Entry::Group(group) => {
                    let mut inner = edited.get(&group.name).and_then(Value::as_object).cloned().unwrap_or_default();
                    for field in &group.fields {
                        put(&mut inner, field, &answer, &left);
                    }
                    if inner.is_empty() && !edited.contains_key(&group.name) {
                        continue;
                    }
                    edited.insert(group.name.clone(), Value::Object(inner));
                }
            }
        }
        schema.check_in(&Value::Object(only(&edited, &shape)), language)?;
        Ok(edited)
    }
}

/// Puts the answer of a field into the object that holds it, unless the field was left as it was.
fn put(object: &mut Members, field: &Field, answer: &Value, left: &BTreeSet<&str>) {
    if left.contains(&*field.pointer) {
        return;
    }
    match answer.pointer(&field.pointer) {
        Some(value) => drop(object.insert(field.name.clone(), value.clone())),
        None => drop(object.remove(&field.name)),
    }
}

fn in_proposal(problems: Vec<Problem>) -> Vec<FieldError> {
    problems.into_iter().map(|problem| problem.into_error(PROPOSAL)).collect()
}

fn at<'a>(action: &'a Members, pointer: &str) -> Option<&'a Value> {
    let mut segments = pointer.split('/').skip(1).map(unescaped);
    let first = action.get(&segments.next()?)?;
    segments.try_fold(first, |value, segment| value.as_object()?.get(&segment))
}

fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// The fields of the shape alone.
fn only(action: &Members, shape: &Shape) -> Members {
    let mut kept = Members::new();
    for entry in &shape.entries {
        match entry {
            Entry::Field(field) => kept.extend(action.get(&field.name).map(|value| (field.name.clone(), value.clone()))),
            Entry::Group(group) => match action.get(&group.name) {
                Some(Value::Object(inner)) => {
                    let named = |field: &Field| Some((field.name.clone(), inner.get(&field.name)?.clone()));
                    let inner: Members = group.fields.iter().filter_map(named).collect();
                    // An object that has other members only is as good as none, unless the schema needs it.
                    if !inner.is_empty() || group.required {
                        kept.insert(group.name.clone(), Value::Object(inner));
                    }
                }
                Some(other) => drop(kept.insert(group.name.clone(), other.clone())),
                None => {}
            },
        }
    }
    kept
}

/// The action without the fields of the shape. An object that is empty without them is left out: adding its first field makes it.
fn without(action: &Members, shape: &Shape) -> Members {
    let mut rest = action.clone();
    for entry in &shape.entries {
        match entry {
            Entry::Field(field) => drop(rest.remove(&field.name)),
            Entry::Group(group) => {
                if let Some(Value::Object(inner)) = rest.get_mut(&group.name) {
                    for field in &group.fields {
                        inner.remove(&field.name);
                    }
                    if inner.is_empty() {
                        rest.remove(&group.name);
                    }
                }
            }
        }
    }
    rest
}

/// The places in which two actions differ, in the order of their names; an object is compared member by member.
pub fn changes(from: &Members, to: &Members) -> Vec<Change> {
    let mut found = Vec::new();
    compare(from, to, "", &mut found);
    found
}

fn compare(from: &Members, to: &Members, pointer: &str, found: &mut Vec<Change>) {
    let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    for name in names {
        let field = format!("{pointer}/{}", segment(name));
        match (from.get(name), to.get(name)) {
            (Some(Value::Object(one)), Some(Value::Object(other))) => compare(one, other, &field, found),
            (Some(one), Some(other)) if one == other || canonical(one).ok() == canonical(other).ok() => {}
            (from, to) => found.push(Change { field, from: from.cloned(), to: to.cloned() }),
        }
    }
}
