//! Each operation of the description must refuse each kind of bad request. An operation without a row fails the first test.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeMap;

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use placet_server::edge::body::{BODY_BYTES_MAX, MANY_BODY_BYTES_MAX};
use serde_json::{Value, json};

use super::{people_rows, proof_rows};

const NOBODYS: &str = "019ab0f2-0000-7000-8000-000000000000";

/// The requests that one operation must refuse.
pub(super) struct Row {
    operation: String,
    /// A role that may call the operation.
    role: Role,
    /// The roles that may read the record but may not call the operation.
    forbidden: &'static [Role],
    /// A body that breaks a rule, and the field that the error names.
    invalid: Option<(Value, &'static str)>,
    /// A query that breaks a rule, and the field that the error names.
    query: Option<(&'static str, &'static str)>,
    if_match_required: bool,
    /// Whether the operation checks `If-Match`.
    versioned: bool,
    /// Whether even an agent that may not read the intent may call the operation.
    told_to_strangers: bool,
}

impl Row {
    pub(super) fn new(operation: impl Into<String>, role: Role) -> Self {
        Self {
            operation: operation.into(),
            role,
            forbidden: &[],
            invalid: None,
            query: None,
            if_match_required: false,
            versioned: false,
            told_to_strangers: false,
        }
    }

    pub(super) fn forbidden(self, forbidden: &'static [Role]) -> Self {
        Self { forbidden, ..self }
    }

    pub(super) fn invalid(self, body: Value, field: &'static str) -> Self {
        Self { invalid: Some((body, field)), ..self }
    }

    pub(super) fn query(self, query: &'static str, field: &'static str) -> Self {
        Self { query: Some((query, field)), ..self }
    }

    pub(super) fn versioned(self, if_match_required: bool) -> Self {
        Self { versioned: true, if_match_required, ..self }
    }

    fn told_to_strangers(self) -> Self {
        Self { told_to_strangers: true, ..self }
    }

    fn method(&self) -> &str {
        self.operation.split_once(' ').unwrap().0
    }

    /// The operation's path with the ids of these things, without a leading slash.
    fn path(&self, things: &Things) -> String {
        let (_, path) = self.operation.split_once(' ').unwrap();
        let nobodys = ["key", "hold", "attachment", "event", "entry", "request", "dependency"];
        let path = nobodys.iter().fold(path[1..].to_owned(), |path, id| path.replace(&format!("{{{id}_id}}"), NOBODYS));
        path.replace("{intent_id}", &things.intent)
            .replace("{suspension_id}", &things.suspension)
            .replace("{lease_id}", &things.lease)
            .replace("{approval_id}", &things.approval)
            .replace("{escalation_id}", &things.escalation)
            .replace("{portfolio_id}", &things.portfolio)
            .replace("{task_id}", &things.task)
            .replace("{plan_id}", &things.plan)
            .replace("{checkpoint_id}", "c")
            .replace("{coordinator_id}", &things.coordinator)
            .replace("{subscription_id}", &things.subscription)
            .replace("{receipt_id}", &things.receipt)
            .replace("{agent_id}", "helper")
            .replace("{person_id}", &things.person)
            .replace("{group}", "finance")
    }

    /// Whether the operation is about an agent's intent or question, whose existence other agents must not learn.
    fn on_an_intent(&self) -> bool {
        [
            "{intent_id}",
            "{suspension_id}",
            "{escalation_id}",
            "{portfolio_id}",
            "{task_id}",
            "{plan_id}",
            "{coordinator_id}",
            "{subscription_id}",
            "{receipt_id}",
        ]
        .iter()
        .any(|id| self.operation.contains(id))
    }

    fn form(&self) -> &'static str {
        let openintents = [
            "/server/config",
            "/subscri",
            "/intents",
            "/escalations",
            "/portfolios",
            "/tasks",
            "/plans",
            "/checkpoints",
            "/verify/consistency",
            "/coordinators",
            "/decisions",
        ]
        .iter()
        .any(|part| self.operation.contains(part));
        let ours = ["/suspend", "t_id}/pause", "t_id}/park", "t_id}/stop"].iter().any(|end| self.operation.ends_with(end));
        if !openintents || ours { "application/problem+json" } else { "application/json" }
    }
}

/// The ids of the records that the operations work on.
struct Things {
    intent: String,
    suspension: String,
    lease: String,
    approval: String,
    escalation: String,
    portfolio: String,
    task: String,
    plan: String,
    coordinator: String,
    subscription: String,
    receipt: String,
    person: String,
}

