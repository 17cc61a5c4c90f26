//! The members of the bodies about tasks, plans and coordinators.

use domain::base::ids::IntentId;
use harness::api::{Api, Reply};
use serde_json::{Value, json};

use super::{COORDINATOR, INTENT, Member, TASK};

/// Stands for a task that depends on the one for which `TASK` stands.
const LATER: &str = "$later";

pub(super) fn members_of_coordinators() -> Vec<Member> {
    let lease = json!({"agent_id": "test-agent", "intent_id": INTENT});
    let create = |name, value| Member::of("CreateCoordinatorRequest", &lease, name, value);
    let decision = json!({"coordinator_id": COORDINATOR, "intent_id": INTENT, "decision_type": "plan_created", "summary": "s", "rationale": "r"});
    let decide = |name, value| Member::of("CreateDecisionRecordRequest", &decision, name, value);
    let rail = |name, value: Value| {
        let mut with = json!({});
        with[name] = value;
        Member::within("GuardrailsRequest", &lease, "guardrails", name, [json!({}), with])
    };
    vec![
        create("agent_id", json!("another")).answered(403),
        create("intent_id", json!("another")).answered(404),
        create("portfolio_id", json!("p")).refused(),
        create("scope", json!("portfolio")).refused(),
        create("role", json!("planner")),
        create("supervisor_id", json!("boss@example.com")),
        create("coordinator_type", json!("human")),
        create("suspension_policy", json!("block_dependents")),
        create("guardrails", json!({"max_plan_versions": 2})),
        create("heartbeat_interval_seconds", json!(5)),
        create("expires_at", json!("2099-01-01T00:00:00Z")),
        create("metadata", json!({"a": 1})),
        rail("max_tasks_per_plan", json!(2)),
        rail("max_concurrent_tasks", json!(2)),
        rail("max_delegation_depth", json!(2)),
        rail("max_plan_versions", json!(2)),
        rail("allowed_capabilities", json!(["c"])),
        rail("requires_plan_review", json!(true)),
        decide("coordinator_id", json!("another")).refused(),
        decide("intent_id", json!("another")).answered(404),
        decide("decision_type", json!("plan_modified")),
        decide("summary", json!("t")),
        decide("rationale", json!("q")),
        decide("alternatives_considered", json!([{"a": 1}])),
        decide("confidence", json!(5)),
    ]
}

pub(super) fn members_of_tasks() -> Vec<Member> {
    let task = json!({"intent_id": INTENT, "name": "n"});
    let create = |name, value| Member::of("CreateTaskRequest", &task, name, value);
    let update = |status: &str, name, value| Member::of("UpdateTaskRequest", &json!({"status": status}), name, value);
    vec![
        create("intent_id", json!("another")).answered(404),
        create("name", json!("o")),
        create("description", json!("d")),
        create("priority", json!("high")),
        create("input", json!({"a": 1})),
        create("capabilities_required", json!(["c"])),
        create("depends_on", json!(["another"])).refused(),
        create("parent_task_id", json!("another")).refused(),
        create("timeout_seconds", json!(5)),
        create("max_attempts", json!(5)),
        create("metadata", json!({"a": 1})),
        create("permissions", json!("none")).refused(),
        create("plan_id", json!("p")).refused(),
        create("memory_policy", json!({"a": 1})).refused(),
        create("requires_tools", json!(["t"])).refused(),
        create("retry_policy", json!("r")).refused(),
        update("running", "status", json!("claimed")),
        update("running", "assigned_agent", json!("helper")),
        update("completed", "output", json!({"a": 1})),
        update("completed", "artifacts", json!(["a"])),
        update("failed", "error", json!("e")),
        update("blocked", "blocked_reason", json!("b")),
        update("cancelled", "reason", json!("r")),
        Member::of("ClaimTaskRequest", &json!({}), "assigned_agent", json!("helper")),
        Member::of("CompleteTaskRequest", &json!({}), "output", json!({"a": 1})),
        Member::of("CompleteTaskRequest", &json!({}), "artifacts", json!(["a"])),
        Member::of("FailTaskRequest", &json!({}), "error", json!("e")),
        Member::of("ReportProgressRequest", &json!({}), "percentage", json!(5)),
        Member::of("ReportProgressRequest", &json!({}), "message", json!("m")),
        Member::of("DelegateTaskRequest", &json!({"capability": "c"}), "capability", json!("d")),
        Member::of("DelegateTaskRequest", &json!({"capability": "c"}), "payload", json!({"a": 1})),
        Member::of("DelegateTaskRequest", &json!({"capability": "c"}), "name", json!("n")),
        Member::of("EscalateTaskRequest", &json!({"reason": "r"}), "reason", json!("s")),
        Member::of("DecideCheckpointRequest", &json!({"plan_id": "p"}), "plan_id", json!("another")).answered(404),
        Member::of("DecideCheckpointRequest", &json!({"plan_id": "p"}), "notes", json!("n")),
        Member::of("DecideCheckpointRequest", &json!({"plan_id": "p"}), "decided_by", json!("bob@example.com")),
        // The checkpoint proposes no action.
        Member::of("DecideCheckpointRequest", &json!({"plan_id": "p"}), "proposal", json!({"a": 1})).refused(),
        Member::of("DecideCheckpointRequest", &json!({"plan_id": "p"}), "based_on", json!("sha256:x")).refused(),
    ]
}

