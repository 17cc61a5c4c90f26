//! The time zone and the locale of people: who sets them, and what they change.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeMap;

use domain::people::preferences::{LOCALE_MAX, TIME_ZONE_MAX};
use domain::people::principal::Role;
use domain::people::roster::{Entry, Roster};
use harness::app::TestApp;
use harness::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::directory::{BOB, call, listed, people};
use super::hands::rule as broken;
use super::logins::{ADA, last, log_in};

/// Lists Ada, who reads German in Vienna.
async fn ada_in_vienna(app: &TestApp) -> String {
    let person = json!({"address": ADA, "role": "operator", "time_zone": "Europe/Vienna", "locale": "de-at"});
    let added = call(app, Role::Admin, "POST", "people", person).await.ok();
    assert_eq!((&added["time_zone"], &added["locale"]), (&json!("Europe/Vienna"), &json!("de-AT")));
    format!("people/{}", added["id"].as_str().unwrap())
}

async fn change(app: &TestApp, path: &str, body: Value) -> (Value, Value) {
    let changed = call(app, Role::Admin, "PATCH", path, body).await.ok();
    (changed["time_zone"].clone(), changed["locale"].clone())
}

/// Asks Ada a question; the mail and its link.
async fn asked(app: &TestApp) -> (harness::smtp::Received, String) {
    let intent = app.agent().active_intent().await;
    app.agent().suspend(intent, json!({"assignees": {"people": [ADA]}, "timeout_seconds": 7_200})).await.ok();
    app.settle().await;
    let mail = app.smtp.next_mail().await;
    let link = mail.link(&app.base);
    (mail, link)
}

