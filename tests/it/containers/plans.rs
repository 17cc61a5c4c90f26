//! Plans: tasks that are worked on together, with checkpoints at which people decide whether the work goes on.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use domain::base::ids::IntentId;
use domain::container::plan::{
    CHECKPOINT_WORD_MAX, CHECKPOINTS_MAX, ESCALATE_HOURS_MAX, PLAN_TASKS_MAX, PLANS_MAX, TIMEOUT_HOURS_MAX,
};
use domain::people::principal::Role;
use domain::suspension::seeming::SeemingSecret;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

pub(super) const TASKS: &str = "api/v1/tasks";
pub(crate) const PLANS: &str = "api/v1/plans";

pub(crate) async fn task(api: &Api, intent: IntentId, change: Value) -> String {
    let mut body = json!({"intent_id": intent, "name": "Check the invoice"});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    api.post(TASKS, body).await.ok()["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn create(api: &Api, intent: IntentId, change: Value) -> Reply {
    let mut body = json!({"intent_id": intent});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    api.post(PLANS, body).await
}

pub(super) async fn created(api: &Api, intent: IntentId, change: Value) -> String {
    create(api, intent, change).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn read(api: &Api, path: &str, id: &str) -> Value {
    api.get(&format!("{path}/{id}")).await.ok()
}

pub(crate) async fn plan(api: &Api, id: &str) -> Value {
    read(api, PLANS, id).await
}

pub(super) async fn status(api: &Api, task: &str) -> String {
    read(api, TASKS, task).await["status"].as_str().unwrap().to_owned()
}

pub(crate) async fn update(api: &Api, path: &str, id: &str, body: Value) -> Reply {
    let version = read(api, path, id).await["version"].to_string();
    api.send(api.request("PATCH", &format!("{path}/{id}")).header("if-match", version).json(&body)).await
}

pub(crate) async fn act(api: &Api, id: &str, verb: &str) -> Reply {
    api.post(&format!("{PLANS}/{id}/{verb}"), json!({})).await
}

pub(super) async fn run(api: &Api, task: &str) -> Reply {
    update(api, TASKS, task, json!({"status": "running"})).await
}

pub(crate) async fn finish(api: &Api, task: &str, how: &str) {
    run(api, task).await.ok();
    api.post(&format!("{TASKS}/{task}/{how}"), json!({})).await.ok();
}

pub(crate) fn checkpoint(after: &str) -> Value {
    json!({"id": "pay", "name": "Pay the invoice", "after_task": after})
}

/// An agent that has worked on a task, and a person who owns it.
async fn works_for_hugo(app: &TestApp, intent: IntentId, task: &str) -> (Api, Api) {
    let helper = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "helper", "hugo").await));
    app.agent().post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "helper"})).await.ok();
    update(&helper, TASKS, task, json!({"status": "cancelled"})).await.ok();
    (helper, Api::new(&app.base, Some(&app.new_key_of(Role::Operator, "hilda", "hugo").await)))
}

/// The types of the newest events of an intent, oldest first, from the newest one of `from` on, without those about messages.
pub(super) async fn since(api: &Api, intent: IntentId, from: &str) -> Vec<String> {
    let types = api.event_types(intent).await;
    let from = types.iter().rposition(|event_type| event_type == from).unwrap();
    types[from..].iter().filter(|event_type| !event_type.starts_with("delivery.")).cloned().collect()
}

pub(super) async fn newest(api: &Api, intent: IntentId, event_type: &str) -> Value {
    let events = api.events(intent).await;
    events.iter().rfind(|event| event["event_type"] == event_type).unwrap()["payload"].clone()
}

/// The question at the checkpoint of a plan.
pub(crate) async fn question(api: &Api, id: &str) -> String {
    plan(api, id).await["checkpoints"][0]["suspension_id"].as_str().unwrap().to_owned()
}

/// An active plan of two tasks with a checkpoint behind the first, which is finished: the intent waits for a person.
pub(crate) async fn at_a_checkpoint(agent: &Api, change: Value) -> (IntentId, String, [String; 2]) {
    let intent = agent.active_intent().await;
    let (one, two) = (task(agent, intent, json!({})).await, task(agent, intent, json!({})).await);
    let mut checkpoint = checkpoint(&one);
    for (name, value) in change.as_object().unwrap() {
        checkpoint[name] = value.clone();
    }
    let id = created(agent, intent, json!({"tasks": [one, two], "checkpoints": [checkpoint]})).await;
    act(agent, &id, "activate").await.ok();
    finish(agent, &one, "complete").await;
    (intent, id, [one, two])
}

