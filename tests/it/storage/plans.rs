//! How each database finds its rows: by an index, however many rows there are.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::people::principal::Role;
use harness::app::{Backend, TestApp};
use harness::plans::{self, Plans};
use harness::postgres::Cluster;
use harness::smtp::Fault;
use serde_json::json;

use crate::observing::metrics::every_ending;

/// The statements that may read a whole table: the beginning of each, and the reason.
const WHOLE: &[(&str, &str)] = &[
    ("SELECT … FROM intents ORDER BY intents.rid DESC LIMIT", "the newest come first, and a page of them is enough"),
    ("SELECT … FROM intents WHERE (intents.status =", "people look; an index would be written at every question and answer"),
    ("SELECT … FROM api_keys ORDER BY", "there are few keys, and all are listed"),
    ("SELECT name AS line FROM sqlite_master", "at a start, and there are few tables"),
    ("SELECT __diesel_schema_migrations.version", "at a start, and there are few migrations"),
];
/// Indexes of open, queued or failed rows only. They stay small, however many rows the table has.
const PARTIAL: &[&str] = &["outbox_due", "outbox_failed", "suspensions_open"];

/// Tables that never have more than a few rows.
const SMALL: &[&str] = &["__diesel_schema_migrations", "presence", "secrets", "server_log"];
/// The rows that a copied day leaves out: keys count again, messages came back, many agents have written and were assigned.
const ANOTHER_DAY: &str = "DELETE FROM suspension_keys WHERE suspension < 1000000; \
                           INSERT INTO agent_bytes SELECT 'agent-' || number, 100000, 0, 1 FROM generate_series(1, 20000) AS number; \
                           ANALYZE agent_bytes; \
                           INSERT INTO server_events SELECT number, 'key.created', now(), '', '' FROM generate_series(1000000, 1020000) AS number; \
                           ANALYZE server_events; \
                           INSERT INTO assignments SELECT rid, 'agent-' || rid, last_event FROM intents; ANALYZE assignments; \
                           INSERT INTO bounces (outbox, hard, reported_at) SELECT rid, true, now() FROM outbox; ANALYZE bounces";

/// Does each thing that a server does in a day once.
async fn a_day(app: &mut TestApp) {
    app.smtp.mailed().await; // The mails of the day before are removed.
    every_ending(app).await;
    let (agent, operator, auditor) = (app.agent(), app.operator(), app.api(Role::Auditor));
    let change = json!({
        "timeout_seconds": 7200, "fallback_policy": "complete_with_fallback", "fallback_value": "deny",
        "retry_policy": {"max_attempts": 3, "interval_seconds": 600},
    });
    let (intent, id) = app.ask(change).await;
    let path = format!("api/v1/intents/{intent}");
    agent.post(&format!("{path}/state"), json!({"patches": [{"op": "set", "path": "step", "value": 1}]})).await;
    agent.post(&format!("{path}/events"), json!({"event_type": "comment", "payload": {}})).await.ok();
    let lease = agent.post(&format!("{path}/leases"), json!({"scope": "refund"})).await.ok();
    agent.get(&format!("{path}/leases")).await.ok();
    agent.send(agent.request("DELETE", &format!("{path}/leases/{}", lease["id"].as_str().unwrap()))).await.ok();
    operator.post(&format!("api/v1/suspensions/{id}/extend"), json!({"seconds": 60})).await;
    app.advance(601).await;
    operator.post(&format!("api/v1/suspensions/{id}/remind"), json!({})).await;
    app.settle().await;
    let link = app.smtp.received().last().unwrap().link(&app.base);
    app.person().open(&link).await;
    for page in [
        "intents",
        "intents?status=active",
        "intents?cursor=9",
        "suspensions",
        "suspensions?state=open",
        "suspensions?idempotency_key=k",
        "deliveries?state=failed",
        "keys",
        "server/events",
    ] {
        for reader in [&agent, &auditor, &app.api(Role::Admin)] {
            reader.get(&format!("api/v1/{page}")).await;
        }
    }
    for page in ["", "/events", "/events?event_type=comment"] {
        agent.get(&format!("{path}{page}")).await.ok();
    }
    agent.get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
    app.ask(json!({})).await;
    let (intent, id) = app.ask(json!({})).await;
    let path = format!("api/v1/intents/{intent}/suspend/respond");
    operator.post_once(&path, "key", json!({"suspension_id": id, "value": "approve"})).await.ok();
    let first = auditor.get("api/v1/suspensions?limit=1").await.ok();
    auditor.get(&format!("api/v1/suspensions?limit=1&cursor={}", first["next_cursor"].as_str().unwrap())).await.ok();
    app.smtp.script(Fault::RejectRecipient);
    app.ask(json!({})).await;
    let failed = app.api(Role::Admin).get("api/v1/deliveries?state=failed").await.ok();
    let failed = failed["deliveries"][0]["id"].as_str().unwrap().to_owned();
    app.api(Role::Admin).post(&format!("api/v1/deliveries/{failed}/redrive"), json!({})).await;
    app.settle().await;
    auditor.get("metrics").await;
    app.anonymous().get("readyz").await;
    app.store().forget_expired().await.unwrap();
    app.outage(3600).await;
    app.settle().await;
}

