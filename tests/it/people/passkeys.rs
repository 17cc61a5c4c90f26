//! Passkeys: a person registers one, and it signs answers; and everything that must not count as its signature.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::people::principal::Role;
use harness::app::TestApp;
use harness::authenticator::{Authenticator, Fields, PRESENT, VERIFIED};
use harness::on_each_store;
use harness::person::{Page, Person};
use harness::process::program;
use placet::{Decision, PasskeyError, SignatureError, Signed, verify_receipt, verify_signature};
use serde_json::{Value, json};
use store::Named;
use store::host::account;
use verify::report::Verdict;
use verify::{Options, Watchers, verify};

use super::logins::{ADA, list, log_in};

/// A second person.
const BEN: &str = "ben@example.com";

/// Gives the server a domain name: passkeys need one.
pub(crate) async fn at_home(app: &mut TestApp) {
    app.base = app.base.replace("127.0.0.1", "localhost");
    let public_url = app.base.parse().unwrap();
    app.restart_with(|config| {
        config.public_url = Some(public_url);
        config.asking.passkeys = true;
    })
    .await;
}

fn at(app: &TestApp, path: &str) -> String {
    format!("{}{path}", app.base)
}

fn fields<'a>(nonce: &'a str, more: &'a [(&'static str, &'a str)], signed: &'a Fields) -> Vec<(&'a str, &'a str)> {
    let signed = signed.iter().map(|(name, value)| (*name, value.as_str()));
    std::iter::once(("nonce", nonce)).chain(more.iter().copied()).chain(signed).collect()
}

