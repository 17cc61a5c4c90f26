//! Mail: its text, the facts it must not reveal, and its deliveries when the mail server fails.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::pin::Pin;
use std::sync::Arc;

use channels::{Channel, DeliveryError, Message, Receipt};
use domain::base::ids::IntentId;
use harness::app::{OPERATOR, TestApp};
use harness::on_each_store;
use harness::smtp::{Fault, Received};
use serde_json::{Value, json};
use store::{DeliveryResult, Turn};

/// How many seconds a worker may keep a message before another worker may try it.
const LEASE_SECONDS: i64 = 120;
/// The number of tries after which a message counts as failed.
const TRIES_MAX: usize = 100;

/// The type and payload of each event about a message's delivery.
async fn deliveries(app: &TestApp, intent: IntentId) -> Vec<(String, Value)> {
    let events = app.agent().events(intent).await.into_iter();
    let told = events.map(|event| (event["event_type"].as_str().unwrap().to_owned(), event["payload"].clone()));
    told.filter(|(event_type, _)| event_type.starts_with("delivery.")).collect()
}

/// The event type, the number of tries and the last reply, for the only message of an intent.
async fn fate(app: &TestApp, intent: IntentId) -> (String, u64, String) {
    let [(event_type, payload)] = deliveries(app, intent).await.try_into().unwrap();
    (event_type, payload["tries"].as_u64().unwrap(), payload["detail"].as_str().unwrap().to_owned())
}

async fn reached(app: &TestApp, id: &str) -> bool {
    app.agent().suspension(id).await["reached"].as_bool().unwrap()
}

