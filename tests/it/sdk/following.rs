//! The SDK's subscriptions against the real server: events as they happen, and through restarts.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::time::Duration;

use domain::people::principal::Role;
use harness::app::TestApp;
use harness::on_each_store;
use placet::{CallError, Client, Intent, Status, StreamEvent, Streamed, Subscription};
use serde_json::json;

/// How long a test waits before it fails.
const PATIENCE: Duration = Duration::from_mins(1);

async fn helper(app: &TestApp) -> Client {
    Client::new(app.base.clone(), app.new_key(Role::Agent, "helper").await).unwrap()
}

async fn next(events: &mut Subscription) -> StreamEvent {
    match tokio::time::timeout(PATIENCE, events.next()).await.expect("an event comes in time").unwrap() {
        Streamed::Event(event) => event,
        Streamed::Gap => panic!("nothing is missing"),
    }
}

/// Takes a lease on this part and gives it back. The stream of an intent carries only the second of these events.
async fn touch(intent: &Intent, scope: &str) {
    intent.lease(scope, Duration::from_mins(1)).await.unwrap().release().await.unwrap();
}

fn scope(event: &StreamEvent) -> &str {
    assert_eq!(event.name, "LEASE_RELEASED");
    event.data["scope"].as_str().unwrap()
}

on_each_store! {
    /// A program that follows an intent must not miss an event while the server is restarted or the program is.
    async fn a_subscription_misses_nothing_through_restarts(app: &mut TestApp) {
        let mut intent = app.client().create_intent("Refund").active().send().await.unwrap();
        let mut events = intent.subscribe(None).await.unwrap();
        intent.assign("helper", None).await.unwrap();
        let assigned = next(&mut events).await;
        assert_eq!((assigned.name.as_str(), assigned.intent_id, assigned.actor.as_str()), ("AGENT_ASSIGNED", intent.id(), "test-agent"));
        assert_eq!(assigned.data["agent_id"], json!("helper"));
        touch(&intent, "one").await;
        app.restart().await;
        touch(&intent, "two").await;
        assert_eq!((scope(&next(&mut events).await), scope(&next(&mut events).await)), ("one", "two"));

        // The program is stopped, and starts again with the place that it kept.
        let place = events.place().unwrap().to_owned();
        drop(events);
        touch(&intent, "three").await;
        app.restart().await;
        let mut events = app.client().intent(intent.id()).await.unwrap().subscribe(Some(&place)).await.unwrap();
        assert_eq!(scope(&next(&mut events).await), "three");
        intent.set_status(Status::Completed, Some("paid")).await.unwrap();
        let completed = next(&mut events).await;
        assert_eq!((completed.name.as_str(), &completed.data["reason"]), ("INTENT_COMPLETED", &json!("paid")));
    }

    /// A reader of a log must know whether it has everything: each event comes under its type, and a gap is told.
    async fn a_reader_of_a_log_gets_everything_or_is_told_of_the_gap(app: &mut TestApp) {
        let intent = app.client().create_intent("Refund").active().send().await.unwrap();
        let mut events = intent.follow_log(None).await.unwrap();
        touch(&intent, "one").await;
        assert_eq!((next(&mut events).await.name.as_str(), next(&mut events).await.name.as_str()), ("lease_acquired", "lease_released"));
        let place = events.place().unwrap().to_owned();
        app.restart().await;
        touch(&intent, "two").await;
        let event = next(&mut events).await;
        assert_eq!((event.name.as_str(), &event.data["payload"]["scope"]), ("lease_acquired", &json!("two")));
        for _ in 0..501 {
            touch(&intent, "many").await;
        }
        // The log has 1,004 events after `place`: two, and then 1,002.
        let mut late = intent.follow_log(Some(&place)).await.unwrap();
        assert_eq!(late.next().await.unwrap(), Streamed::Gap);
        assert_eq!((next(&mut late).await.name.as_str(), late.place()), ("lease_acquired", Some("8-0")));
    }

    /// A worker waits for its work beside other things, so it drops the wait again and again.
    async fn a_worker_hears_of_its_assignments_although_it_drops_its_waits(app: &mut TestApp) {
        let worker = helper(app).await;
        let mut events = worker.subscribe("helper", None).await.unwrap();
        let (mut wanted, mut heard) = (Vec::new(), Vec::new());
        for number in 0..3 {
            if let Ok(streamed) = tokio::time::timeout(Duration::from_millis(number), events.next()).await {
                heard.push(streamed.unwrap());
            }
            let intent = app.client().create_intent(format!("Order {number}")).active().send().await.unwrap();
            intent.assign("another", None).await.unwrap();
            intent.assign("helper", None).await.unwrap();
            wanted.push(intent.id());
        }
        while heard.len() < wanted.len() {
            heard.push(Streamed::Event(next(&mut events).await));
        }
        let heard: Vec<_> = heard.iter().map(|streamed| match streamed {
            Streamed::Event(event) => (event.name.as_str(), event.intent_id),
            Streamed::Gap => panic!("nothing is missing"),
        }).collect();
        assert_eq!(heard, wanted.iter().map(|intent| ("AGENT_ASSIGNED", *intent)).collect::<Vec<_>>());
    }

    /// A program without a runtime follows events, too; an intent that it may not read is refused.
    async fn a_program_without_a_runtime_follows_events(app: &mut TestApp) {
        let intent = app.client().create_intent("Deploy").active().send().await.unwrap();
        let (base, key, id) = (app.base.clone(), app.agent().key().to_owned(), intent.id());
        let following = tokio::task::spawn_blocking(move || {
            let client = placet::blocking::Client::new(base, key).unwrap();
            let mut events = client.intent(id).unwrap().subscribe(None).unwrap();
            assert!(events.next_within(Duration::from_millis(1)).is_none());
            assert!(client.intent(id).unwrap().follow_log(None).unwrap().place().is_some());
            (client.subscribe("test-agent", None).unwrap(), events)
        });
        let (mut of_agent, mut events) = following.await.unwrap();
        touch(&intent, "one").await;
        let told = tokio::task::spawn_blocking(move || {
            let told = [events.next().unwrap(), of_agent.next_within(PATIENCE).unwrap().unwrap()];
            assert!(events.place().is_some() && of_agent.place().is_some());
            told
        });
        for streamed in told.await.unwrap() {
            let Streamed::Event(event) = streamed else { panic!("nothing is missing") };
            assert_eq!(scope(&event), "one");
        }
        let hidden = helper(app).await.subscribe("test-agent", None).await;
        assert!(matches!(&hidden, Err(CallError::Refused(problem)) if problem.is("not_found")), "{hidden:?}");
    }
}
