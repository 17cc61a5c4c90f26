//! Every member of every request body has an effect, is stored and shown, or is refused by name.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

mod grounds;
mod people;
mod receipts;
mod several;
mod stops;
mod work;

use std::collections::BTreeSet;

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_one_store;
use serde_json::{Map, Value, json};

/// Members whose values differ even between the results of two equal requests. The comparison leaves them out.
const OWN: [&str; 22] = [
    "id",
    "coordinator_id",
    "portfolio_id",
    "request_id",
    "intent_id",
    "lease_id",
    "parent_task_id",
    "plan_id",
    "sub_task_id",
    "task_id",
    "suspension_id",
    "approval_id",
    "delivery_id",
    "event_hash",
    "action_digest",
    "receipt_id",
    "statement_hash",
    "presented_hash",
    "previous_event_hash",
    "salt",
    "secret",
    "key",
];
/// In a body: stands for the id of the question that the test asks before the request.
const OPEN: &str = "$open";
/// Stands for the id of another intent.
const PARENT: &str = "$parent";
/// Stands for the id of a task of the intent.
const TASK: &str = "$task";
/// Stands for the lease of the coordinator of the intent.
const COORDINATOR: &str = "$coordinator";
/// Stands for the id of the intent that the request is about.
const INTENT: &str = "$intent";
/// Stands for a name that no key has.
const NAME: &str = "$name";
/// Stands for the token of the newest mail.
const TOKEN: &str = "$token";

/// A member, and two bodies of its request that differ in this member alone.
#[derive(Clone)]
struct Member {
    schema: &'static str,
    name: &'static str,
    without: Value,
    with: Value,
    /// The status of the request with the member.
    status: u16,
}

impl Member {
    /// A member of the body itself.
    fn of(schema: &'static str, base: &Value, name: &'static str, value: Value) -> Self {
        let mut with = base.clone();
        with[name] = value;
        Self { schema, name, without: base.clone(), with, status: 200 }
    }

    /// A member of one part of the body. The caller gives the whole part twice: without the member and with it.
    fn within(schema: &'static str, base: &Value, part: &'static str, name: &'static str, [without, with]: [Value; 2]) -> Self {
        let (mut before, mut after) = (base.clone(), base.clone());
        (before[part], after[part]) = (without, with);
        Self { schema, name, without: before, with: after, status: 200 }
    }

    /// The member is refused by name.
    fn refused(self) -> Self {
        self.answered(422)
    }

