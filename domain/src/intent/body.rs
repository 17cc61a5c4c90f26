//! The contents of an intent, and the patches that change its state (RFC-0001).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::IntentId;

/// The longest title, in characters.
pub const TITLE_MAX: usize = 500;
/// The longest description, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 64 * 1024;
/// The largest state, in bytes of JSON.
pub const STATE_BYTES_MAX: usize = 256 * 1024;
/// The most patches in one request.
pub const PATCHES_MAX: usize = 200;

/// The contents of an intent; deciding rarely needs them, so stores keep them apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntentBody {
    /// Its title.
    pub title: String,
    /// Its description, possibly empty.
    pub description: String,
    /// The name of its creator, as shown: the one in the request's body, else the principal's.
    pub created_by: String,
    /// Its parent.
    pub parent_intent_id: Option<IntentId>,
    /// The intents it depends on. The event that creates an intent has none: each dependency is added by an event of its own.
    pub depends_on: Vec<IntentId>,
    /// Its constraints, an object or a legacy list.
    pub constraints: Value,
    /// Its state; never holds `_suspension`, which is rendered from the suspension.
    pub state: Map<String, Value>,
    /// Its governance policy; absent if it has none.
    pub governance_policy: Option<Value>,
    /// How sure the agent is, 0 to 100.
    pub confidence: f64,
}

/// One change of state: `set`, `append` or `remove` at a path whose segments are split by `/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Patch {
    /// The kind of change.
    pub op: PatchOp,
    /// The place in the state; a leading slash is optional.
    pub path: String,
    /// The value, for `set` and `append`.
    #[serde(default)]
    pub value: Value,
}

/// The kind of change that a patch makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatchOp {
    /// Writes the value; missing parents are created.
    Set,
    /// Appends to an array, created if missing.
    Append,
    /// Removes the value at the path.
    Remove,
}

/// The key of the state that belongs to the server (RFC-0025 §5).
pub const SUSPENSION_KEY: &str = "_suspension";
/// The key of the state that shows the open stop; it belongs to the server as well.
pub const PAUSE_KEY: &str = "_pause";

impl Patch {
    /// The segments of its path; doubled and trailing slashes are ignored.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter(|segment| !segment.is_empty())
    }

    /// Whether the patch would write `_suspension` or `_pause`, a value below one of them, or the root that contains them.
    pub fn reaches_suspension(&self) -> bool {
        // A path without segments is the root, which contains both.
        self.segments().next().is_none_or(|first| [SUSPENSION_KEY, PAUSE_KEY].contains(&first))
    }
}

impl IntentBody {
    /// Applies patches to the state. If a parent in the path is no object, `set` and `append` replace it by one. If the value at
    /// the path is no list, `append` first makes it the only element of a list. To remove a missing value changes nothing.
    pub fn apply(&mut self, patches: &[Patch]) {
        for patch in patches {
            let segments: Vec<&str> = patch.segments().collect();
            apply_patch(&mut self.state, &segments, patch);
        }
    }
}

fn apply_patch(object: &mut Map<String, Value>, segments: &[&str], patch: &Patch) {
    let [first, rest @ ..] = segments else { return };
    if rest.is_empty() {
        match patch.op {
            PatchOp::Set => {
                object.insert((*first).to_owned(), patch.value.clone());
            }
            PatchOp::Append => {
                let there = object.entry(*first).or_insert_with(|| Value::Array(Vec::new()));
                if !there.is_array() {
                    *there = Value::Array(vec![there.take()]);
                }
                if let Value::Array(list) = there {
                    list.push(patch.value.clone());
                }
            }
            PatchOp::Remove => {
                object.remove(*first);
            }
        }
        return;
    }
    if patch.op == PatchOp::Remove && !object.contains_key(*first) {
        return;
    }
    let child = object.entry(*first).or_insert_with(|| Value::Object(Map::new()));
    if !child.is_object() {
        if patch.op == PatchOp::Remove {
            return;
        }
        *child = Value::Object(Map::new());
    }
    if let Value::Object(child) = child {
        apply_patch(child, rest, patch);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(state: &Value, op: PatchOp, path: &str, value: Value) -> Value {
        let mut body = IntentBody { state: state.as_object().unwrap().clone(), ..blank() };
        body.apply(&[Patch { op, path: path.into(), value }]);
        Value::Object(body.state)
    }

    fn blank() -> IntentBody {
        IntentBody {
            title: String::new(),
            description: String::new(),
            created_by: String::new(),
            parent_intent_id: None,
            depends_on: vec![],
            constraints: json!({}),
            state: Map::new(),
            governance_policy: None,
            confidence: 0.0,
        }
    }

    #[test]
    fn patches_create_parents_and_arrays_and_remove_quietly() {
        assert_eq!(patched(&json!({}), PatchOp::Set, "/a/b", json!(1)), json!({"a": {"b": 1}}));
        assert_eq!(patched(&json!({"a": {"c": 2}}), PatchOp::Set, "a//b/", json!(1)), json!({"a": {"b": 1, "c": 2}}));
        assert_eq!(patched(&json!({}), PatchOp::Append, "l", json!(1)), json!({"l": [1]}));
        assert_eq!(patched(&json!({"l": [1]}), PatchOp::Append, "l", json!(2)), json!({"l": [1, 2]}));
        assert_eq!(patched(&json!({"a": {"b": 1}}), PatchOp::Remove, "a/b", json!(null)), json!({"a": {}}));
        assert_eq!(patched(&json!({"a": 1}), PatchOp::Remove, "x/y", json!(null)), json!({"a": 1}));
        assert_eq!(patched(&json!({"a": 1}), PatchOp::Remove, "a/y", json!(null)), json!({"a": 1}));
    }

    #[test]
    fn every_spelling_of_the_servers_key_is_seen() {
        let reaches = |path: &str| Patch { op: PatchOp::Set, path: path.into(), value: Value::Null }.reaches_suspension();
        for path in
            ["_suspension", "/_suspension", "//_suspension//", "_suspension/response", "/_pause", "_pause/stage", "", "/", "///"]
        {
            assert!(reaches(path), "{path}");
        }
        for path in ["a/_suspension", "suspension", "_suspension2"] {
            assert!(!reaches(path), "{path}");
        }
    }
}
