//! The SDK's waits against the real server: many at a time, dropped, taken up again, and without a key.

use std::future::Future;
use std::task::{Context, Waker};

use domain::people::principal::Role;
use harness::app::TestApp;
use harness::on_each_store;
use placet::{CancelReason, Client, IntentId, Question, RequestInputError};
use serde_json::json;
use tokio::task::JoinSet;

/// Questions waited for at a time.
const MANY: usize = 50;

fn go() -> Question<bool> {
    Question::confirm("Go?").timeout_seconds(600)
}

async fn suspended(app: &TestApp, intent: IntentId) -> usize {
    app.agent().event_types(intent).await.iter().filter(|event| *event == "intent.suspended").count()
}

on_each_store! {
    /// One agent program serves many customers: an answer that reached the wrong question would approve the wrong thing.
    async fn of_many_questions_at_a_time_each_gets_its_own_answer(app: &mut TestApp) {
        let client = app.client();
        let mut asking = JoinSet::new();
        for number in 0..MANY {
            let client = client.clone();
            asking.spawn(async move {
                let intent = client.create_intent(format!("Order {number}")).active().send().await.unwrap();
                let question = Question::text("Which?").context("order", number).timeout_seconds(600);
                (number, client.ask(intent.id(), question).await.unwrap())
            });
        }
        let mut questions = Vec::new();
        let mut waiting = JoinSet::new();
        for (number, mut asked) in asking.join_all().await {
            questions.push((number, asked.record().intent_id, asked.suspension_id()));
            waiting.spawn(async move { (number, asked.answer().await.unwrap()) });
        }
        app.settle().await;
        // Answered in another order than they were asked: 37 and 50 have no common divisor, so each has its turn.
        for turn in 0..MANY {
            let (number, intent, id) = questions[turn * 37 % MANY];
            app.operator().respond(intent, &id.expose(), format!("for {number}")).await.ok();
        }
        let answers = waiting.join_all().await;
        assert_eq!(answers.len(), MANY);
        for (number, answer) in answers {
            assert_eq!(answer.value, format!("for {number}"));
        }
    }

    /// Futures are dropped by timeouts, `select!` and shutdowns, at any point: never may that ask twice or lose the question.
    async fn a_question_dropped_while_it_is_asked_is_asked_once(app: &mut TestApp) {
        let client = app.client();
        let intent = app.agent().active_intent().await;
        drop(client.ask(intent, go()));
        assert_eq!(suspended(app, intent).await, 0, "a future that never ran asked somebody");
        // Dropped while it connects or sends, which the server may or may not hear of.
        for polls in 1..6 {
            let mut asking = Box::pin(client.ask(intent, go()));
            for _ in 0..polls {
                if asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        // Dropped when the server has taken it, before its reply is read.
        let mut asking = Box::pin(client.ask(intent, go()));
        while asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() && suspended(app, intent).await == 0 {}
        drop(asking);
        let mut asked = client.ask(intent, go()).await.unwrap();
        // Nor did dropping take it back.
        assert_eq!(asked.record().resolution, None);
        assert_eq!(suspended(app, intent).await, 1);
        app.operator().respond(intent, &asked.suspension_id().expose(), "yes").await.ok();
        assert!(asked.answer().await.unwrap().value);
    }

    /// A program may keep the id, and another one take the wait up, whatever the wording was.
    async fn a_wait_is_taken_up_by_the_questions_id(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        let id = app.client().ask(intent, go()).await.unwrap().suspension_id();
        app.restart().await;
        let mut resumed = app.client().pending(id, &Question::confirm("Another wording?")).await.unwrap();
        assert_eq!((resumed.suspension_id(), resumed.record().question.as_str()), (id, "Go?"));
        app.operator().respond(intent, &id.expose(), "no").await.ok();
        let answer = resumed.answer().await.unwrap();
        assert!(!answer.value && !answer.replayed);
        // Taken up after its end, it says so; read as something it is not, it is no answer.
        assert!(app.client().pending(id, &go()).await.unwrap().answer().await.unwrap().replayed);
        let wrong = app.client().pending(id, &Question::form::<u32>("?")).await.unwrap().answer().await;
        assert!(matches!(wrong, Err(RequestInputError::InvalidAnswer { .. })), "{wrong:?}");

        let stranger = Client::new(app.base.clone(), app.new_key(Role::Agent, "stranger").await).unwrap();
        let hidden = stranger.pending(id, &go()).await.unwrap_err();
        assert!(matches!(hidden, RequestInputError::Refused(problem) if problem.is("not_found")));
    }

    /// Taking a question back is an act, and whoever waits for it elsewhere hears of it.
    async fn withdrawing_is_explicit_and_reaches_every_waiter(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        let mut asked = app.client().ask(intent, go()).await.unwrap();
        let client = app.client();
        let mut elsewhere = JoinSet::new();
        elsewhere.spawn(async move { client.request_input(intent, go()).await });
        asked.cancel(Some("no longer needed")).await.unwrap();
        for outcome in [asked.answer().await, elsewhere.join_next().await.unwrap().unwrap()] {
            let withdrawn = RequestInputError::InputCancelled {
                reason: CancelReason::Withdrawn,
                at: asked.record().resolved_at,
                suspension_id: asked.suspension_id(),
            };
            assert_eq!(format!("{:?}", outcome.unwrap_err()), format!("{withdrawn:?}"));
        }
    }

    /// A revoked key must not look like an answer, an outage or a lost question: it says what happened and that nothing is lost.
    async fn a_key_revoked_during_the_wait_ends_it_and_the_next_key_takes_over(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let made = admin.post("api/v1/keys", json!({"role": "agent", "name": "bot"})).await.ok();
        let client = Client::new(app.base.clone(), made["key"].as_str().unwrap()).unwrap();
        let intent = client.create_intent("T").active().send().await.unwrap().id();
        let mut asked = client.ask(intent, go()).await.unwrap();
        let id = asked.suspension_id();
        admin.send(admin.request("DELETE", &format!("api/v1/keys/{}", made["id"].as_str().unwrap()))).await.ok();
        let error = asked.answer().await.unwrap_err();
        let RequestInputError::AccessLost { problem, suspension_id } = &error else { panic!("{error:?}") };
        assert_eq!((problem.status, *suspension_id), (401, id));
        assert!(error.to_string().contains("the question stays open"));
        assert!(!format!("{error} {error:?}").contains(&id.expose()));

        let next = Client::new(app.base.clone(), app.new_key(Role::Agent, "bot").await).unwrap();
        let mut found = next.ask(intent, go()).await.unwrap();
        assert_eq!(found.suspension_id(), id);
        app.operator().respond(intent, &id.expose(), "yes").await.ok();
        assert!(found.answer().await.unwrap().value);
    }
}
