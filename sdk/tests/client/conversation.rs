//! Which requests the client sends, how often, and with which results.

use std::collections::HashSet;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use placet::{
    CallError, Client, Engagement, EngagementSignals, GovernancePolicy, Hooks, PartialRetryPolicy, Question, RequestInputError,
    Source, Status, SuspensionId, TransportError,
};
use serde_json::json;

use crate::script::{
    AT, Answer, HangUp, Headed, INTENT, SUSPENSION, TooMany, answered, intent, intent_id, listen, ok, problem, record, serve,
};

/// At stake: an outage must neither lose the question nor ask it twice.
#[tokio::test]
async fn a_question_survives_a_broken_connection_and_is_asked_under_one_key() {
    let (client, server) = serve(vec![HangUp, problem(503, "unavailable"), ok(record(json!({}))), HangUp, ok(answered())]);
    let answer = client.request_input(intent_id(), Question::confirm("Go?")).await.unwrap();
    assert!(answer.value && !answer.replayed);
    assert!(matches!(&answer.source, Source::Human { by, .. } if by == "alice@example.com"));

    let seen = server.join().unwrap();
    for ask in &seen[..3] {
        assert_eq!(ask.line, format!("POST /api/v1/intents/{INTENT}/suspend HTTP/1.1"));
        assert_eq!((ask.header("x-api-key"), ask.header("content-type")), (Some("the-key"), Some("application/json")));
        assert_eq!(ask.header("idempotency-key"), seen[0].header("idempotency-key"));
        assert_eq!(ask.body, json!({"question": "Go?", "response_type": "confirm"}));
    }
    assert!(seen[0].header("idempotency-key").unwrap().starts_with("placet-1-sha256:"));
    assert_eq!(seen[4].line, format!("GET /api/v1/suspensions/{SUSPENSION}?wait=50&after_version=1 HTTP/1.1"));
}

/// At stake: a client must not send requests in a tight loop to a server that answers at once.
#[tokio::test]
async fn a_server_that_does_not_wait_is_polled_at_a_pace() {
    let (client, server) = serve(vec![ok(record(json!({}))), ok(record(json!({}))), ok(answered())]);
    let begun = Instant::now();
    assert!(client.request_input(intent_id(), Question::confirm("Go?")).await.unwrap().value);
    assert!(begun.elapsed() >= Duration::from_millis(1900));
    server.join().unwrap();
}

#[tokio::test]
async fn an_answer_given_while_the_agent_was_away_is_marked_as_replayed() {
    let (client, server) = serve(vec![ok(answered())]);
    let answer = client.request_input(intent_id(), Question::confirm("Go?").idempotency_key("deploy-7")).await.unwrap();
    assert!(answer.replayed);
    assert_eq!(server.join().unwrap()[0].header("idempotency-key"), Some("deploy-7"));
}

/// At stake: a program that words its question anew after a crash must get the answer to the question that it asked before, even
/// while the connection is bad. If the server cannot look up a question by its key, the error is its first refusal.
#[tokio::test]
async fn a_question_in_other_words_is_looked_up_by_its_key() {
    let page = json!({"suspensions": [record(json!({"question": "Shall I?"}))], "next_cursor": null});
    let mismatch = || problem(422, "idempotency_mismatch");
    let (client, server) = serve(vec![mismatch(), HangUp, ok(page), mismatch(), problem(422, "invalid")]);
    let question = || Question::confirm("Go?").idempotency_key("deploy&7");
    assert_eq!(client.ask(intent_id(), question()).await.unwrap().record().question, "Shall I?");
    let refused = client.ask(intent_id(), question()).await.unwrap_err();
    assert!(matches!(refused, RequestInputError::Refused(problem) if problem.is("idempotency_mismatch")));
    assert_eq!(server.join().unwrap()[2].line, "GET /api/v1/suspensions?idempotency_key=deploy%267 HTTP/1.1");
}

/// RFC-0025 §12.
#[tokio::test]
async fn a_server_without_suspensions_and_an_unknown_intent_are_two_things() {
    let (client, server) = serve(vec![Answer(404, json!({"detail": "Not Found"})), problem(404, "not_found")]);
    let lacking = client.request_input(intent_id(), Question::text("Why?")).await.unwrap_err();
    assert!(matches!(lacking, RequestInputError::Unsupported));
    let unknown = client.request_input(intent_id(), Question::text("Why?")).await.unwrap_err();
    assert!(matches!(unknown, RequestInputError::Refused(problem) if problem.is("not_found")));
    server.join().unwrap();
}

