//! Questions that are assigned to people: who is asked, and who may answer.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::NOTIFY_TO_MAX;
use domain::suspension::assignees::ASSIGNEES_MAX;
use domain::suspension::channel::{EMAIL, Reach};
use futures_util::future::join;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use harness::receiver::{Receiver, add, webhook};
use serde_json::{Value, json};

pub(crate) const ADA: &str = "ada@example.com";
pub(crate) const BOB: &str = "bob@example.com";
pub(crate) const EVE: &str = "eve@example.com";

/// Lists a person; returns the path of that person.
pub(crate) async fn list(app: &TestApp, address: &str, role: &str) -> String {
    let person = app.api(Role::Admin).post("api/v1/people", json!({"address": address, "role": role})).await.ok();
    format!("api/v1/people/{}", person["id"].as_str().unwrap())
}

pub(crate) async fn set(app: &TestApp, group: &str, members: &[&str]) {
    let admin = app.api(Role::Admin);
    admin.send(admin.request("PUT", &format!("api/v1/groups/{group}")).json(&json!({"members": members}))).await.ok();
}

pub(crate) async fn remove(app: &TestApp, path: &str) {
    let admin = app.api(Role::Admin);
    admin.send(admin.request("DELETE", path)).await.ok();
}

/// The directory of these tests: Ada and Bob are operators and in finance, Eve is an admin and in no group.
pub(crate) async fn directory(app: &TestApp) -> [String; 3] {
    let people = [list(app, ADA, "operator").await, list(app, BOB, "operator").await, list(app, EVE, "admin").await];
    set(app, "finance", &[ADA, BOB]).await;
    people
}

/// Asks a question with these assignees; the answer of the server.
async fn ask(app: &TestApp, assignees: Value) -> (IntentId, Reply) {
    let intent = app.agent().active_intent().await;
    let asked = app.agent().suspend(intent, json!({"assignees": assignees})).await;
    app.settle().await;
    (intent, asked)
}

async fn asked(app: &TestApp, assignees: Value) -> (IntentId, String) {
    let (intent, asked) = ask(app, assignees).await;
    (intent, asked.ok()["id"].as_str().unwrap().to_owned())
}

/// The key of a person: its subject is the person's address.
pub(crate) async fn key_of(app: &TestApp, address: &str, name: &str) -> Api {
    let made = app.api(Role::Admin).post("api/v1/keys", json!({"role": "operator", "name": name, "subject": address})).await.ok();
    Api::new(&app.base, made["key"].as_str())
}

/// The recipients and links of the mails that have gone out since the last call, in the order of recipients.
pub(crate) async fn mails(app: &TestApp) -> Vec<(String, String)> {
    app.settle().await;
    let mut mails = Vec::new();
    while app.smtp.has_unread() {
        let mail = app.smtp.next_mail().await;
        mails.push((mail.to[0].clone(), mail.link(&app.base)));
    }
    mails.sort();
    mails
}

/// The recipients of these mails.
fn recipients(mails: &[(String, String)]) -> Vec<&str> {
    mails.iter().map(|(to, _)| to.as_str()).collect()
}