on_each_store! {
    /// Most people see only the mail before they decide whether to open the question. So the mail names the question, its
    /// choices, its asker, its deadline and its fallback. It does not hold the context, which may be confidential.
    async fn a_mail_says_what_matters_and_nothing_confidential(app: &mut TestApp) {
        let question = json!({
            "context": {"iban": "SECRET-IBAN"}, "notify_to": [OPERATOR, "jonas@example.com"],
            "fallback_policy": "complete_with_fallback", "fallback_value": "deny",
        });
        let (_, id) = app.agent().ask(question).await;
        app.settle().await;
        let mut mails: Vec<Received> = app.smtp.received();
        mails.sort_by_key(|mail| std::cmp::Reverse(mail.to.clone()));
        let [mine, theirs] = mails.as_slice() else { panic!("{} mails", mails.len()) };
        assert_eq!((&mine.to, &theirs.to), (&vec![OPERATOR.to_owned()], &vec!["jonas@example.com".to_owned()]));
        assert_ne!(mine.link(&app.base), theirs.link(&app.base), "a link is one person's");
        assert_ne!(mine.header("message-id"), theirs.header("message-id"));
        for mail in [mine, theirs] {
            assert_eq!((mail.from.as_str(), mail.subject().as_str()), ("placet@example.com", "[Placet] Refund order 12345?"));
            for (name, value) in [
                ("auto-submitted", "auto-generated"),
                ("x-auto-response-suppress", "All"),
                ("date", "Tue, 24 Nov 2026 08:00:00 +0000"),
                ("to", &mail.to[0]),
                ("from", "Placet <placet@example.com>"),
            ] {
                assert_eq!(mail.header(name).as_deref(), Some(value), "{name}");
            }
            let link = mail.link(&app.base);
            assert!(mail.links_under(&app.base).iter().all(|url| *url == link), "one link, and none per answer");
            for part in [mail.text(), mail.html()] {
                for said in ["Refund order 12345?", "Approve refund", "Deny refund", "test-agent", "Tue 24 Nov", "09:00 UTC", &mail.to[0]] {
                    assert!(part.contains(said), "{said} is missing in {part}");
                }
                assert!(part.contains("goes on with “Deny refund”"), "{part}");
                assert!(!part.contains("SECRET-IBAN") && !part.contains(&id), "{part}");
                assert_eq!(part.matches("http").count(), part.matches(&link).count(), "an address of somebody else: {part}");
            }
            let head = String::from_utf8(mail.raw.clone()).unwrap().split("\r\n\r\n").next().unwrap().to_owned();
            assert!(!head.contains("plc_") && !head.contains(&id), "{head}");
            assert!(!mail.html().contains("<img") && !mail.html().contains("src="), "nothing may be fetched");
        }
    }

    /// When a mail server asks to try again later, the message is tried again after a pause and does not count as refused.
    async fn a_deferred_mail_is_tried_again_after_a_pause(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(json!({})).await;
        app.smtp.script(Fault::Defer);
        app.smtp.script(Fault::Defer);
        app.settle().await;
        app.advance(4).await;
        assert!(deliveries(app, intent).await.is_empty() && app.smtp.received().is_empty());
        app.advance(1).await; // The second try comes after 5 seconds.
        app.advance(9).await;
        assert!(!reached(app, &id).await && app.smtp.received().is_empty());
        app.restart().await; // The next try must not be known in memory alone.
        app.advance(1).await; // The third try comes 10 seconds later.
        assert_eq!(fate(app, intent).await, ("delivery.sent".into(), 3, "250 2.0.0 kept".into()));
        assert!(reached(app, &id).await);
        app.advance(3000).await;
        assert_eq!(app.smtp.received().len(), 1);
    }

    async fn a_mail_that_is_deferred_for_ever_has_failed_after_100_tries(app: &mut TestApp) {
        for (faults, event_type) in [(TRIES_MAX - 1, "delivery.sent"), (TRIES_MAX, "delivery.failed")] {
            let (intent, id) = app.agent().ask(json!({"timeout_seconds": 30 * 86_400})).await;
            for _ in 0..faults {
                app.smtp.script(Fault::Defer);
            }
            app.settle().await;
            for _ in 1..TRIES_MAX {
                assert!(deliveries(app, intent).await.is_empty());
                app.advance(1_800).await;
            }
            let (told, tries, _) = fate(app, intent).await;
            assert_eq!((told.as_str(), tries), (event_type, 100));
            assert_eq!(reached(app, &id).await, event_type == "delivery.sent");
        }
    }

    /// A refusal is final and reported at once. Trying again for days would only hide it.
    async fn a_refused_mail_has_failed_at_once(app: &mut TestApp) {
        for (fault, word) in [(Fault::RejectRecipient, "550"), (Fault::RejectMessage, "554")] {
            let (intent, id) = app.agent().ask(json!({})).await;
            app.smtp.script(fault);
            app.settle().await;
            let (told, tries, detail) = fate(app, intent).await;
            assert_eq!((told.as_str(), tries), ("delivery.failed", 1));
            assert!(detail.contains(word), "{detail}");
            assert!(!reached(app, &id).await);
            app.advance(3_599).await;
            assert_eq!(deliveries(app, intent).await.len(), 1);
            assert!(!app.smtp.has_unread());
        }
    }

    /// If the reply to a mail is lost, the server cannot know whether the mail arrived. It sends the mail again with the same
    /// message id.
    async fn a_lost_reply_sends_the_same_mail_once_more(app: &mut TestApp) {
        for (fault, copies) in [(Fault::DropBeforeReply, 1), (Fault::KeepThenDrop, 2)] {
            let (intent, _) = app.agent().ask(json!({})).await;
            app.smtp.script(fault);
            app.settle().await;
            assert!(deliveries(app, intent).await.is_empty(), "{fault:?}");
            app.advance(5).await;
            assert_eq!(fate(app, intent).await.1, 2, "{fault:?}");
            let mut mails = Vec::new();
            while app.smtp.has_unread() {
                mails.push(app.smtp.next_mail().await);
            }
            assert_eq!(mails.len(), copies, "{fault:?}");
            let (first, last) = (&mails[0], &mails[copies - 1]);
            assert_eq!(first.header("message-id"), last.header("message-id"));
            if copies == 2 {
                assert_ne!(first.link(&app.base), last.link(&app.base), "each try has a token of its own");
            }
            // The link in the first copy works as well as the one in the last.
            assert_eq!(app.person().answer(&first.link(&app.base), "approve").await.heading(), "Your answer was recorded");
        }
    }

    /// After the mail server has confirmed a mail, the mail is not sent again, even if the connection then fails.
    async fn a_mail_that_was_taken_is_never_sent_twice(app: &mut TestApp) {
        for fault in [Fault::DropAfterReply, Fault::ReplyThenLose] {
            let (intent, id) = app.agent().ask(json!({})).await;
            app.smtp.script(fault);
            app.settle().await;
            assert_eq!(fate(app, intent).await, ("delivery.sent".into(), 1, "250 2.0.0 kept".into()), "{fault:?}");
            assert!(reached(app, &id).await);
            app.restart().await;
            app.advance(3_599).await;
            assert_eq!(deliveries(app, intent).await.len(), 1, "{fault:?}");
        }
        assert_eq!(app.smtp.received().len(), 1);
    }

    /// When a question has ended, no more mails about it are sent, so that it costs people no more time.
    async fn nobody_is_asked_what_has_ended(app: &mut TestApp) {
        let (operator, agent) = (app.operator(), app.agent());
        let (intent, id) = app.agent().ask(json!({})).await;
        operator.respond(intent, &id, "approve").await.ok();
        let (_, id) = app.agent().ask(json!({})).await;
        agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        app.agent().ask(json!({"timeout_seconds": 1})).await;
        app.clock.jump(chrono::TimeDelta::seconds(1));
        app.settle().await;
        // The same holds if an earlier try has failed.
        let (intent, id) = app.agent().ask(json!({})).await;
        app.smtp.script(Fault::Defer);
        app.settle().await;
        operator.respond(intent, &id, "approve").await.ok();
        app.advance(86_400).await;
        assert!(app.smtp.received().is_empty());
        assert!(deliveries(app, intent).await.is_empty());
    }

    /// A worker whose lease on a message has passed to another worker can no longer report a result.
    async fn only_the_holder_of_a_lease_completes(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(json!({})).await;
        let store = app.store();
        let slow = store.lease_deliveries(Turn::of("email")).await.unwrap().deliveries.remove(0);
        app.clock.jump(chrono::TimeDelta::seconds(LEASE_SECONDS - 1));
        assert!(store.lease_deliveries(Turn::of("email")).await.unwrap().deliveries.is_empty(), "one second early");
        app.clock.jump(chrono::TimeDelta::seconds(1));
        let quick = store.lease_deliveries(Turn::of("email")).await.unwrap().deliveries.remove(0);
        assert_eq!((quick.id, quick.tries), (slow.id, 2));
        assert_ne!(quick.lease, slow.lease);
        let sent = || DeliveryResult::Sent("250 ok".into());
        for result in [sent(), DeliveryResult::Failed("550".into()), DeliveryResult::Retry { reason: "451".into(), after: None }] {
            assert!(!store.complete_delivery(slow.rid, slow.lease, result).await.unwrap());
        }
        assert!(deliveries(app, intent).await.is_empty() && !reached(app, &id).await);
        assert!(store.complete_delivery(quick.rid, quick.lease, sent()).await.unwrap());
        for lease in [quick.lease, slow.lease, [0; 16]] {
            assert!(!store.complete_delivery(quick.rid, lease, sent()).await.unwrap(), "twice");
        }
        assert!(!store.complete_delivery(quick.rid + 1, quick.lease, sent()).await.unwrap());
        assert_eq!(fate(app, intent).await, ("delivery.sent".into(), 2, "250 ok".into()));
        app.advance(LEASE_SECONDS).await;
        assert!(app.smtp.received().is_empty());
    }

    /// If a server dies while it sends a message, the next server sends it.
    async fn a_message_of_a_dead_server_is_sent_by_the_next(app: &mut TestApp) {
        let (intent, _) = app.agent().ask(json!({})).await;
        let lost = app.store().lease_deliveries(Turn::of("email")).await.unwrap().deliveries.remove(0);
        app.settle().await;
        assert!(app.smtp.received().is_empty(), "it is another worker's");
        app.restart().await;
        app.settle().await;
        assert_eq!(fate(app, intent).await.1, 2);
        let mail = app.smtp.next_mail().await;
        assert_eq!(app.person().answer(&mail.link(&app.base), "deny").await.heading(), "Your answer was recorded");
        // A late result from the dead server is ignored.
        let late = app.store().complete_delivery(lost.rid, lost.lease, DeliveryResult::Failed("late".into())).await;
        assert!(!late.unwrap());
    }

    /// A message on which a channel panics must not keep other messages from being sent.
    async fn a_panic_in_a_channel_fails_its_own_message_alone(app: &mut TestApp) {
        let (bad, bad_id) = app.agent().ask(json!({"question": "PANIC now?"})).await;
        let (good, good_id) = app.agent().ask(json!({})).await;
        let worker = app.worker(Arc::new(Fragile));
        worker.run_due().await.unwrap();
        let (told, _, detail) = fate(app, bad).await;
        let failed = ("delivery.failed", "the channel's code panicked while it handled this message");
        assert_eq!((told.as_str(), detail.as_str()), failed);
        assert_eq!(fate(app, good).await.0, "delivery.sent");
        assert_eq!((reached(app, &bad_id).await, reached(app, &good_id).await), (false, true));
    }
}

