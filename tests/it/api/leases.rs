//! Leases, and the effect of a suspension on them (RFC-0003, RFC-0025 §2).

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

/// An agent key together with the agent that it claims to act for.
struct As<'a>(&'a Api, &'a str);

impl As<'_> {
    async fn send(&self, method: &str, path: &str, body: Value) -> Reply {
        self.0.send(self.0.request(method, path).header("x-agent-id", self.1).json(&body)).await
    }

    async fn acquire(&self, intent: IntentId, scope: &str, duration_seconds: u32) -> Reply {
        let body = json!({"scope": scope, "duration_seconds": duration_seconds});
        self.send("POST", &format!("api/v1/intents/{intent}/leases"), body).await
    }

    async fn renew(&self, intent: IntentId, lease: &Value, duration_seconds: u32) -> Reply {
        let path = format!("api/v1/intents/{intent}/leases/{}", lease["id"].as_str().unwrap());
        self.send("PATCH", &path, json!({"duration_seconds": duration_seconds})).await
    }

    async fn release(&self, intent: IntentId, lease: &Value) -> Reply {
        let path = format!("api/v1/intents/{intent}/leases/{}", lease["id"].as_str().unwrap());
        self.send("DELETE", &path, json!({})).await
    }

    async fn patch(&self, intent: IntentId, path: &str) -> Reply {
        let version = self.0.intent(intent).await["version"].to_string();
        let body = json!({"patches": [{"op": "set", "path": path, "value": 1}]});
        let request = self.0.request("POST", &format!("api/v1/intents/{intent}/state"));
        self.0.send(request.header("if-match", version).header("x-agent-id", self.1).json(&body)).await
    }
}

/// The leases as listed: the holder, status and end of each.
async fn listed(api: &Api, intent: IntentId) -> Vec<(String, String, String)> {
    let leases = api.get(&format!("api/v1/intents/{intent}/leases")).await.ok();
    let word = |lease: &Value, name: &str| lease[name].as_str().unwrap().to_owned();
    let leases = leases["leases"].as_array().unwrap();
    leases.iter().map(|lease| (word(lease, "agent_id"), word(lease, "status"), word(lease, "expires_at"))).collect()
}

fn held(agent: &str, until: &str) -> (String, String, String) {
    (agent.to_owned(), "active".to_owned(), format!("2026-11-24T{until}.000000"))
}

