//! The server's own log: each change of the keys is in it, once, in one chain that an auditor reads and verifies.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::{DateTime, TimeDelta};
use domain::base::ids::{Entropy as _, KeyId};
use domain::base::name::Owner;
use domain::log::{Sealed, verify_chain};
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::api::Api;
use harness::app::TestApp;
use harness::{on_each_store, requests, rows};
use placet::Client;
use placet_server::edge::keys::{generate, hash};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use store::host::clock::SystemEntropy;
use store::{NewKey, SecretOrigin};

const PATH: &str = "api/v1/server/events";
/// The number of keys that are made at once. On PostgreSQL each of two servers makes half of them.
const AT_ONCE: usize = 12;

/// The whole log as an auditor gets it, after a check that its hash chain verifies.
async fn log(app: &TestApp) -> Vec<Value> {
    let events = app.api(Role::Auditor).get(PATH).await.ok();
    let events = events.as_array().unwrap().clone();
    let sealed: Vec<Sealed> = events.iter().map(|event| Sealed::from_served(event).unwrap()).collect();
    assert_eq!(verify_chain(&sealed), Ok(events.len() as u64));
    events
}

/// The types of the last events, oldest first.
fn last(events: &[Value], count: usize) -> Vec<&str> {
    events[events.len() - count..].iter().map(|event| event["event_type"].as_str().unwrap()).collect()
}

fn brought_along(name: &str) -> NewKey {
    let (id, secret) = (KeyId(SystemEntropy.uuid(DateTime::UNIX_EPOCH)), generate(Role::Operator, &SystemEntropy));
    let [name, subject, owner] = [name; 3].map(str::to_owned);
    let hash = hash(secret.expose_secret());
    NewKey {
        id,
        name,
        role: Role::Operator,
        subject,
        owner: Owner(owner),
        tied_to: None,
        client: None,
        hash,
        origin: SecretOrigin::Imported,
    }
}

