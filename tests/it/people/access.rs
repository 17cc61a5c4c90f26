//! Access of agents to intents that other agents created: the entries of an intent's access control list, and requests for
//! access.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

/// An agent of another owner.
async fn stranger(app: &TestApp, name: &str) -> Api {
    Api::new(&app.base, Some(&app.new_key(Role::Agent, name).await))
}

fn one(intent: IntentId) -> String {
    format!("api/v1/intents/{intent}")
}

async fn grant(api: &Api, intent: IntentId, body: Value) -> Reply {
    api.post(&format!("{}/acl/entries", one(intent)), body).await
}

async fn set(api: &Api, intent: IntentId, entries: Value) -> Reply {
    api.send(api.request("PUT", &format!("{}/acl", one(intent))).json(&json!({"entries": entries}))).await
}

async fn revoke(api: &Api, intent: IntentId, entry: &Value) -> Reply {
    api.send(api.request("DELETE", &format!("{}/acl/entries/{}", one(intent), entry["id"].as_str().unwrap()))).await
}

async fn entries(api: &Api, intent: IntentId) -> Vec<Value> {
    api.get(&format!("{}/acl", one(intent))).await.ok()["entries"].as_array().unwrap().clone()
}

async fn request(api: &Api, intent: IntentId, body: Value) -> Reply {
    api.post(&format!("{}/access-requests", one(intent)), body).await
}

async fn requests(api: &Api, intent: IntentId) -> Vec<Value> {
    api.get(&format!("{}/access-requests", one(intent))).await.ok()["access_requests"].as_array().unwrap().clone()
}

async fn decide(api: &Api, intent: IntentId, request: &Value, verdict: &str, body: Value) -> Reply {
    api.post(&format!("{}/access-requests/{}/{verdict}", one(intent), request["id"].as_str().unwrap()), body).await
}

async fn patch(api: &Api, intent: IntentId) -> Reply {
    let version = api.get(&one(intent)).await.ok()["version"].to_string();
    api.post_at(&format!("{}/state", one(intent)), &version, json!({"state": {"a": 1}})).await
}

async fn listed(api: &Api) -> Vec<Value> {
    api.get("api/v1/intents").await.ok()["intents"].as_array().unwrap().iter().map(|intent| intent["id"].clone()).collect()
}