/// The challenge for a change of passkeys, with what a browser needs beside it.
async fn challenged(app: &TestApp, person: &mut Person, more: &[(&'static str, &str)]) -> Value {
    let nonce = person.open(&at(app, "passkeys")).await.nonce();
    let asked = person.post(&at(app, "passkeys/challenge"), &fields(&nonce, more, &vec![])).await;
    assert_eq!(asked.status, 200, "{}", asked.html);
    serde_json::from_str(&asked.html).unwrap()
}

fn challenge(asked: &Value) -> &str {
    asked["challenge"].as_str().unwrap()
}

/// Sends a form of the page of passkeys.
async fn send(app: &TestApp, person: &mut Person, path: &str, more: &[(&'static str, &str)], signed: &Fields) -> Page {
    let nonce = person.open(&at(app, "passkeys")).await.nonce();
    person.post(&at(app, path), &fields(&nonce, more, signed)).await
}

/// Registers a passkey, which `by` allows if the person has one.
async fn register(app: &TestApp, person: &mut Person, new: &Authenticator, by: Option<&Authenticator>) -> Page {
    let asked = challenged(app, person, &[("adds", "one")]).await;
    let mut signed = new.register(challenge(&asked));
    signed.extend(by.into_iter().flat_map(|by| by.sign(challenge(&asked))));
    send(app, person, "passkeys", &[("adds", "one")], &signed).await
}

/// A person who has logged in and has a passkey.
pub(super) async fn person_with_passkey(app: &TestApp, address: &str) -> (Person, Authenticator) {
    list(app, address, Role::Operator).await;
    let mut person = log_in(app, address).await;
    let passkey = Authenticator::new(&app.base);
    let added = register(app, &mut person, &passkey, None).await;
    assert_eq!((added.status, added.header("location")), (303, "/passkeys"), "{}", added.html);
    (person, passkey)
}

fn refused(page: &Page, why: &str) {
    assert!(page.status == 403 && page.html.contains(why), "{why}: {} {}", page.status, page.html);
}

/// Asks for a choice that a passkey must sign, from one person.
pub(crate) async fn ask(app: &TestApp, to: &str) -> (String, String, String) {
    let choices = json!([{"value": "yes", "label": "Pay"}, {"value": "no", "label": "Do not pay"}]);
    ask_for(app, to, json!({"question": "Pay €9,999?", "choices": choices, "context": {"amount": 9999}})).await
}

/// Asks this question, which a passkey must answer, to one person. Gives the intent, the question and the link.
pub(crate) async fn ask_for(app: &TestApp, to: &str, mut body: Value) -> (String, String, String) {
    let intent = app.agent().active_intent().await;
    (body["notify_to"], body["required_assurance"]) = (json!([to]), json!("passkey"));
    let asked = app.agent().post(&format!("api/v1/intents/{intent}/suspend"), body).await.ok();
    assert_eq!(asked["required_assurance"], json!("passkey"));
    app.settle().await;
    (intent.to_string(), asked["id"].as_str().unwrap().to_owned(), app.next_link().await)
}

/// The challenge for an answer.
async fn answer_challenge(person: &mut Person, link: &str, value: &str) -> Value {
    let nonce = person.open(link).await.nonce();
    let asked = person.post(&format!("{link}/challenge"), &[("nonce", &nonce), ("value", value)]).await;
    assert_eq!(asked.status, 200, "{}", asked.html);
    serde_json::from_str(&asked.html).unwrap()
}

/// Sends an answer with these signed fields.
async fn answer(person: &mut Person, link: &str, value: &str, signed: &Fields) -> Page {
    let nonce = person.open(link).await.nonce();
    person.post(link, &fields(&nonce, &[("value", value), ("comment", "typed")], signed)).await
}

/// Answers with a signature, as the person in front of the page does.
pub(super) async fn signed_answer(person: &mut Person, passkey: &Authenticator, link: &str, value: &str) -> Page {
    let asked = answer_challenge(person, link, value).await;
    answer(person, link, value, &passkey.sign(challenge(&asked))).await
}

async fn is_open(app: &TestApp, question: &str) -> bool {
    app.operator().get(&format!("api/v1/suspensions/{question}")).await.ok()["resolution"].is_null()
}

/// The payload of the event that recorded the answer.
pub(crate) async fn recorded(app: &TestApp, intent: &str) -> Value {
    let events = app.api(Role::Auditor).events(intent.parse().unwrap()).await;
    events.iter().find(|event| event["event_type"] == "intent.resumed").unwrap()["payload"].clone()
}

async fn server_events(app: &TestApp, kind: &str) -> Vec<Value> {
    let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
    let events = events.as_array().unwrap().iter().filter(|event| event["event_type"] == kind);
    events.map(|event| event["payload"].clone()).collect()
}

on_each_store! {
    /// The whole way, with a restart in the middle: the passkey and the challenge of its registration live in the database.
    async fn a_passkey_is_registered_and_signs_an_answer(app: &mut TestApp) {
        at_home(app).await;
        list(app, ADA, Role::Operator).await;
        let mut ada = log_in(app, ADA).await;
        let mut passkey = Authenticator::new(&app.base);
        let asked = challenged(app, &mut ada, &[("adds", "one")]).await;
        assert_eq!((&asked["rp_id"], &asked["passkeys"], &asked["algorithms"]), (&json!("localhost"), &json!([]), &json!([-7, -8, -257])));
        assert_eq!(asked["user"]["name"], json!(ADA));
        app.restart().await;
        let added = send(app, &mut ada, "passkeys", &[("adds", "one")], &passkey.register(challenge(&asked))).await;
        assert_eq!(added.status, 303, "{}", added.html);
        let [event] = server_events(app, "passkey.added").await.try_into().unwrap();
        assert_eq!((&event["person"], &event["credential_id"], &event["public_key"]), (&json!(ADA), &json!(passkey.id()), &json!(passkey.public_key())));
        assert_eq!((&event["algorithm"], &event["rp_id"], event.get("allowed_by")), (&json!(-7), &json!("localhost"), None));
        let known = app.store().known_passkeys(account::principal()).await.unwrap();
        assert_eq!(json!(known), json!([passkey.known(ADA)]));

        let (intent, question, link) = ask(app, ADA).await;
        let asked = answer_challenge(&mut ada, &link, "yes").await;
        assert_eq!((&asked["passkeys"], asked.get("user")), (&json!([passkey.id()]), None));
        app.restart().await;
        passkey.counter = 1;
        let answered = answer(&mut ada, &link, "yes", &passkey.sign(challenge(&asked))).await;
        assert_eq!(answered.status, 303, "{}", answered.html);
        assert!(!is_open(app, &question).await);
        let payload = recorded(app, &intent).await;
        assert_eq!((&payload["assurance"], &payload["value"], &payload["responded_by"]), (&json!("passkey"), &json!("yes"), &json!(ADA)));
        assert_eq!(payload["assertion"]["credential_id"], json!(passkey.id()));
        let page = ada.open(&at(app, "passkeys")).await;
        assert!(page.html.contains(&passkey.id()) && !page.html.contains(">never<"), "{}", page.html);
    }

    /// Each wrong signature is a way in for an attacker; each is refused with its reason, keeps the question open and the text typed.
    async fn an_answer_with_another_signature_is_refused(app: &mut TestApp) {
        at_home(app).await;
        let (mut ada, mut passkey) = person_with_passkey(app, ADA).await;
        let (_, others) = person_with_passkey(app, BEN).await;
        let (_, question, link) = ask(app, ADA).await;
        let (_, _, other_link) = ask(app, ADA).await;
        passkey.counter = 5;
        let asked = answer_challenge(&mut ada, &link, "yes").await;
        let elsewhere = answer_challenge(&mut ada, &other_link, "yes").await;
        let challenge = challenge(&asked);
        let good = passkey.sign(challenge);
        let mut refusals: Vec<(Fields, &str, &str)> = vec![
            (passkey.sign(elsewhere["challenge"].as_str().unwrap()), "yes", "signed something else"),
            (good.clone(), "no", "signed something else"),
            (others.sign(challenge), "yes", "not one of this person"),
            (Authenticator::new(&app.base).sign(challenge), "yes", "not one of this person"),
            (vec![], "yes", "No passkey signed this answer"),
            (good[..3].to_vec(), "yes", "No passkey signed this answer"),
        ];
        let origin = std::mem::replace(&mut passkey.origin, "https://evil.example".into());
        refusals.push((passkey.sign(challenge), "yes", "another site"));
        passkey.origin = origin;
        let rp_id = std::mem::replace(&mut passkey.rp_id, "evil.example".into());
        refusals.push((passkey.sign(challenge), "yes", "another domain"));
        passkey.rp_id = rp_id;
        passkey.flags = PRESENT;
        refusals.push((passkey.sign(challenge), "yes", "did not verify its user"));
        passkey.flags = VERIFIED;
        refusals.push((passkey.sign(challenge), "yes", "no person was present"));
        passkey.flags = PRESENT | VERIFIED;
        let mut forged = good.clone();
        forged[3].1 = others.sign(challenge)[3].1.clone();
        refusals.push((forged, "yes", "signature is wrong"));
        for (signed, value, why) in refusals {
            // A link takes ten forms in a minute; a server that was started anew has counted none.
            app.restart().await;
            let page = answer(&mut ada, &link, value, &signed).await;
            refused(&page, why);
            assert!(page.html.contains(">\ntyped</textarea>"), "{why}: {}", page.html);
        }
        app.restart().await;
        assert!(is_open(app, &question).await);
        assert_eq!(answer(&mut ada, &link, "yes", &good).await.status, 303);
    }

    /// A copied passkey shows itself by its counter. It must advance from answer to answer, also over a restart.
    async fn a_counter_that_does_not_advance_is_refused(app: &mut TestApp) {
        at_home(app).await;
        let (mut ada, mut passkey) = person_with_passkey(app, ADA).await;
        for (counter, counts) in [(7, true), (7, false), (6, false), (0, false), (8, true)] {
            let (_, question, link) = ask(app, ADA).await;
            passkey.counter = counter;
            let asked = answer_challenge(&mut ada, &link, "yes").await;
            let page = answer(&mut ada, &link, "yes", &passkey.sign(challenge(&asked))).await;
            assert_eq!(page.status, if counts { 303 } else { 403 }, "{counter}: {}", page.html);
            assert!(counts || page.html.contains("counter did not advance"));
            assert_eq!(is_open(app, &question).await, !counts);
            app.restart().await;
        }
    }

    /// There is no second way to decide: not by a key, whatever its role, and not by a gateway.
    async fn a_question_that_demands_a_passkey_is_answered_on_its_page_alone(app: &mut TestApp) {
        at_home(app).await;
        let (mut ada, passkey) = person_with_passkey(app, ADA).await;
        let (intent, question, link) = ask(app, ADA).await;
        let body = json!({"suspension_id": question, "value": "yes", "responded_by": ADA});
        let asked = answer_challenge(&mut ada, &link, "yes").await;
        let mut signed = json!({"suspension_id": question, "value": "yes", "responded_by": ADA});
        for (name, value) in passkey.sign(challenge(&asked)) {
            signed[name] = json!(value);
        }
        for role in [Role::Operator, Role::Channel] {
            for body in [&body, &signed] {
                let refused = app.api(role).post(&format!("api/v1/intents/{intent}/suspend/respond"), body.clone()).await;
                let problem = refused.problem();
                assert_eq!((problem.0, problem.1), (403, "assurance_too_low"), "{role}");
            }
        }
        assert!(is_open(app, &question).await);
        let withdrawn = app.agent().post(&format!("api/v1/suspensions/{question}/cancel"), json!({})).await;
        withdrawn.ok();
        assert!(!is_open(app, &question).await);
    }

    /// A third party that knew the passkey beforehand needs neither the server nor trust in its key of the log.
    async fn a_receipt_and_an_export_carry_the_signature(app: &mut TestApp) {
        at_home(app).await;
        let (mut ada, passkey) = person_with_passkey(app, ADA).await;
        let (intent, question, link) = ask(app, ADA).await;
        let asked = answer_challenge(&mut ada, &link, "yes").await;
        assert_eq!(answer(&mut ada, &link, "yes", &passkey.sign(challenge(&asked))).await.status, 303);
        let metrics = app.api(Role::Auditor).get("metrics").await.text;
        assert!(metrics.contains("placet_decisions_total{outcome=\"answered\",method=\"passkey\"} 1\n"), "{metrics}");
        let key = app.checkpoints().key().unwrap().verifying().clone();
        let issued = app.agent().post(&format!("api/v1/suspensions/{question}/receipt"), json!({})).await.ok();
        let decision = verify_receipt(issued["receipt"].to_string().as_bytes(), std::slice::from_ref(&key)).unwrap();
        assert_eq!(decision.intent_id.to_string(), intent);
        let known = |passkey: &Authenticator, person: &str| vec![serde_json::from_value(passkey.known(person)).unwrap()];
        assert_eq!(verify_signature(&decision, &known(&passkey, ADA)), Ok(Signed::ByKnown));
        assert_eq!(verify_signature(&decision, &known(&Authenticator::new(&app.base), ADA)), Ok(Signed::Unknown));
        assert_eq!(verify_signature(&decision, &known(&passkey, BEN)), Err(SignatureError::Wrong(PasskeyError::OtherPerson)));
        let changed = Decision { value: json!("no"), ..decision.clone() };
        assert_eq!(verify_signature(&changed, &known(&passkey, ADA)), Err(SignatureError::Wrong(PasskeyError::Challenge)));
        let unsigned = Decision { assertion: None, ..decision };
        assert_eq!(verify_signature(&unsigned, &known(&passkey, ADA)), Err(SignatureError::Missing));

        let file = app.folder().join("receipt.json");
        std::fs::write(&file, issued["receipt"].to_string()).unwrap();
        let other = Authenticator::new(&app.base);
        for (passkeys, code, words) in [
            (None, 0, "signed by a passkey that you do not know"),
            (Some(passkey.known(ADA)), 0, "signed by a passkey of this person that you knew beforehand"),
            (Some(other.known(ADA)), 1, "the passkey that signed the answer is not among those in"),
            (Some(passkey.known(BEN)), 1, "not accepted: the passkey is not accepted"),
        ] {
            let mut command = std::process::Command::new(program());
            command.args(["receipt", "verify", "--key", &key.to_string()]).arg(&file);
            if let Some(passkeys) = passkeys {
                let listed = app.folder().join("passkeys.json");
                std::fs::write(&listed, json!([passkeys]).to_string()).unwrap();
                command.arg("--passkeys").arg(&listed);
            }
            let done = command.output().unwrap();
            let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
            assert!(done.status.code() == Some(code) && said.contains(words), "{words}: {said}");
        }

        app.checkpoints().turn().await.unwrap();
        let export = app.api(Role::Auditor).get("api/v1/export").await.text;
        for (passkeys, remark) in [(known(&passkey, ADA), false), (vec![], true)] {
            let options = Options { passkeys, ..Options::with_keys(vec![key.clone()]) };
            let report = verify("export", export.as_bytes(), &options, Watchers::default());
            assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
            let remarked = report.not_checkable.iter().any(|remark| remark.code == "decisions_passkey_of_log");
            assert_eq!(remarked, remark, "{:#?}", report.not_checkable);
        }
    }

    /// An address that is not listed, or not confirmed, has no passkeys, and the page says what to do.
    async fn only_people_who_have_logged_in_have_passkeys(app: &mut TestApp) {
        at_home(app).await;
        let (_, question, link) = ask(app, "eve@example.com").await;
        let body = json!({
            "question": "Pay now?", "response_type": "confirm", "notify_to": ["eve@example.com"], "required_assurance": "passkey",
            "supersedes": question,
        });
        let intent = app.agent().suspension(&question).await["intent_id"].as_str().unwrap().to_owned();
        let asked = app.agent().post(&format!("api/v1/intents/{intent}/suspend"), body).await.ok();
        assert!(asked["warnings"][0].as_str().unwrap().contains("none of the people who are asked has a passkey"), "{asked}");
        app.settle().await;
        let newer = app.next_link().await;
        assert_ne!(newer, link);
        let link = newer;
        let mut eve = app.person();
        let page = eve.open(&link).await;
        assert!(page.html.contains("your address is not that of one") && !page.html.contains("data-challenge"), "{}", page.html);
        let nonce = page.nonce();
        assert_eq!(eve.post(&format!("{link}/challenge"), &[("nonce", &nonce), ("value", "yes")]).await.status, 422);
        refused(&answer(&mut eve, &link, "yes", &vec![]).await, "No passkey signed this answer");
        let signed = Authenticator::new(&app.base).sign("AAAA");
        refused(&answer(&mut eve, &link, "yes", &signed).await, "not that of a person who has logged in");
        list(app, "eve@example.com", Role::Operator).await;
        assert!(eve.open(&link).await.html.contains("your address is not that of one"), "listed, but not confirmed");
        log_in(app, "eve@example.com").await;
        assert!(eve.open(&link).await.html.contains("You have no passkey on this server"));
    }

    /// A person who stole a session must neither add a passkey beside those of its person nor remove them to add the first.
    async fn after_the_first_each_change_is_signed(app: &mut TestApp) {
        at_home(app).await;
        let (mut ada, mut first) = person_with_passkey(app, ADA).await;
        let (_, others) = person_with_passkey(app, BEN).await;
        let second = Authenticator::new(&app.base);
        refused(&register(app, &mut ada, &second, None).await, "must allow another one");
        refused(&register(app, &mut ada, &second, Some(&others)).await, "not one of this person");
        refused(&register(app, &mut ada, &second, Some(&second)).await, "not one of this person");
        first.counter = 1;
        refused(&register(app, &mut ada, &first, Some(&first)).await, "registered already");
        assert_eq!(register(app, &mut ada, &second, Some(&first)).await.status, 303);
        let events = server_events(app, "passkey.added").await;
        assert_eq!(events.last().unwrap()["allowed_by"], json!(first.id()));

        let id = first.id();
        refused(&send(app, &mut ada, "passkeys/remove", &[("removed", &id)], &vec![]).await, "did not sign");
        let asked = challenged(app, &mut ada, &[]).await;
        let signed = second.sign(challenge(&asked));
        assert_eq!(send(app, &mut ada, "passkeys/remove", &[("removed", &id)], &signed).await.status, 303);
        let [event] = server_events(app, "passkey.removed").await.try_into().unwrap();
        assert_eq!((&event["person"], &event["credential_id"]), (&json!(ADA), &json!(first.id())));
        // A passkey that was removed signs nothing more.
        let (_, question, link) = ask(app, ADA).await;
        let asked = answer_challenge(&mut ada, &link, "yes").await;
        first.counter = 9;
        refused(&answer(&mut ada, &link, "yes", &first.sign(challenge(&asked))).await, "not one of this person");
        assert!(is_open(app, &question).await);
        // An admin takes all away; then the next one is the first again.
        let (person, count) = app.store().reset_passkeys(account::principal(), Ok(ADA.to_owned())).await.unwrap();
        assert_eq!((person.address.as_str(), count), (ADA, 1));
        assert_eq!(register(app, &mut ada, &first, None).await.status, 303);
    }

    /// The challenge of a registration works once, for five minutes, in its own session.
    async fn a_registration_needs_its_own_challenge(app: &mut TestApp) {
        at_home(app).await;
        for address in [ADA, BEN] {
            list(app, address, Role::Operator).await;
        }
        let (mut ada, mut ben) = (log_in(app, ADA).await, log_in(app, BEN).await);
        let passkey = Authenticator::new(&app.base);
        let adds = &[("adds", "one")];
        let foreign = challenged(app, &mut ben, adds).await;
        let own = challenged(app, &mut ada, adds).await;
        refused(&send(app, &mut ada, "passkeys", adds, &passkey.register(challenge(&foreign))).await, "signed something else");
        refused(&send(app, &mut ada, "passkeys", adds, &passkey.register(challenge(&own))).await, "open for too long");
        let late = challenged(app, &mut ada, adds).await;
        app.advance(300).await;
        refused(&send(app, &mut ada, "passkeys", adds, &passkey.register(challenge(&late))).await, "open for too long");
        let in_time = challenged(app, &mut ada, adds).await;
        app.advance(299).await;
        assert_eq!(send(app, &mut ada, "passkeys", adds, &passkey.register(challenge(&in_time))).await.status, 303);
        refused(&register(app, &mut ben, &passkey, None).await, "registered already");
        refused(&send(app, &mut ben, "passkeys", adds, &vec![]).await, "did not sign");
        let mut elsewhere = Authenticator::new("https://evil.example");
        refused(&register(app, &mut ben, &elsewhere, None).await, "another site");
        elsewhere.origin = passkey.origin.clone();
        refused(&register(app, &mut ben, &elsewhere, None).await, "another domain");
    }

    /// Twenty passkeys are enough for a person, and a number without end would fill the page and the database.
    async fn a_person_has_at_most_twenty_passkeys(app: &mut TestApp) {
        at_home(app).await;
        let (mut ada, first) = person_with_passkey(app, ADA).await;
        for _ in 1..20 {
            assert_eq!(register(app, &mut ada, &Authenticator::new(&app.base), Some(&first)).await.status, 303);
        }
        refused(&register(app, &mut ada, &Authenticator::new(&app.base), Some(&first)).await, "at most 20 passkeys");
    }

    /// The passkeys of a person who is removed count no longer, and the log says so.
    async fn a_person_who_is_removed_has_no_passkeys(app: &mut TestApp) {
        at_home(app).await;
        let (mut ada, passkey) = person_with_passkey(app, ADA).await;
        let (_, _, link) = ask(app, ADA).await;
        app.store().remove_person(account::principal(), Ok(Named::Address(ADA.to_owned()))).await.unwrap();
        let [event] = server_events(app, "passkey.removed").await.try_into().unwrap();
        assert_eq!(event["credential_id"], json!(passkey.id()));
        list(app, ADA, Role::Operator).await;
        log_in(app, ADA).await;
        assert!(ada.open(&link).await.html.contains("You have no passkey on this server"));
    }

    /// A question that no person can answer must not be born: the refusal names field and rule.
    async fn a_server_without_a_domain_name_asks_no_such_question(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        let ask = async |value: &str| {
            let body = json!({"question": "Pay?", "response_type": "confirm", "required_assurance": value});
            app.agent().post(&format!("api/v1/intents/{intent}/suspend"), body).await
        };
        for (value, rule) in [("passkey", "unsupported"), ("mailbox", "type"), ("", "type")] {
            let refused = ask(value).await;
            let (status, code, field, found) = refused.field_problem();
            assert_eq!((status, code, field, found), (422, "invalid", "required_assurance", rule), "{value}");
        }
        list(app, ADA, Role::Operator).await;
        let mut ada = log_in(app, ADA).await;
        let page = ada.open(&at(app, "passkeys")).await;
        assert!(page.html.contains("There are no passkeys here") && !page.html.contains("data-challenge"), "{}", page.html);
        let refused = ada.post(&at(app, "passkeys/challenge"), &[("nonce", &page.nonce()), ("adds", "one")]).await;
        assert_eq!(refused.status, 422);
    }
}