    fn answered(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Whether a question is asked before the request.
    fn asks_first(&self) -> bool {
        const ABOUT: [&str; 8] = [
            "CancelRequest",
            "ExtendRequest",
            "BounceRequest",
            "TakeBackRequest",
            "DelegateRequest",
            "ReassignRequest",
            "SaveDraftRequest",
            "DraftValues",
        ];
        let about_a_question = ABOUT.contains(&self.schema);
        about_a_question || [&self.without, &self.with].iter().any(|body| body.to_string().contains(OPEN))
    }
}

fn members_of_intents() -> Vec<Member> {
    let intent = json!({"title": "t"});
    let create = |name, value| Member::of("CreateIntentRequest", &intent, name, value);
    let event = json!({"event_type": "comment"});
    let append = |name, value| Member::of("AppendEventRequest", &event, name, value);
    let patch =
        |without: Value, with: Value| Member::within("Patch", &json!({}), "patches", "", [json!([without]), json!([with])]);
    let set = json!({"op": "set", "path": "a", "value": 1});
    vec![
        create("title", json!("u")),
        create("description", json!("d")),
        create("created_by", json!("c")),
        create("constraints", json!(["c"])),
        create("state", json!({"a": 1})),
        create("status", json!("active")),
        create("confidence", json!(50)),
        create("parent_intent_id", json!(PARENT)),
        create("parent_id", json!(PARENT)),
        create("depends_on", json!([PARENT])),
        Member::of("AddDependencyRequest", &json!({"dependency_id": PARENT}), "dependency_id", json!(INTENT)).answered(400),
        create("governance_policy", json!({"completion_mode": "require_approval"})),
        create("governance_policy", json!({"completion_mode": "quorum"})).refused(),
        Member::of("AssignAgentRequest", &json!({"agent_id": "a"}), "agent_id", json!("b")),
        Member::of("AssignAgentRequest", &json!({"agent_id": "a"}), "role", json!("r")),
        append("event_type", json!("x.own")),
        append("actor", json!("a")),
        append("payload", json!({"a": 1})),
        append("trace_id", json!("t")),
        append("parent_event_id", json!("p")),
        Member::of("PatchStateRequest", &json!({}), "patches", json!([set])),
        Member::of("PatchStateRequest", &json!({}), "state", json!({"a": 1})),
        Member { name: "op", ..patch(set.clone(), json!({"op": "append", "path": "a", "value": 1})) },
        Member { name: "path", ..patch(set.clone(), json!({"op": "set", "path": "b", "value": 1})) },
        Member { name: "value", ..patch(set, json!({"op": "set", "path": "a", "value": 2})) },
        Member::of("SetStatusRequest", &json!({"status": "blocked"}), "status", json!("completed")),
        Member::of("SetStatusRequest", &json!({"status": "blocked"}), "reason", json!("r")),
        Member::of("AcquireLeaseRequest", &json!({"scope": "s"}), "scope", json!("t")),
        Member::of("AcquireLeaseRequest", &json!({"scope": "s"}), "duration_seconds", json!(7)),
        Member::of("RenewLeaseRequest", &json!({}), "duration_seconds", json!(7)),
    ]
}

fn members_of_requests() -> Vec<Member> {
    let policy = |name, value| Member::of("GovernancePolicy", &json!({"completion_mode": "auto"}), name, value);
    let action = json!({"action": "complete"});
    let approval = |name, value| Member::of("ApprovalRequest", &action, name, value);
    let reason = json!({"reason": "r"});
    let escalation = |name, value| Member::of("EscalationRequest", &reason, name, value);
    let arbitration = |name, value| Member::of("ArbitrationRequest", &reason, name, value);
    let resolution = json!({"resolution": "go on"});
    let resolve = |name, value| Member::of("ResolveEscalationRequest", &resolution, name, value);
    vec![
        policy("completion_mode", json!("require_approval")),
        policy("write_scope", json!("assigned_only")),
        policy("allowed_agents", json!(["a"])),
        policy("max_cost", json!(5)),
        policy("require_status_reason", json!(true)),
        approval("action", json!("pay")),
        approval("risk", json!("enormous")).refused(),
        escalation("risk", json!("enormous")).refused(),
        arbitration("risk", json!("enormous")).refused(),
        approval("reason", json!("done")),
        approval("context", json!({"a": 1})),
        approval("requested_by", json!("agent-1")),
        Member::of("DecideApprovalRequest", &json!({}), "notes", json!("n")),
        Member::of("DecideApprovalRequest", &json!({}), "decided_by", json!("bob@example.com")),
        escalation("reason", json!("s")),
        escalation("priority", json!("high")),
        escalation("urgency", json!("low")),
        escalation("context", json!({"a": 1})),
        escalation("escalated_by", json!("agent-1")),
        resolve("resolution", json!("stop")),
        resolve("notes", json!("n")),
        resolve("resolved_by", json!("bob@example.com")),
        arbitration("reason", json!("s")),
        arbitration("context", json!({"a": 1})),
        arbitration("requested_by", json!("agent-1")),
    ]
}

fn members_of_records() -> Vec<Member> {
    let decision = json!({"decision_type": "t", "outcome": "o"});
    let attachment = json!({"filename": "f", "storage_url": "s"});
    let cost = json!({"cost_type": "t", "amount": 1, "unit": "u"});
    let policy = json!({"strategy": "fixed"});
    let of = |schema, base: &Value, members: &[(&'static str, Value)]| -> Vec<Member> {
        members.iter().map(|(name, value)| Member::of(schema, base, name, value.clone())).collect()
    };
    [
        of(
            "RecordDecisionRequest",
            &decision,
            &[("decision_type", json!("u")), ("outcome", json!("p")), ("reasoning", json!("r"))],
        ),
        of(
            "AddAttachmentRequest",
            &attachment,
            &[
                ("filename", json!("g")),
                ("mime_type", json!("text/plain")),
                ("size", json!(1)),
                ("storage_url", json!("t")),
                ("metadata", json!({"a": 1})),
            ],
        ),
        of(
            "RecordCostRequest",
            &cost,
            &[
                ("agent_id", json!("other")),
                ("cost_type", json!("u")),
                ("amount", json!(0.5)),
                ("unit", json!("v")),
                ("provider", json!("p")),
                ("metadata", json!({"a": 1})),
            ],
        ),
        of(
            "RecordFailureRequest",
            &json!({}),
            &[
                ("agent_id", json!("other")),
                ("attempt_number", json!(2)),
                ("error_code", json!("c")),
                ("error_type", json!("t")),
                ("error_message", json!("m")),
                ("recoverable", json!(false)),
                ("retry_scheduled_at", json!("2026-11-24T09:00:00")),
                ("metadata", json!({"a": 1})),
            ],
        ),
        of(
            "SetRetryPolicyRequest",
            &policy,
            &[
                ("strategy", json!("linear")),
                ("max_retries", json!(4)),
                ("base_delay_ms", json!(5)),
                ("max_delay_ms", json!(6)),
                ("fallback_agent_id", json!("other")),
                ("failure_threshold", json!(7)),
            ],
        ),
    ]
    .concat()
}

fn members_of_access() -> Vec<Member> {
    let grant = json!({"principal_id": "a"});
    let request = json!({"principal_id": "a"});
    let of = |schema, base: &Value, members: &[(&'static str, Value)]| -> Vec<Member> {
        members.iter().map(|(name, value)| Member::of(schema, base, name, value.clone())).collect()
    };
    let (claim, why) = (("decided_by", json!("d")), ("reason", json!("r")));
    let later = ("expires_at", json!("2026-11-25T08:00:00"));
    [
        of(
            "GrantAccessRequest",
            &grant,
            &[("principal_id", json!("b")), ("permission", json!("write")), why.clone(), later.clone()],
        ),
        of(
            "RequestAccessRequest",
            &request,
            &[("principal_id", json!("b")), ("requested_permission", json!("read")), why.clone(), ("capabilities", json!(["c"]))],
        ),
        of("ApproveAccessRequest", &json!({}), &[claim.clone(), ("permission", json!("read")), later, why.clone()]),
        of("DenyAccessRequest", &json!({}), &[claim, why]),
        vec![
            Member::of("GrantAccessRequest", &grant, "principal_type", json!("user")).refused(),
            Member::of("RequestAccessRequest", &request, "principal_type", json!("user")).refused(),
            Member::of("SetAclRequest", &json!({"entries": []}), "default_policy", json!("open")).refused(),
            Member::of("SetAclRequest", &json!({"entries": []}), "entries", json!([{"principal_id": "a"}])),
        ],
    ]
    .concat()
}

fn members_of_portfolios() -> Vec<Member> {
    let portfolio = json!({"name": "n"});
    let create = |name, value| Member::of("CreatePortfolioRequest", &portfolio, name, value);
    let update = |name, value| Member::of("UpdatePortfolioRequest", &json!({}), name, value);
    let place = json!({"intent_id": INTENT});
    let policy = json!({"name": "n", "governance_policy": {}});
    vec![
        create("name", json!("o")),
        create("description", json!("d")),
        create("created_by", json!("c")),
        create("metadata", json!({"a": 1})),
        create("governance_policy", json!({"require_all_completed": true})),
        create("governance_policy", json!({"deadline": "2026-12-01T00:00:00"})),
        create("governance", json!({"require_all_completed": true})),
        create("deadline", json!("2026-12-01T00:00:00")).refused(),
        Member::within(
            "PortfolioPolicyRequest",
            &policy,
            "governance_policy",
            "require_all_completed",
            [json!({"require_all_completed": false}), json!({"require_all_completed": true})],
        ),
        Member::within(
            "PortfolioPolicyRequest",
            &policy,
            "governance_policy",
            "deadline",
            [json!({"deadline": "2026-12-01T00:00:00"}), json!({"deadline": "2026-12-02T00:00:00"})],
        ),
        update("name", json!("o")),
        update("description", json!("d")),
        update("metadata", json!({"a": 1})),
        update("governance_policy", json!({"deadline": "2026-12-01T00:00:00"})),
        update("governance", json!({"require_all_completed": true})),
        update("deadline", json!("2026-12-01T00:00:00")).refused(),
        update("status", json!("completed")).refused(),
        Member::of("SetPortfolioStatusRequest", &json!({"status": "completed"}), "status", json!("abandoned")),
        Member::of("AddToPortfolioRequest", &place, "intent_id", json!("another")).answered(404),
        Member::of("AddToPortfolioRequest", &place, "role", json!("primary")),
        Member::of("AddToPortfolioRequest", &place, "priority", json!(1)),
    ]
}

fn members_of_subscriptions() -> Vec<Member> {
    let endpoint = json!({"intent_id": INTENT, "webhook_url": "http://127.0.0.1:1/", "expires_at": "2026-12-01T00:00:00Z"});
    let subscribe = |name, value| Member::of("SubscribeRequest", &endpoint, name, value);
    vec![
        subscribe("intent_id", json!("another")).answered(404),
        subscribe("portfolio_id", json!("p")).refused(),
        subscribe("subscriber_id", json!("s")),
        subscribe("event_types", json!(["comment"])),
        subscribe("webhook_url", json!("http://127.0.0.1:2/")),
        subscribe("expires_at", json!("2026-12-02T00:00:00Z")),
    ]
}

fn members_of_questions() -> Vec<Member> {
    let question = json!({
        "question": "Go?", "choices": [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}], "timeout_seconds": 600,
    });
    let ask = |name, value| Member::of("SuspendRequest", &question, name, value);
    let choice = |name: &'static str, value: Value| {
        let one = json!({"value": "a", "label": "A"});
        let mut other = one.clone();
        other[name] = value;
        Member::within("ChoiceRequest", &question, "choices", name, [json!([one]), json!([other])])
    };
    let mut fallen = question.clone();
    fallen["fallback_value"] = json!("a");
    let retry = |name: &'static str, value: Value| {
        let one = json!({"max_attempts": 3, "interval_seconds": 60});
        let mut other = one.clone();
        other[name] = value;
        Member::within("PartialRetryPolicy", &fallen, "retry_policy", name, [one, other])
    };
    let rung = |name: &'static str, value: Value| {
        let one = json!({"attempt": 2, "notify_to": "a@example.com"});
        let mut other = one.clone();
        other[name] = value;
        let policy = |rung: Value| json!({"max_attempts": 3, "interval_seconds": 60, "escalation_ladder": [rung]});
        Member::within("Rung", &question, "retry_policy", name, [policy(one), policy(other)])
    };
    vec![
        ask("question", json!("Stop?")),
        Member::of(
            "SuspendRequest",
            &json!({"question": "Go?", "response_type": "confirm", "timeout_seconds": 600}),
            "response_type",
            json!("text"),
        ),
        ask("choices", json!([{"value": "a", "label": "A"}])),
        ask("context", json!({"a": 1})),
        ask("channel_hint", json!("email")),
        ask("timeout_seconds", json!(700)),
        Member::of("SuspendRequest", &fallen, "fallback_policy", json!("complete_with_fallback")),
        ask("fallback_value", json!("a")),
        ask("retry_policy", json!({"max_attempts": 3, "interval_seconds": 60})),
        ask("confidence", json!(0.5)),
        ask("decision_record", json!({"a": 1})),
        ask("notify_to", json!(["a@example.com"])),
        ask("supersedes", json!(OPEN)),
        Member::of(
            "SuspendRequest",
            &json!({"question": "Which?", "response_type": "form"}),
            "schema",
            json!({"type": "object", "properties": {"cap": {"type": "integer"}}}),
        ),
        // The server of this test has no domain name.
        ask("required_assurance", json!("passkey")).refused(),
        ask("risk", json!("high")),
        choice("value", json!("c")),
        choice("label", json!("C")),
        choice("description", json!("d")),
        choice("style", json!("danger")),
        choice("metadata", json!({"a": 1})),
        retry("max_attempts", json!(4)),
        retry("interval_seconds", json!(70)),
        // `fixed` is the only one.
        retry("strategy", json!("linear")).refused(),
        retry("escalation_ladder", json!([{"attempt": 2, "notify_to": "a@example.com"}])),
        retry("final_fallback_policy", json!("complete_with_fallback")),
        rung("attempt", json!(3)),
        rung("channel_hint", json!("email")),
        rung("notify_to", json!("b@example.com")),
    ]
}