impl Things {
    fn all(id: &str) -> Self {
        let id = || id.to_owned();
        Self {
            intent: id(),
            suspension: id(),
            lease: id(),
            approval: id(),
            escalation: id(),
            portfolio: id(),
            task: id(),
            plan: id(),
            coordinator: id(),
            subscription: id(),
            receipt: id(),
            person: id(),
        }
    }

    fn nobodys() -> Self {
        Self::all(NOBODYS)
    }

    /// An intent of the usual agent, with a lease and an open question, the receipt of a decision about another intent, and a person.
    async fn of(app: &TestApp) -> Self {
        let (agent, operator) = (app.agent(), app.operator());
        let (decided, question) = agent.ask(json!({})).await;
        operator.respond(decided, &question, "approve").await.ok();
        let receipt = agent.post(&format!("api/v1/suspensions/{question}/receipt"), json!({})).await.ok()["receipt_id"].clone();
        let intent = agent.active_intent().await;
        let lease = agent.post(&format!("api/v1/intents/{intent}/leases"), json!({"scope": "refund"})).await.ok();
        let approval = agent.post(&format!("api/v1/intents/{intent}/approvals"), json!({"action": "complete"})).await.ok();
        let escalation = agent.post(&format!("api/v1/intents/{intent}/escalations"), json!({"reason": "r"})).await.ok();
        let portfolio = agent.post("api/v1/portfolios", json!({"name": "Refunds"})).await.ok();
        let place = format!("api/v1/portfolios/{}/intents", portfolio["id"].as_str().unwrap());
        agent.post(&place, json!({"intent_id": intent})).await.ok();
        let task = agent.post("api/v1/tasks", json!({"intent_id": intent, "name": "n"})).await.ok();
        let plan = agent.post("api/v1/plans", json!({"intent_id": intent})).await.ok();
        let coordinator = agent.post("api/v1/coordinators", json!({"agent_id": "test-agent", "intent_id": intent})).await.ok();
        let endpoint = json!({"intent_id": intent, "webhook_url": "http://127.0.0.1:1/"});
        let subscription = agent.post("api/v1/subscriptions", endpoint).await.ok();
        let suspension = agent.asked(intent).await;
        let id = |thing: Value| thing["id"].as_str().unwrap().to_owned();
        let (lease, approval, escalation) = (id(lease), id(approval), id(escalation));
        let (portfolio, task, plan, coordinator) = (id(portfolio), id(task), id(plan), id(coordinator));
        Self {
            intent: intent.to_string(),
            suspension,
            lease,
            approval,
            escalation,
            portfolio,
            task,
            plan,
            coordinator,
            subscription: id(subscription),
            receipt: receipt.as_str().unwrap().to_owned(),
            person: people_rows::person(app).await,
        }
    }

    fn id(&self) -> IntentId {
        self.intent.parse().unwrap()
    }
}

/// One row for each operation that needs a key.
fn rows() -> Vec<Row> {
    [
        rows_of_decisions(),
        proof_rows::rows(),
        people_rows::rows(),
        rows_of_work(),
        rows_of_requests(),
        rows_of_portfolios(),
        rows_of_graphs(),
        rows_of_tasks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The rows of the operations on policies, and on requests to people that do not suspend the intent.
fn rows_of_requests() -> Vec<Row> {
    use Role::{Admin, Agent, Auditor, Channel, Operator};
    vec![
        Row::new("GET /api/v1/intents/{intent_id}/governance", Agent),
        Row::new("PUT /api/v1/intents/{intent_id}/governance", Agent)
            .forbidden(&[Operator, Auditor, Channel])
            .invalid(json!({"write_scope": "none"}), "write_scope")
            .versioned(true),
        Row::new("DELETE /api/v1/intents/{intent_id}/governance", Admin).forbidden(&[Operator, Auditor, Channel]).versioned(true),
        Row::new("GET /api/v1/intents/{intent_id}/approvals", Agent).forbidden(&[Channel]),
        Row::new("POST /api/v1/intents/{intent_id}/approvals", Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"action": ""}), "action"),
        Row::new("GET /api/v1/intents/{intent_id}/approvals/{approval_id}", Agent),
        Row::new("POST /api/v1/intents/{intent_id}/approvals/{approval_id}/approve", Operator)
            .forbidden(&[Auditor])
            .invalid(json!({"notes": 1}), "notes"),
        Row::new("POST /api/v1/intents/{intent_id}/approvals/{approval_id}/deny", Operator)
            .forbidden(&[Auditor])
            .invalid(json!({"notes": 1}), "notes"),
        Row::new("POST /api/v1/intents/{intent_id}/escalations", Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"reason": ""}), "reason"),
        Row::new("GET /api/v1/escalations", Agent).forbidden(&[Channel]).query("status=open", "status"),
        Row::new("POST /api/v1/escalations/{escalation_id}/resolve", Operator)
            .forbidden(&[Auditor])
            .invalid(json!({"resolution": 1}), "resolution"),
        Row::new("POST /api/v1/intents/{intent_id}/arbitrate", Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"reason": ""}), "reason"),
    ]
}

