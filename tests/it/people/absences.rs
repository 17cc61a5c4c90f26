//! People who are out of office, and the deputies who answer meanwhile.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock as _;
use domain::base::time::rfc3339;
use domain::people::deputies::DEPUTIES_MAX;
use domain::people::principal::Role;
use harness::api::Reply;
use harness::app::TestApp;
use harness::on_each_store;
use placet_server::worker::absences::Absences;
use serde_json::{Value, json};

use super::assignees::{ADA, BOB, EVE, directory, key_of, list, mails, remove, set};
use super::hands::{CLEO, DAN, event, rule};
use super::logins;
use super::quorums::{asked, keys, tally, two};

fn now(app: &TestApp) -> DateTime<Utc> {
    app.clock.now()
}

/// Says that the person at this path is out of office from now on, for a day.
pub(super) async fn leaves(app: &TestApp, path: &str, deputy: &str) -> Reply {
    away(app, path, deputy, (TimeDelta::zero(), TimeDelta::days(1))).await
}

async fn away(app: &TestApp, path: &str, deputy: &str, (from, until): (TimeDelta, TimeDelta)) -> Reply {
    let body = json!({"from": rfc3339(now(app) + from), "until": rfc3339(now(app) + until), "deputy": deputy});
    let admin = app.api(Role::Admin);
    admin.send(admin.request("PUT", &format!("{path}/out_of_office")).json(&body)).await
}

/// One turn of the server's own worker; how many questions have moved.
async fn turn(app: &TestApp) -> usize {
    Absences::new(app.store()).turn().await
}

/// The place in which a person's answer counts, and the person.
fn places(record: &Value) -> Vec<(Value, Value)> {
    let counted = record["counted"].as_array().cloned().unwrap_or_default();
    counted.iter().map(|counted| (counted["person"].clone(), counted["in_place_of"].clone())).collect()
}

