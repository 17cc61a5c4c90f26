//! Questions on which several people must agree, while answers, people and the question itself change.

use domain::base::clock::Clock as _;
use domain::base::time::naive;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use placet::Client;
use serde_json::{Value, json};

use super::assignees::{ADA, BOB, EVE, directory, mails, set};
use super::passkeys::at_home;
use super::quorums::{asked, counted, keys, take_back, tally, two};

/// Announces a question as the OpenIntent client does, and writes its record.
async fn record(app: &TestApp, agent: &Api, intent: &str, id: &str) -> Reply {
    let path = format!("api/v1/intents/{intent}");
    let version = async || agent.get(&path).await.ok()["version"].to_string();
    agent.post_at(&format!("{path}/status"), &version().await, json!({"status": "suspended_awaiting_input"})).await;
    let record = json!({
        "id": id, "question": "Refund order 12345?", "response_type": "confirm", "context": {}, "fallback_policy": "fail",
        "suspended_at": naive(app.clock.now()), "quorum": two(), "assignees": {"groups": ["finance"]},
    });
    let patches = json!({"patches": [{"op": "set", "path": "_suspension", "value": record}]});
    agent.post_at(&format!("{path}/state"), &version().await, patches).await
}

on_each_store! {
    /// An answer that was taken back or replaced is given again: the SDK must not repeat the reply to the first one.
    async fn the_sdk_gives_an_answer_again(app: &mut TestApp) {
        directory(app).await;
        let [ada, ..] = keys(app).await;
        let quorum = json!({"required_approvals": 2, "required_refusals": 2});
        let (_, id) = asked(app, quorum, json!({})).await;
        let client = Client::new(app.base.clone(), ada.key().to_owned()).unwrap();
        let question = client.open_suspensions(None).await.unwrap().suspensions.remove(0);
        for value in ["approve", "deny", "approve"] {
            client.respond(&question, json!(value), None).await.unwrap();
            assert_eq!(counted(app, &id).await, [(ADA.to_owned(), value.to_owned())]);
        }
        client.take_back(&question).await.unwrap();
        assert_eq!(counted(app, &id).await, []);
        client.respond(&question, json!("approve"), None).await.unwrap();
        assert_eq!(counted(app, &id).await, [(ADA.to_owned(), "approve".to_owned())]);
        mails(app).await;
    }

    /// A person who answers on a page that does not show the newest answers sees them first. Otherwise the log would say that the person
    /// had seen them.
    async fn a_page_that_is_behind_is_shown_again(app: &mut TestApp) {
        directory(app).await;
        let [ada, ..] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        let link = mails(app).await[1].1.clone();
        let mut bob = app.person();
        let nonce = bob.open(&link).await.nonce();
        ada.respond(intent, &id, "deny-not").await;
        ada.respond(intent, &id, "approve").await.ok();
        let behind = bob.post(&link, &[("nonce", &nonce), ("value", "approve"), ("comment", "fine")]).await;
        assert_eq!(behind.status, 409, "{}", behind.html);
        for words in ["The question changed while this page was open", "fine", ADA] {
            assert!(behind.html.contains(words), "{words}: {}", behind.html);
        }
        assert_eq!(counted(app, &id).await, [(ADA.to_owned(), "approve".to_owned())]);
        let forged = format!("{}.sha256:AAAA", nonce.split_once('.').unwrap().0);
        assert_eq!(bob.post(&link, &[("nonce", &forged), ("value", "approve")]).await.status, 409);
        let nonce = behind.nonce();
        assert_eq!(bob.post(&link, &[("nonce", &nonce), ("value", "approve")]).await.status, 303);
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!("responded"));
    }

    /// Taking an answer back decides nothing, so it needs no passkey.
    async fn an_answer_that_a_passkey_signs_is_taken_back_without_one(app: &mut TestApp) {
        at_home(app).await;
        directory(app).await;
        let [ada, ..] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({"required_assurance": "passkey"})).await;
        assert_eq!(ada.respond(intent, &id, "approve").await.problem(), (403, "assurance_too_low"));
        assert_eq!(take_back(&ada, &id).await.problem(), (409, "not_counted"));
        mails(app).await;
    }

    /// People decide by the label that they read. An agent must not turn their no into an approval by another value behind it.
    async fn a_label_that_says_no_refuses(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let choices = json!([{"value": "a", "label": "Approve"}, {"value": "b", "label": "Deny"}]);
        let (intent, id) = asked(app, two(), json!({"choices": choices})).await;
        assert_eq!(tally(ada.respond(intent, &id, "a").await), (1, 2));
        assert_eq!(bob.respond(intent, &id, "b").await.ok()["resolution"], json!("responded"));
        mails(app).await;
    }

    /// An agent must not replace a question that people have answered with one that silence decides.
    async fn silence_on_another_question_undoes_no_answer(app: &mut TestApp) {
        directory(app).await;
        let [ada, ..] = keys(app).await;
        let (intent, id) = asked(app, json!({"required_approvals": 2, "required_refusals": 2}), json!({})).await;
        ada.respond(intent, &id, "deny").await.ok();
        let anew = |policy: &str| json!({"supersedes": id, "fallback_policy": policy, "timeout_seconds": 3600});
        let mut permissive = anew("complete_with_fallback");
        permissive["fallback_value"] = json!("approve");
        let refused = app.agent().suspend(intent, permissive).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "fallback_policy", "answered"));
        assert_eq!(counted(app, &id).await.len(), 1);
        let replaced = app.agent().suspend(intent, anew("fail")).await.ok();
        app.restart().await;
        // A question in between forgets nothing, and neither does a withdrawal.
        let mut again = json!({"supersedes": replaced["id"], "fallback_policy": "complete_with_fallback", "fallback_value": "approve", "timeout_seconds": 3600});
        assert_eq!(app.agent().suspend(intent, again.clone()).await.field_problem(), (422, "invalid", "fallback_policy", "answered"));
        let third = replaced["id"].as_str().unwrap().to_owned();
        app.agent().post(&format!("api/v1/suspensions/{third}/cancel"), json!({})).await.ok();
        again.as_object_mut().unwrap().remove("supersedes");
        assert_eq!(app.agent().status(intent).await, "active");
        assert_eq!(app.agent().suspend(intent, again.clone()).await.field_problem(), (422, "invalid", "fallback_policy", "answered"));
        // An answer of a person ends the row of questions.
        again["fallback_policy"] = json!("fail");
        again.as_object_mut().unwrap().remove("fallback_value");
        let last = app.agent().suspend(intent, again.clone()).await.ok();
        app.operator().respond(intent, last["id"].as_str().unwrap(), "approve").await.ok();
        again["fallback_policy"] = json!("complete_with_fallback");
        again["fallback_value"] = json!("approve");
        app.agent().suspend(intent, again).await.ok();
        let before = app.agent().suspension(&id).await;
        assert_eq!((&before["resolution"], &before["counted"]), (&json!("cancelled"), &Value::Null));
        assert!(replaced["counted"].is_null());
        mails(app).await;
    }

    /// Withdrawn, a question has no counted answers in any reply.
    async fn an_ended_question_counts_no_answers(app: &mut TestApp) {
        directory(app).await;
        let [ada, ..] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        ada.respond(intent, &id, "approve").await.ok();
        let ended = app.agent().post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        assert_eq!((&ended["resolution"], &ended["counted"]), (&json!("cancelled"), &Value::Null));
        app.restart().await;
        assert_eq!(counted(app, &id).await, []);
        mails(app).await;
    }

    /// The client writes its record again after a restart, and the group has another member by then: it is the same question.
    async fn a_record_that_is_repeated_is_the_same_question_after_people_have_changed(app: &mut TestApp) {
        directory(app).await;
        let [ada, ..] = keys(app).await;
        let agent = Api::new(&app.base, Some(&app.new_client_key("py").await));
        let id = agent.active_intent().await;
        let intent = id.to_string();
        let first = record(app, &agent, &intent, "first").await.ok()["state"]["_suspension"]["id"].clone();
        let question = first.as_str().unwrap();
        assert_eq!(tally(ada.respond(id, question, "yes").await), (1, 2));
        set(app, "finance", &[ADA, BOB, EVE]).await;
        record(app, &agent, &intent, "second").await.ok();
        let open = agent.suspension(question).await;
        assert_eq!((&open["resolution"], open["counted"].as_array().unwrap().len()), (&Value::Null, 1));
        assert!(agent.event_types(id).await.contains(&"intent.suspension_adopted".to_owned()));
        mails(app).await;
    }

    /// A record whose quorum no people can make is refused, and the intent gets its status back.
    async fn a_record_with_an_impossible_quorum_ends_its_announcement(app: &mut TestApp) {
        directory(app).await;
        set(app, "finance", &[ADA]).await;
        let agent = Api::new(&app.base, Some(&app.new_client_key("py").await));
        let intent = agent.active_intent().await;
        let refused = record(app, &agent, &intent.to_string(), "first").await;
        assert_eq!(refused.problem(), (422, "invalid"));
        assert!(refused.text.contains("quorum.required_approvals"), "{}", refused.text);
        assert_eq!(agent.status(intent).await, "active");
        app.settle().await;
    }

    /// The asker learns that fewer people are told than must agree, also from the reply to a repeated request.
    async fn fewer_people_told_than_must_agree_is_a_warning(app: &mut TestApp) {
        directory(app).await;
        let intent = app.agent().active_intent().await;
        let body = json!({
            "question": "Go?", "response_type": "confirm", "quorum": two(), "assignees": {"people": [ADA, BOB, EVE]}, "notify_to": [ADA],
        });
        for _ in 0..2 {
            let request = app.agent().request("POST", &format!("api/v1/intents/{intent}/suspend"));
            let asked = app.agent().send(request.header("idempotency-key", "k").json(&body)).await.ok();
            assert!(asked["warnings"].to_string().contains("2 people must agree, and 1 are told"), "{asked}");
        }
        mails(app).await;
    }
}
