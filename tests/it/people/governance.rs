//! The policy of an intent: who may set it, and what it forbids.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

fn path(intent: IntentId) -> String {
    format!("api/v1/intents/{intent}/governance")
}

async fn version(api: &Api, intent: IntentId) -> String {
    api.intent(intent).await["version"].to_string()
}

async fn set(api: &Api, intent: IntentId, policy: Value) -> Reply {
    let version = version(api, intent).await;
    api.send(api.request("PUT", &path(intent)).header("if-match", version).json(&policy)).await
}

async fn remove(api: &Api, intent: IntentId) -> Reply {
    let version = version(api, intent).await;
    api.send(api.request("DELETE", &path(intent)).header("if-match", version)).await
}

async fn move_to(api: &Api, intent: IntentId, body: Value) -> Reply {
    let version = version(api, intent).await;
    api.post_at(&format!("api/v1/intents/{intent}/status"), &version, body).await
}

async fn patch(api: &Api, intent: IntentId) -> Reply {
    let version = version(api, intent).await;
    api.post_at(&format!("api/v1/intents/{intent}/state"), &version, json!({"state": {"a": 1}})).await
}

async fn cost(api: &Api, intent: IntentId, amount: Value) -> Reply {
    let body = json!({"cost_type": "tokens", "amount": amount, "unit": "tokens"});
    api.post(&format!("api/v1/intents/{intent}/costs"), body).await
}

/// The rule that a refused write broke; the body has it where the OpenIntent client looks for it.
fn broken(refused: &Reply) -> String {
    assert_eq!(refused.problem(), (403, "governance_violation"));
    let body: Value = serde_json::from_str(&refused.text).unwrap();
    assert_eq!((&body["detail"]["error"], &body["detail"]["rule"]), (&json!("governance_violation"), &body["rule"]));
    body["rule"].as_str().unwrap().to_owned()
}

/// Asks for the approval of completing, and answers with this word.
async fn approval(agent: &Api, operator: &Api, intent: IntentId, word: &str) -> Value {
    let approvals = format!("api/v1/intents/{intent}/approvals");
    let asked = agent.post(&approvals, json!({"action": "complete", "reason": "done"})).await.ok();
    operator.post(&format!("{approvals}/{}/{word}", asked["id"].as_str().unwrap()), json!({})).await.ok()
}

