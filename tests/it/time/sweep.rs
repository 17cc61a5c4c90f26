//! A question that has lost its timer would wait for ever. No code may lose one; if it happens all the same, the sweep finds and
//! repairs it.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::sync::Arc;

use chrono::DateTime;
use domain::base::ids::SuspensionId;
use domain::intent::command::Later;
use domain::people::principal::Role;
use domain::suspension::Resolution;
use harness::app::{Backend, TestApp};
use harness::on_each_store;
use harness::postgres::Cluster;
use placet_server::observe::metrics::Metrics;
use placet_server::worker::upkeep::Sweep;
use serde_json::{Value, json};
use store::sqlite::simulated::Fate;
use store::{Standing, Store};

use crate::people::assignees::{ADA, BOB, EVE, directory, mails, remove};
use crate::people::quorums::{asked, two};
use crate::storage::site::Site;

async fn site() -> Site {
    Site::new(0, Fate::Committed).await
}

fn sweep_of(store: Arc<dyn Store>) -> (Sweep, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new(DateTime::UNIX_EPOCH));
    (Sweep::new(store, metrics.clone()), metrics)
}

async fn sweep(site: &Site) -> u64 {
    sweep_of(site.store.clone()).0.turn().await
}

/// The metric of questions that the sweep could not check.
fn left_out(metrics: &Metrics) -> u64 {
    metric(metrics, "placet_sweep_left_out_total ")
}

/// A number among the metrics; its name ends with a space.
fn metric(metrics: &Metrics, name: &str) -> u64 {
    let nothing =
        Standing { questions_open: 0, deliveries_queued: 0, deliveries_leased: 0, next_deadline: None, next_delivery: None };
    let text = metrics.exposition(&nothing, DateTime::UNIX_EPOCH).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.parse().unwrap()
}

/// An expression that SQLite refuses to compute, as it refuses to read a damaged page.
const REFUSED: &str = "abs(rid - rid - 9223372036854775807 - 1)";
/// All columns of a suspension except the one that says whether it is open.
const ALL_BUT_RESOLUTION: &str = "rid, id, intent, event, kind, version, attempt, response_type, choices, suspended_at, expires_at, \
     fallback_policy, fallback_value, reached, requires_delivery, refusals, asker, asker_owner, resolution_reason, resolved_at, \
     response, resolved_by, metadata, reminded_at, fixed_deadline, ending_event, quorum, form, hands, question_key, places";

fn two_attempts() -> Value {
    json!({"timeout_seconds": 3600, "retry_policy": {"max_attempts": 2, "interval_seconds": 3600}})
}

/// Lets time pass and fires the deadlines that are due.
async fn fire(site: &Site, seconds: i64) {
    site.clock.jump(chrono::TimeDelta::seconds(seconds));
    while site.store.fire_deadlines().await.unwrap().rows > 0 {}
}

async fn resolution(site: &Site, id: SuspensionId) -> Option<Resolution> {
    site.record(id).await.resolution
}

/// Without a timer a question past its deadline would stay open for ever. The sweep gives its timer back.
#[tokio::test]
async fn an_open_question_past_its_deadline_without_a_timer_ends_after_the_sweep() {
    let site = site().await;
    let id = site.ask(json!({"timeout_seconds": 3600})).await;
    assert_eq!(site.tamper("DELETE FROM timers WHERE suspension = 2"), 1);
    fire(&site, 5_000).await;
    assert_eq!(resolution(&site, id).await, None, "nobody noticed");
    assert_eq!(sweep(&site).await, 1);
    assert_eq!(sweep(&site).await, 0, "once");
    fire(&site, 0).await;
    assert_eq!(resolution(&site, id).await, Some(Resolution::Cancelled), "nobody had been reached");
    assert_eq!(sweep(&site).await, 0);
}

/// The sweep also finds a lost timer before the deadline, which is then kept to the second.
#[tokio::test]
async fn a_lost_deadline_is_found_before_it_is_due() {
    let site = site().await;
    let id = site.ask(json!({"timeout_seconds": 3600})).await;
    site.tamper("DELETE FROM timers");
    assert_eq!(sweep(&site).await, 2, "the site's own question has lost its timer too");
    fire(&site, 3_599).await;
    assert_eq!(resolution(&site, id).await, None);
    fire(&site, 1).await;
    assert!(resolution(&site, id).await.is_some());
}

/// If the timer of an attempt is lost, the messages of that attempt would never be sent. The sweep gives the timer back.
#[tokio::test]
async fn a_lost_attempt_is_made_up_for() {
    let site = site().await;
    let id = site.ask(two_attempts()).await;
    assert_eq!(site.tamper("DELETE FROM timers WHERE attempt = 2"), 1);
    fire(&site, 4_000).await;
    assert_eq!(site.record(id).await.attempt, 1);
    assert_eq!(sweep(&site).await, 1);
    fire(&site, 0).await;
    let record = site.record(id).await;
    assert_eq!((record.attempt, record.resolution), (2, None));
    fire(&site, 3_200).await;
    assert!(resolution(&site, id).await.is_some());
}

