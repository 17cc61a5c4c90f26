//! A database that breaks off, hangs up and is gone: callers do not notice faults that pass, and are never told an outcome that
//! is unknown.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::sync::Arc;
use std::time::Duration;

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::Reply;
use harness::app::{Backend, TestApp};
use harness::postgres::{CONNECTIONS, Cluster, PASSWORD};
use harness::severed::{Cut, Wire};
use serde_json::json;
use store::host::clock::{SystemClock, SystemEntropy};
use store::postgres::Address;
use store::sqlite::Exclusive;
use store::{Database, Surroundings, open};

use crate::log::export::{Begun, much_traffic};

/// How long a stop may take. A stop that waited for a database connection would take longer.
const STOPPED: Duration = Duration::from_secs(3);

/// A database behind a wire that can be cut.
fn over(wire: &Wire, database: &str) -> Database {
    let url = format!("postgres://placet:{}@127.0.0.1:{}/{database}", PASSWORD.replace(' ', "%20"), wire.port());
    Database::Postgres { address: Box::new(Address::parse(&url).unwrap()), connections: CONNECTIONS }
}

/// A server whose connection to its database can be cut.
pub(crate) async fn start_over(wire: &Wire, database: &str) -> TestApp {
    let database = over(wire, database);
    TestApp::start_with(|config| config.database = database).await
}

/// How often a transaction was run again for a cause.
async fn retries(app: &TestApp, cause: &str) -> u32 {
    let name = format!("placet_writer_retries_total{{cause=\"{cause}\"}} ");
    let scrape = app.api(Role::Auditor).get("metrics").await.text;
    let line = scrape.lines().find_map(|line| line.strip_prefix(&name));
    line.unwrap_or_else(|| panic!("no {name}in:\n{scrape}")).parse().unwrap()
}

async fn resumed(app: &TestApp, intent: IntentId) -> usize {
    app.agent().event_types(intent).await.iter().filter(|event| *event == "intent.resumed").count()
}

/// PostgreSQL ends one of two transactions that wait for each other. The person who answers must not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_loses_a_deadlock_is_run_again_and_counted() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let (intent, id) = app.agent().ask(json!({})).await;
    let scratch = app.scratch().unwrap();
    let rival = scratch.rival().await;
    // The rival never looks for deadlocks itself, so it never loses one.
    rival.sql("SET deadlock_timeout = '10min'; BEGIN; SELECT 1 FROM suspensions FOR UPDATE").await;
    let operator = app.operator();
    let embrace = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        while Cluster::of_this_process().number(scratch.name(), waiting).await == 0 {}
        rival.sql("SELECT 1 FROM intents FOR UPDATE; ROLLBACK").await;
    };
    let (answer, ()) = tokio::join!(operator.respond(intent, &id, "approve"), embrace);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!((resumed(&app, intent).await, retries(&app, "broken_off").await), (1, 1));
    assert_eq!((retries(&app, "overtaken").await, retries(&app, "disconnected").await), (0, 0));
    app.finish().await;
}

/// A worker holds a message and waits for its question; an answer holds the question. If the answer waited for the message, both
/// would wait until PostgreSQL ends one of them after a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_ends_a_question_does_not_wait_for_a_worker_that_holds_its_message() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let (agent, operator) = (app.agent(), app.operator());
    let mut asked = Vec::new();
    for _ in 0..2 {
        asked.push(agent.ask(json!({})).await);
    }
    let rival = app.scratch().unwrap().rival().await;
    rival.sql("BEGIN; SELECT 1 FROM outbox FOR NO KEY UPDATE").await;
    assert_eq!(operator.respond(asked[0].0, &asked[0].1, "approve").await.status, 200);
    assert_eq!(operator.post(&format!("api/v1/suspensions/{}/remind", asked[1].1), json!({})).await.status, 200);
    assert_eq!(retries(&app, "broken_off").await, 0);
    rival.sql("ROLLBACK").await;
    app.settle().await;
    assert_eq!(app.smtp.received().len(), 1, "the other one's question has ended");
    app.finish().await;
}

/// If it is unknown whether an answer was recorded, yes and no would both be guesses. The caller is told that it is unknown, and
/// learns the outcome by repeating the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_nobody_can_look_up_is_refused_as_unknown_and_safe_to_repeat() {
    tokio::join!(unknown(Cut::Before), unknown(Cut::After));
}

