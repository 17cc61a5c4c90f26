//! The SDK against the real server: the outcome that an agent gets, whatever happens while it waits.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::people::principal::Role;
use harness::api::Api;
use harness::app::{OPERATOR, TestApp};
use harness::on_each_store;
use harness::smtp::Fault;
use placet::{
    Answer, CallError, CancelReason, Choice, Choices, Client, Engagement, EngagementSignals, IntentId, PartialRetryPolicy,
    Pending, Question, RequestInputError, Source, Status, TimeoutReason,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinSet;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Refund {
    Approve,
    Deny,
}

impl Choices for Refund {
    fn choices() -> Vec<(Self, Choice)> {
        vec![(Self::Approve, Choice::new("approve", "Refund it")), (Self::Deny, Choice::new("deny", "Do not refund"))]
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Terms {
    cap: u32,
}

type Outcome<T> = Result<Answer<T>, RequestInputError>;

fn refund() -> Question<Refund> {
    Question::choice::<Refund>("Refund order 12345?").context("order", "12345").timeout_seconds(3600)
}

/// An agent's program that asks and waits.
fn program<T: Send + 'static>(client: Client, intent: IntentId, question: Question<T>) -> JoinSet<Outcome<T>> {
    let mut program = JoinSet::new();
    program.spawn(async move { client.request_input(intent, question).await });
    program
}

async fn ended<T: 'static>(mut program: JoinSet<Outcome<T>>) -> Outcome<T> {
    program.join_next().await.unwrap().unwrap()
}

/// An intent that was created with the SDK.
async fn begun(app: &TestApp) -> IntentId {
    app.client().create_intent("Refund order 12345").active().send().await.unwrap().id()
}

/// A server whose disk is nearly full refuses before it writes anything. If an agent took that for "it may have been done", it
/// would wait for the answer to a question that was never asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_room_refuses_and_leaves_nothing_open() {
    let mut app = TestApp::start().await;
    let intent = begun(&app).await;
    app.restart_with(|config| config.limits.reserve_bytes = u64::MAX).await;
    let created = app.client().create_intent("Refund order 12346").active().send().await;
    assert!(
        matches!(&created, Err(CallError::Refused(problem)) if problem.status == 507 && problem.is("no_room")),
        "{created:?}"
    );
    let asked = app.client().request_input(intent, refund()).await;
    assert!(matches!(&asked, Err(RequestInputError::Refused(problem)) if problem.is("no_room")), "{asked:?}");
    assert_eq!(app.agent().event_types(intent).await.len(), 1, "nothing was written");
    app.finish().await;
}

