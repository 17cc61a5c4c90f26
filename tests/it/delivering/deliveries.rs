//! Delivery as a state: the people who were reached, the people who are asked instead, and the effect of a returned mail.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::channel::{EMAIL, Reach};
use harness::api::Reply;
use harness::app::{OPERATOR, TestApp, mentions};
use harness::on_each_store;
use harness::receiver::{Receiver, add, webhook};
use harness::smtp::Fault;
use serde_json::{Value, json};
use store::{DeliveryResult, Turn};

const LEAD: &str = "lead@example.com";
const DUTY: &str = "duty@example.com";

/// Three attempts an hour apart: the operators, then the lead, then the person on duty.
fn ladder() -> Value {
    json!({
        "timeout_seconds": 3600,
        "retry_policy": {"max_attempts": 3, "interval_seconds": 3600, "escalation_ladder": [
            {"attempt": 2, "notify_to": LEAD}, {"attempt": 3, "notify_to": [DUTY, LEAD]},
        ]},
    })
}

/// The messages about a question.
async fn deliveries(app: &TestApp, id: &str) -> Vec<Value> {
    let listed = app.agent().get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
    listed["deliveries"].as_array().unwrap().clone()
}

/// The recipients of messages, with their attempts and states, in the order of the messages.
async fn stand(app: &TestApp, id: &str) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let shown =
        |row: &Value| format!("{} {} {} {}", row["sequence"], row["attempt"], word(&row["recipient"]), word(&row["state"]));
    deliveries(app, id).await.iter().map(shown).collect()
}

/// The token of the newest mail to a person.
fn token(app: &TestApp, person: &str) -> String {
    let mails = app.smtp.received();
    let mail = mails.iter().rev().find(|mail| mail.to == [person]).unwrap();
    mail.header("x-placet-delivery").unwrap()
}

async fn report(app: &TestApp, returned_to: &str, kind: &str) -> Reply {
    let body = json!({"returned_to": returned_to, "kind": kind, "detail": "550 5.1.1 no such mailbox"});
    app.api(Role::Channel).post("api/v1/deliveries/bounces", body).await
}

/// The payloads of the events of one type.
async fn told(app: &TestApp, intent: IntentId, event_type: &str) -> Vec<Value> {
    let events = app.agent().events(intent).await.into_iter();
    events.filter(|event| event["event_type"] == event_type).map(|event| event["payload"].clone()).collect()
}

