//! Conditions of plans: which tasks are skipped by the results of others.

use domain::container::condition::{CONDITIONS_MAX, WHEN_MAX};
use domain::container::plan::CHECKPOINT_WORD_MAX;
use harness::on_each_store;
use serde_json::{Value, json};

use super::plans::{
    PLANS, TASKS, act, checkpoint, create, created, finish, newest, plan, question, run, since, status, task, update,
};

/// A condition for `task` by the result of `reads`.
fn condition(reads: &str, task: &str, rest: &str) -> Value {
    json!({"id": "large", "task_id": task, "when": format!("tasks['{reads}'].output.{rest}")})
}

on_each_store! {
    /// A task is skipped if the result of another one does not satisfy its condition; what waits for it goes on.
    async fn a_plan_branches_by_the_result_of_a_task(app: &mut TestApp) {
        for (amount, signed, event) in [(501, "ready", "task.ready"), (500, "skipped", "task.skipped")] {
            let agent = app.agent();
            let intent = agent.active_intent().await;
            let read = task(&agent, intent, json!({})).await;
            let check = task(&agent, intent, json!({"depends_on": [read]})).await;
            let sign = task(&agent, intent, json!({"depends_on": [check]})).await;
            let pay = task(&agent, intent, json!({"depends_on": [sign]})).await;
            let large = condition(&read, &sign, "amount > 500");
            let tasks = json!([read, check, sign, pay]);
            let id = created(&agent, intent, json!({"tasks": tasks, "conditions": [large], "checkpoints": [checkpoint(&sign)]})).await;
            let draft = plan(&agent, &id).await["conditions"][0].clone();
            assert_eq!(json!([draft["id"], draft["task_id"], draft["otherwise"], draft["holds"]]), json!(["large", sign, "skip", null]));
            act(&agent, &id, "activate").await.ok();
            run(&agent, &read).await.ok();
            agent.post(&format!("{TASKS}/{read}/complete"), json!({"output": {"amount": amount}})).await.ok();
            assert_eq!(plan(&agent, &id).await["conditions"][0]["holds"], amount > 500);
            app.restart().await;
            let agent = app.agent();
            finish(&agent, &check, "complete").await;
            let events = since(&agent, intent, "task.completed").await;
            assert_eq!(events[1], event, "{events:?}");
            assert_eq!(status(&agent, &sign).await, signed);
            if signed == "skipped" {
                assert_eq!(newest(&agent, intent, "task.skipped").await["reason"], "condition");
                // The checkpoint behind it is reached all the same: an agent avoids no person by a condition.
                assert_eq!(plan(&agent, &id).await["state"], "paused");
                app.operator().respond(intent, &question(&agent, &id).await, "yes").await.ok();
                assert_eq!(status(&agent, &pay).await, "ready");
                finish(&agent, &pay, "complete").await;
                assert_eq!(plan(&agent, &id).await["state"], "completed");
            }
        }
    }

    /// A condition does not hold for a result that is missing, and waits for one that is late.
    async fn a_condition_needs_a_result(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let read = task(&agent, intent, json!({})).await;
        let check = task(&agent, intent, json!({"depends_on": [read]})).await;
        let sign = task(&agent, intent, json!({"depends_on": [check]})).await;
        let id = created(&agent, intent, json!({"tasks": [read, check, sign], "conditions": [condition(&read, &sign, "amount != 1")]})).await;
        // The task between the two is given up, so nothing but the condition holds the last one up.
        update(&agent, TASKS, &check, json!({"status": "skipped"})).await.ok();
        act(&agent, &id, "activate").await.ok();
        assert_eq!(status(&agent, &sign).await, "pending");
        finish(&agent, &read, "complete").await;
        assert_eq!((status(&agent, &sign).await.as_str(), plan(&agent, &id).await["state"].as_str()), ("skipped", Some("completed")));
    }

    /// A condition that could never be decided, or that the server cannot read, is refused when the plan is written.
    async fn a_condition_that_cannot_be_decided_is_refused(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let one = task(&agent, intent, json!({})).await;
        let two = task(&agent, intent, json!({"depends_on": [one]})).await;
        let other = task(&agent, intent, json!({})).await;
        let after_other = task(&agent, intent, json!({"depends_on": [other]})).await;
        let tasks = json!([one, two, after_other]);
        let good = condition(&one, &two, "a == 1");
        let with = |name: &str, value: Value| {
            let mut changed = good.clone();
            changed[name] = value;
            json!({"tasks": tasks, "conditions": [changed]})
        };
        let long = |length: usize| format!("tasks['{one}'].output.a == '{}'", "x".repeat(length - 60));
        assert_eq!(long(WHEN_MAX).len(), WHEN_MAX);
        let many = |count: usize| {
            let all: Vec<Value> = (0..count).map(|number| json!({"id": number.to_string(), "task_id": two, "when": good["when"]})).collect();
            json!({"tasks": tasks, "conditions": all})
        };
        for (body, field, rule) in [
            (with("when", json!("amount > 500")), "conditions[0].when", "format"),
            (with("when", json!(long(WHEN_MAX + 1))), "conditions[0].when", "length"),
            (with("when", condition(&two, &one, "a == 1")["when"].clone()), "conditions[0].when", "order"),
            (with("when", condition(&other, &two, "a == 1")["when"].clone()), "conditions[0].when", "order"),
            (with("task_id", json!(one)), "conditions[0].when", "order"),
            (with("task_id", json!(other)), "conditions[0].task_id", "unknown"),
            (with("task_id", json!("x")), "conditions[0].task_id", "unknown"),
            (with("otherwise", json!("fail")), "conditions[0].otherwise", "unsupported"),
            (with("id", json!("")), "conditions[0].id", "length"),
            (with("id", json!("a\nb")), "conditions[0].id", "format"),
            (with("id", json!("x".repeat(CHECKPOINT_WORD_MAX + 1))), "conditions[0].id", "length"),
            (json!({"tasks": tasks, "conditions": [good, good]}), "conditions", "unique"),
            (json!({"tasks": tasks, "conditions": [json!({"id": "c"})]}), "conditions[0].task_id", "required"),
            (many(CONDITIONS_MAX + 1), "conditions", "count"),
        ] {
            let refused = create(&agent, intent, body.clone()).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, rule), "{body} {}", refused.text);
        }
        let id = created(&agent, intent, many(CONDITIONS_MAX)).await;
        update(&agent, PLANS, &id, json!({"conditions": [with("when", json!(long(WHEN_MAX)))["conditions"][0]]})).await.ok();
        // The task whose result is read leaves the plan.
        let refused = update(&agent, PLANS, &id, json!({"tasks": [two, after_other]})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "conditions[0].when", "order"));
        act(&agent, &id, "activate").await.ok();
        assert_eq!(update(&agent, PLANS, &id, json!({"conditions": []})).await.problem(), (409, "plan_not_draft"));
    }

    /// The person who reviews a plan reads which tasks may be skipped, and the person at a checkpoint that its task was.
    async fn people_are_told_of_conditions(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let guarded = json!({"agent_id": "test-agent", "intent_id": intent, "guardrails": {"requires_plan_review": true}});
        agent.post("api/v1/coordinators", guarded).await.ok();
        let read = task(&agent, intent, json!({"name": "Read it"})).await;
        let verify = task(&agent, intent, json!({"name": "Verify the recipient", "depends_on": [read]})).await;
        let body = json!({"tasks": [read, verify], "conditions": [condition(&read, &verify, "zzz == 1")], "checkpoints": [checkpoint(&verify)]});
        let id = created(&agent, intent, body).await;
        act(&agent, &id, "activate").await.ok();
        let open = |intent: Value| intent["state"]["_suspension"].clone();
        let review = open(json!(agent.intent(intent).await));
        assert_eq!(review["context"]["conditions"], json!(["Verify the recipient: only if Read it.zzz == 1"]));
        app.operator().respond(intent, review["id"].as_str().unwrap(), "yes").await.ok();
        finish(&agent, &read, "complete").await;
        assert_eq!(status(&agent, &verify).await, "skipped");
        let asked = open(json!(agent.intent(intent).await));
        assert_eq!((&asked["context"]["checkpoint"], &asked["context"]["task_status"]), (&json!("pay"), &json!("skipped")));
    }
}