on_each_store! {
    /// The whole way: what waits for Ada moves to Dan, who is told, also what is asked later; both names are in the log.
    async fn a_deputy_gets_what_waits_and_what_comes(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        list(app, DAN, "operator").await;
        let [ada, bob, _] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        mails(app).await;
        let view = leaves(app, &ada_path, "Dan@Example.com").await.ok();
        assert_eq!(view["out_of_office"]["deputy"], json!(DAN));
        assert_eq!(logins::last(app, 1).await[0].0, "person.away");
        app.restart().await;
        turn(app).await;
        let told = mails(app).await;
        assert_eq!(told.iter().map(|(to, _)| to.as_str()).collect::<Vec<_>>(), [DAN]);
        assert_eq!(ada.respond(intent, &id, "approve").await.problem(), (403, "not_assigned"), "her place is Dan's");
        let moved = event(app, intent, "intent.delegated").await;
        assert_eq!((&moved["from"], &moved["to"], &moved["out_of_office"]), (&json!(ADA), &json!(DAN), &json!(true)));
        assert_eq!(app.person().answer(&told[0].1, "approve").await.status, 200);
        assert_eq!(places(&app.agent().suspension(&id).await), [(json!(DAN), json!(ADA))]);
        assert_eq!(bob.respond(intent, &id, "approve").await.ok()["resolution"], json!("responded"));
        let (_, later) = asked(app, two(), json!({})).await;
        turn(app).await;
        assert_eq!(app.agent().suspension(&later).await["handed_on"], json!([{"from": ADA, "to": DAN}]));
        assert_eq!(turn(app).await, 0, "nothing moves twice");
        let admin = app.api(Role::Admin);
        let back = admin.send(admin.request("DELETE", &format!("{ada_path}/out_of_office"))).await.ok();
        assert_eq!(back["out_of_office"], json!(null));
        assert_eq!(logins::last(app, 1).await[0].0, "person.back");
        let (last, third) = asked(app, two(), json!({})).await;
        assert_eq!(turn(app).await, 0);
        assert_eq!(tally(ada.respond(last, &third, "approve").await), (1, 2), "she is back");
        mails(app).await;
    }

    /// Nothing moves before the beginning and after the end.
    async fn an_absence_has_a_beginning_and_an_end(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        list(app, DAN, "operator").await;
        let (_, id) = asked(app, json!(null), json!({"timeout_seconds": 80_000, "assignees": {"people": [ADA]}})).await;
        away(app, &ada_path, DAN, (TimeDelta::hours(1), TimeDelta::hours(2))).await.ok();
        assert_eq!(turn(app).await, 0, "it has not begun");
        app.advance(3_601).await;
        turn(app).await;
        assert_eq!(app.agent().suspension(&id).await["handed_on"], json!([{"from": ADA, "to": DAN}]));
        app.advance(3_600).await;
        let (_, late) = asked(app, json!(null), json!({"assignees": {"people": [ADA]}})).await;
        assert_eq!(turn(app).await, 0, "it is over");
        assert_eq!(app.agent().suspension(&late).await["handed_on"], Value::Null);
        let people = app.api(Role::Admin).get("api/v1/people").await.ok();
        assert_eq!(people["people"][0]["out_of_office"], json!(null));
        mails(app).await;
    }

    /// A deputy who is away as well has a deputy; the log names those in between, and only the last one is told.
    async fn deputies_of_deputies_are_a_bounded_chain(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        let dan_path = list(app, DAN, "operator").await;
        let cleo_path = list(app, CLEO, "operator").await;
        leaves(app, &ada_path, DAN).await.ok();
        leaves(app, &dan_path, CLEO).await.ok();
        assert_eq!(rule(&leaves(app, &cleo_path, ADA).await), (422, "deputy", "cycle"));
        assert_eq!(rule(&leaves(app, &cleo_path, CLEO).await), (422, "deputy", "self"));
        let (intent, _) = asked(app, json!(null), json!({"assignees": {"people": [ADA]}})).await;
        turn(app).await;
        let moved = event(app, intent, "intent.delegated").await;
        assert_eq!((&moved["to"], &moved["via"]), (&json!(CLEO), &json!([DAN])));
        let told: Vec<String> = mails(app).await.into_iter().map(|(to, _)| to).collect();
        assert!(told.contains(&CLEO.to_owned()) && !told.contains(&DAN.to_owned()), "{told:?}");
        let mut first = cleo_path;
        for number in 0..DEPUTIES_MAX {
            let next = format!("p{number}@example.com");
            let path = list(app, &next, "operator").await;
            let set = leaves(app, &first, &next).await;
            set.ok();
            first = path;
        }
        let long = list(app, "long@example.com", "operator").await;
        assert_eq!(rule(&leaves(app, &long, DAN).await), (422, "deputy", "chain"));
    }

    /// A deputy gets no place that the person could not hand on: of a group, of the owner, or beside an own one in a quorum.
    async fn a_deputy_needs_the_entitlement(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        list(app, DAN, "operator").await;
        let boss_path = list(app, "boss@example.com", "admin").await;
        let auditor = list(app, "audit@example.com", "auditor").await;
        assert_eq!(rule(&leaves(app, &ada_path, "audit@example.com").await), (422, "deputy", "role"));
        assert_eq!(rule(&leaves(app, &ada_path, "x@example.com").await), (422, "deputy", "unknown"));
        assert_eq!(rule(&away(app, &ada_path, DAN, (TimeDelta::hours(2), TimeDelta::hours(1))).await), (422, "until", "order"));
        assert_eq!(rule(&away(app, &ada_path, DAN, (TimeDelta::zero(), TimeDelta::days(367))).await), (422, "until", "range"));
        let both = away(app, &ada_path, "x@example.com", (TimeDelta::hours(2), TimeDelta::hours(1))).await;
        let fields: Vec<_> = both.body["errors"].as_array().into_iter().flatten().map(|error| error["field"].clone()).collect();
        assert_eq!(fields, [json!("until"), json!("deputy")], "{}", both.text);
        let admin = app.api(Role::Admin);
        let far = json!({"from": "9999-12-31T00:00:00Z", "until": "9999-12-31T23:59:59-01:00", "deputy": DAN});
        assert_eq!(admin.send(admin.request("PUT", &format!("{ada_path}/out_of_office")).json(&far)).await.status, 422);
        admin.get("api/v1/people").await.ok();
        remove(app, &auditor).await;
        leaves(app, &ada_path, DAN).await.ok();
        set(app, "only-ada", &[ADA]).await;
        let (_, of_group) = asked(app, json!(null), json!({"assignees": {"groups": ["only-ada"]}})).await;
        assert_eq!(turn(app).await, 0, "admins decide who is in a group");
        assert_eq!(app.agent().suspension(&of_group).await["handed_on"], Value::Null);
        leaves(app, &ada_path, BOB).await.ok();
        let (_, large) = asked(app, two(), json!({})).await;
        let (_, small) = asked(app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
        assert_eq!(turn(app).await, 0, "Bob would be asked to agree with himself");
        assert_eq!(app.agent().suspension(&small).await["handed_on"], Value::Null);
        assert_eq!(app.agent().suspension(&large).await["handed_on"], Value::Null, "two of three would become two of two");
        let listed = app.api(Role::Admin).get("api/v1/keys").await.ok();
        let asker = listed["keys"].as_array().unwrap().iter().find(|key| key["role"] == "agent").unwrap()["owner"].clone();
        let owned = json!({"role": "operator", "name": "boss", "subject": "boss@example.com", "owner": asker});
        app.api(Role::Admin).post("api/v1/keys", owned).await.ok();
        leaves(app, &ada_path, "boss@example.com").await.ok();
        let (_, own) = asked(app, json!(null), json!({"assignees": {"people": [ADA]}})).await;
        assert_eq!(turn(app).await, 0, "the person behind the asker comes in by no way");
        assert_eq!(app.agent().suspension(&own).await["handed_on"], Value::Null);
        leaves(app, &boss_path, DAN).await.ok();
        assert_eq!(turn(app).await, 0, "the person behind the asker chooses no deputy in between either");
        assert_eq!(app.agent().suspension(&own).await["handed_on"], Value::Null);
        mails(app).await;
    }

    /// A deputy who is removed has the place no longer, and an answer in it counts no longer.
    async fn a_deputy_and_a_holder_who_leave_decide_nothing(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        let dan_path = list(app, DAN, "operator").await;
        let [_, bob, eve] = keys(app).await;
        leaves(app, &ada_path, DAN).await.ok();
        let (intent, id) = asked(app, two(), json!({})).await;
        turn(app).await;
        let dan = key_of(app, DAN, "dan").await;
        assert_eq!(tally(dan.respond(intent, &id, "approve").await), (1, 2));
        remove(app, &dan_path).await;
        assert_eq!(tally(bob.respond(intent, &id, "approve").await), (1, 2), "Dan's answer does not count");
        assert_eq!(eve.respond(intent, &id, "approve").await.ok()["resolution"], json!("responded"));
        let people = app.api(Role::Admin).get("api/v1/people").await.ok();
        assert_eq!(people["people"][0]["out_of_office"]["deputy"], json!(""), "the deputy is no longer listed");
        let (_, later) = asked(app, two(), json!({})).await;
        assert_eq!(turn(app).await, 0, "nothing moves to a person who was removed");
        assert_eq!(app.agent().suspension(&later).await["handed_on"], Value::Null);
        assert_eq!(rule(&leaves(app, &ada_path, DAN).await), (422, "deputy", "unknown"));
        mails(app).await;
    }

    /// The own page, without scripts: a person says it, sees it, and takes it back. No form of another person does.
    async fn a_person_says_it_on_the_own_page(app: &mut TestApp) {
        directory(app).await;
        list(app, DAN, "operator").await;
        let path = format!("{}out-of-office", app.base);
        assert_eq!(app.person().open(&path).await.header("location"), "/login");
        let mut ada = logins::log_in(app, ADA).await;
        let page = ada.open(&path).await;
        assert!(page.html.contains("Out of office") && !page.html.contains("Your time out of office"), "{}", page.html);
        let nonce = page.nonce();
        let send = |from: &'static str, until: &'static str, deputy: &'static str| [("from", from), ("until", until), ("deputy", deputy)];
        let fields = |of: [(&'static str, &'static str); 3]| {
            let mut fields = vec![("nonce", nonce.clone())];
            fields.extend(of.map(|(name, value)| (name, value.to_owned())));
            fields
        };
        for (wrong, field) in [
            (send("x", "2027-01-04T08:00", DAN), "frome"),
            (send("2026-11-24T08:00", "2026-11-20T08:00", DAN), "untile"),
            (send("2026-11-24T08:00", "2027-01-04T08:00", "<i>x"), "deputye"),
            (send("x", "2027-01-04T08:00", ""), "deputye"),
            (send("+12026-01-01T00:00", "+12026-02-01T00:00", DAN), "frome"),
        ] {
            let fields = fields(wrong);
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let refused = ada.post(&path, &fields).await;
            assert!(refused.status == 422 && refused.html.contains(&format!("id=\"{field}\"")) && !refused.html.contains("<i>x"), "{field}: {}", refused.html);
        }
        // What is wrong with the times and with the deputy is told together.
        for (wrong, fields_told) in [
            (send("2026-11-24T08:00", "2026-11-20T08:00", "bne@example.com"), &["untile", "deputye"][..]),
            (send("x", "", "bne@example.com"), &["frome", "untile", "deputye"][..]),
            (send("x", "", ADA), &["frome", "untile", "deputye"][..]),
            (send("x", "", DAN), &["frome", "untile"][..]),
        ] {
            let fields = fields(wrong);
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let refused = ada.post(&path, &fields).await;
            for field in ["frome", "untile", "deputye"] {
                let is_told = refused.html.contains(&format!("id=\"{field}\""));
                assert_eq!(is_told, fields_told.contains(&field), "{field}: {}", refused.html);
            }
            if wrong[2].1 == "bne@example.com" {
                assert!(refused.html.contains("No listed person has this address."), "{}", refused.html);
            }
        }
        let right = [("nonce", nonce.as_str()), ("from", "2026-11-20T08:00"), ("until", "2027-01-04T08:00"), ("deputy", DAN)];
        let mut eve = logins::log_in(app, EVE).await;
        assert_eq!(eve.post(&path, &right).await.status, 403, "the form was shown to another person");
        assert_eq!(ada.post(&path, &right).await.status, 303);
        let page = ada.open(&path).await;
        assert!(page.html.contains("Your time out of office") && page.html.contains(DAN), "{}", page.html);
        let (kind, actor, payload) = logins::last(app, 1).await.remove(0);
        assert_eq!((kind.as_str(), actor.as_str(), &payload["deputy"]), ("person.away", ADA, &json!(DAN)));
        assert_eq!(ada.post(&path, &[("nonce", &nonce), ("back", "yes")]).await.status, 303);
        assert!(!ada.open(&path).await.html.contains("Your time out of office"));
        assert_eq!(app.person().post(&path, &right).await.header("location"), "/login", "no session");
        assert!(!ada.open(&path).await.html.contains("Your time out of office"));
    }
}