on_each_store! {
    /// The list of a question's messages shows each message's state, so a person who asks "did she get it?" need not read a
    /// log. The list never shows a link.
    async fn each_message_is_shown_from_its_queue_to_its_end(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.suspend(intent, ladder()).await.ok()["id"].as_str().unwrap().to_owned();
        let [queued] = deliveries(app, &id).await.try_into().unwrap();
        for (name, value) in [
            ("suspension_id", json!(id)), ("sequence", json!(1)), ("attempt", json!(1)), ("channel", json!("email")),
            ("recipient", json!(OPERATOR)), ("state", json!("queued")), ("tries", json!(0)), ("due_at", json!("2026-11-24T08:00:00.000000Z")),
            ("settled_at", Value::Null), ("detail", Value::Null), ("bounce", Value::Null),
        ] {
            assert_eq!(queued[name], value, "{name}");
        }
        let held = app.store().lease_deliveries(Turn::of("email")).await.unwrap().deliveries.remove(0);
        let [sending] = deliveries(app, &id).await.try_into().unwrap();
        assert_eq!((&sending["state"], &sending["tries"], &sending["due_at"]), (&json!("sending"), &json!(1), &Value::Null));
        app.restart().await;
        app.smtp.script(Fault::Defer);
        app.settle().await;
        let [again] = deliveries(app, &id).await.try_into().unwrap();
        assert_eq!((&again["state"], &again["tries"], &again["id"]), (&json!("queued"), &json!(2), &queued["id"]));
        assert_eq!(again["due_at"], json!("2026-11-24T08:00:10.000000Z"));
        assert!(again["detail"].as_str().unwrap().contains("451"), "{again}");
        app.advance(10).await;
        let [sent] = deliveries(app, &id).await.try_into().unwrap();
        assert_eq!((&sent["state"], &sent["tries"], &sent["due_at"], &sent["detail"]), (&json!("sent"), &json!(3), &Value::Null, &json!("250 2.0.0 kept")));
        assert_eq!(sent["settled_at"], json!("2026-11-24T08:00:10.000000Z"));
        assert!(!mentions(&sent, "plc_") && !mentions(&sent, &held.token.expose()));
        let events = told(app, intent, "delivery.sent").await;
        assert_eq!((&events[0]["delivery_id"], &events[0]["sequence"]), (&queued["id"], &json!(1)));
    }

    /// Receivers order messages by `sequence`: in each question it counts 1, 2, 3 without gaps or repeats, also over a restart.
    async fn messages_of_a_question_are_numbered_through(app: &mut TestApp) {
        let (_, id) = app.ask(ladder()).await;
        let (_, other) = app.ask(json!({"notify_to": [LEAD, DUTY]})).await;
        app.restart().await;
        app.advance(3600).await;
        app.advance(3600).await;
        app.advance(3600).await;
        assert_eq!(stand(app, &id).await, [
            "1 1 ops@example.com sent", "2 2 lead@example.com sent", "3 3 duty@example.com sent", "4 3 lead@example.com sent",
        ]);
        assert_eq!(stand(app, &other).await, ["1 1 lead@example.com sent", "2 1 duty@example.com sent"]);
    }

    /// A question can have very many messages: twenty people at each of twenty attempts, and reminders. So one page of the
    /// list has a limit, and no message is left out between two pages.
    async fn messages_of_a_question_come_in_pages(app: &mut TestApp) {
        let people: Vec<String> = (0..5).map(|n| format!("p{n}@example.com")).collect();
        let (_, id) = app.ask(json!({"notify_to": people})).await;
        let path = format!("api/v1/suspensions/{id}/deliveries?limit=2");
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        for last in [false, false, true] {
            let page = app.agent().get(&format!("{path}&cursor={cursor}")).await.ok();
            seen.extend(page["deliveries"].as_array().unwrap().iter().map(|row| row["sequence"].clone()));
            assert_eq!(page["next_cursor"].is_null(), last, "{page}");
            cursor = page["next_cursor"].as_str().unwrap_or_default().to_owned();
        }
        assert_eq!(json!(seen), json!([1, 2, 3, 4, 5]));
    }

    /// A message that is no longer needed is shown, but has no event: the question's ending stands for all of its messages.
    async fn a_message_whose_question_has_ended_is_obsolete_and_no_event(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.operator().respond(intent, &id, "approve").await.ok();
        assert_eq!(stand(app, &id).await, ["1 1 ops@example.com obsolete"], "at once, not when its turn would have come");
        app.settle().await;
        assert!(!agent.event_types(intent).await.iter().any(|event_type| event_type.starts_with("delivery.")));
        assert!(app.smtp.received().is_empty());
    }

    /// When a question ends, each message that still waits for another try becomes obsolete at once. Otherwise it would be
    /// counted as a backlog until its next try, perhaps for an hour.
    async fn no_message_waits_for_a_question_that_has_ended(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        app.smtp.script(Fault::Defer);
        let (intent, deferred) = app.ask(json!({})).await;
        assert_eq!(stand(app, &deferred).await, ["1 1 ops@example.com queued"]);
        operator.respond(intent, &deferred, "approve").await.ok();
        assert_eq!(stand(app, &deferred).await, ["1 1 ops@example.com obsolete"]);

        let intent = agent.active_intent().await;
        let sending = agent.asked(intent).await;
        let held = app.store().lease_deliveries(Turn::of("email")).await.unwrap().deliveries.remove(0);
        operator.respond(intent, &sending, "approve").await.ok();
        assert_eq!(stand(app, &sending).await, ["1 1 ops@example.com sending"], "nobody can take it back");
        let later = DeliveryResult::Retry { reason: "451".into(), after: None };
        assert!(app.store().complete_delivery(held.rid, held.lease, later).await.unwrap());
        assert_eq!(stand(app, &sending).await, ["1 1 ops@example.com obsolete"]);
    }

    /// If the only mailbox refuses the mail, the people of the next step of the ladder are asked at once, not after an hour.
    /// The times of the attempts do not change.
    async fn a_refused_mail_wakes_the_next_rung_at_once(app: &mut TestApp) {
        app.smtp.refuse(OPERATOR);
        let agent = app.agent();
        let (intent, id) = app.ask(ladder()).await;
        assert_eq!(app.smtp.mailed().await, [LEAD]);
        let record = agent.suspension(&id).await;
        assert_eq!((&record["attempt"], &record["version"], &record["reached"]), (&json!(1), &json!(1), &json!(true)));
        assert_eq!(record["expires_at"], json!("2026-11-24T11:00:00.000000Z"));
        let [failover] = told(app, intent, "delivery.failover").await.try_into().unwrap();
        assert_eq!(failover["suspension_id"], json!(id));
        assert_eq!((&failover["attempt"], &failover["rung_attempt"]), (&json!(1), &json!(2)));
        assert_eq!((&failover["unreachable"], &failover["notify_to"]), (&json!([OPERATOR]), &json!([LEAD])));
        assert!(failover["reason"].as_str().unwrap().contains("550"), "{failover}");
        app.restart().await;
        app.advance(3599).await;
        assert_eq!(app.smtp.mailed().await, [""; 0]);
        app.advance(1).await; // Her own attempt comes: she was asked at the first attempt, so she is reminded.
        let mail = app.smtp.next_mail().await;
        assert!(mail.subject().starts_with("Re: "), "{}", mail.subject());
        assert_eq!(stand(app, &id).await, [
            "1 1 ops@example.com failed", "2 1 lead@example.com sent", "3 2 lead@example.com sent",
        ]);
        assert_eq!(told(app, intent, "intent.suspension_renotified").await[0]["attempt"], json!(2));
    }

    /// A reminder on request goes to the person who has the question, not to the mailbox that refused it.
    async fn who_was_asked_instead_is_reminded_on_request(app: &mut TestApp) {
        app.smtp.refuse(OPERATOR);
        let (intent, id) = app.ask(ladder()).await;
        assert_eq!(app.smtp.mailed().await, [LEAD]);
        app.operator().post(&format!("api/v1/suspensions/{id}/remind"), json!({})).await.ok();
        app.settle().await;
        assert_eq!(app.smtp.mailed().await, [LEAD]);
        assert_eq!(told(app, intent, "intent.suspension_reminded").await[0]["notify_to"], json!([LEAD]));
        assert_eq!(stand(app, &id).await[2..], ["3 1 lead@example.com sent"]);
    }

    /// As long as one of the people asked has the question, no other person is asked early.
    async fn nobody_is_woken_while_somebody_has_the_question(app: &mut TestApp) {
        app.smtp.refuse("gone@example.com");
        let mut asked = ladder();
        asked["notify_to"] = json!(["gone@example.com", OPERATOR]);
        let (intent, id) = app.ask(asked).await;
        assert_eq!(stand(app, &id).await, ["1 1 gone@example.com failed", "2 1 ops@example.com sent"]);
        assert_eq!(told(app, intent, "delivery.failover").await, Vec::<Value>::new());
        assert_eq!(app.smtp.mailed().await, [OPERATOR]);
    }

    /// While one of the people asked may still get the question, no other person is asked early. Once none of them can get it,
    /// the next people are asked at once.
    async fn nobody_is_woken_while_somebody_may_still_get_it(app: &mut TestApp) {
        app.smtp.script(Fault::Defer);
        app.smtp.script(Fault::Defer);
        let mut asked = ladder();
        asked["notify_to"] = json!(["gone@example.com", "slow@example.com"]);
        let (intent, id) = app.ask(asked).await;
        app.smtp.refuse("gone@example.com");
        app.smtp.refuse("slow@example.com");
        // Both mails are tried again in one run of the worker. Only after the second failure are the people of the next step
        // asked.
        app.advance(5).await;
        assert_eq!(told(app, intent, "delivery.failover").await.len(), 1);
        assert_eq!(stand(app, &id).await[2], "3 1 lead@example.com sent");
    }

    /// A mail that waits for another try has not failed, so other people are asked at the ladder's own times and not at once.
    async fn a_deferred_mail_wakes_nobody(app: &mut TestApp) {
        app.smtp.script(Fault::Defer);
        let (intent, id) = app.ask(ladder()).await;
        assert_eq!(stand(app, &id).await, ["1 1 ops@example.com queued"]);
        app.smtp.script(Fault::Defer);
        app.clock.jump(chrono::TimeDelta::seconds(3600));
        app.settle().await; // The second attempt; a message that it supersedes is no reason to ask others either.
        assert_eq!(told(app, intent, "delivery.failover").await, Vec::<Value>::new());
    }

    /// If the mailbox of the next step of the ladder refuses the mail too, the people of the step after it are asked at once.
    /// No person is asked twice on the way.
    async fn a_failover_goes_on_until_somebody_is_reached(app: &mut TestApp) {
        app.smtp.refuse(OPERATOR);
        app.smtp.refuse(LEAD);
        let (intent, id) = app.ask(ladder()).await;
        assert_eq!(app.smtp.mailed().await, [DUTY]);
        let failovers = told(app, intent, "delivery.failover").await;
        assert_eq!(failovers.len(), 2);
        assert_eq!((&failovers[1]["rung_attempt"], &failovers[1]["notify_to"]), (&json!(3), &json!([DUTY])));
        assert_eq!(failovers[1]["unreachable"], json!([OPERATOR, LEAD]));
        assert_eq!(stand(app, &id).await, [
            "1 1 ops@example.com failed", "2 1 lead@example.com failed", "3 1 duty@example.com sent",
        ]);
    }

    /// If no mailbox takes the question, it ends as undeliverable and never by its fallback: a server that reached no person
    /// must not take the silence for consent.
    async fn with_nobody_left_it_ends_as_undeliverable(app: &mut TestApp) {
        for person in [OPERATOR, LEAD, DUTY] {
            app.smtp.refuse(person);
        }
        let mut asked = ladder();
        asked["fallback_policy"] = json!("complete_with_fallback");
        asked["fallback_value"] = json!("approve");
        let (intent, id) = app.ask(asked).await;
        for _ in 0..3 {
            assert_eq!(app.agent().suspension(&id).await["resolution"], Value::Null, "answerable until the end");
            app.advance(3600).await;
        }
        let ended = app.agent().suspension(&id).await;
        assert_eq!((&ended["resolution"], &ended["resolution_reason"], &ended["response"]), (&json!("cancelled"), &json!("undeliverable"), &Value::Null));
        assert_eq!(app.agent().status(intent).await, "abandoned");
        assert!(app.smtp.received().is_empty());
        // Each attempt asks its own people first, and then the people of later attempts in their stead; in one attempt no one
        // is asked twice. So three, two and two mails fail.
        assert_eq!(stand(app, &id).await.iter().filter(|row| row.ends_with("failed")).count(), 3 + 2 + 2);
    }

    /// A mail server can accept a mail and return it later. If Placet trusted the first reply alone, it would take a dead
    /// mailbox for a silent person.
    async fn a_hard_bounce_takes_back_that_anybody_was_reached(app: &mut TestApp) {
        let (intent, id) = app.ask(ladder()).await;
        assert_eq!(app.agent().suspension(&id).await["reached"], json!(true));
        app.smtp.mailed().await;
        let shown = report(app, &token(app, OPERATOR), "hard").await.ok();
        assert_eq!((&shown["state"], &shown["recipient"]), (&json!("bounced"), &json!(OPERATOR)));
        assert_eq!(shown["bounce"], json!({"kind": "hard", "reported_at": "2026-11-24T08:00:00.000000Z", "detail": "550 5.1.1 no such mailbox"}));
        assert_eq!(app.agent().suspension(&id).await["reached"], json!(false));
        let [bounced] = told(app, intent, "delivery.bounced").await.try_into().unwrap();
        assert_eq!((&bounced["delivery_id"], &bounced["reached"], &bounced["detail"]), (&shown["id"], &json!(false), &json!("550 5.1.1 no such mailbox")));
        app.settle().await;
        assert_eq!(app.smtp.mailed().await, [LEAD], "as after a refusal");
        assert_eq!(app.agent().suspension(&id).await["reached"], json!(true));
        // Further reports of the same mail change nothing.
        let before = app.agent().everything(intent).await;
        assert_eq!(report(app, &token(app, OPERATOR), "hard").await.ok(), shown);
        assert_eq!(report(app, &token(app, OPERATOR), "soft").await.ok(), shown);
        app.settle().await;
        assert_eq!(app.agent().everything(intent).await, before);
    }

    /// A mail that came back reached no person. While the server still has to move deadlines that passed in its absence, it
    /// refuses the report of a returned mail with 503 and `Retry-After`. The report counts when it is sent again.
    async fn a_bounce_reported_while_a_passed_deadline_waits_is_not_lost(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let fallback = json!({"timeout_seconds": 600, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
        let id = agent.suspend(intent, fallback).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        app.store().attend();
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600)); // The machine slept.
        let held = report(app, &token(app, OPERATOR), "hard").await;
        assert_eq!((held.status, held.headers.contains_key("retry-after")), (503, true), "{}", held.text);
        app.settle().await; // The question's lost time has been given back.
        assert_eq!(report(app, &token(app, OPERATOR), "hard").await.ok()["state"], json!("bounced"));
        assert_eq!(agent.suspension(&id).await["reached"], json!(false));
    }

    /// If one of two mails comes back, the person with the other mail still has the question, so no other people are asked.
    /// They are asked when the second mail comes back too.
    async fn a_bounce_of_one_of_two_leaves_the_other(app: &mut TestApp) {
        let mut asked = ladder();
        asked["notify_to"] = json!([OPERATOR, DUTY]);
        let (intent, id) = app.ask(asked).await;
        report(app, &token(app, OPERATOR), "hard").await.ok();
        app.settle().await;
        assert_eq!(app.agent().suspension(&id).await["reached"], json!(true));
        assert!(told(app, intent, "delivery.failover").await.is_empty());
        report(app, &token(app, DUTY), "hard").await.ok();
        app.settle().await;
        assert_eq!(told(app, intent, "delivery.failover").await[0]["unreachable"], json!([OPERATOR, DUTY]));
    }

    /// A soft bounce only says that a mail is late, so no other person is asked.
    async fn a_soft_bounce_is_recorded_and_nothing_else(app: &mut TestApp) {
        let (intent, id) = app.ask(ladder()).await;
        let before = app.agent().everything(intent).await;
        let shown = report(app, &token(app, OPERATOR), "soft").await.ok();
        assert_eq!((&shown["state"], &shown["bounce"]["kind"]), (&json!("sent"), &json!("soft")));
        app.settle().await;
        assert_eq!(app.agent().everything(intent).await, before);
        assert_eq!(app.agent().suspension(&id).await["reached"], json!(true));
        // After a soft bounce, a hard bounce of the same mail still counts.
        assert_eq!(report(app, &token(app, OPERATOR), "hard").await.ok()["state"], json!("bounced"));
    }

    /// An attacker who could forge the report of a returned mail could take a question from the people who were asked. So a
    /// report counts only with the proof that the mail itself held.
    async fn a_forged_return_is_not_found_and_changes_nothing(app: &mut TestApp) {
        let (intent, _) = app.ask(ladder()).await;
        app.ask(json!({})).await;
        let before = app.agent().everything(intent).await;
        let token = token(app, OPERATOR);
        let (row, proof) = token.split_once('.').unwrap();
        let first = if proof.starts_with('0') { "1" } else { "0" };
        assert_eq!(row, "2", "the newest mail is the second question's");
        for forged in [
            format!("2.{first}{}", &proof[1..]),
            format!("1.{proof}"),
            format!("7fffffffffffffff.{proof}"),
            format!("bounces+1.{proof}@example.com"),
        ] {
            assert_eq!(report(app, &forged, "hard").await.problem(), (404, "not_found"), "{forged}");
        }
        for odd in ["bounces@example.com", "x", "1.", proof, &format!("{token}0"), &format!("{token}@example.com")] {
            assert_eq!(report(app, odd, "hard").await.field_problem(), (422, "invalid", "returned_to", "format"), "{odd}");
        }
        assert_eq!(report(app, &token, "firm").await.field_problem().2, "kind");
        assert_eq!(app.agent().everything(intent).await, before);
    }

    /// A bounce that is reported after the question was answered does not change the decision. The report is still kept.
    async fn a_bounce_after_the_end_changes_no_outcome(app: &mut TestApp) {
        let (intent, id) = app.ask(ladder()).await;
        let early = token(app, OPERATOR);
        app.operator().respond(intent, &id, "approve").await.ok();
        let before = app.agent().suspension(&id).await;
        let shown = report(app, &early, "hard").await.ok();
        assert_eq!((&shown["state"], &shown["bounce"]["kind"]), (&json!("bounced"), &json!("hard")));
        assert_eq!(told(app, intent, "delivery.bounced").await[0]["reached"], json!(true));
        assert_eq!(app.agent().suspension(&id).await, before);
        // A report at the deadline comes too late to change which people were reached. A report one second earlier still
        // counts.
        for (seconds, resolution) in [(3600, "expired"), (3599, "cancelled")] {
            let (intent, id) = app.ask(json!({})).await;
            let token = token(app, OPERATOR);
            app.clock.jump(chrono::TimeDelta::seconds(seconds));
            report(app, &token, "hard").await.ok();
            app.advance(3600 - seconds).await;
            assert_eq!(app.agent().suspension(&id).await["resolution"], json!(resolution), "{seconds}");
            let page = app.person().open(&app.smtp.received().last().unwrap().link(&app.base)).await;
            assert_eq!(page.html.contains("one message"), resolution == "cancelled", "{}", page.html);
            let late = app.agent().everything(intent).await;
            report(app, &token, "soft").await.ok();
            assert_eq!(app.agent().everything(intent).await, late);
        }
    }

    /// The key of a program that reads returned mail may answer for every person, if the program knows the id of the question. So
    /// the reply to a report must not name the question.
    async fn a_report_is_answered_without_the_question(app: &mut TestApp) {
        let (intent, id) = app.ask(ladder()).await;
        let receipt = report(app, &token(app, OPERATOR), "hard").await.ok();
        let fields: Vec<&String> = receipt.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["bounce", "id", "recipient", "state"]);
        assert!(!mentions(&receipt, &id) && !mentions(&receipt, &intent.to_string()), "{receipt}");
        let channel = app.api(Role::Channel);
        let message = receipt["id"].as_str().unwrap();
        for path in ["api/v1/deliveries".to_owned(), format!("api/v1/suspensions/{message}"), "api/v1/suspensions".to_owned()] {
            assert!([403, 404].contains(&channel.get(&path).await.status), "{path}");
        }
    }

    /// A report may quote the whole mail, with the link: a reader of the list of messages must not be able to answer with it.
    async fn a_report_that_quotes_the_link_loses_it(app: &mut TestApp) {
        let (intent, id) = app.ask(ladder()).await;
        let link = app.smtp.received()[0].link(&app.base);
        let secret = link.rsplit('/').next().unwrap();
        let detail = format!("552 refused: {link} and {}=\r\n{}", &secret[..8], &secret[8..]);
        let body = json!({"returned_to": token(app, OPERATOR), "kind": "hard", "detail": detail});
        let shown = app.api(Role::Channel).post("api/v1/deliveries/bounces", body).await.ok();
        assert!(shown["bounce"]["detail"].as_str().unwrap().starts_with("552 refused: "), "{shown}");
        for seen in [shown, json!(deliveries(app, &id).await), json!(app.agent().events(intent).await)] {
            assert!(!mentions(&seen, &secret[8..]) && !mentions(&seen, "plc_"), "{seen}");
        }
    }
}