on_each_store! {
    /// A scope has at most one holder, because two holders would overwrite each other's work.
    async fn a_scope_has_one_holder_until_it_is_given_back_or_runs_out(app: &mut TestApp) {
        let api = app.agent();
        let (one, two) = (As(&api, "test-agent/1"), As(&api, "test-agent/2"));
        let intent = api.active_intent().await;
        let lease = one.acquire(intent, "report", 300).await.ok();
        assert_eq!(lease, json!({
            "id": lease["id"], "intent_id": intent, "agent_id": "test-agent/1", "scope": "report", "status": "active",
            "acquired_at": "2026-11-24T08:00:00.000000", "created_at": "2026-11-24T08:00:00.000000",
            "expires_at": "2026-11-24T08:05:00.000000", "released_at": null, "duration_seconds": 300,
        }));
        let refused = two.acquire(intent, "report", 300).await;
        assert_eq!(refused.problem(), (409, "lease_conflict"));
        assert_eq!(refused.body["existing_lease"]["agent_id"], json!("test-agent/1"));
        assert!(refused.body["detail"].as_str().unwrap().contains("lease")); // The Python client looks for this word.
        two.acquire(intent, "other", 300).await.ok();
        // A holder that acquires its lease again prolongs it and gets no second lease.
        app.advance(60).await;
        assert_eq!(one.acquire(intent, "report", 300).await.ok()["id"], lease["id"]);
        assert_eq!(listed(&api, intent).await, [held("test-agent/1", "08:06:00"), held("test-agent/2", "08:05:00")]);

        assert_eq!(two.release(intent, &lease).await.problem(), (404, "not_found"));
        assert_eq!(two.renew(intent, &lease, 300).await.problem(), (404, "not_found"));
        assert_eq!(one.release(intent, &lease).await.ok(), json!({"message": "Lease released"}));
        assert_eq!(one.release(intent, &lease).await.problem(), (404, "not_found"));
        let lease = two.acquire(intent, "report", 300).await.ok();

        app.advance(299).await;
        assert_eq!(one.acquire(intent, "report", 300).await.problem(), (409, "lease_conflict"));
        app.advance(1).await;
        one.acquire(intent, "report", 300).await.ok();
        assert_eq!(two.renew(intent, &lease, 300).await.field_problem(), (422, "invalid", "lease_id", "expired"));
    }

    /// Each bound of a lease, with the field that the error names.
    async fn a_lease_has_a_scope_and_a_length_within_bounds(app: &mut TestApp) {
        let api = app.agent();
        let agent = As(&api, "test-agent");
        let intent = api.active_intent().await;
        let path = format!("api/v1/intents/{intent}/leases");
        for (body, field) in [
            (json!({}), "scope"), (json!({"scope": ""}), "scope"), (json!({"scope": "x".repeat(201)}), "scope"),
            (json!({"scope": 1}), "scope"), (json!({"scope": "s", "duration_seconds": 0}), "duration_seconds"),
            (json!({"scope": "s", "duration_seconds": 86_401}), "duration_seconds"),
            (json!({"scope": "s", "duration_seconds": -1}), "duration_seconds"),
        ] {
            let refused = api.post(&path, body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field));
        }
        assert_eq!(api.events(intent).await.len(), 1);
        agent.acquire(intent, &"ä".repeat(200), 86_400).await.ok();
        let lease = api.post(&path, json!({"scope": "s"})).await.ok(); // The default is five minutes.
        assert_eq!((&lease["agent_id"], &lease["expires_at"]), (&json!("test-agent"), &json!("2026-11-24T08:05:00.000000")));
        assert_eq!(agent.renew(intent, &lease, 86_401).await.field_problem().2, "duration_seconds");
        for unknown in ["x", "019ab0f2-0000-7000-8000-000000000000"] {
            assert_eq!(agent.renew(intent, &json!({"id": unknown}), 60).await.problem(), (404, "not_found"));
        }
    }

    /// `X-Agent-ID` is only a claim: a key acts for its own name and the names below it. Otherwise the header would be a master
    /// key.
    async fn a_key_cannot_act_for_agents_that_are_not_its_own(app: &mut TestApp) {
        let api = app.agent();
        let intent = api.active_intent().await;
        for (claimed, counts) in [
            ("test-agent", "test-agent"), ("test-agent/1", "test-agent/1"), ("test-agent/a/b", "test-agent/a/b"),
            ("other", "test-agent"), ("test-agent2", "test-agent"), ("test-agent/", "test-agent"), ("", "test-agent"),
        ] {
            let lease = As(&api, claimed).acquire(intent, &format!("scope of {claimed}"), 60).await.ok();
            assert_eq!(lease["agent_id"], json!(counts), "{claimed}");
        }
    }

    /// Only the holder may patch a leased part of the state. A patch by another agent would be the lost update that the lease
    /// prevents.
    async fn a_leased_part_of_the_state_is_written_by_its_holder_only(app: &mut TestApp) {
        let api = app.agent();
        let (one, two) = (As(&api, "test-agent/1"), As(&api, "test-agent/2"));
        let intent = api.active_intent().await;
        one.acquire(intent, "report", 300).await.ok();
        let before = api.everything(intent).await;
        for path in ["report", "/report", "//report/", "report/title", "report//a/b"] {
            assert_eq!(two.patch(intent, path).await.problem(), (409, "lease_conflict"), "{path}");
        }
        assert_eq!(api.everything(intent).await, before);
        for path in ["reports", "other/report", "rep"] {
            two.patch(intent, path).await.ok();
        }
        one.patch(intent, "report/title").await.ok();
        let id = api.asked(intent).await;
        assert_eq!(two.patch(intent, "report").await.problem(), (409, "lease_conflict"));
        app.advance(1000).await; // A lease does not run out while the question is open.
        assert_eq!(two.patch(intent, "report").await.problem(), (409, "lease_conflict"));
        one.patch(intent, "report/title").await.ok();
        app.operator().respond(intent, &id, "deny").await.ok();
        app.advance(300).await;
        two.patch(intent, "report").await.ok();
    }

    /// RFC-0025 §2: the holder keeps its lease however long the person takes, and no other agent gets it meanwhile.
    async fn a_suspension_keeps_leases_and_gives_none_away(app: &mut TestApp) {
        let api = app.agent();
        let (one, two) = (As(&api, "test-agent/1"), As(&api, "test-agent/2"));
        let intent = api.active_intent().await;
        let lease = one.acquire(intent, "report", 300).await.ok();
        let id = api.suspend(intent, json!({"timeout_seconds": 86_400})).await.ok()["id"].as_str().unwrap().to_owned();
        assert_eq!(two.acquire(intent, "report", 60).await.problem(), (409, "lease_conflict"));
        assert_eq!(two.acquire(intent, "free", 60).await.problem(), (409, "lease_while_suspended"));
        assert_eq!(one.acquire(intent, "free", 60).await.problem(), (409, "lease_while_suspended"));

        app.advance(3600).await; // This is long after the lease would have run out.
        app.restart().await;
        assert_eq!(two.acquire(intent, "report", 60).await.problem(), (409, "lease_conflict"));
        assert_eq!(listed(&api, intent).await, [held("test-agent/1", "08:05:00")]); // The lease is still held.
        assert_eq!(two.renew(intent, &lease, 60).await.problem(), (404, "not_found"));
        let renewed = one.renew(intent, &lease, 600).await.ok();
        assert_eq!((&renewed["status"], &renewed["expires_at"]), (&json!("active"), &json!("2026-11-24T09:10:00.000000")));

        app.advance(3600).await;
        app.operator().respond(intent, &id, "approve").await.ok();
        assert_eq!(listed(&api, intent).await, [held("test-agent/1", "10:10:00")]); // It ends one duration from now.
        assert_eq!(two.acquire(intent, "report", 60).await.problem(), (409, "lease_conflict"));
        app.advance(600).await;
        two.acquire(intent, "report", 60).await.ok();
    }

    /// However a suspension ends, the holder's lease is prolonged and never shortened: its end becomes
    /// `max(old, now + duration)`.
    async fn the_end_of_a_suspension_prolongs_and_never_shortens(app: &mut TestApp) {
        let (api, operator) = (app.agent(), app.operator());
        let one = As(&api, "test-agent/1");
        for (ending, status) in [("answer", "active"), ("cancel", "active"), ("supersede", "suspended_awaiting_input"), ("expire", "active")] {
            let intent = api.active_intent().await;
            one.acquire(intent, "short", 60).await.ok();
            one.acquire(intent, "long", 7200).await.ok();
            let question = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny", "timeout_seconds": 600});
            let id = api.suspend(intent, question).await.ok()["id"].as_str().unwrap().to_owned();
            app.settle().await;
            app.advance(if ending == "expire" { 600 } else { 500 }).await;
            match ending {
                "answer" => drop(operator.respond(intent, &id, "deny").await.ok()),
                "cancel" => drop(api.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok()),
                "supersede" => drop(api.suspend(intent, json!({"supersedes": id})).await.ok()),
                _ => {}
            }
            assert_eq!(api.status(intent).await, status, "{ending}");
            let leases = api.get(&format!("api/v1/intents/{intent}/leases")).await.ok();
            let end = |index: usize| leases["leases"][index]["expires_at"].as_str().unwrap().parse::<chrono::NaiveDateTime>().unwrap();
            let start = api.intent(intent).await["created_at"].as_str().unwrap().parse::<chrono::NaiveDateTime>().unwrap();
            let waited = if ending == "expire" { 600 } else { 500 };
            assert_eq!((end(0) - start).num_seconds(), waited + 60, "{ending}");
            // The longer lease is prolonged as well: time has passed since it was acquired, so its old end is before now plus
            // its duration.
            assert_eq!((end(1) - start).num_seconds(), waited + 7200, "{ending}");
        }
    }

    /// A lease that had run out before the question was asked stays expired, since its scope may have a new holder.
    async fn a_suspension_never_revives_a_lease_that_had_run_out(app: &mut TestApp) {
        let api = app.agent();
        let (one, two) = (As(&api, "test-agent/1"), As(&api, "test-agent/2"));
        let intent = api.active_intent().await;
        let old = one.acquire(intent, "report", 60).await.ok();
        app.advance(60).await;
        two.acquire(intent, "report", 60).await.ok();
        let id = api.asked(intent).await;
        let expired = ("test-agent/1".to_owned(), "expired".to_owned(), "2026-11-24T08:01:00.000000".to_owned());
        assert_eq!(listed(&api, intent).await, [expired.clone(), held("test-agent/2", "08:02:00")]);
        assert_eq!(one.renew(intent, &old, 60).await.field_problem(), (422, "invalid", "lease_id", "expired"));
        assert_eq!(one.patch(intent, "report").await.problem(), (409, "lease_conflict"));
        two.patch(intent, "report").await.ok();
        app.advance(600).await;
        app.operator().respond(intent, &id, "deny").await.ok();
        assert_eq!(listed(&api, intent).await, [expired, held("test-agent/2", "08:12:00")]);
        assert_eq!(one.acquire(intent, "report", 60).await.problem(), (409, "lease_conflict"));
    }

    /// The list of leases is wrapped in an object, because the Python client raises on a bare list. Leases that were given
    /// back are not in it. Every caller who may read the intent may read its list of leases.
    async fn the_list_is_wrapped_and_leaves_out_what_was_given_back(app: &mut TestApp) {
        let api = app.agent();
        let agent = As(&api, "test-agent");
        let intent = api.active_intent().await;
        let path = format!("api/v1/intents/{intent}/leases");
        assert_eq!(api.get(&path).await.ok(), json!({"leases": []}));
        let lease = agent.acquire(intent, "a", 60).await.ok();
        agent.acquire(intent, "b", 60).await.ok();
        agent.release(intent, &lease).await.ok();
        let listed = app.api(Role::Auditor).get(&path).await.ok();
        assert_eq!(listed["leases"].as_array().unwrap().len(), 1);
        assert_eq!(api.event_types(intent).await[1..], ["lease_acquired", "lease_acquired", "lease_released"]);
        for role in [Role::Operator, Role::Admin, Role::Auditor, Role::Channel] {
            assert_eq!(As(&app.api(role), "test-agent").acquire(intent, "c", 60).await.problem(), (403, "forbidden"));
        }
    }
}
