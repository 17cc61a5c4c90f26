//! A small deployment whose log has every kind of decision, each as a server writes it. A test changes the events, and the whole
//! log is then sealed, chained and signed anew: its holder has the key, so nothing but the decisions can show the change.

use serde_json::{Map, Value, json};

use crate::forge::{Chance, Event, Log, Members, time};

/// Microseconds of a second.
const SECOND: u64 = 1_000_000;
/// When the first event of an intent happened, in seconds.
const BEGIN: u64 = 1_000;
/// When questions were asked.
pub(crate) const ASKED_AT: u64 = BEGIN + 1;
/// The deadline of questions.
pub(crate) const DEADLINE: u64 = ASKED_AT + 3_600;

/// The intents of the world, by what happens to their questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tale {
    /// A person chooses.
    Chosen,
    /// A person chooses by the link in a mail.
    Linked,
    /// A person writes a text.
    Written,
    /// No person answers, and the fallback applies.
    FellBack,
    /// No person was reached, after two attempts.
    Unreached,
    /// The deadline is moved, and the agent withdraws the question.
    Withdrawn,
    /// A person approves an action beside the intent; a second answer is refused.
    Approved,
    /// An agent replaces its question by another one, which is open.
    Replaced,
}

impl Tale {
    pub(crate) const ALL: [Self; 8] = [
        Self::Chosen,
        Self::Linked,
        Self::Written,
        Self::FellBack,
        Self::Unreached,
        Self::Withdrawn,
        Self::Approved,
        Self::Replaced,
    ];

    pub(crate) fn intent(self) -> String {
        id(0xa00 + self as u64)
    }

    pub(crate) fn question(self) -> String {
        id(0xb00 + self as u64)
    }
}

/// An id for a number.
pub(crate) fn id(number: u64) -> String {
    format!("01932f7a-05a1-7abc-8def-{number:012x}")
}

/// The names of the keys; each has the id of its place.
const KEYS: [(&str, &str, &str); 7] = [
    ("bot", "agent", "team-a"),
    ("other-bot", "agent", "team-b"),
    ("alice", "operator", "people"),
    ("sibling", "operator", "team-a"),
    ("root", "admin", "people"),
    ("carol", "auditor", "people"),
    ("gone", "operator", "people"),
];

/// The credential of the key with this name.
pub(crate) fn key(name: &str) -> Value {
    let place = KEYS.iter().position(|(known, ..)| *known == name).unwrap();
    json!({"kind": "api_key", "id": id(0xc00 + place as u64)})
}

/// The events of the world before they are sealed, in the order of their leaves.
pub(crate) struct World {
    pub(crate) events: Vec<Members>,
    chance: Chance,
}

impl World {
    /// Everything that happens, honestly.
    pub(crate) fn honest() -> Self {
        let mut world = Self { events: Vec::new(), chance: Chance::new(5) };
        for (place, (name, role, owner)) in KEYS.into_iter().enumerate() {
            let payload =
                json!({"key_id": id(0xc00 + place as u64), "name": name, "role": role, "subject": name, "owner": owner});
            world.add(("log", &json!("server")), "placet", 1, "key.created", payload);
        }
        let payload = json!({"key_id": key("gone")["id"], "name": "gone"});
        world.add(("log", &json!("server")), "placet", 2, "key.revoked", payload);
        for tale in Tale::ALL {
            world.tell(tale);
        }
        world
    }

    pub(crate) fn add(&mut self, (name, of): (&str, &Value), actor: &str, at: u64, event_type: &str, payload: Value) {
        let mut event = json!({
            "id": self.chance.id(), "actor": actor, "created_at": time(at * SECOND), "event_type": event_type, name: of,
            "salt": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        });
        event["payload"] = payload;
        self.events.push(event.as_object().unwrap().clone());
    }

    /// Adds an event of an intent.
    pub(crate) fn happen(&mut self, tale: Tale, actor: &str, at: u64, event_type: &str, payload: Value) {
        self.add(("intent_id", &json!(tale.intent())), actor, at, event_type, payload);
    }

    fn status(&mut self, tale: Tale, actor: &str, at: u64, (old, new): (&str, &str), reason: &str) {
        let mut payload = json!({"old_status": old, "new_status": new, "reason": reason});
        if new == "abandoned" {
            payload["abandonment_reason"] = json!(reason);
        }
        self.happen(tale, actor, at, "status_changed", payload);
    }