on_each_store! {
    /// The whole way by a link: the members of the group are asked in place of the default operators, and one of them decides.
    async fn the_members_of_a_group_are_asked_and_answer(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = asked(app, json!({"groups": ["finance"]})).await;
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["notify_to"], &record["assignees"]), (&json!([ADA, BOB]), &json!({"groups": ["finance"]})));
        let logged = app.agent().events(intent).await;
        let logged = logged.iter().find(|event| event["event_type"] == "intent.suspended").unwrap();
        assert_eq!(logged["payload"]["assignees"], json!({"groups": ["finance"]}));
        app.restart().await;
        let links = mails(app).await;
        assert_eq!(recipients(&links), [ADA, BOB]);
        let page = app.person().open(&links[1].1).await;
        assert!(page.html.contains("the group finance"), "{}", page.html);
        assert_eq!(app.person().answer(&links[1].1, "approve").await.status, 200);
        assert_eq!(app.agent().suspension(&id).await["responded_by"], json!(BOB));
    }

    /// An API key counts for a person only through the directory; no other key of whatever role gets past the assignment.
    async fn only_the_keys_of_assignees_answer(app: &mut TestApp) {
        directory(app).await;
        for assignees in [json!({"people": ["Ada@example.com"]}), json!({"groups": ["finance"]}), json!({"roles": ["operator"]})] {
            let (intent, id) = asked(app, assignees.clone()).await;
            let (bound, unbound) = (key_of(app, EVE, "eve").await, app.api(Role::Channel));
            for key in [&app.operator(), &bound] {
                assert_eq!(key.respond(intent, &id, "approve").await.problem(), (403, "not_assigned"), "{assignees}");
            }
            let claims = json!({"suspension_id": id, "value": "approve", "responded_by": ADA});
            let claimed = unbound.post(&format!("api/v1/intents/{intent}/suspend/respond"), claims).await;
            assert_eq!(claimed.problem(), (403, "not_assigned"), "a gateway that is not tied could name any person");
            assert_eq!(app.agent().respond(intent, &id, "approve").await.problem(), (403, "self_response"));
            let ada = key_of(app, "ADA@Example.com", "ada").await;
            assert_eq!(ada.respond(intent, &id, "approve").await.ok()["responded_by"], json!("ADA@Example.com"), "{assignees}");
            for key in ["ada", "eve"] {
                revoke(app, key).await;
            }
        }
    }

    /// A person who left the group, who was removed, or who became an auditor, answers no longer, although the link is in the mailbox.
    async fn a_person_who_is_no_assignee_any_more_does_not_answer(app: &mut TestApp) {
        let [ada, bob, _] = directory(app).await;
        let (_, id) = asked(app, json!({"groups": ["finance"], "people": [ADA]})).await;
        let links = mails(app).await;
        let (of_ada, of_bob) = (&links[0].1, &links[1].1);
        let mut person = app.person();
        let nonce = person.open(of_bob).await.nonce();
        set(app, "finance", &[ADA]).await;
        let refused = person.post(of_bob, &[("nonce", &nonce), ("value", "approve")]).await;
        assert!(refused.status == 403 && refused.html.contains("assigned to other people"), "{}", refused.html);
        assert!(!person.open(of_bob).await.has_form(), "a page without a form");
        let admin = app.api(Role::Admin);
        admin.send(admin.request("PATCH", &ada).json(&json!({"role": "auditor"}))).await.ok();
        assert!(!app.person().open(of_ada).await.has_form());
        app.restart().await;
        admin_sets_role(app, &ada, "operator").await;
        assert!(app.person().open(of_ada).await.has_form());
        remove(app, &ada).await;
        assert!(!app.person().open(of_ada).await.has_form());
        set(app, "finance", &[BOB]).await;
        assert_eq!(app.person().answer(of_bob, "deny").await.status, 200, "a person who is in the group again answers");
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!("responded"));
        remove(app, &bob).await;
    }

    /// A person who is listed anew under an address is another person to the groups: an admin puts it there, or no one.
    async fn an_address_that_is_listed_anew_is_in_no_group(app: &mut TestApp) {
        let [_, bob, _] = directory(app).await;
        let (intent, id) = asked(app, json!({"groups": ["finance"]})).await;
        remove(app, &bob).await;
        list(app, BOB, "operator").await;
        let bob = key_of(app, BOB, "bob").await;
        assert_eq!(bob.respond(intent, &id, "approve").await.problem(), (403, "not_assigned"));
    }

    /// A message that still waits is not sent to a person who may not answer any more, and a reminder is not either.
    async fn a_person_who_may_not_answer_any_more_is_not_asked(app: &mut TestApp) {
        directory(app).await;
        let retry = json!({"max_attempts": 2, "interval_seconds": 60});
        let intent = app.agent().active_intent().await;
        let body = json!({"assignees": {"groups": ["finance"]}, "retry_policy": retry, "timeout_seconds": null});
        let id = app.agent().suspend(intent, body).await.ok()["id"].as_str().unwrap().to_owned();
        set(app, "finance", &[BOB]).await;
        assert_eq!(recipients(&mails(app).await), [BOB]);
        app.advance(60).await;
        assert_eq!(recipients(&mails(app).await), [BOB]);
        let messages = app.agent().get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
        let failed = messages["deliveries"].as_array().unwrap().iter().filter(|message| message["state"] == "failed");
        let failed: Vec<_> = failed.map(|message| (message["recipient"].clone(), message["detail"].clone())).collect();
        assert_eq!(failed, vec![(json!(ADA), json!("the person may not answer this question any more")); 2]);
    }

    /// A call that names people who do not exist, or asks people who may not answer, has no effect.
    async fn assignees_that_cannot_answer_are_refused(app: &mut TestApp) {
        directory(app).await;
        list(app, "audit@example.com", "auditor").await;
        list(app, "zoe@example.com", "operator").await;
        set(app, "auditors", &["audit@example.com"]).await;
        let many: Vec<String> = (0..=ASSIGNEES_MAX).map(|number| format!("p{number}@example.com")).collect();
        for (assignees, field, rule) in [
            (json!({}), "assignees", "required"),
            (json!({"people": []}), "assignees", "required"),
            (json!({"people": ["ada"]}), "assignees.people[0]", "format"),
            (json!({"people": [ADA, "nobody@example.com"]}), "assignees.people[1]", "unknown"),
            (json!({"people": ["audit@example.com"]}), "assignees.people[0]", "role"),
            (json!({"people": many}), "assignees.people", "count"),
            (json!({"groups": ["finance", "legal"]}), "assignees.groups[1]", "unknown"),
            (json!({"groups": ["auditors"]}), "assignees", "count"),
            (json!({"roles": ["auditor"]}), "assignees.roles[0]", "type"),
            (json!({"team": ["finance"]}), "assignees.team", "unknown"),
        ] {
            let (intent, refused) = ask(app, assignees.clone()).await;
            let (status, code, found, broken) = refused.field_problem();
            assert_eq!((status, code, found, broken), (422, "invalid", field, rule), "{assignees}");
            assert_eq!(app.agent().status(intent).await, "active");
        }
        let intent = app.agent().active_intent().await;
        let body = json!({"assignees": {"groups": ["finance"]}, "notify_to": [ADA, "zoe@example.com"]});
        let refused = app.agent().suspend(intent, body).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "notify_to", "assigned"));
        let one = json!({"assignees": {"groups": ["finance"]}, "notify_to": ["Bob@example.com"]});
        app.agent().suspend(intent, one).await.ok();
        assert_eq!(mails(app).await.len(), 1, "of the people who may answer, only those are asked whom the call names");
    }

    /// So many people are asked without being named, and no more: an agent must not fill a hundred mailboxes by one call.
    async fn a_question_asks_so_many_assignees_and_no_more(app: &mut TestApp) {
        for number in 0..NOTIFY_TO_MAX {
            list(app, &format!("p{number}@example.com"), "operator").await;
        }
        let (_, asked) = ask(app, json!({"roles": ["operator"]})).await;
        assert_eq!(asked.ok()["notify_to"].as_array().unwrap().len(), NOTIFY_TO_MAX);
        list(app, ADA, "operator").await;
        let (intent, refused) = ask(app, json!({"roles": ["operator"]})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "notify_to", "required"));
        app.agent().suspend(intent, json!({"assignees": {"roles": ["operator"]}, "notify_to": [ADA]})).await.ok();
        app.settle().await;
    }

    /// A step of the ladder asks no other people either, and the agent is told.
    async fn a_step_of_the_ladder_leaves_out_other_people(app: &mut TestApp) {
        directory(app).await;
        let ladder = json!([{"attempt": 2, "notify_to": [EVE, BOB]}, {"attempt": 3, "notify_to": EVE}]);
        let retry = json!({"max_attempts": 3, "interval_seconds": 60, "escalation_ladder": ladder});
        let body = json!({"question": "Pay?", "response_type": "confirm", "assignees": {"groups": ["finance"]}, "notify_to": [ADA], "retry_policy": retry});
        let preview = app.agent().post("api/v1/suspensions/preview", body.clone()).await.ok();
        let told: Vec<_> = preview["schedule"].as_array().unwrap().iter().map(|step| step["recipients"].clone()).collect();
        assert_eq!(told, [json!([ADA]), json!([BOB]), json!([ADA])]);
        let intent = app.agent().active_intent().await;
        let asked = app.agent().post(&format!("api/v1/intents/{intent}/suspend"), body).await.ok();
        assert_eq!(asked["warnings"], preview["warnings"]);
        assert_eq!(asked["warnings"].as_array().unwrap().len(), 2, "{asked}");
        for to in [ADA, BOB, ADA] {
            assert_eq!(recipients(&mails(app).await), [to]);
            app.advance(60).await;
        }
        app.settle().await;
    }

    /// Requests that do not stop the intent are assigned in the same way, and their own endpoints decide them by the same rule.
    async fn approvals_are_assigned_as_questions_are(app: &mut TestApp) {
        directory(app).await;
        let intent = app.agent().active_intent().await;
        let path = format!("api/v1/intents/{intent}/approvals");
        let approval = app.agent().post(&path, json!({"action": "pay", "assignees": {"people": [EVE]}})).await.ok();
        let id = approval["id"].as_str().unwrap();
        assert_eq!(recipients(&mails(app).await), [EVE]);
        for key in [app.operator(), app.api(Role::Admin), key_of(app, ADA, "ada").await] {
            let decided = key.post(&format!("{path}/{id}/approve"), json!({})).await;
            assert_eq!((decided.status, &decided.body["code"]), (403, &json!("not_assigned")));
        }
        let eve = key_of(app, EVE, "eve").await;
        assert_eq!(eve.post(&format!("{path}/{id}/approve"), json!({})).await.ok()["status"], json!("approved"));
        let unknown = app.agent().post(&path, json!({"action": "pay", "assignees": {"groups": ["legal"]}})).await;
        assert_eq!((unknown.status, &unknown.body["code"]), (422, &json!("invalid")));
    }

    /// The group changes at the moment of the answer: either the answer came before, or it does not count. It is never half of both.
    async fn a_change_of_the_group_and_an_answer_have_an_order(app: &mut TestApp) {
        directory(app).await;
        let bob = key_of(app, BOB, "bob").await;
        for _ in 0..20 {
            set(app, "finance", &[ADA, BOB]).await;
            let (intent, id) = asked(app, json!({"groups": ["finance"]})).await;
            let (reply, ()) = join(bob.respond(intent, &id, "approve"), set(app, "finance", &[ADA])).await;
            let is_answered = !app.agent().suspension(&id).await["resolution"].is_null();
            assert_eq!(is_answered, reply.status == 200, "{}", reply.body);
            assert!(is_answered || reply.problem() == (403, "not_assigned"), "{}", reply.body);
        }
    }
}

