//! The leaf of an event: the event without its payload and salt, and with its hash.
//!
//! The hash commits to the payload under the salt, so the leaf tells nothing of the payload, and stays as it is when the payload
//! and the salt are erased.

use domain::base::canonical::{HASH_NAME, PAYLOAD_NAME, SALT_NAME, members};
use domain::base::json;
use domain::base::sealed::Sealed;

/// The leaf of an event: canonical JSON of all its members but the payload and the salt, together with its hash. An erased event is stored
/// as its leaf. `None` if the event is not canonical.
pub fn of(sealed: &Sealed) -> Option<Vec<u8>> {
    if sealed.is_erased() {
        return erased(sealed);
    }
    quickly(sealed).or_else(|| by_reading(sealed))
}

/// The leaf of an erased event: its bytes, if they have the form of one.
fn erased(sealed: &Sealed) -> Option<Vec<u8>> {
    let hash = format!("\"{}\"", sealed.hash);
    let mut is_leaf = true;
    members(&sealed.bytes, |name, value| {
        is_leaf &= name != PAYLOAD_NAME.as_bytes() && name != SALT_NAME.as_bytes();
        is_leaf &= name != HASH_NAME.as_bytes() || *value == *hash.as_bytes();
    })?;
    is_leaf.then(|| sealed.bytes.clone())
}

/// The leaf, cut out of the bytes of the event. `None` also if a member's name is in a rare form, although the event is canonical.
fn quickly(sealed: &Sealed) -> Option<Vec<u8>> {
    let mut leaf = Vec::with_capacity(512);
    let hash = format!("\"{}\"", sealed.hash);
    let mut is_written = false;
    let add = |leaf: &mut Vec<u8>, name: &[u8], value: &[u8]| {
        leaf.push(if leaf.is_empty() { b'{' } else { b',' });
        leaf.push(b'"');
        leaf.extend_from_slice(name);
        leaf.extend_from_slice(b"\":");
        leaf.extend_from_slice(value);
    };
    members(&sealed.bytes, |name, value| {
        if !is_written && name > HASH_NAME.as_bytes() {
            add(&mut leaf, HASH_NAME.as_bytes(), hash.as_bytes());
            is_written = true;
        }
        if name != PAYLOAD_NAME.as_bytes() && name != SALT_NAME.as_bytes() {
            add(&mut leaf, name, value);
        }
    })?;
    leaf.push(b'}');
    is_written.then_some(leaf)
}

/// The leaf, by reading the event and writing it again, which takes ten times as long.
fn by_reading(sealed: &Sealed) -> Option<Vec<u8>> {
    let read = json::unambiguous(&sealed.bytes).ok()?;
    if json::canonical(&read).ok()? != sealed.bytes {
        return None;
    }
    let mut event = read.as_object()?.clone();
    event.remove(PAYLOAD_NAME);
    event.remove(SALT_NAME);
    // An event has no hash of its own among its members.
    if event.insert(HASH_NAME.to_owned(), sealed.hash.to_string().into()).is_some() {
        return None;
    }
    json::canonical(&event).ok()
}

#[cfg(test)]
mod tests {
    use domain::base::sealed::Hash;
    use serde_json::{Value, json};

    use super::*;

    fn sealed(event: &Value) -> Sealed {
        let bytes = domain::base::json::canonical(event).unwrap();
        Sealed { hash: Hash::of(&bytes), bytes }
    }

    #[test]
    fn a_leaf_is_the_event_without_payload_and_salt_and_with_its_hash() {
        let sealed = sealed(&json!({
            "actor": "bot", "created_at": "2026-01-01T00:00:00.000000", "event_type": "x", "id": "1", "payload": {"secret": 1},
            "previous_event_hash": null, "salt": "abc", "sequence": 1,
        }));
        let leaf: Value = serde_json::from_slice(&of(&sealed).unwrap()).unwrap();
        assert_eq!(
            leaf,
            json!({
                "actor": "bot", "created_at": "2026-01-01T00:00:00.000000", "event_hash": sealed.hash.to_string(), "event_type": "x",
                "id": "1", "previous_event_hash": null, "sequence": 1,
            })
        );
        assert_eq!(domain::base::json::canonical(&leaf).unwrap(), of(&sealed).unwrap(), "a leaf is canonical");
    }

    /// An agent chooses the names within a payload. If one of them left its event without a leaf, that agent could stop the tree.
    #[test]
    fn an_event_has_a_leaf_whatever_names_its_payload_has() {
        for name in ["plain", "é", "a\"b", "line\nfeed", "back\\slash", "\u{1f600}", "\u{ff21}", "", "\u{0}"] {
            let event = json!({"event_type": "x", "payload": {name: {name: 1}, "z": 2}, "salt": "abc", "sequence": 1});
            let sealed = sealed(&event);
            let leaf = json!({"event_hash": sealed.hash.to_string(), "event_type": "x", "sequence": 1});
            assert_eq!(of(&sealed), Some(domain::base::json::canonical(&leaf).unwrap()), "{name:?}");
        }
    }

    /// The tree holds the hash of the leaf. If the leaf of an erased event were another one, each erasure would look like tampering.
    #[test]
    fn the_leaf_of_an_erased_event_is_that_of_the_event() {
        let whole = sealed(
            &json!({"actor": "a \\\",\"event_hash\":\"x\",", "event_type": "x", "payload": {}, "salt": "abc", "sequence": 1}),
        );
        let erased = Sealed { bytes: of(&whole).unwrap(), hash: whole.hash };
        assert!(erased.is_erased() && !whole.is_erased());
        assert_eq!(of(&erased), of(&whole));
        let served: Value = serde_json::from_str(&erased.served()).unwrap();
        assert_eq!((&served["payload"], &served["redacted"]), (&Value::Null, &json!(true)));
        assert_eq!(Sealed::from_served_bytes(erased.served().as_bytes()), Some(erased.clone()));
        assert_eq!(of(&Sealed { hash: Hash([7; 32]), ..erased }), None, "another hash");
    }

    #[test]
    fn bytes_that_are_not_canonical_have_no_leaf() {
        let mut sealed = sealed(&json!({"event_type": "x", "sequence": 1}));
        sealed.bytes.push(b' ');
        assert_eq!(of(&sealed), None);
    }
}
