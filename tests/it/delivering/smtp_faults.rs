//! A failing mail server: which mails are sent, and what agents, people and operators see.
//!
//! The effect of one refused, deferred or lost reply on one message is tested in `mail`. These tests are about the question's
//! ending and its display.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::sync::Arc;
use std::time::Duration;

use channels::{EmailChannel, EmailSettings};
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::app::{OPERATOR, TestApp};
use harness::on_each_store;
use harness::smtp::{Fault, Received};
use placet_server::worker::deliveries::Deliveries;
use serde_json::{Value, json};

const LEAD: &str = "lead@example.com";
/// How long our side waits for a silent mail server. In production it waits 30 seconds.
const IMPATIENT: Duration = Duration::from_millis(300);

/// The messages as the operator sees them: recipient, attempt and state, and the last reply.
async fn seen(app: &TestApp, id: &str) -> Vec<(String, String)> {
    let listed = app.operator().get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shown =
        |row: &Value| (format!("{} {} {}", word(&row["recipient"]), row["attempt"], word(&row["state"])), word(&row["detail"]));
    listed["deliveries"].as_array().unwrap().iter().map(shown).collect()
}

/// As [`seen`], without the last replies.
async fn states(app: &TestApp, id: &str) -> Vec<String> {
    seen(app, id).await.into_iter().map(|(state, _)| state).collect()
}

/// One counter of a scrape. A missing series counts as zero.
async fn metric(app: &TestApp, name: &str) -> u64 {
    let scraped = app.api(Role::Auditor).get("metrics").await.text;
    let line = scraped.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    line.map_or(0, |value| value.parse().unwrap())
}

async fn reached(app: &TestApp, id: &str) -> bool {
    app.agent().suspension(id).await["reached"].as_bool().unwrap()
}

/// The payloads of an intent's events of one type.
async fn logged(app: &TestApp, intent: IntentId, event_type: &str) -> Vec<Value> {
    let events = app.agent().events(intent).await.into_iter();
    events.filter(|event| event["event_type"] == event_type).map(|event| event["payload"].clone()).collect()
}

/// A worker on the same queue whose mail channel gives up sooner.
fn impatient(app: &TestApp) -> Arc<Deliveries> {
    let settings = EmailSettings {
        smtp_url: app.smtp.url().into(),
        from: "Placet <placet@example.com>".into(),
        bounce_to: None,
        allow_insecure: false,
        timeout: IMPATIENT,
    };
    app.worker(Arc::new(EmailChannel::new(&settings).unwrap()))
}