async fn unknown(cut: Cut) {
    let wire = Wire::to(Cluster::of_this_process().port()).await;
    let scratch = Cluster::of_this_process().scratch().await;
    let app = start_over(&wire, scratch.name()).await;
    let (intent, id) = app.agent().ask(json!({})).await;
    let operator = app.operator();
    let answer = async || -> Reply {
        let path = format!("api/v1/intents/{intent}/suspend/respond");
        operator.post_once(&path, "once", json!({"suspension_id": id, "value": "approve"})).await
    };
    operator.suspension(&id).await;
    wire.arm_for_good(cut);
    let reply = answer().await;
    assert_eq!((reply.status, reply.headers.contains_key("retry-after")), (503, true), "{cut:?}: {}", reply.text);
    assert_eq!(wire.cuts(), 1);
    wire.mend();
    for _ in 0..2 {
        let reply = answer().await;
        assert_eq!(reply.status, 200, "{cut:?}: {}", reply.text);
        assert_eq!((resumed(&app, intent).await, retries(&app, "disconnected").await), (1, 0), "{cut:?}");
    }
    app.finish().await;
    scratch.forget().await;
}

/// A crash of the database loses transactions that had not reached the disk. Afterwards the database gives their numbers to other
/// transactions. A server that looked up only the number would tell a person that a lost answer counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_a_crash_took_back_is_not_mistaken_for_the_one_that_got_its_number() {
    let cluster = Cluster::lazy();
    cluster.sql("postgres", "CREATE DATABASE placet").await;
    let wire = Wire::to(cluster.port()).await;
    let app = start_over(&wire, "placet").await;
    let (intent, id) = app.agent().ask(json!({})).await;
    let operator = app.operator();
    operator.suspension(&id).await;
    let next_number = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    let lost = cluster.number("placet", next_number).await;
    let answer = async || {
        let path = format!("api/v1/intents/{intent}/suspend/respond");
        operator.post_once(&path, "once", json!({"suspension_id": id, "value": "approve"})).await
    };
    wire.arm_unnoticed(Cut::Before);
    let crash = async {
        while wire.cuts() == 0 {
            harness::pause::pause().await;
        }
        cluster.restart();
        assert!(cluster.number("placet", next_number).await <= lost, "the crash took nothing back");
        while cluster.number("placet", next_number).await <= lost {
            cluster.sql("placet", "SELECT pg_current_xact_id()").await;
        }
        wire.mend();
    };
    let (mut reply, ()) = tokio::join!(answer(), crash);
    if reply.status == 503 {
        // The server gave up before the database was back, so the answer is sent again.
        reply = answer().await;
    }
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(resumed(&app, intent).await, 1, "a caller was told that an answer counts, but the log does not have it");
    app.finish().await;
}

/// Most formats of an export cannot go on later, so a database that is away for a moment breaks none off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_waits_for_a_database_that_starts_again() {
    let cluster = Cluster::lazy();
    cluster.sql("postgres", "CREATE DATABASE placet").await;
    let wire = Wire::to(cluster.port()).await;
    let app = start_over(&wire, "placet").await;
    much_traffic(&app).await;
    let export = app.api(Role::Auditor).request("GET", "api/v1/export");
    let begun = Begun::begin(export).await;
    cluster.restart();
    let (text, is_whole) = begun.rest().await;
    assert!(is_whole && text.contains("{\"manifest\":"), "{} bytes, whole: {is_whole}", text.len());
    app.finish().await;
}

/// If the database refuses a value, it would refuse it every time. So the transaction fails at once and is not run again, which
/// would only keep a connection and the caller waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_database_does_not_take_is_not_tried_again() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                  RAISE EXCEPTION 'a value is out of range' USING ERRCODE = 'numeric_value_out_of_range'; END $$; \
                  CREATE TRIGGER refuse BEFORE INSERT ON intents FOR EACH ROW EXECUTE FUNCTION refuse()";
    Cluster::of_this_process().sql(app.scratch().unwrap().name(), refuse).await;
    let refused = app.agent().post("api/v1/intents", json!({"title": "Refund", "status": "active"})).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    for cause in ["overtaken", "broken_off", "disconnected"] {
        assert_eq!(retries(&app, cause).await, 0, "{cause}");
    }
    app.finish().await;
}

/// A machine that takes connections and never answers is like a broken balancer or firewall. An operator must still be able to
/// stop the server without killing it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_stops_while_its_database_says_nothing() {
    let wire = Wire::to(Cluster::of_this_process().port()).await;
    let scratch = Cluster::of_this_process().scratch().await;
    let outside = Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
    let store = open(&over(&wire, scratch.name()), Exclusive::Serve, outside).await.unwrap();
    wire.fall_silent();
    let cut =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    Cluster::of_this_process().sql(scratch.name(), cut).await;
    while wire.unheard() == 0 {
        harness::pause::pause().await;
    }
    tokio::time::timeout(STOPPED, store.close()).await.expect("it stops without a word from the database");
    scratch.forget().await;
}