/// A channel that panics on one question.
struct Fragile;

impl Channel for Fragile {
    fn name(&self) -> &'static str {
        "fragile"
    }

    fn deliver<'a, 'b, 'c>(
        &'a self,
        message: &'b Message,
    ) -> Pin<Box<dyn Future<Output = Result<Receipt, DeliveryError>> + Send + 'c>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async move {
            assert!(!message.question.contains("PANIC"), "this is the panic the test is about");
            Ok(Receipt { reply: "250 borne".to_owned() })
        })
    }
}

/// A question that holds every text an attacker might place in a mail, as long as the limits allow.
fn hostile() -> Value {
    let attack = "\r\nBcc: victim@example.com\r\n\r\n.\r\nMAIL FROM:<x@example.com>\n</b></h1><script>alert(1)</script>\
        <img src=\"https://evil.example/p.png\"><a href='https://evil.example'>Approve</a>\u{202e}\u{200b}\u{7}http://evil.example/a/plc_x ";
    let question = attack.repeat(20)[..4_000].trim_end().to_owned();
    json!({
        "question": question,
        "choices": [
            {"value": "approve\u{202e}\"'>", "label": attack[..150].to_owned(), "description": attack},
            {"value": "<script>", "label": "</table></style>\u{202e}", "style": "danger"},
        ],
        "context": {attack: attack},
        "fallback_policy": "complete_with_fallback", "fallback_value": "<script>",
    })
}

