//! JSON lines of the Open Cybersecurity Schema Framework (OCSF).

use serde_json::{Map, Value, json};

use super::{Facts, Kind, PRODUCT, VERSION, Weight, json_text, text};

/// The version of the schema.
pub const SCHEMA_VERSION: &str = "1.8.0";

/// A class of the schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// API Activity, of the category Application Activity.
    ApiActivity,
    /// Entity Management, of the category Identity & Access Management.
    EntityManagement,
}

impl Class {
    fn uid(self) -> u32 {
        match self {
            Self::ApiActivity => 6003,
            Self::EntityManagement => 3004,
        }
    }

    /// The activity in this class: its number, and its name if the schema does not name it.
    fn of(facts: &Facts<'_>) -> (Self, Activity) {
        match facts.kind {
            Kind::KeyMade | Kind::LogKeyAdded => (Self::EntityManagement, Activity::Create),
            Kind::KeyRecorded => (Self::EntityManagement, Activity::Enroll),
            Kind::KeyRevoked => (Self::EntityManagement, Activity::Delete),
            Kind::Question => (Self::ApiActivity, Activity::Create),
            Kind::Exported => (Self::ApiActivity, Activity::Read),
            Kind::Answer | Kind::EndedUnanswered | Kind::OtherOfQuestion => (Self::ApiActivity, Activity::Update),
            Kind::UnaskedAnswer | Kind::RefusedAnswer | Kind::Undelivered | Kind::Violation | Kind::Other => {
                (Self::ApiActivity, Activity::Other)
            }
        }
    }
}

/// An activity, with its number in both classes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Activity {
    Create = 1,
    Read = 2,
    Update = 3,
    Delete = 4,
    /// Only of Entity Management: an entity that was there before is recorded.
    Enroll = 6,
    Other = 99,
}

/// The line of one served event, which is leaf number `leaf`, with its line end (LF).
#[must_use]
pub fn line(leaf: u64, event: &Value) -> String {
    let facts = Facts::of(event);
    let (class, activity) = Class::of(&facts);
    let (class_uid, activity_id) = (class.uid(), activity as u32);
    let mut record = Map::new();
    let mut add = |name: &str, value: Value| {
        record.insert(name.to_owned(), value);
    };
    add("activity_id", json!(activity_id));
    if activity == Activity::Other {
        add("activity_name", json!(facts.event_type));
    }
    add("category_uid", json!(class_uid / 1000));
    add("class_uid", json!(class_uid));
    add("type_uid", json!(class_uid * 100 + activity_id));
    add("severity_id", json!(severity(facts.kind)));
    add("time", json!(facts.at.map_or(0, |at| at.timestamp_millis())));
    add("message", json!(facts.message()));
    add("metadata", metadata(&facts));
    add("actor", if facts.actor.is_empty() { json!({"app_name": PRODUCT}) } else { json!({"user": {"name": facts.actor}}) });
    if facts.kind.has_failed() {
        add("status_id", json!(2));
    } else if facts.kind == Kind::Answer {
        add("status_id", json!(1));
    }
    match class {
        Class::ApiActivity => {
            add("api", json!({"operation": facts.event_type, "service": {"name": PRODUCT}}));
            // The schema demands an endpoint, and the log does not say from where a request came.
            add("src_endpoint", json!({"name": "unknown"}));
            if !facts.subject_id.is_empty() {
                add("resources", json!([{"type": facts.log, "uid": facts.subject_id}]));
            }
        }
        Class::EntityManagement => add("entity", entity(&facts)),
    }
    add("unmapped", unmapped(leaf, &facts));
    if let Some(payload) = facts.payload {
        add("raw_data", json!(json_text(payload)));
    }
    let mut line = json_text(&Value::Object(record));
    line.push('\n');
    line
}

fn severity(kind: Kind) -> u32 {
    match kind.weight() {
        Weight::Informational => 1,
        Weight::Low => 2,
        Weight::Medium => 3,
    }
}

fn metadata(facts: &Facts<'_>) -> Value {
    let mut metadata = json!({
        "version": SCHEMA_VERSION,
        "product": {"name": PRODUCT, "vendor_name": PRODUCT, "version": VERSION},
        "uid": facts.id,
        "original_event_uid": facts.id,
        "event_code": facts.event_type,
        "log_name": facts.log,
        "original_time": facts.created_at,
    });
    if let Some(sequence) = facts.sequence {
        metadata["sequence"] = json!(sequence);
    }
    if !facts.suspension_id.is_empty() {
        metadata["correlation_uid"] = json!(facts.suspension_id);
    }
    metadata
}

/// The key that the event is about. The payload of an erased event does not say which; the event then stands for it.
fn entity(facts: &Facts<'_>) -> Value {
    let said = |name: &str| facts.payload.map_or("", |payload| text(payload, name));
    let (uid, name, kind) = if facts.kind == Kind::LogKeyAdded {
        (said("key"), said("key").split('+').next().unwrap_or_default(), "log key")
    } else {
        (said("key_id"), said("name"), "API key")
    };
    let mut entity = json!({"type": kind, "type_id": 99});
    for (member, value) in [("uid", uid), ("name", name)] {
        if !value.is_empty() {
            entity[member] = json!(value);
        }
    }
    if uid.is_empty() && name.is_empty() {
        entity["name"] = json!("unknown");
    }
    entity
}

/// The facts for which the schema has no attribute. The names are ours alone; the names in a payload stay in `raw_data`, because an agent
/// chooses them, and a SIEM would make a field of each.
fn unmapped(leaf: u64, facts: &Facts<'_>) -> Value {
    let mut unmapped = json!({"leaf": leaf, "event_hash": facts.event_hash, "payload_erased": facts.payload.is_none()});
    let texts = [
        ("question", facts.question),
        ("response", &facts.response),
        ("responded_by", facts.responded_by),
        ("resolution", facts.resolution),
    ];
    for (name, text) in texts {
        if !text.is_empty() {
            unmapped[name] = json!(text);
        }
    }
    unmapped
}
