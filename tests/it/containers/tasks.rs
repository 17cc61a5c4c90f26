//! Tasks: the parts of an intent's work, which wait while the intent waits for a person.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::base::time::rfc3339;
use domain::container::task::{ATTEMPTS_MAX, DATA_BYTES_MAX, DEPENDENCIES_MAX, LIST_MAX, NAME_MAX, UNFINISHED_MAX, WORDS_MAX};
use domain::intent::announcement::RECORD_WITHIN_SECONDS;
use domain::people::principal::Role;
use domain::suspension::lease::DURATION_SECONDS_MAX;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

pub(super) const TASKS: &str = "api/v1/tasks";
/// How long an agent holds a task in these tests, in seconds.
const HELD: i64 = 60;
pub(super) const STATUSES: [&str; 9] =
    ["pending", "ready", "claimed", "running", "blocked", "completed", "failed", "cancelled", "skipped"];

async fn create(api: &Api, intent: IntentId, change: Value) -> Reply {
    let mut body = json!({"intent_id": intent, "name": "Check the invoice", "timeout_seconds": HELD});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    api.post(TASKS, body).await
}

pub(super) async fn created(api: &Api, intent: IntentId, change: Value) -> String {
    create(api, intent, change).await.ok()["id"].as_str().unwrap().to_owned()
}

pub(super) async fn task(api: &Api, id: &str) -> Value {
    api.get(&format!("{TASKS}/{id}")).await.ok()
}

/// Changes a task as the client does, with its present version.
async fn update(api: &Api, id: &str, body: Value) -> Reply {
    let version = task(api, id).await["version"].to_string();
    api.send(api.request("PATCH", &format!("{TASKS}/{id}")).header("if-match", version).json(&body)).await
}

pub(super) async fn to(api: &Api, id: &str, status: &str) -> Reply {
    update(api, id, json!({"status": status})).await
}

pub(super) async fn act(api: &Api, id: &str, verb: &str, body: Value) -> Reply {
    api.post(&format!("{TASKS}/{id}/{verb}"), body).await
}

pub(super) async fn running(api: &Api, intent: IntentId) -> String {
    let id = created(api, intent, json!({})).await;
    to(api, &id, "running").await.ok();
    id
}

/// A task with this status.
pub(super) async fn task_that_is(api: &Api, intent: IntentId, status: &str) -> String {
    let needed = if ["pending", "skipped"].contains(&status) { vec![created(api, intent, json!({})).await] } else { Vec::new() };
    let id = created(api, intent, json!({"depends_on": needed})).await;
    let steps: &[&str] = match status {
        "pending" | "ready" => &[],
        "claimed" | "running" | "cancelled" | "skipped" => &[status],
        other => &["running", other],
    };
    for step in steps {
        to(api, &id, step).await.ok();
    }
    assert_eq!(task(api, &id).await["status"], status);
    id
}

/// The part of a task that the mirror of a suspension changes.
pub(super) async fn mirror(api: &Api, id: &str) -> Value {
    let task = task(api, id).await;
    json!([task["status"], task["blocked_reason"], task["suspended_intent_id"]])
}

/// The types of the newest events of an intent, oldest first, from the first one of `from` on, without those about messages.
pub(super) async fn since(api: &Api, intent: IntentId, from: &str) -> Vec<String> {
    let types = api.event_types(intent).await;
    let from = types.iter().rposition(|event_type| event_type == from).unwrap();
    types[from..].iter().filter(|event_type| !event_type.starts_with("delivery.")).cloned().collect()
}

/// The payload of the newest event of a type.
async fn newest(api: &Api, intent: IntentId, event_type: &str) -> Value {
    let events = api.events(intent).await;
    events.iter().rfind(|event| event["event_type"] == event_type).unwrap()["payload"].clone()
}

pub(super) async fn helper(app: &TestApp, intent: IntentId) -> Api {
    let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
    app.agent().post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "helper"})).await.ok();
    helper
}

pub(super) async fn set_status(api: &Api, intent: IntentId, status: &str) -> Reply {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": status, "reason": "test"})).await
}