on_each_store! {
    /// Agents crash, are killed and are deployed again. If a restarted agent asked people again, they would answer twice and
    /// learn to ignore questions. If it lost the answer, they would have answered in vain.
    async fn an_agent_that_starts_again_finds_its_question(app: &mut TestApp) {
        let intent = begun(app).await;
        let mut first = program(app.client(), intent, refund());
        let link = app.carried().await.link(&app.base);
        first.shutdown().await; // The future is dropped while it waits.
        drop(first);
        app.restart().await;
        let mut again = app.client().ask(intent, refund()).await.unwrap();
        app.settle().await;
        assert!(!app.smtp.has_unread(), "asking again asked the person again");
        app.person().answer(&link, "deny").await;
        let answer = again.answer().await.unwrap();
        assert_eq!((answer.value, answer.replayed), (Refund::Deny, false));
        // A program that starts after the answer gets the answer too, marked as replayed.
        let late = app.client().request_input(intent, refund()).await.unwrap();
        assert_eq!((late.value, late.replayed, late.suspension_id), (Refund::Deny, true, answer.suspension_id));
        let asked = app.agent().event_types(intent).await;
        assert_eq!(asked.iter().filter(|event| *event == "intent.suspended").count(), 1);
        // The same question is asked a second time only if the agent says so.
        let mut other = app.client().ask(intent, refund().again("second parcel")).await.unwrap();
        assert_ne!(other.suspension_id(), answer.suspension_id);
        app.settle().await;
        app.person().answer(&app.next_link().await, "approve").await;
        assert_eq!(other.answer().await.unwrap().value, Refund::Approve);
    }

    /// A model that crashes may word its question anew. The person's answer to the first words must reach the agent, together
    /// with those words, and no person may be asked twice.
    async fn a_question_with_a_name_is_found_again_however_it_is_worded(app: &mut TestApp) {
        let intent = begun(app).await;
        let worded = |words: &str, order: &str| {
            Question::choice::<Refund>(words).context("why", order).timeout_seconds(3600).idempotency_key("refund-1")
        };
        let mut first = program(app.client(), intent, worded("Refund order 12345?", "the parcel is lost"));
        let link = app.carried().await.link(&app.base);
        first.shutdown().await;
        drop(first);
        app.restart().await;
        // The program's default policy may have changed as well.
        let policy = PartialRetryPolicy { max_attempts: Some(3), interval_seconds: Some(60), ..PartialRetryPolicy::default() };
        let client = app.client().with_default_retry_policy(policy);
        let reworded = Question::choice::<Refund>("May I pay 12345 back?").notify_to(["other@example.com"]).idempotency_key("refund-1");
        let mut again = client.ask(intent, reworded).await.unwrap();
        assert_eq!((again.record().question.as_str(), again.record().attempt), ("Refund order 12345?", 1));
        app.settle().await;
        assert!(!app.smtp.has_unread(), "asking again asked the person again");
        app.person().answer(&link, "deny").await;
        let answer = again.answer().await.unwrap();
        assert_eq!((answer.value, answer.replayed, answer.question.as_str()), (Refund::Deny, false, "Refund order 12345?"));
        // A program that starts after the answer finds it too, even with a new key of the same agent.
        let client = Client::new(app.base.clone(), app.new_key(Role::Agent, "test-agent").await).unwrap();
        let late = client.request_input(intent, worded("Is a refund for 12345 all right?", "lost")).await.unwrap();
        assert_eq!((late.value, late.replayed, late.suspension_id), (Refund::Deny, true, answer.suspension_id));
        let asked = app.agent().event_types(intent).await;
        assert_eq!(asked.iter().filter(|event| *event == "intent.suspended").count(), 1);
    }

    /// A name (an idempotency key) must not find a question whose answer would mean something else. Above all, a missing answer
    /// must not become consent.
    async fn a_name_finds_no_question_whose_answer_means_something_else(app: &mut TestApp) {
        let (client, intent) = (app.client(), begun(app).await);
        let named = |question: Question<Refund>| question.timeout_seconds(3600).idempotency_key("refund-1");
        let id = client.ask(intent, named(refund().fallback(Refund::Approve))).await.unwrap().suspension_id();
        let refused = |outcome: Result<Pending<Refund>, RequestInputError>| {
            let error = outcome.unwrap_err();
            assert!(matches!(&error, RequestInputError::Refused(problem) if problem.is("idempotency_mismatch")), "{error:?}");
        };
        refused(client.ask(intent, named(refund())).await);
        refused(client.ask(intent, named(refund().fallback(Refund::Deny))).await);
        refused(client.ask(intent, named(refund().fallback(Refund::Approve).supersedes(id))).await);
        refused(client.ask(begun(app).await, named(refund().fallback(Refund::Approve))).await);
        let others = || Question::choices("Refund it?", [Choice::new("approve", "Yes"), Choice::new("never", "No")]);
        assert!(client.ask(intent, others().timeout_seconds(3600).idempotency_key("refund-1")).await.is_err());
        assert!(client.ask(intent, Question::text("Refund it?").timeout_seconds(3600).idempotency_key("refund-1")).await.is_err());
        let stranger = Client::new(app.base.clone(), app.new_key(Role::Agent, "stranger").await).unwrap();
        assert!(stranger.ask(intent, named(refund())).await.is_err());
        // Once a person has answered, the fallback no longer matters.
        app.operator().respond(intent, &id.expose(), "deny").await.ok();
        assert_eq!(client.request_input(intent, named(refund())).await.unwrap().value, Refund::Deny);
        assert!(client.request_input(intent, others().timeout_seconds(60).idempotency_key("refund-1")).await.is_err());
        app.settle().await;
    }

    /// A new version of a program may have another default policy. It must still find the old version's question, with a name or
    /// without.
    async fn a_question_is_found_under_another_default_policy(app: &mut TestApp) {
        let policy = |attempts| PartialRetryPolicy {
            max_attempts: Some(attempts),
            interval_seconds: Some(600),
            ..PartialRetryPolicy::default()
        };
        let ask = || Question::confirm("Go?");
        for name in [None, Some("go")] {
            let intent = begun(app).await;
            let question = || name.map_or_else(ask, |name| ask().idempotency_key(name));
            let old = app.client().with_default_retry_policy(policy(2)).ask(intent, question()).await.unwrap();
            let new = app.client().with_default_retry_policy(policy(3)).ask(intent, question()).await.unwrap();
            assert_eq!(new.suspension_id(), old.suspension_id());
            assert_eq!(app.client().ask(intent, question()).await.unwrap().suspension_id(), old.suspension_id());
            assert_eq!(new.record().retry_policy.as_ref().unwrap().max_attempts, 2);
        }
        app.settle().await;
    }

    /// The server may be updated while a program waits, and the program must not notice.
    async fn a_wait_survives_a_restart_of_the_server(app: &mut TestApp) {
        let intent = begun(app).await;
        let waiting = program(app.client(), intent, refund());
        let link = app.carried().await.link(&app.base);
        app.restart().await;
        app.person().answer(&link, "approve").await;
        app.restart().await;
        let answer = ended(waiting).await.unwrap();
        assert_eq!((answer.value, answer.responded_by.as_deref()), (Refund::Approve, Some(OPERATOR)));
    }

    /// If no person answers, the outcome is an error unless the question has a fallback. A fallback is marked as one.
    async fn silence_is_an_error_or_a_fallback_and_never_a_person(app: &mut TestApp) {
        let intent = begun(app).await;
        let waiting = program(app.client(), intent, refund().fallback(Refund::Deny));
        app.carried().await;
        app.advance(3599).await;
        assert_eq!(waiting.len(), 1);
        app.advance(1).await;
        let answer = ended(waiting).await.unwrap();
        assert!(matches!(answer.source, Source::Fallback { .. }) && !answer.source.is_human());
        assert_eq!((answer.value, &answer.responded_by, answer.responded_at), (Refund::Deny, &None, None));

        let waiting = program(app.client(), intent, refund().again("fail"));
        app.carried().await;
        app.advance(3600).await;
        let error = ended(waiting).await.unwrap_err();
        assert!(
            matches!(error, RequestInputError::InputTimeout { reason: TimeoutReason::Unanswered, attempts: 1, .. }),
            "{error:?}"
        );
        assert_eq!(app.client().intent(intent).await.unwrap().view().status, Status::Abandoned);
    }

    /// "No person was reached" is an error of its own, apart from "no person answered", because the server's operator must act on
    /// it.
    async fn nobody_reached_is_an_error_of_its_own_whatever_the_fallback(app: &mut TestApp) {
        let intent = begun(app).await;
        let mut asked = app.client().ask(intent, refund().fallback(Refund::Approve)).await.unwrap();
        app.smtp.script(Fault::RejectRecipient);
        app.advance(3600).await;
        let error = asked.answer().await.unwrap_err();
        assert!(matches!(error, RequestInputError::InputTimeout { reason: TimeoutReason::Undeliverable, .. }), "{error:?}");
    }

    async fn a_question_taken_back_ends_the_wait(app: &mut TestApp) {
        let intent = begun(app).await;
        let waiting = program(app.client(), intent, refund());
        app.carried().await;
        let id = app.client().ask(intent, refund()).await.unwrap().suspension_id();
        let newer = refund().context("amount", 13).supersedes(id);
        let newer_waiting = program(app.client(), intent, newer);
        let error = ended(waiting).await.unwrap_err();
        assert!(matches!(error, RequestInputError::InputCancelled { reason: CancelReason::Superseded, .. }), "{error:?}");
        app.carried().await;
        let newer = refund().context("amount", 13).supersedes(id);
        app.client().ask(intent, newer).await.unwrap().cancel(Some("the parcel was found")).await.unwrap();
        let error = ended(newer_waiting).await.unwrap_err();
        let RequestInputError::InputCancelled { reason: CancelReason::Withdrawn, suspension_id, .. } = error else {
            panic!("{error:?}");
        };
        // A second withdrawal changes nothing, and the agent goes on.
        app.client().cancel(suspension_id, None).await.unwrap();
        assert_eq!(app.agent().status(intent).await, "active");
    }

    /// A form is passed through unchanged. If the program cannot read it, the program gets an error, and the answer still stands.
    async fn an_answer_of_another_type_is_told_and_stands(app: &mut TestApp) {
        let intent = begun(app).await;
        let mut asked = app.client().ask(intent, Question::form::<Terms>("Which terms?").timeout_seconds(60)).await.unwrap();
        app.settle().await;
        let id = asked.suspension_id().expose();
        app.operator().respond(intent, &id, json!({"cap": "a lot"})).await.ok();
        let error = asked.answer().await.unwrap_err();
        assert!(matches!(&error, RequestInputError::InvalidAnswer { raw, .. } if *raw == json!({"cap": "a lot"})), "{error:?}");
        assert!(!error.to_string().contains("a lot"), "an answer is not for logs");
        assert_eq!(app.agent().status(intent).await, "active");
        let question = Question::form::<Terms>("Which terms now?").timeout_seconds(60);
        let mut asked = app.client().ask(intent, question).await.unwrap();
        app.operator().respond(intent, &asked.suspension_id().expose(), json!({"cap": 5})).await.ok();
        assert_eq!(asked.answer().await.unwrap().value, Terms { cap: 5 });
    }

    /// An agent must not answer its own question, neither by its key nor by another key of its owner.
    async fn who_asked_cannot_answer_nor_can_its_owners_other_keys(app: &mut TestApp) {
        let key = app.new_key_of(Role::Agent, "bot", "payments").await;
        let client = Client::new(app.base.clone(), key.clone()).unwrap();
        let intent = client.create_intent("Refund order 12345").active().send().await.unwrap().id();
        let id = client.ask(intent, refund()).await.unwrap().suspension_id().expose();
        let twin = app.new_key_of(Role::Operator, "desk", "payments").await;
        let stranger = app.new_key_of(Role::Operator, "night desk", "support").await;
        for (key, problem) in [(key, (403, "self_response")), (twin, (403, "self_response"))] {
            let refused = Api::new(&app.base, Some(&key)).respond(intent, &id, "approve").await;
            assert_eq!(refused.problem(), problem);
        }
        Api::new(&app.base, Some(&stranger)).respond(intent, &id, "approve").await.ok();
        let answer = client.request_input(intent, refund()).await.unwrap();
        assert_eq!((answer.value, answer.responded_by.as_deref()), (Refund::Approve, Some("night desk")));
        app.settle().await;
    }

    /// It must be possible to explain later why a person was asked or not. A decision exists only if its event is recorded.
    async fn every_decision_to_ask_or_not_is_on_record(app: &mut TestApp) {
        let (client, intent) = (app.client(), begun(app).await);
        let decide = async |confidence, risk| {
            let signals = EngagementSignals { confidence, risk, reversibility: 0.8, context: serde_json::Map::new() };
            client.should_request_input(intent, signals).await
        };
        assert!(matches!(decide(0.99, 0.1).await, Ok(Engagement::Autonomous(_))));
        assert!(matches!(decide(0.6, 0.3).await, Ok(Engagement::RequestInput(_))));
        assert!(matches!(decide(0.99, 0.6).await, Ok(Engagement::RequireInput(_))));
        assert!(matches!(decide(0.99, 0.9).await, Ok(Engagement::Defer(_))));
        assert!(matches!(decide(1.01, 0.1).await, Err(CallError::Refused(_))));
        let events = client.events(intent).await.unwrap();
        let decided: Vec<_> = events.iter().filter(|event| event.event_type == "engagement.decision").collect();
        let modes: Vec<_> = decided.iter().map(|event| event.payload["mode"].as_str().unwrap()).collect();
        assert_eq!(modes, ["autonomous", "request_input", "require_input", "defer"]);
        assert!(decided.iter().all(|event| event.actor == "test-agent"));
    }
}
