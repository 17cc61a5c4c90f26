//! A wall clock that is set while the server runs: a wrong clock must not decide anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use channels::{Channel, DeliveryError, Message, Receipt};
use chrono::TimeDelta;
use domain::people::principal::Role;
use harness::app::{Backend, OPERATOR, TestApp};
use harness::clock::FakeClock;
use harness::on_each_store;
use serde_json::{Value, json};

use crate::time::outage::extensions;

async fn held_by_clock(app: &TestApp) -> bool {
    let scrape = app.api(Role::Auditor).get("metrics").await.text;
    let line = scrape.lines().find_map(|line| line.strip_prefix("placet_held{cause=\"clock\"} "));
    line.unwrap_or_else(|| panic!("{scrape}")) == "1"
}

fn permissive() -> Value {
    json!({"timeout_seconds": 600, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"})
}

/// A channel that makes the clock jump ahead by an hour during every call.
struct Jumping {
    clock: Arc<FakeClock>,
    says: Result<Receipt, DeliveryError>,
    calls: AtomicU32,
}

impl Jumping {
    fn new(app: &TestApp, says: Result<&str, DeliveryError>) -> Arc<Self> {
        let says = says.map(|reply| Receipt { reply: reply.to_owned() });
        Arc::new(Self { clock: app.clock.clone(), says, calls: AtomicU32::new(0) })
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }
}

#[async_trait::async_trait]
impl Channel for Jumping {
    fn name(&self) -> &'static str {
        "jumping"
    }

    async fn deliver(&self, _message: &Message) -> Result<Receipt, DeliveryError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.clock.set_by(TimeDelta::seconds(3600));
        self.says.clone()
    }
}