fn members_of_endings() -> Vec<Member> {
    let answer = json!({"suspension_id": OPEN, "value": "approve"});
    let confirm = json!({"question": "Which?", "response_type": "confirm"});
    let respond = |name, value| Member::of("RespondRequest", &answer, name, value);
    let extend = |base: Value, name, value| Member::of("ExtendRequest", &base, name, value);
    vec![
        Member::of("SuspendRequest", &confirm, "proposal", json!({"a": 1})),
        Member::of(
            "SuspendRequest",
            &json!({"question": "Which?", "response_type": "form"}),
            "questions",
            json!([{"name": "a", "question": "q", "response_type": "confirm"}]),
        ),
        Member::of(
            "SuspendRequest",
            &json!({"question": "Which?", "response_type": "confirm", "proposal": {"a": 1}}),
            "editable",
            json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
        ),
        respond("suspension_id", json!("another")).answered(409),
        respond("value", json!("deny")),
        respond("responded_by", json!("alice@example.com")),
        respond("metadata", json!({"comment": "c"})),
        // The question of this test proposes no action.
        respond("proposal", json!({"a": 1})).refused(),
        respond("based_on", json!("x")).refused(),
        Member::of("CancelRequest", &json!({}), "reason", json!("r")),
        extend(json!({}), "expires_at", json!("2026-11-25T08:00:00Z")),
        extend(json!({"seconds": 60}), "seconds", json!(61)),
        extend(json!({"seconds": 60}), "reason", json!("r")),
    ]
}

