//! The members of the requests about people and groups.

use domain::people::principal::Role;
use harness::api::Reply;
use harness::app::TestApp;
use serde_json::{Value, json};

use super::{Member, NAME};

/// An address that no person has.
fn address(prefix: &str) -> String {
    format!("{prefix}{NAME}@example.com")
}

pub(super) fn members() -> Vec<Member> {
    let person = json!({"address": address(""), "role": "auditor"});
    let away = json!({"from": "2026-12-20T08:00:00Z", "until": "2027-01-04T08:00:00Z", "deputy": address("other-")});
    vec![
        Member::of("OutOfOffice", &away, "from", json!("2026-12-21T08:00:00Z")),
        Member::of("OutOfOffice", &away, "until", json!("2027-01-05T08:00:00Z")),
        Member::of("OutOfOffice", &away, "deputy", json!(address("third-"))),
        Member::of("AddPersonRequest", &person, "address", json!(address("other-"))),
        Member::of("AddPersonRequest", &person, "role", json!("admin")),
        Member::of("AddPersonRequest", &person, "time_zone", json!("Europe/Vienna")),
        Member::of("AddPersonRequest", &person, "locale", json!("de-AT")),
        Member::of("ChangePersonRequest", &json!({"role": "auditor"}), "role", json!("admin")),
        Member::of("ChangePersonRequest", &json!({"role": "auditor"}), "time_zone", json!("Europe/Vienna")),
        Member::of("ChangePersonRequest", &json!({"role": "auditor"}), "locale", json!("de-AT")),
        Member::of("SetGroupRequest", &json!({"members": [address("")]}), "members", json!([address(""), address("other-")])),
    ]
}

/// Sends the request. For one that changes a person or a group, lists the people first, with addresses that hold this name.
pub(super) async fn sent(app: &TestApp, schema: &str, name: &str, body: Value) -> Reply {
    let admin = app.api(Role::Admin);
    if schema == "AddPersonRequest" {
        return admin.post("api/v1/people", body).await;
    }
    let mut paths = Vec::new();
    for prefix in ["", "other-", "third-"] {
        let person = json!({"address": format!("{prefix}{name}@example.com"), "role": "operator"});
        let id = admin.post("api/v1/people", person).await.ok()["id"].clone();
        paths.push(format!("api/v1/people/{}", id.as_str().unwrap_or_default()));
    }
    if schema == "OutOfOffice" {
        return admin.send(admin.request("PUT", &format!("{}/out_of_office", paths[0])).json(&body)).await;
    }
    if schema == "ChangePersonRequest" {
        return admin.send(admin.request("PATCH", &paths[0]).json(&body)).await;
    }
    admin.send(admin.request("PUT", "api/v1/groups/finance").json(&body)).await
}

/// The members that say who may answer. No person is listed in this test, so each of them is refused by name; the tests of assignees and
/// quorums show the effects.
pub(super) fn members_of_assignees() -> Vec<Member> {
    let (unknown, question) = (json!({"people": ["x@example.com"]}), json!({"question": "Go?", "response_type": "confirm"}));
    let of = |schema, base: Value| Member::of(schema, &base, "assignees", unknown.clone()).refused();
    let assignees = |name, with: Value| {
        Member::within("Assignees", &question, "assignees", name, [json!({"people": ["y@example.com"]}), with]).refused()
    };
    let quorum = |name, with: Value| {
        Member::within("QuorumRequest", &question, "quorum", name, [json!({"required_approvals": 21}), with]).refused()
    };
    let draft = |schema, name, with: Value| Member::within(schema, &json!({}), "values", name, [json!({"comment": "c"}), with]);
    vec![
        of("SuspendRequest", question.clone()),
        of("ApprovalRequest", json!({"action": "pay"})),
        of("EscalationRequest", json!({"reason": "r"})),
        of("ArbitrationRequest", json!({"reason": "r"})),
        assignees("people", unknown.clone()),
        assignees("groups", json!({"groups": ["legal"]})),
        assignees("roles", json!({"roles": ["auditor"]})),
        Member::of("SuspendRequest", &question, "quorum", json!({"required_approvals": 0})).refused(),
        Member::of("SuspendRequest", &question, "comment_on_refusal", json!(true)),
        quorum("required_approvals", json!({"required_approvals": 0, "required_by_group": {"legal": 1}})),
        quorum("required_refusals", json!({"required_approvals": 1, "required_refusals": 0})),
        quorum("required_by_group", json!({"required_approvals": 1, "required_by_group": {"Legal": 1}})),
        Member::of("DelegateRequest", &json!({"to": "x@example.com"}), "to", json!("x")).refused(),
        Member::of("ReassignRequest", &json!({"assignees": unknown}), "assignees", json!({})).refused(),
        Member::of("TakeBackRequest", &json!({}), "responded_by", json!("")).refused(),
        draft("SaveDraftRequest", "values", json!({"comment": "another"})),
        draft("DraftValues", "value", json!({"comment": "c", "value": "v"})),
        draft("DraftValues", "comment", json!({"comment": "another"})),
        draft("DraftValues", "reason", json!({"comment": "c", "reason": "r"})),
        draft("DraftValues", "fields", json!({"comment": "c", "fields": {"f": "t"}})),
    ]
}
