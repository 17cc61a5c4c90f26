//! Reminding people on request: who may do it, how often, and that nothing else changes.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::{OPERATOR, TestApp};
use harness::on_each_store;
use harness::smtp::{Fault, Received};
use serde_json::{Value, json};

/// The least number of seconds between two reminders.
const PAUSE: i64 = 300;

async fn remind(api: &Api, id: &str) -> Reply {
    api.post(&format!("api/v1/suspensions/{id}/remind"), json!({})).await
}

async fn mails(app: &TestApp) -> Vec<Received> {
    app.settle().await;
    let mut mails = Vec::new();
    while app.smtp.has_unread() {
        mails.push(app.smtp.next_mail().await);
    }
    mails.sort_by(|one, other| one.to.cmp(&other.to));
    mails
}

async fn people(app: &TestApp) -> Vec<String> {
    mails(app).await.into_iter().flat_map(|mail| mail.to).collect()
}

async fn asked(app: &TestApp, change: Value) -> (IntentId, String) {
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let id = agent.suspend(intent, change).await.ok()["id"].as_str().unwrap().to_owned();
    (intent, id)
}

on_each_store! {
    /// A reminder sends the same question to the same person in the same thread, marked as a reminder. Nothing else changes.
    async fn a_reminder_on_request_is_one_and_changes_nothing_else(app: &mut TestApp) {
        let policy = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 3600}});
        let (intent, id) = asked(app, policy).await;
        let first = mails(app).await.remove(0);
        app.advance(600).await;
        let before = app.agent().suspension(&id).await;
        let reply = remind(&app.operator(), &id).await;
        assert_eq!(reply.headers["etag"], "\"1\"");
        assert_eq!(reply.ok(), app.agent().suspension(&id).await);
        let reminder = mails(app).await.remove(0);
        assert_eq!(app.agent().suspension(&id).await, before);
        assert_eq!(reminder.to, [OPERATOR]);
        assert_eq!(reminder.subject(), format!("Re: {}", first.subject()));
        assert_eq!(reminder.header("in-reply-to"), first.header("message-id"));
        assert_ne!(reminder.header("message-id"), first.header("message-id"));
        let text = reminder.text();
        assert!(text.starts_with("Reminder, sent by request. The question is still open: 1 h 50 min left."), "{text}");
        assert!(reminder.html().contains("Reminder, sent by request"));
        assert!(!first.text().contains("Reminder,"), "{}", first.text());

        let events = app.agent().events(intent).await;
        let event = events.iter().find(|event| event["event_type"] == "intent.suspension_reminded").unwrap();
        let expected = json!({"suspension_id": id, "attempt": 1, "notify_to": [OPERATOR], "reminded_by": "test-operator"});
        let mut payload = event["payload"].clone();
        assert_eq!(payload.as_object_mut().unwrap().remove("credential").unwrap()["kind"], "api_key");
        assert_eq!((&payload, &event["actor"]), (&expected, &json!("test-operator")));

        // The next attempt comes at its own time, and the reminder does not count as an attempt.
        app.advance(2999).await;
        assert_eq!(people(app).await, Vec::<String>::new());
        app.advance(1).await;
        let second = mails(app).await.remove(0);
        assert!(second.text().starts_with("Reminder, message 2 of 2."), "{}", second.text());
        assert_eq!(second.header("in-reply-to"), first.header("message-id"));
        // Each of the three links works.
        let page = app.person().answer(&reminder.link(&app.base), "approve").await;
        assert_eq!(page.status, 200);
        assert_eq!(app.agent().suspension(&id).await["response"], json!("approve"));
    }

    /// Too many reminders make people stop reading, so each question allows one in five minutes, even across a restart.
    async fn reminders_keep_their_distance(app: &mut TestApp) {
        let (_, id) = asked(app, json!({})).await;
        let (_, elsewhere) = asked(app, json!({})).await;
        app.settle().await;
        remind(&app.operator(), &id).await.ok();
        let refused = remind(&app.api(Role::Admin), &id).await;
        assert_eq!(refused.problem(), (429, "rate_limited"));
        assert_eq!(refused.headers["retry-after"], PAUSE.to_string().as_str());
        assert_eq!(refused.headers["content-type"], "application/problem+json");
        // Each question has its own pause.
        remind(&app.operator(), &elsewhere).await.ok();
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(PAUSE) - chrono::TimeDelta::microseconds(1));
        app.restart().await;
        let refused = remind(&app.operator(), &id).await;
        assert_eq!((refused.problem(), refused.headers["retry-after"].to_str().unwrap()), ((429, "rate_limited"), "1"));
        app.clock.jump(chrono::TimeDelta::microseconds(1));
        remind(&app.operator(), &id).await.ok();
        let mails = mails(app).await;
        assert_eq!(mails.len(), 2 + 3, "two questions and three reminders");
    }

    /// A clock that was ahead for a while must not forbid reminders for that long.
    async fn a_clock_that_is_set_back_forbids_no_reminder(app: &mut TestApp) {
        let ahead = chrono::TimeDelta::seconds(3600);
        let (intent, id) = asked(app, json!({"timeout_seconds": 86_400})).await;
        app.clock.set_by(ahead);
        let note = json!({"event_type": "comment", "payload": {}});
        app.agent().post(&format!("api/v1/intents/{intent}/events"), note).await.ok();
        app.clock.set_by(-ahead);
        // The newest event is dated ahead. The reminder's event gets the same date, but the reminder is sent now.
        remind(&app.operator(), &id).await.ok();
        assert_eq!(remind(&app.operator(), &id).await.headers["retry-after"], PAUSE.to_string().as_str());
        app.advance(PAUSE).await;
        remind(&app.operator(), &id).await.ok();
        app.settle().await;

        // The last reminder was requested while the clock was ahead.
        app.advance(PAUSE).await;
        app.clock.set_by(ahead);
        remind(&app.operator(), &id).await.ok();
        app.clock.set_by(-ahead);
        remind(&app.operator(), &id).await.ok();
        assert_eq!(remind(&app.operator(), &id).await.problem(), (429, "rate_limited"));
        app.settle().await;
        app.advance(30).await; // The server trusts the clock again and sends the waiting messages.
    }

    /// A reminder goes to the people who are asked now, not to those who were asked before them.
    async fn a_reminder_goes_to_who_is_in_force(app: &mut TestApp) {
        let ladder = json!({"notify_to": ["alice@example.com", "bob@example.com"], "retry_policy": {
            "max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": [{"attempt": 2, "notify_to": "lead@example.com"}],
        }});
        let (_, id) = asked(app, ladder).await;
        app.settle().await;
        people(app).await;
        remind(&app.operator(), &id).await.ok();
        assert_eq!(people(app).await, ["alice@example.com", "bob@example.com"]);
        app.advance(3600).await;
        let escalated = mails(app).await.remove(0);
        assert!(escalated.subject().starts_with("[Placet] Escalated: "), "{}", escalated.subject());
        remind(&app.operator(), &id).await.ok();
        let reminder = mails(app).await.remove(0);
        assert_eq!(reminder.to, ["lead@example.com"]);
        assert_eq!(reminder.header("in-reply-to"), escalated.header("message-id"));
    }

    /// A message that waits for its next try is sent at once in place of a reminder, so that no person gets both.
    async fn a_message_on_its_way_is_not_doubled(app: &mut TestApp) {
        app.smtp.script(Fault::Defer);
        let (intent, id) = asked(app, json!({"notify_to": ["alice@example.com", "bob@example.com"]})).await;
        app.settle().await;
        assert_eq!(people(app).await.len(), 1, "the other one waits for a later try");
        remind(&app.operator(), &id).await.ok();
        let mails = mails(app).await;
        assert_eq!(mails.iter().map(|mail| mail.to[0].as_str()).collect::<Vec<_>>(), ["alice@example.com", "bob@example.com"]);
        let reminders = mails.iter().filter(|mail| mail.text().starts_with("Reminder, sent by request")).count();
        assert_eq!(reminders, 1, "the other one is told for the first time");
        assert!(mails.iter().all(|mail| !mail.text().contains("Asked before you")));
        app.advance(300).await;
        assert_eq!(people(app).await, Vec::<String>::new());
        let sent = app.agent().event_types(intent).await.into_iter().filter(|event| event == "delivery.sent").count();
        assert_eq!(sent, 3);
    }

    /// The asker may not remind, since it sets reminders in its policy. Another key may, and the log names it.
    async fn the_asker_does_not_remind(app: &mut TestApp) {
        let (intent, id) = asked(app, json!({})).await;
        app.settle().await;
        let before = app.agent().everything(intent).await;
        for (role, expected) in [(Role::Agent, 403), (Role::Auditor, 403), (Role::Channel, 403)] {
            assert_eq!(remind(&app.api(role), &id).await.problem(), (expected, "forbidden"), "{role}");
        }
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        assert_eq!(remind(&stranger, &id).await.problem(), (404, "not_found"));
        assert_eq!(app.agent().everything(intent).await, before);
        remind(&app.api(Role::Admin), &id).await.ok();
    }

    /// There are no reminders for a question that has ended, or for one without recipients.
    async fn only_an_open_question_with_people_is_reminded_of(app: &mut TestApp) {
        let (intent, id) = asked(app, json!({})).await;
        app.settle().await;
        app.operator().respond(intent, &id, "approve").await.ok();
        assert_eq!(remind(&app.operator(), &id).await.problem(), (409, "already_resolved"));
        let (_, id) = asked(app, json!({})).await;
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600));
        assert_eq!(remind(&app.operator(), &id).await.problem(), (409, "expired"));
        app.settle().await;
        let mut nobody = TestApp::start_with(|config| config.asking.operators.clear()).await;
        let (_, id) = asked(&nobody, json!({})).await;
        let refused = remind(&nobody.operator(), &id).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "notify_to", "required"));
        // A refusal starts no pause.
        nobody.restart().await;
        assert_eq!(remind(&nobody.operator(), &id).await.status, 422);
        nobody.finish().await;
    }

    /// A repeat under the same key sends one reminder. A stale version sends none.
    async fn a_repeated_request_reminds_once(app: &mut TestApp) {
        let (_, id) = asked(app, json!({})).await;
        people(app).await;
        let path = format!("api/v1/suspensions/{id}/remind");
        assert_eq!(app.operator().post_at(&path, "2", json!({})).await.problem(), (409, "version_conflict"));
        let once = app.operator().post_once(&path, "now", json!({})).await.ok();
        let again = app.operator().post_once(&path, "now", json!({})).await.ok();
        assert_eq!(once, again);
        assert_eq!(people(app).await, [OPERATOR]);
    }
}