fn members_of_keys_and_messages() -> Vec<Member> {
    let gateway = json!({"role": "channel", "name": NAME});
    let key = |name, value| Member::of("CreateKeyRequest", &json!({"role": "operator", "name": NAME}), name, value);
    let bounce = json!({"returned_to": TOKEN, "kind": "hard"});
    vec![
        key("role", json!("auditor")),
        Member::of("CreateKeyRequest", &json!({"role": "operator"}), "name", json!(NAME)),
        key("subject", json!("alice@example.com")),
        key("owner", json!("team")),
        Member::of("CreateKeyRequest", &json!({"role": "agent", "name": NAME}), "client", json!("openintent-0.17")),
        Member::of("CreateKeyRequest", &gateway, "for", json!(["email"])),
        Member::of("CreateKeyRequest", &gateway, "unbound", json!(true)),
        Member::of("BounceRequest", &bounce, "returned_to", json!("x")).refused(),
        Member::of("BounceRequest", &bounce, "kind", json!("soft")),
        Member::of("BounceRequest", &bounce, "detail", json!("full")),
    ]
}

/// The members of all request bodies that the description of the interface names, each as a pair: the name of its schema, and its
/// own name.
fn described(description: &Value) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let operations = description["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
    for operation in operations {
        walk(description, &operation["requestBody"], &mut found);
    }
    found
}

