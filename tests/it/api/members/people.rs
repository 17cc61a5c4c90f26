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
    vec![
        Member::of("AddPersonRequest", &person, "address", json!(address("other-"))),
        Member::of("AddPersonRequest", &person, "role", json!("admin")),
        Member::of("ChangePersonRequest", &json!({"role": "operator"}), "role", json!("admin")),
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
    for prefix in ["", "other-"] {
        let person = json!({"address": format!("{prefix}{name}@example.com"), "role": "auditor"});
        let id = admin.post("api/v1/people", person).await.ok()["id"].clone();
        paths.push(format!("api/v1/people/{}", id.as_str().unwrap_or_default()));
    }
    if schema == "ChangePersonRequest" {
        return admin.send(admin.request("PATCH", &paths[0]).json(&body)).await;
    }
    admin.send(admin.request("PUT", "api/v1/groups/finance").json(&body)).await
}
