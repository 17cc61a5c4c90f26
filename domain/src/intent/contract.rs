//! The contract of a phase of a workflow (RFC-0024): the inputs that an intent takes from the intents on which it depends, and the
//! outputs that it owes them. The contract stands in the state of the intent, under keys that begin with `_io_`.
//!
//! The inputs are checked when an agent takes a lease of the intent, the outputs when the intent is completed.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::base::field::FieldError;
use crate::base::ids::IntentId;
use crate::intent::body::Patch;
use crate::intent::status::Status;

/// The keys of the state that begin with this belong to the contract.
const PREFIX: &str = "_io_";
/// Maps the name of each input to its source: `phase.key`, `$trigger.key` or `$initial_state.key`.
const INPUTS: &str = "_io_inputs";
/// Maps each key that the state must have at the end to the type of its value.
const OUTPUTS: &str = "_io_outputs";
/// Maps the names of types of the workflow to their definitions.
const TYPES: &str = "_io_types";
/// Maps the titles of the dependencies to the names of their phases.
const PHASES: &str = "_io_dep_title_to_name";
/// The prefixes of sources that are keys of the intent's own state.
const OWN: [&str; 2] = ["$trigger.", "$initial_state."];
/// The most inputs, outputs, types and names of phases of an intent.
pub const CONTRACT_KEYS_MAX: usize = 100;
/// The longest key and the longest source of a contract, in characters.
pub const CONTRACT_TEXT_MAX: usize = 1_000;

/// The facts by which the contract of an intent is judged.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The title of the intent.
    pub title: String,
    /// Its state, which contains the contract.
    pub state: Map<String, Value>,
    /// The dependencies that its inputs name; loaded for a lease.
    pub suppliers: Vec<Supplier>,
}

/// A dependency from which an intent takes inputs.
#[derive(Clone, Debug)]
pub struct Supplier {
    /// Its id.
    pub id: IntentId,
    /// Its title.
    pub title: String,
    /// Its status.
    pub status: Status,
    /// If it is completed: the keys of its state.
    pub keys: HashSet<String>,
    /// If it waits for a person: the time at which its question ends at the latest.
    pub resumes_at: Option<DateTime<Utc>>,
}

/// The source of an input.
enum Source<'a> {
    /// A key of the intent's own state.
    Own(&'a str),
    /// A key of the state of another phase.
    Of { phase: &'a str, key: &'a str },
}

fn source(reference: &str) -> Option<Source<'_>> {
    if let Some(key) = OWN.iter().find_map(|prefix| reference.strip_prefix(prefix)) {
        return (!key.is_empty()).then_some(Source::Own(key));
    }
    let (phase, key) = reference.split_once('.')?;
    (!phase.is_empty() && !phase.starts_with('$') && !key.is_empty()).then_some(Source::Of { phase, key })
}

impl Phase {
    /// The facts of an intent with this title and state; `None` if the state has no contract.
    pub fn of(title: String, state: Map<String, Value>) -> Option<Self> {
        let has_contract = state.contains_key(INPUTS) || state.contains_key(OUTPUTS);
        has_contract.then_some(Self { title, state, suppliers: Vec::new() })
    }

    /// Whether an input may come from the dependency with this title.
    pub fn may_take_from(&self, title: &str) -> bool {
        let names = [Some(title), self.name_of(title)];
        self.sources().any(|(_, source)| matches!(source, Source::Of { phase, .. } if names.contains(&Some(phase))))
    }

    /// A dependency that an input names and that waits for a person, if there is one. Its outputs may still change, so they count as
    /// not there.
    pub fn suspended(&self) -> Option<&Supplier> {
        let named = self.sources().flat_map(|(_, source)| match source {
            Source::Own(_) => Vec::new(),
            Source::Of { phase, .. } => self.suppliers_called(phase),
        });
        named.into_iter().find(|supplier| supplier.status == Status::SuspendedAwaitingInput)
    }

    /// The sources of the inputs that are not there.
    pub fn unresolvable(&self) -> Vec<String> {
        let missing = self.sources().filter(|(_, source)| !self.has(source));
        missing.map(|(reference, _)| reference.to_owned()).collect()
    }

    /// The inputs that can be read. An intent that was made before contracts were checked may have others; those ask for nothing.
    fn sources(&self) -> impl Iterator<Item = (&str, Source<'_>)> {
        let inputs = self.state.get(INPUTS).and_then(Value::as_object).into_iter().flat_map(Map::values);
        inputs.filter_map(Value::as_str).filter_map(|reference| Some((reference, source(reference)?)))
    }

    /// The name that the contract gives the phase with this title.
    fn name_of(&self, title: &str) -> Option<&str> {
        self.state.get(PHASES)?.get(title)?.as_str()
    }

    /// The dependencies that are this phase: those to which the contract gives this name, and those with this title to which it gives
    /// none. If there are none of either kind, those with this title.
    fn suppliers_called(&self, phase: &str) -> Vec<&Supplier> {
        let is_called = |supplier: &&Supplier| self.name_of(&supplier.title).unwrap_or(&supplier.title) == phase;
        let called: Vec<_> = self.suppliers.iter().filter(is_called).collect();
        if called.is_empty() { self.suppliers.iter().filter(|supplier| supplier.title == phase).collect() } else { called }
    }