on_each_store! {
    /// Each permission gives its rights and no more, to the agent that is named and to no other.
    async fn an_entry_opens_an_intent_as_far_as_it_says(app: &mut TestApp) {
        let (agent, helper, other) = (app.agent(), stranger(app, "helper").await, stranger(app, "other").await);
        let intent = agent.active_intent().await;
        assert_eq!(agent.get(&format!("{}/acl", one(intent))).await.ok(), json!({
            "intent_id": intent, "default_policy": "closed", "entries": [],
        }));
        assert_eq!(helper.get(&format!("{}/acl", one(intent))).await.problem(), (404, "not_found"));
        let entry = grant(&agent, intent, json!({"principal_id": " helper ", "reason": "It checks."})).await.ok();
        assert_eq!(entry, json!({
            "id": entry["id"], "intent_id": intent, "principal_id": "helper", "principal_type": "agent", "permission": "read",
            "granted_by": "test-agent", "granted_at": "2026-11-24T08:00:00.000000", "expires_at": null, "reason": "It checks.",
        }));
        app.restart().await;
        let base = &app.base;
        let [agent, helper, other] = [&agent, &helper, &other].map(|api| Api::new(base, Some(api.key())));
        assert_eq!(helper.get(&one(intent)).await.ok()["id"], json!(intent));
        assert_eq!(entries(&helper, intent).await, std::slice::from_ref(&entry));
        assert_eq!(helper.get(&format!("{}/events", one(intent))).await.ok().as_array().unwrap().len(), 2);
        assert_eq!((listed(&helper).await, listed(&other).await.len()), (vec![json!(intent)], 0));
        assert_eq!(patch(&helper, intent).await.problem(), (403, "forbidden"));
        assert_eq!(helper.suspend(intent, json!({})).await.problem(), (403, "forbidden"));
        assert_eq!(helper.post(&format!("{}/events", one(intent)), json!({"event_type": "comment"})).await.problem(), (403, "forbidden"));
        assert_eq!(grant(&helper, intent, json!({"principal_id": "other"})).await.problem(), (403, "forbidden"));

        let written = grant(&agent, intent, json!({"principal_id": "helper", "permission": "write"})).await.ok();
        assert_ne!(written["id"], entry["id"]);
        patch(&helper, intent).await.ok();
        assert_eq!(entries(&agent, intent).await, std::slice::from_ref(&written));
        assert_eq!(revoke(&agent, intent, &entry).await.problem(), (404, "not_found"));
        assert_eq!(grant(&helper, intent, json!({"principal_id": "other"})).await.problem(), (403, "forbidden"));
        let assign = json!({"agent_id": "other"});
        assert_eq!(helper.post(&format!("{}/agents", one(intent)), assign.clone()).await.problem(), (403, "forbidden"));

        grant(&agent, intent, json!({"principal_id": "helper", "permission": "admin"})).await.ok();
        let others = grant(&helper, intent, json!({"principal_id": "other"})).await.ok();
        assert_eq!(others["granted_by"], json!("helper"));
        assert_eq!(other.get(&one(intent)).await.status, 200);
        assert_eq!(revoke(&helper, intent, &others).await.status, 204);
        assert_eq!(other.get(&one(intent)).await.problem(), (404, "not_found"));
        // An entry that was revoked before is not found, and neither is an entry of another intent.
        assert_eq!(revoke(&agent, intent, &others).await.problem(), (404, "not_found"));
        let elsewhere = agent.active_intent().await;
        let there = grant(&agent, elsewhere, json!({"principal_id": "helper"})).await.ok();
        assert_eq!(revoke(&agent, intent, &there).await.problem(), (404, "not_found"));
        assert_eq!(agent.send(agent.request("DELETE", &format!("{}/acl/entries/none", one(intent)))).await.problem(), (404, "not_found"));
        let types = agent.event_types(intent).await;
        assert_eq!(types, ["intent_created", "access_granted", "access_granted", "state_patched", "access_granted", "access_granted", "access_revoked"]);
    }

    /// An entry of the access control list gives no power over people's answers, deadlines and questions, whatever its
    /// permission.
    async fn no_permission_gives_power_over_the_questions_of_others(app: &mut TestApp) {
        let (agent, helper) = (app.agent(), stranger(app, "helper").await);
        let (intent, id) = agent.ask(json!({})).await;
        grant(&agent, intent, json!({"principal_id": "helper", "permission": "admin"})).await.ok();
        let before = agent.everything(intent).await;
        assert_eq!(helper.respond(intent, &id, "approve").await.problem(), (403, "self_response"));
        for (verb, body) in [("cancel", json!({})), ("extend", json!({"seconds": 60})), ("remind", json!({}))] {
            assert_eq!(helper.post(&format!("api/v1/suspensions/{id}/{verb}"), body).await.problem(), (403, "forbidden"), "{verb}");
        }
        assert_eq!(helper.suspend(intent, json!({"supersedes": id})).await.problem(), (403, "forbidden"));
        let version = before.0["version"].to_string();
        for status in ["abandoned", "active"] {
            let refused = helper.post_at(&format!("{}/status", one(intent)), &version, json!({"status": status})).await;
            assert_eq!(refused.problem(), (403, "forbidden"), "{status}");
        }
        assert_eq!(agent.everything(intent).await, before);
        // An operator's key gets no rights from an entry that was made for an agent of the same name.
        let operator = Api::new(&app.base, Some(&app.new_key(Role::Operator, "helper").await));
        assert_eq!(grant(&operator, intent, json!({"principal_id": "other"})).await.problem(), (403, "forbidden"));
        assert_eq!(patch(&operator, intent).await.problem(), (403, "forbidden"));
    }

    /// An entry ends when the clock reaches its end, even if the log does not say so yet, and the agent's leases end with it.
    async fn an_entry_ends_at_its_time(app: &mut TestApp) {
        let (agent, helper) = (app.agent(), stranger(app, "helper").await);
        let intent = agent.active_intent().await;
        let entry = grant(&agent, intent, json!({
            "principal_id": "helper", "permission": "write", "expires_at": "2026-11-24T09:00:00",
        })).await.ok();
        assert_eq!(entry["expires_at"], json!("2026-11-24T09:00:00.000000"));
        let lease = json!({"scope": "report", "duration_seconds": 86_400});
        app.advance(3_599).await;
        helper.post(&format!("{}/leases", one(intent)), lease.clone()).await.ok();
        app.restart().await;
        let (agent, helper) = (app.agent(), Api::new(&app.base, Some(helper.key())));
        assert_eq!((patch(&helper, intent).await.status, listed(&helper).await.len()), (200, 1));
        app.advance(1).await;
        assert_eq!(helper.get(&one(intent)).await.problem(), (404, "not_found"));
        assert_eq!((listed(&helper).await.len(), entries(&agent, intent).await.len()), (0, 0));
        assert_eq!(revoke(&agent, intent, &entry).await.problem(), (404, "not_found"));
        assert_eq!(agent.event_types(intent).await.last().unwrap(), "state_patched");
        // The next change of the access removes the entry.
        assert_eq!(agent.post(&format!("{}/leases", one(intent)), lease.clone()).await.problem(), (409, "lease_conflict"));
        grant(&agent, intent, json!({"principal_id": "other"})).await.ok();
        let events = agent.events(intent).await;
        let said: Vec<(&str, &str)> =
            events[4..].iter().map(|event| (event["event_type"].as_str().unwrap(), event["actor"].as_str().unwrap())).collect();
        assert_eq!(said, [("lease_released", "placet"), ("access_expired", "placet"), ("access_granted", "test-agent")]);
        assert_eq!(events[5]["payload"], json!({
            "id": entry["id"], "principal_id": "helper", "expires_at": "2026-11-24T09:00:00.000000",
        }));
        agent.post(&format!("{}/leases", one(intent)), lease).await.ok();
        // After its entry has ended, the agent can be given a new one.
        grant(&agent, intent, json!({"principal_id": "helper"})).await.ok();
        assert_eq!((helper.get(&one(intent)).await.status, entries(&agent, intent).await.len()), (200, 2));
        let past = grant(&agent, intent, json!({"principal_id": "helper", "expires_at": "2026-11-24T09:00:00"})).await;
        assert_eq!(past.field_problem(), (422, "invalid", "expires_at", "range"));
    }

    /// If an agent has its right from an entry, it must not make that right last longer, neither for itself nor by way of another
    /// agent.
    async fn an_admin_by_entry_gives_nobody_more_than_it_has(app: &mut TestApp) {
        let (agent, helper) = (app.agent(), stranger(app, "helper").await);
        let intent = agent.active_intent().await;
        let end = "2026-11-24T09:00:00";
        let own = grant(&agent, intent, json!({"principal_id": "helper", "permission": "admin", "expires_at": end})).await.ok();
        let before = agent.everything(intent).await;
        for (principal, expires_at) in [
            ("helper", json!(end)), ("helper", json!(null)), ("helper/1", json!(end)),
            ("other", json!(null)), ("other", json!("2026-11-24T09:00:00.000001")),
        ] {
            let body = json!({"principal_id": principal, "permission": "read", "expires_at": expires_at});
            assert_eq!(grant(&helper, intent, body.clone()).await.problem(), (403, "forbidden"), "{body}");
            assert_eq!(set(&helper, intent, json!([body])).await.problem(), (403, "forbidden"), "{body}");
        }
        for agent_id in ["helper", "other"] {
            let assign = json!({"agent_id": agent_id});
            assert_eq!(helper.post(&format!("{}/agents", one(intent)), assign).await.problem(), (403, "forbidden"));
        }
        assert_eq!(agent.everything(intent).await, before);
        let kept = json!({"principal_id": "helper", "permission": "admin", "expires_at": end});
        let other = json!({"principal_id": "other", "permission": "admin", "expires_at": end});
        let list = set(&helper, intent, json!([kept, other])).await.ok();
        assert_eq!((&list["entries"][0], list["entries"].as_array().unwrap().len()), (&own, 2));
        // With an entry that has no end, the agent may assign other agents, but still not itself: the assignment would outlast a
        // revoked entry.
        grant(&agent, intent, json!({"principal_id": "helper", "permission": "admin"})).await.ok();
        let assign = async |agent_id| helper.post(&format!("{}/agents", one(intent)), json!({"agent_id": agent_id})).await;
        assert_eq!(assign("helper").await.problem(), (403, "forbidden"));
        assign("third").await.ok();
        // An assigned agent does not manage the access.
        let third = stranger(app, "third").await;
        assert_eq!(grant(&third, intent, json!({"principal_id": "fourth"})).await.problem(), (403, "forbidden"));
        grant(&app.api(Role::Admin), intent, json!({"principal_id": "fourth"})).await.ok();
    }

    /// A list replaces all entries of the list before. An entry that stays keeps its id and causes no event, and an agent whose
    /// entry goes loses its leases.
    async fn a_list_is_replaced_as_a_whole(app: &mut TestApp) {
        let (agent, helper) = (app.agent(), stranger(app, "helper").await);
        let intent = agent.active_intent().await;
        let (a, b) = (json!({"principal_id": "a", "permission": "write"}), json!({"principal_id": "helper", "permission": "write"}));
        let first = set(&agent, intent, json!([a, b])).await.ok();
        helper.post(&format!("{}/leases", one(intent)), json!({"scope": "report"})).await.ok();
        let second = set(&agent, intent, json!([a])).await.ok();
        assert_eq!(second["entries"], json!([first["entries"][0]]));
        agent.post(&format!("{}/leases", one(intent)), json!({"scope": "report"})).await.ok();
        assert_eq!(set(&agent, intent, json!([a])).await.ok(), second);
        // An agent whose write entry becomes a read entry loses its leases too, unless it is assigned to the intent.
        for (kept, scope) in [(false, "text"), (true, "list")] {
            if kept {
                agent.post(&format!("{}/agents", one(intent)), json!({"agent_id": "helper"})).await.ok();
            }
            grant(&agent, intent, json!({"principal_id": "helper", "permission": "write"})).await.ok();
            helper.post(&format!("{}/leases", one(intent)), json!({"scope": scope})).await.ok();
            grant(&agent, intent, json!({"principal_id": "helper", "permission": "read"})).await.ok();
            let taken = agent.post(&format!("{}/leases", one(intent)), json!({"scope": scope})).await;
            assert_eq!(taken.status, if kept { 409 } else { 200 }, "{scope}");
        }
        let types = agent.event_types(intent).await;
        assert_eq!(types[..6], ["intent_created", "access_granted", "access_granted", "lease_acquired", "lease_released", "access_revoked"]);
        let put = async |body: Value| agent.send(agent.request("PUT", &format!("{}/acl", one(intent))).json(&body)).await;
        let open = put(json!({"default_policy": "open", "entries": []})).await;
        assert_eq!(open.field_problem(), (422, "invalid", "default_policy", "unsupported"));
        for (entry, field, rule) in [
            (json!([a, a]), "entries[1].principal_id", "unique"),
            (json!([{"principal_id": "u", "principal_type": "user"}]), "entries[0].principal_type", "unsupported"),
            (json!([{"principal_id": "placet"}]), "entries[0].principal_id", "reserved"),
            (json!([{"principal_id": "a\u{202e}b"}]), "entries[0].principal_id", "characters"),
            (json!([{"principal_id": "a", "reason": "r".repeat(2_001)}]), "entries[0].reason", "length"),
        ] {
            assert_eq!(put(json!({"default_policy": "closed", "entries": entry})).await.field_problem(), (422, "invalid", field, rule));
        }
        assert_eq!(put(json!({"entries": [{"principal_id": "a", "permission": "all"}]})).await.status, 422);
        // A body that forgot the entries removes nothing.
        for forgotten in [json!({}), json!({"default_policy": "closed"}), json!({"entries": null})] {
            assert_eq!(put(forgotten).await.status, 422);
        }
        assert_eq!(entries(&agent, intent).await.len(), 2);
        put(json!({"entries": []})).await.ok();
        assert_eq!(entries(&agent, intent).await.len(), 0);
    }

    /// An agent without access may ask for it and learns nothing else; a person decides, and gives at most what was asked.
    async fn a_person_decides_about_a_request(app: &mut TestApp) {
        let (agent, helper, operator) = (app.agent(), stranger(app, "helper").await, app.operator());
        let intent = agent.active_intent().await;
        let ask = json!({"principal_id": "helper", "reason": "<b>Let\u{0} me in</b> [x](javascript:1)", "capabilities": ["audit"]});
        let asked = request(&helper, intent, ask.clone()).await.ok();
        assert_eq!(asked, json!({
            "id": asked["id"], "intent_id": intent, "principal_id": "helper", "principal_type": "agent", "requested_permission": "write",
            "reason": ask["reason"], "capabilities": ["audit"], "requested_by": "helper", "created_at": "2026-11-24T08:00:00.000000",
            "status": "pending", "permission": null, "decided_by": null, "decided_at": null, "decision_reason": null,
        }));
        assert_eq!(request(&helper, intent, json!({"principal_id": "helper", "reason": "again"})).await.ok(), asked);
        for path in [one(intent), format!("{}/access-requests", one(intent)), format!("{}/acl", one(intent))] {
            assert_eq!(helper.get(&path).await.problem(), (404, "not_found"), "{path}");
        }
        assert_eq!(request(&helper, "019ab0f2-0000-7000-8000-000000000000".parse().unwrap(), ask.clone()).await.problem(), (404, "not_found"));
        assert_eq!(request(&helper, intent, json!({"principal_id": "other"})).await.problem(), (403, "forbidden"));
        for api in [&operator, &app.api(Role::Admin), &app.api(Role::Auditor)] {
            assert_eq!(request(api, intent, ask.clone()).await.problem(), (403, "forbidden"));
        }
        app.restart().await;
        let base = &app.base;
        let [agent, helper, operator] = [&agent, &helper, &operator].map(|api| Api::new(base, Some(api.key())));
        assert_eq!(requests(&operator, intent).await, std::slice::from_ref(&asked));
        // Agents decide nothing, and neither do the keys of the owner that asked.
        assert_eq!(decide(&agent, intent, &asked, "approve", json!({})).await.problem(), (403, "forbidden"));
        assert_eq!(decide(&helper, intent, &asked, "approve", json!({})).await.problem(), (404, "not_found"));
        for (role, name) in [(Role::Operator, "helpers-operator"), (Role::Admin, "helpers-admin")] {
            let own = Api::new(&app.base, Some(&app.new_key_of(role, name, "helper").await));
            assert_eq!(decide(&own, intent, &asked, "approve", json!({})).await.problem(), (403, "self_response"));
            assert_eq!(decide(&own, intent, &asked, "deny", json!({})).await.problem(), (403, "self_response"));
        }
        let more = decide(&operator, intent, &asked, "approve", json!({"permission": "admin"})).await;
        assert_eq!(more.field_problem(), (422, "invalid", "permission", "range"));
        let decision = json!({"decided_by": "mallory", "permission": "read", "reason": "It is known.", "expires_at": "2026-11-24T10:00:00Z"});
        let approved = decide(&operator, intent, &asked, "approve", decision).await.ok();
        let mut expected = asked.clone();
        for (name, value) in [
            ("status", json!("approved")), ("permission", json!("read")), ("decided_by", json!("test-operator")),
            ("claimed_decided_by", json!("mallory")), ("decided_at", json!("2026-11-24T08:00:00.000000")),
            ("decision_reason", json!("It is known.")),
        ] {
            expected[name] = value;
        }
        assert_eq!(approved, expected);
        assert_eq!(requests(&helper, intent).await, std::slice::from_ref(&approved));
        let entry = &entries(&helper, intent).await[0];
        assert_eq!((&entry["id"], &entry["permission"], &entry["expires_at"]), (&asked["id"], &json!("read"), &json!("2026-11-24T10:00:00.000000")));
        for verdict in ["approve", "deny"] {
            assert_eq!(decide(&operator, intent, &asked, verdict, json!({})).await.problem(), (404, "not_found"), "{verdict}");
        }
        let denied = request(&helper, intent, json!({"principal_id": "helper", "requested_permission": "admin"})).await.ok();
        let denied = decide(&app.api(Role::Admin), intent, &denied, "deny", json!({"reason": "No."})).await.ok();
        assert_eq!((&denied["status"], &denied["decision_reason"]), (&json!("denied"), &json!("No.")));
        assert_eq!(patch(&helper, intent).await.problem(), (403, "forbidden"));
        assert_eq!(agent.event_types(intent).await, [
            "intent_created", "access_requested", "access_granted", "access_request_approved", "access_requested", "access_request_denied",
        ]);
        app.advance(7_200).await;
        assert_eq!(helper.get(&one(intent)).await.problem(), (404, "not_found"));
    }

    /// An agent that may read the intent may ask for access for another agent. Neither the owner of the asker nor the owner of
    /// the agent that would get access may decide.
    async fn a_request_for_another_agent_is_decided_by_neither_owner(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let below = request(&agent, intent, json!({"principal_id": "helper/1"})).await.ok();
        let own = Api::new(&app.base, Some(&app.new_key_of(Role::Operator, "helpers", "helper").await));
        assert_eq!(decide(&own, intent, &below, "approve", json!({})).await.problem(), (403, "self_response"));
        let asked = request(&agent, intent, json!({"principal_id": "helper", "requested_permission": "read"})).await.ok();
        for owner in ["helper", "test-agent", "HELPER", "Test-Agent"] {
            let operator = Api::new(&app.base, Some(&app.new_key_of(Role::Operator, &format!("{owner}-op"), owner).await));
            assert_eq!(decide(&operator, intent, &asked, "approve", json!({})).await.problem(), (403, "self_response"), "{owner}");
        }
        for name in ["Helper", "Test-Agent"] {
            let operator = Api::new(&app.base, Some(&app.new_key_of(Role::Operator, name, "else").await));
            assert_eq!(decide(&operator, intent, &asked, "approve", json!({})).await.problem(), (403, "self_response"), "{name}");
        }
        decide(&app.operator(), intent, &asked, "approve", json!({})).await.ok();
        assert_eq!(stranger(app, "helper").await.get(&one(intent)).await.status, 200);
    }

    /// A change that is repeated under the same idempotency key gets the first reply and changes nothing. This also holds for a
    /// removal.
    async fn a_repeated_change_of_access_is_not_made_twice(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let list = format!("{}/acl/entries", one(intent));
        let body = json!({"principal_id": "helper", "permission": "write"});
        let entry = agent.post_once(&list, "k1", body.clone()).await.ok();
        app.restart().await;
        let agent = app.agent();
        assert_eq!(agent.post_once(&list, "k1", body).await.ok(), entry);
        assert_eq!(agent.post_once(&list, "k1", json!({"principal_id": "other"})).await.problem(), (422, "idempotency_mismatch"));
        let ask = json!({"principal_id": "other"});
        let asked = agent.post_once(&format!("{}/access-requests", one(intent)), "k2", ask.clone()).await.ok();
        decide(&app.operator(), intent, &asked, "deny", json!({})).await.ok();
        assert_eq!(agent.post_once(&format!("{}/access-requests", one(intent)), "k2", ask).await.ok(), asked);
        let path = format!("{list}/{}", entry["id"].as_str().unwrap());
        for _ in 0..2 {
            assert_eq!(agent.send(agent.request("DELETE", &path).header("idempotency-key", "k3")).await.status, 204);
        }
        assert_eq!(agent.event_types(intent).await, [
            "intent_created", "access_granted", "access_requested", "access_request_denied", "access_revoked",
        ]);
    }

    /// The numbers of entries and requests are bounded: an agent must not fill the log of another.
    async fn access_has_limits(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let list = |count: usize| json!((0..count).map(|number| json!({"principal_id": format!("agent-{number}")})).collect::<Vec<_>>());
        assert_eq!(set(&agent, intent, list(101)).await.field_problem(), (422, "invalid", "entries", "count"));
        assert_eq!(set(&agent, intent, list(100)).await.ok()["entries"].as_array().unwrap().len(), 100);
        assert_eq!(grant(&agent, intent, json!({"principal_id": "one-more"})).await.field_problem(), (422, "invalid", "principal_id", "count"));
        grant(&agent, intent, json!({"principal_id": "agent-7", "permission": "write"})).await.ok();
        for number in 0..50 {
            request(&agent, intent, json!({"principal_id": format!("agent-{number}")})).await.ok();
        }
        let beyond = json!({"principal_id": "one-more"});
        assert_eq!(request(&agent, intent, beyond.clone()).await.field_problem(), (422, "invalid", "intent_id", "count"));
        let decided = requests(&agent, intent).await[0].clone();
        // The list is full, but the agent of this request has an entry already, so the request can be approved. Then one more
        // request is possible.
        set(&agent, intent, list(100)).await.ok();
        decide(&app.operator(), intent, &decided, "approve", json!({})).await.ok();
        request(&agent, intent, beyond.clone()).await.ok();
        // One agent may have 100 open requests over all intents, and no more.
        let next = agent.active_intent().await;
        for number in 0..50 {
            request(&agent, next, json!({"principal_id": format!("agent-{number}")})).await.ok();
        }
        let third = agent.active_intent().await;
        assert_eq!(request(&agent, third, beyond.clone()).await.field_problem(), (422, "invalid", "principal_id", "count"));
        request(&stranger(app, "one-more").await, third, beyond).await.ok();
        let words = |count: usize, length: usize| json!({"principal_id": "a", "capabilities": vec!["c".repeat(length); count]});
        for (count, length, rule) in [(51, 1, "count"), (1, 201, "length"), (1, 0, "length")] {
            assert_eq!(request(&agent, intent, words(count, length)).await.field_problem(), (422, "invalid", "capabilities", rule));
        }
        request(&stranger(app, "a").await, third, words(50, 200)).await.ok();
    }
}