/// At stake: an intent created twice.
#[tokio::test]
async fn a_write_of_unknown_fate_is_not_repeated() {
    let (client, server) = serve(vec![problem(503, "unavailable"), HangUp]);
    for _ in 0..2 {
        let error = client.create_intent("T").send().await.unwrap_err();
        assert!(matches!(error, CallError::Transport(TransportError::Unavailable(_) | TransportError::Network(_))));
    }
    assert_eq!(server.join().unwrap().len(), 2);

    // A 503 with the code `overloaded` says that the server has done nothing, so even a creation without a key is sent again.
    let (client, server) = serve(vec![problem(503, "overloaded"), ok(intent(1, "active"))]);
    client.create_intent("T").send().await.unwrap();
    server.join().unwrap();

    // With a key, sending twice creates one intent.
    let (client, server) = serve(vec![problem(503, "unavailable"), ok(intent(1, "active"))]);
    let created = client.create_intent("T").state("order", 5).active().idempotency_key("k").send().await.unwrap();
    assert!(!format!("{created:?}").contains(SUSPENSION));
    let seen = server.join().unwrap();
    assert_eq!(seen[1].body, json!({"title": "T", "state": {"order": 5}, "status": "active"}));
    assert_eq!(seen[1].header("idempotency-key"), Some("k"));
}

#[tokio::test]
async fn a_status_is_set_whatever_the_version_and_once() {
    let (client, server) = serve(vec![
        ok(intent(3, "active")),
        problem(409, "version_conflict"),
        ok(intent(4, "active")),
        // The change took effect, but the reply was lost: the repetition conflicts, and reading again finds out.
        HangUp,
        problem(409, "version_conflict"),
        ok(intent(5, "completed")),
    ]);
    assert_eq!(client.set_status(intent_id(), Status::Completed, Some("done")).await.unwrap().version, 5);
    let seen = server.join().unwrap();
    assert_eq!((seen[1].header("if-match"), seen[3].header("if-match")), (Some("3"), Some("4")));
    assert_eq!(seen[1].body, json!({"status": "completed", "reason": "done"}));
}

/// At stake: a call whose reply was lost is sent again, and must not change the intent twice.
#[tokio::test]
async fn each_write_to_an_intent_is_repeated_under_a_key_of_its_own() {
    let at = "2026-11-21T08:13:35.889468";
    let assignment =
        json!({"id": "x", "intent_id": INTENT, "agent_id": "a/b", "role": "worker", "assigned_by": "a", "assigned_at": at});
    let lease = json!({"id": SUSPENSION, "intent_id": INTENT, "agent_id": "a", "scope": "s", "status": "active", "acquired_at": at,
        "created_at": at, "expires_at": at, "released_at": null, "duration_seconds": 60});
    let done = json!({"message": "done"});
    let (client, server) = serve(vec![
        ok(intent(1, "active")),
        HangUp,
        ok(assignment),
        HangUp,
        ok(done.clone()),
        HangUp,
        ok(lease.clone()),
        HangUp,
        ok(lease),
        HangUp,
        ok(done),
        ok(intent(2, "active")),
        HangUp,
        problem(409, "version_conflict"),
        ok(intent(3, "active")),
        ok(intent(4, "active")),
    ]);
    let mut intent = client.intent(intent_id()).await.unwrap();
    intent.assign("a/b", None).await.unwrap();
    intent.unassign("a/b").await.unwrap();
    let mut lease = intent.lease("s", Duration::from_mins(1)).await.unwrap();
    lease.renew(Duration::from_mins(2)).await.unwrap();
    lease.release().await.unwrap();
    intent.set_policy(&GovernancePolicy { require_status_reason: Some(true), ..GovernancePolicy::default() }).await.unwrap();
    assert_eq!(intent.view().version, 4);

    let seen = server.join().unwrap();
    let one = format!("/api/v1/intents/{INTENT}");
    let mut keys = HashSet::new();
    for (sent, line) in [
        (1, format!("POST {one}/agents")),
        (3, format!("DELETE {one}/agents/a%2Fb")),
        (5, format!("POST {one}/leases")),
        (9, format!("DELETE {one}/leases/{SUSPENSION}")),
        (12, format!("PUT {one}/governance")),
    ] {
        assert_eq!((&seen[sent].line, &seen[sent + 1].line), (&format!("{line} HTTP/1.1"), &format!("{line} HTTP/1.1")));
        let key = seen[sent].header("idempotency-key").unwrap();
        assert_eq!(seen[sent + 1].header("idempotency-key"), Some(key));
        assert!(keys.insert(key.to_owned()), "the key of another call was used again");
    }
    assert_eq!(
        (seen[7].line.as_str(), &seen[8].body),
        (&*format!("PATCH {one}/leases/{SUSPENSION} HTTP/1.1"), &json!({"duration_seconds": 120}))
    );
    // After a conflict the policy is set at the intent's new version. This is another request, so it has a key of its own.
    assert_eq!((seen[12].header("if-match"), seen[15].header("if-match")), (Some("2"), Some("3")));
    assert!(keys.insert(seen[15].header("idempotency-key").unwrap().to_owned()));
    assert_eq!(seen[15].body, json!({"require_status_reason": true}));
}

