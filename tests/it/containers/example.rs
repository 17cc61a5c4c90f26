//! The example that every implementation should reproduce (RFC-0026): fetch, compliance review and report, of which the second phase
//! waits for a person. A portfolio holds the three, and each phase has a task in a plan of its own.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use harness::api::{Api, Reply};
use harness::app::{OPERATOR, TestApp};
use harness::on_each_store;
use serde_json::{Value, json};

const INTENTS: &str = "api/v1/intents";
const PORTFOLIOS: &str = "api/v1/portfolios";
const COMPLIANCE: &str = "compliance@example.com";

/// The three phases and the portfolio.
struct Phases {
    fetch: IntentId,
    review: IntentId,
    report: IntentId,
    portfolio: String,
    /// The task of each phase, in an active plan.
    tasks: [String; 3],
}

async fn phase(api: &Api, title: &str, depends_on: &[IntentId], state: Value) -> IntentId {
    let body = json!({"title": title, "status": "active", "depends_on": depends_on, "state": state});
    api.post(INTENTS, body).await.ok()["id"].as_str().unwrap().parse().unwrap()
}

async fn begin(api: &Api) -> Phases {
    let fetch = phase(api, "fetch_data", &[], json!({"rows": 7, "_io_outputs": {"rows": "number"}})).await;
    let contract = json!({"_io_inputs": {"rows": "fetch_data.rows"}, "_io_outputs": {"verdict": "string"}});
    let review = phase(api, "compliance_review", &[fetch], contract).await;
    let report = phase(api, "generate_report", &[review], json!({"_io_inputs": {"verdict": "compliance_review.verdict"}})).await;
    let portfolio = api.post(PORTFOLIOS, json!({"name": "Report"})).await.ok()["id"].as_str().unwrap().to_owned();
    for intent in [fetch, review, report] {
        api.post(&format!("{PORTFOLIOS}/{portfolio}/intents"), json!({"intent_id": intent})).await.ok();
    }
    let tasks = [planned(api, fetch).await, planned(api, review).await, planned(api, report).await];
    Phases { fetch, review, report, portfolio, tasks }
}

/// A task of the phase, in an active plan.
async fn planned(api: &Api, intent: IntentId) -> String {
    let task = api.post("api/v1/tasks", json!({"intent_id": intent, "name": "work", "timeout_seconds": 86_400})).await.ok();
    let plan = api.post("api/v1/plans", json!({"intent_id": intent, "tasks": [task["id"]]})).await.ok();
    api.post(&format!("api/v1/plans/{}/activate", plan["id"].as_str().unwrap()), json!({})).await.ok();
    task["id"].as_str().unwrap().to_owned()
}

/// Changes the task of a phase, as the client does.
async fn set_task(api: &Api, task: &str, status: &str) -> Reply {
    let path = format!("api/v1/tasks/{task}");
    let version = api.get(&path).await.ok()["version"].to_string();
    api.send(api.request("PATCH", &path).header("if-match", version).json(&json!({"status": status}))).await
}

async fn task(api: &Api, task: &str) -> (String, Value, Value) {
    let task = api.get(&format!("api/v1/tasks/{task}")).await.ok();
    (task["status"].as_str().unwrap().to_owned(), task["blocked_reason"].clone(), task["suspended_intent_id"].clone())
}

async fn claim(api: &Api, intent: IntentId) -> (u16, String) {
    let reply = api.post(&format!("{INTENTS}/{intent}/leases"), json!({"scope": "work", "duration_seconds": 86_400})).await;
    (reply.status, reply.body["code"].as_str().unwrap_or_default().to_owned())
}

/// The statuses of the phases, and how many members of the portfolio wait for a person.
async fn shown(app: &TestApp, phases: &Phases) -> ([String; 3], Value) {
    let api = app.agent();
    let statuses = [api.status(phases.fetch).await, api.status(phases.review).await, api.status(phases.report).await];
    let portfolio = api.get(&format!("{PORTFOLIOS}/{}", phases.portfolio)).await.ok();
    (statuses, portfolio["suspended_member_count"].clone())
}

fn statuses(fetch: &str, review: &str, report: &str) -> [String; 3] {
    [fetch, review, report].map(str::to_owned)
}

