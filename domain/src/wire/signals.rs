//! Events as streams carry them to the OpenIntent client: under the five names for which version 0.17.0 of the client has
//! handlers, and with the members of the payload at the top level.

use serde_json::{Map, Value, json};

use super::{EventView, as_in_a_record};
use crate::base::name::is_same;
use crate::intent::assignment::ASSIGNED;
use crate::intent::body::{PAUSE_KEY, PatchOp};
use crate::intent::dependency;
use crate::intent::event::Event;
use crate::intent::retry::{RetryEvent, STARTED};
use crate::intent::status::Status;
use crate::intent::stop_event::{CLOSED, PARKED, PAUSED, RESUMED, STOPPING};
use crate::log::payload::StatePatched;

/// Whether streams carry this event. The client fails on every name that it does not know, so streams carry no other events.
pub fn is_signalled(event: &Event) -> bool {
    // When an intent is active again, its agents get their assignment once more, as a sign to begin. The client drops an
    // assignment while it lacks results of other intents that the work needs, so it has dropped the earlier one.
    if let Event::Dependency(change) = event {
        return !change.agents().is_empty();
    }
    if let Event::Retry(change) = event {
        return matches!(**change, RetryEvent::Started(_));
    }
    // Its agent sees a stop, and the end of it, as a change of the state.
    if let Event::Stop(change) = event {
        return holds(change.event_type()) || change.ends();
    }
    matches!(
        event,
        Event::AgentAssigned(_)
            | Event::StatePatched(_)
            | Event::LeaseReleased(_)
            | Event::StatusChanged { new: Status::Completed, .. }
    )
}

/// An event as a stream carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// Its name on the stream.
    pub name: &'static str,
    /// Its members.
    pub data: Map<String, Value>,
}

impl Signal {
    /// The event as the stream of an intent, or that of the agent `agent`, carries it; `None` if the stream leaves it out.
    pub fn of(event: EventView, agent: Option<&str>) -> Option<Self> {
        let EventView { id, intent_id, event_type, actor, mut payload, created_at, .. } = event;
        let name = match event_type.as_str() {
            // The client starts its work for every assignment that it receives, so the stream of an agent carries only the
            // assignments of this agent.
            ASSIGNED if agent.is_some_and(|agent| !names(&payload, agent)) => return None,
            ASSIGNED => {
                // An agent that takes over from another one reads the error of that agent at the top level, as after a retry.
                if let Some(error) = payload.get("payload").and_then(|given| given.get("last_error")).cloned() {
                    payload.entry("last_error").or_insert(error);
                }
                "AGENT_ASSIGNED"
            }
            dependency::MET | dependency::REMOVED => {
                let agent = agent.filter(|agent| tells(&payload, agent))?;
                payload.insert("agent_id".to_owned(), json!(agent));
                "AGENT_ASSIGNED"
            }
            STARTED => {
                agent.filter(|agent| names(&payload, agent))?;
                "AGENT_ASSIGNED"
            }
            // The event is not sent as `STATUS_CHANGED` as well, because that would run the same handlers once more.
            "status_changed" => "INTENT_COMPLETED",
            "state_patched" => {
                payload = changed(payload);
                "STATE_CHANGED"
            }
            "lease_released" => "LEASE_RELEASED",
            held if holds(held) || [RESUMED, CLOSED].contains(&held) => {
                payload = stopped(payload, holds(held));
                "STATE_CHANGED"
            }
            _ => return None,
        };
        for (member, value) in
            [("intent_id", json!(intent_id)), ("event_id", json!(id)), ("actor", json!(actor)), ("created_at", json!(created_at))]
        {
            payload.insert(member.to_owned(), value);
        }
        Some(Self { name, data: payload })
    }

    /// A signal that only brings the client an id, from which the client can resume the stream. A client that loses its
    /// connection before it has an id would begin again at a later moment, and miss the events before that moment. No handler of
    /// the client runs for this signal.
    pub fn of_position() -> Self {
        Self { name: "STATUS_CHANGED", data: Map::from_iter([("new_status".to_owned(), Value::Null)]) }
    }
}

/// Whether an event of this type stops an intent.
fn holds(event_type: &str) -> bool {
    [PAUSED, PARKED, STOPPING].contains(&event_type)
}

/// Adds the state that shows a stop, or its end: `_pause` is the server's member of the state, with the conditions as the record has them.
fn stopped(payload: Map<String, Value>, holds: bool) -> Map<String, Value> {
    let mut data = payload;
    let mut shown = if holds { Value::Object(data.clone()) } else { Value::Null };
    if let Some(conditions) = shown.get_mut("conditions") {
        as_in_a_record(conditions);
    }
    data.insert("old_state".to_owned(), json!({}));
    data.insert("new_state".to_owned(), json!({ PAUSE_KEY: shown }));
    data
}

fn names(payload: &Map<String, Value>, agent: &str) -> bool {
    payload.get("agent_id").and_then(Value::as_str).is_some_and(|assigned| is_same(assigned, agent))
}

/// Whether the event tells this agent that the intent is active again.
fn tells(payload: &Map<String, Value>, agent: &str) -> bool {
    let agents = payload.get("agents").and_then(Value::as_array).into_iter().flatten();
    agents.filter_map(Value::as_str).any(|told| is_same(told, agent))
}

/// Adds `new_state` to the payload, and an empty `old_state`. `new_state` has the members of the state that the event changed,
/// each with the value that was written there, or null if it was removed. The client selects its handlers by the names of these
/// members and reads the state itself again.
fn changed(payload: Map<String, Value>) -> Map<String, Value> {
    let mut state = Map::new();
    if let Ok(patched) = serde_json::from_value::<StatePatched>(Value::Object(payload.clone())) {
        for patch in patched.patches {
            let mut value = if patch.op == PatchOp::Remove { Value::Null } else { patch.value };
            let mut segments = patch.path.split('/').filter(|segment| !segment.is_empty());
            let Some(first) = segments.next() else { continue };
            for segment in segments.collect::<Vec<_>>().into_iter().rev() {
                value = json!({ segment: value });
            }
            state.insert(first.to_owned(), value);
        }
    }
    let mut data = payload;
    data.insert("old_state".to_owned(), json!({}));
    data.insert("new_state".to_owned(), Value::Object(state));
    data
}