#[tokio::test]
async fn withdrawing_twice_is_withdrawing_once() {
    let gone = json!({"detail": "no", "code": "already_resolved", "resolution": "cancelled", "resolution_reason": "withdrawn"});
    let late = json!({"detail": "no", "code": "already_resolved", "resolution": "responded", "resolution_reason": null});
    let cancelled = record(json!({"resolution": "cancelled", "resolution_reason": "withdrawn", "resolved_at": AT}));
    let (client, server) = serve(vec![Answer(409, gone), ok(cancelled), Answer(409, late)]);
    let id = SuspensionId::parse(SUSPENSION).unwrap();
    assert!(client.cancel(id, Some("not needed")).await.unwrap().resolution.is_some());
    assert!(matches!(client.cancel(id, None).await, Err(CallError::Refused(problem)) if problem.is("already_resolved")));
    assert_eq!(server.join().unwrap()[0].body, json!({"reason": "not needed"}));
}

#[tokio::test]
async fn an_engagement_decision_is_recorded_or_there_is_none() {
    let (client, server) = serve(vec![ok(json!({"id": "x"})), problem(403, "forbidden")]);
    let signals = EngagementSignals { confidence: 0.9, risk: 0.9, reversibility: 0.9, context: serde_json::Map::new() };
    let decided = client.should_request_input(intent_id(), signals.clone()).await.unwrap();
    assert!(matches!(decided, Engagement::Defer(_)));
    assert!(client.should_request_input(intent_id(), signals.clone()).await.is_err());
    let wrong = EngagementSignals { risk: f64::NAN, ..signals };
    assert!(matches!(client.should_request_input(intent_id(), wrong).await, Err(CallError::Refused(_))));
    let seen = server.join().unwrap();
    assert_eq!(seen[0].body["event_type"], "engagement.decision");
    assert_eq!((&seen[0].body["payload"]["mode"], &seen[0].body["payload"]["should_ask"]), (&json!("defer"), &json!(false)));
}

#[tokio::test]
async fn events_are_read_page_by_page_and_told_oldest_first() {
    let event = |sequence: u32| {
        json!({
            "id": "x", "intent_id": INTENT, "sequence": sequence, "event_type": "comment", "actor": "a", "payload": {},
            "created_at": "2026-11-21T08:13:35.889468", "previous_event_hash": null, "salt": "", "event_hash": "",
        })
    };
    let page = |newest: u32, oldest: u32| ok((oldest..=newest).rev().map(event).collect());
    // An event is appended between the two requests, so 51 comes twice.
    let (client, server) = serve(vec![page(250, 51), page(51, 1)]);
    let events = client.events(intent_id()).await.unwrap();
    assert!(events.iter().map(|event| event.sequence).eq(1..=250));
    let seen = server.join().unwrap();
    assert!(seen[0].line.contains("?include=all&limit=200&offset=0 "));
    assert!(seen[1].line.contains("?include=all&limit=200&offset=200 "));
}

/// At stake: the holder of a suspension's id can act on the suspension, and the holder of the key can do even more. So no error
/// may show either of them.
#[tokio::test]
async fn failures_name_neither_the_key_nor_the_suspension() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::builder(base, "the-key").retry_for(Duration::ZERO).build().unwrap();
    let error = client.suspension(SuspensionId::parse(SUSPENSION).unwrap()).await.unwrap_err();
    assert!(matches!(&error, CallError::Transport(TransportError::Network(_))));
    let shown = format!("{error:?} {error}") + &format!("{:#}", anyhow::Error::from(error));
    assert!(!shown.contains(SUSPENSION) && !shown.contains("the-key"), "{shown}");

    let (client, server) = serve(vec![ok(json!({"id": SUSPENSION, "intent_id": SUSPENSION.len()})), Answer(302, json!({}))]);
    let id = SuspensionId::parse(SUSPENSION).unwrap();
    let error = client.suspension(id).await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains(SUSPENSION));
    let error = client.suspension(id).await.unwrap_err();
    assert!(matches!(error, CallError::Transport(TransportError::Redirected { status: 302 })));
    server.join().unwrap();
}

