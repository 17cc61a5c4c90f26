//! Repeated attempts, the steps of the escalation ladder, and the effect of an outage on them (RFC-0026 §4).

use harness::app::{OPERATOR, TestApp};
use harness::on_each_store;
use harness::smtp::{Fault, Received};
use serde_json::{Value, json};

/// Three attempts an hour apart. The second goes to the lead, the third to two other people.
fn ladder() -> Value {
    json!({
        "timeout_seconds": 3600,
        "retry_policy": {
            "max_attempts": 3, "interval_seconds": 3600, "final_fallback_policy": "complete_with_fallback",
            "escalation_ladder": [
                {"attempt": 2, "channel_hint": "email", "notify_to": "lead@example.com"},
                {"attempt": 3, "notify_to": ["duty@example.com", OPERATOR]},
            ],
        },
        "fallback_value": "deny",
    })
}

/// The mails since the last call.
async fn mails(app: &TestApp) -> Vec<Received> {
    let mut mails = Vec::new();
    while app.smtp.has_unread() {
        mails.push(app.smtp.next_mail().await);
    }
    mails
}

/// The recipients of the mails since the last call, ordered by address.
async fn mailed(app: &TestApp) -> Vec<String> {
    let mut people: Vec<String> = mails(app).await.into_iter().flat_map(|mail| mail.to).collect();
    people.sort();
    people
}

/// The contents of an attempt's event: its number, the people told, and whether it was skipped.
fn told(event: &Value) -> (u64, Vec<&str>, bool) {
    let payload = &event["payload"];
    let people = payload["notify_to"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    (payload["attempt"].as_u64().unwrap_or(0), people, payload["skipped"] == json!(true))
}

fn of_type<'a>(events: &'a [Value], event_type: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event_type"] == event_type).collect()
}