/// Fails if a statement reads a whole table and is not listed with a reason.
fn nothing_is_searched_from_end_to_end(plans: &Plans, whole: impl Fn(&str) -> bool) {
    assert!(plans.len() > 50, "only {} statements were seen", plans.len());
    let known = |statement: &str| WHOLE.iter().any(|(beginning, _)| statement.starts_with(beginning));
    let searched: Vec<_> = plans
        .iter()
        .filter(|(statement, steps)| steps.iter().any(|step| whole(step)) && !known(statement))
        .map(|(statement, steps)| format!("{statement}\n    {}", steps.join("\n    ")))
        .collect();
    assert!(searched.is_empty(), "{} statements search a whole table:\n{}", searched.len(), searched.join("\n"));
}

fn shown(plans: &Plans) -> String {
    let plan = |(statement, steps): (&String, &Vec<String>)| {
        std::iter::once(statement.clone()).chain(steps.iter().map(|step| format!("    {step}"))).collect::<Vec<_>>()
    };
    plans.iter().flat_map(plan).collect::<Vec<_>>().join("\n")
}

/// A server that has run for years must find rows as fast as a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_finds_everything_by_an_index() {
    let mut app = TestApp::start().await;
    plans::listen(&app);
    app.restart().await;
    a_day(&mut app).await;
    let plans = plans::of_sqlite(&app);
    insta::assert_snapshot!("plans_of_sqlite", shown(&plans));
    let is_partial = |step: &str| PARTIAL.iter().any(|index| step.split_whitespace().any(|word| word == *index));
    // The queue of channels is part of the statement and no table.
    nothing_is_searched_from_end_to_end(&plans, |step| step.starts_with("SCAN ") && step != "SCAN queued" && !is_partial(step));
    app.finish().await;
}

/// The same for the plans that PostgreSQL chooses when its tables are large and analyzed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_finds_everything_by_an_index() {
    let mut app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    a_day(&mut app).await;
    // More than a day later the same keys can be used again.
    app.advance(90_000).await;
    app.ask(json!({"retry_policy": {"max_attempts": 3, "interval_seconds": 600}})).await; // Its timers wait.
    plans::multiply(&app).await;
    let name = app.scratch().unwrap().name();
    Cluster::of_this_process().sql(name, ANOTHER_DAY).await;
    plans::log_plans(&app).await;
    a_day(&mut app).await;
    let plans = plans::of_postgres(&app);
    insta::assert_snapshot!("plans_of_postgres", shown(&plans));
    let is_small = |table: &str| SMALL.contains(&table) || table.starts_with("pg_");
    nothing_is_searched_from_end_to_end(&plans, |step| {
        step.split_once("Seq Scan on ").is_some_and(|(_, table)| !is_small(table))
    });
    app.discard().await;
}
