//! Writes an export of any length in bounded memory, for measurements.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proof::checkpoint::TreeHead;
use proof::key::SigningKey;
use proof::tree::{Rooting, leaf_hash};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::forge::{Chance, Event, Export, Header, Line, Members, hex, time};

/// A sentence of the question's context.
const CONTEXT: &str = "The customer wrote twice and asks for the whole amount. ";

/// The events of a large export, one after the other.
struct Events {
    logs: u64,
    /// The hash of the last event of each log.
    ends: Vec<String>,
}

impl Events {
    fn of(logs: u64) -> Self {
        Self { logs, ends: Vec::new() }
    }

    fn next(&mut self, place: u64) -> Event {
        let (log, mut chance) = (usize::try_from(place % self.logs).unwrap(), Chance::new(place));
        let payload = json!({
            "question": "Refund order 12345 to the customer?", "choices": ["approve", "deny"], "amount": place, "rate": 0.25,
            "context": CONTEXT.repeat(8), "confidence": 0.93, "note": "caf\u{e9}",
        });
        let members = json!({
            "id": chance.id(), "actor": "agent-1", "created_at": time(place * 1_000), "event_type": "suspended",
            "payload": payload, "intent_id": format!("01932f7a-05a1-7abc-8def-{log:012x}"), "sequence": place / self.logs + 1,
            "salt": URL_SAFE_NO_PAD.encode(chance.bytes::<32>()),
            "previous_event_hash": self.ends.get(log).map_or(Value::Null, |hash| json!(hash)),
        });
        let event = Event::new(members.as_object().unwrap().clone());
        match self.ends.get_mut(log) {
            Some(end) => end.clone_from(&event.hash),
            None => self.ends.push(event.hash.clone()),
        }
        event
    }
}

/// Writes a whole export of `count` events of about 1 KB in so many logs, and returns the public key that signed it. The events are made twice,
/// because the header stands first and has the root over all of them.
pub(crate) fn large(mut out: impl Write, count: u64, logs: u64) -> String {
    let key = SigningKey::new("placet.example/large", &[7; 32]).unwrap();
    let (mut tree, mut events) = (Rooting::default(), Events::of(logs));
    (0..count).for_each(|place| tree.push(leaf_hash(&events.next(place).leaf())));
    let header = Header {
        origin: key.verifying().name().to_owned(),
        key: key.verifying().to_string(),
        checkpoint: TreeHead::sign(count, tree.root(), &key),
        size: count,
        selection: Value::Null,
        exported_at: "2026-12-31T00:00:00.000000Z".to_owned(),
    };
    let export = Export { header, lines: Vec::new(), manifest: Members::new() };
    let (mut hash, mut events) = (Sha256::new(), Events::of(logs));
    let mut write = |text: String| {
        hash.update(&text);
        out.write_all(text.as_bytes()).unwrap();
    };
    write(export.before_manifest());
    for place in 0..count {
        write(Line { leaf: place, is_erased: false, text: events.next(place).served(), proof: None }.write());
    }
    let sha256 = hex(&hash.finalize());
    let mut manifest = export.honest_manifest();
    let counts = json!({
        "events": count, "first_leaf": 0, "last_leaf": count.saturating_sub(1), "by_type": {"suspended": count}, "sha256": sha256,
    });
    manifest.extend(counts.as_object().unwrap().clone());
    writeln!(out, "{}", json!({ "manifest": manifest })).unwrap();
    out.flush().unwrap();
    key.verifying().to_string()
}
