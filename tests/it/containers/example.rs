//! The example that every implementation should reproduce (RFC-0026): fetch, compliance review and report, of which the second phase
//! waits for a person. A portfolio holds the three. The plan and its tasks are missing here, because Placet does not have them.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use harness::api::Api;
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
    Phases { fetch, review, report, portfolio }
}

async fn claim(api: &Api, intent: IntentId) -> (u16, String) {
    let reply = api.post(&format!("{INTENTS}/{intent}/leases"), json!({"scope": "work", "duration_seconds": 86_400})).await;
    (reply.status, reply.body["code"].as_str().unwrap_or_default().to_owned())
}

async fn complete(api: &Api, intent: IntentId) {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("{INTENTS}/{intent}/status"), &version, json!({"status": "completed"})).await.ok();
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
    claim(&app.agent(), phases.fetch).await;
    complete(&app.agent(), phases.fetch).await;
    pause(app, restarts).await;
    assert_eq!(claim(&app.agent(), phases.review).await.0, 200);
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
    assert_eq!(claim(&app.agent(), phases.report).await, (422, "io_upstream_suspended".into()));
    pause(app, restarts).await;
    app.advance(3600).await;
    assert_eq!(shown(app, &phases).await, waiting);
    pause(app, restarts).await;
    app.advance(1800).await;
    assert_eq!(claim(&app.agent(), phases.report).await, (422, "io_upstream_suspended".into()));
    let link = app.smtp.received()[1].link(&app.base);
    assert_eq!(app.person().answer(&link, "approve").await.heading(), "Your answer was recorded");
    assert_eq!(shown(app, &phases).await, (statuses("completed", "active", "blocked"), json!(0)));
    assert_eq!(claim(&app.agent(), phases.report).await, (422, "io_inputs".into()));
    pause(app, restarts).await;
    let version = app.agent().intent(phases.review).await["version"].to_string();
    let verdict = json!({"patches": [{"op": "set", "path": "verdict", "value": "approve"}]});
    app.agent().post_at(&format!("{INTENTS}/{}/state", phases.review), &version, verdict).await.ok();
    complete(&app.agent(), phases.review).await;
    assert_eq!(shown(app, &phases).await, (statuses("completed", "completed", "active"), json!(0)));
    pause(app, restarts).await;
    assert_eq!(claim(&app.agent(), phases.report).await.0, 200);
    complete(&app.agent(), phases.report).await;
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

async fn check_logs(app: &TestApp, phases: &Phases) {
    let api = app.agent();
    assert_eq!(
        told(&api, phases.fetch).await,
        ["08:00 intent_created", "08:00 added_to_portfolio", "08:00 lease_acquired", "08:00 active -> completed"]
    );
    assert_eq!(
        told(&api, phases.review).await,
        [
            "08:00 intent_created",
            "08:00 dependency_added",
            "08:00 active -> blocked",
            "08:00 added_to_portfolio",
            "08:00 intent.dependency_completed",
            "08:00 blocked -> active",
            "08:00 lease_acquired",
            "08:00 intent.suspended",
            "08:00 active -> suspended_awaiting_input",
            "08:00 portfolio.member_suspended",
            "08:00 delivery.sent",
            "09:00 intent.suspension_renotified",
            "09:00 intent.suspension_escalated",
            "09:00 delivery.sent",
            "09:30 intent.resumed",
            "09:30 suspended_awaiting_input -> active",
            "09:30 portfolio.member_resumed",
            "09:30 state_patched",
            "09:30 active -> completed",
        ]
    );
    assert_eq!(
        told(&api, phases.report).await,
        [
            "08:00 intent_created",
            "08:00 dependency_added",
            "08:00 active -> blocked",
            "08:00 added_to_portfolio",
            "09:30 intent.dependency_completed",
            "09:30 blocked -> active",
            "09:30 lease_acquired",
            "09:30 active -> completed",
        ]
    );
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