    /// Whether the input is there. If several dependencies are called so, each of them must have it: an agent must not be able to add a
    /// completed dependency in place of the one that is still open.
    fn has(&self, source: &Source<'_>) -> bool {
        match source {
            Source::Own(key) => self.state.get(*key).is_some_and(|value| !value.is_null()),
            Source::Of { phase, key } => {
                let suppliers = self.suppliers_called(phase);
                !suppliers.is_empty() && suppliers.iter().all(|supplier| supplier.keys.contains(*key))
            }
        }
    }
}

/// The required outputs that a state does not have, and for each value of another type its key and what is wrong with it.
pub type Unmet = (Vec<String>, Vec<String>);

/// The outputs that are not in this state as its contract wants them; none if it has no contract.
pub fn unmet(state: &Map<String, Value>) -> Unmet {
    let outputs = state.get(OUTPUTS).and_then(Value::as_object).into_iter().flatten();
    let (mut missing, mut type_errors) = (Vec::new(), Vec::new());
    for (key, declared) in outputs {
        let is_required = declared.get("required").and_then(Value::as_bool).unwrap_or(true);
        let type_name = declared.get("type").unwrap_or(declared).as_str().unwrap_or_default();
        match state.get(key) {
            None if is_required => missing.push(key.clone()),
            None => {}
            Some(value) => type_errors.extend(mismatch(value, type_name, state).map(|why| format!("{key}: {why}"))),
        }
    }
    (missing, type_errors)
}

/// Whether the patch reaches the contract.
pub fn is_reached_by(patch: &Patch) -> bool {
    patch.segments().next().is_some_and(|first| first.starts_with(PREFIX))
}

/// Why a value is not of the type with this name. A name that the workflow does not define fits every value.
fn mismatch(value: &Value, type_name: &str, state: &Map<String, Value>) -> Option<String> {
    let fits = match type_name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "any" | "" => true,
        named => return mismatch_of_named(value, named, state.get(TYPES)?.get(named)?),
    };
    (!fits).then(|| format!("must be of the type {type_name}"))
}

fn mismatch_of_named(value: &Value, name: &str, definition: &Value) -> Option<String> {
    if let Some(members) = definition.get("enum").and_then(Value::as_array) {
        return (!members.contains(value)).then(|| format!("must be a member of the enum {name}"));
    }
    let Some(object) = value.as_object() else { return Some(format!("must be an object of the type {name}")) };
    let missing = definition.as_object()?.keys().find(|key| !object.contains_key(*key))?;
    Some(format!("must have the member {missing:?} of the type {name}"))
}

/// The parts of a contract in this state that are not in the form that RFC-0024 gives them; empty if there is no contract.
pub fn flaws(state: &Map<String, Value>) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for name in [INPUTS, OUTPUTS, TYPES, PHASES] {
        let Some(part) = state.get(name) else { continue };
        let mut flaw = |below: &str, rule: &str, message: String| {
            let dot = if below.is_empty() { "" } else { "." };
            flaws.push(FieldError::new(format!("state.{name}{dot}{below}"), rule, message));
        };
        let Some(members) = part.as_object() else {
            flaw("", "type", "must be an object".into());
            continue;
        };
        if members.len() > CONTRACT_KEYS_MAX {
            flaw("", "count", format!("must have at most {CONTRACT_KEYS_MAX} members"));
            continue;
        }
        let is_long = |text: &str| text.chars().count() > CONTRACT_TEXT_MAX;
        if members.iter().any(|(key, value)| is_long(key) || value.as_str().is_some_and(is_long)) {
            flaw("", "length", format!("each key and each text must be at most {CONTRACT_TEXT_MAX} characters"));
            continue;
        }
        for (key, value) in members {
            if let Some(message) = flaw_of(name, value) {
                flaw(key, "value", message.into());
            }
        }
    }
    flaws
}

fn flaw_of(part: &str, value: &Value) -> Option<&'static str> {
    let is_fine = match part {
        INPUTS => value.as_str().and_then(source).is_some(),
        OUTPUTS => value.is_string() || is_declaration(value),
        TYPES => is_definition(value),
        _ => value.is_string(),
    };
    let message = match part {
        INPUTS => "must be phase.key, $trigger.key or $initial_state.key",
        OUTPUTS => "must be the name of a type, or an object with a type and, if the output is optional, required: false",
        TYPES => "must be an object: with enum, a list of at least one value, or with the members that a value must have",
        _ => "must be the name of a phase",
    };
    (!is_fine).then_some(message)
}

/// An object that has neither member says nothing about the output, so it is a mistake.
fn is_declaration(value: &Value) -> bool {
    value.as_object().is_some_and(|object| {
        (object.contains_key("type") || object.contains_key("required"))
            && object.get("type").is_none_or(Value::is_string)
            && object.get("required").is_none_or(Value::is_boolean)
    })
}

fn is_definition(value: &Value) -> bool {
    let members = |value: &Value| value.as_array().is_some_and(|members| !members.is_empty());
    value.as_object().is_some_and(|object| object.get("enum").is_none_or(members))
}