on_each_store! {
    /// If an agent could complete its intent without the approval that the policy demands of a person, it would approve its own
    /// work.
    async fn an_intent_is_completed_after_the_approval_of_what_it_is(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let body = json!({"title": "t", "status": "active", "governance_policy": {"completion_mode": "require_approval"}});
        let intent: IntentId = serde_json::from_value(agent.post("api/v1/intents", body).await.ok()["id"].clone()).unwrap();
        let complete = json!({"status": "completed"});
        assert_eq!(broken(&move_to(&agent, intent, complete.clone()).await), "completion_mode");
        approval(&agent, &operator, intent, "deny").await;
        assert_eq!(broken(&move_to(&agent, intent, complete.clone()).await), "completion_mode");
        // The answer `approve` to an ordinary question is no approval of the completion, and neither is an approval of something
        // else.
        let asked = agent.asked(intent).await;
        operator.respond(intent, &asked, "approve").await.ok();
        agent.post(&format!("api/v1/intents/{intent}/decisions"), json!({"decision_type": "approval", "outcome": "approve"})).await.ok();
        let approvals = format!("api/v1/intents/{intent}/approvals");
        let other = agent.post(&approvals, json!({"action": "completed"})).await.ok();
        operator.post(&format!("{approvals}/{}/approve", other["id"].as_str().unwrap()), json!({})).await.ok();
        assert_eq!(broken(&move_to(&agent, intent, complete.clone()).await), "completion_mode");
        // An approval is about the intent as the person saw it, so it does not count after a change.
        approval(&agent, &operator, intent, "approve").await;
        patch(&agent, intent).await.ok();
        assert_eq!(broken(&move_to(&agent, intent, complete.clone()).await), "completion_mode");
        approval(&agent, &operator, intent, "approve").await;
        app.restart().await;
        let agent = app.agent();
        move_to(&agent, intent, complete).await.ok();
        assert_eq!(agent.status(intent).await, "completed");
        // The completed intent cannot be changed any more, because the person approved it as it is.
        assert_eq!(broken(&patch(&agent, intent).await), "completion_mode");
        let violations: Vec<Value> = agent.events(intent).await.into_iter().filter(|event| event["event_type"] == "governance.violation").collect();
        assert_eq!(violations.len(), 5);
        assert_eq!(violations[0]["payload"]["rule"], "completion_mode");
    }

    /// Agents make a policy stricter, admins may loosen it, and no other role touches it.
    async fn an_agent_only_tightens_the_policy_of_its_own_intent(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        let intent = agent.active_intent().await;
        let shown = agent.get(&path(intent)).await.ok();
        let all = json!({"completion_mode": "auto", "write_scope": "any", "allowed_agents": [], "require_status_reason": false});
        assert_eq!(shown, json!({"intent_id": intent, "governance_policy": {}, "effective_policy": all}));
        let set_once = set(&agent, intent, json!({"completion_mode": "require_approval", "max_cost": 50})).await.ok();
        assert_eq!((&set_once["governance_policy"]["max_cost"], &set_once["version"]), (&json!(50), &json!(2)));
        for looser in [json!({}), json!({"completion_mode": "require_approval"}), json!({"completion_mode": "require_approval", "max_cost": 51})] {
            assert_eq!(set(&agent, intent, looser).await.problem(), (403, "forbidden"));
        }
        assert_eq!(remove(&agent, intent).await.problem(), (403, "forbidden"));
        // The same policy again changes nothing.
        let again = set(&agent, intent, json!({"completion_mode": "require_approval", "max_cost": 50})).await.ok();
        assert_eq!(again["version"], json!(2));
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        let strictest = json!({"completion_mode": "require_approval", "max_cost": 1});
        assert_eq!(helper.get(&path(intent)).await.problem(), (404, "not_found"));
        agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "helper"})).await.ok();
        assert_eq!(set(&helper, intent, strictest.clone()).await.problem(), (403, "forbidden"));
        app.restart().await;
        let (agent, admin) = (app.agent(), Api::new(&app.base, Some(admin.key())));
        for role in [Role::Operator, Role::Auditor, Role::Channel] {
            let api = app.api(role);
            let refused = api.send(api.request("PUT", &path(intent)).header("if-match", "2").json(&strictest)).await;
            assert_eq!(refused.problem(), (403, "forbidden"), "{role}");
        }
        let stale = agent.send(agent.request("PUT", &path(intent)).header("if-match", "1").json(&strictest)).await;
        assert_eq!(stale.problem(), (409, "version_conflict"));
        assert_eq!(agent.send(agent.request("PUT", &path(intent)).json(&strictest)).await.problem(), (400, "if_match_required"));
        set(&admin, intent, json!({"max_cost": 80})).await.ok();
        assert_eq!(remove(&admin, intent).await.ok()["governance_policy"], Value::Null);
        assert_eq!(
            agent.event_types(intent).await,
            ["intent_created", "governance.policy_set", "agent_assigned", "governance.policy_set", "governance.policy_removed"]
        );
    }

    /// Only assigned or allowed agents write, and only allowed ones are assigned.
    async fn a_policy_says_which_agents_write(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let agents = format!("api/v1/intents/{intent}/agents");
        set(&agent, intent, json!({"write_scope": "assigned_only"})).await.ok();
        let one = format!("api/v1/intents/{intent}");
        assert_eq!(broken(&patch(&agent, intent).await), "write_scope");
        assert_eq!(broken(&move_to(&agent, intent, json!({"status": "blocked"})).await), "write_scope");
        assert_eq!(broken(&agent.post(&format!("{one}/leases"), json!({"scope": "s"})).await), "write_scope");
        assert_eq!(broken(&cost(&agent, intent, json!(1)).await), "write_scope");
        // An agent that may no longer write cannot prolong a lease from before the policy. The creator, which may not write
        // either, cannot end another agent's assignment.
        let admin = app.api(Role::Admin);
        admin.post(&agents, json!({"agent_id": "helper"})).await.ok();
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        let held = helper.post(&format!("{one}/leases"), json!({"scope": "s"})).await.ok()["id"].clone();
        set(&agent, intent, json!({"write_scope": "assigned_only", "allowed_agents": ["test-agent"]})).await.ok();
        let renew = helper.request("PATCH", &format!("{one}/leases/{}", held.as_str().unwrap())).json(&json!({"duration_seconds": 60}));
        assert_eq!(broken(&helper.send(renew).await), "allowed_agents");
        let unassign = |api: &Api| api.request("DELETE", &format!("{agents}/helper"));
        assert_eq!(broken(&agent.send(unassign(&agent)).await), "write_scope");
        helper.send(unassign(&helper)).await.ok();
        set(&admin, intent, json!({"write_scope": "assigned_only"})).await.ok();
        // People are asked whatever the policy says.
        let asked = agent.asked(intent).await;
        app.operator().respond(intent, &asked, "approve").await.ok();
        // An agent that may not write because it is not assigned cannot assign itself.
        assert_eq!(broken(&agent.post(&agents, json!({"agent_id": "test-agent"})).await), "write_scope");
        admin.post(&agents, json!({"agent_id": "test-agent"})).await.ok();
        patch(&agent, intent).await.ok();
        set(&agent, intent, json!({"write_scope": "assigned_only", "allowed_agents": ["test-agent"]})).await.ok();
        assert_eq!(broken(&agent.post(&agents, json!({"agent_id": "helper"})).await), "allowed_agents");
        patch(&agent, intent).await.ok();
        set(&agent, intent, json!({"write_scope": "assigned_only", "allowed_agents": ["test-agent"], "require_status_reason": true})).await.ok();
        for reason in [Value::Null, json!(""), json!(" \u{200b}")] {
            assert_eq!(broken(&move_to(&agent, intent, json!({"status": "blocked", "reason": reason})).await), "require_status_reason");
        }
        move_to(&agent, intent, json!({"status": "blocked", "reason": "waits for a part"})).await.ok();
    }

    /// The costs of an intent stay within its policy. A negative cost does not make room for further costs.
    async fn costs_stay_within_the_policy(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        cost(&agent, intent, json!(0.1)).await.ok();
        set(&agent, intent, json!({"max_cost": 0.3})).await.ok();
        cost(&agent, intent, json!(0.1)).await.ok();
        cost(&agent, intent, json!(0.1)).await.ok();
        assert_eq!(broken(&cost(&agent, intent, json!(0.01)).await), "max_cost");
        cost(&agent, intent, json!(-5)).await.ok();
        assert_eq!(broken(&cost(&agent, intent, json!(0.01)).await), "max_cost");
        cost(&agent, intent, json!(0)).await.ok();
        // The store keeps the sum of the costs only while a policy limits them, but costs from before that policy count as well.
        remove(&app.api(Role::Admin), intent).await.ok();
        cost(&agent, intent, json!(1)).await.ok();
        app.restart().await;
        let agent = app.agent();
        set(&agent, intent, json!({"max_cost": 2})).await.ok();
        assert_eq!(broken(&cost(&agent, intent, json!(0.8)).await), "max_cost");
        cost(&agent, intent, json!(0.7)).await.ok();
        assert_eq!(broken(&cost(&agent, intent, json!(0.01)).await), "max_cost");
    }

    async fn a_policy_that_is_not_enforced_is_refused(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let before = agent.everything(intent).await;
        for (policy, field) in [
            (json!({"completion_mode": "quorum"}), "completion_mode"), (json!({"quorum_threshold": 0.5}), "quorum_threshold"),
            (json!({"allowed_agents": vec!["a"; 101]}), "allowed_agents"), (json!({"max_cost": -1}), "max_cost"),
            (json!({"veto": true}), "veto"),
        ] {
            assert_eq!(set(&agent, intent, policy.clone()).await.field_problem().2, field);
            let created = agent.post("api/v1/intents", json!({"title": "t", "governance_policy": policy})).await;
            assert_eq!(created.field_problem().2, format!("governance_policy.{field}"));
        }
        assert_eq!(agent.send(agent.request("PUT", &path(intent)).header("if-match", "1").body("[1]").header("content-type", "application/json")).await.status, 422);
        assert_eq!(agent.everything(intent).await, before);
        set(&agent, intent, json!({"allowed_agents": vec!["test-agent"; 100]})).await.ok();
    }
}
