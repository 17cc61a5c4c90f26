//! People and groups through the API: the list of people, their roles, and the groups that they are in.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::ops::RangeInclusive;

use domain::people::group::{GROUP_MEMBERS_MAX, GROUPS_MAX};
use domain::people::person::PEOPLE_MAX;
use domain::people::principal::Role;
use futures_util::future::join;
use harness::api::Reply;
use harness::app::TestApp;
use harness::{on_each_store, rows};
use serde_json::{Value, json};

use super::logins::{ADA, log_in};

pub(super) const BOB: &str = "bob@example.com";
pub(super) const EVE: &str = "eve@example.com";

pub(super) async fn call(app: &TestApp, role: Role, method: &str, path: &str, body: Value) -> Reply {
    let api = app.api(role);
    let request = api.request(method, &format!("api/v1/{path}"));
    api.send(if body.is_null() { request } else { request.json(&body) }).await
}

pub(super) async fn add(app: &TestApp, address: &str, role: &str) -> Reply {
    call(app, Role::Admin, "POST", "people", json!({"address": address, "role": role})).await
}

/// Lists a person; returns the path of that person.
pub(super) async fn listed(app: &TestApp, address: &str, role: &str) -> String {
    let person = add(app, address, role).await.ok();
    format!("people/{}", person["id"].as_str().unwrap())
}

pub(super) async fn set(app: &TestApp, group: &str, members: &[&str]) -> Reply {
    call(app, Role::Admin, "PUT", &format!("groups/{group}"), json!({"members": members})).await
}

pub(super) async fn remove(app: &TestApp, path: &str) -> Reply {
    call(app, Role::Admin, "DELETE", path, Value::Null).await
}

pub(super) async fn people(app: &TestApp) -> Value {
    call(app, Role::Admin, "GET", "people", Value::Null).await.ok()["people"].clone()
}

pub(super) async fn groups(app: &TestApp) -> Value {
    call(app, Role::Admin, "GET", "groups", Value::Null).await.ok()["groups"].clone()
}

/// The events of the server's own log about people and groups: type and payload, without the ids.
async fn told(app: &TestApp) -> Vec<(String, Value)> {
    let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
    let events = events.as_array().unwrap().iter().filter(|event| {
        let event_type = event["event_type"].as_str().unwrap();
        ["person.added", "person.changed", "person.removed", "group.changed", "group.removed"].contains(&event_type)
    });
    let said = |event: &Value| {
        assert_eq!((&event["actor"], &event["payload"]["credential"]["kind"]), (&json!("test-admin"), &json!("api_key")));
        let mut payload = event["payload"].clone();
        for id in ["credential", "person_id"] {
            payload.as_object_mut().unwrap().remove(id);
        }
        (event["event_type"].as_str().unwrap().to_owned(), payload)
    };
    events.map(said).collect()
}

/// Lists people behind the server's back, because thousands of requests would take too long: `person-N@example.com` for each number.
pub(super) async fn many(app: &TestApp, numbers: RangeInclusive<u32>) {
    let (first, last) = (numbers.start(), numbers.end());
    let (id, now) = if app.scratch().is_some() { ("gen_random_uuid()", "now()") } else { ("randomblob(16)", "0") };
    let sql = format!(
        "WITH RECURSIVE numbers (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last}) \
         INSERT INTO people (id, address, role, added_at, added_by) SELECT {id}, 'person-' || n || '@example.com', 1, {now}, 'test' FROM numbers"
    );
    rows::change(app, &sql).await;
}

/// The address of one of those people.
pub(super) fn of_many(number: usize) -> String {
    format!("person-{number}@example.com")
}

