//! People and groups from the configuration file: a start makes them as the file says, and what the file names is changed only there.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::people::group::GROUPS_MAX;
use domain::people::person::PEOPLE_MAX;
use domain::people::principal::Role;
use domain::people::roster::{Entry, Roster};
use harness::app::TestApp;
use harness::{on_each_store, rows};
use serde_json::{Value, json};
use store::Named;
use store::host::account;

use super::directory::{BOB, EVE, add, call, groups, listed, many, of_many, people, remove, set};
use super::logins::{ADA, log_in};
use super::passkeys::{at_home, person_with_passkey};

/// The file with these people and groups.
pub(super) fn file(people: &[(&str, Role)], groups: &[(&str, &[&str])]) -> Roster {
    let entry =
        |(address, role): &(&str, Role)| Entry { address: (*address).to_owned(), role: *role, time_zone: None, locale: None };
    let people: Vec<Entry> = people.iter().map(entry).collect();
    let members = |members: &[&str]| members.iter().map(|member| (*member).to_owned()).collect();
    let groups = groups.iter().map(|(name, named)| ((*name).to_owned(), members(named))).collect();
    Roster::read(&people, &groups).unwrap()
}

/// Starts the server anew with a file that has these people and groups.
async fn follow(app: &mut TestApp, people: &[(&str, Role)], groups: &[(&str, &[&str])]) {
    let roster = file(people, groups);
    app.restart_with(|config| config.roster = Some(roster)).await;
}

/// Tries to start the server with such a file, and returns the refusal.
async fn refused(app: &mut TestApp, people: &[(&str, Role)], groups: &[(&str, &[&str])]) -> String {
    let roster = file(people, groups);
    app.refused_with(|config| config.roster = Some(roster)).await
}

/// The events of the server's own log about people, groups and passkeys: type, actor, and the words about whom or what.
async fn told(app: &TestApp) -> Vec<(String, String, Value)> {
    let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
    let mut told = Vec::new();
    for event in events.as_array().unwrap() {
        let event_type = event["event_type"].as_str().unwrap();
        if !["person.", "group.", "passkey."].iter().any(|about| event_type.starts_with(about)) {
            continue;
        }
        let payload = &event["payload"];
        let about = match event_type {
            "person.added" | "person.changed" => json!([payload["address"], payload["role"]]),
            "group.changed" => json!([payload["group"], payload["members"]]),
            "group.removed" => payload["group"].clone(),
            "passkey.added" | "passkey.removed" => payload["person"].clone(),
            _ => payload["address"].clone(),
        };
        let actor = event["actor"].as_str().unwrap().to_owned();
        assert!(actor != FILE || payload["credential"].is_null(), "the file has no credential");
        told.push((event_type.to_owned(), actor, about));
    }
    told
}

/// The events behind the first `count`.
async fn told_after(app: &TestApp, count: usize) -> Vec<(String, String, Value)> {
    told(app).await.split_off(count)
}

/// The actor of a change that the file makes.
const FILE: &str = "placet/configuration";

fn by_file(event_type: &str, about: Value) -> (String, String, Value) {
    (event_type.to_owned(), FILE.to_owned(), about)
}

async fn server_events(app: &TestApp) -> i64 {
    rows::number(app, "SELECT count(*) AS number FROM server_events").await
}

/// The address, role and mark of each person.
async fn shown(app: &TestApp) -> Value {
    let people = people(app).await;
    people.as_array().unwrap().iter().map(|person| json!([person["address"], person["role"], person["managed"]])).collect()
}

async fn status_of(app: &TestApp, role: Role, method: &str, path: &str, body: Value) -> (u16, String) {
    let reply = call(app, role, method, path, body).await;
    let (status, code) = reply.problem();
    (status, code.to_owned())
}

