//! Agents that are assigned to an intent, and one that is no longer.

use domain::intent::assignment::{Assigned, Unassigned};
use domain::intent::event::Event;
use serde_json::json;

use super::object;

pub(super) fn events() -> Vec<Event> {
    let bare = Assigned { agent_id: "helper".into(), role: "worker".into(), delegated_by: None, payload: None };
    let payload = Some(object(json!({"part": 1})));
    let whole = Assigned { agent_id: "bot/2".into(), delegated_by: Some("bot/1".into()), payload, ..bare.clone() };
    let unassigned = Unassigned { agent_id: "helper".into() };
    vec![Event::AgentAssigned(Box::new(bare)), Event::AgentAssigned(Box::new(whole)), Event::AgentUnassigned(unassigned)]
}
