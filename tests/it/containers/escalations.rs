//! Tasks about which their agents ask a person how to go on.

use domain::asking::pressing::Pressing;
use domain::container::task::WORDS_MAX;
use domain::people::principal::Role;
use harness::api::Api;
use harness::on_each_store;
use serde_json::json;

use super::tasks::{STATUSES, TASKS, act, created, helper, mirror, running, set_status, since, task, task_that_is, to};

on_each_store! {
    /// An agent that cannot go on with a task asks a person: the intent waits, the task and the others that run wait with it, and all go
    /// on with the answer. The reply is the question, so the agent can wait for its end.
    async fn an_agent_escalates_a_task(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (stuck, other) = (running(&agent, intent).await, running(&agent, intent).await);
        let reason = "The archive is closed until noon.";
        let asked = agent.post_once(&format!("{TASKS}/{stuck}/escalate"), "k", json!({"reason": reason})).await.ok();
        assert_eq!(asked["question"], format!("The agent asks how to go on. Its reason: {reason}"));
        assert_eq!(asked["context"], json!({"task": "Check the invoice", "task_id": stuck}));
        assert_eq!((&asked["response_type"], &asked["fallback_policy"]), (&json!("text"), &json!("fail")));
        assert_eq!(mirror(&agent, &stuck).await, json!(["blocked", "escalation", intent]));
        assert_eq!(mirror(&agent, &other).await, json!(["blocked", "intent_suspended", intent]));
        let types = since(&agent, intent, "intent.suspended").await;
        assert_eq!(types, ["intent.suspended", "status_changed", "task.blocked"]);
        app.restart().await;
        let agent = app.agent();
        let before = agent.everything(intent).await;
        let again = agent.post_once(&format!("{TASKS}/{stuck}/escalate"), "k", json!({"reason": reason})).await.ok();
        assert_eq!((again["id"].clone(), agent.everything(intent).await), (asked["id"].clone(), before));
        assert_eq!(act(&agent, &stuck, "escalate", json!({"reason": "r"})).await.problem(), (409, "intent_suspended"));
        assert_eq!(to(&agent, &stuck, "running").await.problem(), (409, "intent_suspended"));
        let id = asked["id"].as_str().unwrap();
        assert_eq!(agent.respond(intent, id, "Go on.").await.problem(), (403, "self_response"));
        app.operator().respond(intent, id, "Use the copy.").await.ok();
        for task in [&stuck, &other] {
            assert_eq!(mirror(&agent, task).await, json!(["running", null, null]));
        }
        assert_eq!(agent.get(&format!("api/v1/suspensions/{id}")).await.ok()["response"], "Use the copy.");
        to(&agent, &stuck, "completed").await.ok();
    }

    /// However the question ends, the escalated task goes on, or ends with its intent.
    async fn an_escalated_task_is_not_left_behind(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let stuck = running(&agent, intent).await;
        let asked = act(&agent, &stuck, "escalate", json!({"reason": "r"})).await.ok();
        agent.post(&format!("api/v1/suspensions/{}/cancel", asked["id"].as_str().unwrap()), json!({})).await.ok();
        assert_eq!(mirror(&agent, &stuck).await, json!(["running", null, null]));
        // An admin takes it back.
        let asked = act(&agent, &stuck, "escalate", json!({"reason": "r"})).await.ok();
        app.api(Role::Admin).post(&format!("api/v1/suspensions/{}/cancel", asked["id"].as_str().unwrap()), json!({})).await.ok();
        assert_eq!(mirror(&agent, &stuck).await, json!(["running", null, null]));
        // The agent asks another question in its place, which a person answers.
        let asked = act(&agent, &stuck, "escalate", json!({"reason": "r"})).await.ok();
        let anew = agent.suspend(intent, json!({"supersedes": asked["id"]})).await.ok();
        assert_eq!(mirror(&agent, &stuck).await, json!(["blocked", "escalation", intent]));
        app.operator().respond(intent, anew["id"].as_str().unwrap(), "approve").await.ok();
        assert_eq!(mirror(&agent, &stuck).await, json!(["running", null, null]));
        act(&agent, &stuck, "escalate", json!({"reason": "r"})).await.ok();
        set_status(&agent, intent, "abandoned").await.ok();
        assert_eq!(task(&agent, &stuck).await["status"], "cancelled");
    }

    /// Only the agent that works on a task, or the one that created the intent, escalates it, and only while it runs.
    async fn only_a_running_task_of_ones_own_is_escalated(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = helper(app, intent).await;
        let reason = json!({"reason": "r"});
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        let mine = running(&agent, intent).await;
        let before = agent.everything(intent).await;
        assert_eq!(act(&helper, &mine, "escalate", reason.clone()).await.problem(), (409, "lease_conflict"));
        assert_eq!(act(&stranger, &mine, "escalate", reason.clone()).await.problem(), (404, "not_found"));
        assert_eq!(act(&app.operator(), &mine, "escalate", reason.clone()).await.problem(), (403, "forbidden"));
        for (body, rule) in [
            (json!({"reason": ""}), "length"),
            (json!({"reason": " \t"}), "length"),
            (json!({"reason": "x".repeat(WORDS_MAX + 1)}), "length"),
            (json!({}), "required"),
        ] {
            assert_eq!(act(&agent, &mine, "escalate", body).await.field_problem(), (422, "invalid", "reason", rule));
        }
        assert_eq!(agent.everything(intent).await, before);
        for status in STATUSES.into_iter().filter(|status| *status != "running") {
            let id = task_that_is(&agent, intent, status).await;
            assert_eq!(act(&agent, &id, "escalate", reason.clone()).await.problem(), (409, "invalid_transition"), "{status}");
        }
        let long = json!({"reason": "ü".repeat(WORDS_MAX)});
        let asked = act(&agent, &mine, "escalate", long).await.ok();
        app.operator().respond(intent, asked["id"].as_str().unwrap(), "Go on.").await.ok();
        set_status(&agent, intent, "blocked").await.ok();
        assert_eq!(act(&agent, &mine, "escalate", reason).await.problem(), (409, "not_active"));
    }

    /// A question about a task is bound by the rules for questions: an agent that takes its questions back must not press people by them.
    async fn escalations_are_limited_like_questions(app: &mut TestApp) {
        app.restart_with(|config| config.asking.pressing = Pressing::PRODUCTION).await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let stuck = running(&agent, intent).await;
        let mut refused = None;
        for _ in 0..20 {
            let asked = act(&agent, &stuck, "escalate", json!({"reason": "r"})).await;
            if asked.status != 200 {
                refused = Some(asked);
                break;
            }
            let id = asked.ok()["id"].as_str().unwrap().to_owned();
            agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        }
        assert_eq!(refused.unwrap().problem(), (429, "rate_limited"));
        assert_eq!(mirror(&agent, &stuck).await, json!(["running", null, null]));
    }

    /// The answer to an escalation comes from no one who works on the task: neither the agent that holds it, nor an owner of an agent that
    /// works in its plan, whichever agent escalated it.
    async fn who_works_on_a_task_does_not_answer_its_escalation(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "helper", "hugo").await));
        agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "helper"})).await.ok();
        let hilda = Api::new(&app.base, Some(&app.new_key_of(Role::Operator, "hilda", "hugo").await));
        let id = created(&agent, intent, json!({})).await;
        let plan = agent.post("api/v1/plans", json!({"intent_id": intent, "tasks": [id]})).await.ok();
        agent.post(&format!("api/v1/plans/{}/activate", plan["id"].as_str().unwrap()), json!({})).await.ok();
        to(&helper, &id, "running").await.ok();
        let asked = act(&agent, &id, "escalate", json!({"reason": "r"})).await.ok()["id"].as_str().unwrap().to_owned();
        for api in [&agent, &helper, &hilda] {
            assert_eq!(api.respond(intent, &asked, "Go on.").await.problem(), (403, "self_response"));
        }
        let again = agent.post_once(&format!("{TASKS}/{id}/escalate"), "k", json!({"reason": "r"})).await;
        assert_eq!(again.problem(), (409, "intent_suspended"));
        app.operator().respond(intent, &asked, "Go on.").await.ok();
        agent.post_once(&format!("{TASKS}/{id}/escalate"), "l", json!({"reason": "r"})).await.ok();
        let other = agent.post_once(&format!("{TASKS}/{id}/escalate"), "l", json!({"reason": "s"})).await;
        assert_eq!(other.problem(), (422, "idempotency_mismatch"));
    }
}
