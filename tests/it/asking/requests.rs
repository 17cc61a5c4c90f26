//! Requests to people that do not suspend the intent: approvals, escalations, arbitrations.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

fn approvals(intent: IntentId) -> String {
    format!("api/v1/intents/{intent}/approvals")
}

async fn ask(agent: &Api, intent: IntentId) -> Value {
    agent.post(&approvals(intent), json!({"action": "pay", "reason": "it is due", "context": {"amount": 5}})).await.ok()
}

async fn decide(api: &Api, intent: IntentId, approval: &Value, word: &str) -> Reply {
    api.post(&format!("{}/{}/{word}", approvals(intent), approval["id"].as_str().unwrap()), json!({})).await
}

/// The one link that people were sent about a request.
async fn link(app: &TestApp) -> String {
    app.settle().await;
    app.next_link().await
}

on_each_store! {
    /// An intent can have several open requests for approval at once. The intent goes on as if they were not there.
    async fn an_approval_leaves_the_intent_as_it_is(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let before = agent.intent(intent).await;
        let (first, second) = (ask(&agent, intent).await, ask(&agent, intent).await);
        let expected = json!({
            "id": first["id"], "intent_id": intent, "requested_by": "test-agent", "action": "pay", "reason": "it is due",
            "context": {"amount": 5}, "status": "pending", "intent_version": 1, "created_at": "2026-11-24T08:00:00.000000",
            "expires_at": first["expires_at"], "decided_at": null, "decided_by": null, "decision_notes": null,
        });
        assert_eq!(first, expected);
        let mut now = agent.intent(intent).await;
        now["updated_at"] = before["updated_at"].clone();
        assert_eq!(now, before);
        // A question suspends the intent, unlike the two requests. Its answer ends only the question, not the requests.
        let question = agent.asked(intent).await;
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        app.restart().await;
        let (agent, operator) = (app.agent(), Api::new(&app.base, Some(operator.key())));
        let approved = decide(&operator, intent, &first, "approve").await.ok();
        assert_eq!((&approved["status"], &approved["decided_by"]), (&json!("approved"), &json!("test-operator")));
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        operator.respond(intent, &question, "approve").await.ok();
        assert_eq!(agent.status(intent).await, "active");
        assert_eq!(decide(&operator, intent, &second, "deny").await.ok()["status"], "denied");
        let listed = agent.get(&approvals(intent)).await.ok();
        let states: Vec<&Value> = listed["approvals"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
        assert_eq!(states, ["denied", "approved"]);
        let types = agent.event_types(intent).await;
        let count = |name: &str| types.iter().filter(|one| *one == name).count();
        assert_eq!((count("governance.approval_requested"), count("governance.approval_granted"), count("governance.approval_denied")), (2, 1, 1));
        assert_eq!((count("intent.suspended"), count("intent.resumed"), count("status_changed")), (1, 1, 2));
        let granted = agent.events(intent).await.into_iter().find(|event| event["event_type"] == "governance.approval_granted").unwrap();
        assert_eq!((&granted["payload"]["approval_id"], &granted["payload"]["decision"]), (&first["id"], &json!("approved")));
    }

    /// An agent must not get its own request approved by its own side: by its key, by other keys of its owner or of the intent's
    /// creator, or by a gateway that answers in an agent's name.
    async fn no_asker_decides_its_own_request(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for assigned in ["helper", "other-bot"] {
            agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": assigned})).await.ok();
        }
        let helper = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "helper", "team-h").await));
        // Meanwhile the creator of the intent has a question open. Its asker must not be taken for the asker of the approval.
        agent.asked(intent).await;
        let approval = ask(&helper, intent).await;
        let before = agent.everything(intent).await;
        let mates = [Role::Operator, Role::Admin];
        for (index, role) in mates.into_iter().enumerate() {
            for owner in ["team-h", "test-agent"] {
                let mate = Api::new(&app.base, Some(&app.new_key_of(role, &format!("mate-{index}-{owner}"), owner).await));
                assert_eq!(decide(&mate, intent, &approval, "approve").await.problem(), (403, "self_response"), "{role} {owner}");
            }
        }
        for api in [&agent, &helper] {
            assert_eq!(decide(api, intent, &approval, "approve").await.problem(), (403, "self_response"));
            assert_eq!(api.respond(intent, approval["id"].as_str().unwrap(), "approve").await.problem(), (403, "self_response"));
        }
        assert_eq!(decide(&app.api(Role::Auditor), intent, &approval, "approve").await.problem(), (403, "forbidden"));
        let gateway = app.api(Role::Channel);
        let path = format!("{}/{}/approve", approvals(intent), approval["id"].as_str().unwrap());
        let admin = app.api(Role::Admin);
        // A gateway must not name an agent as the person who decides, so these keys give agents more names: a subject, and a
        // second agent that works on the intent. Names below an agent's name are refused as well.
        admin.post("api/v1/keys", json!({"role": "agent", "name": "helper", "subject": "helper-bot", "owner": "team-h"})).await.ok();
        admin.post("api/v1/keys", json!({"role": "agent", "name": "other", "subject": "other-bot"})).await.ok();
        let names = ["helper", "helper-bot", "Helper-Bot", "h\u{435}lper", "helper/planner", "helper-bot/x", "other", "other-bot", "test-agent", "team-h"];
        for name in names {
            assert_eq!(gateway.post(&path, json!({"decided_by": name})).await.problem(), (403, "self_response"), "{name}");
        }
        assert_eq!(gateway.post(&path, json!({})).await.field_problem().2, "responded_by");
        assert_eq!(agent.everything(intent).await, before);
        assert_eq!(gateway.post(&path, json!({"decided_by": "bob@example.com", "reason": "fine"})).await.ok()["decided_by"], "bob@example.com");
    }

    /// Nothing is left to decide about an intent that has ended: people are not asked any more, and no yes comes after the end.
    async fn requests_end_with_their_intent(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for end in ["abandoned", "completed", "expired"] {
            let intent = agent.active_intent().await;
            let approval = ask(&agent, intent).await;
            let escalation = agent.post(&format!("api/v1/intents/{intent}/escalations"), json!({"reason": "r"})).await.ok();
            if end == "expired" {
                agent.suspend(intent, json!({"timeout_seconds": 60})).await.ok();
                app.advance(60).await;
                assert_eq!(agent.status(intent).await, "abandoned");
            } else {
                let path = format!("api/v1/intents/{intent}/status");
                agent.post_at(&path, "1", json!({"status": end})).await.ok();
            }
            let one = format!("{}/{}", approvals(intent), approval["id"].as_str().unwrap());
            assert_eq!(agent.get(&one).await.ok()["status"], "cancelled", "{end}");
            assert_eq!(decide(&operator, intent, &approval, "approve").await.problem(), (409, "already_resolved"), "{end}");
            let remind = format!("api/v1/suspensions/{}/remind", escalation["id"].as_str().unwrap());
            assert_eq!(operator.post(&remind, json!({})).await.problem(), (409, "already_resolved"), "{end}");
            let cancelled = agent.event_types(intent).await.iter().filter(|one| *one == "intent.suspension_cancelled").count();
            assert_eq!(cancelled, 2, "{end}");
        }
        app.settle().await;
    }

    /// The routes for approvals find approvals of the named intent only: no question, no escalation, nothing of other intents.
    async fn an_approval_is_found_on_its_own_intent_only(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, other) = (agent.active_intent().await, agent.active_intent().await);
        let approval = ask(&agent, intent).await;
        let question = json!({"id": agent.asked(intent).await});
        let escalation = agent.post(&format!("api/v1/intents/{intent}/escalations"), json!({"reason": "r"})).await.ok();
        for (intent, id) in [(other, &approval), (intent, &question), (intent, &escalation), (intent, &json!({"id": "nonexistent-id"}))] {
            assert_eq!(decide(&operator, intent, id, "approve").await.problem(), (404, "not_found"), "{id}");
            let one = format!("{}/{}", approvals(intent), id["id"].as_str().unwrap());
            assert_eq!(agent.get(&one).await.problem(), (404, "not_found"), "{id}");
        }
        for id in [&approval, &question] {
            let path = format!("api/v1/escalations/{}/resolve", id["id"].as_str().unwrap());
            assert_eq!(operator.post(&path, json!({"resolution": "approve"})).await.problem(), (404, "not_found"));
        }
        let foreign = Api::new(&app.base, Some(&app.new_key(Role::Agent, "foreign").await));
        let one = format!("{}/{}", approvals(intent), approval["id"].as_str().unwrap());
        for path in [one, approvals(intent), format!("api/v1/escalations?intent_id={intent}")] {
            assert_eq!(foreign.get(&path).await.problem(), (404, "not_found"), "{path}");
        }
        assert_eq!(foreign.get("api/v1/escalations").await.ok(), json!({"escalations": []}));
        decide(&operator, intent, &approval, "approve").await.ok();
        for word in ["approve", "deny"] {
            assert_eq!(decide(&operator, intent, &approval, word).await.problem(), (409, "already_resolved"));
        }
    }

    /// People decide about an approval by the link in their mail. If no one answers, nothing is decided, and the intent does
    /// not change.
    async fn an_approval_is_mailed_answered_and_expires_like_a_question(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let approval = ask(&agent, intent).await;
        let link = link(app).await;
        let mut person = app.person();
        let page = person.open(&link).await;
        assert!(page.html.contains("Approve this action? pay") && page.html.contains("Deny"), "{}", page.html);
        person.answer(&link, "approve").await;
        let one = format!("{}/{}", approvals(intent), approval["id"].as_str().unwrap());
        let decided = agent.get(&one).await.ok();
        assert_eq!((&decided["status"], &decided["decided_by"]), (&json!("approved"), &json!("ops@example.com")));
        assert_eq!(agent.status(intent).await, "active");
    }

    async fn requests_are_bounded_and_checked(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (escalations, arbitrate) = (format!("api/v1/intents/{intent}/escalations"), format!("api/v1/intents/{intent}/arbitrate"));
        let long = |count: usize| "x".repeat(count);
        for (path, body, field) in [
            (approvals(intent), json!({"action": long(201)}), "action"), (approvals(intent), json!({"action": "a", "reason": long(1_001)}), "reason"),
            (approvals(intent), json!({"action": "a", "requested_by": long(201)}), "requested_by"),
            (approvals(intent), json!({"action": "a", "context": {"k": long(66_000)}}), "context"),
            (escalations.clone(), json!({"reason": long(1_001)}), "reason"), (escalations.clone(), json!({"reason": "r", "priority": "now"}), "priority"),
            (escalations.clone(), json!({"reason": "r", "urgency": ""}), "urgency"), (arbitrate.clone(), json!({"reason": long(1_001)}), "reason"),
            (arbitrate.clone(), json!({}), "reason"), (approvals(intent), json!({"action": " \u{200b}"}), "action"),
            (escalations.clone(), json!({"reason": "\u{2800}\n"}), "reason"),
            // These members have no effect here. They are refused, because an agent that sends one relies on its effect.
            (approvals(intent), json!({"action": "a", "approvers": ["boss@example.com"]}), "approvers"),
            (approvals(intent), json!({"action": "a", "timeout_seconds": 5}), "timeout_seconds"),
            (escalations.clone(), json!({"reason": "r", "notify_to": "boss@example.com"}), "notify_to"),
        ] {
            assert_eq!(agent.post(&path, body).await.field_problem().2, field, "{path}");
        }
        for index in 0..20 {
            let body = if index == 0 { json!({"action": long(200), "reason": long(1_000)}) } else { json!({"action": "a"}) };
            agent.post(&approvals(intent), body).await.ok();
        }
        assert_eq!(agent.post(&approvals(intent), json!({"action": "a"})).await.problem(), (422, "invalid"));
        assert_eq!(agent.post(&arbitrate, json!({"reason": "r"})).await.problem(), (422, "invalid"));
        // The asker withdraws an approval, and the intent does not change.
        let listed = agent.get(&approvals(intent)).await.ok();
        let id = listed["approvals"][0]["id"].as_str().unwrap();
        agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        assert_eq!(agent.get(&format!("{}/{id}", approvals(intent))).await.ok()["status"], "cancelled");
        assert_eq!(agent.status(intent).await, "active");
        let once = agent.post_once(&arbitrate, "one", json!({"reason": long(1_000)})).await.ok();
        assert_eq!(agent.post_once(&arbitrate, "one", json!({"reason": long(1_000)})).await.ok()["id"], once["id"]);
        let version = agent.intent(intent).await["version"].to_string();
        agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "completed"})).await.ok();
        assert_eq!(agent.post(&approvals(intent), json!({"action": "a"})).await.problem(), (409, "not_active"));
    }

    /// An escalation is resolved by a person, in words.
    async fn an_escalation_is_listed_and_resolved(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let body = json!({"reason": "the bank refuses", "priority": "high", "urgency": "low", "escalated_by": "test-agent/7"});
        let escalation = agent.post(&format!("api/v1/intents/{intent}/escalations"), body).await.ok();
        assert_eq!((&escalation["escalated_by"], &escalation["status"]), (&json!("test-agent/7"), &json!("pending")));
        for query in ["", "?status=pending", &format!("?intent_id={intent}&status=pending")] {
            assert_eq!(agent.get(&format!("api/v1/escalations{query}")).await.ok()["escalations"], json!([escalation]), "{query}");
        }
        let resolve = format!("api/v1/escalations/{}/resolve", escalation["id"].as_str().unwrap());
        assert_eq!(agent.post(&resolve, json!({"resolution": "go on"})).await.problem(), (403, "self_response"));
        assert_eq!(operator.post(&resolve, json!({"resolution": ""})).await.status, 422);
        assert_eq!(operator.post(&resolve, json!({"resolution": "x", "notes": "n".repeat(2_001)})).await.field_problem().2, "notes");
        let resolved = operator.post(&resolve, json!({"resolution": "use the other account", "notes": "as agreed", "resolved_by": "test-agent"})).await.ok();
        assert_eq!(
            (&resolved["status"], &resolved["resolution"], &resolved["resolved_by"], &resolved["resolution_notes"]),
            (&json!("resolved"), &json!("use the other account"), &json!("test-operator"), &json!("as agreed"))
        );
        assert_eq!(agent.get("api/v1/escalations?status=resolved").await.ok()["escalations"], json!([resolved]));
        assert_eq!(agent.get("api/v1/escalations?status=pending").await.ok()["escalations"], json!([]));
        let arbitration = agent.post(&format!("api/v1/intents/{intent}/arbitrate"), json!({"reason": "two agents"})).await.ok();
        assert_eq!((&arbitration["requester_id"], &arbitration["status"]), (&json!("test-agent"), &json!("pending")));
        operator.respond(intent, arbitration["id"].as_str().unwrap(), "the first one").await.ok();
        assert_eq!(agent.status(intent).await, "active");
        let types = agent.event_types(intent).await;
        assert!(types.ends_with(&["arbitration_requested".into(), "arbitration_resolved".into()]), "{types:?}");
    }
}
