//! Every limit of the interface: a value at the bound is accepted, and for one beyond it the error names the field.
//!
//! The limits of a question's own text, of a body and of a patch are in `ingress` and `intents`, and in the domain's tests.

use domain::people::principal::Role;
use domain::problem::Rejection;
use harness::api::Reply;
use harness::app::{Backend, TestApp};
use harness::on_each_store;
use harness::postgres::Cluster;
use serde_json::{Value, json};
use store::StoreError;
use store::sqlite::simulated::Fate;

use crate::storage::site::Site;

/// The most events of one log that one request goes through.
const EVENTS_WALKED_MAX: usize = 20_000;

/// A text of `count` characters, each of two bytes.
fn characters(count: usize) -> String {
    "ä".repeat(count)
}

/// An object that is `bytes` bytes long as JSON.
fn object(bytes: usize) -> Value {
    json!({ "k": "x".repeat(bytes - r#"{"k":""}"#.len()) })
}

fn assert_named(reply: &Reply, field: &str, rule: &str) {
    assert_eq!(reply.field_problem(), (422, "invalid", field, rule), "{}", reply.text);
}

on_each_store! {
    /// The limits of an intent are exactly the documented ones.
    async fn a_new_intent_keeps_its_limits(app: &mut TestApp) {
        let agent = app.agent();
        let with = |field: &str, value: Value| json!({"title": "t", field: value});
        for (field, bound, beyond, rule) in [
            ("title", json!(characters(500)), json!(characters(501)), "length"),
            ("created_by", json!(characters(500)), json!(characters(501)), "length"),
            ("description", json!("x".repeat(65_536)), json!("x".repeat(65_537)), "length"),
            ("confidence", json!(100), json!(100.001), "range"),
            ("confidence", json!(0), json!(-0.001), "range"),
        ] {
            agent.post("api/v1/intents", with(field, bound)).await.ok();
            assert_named(&agent.post("api/v1/intents", with(field, beyond)).await, field, rule);
        }
    }

    /// Each limit of asking except those of the question's text.
    async fn a_question_keeps_its_limits(app: &mut TestApp) {
        let agent = app.agent();
        let choice = |bytes: usize| json!([{"value": "a", "label": "A", "metadata": object(bytes)}]);
        let form = |value: Value| json!({"response_type": "form", "choices": [], "fallback_policy": "complete_with_fallback", "fallback_value": value});
        let rungs = |count: usize| json!({"retry_policy": {
            "max_attempts": 20, "interval_seconds": 60,
            "escalation_ladder": (1..=count).map(|attempt| json!({"attempt": attempt, "notify_to": "a@example.com"})).collect::<Vec<_>>(),
        }});
        for (bound, beyond, field, rule) in [
            (json!({"channel_hint": characters(200)}), json!({"channel_hint": characters(201)}), "channel_hint", "length"),
            (json!({"decision_record": object(65_536)}), json!({"decision_record": object(65_537)}), "decision_record", "length"),
            (json!({"context": object(65_536)}), json!({"context": object(65_537)}), "context", "length"),
            (json!({"choices": choice(16_384)}), json!({"choices": choice(16_385)}), "choices[0].metadata", "length"),
            (form(object(16_384)), form(object(16_385)), "fallback_value", "length"),
            (json!({"confidence": 1}), json!({"confidence": 1.001}), "confidence", "range"),
            (json!({"confidence": 0}), json!({"confidence": -0.001}), "confidence", "range"),
            (json!({"timeout_seconds": 31_622_400}), json!({"timeout_seconds": 31_622_401}), "timeout_seconds", "range"),
            (json!({"timeout_seconds": 1}), json!({"timeout_seconds": 0}), "timeout_seconds", "range"),
            (rungs(20), rungs(21), "retry_policy.escalation_ladder", "length"),
        ] {
            let intent = agent.active_intent().await;
            assert_named(&agent.suspend(intent, beyond).await, field, rule);
            agent.suspend(intent, bound).await.ok();
        }
    }

    /// The limits of the texts that come with an answer, a withdrawal and a change of status.
    async fn words_that_come_with_a_decision_keep_their_limits(app: &mut TestApp) {
        let (agent, channel) = (app.agent(), app.api(Role::Channel));
        for (field, bound, beyond) in [
            ("responded_by", json!(characters(200)), json!(characters(201))),
            ("metadata", object(16_384), object(16_385)),
        ] {
            let intent = agent.active_intent().await;
            let id = agent.asked(intent).await;
            let mut body = json!({"suspension_id": id, "value": "approve", "responded_by": "alice@example.com"});
            let path = format!("api/v1/intents/{intent}/suspend/respond");
            body[field] = beyond;
            assert_named(&channel.post(&path, body.clone()).await, field, "length");
            body[field] = bound;
            channel.post(&path, body).await.ok();
        }
        let intent = agent.active_intent().await;
        let unseen = json!({"suspension_id": agent.asked(intent).await, "value": "approve", "responded_by": "alice\u{0}@example.com"});
        assert_named(&channel.post(&format!("api/v1/intents/{intent}/suspend/respond"), unseen).await, "responded_by", "characters");
        let intent = agent.active_intent().await;
        let cancel = format!("api/v1/suspensions/{}/cancel", agent.asked(intent).await);
        assert_named(&agent.post(&cancel, json!({"reason": characters(2_001)})).await, "reason", "length");
        agent.post(&cancel, json!({"reason": characters(2_000)})).await.ok();
        let intent = agent.active_intent().await;
        let status = format!("api/v1/intents/{intent}/status");
        let with = |count| json!({"status": "blocked", "reason": characters(count)});
        assert_named(&agent.post_at(&status, "1", with(2_001)).await, "reason", "length");
        agent.post_at(&status, "1", with(2_000)).await.ok();
    }

    /// The texts of an event and the names of a key are shown in lists, so their length is limited.
    async fn words_of_events_and_names_of_keys_keep_their_limits(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        let events = format!("api/v1/intents/{}/events", agent.active_intent().await);
        for field in ["event_type", "actor", "trace_id", "parent_event_id"] {
            let event = |count: usize| {
                let mut event = json!({"event_type": "comment"});
                event[field] = json!(format!("x.{}", characters(count - 2)));
                event
            };
            assert_named(&agent.post(&events, event(201)).await, field, "length");
            agent.post(&events, event(200)).await.ok();
        }
        for (number, field) in ["name", "subject", "owner"].into_iter().enumerate() {
            let key = |count: usize| {
                let mut key = json!({"role": "auditor", "name": format!("auditor-{number}")});
                key[field] = json!(characters(count));
                key
            };
            assert_named(&admin.post("api/v1/keys", key(201)).await, field, "length");
            assert_named(&admin.post("api/v1/keys", key(0)).await, field, "length");
            admin.post("api/v1/keys", key(200)).await.ok();
        }
    }

    /// The limits of a page, an offset, a wait and an idempotency key.
    async fn parameters_keep_their_limits(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        operator.respond(intent, &id, "approve").await.ok(); // A wait for an ended question is over at once.
        for (path, name, bound, beyond) in [
            ("api/v1/intents".to_owned(), "limit", 1_000, 1_001),
            ("api/v1/intents".to_owned(), "limit", 1, 0),
            ("api/v1/intents".to_owned(), "offset", 100_000, 100_001),
            (format!("api/v1/intents/{intent}/events"), "limit", 1_000, 1_001),
            (format!("api/v1/intents/{intent}/events"), "limit", 1, 0),
            (format!("api/v1/intents/{intent}/events"), "offset", 100_000, 100_001),
            ("api/v1/suspensions".to_owned(), "limit", 1_000, 1_001),
            ("api/v1/suspensions".to_owned(), "limit", 1, 0),
            (format!("api/v1/suspensions/{id}/deliveries"), "limit", 1_000, 1_001),
            (format!("api/v1/suspensions/{id}/deliveries"), "limit", 1, 0),
            (format!("api/v1/suspensions/{id}"), "wait", 50, 51),
        ] {
            agent.get(&format!("{path}?{name}={bound}")).await.ok();
            assert_named(&agent.get(&format!("{path}?{name}={beyond}")).await, name, "range");
        }
        let version = |version: u64| format!("api/v1/suspensions/{id}?after_version={version}");
        agent.get(&version(u32::MAX.into())).await.ok();
        assert_named(&agent.get(&version(u64::from(u32::MAX) + 1)).await, "after_version", "type");
        let key = |length: usize| format!("api/v1/suspensions?idempotency_key={}", "k".repeat(length));
        agent.get(&key(255)).await.ok();
        assert_named(&agent.get(&key(256)).await, "idempotency_key", "type");
        agent.post_once("api/v1/intents", &"k".repeat(255), json!({"title": "t"})).await.ok();
        let beyond = agent.post_once("api/v1/intents", &"k".repeat(256), json!({"title": "t"})).await;
        assert_named(&beyond, "Idempotency-Key", "length");
    }

    /// The report of a bounced mail holds text from foreign mail servers, which can be of any length, so it is limited.
    async fn a_report_of_a_returned_mail_keeps_its_limits(app: &mut TestApp) {
        let agent = app.agent();
        agent.asked(agent.active_intent().await).await;
        app.settle().await;
        let token = app.smtp.next_mail().await.header("x-placet-delivery").unwrap_or_default();
        let rest = format!("+{token}@example.com");
        let address = |length: usize| "b".repeat(length - rest.len()) + &rest;
        let with = |field: &str, value: Value| {
            let mut body = json!({"returned_to": token, "kind": "soft"});
            body[field] = value;
            body
        };
        let channel = app.api(Role::Channel);
        for (field, bound, beyond) in [
            ("returned_to", json!(address(254)), json!(address(255))),
            ("detail", json!(characters(1_000)), json!(characters(1_001))),
        ] {
            channel.post("api/v1/deliveries/bounces", with(field, bound)).await.ok();
            assert_named(&channel.post("api/v1/deliveries/bounces", with(field, beyond)).await, field, "length");
        }
        assert_named(&channel.post("api/v1/deliveries/bounces", with("returned_to", json!(""))).await, "returned_to", "length");
    }

    /// A header at its bound is used. A header beyond it is ignored.
    async fn headers_keep_their_limits(app: &mut TestApp) {
        let agent = app.agent();
        for (count, kept) in [(64, true), (65, false)] {
            let id = "r".repeat(count);
            let reply = agent.send(agent.request("GET", "api/v1/intents").header("x-request-id", &id)).await;
            assert_eq!(reply.headers["x-request-id"] == id.as_str(), kept, "{count}");
        }
        // A key may act for the names below its own name.
        let leases = format!("api/v1/intents/{}/leases", agent.active_intent().await);
        for (count, believed) in [(200, true), (201, false)] {
            let name = format!("test-agent/{}", "a".repeat(count - "test-agent/".len()));
            let lease = agent.request("POST", &leases).header("x-agent-id", &name);
            let taken = agent.send(lease.json(&json!({"scope": format!("part-{count}"), "duration_seconds": 60}))).await;
            assert_eq!(taken.ok()["agent_id"] == name.as_str(), believed, "{count}");
        }
    }

    /// A list of large questions must not fill the client's memory: a page ends after 8 MiB, and its cursor leads to the next
    /// page.
    async fn a_page_ends_before_it_is_too_large(app: &mut TestApp) {
        let agent = app.agent();
        for _ in 0..130 {
            let intent = agent.active_intent().await;
            agent.suspend(intent, json!({"context": object(65_536)})).await.ok();
        }
        let page = agent.get("api/v1/suspensions?limit=1000").await;
        assert!((8 << 20..(8 << 20) + 70_000).contains(&page.text.len()), "{}", page.text.len());
        let page = page.ok();
        let cursor = page["next_cursor"].as_str().unwrap();
        let rest = agent.get(&format!("api/v1/suspensions?limit=1000&cursor={cursor}")).await.ok();
        let count = |page: &Value| page["suspensions"].as_array().unwrap().len();
        assert_eq!((count(&page) + count(&rest), rest["next_cursor"].is_null()), (130, true));
        let page = agent.get("api/v1/intents?limit=1000").await;
        assert!((8 << 20..(8 << 20) + 70_000).contains(&page.text.len()), "{}", page.text.len());
        let page = page.ok()["intents"].as_array().unwrap().len();
        let rest = agent.get(&format!("api/v1/intents?limit=1000&offset={page}")).await.ok();
        assert_eq!(page + rest["intents"].as_array().unwrap().len(), 130);
    }
}

/// SQL that lengthens the log of the oldest intent by `events` copies of its newest event. The copies have row numbers from
/// 1,000,001 on, which no other event has.
fn lengthen(events: usize) -> [String; 2] {
    let numbers = format!("WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {events})");
    let columns = "rid, intent, previous, event_type, created_at, bytes, hash";
    let previous = "CASE n WHEN 1 THEN intents.last_event ELSE 1000000 + n - 1 END";
    let like = "JOIN intents ON intents.rid = 1 JOIN events ON events.rid = intents.last_event";
    let values = format!("1000000 + n, 1, {previous}, 'x.note', events.created_at, events.bytes, events.hash");
    [
        format!("INSERT INTO events ({columns}) {numbers} SELECT {values} FROM numbers {like}"),
        format!("UPDATE intents SET last_event = 1000000 + {events} WHERE rid = 1"),
    ]
}

/// SQL that removes these events again.
fn shorten() -> [&'static str; 3] {
    [
        "UPDATE intents SET last_event = (SELECT previous FROM events WHERE rid = 1000001) WHERE rid = 1",
        "DELETE FROM events WHERE rid > 1000000",
        "DELETE FROM unplaced WHERE number > 1000000",
    ]
}

/// A search for an event type that does not occur must end, however long the log is.
#[tokio::test]
async fn a_log_is_walked_for_so_many_events() {
    let site = Site::new(0, Fate::Committed).await;
    let own = site.events(None).await.unwrap();
    for statement in lengthen(EVENTS_WALKED_MAX - own) {
        site.tamper(&statement);
    }
    assert_eq!(site.events(Some("x.nothing")).await.unwrap(), 0);
    assert_eq!(site.events(None).await.unwrap(), 100, "a full page needs no walk to the end");
    assert_eq!(site.records(&["intent_created"]).await.unwrap(), 1, "a list of kept data is whole");
    for statement in shorten() {
        site.tamper(statement);
    }
    for statement in lengthen(EVENTS_WALKED_MAX - own + 1) {
        site.tamper(&statement);
    }
    let refused = site.events(Some("x.nothing")).await.unwrap_err();
    let StoreError::Rejected(Rejection::Invalid { errors }) = refused else { panic!("{refused:#}") };
    assert_eq!((errors.len(), errors[0].field.as_str()), (1, "offset"));
    let refused = site.records(&["x.nothing"]).await.unwrap_err();
    let StoreError::Rejected(Rejection::Invalid { errors }) = refused else { panic!("{refused:#}") };
    assert_eq!((errors.len(), errors[0].field.as_str()), (1, "intent_id"), "a list that would be cut is refused");
    assert_eq!(site.events(None).await.unwrap(), 100);
}

/// The same test over HTTP with PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_on_postgres_is_walked_for_so_many_events() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let sql = async |statement: &str| Cluster::of_this_process().sql(app.scratch().unwrap().name(), statement).await;
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let own = agent.events(intent).await.len();
    let path = format!("api/v1/intents/{intent}/events?include=all&event_type=x.nothing");
    for (more, is_refused) in [(EVENTS_WALKED_MAX - own, false), (EVENTS_WALKED_MAX - own + 1, true)] {
        for statement in lengthen(more) {
            sql(&statement).await;
        }
        let walked = agent.get(&path).await;
        if is_refused {
            assert_named(&walked, "offset", "range");
        } else {
            assert_eq!(walked.ok(), json!([]));
        }
        for statement in shorten() {
            sql(statement).await;
        }
    }
    app.finish().await;
}