/// The rows of the operations on dependencies and children of intents.
fn rows_of_graphs() -> Vec<Row> {
    use Role::{Admin, Agent, Auditor, Channel, Operator};
    let below = |word: &str| format!("/api/v1/intents/{{intent_id}}/{word}");
    let lists = ["children", "descendants", "ancestors", "dependencies", "dependents", "ready", "blocked", "graph"];
    let lists = lists.map(|word| Row::new(format!("GET {}", below(word)), Agent).forbidden(&[Channel]));
    let writes = [
        Row::new(format!("POST {}", below("children")), Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"title": ""}), "title"),
        Row::new(format!("POST {}", below("dependencies")), Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"dependency_id": 1}), "dependency_id")
            .versioned(true),
        Row::new(format!("DELETE {}/{{dependency_id}}", below("dependencies")), Agent)
            .forbidden(&[Auditor, Channel])
            .versioned(true),
    ];
    lists.into_iter().chain(writes).collect()
}

/// The rows of tasks, plans and coordinators.
fn rows_of_tasks() -> Vec<Row> {
    use Role::{Admin, Agent, Auditor, Channel, Operator};
    let write = |operation: &str| Row::new(operation, Agent).forbidden(&[Operator, Admin, Auditor, Channel]);
    vec![
        write("POST /api/v1/tasks").invalid(json!({"name": "n"}), "intent_id"),
        Row::new("GET /api/v1/tasks/{task_id}", Agent).forbidden(&[Channel]),
        write("PATCH /api/v1/tasks/{task_id}").invalid(json!({"status": "active"}), "status").versioned(true),
        write("POST /api/v1/tasks/{task_id}/claim").invalid(json!({"assigned_agent": ""}), "assigned_agent"),
        write("POST /api/v1/tasks/{task_id}/complete").invalid(json!({"output": []}), "output"),
        write("POST /api/v1/tasks/{task_id}/fail").invalid(json!({"error": "e".repeat(1_001)}), "error"),
        write("POST /api/v1/tasks/{task_id}/progress").invalid(json!({"percentage": 101}), "percentage"),
        write("POST /api/v1/tasks/{task_id}/delegate").invalid(json!({"capability": ""}), "capability"),
        Row::new("GET /api/v1/intents/{intent_id}/tasks", Agent).forbidden(&[Channel]).query("limit=101", "limit"),
        write("POST /api/v1/plans").invalid(json!({"tasks": []}), "intent_id"),
        Row::new("GET /api/v1/plans/{plan_id}", Agent).forbidden(&[Channel]),
        write("PATCH /api/v1/plans/{plan_id}").invalid(json!({"state": "ready"}), "state").versioned(true),
        write("POST /api/v1/plans/{plan_id}/activate"),
        write("POST /api/v1/plans/{plan_id}/pause"),
        write("POST /api/v1/plans/{plan_id}/resume"),
        write("POST /api/v1/plans/{plan_id}/cancel"),
        write("POST /api/v1/tasks/{task_id}/escalate").invalid(json!({"reason": ""}), "reason"),
        Row::new("GET /api/v1/intents/{intent_id}/plans", Agent).forbidden(&[Channel]),
        Row::new("POST /api/v1/checkpoints/{checkpoint_id}/approve", Operator)
            .forbidden(&[Admin, Auditor])
            .invalid(json!({"notes": "n"}), "plan_id"),
        Row::new("POST /api/v1/checkpoints/{checkpoint_id}/reject", Operator)
            .forbidden(&[Admin, Auditor])
            .invalid(json!({"plan_id": 1}), "plan_id"),
        write("POST /api/v1/coordinators").invalid(json!({"agent_id": "test-agent"}), "intent_id"),
        Row::new("GET /api/v1/coordinators/{coordinator_id}", Agent).forbidden(&[Channel]),
        write("POST /api/v1/coordinators/{coordinator_id}/heartbeat"),
        write("POST /api/v1/decisions").invalid(json!({"summary": "s"}), "intent_id"),
        Row::new("GET /api/v1/intents/{intent_id}/coordinators", Agent).forbidden(&[Channel]),
        Row::new("GET /api/v1/intents/{intent_id}/coordinator-decisions", Agent)
            .forbidden(&[Channel])
            .query("limit=101", "limit"),
    ]
}

