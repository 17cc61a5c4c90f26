//! Agents that work on an intent beside its creator: the rights they get, and those they do not get.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

/// An agent of another owner.
async fn helper(app: &TestApp) -> Api {
    Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await))
}

fn agents(intent: IntentId) -> String {
    format!("api/v1/intents/{intent}/agents")
}

async fn unassign(api: &Api, intent: IntentId, agent: &str) -> Reply {
    api.send(api.request("DELETE", &format!("{}/{agent}", agents(intent)))).await
}

async fn patch(api: &Api, intent: IntentId, key: &str) -> Reply {
    let version = api.get(&format!("api/v1/intents/{intent}")).await.ok()["version"].to_string();
    api.post_at(&format!("api/v1/intents/{intent}/state"), &version, json!({"state": {key: 1}})).await
}

async fn listed(api: &Api, query: &str) -> Vec<Value> {
    let page = api.get(&format!("api/v1/intents{query}")).await.ok();
    page["intents"].as_array().unwrap().iter().map(|intent| intent["id"].clone()).collect()
}

on_each_store! {
    /// Until it is assigned, the other agent is told that the intent does not exist. Afterwards it may work on the intent, and
    /// leases keep the two agents from changing the same part.
    async fn an_assigned_agent_reads_leases_and_patches(app: &mut TestApp) {
        let (agent, other) = (app.agent(), helper(app).await);
        let intent = agent.active_intent().await;
        let one = format!("api/v1/intents/{intent}");
        assert_eq!(other.get(&one).await.problem(), (404, "not_found"));
        assert_eq!(other.post(&agents(intent), json!({"agent_id": "helper"})).await.problem(), (404, "not_found"));
        let assigned = agent.post(&agents(intent), json!({"agent_id": "helper", "role": "reviewer"})).await.ok();
        assert_eq!(assigned, json!({
            "id": assigned["id"], "intent_id": intent, "agent_id": "helper", "role": "reviewer", "assigned_by": "test-agent",
            "assigned_at": "2026-11-24T08:00:00.000000",
        }));
        app.restart().await;
        let (agent, other) = (app.agent(), Api::new(&app.base, Some(other.key())));
        assert_eq!(other.get(&one).await.ok()["id"], json!(intent));
        patch(&other, intent, "by-helper").await.ok();
        agent.post(&format!("{one}/leases"), json!({"scope": "report"})).await.ok();
        assert_eq!(other.post(&format!("{one}/leases"), json!({"scope": "report"})).await.problem(), (409, "lease_conflict"));
        assert_eq!(patch(&other, intent, "report").await.problem(), (409, "lease_conflict"));
        other.post(&format!("{one}/events"), json!({"event_type": "comment"})).await.ok();
        other.post(&format!("{one}/leases"), json!({"scope": "text"})).await.ok();
        let version = other.get(&one).await.ok()["version"].to_string();
        other.post_at(&format!("{one}/status"), &version, json!({"status": "completed"})).await.ok();
        assert_eq!(agent.status(intent).await, "completed");
    }

    /// Assigning the same agent again, or by the event with which the OpenIntent client delegates, makes no second assignment and
    /// no second event.
    async fn an_assignment_is_said_once(app: &mut TestApp) {
        let (agent, other) = (app.agent(), helper(app).await);
        let intent = agent.active_intent().await;
        let delegated = json!({"event_type": "agent_assigned", "actor": "test-agent", "payload": {
            "agent_id": "helper", "delegated_by": "test-agent", "payload": {"part": 2},
        }});
        let events = format!("api/v1/intents/{intent}/events");
        let first = agent.post(&events, delegated.clone()).await.ok();
        assert_eq!((&first["event_type"], &first["payload"]["delegated_by"]), (&json!("agent_assigned"), &json!("test-agent")));
        assert_eq!(agent.post(&events, delegated).await.ok(), first);
        let assigned = agent.post(&agents(intent), json!({"agent_id": " helper "})).await.ok();
        assert_eq!((&assigned["id"], &assigned["role"]), (&first["id"], &json!("worker")));
        assert_eq!(agent.event_types(intent).await, ["intent_created", "agent_assigned"]);
        // A request that adds something to an assignment is a new event, and keeps the other members of the assignment.
        let reviewer = agent.post(&agents(intent), json!({"agent_id": "helper", "role": "reviewer"})).await.ok();
        assert_eq!(agent.get(&agents(intent)).await.ok(), json!({"agents": [reviewer]}));
        let event = agent.events(intent).await.pop().unwrap();
        assert_eq!(event["payload"], json!({"agent_id": "helper", "role": "reviewer", "delegated_by": "test-agent", "payload": {"part": 2}}));
        let again = json!({"event_type": "agent_assigned", "payload": {"agent_id": "helper", "payload": {"part": 3}}});
        assert_eq!(agent.post(&events, again).await.ok()["payload"]["payload"], json!({"part": 3}));
        assert_eq!(listed(&other, "").await, [json!(intent)]);
        // An assigned agent hands its work on.
        other.post(&events, json!({"event_type": "agent_assigned", "payload": {"agent_id": "third"}})).await.ok();
        assert_eq!(agent.event_types(intent).await.len(), 5);
        for (payload, field) in [
            (json!({}), "payload.agent_id"), (json!({"agent_id": ""}), "payload.agent_id"), (json!({"agent_id": 7}), "payload.agent_id"),
            (json!({"agent_id": "placet"}), "payload.agent_id"), (json!({"agent_id": "a", "delegated_by": "helper"}), "payload.delegated_by"),
            (json!({"agent_id": "a", "delegated_by": 5}), "payload.delegated_by"), (json!({"agent_id": "a", "payload": "x"}), "payload.payload"),
            (json!({"agent_id": "a", "role": "boss"}), "payload.role"),
        ] {
            let refused = agent.post(&events, json!({"event_type": "agent_assigned", "payload": payload})).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field));
        }
        let traced = json!({"event_type": "agent_assigned", "trace_id": "t", "payload": {"agent_id": "a"}});
        assert_eq!(agent.post(&events, traced.clone()).await.field_problem().2, "trace_id");
        // The right to assign is checked before the members of the body.
        assert_eq!(app.operator().post(&events, traced).await.problem(), (403, "forbidden"));
    }

    /// An assigned agent asks its own questions. It takes back no question of the creator and answers none.
    async fn an_assigned_agent_has_no_power_over_the_questions_of_others(app: &mut TestApp) {
        let (agent, other) = (app.agent(), helper(app).await);
        let (intent, id) = agent.ask(json!({})).await;
        agent.post(&agents(intent), json!({"agent_id": "helper"})).await.ok();
        let one = format!("api/v1/intents/{intent}");
        let before = agent.everything(intent).await;
        assert_eq!(other.respond(intent, &id, "approve").await.problem(), (403, "self_response"));
        assert_eq!(other.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.problem(), (403, "forbidden"));
        assert_eq!(other.suspend(intent, json!({"supersedes": id})).await.problem(), (403, "forbidden"));
        assert_eq!(other.suspend(intent, json!({})).await.problem(), (409, "not_active"));
        let version = before.0["version"].to_string();
        for status in ["abandoned", "active"] {
            let refused = other.post_at(&format!("{one}/status"), &version, json!({"status": status})).await;
            assert_eq!(refused.problem(), (403, "forbidden"), "{status}");
        }
        assert_eq!(agent.everything(intent).await, before);
        app.operator().respond(intent, &id, "deny").await.ok();

        let asked = other.suspend(intent, json!({})).await.ok();
        let id = asked["id"].as_str().unwrap();
        // Keys of the asker's owner and of the creator's owner may not answer the question.
        for owner in ["helper", "test-agent"] {
            let operator = Api::new(&app.base, Some(&app.new_key_of(Role::Operator, &format!("{owner}-operator"), owner).await));
            assert_eq!(operator.respond(intent, id, "approve").await.problem(), (403, "self_response"), "{owner}");
        }
        assert_eq!(other.suspension(id).await["resolution"], json!(null));
        let superseding = other.suspend(intent, json!({"supersedes": id})).await.ok();
        other.post(&format!("api/v1/suspensions/{}/cancel", superseding["id"].as_str().unwrap()), json!({})).await.ok();
        // When the assigned agent's own question has ended, a valid request about it is refused with `already_resolved`, even
        // while another question is open.
        let own = other.suspend(intent, json!({})).await.ok()["id"].as_str().unwrap().to_owned();
        let theirs = agent.suspend(intent, json!({"supersedes": own})).await.ok()["id"].as_str().unwrap().to_owned();
        let late = other.post(&format!("api/v1/suspensions/{own}/cancel"), json!({})).await;
        assert_eq!(late.problem(), (409, "already_resolved"), "{}", late.text);
        assert_eq!(other.suspend(intent, json!({"supersedes": own})).await.problem(), (409, "already_resolved"));
        let wrong = other.post(&format!("api/v1/suspensions/{own}/cancel"), json!({"because": 1})).await;
        assert_eq!(wrong.status, 422, "{}", wrong.text);
        agent.post(&format!("api/v1/suspensions/{theirs}/cancel"), json!({})).await.ok();
        // The creator takes back the question of an agent that it assigned.
        let id = other.suspend(intent, json!({})).await.ok()["id"].as_str().unwrap().to_owned();
        agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
    }

    /// An agent that was taken off has no rights any more.
    async fn an_agent_that_was_taken_off_sees_nothing(app: &mut TestApp) {
        let (agent, other) = (app.agent(), helper(app).await);
        let intent = agent.active_intent().await;
        for assigned in ["helper", "third", "test-agent/1"] {
            agent.post(&agents(intent), json!({"agent_id": assigned})).await.ok();
        }
        assert_eq!(unassign(&other, intent, "third").await.problem(), (403, "forbidden"));
        assert_eq!(unassign(&app.operator(), intent, "third").await.problem(), (403, "forbidden"));
        assert_eq!(unassign(&agent, intent, "fourth").await.problem(), (404, "not_found"));
        unassign(&agent, intent, "test-agent%2F1").await.ok();
        // The agent's leases end with its assignment, because no other agent could release them.
        let leases = format!("api/v1/intents/{intent}/leases");
        other.post(&leases, json!({"scope": "report", "duration_seconds": 86_400})).await.ok();
        unassign(&other, intent, "helper").await.ok();
        agent.post(&leases, json!({"scope": "report"})).await.ok();
        assert_eq!(unassign(&other, intent, "helper").await.problem(), (404, "not_found"));
        unassign(&app.api(Role::Admin), intent, "third").await.ok();
        app.restart().await;
        let other = Api::new(&app.base, Some(other.key()));
        assert_eq!(other.get(&format!("api/v1/intents/{intent}")).await.problem(), (404, "not_found"));
        let types = app.agent().event_types(intent).await;
        assert_eq!(types.iter().filter(|name| *name == "agent_unassigned").count(), 3);
    }

    /// An agent may be assigned by its subject and take leases under the name of its key. When the assignment ends, these leases
    /// end, and no others.
    async fn an_agent_assigned_by_its_subject_loses_the_leases_of_its_key(app: &mut TestApp) {
        let agent = app.agent();
        let admin = app.api(Role::Admin);
        let mut keys = Vec::new();
        for (name, subject) in [("bob-key", "bob"), ("eve-key", "eve"), ("own", "both")] {
            let key = admin.post("api/v1/keys", json!({"role": "agent", "name": name, "subject": subject})).await.ok();
            keys.push(Api::new(&app.base, key["key"].as_str()));
        }
        let intent = agent.active_intent().await;
        for assigned in ["bob", "eve", "both", "own"] {
            agent.post(&agents(intent), json!({"agent_id": assigned})).await.ok();
        }
        let leases = format!("api/v1/intents/{intent}/leases");
        for (api, scope) in keys.iter().zip(["bobs", "eves", "boths"]) {
            api.post(&leases, json!({"scope": scope, "duration_seconds": 86_400})).await.ok();
        }
        app.restart().await;
        let agent = app.agent();
        unassign(&agent, intent, "bob").await.ok();
        agent.post(&leases, json!({"scope": "bobs"})).await.ok();
        assert_eq!(agent.post(&leases, json!({"scope": "eves"})).await.problem(), (409, "lease_conflict"));
        // This key was assigned by its name as well, so it keeps its lease until that assignment ends.
        unassign(&agent, intent, "both").await.ok();
        assert_eq!(agent.post(&leases, json!({"scope": "boths"})).await.problem(), (409, "lease_conflict"));
        unassign(&agent, intent, "own").await.ok();
        agent.post(&leases, json!({"scope": "boths"})).await.ok();
    }

    /// `Bot` and `bot` are two agents, so the same idempotency key for the other name is no repeat and is refused.
    async fn a_repeat_for_another_name_is_no_repeat(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for assigned in ["Bot", "bot"] {
            agent.post(&agents(intent), json!({"agent_id": assigned})).await.ok();
        }
        let once = |name: &str| agent.request("DELETE", &format!("{}/{name}", agents(intent))).header("idempotency-key", "k");
        agent.send(once("Bot")).await.ok();
        agent.send(once("Bot")).await.ok();
        assert_eq!(agent.send(once("bot")).await.problem(), (422, "idempotency_mismatch"));
        assert_eq!(agent.get(&agents(intent)).await.ok()["agents"].as_array().unwrap().len(), 1);
    }

    /// The list of an agent holds its own intents and those to which it is assigned, in one order, on all pages.
    async fn the_list_holds_own_and_assigned_intents(app: &mut TestApp) {
        let (agent, other) = (app.agent(), helper(app).await);
        let mut expected = Vec::new();
        for number in 0..6 {
            let (creator, is_listed) = match number % 3 {
                0 => (&other, true),
                1 => (&agent, true),
                _ => (&agent, false),
            };
            let intent = creator.active_intent().await;
            if is_listed {
                creator.post(&agents(intent), json!({"agent_id": "helper"})).await.ok();
                expected.insert(0, json!(intent));
            }
        }
        assert_eq!(listed(&other, "").await, expected);
        assert_eq!(listed(&other, "?limit=2&offset=1").await, expected[1..3]);
        assert_eq!(listed(&other, "?status=completed").await, [Value::Null; 0]);
        let first = other.get("api/v1/intents?limit=3").await.ok();
        let cursor = first["next_cursor"].as_str().unwrap();
        assert_eq!(listed(&other, &format!("?limit=3&cursor={cursor}")).await, expected[3..]);
        assert_eq!(listed(&agent, "").await.len(), 4);
        let far = |offset: u32| format!("api/v1/intents?offset={offset}");
        assert_eq!(other.get(&far(10_000)).await.ok()["intents"], json!([]));
        assert_eq!(other.get(&far(10_001)).await.field_problem(), (422, "invalid", "offset", "range"));
        agent.get(&far(10_001)).await.ok();
    }

    /// An agent's events count against its own daily bytes, even on an intent to which another agent has assigned it.
    async fn an_assigned_agent_pays_for_its_own_events(app: &mut TestApp) {
        app.restart_with(|config| config.limits.agent_bytes_per_day = 20_000).await;
        let (agent, other) = (app.agent(), helper(app).await);
        let intent = agent.active_intent().await;
        agent.post(&agents(intent), json!({"agent_id": "helper"})).await.ok();
        let events = format!("api/v1/intents/{intent}/events");
        let long = json!({"event_type": "comment", "payload": {"text": "x".repeat(15_000)}});
        other.post(&events, long.clone()).await.ok();
        other.post(&events, long.clone()).await.ok();
        assert_eq!(other.post(&events, long.clone()).await.problem(), (429, "bytes_spent"));
        agent.post(&events, long).await.ok();
    }

    /// The limits of an assignment.
    async fn assignments_have_limits(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let assign = async |body: Value| agent.post(&agents(intent), body).await;
        let long = |count: usize| "a".repeat(count);
        for (body, field, rule) in [
            (json!({"agent_id": long(201)}), "agent_id", "length"), (json!({"agent_id": " "}), "agent_id", "length"),
            (json!({"agent_id": "local:0@host"}), "agent_id", "reserved"), (json!({"agent_id": "a\u{0}"}), "agent_id", "characters"),
            (json!({"agent_id": "a", "role": long(201)}), "role", "length"), (json!({"agent_id": "a", "role": ""}), "role", "length"),
        ] {
            assert_eq!(assign(body).await.field_problem(), (422, "invalid", field, rule));
        }
        assign(json!({"agent_id": long(200), "role": long(200)})).await.ok();
        for number in 1..100 {
            assign(json!({"agent_id": format!("agent-{number}")})).await.ok();
        }
        assert_eq!(assign(json!({"agent_id": "one-more"})).await.field_problem(), (422, "invalid", "agent_id", "count"));
        assign(json!({"agent_id": "agent-7"})).await.ok();
        unassign(&agent, intent, "agent-7").await.ok();
        assign(json!({"agent_id": "one-more"})).await.ok();
    }
}
