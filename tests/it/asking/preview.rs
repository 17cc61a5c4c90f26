//! The plan of recipients and times before a question is asked, and the same plan in the mail and on the page.

use domain::people::principal::Role;
use domain::suspension::FallbackPolicy;
use harness::app::{OPERATOR, TestApp, asking_policy};
use harness::on_each_store;
use serde_json::{Value, json};

/// The body of a suspend request with a ladder.
fn question() -> Value {
    json!({
        "question": "Refund order 12345?",
        "choices": [{"value": "approve", "label": "Approve refund"}, {"value": "deny", "label": "Deny refund"}],
        "notify_to": ["alice@example.com", "bob@example.com"],
        "channel_hint": "pigeon",
        "retry_policy": {
            "max_attempts": 3, "interval_seconds": 3600, "final_fallback_policy": "complete_with_fallback",
            "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": "lead@example.com"}, {"attempt": 3}],
        },
        "fallback_value": "deny",
    })
}

/// The same body with some fields replaced.
fn with(change: &Value) -> Value {
    let mut body = question();
    for (name, value) in change.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

on_each_store! {
    /// The preview comes true: each attempt at its time and to its people, and the same ending if no person answers.
    async fn a_preview_is_what_then_happens_and_keeps_nothing(app: &mut TestApp) {
        let agent = app.agent();
        let preview = agent.post("api/v1/suspensions/preview", question()).await.ok();
        assert_eq!(agent.get("api/v1/suspensions?state=all").await.ok()["suspensions"], json!([]));
        assert_eq!(agent.get("api/v1/intents").await.ok()["intents"], json!([]));

        let intent = agent.active_intent().await;
        let asked = agent.post(&format!("api/v1/intents/{intent}/suspend"), question()).await.ok();
        assert_eq!(preview["expires_at"], asked["expires_at"]);
        assert_eq!(preview["warnings"], asked["warnings"]);
        let steps: Vec<Value> = preview["schedule"].as_array().into_iter().flatten().cloned().collect();
        let told: Vec<(&Value, bool)> = steps.iter().map(|step| (&step["recipients"], step["escalation"] == json!(true))).collect();
        let asked_first = json!(["alice@example.com", "bob@example.com"]);
        assert_eq!(told, [(&asked_first, false), (&json!(["lead@example.com"]), true), (&asked_first, true)]);
        for step in &steps {
            // The plan names no channel that the server lacks.
            assert_eq!(step["channel"], "email");
        }
        for (number, step) in steps.iter().enumerate() {
            app.advance(if number == 0 { 0 } else { 3600 }).await;
            let mut people = Vec::new();
            while app.smtp.has_unread() {
                people.extend(app.smtp.next_mail().await.to);
            }
            people.sort();
            assert_eq!((&json!(number + 1), &json!(people)), (&step["attempt"], &step["recipients"]));
            assert_eq!(step["at"].as_str().and_then(domain::base::time::parse), Some(domain::base::clock::Clock::now(&*app.clock)));
        }
        let end = &preview["at_the_end"];
        assert_eq!((&end["what"], &end["value"], &end["requires_delivery"]), (&json!("fallback"), &json!("deny"), &json!(true)));
        assert!(end["text"].as_str().is_some_and(|text| text.contains("Deny refund") && text.contains("undeliverable")), "{end}");
        app.advance(3600).await;
        let ended = agent.suspension(asked["id"].as_str().unwrap_or_default()).await;
        assert_eq!((&ended["resolution"], &ended["response"]), (&json!("expired"), &json!("deny")));
    }

    /// Previews of a question with no deadline and of one with a plain deadline.
    async fn a_preview_of_a_plain_question_says_what_silence_means(app: &mut TestApp) {
        let agent = app.agent();
        let plain = json!({"question": "Go?", "response_type": "confirm"});
        let forever = agent.post("api/v1/suspensions/preview", plain).await.ok();
        assert_eq!(forever["expires_at"], json!(null));
        assert_eq!(forever["schedule"].as_array().map(Vec::len), Some(1));
        assert_eq!(forever["schedule"][0]["recipients"], json!([OPERATOR]));
        assert_eq!(forever["at_the_end"]["what"], "stays_open");
        let timed = json!({"question": "Go?", "response_type": "confirm", "timeout_seconds": 60});
        let fail = agent.post("api/v1/suspensions/preview", timed).await.ok();
        assert_eq!((&fail["at_the_end"]["what"], &fail["at_the_end"]["policy"]), (&json!("fail"), &json!("fail")));
        assert_eq!((&fail["at_the_end"]["value"], &fail["at_the_end"]["requires_delivery"]), (&json!(null), &json!(false)));
    }

    /// A preview refuses the same requests as asking, with the same errors. Otherwise it would promise a question that cannot be
    /// asked.
    async fn a_preview_refuses_what_asking_refuses(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for change in [
            json!({"question": ""}),
            json!({"choices": [{"value": "a", "label": ""}]}),
            json!({"fallback_value": "neither"}),
            json!({"notify_to": ["stranger@elsewhere.example"]}),
            json!({"notify_to": []}),
            json!({"retry_policy": {"max_attempts": 21, "interval_seconds": 60}}),
            json!({"retry_policy": null, "fallback_policy": "complete_with_fallback"}),
            json!({"surprise": 1}),
            json!({"confidence": 2}),
        ] {
            let body = with(&change);
            let preview = agent.post("api/v1/suspensions/preview", body.clone()).await;
            let asked = agent.post(&format!("api/v1/intents/{intent}/suspend"), body).await;
            assert_eq!(preview.problem(), (422, "invalid"), "{change}: {}", preview.text);
            assert_eq!(preview.body["errors"], asked.body["errors"], "{change}");
        }
        let fail_only = TestApp::start_with(|config| {
            config.asking = domain::asking::policy::AskingPolicy { fallback_allowed: vec![FallbackPolicy::Fail], ..asking_policy() };
        })
        .await;
        let refused = fail_only.agent().post("api/v1/suspensions/preview", question()).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "fallback_policy", "allowed"));
        fail_only.finish().await;
    }

    /// Agents, operators and admins may preview. Auditors and gateways have no use for a preview.
    async fn who_asks_or_operates_may_preview(app: &mut TestApp) {
        for (role, status) in
            [(Role::Agent, 200), (Role::Operator, 200), (Role::Admin, 200), (Role::Auditor, 403), (Role::Channel, 403)]
        {
            let reply = app.api(role).post("api/v1/suspensions/preview", question()).await;
            assert_eq!(reply.status, status, "{role}");
            // A caller who may not preview is not told the mistakes of its body either.
            let broken = app.api(role).post("api/v1/suspensions/preview", json!({"question": ""})).await;
            assert_eq!(broken.status, if status == 200 { 422 } else { 403 }, "{role}");
        }
        assert_eq!(app.anonymous().post("api/v1/suspensions/preview", question()).await.status, 401);
    }

    /// The page shows the plan of the mail: reminders, escalations and the end, with each reader as "you".
    async fn the_page_tells_who_is_told_when(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        agent.post(&format!("api/v1/intents/{intent}/suspend"), question()).await.ok();
        app.settle().await;
        let mail = app.smtp.next_mail().await;
        let reader = mail.to[0].clone();
        let other = if reader.starts_with("alice") { "bob@example.com" } else { "alice@example.com" };
        app.smtp.next_mail().await;
        let page = app.person().open(&mail.link(&app.base)).await;
        for line in [
            format!("You and {other}"),
            "lead@example.com, as an escalation".to_owned(),
            format!("You and {other}, as an escalation"),
            "It closes. The agent goes on with “Deny refund”, and is told that no person answered.".to_owned(),
        ] {
            assert!(page.html.contains(&format!("<bdi>{line}</bdi>")), "{line}: {}", page.html);
        }
        // The mail shows the plan as well.
        let text = mail.text();
        assert!(text.contains("lead@example[.]com will be asked") && text.contains("You get a reminder"), "{text}");
        assert!(text.contains("It closes. The agent goes on with “Deny refund”"), "{text}");
    }
}