pub(super) fn members_of_plans() -> Vec<Member> {
    let plan = |name, value| Member::of("CreatePlanRequest", &json!({"intent_id": INTENT}), name, value);
    let one = json!({"id": "c", "name": "n", "after_task": TASK});
    let checkpoint = |name, value: Value| {
        let mut with = one.clone();
        with[name] = value;
        Member::within(
            "CheckpointRequest",
            &json!({"intent_id": INTENT, "tasks": [TASK]}),
            "checkpoints",
            name,
            [json!([one]), json!([with])],
        )
    };
    let judged = json!({"id": "c", "task_id": LATER, "when": format!("tasks['{TASK}'].output.a == 1")});
    let condition = |name, value: Value| {
        let mut with = judged.clone();
        with[name] = value;
        let base = json!({"intent_id": INTENT, "tasks": [TASK, LATER]});
        Member::within("ConditionRequest", &base, "conditions", name, [json!([judged]), json!([with])])
    };
    vec![
        plan("intent_id", json!("another")).answered(404),
        plan("tasks", json!(["another"])).refused(),
        plan("checkpoints", json!([{"id": "c", "name": "n", "after_task": "another"}])).refused(),
        plan("conditions", json!([{"id": "c", "task_id": "another", "when": "w"}])).refused(),
        condition("id", json!("")).refused(),
        condition("task_id", json!("another")).refused(),
        condition("when", json!("w")).refused(),
        condition("otherwise", json!("fail")).refused(),
        Member::of("UpdatePlanRequest", &json!({"state": "cancelled"}), "conditions", json!([])),
        plan("on_failure", json!("fail")),
        plan("on_complete", json!("celebrate")).refused(),
        plan("metadata", json!({"a": 1})),
        checkpoint("id", json!("")).refused(),
        checkpoint("proposal", json!({"a": 1})),
        // There is no proposal that people could edit.
        checkpoint("editable", json!({"type": "object"})).refused(),
        checkpoint("question_key", json!("pay")),
        checkpoint("explanation", json!({"why": "w"})),
        checkpoint("reversibility", json!("irreversible")),
        checkpoint("confidence", json!(0.5)),
        checkpoint("name", json!("m")),
        checkpoint("after_task", json!("another")).refused(),
        checkpoint("requires_approval", json!(false)),
        checkpoint("approvers", json!(["ops@example.com"])),
        checkpoint("timeout_hours", json!(5)),
        checkpoint("on_timeout", json!("fail")),
        checkpoint("assignees", json!({"people": ["stranger@example.com"]})).refused(),
        checkpoint("quorum", json!({"required_approvals": 0})).refused(),
        checkpoint("required_assurance", json!("passkey")).refused(),
        checkpoint("risk", json!("enormous")).refused(),
        checkpoint("status", json!("approved")).refused(),
        Member::of("UpdatePlanRequest", &json!({"checkpoints": []}), "state", json!("cancelled")),
        Member::of("UpdatePlanRequest", &json!({"state": "cancelled"}), "tasks", json!(["another"])).refused(),
        Member::of("UpdatePlanRequest", &json!({"state": "cancelled"}), "checkpoints", json!([])),
    ]
}

