//! The arguments of an action about which people decide.

use serde_json::{Map, Value};

use crate::base::json::canonical_object;
use crate::base::sealed::Hash;

type Members = Map<String, Value>;

/// SHA-256 of the RFC 8785 bytes of an action. `None` if a number in it has no canonical form.
pub fn action_digest(action: &Members) -> Option<Hash> {
    canonical_object(action).ok().map(|bytes| Hash::of(&bytes))
}

/// Whether two actions are the same: they have the same canonical bytes.
pub fn is_same(one: &Members, other: &Members) -> bool {
    one == other || action_digest(one) == action_digest(other)
}
