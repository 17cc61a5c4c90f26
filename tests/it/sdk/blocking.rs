//! The SDK's blocking client against the real server: on plain threads, on several at once, and inside a runtime by mistake.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::people::principal::Role;
use harness::app::TestApp;
use harness::on_each_store;
use placet::blocking::Client;
use placet::{
    Answer, CallError, Engagement, EngagementSignals, Hooks, Question, RequestInputError, Source, Status, SuspensionRecord,
    TimeoutReason,
};
use serde_json::{Value, json};
use tokio::sync::oneshot::{self, Receiver, error::TryRecvError};

fn go() -> Question<bool> {
    Question::confirm("Go?").timeout_seconds(600)
}

fn client(app: &TestApp) -> Client {
    Client::new(app.base.clone(), app.agent().key()).unwrap()
}

/// Starts a program on a thread without a runtime, as in a program that has none.
fn on_a_thread<T: Send + 'static>(program: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (done, ended) = oneshot::channel();
    std::thread::spawn(move || assert!(done.send(program()).is_ok()));
    ended
}

/// A hook that records each call.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<&'static str>>>);

impl Hooks for Told {
    fn on_input_requested(&self, _record: &SuspensionRecord, _reattached: bool) {
        self.0.lock().unwrap().push("requested");
    }

    fn on_input_received(&self, _record: &SuspensionRecord, _answer: &Answer<Value>) {
        self.0.lock().unwrap().push("received");
    }
}