/// The rows of portfolios and subscriptions.
fn rows_of_portfolios() -> Vec<Row> {
    use Role::{Admin, Agent, Auditor, Channel, Operator};
    vec![
        Row::new("GET /api/v1/portfolios", Agent).forbidden(&[Channel]).query("limit=101", "limit"),
        Row::new("POST /api/v1/portfolios", Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"name": ""}), "name"),
        Row::new("GET /api/v1/portfolios/{portfolio_id}", Agent).forbidden(&[Channel]),
        Row::new("PATCH /api/v1/portfolios/{portfolio_id}", Agent)
            .forbidden(&[Operator, Auditor, Channel])
            .invalid(json!({"name": ""}), "name"),
        Row::new("PATCH /api/v1/portfolios/{portfolio_id}/status", Agent)
            .forbidden(&[Operator, Auditor, Channel])
            .invalid(json!({"status": "paused"}), "status"),
        Row::new("GET /api/v1/portfolios/{portfolio_id}/events", Agent).forbidden(&[Channel]),
        Row::new("GET /api/v1/portfolios/{portfolio_id}/intents", Agent).forbidden(&[Channel]).query("offset=1001", "offset"),
        Row::new("POST /api/v1/portfolios/{portfolio_id}/intents", Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"intent_id": NOBODYS, "priority": 1_000_001}), "priority"),
        Row::new("DELETE /api/v1/portfolios/{portfolio_id}/intents/{intent_id}", Agent).forbidden(&[Operator, Auditor, Channel]),
        Row::new("GET /api/v1/intents/{intent_id}/portfolios", Agent).forbidden(&[Channel]),
        Row::new("GET /api/v1/subscriptions", Agent).forbidden(&[Channel]).query("limit=101", "limit"),
        Row::new("POST /api/v1/subscriptions", Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"intent_id": NOBODYS, "webhook_url": "https://evil.example/"}), "webhook_url"),
        Row::new("DELETE /api/v1/subscriptions/{subscription_id}", Agent).forbidden(&[Operator, Auditor, Channel]),
    ]
}

/// The rows of the agents on an intent and of the data that they keep.
fn rows_of_work() -> Vec<Row> {
    use Role::{Admin, Agent, Auditor, Channel, Operator};
    vec![
        Row::new("GET /api/v1/intents/{intent_id}/agents", Agent).forbidden(&[Channel]),
        Row::new("POST /api/v1/intents/{intent_id}/agents", Agent)
            .forbidden(&[Operator, Auditor, Channel])
            .invalid(json!({"agent_id": ""}), "agent_id"),
        Row::new("DELETE /api/v1/intents/{intent_id}/agents/{agent_id}", Agent).forbidden(&[Operator, Auditor, Channel]),
        Row::new("GET /api/v1/intents/{intent_id}/acl", Agent).forbidden(&[Channel]),
        Row::new("PUT /api/v1/intents/{intent_id}/acl", Agent)
            .forbidden(&[Operator, Auditor, Channel])
            .invalid(json!({"default_policy": "open", "entries": []}), "default_policy"),
        Row::new("POST /api/v1/intents/{intent_id}/acl/entries", Agent)
            .forbidden(&[Operator, Auditor, Channel])
            .invalid(json!({"principal_id": ""}), "principal_id"),
        Row::new("DELETE /api/v1/intents/{intent_id}/acl/entries/{entry_id}", Agent).forbidden(&[Operator, Auditor, Channel]),
        Row::new("GET /api/v1/intents/{intent_id}/access-requests", Agent).forbidden(&[Channel]),
        Row::new("POST /api/v1/intents/{intent_id}/access-requests", Agent)
            .forbidden(&[Operator, Admin, Auditor, Channel])
            .invalid(json!({"principal_id": ""}), "principal_id")
            .told_to_strangers(),
        Row::new("POST /api/v1/intents/{intent_id}/access-requests/{request_id}/approve", Operator)
            .forbidden(&[Agent, Auditor, Channel])
            .invalid(json!({"reason": "r".repeat(2_001)}), "reason"),
        Row::new("POST /api/v1/intents/{intent_id}/access-requests/{request_id}/deny", Operator)
            .forbidden(&[Agent, Auditor, Channel])
            .invalid(json!({"reason": "r".repeat(2_001)}), "reason"),
        Row::new("GET /api/v1/intents/{intent_id}/decisions", Agent).forbidden(&[Channel]),
        Row::new("POST /api/v1/intents/{intent_id}/decisions", Agent)
            .forbidden(&[Admin, Auditor, Channel])
            .invalid(json!({"decision_type": "", "outcome": "o"}), "decision_type"),
        Row::new("GET /api/v1/intents/{intent_id}/attachments", Agent).forbidden(&[Channel]),
        Row::new("POST /api/v1/intents/{intent_id}/attachments", Agent)
            .forbidden(&[Admin, Auditor, Channel])
            .invalid(json!({"filename": "", "storage_url": "s"}), "filename"),
        // An attachment that does not exist is 404 for all, so the roles are tried in `records`.
        Row::new("DELETE /api/v1/intents/{intent_id}/attachments/{attachment_id}", Agent).forbidden(&[Channel]),
        Row::new("GET /api/v1/intents/{intent_id}/costs", Agent).forbidden(&[Channel]),
        Row::new("POST /api/v1/intents/{intent_id}/costs", Agent)
            .forbidden(&[Admin, Auditor, Channel])
            .invalid(json!({"cost_type": "", "amount": 1, "unit": "u"}), "cost_type"),
        Row::new("GET /api/v1/intents/{intent_id}/failures", Agent).forbidden(&[Channel]),
        Row::new("POST /api/v1/intents/{intent_id}/failures", Agent)
            .forbidden(&[Admin, Auditor, Channel])
            .invalid(json!({"error_code": ""}), "error_code"),
        Row::new("GET /api/v1/intents/{intent_id}/retry-policy", Agent).forbidden(&[Channel]),
        Row::new("PUT /api/v1/intents/{intent_id}/retry-policy", Agent)
            .forbidden(&[Admin, Auditor, Channel])
            .invalid(json!({"strategy": "fixed", "max_retries": 1_001}), "max_retries"),
    ]
}