on_each_store! {
    /// A change names what changes; the rest stays, also over a restart. Each change is told to the auditor, and what changes nothing is not.
    async fn an_admin_says_where_a_person_is_and_what_the_person_reads(app: &mut TestApp) {
        let ada = ada_in_vienna(app).await;
        app.restart().await;
        let vienna = json!("Europe/Vienna");
        assert_eq!(change(app, &ada, json!({})).await, (vienna.clone(), json!("de-AT")), "nothing changes");
        assert_eq!(change(app, &ada, json!({"locale": null})).await, (vienna.clone(), json!(null)));
        assert_eq!(change(app, &ada, json!({"time_zone": "UTC", "locale": "EN-gb"})).await, (json!("UTC"), json!("en-GB")));
        assert_eq!(change(app, &ada, json!({"locale": "en-GB"})).await, (json!("UTC"), json!("en-GB")), "nothing changes");
        app.restart().await;
        assert_eq!(people(app).await[0]["locale"], json!("en-GB"));
        let told: Vec<(String, Value, Value)> = last(app, 3).await.into_iter().map(|(kind, _, payload)| (kind, payload["time_zone"].clone(), payload["locale"].clone())).collect();
        let event = |kind: &str, zone: &Value, locale: Value| (kind.to_owned(), zone.clone(), locale);
        assert_eq!(told, [event("person.added", &vienna, json!("de-AT")), event("person.changed", &vienna, json!(null)), event("person.changed", &json!("UTC"), json!("en-GB"))]);
    }

    /// A name that the server cannot use is refused by name: a zone that is silently UTC would make people miss deadlines.
    async fn names_that_are_none_are_refused_at_their_members(app: &mut TestApp) {
        let ada = listed(app, ADA, "operator").await;
        let before = people(app).await;
        let longest = format!("de-x-{}", "12345678-".repeat(3) + "123");
        assert_eq!(longest.len(), LOCALE_MAX);
        for (member, value, rule) in [
            ("time_zone", json!("Mars/Base"), "unknown"), ("time_zone", json!(""), "unknown"), ("time_zone", json!(1), "type"),
            ("time_zone", json!("europe/vienna"), "unknown"), ("time_zone", json!("x".repeat(TIME_ZONE_MAX)), "unknown"),
            ("time_zone", json!("x".repeat(TIME_ZONE_MAX + 1)), "length"),
            ("locale", json!("fr"), "unsupported"), ("locale", json!("de_AT"), "format"), ("locale", json!(""), "format"), ("locale", json!(true), "type"),
            ("locale", json!(format!("{longest}4")), "length"),
        ] {
            for (method, path, mut body) in [("POST", "people", json!({"address": BOB, "role": "operator"})), ("PATCH", &*ada, json!({}))] {
                body[member] = value.clone();
                let refused = call(app, Role::Admin, method, path, body).await;
                assert_eq!(broken(&refused), (422, member, rule), "{method} {value}");
            }
        }
        assert_eq!(call(app, Role::Operator, "PATCH", &ada, json!({"locale": "de"})).await.problem(), (403, "forbidden"));
        assert_eq!(people(app).await, before);
        assert_eq!(change(app, &ada, json!({"locale": longest})).await.1, json!(longest), "the longest is taken");
    }

    /// A person who is known reads the own language and the own time, whatever browser the person has borrowed; every other reader reads
    /// what the browser asks for.
    async fn pages_and_mails_speak_to_the_person(app: &mut TestApp) {
        let ada = ada_in_vienna(app).await;
        let (mail, link) = asked(app).await;
        assert!(mail.html().contains("<html lang=\"de\">") && mail.text().contains("10:00 UTC (11:00 MEZ)"), "{}", mail.text());
        let english = "en";
        let mut person = app.person();
        let request = person.request(Method::GET, &link).header("accept-language", english);
        let page = person.send(request).await;
        assert!(page.html.contains("<html lang=\"de\" data-zone=\"Europe/Vienna\">") && page.html.contains("11:00 MEZ"), "{}", page.html);
        assert_eq!(page.header("content-language"), "de");
        let refused = person.post(&link, &[("nonce", "x"), ("value", "approve")]).await;
        assert!(refused.html.contains("<html lang=\"de\""), "{}", refused.html);
        let state = person.open(&format!("{link}/state")).await;
        assert!(state.html.contains("11:00 MEZ"), "{}", state.html);
        let mut ada_inside = log_in(app, ADA).await;
        for path in ["inbox", "inbox/list", "settings", "dashboard", "out-of-office"] {
            let page = ada_inside.open(&format!("{}{path}", app.base)).await;
            assert_eq!(page.header("content-language"), "de", "{path}");
        }
        change(app, &ada, json!({"time_zone": null, "locale": "en"})).await;
        let request = person.request(Method::GET, &link).header("accept-language", "de");
        let page = person.send(request).await;
        assert!(page.html.contains("<html lang=\"en\">") && page.html.contains("10:00 UTC"), "{}", page.html);
        change(app, &ada, json!({"locale": null})).await;
        let request = person.request(Method::GET, &link).header("accept-language", "de");
        assert_eq!(person.send(request).await.header("content-language"), "de", "no locale: the browser decides");
        let (mail, _) = asked(app).await;
        assert!(mail.html().contains("<html lang=\"en\">"), "{}", mail.text());
    }

    /// The own page, without scripts: a person chooses from the lists. No form of another person does, and no form chooses beyond the lists.
    async fn a_person_chooses_the_own_two_after_a_login(app: &mut TestApp) {
        listed(app, ADA, "operator").await;
        listed(app, BOB, "auditor").await;
        let path = format!("{}settings", app.base);
        assert_eq!(app.person().open(&path).await.header("location"), "/login");
        let mut ada = log_in(app, ADA).await;
        let page = ada.open(&path).await;
        assert!(page.html.contains("Language and time zone") && page.html.len() < 60_000, "{} bytes", page.html.len());
        let nonce = page.nonce();
        let form = |zone: &'static str, locale: &'static str| [("nonce", nonce.clone()), ("time_zone", zone.to_owned()), ("locale", locale.to_owned())];
        let sent = async |person: &mut harness::person::Person, fields: [(&'static str, String); 3]| {
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            person.post(&path, &fields).await
        };
        let mut bob = log_in(app, BOB).await;
        assert_eq!(sent(&mut bob, form("UTC", "de")).await.status, 403, "the form was shown to another person");
        for (zone, locale) in [("Mars/Base", "de"), ("UTC", "fr"), ("<i>", "<i>")] {
            let refused = sent(&mut ada, form(zone, locale)).await;
            assert!(refused.status == 422 && refused.html.contains("Nothing was changed") && !refused.html.contains("<i>"), "{}", refused.html);
        }
        assert_eq!((people(app).await[0]["locale"].clone(), last(app, 1).await[0].0.as_str()), (json!(null), "session.began"));
        assert_eq!(sent(&mut ada, form("Europe/Vienna", "de")).await.status, 303);
        let page = ada.open(&path).await;
        assert!(page.html.contains("Sprache und Zeitzone") && page.html.contains("<option selected>Europe/Vienna"), "{}", page.html);
        let (kind, actor, payload) = last(app, 1).await.remove(0);
        assert_eq!((kind.as_str(), actor.as_str(), &payload["role"], &payload["locale"]), ("person.changed", ADA, &json!("operator"), &json!("de")));
        assert_eq!(payload["credential"]["kind"], json!("session"));
        assert_eq!(sent(&mut ada, form("", "")).await.status, 303);
        assert_eq!(people(app).await[0]["time_zone"], json!(null));
    }

    /// What the file says wins, and nothing else changes it; a person about whom the file says neither chooses.
    async fn the_file_decides_if_it_says_one_of_them(app: &mut TestApp) {
        let entry = |address: &str, locale: Option<&str>| Entry { address: address.to_owned(), role: Role::Operator, time_zone: None, locale: locale.map(str::to_owned) };
        let file = |locale| Roster::read(&[entry(ADA, locale), entry(BOB, None)], &BTreeMap::new()).unwrap();
        let (said, silent) = (file(Some("de")), file(None));
        let again = said.clone();
        app.restart_with(|config| config.roster = Some(said)).await;
        let path = format!("{}settings", app.base);
        let (mut ada, mut bob) = (log_in(app, ADA).await, log_in(app, BOB).await);
        let page = ada.open(&path).await;
        assert!(page.html.contains("Konfigurationsdatei") && !page.html.contains("<button class=\"btn\" type=\"submit\">Speichern"), "{}", page.html);
        let (nonce, of_bob) = (page.nonce(), bob.open(&path).await.nonce());
        assert_eq!(ada.post(&path, &[("nonce", &nonce), ("time_zone", "UTC"), ("locale", "en")]).await.status, 409);
        assert_eq!(bob.post(&path, &[("nonce", &of_bob), ("time_zone", "UTC"), ("locale", "en")]).await.status, 303);
        let listed = people(app).await;
        let id = |person: usize| format!("people/{}", listed[person]["id"].as_str().unwrap());
        for person in [0, 1] {
            assert_eq!(call(app, Role::Admin, "PATCH", &id(person), json!({"locale": "en"})).await.problem(), (409, "managed_by_configuration"));
        }
        assert_eq!((&listed[0]["locale"], &listed[0]["time_zone"]), (&json!("de"), &json!(null)));
        assert_eq!((&listed[1]["locale"], &listed[1]["time_zone"]), (&json!("en"), &json!("UTC")));
        app.restart_with(|config| config.roster = Some(again)).await;
        assert_eq!(people(app).await, listed, "a start that finds everything as the file says changes nothing");
        app.restart_with(|config| config.roster = Some(silent)).await;
        let listed = people(app).await;
        assert_eq!((&listed[0]["locale"], &listed[1]["locale"]), (&json!(null), &json!("en")));
    }
}
