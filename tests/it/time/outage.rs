//! An outage of the server must not become consent: which questions get time back, and which do not.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use harness::app::{OPERATOR, TestApp};
use harness::on_each_store;
use harness::smtp::Received;
use serde_json::{Value, json};

/// A question with a deadline after which no answer means approval.
fn permissive(timeout_seconds: u32) -> Value {
    json!({"timeout_seconds": timeout_seconds, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"})
}

/// A question with three attempts an hour apart, of which two are escalations, and a denial if no answer comes.
fn ladder() -> Value {
    json!({
        "retry_policy": {
            "max_attempts": 3, "interval_seconds": 3600, "final_fallback_policy": "complete_with_fallback",
            "escalation_ladder": [
                {"attempt": 2, "notify_to": "lead@example.com"}, {"attempt": 3, "notify_to": ["duty@example.com", OPERATOR]},
            ],
        },
        "timeout_seconds": 3600, "fallback_value": "deny",
    })
}

async fn expires_at(app: &TestApp, id: &str) -> String {
    app.agent().suspension(id).await["expires_at"].as_str().unwrap().to_owned()
}

/// The old and the new deadline of each extension.
pub(crate) async fn extensions(app: &TestApp, intent: domain::base::ids::IntentId) -> Vec<(String, String)> {
    let events = app.agent().events(intent).await;
    let extended = events.iter().filter(|event| event["event_type"] == "intent.suspension_extended");
    let time = |event: &Value, name: &str| event["payload"][name].as_str().unwrap()[11..19].to_owned();
    extended.map(|event| (time(event, "old_expires_at"), time(event, "new_expires_at"))).collect()
}

/// The mails since the last call, ordered by address.
async fn mails(app: &TestApp) -> Vec<Received> {
    let mut mails = Vec::new();
    while app.smtp.has_unread() {
        mails.push(app.smtp.next_mail().await);
    }
    mails.sort_by_key(|mail| mail.to.clone());
    mails
}

async fn mailed(app: &TestApp) -> Vec<String> {
    mails(app).await.into_iter().flat_map(|mail| mail.to).collect()
}

on_each_store! {
    /// No person could answer while the server was away. If the fallback still applied, an outage would be a way to get approval.
    async fn an_outage_gives_a_question_with_a_fallback_time_back_once(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = app.agent().ask(permissive(3600)).await;
        app.settle().await;
        let link = app.next_link().await;
        app.advance(3000).await;
        app.outage(1800).await; // The deadline passes during the outage.

        // The new deadline is max(09:00, 09:20) + min(30 min, 1 h).
        let record = agent.suspension(&id).await;
        assert_eq!((&record["expires_at"], &record["version"]), (&json!("2026-11-24T09:50:00.000000Z"), &json!(2)));
        let events = agent.events(intent).await;
        let extended = &events.last().unwrap()["payload"];
        assert_eq!((&extended["cause"], &extended["suspension_id"]), (&json!("outage"), &json!(id)));
        for _ in 0..3 {
            app.restart().await; // Time is given back once per outage, however often the server starts.
            app.settle().await;
        }
        assert_eq!(extensions(app, intent).await, [("09:00:00".into(), "09:50:00".into())]);
        let page = app.person().open(&link).await;
        assert!(page.html.contains("09:50"), "the page shows the new deadline: {}", page.html);
        app.advance(1799).await;
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        assert_eq!(operator.respond(intent, &id, "deny").await.status, 200);
    }

    /// If no answer comes after the outage either, the fallback applies once, at the new deadline.
    async fn the_fallback_comes_at_the_later_deadline(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(permissive(600)).await;
        app.settle().await;
        app.outage(7200).await;
        assert_eq!(expires_at(app, &id).await, "2026-11-24T10:10:00.000000Z", "at most a window is given back");
        app.restart().await;
        app.advance(599).await;
        assert_eq!(app.agent().status(intent).await, "suspended_awaiting_input");
        app.restart().await;
        app.advance(1).await;
        assert_eq!(app.agent().suspension(&id).await["response"], json!("approve"));
        let types = app.agent().event_types(intent).await;
        assert_eq!(types.iter().filter(|name| *name == "intent.suspension_expired").count(), 1, "{types:?}");
    }

    /// An absence of up to a minute, like a restart or an upgrade, moves no deadline. After a longer one, the deadlines of
    /// questions with a fallback move.
    async fn a_minute_is_no_outage(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(permissive(3600)).await;
        app.settle().await;
        app.outage(60).await;
        assert_eq!(extensions(app, intent).await, []);
        app.outage(61).await;
        assert_eq!(expires_at(app, &id).await, "2026-11-24T09:01:01.000000Z");
        app.outage(120).await; // Each outage gives back its own time.
        assert_eq!(expires_at(app, &id).await, "2026-11-24T09:03:01.000000Z");
        assert_eq!(extensions(app, intent).await.len(), 2);
    }

    /// A question that fails without an answer keeps its deadline: it cannot become consent, and agents rely on the time of its
    /// end.
    async fn a_question_that_fails_keeps_its_deadline(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(json!({"timeout_seconds": 600})).await;
        let (open, _) = app.agent().ask(json!({"timeout_seconds": null})).await;
        app.settle().await;
        app.outage(3600).await;
        app.settle().await;
        assert_eq!(extensions(app, intent).await, []);
        assert_eq!(extensions(app, open).await, []);
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!("expired"));
        assert_eq!(app.agent().status(intent).await, "abandoned");
    }

    /// A deadline that passed before the outage stands, because people had all their time.
    async fn a_deadline_before_the_outage_stands(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(permissive(600)).await;
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(600)); // The deadline is due, but no worker runs here.
        app.outage(3600).await;
        app.settle().await;
        assert_eq!(extensions(app, intent).await, []);
        assert_eq!(app.agent().suspension(&id).await["response"], json!("approve"));
    }

    /// A deadline one second after the outage began gets a whole attempt's time back, because people still had that second.
    async fn a_deadline_a_moment_after_the_outage_began_moves_by_one_attempt(app: &mut TestApp) {
        let change = json!({
            "retry_policy": {"max_attempts": 3, "interval_seconds": 600, "final_fallback_policy": "complete_with_fallback"},
            "timeout_seconds": 3600, "fallback_value": "approve",
        });
        let (intent, id) = app.agent().ask(change).await;
        app.settle().await;
        app.advance(600).await;
        app.advance(600).await;
        app.advance(599).await;
        app.outage(7200).await;
        // The new deadline is the end of the absence (10:29:59), because the old deadline (08:30) is earlier, plus the interval
        // (10 min), because the absence (2 h) is longer. The timeout does not count.
        assert_eq!(extensions(app, intent).await, [("08:30:00".into(), "10:39:59".into())]);
        assert_eq!(app.operator().respond(intent, &id, "deny").await.status, 200);
    }

    /// A clock that was set back while the server was stopped shows no outage and does not hide a later one.
    async fn a_clock_set_back_across_a_restart_changes_nothing(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(permissive(3600)).await;
        app.settle().await;
        app.outage(-7200).await;
        app.settle().await;
        assert_eq!(extensions(app, intent).await, []);
        assert_eq!(expires_at(app, &id).await, "2026-11-24T09:00:00.000000Z");
        app.outage(120).await;
        assert_eq!(extensions(app, intent).await, [("09:00:00".into(), "09:02:00".into())]);
        assert_eq!(app.operator().respond(intent, &id, "deny").await.status, 200);
    }

    /// If the server crashes while it gives lost time back, each question still gets its time exactly once. Until then no answer
    /// may end a question that waits for its time.
    async fn a_crash_while_time_is_given_back_gives_it_once_to_everybody(app: &mut TestApp) {
        let mut asked = Vec::new();
        for _ in 0..130 {
            asked.push(app.agent().ask(permissive(600)).await);
        }
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600)); // No worker runs here, so no sign of life is written.
        assert!(!app.store().recover().await.unwrap().done, "the absence is recorded");
        let (intent, id) = &asked[129];
        let refused = app.operator().respond(*intent, id, "approve").await;
        assert_eq!((refused.status, refused.headers.contains_key("retry-after")), (503, true), "{}", refused.text);
        assert_eq!(app.anonymous().get("readyz").await.status, 503);
        assert!(!app.store().recover().await.unwrap().done, "the first batch is done");
        assert_eq!(expires_at(app, &asked[63].1).await, "2026-11-24T09:10:00.000000Z");
        assert_eq!(expires_at(app, &asked[64].1).await, "2026-11-24T08:10:00.000000Z", "batches are bounded");
        app.restart().await;
        app.restart().await;
        app.settle().await;
        for (intent, id) in &asked {
            assert_eq!(expires_at(app, id).await, "2026-11-24T09:10:00.000000Z");
            assert_eq!(extensions(app, *intent).await.len(), 1);
        }
        assert_eq!(app.operator().respond(*intent, id, "approve").await.status, 200);
    }

    /// The clock showed a wrong end of the absence and is set right before the time is given back. Each question gets an
    /// attempt's time back, and the clock's error is not added.
    async fn a_clock_set_back_before_time_is_given_back_adds_nothing_to_it(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(permissive(600)).await;
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600)); // No worker runs here, so no sign of life is written.
        assert!(!app.store().recover().await.unwrap().done, "the absence is recorded");
        app.clock.set_by(chrono::TimeDelta::seconds(-1800));
        app.settle().await;
        // The absence was recorded to end at 09:00, but the clock now shows 08:30, so time is given back from 08:30 on. The new
        // deadline is the later one of the old deadline (08:10) and 08:30, plus the shorter one of the absence (1 h) and the
        // question's timeout (10 min).
        assert_eq!(extensions(app, intent).await, [("08:10:00".into(), "08:40:00".into())]);
        assert_eq!(app.operator().respond(intent, &id, "deny").await.status, 200);
    }

    /// A server that starts every forty seconds and dies before its first turn counts as absent.
    async fn a_start_is_no_sign_of_life(app: &mut TestApp) {
        let (intent, _) = app.agent().ask(permissive(3600)).await;
        app.settle().await;
        for is_absence in [false, true] {
            app.clock.jump(chrono::TimeDelta::seconds(40));
            assert_eq!(app.store().recover().await.unwrap().done, !is_absence);
        }
        app.settle().await;
        assert_eq!(extensions(app, intent).await, [("09:00:00".into(), "09:01:20".into())]);
    }

    /// With a million questions it takes minutes to give the time back. The server must serve meanwhile, or the outage would last
    /// longer.
    async fn a_server_serves_while_it_gives_time_back(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(permissive(600)).await;
        let (answered, in_time) = app.agent().ask(permissive(7200)).await;
        app.settle().await;
        app.outage_until_served(3600).await;
        let operator = app.operator();
        assert_eq!(app.anonymous().get("healthz").await.status, 200);
        let ready = app.anonymous().get("readyz").await;
        assert!(ready.status == 503 && ready.text.contains("the server was away"), "{}", ready.text);
        assert_eq!(extensions(app, intent).await, []);
        assert_eq!(operator.respond(intent, &id, "deny").await.status, 503, "whether it is late is not known yet");
        assert_eq!(operator.respond(answered, &in_time, "deny").await.status, 200);
        app.settle().await;
        assert_eq!(extensions(app, intent).await, [("08:10:00".into(), "09:10:00".into())]);
        assert_eq!(app.anonymous().get("readyz").await.status, 200);
        assert_eq!(operator.respond(intent, &id, "deny").await.status, 200);
    }

    /// Missed attempts are made up with one message to each recipient, and the message states the new deadline.
    async fn a_ladder_goes_on_after_an_outage_with_one_message_each(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(ladder()).await;
        app.settle().await;
        assert_eq!(mailed(app).await, [OPERATOR]);
        app.outage(7260).await; // Both attempts come due during the outage.
        app.restart().await;
        app.settle().await;
        let caught_up = mails(app).await;
        let people: Vec<&str> = caught_up.iter().map(|mail| mail.to[0].as_str()).collect();
        assert_eq!(people, ["duty@example.com", "lead@example.com", OPERATOR]);
        // The new deadline is max(11:00, 10:01) + min(2 h 1 min, 1 h).
        assert_eq!(expires_at(app, &id).await, "2026-11-24T12:00:00.000000Z");
        for mail in &caught_up {
            assert!(mail.text().contains("12:00"), "{}", mail.text());
        }
        app.restart().await;
        app.settle().await;
        assert_eq!(mailed(app).await, [""; 0], "nobody is told twice");
        app.advance(7139).await;
        assert_eq!(app.agent().status(intent).await, "suspended_awaiting_input");
        app.restart().await;
        app.advance(1).await;
        assert_eq!(app.agent().suspension(&id).await["response"], json!("deny"));
    }

    /// A sleeping machine, a stopped process and a full disk are absences too, because no person could answer.
    async fn a_server_that_slept_was_away_as_well(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(permissive(600)).await;
        app.store().attend();
        app.settle().await;
        app.advance(60).await;
        assert_eq!(extensions(app, intent).await, [], "a minute is none");
        app.advance(3600).await;
        // The new deadline is max(08:10, 09:01) + min(1 h, 10 min).
        assert_eq!(expires_at(app, &id).await, "2026-11-24T09:11:00.000000Z");
        for _ in 0..10 {
            assert_eq!(app.agent().status(intent).await, "suspended_awaiting_input");
            app.advance(60).await;
        }
        assert_eq!(app.agent().suspension(&id).await["response"], json!("approve"));
        assert_eq!(extensions(app, intent).await.len(), 1);
    }

    /// The first write after the machine slept must not find a passed deadline, because no person could answer meanwhile.
    async fn nothing_comes_too_late_because_the_server_slept(app: &mut TestApp) {
        let operator = app.operator();
        let mut asked = Vec::new();
        for _ in 0..3 {
            asked.push(app.agent().ask(permissive(600)).await);
        }
        app.store().attend();
        app.settle().await;
        let delivered = app.smtp.received().len();
        app.clock.jump(chrono::TimeDelta::seconds(3600));
        let late = operator.respond(asked[0].0, &asked[0].1, "deny").await;
        assert_eq!((late.status, late.headers.contains_key("retry-after")), (503, true), "{}", late.text);
        let withdrawn = app.agent().post(&format!("api/v1/suspensions/{}/cancel", asked[1].1), json!({})).await;
        assert_eq!(withdrawn.status, 503, "{}", withdrawn.text);
        assert_eq!(app.anonymous().get("readyz").await.status, 503);
        app.settle().await;
        assert_eq!(app.smtp.received().len(), delivered);
        for (intent, id) in &asked {
            // The new deadline is max(08:10, 09:00) + min(1 h, 10 min).
            assert_eq!(extensions(app, *intent).await, [("08:10:00".into(), "09:10:00".into())]);
            assert!(!app.agent().event_types(*intent).await.contains(&"intent.late_answer".to_owned()));
            assert_eq!(operator.respond(*intent, id, "deny").await.status, 200);
        }
    }

    /// A server that is stopped right after it woke must not write a sign of life that hides the absence.
    async fn a_server_that_stops_as_it_wakes_hides_no_absence(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(permissive(600)).await;
        app.store().attend();
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600));
        app.restart().await;
        app.settle().await;
        assert_eq!(extensions(app, intent).await, [("08:10:00".into(), "09:10:00".into())]);
        assert_eq!(app.operator().respond(intent, &id, "deny").await.status, 200);
    }

    /// A server that wakes with a wrong clock waits for the clock, and the absence is still recorded.
    async fn an_absence_that_ends_with_a_clock_that_jumped_is_not_forgotten(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(permissive(600)).await;
        app.store().attend();
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(900));
        app.clock.set_by(chrono::TimeDelta::seconds(61));
        for _ in 0..3 {
            app.settle().await; // Each turn waits because of the clock.
            assert_eq!(extensions(app, intent).await, []);
            app.clock.jump(chrono::TimeDelta::seconds(10));
        }
        app.settle().await;
        // The new deadline is max(08:10:00, 08:16:31) + min(16 min 31 s, 10 min).
        assert_eq!(extensions(app, intent).await, [("08:10:00".into(), "08:26:31".into())]);
        assert_eq!(app.operator().respond(intent, &id, "deny").await.status, 200);
    }

    /// If the server sleeps while it gives time back for one absence, it gives time back for the second absence afterwards.
    async fn an_absence_within_the_making_good_for_another_is_made_good_for_as_well(app: &mut TestApp) {
        let mut asked = Vec::new();
        for _ in 0..65 {
            asked.push(app.agent().ask(permissive(600)).await);
        }
        app.store().attend();
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(300));
        assert_eq!(app.store().fire_deadlines().await.unwrap().rows, 1, "the absence is recorded");
        assert_eq!(app.store().fire_deadlines().await.unwrap().rows, 1, "the first batch is done");
        app.clock.jump(chrono::TimeDelta::seconds(3600));
        app.settle().await;
        for (intent, id) in &asked {
            // The deadlines are 08:10 + 5 min, and then max(08:15, 09:05) + min(1 h, 10 min).
            let both = [("08:10:00".into(), "08:15:00".into()), ("08:15:00".into(), "09:15:00".into())];
            assert_eq!(extensions(app, *intent).await, both);
            assert_eq!(app.operator().respond(*intent, id, "deny").await.status, 200);
        }
    }

    /// A waiting agent is told of the new deadline as of any change.
    async fn a_waiting_agent_learns_of_the_new_deadline(app: &mut TestApp) {
        let (_, id) = app.agent().ask(permissive(3600)).await;
        app.settle().await;
        app.outage(600).await;
        let changed = app.agent().get(&format!("api/v1/suspensions/{id}?wait=50&after_version=1")).await.ok();
        assert_eq!((&changed["version"], &changed["expires_at"]), (&json!(2), &json!("2026-11-24T09:10:00.000000Z")));
    }
}