on_each_store! {
    /// An agent may be made to write any text. In the mail it stays text: it becomes no header, recipient, markup or link.
    async fn a_hostile_question_makes_a_mail_and_a_page_that_do_nothing(app: &mut TestApp) {
        let agent = app.agent();
        let title = json!({"title": "T\r\nSubject: owned\u{202e}<script>", "status": "active"});
        let intent: IntentId = agent.post("api/v1/intents", title).await.ok()["id"].as_str().unwrap().parse().unwrap();
        let asked = agent.suspend(intent, hostile()).await.ok();
        app.settle().await;
        let [mail] = app.smtp.received().try_into().unwrap();
        assert_eq!(mail.to, [OPERATOR]);
        let raw = String::from_utf8(mail.raw.clone()).unwrap();
        let head = raw.split("\r\n\r\n").next().unwrap();
        assert!(!head.to_lowercase().contains("\r\nbcc:") && !head.contains("owned"), "{head}");
        assert!(raw.is_ascii() && raw.lines().all(|line| line.len() <= 998));
        assert!(mail.subject().starts_with("[Placet] ") && mail.subject().chars().count() <= 120, "{}", mail.subject());

        let link = app.next_link().await;
        let mut person = app.person();
        let page = person.open(&link).await;
        for (name, html) in [("mail", mail.html()), ("page", page.html.clone())] {
            // The page's own scripts come from Placet and hold no text of the agent.
            let ours = ["times", "answer"].map(|name| format!("<script src=\"/assets/{name}-"));
            let lower = ours.iter().fold(html.to_lowercase(), |html, ours| html.replacen(ours, "", 1));
            for tag in ["<script", "<img", "<a href='", "onerror=", "<iframe"] {
                assert!(!lower.contains(tag), "{tag} in the {name}");
            }
            assert_eq!((lower.matches("<h1").count(), lower.matches("</style>").count()), (1, 1), "{name}");
            // A button must send its exact value, so the value alone stands unchanged, in an attribute that is not displayed.
            let seen = html.replace("value=\"approve\u{202e}", "");
            assert!(!seen.contains(['\u{202e}', '\u{200b}', '\u{7}']), "{name}");
        }
        // Mail programs must not turn the agent's text into a link, and readers must not take that text for the server's own.
        let text = mail.text();
        assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{7}']));
        assert!(!text.contains("http://evil") && !text.contains("https://evil") && !mail.html().contains("//evil.example"));
        assert_eq!(mail.links_under(&app.base).iter().filter(|url| **url != link).count(), 0);
        assert_eq!(page.html.matches("<a ").count(), 3, "to the content, to the answers, and to this page again");

        // The question works like any other: the agent gets exactly the value it offered.
        let whole = person.open(&format!("{link}?show=everything")).await;
        let posted = person.post(&link, &[("nonce", &whole.nonce()), ("value", "<script>")]).await;
        assert_eq!(posted.status, 303, "{}", posted.html);
        assert_eq!(agent.suspension(asked["id"].as_str().unwrap()).await["response"], json!("<script>"));
        assert!(!person.open(&link).await.html.replacen("<script src=\"/assets/times-", "", 1).contains("<script"));
    }
}

/// Mails have no scripts, so readers in another zone must convert times, unless the server is told their zone. UTC is shown as
/// well, because mails are forwarded and kept as records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_tells_times_in_the_zone_that_is_set_beside_utc() {
    let app = TestApp::start_with(|config| config.display_time_zone = Some("Asia/Tokyo".parse().unwrap())).await;
    let policy = json!({"max_attempts": 2, "interval_seconds": 8 * 3600});
    app.ask(json!({"timeout_seconds": 8 * 3600, "retry_policy": policy})).await;
    let mail = app.smtp.next_mail().await;
    for part in [mail.text(), mail.html()] {
        assert!(part.contains("Wed 25 Nov, 00:00 UTC (09:00 GMT+9)"), "{part}");
        assert!(part.contains("16:00 (Wed 25 Nov, 01:00 GMT+9)"), "{part}");
    }
    app.advance(8 * 3600).await;
    let reminder = app.smtp.next_mail().await.html();
    assert!(reminder.contains("It was asked at 08:00 UTC (17:00 GMT+9)."), "{reminder}");
    app.finish().await;
}