/// Each event of an intent as its time and its type; a change of status as its statuses.
async fn told(api: &Api, intent: IntentId) -> Vec<String> {
    let line = |event: &Value| {
        let (at, payload) = (&event["created_at"].as_str().unwrap()[11..16], &event["payload"]);
        match event["event_type"].as_str().unwrap() {
            "status_changed" => {
                format!("{at} {} -> {}", payload["old_status"].as_str().unwrap(), payload["new_status"].as_str().unwrap())
            }
            other => format!("{at} {other}"),
        }
    };
    api.events(intent).await.iter().map(line).collect()
}

/// Works through the example; with `restarts` the server is started anew between every two steps.
async fn work_through(app: &mut TestApp, restarts: bool) {
    let phases = begin(&app.agent()).await;
    pause(app, restarts).await;
    let [fetching, reviewing, reporting] = &phases.tasks;
    set_task(&app.agent(), fetching, "running").await.ok();
    set_task(&app.agent(), fetching, "completed").await.ok();
    app.agent().complete(phases.fetch).await;
    pause(app, restarts).await;
    set_task(&app.agent(), reviewing, "running").await.ok();
    let api = app.agent();
    let asked = api.suspend(
        phases.review,
        json!({
            "question": "Does the report comply?", "channel_hint": "email", "timeout_seconds": 3600,
            "retry_policy": {
                "max_attempts": 3, "interval_seconds": 3600,
                "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": COMPLIANCE}],
            },
        }),
    );
    let id = asked.await.ok()["id"].as_str().unwrap().to_owned();
    app.settle().await;
    let waiting = (statuses("completed", "suspended_awaiting_input", "blocked"), json!(1));
    assert_eq!(shown(app, &phases).await, waiting);
    let blocked = ("blocked".to_owned(), json!("intent_suspended"), json!(phases.review));
    assert_eq!(task(&app.agent(), reviewing).await, blocked);
    assert_eq!(claim(&app.agent(), phases.report).await, (422, "io_upstream_suspended".into()));
    assert_eq!(set_task(&app.agent(), reporting, "running").await.problem(), (422, "io_upstream_suspended"));
    pause(app, restarts).await;
    app.advance(3600).await;
    assert_eq!(shown(app, &phases).await, waiting);
    pause(app, restarts).await;
    app.advance(1800).await;
    assert_eq!(claim(&app.agent(), phases.report).await, (422, "io_upstream_suspended".into()));
    let link = app.smtp.received()[1].link(&app.base);
    assert_eq!(app.person().answer(&link, "approve").await.heading(), "Your answer was recorded");
    assert_eq!(shown(app, &phases).await, (statuses("completed", "active", "blocked"), json!(0)));
    assert_eq!(task(&app.agent(), reviewing).await, ("running".to_owned(), Value::Null, Value::Null));
    assert_eq!(claim(&app.agent(), phases.report).await, (422, "io_inputs".into()));
    assert_eq!(set_task(&app.agent(), reporting, "running").await.problem(), (409, "intent_blocked"));
    pause(app, restarts).await;
    let version = app.agent().intent(phases.review).await["version"].to_string();
    let verdict = json!({"patches": [{"op": "set", "path": "verdict", "value": "approve"}]});
    app.agent().post_at(&format!("{INTENTS}/{}/state", phases.review), &version, verdict).await.ok();
    app.agent().complete(phases.review).await;
    set_task(&app.agent(), reviewing, "completed").await.ok();
    assert_eq!(shown(app, &phases).await, (statuses("completed", "completed", "active"), json!(0)));
    pause(app, restarts).await;
    set_task(&app.agent(), reporting, "running").await.ok();
    set_task(&app.agent(), reporting, "completed").await.ok();
    app.agent().complete(phases.report).await;
    pause(app, restarts).await;
    app.advance(86_400).await; // There is no third attempt and no second ending.
    check_logs(app, &phases).await;
    check_question(app, &phases, &id).await;
}

async fn pause(app: &mut TestApp, restarts: bool) {
    if restarts {
        app.restart().await;
    }
}

/// The events of the task of a phase and of its plan, until it begins.
const PLANNED: [&str; 5] = ["task.created", "task.ready", "plan.created", "plan.activated", "task.ready"];
/// The events by which the task of a phase begins.
const BEGUN: [&str; 4] = ["lease_acquired", "task.claimed", "task.started", "plan.worker_joined"];
/// The events by which it ends.
const DONE: [&str; 3] = ["lease_released", "task.completed", "plan.completed"];