on_each_store! {
    /// RFC-0026 §3, rule 3: the running tasks of an intent wait exactly as long as the intent waits for a person.
    async fn the_running_tasks_wait_while_their_intent_waits_for_a_person(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (works, waits) = (running(&agent, intent).await, created(&agent, intent, json!({})).await);
        let claimed = task_that_is(&agent, intent, "claimed").await;
        let held = task_that_is(&agent, intent, "blocked").await;
        let question = agent.asked(intent).await;
        assert_eq!(mirror(&agent, &works).await, json!(["blocked", "intent_suspended", intent]));
        assert_eq!(mirror(&agent, &claimed).await, json!(["claimed", null, null]));
        assert_eq!(mirror(&agent, &held).await, json!(["blocked", "manual", null]));
        assert_eq!(since(&agent, intent, "intent.suspended").await, ["intent.suspended", "status_changed", "task.blocked"]);
        let told = json!({"task_id": works, "blocked_reason": "intent_suspended", "suspended_intent_id": intent});
        assert_eq!(newest(&agent, intent, "task.blocked").await, told);
        app.restart().await;
        let agent = app.agent();
        let before = agent.everything(intent).await;
        for (id, status) in [(&works, "running"), (&held, "running"), (&claimed, "running"), (&waits, "running"), (&waits, "claimed")] {
            assert_eq!(to(&agent, id, status).await.problem(), (409, "intent_suspended"), "{status}");
        }
        assert_eq!(act(&agent, &waits, "claim", json!({})).await.problem(), (409, "intent_suspended"));
        for (verb, body) in [("complete", json!({})), ("fail", json!({})), ("progress", json!({})), ("delegate", json!({"capability": "c"}))] {
            assert_eq!(act(&agent, &works, verb, body).await.problem(), (409, "invalid_transition"), "{verb}");
        }
        assert_eq!(agent.everything(intent).await, before);
        app.operator().respond(intent, &question, "approve").await.ok();
        assert_eq!(mirror(&agent, &works).await, json!(["running", null, null]));
        assert_eq!(mirror(&agent, &held).await, json!(["blocked", "manual", null]));
        assert_eq!(since(&agent, intent, "intent.resumed").await, ["intent.resumed", "status_changed", "task.unblocked"]);
        assert_eq!(newest(&agent, intent, "task.unblocked").await, json!({"task_id": works, "resolution": "responded"}));
        act(&agent, &works, "complete", json!({"output": {"valid": true}})).await.ok();
        act(&agent, &waits, "claim", json!({})).await.ok();
    }

    /// Whatever ends the question, no task stays behind: the tasks go on with the intent, or end with it.
    async fn the_tasks_follow_every_ending(app: &mut TestApp) {
        let agent = app.agent();
        let goes_on = json!({"timeout_seconds": 3_600, "fallback_policy": "use_default_and_continue", "fallback_value": "approve"});
        for (fallback, ends, resolution) in [(goes_on, "running", Some("expired")), (json!({"timeout_seconds": 3_600, "fallback_policy": "fail"}), "cancelled", None)] {
            let intent = agent.active_intent().await;
            let id = running(&agent, intent).await;
            let needed = created(&agent, intent, json!({})).await;
            let pending = created(&agent, intent, json!({"depends_on": [needed]})).await;
            agent.suspend(intent, fallback).await.ok();
            app.settle().await;
            app.advance(3_601).await;
            assert_eq!(task(&agent, &id).await["status"], ends);
            if let Some(resolution) = resolution {
                assert_eq!(newest(&agent, intent, "task.unblocked").await["resolution"], resolution);
            } else {
                assert_eq!(agent.status(intent).await, "abandoned");
                for id in [&id, &needed, &pending] {
                    assert_eq!(task(&agent, id).await["status"], "cancelled");
                }
                assert_eq!(newest(&agent, intent, "task.cancelled").await["reason"], "intent_abandoned");
                assert_eq!(create(&agent, intent, json!({})).await.problem(), (409, "intent_ended"));
            }
        }
        // A question that is taken back, and one that another question replaces.
        let intent = agent.active_intent().await;
        let id = running(&agent, intent).await;
        let first = agent.asked(intent).await;
        let second = agent.suspend(intent, json!({"supersedes": first, "question": "Another one?"})).await.ok()["id"].as_str().unwrap().to_owned();
        assert_eq!(mirror(&agent, &id).await, json!(["blocked", "intent_suspended", intent]));
        assert!(!agent.event_types(intent).await.contains(&"task.unblocked".to_owned()));
        agent.post(&format!("api/v1/suspensions/{second}/cancel"), json!({})).await.ok();
        assert_eq!(task(&agent, &id).await["status"], "running");
        assert_eq!(newest(&agent, intent, "task.unblocked").await["resolution"], "cancelled");
        // The agent gives the intent up while it waits.
        agent.asked(intent).await;
        set_status(&agent, intent, "abandoned").await.ok();
        assert_eq!(task(&agent, &id).await["status"], "cancelled");
    }

    /// The deadline of a portfolio abandons the intent, and its tasks with it.
    async fn the_deadline_of_a_portfolio_cancels_the_tasks(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = running(&agent, intent).await;
        let created_at = domain::base::time::parse(agent.intent(intent).await["created_at"].as_str().unwrap()).unwrap();
        let deadline = rfc3339(created_at + chrono::TimeDelta::seconds(600));
        let portfolio = agent.post("api/v1/portfolios", json!({"name": "n", "governance_policy": {"deadline": deadline}})).await.ok();
        let place = format!("api/v1/portfolios/{}/intents", portfolio["id"].as_str().unwrap());
        agent.post(&place, json!({"intent_id": intent})).await.ok();
        agent.asked(intent).await;
        let types = since(&agent, intent, "intent.suspended").await;
        assert_eq!(types, ["intent.suspended", "status_changed", "task.blocked", "portfolio.member_suspended"]);
        app.advance(601).await;
        assert_eq!(since(&agent, intent, "intent.suspension_expired").await, ["intent.suspension_expired", "status_changed", "task.cancelled"]);
        assert_eq!(task(&agent, &id).await["status"], "cancelled");
    }

    /// A client that suspends in three calls: its tasks wait from the first call on, and go on if no question comes.
    async fn an_announced_question_blocks_the_tasks_too(app: &mut TestApp) {
        let agent = Api::new(&app.base, Some(&app.new_client_key("caller").await));
        let intent = agent.active_intent().await;
        let id = running(&agent, intent).await;
        set_status(&agent, intent, "suspended_awaiting_input").await.ok();
        assert_eq!(mirror(&agent, &id).await, json!(["blocked", "intent_suspended", intent]));
        app.advance(i64::from(RECORD_WITHIN_SECONDS)).await;
        assert_eq!(agent.status(intent).await, "active");
        assert_eq!(task(&agent, &id).await["status"], "running");
        assert_eq!(newest(&agent, intent, "task.unblocked").await, json!({"task_id": id}));
    }

    /// Each step between two statuses that RFC-0012 knows is possible, and every other one is refused.
    async fn the_steps_of_a_task_are_these(app: &mut TestApp) {
        let agent = app.agent();
        let mut intent = agent.active_intent().await;
        let mut table = String::new();
        for from in STATUSES {
            let mut reached = Vec::new();
            for status in STATUSES {
                // The tasks that are left open here must not reach the limit of an intent.
                if agent.get(&format!("api/v1/intents/{intent}/tasks")).await.ok().as_array().unwrap().len() > UNFINISHED_MAX / 2 {
                    intent = agent.active_intent().await;
                }
                let id = task_that_is(&agent, intent, from).await;
                let before = (task(&agent, &id).await, agent.everything(intent).await);
                let reply = to(&agent, &id, status).await;
                if reply.status == 200 {
                    assert_eq!((&reply.body["status"], &reply.body["state"]), (&json!(status), &json!(status)));
                    reached.push(status);
                } else {
                    assert_eq!(reply.problem(), (409, "invalid_transition"), "{from} to {status}");
                    assert_eq!((task(&agent, &id).await, agent.everything(intent).await), before);
                }
            }
            table += &[from, ": ", &reached.join(" "), "\n"].concat();
        }
        let expected = "\
pending: cancelled skipped
ready: claimed running cancelled
claimed: running cancelled
running: blocked completed failed cancelled
blocked: running cancelled
completed: 
failed: ready
cancelled: 
skipped: 
";
        assert_eq!(table, expected);
    }

    /// A task is ready when all tasks on which it depends are completed or skipped.
    async fn a_task_waits_for_those_on_which_it_depends(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (one, two) = (running(&agent, intent).await, running(&agent, intent).await);
        let last = created(&agent, intent, json!({"depends_on": [one, two]})).await;
        assert_eq!(task(&agent, &one).await["blocks"], json!([last]));
        act(&agent, &one, "complete", json!({"output": {"total": 5}, "artifacts": ["report.pdf"]})).await.ok();
        assert_eq!(task(&agent, &last).await["status"], "pending");
        assert_eq!(act(&agent, &last, "claim", json!({})).await.problem(), (409, "invalid_transition"));
        app.restart().await;
        let agent = app.agent();
        act(&agent, &two, "complete", json!({})).await.ok();
        assert_eq!(since(&agent, intent, "lease_released").await, ["lease_released", "task.completed", "task.ready"]);
        assert_eq!(task(&agent, &last).await["status"], "ready");
        let done = task(&agent, &one).await;
        assert_eq!((&done["output"], &done["artifacts"]), (&json!({"total": 5}), &json!(["report.pdf"])));
        let after = created(&agent, intent, json!({"depends_on": [one, last]})).await;
        assert_eq!(task(&agent, &after).await["status"], "pending");
        let skipped = created(&agent, intent, json!({"depends_on": [after]})).await;
        let free = created(&agent, intent, json!({"depends_on": [skipped]})).await;
        to(&agent, &skipped, "skipped").await.ok();
        assert_eq!(task(&agent, &free).await["status"], "ready");
        let listed = agent.get(&format!("api/v1/intents/{intent}/tasks?status=completed&limit=1&offset=1")).await.ok();
        assert_eq!(listed.as_array().unwrap().iter().map(|task| &task["id"]).collect::<Vec<_>>(), [&json!(two)]);
        // A task of another intent is not known here.
        let other = agent.active_intent().await;
        let error = (422, "invalid", "depends_on", "unknown");
        assert_eq!(create(&agent, other, json!({"depends_on": [one]})).await.field_problem(), error);
        assert_eq!(create(&agent, other, json!({"depends_on": ["1"]})).await.field_problem(), error);
        assert_eq!(create(&agent, other, json!({"parent_task_id": one})).await.field_problem().2, "parent_task_id");
    }

    /// An agent that gives no sign of life loses its task to the next agent; one that reports its progress keeps it.
    async fn an_agent_that_gives_no_sign_of_life_loses_its_task(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (quiet, alive) = (running(&agent, intent).await, running(&agent, intent).await);
        app.advance(HELD - 1).await;
        act(&agent, &alive, "progress", json!({"percentage": 40, "message": "Two of five."})).await.ok();
        assert_eq!(since(&agent, intent, "lease_renewed").await, ["lease_renewed", "task.progress"]);
        app.restart().await;
        let agent = app.agent();
        app.advance(1).await;
        let lost = task(&agent, &quiet).await;
        let facts = json!([lost["status"], lost["attempt"], lost["assigned_agent"], lost["lease_id"], lost["started_at"]]);
        assert_eq!(facts, json!(["ready", 2, null, null, null]));
        assert_eq!(newest(&agent, intent, "task.retrying").await, json!({"task_id": quiet, "attempt": 2, "reason": "lease_expired"}));
        assert_eq!(task(&agent, &alive).await["status"], "running");
        app.advance(HELD).await;
        assert_eq!(task(&agent, &alive).await["status"], "ready");
        // The last attempt fails for good.
        let last = created(&agent, intent, json!({"max_attempts": 1})).await;
        act(&agent, &last, "claim", json!({})).await.ok();
        app.advance(HELD).await;
        let failed = task(&agent, &last).await;
        assert_eq!(json!([failed["status"], failed["attempt"], failed["error"]]), json!(["failed", 1, "lease_expired"]));
        assert_eq!(to(&agent, &last, "ready").await.problem(), (409, "invalid_transition"));
    }

    /// No agent loses a task while the intent waits for a person, however long that takes (RFC-0025 §2).
    async fn no_agent_loses_its_task_while_the_intent_waits_for_a_person(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (works, claimed) = (running(&agent, intent).await, task_that_is(&agent, intent, "claimed").await);
        let question = agent.suspend(intent, json!({"timeout_seconds": 86_400})).await.ok()["id"].as_str().unwrap().to_owned();
        for _ in 0..5 {
            app.advance(HELD + 7).await;
        }
        app.operator().respond(intent, &question, "approve").await.ok();
        app.advance(HELD - 1).await;
        assert_eq!(task(&agent, &works).await["status"], "running");
        assert_eq!(task(&agent, &claimed).await["status"], "claimed");
        app.advance(1).await;
        assert_eq!(task(&agent, &works).await["status"], "ready");
        assert_eq!(task(&agent, &claimed).await["status"], "ready");
    }

    /// An agent works on the tasks that it holds. The agent that created the intent may assign tasks to others, and end them.
    async fn an_agent_does_not_change_the_task_of_another_one(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = helper(app, intent).await;
        let own = running(&agent, intent).await;
        assert_eq!(act(&helper, &own, "complete", json!({})).await.problem(), (409, "lease_conflict"));
        assert_eq!(act(&helper, &own, "progress", json!({})).await.problem(), (409, "lease_conflict"));
        assert_eq!(to(&helper, &own, "cancelled").await.problem(), (409, "lease_conflict"));
        let given = created(&agent, intent, json!({})).await;
        let named = json!({"status": "running", "assigned_agent": "helper"});
        update(&agent, &given, named.clone()).await.ok();
        let held = task(&agent, &given).await;
        assert_eq!((&held["assigned_agent"], &held["status"]), (&json!("helper"), &json!("running")));
        let leases = agent.get(&format!("api/v1/intents/{intent}/leases")).await.ok();
        let lease = leases["leases"].as_array().unwrap().iter().find(|lease| lease["id"] == held["lease_id"]).unwrap();
        assert_eq!(lease["scope"], format!("task:{given}"));
        let free = created(&agent, intent, json!({})).await;
        let other = json!({"assigned_agent": "another"});
        assert_eq!(act(&helper, &free, "claim", other).await.problem(), (403, "forbidden"));
        act(&helper, &given, "complete", json!({})).await.ok();
        update(&helper, &free, named).await.ok();
        to(&agent, &free, "cancelled").await.ok();
        // A key without access does not learn that the task exists.
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        assert_eq!(stranger.get(&format!("{TASKS}/{own}")).await.problem(), (404, "not_found"));
        assert_eq!(act(&stranger, &own, "complete", json!({})).await.problem(), (404, "not_found"));
        assert_eq!(create(&stranger, intent, json!({})).await.problem(), (404, "not_found"));
    }

    /// Work begins only on an intent that is not blocked. If a dependency waits for a person, the refusal names it.
    async fn no_task_begins_while_its_intent_is_blocked(app: &mut TestApp) {
        let agent = app.agent();
        let review = agent.active_intent().await;
        let body = json!({"title": "Report", "status": "active", "depends_on": [review]});
        let report: IntentId = agent.post("api/v1/intents", body).await.ok()["id"].as_str().unwrap().parse().unwrap();
        let id = created(&agent, report, json!({})).await;
        assert_eq!(act(&agent, &id, "claim", json!({})).await.problem(), (409, "intent_blocked"));
        let question = agent.asked(review).await;
        let refused = to(&agent, &id, "running").await;
        assert_eq!(refused.problem(), (422, "io_upstream_suspended"));
        let detail = &refused.body["detail"];
        assert_eq!(
            json!([detail["rule"], detail["suspended_intent_id"], detail["phase_name"]]),
            json!(["upstream_intent_suspended", review, "Report"])
        );
        assert!(!detail["expected_resume_at"].is_null());
        app.operator().respond(review, &question, "approve").await.ok();
        assert_eq!(act(&agent, &id, "claim", json!({})).await.problem(), (409, "intent_blocked"));
        set_status(&agent, review, "completed").await.ok();
        act(&agent, &id, "claim", json!({})).await.ok();
        // A completed intent lets the work on it end, and no more begin.
        to(&agent, &id, "running").await.ok();
        let late = created(&agent, report, json!({})).await;
        set_status(&agent, report, "completed").await.ok();
        assert_eq!(act(&agent, &late, "claim", json!({})).await.problem(), (409, "intent_ended"));
        act(&agent, &id, "complete", json!({})).await.ok();
    }

    /// The claim of a task needs the inputs of the contract of its intent, as a lease does.
    async fn a_task_begins_only_with_the_inputs_of_its_intent(app: &mut TestApp) {
        let agent = app.agent();
        let body = json!({"title": "Report", "status": "active", "state": {"_io_inputs": {"who": "$trigger.who"}}});
        let intent: IntentId = agent.post("api/v1/intents", body).await.ok()["id"].as_str().unwrap().parse().unwrap();
        let id = created(&agent, intent, json!({})).await;
        assert_eq!(act(&agent, &id, "claim", json!({})).await.problem(), (422, "io_inputs"));
        assert_eq!(to(&agent, &id, "running").await.problem(), (422, "io_inputs"));
        assert_eq!(agent.get(&format!("api/v1/intents/{intent}/leases")).await.ok()["leases"], json!([]));
    }

    /// A task whose agent delegates a part of the work waits until that part is finished, whatever becomes of it.
    async fn a_task_waits_for_the_part_that_its_agent_delegates(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for (ends, body) in [("complete", json!({})), ("cancel", json!({"status": "cancelled"}))] {
            let whole = running(&agent, intent).await;
            let delegated = act(&agent, &whole, "delegate", json!({"capability": "translate", "payload": {"text": "Rechnung"}})).await.ok();
            let part = delegated["id"].as_str().unwrap();
            let facts = json!([delegated["parent_task_id"], delegated["name"], delegated["capabilities_required"], delegated["input"], delegated["status"]]);
            assert_eq!(facts, json!([whole, "translate", ["translate"], {"text": "Rechnung"}, "ready"]));
            assert_eq!(mirror(&agent, &whole).await, json!(["blocked", "delegated", null]));
            if ends == "complete" {
                to(&agent, part, "running").await.ok();
                act(&agent, part, "complete", body).await.ok();
            } else {
                update(&agent, part, body).await.ok();
            }
            assert_eq!(mirror(&agent, &whole).await, json!(["running", null, null]));
        }
        // If the part ends while the intent waits for a person, so does the whole.
        let whole = running(&agent, intent).await;
        let part = act(&agent, &whole, "delegate", json!({"capability": "c"})).await.ok()["id"].as_str().unwrap().to_owned();
        let question = agent.asked(intent).await;
        to(&agent, &part, "cancelled").await.ok();
        assert_eq!(mirror(&agent, &whole).await, json!(["blocked", "intent_suspended", intent]));
        app.operator().respond(intent, &question, "approve").await.ok();
        assert_eq!(mirror(&agent, &whole).await, json!(["running", null, null]));
    }

    /// A task that waited for longer than an agent may hold it without a sign of life has its whole time again when it goes on.
    async fn a_task_that_goes_on_has_its_whole_time_again(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (whole, held) = (running(&agent, intent).await, task_that_is(&agent, intent, "blocked").await);
        let part = act(&agent, &whole, "delegate", json!({"capability": "c"})).await.ok()["id"].as_str().unwrap().to_owned();
        // Another task with the same parent does not end the wait.
        let other = created(&agent, intent, json!({"parent_task_id": whole})).await;
        to(&agent, &other, "cancelled").await.ok();
        assert_eq!(mirror(&agent, &whole).await, json!(["blocked", "delegated", null]));
        app.advance(10 * HELD).await;
        to(&agent, &part, "running").await.ok();
        act(&agent, &part, "complete", json!({})).await.ok();
        to(&agent, &held, "running").await.ok();
        app.advance(HELD - 1).await;
        for id in [&whole, &held] {
            assert_eq!((task(&agent, id).await["status"].as_str().unwrap(), &task(&agent, id).await["attempt"]), ("running", &json!(1)));
        }
        app.advance(1).await;
        assert_eq!(task(&agent, &whole).await["status"], "ready");
    }

    /// The scope of a task is held by claiming the task. An agent that gives it back by hand loses the task.
    async fn the_scope_of_a_task_is_not_taken_by_hand(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = running(&agent, intent).await;
        let leases = format!("api/v1/intents/{intent}/leases");
        let taken = agent.post(&leases, json!({"scope": format!("task:{id}")})).await;
        assert_eq!(taken.field_problem(), (422, "invalid", "scope", "value"));
        agent.post(&leases, json!({"scope": "task:other"})).await.ok();
        let question = agent.asked(intent).await;
        let lease = task(&agent, &id).await["lease_id"].as_str().unwrap().to_owned();
        agent.send(agent.request("DELETE", &format!("{leases}/{lease}"))).await.ok();
        app.operator().respond(intent, &question, "approve").await.ok();
        app.settle().await;
        assert_eq!(task(&agent, &id).await["status"], "ready");
    }

    /// Another attempt counts among the tasks that are not finished.
    async fn another_attempt_needs_room(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let failed = task_that_is(&agent, intent, "failed").await;
        for _ in 0..UNFINISHED_MAX {
            created(&agent, intent, json!({})).await;
        }
        assert_eq!(to(&agent, &failed, "ready").await.field_problem(), (422, "invalid", "status", "count"));
    }

    /// The client changes a task with the version that it has read, and a stale one loses.
    async fn a_change_of_a_task_needs_its_present_version(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = created(&agent, intent, json!({})).await;
        let path = format!("{TASKS}/{id}");
        let body = json!({"status": "running"});
        for header in [None, Some("abc"), Some("0.5")] {
            let request = agent.request("PATCH", &path);
            let request = header.map_or(agent.request("PATCH", &path), |version| request.header("if-match", version));
            assert_eq!(agent.send(request.json(&body)).await.problem(), (428, "precondition_required"), "{header:?}");
        }
        let shown = agent.get(&path).await;
        assert_eq!(shown.headers["etag"].to_str().unwrap(), format!("\"{}\"", shown.body["version"]));
        let stale = agent.send(agent.request("PATCH", &path).header("if-match", "1").json(&body)).await;
        assert_eq!((stale.problem(), &stale.body["current_version"]), ((409, "version_conflict"), &json!(2)));
        let changed = agent.send(agent.request("PATCH", &path).header("if-match", "\"2\"").json(&body)).await;
        assert_eq!((changed.status, &changed.body["version"]), (200, &json!(4)));
        // The same request again is answered from what was kept under its key.
        let other = created(&agent, intent, json!({})).await;
        let path = format!("{TASKS}/{other}/claim");
        let claimed = agent.post_once(&path, "once", json!({})).await.ok();
        assert_eq!(agent.post_once(&path, "once", json!({})).await.ok(), claimed);
        assert_eq!(act(&agent, &other, "claim", json!({})).await.problem(), (409, "invalid_transition"));
    }

    /// Two agents claim one task at the same moment: one of them holds it.
    async fn one_of_two_claims_wins(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = helper(app, intent).await;
        for _ in 0..20 {
            let id = created(&agent, intent, json!({})).await;
            let (one, two) = tokio::join!(act(&agent, &id, "claim", json!({})), act(&helper, &id, "claim", json!({})));
            let mut statuses = [one.status, two.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 409]);
            let winner = if one.status == 200 { one.body } else { two.body };
            assert_eq!(task(&agent, &id).await["assigned_agent"], winner["assigned_agent"]);
            to(&agent, &id, "cancelled").await.ok();
        }
    }

    /// Every limit of a task, at its bound and one beyond.
    async fn the_limits_of_tasks_are_these(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let long = |length: usize| json!("n".repeat(length));
        let data = |bytes: usize| json!({"k": "v".repeat(bytes - r#"{"k":""}"#.len())});
        let list = |length: usize| json!(vec!["c"; length]);
        for (field, within, beyond, rule) in [
            ("name", long(NAME_MAX), long(NAME_MAX + 1), "length"),
            ("name", long(1), long(0), "length"),
            ("description", long(8_192), long(8_193), "length"),
            ("priority", long(WORDS_MAX), long(WORDS_MAX + 1), "length"),
            ("input", data(DATA_BYTES_MAX), data(DATA_BYTES_MAX + 1), "length"),
            ("metadata", data(DATA_BYTES_MAX), data(DATA_BYTES_MAX + 1), "length"),
            ("capabilities_required", list(LIST_MAX), list(LIST_MAX + 1), "count"),
            ("capabilities_required", json!([long(NAME_MAX)]), json!([long(NAME_MAX + 1)]), "length"),
            ("max_attempts", json!(ATTEMPTS_MAX), json!(ATTEMPTS_MAX + 1), "range"),
            ("max_attempts", json!(1), json!(0), "range"),
            ("timeout_seconds", json!(DURATION_SECONDS_MAX), json!(DURATION_SECONDS_MAX + 1), "range"),
            ("timeout_seconds", json!(1), json!(0), "range"),
            ("permissions", json!("inherit"), json!("none"), "unsupported"),
        ] {
            assert_eq!(create(&agent, intent, json!({field: beyond})).await.field_problem(), (422, "invalid", field, rule));
            let made = create(&agent, intent, json!({field: within})).await.ok();
            assert_eq!(made[field], within, "{field}");
            to(&agent, made["id"].as_str().unwrap(), "cancelled").await.ok();
        }
        let mut needed = Vec::new();
        for _ in 0..=DEPENDENCIES_MAX {
            needed.push(created(&agent, intent, json!({})).await);
        }
        assert_eq!(create(&agent, intent, json!({"depends_on": needed})).await.field_problem(), (422, "invalid", "depends_on", "count"));
        created(&agent, intent, json!({"depends_on": needed[1..]})).await;
        for _ in DEPENDENCIES_MAX + 2..UNFINISHED_MAX {
            created(&agent, intent, json!({})).await;
        }
        assert_eq!(create(&agent, intent, json!({})).await.field_problem(), (422, "invalid", "intent_id", "count"));
        to(&agent, &needed[0], "cancelled").await.ok();
        created(&agent, intent, json!({})).await;
        let listed = agent.get(&format!("api/v1/intents/{intent}/tasks?limit=100")).await.ok();
        assert_eq!(listed.as_array().unwrap().len(), 100);
    }

    /// A member that the new status has no use for is refused, so that no agent counts on an effect that it does not have.
    async fn a_change_of_a_task_takes_only_what_its_status_needs(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = running(&agent, intent).await;
        for (body, field) in [
            (json!({"status": "blocked", "output": {}}), "output"),
            (json!({"status": "failed", "artifacts": ["a"]}), "artifacts"),
            (json!({"status": "completed", "error": "e"}), "error"),
            (json!({"status": "completed", "blocked_reason": "b"}), "blocked_reason"),
            (json!({"status": "blocked", "blocked_reason": "intent_suspended"}), "blocked_reason"),
            (json!({"status": "blocked", "blocked_reason": "delegated"}), "blocked_reason"),
            (json!({"status": "blocked", "blocked_reason": "escalation"}), "blocked_reason"),
            (json!({"status": "completed", "reason": "r"}), "reason"),
            (json!({"status": "completed", "assigned_agent": "a"}), "assigned_agent"),
            (json!({"status": "running", "assigned_agent": "a"}), "assigned_agent"),
            (json!({"status": "active"}), "status"),
            (json!({}), "status"),
        ] {
            let refused = update(&agent, &id, body.clone()).await;
            assert_eq!((refused.field_problem().0, refused.field_problem().2), (422, field), "{body}");
        }
        update(&agent, &id, json!({"status": "blocked", "blocked_reason": "The archive is closed."})).await.ok();
        assert_eq!(task(&agent, &id).await["blocked_reason"], "The archive is closed.");
        to(&agent, &id, "running").await.ok();
        update(&agent, &id, json!({"status": "failed", "error": "no answer"})).await.ok();
        assert_eq!(task(&agent, &id).await["error"], "no answer");
        to(&agent, &id, "ready").await.ok();
        assert_eq!(task(&agent, &id).await["attempt"], 2);
        update(&agent, &id, json!({"status": "cancelled", "reason": "not needed"})).await.ok();
        assert_eq!(newest(&agent, intent, "task.cancelled").await["reason"], "not needed");
        for member in ["memory_policy", "requires_tools", "retry_policy"] {
            let refused = create(&agent, intent, json!({member: "x"})).await;
            assert_eq!(refused.field_problem(), (422, "invalid", member, "unsupported"));
        }
        assert_eq!(create(&agent, intent, json!({"plan_id": "x"})).await.field_problem(), (422, "invalid", "plan_id", "unknown"));
        create(&agent, intent, json!({"plan_id": null, "memory_policy": {}, "requires_tools": [], "retry_policy": null})).await.ok();
    }
}