/// The attempts in an intent's log: the number, the count of recipients, and whether the attempt was skipped.
async fn attempts(app: &TestApp, intent: domain::base::ids::IntentId) -> Vec<(u64, usize, bool)> {
    let events = app.agent().events(intent).await;
    let renotified = events.iter().filter(|event| event["event_type"] == "intent.suspension_renotified");
    let told = |event: &Value| {
        let payload = &event["payload"];
        (payload["attempt"].as_u64().unwrap(), payload["notify_to"].as_array().unwrap().len(), payload["skipped"] == json!(true))
    };
    renotified.map(told).collect()
}

on_each_store! {
    /// The server is restarted between any two steps of the ladder. Each step still comes at its time, and once.
    async fn a_ladder_keeps_its_instants_with_a_restart_between_any_two_steps(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(ladder()).await;
        app.restart().await;
        for (second, people) in [(0, 1), (3600, 1), (7200, 2)] {
            app.settle().await;
            assert_eq!(mailed(app).await.len(), people, "at {second}");
            app.restart().await;
            app.settle().await;
            app.clock.jump(chrono::TimeDelta::seconds(3599));
            app.restart().await;
            app.settle().await;
            assert_eq!(mailed(app).await, [""; 0], "a second early, {second}");
            app.restart().await;
            app.clock.jump(chrono::TimeDelta::seconds(1));
            app.restart().await;
        }
        app.settle().await;
        assert_eq!(attempts(app, intent).await, [(2, 1, false), (3, 2, false)]);
        let events = app.agent().events(intent).await;
        let at = |name: &str| -> Vec<&str> {
            events.iter().filter(|event| event["event_type"] == name).map(|event| event["created_at"].as_str().unwrap()).collect()
        };
        assert_eq!(at("intent.suspension_renotified"), ["2026-11-24T09:00:00.000000", "2026-11-24T10:00:00.000000"]);
        assert_eq!(at("intent.suspension_escalated"), at("intent.suspension_renotified"));
        assert_eq!(at("intent.suspension_expired"), ["2026-11-24T11:00:00.000000"]);
        assert_eq!(app.agent().suspension(&id).await["response"], json!("deny"));
    }
}