on_each_store! {
    /// Scripts, build tools and threaded web servers ask too, and get the same answers as other programs.
    async fn a_program_without_a_runtime_asks_and_gets_its_answer(app: &mut TestApp) {
        let told = Told::default();
        let client = Client::builder(app.base.clone(), app.agent().key()).hooks(told.clone()).build_blocking().unwrap();
        let waiting = on_a_thread(move || {
            let mut intent = client.create_intent("Deploy").description("now").state("commit", "4f2a91c").active().send().unwrap();
            let answer = intent.request_input(go()).unwrap();
            intent.set_status(Status::Completed, Some("done")).unwrap();
            (answer, intent.refresh().unwrap().status, intent.events().unwrap().len(), client)
        });
        app.person().answer(&app.carried().await.link(&app.base), "yes").await;
        let (answer, status, events, client) = waiting.await.unwrap();
        assert!(answer.value && matches!(answer.source, Source::Human { .. }));
        assert_eq!(status, Status::Completed);
        assert!(events > 4);
        assert_eq!(*told.0.lock().unwrap(), ["requested", "received"]);
        drop(client);
    }

    /// A long wait on one thread must not delay the answer of another thread, although they share a small runtime.
    async fn threads_that_share_a_client_do_not_wait_for_each_other(app: &mut TestApp) {
        let client = client(app);
        let (slow, quick) = (app.agent().active_intent().await, app.agent().active_intent().await);
        let (of_slow, of_quick) = (client.clone(), client.clone());
        let slow_id = app.client().ask(slow, go()).await.unwrap().suspension_id();
        let mut slow_waiting = on_a_thread(move || of_slow.request_input(slow, go()));
        let waits = async {
            while !app.api(Role::Auditor).get("metrics").await.text.contains("\nplacet_waiters 1\n") {
                harness::pause::pause().await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), waits).await.expect("the slow thread never waited");
        let quick_id = app.client().ask(quick, go()).await.unwrap().suspension_id();
        let quick_waiting = on_a_thread(move || of_quick.request_input(quick, go()));
        app.operator().respond(quick, &quick_id.expose(), "no").await.ok();
        assert!(!quick_waiting.await.unwrap().unwrap().value);
        assert_eq!(slow_waiting.try_recv().unwrap_err(), TryRecvError::Empty);
        app.operator().respond(slow, &slow_id.expose(), "yes").await.ok();
        assert!(slow_waiting.await.unwrap().unwrap().value);
    }

    /// An operator's script needs no runtime either: it finds a question and answers it.
    async fn a_program_without_a_runtime_finds_and_answers_a_question(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        let mut asked = app.client().ask(intent, go()).await.unwrap();
        let operator = Client::new(app.base.clone(), app.operator().key()).unwrap();
        let recorded = on_a_thread(move || {
            let open = operator.open_suspensions(None).unwrap();
            assert_eq!((open.suspensions.len(), open.next_cursor), (1, None));
            let later = operator.extend(&open.suspensions[0], 60, None).unwrap();
            operator.remind(later.id).unwrap();
            assert_eq!(operator.preview(go()).unwrap().schedule.len(), 1);
            operator.respond(&open.suspensions[0], json!("yes"), None).unwrap()
        }).await.unwrap();
        assert_eq!(recorded.suspension_id, asked.suspension_id());
        assert!(asked.answer().await.unwrap().value);
    }

    /// A program with other work can stop waiting. The question stays open.
    async fn a_wait_with_an_end_of_its_own_leaves_the_question_open(app: &mut TestApp) {
        let client = client(app);
        let intent = app.agent().active_intent().await;
        let (mut asked, waited) = on_a_thread(move || {
            let mut asked = client.ask(intent, go()).unwrap();
            let waited = asked.answer_within(Duration::from_millis(1));
            (asked, waited.is_none())
        }).await.unwrap();
        assert!(waited && asked.record().resolution.is_none());
        app.operator().respond(intent, &asked.suspension_id().expose(), "yes").await.ok();
        let answer = on_a_thread(move || asked.answer_within(Duration::from_mins(1))).await.unwrap().unwrap().unwrap();
        assert!(answer.value && !answer.replayed);
    }

    /// Refusals and missing answers have the same error types as in the other client, so that a program handles both alike.
    async fn the_other_ends_are_the_same_errors(app: &mut TestApp) {
        let client = client(app);
        let intent = app.agent().active_intent().await;
        let (client, mut asked) = on_a_thread(move || {
            let signals = EngagementSignals::new(0.99, 0.9, 0.8).unwrap();
            assert!(matches!(client.should_request_input(intent, signals), Ok(Engagement::Defer(_))));
            let mut withdrawn = client.ask(intent, go()).unwrap();
            withdrawn.cancel(None).unwrap();
            assert!(matches!(withdrawn.answer(), Err(RequestInputError::InputCancelled { .. })));
            let asked = client.ask(intent, go().again("silence")).unwrap();
            let taken_up = client.pending(asked.suspension_id(), &go()).unwrap();
            assert_eq!(client.suspension(taken_up.suspension_id()).unwrap().id, asked.suspension_id());
            let unknown = client.intent(domain::base::ids::IntentId(uuid::Uuid::nil())).unwrap_err();
            assert!(matches!(unknown, CallError::Refused(problem) if problem.is("not_found")));
            (client, asked)
        }).await.unwrap();
        app.settle().await;
        app.advance(600).await;
        let error = on_a_thread(move || asked.answer()).await.unwrap().unwrap_err();
        assert!(matches!(error, RequestInputError::InputTimeout { reason: TimeoutReason::Unanswered, .. }), "{error:?}");
        drop(client);
    }

    /// Called from async code by mistake, the client blocks its thread. That is bad, but a panic in production would be worse.
    async fn inside_a_runtime_it_works_and_never_panics(app: &mut TestApp) {
        let client = client(app);
        let intent = client.create_intent("Deploy").active().send().unwrap();
        let mut asked = client.ask(intent.id(), go()).unwrap();
        app.operator().respond(intent.id(), &asked.suspension_id().expose(), "yes").await.ok();
        assert!(asked.answer().unwrap().value);
        let elsewhere = client.clone();
        let id = intent.id();
        let answer = tokio::task::spawn_blocking(move || elsewhere.request_input(id, go())).await.unwrap().unwrap();
        assert!(answer.value && answer.replayed);
        // Dropping the last handle ends the client's own runtime. Inside another runtime that must not panic.
        drop((asked, intent));
        drop(client);
    }
}
