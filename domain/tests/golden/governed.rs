//! The policies of intents.

use domain::intent::event::{Event, Violation};
use domain::intent::governance::Policy;
use serde_json::json;

pub(super) fn events() -> Vec<Event> {
    let whole = json!({"completion_mode": "require_approval", "write_scope": "assigned_only", "allowed_agents": ["bot"],
        "max_cost": 12.5, "require_status_reason": true});
    let changed = |policy, version| Event::PolicyChanged { policy, version };
    vec![
        changed(Some(Policy::read(whole).unwrap()), 4),
        changed(Some(Policy::default()), 5),
        changed(None, 6),
        Event::Violated(Violation { rule: "max_cost".into(), detail: "too much".into() }),
    ]
}
