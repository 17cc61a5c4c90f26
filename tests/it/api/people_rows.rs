//! The rows of the table of refusals that are about keys, people and groups, and the answers of people.

use domain::people::principal::Role;
use harness::app::TestApp;
use serde_json::json;

use super::negatives::Row;

pub(super) fn rows() -> Vec<Row> {
    use Role::{Admin, Agent, Auditor, Channel, Operator, Verifier};
    let hand = |step: &str, body, field| {
        let row = Row::new(format!("POST /api/v1/suspensions/{{suspension_id}}/{step}"), Operator);
        row.forbidden(&[Agent, Auditor, Channel]).invalid(body, field).versioned(false)
    };
    let admins = |operation: &str| Row::new(operation, Admin).forbidden(&[Agent, Operator, Auditor, Channel, Verifier]);
    vec![
        admins("POST /api/v1/keys").invalid(json!({"role": "agent", "name": ""}), "name"),
        admins("GET /api/v1/keys"),
        admins("DELETE /api/v1/keys/{key_id}"),
        admins("POST /api/v1/people").invalid(json!({"address": "ada", "role": "auditor"}), "address"),
        admins("GET /api/v1/people"),
        admins("PATCH /api/v1/people/{person_id}").invalid(json!({"role": "agent"}), "role"),
        admins("DELETE /api/v1/people/{person_id}"),
        admins("PUT /api/v1/people/{person_id}/out_of_office").invalid(
            json!({"from": "2026-12-20T08:00:00Z", "until": "2026-12-20T08:00:00Z", "deputy": "ada@example.com"}),
            "until",
        ),
        admins("DELETE /api/v1/people/{person_id}/out_of_office"),
        admins("GET /api/v1/groups"),
        admins("PUT /api/v1/groups/{group}").invalid(json!({"members": []}), "members"),
        admins("DELETE /api/v1/groups/{group}"),
        Row::new("POST /api/v1/suspensions/{suspension_id}/take-back", Operator)
            .forbidden(&[Auditor])
            .invalid(json!({"because": "x"}), "because")
            .versioned(false),
        Row::new("POST /api/v1/intents/{intent_id}/pause", Operator)
            .forbidden(&[Agent, Auditor, Channel])
            .invalid(json!({"mode": "now"}), "mode")
            .versioned(false),
        Row::new("POST /api/v1/intents/{intent_id}/stop", Operator)
            .forbidden(&[Agent, Auditor, Channel])
            .invalid(json!({"graceful": 1}), "graceful")
            .versioned(false),
        Row::new("POST /api/v1/intents/{intent_id}/park", Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"reason": ""}), "reason")
            .versioned(false),
        admins("POST /api/v1/suspensions:broadcast").invalid(json!({"filter": {"limit": 0}}), "filter.limit"),
        Row::new("POST /api/v1/events", Operator).forbidden(&[Agent, Auditor, Verifier]).invalid(json!({"name": ""}), "name"),
        Row::new("POST /api/v1/suspensions/{suspension_id}/settle", Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"stage": "requested"}), "stage")
            .versioned(false),
        Row::new("POST /api/v1/suspensions/{suspension_id}/resume", Operator)
            .forbidden(&[Agent, Auditor, Channel])
            .invalid(json!({"input": ""}), "input")
            .versioned(false),
        hand("claim", json!({"because": "x"}), "because"),
        hand("release", json!({"because": "x"}), "because"),
        hand("delegate", json!({"to": "ada"}), "to"),
        hand("reassign", json!({"assignees": {}}), "assignees"),
        Row::new("PUT /api/v1/suspensions/{suspension_id}/draft", Operator)
            .forbidden(&[Agent, Admin, Auditor, Channel])
            .invalid(json!({"values": {"value": 5}}), "values.value"),
        Row::new("GET /api/v1/suspensions/{suspension_id}/drafts", Operator).forbidden(&[Agent, Admin, Channel]),
    ]
}

/// Lists a person; returns the id.
pub(super) async fn person(app: &TestApp) -> String {
    let person = app.api(Role::Admin).post("api/v1/people", json!({"address": "ada@example.com", "role": "auditor"})).await;
    person.ok()["id"].as_str().unwrap_or_default().to_owned()
}