fn walk(description: &Value, part: &Value, found: &mut BTreeSet<(String, String)>) {
    match part {
        Value::Array(parts) => parts.iter().for_each(|part| walk(description, part, found)),
        Value::Object(members) => {
            if let Some(name) = members.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
                let schema = &description["components"]["schemas"][name];
                for (member, about) in schema["properties"].as_object().unwrap_or(&Map::new()) {
                    found.insert((name.to_owned(), member.clone()));
                    walk(description, about, found);
                }
                return;
            }
            members.values().for_each(|part| walk(description, part, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A value without the members in [`OWN`], which differ even between two equal requests.
fn comparable(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(name, _)| !OWN.contains(&name.as_str()))
            .map(|(name, value)| (name, comparable(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(values) => values.into_iter().map(comparable).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Sends the request with this body.
async fn sent(app: &TestApp, schema: &str, intent: IntentId, open: &str, body: Value) -> Reply {
    let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
    let path = format!("api/v1/intents/{intent}");
    match schema {
        "CreateIntentRequest" => agent.post("api/v1/intents", body).await,
        "AppendEventRequest" => agent.post(&format!("{path}/events"), body).await,
        "PatchStateRequest" | "Patch" => agent.post_at(&format!("{path}/state"), "1", body).await,
        "SetStatusRequest" => agent.post_at(&format!("{path}/status"), "1", body).await,
        "AddDependencyRequest" => agent.post_at(&format!("{path}/dependencies"), "1", body).await,
        "AcquireLeaseRequest" => agent.post(&format!("{path}/leases"), body).await,
        "RenewLeaseRequest" => {
            let lease = agent.post(&format!("{path}/leases"), json!({"scope": "s"})).await.ok();
            let one = format!("{path}/leases/{}", lease["id"].as_str().unwrap());
            agent.send(agent.request("PATCH", &one).json(&body)).await
        }
        "AssignAgentRequest" => agent.post(&format!("{path}/agents"), body).await,
        "GrantAccessRequest" => agent.post(&format!("{path}/acl/entries"), body).await,
        "SetAclRequest" => agent.send(agent.request("PUT", &format!("{path}/acl")).json(&body)).await,
        "RequestAccessRequest" => agent.post(&format!("{path}/access-requests"), body).await,
        "ApproveAccessRequest" | "DenyAccessRequest" => on_an_access_request(&agent, &operator, schema, &path, body).await,
        "GovernancePolicy" => {
            agent.send(agent.request("PUT", &format!("{path}/governance")).header("if-match", "1").json(&body)).await
        }
        "ApprovalRequest" => agent.post(&format!("{path}/approvals"), body).await,
        "DecideApprovalRequest" => {
            let asked = agent.post(&format!("{path}/approvals"), json!({"action": "pay"})).await.ok();
            operator.post(&format!("{path}/approvals/{}/approve", asked["id"].as_str().unwrap()), body).await
        }
        "EscalationRequest" => agent.post(&format!("{path}/escalations"), body).await,
        "ResolveEscalationRequest" => {
            let asked = agent.post(&format!("{path}/escalations"), json!({"reason": "r"})).await.ok();
            operator.post(&format!("api/v1/escalations/{}/resolve", asked["id"].as_str().unwrap()), body).await
        }
        "ArbitrationRequest" => agent.post(&format!("{path}/arbitrate"), body).await,
        "RecordDecisionRequest" => agent.post(&format!("{path}/decisions"), body).await,
        "AddAttachmentRequest" => agent.post(&format!("{path}/attachments"), body).await,
        "RecordCostRequest" => agent.post(&format!("{path}/costs"), body).await,
        "RecordFailureRequest" => agent.post(&format!("{path}/failures"), body).await,
        "SetRetryPolicyRequest" => agent.send(agent.request("PUT", &format!("{path}/retry-policy")).json(&body)).await,
        "CreatePortfolioRequest" | "PortfolioPolicyRequest" => agent.post("api/v1/portfolios", body).await,
        "UpdatePortfolioRequest" | "SetPortfolioStatusRequest" | "AddToPortfolioRequest" => {
            in_a_portfolio(&agent, schema, body).await
        }
        "SubscribeRequest" => agent.post("api/v1/subscriptions", body).await,
        "SuspendRequest" | "ChoiceRequest" | "PartialRetryPolicy" | "Rung" | "Assignees" | "QuorumRequest" | "Explanation"
        | "QuestionRequest" | "OptionRequest" => agent.post(&format!("{path}/suspend"), body).await,
        "RespondRequest" => operator.post(&format!("{path}/suspend/respond"), body).await,
        "CancelRequest" => agent.post(&format!("api/v1/suspensions/{open}/cancel"), body).await,
        "DelegateRequest" => operator.post(&format!("api/v1/suspensions/{open}/delegate"), body).await,
        "ReassignRequest" => operator.post(&format!("api/v1/suspensions/{open}/reassign"), body).await,
        "TakeBackRequest" => operator.post(&format!("api/v1/suspensions/{open}/take-back"), body).await,
        "SaveDraftRequest" | "DraftValues" => {
            operator.send(operator.request("PUT", &format!("api/v1/suspensions/{open}/draft")).json(&body)).await
        }
        "ExtendRequest" => operator.post(&format!("api/v1/suspensions/{open}/extend"), body).await,
        stop if stops::SENT.contains(&stop) => stops::sent(app, schema, intent, body).await,
        "BroadcastRequest" | "BroadcastFilter" => stops::broadcast(app, schema, intent, body).await,
        "CreateKeyRequest" => admin.post("api/v1/keys", body).await,
        "BounceRequest" => app.api(Role::Channel).post("api/v1/deliveries/bounces", body).await,
        "CreateCoordinatorRequest" | "GuardrailsRequest" | "CreateDecisionRecordRequest" => {
            work::on_a_coordinator(&agent, schema, intent, body).await
        }
        "DecideCheckpointRequest" => work::at_a_checkpoint(&agent, &operator, intent, body).await,
        _ => work::on_a_task(&agent, schema, intent, body).await,
    }
}

/// Decides a request for access.
async fn on_an_access_request(agent: &Api, operator: &Api, schema: &str, path: &str, body: Value) -> Reply {
    let asked = agent.post(&format!("{path}/access-requests"), json!({"principal_id": "a"})).await.ok();
    let verdict = if schema == "DenyAccessRequest" { "deny" } else { "approve" };
    operator.post(&format!("{path}/access-requests/{}/{verdict}", asked["id"].as_str().unwrap()), body).await
}

/// Sends a request that changes a portfolio.
async fn in_a_portfolio(agent: &Api, schema: &str, body: Value) -> Reply {
    let made = agent.post("api/v1/portfolios", json!({"name": "n"})).await.ok();
    let one = format!("api/v1/portfolios/{}", made["id"].as_str().unwrap());
    match schema {
        "AddToPortfolioRequest" => agent.post(&format!("{one}/intents"), body).await,
        "UpdatePortfolioRequest" => agent.send(agent.request("PATCH", &one).json(&body)).await,
        _ => agent.send(agent.request("PATCH", &format!("{one}/status")).json(&body)).await,
    }
}

/// Sends the request with this body, and reads everything that it can change.
async fn outcome(app: &mut TestApp, member: &Member, mut body: Value) -> (u16, Value) {
    let (agent, admin) = (app.agent(), app.api(Role::Admin));
    let intent = agent.active_intent().await;
    let parent = agent.active_intent().await.to_string();
    let task =
        agent.post("api/v1/tasks", json!({"intent_id": intent, "name": "n"})).await.ok()["id"].as_str().unwrap().to_owned();
    let open = if member.asks_first() { agent.asked(intent).await } else { String::new() };
    app.settle().await;
    let name = format!("key-{intent}");
    let newest = app.smtp.received().last().and_then(|mail| mail.header("x-placet-delivery")).unwrap_or_default();
    let mut written = body.to_string();
    for (stands, value) in
        [(OPEN, &open), (NAME, &name), (TOKEN, &newest), (PARENT, &parent), (TASK, &task), (INTENT, &intent.to_string())]
    {
        written = written.replace(stands, value);
    }
    body = serde_json::from_str(&written).unwrap();
    let reply = match member.schema {
        "ConsumeReceiptRequest" | "RevokeReceiptRequest" => receipts::sent(app, member.schema, intent, body).await,
        "PlaceHoldRequest" => receipts::held(app, body).await,
        "RedactRequest" => receipts::erased(app, intent, body).await,
        "AddPersonRequest" | "ChangePersonRequest" | "OutOfOffice" | "SetGroupRequest" => {
            people::sent(app, member.schema, &name, body).await
        }
        schema => sent(app, schema, intent, &open, body).await,
    };
    let status = reply.status;
    let made: Value = serde_json::from_str(&reply.text).unwrap();
    let log_of =
        if member.schema == "CreateIntentRequest" && status == 200 { made["id"].as_str().unwrap() } else { &intent.to_string() };
    let events = agent.events(log_of.parse().unwrap()).await;
    let keys = admin.get("api/v1/keys").await.ok();
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["name"] == json!(name)).cloned();
    let seen = json!({"reply": made, "events": events, "listed": key})
        .to_string()
        .replace(&name, NAME)
        .replace(&parent, PARENT)
        .replace(&intent.to_string(), INTENT);
    let tasks = agent.get(&format!("api/v1/intents/{intent}/tasks")).await.ok();
    let tasks = tasks.as_array().unwrap().iter().filter_map(|task| task["id"].as_str());
    let seen = tasks.fold(seen, |seen, id| seen.replace(id, TASK));
    (status, comparable(serde_json::from_str(&seen).unwrap()))
}

on_one_store! {
    /// A member that is accepted without any effect misleads its caller, who counts on the effect.
    async fn each_member_has_an_effect_or_is_shown_or_refused(app: &mut TestApp) {
        let all = [members_of_intents(), members_of_access(), members_of_portfolios(), work::members_of_tasks(), work::members_of_plans(), work::members_of_coordinators(), members_of_subscriptions(), members_of_requests(), members_of_records(), members_of_questions(), members_of_endings(), members_of_keys_and_messages(), people::members(), people::members_of_assignees(), receipts::members(), grounds::members(), several::members(), stops::members()].concat();
        let description = app.anonymous().get("openapi.json").await.ok();
        let listed = all.iter().map(|member| (member.schema.to_owned(), member.name.to_owned())).collect();
        assert_eq!(described(&description), listed, "the members of the description, and those below");
        for member in &all {
            let (schema, name) = (member.schema, member.name);
            let (_, without) = outcome(app, member, member.without.clone()).await;
            assert_eq!(outcome(app, member, member.without.clone()).await.1, without, "{schema}: two equal requests differ");
            let (status, with) = outcome(app, member, member.with.clone()).await;
            assert_ne!(with, without, "{schema}.{name} is accepted and has no effect");
            assert_eq!(status, member.status, "{schema}.{name}: {with}");
            let named = with["reply"]["errors"][0]["field"].as_str().unwrap_or_default();
            assert!(status != 422 || named.contains(name), "{schema}.{name}: {with}");
        }
    }
}
