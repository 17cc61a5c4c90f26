//! Extending a deadline: who may do it, how far it can move, and who is told.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::time::Duration;

use domain::base::time::parse;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

async fn extend(api: &Api, id: &str, body: Value) -> Reply {
    api.post(&format!("api/v1/suspensions/{id}/extend"), body).await
}

fn seconds_between(earlier: &Value, later: &Value) -> i64 {
    (parse(later.as_str().unwrap()).unwrap() - parse(earlier.as_str().unwrap()).unwrap()).num_seconds()
}

on_each_store! {
    /// After an extension nothing happens at the old deadline and the question expires at the new one, even after a restart.
    async fn an_extended_question_ends_at_its_new_deadline(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let asked = agent.suspend(intent, json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny"})).await.ok();
        let id = asked["id"].as_str().unwrap();
        app.settle().await;
        app.advance(3599).await;
        let extended = extend(&operator, id, json!({"seconds": 600, "reason": "The lawyer is on a train."})).await;
        assert_eq!(extended.headers["etag"], "\"2\"");
        let extended = extended.ok();
        assert_eq!((&extended["version"], &extended["attempt"]), (&json!(2), &json!(1)));
        assert_eq!(seconds_between(&asked["expires_at"], &extended["expires_at"]), 600);
        app.advance(1).await; // The old deadline.
        app.restart().await;
        app.advance(599).await; // One second early.
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        assert_eq!(agent.suspension(id).await["expires_at"], extended["expires_at"]);
        app.advance(1).await;
        let ended = agent.suspension(id).await;
        assert_eq!((&ended["resolution"], &ended["response"], &ended["version"]), (&json!("expired"), &json!("deny"), &json!(3)));

        let events = agent.events(intent).await;
        let event = events.iter().find(|event| event["event_type"] == "intent.suspension_extended").unwrap();
        let payload = &event["payload"];
        assert_eq!(event["actor"], "test-operator");
        assert_eq!((&payload["extended_by"], &payload["cause"]), (&json!("test-operator"), &json!("request")));
        assert_eq!(payload["reason"], "The lawyer is on a train.");
        assert_eq!(payload["suspension_id"], json!(id));
        // Times in events carry no `Z`, whichever route serves them.
        assert_eq!(format!("{}Z", payload["old_expires_at"].as_str().unwrap()), asked["expires_at"]);
        assert_eq!(format!("{}Z", payload["new_expires_at"].as_str().unwrap()), extended["expires_at"]);
        // OpenIntent's client raises on types it does not know, so its view leaves this type out.
        let known = agent.get(&format!("api/v1/intents/{intent}/events")).await.text;
        assert!(!known.contains("suspension_extended"));
    }

    /// An answer between the old and the new deadline counts.
    async fn an_answer_in_the_time_that_was_given_counts(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let asked = agent.suspend(intent, json!({})).await.ok();
        let id = asked["id"].as_str().unwrap();
        app.settle().await;
        let later = parse(asked["expires_at"].as_str().unwrap()).unwrap() + chrono::TimeDelta::seconds(60);
        extend(&app.api(Role::Admin), id, json!({"expires_at": domain::base::time::rfc3339(later)})).await.ok();
        app.advance(3659).await;
        operator.respond(intent, id, "approve").await.ok();
    }

    /// The asker cannot extend its own deadline: otherwise the deadline would bind nothing, and the question could stay open for
    /// ever.
    async fn the_asker_gets_no_more_time(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        let before = agent.everything(intent).await;
        assert_eq!(extend(&agent, &id, json!({"seconds": 60})).await.problem(), (403, "forbidden"));
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        assert_eq!(extend(&stranger, &id, json!({"seconds": 60})).await.problem(), (404, "not_found"));
        for role in [Role::Auditor, Role::Channel] {
            assert_eq!(extend(&app.api(role), &id, json!({"seconds": 60})).await.problem(), (403, "forbidden"));
        }
        assert_eq!(agent.everything(intent).await, before);
    }

    /// A deadline can only move later, and at most to 366 days after the question was asked.
    async fn a_deadline_moves_later_only_and_keeps_the_window(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let asked = agent.suspend(intent, json!({})).await.ok();
        let id = asked["id"].as_str().unwrap();
        let start = parse(asked["suspended_at"].as_str().unwrap()).unwrap();
        let at = |seconds: i64| json!({"expires_at": domain::base::time::rfc3339(start + chrono::TimeDelta::seconds(seconds))});
        for (body, field, rule) in [
            (at(3600), "expires_at", "later"),
            (at(3599), "expires_at", "later"),
            (at(-1), "expires_at", "later"),
            (at(31_622_401), "expires_at", "range"),
            (json!({"seconds": 31_622_400 - 3_600 + 1}), "seconds", "range"),
            (json!({"seconds": 0}), "seconds", "range"),
            (json!({"seconds": 31_622_401}), "seconds", "range"),
            (json!({"seconds": -5}), "seconds", "type"),
            (json!({}), "expires_at", "one"),
            (json!({"seconds": 60, "expires_at": at(7200)["expires_at"]}), "expires_at", "one"),
            (json!({"expires_at": "tomorrow"}), "expires_at", "type"),
            (json!({"seconds": 60, "reason": "x".repeat(2_001)}), "reason", "length"),
            (json!({"seconds": 60, "because": "x"}), "because", "unknown"),
        ] {
            let refused = extend(&operator, id, body.clone()).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, rule), "{body}: {}", refused.text);
        }
        assert_eq!(agent.suspension(id).await["version"], json!(1));
        extend(&operator, id, json!({"seconds": 1, "reason": "ä".repeat(2_000)})).await.ok();
        let whole = extend(&operator, id, at(31_622_400)).await.ok();
        assert_eq!(seconds_between(&asked["suspended_at"], &whole["expires_at"]), 31_622_400);
        // At the bound not even one more second is allowed.
        assert_eq!(extend(&operator, id, json!({"seconds": 1})).await.field_problem(), (422, "invalid", "seconds", "range"));
    }

    /// A question without a deadline never ends by itself, so a deadline would shorten it and is refused.
    async fn a_question_without_a_deadline_gets_none(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.suspend(intent, json!({"timeout_seconds": null})).await.ok()["id"].as_str().unwrap().to_owned();
        let refused = extend(&app.operator(), &id, json!({"seconds": 60})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "seconds", "deadline"));
    }

    /// A question that has ended cannot be extended.
    async fn what_has_ended_is_not_extended(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        operator.respond(intent, &id, "approve").await.ok();
        assert_eq!(extend(&operator, &id, json!({"seconds": 60})).await.problem(), (409, "already_resolved"));
        // Rules that hold for every question are checked before its end; rules that depend on this question are checked after.
        assert_eq!(extend(&operator, &id, json!({"seconds": 0})).await.field_problem(), (422, "invalid", "seconds", "range"));
        let earlier = json!({"expires_at": "2020-01-01T00:00:00Z"});
        assert_eq!(extend(&operator, &id, earlier).await.problem(), (409, "already_resolved"));
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.clock.jump(chrono::TimeDelta::seconds(3600)); // The timer has not run yet: the clock alone decides.
        assert_eq!(extend(&operator, &id, json!({"seconds": 60})).await.problem(), (409, "expired"));
        assert_eq!(agent.status(intent).await, "abandoned");
    }

    /// Two people who each give an hour give two hours, unless their requests name a version. A repeated request adds time once.
    async fn an_extension_can_name_its_version_and_be_repeated(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let id = agent.asked(agent.active_intent().await).await;
        let path = format!("api/v1/suspensions/{id}/extend");
        operator.post_at(&path, "\"1\"", json!({"seconds": 60})).await.ok();
        let stale = operator.post_at(&path, "\"1\"", json!({"seconds": 60})).await;
        assert_eq!((stale.problem(), &stale.body["current_version"]), ((409, "version_conflict"), &json!(2)));
        let once = operator.post_once(&path, "more-time", json!({"seconds": 60})).await;
        let again = operator.post_once(&path, "more-time", json!({"seconds": 60})).await;
        assert_eq!(once.clone().ok(), again.ok());
        assert_eq!(once.body["version"], json!(3));
        let other = operator.post_once(&path, "more-time", json!({"seconds": 61})).await;
        assert_eq!(other.problem(), (422, "idempotency_mismatch"));
        assert_eq!(agent.suspension(&id).await["version"], json!(3));
    }

    /// The new deadline reaches programs that wait for a version, people with an open page, and the next mail.
    async fn a_later_deadline_reaches_waits_pages_and_mails(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let policy = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 3600}});
        let asked = agent.suspend(intent, policy).await.ok();
        let id = asked["id"].as_str().unwrap();
        app.settle().await;
        let link = app.next_link().await;
        let before = app.person().open(&link).await;
        let newer = format!("api/v1/suspensions/{id}?wait=50&after_version=1");
        let wait = agent.get(&newer);
        let give = async { extend(&operator, id, json!({"seconds": 86_400})).await.ok() };
        let (woken, given) = tokio::join!(tokio::time::timeout(Duration::from_secs(20), wait), give);
        assert_eq!(woken.unwrap().ok()["expires_at"], given["expires_at"]);
        let state: Value = serde_json::from_str(&app.person().open(&format!("{link}/state")).await.html).unwrap();
        assert_eq!(state["left_ms"], json!((2 * 3600 + 86_400) * 1000));
        let after = app.person().open(&link).await;
        let new = given["expires_at"].as_str().unwrap()[..16].to_owned();
        assert!(after.html.contains(&new) && !before.html.contains(&new), "{}", after.html);
        // Reminders keep their times and state the new deadline.
        app.advance(3600).await;
        let reminder = app.smtp.next_mail().await;
        let deadline = parse(given["expires_at"].as_str().unwrap()).unwrap();
        assert!(reminder.text().contains(&domain::base::text::deadline(deadline, domain::base::clock::Clock::now(&*app.clock), domain::base::words::Language::English)), "{}", reminder.text());
    }
}
