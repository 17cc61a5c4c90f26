//! A question ends once, even if two answers, or an answer and the deadline, come at the same instant. A restart of the server
//! between two steps changes nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::TimeDelta;
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use futures_util::stream::{self, StreamExt};
use harness::api::{Api, Reply};
use harness::app::{OPERATOR, TestApp};
use harness::on_each_store;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// The number of questions that two operators answer at once.
const CONTESTED: usize = 200;
/// The number of questions that are answered while their deadline passes.
const EXPIRING: usize = 64;
/// The number of requests under way at the same time.
const AT_ONCE: usize = 32;

/// Asks `count` questions, each on an intent of its own.
async fn ask(agent: &Api, count: usize, change: Value) -> Vec<(IntentId, String)> {
    let ask = async |_| agent.ask(change.clone()).await;
    stream::iter(0..count).map(ask).buffer_unordered(AT_ONCE).collect().await
}

/// Only a few logs are read at once, since the server would refuse a larger number.
static READERS: Semaphore = Semaphore::const_new(4);

/// How often each of these events happened.
async fn counts<const N: usize>(agent: &Api, intent: IntentId, types: [&str; N]) -> [usize; N] {
    let _reader = READERS.acquire().await.expect("nobody closes it");
    let happened = agent.event_types(intent).await;
    types.map(|wanted| happened.iter().filter(|event| *event == wanted).count())
}

/// Gives two answers at the same instant. One is told that it counts and the other that it came second, and the record agrees.
async fn contest(index: usize, [agent, alice, bob]: &[Api; 3], (intent, id): &(IntentId, String)) {
    // The answer that is polled first has a head start of microseconds, so the two take turns.
    let ((yes, first), (no, second)) = if index.is_multiple_of(2) {
        let (yes, no) = tokio::join!(alice.respond(*intent, id, "approve"), bob.respond(*intent, id, "deny"));
        ((yes, "approve"), (no, "deny"))
    } else {
        let (no, yes) = tokio::join!(bob.respond(*intent, id, "deny"), alice.respond(*intent, id, "approve"));
        ((yes, "approve"), (no, "deny"))
    };
    let (winner, by, loser): (_, _, Reply) = match (yes.status, no.status) {
        (200, 409) => (first, "test-operator", no),
        (409, 200) => (second, "bob", yes),
        statuses => panic!("{statuses:?}: {} {}", yes.text, no.text),
    };
    assert_eq!(loser.problem(), (409, "already_resolved"));
    let record = agent.suspension(id).await;
    assert_eq!((&record["response"], &record["responded_by"]), (&json!(winner), &json!(by)));
    assert_eq!(record["resolution"], json!("responded"));
    let [resumed, rejected] = counts(agent, *intent, ["intent.resumed", "intent.response_rejected"]).await;
    assert_eq!((resumed, rejected), (1, 1));
}

/// Checks the ending of a question that was answered while its deadline passed. Returns whether the answer counted.
async fn one_ending(agent: &Api, intent: IntentId, id: &str, answered: &Reply) -> bool {
    let record = agent.suspension(id).await;
    let ends = ["intent.resumed", "intent.suspension_expired", "intent.late_answer"];
    let happened = counts(agent, intent, ends).await;
    if answered.status == 200 {
        assert_eq!((&record["resolution"], &record["response"]), (&json!("responded"), &json!("approve")));
        assert_eq!(happened, [1, 0, 0]);
        return true;
    }
    assert_eq!(answered.problem(), (409, "expired"));
    assert_eq!((&record["resolution"], &record["responded_by"]), (&json!("expired"), &json!(null)));
    assert_ne!(record["response"], json!("approve"));
    assert_eq!(happened, [0, 1, 1]);
    false
}