on_each_store! {
    /// A content filter quotes the mail that it refuses. The link in the quotation must not be shown to readers of the delivery's
    /// state.
    async fn a_reply_that_quotes_the_mail_gives_no_link_away(app: &mut TestApp) {
        app.smtp.script(Fault::QuoteMessage);
        let (intent, id) = app.ask(json!({})).await;
        app.settle().await;
        let mail = app.smtp.received().pop().unwrap();
        let token = mail.link(&app.base).rsplit('/').next().unwrap().to_owned();
        let agent = app.agent();
        let deliveries = agent.get(&format!("api/v1/suspensions/{id}/deliveries")).await;
        assert_eq!(deliveries.body["deliveries"][0]["state"], "failed", "{}", deliveries.text);
        let failed = app.api(Role::Admin).get("api/v1/deliveries").await.text;
        let events = agent.get(&format!("api/v1/intents/{intent}/events?include=all")).await.text;
        for seen in [&deliveries.text, &failed, &events] {
            assert!(seen.contains("(the rest quotes the message and is not kept)"), "{seen}");
            let letters: String = seen.chars().filter(char::is_ascii_alphanumeric).collect();
            for piece in token[14..].replace(['-', '_'], "").as_bytes().windows(8) {
                assert!(!letters.contains(str::from_utf8(piece).unwrap()), "{seen}");
            }
        }
    }

    /// Six hours without a mail server: the ladder goes on by the clock, no question is lost, and no person finds six mails in
    /// the morning.
    async fn a_mail_server_that_is_gone_for_six_hours_loses_nothing(app: &mut TestApp) {
        app.smtp.set_down(true);
        let (intent, id) = app.ask(json!({
            "timeout_seconds": 3600,
            "retry_policy": {"max_attempts": 8, "interval_seconds": 3600, "escalation_ladder": [{"attempt": 4, "notify_to": LEAD}]},
        })).await;
        for half_hour in 1..=12 {
            app.advance(1800).await;
            assert_eq!(app.agent().suspension(&id).await["attempt"], json!(half_hour / 2 + 1), "the ladder goes by the clock");
        }
        app.restart().await;
        let down = seen(app, &id).await;
        let waiting: Vec<&str> = down.iter().filter(|(state, _)| state.ends_with("queued")).map(|(state, _)| state.as_str()).collect();
        assert_eq!(waiting, ["ops@example.com 3 queued", "lead@example.com 7 queued"], "the newest to each person");
        assert!(down.iter().all(|(_, detail)| !detail.is_empty()), "{down:?}");
        assert!(!reached(app, &id).await);
        assert_eq!(metric(app, "placet_deliveries_pending{state=\"queued\"}").await, 2);
        assert_eq!(app.anonymous().get("healthz").await.status, 200);

        app.smtp.set_down(false);
        app.advance(1800).await; // This is the longest pause between two tries.
        let mut mails = app.smtp.received();
        mails.sort_by_key(|mail| mail.to.clone());
        assert_eq!(mails.iter().map(|mail| mail.to[0].as_str()).collect::<Vec<_>>(), [LEAD, OPERATOR]);
        assert!(reached(app, &id).await);
        assert_eq!(logged(app, intent, "delivery.sent").await.len(), 2);
        for superseded in logged(app, intent, "delivery.failed").await {
            assert_eq!(superseded["detail"], json!("not accepted before the next attempt was due"));
        }
        assert!(logged(app, intent, "delivery.failover").await.is_empty(), "late is not lost");
        assert_eq!(metric(app, "placet_deliveries_total{channel=\"email\",state=\"sent\"}").await, 2);
        let page = app.person().answer(&mails[1].link(&app.base), "approve").await;
        assert_eq!(page.heading(), "Your answer was recorded");
    }

    /// Many mail servers greylist strangers. The mail waits and is shown as waiting, and raises no alarm.
    async fn a_greylisted_mail_is_seen_to_wait_and_then_to_arrive(app: &mut TestApp) {
        app.smtp.script(Fault::Defer);
        let (intent, id) = app.ask(json!({})).await;
        let [(state, detail)] = seen(app, &id).await.try_into().unwrap();
        assert_eq!(state, "ops@example.com 1 queued");
        assert!(detail.contains("451") && detail.contains("try again later"), "{detail}");
        assert!(!reached(app, &id).await && logged(app, intent, "delivery.failed").await.is_empty());
        assert_eq!(metric(app, "placet_delivery_attempts_total{channel=\"email\",result=\"retry\"}").await, 1);
        app.advance(5).await;
        assert_eq!(states(app, &id).await, ["ops@example.com 1 sent"]);
        assert!(reached(app, &id).await);
    }

    /// A server that falls silent after the mail must not hold up the queue, and must not cause more than one extra copy.
    async fn a_silent_mail_server_costs_its_limit_and_at_most_one_copy(app: &mut TestApp) {
        for (fault, copies) in [(Fault::Hang, 1), (Fault::KeepThenHang, 2)] {
            let before = app.smtp.received().len();
            let agent = app.agent();
            let id = agent.asked(agent.active_intent().await).await;
            app.smtp.script(fault);
            impatient(app).run_due().await.unwrap();
            let [(state, detail)] = seen(app, &id).await.try_into().unwrap();
            assert_eq!((state.as_str(), detail.as_str()), ("ops@example.com 1 queued", "the mail server did not finish within 0.3 s"));
            assert!(!reached(app, &id).await, "nobody knows whether it arrived");
            app.advance(5).await;
            assert_eq!(states(app, &id).await, ["ops@example.com 1 sent"], "{fault:?}");
            app.advance(3000).await;
            let mails: Vec<Received> = app.smtp.received().split_off(before);
            assert_eq!(mails.len(), copies, "{fault:?}");
            assert_eq!(mails[0].header("message-id"), mails[copies - 1].header("message-id"));
            assert_eq!(mails[0].header("x-placet-delivery"), mails[copies - 1].header("x-placet-delivery"));
        }
    }

    /// If one of two recipients is refused, that message alone fails, and the other person gets the question.
    async fn one_refused_recipient_of_two_is_told_apart(app: &mut TestApp) {
        app.smtp.refuse("gone@example.com");
        let (intent, id) = app.ask(json!({"notify_to": ["gone@example.com", OPERATOR]})).await;
        let seen = seen(app, &id).await;
        assert_eq!(seen[1], ("ops@example.com 1 sent".to_owned(), "250 2.0.0 kept".to_owned()));
        assert_eq!(seen[0].0, "gone@example.com 1 failed");
        assert!(seen[0].1.contains("550") && seen[0].1.contains("no such mailbox"), "{seen:?}");
        assert!(reached(app, &id).await);
        assert_eq!(logged(app, intent, "delivery.failed").await[0]["recipient"], json!("gone@example.com"));
        for state in ["sent", "failed"] {
            assert_eq!(metric(app, &format!("placet_deliveries_total{{channel=\"email\",state=\"{state}\"}}")).await, 1, "{state}");
        }
        app.advance(3600).await;
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!("expired"), "somebody was asked and said nothing");
    }

    /// A connection that breaks before the mail was handed over says nothing about the mail, so the mail is tried again.
    async fn a_dialogue_that_breaks_off_is_begun_again(app: &mut TestApp) {
        app.smtp.script(Fault::DropAtRecipient);
        let (intent, id) = app.ask(json!({})).await;
        assert_eq!(states(app, &id).await, ["ops@example.com 1 queued"]);
        assert!(logged(app, intent, "delivery.failed").await.is_empty());
        app.advance(5).await;
        assert_eq!(states(app, &id).await, ["ops@example.com 1 sent"]);
        assert_eq!(app.smtp.received().len(), 1);
    }
}