/// Operators would switch off an alarm that is often false. So the sweep must find nothing wrong in any normal state of a
/// question.
#[tokio::test]
async fn the_sweep_finds_nothing_where_nothing_is_lost() {
    let site = site().await;
    let forever = site.ask(json!({"timeout_seconds": null})).await;
    let id = site.ask(two_attempts()).await;
    assert_eq!(sweep(&site).await, 0, "fresh");
    fire(&site, 3_600).await;
    assert_eq!((sweep(&site).await, site.record(id).await.attempt), (0, 2));
    let until = Later::Until("2026-11-24T12:00:00Z".parse().unwrap());
    site.extend(id, until).await;
    assert_eq!(sweep(&site).await, 0, "extended");
    site.clock.jump(chrono::TimeDelta::seconds(20_000));
    assert_eq!(sweep(&site).await, 0, "due, and not fired yet");
    // A timer whose question cannot be read is put off, so it is not due at the deadline.
    site.tamper("UPDATE events SET bytes = x'00' WHERE rid = (SELECT event FROM suspensions WHERE rid = 1)");
    site.tamper("UPDATE timers SET due_at = due_at + 3600000000 WHERE suspension = 3");
    assert_eq!(sweep(&site).await, 0, "put off");
    fire(&site, 3_600).await;
    assert!(resolution(&site, id).await.is_some());
    assert_eq!((sweep(&site).await, resolution(&site, forever).await), (0, None), "ended, and waiting for ever");
}

/// Thousands of open questions are checked in pages. The sweep must go on after the last question of a page.
#[tokio::test]
async fn a_sweep_goes_through_all_pages() {
    let site = site().await;
    for _ in 0..500 {
        site.ask(json!({})).await;
    }
    assert_eq!(site.tamper("DELETE FROM timers WHERE suspension IN (500, 501)"), 2);
    let first = site.store.sweep_timers(0).await.unwrap();
    assert_eq!((first.mended, first.next), (1, Some(500)));
    assert_eq!(sweep(&site).await, 1);
    assert_eq!(sweep(&site).await, 0);
}

/// The questions behind an unreadable one must get their timers back, because no operator repairs the database at night.
#[tokio::test]
async fn a_question_that_cannot_be_read_keeps_no_other_from_being_mended() {
    let site = site().await;
    site.ask(two_attempts()).await;
    site.ask(json!({})).await;
    site.ask(json!({})).await;
    assert_eq!(site.tamper("UPDATE events SET bytes = x'00' WHERE rid = (SELECT event FROM suspensions WHERE rid = 2)"), 1);
    assert_eq!(site.tamper("UPDATE intents SET last_hash = x'00' WHERE rid = (SELECT intent FROM suspensions WHERE rid = 3)"), 1);
    site.tamper("DELETE FROM timers");
    let (swept, metrics) = sweep_of(site.store.clone());
    assert_eq!(swept.turn().await, 2, "the first and the last");
    assert_eq!(swept.turn().await, 0, "what cannot be read is not mended, and not counted");
    assert_eq!(left_out(&metrics), 4, "but told");
}

/// The same on PostgreSQL, where rows are locked before they are repaired.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_lost_timers_come_back_past_a_question_that_cannot_be_read() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let sql = async |statements: &str| Cluster::of_this_process().sql(app.scratch().unwrap().name(), statements).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(app.ask(two_attempts()).await.1);
    }
    sql("UPDATE events SET bytes = bytes || '\\x00' WHERE rid = (SELECT event FROM suspensions WHERE rid = 2)").await;
    sql("UPDATE intents SET last_hash = last_hash || '\\x00' WHERE rid = (SELECT intent FROM suspensions WHERE rid = 3)").await;
    sql("DELETE FROM timers").await;
    let (swept, metrics) = sweep_of(app.store());
    assert_eq!(swept.turn().await, 4, "two timers each, of the first and the last");
    sql("UPDATE events SET bytes = substring(bytes FOR length(bytes) - 1) WHERE rid = (SELECT event FROM suspensions WHERE rid = 2)").await;
    sql("UPDATE intents SET last_hash = substring(last_hash FOR 32) WHERE rid = (SELECT intent FROM suspensions WHERE rid = 3)")
        .await;
    assert_eq!((swept.turn().await, swept.turn().await), (4, 0), "they can be read again");
    app.advance(3_600).await;
    for id in &ids {
        assert_eq!(app.agent().suspension(id).await["attempt"], json!(2), "{id}");
    }
    assert_eq!(left_out(&metrics), 2);
    app.finish().await;
}