on_each_store! {
    /// Of two answers at the same instant one counts. If two people could both be told that theirs counts, no answer would mean
    /// anything.
    async fn of_two_answers_at_the_same_instant_one_counts(app: &mut TestApp) {
        let bob = Api::new(&app.base, Some(&app.new_key(Role::Operator, "bob").await));
        let actors = [app.agent(), app.operator(), bob];
        let questions = ask(&actors[0], CONTESTED, json!({})).await;
        let contests = questions.iter().enumerate().map(|(index, question)| contest(index, &actors, question));
        stream::iter(contests).buffer_unordered(AT_ONCE).collect::<()>().await;
    }

    /// When an answer and the deadline come at the same instant, exactly one of them ends the question.
    async fn an_answer_and_the_deadline_never_both_end_a_question(app: &mut TestApp) {
        for fallback in [json!({}), json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny"})] {
            let (agent, operator, store) = (app.agent(), app.operator(), app.store());
            let questions = ask(&agent, EXPIRING, fallback).await;
            app.settle().await;
            app.clock.jump(TimeDelta::seconds(3600) - TimeDelta::microseconds(1));
            let done = AtomicUsize::new(0);
            let answer = async |(intent, id): &(IntentId, String)| {
                let reply = operator.respond(*intent, id, "approve").await;
                // After half of the answers the clock reaches the deadline while other answers are on their way.
                if done.fetch_add(1, Ordering::SeqCst) + 1 == EXPIRING / 2 {
                    app.clock.jump(TimeDelta::microseconds(1));
                }
                (*intent, id.clone(), reply)
            };
            let answers = stream::iter(&questions).map(answer).buffered(AT_ONCE).collect::<Vec<_>>();
            let timer = async {
                while done.load(Ordering::SeqCst) < EXPIRING {
                    store.fire_deadlines().await.unwrap();
                }
            };
            let (answers, ()) = tokio::join!(answers, timer);
            let mut counted = 0;
            for (intent, id, reply) in &answers {
                counted += usize::from(one_ending(&agent, *intent, id, reply).await);
            }
            // The first half was in time. Answers sent after the jump were late.
            assert!((EXPIRING / 2..=EXPIRING / 2 + AT_ONCE).contains(&counted), "{counted}");
        }
    }

    /// Two workers that fire the same deadline at once fire it once.
    async fn a_deadline_fires_once_for_two_workers(app: &mut TestApp) {
        let (agent, store) = (app.agent(), app.store());
        let questions = ask(&agent, EXPIRING, json!({})).await;
        app.settle().await;
        app.clock.jump(TimeDelta::seconds(3600));
        let worker = async || while store.fire_deadlines().await.unwrap().rows > 0 {};
        tokio::join!(worker(), worker());
        for (intent, _) in questions {
            let ends = ["intent.suspension_expired", "status_changed"];
            assert_eq!(counts(&agent, intent, ends).await, [1, 2]);
            assert_eq!(agent.status(intent).await, "abandoned");
        }
    }

    /// The server restarts between two steps, from the creation of an intent to the answer by a link, or after every step. The
    /// outcome is the same each time, so no step relies on memory.
    async fn a_restart_between_any_two_steps_changes_nothing(app: &mut TestApp) {
        for restarted in [[0].as_slice(), &[1], &[2], &[3], &[4], &[0, 1, 2, 3, 4]] {
            let pause = async |app: &mut TestApp, step: usize| {
                if restarted.contains(&step) {
                    app.restart().await;
                }
            };
            let agent = app.agent();
            let intent = agent.active_intent().await;
            pause(app, 0).await;
            let id = agent.asked(intent).await;
            pause(app, 1).await;
            app.settle().await;
            let link = app.next_link().await;
            pause(app, 2).await;
            let mut person = app.person();
            let nonce = person.open(&link).await.nonce();
            pause(app, 3).await;
            let posted = person.post(&link, &[("nonce", &nonce), ("value", "deny")]).await;
            assert_eq!(posted.status, 303, "restarted after {restarted:?}: {}", posted.html);
            pause(app, 4).await;
            let record = agent.suspension(&id).await;
            assert_eq!((&record["response"], &record["responded_by"]), (&json!("deny"), &json!(OPERATOR)));
            let happened = ["intent_created", "intent.suspended", "status_changed", "delivery.sent", "intent.resumed", "status_changed"];
            assert_eq!(agent.event_types(intent).await, happened, "restarted after {restarted:?}");
            app.settle().await;
            assert!(!app.smtp.has_unread(), "restarted after {restarted:?}: a second mail");
        }
    }
}
