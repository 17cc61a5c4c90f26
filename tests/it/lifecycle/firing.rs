//! Events that count once: copies at the same time, and calls that break off.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use domain::people::principal::{Principal, Role};
use domain::suspension::stop::{Fired, Provider};
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::{on_each_store, on_one_store};
use serde_json::{Value, json};
use store::{Idempotency, StoreError};

use super::pausing::{id_of, resume, since_it_began};

const PATH: &str = "api/v1/events";
/// How many intents wait; more than are woken at the same time.
const WAITING: u64 = 20;

/// Parks a new intent until an event of this name comes; returns the id of the suspension.
async fn parked(agent: &Api, event: &str) -> String {
    let intent = agent.active_intent().await;
    let body = json!({"reason": "Waiting for the build.", "conditions": {"on_event": event}});
    id_of(&agent.post(&format!("api/v1/intents/{intent}/park"), body).await.ok())
}

async fn many_parked(agent: &Api, event: &str) -> Vec<String> {
    join_all((0..WAITING).map(|_| parked(agent, event))).await
}

async fn fire_once(api: &Api, key: &str, name: &str) -> Reply {
    api.post_once(PATH, key, json!({"name": name})).await
}

/// Each of them has been woken once.
async fn each_was_woken_once(agent: &Api, stops: &[String]) {
    for id in stops {
        let record = agent.suspension(id).await;
        assert_eq!((&record["resolution"], &record["cause"]), (&json!("resumed"), &json!("external_event")), "{record}");
        let intent = record["intent_id"].as_str().unwrap().parse().unwrap();
        let types = since_it_began(agent, intent).await;
        assert_eq!(types, ["lifecycle.parked", "status_changed", "lifecycle.resumed", "status_changed"]);
    }
}

/// Lets a call go on until it has waited so many times, and drops it then, as a crash does; `None` if it was dropped.
async fn broken_off<T>(call: impl Future<Output = T>, waits: usize) -> Option<T> {
    let (mut call, mut left) = (pin!(call), waits);
    poll_fn(|cx| match call.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// Tells the store of an event, as the message with this number.
fn fire(app: &TestApp, name: &str, number: u8) -> impl Future<Output = Result<u64, StoreError>> {
    let fired = Fired { name: name.to_owned(), provider: Provider::Webhook, payload: None, webhook_id: None };
    let once = Idempotency { key_hash: [number; 32], body_hash: [number; 32] };
    let store = app.store();
    async move { store.fire(Principal::sender("ci"), Ok(fired), Some(once)).await }
}

on_each_store! {
    /// Two equal events at once are one event: each call answers what it has woken.
    async fn two_equal_events_at_once_are_one(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for round in ["one", "two", "three"] {
            let stops = many_parked(&agent, round).await;
            let replies = join_all((0..4).map(|_| fire_once(&operator, round, round))).await;
            for reply in replies {
                assert_eq!(reply.ok(), json!({"woken": WAITING}));
            }
            each_was_woken_once(&agent, &stops).await;
        }
        // An agent that parks itself anew waits for the next event, however often this one comes.
        let later = parked(&agent, "one").await;
        app.restart().await;
        let (agent, operator) = (app.agent(), app.operator());
        assert_eq!(fire_once(&operator, "one", "one").await.ok(), json!({"woken": WAITING}));
        assert_eq!(agent.suspension(&later).await["resolution"], Value::Null);
        assert_eq!(fire_once(&operator, "one", "two").await.problem(), (422, "idempotency_mismatch"));
        // Another key, of another principal or of the same one, is another event.
        assert_eq!(fire_once(&app.api(Role::Admin), "one", "one").await.ok(), json!({"woken": 1}));
        assert_eq!(fire_once(&operator, "four", "one").await.ok(), json!({"woken": 0}));
        assert_eq!(fire_once(&operator, &"k".repeat(256), "one").await.field_problem().2, "Idempotency-Key");
        assert_eq!(fire_once(&app.agent(), "five", "one").await.problem(), (403, "forbidden"));
    }

    /// Wherever a call breaks off (before the event is claimed, between that and the first wake, among the wakes), the repeated call does
    /// the rest, and both together have woken each intent once.
    async fn a_call_that_breaks_off_is_finished_by_the_repeated_one(app: &mut TestApp) {
        let mut broken = 0;
        for waits in 0..10 {
            let name = format!("round.{waits}");
            let stops = many_parked(&app.agent(), &name).await;
            let first = broken_off(fire(app, &name, waits), usize::from(waits)).await;
            broken += u32::from(first.is_none());
            if waits % 3 == 0 {
                app.restart().await;
            }
            let agent = app.agent();
            // Between the two, another agent begins to wait: for the next event, unless the first call had claimed nothing yet.
            let later = parked(&agent, &name).await;
            let woken = fire(app, &name, waits).await.unwrap();
            let has_later = agent.suspension(&later).await["resolution"] != Value::Null;
            assert_eq!(woken, WAITING + u64::from(has_later), "round {waits}");
            assert_eq!(fire(app, &name, waits).await.unwrap(), woken, "round {waits}");
            each_was_woken_once(&agent, &stops).await;
        }
        assert!(broken > 2, "the calls were never broken off");
    }

    /// A key counts for a day. The message that comes under it afterwards is another one, and is told of its own wakes alone.
    async fn a_key_that_has_lapsed_tells_of_no_older_wakes(app: &mut TestApp) {
        many_parked(&app.agent(), "build").await;
        assert_eq!(fire_once(&app.operator(), "nightly", "build").await.ok(), json!({"woken": WAITING}));
        app.advance(25 * 3_600).await;
        app.restart().await;
        let stop = parked(&app.agent(), "build").await;
        for _ in 0..2 {
            assert_eq!(fire_once(&app.operator(), "nightly", "build").await.ok(), json!({"woken": 1}));
        }
        each_was_woken_once(&app.agent(), &[stop]).await;
    }
}

on_one_store! {
    /// An event writes its payload for each intent that it wakes. When the disk is nearly full, it wakes none, and it loses none. The disk
    /// of PostgreSQL is not the server's.
    async fn a_full_disk_holds_events_back_and_loses_no_wake(app: &mut TestApp) {
        let stops = many_parked(&app.agent(), "build").await;
        let before = app.agent().suspension(&stops[0]).await;
        app.restart_with(|config| config.limits.reserve_bytes = u64::MAX).await;
        let (agent, operator) = (app.agent(), app.operator());
        assert_eq!(fire_once(&operator, "one", "build").await.problem(), (507, "no_room"));
        assert_eq!(agent.suspension(&stops[0]).await, before);
        // A person still lets work go on.
        resume(&operator, &stops[0], json!({})).await.ok();
        app.restart_with(|config| config.limits.reserve_bytes = 1).await;
        let (agent, operator) = (app.agent(), app.operator());
        for _ in 0..2 {
            assert_eq!(fire_once(&operator, "one", "build").await.ok(), json!({"woken": WAITING - 1}));
        }
        each_was_woken_once(&agent, &stops[1..]).await;
    }
}