/// A mail server without the required encryption gets nothing, at no time: neither the recipients nor a link.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_server_that_refuses_encryption_gets_nothing() {
    let mut url = String::new();
    let mut app = TestApp::start_with(|config| {
        let mail = config.mail.as_mut().unwrap();
        url = format!("{}?tls=required", secrecy::ExposeSecret::expose_secret(&mail.smtp_url));
        mail.smtp_url = url.clone().into();
    })
    .await;
    let question = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
    let (intent, id) = app.ask(question).await;
    for _ in 0..3 {
        let [(state, detail)] = seen(&app, &id).await.try_into().unwrap();
        assert_eq!(state, "ops@example.com 1 queued", "the operator's to mend, and not the mail's fault");
        assert!(!detail.is_empty());
        app.advance(600).await;
        app.restart().await;
    }
    assert!(!reached(&app, &id).await && logged(&app, intent, "delivery.failed").await.is_empty());
    app.advance(3600).await;
    let ended = app.agent().suspension(&id).await;
    assert_eq!((&ended["resolution_reason"], &ended["response"]), (&json!("undeliverable"), &Value::Null));
    assert_eq!(states(&app, &id).await, ["ops@example.com 1 obsolete"]);
    assert!(app.smtp.received().is_empty());
    assert_eq!(metric(&app, "placet_expired_unreached_total").await, 1);
    app.finish().await;
}