on_each_store! {
    /// The list gives people their roles, so admins alone see it and change it, and it must be there after a restart.
    async fn an_admin_lists_people_and_groups_and_others_do_not(app: &mut TestApp) {
        let ada = add(app, " Ada@Example.com ", "operator").await.ok();
        let bob = listed(app, BOB, "auditor").await;
        let made = set(app, "finance", &[BOB, "ADA@example.com"]).await.ok();
        assert_eq!(made, json!({"name": "finance", "members": [ADA, BOB], "managed": false}));
        set(app, "board", &[ADA]).await.ok();
        app.restart().await;
        let listed = people(app).await;
        assert_eq!(listed[0], json!({
            "id": ada["id"], "address": ADA, "role": "operator", "groups": ["board", "finance"],
            "added_at": "2026-11-24T08:00:00.000000Z", "added_by": "test-admin", "confirmed_at": null,
            "managed": false, "time_zone": null, "locale": null, "out_of_office": null,
        }));
        assert_eq!((&listed[1]["address"], &listed[1]["groups"], listed.as_array().unwrap().len()), (&json!(BOB), &json!(["finance"]), 2));
        assert_eq!(groups(app).await, json!([{"name": "board", "members": [ADA], "managed": false}, made]));
        let before = told(app).await;
        assert_eq!(before.last().unwrap(), &("group.changed".to_owned(), json!({"group": "board", "members": [ADA]})));
        for role in Role::ALL.into_iter().filter(|role| *role != Role::Admin) {
            for (method, path, body) in [
                ("GET", "people", Value::Null), ("POST", "people", json!({"address": EVE, "role": "admin"})), ("POST", "people", json!({})),
                ("PATCH", &*bob, json!({"role": "admin"})), ("PATCH", "people/x", json!({})), ("DELETE", &*bob, Value::Null),
                ("GET", "groups", Value::Null), ("PUT", "groups/finance", json!({"members": [BOB]})), ("PUT", "groups/Finance", json!({})),
                ("DELETE", "groups/finance", Value::Null), ("DELETE", "groups/nothing", Value::Null),
            ] {
                assert_eq!(call(app, role, method, path, body).await.problem(), (403, "forbidden"), "{role} {method} {path}");
            }
        }
        assert_eq!((people(app).await, told(app).await), (listed, before));
    }

    /// A group is what the last request said. A repeat must not look like a change to the auditor who reads the log.
    async fn a_group_is_replaced_as_a_whole_and_told_once(app: &mut TestApp) {
        for address in [ADA, BOB, EVE] {
            add(app, address, "operator").await.ok();
        }
        let first = set(app, "finance", &[ADA, BOB]).await.ok();
        app.restart().await;
        assert_eq!(set(app, "finance", &[BOB, ADA]).await.ok(), first, "in another order they are the same members");
        let second = set(app, "finance", &[EVE]).await.ok();
        assert_eq!(groups(app).await, json!([second]));
        app.restart().await;
        assert_eq!(remove(app, "groups/finance").await.ok(), second);
        assert_eq!(remove(app, "groups/finance").await.problem(), (404, "not_found"));
        assert_eq!(groups(app).await, json!([]));
        set(app, "finance", &[ADA]).await.ok();
        let of_groups: Vec<_> = told(app).await.into_iter().filter(|(event_type, _)| event_type.starts_with("group.")).collect();
        let changed = |members: &[&str]| ("group.changed".to_owned(), json!({"group": "finance", "members": members}));
        let removed = ("group.removed".to_owned(), json!({"group": "finance"}));
        assert_eq!(of_groups, [changed(&[ADA, BOB]), changed(&[EVE]), removed, changed(&[ADA])]);
    }

    /// An address that is given to another person later must not bring along the rights of the first.
    async fn a_person_who_is_removed_is_in_no_group_and_added_again_is_in_none(app: &mut TestApp) {
        let ada = listed(app, ADA, "operator").await;
        add(app, BOB, "operator").await.ok();
        set(app, "finance", &[ADA, BOB]).await.ok();
        set(app, "board", &[ADA]).await.ok();
        let gone = remove(app, &ada).await.ok();
        assert_eq!((&gone["address"], &gone["groups"]), (&json!(ADA), &json!(["board", "finance"])), "as it was");
        app.restart().await;
        let left = json!([{"name": "board", "members": [], "managed": false}, {"name": "finance", "members": [BOB], "managed": false}]);
        assert_eq!(groups(app).await, left);
        for (method, body) in [("DELETE", Value::Null), ("PATCH", json!({"role": "admin"})), ("PATCH", json!({"role": "agent"}))] {
            assert_eq!(call(app, Role::Admin, method, &ada, body).await.problem(), (404, "not_found"));
        }
        let again = add(app, ADA, "auditor").await.ok();
        assert_ne!(again["id"], gone["id"]);
        assert_eq!((&again["groups"], groups(app).await), (&json!([]), left));
        assert_eq!(told(app).await.pop().unwrap(), ("person.added".to_owned(), json!({"address": ADA, "role": "auditor"})));
    }

    /// A role that is taken away must not count until the next login, and a new one should not need it.
    async fn a_change_of_role_counts_for_the_open_session_at_once(app: &mut TestApp) {
        let path = listed(app, ADA, "operator").await;
        let ada = log_in(app, ADA).await;
        let seen = async |app: &TestApp| ada.clone().open(&format!("{}audit", app.base)).await.status;
        let change = async |app: &TestApp, role: &str| call(app, Role::Admin, "PATCH", &path, json!({"role": role})).await.ok();
        assert_eq!(seen(app).await, 403);
        let changed = change(app, "auditor").await;
        assert_eq!((&changed["role"], &changed["added_by"]), (&json!("auditor"), &json!("test-admin")));
        assert_eq!(seen(app).await, 200);
        app.restart().await;
        assert_eq!(seen(app).await, 200);
        assert_eq!(change(app, "auditor").await, changed, "nothing changes");
        change(app, "operator").await;
        assert_eq!(seen(app).await, 403);
        let event = |role: &str| ("person.changed".to_owned(), json!({"address": ADA, "role": role}));
        assert_eq!(told(app).await[1..], [event("auditor"), event("operator")]);
    }

    /// Whatever is wrong, the admin must learn which part of the request it is, and nothing of it may have happened.
    async fn what_breaks_a_rule_is_refused_by_name(app: &mut TestApp) {
        let ada = listed(app, ADA, "operator").await;
        set(app, "finance", &[ADA]).await.ok();
        let before = (people(app).await, groups(app).await, told(app).await);
        let long = format!("groups/{}", "x".repeat(65));
        for (method, path, body, field, rule) in [
            ("POST", "people", json!({"role": "auditor"}), "address", "required"),
            ("POST", "people", json!({"address": BOB}), "role", "required"),
            ("POST", "people", json!({"address": 1, "role": "auditor"}), "address", "type"),
            ("POST", "people", json!({"address": "bob", "role": "auditor"}), "address", "format"),
            ("POST", "people", json!({"address": "bob@example.com, eve@example.com", "role": "auditor"}), "address", "format"),
            ("POST", "people", json!({"address": BOB, "role": "agent"}), "role", "choice"),
            ("POST", "people", json!({"address": BOB, "role": "root"}), "role", "type"),
            ("POST", "people", json!({"address": BOB, "role": "auditor", "groups": ["finance"]}), "groups", "unknown"),
            ("POST", "people", json!({"address": "ADA@example.com", "role": "admin"}), "address", "unique"),
            ("PATCH", &*ada, json!({"role": null}), "role", "type"),
            ("PATCH", &*ada, json!({"role": "channel"}), "role", "choice"),
            ("PATCH", &*ada, json!({"role": "auditor", "address": BOB}), "address", "unknown"),
            ("PUT", "groups/finance", json!({}), "members", "required"),
            ("PUT", "groups/finance", json!({"members": ADA}), "members", "type"),
            ("PUT", "groups/finance", json!({"members": []}), "members", "count"),
            ("PUT", "groups/finance", json!({"members": [ADA, "bob"]}), "members[1]", "format"),
            ("PUT", "groups/finance", json!({"members": [ADA, BOB]}), "members[1]", "unknown"),
            ("PUT", "groups/finance", json!({"members": [ADA, "Ada@example.com"]}), "members[1]", "unique"),
            ("PUT", "groups/finance", json!({"members": [ADA], "name": "board"}), "name", "unknown"),
            ("PUT", "groups/Finance", json!({"members": [ADA]}), "group", "format"),
            ("PUT", "groups/on%20call", json!({"members": [ADA]}), "group", "format"),
            ("PUT", &*long, json!({"members": [ADA]}), "group", "format"),
        ] {
            let refused = call(app, Role::Admin, method, path, body.clone()).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, rule), "{method} {path} {body}");
        }
        for path in ["people/x", "people/019ab0f2-0000-7000-8000-000000000000", "groups/board", "groups/Finance"] {
            assert_eq!(remove(app, path).await.problem(), (404, "not_found"), "{path}");
        }
        assert_eq!((people(app).await, groups(app).await, told(app).await), before);
        let named = format!("groups/{}", "x".repeat(64));
        call(app, Role::Admin, "PUT", &named, json!({"members": [ADA]})).await.ok();
    }

    /// A list without a bound would one day be too long to be read at each change.
    async fn a_group_of_200_is_taken_and_of_201_not(app: &mut TestApp) {
        many(app, 1..=201).await;
        let members: Vec<String> = (1..=GROUP_MEMBERS_MAX + 1).map(of_many).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let refused = set(app, "all", &members).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "members", "count"));
        assert_eq!(groups(app).await, json!([]));
        let made = set(app, "all", &members[1..]).await.ok();
        assert_eq!(made["members"].as_array().unwrap().len(), 200);
        app.restart().await;
        assert_eq!(groups(app).await, json!([made]));
    }

    /// The bounds hold for what is new. A change of what there is goes on, so that a full list can be worked on.
    async fn a_list_takes_2000_people_and_200_groups_and_no_more(app: &mut TestApp) {
        many(app, 1..=PEOPLE_MAX - 1).await;
        let ada = listed(app, ADA, "operator").await;
        assert_eq!(add(app, BOB, "operator").await.field_problem(), (422, "invalid", "address", "count"));
        assert_eq!(add(app, ADA, "operator").await.field_problem(), (422, "invalid", "address", "unique"));
        call(app, Role::Admin, "PATCH", &ada, json!({"role": "auditor"})).await.ok();
        for number in 1..=GROUPS_MAX {
            set(app, &format!("group-{number}"), &[ADA]).await.ok();
        }
        app.restart().await;
        let other = of_many(1);
        assert_eq!(set(app, "one-more", &[ADA]).await.field_problem(), (422, "invalid", "group", "count"));
        set(app, "group-1", &[&other]).await.ok();
        remove(app, "groups/group-2").await.ok();
        set(app, "one-more", &[ADA]).await.ok();
        assert_eq!(groups(app).await.as_array().unwrap().len(), 200);
        remove(app, &ada).await.ok();
        add(app, BOB, "operator").await.ok();
        assert_eq!(people(app).await.as_array().unwrap().len(), 2_000);
    }

    /// Two admins at once: the group is what one of them wrote, never a mixture, and the log says who was last.
    async fn two_changes_of_a_group_at_once_give_one_of_them(app: &mut TestApp) {
        for address in [ADA, BOB, EVE] {
            add(app, address, "operator").await.ok();
        }
        for number in 0..8_usize {
            let name = format!("group-{number}");
            let (one, other) = join(set(app, &name, &[ADA, BOB]), set(app, &name, &[BOB, EVE])).await;
            let last = told(app).await.pop().unwrap().1;
            assert!([one.ok(), other.ok()].iter().any(|reply| reply["members"] == last["members"]));
            let kept = groups(app).await;
            assert_eq!(kept[number], json!({"name": name, "members": last["members"], "managed": false}));
        }
        let of_groups = told(app).await.into_iter().filter(|(event_type, _)| event_type == "group.changed").count();
        assert_eq!(of_groups, 16);
    }

    /// A person who leaves while a group is written must not stay in it as a member that no list shows.
    async fn a_removal_and_a_change_of_a_group_do_not_pass_each_other(app: &mut TestApp) {
        add(app, BOB, "operator").await.ok();
        for number in 0..8 {
            let (ada, name) = (listed(app, ADA, "operator").await, format!("group-{number}"));
            let (written, removed) = join(set(app, &name, &[ADA, BOB]), remove(app, &ada)).await;
            assert_eq!(removed.status, 200);
            let group = groups(app).await.as_array().unwrap().iter().find(|group| group["name"] == json!(name)).cloned();
            if written.status == 200 {
                assert_eq!(group.unwrap()["members"], json!([BOB]));
            } else {
                assert_eq!((written.field_problem(), group), ((422, "invalid", "members[0]", "unknown"), None));
            }
        }
        app.restart().await;
        assert_eq!(people(app).await.as_array().unwrap().len(), 1);
        assert_eq!(rows::number(app, "SELECT count(*) AS number FROM people_group_members m LEFT JOIN people p ON p.id = m.person AND p.removed_at IS NULL WHERE p.id IS NULL").await, 0);
    }
}