    fn tell(&mut self, tale: Tale) {
        let created = json!({
            "title": "t", "description": "", "created_by": "bot", "parent_intent_id": null, "depends_on": [], "constraints": {},
            "state": {}, "governance_policy": null, "confidence": 0, "status": "active",
        });
        self.happen(tale, "bot", BEGIN, "intent_created", created);
        if tale == Tale::Approved {
            return self.approve();
        }
        self.happen(tale, "bot", ASKED_AT, "intent.suspended", asked(tale));
        self.status(tale, "bot", ASKED_AT, ("active", "suspended_awaiting_input"), "suspended");
        let on = ("suspended_awaiting_input", "active");
        match tale {
            Tale::Chosen | Tale::Linked | Tale::Written => {
                let (actor, at) = (if tale == Tale::Linked { "dan@x.example" } else { "alice" }, ASKED_AT + 100);
                if tale == Tale::Linked {
                    self.happen(tale, "placet", ASKED_AT + 5, "delivery.sent", sent(tale));
                }
                self.happen(tale, actor, at, "intent.resumed", answer(tale, at));
                self.status(tale, actor, at, on, "answered");
            }
            Tale::FellBack => {
                self.happen(tale, "placet", ASKED_AT + 5, "delivery.sent", sent(tale));
                let expired = json!({
                    "suspension_id": tale.question(), "reason": "timeout", "attempts": 1,
                    "fallback_policy": "complete_with_fallback", "fallback_value": "deny", "reached": true,
                });
                self.happen(tale, "placet", DEADLINE, "intent.suspension_expired", expired);
                self.status(tale, "placet", DEADLINE, on, "fallback_applied");
            }
            Tale::Unreached => self.ask_again(tale),
            Tale::Withdrawn => {
                let extended = json!({
                    "suspension_id": tale.question(), "cause": "request", "old_expires_at": time(DEADLINE * SECOND),
                    "new_expires_at": time((DEADLINE + 600) * SECOND), "reason": null, "extended_by": "alice",
                    "credential": key("alice"),
                });
                self.happen(tale, "alice", ASKED_AT + 50, "intent.suspension_extended", extended);
                let cancelled = cancelled(tale, "withdrawn");
                self.happen(tale, "bot", ASKED_AT + 100, "intent.suspension_cancelled", cancelled);
                self.status(tale, "bot", ASKED_AT + 100, on, "withdrawn");
            }
            Tale::Replaced => {
                self.happen(tale, "bot", ASKED_AT + 100, "intent.suspension_cancelled", cancelled(tale, "superseded"));
                let mut anew = asked(tale);
                (anew["id"], anew["suspension_id"]) = (json!(id(0xd01)), json!(id(0xd01)));
                anew["suspended_at"] = json!(time((ASKED_AT + 100) * SECOND));
                self.happen(tale, "bot", ASKED_AT + 100, "intent.suspended", anew);
            }
            Tale::Approved => {}
        }
    }

    fn ask_again(&mut self, tale: Tale) {
        let again = json!({
            "suspension_id": tale.question(), "attempt": 2, "max_attempts": 2, "channel_hint": null, "notify_to": ["b@x.example"],
            "next_attempt_at": null,
        });
        self.happen(tale, "placet", ASKED_AT + 1_800, "intent.suspension_renotified", again);
        let escalated =
            json!({"suspension_id": tale.question(), "attempt": 2, "escalated_to": ["b@x.example"], "channel_hint": null});
        self.happen(tale, "placet", ASKED_AT + 1_800, "intent.suspension_escalated", escalated);
        self.happen(tale, "placet", DEADLINE, "intent.suspension_undeliverable", json!({"suspension_id": tale.question()}));
        let expired = json!({
            "suspension_id": tale.question(), "reason": "undeliverable", "attempts": 2, "fallback_policy": "fail",
            "fallback_value": null, "reached": false,
        });
        self.happen(tale, "placet", DEADLINE, "intent.suspension_expired", expired);
        self.status(tale, "placet", DEADLINE, ("suspended_awaiting_input", "abandoned"), "undeliverable");
    }

    fn approve(&mut self) {
        let (tale, at) = (Tale::Approved, ASKED_AT + 100);
        self.happen(tale, "bot", ASKED_AT, "governance.approval_requested", asked(tale));
        let mut granted = answer(tale, at);
        (granted["approval_id"], granted["decision"]) = (json!(tale.question()), json!("approved"));
        (granted["responded_by"], granted["credential"], granted["role"]) = (json!("root"), key("root"), json!("admin"));
        self.happen(tale, "root", at, "governance.approval_granted", granted);
        let refused = json!({
            "suspension_id": tale.question(), "code": "already_resolved", "value": "deny", "value_omitted": false,
            "responded_by": "alice", "credential": key("alice"),
        });
        self.happen(tale, "alice", at + 1, "intent.response_rejected", refused);
    }