/// Sends a request about a coordinator of the intent.
pub(super) async fn on_a_coordinator(agent: &Api, schema: &str, intent: IntentId, mut body: Value) -> Reply {
    if schema != "CreateDecisionRecordRequest" {
        return agent.post("api/v1/coordinators", body).await;
    }
    let lease = agent.post("api/v1/coordinators", json!({"agent_id": "test-agent", "intent_id": intent})).await.ok();
    if body["coordinator_id"] == COORDINATOR {
        body["coordinator_id"] = lease["id"].clone();
    }
    agent.post("api/v1/decisions", body).await
}

/// Sends a decision at the checkpoint of a new plan of the intent's task.
pub(super) async fn at_a_checkpoint(agent: &Api, operator: &Api, intent: IntentId, mut body: Value) -> Reply {
    let made = agent.get(&format!("api/v1/intents/{intent}/tasks")).await.ok()[0].clone();
    let checkpoint = json!({"id": "c", "name": "n", "after_task": made["id"]});
    let plan = json!({"intent_id": intent, "tasks": [made["id"]], "checkpoints": [checkpoint]});
    let plan = agent.post("api/v1/plans", plan).await.ok()["id"].as_str().unwrap().to_owned();
    agent.post(&format!("api/v1/plans/{plan}/activate"), json!({})).await.ok();
    let path = format!("api/v1/tasks/{}", made["id"].as_str().unwrap());
    agent.post(&format!("{path}/claim"), json!({})).await.ok();
    let version = agent.get(&path).await.ok()["version"].to_string();
    let begins = agent.request("PATCH", &path).header("if-match", version);
    agent.send(begins.json(&json!({"status": "running"}))).await.ok();
    agent.post(&format!("{path}/complete"), json!({})).await.ok();
    if body["plan_id"] == "p" {
        body["plan_id"] = plan.into();
    }
    operator.post("api/v1/checkpoints/c/approve", body).await
}

/// Sends a request about a new task, which runs unless the request itself begins it.
pub(super) async fn on_a_task(agent: &Api, schema: &str, intent: IntentId, body: Value) -> Reply {
    match schema {
        "CreateTaskRequest" => return agent.post("api/v1/tasks", body).await,
        "ConditionRequest" => {
            let later = json!({"intent_id": intent, "name": "later", "depends_on": [body["tasks"][0]]});
            let later = agent.post("api/v1/tasks", later).await.ok()["id"].as_str().unwrap().to_owned();
            let body: Value = serde_json::from_str(&body.to_string().replace(LATER, &later)).unwrap();
            return agent.post("api/v1/plans", body).await;
        }
        "CreatePlanRequest" | "CheckpointRequest" => return agent.post("api/v1/plans", body).await,
        "UpdatePlanRequest" => {
            let made = agent.post("api/v1/plans", json!({"intent_id": intent})).await.ok();
            let one = format!("api/v1/plans/{}", made["id"].as_str().unwrap());
            return agent.send(agent.request("PATCH", &one).header("if-match", "1").json(&body)).await;
        }
        _ => {}
    }
    let made = agent.post("api/v1/tasks", json!({"intent_id": intent, "name": "n"})).await.ok();
    let path = format!("api/v1/tasks/{}", made["id"].as_str().unwrap());
    let begins = schema == "ClaimTaskRequest" || ["claimed", "running"].map(Value::from).contains(&body["status"]);
    let update = async |version: &Value, body: &Value| {
        agent.send(agent.request("PATCH", &path).header("if-match", version.to_string()).json(body)).await
    };
    let mut version = made["version"].clone();
    if !begins {
        version = update(&version, &json!({"status": "running"})).await.ok()["version"].clone();
    }
    let verb = match schema {
        "ClaimTaskRequest" => "claim",
        "CompleteTaskRequest" => "complete",
        "FailTaskRequest" => "fail",
        "ReportProgressRequest" => "progress",
        "DelegateTaskRequest" => "delegate",
        "EscalateTaskRequest" => "escalate",
        "UpdateTaskRequest" => return update(&version, &body).await,
        other => panic!("no request is known with the body {other}"),
    };
    agent.post(&format!("{path}/{verb}"), body).await
}