/// Joins events, each group at its time.
fn joined(parts: &[(&str, &[&str])]) -> Vec<String> {
    parts.iter().flat_map(|(at, events)| events.iter().map(move |event| format!("{at} {event}"))).collect()
}

async fn check_logs(app: &TestApp, phases: &Phases) {
    let api = app.agent();
    let waits: [&str; 4] = ["intent_created", "dependency_added", "active -> blocked", "added_to_portfolio"];
    let first = "08:00";
    let fetched: [(&str, &[&str]); 5] = [
        (first, &["intent_created", "added_to_portfolio"]),
        (first, &PLANNED),
        (first, &BEGUN),
        (first, &DONE),
        (first, &["active -> completed"]),
    ];
    assert_eq!(told(&api, phases.fetch).await, joined(&fetched));
    let reviewed: [(&str, &[&str]); 8] = [
        (first, &waits),
        (first, &PLANNED),
        (first, &["intent.dependency_completed", "blocked -> active"]),
        (first, &BEGUN),
        (
            first,
            &[
                "intent.suspended",
                "active -> suspended_awaiting_input",
                "task.blocked",
                "portfolio.member_suspended",
                "delivery.sent",
            ],
        ),
        ("09:00", &["intent.suspension_renotified", "intent.suspension_escalated", "delivery.sent"]),
        (
            "09:30",
            &[
                "intent.resumed",
                "suspended_awaiting_input -> active",
                "task.unblocked",
                "portfolio.member_resumed",
                "state_patched",
                "active -> completed",
            ],
        ),
        ("09:30", &DONE),
    ];
    assert_eq!(told(&api, phases.review).await, joined(&reviewed));
    let reported: [(&str, &[&str]); 6] = [
        (first, &waits),
        (first, &PLANNED),
        ("09:30", &["intent.dependency_completed", "blocked -> active"]),
        ("09:30", &BEGUN),
        ("09:30", &DONE),
        ("09:30", &["active -> completed"]),
    ];
    assert_eq!(told(&api, phases.report).await, joined(&reported));
}

async fn check_question(app: &TestApp, phases: &Phases, id: &str) {
    let events = app.agent().events(phases.review).await;
    let of = |name: &str| events.iter().find(|event| event["event_type"] == name).unwrap()["payload"].clone();
    let asked = of("intent.suspended");
    assert_eq!((&asked["id"], &asked["attempt"], &asked["notify_to"]), (&json!(id), &json!(1), &json!([OPERATOR])));
    assert_eq!(asked["expires_at"], json!("2026-11-24T11:00:00.000000"), "three attempts, one hour apart");
    let renotified = of("intent.suspension_renotified");
    for (field, value) in [
        ("suspension_id", json!(id)),
        ("attempt", json!(2)),
        ("max_attempts", json!(3)),
        ("channel_hint", json!("email")),
        ("notify_to", json!([COMPLIANCE])),
        ("next_attempt_at", json!("2026-11-24T10:00:00.000000")),
    ] {
        assert_eq!(renotified[field], value, "{renotified}");
    }
    let escalated = of("intent.suspension_escalated");
    for (field, value) in [
        ("suspension_id", json!(id)),
        ("attempt", json!(2)),
        ("escalated_to", json!([COMPLIANCE])),
        ("channel_hint", json!("email")),
    ] {
        assert_eq!(escalated[field], value, "{escalated}");
    }
    assert_eq!(app.agent().suspension(id).await["responded_by"], json!(COMPLIANCE));
    assert_eq!(app.operator().respond(phases.review, id, "deny").await.problem(), (409, "already_resolved"));
    let mails: Vec<_> = app.smtp.received().into_iter().flat_map(|mail| mail.to).collect();
    assert_eq!(mails, [OPERATOR, COMPLIANCE]);
}

on_each_store! {
    /// The report begins when the review is completed, not when the person has answered, and no deadline is missed.
    async fn the_rfcs_example_runs_from_fetch_to_report(app: &mut TestApp) {
        work_through(app, false).await;
    }

    /// The example comes out the same if the server is started anew between every two steps.
    async fn the_rfcs_example_runs_with_a_restart_between_its_steps(app: &mut TestApp) {
        work_through(app, true).await;
    }
}