/// All other rows.
fn rows_of_decisions() -> Vec<Row> {
    use Role::{Admin, Agent, Auditor, Channel, Operator};
    const NOT_AGENTS: &[Role] = &[Operator, Admin, Auditor, Channel];
    vec![
        Row::new("POST /api/v1/intents", Agent).forbidden(NOT_AGENTS).invalid(json!({"title": ""}), "title"),
        Row::new("GET /api/v1/intents", Agent).forbidden(&[Channel]).query("limit=1001", "limit"),
        Row::new("GET /api/v1/intents/{intent_id}", Agent),
        Row::new("POST /api/v1/intents/{intent_id}/state", Agent)
            .forbidden(NOT_AGENTS)
            .invalid(json!({"patches": []}), "patches")
            .versioned(true),
        Row::new("POST /api/v1/intents/{intent_id}/status", Agent)
            .forbidden(&[Auditor, Channel])
            .invalid(json!({"status": "x"}), "status")
            .versioned(true),
        Row::new("GET /api/v1/intents/{intent_id}/events", Agent).forbidden(&[Channel]).query("offset=100001", "offset"),
        Row::new("POST /api/v1/intents/{intent_id}/events", Agent)
            .forbidden(&[Admin, Auditor, Channel])
            .invalid(json!({"event_type": ""}), "event_type")
            .invalid(json!({"event_type": "x.\u{0}"}), "event_type"),
        Row::new("GET /api/v1/intents/{intent_id}/leases", Agent),
        Row::new("POST /api/v1/intents/{intent_id}/leases", Agent).forbidden(NOT_AGENTS).invalid(json!({"scope": ""}), "scope"),
        Row::new("PATCH /api/v1/intents/{intent_id}/leases/{lease_id}", Agent)
            .forbidden(NOT_AGENTS)
            .invalid(json!({"duration_seconds": 86_401}), "duration_seconds"),
        Row::new("DELETE /api/v1/intents/{intent_id}/leases/{lease_id}", Agent).forbidden(NOT_AGENTS),
        Row::new("POST /api/v1/intents/{intent_id}/suspend", Agent)
            .forbidden(NOT_AGENTS)
            .invalid(json!({"question": ""}), "question")
            .versioned(false),
        Row::new("POST /api/v1/intents/{intent_id}/suspend/respond", Operator)
            .forbidden(&[Admin, Auditor])
            .invalid(json!({"value": "approve"}), "suspension_id")
            .versioned(false),
        Row::new("GET /api/v1/suspensions/{suspension_id}", Agent).query("wait=51", "wait"),
        Row::new("GET /api/v1/suspensions", Agent).forbidden(&[Channel]).query("state=closed", "state"),
        Row::new("POST /api/v1/suspensions/{suspension_id}/cancel", Agent)
            .forbidden(&[Operator, Auditor, Channel])
            .invalid(json!({"because": "x"}), "because")
            .versioned(false),
        Row::new("GET /api/v1/suspensions/{suspension_id}/deliveries", Agent)
            .forbidden(&[Channel])
            .query("state=failed", "state"),
        Row::new("GET /api/v1/deliveries", Admin).forbidden(&[Agent, Operator, Channel]).query("state=sent", "state"),
        Row::new("POST /api/v1/deliveries/{delivery_id}/redrive", Admin).forbidden(&[Agent, Operator, Auditor, Channel]),
        Row::new("POST /api/v1/deliveries/bounces", Channel)
            .forbidden(&[Agent, Operator, Admin, Auditor])
            .invalid(json!({"returned_to": "", "kind": "hard"}), "returned_to"),
        Row::new("POST /api/v1/suspensions/{suspension_id}/extend", Operator)
            .forbidden(&[Agent, Auditor, Channel])
            .invalid(json!({"seconds": 0}), "seconds")
            .versioned(false),
        Row::new("POST /api/v1/suspensions/{suspension_id}/remind", Operator)
            .forbidden(&[Agent, Auditor, Channel])
            .invalid(json!({"because": "x"}), "because")
            .versioned(false),
        Row::new("POST /api/v1/suspensions/preview", Agent)
            .forbidden(&[Auditor, Channel])
            .invalid(json!({"question": ""}), "question"),
        Row::new("GET /api/v1/server/events", Auditor).forbidden(&[Agent, Operator, Channel]).query("limit=1001", "limit"),
        Row::new("GET /metrics", Auditor).forbidden(&[Agent, Operator, Channel]),
    ]
}