on_each_store! {
    /// An hour that never passed must not count as silence, neither for a timer nor for an answer that only looks late.
    async fn a_jump_ahead_holds_deadlines_until_the_clock_is_steady(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.suspend(intent, permissive()).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        assert!(!held_by_clock(app).await);
        app.clock.set_by(TimeDelta::seconds(3600));
        let early = operator.respond(intent, &id, "deny").await;
        assert_eq!((early.status, early.headers.contains_key("retry-after")), (503, true), "{}", early.text);
        app.settle().await;
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        let ready = app.anonymous().get("readyz").await;
        assert_eq!(ready.status, 503);
        assert!(ready.text.contains("the clock jumped ahead"), "{}", ready.text);
        assert!(held_by_clock(app).await);

        app.advance(29).await;
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        app.advance(1).await; // Half a minute without another jump: the clock is trusted, and the skipped time is given back.
        assert_eq!(app.anonymous().get("readyz").await.status, 200);
        assert!(!held_by_clock(app).await);
        assert_eq!(operator.respond(intent, &id, "deny").await.status, 200);
        assert!(!agent.event_types(intent).await.contains(&"intent.late_answer".to_owned()));
    }

    /// A person who may set the clock could otherwise have an agent's fallback applied half a minute later, as if an hour of
    /// silence had passed.
    async fn a_step_of_the_clock_takes_no_time_from_anybody(app: &mut TestApp) {
        let hour = json!({"timeout_seconds": 3600, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
        let (answered, _) = app.ask(hour.clone()).await;
        let link = app.next_link().await;
        let (silent, id) = app.ask(hour).await;
        let (failing, _) = app.ask(json!({"timeout_seconds": 86_400})).await;
        app.advance(600).await;
        app.clock.set_by(TimeDelta::seconds(7200));
        app.settle().await;
        app.advance(30).await;
        // max(09:00:00, 10:10:30) + min(2 h 30 s, 1 h).
        let given_back = [("09:00:00".to_owned(), "11:10:30".to_owned())];
        for _ in 0..3 {
            for intent in [answered, silent] {
                assert_eq!(extensions(app, intent).await, given_back);
            }
            app.restart().await; // Time is given back once per step of the clock, however often the server starts.
            app.settle().await;
        }
        assert_eq!(extensions(app, failing).await, [], "a question without a fallback gets no time back");
        let told = app.agent().events(silent).await.pop().unwrap();
        assert_eq!((&told["event_type"], &told["payload"]["cause"]), (&json!("intent.suspension_extended"), &json!("outage")));
        app.advance(2970 - 1).await; // One second before the end of the hour that people were promised.
        assert_eq!(app.person().answer(&link, "deny").await.heading(), "Your answer was recorded");
        assert_eq!(app.agent().status(answered).await, "active");
        app.advance(630).await;
        assert_eq!(app.agent().status(silent).await, "suspended_awaiting_input");
        app.advance(1).await;
        assert_eq!(app.agent().suspension(&id).await["response"], json!("approve"));
    }

    /// Each jump of the clock counts as an absence of its own, and the time of each is given back once.
    async fn each_step_is_given_back_once(app: &mut TestApp) {
        let (intent, id) = app.ask(permissive()).await;
        for _ in 0..2 {
            app.clock.set_by(TimeDelta::seconds(120));
            app.settle().await;
            app.advance(30).await;
            app.advance(10).await;
        }
        // 08:10 + 2 min 30 s; the last sign of life before the second step was left at 08:02:40.
        let both = [("08:10:00".into(), "08:12:30".into()), ("08:12:30".into(), "08:15:00".into())];
        assert_eq!(extensions(app, intent).await, both);
        assert_eq!(app.operator().respond(intent, &id, "deny").await.status, 200);
    }

    /// If a server stops while it waits after a jump of its clock, the next server still finds the jump and gives its time back.
    async fn a_step_outlives_the_server_that_saw_it(app: &mut TestApp) {
        let (intent, id) = app.ask(permissive()).await;
        app.clock.set_by(TimeDelta::seconds(3600));
        app.settle().await;
        app.restart().await;
        app.settle().await;
        assert_eq!(extensions(app, intent).await, [("08:10:00".into(), "09:10:00".into())]);
        app.advance(30).await;
        assert_eq!(extensions(app, intent).await.len(), 1);
        assert_eq!(app.operator().respond(intent, &id, "deny").await.status, 200);
    }

    /// A page that is told of an end locks itself for good, so a wrong clock must not report one.
    async fn a_question_whose_deadline_waits_is_shown_as_open(app: &mut TestApp) {
        let (intent, id) = app.ask(permissive()).await;
        let link = app.next_link().await;
        let state = format!("{link}/state");
        let told = async |app: &TestApp| serde_json::from_str::<Value>(&app.person().open(&state).await.html).unwrap();
        app.clock.set_by(TimeDelta::seconds(3600));
        let held = told(app).await;
        assert_eq!((&held["ended"], &held["left_ms"]), (&Value::Null, &json!(0)));
        let mut person = app.person();
        let page = person.open(&link).await;
        assert!(page.has_form(), "{}", page.html);
        let answer = [("nonce", &*page.nonce()), ("value", "deny")];
        let early = person.post(&link, &answer).await;
        assert_eq!((early.status, early.has_form()), (503, true), "{}", early.html);

        app.clock.set_by(TimeDelta::seconds(-3600));
        assert_eq!(told(app).await, json!({"ended": null, "left_ms": 600_000, "deadline": held["deadline"]}));
        assert_eq!(person.post(&link, &answer).await.status, 303);
        assert_eq!(told(app).await["ended"], "answered");
        assert_eq!(app.agent().suspension(&id).await["response"], json!("deny"));
        assert!(!app.agent().event_types(intent).await.contains(&"intent.late_answer".to_owned()));

        // After an outage, the page must not report an end either while the lost time is still to be given back.
        app.settle().await; // The clock is read, and the wait begins anew.
        app.advance(30).await;
        app.ask(permissive()).await;
        let link = app.next_link().await;
        app.outage_until_served(601).await;
        assert!(app.person().open(&link).await.has_form());
        app.settle().await;
        assert!(app.person().open(&link).await.has_form());
        app.advance(600).await;
        assert_eq!(app.person().open(&link).await.heading(), "The deadline has passed");
    }

    /// While the clock is wrong it is unknown whether a mail left in time, so its sending is recorded when the clock is trusted
    /// again. If it were recorded as too late, the question would never count as reached, and would end without its fallback.
    async fn what_was_sent_while_the_clock_jumped_is_recorded_when_it_is_believed_again(app: &mut TestApp) {
        let (_, id) = app.agent().ask(permissive()).await;
        let channel = Jumping::new(app, Ok("250 taken"));
        let worker = app.worker(channel.clone());
        worker.run_due().await.unwrap();
        assert_eq!(app.agent().suspension(&id).await["reached"], json!(false), "nothing is said of it yet");
        app.clock.set_by(TimeDelta::seconds(-3600));
        app.clock.jump(TimeDelta::seconds(200)); // Longer than a lease.
        worker.run_due().await.unwrap();
        assert_eq!((channel.calls(), &app.agent().suspension(&id).await["reached"]), (1, &json!(true)));
        app.settle().await;
        assert!(app.smtp.received().is_empty(), "nobody sends it a second time");
        app.advance(400).await; // The loop has not turned for ten minutes, so they are given back.
        app.advance(600).await;
        assert_eq!(app.agent().suspension(&id).await["response"], json!("approve"));
    }

    /// When the only mail is refused for good, the people of the next step of the escalation ladder are asked at once. If the
    /// refusal were recorded by the wrong clock, it would seem too late for that, and they would be asked at their own time or
    /// never.
    async fn what_failed_while_the_clock_jumped_wakes_the_next_rung_when_it_is_believed_again(app: &mut TestApp) {
        let policy = json!({"max_attempts": 2, "interval_seconds": 600, "escalation_ladder": [{"attempt": 2, "notify_to": "lead@example.com"}]});
        let (_, id) = app.agent().ask(json!({"timeout_seconds": 600, "retry_policy": policy})).await;
        let refused = DeliveryError::Permanent { reason: "550 no such mailbox".to_owned() };
        let worker = app.worker(Jumping::new(app, Err(refused)));
        worker.run_due().await.unwrap();
        app.clock.set_by(TimeDelta::seconds(-3600));
        app.clock.jump(TimeDelta::seconds(1));
        worker.run_due().await.unwrap();
        app.advance(30).await;
        assert_eq!(app.smtp.received().len(), 1, "{}", app.agent().suspension(&id).await);
        assert_eq!(app.smtp.next_mail().await.to, ["lead@example.com"]);
    }

    /// A try that failed while the clock was ahead is due by the right clock, and not an hour later.
    async fn another_try_is_due_by_a_clock_that_is_believed(app: &mut TestApp) {
        app.agent().ask(json!({"timeout_seconds": 86_400})).await;
        let busy = DeliveryError::Retry { reason: "451 come back later".to_owned(), after: Some(Duration::from_secs(20)) };
        let worker = app.worker(Jumping::new(app, Err(busy)));
        worker.run_due().await.unwrap();
        app.clock.set_by(TimeDelta::seconds(-3600));
        app.settle().await; // The clock is read, and the wait begins anew.
        app.clock.jump(TimeDelta::seconds(30));
        worker.run_due().await.unwrap();
        app.advance(19).await;
        assert!(app.smtp.received().is_empty());
        app.advance(1).await;
        assert_eq!(app.smtp.received().len(), 1);
    }

    /// A clock that is set right again has done no harm.
    async fn a_jump_that_is_taken_back_changes_nothing(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.suspend(intent, permissive()).await.ok()["id"].as_str().unwrap().to_owned();
        app.clock.set_by(TimeDelta::days(365));
        app.settle().await;
        assert!(app.smtp.received().is_empty(), "no message is dropped or sent by a wrong clock");
        app.clock.set_by(TimeDelta::days(-365));
        app.settle().await;
        app.advance(29).await;
        assert!(app.smtp.received().is_empty(), "the wait began anew");
        app.advance(1).await;
        assert_eq!(app.smtp.received().len(), 1);
        assert_eq!(agent.suspension(&id).await["expires_at"], json!("2026-11-24T08:10:00.000000Z"));
        assert_eq!(operator.respond(intent, &id, "deny").await.status, 200);
        assert!(!agent.event_types(intent).await.contains(&"intent.late_answer".to_owned()));
    }

    /// A jump of a minute is too short to be noticed. Daylight saving time is no jump, because the clock is UTC, and neither is a
    /// night in which a laptop sleeps, because that time has really passed. Deadlines are not held back by any of these.
    async fn a_minute_ahead_and_a_night_asleep_hold_nothing(app: &mut TestApp) {
        let agent = app.agent();
        let first = agent.active_intent().await;
        agent.suspend(first, permissive()).await.ok();
        app.settle().await;
        app.clock.jump(TimeDelta::seconds(540));
        app.clock.set_by(TimeDelta::seconds(60));
        app.settle().await;
        assert_eq!(agent.status(first).await, "active", "540 and 60 seconds");
        let second = agent.active_intent().await;
        agent.suspend(second, permissive()).await.ok();
        app.settle().await;
        app.advance(28_800).await;
        assert_eq!(agent.status(second).await, "active");
    }

    /// One event that was written while the clock was ahead must not make deadlines take effect early: not for an answer, not for
    /// a mail.
    async fn an_event_from_a_clock_that_was_ahead_ends_no_question_early(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (answered, silent) = (agent.active_intent().await, agent.active_intent().await);
        let id = agent.suspend(answered, permissive()).await.ok()["id"].as_str().unwrap().to_owned();
        let unanswered = agent.suspend(silent, permissive()).await.ok()["id"].as_str().unwrap().to_owned();
        app.clock.set_by(TimeDelta::seconds(3600));
        for intent in [answered, silent] {
            let note = json!({"event_type": "comment", "payload": {}});
            agent.post(&format!("api/v1/intents/{intent}/events"), note).await.ok();
        }
        app.clock.set_by(TimeDelta::seconds(-3600));
        app.settle().await;
        app.advance(30).await; // The clock is trusted again, and the mails leave.
        assert_eq!(operator.respond(answered, &id, "deny").await.status, 200);
        let times = agent.events(answered).await.iter().map(|event| event["created_at"].to_string()).collect::<Vec<_>>();
        assert!(times.is_sorted(), "the log's times never run backwards: {times:?}");
        let asked_again = agent.suspend(answered, permissive()).await.ok();
        assert_eq!(asked_again["expires_at"], json!("2026-11-24T08:10:30.000000Z"));
        app.settle().await;
        assert_eq!(app.smtp.received().len(), 3, "a message about a question leaves when it is asked");
        app.advance(570).await;
        let fallen_back = agent.suspension(&unanswered).await;
        assert_eq!((&fallen_back["reached"], &fallen_back["response"]), (&json!(true), &json!("approve")));
    }

    /// A clock that is corrected while a deadline is applied must not leave a question that never ends.
    async fn a_clock_set_back_in_the_middle_of_a_deadline_loses_none(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.suspend(intent, permissive()).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        app.clock.jump(TimeDelta::seconds(600));
        app.clock.set_back_after_a_look(TimeDelta::seconds(1));
        assert_eq!(app.store().fire_deadlines().await.unwrap().rows, 1);
        assert_eq!(agent.suspension(&id).await["response"], json!("approve"));
    }

    /// After a clock was set back no person is reminded twice; a reminder that is due then goes out once.
    async fn a_jump_back_fires_nothing_twice(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let policy = json!({"retry_policy": {"max_attempts": 3, "interval_seconds": 600}, "timeout_seconds": 600});
        agent.suspend(intent, policy).await.ok();
        app.settle().await;
        app.advance(600).await;
        assert_eq!(app.smtp.received().len(), 2);
        app.clock.set_by(TimeDelta::seconds(-550));
        app.settle().await;
        assert!(!held_by_clock(app).await);
        app.advance(550).await;
        assert_eq!(app.smtp.received().len(), 2, "the second attempt's time comes again, the attempt does not");
        app.advance(600).await;
        assert_eq!(app.smtp.received().len(), 3);
        app.advance(600).await;
        assert_eq!(agent.status(intent).await, "abandoned");
        assert!(app.smtp.received().iter().all(|mail| mail.to == [OPERATOR]));
    }
}

/// Servers that share a database share its clock, and each of them sees it jump. One of them gives the skipped time back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_servers_one_gives_a_step_back() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let replica = app.replica().await;
    let mut asked = Vec::new();
    for _ in 0..5 {
        asked.push(app.ask(permissive()).await);
    }
    let both = async || {
        let (one, other) = (app.deadlines(), replica.deadlines.clone());
        let turns = tokio::join!(one.run_due(), other.run_due());
        (turns.0.unwrap(), turns.1.unwrap())
    };
    both().await;
    app.clock.set_by(TimeDelta::seconds(3600));
    both().await;
    app.clock.jump(TimeDelta::seconds(30));
    for _ in 0..3 {
        both().await;
        app.clock.jump(TimeDelta::seconds(10));
    }
    for (intent, id) in &asked {
        assert_eq!(extensions(&app, *intent).await, [("08:10:00".into(), "09:10:30".into())]);
        assert_eq!(replica.api(&app.operator()).respond(*intent, id, "deny").await.status, 200);
    }
    replica.stop().await;
    app.finish().await;
}
