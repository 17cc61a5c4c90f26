//! The conditions of parked work, in the one form in which they are asked for and shown: the events of a trigger are below `match`. The log
//! has them beside the provider, and so had records of older servers, which are read as well.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::suspension::stop::{Conditions, Provider, Timeout, Trigger};

/// The conditions under which parked work goes on: any one of them is enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AskedConditions {
    /// An event of this name, from any provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_event: Option<String>,
    /// An event of one provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trigger: Option<AskedTrigger>,
    /// A time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Timeout>,
}

/// An event of one provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
struct AskedTrigger {
    /// The agent's own word for it.
    kind: String,
    /// The provider.
    provider: Provider,
    /// The events that fit.
    #[serde(default)]
    #[schema(required = true)]
    r#match: EventMatch,
    /// The same in the form of older servers.
    #[serde(default, skip_serializing)]
    #[schema(ignore)]
    events: Vec<String>,
}

/// The events that fit a trigger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
struct EventMatch {
    /// The names of the events.
    #[serde(default)]
    #[schema(required = true)]
    events: Vec<String>,
}

impl From<Conditions> for AskedConditions {
    fn from(conditions: Conditions) -> Self {
        let Conditions { on_event, trigger, timeout } = conditions;
        let asked = |Trigger { kind, provider, events }| {
            let r#match = EventMatch { events };
            AskedTrigger { kind, provider, r#match, events: Vec::new() }
        };
        Self { on_event, trigger: trigger.map(asked), timeout }
    }
}

impl From<AskedConditions> for Conditions {
    fn from(asked: AskedConditions) -> Self {
        let AskedConditions { on_event, trigger, timeout } = asked;
        let kept = |AskedTrigger { kind, provider, r#match, events }| {
            let events = if r#match.events.is_empty() { events } else { r#match.events };
            Trigger { kind, provider, events }
        };
        Self { on_event, trigger: trigger.map(kept), timeout }
    }
}

/// Brings conditions in the form of the log, which older servers showed as well, into that of a record.
pub(crate) fn as_in_a_record(conditions: &mut Value) {
    let Some(trigger) = conditions.get_mut("trigger").and_then(Value::as_object_mut) else { return };
    if trigger.contains_key("match") {
        return;
    }
    if let Some(events) = trigger.remove("events") {
        trigger.insert("match".to_owned(), json!({ "events": events }));
    }
}

/// Writes the conditions of a record.
#[expect(clippy::ref_option, reason = "serde hands a field over as it is")]
pub(super) fn serialize<S: Serializer>(conditions: &Option<Conditions>, serializer: S) -> Result<S::Ok, S::Error> {
    conditions.clone().map(AskedConditions::from).serialize(serializer)
}

/// Reads the conditions of a record.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Conditions>, D::Error> {
    Ok(Option::<AskedConditions>::deserialize(deserializer)?.map(Conditions::from))
}