on_each_store! {
    /// After the agent has asked, the server alone carries out the whole ladder, across restarts.
    async fn a_ladder_plays_out_at_its_instants_through_restarts(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let asked = agent.suspend(intent, ladder()).await.ok();
        let id = asked["id"].as_str().unwrap().to_owned();
        app.settle().await;
        assert_eq!(mailed(app).await, [OPERATOR]);

        for (attempt, people) in [(2, vec!["lead@example.com"]), (3, vec!["duty@example.com", OPERATOR])] {
            app.restart().await; // No attempt may be in memory alone.
            app.advance(3599).await; // One second early, no mail is sent.
            assert_eq!(mailed(app).await, [""; 0]);
            app.restart().await;
            app.advance(1).await;
            assert_eq!(mailed(app).await, people);
            let record = agent.suspension(&id).await;
            assert_eq!((&record["attempt"], &record["id"]), (&json!(attempt), &json!(id)));
            assert_eq!(record["expires_at"], asked["expires_at"]);
        }
        app.restart().await;
        app.advance(3600).await;
        let ended = agent.suspension(&id).await;
        assert_eq!((&ended["resolution"], &ended["response"]), (&json!("expired"), &json!("deny")));
        let events = agent.events(intent).await;
        assert_eq!(
            agent.event_types(intent).await,
            [
                "intent_created", "intent.suspended", "status_changed", "delivery.sent",
                "intent.suspension_renotified", "intent.suspension_escalated", "delivery.sent",
                "intent.suspension_renotified", "intent.suspension_escalated", "delivery.sent", "delivery.sent",
                "intent.suspension_expired", "status_changed",
            ]
        );
        let renotified = of_type(&events, "intent.suspension_renotified");
        assert_eq!(told(renotified[0]), (2, vec!["lead@example.com"], false));
        assert_eq!(renotified[0]["payload"]["max_attempts"], json!(3));
        assert_eq!(renotified[0]["payload"]["channel_hint"], json!("email"));
        assert_eq!(renotified[0]["payload"]["next_attempt_at"], json!("2026-11-24T10:00:00.000000"));
        assert_eq!(renotified[1]["payload"]["next_attempt_at"], json!(null));
        let escalated = of_type(&events, "intent.suspension_escalated");
        assert_eq!(escalated[0]["payload"]["escalated_to"], json!(["lead@example.com"]));
        assert_eq!(of_type(&events, "intent.suspension_expired")[0]["payload"]["attempts"], json!(3));
    }

    /// A reminder is marked as one and leads to the same question, and the first link still answers it.
    async fn a_reminder_continues_the_first_mail_and_the_first_link_still_answers(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let policy = json!({"retry_policy": {"max_attempts": 3, "interval_seconds": 600}, "timeout_seconds": 600});
        let id = agent.suspend(intent, policy).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        let [first]: [Received; 1] = mails(app).await.try_into().ok().unwrap();
        assert!(first.text().contains("08:10  You get a reminder"), "{}", first.text());
        app.advance(600).await;
        let [second]: [Received; 1] = mails(app).await.try_into().ok().unwrap();
        assert_eq!(second.subject(), format!("Re: {}", first.subject()));
        assert_eq!(second.header("in-reply-to"), first.header("message-id"));
        assert_ne!(second.header("message-id"), first.header("message-id"));
        assert!(second.text().starts_with("Reminder, message 2 of 3."), "{}", second.text());
        assert_ne!(second.link(&app.base), first.link(&app.base));

        let page = app.person().answer(&first.link(&app.base), "approve").await;
        assert_eq!(page.heading(), "Your answer was recorded");
        assert_eq!(agent.suspension(&id).await["response"], json!("approve"));
        app.advance(600).await; // No reminder is sent after the answer.
        assert_eq!(mailed(app).await, [""; 0]);
        assert_eq!(of_type(&agent.events(intent).await, "intent.suspension_renotified").len(), 1);
    }

    /// The mail of an escalation says who was asked before and has not answered.
    async fn an_escalation_names_who_was_asked_before(app: &mut TestApp) {
        let agent = app.agent();
        agent.suspend(agent.active_intent().await, ladder()).await.ok();
        app.settle().await;
        mailed(app).await;
        app.advance(3600).await;
        let [mail]: [Received; 1] = mails(app).await.try_into().ok().unwrap();
        assert_eq!(mail.subject(), "[Placet] Escalated: Refund order 12345?");
        assert!(mail.text().contains("ops@example.com (no answer yet)"), "{}", mail.text());
        // The agent's ladder names her, so she is not told that she is an operator.
        assert!(mail.text().contains("Sent to lead@example.com because the agent asked for you."), "{}", mail.text());
    }

    /// An outage must not end in three mails within a second. The missed attempts are recorded, and one message goes to each
    /// person.
    async fn attempts_missed_in_an_outage_become_one_message_to_all_of_them(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        agent.suspend(intent, ladder()).await.ok();
        app.settle().await;
        mailed(app).await;
        app.clock.jump(chrono::TimeDelta::seconds(7200)); // No worker runs during this jump.
        app.restart().await;
        app.settle().await;
        assert_eq!(mailed(app).await, ["duty@example.com", "lead@example.com", OPERATOR]);
        let events = agent.events(intent).await;
        let renotified = of_type(&events, "intent.suspension_renotified");
        assert_eq!(
            renotified.into_iter().map(told).collect::<Vec<_>>(),
            [
                (2, vec!["lead@example.com"], true),
                (3, vec!["lead@example.com", "duty@example.com", OPERATOR], false),
            ]
        );
        assert_eq!(of_type(&events, "intent.suspension_escalated").len(), 2);
        app.advance(3600).await;
        assert_eq!(of_type(&agent.events(intent).await, "intent.suspension_expired").len(), 1);
    }

    /// After an outage longer than the question, no mail is sent, because the question has ended.
    async fn nobody_is_reminded_after_the_deadline(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let policy = json!({"retry_policy": {"max_attempts": 3, "interval_seconds": 600}, "timeout_seconds": 600});
        agent.suspend(intent, policy).await.ok();
        app.settle().await;
        mailed(app).await;
        app.clock.jump(chrono::TimeDelta::seconds(86_400));
        app.restart().await;
        app.settle().await;
        assert_eq!(mailed(app).await, [""; 0]);
        assert_eq!(agent.status(intent).await, "abandoned");
        assert!(of_type(&agent.events(intent).await, "intent.suspension_renotified").is_empty());
    }

    /// A message that cannot be sent is tried until the next attempt, and its failure is then recorded in the log.
    async fn a_message_is_tried_until_the_next_attempt(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let policy = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 60}, "timeout_seconds": 60});
        agent.suspend(intent, policy).await.ok();
        for _ in 0..2 {
            app.smtp.script(Fault::Defer);
        }
        app.settle().await;
        app.advance(60).await;
        let events = agent.events(intent).await;
        let failed = of_type(&events, "delivery.failed");
        assert_eq!(failed.len(), 1);
        assert_eq!((&failed[0]["payload"]["attempt"], &failed[0]["payload"]["detail"]),
            (&json!(1), &json!("not accepted before the next attempt was due")));
        app.advance(30).await;
        assert_eq!(mailed(app).await, [OPERATOR], "the second attempt's message is tried on its own");
    }

    /// A waiting request is woken by each attempt, so that an agent's hook can tell its user.
    async fn an_attempt_is_a_version_a_waiter_is_woken_for(app: &mut TestApp) {
        let agent = app.agent();
        let policy = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 60}, "timeout_seconds": 60});
        let asked = agent.suspend(agent.active_intent().await, policy).await.ok();
        app.settle().await;
        let path = format!("api/v1/suspensions/{}?wait=50&after_version={}", asked["id"].as_str().unwrap(), asked["version"]);
        let (seen, ()) = tokio::join!(agent.get(&path), app.advance(60));
        let seen = seen.ok();
        assert_eq!((&seen["attempt"], &seen["version"], &seen["resolution"]), (&json!(2), &json!(2), &json!(null)));
    }

    /// A record names the people who were told, not those named in the request. A step of the escalation ladder whose `notify_to`
    /// is null goes to the question's own recipients, even if an earlier step replaced them.
    async fn a_record_names_who_was_told_where_the_first_rung_told_others(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let change = json!({"notify_to": ["alice@example.com"], "timeout_seconds": 3600, "retry_policy": {
            "max_attempts": 2, "interval_seconds": 3600,
            "escalation_ladder": [{"attempt": 1, "notify_to": "lead@example.com"}, {"attempt": 2, "notify_to": null}],
        }});
        let asked = agent.suspend(intent, change).await.ok();
        let shown = agent.suspension(asked["id"].as_str().unwrap()).await;
        app.settle().await;
        assert_eq!(mailed(app).await, ["lead@example.com"]);
        for record in [&asked, &shown, &of_type(&agent.events(intent).await, "intent.suspended")[0]["payload"]] {
            assert_eq!((&record["notify_to"], &record["original_notify_to"]), (&json!(["lead@example.com"]), &json!(["alice@example.com"])));
        }
        app.restart().await;
        app.advance(3600).await;
        assert_eq!(mailed(app).await, ["alice@example.com"]);
        let plain = agent.suspend(agent.active_intent().await, ladder()).await.ok();
        assert_eq!((&plain["notify_to"], plain.get("original_notify_to")), (&json!([OPERATOR]), None));
    }

    /// A step of the escalation ladder for the first attempt replaces the recipients of the question.
    async fn a_rung_at_the_first_attempt_takes_effect_at_once(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let rung = json!({"attempt": 1, "notify_to": "lead@example.com"});
        let policy = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 60, "escalation_ladder": [rung]}, "timeout_seconds": 60});
        agent.suspend(intent, policy).await.ok();
        app.settle().await;
        assert_eq!(mailed(app).await, ["lead@example.com"]);
        app.advance(60).await; // The step also holds for later attempts.
        assert_eq!(mailed(app).await, ["lead@example.com"]);
        assert_eq!(of_type(&agent.events(intent).await, "intent.suspension_escalated").len(), 1);
    }

    /// A person who gets no newer message still gets the first one. Neither an outage nor greylisting may leave a person out.
    async fn who_was_asked_first_is_still_told_after_the_ladder_moved_on(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.suspend(intent, ladder()).await.ok()["id"].as_str().unwrap().to_owned();
        app.clock.jump(chrono::TimeDelta::seconds(3600)); // No mail was sent before the second attempt is due.
        app.restart().await;
        app.settle().await;
        assert_eq!(mailed(app).await, ["lead@example.com", OPERATOR]);
        assert_eq!(agent.suspension(&id).await["attempt"], json!(2));
        assert!(of_type(&agent.events(intent).await, "delivery.failed").is_empty());
    }

    /// The first message that reaches a person is no reminder, whatever its number, and a person who was not asked is not called
    /// silent.
    async fn a_person_who_was_not_reached_before_is_asked_and_not_reminded(app: &mut TestApp) {
        let agent = app.agent();
        let policy = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 600}, "timeout_seconds": 600});
        app.smtp.script(Fault::RejectRecipient);
        agent.suspend(agent.active_intent().await, policy).await.ok();
        app.settle().await;
        app.advance(600).await;
        let [mail]: [Received; 1] = mails(app).await.try_into().ok().unwrap();
        assert_eq!((mail.subject().as_str(), mail.header("in-reply-to")), ("[Placet] Refund order 12345?", None));
        assert!(!mail.text().contains("Reminder") && !mail.text().contains("no answer yet"), "{}", mail.text());
    }

    /// A clock that was set back must not bring an attempt forward: attempts are due by the clock alone.
    async fn a_backward_step_of_the_clock_brings_no_attempt_forward(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let policy = json!({"retry_policy": {"max_attempts": 3, "interval_seconds": 1800}, "timeout_seconds": 1800});
        agent.suspend(intent, policy).await.ok();
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600));
        agent.post(&format!("api/v1/intents/{intent}/events"), json!({"event_type": "comment", "payload": {}})).await.ok();
        app.clock.jump(chrono::TimeDelta::seconds(-2400)); // Now: 20 minutes after asking. Last event: an hour after.
        app.settle().await;
        app.advance(600).await;
        let events = agent.events(intent).await;
        let renotified: Vec<_> = of_type(&events, "intent.suspension_renotified").into_iter().map(told).collect();
        assert_eq!(renotified, [(2, vec![OPERATOR], false)]);
    }
}