on_each_store! {
    /// The file decides, and a server that is started again and again must not fill its log.
    async fn a_start_makes_people_and_groups_as_the_file_says_and_once(app: &mut TestApp) {
        follow(app, &[("Ada@Example.com", Role::Admin), (BOB, Role::Operator)], &[("finance", &[BOB, "ADA@example.com"]), ("board", &[ADA])]).await;
        let listed = people(app).await;
        assert_eq!((&listed[0]["address"], &listed[0]["added_by"], &listed[0]["groups"]), (&json!(ADA), &json!(FILE), &json!(["board", "finance"])));
        assert_eq!(shown(app).await, json!([[ADA, "admin", true], [BOB, "operator", true]]));
        let named = json!([{"name": "board", "members": [ADA], "managed": true}, {"name": "finance", "members": [ADA, BOB], "managed": true}]);
        assert_eq!(groups(app).await, named);
        let expected = [
            by_file("person.added", json!([ADA, "admin"])), by_file("person.added", json!([BOB, "operator"])),
            by_file("group.changed", json!(["board", [ADA]])), by_file("group.changed", json!(["finance", [ADA, BOB]])),
        ];
        assert_eq!(told(app).await, expected);
        let (before, was) = (server_events(app).await, people(app).await);
        app.restart().await;
        follow(app, &[(BOB, Role::Operator), (ADA, Role::Admin)], &[("board", &["Ada@example.com"]), ("finance", &[ADA, BOB])]).await;
        assert_eq!((server_events(app).await, people(app).await, groups(app).await), (before, was, named), "another order says the same");
        if app.scratch().is_some() {
            // A second server with the same file, beside the first one.
            app.replica().await.stop().await;
            assert_eq!(server_events(app).await, before);
        }
    }

    /// An event for a person who stays as before would hide the one that matters.
    async fn a_changed_file_changes_the_differences_alone(app: &mut TestApp) {
        follow(app, &[(ADA, Role::Admin), (BOB, Role::Operator), (EVE, Role::Auditor)], &[("finance", &[ADA, BOB]), ("all", &[ADA, BOB, EVE]), ("old", &[EVE])]).await;
        let (before, ids) = (told(app).await.len(), people(app).await);
        follow(app, &[(ADA, Role::Admin), (BOB, Role::Auditor), ("new@example.com", Role::Operator)], &[("finance", &["new@example.com", ADA]), ("all", &[ADA, BOB])]).await;
        let expected = [
            by_file("group.removed", json!("old")), by_file("person.removed", json!(EVE)), by_file("person.changed", json!([BOB, "auditor"])),
            by_file("person.added", json!(["new@example.com", "operator"])), by_file("group.changed", json!(["finance", [ADA, "new@example.com"]])),
        ];
        assert_eq!(told_after(app, before).await, expected, "the removal of a person says that no group has that person any more");
        let now = people(app).await;
        assert_eq!([&now[0]["id"], &now[1]["id"]], [&ids[0]["id"], &ids[1]["id"]], "they are the same people");
        assert_eq!(groups(app).await[0], json!({"name": "all", "members": [ADA, BOB], "managed": true}));
        follow(app, &[], &[]).await;
        assert_eq!((people(app).await, groups(app).await), (json!([]), json!([])));
    }

    /// A person who is taken out of the file must be out at once: neither a session nor a passkey may outlive that.
    async fn a_person_whom_the_file_drops_is_out_with_sessions_and_passkeys(app: &mut TestApp) {
        at_home(app).await;
        let (ada, _passkey) = person_with_passkey(app, ADA).await;
        follow(app, &[(ADA, Role::Auditor)], &[("finance", &[ADA])]).await;
        let seen = async |app: &TestApp| ada.clone().open(&format!("{}audit", app.base)).await.status;
        assert_eq!(seen(app).await, 200, "the session goes on, with the role of the file");
        let signs = async |app: &TestApp| {
            rows::number(app, "SELECT count(*) AS number FROM passkeys").await
        };
        assert_eq!(signs(app).await, 1);
        let before = told(app).await.len();
        follow(app, &[], &[]).await;
        assert_eq!((seen(app).await, signs(app).await), (303, 0));
        assert_eq!(rows::number(app, "SELECT count(*) AS number FROM sessions").await, 0);
        let expected = [by_file("group.removed", json!("finance")), by_file("person.removed", json!(ADA)), by_file("passkey.removed", json!(ADA))];
        assert_eq!(told_after(app, before).await, expected);
        follow(app, &[(ADA, Role::Auditor)], &[]).await;
        assert_eq!((seen(app).await, people(app).await[0]["confirmed_at"].clone()), (303, json!(null)), "the address is another person now");
        let ada = log_in(app, ADA).await;
        assert_eq!(ada.clone().open(&format!("{}audit", app.base)).await.status, 200);
    }

    /// A change that the next start undoes would look as if it counted. Every way to make one is refused, and names the setting.
    async fn what_the_file_names_is_changed_in_the_file_alone(app: &mut TestApp) {
        let eve = listed(app, EVE, "operator").await;
        follow(app, &[(ADA, Role::Admin)], &[("finance", &[ADA, EVE])]).await;
        let ada = format!("people/{}", people(app).await[1]["id"].as_str().unwrap());
        set(app, "own", &[ADA, EVE]).await.ok();
        let before = (people(app).await, groups(app).await, server_events(app).await);
        let of_ada = format!("the [[people]] entry with address = \"{ADA}\"");
        for (method, path, body, setting) in [
            ("PATCH", &*ada, json!({"role": "auditor"}), &*of_ada), ("PATCH", &*ada, json!({"role": "admin"}), &*of_ada),
            ("DELETE", &*ada, Value::Null, &*of_ada), ("DELETE", &*eve, Value::Null, "groups.finance"),
            ("PUT", "groups/finance", json!({"members": [ADA]}), "groups.finance"), ("PUT", "groups/finance", json!({"members": [BOB]}), "groups.finance"),
            ("DELETE", "groups/finance", Value::Null, "groups.finance"),
        ] {
            let reply = call(app, Role::Admin, method, path, body).await;
            assert_eq!(reply.problem(), (409, "managed_by_configuration"), "{method} {path}");
            let said: Value = serde_json::from_str(&reply.text).unwrap();
            assert_eq!(said["setting"], json!(setting));
            assert!(said["detail"].as_str().unwrap().contains(&format!("change {setting} there")), "{said}");
        }
        for (method, path, body, code) in [
            ("PATCH", &*ada, json!({"role": "agent"}), (422, "invalid")), ("PUT", "groups/finance", json!({"members": []}), (422, "invalid")),
            ("POST", "people", json!({"address": ADA, "role": "auditor"}), (422, "invalid")),
        ] {
            assert_eq!(status_of(app, Role::Admin, method, path, body).await, (code.0, code.1.to_owned()), "{method} {path}");
        }
        for role in Role::ALL.into_iter().filter(|role| *role != Role::Admin) {
            assert_eq!(status_of(app, role, "DELETE", &ada, Value::Null).await.0, 403, "{role}");
        }
        let store = app.store();
        let by_name = store.remove_person(account::principal(), Ok(Named::Address(ADA.to_owned()))).await.unwrap_err();
        assert!(by_name.to_string().contains("change the [[people]] entry"), "{by_name}");
        assert_eq!((people(app).await, groups(app).await, server_events(app).await), before);
        call(app, Role::Admin, "PATCH", &eve, json!({"role": "auditor"})).await.ok();
        set(app, "own", &[ADA]).await.ok();
        add(app, BOB, "operator").await.ok();
        remove(app, "groups/own").await.ok();
        app.restart().await;
        assert_eq!(call(app, Role::Admin, "DELETE", &ada, Value::Null).await.problem(), (409, "managed_by_configuration"), "after a restart as well");
        follow(app, &[(ADA, Role::Admin)], &[]).await;
        remove(app, &eve).await.ok();
    }

    /// A person whom an admin added and the file names later belongs to the file: taking the person out of it must be enough.
    async fn who_was_added_by_an_admin_is_taken_over_and_leaves_with_the_file(app: &mut TestApp) {
        let ada = add(app, ADA, "operator").await.ok();
        add(app, BOB, "operator").await.ok();
        set(app, "finance", &[ADA]).await.ok();
        set(app, "own", &[ADA, BOB]).await.ok();
        let before = told(app).await.len();
        follow(app, &[(ADA, Role::Operator)], &[("finance", &[ADA])]).await;
        let expected = [by_file("person.changed", json!([ADA, "operator"])), by_file("group.changed", json!(["finance", [ADA]]))];
        assert_eq!(told_after(app, before).await, expected, "the log shows from when on the file decides");
        let taken_over = people(app).await;
        assert_eq!((&taken_over[0]["id"], &taken_over[0]["added_by"], &taken_over[0]["managed"]), (&ada["id"], &json!("test-admin"), &json!(true)));
        follow(app, &[], &[]).await;
        assert_eq!(shown(app).await, json!([[BOB, "operator", false]]));
        assert_eq!(groups(app).await, json!([{"name": "own", "members": [BOB], "managed": false}]));
    }

    /// A server without a file says nothing about people. If it removed them, a start in the wrong folder would cost all passkeys.
    async fn a_start_without_a_file_leaves_all_as_they_are(app: &mut TestApp) {
        follow(app, &[(ADA, Role::Admin)], &[("finance", &[ADA])]).await;
        let before = (people(app).await, groups(app).await, server_events(app).await);
        app.restart_with(|config| config.roster = None).await;
        assert_eq!((people(app).await, groups(app).await, server_events(app).await), before);
        assert_eq!(remove(app, "groups/finance").await.problem(), (409, "managed_by_configuration"));
    }

    /// A group with a member who is not listed could not be what the file says. The refusal comes before the first change.
    async fn a_member_who_is_not_listed_keeps_the_server_from_starting(app: &mut TestApp) {
        follow(app, &[(ADA, Role::Admin), (EVE, Role::Admin)], &[]).await;
        let before = (people(app).await, groups(app).await, server_events(app).await);
        let why = refused(app, &[(ADA, Role::Auditor)], &[("board", &[ADA]), ("finance", &[ADA, BOB, EVE])]).await;
        for words in ["groups.finance[1]: bob@example.com is no listed person", "groups.finance[2]: eve@example.com is no listed person", "[[people]]"] {
            assert!(why.contains(words), "{words}: {why}");
        }
        assert_eq!((people(app).await, groups(app).await, server_events(app).await), before, "nothing has changed");
        add(app, BOB, "operator").await.ok();
        follow(app, &[(ADA, Role::Auditor), (EVE, Role::Admin)], &[("board", &[ADA]), ("finance", &[ADA, BOB, EVE])]).await;
        assert_eq!(groups(app).await[1]["members"], json!([ADA, BOB, EVE]));
    }

    /// The bounds are those of the API, and people of both kinds count together.
    async fn the_lists_take_2000_people_and_200_groups_together_and_no_more(app: &mut TestApp) {
        many(app, 1..=PEOPLE_MAX - 1).await;
        let why = refused(app, &[(ADA, Role::Admin), (BOB, Role::Admin)], &[]).await;
        assert!(why.contains("people: names 2, and 1999 were added otherwise; together there are at most 2000"), "{why}");
        assert_eq!(people(app).await.as_array().unwrap().len(), 1_999);
        follow(app, &[(ADA, Role::Admin), (&of_many(7), Role::Operator)], &[]).await;
        assert_eq!(people(app).await.as_array().unwrap().len(), 2_000, "a person who is taken over counts once");
        let names = format!("WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {}) INSERT INTO people_groups (name) SELECT 'own-' || n FROM numbers", GROUPS_MAX - 1);
        rows::change(app, &names).await;
        let people = [(ADA, Role::Admin), (&*of_many(7), Role::Operator)];
        let why = refused(app, &people, &[("a", &[ADA]), ("b", &[ADA])]).await;
        assert!(why.contains("groups: names 2, and 199 were added otherwise; together there are at most 200"), "{why}");
        follow(app, &people, &[("a", &[ADA])]).await;
        assert_eq!(groups(app).await.as_array().unwrap().len(), 200);
    }

    /// The largest file: one transaction takes all of it, and the next start finds nothing to do.
    async fn a_file_of_2000_people_and_200_groups_of_200_is_followed(app: &mut TestApp) {
        let addresses: Vec<String> = (0..2_000).map(of_many).collect();
        let people_of_file: Vec<(&str, Role)> = addresses.iter().map(|address| (address.as_str(), Role::Operator)).collect();
        let names: Vec<String> = (0..200).map(|number| format!("group-{number}")).collect();
        let members: Vec<&str> = addresses.iter().take(200).map(String::as_str).collect();
        let groups_of_file: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), members.as_slice())).collect();
        follow(app, &people_of_file, &groups_of_file).await;
        assert_eq!((people(app).await.as_array().unwrap().len(), groups(app).await[199]["members"].as_array().unwrap().len()), (2_000, 200));
        let before = server_events(app).await;
        app.restart().await;
        assert_eq!(server_events(app).await, before);
        follow(app, &people_of_file[..1], &[]).await;
        assert_eq!((shown(app).await, groups(app).await), (json!([[of_many(0), "operator", true]]), json!([])));
    }
}