/// If the operator sets an address for returned mail, each mail gets a return address of its own. A plain mailbox is then enough
/// to know which mail came back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mail_names_its_own_return_address() {
    let app = TestApp::start_with(|config| {
        config.mail.as_mut().unwrap().bounce_to = Some("bounces@example.com".into());
    })
    .await;
    let (_, id) = app.ask(json!({"notify_to": [OPERATOR, LEAD]})).await;
    let mails = app.smtp.received();
    assert_ne!(mails[0].from, mails[1].from);
    for mail in &mails {
        assert_eq!(mail.from, format!("bounces+{}@example.com", mail.header("x-placet-delivery").unwrap()));
        assert_eq!(mail.header("from").as_deref(), Some("Placet <placet@example.com>"), "what people see stays");
        let returned = format!("<{}>", mail.from.to_uppercase());
        assert_eq!(report(&app, &returned, "hard").await.ok()["recipient"], json!(mail.to[0]));
    }
    assert_eq!(app.agent().suspension(&id).await["reached"], json!(false));
    app.finish().await;
}

/// A step of the escalation ladder may change the channel instead of the people. A person who cannot be reached by mail is
/// then paged at once, and reminded by the channel that worked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_without_a_mailbox_is_asked_by_the_next_rungs_channel() {
    let receiver = Receiver::start().await;
    let app = TestApp::start_with(|config| add(config, vec![(webhook("pager", &receiver), Reach::People)], &[EMAIL])).await;
    app.smtp.refuse(OPERATOR);
    let ladder =
        json!({"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": [{"attempt": 2, "channel_hint": "pager"}]});
    let (intent, id) = app.ask(json!({"retry_policy": ladder})).await;
    let failovers = told(&app, intent, "delivery.failover").await;
    assert_eq!((&failovers[0]["channel_hint"], &failovers[0]["notify_to"]), (&json!("pager"), &json!([OPERATOR])));
    assert_eq!(failovers.len(), 1);
    assert_eq!(stand(&app, &id).await, ["1 1 ops@example.com failed", "2 1 ops@example.com sent"]);
    assert_eq!(receiver.posted()[0].json()["data"]["sequence"], json!(2));
    app.operator().post(&format!("api/v1/suspensions/{id}/remind"), json!({})).await.ok();
    app.settle().await;
    assert_eq!(deliveries(&app, &id).await[2]["channel"], json!("pager"));
    assert_eq!(receiver.posted().len(), 1, "since the last look");
    app.finish().await;
}
