//! A question that is replaced by a newer one: its pages, messages, reminders and waits all end.

use harness::app::OPERATOR;
use harness::on_each_store;
use harness::smtp::Fault;
use serde_json::{Value, json};

on_each_store! {
    /// A person who has the old page or mail open must not decide the old question, and must not be led to another person's link.
    async fn the_old_link_says_that_it_was_replaced_and_gives_away_no_other(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let first = agent.asked(intent).await;
        app.settle().await;
        let old = app.smtp.next_mail().await;
        let link = old.link(&app.base);
        let mut reader = app.person();
        let nonce = reader.open(&link).await.nonce();
        let second = agent.suspend(intent, json!({"supersedes": first, "question": "Refund half of order 12345?"})).await.ok();
        app.settle().await;
        let new = app.smtp.next_mail().await;

        let state: Value = serde_json::from_str(&app.person().open(&format!("{link}/state")).await.html).unwrap();
        assert_eq!(state["ended"], "superseded");
        let posted = reader.post(&link, &[("nonce", &nonce), ("value", "approve")]).await;
        let page = reader.follow(&link, &posted).await;
        assert_eq!(page.heading(), "A newer question replaced this one");
        assert!(page.html.contains("the newer question is in your latest mail"), "{}", page.html);
        // A link belongs to one person and one question, so opening a page creates no link and shows none.
        for secret in [second["id"].as_str().unwrap(), new.link(&app.base).rsplit('/').next().unwrap(), "Refund half"] {
            assert!(!page.html.contains(secret), "{secret}");
        }
        // The new question is a new thread, so its first mail is not a reply.
        assert_eq!((new.header("in-reply-to"), new.to.as_slice()), (None, [OPERATOR.to_owned()].as_slice()));
        assert_eq!(new.subject(), "[Placet] Refund half of order 12345?");
        assert_eq!(app.person().answer(&new.link(&app.base), "deny").await.heading(), "Your answer was recorded");
        assert_eq!(agent.suspension(&first).await["response"], json!(null));
    }

    /// When a question is superseded, its messages and reminders that have not been sent yet are dropped. They would ask about
    /// a question that no longer matters.
    async fn messages_and_reminders_of_the_old_question_are_never_sent(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let ladder = json!({"question": "The old one?", "notify_to": ["alice@example.com"], "retry_policy": {
            "max_attempts": 3, "interval_seconds": 600, "escalation_ladder": [{"attempt": 2, "notify_to": "lead@example.com"}],
        }});
        app.smtp.script(Fault::Defer);
        let first = agent.suspend(intent, ladder).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        assert!(!app.smtp.has_unread(), "the mail server took nothing yet");
        agent.suspend(intent, json!({"supersedes": first, "notify_to": ["bob@example.com"], "timeout_seconds": 7200})).await.ok();
        for _ in 0..6 {
            app.advance(600).await;
        }
        let mail = app.smtp.next_mail().await;
        assert_eq!(mail.to, ["bob@example.com"]);
        assert!(!app.smtp.has_unread(), "nothing of the old question is sent");
        assert_eq!(
            agent.event_types(intent).await,
            [
                "intent_created", "intent.suspended", "status_changed", "intent.suspension_cancelled", "intent.suspended",
                "delivery.sent",
            ]
        );
    }

    /// A request to extend the old question or to remind people of it is refused. The refusal says how the old question ended,
    /// and nothing happens to the new one.
    async fn the_old_question_is_neither_extended_nor_reminded_of(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let first = agent.asked(intent).await;
        let second = agent.suspend(intent, json!({"supersedes": first})).await.ok();
        app.settle().await;
        let before = agent.everything(intent).await;
        for (path, body) in [("extend", json!({"seconds": 60})), ("remind", json!({}))] {
            let refused = operator.post(&format!("api/v1/suspensions/{first}/{path}"), body).await;
            assert_eq!(refused.problem(), (409, "already_resolved"), "{path}");
            assert_eq!(refused.body["resolution_reason"], json!("superseded"));
            assert!(!refused.text.contains(second["id"].as_str().unwrap()));
        }
        assert_eq!(agent.everything(intent).await, before);
    }
}