on_each_store! {
    /// Admins must hear of a question that waits for more people than there are, because it would wait until its deadline.
    async fn a_question_that_too_few_people_could_answer_is_told(app: &mut TestApp) {
        let [_, bob, _] = directory(app).await;
        let (intent, id) = asked(app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
        mails(app).await;
        let (swept, metrics) = sweep_of(app.store());
        swept.turn().await;
        assert_eq!(metric(&metrics, "placet_questions_out_of_reach "), 0, "both could agree");
        remove(app, &bob).await;
        app.restart().await;
        let (swept, metrics) = sweep_of(app.store());
        swept.turn().await;
        assert_eq!(metric(&metrics, "placet_questions_out_of_reach "), 1);
        let admin = app.api(Role::Admin);
        let body = json!({"assignees": {"people": [ADA, EVE]}});
        admin.post(&format!("api/v1/suspensions/{id}/reassign"), body).await.ok();
        swept.turn().await;
        assert_eq!(metric(&metrics, "placet_questions_out_of_reach "), 0, "an admin has assigned it to others");
        assert!(app.api(Role::Auditor).events(intent).await.iter().any(|event| event["event_type"] == "intent.reassigned"));
        mails(app).await;
    }
}

/// A page of the disk in the middle of the questions cannot be read. The questions behind it are checked at every turn all the
/// same.
#[tokio::test]
async fn a_question_the_database_refuses_to_read_keeps_no_other_from_being_mended() {
    let site = site().await;
    site.ask(two_attempts()).await;
    site.ask(json!({})).await;
    site.alter(&format!(
        "CREATE TEMP VIEW events AS SELECT rid, intent, previous, event_type, created_at, CASE rid \
         WHEN (SELECT event FROM suspensions WHERE rid = 2) THEN {REFUSED} ELSE bytes END AS bytes, hash FROM main.events"
    ));
    let (swept, metrics) = sweep_of(site.store.clone());
    for turn in 1..=2 {
        assert_eq!(site.tamper("DELETE FROM timers WHERE suspension IN (1, 3)"), 2);
        assert_eq!(swept.turn().await, 2, "the first and the last");
        assert_eq!(left_out(&metrics), turn);
    }
}

/// The same on PostgreSQL, where the refusal ends the transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_a_question_the_database_refuses_to_read_keeps_no_other_from_being_mended() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    for _ in 0..3 {
        app.ask(json!({"timeout_seconds": 3600})).await;
    }
    let sql = async |statements: &str| Cluster::of_this_process().sql(app.scratch().unwrap().name(), statements).await;
    sql("DELETE FROM timers").await;
    sql("ALTER TABLE events RENAME TO whole; CREATE VIEW events AS SELECT rid, intent, previous, event_type, created_at, \
         CASE WHEN rid = (SELECT event FROM suspensions WHERE rid = 2) THEN substring(bytes FOR (rid - rid - 1)::int) ELSE bytes END \
         AS bytes, hash FROM whole")
    .await;
    let (swept, metrics) = sweep_of(app.store());
    assert_eq!(swept.turn().await, 2, "the first and the last");
    assert_eq!(left_out(&metrics), 1);
    sql("DROP VIEW events; ALTER TABLE whole RENAME TO events").await;
    assert_eq!((swept.turn().await, swept.turn().await), (1, 0), "it can be read again");
    app.finish().await;
}

/// The sweep reads the open questions in pages. If a page cannot be read, the store may just be away, so the same page is tried
/// once more. Then the sweep goes on with the later pages.
#[tokio::test]
async fn a_page_that_cannot_be_listed_keeps_no_other_from_being_mended() {
    let site = site().await;
    let far = site.ask(json!({"timeout_seconds": 3600})).await;
    site.ask(json!({})).await;
    assert_eq!(site.tamper("DELETE FROM timers WHERE suspension = 2"), 1);
    site.alter("PRAGMA foreign_keys = OFF");
    assert_eq!(site.tamper("UPDATE suspensions SET rid = 700 WHERE rid = 2"), 1);
    site.tamper("UPDATE intents SET open_suspension = 700 WHERE open_suspension = 2");
    site.alter(&format!(
        "CREATE TEMP VIEW suspensions AS SELECT {ALL_BUT_RESOLUTION}, \
         CASE rid WHEN 3 THEN {REFUSED} ELSE resolution END AS resolution FROM main.suspensions"
    ));
    let (swept, metrics) = sweep_of(site.store.clone());
    assert_eq!(swept.turn().await, 0, "perhaps the store is away");
    assert_eq!(left_out(&metrics), 0);
    assert_eq!(swept.turn().await, 1, "the page behind it");
    assert_eq!(left_out(&metrics), 1);
    site.alter("DROP VIEW temp.suspensions");
    fire(&site, 3_600).await;
    assert!(resolution(&site, far).await.is_some());
}
