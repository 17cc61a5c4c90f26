//! Retention: the content of intents that ended long ago is erased, by the same way as on request.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::app::TestApp;
use harness::on_each_store;
use placet_server::worker::upkeep::Retaining;
use serde_json::{Value, json};

const DAY: i64 = 24 * 60 * 60;
/// The limit of these tests.
const KEPT: TimeDelta = TimeDelta::days(183);

/// Gives each event its leaf, and takes one turn.
async fn turn(app: &TestApp) -> u64 {
    app.checkpoints().turn().await.unwrap();
    Retaining::new(app.store(), KEPT).turn().await
}

async fn is_erased(app: &TestApp, intent: IntentId) -> bool {
    app.agent().events(intent).await.iter().all(|event| event["payload"] == json!(null))
}

async fn redactions(app: &TestApp) -> Vec<Value> {
    let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
    events.as_array().unwrap().iter().filter(|event| event["event_type"] == "payload.redacted").cloned().collect()
}

on_each_store! {
    /// Content that is older than the limit goes, and nothing that is younger, in use, or on hold.
    async fn content_is_erased_when_its_time_has_come_and_not_before(app: &mut TestApp) {
        let agent = app.agent();
        let (old, held, working) = (agent.completed_intent().await, agent.completed_intent().await, agent.active_intent().await);
        let hold = app.api(Role::Admin).post("api/v1/holds", json!({"scope": {"kind": "intent", "id": held}, "reason": "r"})).await.ok();
        app.advance(183 * DAY).await;
        assert_eq!(turn(app).await, 0, "its last event is not older than the limit");
        let young = app.agent().completed_intent().await;
        app.advance(1).await;
        let events = app.agent().events(old).await.len() as u64;
        app.restart().await;
        assert_eq!(turn(app).await, events);
        for (intent, expected) in [(old, true), (held, false), (working, false), (young, false)] {
            assert_eq!(is_erased(app, intent).await, expected);
        }
        let [recorded] = &redactions(app).await[..] else { panic!("one event says so") };
        assert_eq!((&recorded["actor"], &recorded["payload"]["legal_basis"], &recorded["payload"]["intent_id"]), (&json!("placet"), &json!("retention"), &json!(old)));
        assert_eq!(turn(app).await, 0, "nothing is erased twice");
        let admin = app.api(Role::Admin);
        let path = format!("api/v1/holds/{}?reason=r", hold["id"].as_str().unwrap());
        admin.send(admin.request("DELETE", &path)).await.ok();
        assert!(turn(app).await > 0 && is_erased(app, held).await);
    }

    /// After a restore, the clock and the rows are those of a copy until an operator says so. Nothing is erased meanwhile.
    async fn a_restore_that_is_held_erases_nothing(app: &mut TestApp) {
        let old = app.agent().completed_intent().await;
        app.checkpoints().turn().await.unwrap();
        app.advance(184 * DAY).await;
        app.restore().await;
        assert_eq!(turn(app).await, 0);
        assert!(!is_erased(app, old).await);
        app.store().release().await.unwrap();
        app.settle().await;
        assert!(turn(app).await > 0 && is_erased(app, old).await);
    }

    /// Several servers have the same limit. Each part of a log is erased once.
    async fn several_servers_erase_once(app: &mut TestApp) {
        let intents = join_all((0..6).map(|_| async { app.agent().completed_intent().await })).await;
        app.advance(184 * DAY).await;
        app.checkpoints().turn().await.unwrap();
        let turns = (0..3).map(|_| async { Retaining::new(app.store(), KEPT).turn().await });
        let erased: u64 = join_all(turns).await.into_iter().sum();
        let mut events = 0;
        for intent in &intents {
            assert!(is_erased(app, *intent).await);
            events += app.agent().events(*intent).await.len() as u64;
        }
        assert_eq!((erased, redactions(app).await.len()), (events, intents.len()));
    }
}