async fn admin_sets_role(app: &TestApp, person: &str, role: &str) {
    let admin = app.api(Role::Admin);
    admin.send(admin.request("PATCH", person).json(&json!({"role": role}))).await.ok();
}

async fn revoke(app: &TestApp, name: &str) {
    let admin = app.api(Role::Admin);
    let keys = admin.get("api/v1/keys").await.ok();
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["name"] == name && key["revoked_at"].is_null()).unwrap();
    remove(app, &format!("api/v1/keys/{}", key["id"].as_str().unwrap())).await;
}

/// A gateway that is tied to channels counts for the people to whom it was handed messages, as far as these are assignees.
#[tokio::test]
async fn a_tied_gateway_answers_for_an_assignee() {
    let receiver = Receiver::start().await;
    let app = TestApp::start_with(|config| add(config, vec![(webhook("pager", &receiver), Reach::People)], &[EMAIL])).await;
    directory(&app).await;
    let pager = Api::new(&app.base, Some(&app.new_gateway("pager-gateway", &["pager"]).await));
    let intent = app.agent().active_intent().await;
    let body = json!({"channel_hint": "pager", "assignees": {"people": [ADA]}});
    let id = app.agent().suspend(intent, body).await.ok()["id"].as_str().unwrap().to_owned();
    app.settle().await;
    let answer = |person: &str| json!({"suspension_id": id, "value": "approve", "responded_by": person});
    let path = format!("api/v1/intents/{intent}/suspend/respond");
    assert_eq!(pager.post(&path, answer(BOB)).await.status, 403);
    assert_eq!(pager.post(&path, answer("Ada@Example.com")).await.ok()["responded_by"], json!(ADA));
    app.finish().await;
}