/// Sends bytes as JSON.
async fn send(api: &Api, method: &str, path: &str, body: impl Into<Vec<u8>>) -> Reply {
    api.send(api.request(method, path).header("content-type", "application/json").body(body.into())).await
}

/// Checks that a reply has this status and code, in the form of errors that belongs to the operation: Placet's own or
/// OpenIntent's.
fn assert_refused(reply: &Reply, row: &Row, status: u16, code: &str) {
    assert_eq!(reply.problem(), (status, code), "{}: {}", row.operation, reply.text);
    assert_eq!(reply.headers["content-type"], row.form(), "{}", row.operation);
    let ours = row.form() == "application/problem+json";
    assert_eq!(reply.body["status"].as_u64(), ours.then_some(status.into()), "{}", row.operation);
    assert_eq!(reply.body["title"].is_string(), ours, "{}", row.operation);
    assert_eq!(reply.body["message"].is_string(), !ours, "{}", row.operation);
    assert!(!reply.body["detail"].is_null() && reply.headers.contains_key("x-request-id"), "{}", row.operation);
}

/// The operations of the interface description. The two flags of each say that it needs a key, and that it has a body.
async fn described(app: &TestApp) -> BTreeMap<String, (bool, bool)> {
    let description = app.anonymous().get("openapi.json").await.ok();
    let mut operations = BTreeMap::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let keyed = operation.get("security").is_none_or(|security| *security != json!([]));
            operations.insert(format!("{} {path}", method.to_uppercase()), (keyed, operation.get("requestBody").is_some()));
        }
    }
    operations
}

