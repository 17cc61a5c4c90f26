//! Questions that demand a recent login by the issuer of identities.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use domain::base::clock::Clock as _;
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::app::TestApp;
use harness::issuer::Issuer;
use harness::on_each_store;
use harness::person::{Page, Person};
use serde_json::{Value, json};
use verify::{Options, Watchers, verify};

use super::assignees::{ADA, key_of, list, mails};
use super::logins::log_in;
use super::openid::with_issuer;

/// Asks Ada with this demand; gives the intent and the id of the question.
async fn ask(app: &TestApp, demand: &str) -> (IntentId, String) {
    let intent = app.agent().active_intent().await;
    let body = json!({"notify_to": [ADA], "required_assurance": demand});
    let asked = app.agent().suspend(intent, body).await.ok();
    (intent, asked["id"].as_str().unwrap().to_owned())
}

fn page_of(app: &TestApp, id: &str) -> String {
    format!("{}questions/{id}", app.base)
}

/// Logs in by the issuer on the way from a question; gives the address at the issuer, and the page to which the way leads.
async fn enter(app: &TestApp, issuer: &Issuer, person: &mut Person, id: &str) -> (String, Page) {
    let shown = person.open(&format!("{}login?question={id}&fresh=1", app.base)).await;
    assert!(!shown.html.contains("name=\"address\"") && shown.html.contains("only within a few minutes"), "{}", shown.html);
    let fields = [("nonce", shown.nonce()), ("question", id.to_owned()), ("fresh", "1".to_owned())];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let pressed = person.post(&format!("{}login/openid", app.base), &fields).await;
    let there = pressed.header("location").to_owned();
    let entered = person.open(&issuer.answer(&there)).await;
    assert_eq!((entered.status, entered.header("location")), (303, format!("/questions/{id}").as_str()), "{}", entered.html);
    let back = person.open(&page_of(app, id)).await;
    (there, back)
}

/// Answers on the page of the question.
async fn answer(app: &TestApp, person: &mut Person, id: &str, comment: &str) -> Page {
    let shown = person.open(&page_of(app, id)).await;
    let nonce = shown.nonce();
    person.post(&page_of(app, id), &[("nonce", &nonce), ("person", ADA), ("value", "approve"), ("comment", comment)]).await
}

async fn resumed(app: &TestApp, intent: IntentId) -> Value {
    let events = app.api(Role::Auditor).events(intent).await;
    events.into_iter().find(|event| event["event_type"] == "intent.resumed").unwrap()["payload"].clone()
}

async fn findings(app: &TestApp) -> Vec<String> {
    app.checkpoints().turn().await.unwrap();
    let key = app.checkpoints().key().unwrap().verifying().clone();
    let export = app.api(Role::Auditor).get("api/v1/export").await.text;
    let report = verify("export", export.as_bytes(), &Options::with_keys(vec![key]), Watchers::default());
    report.findings.into_iter().map(|finding| finding.text).collect()
}

on_each_store! {
    /// A login by mail is not enough. The page leads to the issuer, who asks the person again, and back; nothing that was typed is lost.
    async fn a_question_sends_the_person_to_a_new_login_and_back(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, "operator").await;
        let (intent, id) = ask(app, "recent_login").await;
        mails(app).await;
        let refused = key_of(app, ADA, "ada").await.respond(intent, &id, "approve").await;
        let members: Value = serde_json::from_str(&refused.text).unwrap();
        assert_eq!(refused.problem(), (403, "assurance_too_low"));
        assert_eq!((&members["required_assurance"], &members["given_assurance"]), (&json!("recent_login"), &json!("none")));
        let mut ada = log_in(app, ADA).await;
        let shown = ada.open(&page_of(app, &id)).await;
        assert!(shown.html.contains("id=\"login\"") && shown.html.contains("fresh=1"), "{}", shown.html);
        let refused = answer(app, &mut ada, &id, "Looks right.").await;
        assert!(refused.status == 403 && refused.html.contains("fresh=1") && refused.html.contains("Looks right."), "{}", refused.html);
        app.restart().await;
        let (there, back) = enter(app, &issuer, &mut ada, &id).await;
        assert!(there.contains("prompt=login") && there.contains("max_age=300"), "{there}");
        assert!(back.html.contains("Looks right.") && !back.html.contains("id=\"login\""), "{}", back.html);
        assert_eq!(answer(app, &mut ada, &id, "Looks right.").await.status, 303);
        let logged = resumed(app, intent).await;
        assert_eq!((&logged["assurance"], &logged["credential"]["kind"]), (&json!("recent_login"), &json!("session")));
        // An answer to another question has the assurance that this one demands.
        let (intent, id) = ask(app, "session").await;
        mails(app).await;
        assert_eq!(answer(app, &mut ada, &id, "").await.status, 303);
        assert_eq!(resumed(app, intent).await["assurance"], json!("session"));
        assert_eq!(findings(app).await, Vec::<String>::new());
    }

    /// A login is recent for so long after the time that the issuer says, and not a second longer; and not at all without that time.
    async fn a_login_is_recent_for_five_minutes(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, "operator").await;
        let (_, first) = ask(app, "recent_login").await;
        let (_, second) = ask(app, "recent_login").await;
        mails(app).await;
        let mut ada = app.person();
        enter(app, &issuer, &mut ada, &first).await;
        app.advance(300).await;
        assert_eq!(answer(app, &mut ada, &first, "").await.status, 303);
        let shown = ada.open(&page_of(app, &second)).await;
        assert!(!shown.html.contains("id=\"login\""), "{}", shown.html);
        app.advance(1).await;
        assert_eq!(answer(app, &mut ada, &second, "").await.status, 403);
        let before = (app.clock.now() - TimeDelta::seconds(301)).timestamp();
        for auth_time in [json!(before), Value::Null] {
            issuer.behave_but(|behaviour| behaviour.claim("auth_time", auth_time.clone()));
            let (_, back) = enter(app, &issuer, &mut ada, &second).await;
            assert!(back.html.contains("id=\"login\""), "{auth_time}: {}", back.html);
            assert_eq!(answer(app, &mut ada, &second, "").await.status, 403, "{auth_time}");
        }
        issuer.behave_but(|_| {});
        enter(app, &issuer, &mut ada, &second).await;
        assert_eq!(answer(app, &mut ada, &second, "").await.status, 303);
        assert_eq!(findings(app).await, Vec::<String>::new());
        mails(app).await;
    }

    /// Where no issuer says when people logged in, no question can demand it.
    async fn a_server_without_an_issuer_refuses_the_demand(app: &mut TestApp) {
        list(app, ADA, "operator").await;
        let intent = app.agent().active_intent().await;
        let refused = app.agent().suspend(intent, json!({"notify_to": [ADA], "required_assurance": "recent_login"})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "required_assurance", "unsupported"));
    }
}