on_each_store! {
    /// Making, importing and revoking a key are events. Otherwise an admin could give itself a second key and take it away
    /// again without a trace.
    async fn keys_that_are_made_imported_and_revoked_are_events(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let before = log(app).await.len();
        let request = json!({"role": "channel", "name": "pager", "for": ["email"]});
        let made = admin.post("api/v1/keys", request).await.ok();
        let imported = brought_along("bob");
        app.store().create_key(requests::principal("root", Role::Admin), Ok(imported.clone())).await.unwrap();
        admin.send(admin.request("DELETE", &format!("api/v1/keys/{}", made["id"].as_str().unwrap()))).await.ok();
        app.restart().await;
        let events = log(app).await;
        assert_eq!(events.len(), before + 3);
        assert_eq!(last(&events, 3), ["key.created", "key.imported", "key.revoked"]);
        let [created, of_bob, revoked] = &events[before..] else { panic!("{events:?}") };
        assert_eq!(created["actor"], "test-admin");
        assert_eq!((&created["log"], &created["intent_id"]), (&json!("server"), &json!(null)));
        let credential = created["payload"]["credential"].clone();
        assert_eq!(credential["kind"], "api_key", "names can be given twice: {created}");
        assert_eq!(created["payload"], json!({
            "key_id": made["id"], "name": "pager", "role": "channel", "subject": "pager", "owner": "pager", "for": ["email"],
            "credential": credential,
        }));
        assert_eq!((&of_bob["actor"], &of_bob["payload"]["key_id"]), (&json!("root"), &json!(imported.id.to_string())));
        assert_eq!(revoked["payload"], json!({"key_id": made["id"], "name": "pager", "credential": credential}));
        let text = serde_json::to_string(&events).unwrap();
        assert!(!text.contains("placet_"), "no secret: {text}");
    }

    /// Only a change of the keys is an event. A second revocation, a request about a key that does not exist and a refused
    /// request change nothing, so the log does not show them.
    async fn what_changes_no_key_is_no_event(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let made = admin.post("api/v1/keys", json!({"role": "agent", "name": "bot"})).await.ok();
        let path = format!("api/v1/keys/{}", made["id"].as_str().unwrap());
        let delete = async |path: &str| admin.send(admin.request("DELETE", path)).await;
        let first = delete(&path).await.ok();
        app.advance(60).await;
        let before = log(app).await;
        assert_eq!(delete(&path).await.ok(), first, "the first time stays");
        assert_eq!(delete(&format!("api/v1/keys/{}", uuid::Uuid::nil())).await.problem(), (404, "not_found"));
        assert_eq!(admin.post("api/v1/keys", json!({"role": "agent", "name": ""})).await.problem(), (422, "invalid"));
        assert_eq!(app.agent().post("api/v1/keys", json!({"role": "agent", "name": "x"})).await.problem(), (403, "forbidden"));
        let key = brought_along("carol");
        let root = || requests::principal("root", Role::Admin);
        app.store().create_key(root(), Ok(key.clone())).await.unwrap();
        app.store().create_key(root(), Ok(NewKey { id: KeyId(SystemEntropy.uuid(DateTime::UNIX_EPOCH)), ..key })).await.unwrap_err();
        let after = log(app).await;
        assert_eq!((&after[..before.len()], last(&after, 1)), (&before[..], vec!["key.imported"]));
        assert_eq!(after.len(), before.len() + 1, "a secret that another key has is refused whole");
    }

    /// The server's log names every key, which operators and agents need not know.
    async fn admins_and_auditors_read_it_and_nobody_else(app: &mut TestApp) {
        for (role, status) in
            [(Role::Admin, 200), (Role::Auditor, 200), (Role::Operator, 403), (Role::Agent, 403), (Role::Channel, 403)]
        {
            assert_eq!(app.api(role).get(PATH).await.status, status, "{role}");
        }
        assert_eq!(app.anonymous().get(PATH).await.status, 401);
    }

    async fn pages_have_bounds_and_lead_on(app: &mut TestApp) {
        let auditor = app.api(Role::Auditor);
        let all = log(app).await;
        assert!(all.len() >= 3, "{all:?}");
        let page = async |query: &str| auditor.get(&format!("{PATH}?{query}")).await;
        assert_eq!(page("limit=2").await.ok(), json!(all[..2]));
        assert_eq!(page("limit=1&after=2").await.ok(), json!(all[2..3]));
        assert_eq!(page(&format!("after={}", all.len())).await.ok(), json!([]));
        assert_eq!(page("limit=1000&after=4294967295").await.ok(), json!([]));
        for (query, field) in [("limit=0", "limit"), ("limit=1001", "limit"), ("after=-1", "after"), ("after=4294967296", "after")] {
            assert_eq!(page(query).await.field_problem(), (422, "invalid", field, "range"), "{query}");
        }
        let client = Client::new(app.base.clone(), auditor.key().to_owned()).unwrap();
        let known: Vec<Value> = client.server_events().await.unwrap().iter().map(|event| json!(event)).collect();
        assert_eq!(known, all, "the SDK reads the same, and each event keeps its members");
    }

    /// Keys that are older than this log would be missing from it, so the log begins with an event for each of them. These events
    /// are written at the start of the server or before the first change of a key.
    async fn the_log_begins_with_the_keys_that_exist(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let made = admin.post("api/v1/keys", json!({"role": "agent", "name": "old"})).await.ok();
        admin.send(admin.request("DELETE", &format!("api/v1/keys/{}", made["id"].as_str().unwrap()))).await.ok();
        let keys = admin.get("api/v1/keys").await.ok()["keys"].as_array().unwrap().clone();
        for at_the_start in [true, false] {
            rows::change(app, "DELETE FROM server_events; DELETE FROM server_log; DELETE FROM unplaced WHERE source = 3").await;
            let mut events = if at_the_start {
                app.restart().await;
                log(app).await
            } else {
                admin.post("api/v1/keys", json!({"role": "agent", "name": "new"})).await.ok();
                log(app).await
            };
            if !at_the_start {
                assert_eq!(events.pop().unwrap()["payload"]["name"], "new", "its own event, and no record of it as well");
            }
            assert_eq!(events.len(), keys.len());
            for (event, key) in events.iter().zip(&keys) {
                assert_eq!((&event["event_type"], &event["actor"]), (&json!("key.recorded"), &json!("placet")));
                for member in ["name", "role", "owner", "subject", "created_at"] {
                    assert_eq!(event["payload"][member], key[member], "{member}");
                }
                assert_eq!((&event["payload"]["key_id"], &event["payload"]["revoked_at"]), (&key["id"], &key["revoked_at"]));
            }
        }
    }

    /// If two servers, or an admin and a command line, change keys at the same time, their events form one chain.
    async fn keys_that_are_made_at_once_form_one_chain(app: &mut TestApp) {
        let before = log(app).await.len();
        let replica = if app.scratch().is_some() { Some(app.replica().await) } else { None };
        let ours = app.api(Role::Admin);
        let theirs = replica.as_ref().map_or_else(|| ours.clone(), |replica| replica.api(&ours));
        let make = async |number: usize| {
            let api: &Api = if number.is_multiple_of(2) { &ours } else { &theirs };
            api.post("api/v1/keys", json!({"role": "agent", "name": format!("agent-{number}")})).await.ok()
        };
        let made = join_all((0..AT_ONCE).map(make)).await;
        let events = log(app).await;
        assert_eq!(events.len(), before + AT_ONCE);
        let named: std::collections::BTreeSet<&str> = events.iter().filter_map(|event| event["payload"]["key_id"].as_str()).collect();
        assert!(made.iter().all(|key| named.contains(key["id"].as_str().unwrap())), "each key is in it once");
        if let Some(replica) = replica {
            replica.stop().await;
        }
    }

    /// No event of the server's log is dated before the event that it follows.
    async fn a_clock_that_is_set_back_dates_no_event_before_the_last(app: &mut TestApp) {
        app.advance(3_600).await;
        let admin = app.api(Role::Admin);
        admin.post("api/v1/keys", json!({"role": "agent", "name": "one"})).await.ok();
        app.clock.set_by(TimeDelta::seconds(-1_800));
        admin.post("api/v1/keys", json!({"role": "agent", "name": "two"})).await.ok();
        let events = log(app).await;
        let [.., one, two] = &events[..] else { panic!("{events:?}") };
        assert!(two["created_at"].as_str() >= one["created_at"].as_str(), "{one} {two}");
    }
}
