//! Writes an export of any length in bounded memory, for measurements.

use std::collections::BTreeMap;
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

/// The kind of events that a large export has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Events on which no decision depends.
    Notes,
    /// Requests for approval, and the answers to them.
    Decisions,
}

/// The events of a large export, one after the other.
struct Events {
    logs: u64,
    contents: Contents,
    /// The hash of the last event of each log.
    ends: Vec<String>,
}

impl Events {
    fn of(logs: u64, contents: Contents) -> Self {
        Self { logs, contents, ends: Vec::new() }
    }

    /// The type and the payload of an event. In each log, a request and its answer alternate.
    fn body(&self, place: u64, at: &str) -> (&'static str, Value) {
        let note = json!({
            "question": "Refund order 12345 to the customer?", "choices": ["approve", "deny"], "amount": place, "rate": 0.25,
            "context": CONTEXT.repeat(8), "confidence": 0.93, "note": "caf\u{e9}",
        });
        let (log, step) = (place % self.logs, place / self.logs);
        let suspension = format!("01932f7a-{:04x}-7abc-8def-{log:012x}", step / 2);
        match (self.contents, step % 2) {
            (Contents::Notes, _) => ("suspended", note),
            (Contents::Decisions, 0) => {
                let choice = |value: &str| json!({"value": value, "label": value, "style": "default"});
                let mut asked = json!({
                    "id": suspension, "suspension_id": suspension, "intent_id": intent(log), "asked_by": "agent-1",
                    "kind": "approval", "version": 1, "attempt": 1, "question": "Refund?", "response_type": "choice",
                    "choices": [choice("approve"), choice("deny")], "context": note, "notify_to": ["a@x.example"],
                    "suspended_at": at, "timeout_seconds": null, "expires_at": null, "fallback_policy": "fail", "reached": false,
                });
                for name in [
                    "channel_hint",
                    "fallback_value",
                    "confidence_at_suspension",
                    "decision_record",
                    "retry_policy",
                    "response",
                    "choice_label",
                    "choice_description",
                    "responded_by",
                    "responded_at",
                    "resolution",
                    "resolution_reason",
                    "resolved_at",
                    "metadata",
                ] {
                    asked[name] = Value::Null;
                }
                ("governance.approval_requested", asked)
            }
            (Contents::Decisions, _) => {
                let answer = json!({
                    "suspension_id": suspension, "approval_id": suspension, "decision": "approved", "value": "approve",
                    "responded_by": "alice", "responded_at": at, "metadata": note, "role": "operator", "assurance": "api_key",
                    "choice_label": "approve",
                });
                ("governance.approval_granted", answer)
            }
        }
    }

    fn next(&mut self, place: u64) -> Event {
        let (log, mut chance) = (usize::try_from(place % self.logs).unwrap(), Chance::new(place));
        let created_at = time(place * 1_000);
        let (event_type, payload) = self.body(place, &created_at);
        let actor = if event_type == "governance.approval_granted" { "alice" } else { "agent-1" };
        let members = json!({
            "id": chance.id(), "actor": actor, "created_at": created_at, "event_type": event_type,
            "payload": payload, "intent_id": intent(place % self.logs), "sequence": place / self.logs + 1,
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

fn intent(log: u64) -> String {
    format!("01932f7a-05a1-7abc-8def-{log:012x}")
}

/// Writes a whole export of `count` events of about 1 KB in so many logs, and returns the public key that signed it. The events are made twice,
/// because the header stands first and has the root over all of them.
pub(crate) fn large(mut out: impl Write, count: u64, logs: u64, contents: Contents) -> String {
    let key = SigningKey::new("placet.example/large", &[7; 32]).unwrap();
    let (mut tree, mut events) = (Rooting::default(), Events::of(logs, contents));
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
    let (mut hash, mut events) = (Sha256::new(), Events::of(logs, contents));
    let mut write = |text: String| {
        hash.update(&text);
        out.write_all(text.as_bytes()).unwrap();
    };
    write(export.before_manifest());
    for place in 0..count {
        write(Line { leaf: place, is_erased: false, text: events.next(place).served(), proof: None }.write());
    }
    let sha256 = hex(&hash.finalize());
    let mut by_type = BTreeMap::<_, u64>::new();
    for place in 0..count {
        *by_type.entry(events.body(place, "").0).or_default() += 1;
    }
    let mut manifest = export.honest_manifest();
    let counts = json!({
        "events": count, "first_leaf": 0, "last_leaf": count.saturating_sub(1), "by_type": by_type, "sha256": sha256,
    });
    manifest.extend(counts.as_object().unwrap().clone());
    writeln!(out, "{}", json!({ "manifest": manifest })).unwrap();
    out.flush().unwrap();
    key.verifying().to_string()
}