on_each_store! {
    /// A task of a plan is ready only while the plan is active, and the plan is completed when its tasks are.
    async fn the_tasks_of_a_plan_wait_until_it_is_active(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let one = task(&agent, intent, json!({})).await;
        let two = task(&agent, intent, json!({"depends_on": [one]})).await;
        let id = created(&agent, intent, json!({"tasks": [one, two], "metadata": {"team": "billing"}})).await;
        assert_eq!(status(&agent, &one).await, "pending");
        let three = task(&agent, intent, json!({"plan_id": id})).await;
        assert_eq!(status(&agent, &three).await, "pending");
        assert_eq!(run(&agent, &one).await.problem(), (409, "invalid_transition"));
        let draft = plan(&agent, &id).await;
        assert_eq!((&draft["state"], &draft["tasks"], &draft["metadata"]), (&json!("draft"), &json!([one, two, three]), &json!({"team": "billing"})));
        app.restart().await;
        let agent = app.agent();
        update(&agent, PLANS, &id, json!({"state": "active"})).await.ok();
        assert_eq!(since(&agent, intent, "plan.activated").await, ["plan.activated", "task.ready", "task.ready"]);
        finish(&agent, &one, "complete").await;
        act(&agent, &id, "pause").await.ok();
        assert_eq!(run(&agent, &two).await.problem(), (409, "plan_not_active"));
        act(&agent, &id, "resume").await.ok();
        run(&agent, &two).await.ok();
        update(&agent, TASKS, &two, json!({"status": "completed"})).await.ok();
        let progress = plan(&agent, &id).await["progress"].clone();
        assert_eq!(json!([progress["total"], progress["by_status"]["completed"], progress["by_status"]["ready"], progress["completion_percentage"]]), json!([3, 2, 1, 66]));
        finish(&agent, &three, "complete").await;
        assert_eq!(since(&agent, intent, "task.completed").await, ["task.completed", "plan.completed"]);
        assert_eq!(plan(&agent, &id).await["state"], "completed");
        let listed = agent.get(&format!("api/v1/intents/{intent}/plans")).await.ok();
        assert_eq!((listed.as_array().unwrap().len(), &listed[0]), (1, &plan(&agent, &id).await));
    }

    /// At a checkpoint the server asks people, and nothing of the plan begins before one of them has said yes.
    async fn a_person_decides_at_a_checkpoint(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id, [_, two]) = at_a_checkpoint(&agent, json!({})).await;
        let types = since(&agent, intent, "task.completed").await;
        assert_eq!(
            types,
            ["task.completed", "plan.checkpoint_reached", "plan.paused", "plan.question_asked", "intent.suspended", "status_changed"]
        );
        let asked = plan(&agent, &id).await;
        assert_eq!((&asked["state"], &asked["checkpoints"][0]["status"]), (&json!("paused"), &json!("reached")));
        let suspension = question(&agent, &id).await;
        let record = agent.suspension(&suspension).await;
        assert_eq!(record["question"], "May the work go on? It has reached this checkpoint: Pay the invoice");
        assert_eq!(record["context"], json!({"checkpoint": "pay", "plan_id": id}));
        let before = agent.everything(intent).await;
        assert_eq!(act(&agent, &id, "resume").await.problem(), (409, "plan_waits_for_person"));
        assert_eq!(act(&agent, &id, "cancel").await.problem(), (409, "plan_waits_for_person"));
        assert_eq!(run(&agent, &two).await.problem(), (409, "plan_not_active"));
        assert_eq!(agent.respond(intent, &suspension, "yes").await.problem(), (403, "self_response"));
        assert_eq!(agent.post(&format!("api/v1/suspensions/{suspension}/cancel"), json!({})).await.problem(), (403, "forbidden"));
        assert_eq!(agent.suspend(intent, json!({"supersedes": suspension})).await.problem(), (403, "forbidden"));
        for change in [json!({"checkpoints": []}), json!({"tasks": []}), json!({"checkpoints": [{"id": "pay", "name": "n", "after_task": two, "requires_approval": false}]})] {
            assert_eq!(update(&agent, PLANS, &id, change).await.problem(), (409, "plan_not_draft"));
        }
        assert_eq!(agent.everything(intent).await, before);
        app.restart().await;
        let agent = app.agent();
        app.settle().await;
        // A person answers by the link in the mail.
        let link = app.next_link().await;
        assert!(app.person().open(&link).await.html.contains("Pay the invoice"));
        assert_eq!(app.person().answer(&link, "yes").await.heading(), "Your answer was recorded");
        assert_eq!(
            since(&agent, intent, "intent.resumed").await,
            ["intent.resumed", "status_changed", "plan.checkpoint_approved", "plan.resumed"]
        );
        let approved = plan(&agent, &id).await;
        let facts = json!([approved["state"], approved["checkpoints"][0]["status"], approved["checkpoints"][0]["approved_by"], approved["checkpoints"][0]["suspension_id"]]);
        assert_eq!(facts, json!(["active", "approved", "ops@example.com", null]));
        finish(&agent, &two, "complete").await;
        assert_eq!(plan(&agent, &id).await["state"], "completed");
    }

    /// A person who says no stops the plan, and its tasks with it; the intent goes on.
    async fn a_person_stops_a_plan(app: &mut TestApp) {
        let agent = app.agent();
        for ends in ["no", "cancel"] {
            let (intent, id, [_, two]) = at_a_checkpoint(&agent, json!({})).await;
            let suspension = question(&agent, &id).await;
            if ends == "no" {
                app.operator().respond(intent, &suspension, "no").await.ok();
            } else {
                app.api(Role::Admin).post(&format!("api/v1/suspensions/{suspension}/cancel"), json!({})).await.ok();
            }
            let types = since(&agent, intent, "plan.checkpoint_rejected").await;
            assert_eq!(types, ["plan.checkpoint_rejected", "plan.failed", "task.cancelled"]);
            let failed = plan(&agent, &id).await;
            assert_eq!((&failed["state"], &failed["checkpoints"][0]["status"]), (&json!("failed"), &json!("rejected")));
            assert_eq!(status(&agent, &two).await, "cancelled");
            assert_eq!(agent.status(intent).await, "active");
            assert_eq!(act(&agent, &id, "activate").await.problem(), (409, "invalid_transition"));
            assert_eq!(create(&agent, intent, json!({"tasks": [two]})).await.field_problem(), (422, "invalid", "tasks", "value"));
        }
    }

    /// If no person decides in time, the checkpoint does what its agent has said, by the server's rules about questions.
    async fn a_checkpoint_has_its_time(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id, [_, two]) = at_a_checkpoint(&agent, json!({"timeout_hours": 1, "on_timeout": "auto_approve"})).await;
        app.settle().await;
        app.advance(3_601).await;
        assert_eq!(since(&agent, intent, "intent.suspension_expired").await, ["intent.suspension_expired", "status_changed", "plan.checkpoint_approved", "plan.resumed"]);
        assert_eq!(status(&agent, &two).await, "ready");
        assert_eq!(plan(&agent, &id).await["checkpoints"][0]["approved_by"], Value::Null);
        let (intent, id, [_, two]) = at_a_checkpoint(&agent, json!({"timeout_hours": 1, "on_timeout": "fail"})).await;
        app.settle().await;
        app.advance(3_601).await;
        assert_eq!((agent.status(intent).await.as_str(), &plan(&agent, &id).await["state"], status(&agent, &two).await.as_str()), ("abandoned", &json!("failed"), "cancelled"));
        assert_eq!(newest(&agent, intent, "plan.failed").await["reason"], "intent_abandoned");
        // The operators are asked after the first hour, and have one more.
        let (intent, id, _) = at_a_checkpoint(&agent, json!({"timeout_hours": 1, "approvers": ["boss@example.com"]})).await;
        app.settle().await;
        app.advance(3_601).await;
        let again = newest(&agent, intent, "intent.suspension_renotified").await;
        assert!(again["notify_to"].as_array().unwrap().len() > 1, "{again}");
        assert_eq!(plan(&agent, &id).await["state"], "paused");
        app.advance(3_601).await;
        assert_eq!(plan(&agent, &id).await["state"], "failed");
    }

    /// No agent that works in a plan, and no key of its owner, answers at its checkpoints: the work would approve itself.
    async fn no_one_who_works_in_a_plan_answers_its_question(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "helper"})).await.ok();
        let (one, two) = (task(&agent, intent, json!({})).await, task(&agent, intent, json!({})).await);
        let id = created(&agent, intent, json!({"tasks": [one, two], "checkpoints": [checkpoint(&one)]})).await;
        assert_eq!(act(&helper, &id, "activate").await.problem(), (403, "forbidden"));
        act(&agent, &id, "activate").await.ok();
        finish(&helper, &one, "complete").await;
        let suspension = question(&agent, &id).await;
        let body = json!({"name": "helper-op", "role": "operator", "owner": "helper"});
        let own = app.api(Role::Admin).post("api/v1/keys", body).await.ok();
        let own = Api::new(&app.base, own["key"].as_str());
        app.restart().await;
        let own = Api::new(&app.base, Some(own.key()));
        assert_eq!(own.respond(intent, &suspension, "yes").await.problem(), (403, "self_response"));
        assert_eq!(app.agent().status(intent).await, "suspended_awaiting_input");
        app.operator().respond(intent, &suspension, "yes").await.ok();
        // An agent for which another one has claimed the task works in the plan as soon as it says anything about the task.
        let (agent, helper) = (app.agent(), Api::new(&app.base, Some(helper.key())));
        let three = task(&agent, intent, json!({})).await;
        let other = created(&agent, intent, json!({"tasks": [three], "checkpoints": [checkpoint(&three)]})).await;
        act(&agent, &other, "activate").await.ok();
        update(&agent, TASKS, &three, json!({"status": "running", "assigned_agent": "helper"})).await.ok();
        helper.post(&format!("{TASKS}/{three}/progress"), json!({})).await.ok();
        agent.post(&format!("{TASKS}/{three}/complete"), json!({})).await.ok();
        let suspension = question(&agent, &other).await;
        assert_eq!(own.respond(intent, &suspension, "yes").await.problem(), (403, "self_response"));
    }

    /// A checkpoint that is reached while the intent already waits for a person, or is blocked, is asked about afterwards.
    async fn a_checkpoint_waits_for_its_turn(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (one, two) = (task(&agent, intent, json!({})).await, task(&agent, intent, json!({})).await);
        let waiting = [checkpoint(&one), json!({"id": "ship", "name": "Ship it", "after_task": one})];
        let id = created(&agent, intent, json!({"tasks": [one, two], "checkpoints": waiting})).await;
        act(&agent, &id, "activate").await.ok();
        finish(&agent, &one, "complete").await;
        // Both checkpoints are reached at once; people are asked about one after the other.
        let first = question(&agent, &id).await;
        assert_eq!(plan(&agent, &id).await["checkpoints"][1]["suspension_id"], Value::Null);
        app.operator().respond(intent, &first, "yes").await.ok();
        let types = since(&agent, intent, "intent.resumed").await;
        assert_eq!(types, ["intent.resumed", "status_changed", "plan.checkpoint_approved", "plan.question_asked", "intent.suspended", "status_changed"]);
        let second = plan(&agent, &id).await["checkpoints"][1]["suspension_id"].as_str().unwrap().to_owned();
        assert_ne!(first, second);
        app.operator().respond(intent, &second, "yes").await.ok();
        assert_eq!(plan(&agent, &id).await["state"], "active");
        // A task that is finished while the intent is blocked.
        let last = task(&agent, intent, json!({})).await;
        let other = created(&agent, intent, json!({"tasks": [last], "checkpoints": [checkpoint(&last)]})).await;
        act(&agent, &other, "activate").await.ok();
        run(&agent, &last).await.ok();
        let version = agent.intent(intent).await["version"].to_string();
        agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "blocked"})).await.ok();
        update(&agent, TASKS, &last, json!({"status": "completed"})).await.ok();
        assert_eq!(plan(&agent, &other).await["checkpoints"][0]["suspension_id"], Value::Null);
        let version = agent.intent(intent).await["version"].to_string();
        agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "active"})).await.ok();
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        let asked = question(&agent, &other).await;
        app.operator().respond(intent, &asked, "yes").await.ok();
        assert_eq!(plan(&agent, &other).await["state"], "completed");
    }

    /// The tasks that run while people are asked at a checkpoint wait with their intent, and show in the progress.
    async fn a_checkpoint_blocks_the_tasks_that_run(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (one, two) = (task(&agent, intent, json!({})).await, task(&agent, intent, json!({})).await);
        let id = created(&agent, intent, json!({"tasks": [one, two], "checkpoints": [checkpoint(&one)]})).await;
        act(&agent, &id, "activate").await.ok();
        run(&agent, &two).await.ok();
        finish(&agent, &one, "complete").await;
        assert_eq!(status(&agent, &two).await, "blocked");
        let progress = plan(&agent, &id).await["progress"].clone();
        let record = agent.suspension(&question(&agent, &id).await).await;
        let since = record["suspended_at"].as_str().unwrap().trim_end_matches('Z').to_owned();
        let expected = json!([{"task_id": two, "intent_id": intent, "suspended_since": since, "expires_at": null}]);
        let mut shown = progress["suspended_tasks"].clone();
        shown[0]["expires_at"] = Value::Null;
        assert_eq!(shown, expected);
        app.operator().respond(intent, &question(&agent, &id).await, "no").await.ok();
        assert_eq!(status(&agent, &two).await, "cancelled");
    }

    /// When a task has failed for good, the plan does what its agent has said.
    async fn a_task_that_has_failed_for_good_is_acted_on(app: &mut TestApp) {
        let agent = app.agent();
        for (on_failure, state, next) in [("fail", "failed", "cancelled"), ("notify", "active", "pending"), ("retry", "failed", "cancelled")] {
            let intent = agent.active_intent().await;
            let one = task(&agent, intent, json!({"max_attempts": 2})).await;
            let two = task(&agent, intent, json!({"depends_on": [one]})).await;
            let id = created(&agent, intent, json!({"tasks": [one, two], "on_failure": on_failure})).await;
            act(&agent, &id, "activate").await.ok();
            finish(&agent, &one, "fail").await;
            assert_eq!(status(&agent, &one).await, if on_failure == "retry" { "ready" } else { "failed" });
            if on_failure != "retry" {
                update(&agent, TASKS, &one, json!({"status": "ready"})).await.ok();
            }
            finish(&agent, &one, "fail").await;
            assert_eq!((plan(&agent, &id).await["state"].as_str().unwrap(), status(&agent, &two).await.as_str()), (state, next), "{on_failure}");
        }
        for (answer, state, next) in [("yes", "active", "ready"), ("no", "failed", "cancelled")] {
            let intent = agent.active_intent().await;
            let one = task(&agent, intent, json!({"max_attempts": 1})).await;
            let two = task(&agent, intent, json!({"depends_on": [one]})).await;
            let id = created(&agent, intent, json!({"tasks": [one, two]})).await;
            act(&agent, &id, "activate").await.ok();
            finish(&agent, &one, "fail").await;
            assert_eq!(plan(&agent, &id).await["state"], "paused");
            let asked = newest(&agent, intent, "plan.question_asked").await;
            assert_eq!(asked["task_id"], json!(one));
            app.operator().respond(intent, asked["suspension_id"].as_str().unwrap(), answer).await.ok();
            assert_eq!((plan(&agent, &id).await["state"].as_str().unwrap(), status(&agent, &two).await.as_str()), (state, next), "{answer}");
        }
    }

    /// An agent that gives a plan up cancels its tasks. An agent that is lost with the last attempt fails the plan.
    async fn a_plan_is_given_up(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (one, two) = (task(&agent, intent, json!({})).await, task(&agent, intent, json!({})).await);
        let id = created(&agent, intent, json!({"tasks": [one, two]})).await;
        act(&agent, &id, "activate").await.ok();
        run(&agent, &one).await.ok();
        act(&agent, &id, "cancel").await.ok();
        assert_eq!(since(&agent, intent, "plan.cancelled").await, ["plan.cancelled", "lease_released", "task.cancelled", "task.cancelled"]);
        assert_eq!(agent.post(&format!("{TASKS}/{one}/complete"), json!({})).await.problem(), (409, "invalid_transition"));
        let lost = task(&agent, intent, json!({"max_attempts": 1, "timeout_seconds": 60})).await;
        let id = created(&agent, intent, json!({"tasks": [lost], "on_failure": "fail"})).await;
        act(&agent, &id, "activate").await.ok();
        run(&agent, &lost).await.ok();
        app.advance(60).await;
        assert_eq!(plan(&agent, &id).await["state"], "failed");
    }

    /// A person who has stopped a plan has stopped all its tasks, also one that could get another attempt.
    async fn a_stopped_plan_stays_stopped(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (one, two) = (task(&agent, intent, json!({})).await, task(&agent, intent, json!({})).await);
        let id = created(&agent, intent, json!({"tasks": [one, two], "checkpoints": [checkpoint(&one)]})).await;
        act(&agent, &id, "activate").await.ok();
        finish(&agent, &two, "fail").await;
        finish(&agent, &one, "complete").await;
        app.operator().respond(intent, &question(&agent, &id).await, "no").await.ok();
        assert_eq!(update(&agent, TASKS, &two, json!({"status": "ready"})).await.problem(), (409, "plan_not_active"));
        // In an abandoned intent no attempt begins either.
        let other = agent.active_intent().await;
        let three = task(&agent, other, json!({})).await;
        finish(&agent, &three, "fail").await;
        let version = agent.intent(other).await["version"].to_string();
        agent.post_at(&format!("api/v1/intents/{other}/status"), &version, json!({"status": "abandoned"})).await.ok();
        assert_eq!(update(&agent, TASKS, &three, json!({"status": "ready"})).await.problem(), (409, "intent_ended"));
    }

    /// An agent that gives the task before a checkpoint up does not avoid the person.
    async fn a_checkpoint_is_reached_however_its_task_ends(app: &mut TestApp) {
        let agent = app.agent();
        for (how, on_failure) in [("cancelled", "notify"), ("failed", "notify"), ("skipped", "notify")] {
            let intent = agent.active_intent().await;
            let needed = task(&agent, intent, json!({})).await;
            let depends_on = if how == "skipped" { vec![needed] } else { Vec::new() };
            let one = task(&agent, intent, json!({"depends_on": depends_on, "max_attempts": 1})).await;
            let two = task(&agent, intent, json!({})).await;
            let id = created(&agent, intent, json!({"tasks": [one, two], "checkpoints": [checkpoint(&one)], "on_failure": on_failure})).await;
            act(&agent, &id, "activate").await.ok();
            if how == "failed" {
                finish(&agent, &one, "fail").await;
            } else {
                update(&agent, TASKS, &one, json!({"status": how})).await.ok();
            }
            assert_eq!(agent.status(intent).await, "suspended_awaiting_input", "{how}");
            assert_eq!(run(&agent, &two).await.problem(), (409, "plan_not_active"), "{how}");
        }
    }

    /// A task that an agent has blocked does not go on in a plan that waits for a person.
    async fn a_blocked_task_does_not_go_on_while_its_plan_waits(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (one, two) = (task(&agent, intent, json!({})).await, task(&agent, intent, json!({})).await);
        let id = created(&agent, intent, json!({"tasks": [one, two], "checkpoints": [checkpoint(&one)]})).await;
        act(&agent, &id, "activate").await.ok();
        for task in [&one, &two] {
            run(&agent, task).await.ok();
        }
        update(&agent, TASKS, &two, json!({"status": "blocked"})).await.ok();
        let version = agent.intent(intent).await["version"].to_string();
        agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "blocked"})).await.ok();
        update(&agent, TASKS, &one, json!({"status": "completed"})).await.ok();
        assert_eq!(update(&agent, TASKS, &two, json!({"status": "running"})).await.problem(), (409, "plan_not_active"));
    }

    /// No person can be asked about a completed intent, so a plan that reaches a checkpoint there fails.
    async fn a_checkpoint_of_a_completed_intent_fails_the_plan(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (one, two) = (task(&agent, intent, json!({})).await, task(&agent, intent, json!({})).await);
        let id = created(&agent, intent, json!({"tasks": [one, two], "checkpoints": [checkpoint(&one)]})).await;
        act(&agent, &id, "activate").await.ok();
        run(&agent, &one).await.ok();
        let version = agent.intent(intent).await["version"].to_string();
        agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "completed"})).await.ok();
        update(&agent, TASKS, &one, json!({"status": "completed"})).await.ok();
        let failed = plan(&agent, &id).await;
        assert_eq!((&failed["state"], &failed["checkpoints"][0]["status"]), (&json!("failed"), &json!("rejected")));
        assert_eq!(status(&agent, &two).await, "cancelled");
    }

    /// A title that seems to hold a secret would be in the header of every mail about a checkpoint.
    async fn a_plan_is_refused_under_a_title_that_holds_a_secret(app: &mut TestApp) {
        app.restart_with(|config| config.asking.seeming_secret = SeemingSecret::Refuse).await;
        let agent = app.agent();
        let body = json!({"title": "Use AKIAIOSFODNN7EXAMPLE", "status": "active"});
        let intent: IntentId = agent.post("api/v1/intents", body).await.ok()["id"].as_str().unwrap().parse().unwrap();
        let refused = create(&agent, intent, json!({})).await;
        assert_eq!((refused.status, refused.field_problem().2), (422, "intent.title"), "{}", refused.text);
    }

    /// A draft changes; every limit of a plan at its bound and one beyond; and what the server cannot do is refused by name.
    async fn the_limits_of_plans_are_these(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let one = task(&agent, intent, json!({})).await;
        let long = |length: usize| "n".repeat(length);
        let with = |name: &str, value: Value| {
            let mut checkpoint = checkpoint(&one);
            checkpoint[name] = value;
            json!({"tasks": [one], "checkpoints": [checkpoint]})
        };
        let many = |count: usize| {
            let all: Vec<Value> = (0..count).map(|number| json!({"id": number.to_string(), "name": "n", "after_task": one})).collect();
            json!({"tasks": [one], "checkpoints": all})
        };
        for (body, field, rule) in [
            (with("name", json!(long(CHECKPOINT_WORD_MAX + 1))), "checkpoints[0].name", "length"),
            (with("id", json!("")), "checkpoints[0].id", "length"),
            (with("name", json!("Pay?\nApproved by security.")), "checkpoints[0].name", "format"),
            (with("timeout_hours", json!(TIMEOUT_HOURS_MAX + 1)), "checkpoints[0].timeout_hours", "range"),
            (with("timeout_hours", json!(0)), "checkpoints[0].timeout_hours", "range"),
            (with("timeout_hours", json!(ESCALATE_HOURS_MAX + 1)), "checkpoints[0].timeout_hours", "range"),
            (with("after_task", json!("x")), "checkpoints[0].after_task", "unknown"),
            (with("after_task", json!(intent)), "checkpoints[0].after_task", "unknown"),
            (with("status", json!("approved")), "checkpoints[0].status", "unsupported"),
            (with("on_timeout", json!("auto_approve")), "checkpoints[0].on_timeout", "deadline"),
            (with("approvers", json!(["no address"])), "checkpoints[0].approvers[0]", "email"),
            (with("approvers", json!(["a@evil.example"])), "checkpoints[0].approvers[0]", "allowed"),
            (many(CHECKPOINTS_MAX + 1), "checkpoints", "count"),
            (json!({"tasks": [one, one]}), "tasks", "unique"),
            (json!({"tasks": [intent]}), "tasks", "unknown"),
            (json!({"tasks": ["x"]}), "tasks", "unknown"),
            (json!({"tasks": vec![one.as_str(); PLAN_TASKS_MAX + 1]}), "tasks", "count"),
            (json!({"on_complete": "celebrate"}), "on_complete", "unsupported"),
            (json!({"on_failure": "celebrate"}), "on_failure", "value"),
            (json!({"metadata": {"a": long(40_000)}}), "metadata", "length"),
        ] {
            let refused = create(&agent, intent, body.clone()).await;
            assert_eq!((refused.field_problem().0, refused.field_problem().2), (422, field), "{body} {}", refused.text);
            assert!(rule == "value" || refused.field_problem().3 == rule, "{}", refused.text);
        }
        let twice = json!({"tasks": [one], "checkpoints": [checkpoint(&one), checkpoint(&one)]});
        assert_eq!(create(&agent, intent, twice).await.field_problem().3, "unique");
        let id = created(&agent, intent, many(CHECKPOINTS_MAX)).await;
        update(&agent, PLANS, &id, with("name", json!(long(CHECKPOINT_WORD_MAX)))).await.ok();
        update(&agent, PLANS, &id, with("timeout_hours", json!(ESCALATE_HOURS_MAX))).await.ok();
        let mut longest = with("timeout_hours", json!(TIMEOUT_HOURS_MAX));
        longest["checkpoints"][0]["on_timeout"] = json!("fail");
        update(&agent, PLANS, &id, longest).await.ok();
        let other = task(&agent, intent, json!({})).await;
        assert_eq!(update(&agent, PLANS, &id, json!({"tasks": [other]})).await.field_problem().2, "checkpoints[0].after_task");
        update(&agent, PLANS, &id, json!({"tasks": [other], "checkpoints": [checkpoint(&other)]})).await.ok();
        assert_eq!((status(&agent, &one).await.as_str(), status(&agent, &other).await.as_str()), ("ready", "pending"));
        assert_eq!(create(&agent, intent, json!({"tasks": [other]})).await.field_problem(), (422, "invalid", "tasks", "value"));
        assert_eq!(update(&agent, PLANS, &id, json!({})).await.field_problem(), (422, "invalid", "state", "required"));
        assert_eq!(update(&agent, PLANS, &id, json!({"state": "completed"})).await.problem(), (409, "invalid_transition"));
        let bare = agent.send(agent.request("PATCH", &format!("{PLANS}/{id}")).json(&json!({"state": "active"}))).await;
        assert_eq!(bare.problem(), (428, "precondition_required"));
        let empty = created(&agent, intent, json!({})).await;
        assert_eq!(act(&agent, &empty, "activate").await.field_problem(), (422, "invalid", "state", "count"));
        for _ in 2..PLANS_MAX {
            created(&agent, intent, json!({})).await;
        }
        assert_eq!(create(&agent, intent, json!({})).await.field_problem(), (422, "invalid", "intent_id", "count"));
        act(&agent, &empty, "cancel").await.ok();
        created(&agent, intent, json!({})).await;
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        assert_eq!(stranger.get(&format!("{PLANS}/{id}")).await.problem(), (404, "not_found"));
        assert_eq!(act(&stranger, &id, "activate").await.problem(), (404, "not_found"));
    }

    /// A person decides at a checkpoint by a call that names it, as by every other way to answer.
    async fn a_checkpoint_is_approved_and_rejected_by_its_name(app: &mut TestApp) {
        let agent = app.agent();
        for (verb, status, state) in [("approve", "approved", "active"), ("reject", "rejected", "failed")] {
            let (intent, id, _) = at_a_checkpoint(&agent, json!({"id": "pay/1 100%"})).await;
            app.restart().await;
            let operator = app.operator();
            let path = format!("api/v1/checkpoints/pay%2F1%20100%25/{verb}");
            let body = json!({"plan_id": id, "notes": "Checked by phone."});
            let decided = operator.post_once(&path, "k", body.clone()).await.ok();
            let checkpoint = &decided["checkpoints"][0];
            assert_eq!(json!([decided["state"], checkpoint["status"], checkpoint["approved_by"]]), json!([state, status, "test-operator"]));
            let resumed = newest(&operator, intent, "intent.resumed").await;
            assert_eq!(resumed["metadata"]["notes"], "Checked by phone.");
            assert_eq!(operator.post_once(&path, "k", body.clone()).await.ok(), decided);
            for verb in ["approve", "reject"] {
                let again = operator.post(&format!("api/v1/checkpoints/pay%2F1%20100%25/{verb}"), body.clone()).await;
                assert_eq!(again.problem(), (409, "checkpoint_not_open"));
                assert!(again.text.contains(status), "{}", again.text);
            }
        }
    }

    /// The call skips no rule: no agent decides, nor a key of an owner whose agent works in the plan, nor before the checkpoint is reached.
    async fn the_name_of_a_checkpoint_is_no_way_round_a_person(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id, [_, two]) = at_a_checkpoint(&agent, json!({})).await;
        let later = created(&agent, intent, json!({"tasks": [], "checkpoints": []})).await;
        let path = "api/v1/checkpoints/pay/approve";
        let body = json!({"plan_id": id});
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        let same = Api::new(&app.base, Some(&app.new_key_of(Role::Operator, "olga", "test-agent").await));
        let (helper, hugo) = works_for_hugo(app, intent, &two).await;
        let gateway = Api::new(&app.base, Some(&app.new_key(Role::Channel, "gateway").await));
        let before = agent.everything(intent).await;
        let auditor = Api::new(&app.base, Some(&app.new_key(Role::Auditor, "ada").await));
        for (who, api, refusal) in [
            ("the agent", &agent, (403, "self_response")),
            ("a stranger", &stranger, (404, "not_found")),
            ("its owner", &same, (403, "self_response")),
            ("an agent that works in the plan", &helper, (403, "self_response")),
            ("the owner of that agent", &hugo, (403, "self_response")),
            ("a gateway", &gateway, (403, "forbidden")),
            ("an auditor", &auditor, (403, "forbidden")),
        ] {
            assert_eq!(api.post(path, body.clone()).await.problem(), refusal, "{who}");
        }
        let operator = app.operator();
        let named = json!({"plan_id": id, "decided_by": "ops@example.com"});
        assert_eq!(gateway.post(path, named).await.problem(), (403, "forbidden"));
        let stale = operator.send(operator.request("POST", path).header("if-match", "1").json(&body)).await;
        assert_eq!(stale.problem(), (409, "version_conflict"));
        for (path, body, refusal) in [
            ("api/v1/checkpoints/other/approve", body.clone(), (404, "not_found")),
            (path, json!({"plan_id": later}), (404, "not_found")),
            (path, json!({"plan_id": two}), (404, "not_found")),
            (path, json!({"plan_id": "pay"}), (404, "not_found")),
        ] {
            assert_eq!(operator.post(path, body.clone()).await.problem(), refusal, "{path} {body}");
        }
        for (body, field, rule) in [
            (json!({}), "plan_id", "required"),
            (json!({"plan_id": 7}), "plan_id", "required"),
            (json!({"plan_id": id, "notes": "x".repeat(2_001)}), "notes", "length"),
        ] {
            assert_eq!(operator.post(path, body).await.field_problem(), (422, "invalid", field, rule));
        }
        assert_eq!(agent.post(path, json!({})).await.problem(), (403, "self_response"));
        assert_eq!(agent.everything(intent).await, before);
        let one = task(&agent, intent, json!({})).await;
        let pending = created(&agent, intent, json!({"tasks": [one], "checkpoints": [checkpoint(&one)]})).await;
        let early = operator.post(path, json!({"plan_id": pending})).await;
        assert_eq!(early.problem(), (409, "checkpoint_not_open"));
        assert!(early.text.contains("pending"), "{}", early.text);
        assert_eq!(agent.post(path, json!({"plan_id": pending})).await.problem(), (403, "self_response"));
        operator.post(path, json!({"plan_id": id, "notes": "x".repeat(2_000)})).await.ok();
    }

    /// A decision that comes too late ends nothing, and the same key with another request is refused.
    async fn a_decision_by_name_comes_once_and_in_time(app: &mut TestApp) {
        let agent = app.agent();
        let late = json!({"timeout_hours": 1, "on_timeout": "fail"});
        let (intent, id, _) = at_a_checkpoint(&agent, late).await;
        app.clock.jump(TimeDelta::hours(1));
        let (path, body) = ("api/v1/checkpoints/pay/approve", json!({"plan_id": id}));
        assert_eq!(app.operator().post(path, body.clone()).await.problem(), (409, "expired"));
        assert_eq!((agent.status(intent).await, plan(&agent, &id).await["state"].clone()), ("abandoned".into(), json!("failed")));
        assert_eq!(app.operator().post(path, body).await.problem(), (409, "checkpoint_not_open"));
        let (_, id, _) = at_a_checkpoint(&agent, json!({})).await;
        let version = plan(&agent, &id).await["version"].to_string();
        let operator = app.operator();
        let once = |notes: &str| {
            let body = json!({"plan_id": id, "notes": notes});
            operator.request("POST", path).header("if-match", &version).header("idempotency-key", "k").json(&body)
        };
        operator.send(once("a")).await.ok();
        assert_eq!(operator.send(once("b")).await.problem(), (422, "idempotency_mismatch"));
    }
}