on_each_store! {
    /// Every operation needs a row, because an operation without one has not been tested against bad requests. The streams have
    /// tests of their own: each of their refusals takes seconds.
    async fn every_described_operation_that_needs_a_key_has_a_row(app: &mut TestApp) {
        let described = described(app).await;
        let rows = rows();
        let mut rows: Vec<(&str, bool)> = rows.iter().map(|row| (row.operation.as_str(), row.invalid.is_some())).collect();
        rows.sort_unstable();
        let keyed: Vec<(&str, bool)> =
            described.iter().filter(|(operation, (keyed, _))| *keyed && !operation.contains("/subscribe")).map(|(operation, (_, bodied))| (operation.as_str(), *bodied)).collect();
        assert_eq!(rows, keyed);
        let open: Vec<&str> = described.iter().filter(|(_, (keyed, _))| !keyed).map(|(operation, _)| operation.as_str()).collect();
        for operation in &open {
            let path = operation.strip_prefix("GET /").unwrap();
            let reply = app.anonymous().get(path).await;
            // The proof of identity needs a challenge and answers 422 without one. It needs no key either.
            assert!([200, 422, 503].contains(&reply.status), "{operation}: no key is asked for");
        }
        assert_eq!(open.len(), 7);
    }

    /// 401 is decided before the body, the ids or the headers of the request are checked.
    async fn without_a_key_that_counts_everything_is_401(app: &mut TestApp) {
        let things = Things::of(app).await;
        let before = app.agent().everything(things.id()).await;
        let keys = [None, Some(""), Some("placet_agent_000000000000000000000000000000000"), Some("no key"), Some("\u{e9}")];
        let huge = vec![b'['; BODY_BYTES_MAX + 1];
        for row in rows() {
            for key in keys {
                let api = Api::new(&app.base, key);
                for things in [&things, &Things::nobodys()] {
                    let path = row.path(things);
                    for body in [&b"{"[..], b"", &huge] {
                        let reply = send(&api, row.method(), &path, body).await;
                        assert_refused(&reply, &row, 401, "unauthorized");
                        assert_eq!(reply.headers["www-authenticate"], "ApiKey");
                    }
                    let text = api.request(row.method(), &path).header("content-type", "text/plain").header("if-match", "x");
                    assert_refused(&api.send(text.body("x")).await, &row, 401, "unauthorized");
                }
            }
        }
        assert_eq!(app.agent().everything(things.id()).await, before);
    }

    /// 413, 415 and the 422 for malformed JSON come before any check of roles or records.
    async fn a_body_is_read_before_anything_is_looked_up(app: &mut TestApp) {
        let things = Things::of(app).await;
        let before = app.agent().everything(things.id()).await;
        for row in rows().into_iter().filter(|row| row.invalid.is_some()) {
            for role in row.forbidden.iter().chain([&row.role]) {
                let api = app.api(*role);
                for things in [&things, &Things::nobodys()] {
                    let path = row.path(things);
                    let bound = if path.ends_with(":broadcast") { MANY_BODY_BYTES_MAX } else { BODY_BYTES_MAX };
                    let brackets = async |bytes: usize| send(&api, row.method(), &path, vec![b'['; bytes]).await;
                    assert_refused(&brackets(bound).await, &row, 422, "malformed_json");
                    assert_refused(&brackets(bound + 1).await, &row, 413, "body_too_large");
                    for content_type in ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"] {
                        let request = api.request(row.method(), &path).header("content-type", content_type).body("{");
                        assert_refused(&api.send(request).await, &row, 415, "unsupported_media_type");
                    }
                }
            }
        }
        assert_eq!(app.agent().everything(things.id()).await, before);
    }

    /// A record that a caller may not read looks exactly like one that does not exist, even if the request has other mistakes.
    async fn what_may_not_be_read_does_not_exist(app: &mut TestApp) {
        let things = Things::of(app).await;
        let before = app.agent().everything(things.id()).await;
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        for row in rows().into_iter().filter(|row| row.on_an_intent() && !row.told_to_strangers) {
            let query = row.query.map(|(query, _)| format!("?{query}")).unwrap_or_default();
            let body = row.invalid.as_ref().map(|(body, _)| body.to_string()).unwrap_or_default();
            let foreign = send(&stranger, row.method(), &(row.path(&things) + &query), body.clone()).await;
            assert_refused(&foreign, &row, 404, "not_found");
            let unknown = send(&stranger, row.method(), &(row.path(&Things::nobodys()) + &query), body.clone()).await;
            let odd = Things::all("x");
            let odd = send(&stranger, row.method(), &(row.path(&odd) + &query), body).await;
            for same in [unknown, odd] {
                assert_eq!((same.status, same.text), (404, foreign.text.clone()), "{}", row.operation);
            }
        }
        assert_eq!(app.agent().everything(things.id()).await, before);
    }

    /// A caller who may read but not act gets 403 before any other mistake of the request is named, and nothing changes.
    async fn who_may_read_but_not_act_is_403(app: &mut TestApp) {
        let things = Things::of(app).await;
        let before = app.agent().everything(things.id()).await;
        for row in rows() {
            for role in row.forbidden {
                let body = row.invalid.as_ref().map(|(body, _)| body.to_string()).unwrap_or_default();
                let reply = send(&app.api(*role), row.method(), &row.path(&things), body).await;
                assert_refused(&reply, &row, 403, "forbidden");
            }
        }
        let everybody = [Role::Operator, Role::Admin, Role::Auditor, Role::Channel];
        for row in rows().into_iter().filter(|row| row.forbidden.is_empty() && !row.operation.contains("lifecycle")) {
            for role in everybody {
                assert_eq!(app.api(role).get(&row.path(&things)).await.status, 200, "{} {role}", row.operation);
            }
        }
        assert_eq!(app.agent().everything(things.id()).await, before);
    }

    /// The order is: 400 for a missing version, 422 for wrong fields, and 409 for a stale version once the fields are right.
    async fn if_match_comes_before_the_fields_and_a_stale_one_after(app: &mut TestApp) {
        let things = Things::of(app).await;
        let before = app.agent().everything(things.id()).await;
        for row in rows() {
            let Some((invalid, field)) = &row.invalid else { continue };
            let (api, path) = (app.api(row.role), row.path(&things));
            // RFC-0012 has a status of its own for a missing version.
            let is_part = row.operation.contains("/tasks/") || row.operation.contains("/plans/");
            let (status, code) = if is_part { (428, "precondition_required") } else { (400, "if_match_required") };
            if row.if_match_required {
                assert_refused(&send(&api, row.method(), &path, invalid.to_string()).await, &row, status, code);
            }
            if row.versioned {
                for odd in ["", "x", "\"3", "-1", "4294967296", "*", "3, 4"] {
                    let request = api.request(row.method(), &path).header("if-match", odd).json(invalid);
                    assert_refused(&api.send(request).await, &row, status, code);
                }
            }
            let request = api.request(row.method(), &path).header("if-match", "99").json(invalid);
            let named = api.send(request).await;
            assert_refused(&named, &row, 422, "invalid");
            assert_eq!(named.body["errors"][0]["field"], json!(field), "{}", row.operation);
            if row.versioned {
                let valid = match row.operation.rsplit('/').next().unwrap() {
                    "state" => json!({"state": {"a": 1}}),
                    "{task_id}" => json!({"status": "running"}),
                    "{plan_id}" => json!({"state": "active"}),
                    "status" => json!({"status": "abandoned"}),
                    "suspend" => json!({"question": "Go?", "response_type": "text", "supersedes": things.suspension}),
                    "park" => json!({"reason": "r"}),
                    "extend" => json!({"seconds": 60}),
                    "delegate" => json!({"to": "ada@example.com"}),
                    "reassign" => json!({"assignees": {"roles": ["admin"]}}),
                    "dependencies" => json!({"dependency_id": things.intent}),
                    "respond" => json!({"suspension_id": things.suspension, "value": "approve"}),
                    _ => json!({}),
                };
                let stale = api.send(api.request(row.method(), &path).header("if-match", "99").json(&valid)).await;
                assert_refused(&stale, &row, 409, "version_conflict");
                assert!(stale.body["current_version"].is_u64(), "{}", row.operation);
            }
        }
        assert_eq!(app.agent().everything(things.id()).await, before);
    }

    /// A query that breaks a rule is refused with the field's name. If a limit were silently ignored, the page would be wrong.
    async fn a_query_that_breaks_a_rule_is_named(app: &mut TestApp) {
        let things = Things::of(app).await;
        for row in rows() {
            let Some((query, field)) = row.query else { continue };
            let reply = app.api(row.role).get(&format!("{}?{query}", row.path(&things))).await;
            assert_refused(&reply, &row, 422, "invalid");
            assert_eq!(reply.body["errors"][0]["field"], json!(field), "{}", row.operation);
        }
    }

    /// The 405 of a path lists the methods that the description lists, so that a client can correct its call.
    async fn a_method_a_path_does_not_know_is_405_and_names_those_it_knows(app: &mut TestApp) {
        let things = Things::of(app).await;
        let before = app.agent().everything(things.id()).await;
        let mut paths: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for operation in described(app).await.into_keys() {
            let (method, path) = operation.split_once(' ').unwrap();
            paths.entry(path.to_owned()).or_default().push(method.to_owned());
        }
        // The paths of streams hold every refusal for 5 seconds, so the requests are sent at the same time.
        let api = app.api(Role::Admin);
        let sent = paths.into_iter().map(async |(path, known)| {
            let unknown = if known.iter().any(|method| method == "PUT") { "PATCH" } else { "PUT" };
            let row = Row::new(format!("{unknown} {path}"), Role::Admin);
            let reply = send(&api, unknown, &row.path(&things), "{").await;
            (path, known, row, reply)
        });
        for (path, mut known, row, reply) in join_all(sent).await {
            assert_refused(&reply, &row, 405, "method_not_allowed");
            let allow = reply.headers["allow"].to_str().unwrap();
            let mut allowed: Vec<String> = allow.split(", ").filter(|method| *method != "HEAD").map(str::to_owned).collect();
            allowed.sort_unstable();
            known.sort_unstable();
            assert_eq!(allowed, known, "{path}");
        }
        assert_eq!(app.agent().everything(things.id()).await, before);
    }
}
