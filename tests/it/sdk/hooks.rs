//! The SDK's hooks against the real server: which calls a program gets about its questions, and how often (RFC-0025 §9.3).

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::people::principal::Role;
use harness::app::{OPERATOR, TestApp};
use harness::on_each_store;
use harness::smtp::Fault;
use placet::{
    Answer, CancelReason, Client, EngagementDecision, EngagementSignals, Expiry, Hooks, IntentId, OneOrMany, PartialRetryPolicy,
    Question, RequestInputError, Rung, SuspensionRecord, TimeoutReason,
};
use serde_json::{Value, json};

/// A hook that records its calls in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }

    /// The calls since the last look.
    fn news(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Hooks for Told {
    fn on_input_requested(&self, record: &SuspensionRecord, reattached: bool) {
        let again = record.context.get("_attempt").map_or_else(String::new, |attempt| {
            assert_eq!(*attempt, json!(record.attempt));
            format!(", attempt {attempt} of {}, to {}", record.context["_max_attempts"], record.context["_notify_to"])
        });
        self.note(format!("requested {} {}{again}", record.question, if reattached { "before" } else { "now" }));
    }

    fn on_input_received(&self, record: &SuspensionRecord, answer: &Answer<Value>) {
        assert_eq!(record.id, answer.suspension_id);
        self.note(format!("received {} by {:?}, replayed: {}", answer.value, answer.responded_by, answer.replayed));
    }

    fn on_suspension_expired(&self, _record: &SuspensionRecord, expiry: Expiry<'_>) {
        match expiry {
            Expiry::Fallback(answer) => {
                assert!(!answer.source.is_human());
                self.note(format!("fell back to {}", answer.value));
            }
            Expiry::Failed(TimeoutReason::Unanswered) => self.note("unanswered".into()),
            Expiry::Failed(TimeoutReason::Undeliverable) => self.note("undeliverable".into()),
        }
    }

    fn on_suspension_cancelled(&self, record: &SuspensionRecord, reason: CancelReason) {
        self.note(format!("cancelled {} {reason:?}", record.question));
    }

    fn on_engagement_decision(&self, _intent_id: IntentId, decision: &EngagementDecision) {
        self.note(format!("decided {:?}", decision.mode));
    }
}

/// A hook that panics at every call.
struct Panics;

impl Hooks for Panics {
    fn on_input_requested(&self, _record: &SuspensionRecord, _reattached: bool) {
        panic!("a hook's own fault");
    }

    fn on_input_received(&self, _record: &SuspensionRecord, _answer: &Answer<Value>) {
        panic!("a hook's own fault");
    }
}

fn watched(app: &TestApp) -> (Client, Told) {
    let told = Told::default();
    let client = Client::builder(app.base.clone(), app.agent().key()).hooks(told.clone()).build().unwrap();
    (client, told)
}

fn go() -> Question<bool> {
    Question::confirm("Go?").timeout_seconds(60)
}

on_each_store! {
    /// Programs count and log by these hooks. A second call would count twice; a missing one would show a question as open for
    /// ever.
    async fn a_question_and_its_answer_are_told_once_each(app: &mut TestApp) {
        let (client, told) = watched(app);
        let intent = app.agent().active_intent().await;
        let mut asked = client.ask(intent, go()).await.unwrap();
        assert_eq!(told.news(), ["requested Go? now"]);
        app.settle().await;
        app.person().answer(&app.next_link().await, "yes").await;
        assert!(asked.answer().await.unwrap().value && asked.answer().await.unwrap().value);
        let received = format!("received \"yes\" by {:?}, replayed: ", Some(OPERATOR));
        assert_eq!(told.news(), [received.clone() + "false"]);
        // A program that starts again gets the calls again, marked as replayed.
        let (client, told) = watched(app);
        assert!(client.request_input(intent, go()).await.unwrap().value);
        assert_eq!(told.news(), ["requested Go? before".to_owned(), received + "true"]);
    }

    /// A program that asks again while the question is open gets the existing question, and its hooks are told so.
    async fn asking_again_is_told_as_that_while_the_question_is_open(app: &mut TestApp) {
        let (client, told) = watched(app);
        let intent = app.agent().active_intent().await;
        for news in ["requested Go? now", "requested Go? before", "requested Go? before"] {
            client.ask(intent, go()).await.unwrap();
            assert_eq!(told.news(), [news]);
        }
        client.ask(intent, go().supersedes(client.ask(intent, go()).await.unwrap().suspension_id())).await.unwrap();
        assert_eq!(told.news(), ["requested Go? before", "requested Go? now"]);
    }

    /// A waiting program is told of each reminder (RFC-0026 §4.5), so that it can show "asked twice already".
    async fn each_further_attempt_is_told_while_the_question_is_waited_for(app: &mut TestApp) {
        let (client, told) = watched(app);
        let intent = app.agent().active_intent().await;
        let rung = Rung { attempt: 2, channel_hint: None, notify_to: Some(OneOrMany(vec!["lead@example.com".to_owned()])) };
        let policy = PartialRetryPolicy {
            max_attempts: Some(2),
            interval_seconds: Some(60),
            escalation_ladder: Some(vec![rung]),
            ..PartialRetryPolicy::default()
        };
        let mut asked = client.ask(intent, go().retry_policy(policy)).await.unwrap();
        app.settle().await;
        assert_eq!(told.news(), ["requested Go? now"]);
        // A program that continues the wait by the question's id asks no person, and is told of all later steps like the first
        // program.
        let (other, other_told) = watched(app);
        let mut taken_up = other.pending(asked.suspension_id(), &go()).await.unwrap();
        assert!(other_told.is_empty());
        let passing = async {
            app.advance(60).await;
            let heard = async {
                while told.is_empty() || other_told.is_empty() {
                    harness::pause::pause().await;
                }
            };
            tokio::time::timeout(Duration::from_mins(1), heard).await.expect("nothing was told of the reminder");
            let again = vec![r#"requested Go? before, attempt 2 of 2, to ["lead@example.com"]"#.to_owned()];
            assert_eq!((told.news(), other_told.news()), (again.clone(), again));
            app.advance(60).await;
        };
        let (ended, other_ended, ()) = tokio::join!(asked.answer(), taken_up.answer(), passing);
        for ended in [ended, other_ended] {
            assert!(matches!(ended, Err(RequestInputError::InputTimeout { attempts: 2, .. })));
        }
        assert_eq!((told.news(), other_told.news()), (vec!["unanswered".into()], vec!["unanswered".into()]));
    }

    /// Each ending of a question is told as what it is. Only a person's answer is told as a person's answer.
    async fn every_other_end_is_told_as_what_it_is(app: &mut TestApp) {
        let (client, told) = watched(app);
        let intent = app.agent().active_intent().await;
        let mut asked = client.ask(intent, go().fallback(false)).await.unwrap();
        app.settle().await;
        app.advance(60).await;
        assert!(!asked.answer().await.unwrap().value);
        assert_eq!(told.news(), ["requested Go? now", "fell back to \"no\""]);

        let mut asked = client.ask(intent, go().again("withdrawn")).await.unwrap();
        asked.cancel(None).await.unwrap();
        assert!(asked.answer().await.is_err() && asked.answer().await.is_err());
        assert_eq!(told.news(), ["requested Go? now", "cancelled Go? Withdrawn"]);

        let mut asked = client.ask(intent, go().again("superseded")).await.unwrap();
        let mut newer = client.ask(intent, Question::text("Why?").timeout_seconds(60).supersedes(asked.suspension_id())).await.unwrap();
        assert!(asked.answer().await.is_err());
        assert_eq!(told.news(), ["requested Go? now", "requested Why? now", "cancelled Go? Superseded"]);
        app.settle().await;
        app.advance(60).await;
        assert!(newer.answer().await.is_err());
        assert_eq!(told.news(), ["unanswered"]);

        let intent = app.agent().active_intent().await;
        let mut asked = client.ask(intent, go().fallback(true)).await.unwrap();
        app.smtp.script(Fault::RejectRecipient);
        app.advance(60).await;
        assert!(asked.answer().await.is_err());
        assert_eq!(told.news(), ["requested Go? now", "undeliverable"]);
    }

    /// A hook that panics loses neither the answer nor the calls of later hooks.
    async fn a_hook_that_panics_costs_neither_the_answer_nor_another_hook(app: &mut TestApp) {
        let told = Told::default();
        let client = Client::builder(app.base.clone(), app.agent().key()).hooks(Panics).hooks(told.clone()).build().unwrap();
        let intent = app.agent().active_intent().await;
        let mut asked = client.ask(intent, go()).await.unwrap();
        app.operator().respond(intent, &asked.suspension_id().expose(), "yes").await.ok();
        assert!(asked.answer().await.unwrap().value);
        assert_eq!(told.news().len(), 2);
    }

    /// An answer that the program cannot read is still told as received from a person.
    async fn an_answer_of_another_type_is_told_as_received(app: &mut TestApp) {
        let (client, told) = watched(app);
        let intent = app.agent().active_intent().await;
        let mut asked = client.ask(intent, Question::form::<Vec<u8>>("How many?").timeout_seconds(60)).await.unwrap();
        app.operator().respond(intent, &asked.suspension_id().expose(), json!({"n": 1})).await.ok();
        assert!(asked.answer().await.is_err());
        assert!(told.news()[1].starts_with("received {\"n\":1} by "));
    }

    /// The hook for a decision is called when the decision is on record. A decision that could not be recorded was not made.
    async fn a_decision_is_told_when_it_is_on_record(app: &mut TestApp) {
        let (client, told) = watched(app);
        let intent = app.agent().active_intent().await;
        let signals = EngagementSignals::new(0.99, 0.9, 0.8).unwrap();
        assert!(client.should_request_input(intent, signals.clone()).await.is_ok());
        assert_eq!(told.news(), ["decided Defer"]);
        let stranger = app.new_key(Role::Agent, "stranger").await;
        let client = Client::builder(app.base.clone(), stranger).hooks(told.clone()).build().unwrap();
        assert!(client.should_request_input(intent, signals).await.is_err());
        assert!(told.news().is_empty());
    }
}