#[tokio::test]
async fn the_agents_default_policy_travels_with_the_call() {
    let (client, server) = serve(vec![ok(answered())]);
    let policy = PartialRetryPolicy { max_attempts: Some(3), interval_seconds: Some(600), ..PartialRetryPolicy::default() };
    let client = client.with_default_retry_policy(policy);
    assert!(client.request_input(intent_id(), Question::confirm("Go?").fallback(false)).await.is_ok());
    let expected = json!({"max_attempts": 3, "interval_seconds": 600, "final_fallback_policy": "complete_with_fallback"});
    assert_eq!(server.join().unwrap()[0].body["retry_policy"], expected);
}

/// Writes down the calls of its hooks, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Hooks for Told {
    fn on_connection_lost(&self, _error: &TransportError) {
        self.note("lost");
    }

    fn on_connection_restored(&self, lost_for: Duration) {
        assert!(lost_for > Duration::ZERO);
        self.note("restored");
    }
}

/// Panics in every hook.
struct Panics;

impl Hooks for Panics {
    fn on_connection_lost(&self, _error: &TransportError) {
        panic!("a hook's own fault");
    }
}

/// At stake: a person in front of a waiting program must learn that the server is away, once per outage, and that it is back.
#[tokio::test]
async fn an_outage_is_told_once_and_so_is_its_end() {
    let script = vec![ok(record(json!({}))), HangUp, problem(503, "unavailable"), HangUp, ok(answered()), ok(answered())];
    let (base, server) = listen(script);
    let told = Told::default();
    let client = Client::builder(base, "the-key").hooks(Panics).hooks(told.clone()).build().unwrap();
    assert!(client.request_input(intent_id(), Question::confirm("Go?")).await.unwrap().value);
    client.suspension(SuspensionId::parse(SUSPENSION).unwrap()).await.unwrap();
    assert_eq!(told.all(), ["lost", "restored"]);
    server.join().unwrap();
}

/// At stake: a server that is busy or refuses can be reached. A hook that reported a lost connection would send people looking
/// for a network fault.
#[tokio::test]
async fn a_refusal_or_a_busy_server_is_no_outage() {
    let script = vec![problem(404, "not_found"), problem(429, "too_many"), problem(503, "overloaded"), problem(500, "internal")];
    let (base, server) = listen(script);
    let told = Told::default();
    let client = Client::builder(base, "the-key").hooks(told.clone()).build().unwrap();
    let id = SuspensionId::parse(SUSPENSION).unwrap();
    assert!(client.suspension(id).await.is_err() && client.suspension(id).await.is_err());
    assert!(told.all().is_empty());
    server.join().unwrap();
}

/// At stake: a server asks for a pause because it is too busy, and a client that calls again sooner makes it busier.
#[tokio::test]
async fn a_pause_the_server_asks_for_is_kept() {
    let seconds = "retry-after: 1\r\n";
    let date = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:38 GMT\r\n";
    for (status, asked) in [(429, seconds), (429, date), (503, seconds)] {
        let (client, server) = serve(vec![Headed(status, asked), ok(record(json!({})))]);
        let begun = Instant::now();
        client.suspension(SuspensionId::parse(SUSPENSION).unwrap()).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_secs(1), "{status} {asked}");
        server.join().unwrap();
    }
    // A pause that is longer than the caller's patience is not begun.
    let (base, server) = listen(vec![Headed(503, "retry-after: 3\r\n")]);
    let client = Client::builder(base, "the-key").retry_for(Duration::from_secs(2)).build().unwrap();
    let begun = Instant::now();
    let error = client.suspension(SuspensionId::parse(SUSPENSION).unwrap()).await.unwrap_err();
    assert!(matches!(error, CallError::Transport(TransportError::Unavailable(problem)) if problem.status == 503));
    assert!(begun.elapsed() < Duration::from_secs(2));
    server.join().unwrap();
}