    /// The event of this type of an intent.
    pub(crate) fn event(&mut self, tale: Tale, event_type: &str) -> &mut Members {
        let place = self.place(tale, event_type);
        &mut self.events[place]
    }

    pub(crate) fn place(&self, tale: Tale, event_type: &str) -> usize {
        let is_it = |event: &Members| event.get("intent_id") == Some(&json!(tale.intent())) && event["event_type"] == event_type;
        self.events.iter().position(is_it).unwrap()
    }

    /// The payload of the event of this type.
    pub(crate) fn payload(&mut self, tale: Tale, event_type: &str) -> &mut Value {
        &mut self.event(tale, event_type)["payload"]
    }

    /// Moves an event and the one behind it, which belongs to it, to another time.
    pub(crate) fn date(&mut self, tale: Tale, event_type: &str, at: u64) {
        let place = self.place(tale, event_type);
        for event in &mut self.events[place..place + 2] {
            event.insert("created_at".to_owned(), json!(time(at * SECOND)));
        }
    }

    /// The sealed, chained and signed log.
    pub(crate) fn log(&self) -> Log {
        let mut log = Log::random(&mut Chance::new(6), crate::forge::Shape { events_max: 0, logs_max: 1, has_erasures: false });
        log.events = self.events.iter().map(|members| Event::new(members.clone())).collect();
        log.exported_at = format!("{}Z", time(1_000_000 * SECOND));
        log.chain_anew();
        log
    }
}

/// A time in seconds as events write it.
pub(crate) fn at(seconds: u64) -> String {
    time(seconds * SECOND)
}

/// The question of an intent.
fn asked(tale: Tale) -> Value {
    let mut question = Map::new();
    for name in [
        "channel_hint",
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
        question.insert(name.to_owned(), Value::Null);
    }
    let choice = |value: &str, label: &str| json!({"value": value, "label": label, "style": "default"});
    let choices = if tale == Tale::Written { json!([]) } else { json!([choice("approve", "Approve"), choice("deny", "Deny")]) };
    let rest = json!({
        "id": tale.question(), "suspension_id": tale.question(), "intent_id": tale.intent(), "asked_by": "bot",
        "kind": "awaiting_input", "version": 1, "attempt": 1, "question": "Refund order 12345?", "response_type": "choice",
        "choices": choices, "context": {"order": 12345}, "notify_to": ["dan@x.example"], "suspended_at": at(ASKED_AT),
        "timeout_seconds": 3600, "expires_at": at(DEADLINE), "fallback_policy": "complete_with_fallback",
        "fallback_value": "deny", "reached": false,
    });
    question.extend(rest.as_object().unwrap().clone());
    match tale {
        Tale::Written => question.insert("response_type".to_owned(), json!("text")),
        Tale::Approved => question.insert("kind".to_owned(), json!("approval")),
        Tale::Unreached => {
            let policy = json!({
                "max_attempts": 2, "interval_seconds": 1800, "strategy": "fixed",
                "escalation_ladder": [{"attempt": 2, "notify_to": ["b@x.example"]}],
            });
            question.insert("retry_policy".to_owned(), policy);
            question.insert("fallback_value".to_owned(), Value::Null);
            question.insert("fallback_policy".to_owned(), json!("fail"))
        }
        Tale::Chosen | Tale::Linked | Tale::FellBack | Tale::Withdrawn | Tale::Replaced => None,
    };
    question.into()
}

/// The answer of a person.
pub(crate) fn answer(tale: Tale, seconds: u64) -> Value {
    let mut answer = json!({
        "suspension_id": tale.question(), "value": "approve", "responded_by": "alice", "responded_at": at(seconds),
        "metadata": {}, "role": "operator", "assurance": "api_key", "choice_label": "Approve", "credential": key("alice"),
    });
    if tale == Tale::Written {
        answer["value"] = json!("Yes, but not more than 50.");
        answer.as_object_mut().unwrap().remove("choice_label");
    }
    if tale == Tale::Linked {
        (answer["responded_by"], answer["assurance"]) = (json!("dan@x.example"), json!("email_link"));
        answer["credential"] = json!({"kind": "email_link", "id": sent(tale)["delivery_id"]});
    }
    answer
}

/// The report about the mail of a question.
fn sent(tale: Tale) -> Value {
    json!({
        "suspension_id": tale.question(), "delivery_id": id(0xe00 + tale as u64), "sequence": 1, "attempt": 1, "channel": "email",
        "recipient": "dan@x.example", "detail": "250 OK", "tries": 1, "reached": true,
    })
}

fn cancelled(tale: Tale, reason: &str) -> Value {
    json!({
        "suspension_id": tale.question(), "resolution_reason": reason, "reason": null, "cancelled_by": "bot",
        "credential": key("bot"),
    })
}
