//! Coordinators: the agents that direct the work of intents, within guardrails and under a supervisor.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use domain::asking::coordinating::{ALTERNATIVES_MAX, COORDINATOR_WORD_MAX, DECISION_TYPES};
use domain::base::clock::Clock;
use domain::base::ids::IntentId;
use domain::base::time::rfc3339;
use domain::container::coordinator::{
    CAPABILITIES_ALLOWED_MAX, GUARDRAIL_MAX, INTERVAL_SECONDS_DEFAULT, INTERVAL_SECONDS_MAX, INTERVAL_SECONDS_MIN,
};
use domain::people::principal::Role;
use domain::suspension::seeming::SeemingSecret;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

const COORDINATORS: &str = "api/v1/coordinators";
const INTENTS: &str = "api/v1/intents";
/// The time between two heartbeats, in seconds.
const INTERVAL: i64 = INTERVAL_SECONDS_DEFAULT as i64;

fn with(mut body: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

async fn take_as(api: &Api, name: &str, intent: IntentId, change: Value) -> Reply {
    api.post(COORDINATORS, with(json!({"agent_id": name, "intent_id": intent}), &change)).await
}

async fn take(api: &Api, intent: IntentId, change: Value) -> Reply {
    take_as(api, "test-agent", intent, change).await
}

async fn taken(api: &Api, intent: IntentId, change: Value) -> String {
    take(api, intent, change).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn read(api: &Api, id: &str) -> Value {
    api.get(&format!("{COORDINATORS}/{id}")).await.ok()
}

async fn state(api: &Api, id: &str) -> String {
    read(api, id).await["status"].as_str().unwrap().to_owned()
}

async fn heartbeat(api: &Api, id: &str) -> Reply {
    api.post(&format!("{COORDINATORS}/{id}/heartbeat"), json!({})).await
}

async fn helper(app: &TestApp, intent: IntentId) -> Api {
    let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
    app.agent().post(&format!("{INTENTS}/{intent}/agents"), json!({"agent_id": "helper"})).await.ok();
    helper
}

async fn task(api: &Api, intent: IntentId, change: Value) -> Reply {
    api.post("api/v1/tasks", with(json!({"intent_id": intent, "name": "Check the invoice"}), &change)).await
}

async fn task_id(api: &Api, intent: IntentId, change: Value) -> String {
    task(api, intent, change).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn plan(api: &Api, intent: IntentId, tasks: &[&String]) -> Reply {
    api.post("api/v1/plans", json!({"intent_id": intent, "tasks": tasks})).await
}

async fn claim(api: &Api, task: &str) -> Reply {
    api.post(&format!("api/v1/tasks/{task}/claim"), json!({})).await
}

/// The guardrail, its limit and the value that a refused command would have brought.
fn violated(refused: &Reply) -> [&str; 3] {
    assert_eq!(refused.problem(), (403, "guardrail_violation"));
    ["guardrail", "limit", "attempted"].map(|name| refused.body[name].as_str().unwrap())
}

async fn of_coordinators(api: &Api, intent: IntentId) -> Vec<String> {
    api.event_types(intent).await.into_iter().filter(|event_type| event_type.starts_with("coordinator.")).collect()
}

async fn set_status(api: &Api, intent: IntentId, status: &str) {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("{INTENTS}/{intent}/status"), &version, json!({"status": status, "reason": "test"})).await.ok();
}

async fn needing(api: &Api, title: &str, needed: IntentId) -> IntentId {
    let body = json!({"title": title, "status": "active", "depends_on": [needed]});
    api.post(INTENTS, body).await.ok()["id"].as_str().unwrap().parse().unwrap()
}

async fn lease(api: &Api, intent: IntentId) -> Reply {
    api.post(&format!("{INTENTS}/{intent}/leases"), json!({"scope": "work", "duration_seconds": 60})).await
}

on_each_store! {
    /// One agent at a time directs an intent. The agent that has the lease gets it again, and another agent is told which one has it.
    async fn one_agent_directs_an_intent(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let granted = take(&agent, intent, json!({"supervisor_id": "cto", "metadata": {"team": "billing"}})).await.ok();
        let id = granted["id"].as_str().unwrap().to_owned();
        assert_eq!(
            json!([granted["status"], granted["agent_id"], granted["role"], granted["scope"], granted["coordinator_type"], granted["suspension_policy"], granted["supervisor_id"], granted["heartbeat_interval_seconds"], granted["metadata"], granted["version"], granted["portfolio_id"], granted["expires_at"]]),
            json!(["active", "test-agent", "coordinator", "intent", "llm", "isolate", "cto", 60, {"team": "billing"}, 1, null, null])
        );
        assert_eq!(
            granted["guardrails"],
            json!({"max_tasks_per_plan": 20, "max_concurrent_tasks": 10, "max_delegation_depth": 3, "max_plan_versions": 5, "allowed_capabilities": null, "requires_plan_review": false})
        );
        app.restart().await;
        let (agent, helper) = (app.agent(), helper(app, intent).await);
        let before = agent.everything(intent).await;
        assert_eq!(take(&agent, intent, json!({"role": "another"})).await.ok(), granted);
        let refused = take_as(&helper, "helper", intent, json!({})).await;
        assert_eq!(refused.problem(), (409, "coordinator_conflict"));
        assert_eq!(
            (&refused.body["existing_lease"]["id"], &refused.body["existing_lease"]["agent_id"]),
            (&granted["id"], &json!("test-agent"))
        );
        assert_eq!(take_as(&helper, "test-agent", intent, json!({})).await.problem(), (403, "forbidden"));
        assert_eq!(heartbeat(&helper, &id).await.problem(), (403, "forbidden"));
        assert_eq!(agent.everything(intent).await, before);
        assert_eq!(read(&helper, &id).await, granted);
        assert_eq!(agent.get(&format!("{INTENTS}/{intent}/coordinators")).await.ok(), json!([granted]));
        let foreign = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "foreign", "others").await));
        for reply in [foreign.get(&format!("{COORDINATORS}/{id}")).await, heartbeat(&foreign, &id).await, take_as(&foreign, "foreign", intent, json!({})).await] {
            assert_eq!(reply.problem(), (404, "not_found"));
        }
        for role in [Role::Operator, Role::Admin, Role::Auditor] {
            assert_eq!(heartbeat(&app.api(role), &id).await.problem(), (403, "forbidden"));
        }
    }

    /// A coordinator that misses two heartbeats is unresponsive, and one that misses three more loses its lease to any other agent.
    async fn a_silent_coordinator_loses_its_lease(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = helper(app, intent).await;
        let id = taken(&agent, intent, json!({})).await;
        app.advance(INTERVAL / 2 - 1).await;
        heartbeat(&agent, &id).await.ok();
        assert_eq!(of_coordinators(&agent, intent).await, ["coordinator.granted"]);
        app.advance(1).await;
        let beaten = heartbeat(&agent, &id).await.ok();
        assert_eq!(beaten["status"], "ok");
        assert_eq!(of_coordinators(&agent, intent).await, ["coordinator.granted", "coordinator.heartbeat"]);
        app.advance(2 * INTERVAL - 1).await;
        assert_eq!(state(&agent, &id).await, "active");
        app.advance(1).await;
        assert_eq!(state(&agent, &id).await, "unresponsive");
        assert_eq!(take_as(&helper, "helper", intent, json!({})).await.problem(), (409, "coordinator_conflict"));
        app.advance(3 * INTERVAL - 1).await;
        heartbeat(&agent, &id).await.ok();
        assert_eq!(state(&agent, &id).await, "active");
        app.restart().await;
        app.advance(2 * INTERVAL).await;
        app.advance(3 * INTERVAL - 1).await;
        let agent = app.agent();
        assert_eq!(state(&agent, &id).await, "unresponsive");
        app.advance(1).await;
        assert_eq!(state(&agent, &id).await, "failed_over");
        assert_eq!(heartbeat(&agent, &id).await.problem(), (409, "coordinator_ended"));
        app.advance(100 * INTERVAL).await;
        let second = take_as(&helper, "helper", intent, json!({})).await.ok();
        assert_ne!(second["id"], id.as_str());
        assert_eq!(heartbeat(&agent, &id).await.problem(), (409, "coordinator_ended"));
        assert_eq!(take(&agent, intent, json!({})).await.problem(), (409, "coordinator_conflict"));
        let types = of_coordinators(&agent, intent).await;
        assert_eq!(
            types[2..],
            ["coordinator.unresponsive", "coordinator.heartbeat", "coordinator.unresponsive", "coordinator.failed_over", "coordinator.granted"]
        );
        let listed = agent.get(&format!("{INTENTS}/{intent}/coordinators")).await.ok();
        assert_eq!(json!([listed[0]["status"], listed[1]["status"]]), json!(["failed_over", "active"]));
    }

    /// While the intent waits for a person, its coordinator loses nothing by silence or by time, and it has its whole time again
    /// afterwards.
    async fn no_lease_runs_out_while_a_person_is_asked(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let end = app.clock.now() + TimeDelta::seconds(3_000);
        let id = taken(&agent, intent, json!({"expires_at": rfc3339(end)})).await;
        app.advance(2 * INTERVAL - 1).await;
        let suspension = agent.suspend(intent, json!({"timeout_seconds": 86_400})).await.ok()["id"].as_str().unwrap().to_owned();
        app.advance(5_000).await;
        app.restart().await;
        app.advance(5_000).await;
        let agent = app.agent();
        assert_eq!(state(&agent, &id).await, "active");
        app.operator().respond(intent, &suspension, "approve").await.ok();
        // Its time has passed meanwhile, so it ends now, and not because it was silent.
        app.advance(0).await;
        assert_eq!(state(&agent, &id).await, "completed");
        let second = taken(&agent, intent, json!({})).await;
        app.advance(2 * INTERVAL).await;
        assert_eq!(state(&agent, &second).await, "unresponsive");
        let suspension = agent.asked(intent).await;
        app.advance(3 * INTERVAL - 1).await;
        app.operator().respond(intent, &suspension, "approve").await.ok();
        app.advance(3 * INTERVAL - 1).await;
        assert_eq!(state(&agent, &second).await, "unresponsive");
        app.advance(1).await;
        assert_eq!(state(&agent, &second).await, "failed_over");
        assert_eq!(
            of_coordinators(&agent, intent).await,
            ["coordinator.granted", "coordinator.ended", "coordinator.granted", "coordinator.unresponsive", "coordinator.failed_over"]
        );
    }

    /// A lease ends when its time has passed, and when its intent has ended.
    async fn a_lease_ends_with_its_time_or_its_intent(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let end = app.clock.now() + TimeDelta::seconds(100);
        let id = taken(&agent, intent, json!({"expires_at": rfc3339(end)})).await;
        app.advance(60).await;
        heartbeat(&agent, &id).await.ok();
        app.advance(39).await;
        assert_eq!(state(&agent, &id).await, "active");
        app.advance(1).await;
        assert_eq!(state(&agent, &id).await, "completed");
        let second = taken(&agent, intent, json!({})).await;
        set_status(&agent, intent, "completed").await;
        assert_eq!(take_as(&agent, "test-agent/other", intent, json!({})).await.problem(), (409, "intent_ended"));
        assert_eq!(heartbeat(&agent, &second).await.problem(), (409, "coordinator_ended"));
        assert_eq!(state(&agent, &second).await, "completed");
        let ended = agent.events(intent).await.pop().unwrap();
        assert_eq!((&ended["event_type"], &ended["payload"]["reason"]), (&json!("coordinator.ended"), &json!("intent_ended")));
    }

    /// The guardrails bind every agent, at their bounds, and outlast the lease that set them: a later lease only tightens them.
    async fn guardrails_hold_for_every_agent(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = helper(app, intent).await;
        let limits = json!({"max_tasks_per_plan": 2, "max_concurrent_tasks": 1, "max_delegation_depth": 1, "max_plan_versions": 2, "allowed_capabilities": ["pay", "read"]});
        taken(&agent, intent, json!({"guardrails": limits})).await;
        let tasks = [task_id(&agent, intent, json!({})).await, task_id(&helper, intent, json!({"capabilities_required": ["pay"]})).await, task_id(&agent, intent, json!({})).await];
        let before = agent.everything(intent).await;
        assert_eq!(violated(&plan(&helper, intent, &[&tasks[0], &tasks[1], &tasks[2]]).await), ["max_tasks_per_plan", "2", "3"]);
        assert_eq!(violated(&task(&helper, intent, json!({"capabilities_required": ["read", "deploy"]})).await), ["allowed_capabilities", "pay, read", "deploy"]);
        assert_eq!(agent.everything(intent).await, before);
        let first = plan(&agent, intent, &[&tasks[0], &tasks[1]]).await.ok()["id"].as_str().unwrap().to_owned();
        assert_eq!(violated(&task(&agent, intent, json!({"plan_id": first})).await), ["max_tasks_per_plan", "2", "3"]);
        plan(&agent, intent, &[]).await.ok();
        assert_eq!(violated(&plan(&agent, intent, &[]).await), ["max_plan_versions", "2", "3"]);
        agent.post(&format!("api/v1/plans/{first}/activate"), json!({})).await.ok();
        claim(&agent, &tasks[0]).await.ok();
        let version = agent.get(&format!("api/v1/tasks/{}", tasks[0])).await.ok()["version"].to_string();
        let running = agent.request("PATCH", &format!("api/v1/tasks/{}", tasks[0])).header("if-match", version);
        agent.send(running.json(&json!({"status": "running"}))).await.ok();
        app.restart().await;
        let agent = app.agent();
        let lost = claim(&helper, &tasks[1]).await;
        assert_eq!(violated(&lost), ["max_concurrent_tasks", "1", "2"]);
        let part = agent.post(&format!("api/v1/tasks/{}/delegate", tasks[0]), json!({"capability": "read", "payload": {}})).await;
        assert_eq!(violated(&part), ["max_tasks_per_plan", "2", "3"]);
        let other = app.agent().post(&format!("api/v1/tasks/{}/delegate", tasks[0]), json!({"capability": "fly", "payload": {}})).await;
        assert_eq!(other.problem(), (403, "guardrail_violation"));
        // A task that its agent has blocked counts again when it goes on.
        let run = async |task: &str, status: &str| {
            let one = format!("api/v1/tasks/{task}");
            let version = agent.get(&one).await.ok()["version"].to_string();
            agent.send(agent.request("PATCH", &one).header("if-match", version).json(&json!({"status": status}))).await
        };
        run(&tasks[0], "blocked").await.ok();
        run(&tasks[1], "running").await.ok();
        assert_eq!(violated(&run(&tasks[0], "running").await), ["max_concurrent_tasks", "1", "2"]);
        let below = task_id(&agent, intent, json!({"parent_task_id": tasks[2]})).await;
        assert_eq!(violated(&task(&agent, intent, json!({"parent_task_id": below})).await), ["max_delegation_depth", "1", "2"]);
        // The depth counts also below a task that has ended.
        run(&below, "cancelled").await.ok();
        assert_eq!(violated(&task(&agent, intent, json!({"parent_task_id": below})).await), ["max_delegation_depth", "1", "2"]);
        // The lease runs out, and the next one cannot loosen what it set.
        app.advance(2 * INTERVAL).await;
        app.advance(3 * INTERVAL).await;
        let loose = json!({"max_tasks_per_plan": 1_000, "max_concurrent_tasks": 1_000, "max_delegation_depth": 0, "max_plan_versions": 1_000, "requires_plan_review": true, "allowed_capabilities": ["read", "deploy"]});
        assert_eq!(take_as(&helper, "helper", intent, json!({"guardrails": loose})).await.problem(), (403, "forbidden"));
        let second = take(&agent, intent, json!({"guardrails": loose})).await.ok();
        assert_eq!(
            second["guardrails"],
            json!({"max_tasks_per_plan": 2, "max_concurrent_tasks": 1, "max_delegation_depth": 0, "max_plan_versions": 2, "allowed_capabilities": ["read"], "requires_plan_review": true})
        );
    }

    /// With a plan review, a person sees the tasks and says whether they begin; no agent adds a task afterwards.
    async fn a_person_reviews_a_plan_before_it_begins(app: &mut TestApp) {
        let agent = app.agent();
        for answer in ["yes", "no"] {
            let intent = agent.active_intent().await;
            taken(&agent, intent, json!({"guardrails": {"requires_plan_review": true}})).await;
            let (one, two) = (task_id(&agent, intent, json!({"name": "Pay <b>Mallory</b>"})).await, task_id(&agent, intent, json!({})).await);
            let id = plan(&agent, intent, &[&one, &two]).await.ok()["id"].as_str().unwrap().to_owned();
            let activated = agent.post(&format!("api/v1/plans/{id}/activate"), json!({})).await.ok();
            assert_eq!(activated["state"], "paused");
            assert_eq!(claim(&agent, &one).await.problem(), (409, "invalid_transition"));
            assert_eq!(agent.post(&format!("api/v1/plans/{id}/resume"), json!({})).await.problem(), (409, "plan_waits_for_person"));
            let suspension = agent.intent(intent).await["state"]["_suspension"]["id"].as_str().unwrap().to_owned();
            let asked = agent.suspension(&suspension).await;
            assert_eq!(asked["context"], json!({"plan_id": id, "tasks": ["Pay <b>Mallory</b>", "Check the invoice"]}));
            assert_eq!(agent.respond(intent, &suspension, "yes").await.problem(), (403, "self_response"));
            app.restart().await;
            app.settle().await;
            let agent = app.agent();
            let link = app.next_link().await;
            let page = app.person().open(&link).await.html;
            assert!(page.contains("Pay &#60;b&#62;Mallory&#60;/b&#62;") || page.contains("Pay &lt;b&gt;Mallory&lt;/b&gt;"), "{page}");
            app.person().answer(&link, answer).await;
            let types = agent.event_types(intent).await;
            let from = types.iter().rposition(|event_type| event_type == "plan.reviewed").unwrap();
            if answer == "yes" {
                assert_eq!(types[from..], ["plan.reviewed", "plan.resumed", "task.ready", "task.ready"]);
                claim(&agent, &one).await.ok();
                assert_eq!(violated(&task(&agent, intent, json!({"plan_id": id})).await)[0], "requires_plan_review");
            } else {
                assert_eq!(types[from..], ["plan.reviewed", "plan.failed", "task.cancelled", "task.cancelled"]);
            }
        }
    }

    /// A plan that began before its intent was to be reviewed gets no task that no person has seen, and a draft of before is too large
    /// to begin. The names of tasks in a review are searched for secrets like every question.
    async fn guardrails_hold_for_plans_of_before(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let tasks = [task_id(&agent, intent, json!({})).await, task_id(&agent, intent, json!({})).await, task_id(&agent, intent, json!({})).await];
        let active = plan(&agent, intent, &[&tasks[0]]).await.ok()["id"].as_str().unwrap().to_owned();
        agent.post(&format!("api/v1/plans/{active}/activate"), json!({})).await.ok();
        let draft = plan(&agent, intent, &[&tasks[1], &tasks[2]]).await.ok()["id"].as_str().unwrap().to_owned();
        taken(&agent, intent, json!({"guardrails": {"requires_plan_review": true, "max_tasks_per_plan": 1}})).await;
        assert_eq!(violated(&task(&agent, intent, json!({"plan_id": active})).await)[0], "requires_plan_review");
        assert_eq!(violated(&agent.post(&format!("api/v1/plans/{draft}/activate"), json!({})).await), ["max_tasks_per_plan", "1", "2"]);
        app.restart_with(|config| config.asking.seeming_secret = SeemingSecret::Refuse).await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        taken(&agent, intent, json!({"guardrails": {"requires_plan_review": true}})).await;
        let secret = task_id(&agent, intent, json!({"name": "password=hunter2-Xk9"})).await;
        let hidden = plan(&agent, intent, &[&secret]).await.ok()["id"].as_str().unwrap().to_owned();
        let refused = agent.post(&format!("api/v1/plans/{hidden}/activate"), json!({})).await;
        assert_eq!((refused.problem(), agent.status(intent).await.as_str()), ((422, "invalid"), "active"));
    }

    /// The key of the owner of an agent that wrote a task of the plan does not answer its review.
    async fn the_owner_of_a_tasks_author_does_not_review_the_plan(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let author = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "author", "bob").await));
        let bob = Api::new(&app.base, Some(&app.new_key_of(Role::Operator, "bob-by-hand", "bob").await));
        agent.post(&format!("{INTENTS}/{intent}/agents"), json!({"agent_id": "author"})).await.ok();
        taken(&agent, intent, json!({"guardrails": {"requires_plan_review": true}})).await;
        let written = task_id(&author, intent, json!({})).await;
        let id = plan(&agent, intent, &[&written]).await.ok()["id"].as_str().unwrap().to_owned();
        agent.post(&format!("api/v1/plans/{id}/activate"), json!({})).await.ok();
        let suspension = agent.intent(intent).await["state"]["_suspension"]["id"].as_str().unwrap().to_owned();
        app.restart().await;
        let bob = Api::new(&app.base, Some(bob.key()));
        assert_eq!(bob.respond(intent, &suspension, "yes").await.problem(), (403, "self_response"));
        app.operator().respond(intent, &suspension, "yes").await.ok();
    }

    /// An agent that may no longer work on the intent directs it no longer either.
    async fn an_agent_that_is_taken_off_directs_no_longer(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = helper(app, intent).await;
        let id = take_as(&helper, "helper", intent, json!({})).await.ok()["id"].as_str().unwrap().to_owned();
        agent.send(agent.request("DELETE", &format!("{INTENTS}/{intent}/agents/helper"))).await.ok();
        assert_eq!(state(&agent, &id).await, "completed");
        let ended = agent.events(intent).await.pop().unwrap();
        assert_eq!((&ended["event_type"], &ended["payload"]["reason"]), (&json!("coordinator.ended"), &json!("access_lost")));
        taken(&agent, intent, json!({})).await;
    }

    /// With `block_dependents`, no agent begins an intent that needs the suspended one by way of another, until that one is completed.
    async fn a_coordinator_can_hold_up_all_that_depends_on_its_intent(app: &mut TestApp) {
        let agent = app.agent();
        for (policy, refuses) in [("isolate", false), ("block_dependents", true)] {
            let first = agent.active_intent().await;
            let (second, other) = (needing(&agent, "second", first).await, agent.active_intent().await);
            let third = needing(&agent, "third", second).await;
            taken(&agent, first, json!({"suspension_policy": policy})).await;
            let suspension = agent.asked(first).await;
            app.restart().await;
            let agent = app.agent();
            for intent in [second, third] {
                let reply = lease(&agent, intent).await;
                if refuses {
                    assert_eq!(reply.problem(), (422, "io_upstream_suspended"));
                    assert_eq!(reply.body["detail"]["suspended_intent_id"], json!(first));
                    assert!(reply.body["detail"]["expected_resume_at"].is_string());
                    assert_eq!(agent.get(&format!("{INTENTS}/{intent}/leases")).await.ok()["leases"], json!([]));
                    let work = task_id(&agent, intent, json!({})).await;
                    let claimed = claim(&agent, &work).await;
                    assert_eq!((claimed.problem(), &claimed.body["detail"]["suspended_intent_id"]), ((422, "io_upstream_suspended"), &json!(first)));
                } else {
                    reply.ok();
                }
            }
            lease(&agent, other).await.ok();
            app.operator().respond(first, &suspension, "approve").await.ok();
            lease(&agent, second).await.ok();
            lease(&agent, third).await.ok();
            set_status(&agent, first, "completed").await;
            assert_eq!(agent.status(second).await, "active");
            assert_eq!(agent.status(third).await, "blocked");
        }
    }

    /// With `escalate`, the supervisor is asked together with the people that a question names, and may answer like them.
    async fn a_supervisor_is_asked_as_well(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        taken(&agent, intent, json!({"suspension_policy": "escalate", "supervisor_id": "cto@example.com"})).await;
        agent.suspend(intent, json!({"notify_to": ["alice@example.com"]})).await.ok();
        app.settle().await;
        let (one, two) = (app.smtp.next_mail().await, app.smtp.next_mail().await);
        let mut to = [one.to[0].clone(), two.to[0].clone()];
        to.sort();
        assert_eq!(to, ["alice@example.com", "cto@example.com"]);
        let required = agent.events(intent).await.into_iter().find(|event| event["event_type"] == "coordinator.escalation_required").unwrap();
        assert_eq!(required["payload"]["escalated_to"], json!(["cto@example.com"]));
        let cto = if one.to[0] == "cto@example.com" { one } else { two };
        assert_eq!(app.person().answer(&cto.link(&app.base), "approve").await.heading(), "Your answer was recorded");
        // Without an address, the operators of the server are asked.
        let intent = agent.active_intent().await;
        taken(&agent, intent, json!({"suspension_policy": "escalate", "supervisor_id": "planner-of-planners"})).await;
        agent.suspend(intent, json!({"notify_to": ["alice@example.com"]})).await.ok();
        app.settle().await;
        let mut to = [app.smtp.next_mail().await.to[0].clone(), app.smtp.next_mail().await.to[0].clone()];
        to.sort();
        assert_eq!(to, ["alice@example.com", "ops@example.com"]);
        let refused = take(&agent, agent.active_intent().await, json!({"suspension_policy": "escalate", "supervisor_id": "mallory@evil.example"})).await;
        assert_eq!((refused.problem().0, refused.field_problem().2), (422, "supervisor_id"));
    }

    /// An agent chooses with `escalate` no person who answers the question of another agent, or the question at a checkpoint. A ladder that
    /// names other people leaves the supervisor in.
    async fn a_supervisor_is_not_asked_about_the_questions_of_others(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = helper(app, intent).await;
        taken(&agent, intent, json!({"suspension_policy": "escalate", "supervisor_id": "buddy@example.com"})).await;
        let asked_of = async |api: &Api, change: Value| {
            let record = api.suspend(intent, change).await.ok();
            let id = record["id"].as_str().unwrap().to_owned();
            app.operator().post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await;
            app.api(Role::Admin).post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await;
            record
        };
        let theirs = asked_of(&helper, json!({"notify_to": ["alice@example.com"]})).await;
        assert_eq!(theirs["notify_to"], json!(["alice@example.com"]));
        assert!(!agent.event_types(intent).await.contains(&"coordinator.escalation_required".to_owned()));
        let ladder = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 60, "escalation_ladder": [{"attempt": 1, "notify_to": "alice@example.com"}, {"attempt": 2, "notify_to": ["bob@example.com", "BUDDY@example.com"]}]}});
        let own = asked_of(&agent, ladder).await;
        let rungs = &own["retry_policy"]["escalation_ladder"];
        assert_eq!(json!([rungs[0]["notify_to"], rungs[1]["notify_to"]]), json!([["alice@example.com", "buddy@example.com"], ["bob@example.com", "BUDDY@example.com"]]));
        let one = task_id(&agent, intent, json!({})).await;
        let body = json!({"intent_id": intent, "tasks": [one], "checkpoints": [{"id": "pay", "name": "Pay", "after_task": one, "approvers": ["cfo@example.com"]}]});
        let id = agent.post("api/v1/plans", body).await.ok()["id"].as_str().unwrap().to_owned();
        agent.post(&format!("api/v1/plans/{id}/activate"), json!({})).await.ok();
        let version = agent.get(&format!("api/v1/tasks/{one}")).await.ok()["version"].to_string();
        agent.send(agent.request("PATCH", &format!("api/v1/tasks/{one}")).header("if-match", version).json(&json!({"status": "running"}))).await.ok();
        agent.post(&format!("api/v1/tasks/{one}/complete"), json!({})).await.ok();
        let asked = agent.get(&format!("api/v1/plans/{id}")).await.ok()["checkpoints"][0]["suspension_id"].as_str().unwrap().to_owned();
        assert_eq!(agent.suspension(&asked).await["notify_to"], json!(["cfo@example.com"]));
        assert_eq!(agent.event_types(intent).await.iter().filter(|one| *one == "coordinator.escalation_required").count(), 1);
    }

    /// The agent that directs an intent records its decisions, and no other agent does.
    async fn a_coordinator_records_its_decisions(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = helper(app, intent).await;
        let id = taken(&agent, intent, json!({})).await;
        let body = json!({"coordinator_id": id, "intent_id": intent, "decision_type": "plan_created", "summary": "Check first", "rationale": "The vendor is new", "alternatives_considered": [{"summary": "Pay first"}], "confidence": 0.9});
        let decided = agent.post("api/v1/decisions", body.clone()).await.ok();
        assert_eq!(
            json!([decided["coordinator_id"], decided["intent_id"], decided["decision_type"], decided["summary"], decided["rationale"], decided["alternatives_considered"], decided["confidence"]]),
            json!([id, intent, "plan_created", "Check first", "The vendor is new", [{"summary": "Pay first"}], 0.9])
        );
        let before = agent.everything(intent).await;
        assert_eq!(helper.post("api/v1/decisions", body.clone()).await.problem(), (403, "forbidden"));
        assert_eq!(app.operator().post("api/v1/decisions", body.clone()).await.problem(), (403, "forbidden"));
        let unknown = agent.post("api/v1/decisions", with(body.clone(), &json!({"coordinator_id": intent}))).await;
        assert_eq!(unknown.field_problem(), (422, "invalid", "coordinator_id", "unknown"));
        assert_eq!(agent.everything(intent).await, before);
        agent.post(&format!("{INTENTS}/{intent}/decisions"), json!({"decision_type": "approach", "outcome": "slow", "reasoning": "safe"})).await.ok();
        app.restart().await;
        let agent = app.agent();
        let listed = agent.get(&format!("{INTENTS}/{intent}/coordinator-decisions?limit=1")).await.ok();
        assert_eq!(listed, json!([decided]));
        let both = agent.get(&format!("{INTENTS}/{intent}/decisions")).await.ok()["decisions"].clone();
        assert_eq!(json!([both[0]["outcome"], both[0]["decision_maker_id"], both[1]["outcome"]]), json!(["Check first", "test-agent", "slow"]));
        app.advance(2 * INTERVAL).await;
        app.advance(3 * INTERVAL).await;
        assert_eq!(agent.post("api/v1/decisions", body).await.problem(), (409, "coordinator_ended"));
    }

    /// Every limit at its bound and beyond it. Guardrails that the server does not enforce are refused, except with the values that the
    /// OpenIntent client always sends.
    async fn a_lease_and_a_decision_hold_at_their_bounds(app: &mut TestApp) {
        let agent = app.agent();
        let fresh = async || agent.active_intent().await;
        let word = |length: usize| "w".repeat(length);
        let rail = |name: &str, value: Value| json!({"guardrails": {name: value}});
        let good = [
            json!({"role": word(COORDINATOR_WORD_MAX), "supervisor_id": word(COORDINATOR_WORD_MAX)}),
            json!({"heartbeat_interval_seconds": INTERVAL_SECONDS_MIN}),
            json!({"heartbeat_interval_seconds": INTERVAL_SECONDS_MAX}),
            rail("max_tasks_per_plan", json!(GUARDRAIL_MAX)),
            rail("max_delegation_depth", json!(0)),
            rail("allowed_capabilities", json!(vec!["w"; CAPABILITIES_ALLOWED_MAX])),
            json!({"guardrails": {"warn_at_percentage": 80, "on_exceed": "pause_and_escalate", "checkpoint_timeout_hours": 24, "requires_replan_review": false, "auto_escalate_after_failures": 3, "require_human_for_capabilities": [], "memory_archive_required": true, "max_budget_usd": null}}),
        ];
        for change in good {
            take(&agent, fresh().await, change).await.ok();
        }
        let intent = fresh().await;
        let before = agent.everything(intent).await;
        let past = rfc3339(app.clock.now());
        for (change, field, rule) in [
            (json!({"agent_id": word(COORDINATOR_WORD_MAX + 1)}), "agent_id", "length"),
            (json!({"role": word(COORDINATOR_WORD_MAX + 1)}), "role", "length"),
            (json!({"role": "two\nlines"}), "role", "format"),
            (json!({"supervisor_id": ""}), "supervisor_id", "length"),
            (json!({"portfolio_id": intent}), "portfolio_id", "unsupported"),
            (json!({"scope": "portfolio"}), "scope", "unsupported"),
            (json!({"expires_at": past}), "expires_at", "past"),
            (json!({"heartbeat_interval_seconds": INTERVAL_SECONDS_MIN - 1}), "heartbeat_interval_seconds", "range"),
            (json!({"heartbeat_interval_seconds": INTERVAL_SECONDS_MAX + 1}), "heartbeat_interval_seconds", "range"),
            (json!({"metadata": {"a": word(32 * 1024)}}), "metadata", "length"),
            (rail("max_tasks_per_plan", json!(0)), "guardrails.max_tasks_per_plan", "range"),
            (rail("max_plan_versions", json!(GUARDRAIL_MAX + 1)), "guardrails.max_plan_versions", "range"),
            (rail("allowed_capabilities", json!(vec!["w"; CAPABILITIES_ALLOWED_MAX + 1])), "guardrails.allowed_capabilities", "length"),
            (rail("max_budget_usd", json!(50)), "guardrails.max_budget_usd", "unsupported"),
            (rail("require_human_for_capabilities", json!(["deploy"])), "guardrails.require_human_for_capabilities", "unsupported"),
            (rail("max_task_per_plan", json!(3)), "guardrails.max_task_per_plan", "unsupported"),
        ] {
            assert_eq!(take(&agent, intent, change).await.field_problem(), (422, "invalid", field, rule));
        }
        assert_eq!(agent.everything(intent).await, before);
        let id = taken(&agent, intent, json!({})).await;
        let decision = |change: Value| with(json!({"coordinator_id": id, "intent_id": intent, "decision_type": "plan_created", "summary": "s", "rationale": ""}), &change);
        for word in DECISION_TYPES {
            agent.post("api/v1/decisions", decision(json!({"decision_type": word, "confidence": 100}))).await.ok();
        }
        agent.post("api/v1/decisions", decision(json!({"summary": word(2_000), "rationale": word(16_384), "alternatives_considered": vec![json!({}); ALTERNATIVES_MAX]}))).await.ok();
        for (change, field, rule) in [
            (json!({"decision_type": "guess"}), "decision_type", "choice"),
            (json!({"summary": ""}), "summary", "length"),
            (json!({"summary": word(2_001)}), "summary", "length"),
            (json!({"rationale": word(16_385)}), "rationale", "length"),
            (json!({"alternatives_considered": vec![json!({}); ALTERNATIVES_MAX + 1]}), "alternatives_considered", "length"),
            (json!({"confidence": 100.1}), "confidence", "range"),
        ] {
            assert_eq!(agent.post("api/v1/decisions", decision(change)).await.field_problem(), (422, "invalid", field, rule));
        }
    }
}
