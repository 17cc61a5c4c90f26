//! The SDK's waits against the real server: many at a time, dropped, continued, and without a valid key.

use std::future::Future;
use std::task::{Context, Waker};

use domain::people::principal::Role;
use harness::app::TestApp;
use harness::on_each_store;
use placet::{CancelReason, Client, IntentId, Question, RequestInputError};
use serde_json::json;
use tokio::task::JoinSet;

/// The number of questions that are waited for at once.
const MANY: usize = 50;

fn go() -> Question<bool> {
    Question::confirm("Go?").timeout_seconds(600)
}

async fn suspended(app: &TestApp, intent: IntentId) -> usize {
    app.agent().event_types(intent).await.iter().filter(|event| *event == "intent.suspended").count()
}

on_each_store! {
    /// One agent program serves many customers. An answer that reached the wrong question would approve the wrong action.
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
        // The order of answers differs from that of the questions. 37 and 50 have no common divisor, so each question is answered
        // once.
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

    /// Timeouts, `select!` and shutdowns may drop a future at any point. That must never ask twice or lose the question.
    async fn a_question_dropped_while_it_is_asked_is_asked_once(app: &mut TestApp) {
        let client = app.client();
        let intent = app.agent().active_intent().await;
        drop(client.ask(intent, go()));
        assert_eq!(suspended(app, intent).await, 0, "a future that never ran asked somebody");
        // The future is dropped while it connects or sends, so the server may or may not have got the request.
        for polls in 1..6 {
            let mut asking = Box::pin(client.ask(intent, go()));
            for _ in 0..polls {
                if asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        // The future is dropped after the server has taken the request and before its reply is read.
        let mut asking = Box::pin(client.ask(intent, go()));
        while asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() && suspended(app, intent).await == 0 {}
        drop(asking);
        let mut asked = client.ask(intent, go()).await.unwrap();
        // The drop did not withdraw the question.
        assert_eq!(asked.record().resolution, None);
        assert_eq!(suspended(app, intent).await, 1);
        app.operator().respond(intent, &asked.suspension_id().expose(), "yes").await.ok();
        assert!(asked.answer().await.unwrap().value);
    }

    /// A program may keep the id of a question, and another program may continue the wait with it, whatever the wording was.
    async fn a_wait_is_taken_up_by_the_questions_id(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        let id = app.client().ask(intent, go()).await.unwrap().suspension_id();
        app.restart().await;
        let mut resumed = app.client().pending(id, &Question::confirm("Another wording?")).await.unwrap();
        assert_eq!((resumed.suspension_id(), resumed.record().question.as_str()), (id, "Go?"));
        app.operator().respond(intent, &id.expose(), "no").await.ok();
        let answer = resumed.answer().await.unwrap();
        assert!(!answer.value && !answer.replayed);
        // A wait that continues after the end is marked as replayed. If the answer does not have the expected type, it is an
        // error.
        assert!(app.client().pending(id, &go()).await.unwrap().answer().await.unwrap().replayed);
        let wrong = app.client().pending(id, &Question::form::<u32>("?")).await.unwrap().answer().await;
        assert!(matches!(wrong, Err(RequestInputError::InvalidAnswer { .. })), "{wrong:?}");

        let stranger = Client::new(app.base.clone(), app.new_key(Role::Agent, "stranger").await).unwrap();
        let hidden = stranger.pending(id, &go()).await.unwrap_err();
        assert!(matches!(hidden, RequestInputError::Refused(problem) if problem.is("not_found")));
    }

    /// A program must withdraw a question explicitly, and every other waiting program is told of it.
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
                drafts: Vec::new(),
                suspension_id: asked.suspension_id(),
            };
            assert_eq!(format!("{:?}", outcome.unwrap_err()), format!("{withdrawn:?}"));
        }
    }

    /// A revoked key must not look like an answer, an outage or a lost question. The error says that nothing is lost.
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