/// At stake: an agent that believes its call may have taken effect looks for a question that was never asked, and an agent that
/// believes it did not take effect asks twice.
#[tokio::test]
async fn too_many_calls_are_a_refusal_unless_an_earlier_try_may_have_taken_effect() {
    let impatient = |base: String, time| Client::builder(base, "the-key").retry_for(time).build().unwrap();
    for code in ["rate_limited", "bytes_spent"] {
        let (base, server) = listen(vec![problem(429, code), problem(429, code)]);
        let client = impatient(base, Duration::ZERO);
        let created = client.create_intent("T").send().await.unwrap_err();
        assert!(matches!(&created, CallError::Refused(problem) if problem.is(code)), "{created:?}");
        let asked = client.ask(intent_id(), Question::confirm("Go?")).await.unwrap_err();
        assert!(matches!(&asked, RequestInputError::Refused(problem) if problem.is(code)), "{asked:?}");
        server.join().unwrap();
    }
    // A 429 without a problem `code` may come from a proxy, so it tells nothing about what the server did.
    let (base, server) = listen(vec![Headed(429, "")]);
    let created = impatient(base, Duration::ZERO).create_intent("T").send().await.unwrap_err();
    assert!(matches!(&created, CallError::Transport(TransportError::Unavailable(_))), "{created:?}");
    server.join().unwrap();
    // If the first try may have asked the question, a 429 to the second try does not mean that the question was refused.
    for (first, is_refused) in [(HangUp, false), (problem(503, "unavailable"), false), (problem(503, "overloaded"), true)] {
        let (base, server) = listen(vec![first, TooMany]);
        let asked = impatient(base, Duration::from_secs(2)).ask(intent_id(), Question::confirm("Go?")).await.unwrap_err();
        assert_eq!(matches!(&asked, RequestInputError::Refused(_)), is_refused, "{asked:?}");
        server.join().unwrap();
    }
    // A 429 to a wait is no refusal of the question, which stays open. The same holds for a 429 to the look-up of a question that
    // was asked before in other words.
    let (base, server) = listen(vec![ok(record(json!({}))), TooMany, problem(422, "idempotency_mismatch"), TooMany]);
    let client = Client::builder(base, "the-key").outage_tolerance(Duration::ZERO).retry_for(Duration::ZERO).build().unwrap();
    let mut asked = client.ask(intent_id(), Question::confirm("Go?")).await.unwrap();
    let waited = asked.answer().await.unwrap_err();
    assert!(matches!(&waited, RequestInputError::Transport(TransportError::Unavailable(_))), "{waited:?}");
    let again = client.ask(intent_id(), Question::confirm("Go on?").idempotency_key("k")).await.unwrap_err();
    assert!(matches!(&again, RequestInputError::Transport(TransportError::Unavailable(_))), "{again:?}");
    server.join().unwrap();
}

/// At stake: the server keeps the question through an outage, and people can answer it afterwards. A wait that gives up early
/// throws that answer away.
#[tokio::test]
async fn a_wait_outlasts_an_outage_that_other_calls_give_up_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::builder(format!("http://{address}"), "the-key").retry_for(Duration::ZERO).build().unwrap();
    let id = SuspensionId::parse(SUSPENSION).unwrap();
    assert!(client.suspension(id).await.is_err());

    let (base, server) = listen(vec![ok(record(json!({}))), HangUp, HangUp, HangUp, ok(answered())]);
    let client = Client::builder(base, "the-key").retry_for(Duration::ZERO).build().unwrap();
    assert!(client.request_input(intent_id(), Question::confirm("Go?")).await.unwrap().value);
    server.join().unwrap();

    // A program that wants to learn of an outage sooner sets `outage_tolerance`; after the error it can wait for the answer
    // again.
    let (base, server) = listen(vec![ok(record(json!({}))), HangUp, ok(answered())]);
    let client = Client::builder(base, "the-key").outage_tolerance(Duration::ZERO).build().unwrap();
    let mut asked = client.ask(intent_id(), Question::confirm("Go?")).await.unwrap();
    assert!(matches!(asked.answer().await, Err(RequestInputError::Transport(TransportError::Network(_)))));
    assert!(asked.answer().await.unwrap().value);
    server.join().unwrap();
}

/// At stake: an agent whose key was revoked must not go on as if the question had been refused, nor wait for ever.
#[tokio::test]
async fn a_key_that_no_longer_counts_ends_the_wait_at_once() {
    for (status, code) in [(401, "unauthorized"), (403, "forbidden")] {
        let (client, server) = serve(vec![ok(record(json!({}))), problem(status, code), problem(status, code)]);
        let error = client.request_input(intent_id(), Question::confirm("Go?")).await.unwrap_err();
        assert!(matches!(error, RequestInputError::AccessLost { problem, .. } if problem.is(code)));
        // If the server refuses the key when the question is asked, no question is on record, so the error is a plain refusal.
        let error = client.request_input(intent_id(), Question::confirm("Go?")).await.unwrap_err();
        assert!(matches!(error, RequestInputError::Refused(problem) if problem.is(code)));
        server.join().unwrap();
    }
}
