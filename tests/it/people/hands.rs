//! In whose hands an open question is: claims, places that are handed on, and questions that are assigned to other people.

use chrono::TimeDelta;
use domain::people::principal::Role;
use domain::suspension::hands::CHAIN_MAX;
use futures_util::future::join;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use placet::{Assignees, CallError, Client};
use serde_json::{Value, json};

use super::assignees::{ADA, BOB, EVE, directory, key_of, list, mails, remove, set};
use super::logins;
use super::quorums::{asked, counted, keys, tally, two};

pub(super) const DAN: &str = "dan@example.com";
pub(super) const CLEO: &str = "cleo@example.com";

/// Changes the hands in which a question is.
async fn hand(api: &Api, question: &str, step: &str, body: Value) -> Reply {
    api.post(&format!("api/v1/suspensions/{question}/{step}"), body).await
}

async fn delegate(api: &Api, question: &str, to: &str) -> Reply {
    hand(api, question, "delegate", json!({"to": to})).await
}

async fn reassign(api: &Api, question: &str, assignees: Value) -> Reply {
    hand(api, question, "reassign", json!({"assignees": assignees})).await
}

/// The rule that the first member of a refused request breaks.
pub(super) fn rule(reply: &Reply) -> (u16, &str, &str) {
    let (status, _, field, rule) = reply.field_problem();
    (status, field, rule)
}

pub(super) async fn event(app: &TestApp, intent: domain::base::ids::IntentId, kind: &str) -> Value {
    let events = app.api(Role::Auditor).events(intent).await;
    events.into_iter().rfind(|event| event["event_type"] == kind).unwrap_or_else(|| panic!("no {kind}"))["payload"].clone()
}

/// The record of an intent as auditors read it.
async fn record_page(app: &TestApp, intent: domain::base::ids::IntentId) -> String {
    logins::list(app, "auditor@example.com", Role::Auditor).await;
    let mut auditor = logins::log_in(app, "auditor@example.com").await;
    auditor.open(&format!("{}audit/{intent}", app.base)).await.html
}

on_each_store! {
    /// A claim is information: others see it, may answer all the same, and may take it over.
    async fn a_claim_is_seen_and_locks_nothing(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let (intent, id) = asked(app, json!(null), json!({})).await;
        let links = mails(app).await;
        let claimed = hand(&ada, &id, "claim", json!({})).await.ok();
        assert_eq!((&claimed["claimed_by"], claimed["claimed_at"].is_string()), (&json!(ADA), true));
        let again = hand(&ada, &id, "claim", json!({})).await.ok();
        assert_eq!(again["version"], claimed["version"], "the same claim again is no event");
        app.restart().await;
        let page = app.person().open(&links[1].1).await;
        assert!(page.html.contains("Another person works on this question") && page.html.contains(ADA), "{}", page.html);
        let mut person = app.person();
        let nonce = person.open(&links[1].1).await.nonce();
        assert_eq!(person.post(&links[1].1, &[("nonce", &nonce), ("hand", "claim")]).await.status, 303);
        let taken = event(app, intent, "intent.claimed").await;
        assert_eq!((&taken["person"], &taken["taken_over_from"]), (&json!(BOB), &json!(ADA)));
        assert_eq!(hand(&ada, &id, "release", json!({})).await.problem(), (409, "not_claimed"), "it is Bob's by now");
        assert_eq!(hand(&bob, &id, "release", json!({})).await.ok()["claimed_by"], json!(null));
        assert_eq!(hand(&bob, &id, "release", json!({})).await.problem(), (409, "not_claimed"));
        hand(&ada, &id, "claim", json!({})).await.ok();
        assert_eq!(hand(&app.api(Role::Admin), &id, "claim", json!({})).await.problem(), (403, "not_assigned"));
        assert_eq!(hand(&app.api(Role::Admin), &id, "release", json!({})).await.ok()["claimed_by"], json!(null), "Ada may be away");
        assert_eq!(app.person().answer(&links[2].1, "approve").await.status, 200, "Eve may answer");
        let late = hand(&ada, &id, "claim", json!({})).await;
        assert_eq!(late.problem(), (409, "already_resolved"));
        let html = record_page(app, intent).await;
        assert!(html.contains("claimed the question, which") && html.contains("no longer works on the question"), "{html}");
    }

    /// Only people who may answer claim a question, hand a place on, or assign it to others; agents and gateways never do.
    async fn outsiders_and_agents_change_nothing(app: &mut TestApp) {
        directory(app).await;
        list(app, DAN, "operator").await;
        let dan = key_of(app, DAN, "dan").await;
        let (_, id) = asked(app, two(), json!({})).await;
        for (step, body) in [("claim", json!({})), ("delegate", json!({"to": BOB})), ("reassign", json!({"assignees": {"people": [BOB, ADA]}}))] {
            assert_eq!(hand(&dan, &id, step, body.clone()).await.problem(), (403, "not_assigned"), "{step}");
            for role in [Role::Agent, Role::Auditor, Role::Channel] {
                assert_eq!(hand(&app.api(role), &id, step, body.clone()).await.problem(), (403, "forbidden"), "{role} {step}");
            }
        }
        assert_eq!(hand(&dan, &id, "release", json!({})).await.problem(), (409, "not_claimed"));
        assert_eq!(hand(&app.api(Role::Verifier), &id, "claim", json!({})).await.status, 403);
        assert_eq!(hand(&dan, "00000000-0000-0000-0000-000000000001", "claim", json!({})).await.status, 404);
        mails(app).await;
    }

    /// A stolen link must not choose who answers: below the floor of the question it hands nothing on and assigns nothing.
    async fn below_the_floor_no_place_is_handed_on(app: &mut TestApp) {
        directory(app).await;
        list(app, DAN, "operator").await;
        let [ada, ..] = keys(app).await;
        let (_, asked) = app.agent().ask(json!({"assignees": {"people": [ADA]}, "required_assurance": "session"})).await;
        let link = mails(app).await[0].1.clone();
        let mut thief = app.person();
        let page = thief.open(&link).await;
        let nonce = page.nonce();
        assert!(page.html.contains(&format!("<a href=\"/login?question={asked}\">log in</a>")), "{}", page.html);
        assert!(page.html.contains("value=\"claim\"") && !page.html.contains("value=\"delegate\""), "a claim changes no right: {}", page.html);
        for (button, name) in [("delegate", "to"), ("reassign", "who")] {
            let refused = thief.post(&link, &[("nonce", &nonce), ("hand", button), (name, DAN), ("comment", "typed before")]).await;
            assert_eq!(refused.status, 403, "{}", refused.html);
            assert!(refused.html.contains("typed before"), "nothing typed is lost: {}", refused.html);
        }
        assert_eq!(delegate(&ada, &asked, DAN).await.problem(), (403, "assurance_too_low"));
        assert_eq!(reassign(&ada, &asked, json!({"people": [DAN]})).await.problem(), (403, "assurance_too_low"));
        let record = app.agent().suspension(&asked).await;
        assert_eq!((&record["assignees"]["people"], &record["handed_on"]), (&json!([ADA]), &Value::Null));
        // With the login that the question demands, the place is handed on.
        let mut author = logins::log_in(app, ADA).await;
        let page = author.open(&link).await;
        let nonce = page.nonce();
        assert!(page.html.contains("value=\"delegate\"") && !page.html.contains("Log in first"), "{}", page.html);
        assert_eq!(author.post(&link, &[("nonce", &nonce), ("hand", "delegate"), ("to", DAN)]).await.status, 303);
        assert_eq!(app.agent().suspension(&asked).await["handed_on"], json!([{"from": ADA, "to": DAN}]));
        mails(app).await;
    }

    /// A claim by the page keeps what was typed, and so does a refused address.
    async fn a_claim_keeps_what_was_typed(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = asked(app, json!(null), json!({"assignees": {"people": [ADA]}})).await;
        let link = mails(app).await[0].1.clone();
        let mut person = app.person();
        let nonce = person.open(&link).await.nonce();
        let claimed = person.post(&link, &[("nonce", &nonce), ("hand", "claim"), ("comment", "Half of it")]).await;
        assert_eq!(claimed.status, 200, "{}", claimed.html);
        assert!(claimed.html.contains("Half of it") && claimed.html.contains("value=\"release\""), "{}", claimed.html);
        let wrong = person.post(&link, &[("nonce", &nonce), ("hand", "delegate"), ("to", "bne@example.com"), ("comment", "Half of it")]).await;
        assert!(wrong.status == 422 && wrong.html.contains("Half of it") && wrong.html.contains("bne@example.com"), "{}", wrong.html);
        let told = "“<bdi>bne@example.com</bdi>”: No listed person has this address. Look for a typing mistake.";
        assert!(wrong.html.contains(told), "a group cannot be named here: {}", wrong.html);
        assert_eq!(app.agent().suspension(&id).await["claimed_by"], json!(ADA));
        assert_eq!(person.post(&link, &[("nonce", &nonce), ("value", "approve"), ("comment", "Half of it")]).await.status, 303);
        assert_eq!(app.agent().status(intent).await, "active");
    }

    /// An assignment that fails is told as one, with each name that is wrong, at its field, in the language of the reader. One sentence tells of
    /// all names that break the same rule. Where only some people may answer, it does not tell who else is listed.
    async fn a_failed_assignment_names_what_is_wrong(app: &mut TestApp) {
        directory(app).await;
        let (_, free) = app.ask(json!({"notify_to": [ADA]})).await;
        let of_free = mails(app).await.remove(0).1;
        let (_, assigned) = asked(app, json!(null), json!({"assignees": {"people": [ADA, BOB]}})).await;
        let of_assigned = mails(app).await.remove(0).1;
        for (link, who, told) in [
            (&of_free, "bob@example.com, bne@example.com; legl", vec![
                "“<bdi>bne@example.com</bdi>”, “<bdi>legl</bdi>”: No listed person or group has one of these names. Look for a typing mistake.",
            ]),
            (&of_free, "bob@example.com, legl", vec!["“<bdi>legl</bdi>”: No listed person or group has this name. Look for a typing mistake."]),
            (&of_free, "", vec!["Type at least one address, or the name of a group."]),
            (&of_free, "ada@example.com ada@example.com", vec!["A person or a group is named twice."]),
            (&of_free, "@x Finance", vec![
                "“<bdi>@x</bdi>”, “<bdi>Finance</bdi>”: Type only e-mail addresses and names of groups.",
            ]),
            (&of_assigned, "bob@example.com, eve@example.com, cloe@example.com, nogroup", vec![
                "“<bdi>eve@example.com</bdi>”, “<bdi>cloe@example.com</bdi>”, “<bdi>nogroup</bdi>”: Only people and groups that may answer the question already can be named here. Look for a typing mistake.",
            ]),
        ] {
            let mut person = app.person();
            let nonce = person.open(link).await.nonce();
            let page = person.post(link, &[("nonce", &nonce), ("hand", "reassign"), ("who", who), ("comment", "typed before")]).await;
            assert!(page.status == 422 && page.html.contains("The question was not assigned to other people"), "{who}: {}", page.html);
            for words in told {
                assert_eq!(page.html.matches(words).count(), 2, "{words}: above and at the field: {}", page.html);
            }
            assert!(page.html.contains("id=\"whoe\"") && !page.html.contains("id=\"toe\"") && page.html.contains("<details id=\"hands\" open>"), "{}", page.html);
            assert!(!page.html.contains("“<bdi>bob@example.com</bdi>”") && !page.html.contains("place was not handed on"), "{}", page.html);
            assert!(page.html.contains("typed before"), "{}", page.html);
        }
        let mut person = app.person();
        let nonce = person.open(&of_free).await.nonce();
        let fields = [("nonce", nonce.as_str()), ("hand", "reassign"), ("who", "bne@example.com")];
        let request = person.form(&of_free, &fields).header("accept-language", "de");
        let german = person.send(request).await.html;
        assert!(german.contains("Die Frage wurde nicht anderen Personen zugewiesen"), "{german}");
        let told = "„<bdi>bne@example.com</bdi>“: Keine eingetragene Person oder Gruppe hat diesen Namen. Suchen Sie nach einem Tippfehler.";
        assert!(german.contains(told), "{german}");
        let wrong = person.post(&of_free, &[("nonce", &nonce), ("hand", "delegate"), ("to", "bob")]).await;
        assert!(wrong.html.contains("Your place was not handed on") && wrong.html.contains("id=\"toe\""), "{}", wrong.html);
        assert!(wrong.html.contains("“<bdi>bob</bdi>”: Type one e-mail address"), "{}", wrong.html);
        let (_, of_group) = asked(app, json!(null), json!({"assignees": {"groups": ["finance"]}})).await;
        let of_finance = mails(app).await.remove(0).1;
        let nonce = person.open(&of_finance).await.nonce();
        let wrong = person.post(&of_finance, &[("nonce", &nonce), ("hand", "delegate"), ("to", EVE)]).await;
        assert!(wrong.html.contains("“<bdi>eve@example.com</bdi>”: You may answer as a member of a group or because of your role,"), "{}", wrong.html);
        for id in [free, assigned, of_group] {
            assert!(app.agent().suspension(&id).await["resolution"].is_null());
        }
    }

    /// A mail says how many people must agree, in each of its parts.
    async fn a_mail_says_how_many_must_agree(app: &mut TestApp) {
        directory(app).await;
        asked(app, two(), json!({})).await;
        app.settle().await;
        let mail = app.smtp.next_mail().await;
        for part in [mail.text(), mail.html()] {
            assert!(part.contains("2 people must give the same answer."), "{part}");
        }
        mails(app).await;
    }

    /// The whole way: Ada hands her place to Dan by her link, Dan gets a mail, answers in her place, and both names are in the log.
    async fn a_place_is_handed_on_and_both_names_are_in_the_log(app: &mut TestApp) {
        directory(app).await;
        list(app, DAN, "operator").await;
        let [ada, bob, _] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        let link = mails(app).await[0].1.clone();
        let mut person = app.person();
        let nonce = person.open(&link).await.nonce();
        let wrong = person.post(&link, &[("nonce", &nonce), ("hand", "delegate"), ("to", "<b>stranger@example.com")]).await;
        assert!(wrong.status == 422 && !wrong.html.contains("<b>stranger") && wrong.html.contains("Your place was not handed on"), "{}", wrong.html);
        assert_eq!(person.post(&link, &[("nonce", &nonce), ("hand", "delegate"), ("to", " Dan@Example.com ")]).await.status, 303);
        let page = person.open(&link).await;
        assert!(page.html.contains("You handed your place to") && !page.html.contains("value=\"approve\""), "{}", page.html);
        app.restart().await;
        let told = mails(app).await;
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].0, DAN);
        assert_eq!(ada.respond(intent, &id, "approve").await.problem(), (403, "not_assigned"), "the place is Dan's");
        assert_eq!(app.person().answer(&told[0].1, "approve").await.status, 200);
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["counted"][0]["person"], &record["counted"][0]["in_place_of"]), (&json!(DAN), &json!(ADA)));
        assert_eq!(record["handed_on"], json!([{"from": ADA, "to": DAN}]));
        assert_eq!(bob.respond(intent, &id, "approve").await.ok()["resolution"], json!("responded"));
        let delegated = event(app, intent, "intent.delegated").await;
        assert_eq!((&delegated["from"], &delegated["to"], &delegated["place"]), (&json!(ADA), &json!(DAN), &json!(ADA)));
        let agreed = event(app, intent, "intent.resumed").await["agreed"].clone();
        assert_eq!((&agreed[0]["person"], &agreed[0]["in_place_of"], &agreed[1]["person"]), (&json!(DAN), &json!(ADA), &json!(BOB)));
        let html = record_page(app, intent).await;
        assert!(html.contains("handed the place to") && html.contains("in place of"), "{html}");
    }

    /// Every person to whom a place cannot go, and every state in which it cannot.
    async fn a_place_goes_only_to_a_person_who_can_have_it(app: &mut TestApp) {
        directory(app).await;
        for (address, role) in [(DAN, "operator"), (CLEO, "operator"), ("audit@example.com", "auditor"), ("boss@example.com", "admin")] {
            list(app, address, role).await;
        }
        // The person behind the asker: the subject of another key of the same owner.
        app.agent().status(app.agent().active_intent().await).await;
        let listed = app.api(Role::Admin).get("api/v1/keys").await.ok();
        let asker = listed["keys"].as_array().unwrap().iter().find(|key| key["role"] == "agent").unwrap()["owner"].clone();
        let owned = json!({"role": "operator", "name": "boss", "subject": "boss@example.com", "owner": asker});
        app.api(Role::Admin).post("api/v1/keys", owned).await.ok();
        let [ada, bob, eve] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        mails(app).await;
        assert_eq!(rule(&delegate(&ada, &id, "stranger@example.com").await), (422, "to", "unknown"));
        assert_eq!(rule(&delegate(&ada, &id, "Ada@example.com").await), (422, "to", "self"));
        assert_eq!(rule(&delegate(&ada, &id, "audit@example.com").await), (422, "to", "role"));
        assert_eq!(rule(&delegate(&ada, &id, "Dan <dan@example.com>").await), (422, "to", "format"));
        assert_eq!(rule(&delegate(&ada, &id, "boss@example.com").await), (422, "to", "own"));
        assert_eq!(tally(bob.respond(intent, &id, "approve").await), (1, 2));
        assert_eq!(rule(&delegate(&ada, &id, BOB).await), (422, "to", "answered"), "one person counts once");
        assert_eq!(delegate(&bob, &id, DAN).await.problem(), (409, "has_answered"));
        delegate(&ada, &id, DAN).await.ok();
        assert_eq!(delegate(&ada, &id, CLEO).await.problem(), (403, "not_assigned"), "the place is gone");
        let dan = key_of(app, DAN, "dan").await;
        assert_eq!(rule(&delegate(&dan, &id, ADA).await), (422, "to", "cycle"));
        assert_eq!(rule(&delegate(&eve, &id, DAN).await), (422, "to", "taken"), "one person counts once");
        assert_eq!(bob.respond(intent, &id, "deny").await.ok()["resolution"], json!("responded"));
        assert_eq!(delegate(&eve, &id, CLEO).await.problem(), (409, "already_resolved"));
        mails(app).await;
    }

    /// Of two delegations at once, one counts.
    async fn two_delegations_at_once_are_one(app: &mut TestApp) {
        directory(app).await;
        for address in [DAN, CLEO] {
            list(app, address, "operator").await;
        }
        let [ada, ..] = keys(app).await;
        let (_, id) = asked(app, two(), json!({})).await;
        let (one, other) = join(delegate(&ada, &id, DAN), delegate(&ada, &id, CLEO)).await;
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 403]);
        assert_eq!(app.agent().suspension(&id).await["handed_on"].as_array().unwrap().len(), 1);
        mails(app).await;
    }

    /// A chain has an end, and a group's place does not leave the group.
    async fn a_chain_is_bounded_and_a_groups_place_stays_in_the_group(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let (_, id) = asked(app, json!(null), json!({"assignees": {"people": [ADA]}})).await;
        let mut holder = ada.clone();
        for number in 0..=CHAIN_MAX {
            let next = format!("p{number}@example.com");
            list(app, &next, "operator").await;
            let handed = delegate(&holder, &id, &next).await;
            if number == CHAIN_MAX {
                assert_eq!(rule(&handed), (422, "to", "chain"));
            } else {
                handed.ok();
            }
            holder = key_of(app, &next, &format!("p{number}")).await;
        }
        let (_, of_group) = asked(app, json!(null), json!({"assignees": {"groups": ["finance"]}})).await;
        assert_eq!(rule(&delegate(&bob, &of_group, "p0@example.com").await), (422, "to", "assigned"));
        mails(app).await;
    }

    /// The right of the person who has a place ends with the right of the one whose place it is.
    async fn a_place_ends_when_its_holder_leaves(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        list(app, DAN, "operator").await;
        let [ada, bob, eve] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        delegate(&ada, &id, DAN).await.ok();
        let dan = key_of(app, DAN, "dan").await;
        assert_eq!(tally(dan.respond(intent, &id, "approve").await), (1, 2));
        remove(app, &ada_path).await;
        assert_eq!(tally(bob.respond(intent, &id, "approve").await), (1, 2), "Dan's answer in Ada's place does not count");
        assert_eq!(dan.respond(intent, &id, "approve").await.problem(), (403, "not_assigned"));
        assert_eq!(eve.respond(intent, &id, "approve").await.ok()["resolution"], json!("responded"));
        mails(app).await;
    }

    /// The person whose place was handed on too often for the quorum is kept: too few would be left.
    async fn a_change_that_leaves_too_few_people_is_refused(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let (_, id) = asked(app, json!({"required_approvals": 2}), json!({"assignees": {"groups": ["finance"]}})).await;
        assert_eq!(rule(&delegate(&ada, &id, BOB).await), (422, "quorum.required_approvals", "count"));
        assert_eq!(rule(&reassign(&bob, &id, json!({"people": [BOB]})).await), (422, "quorum.required_approvals", "count"));
        let admin = app.api(Role::Admin);
        assert_eq!(rule(&reassign(&admin, &id, json!({"groups": ["legal"]})).await), (422, "assignees.groups[0]", "unknown"));
        assert_eq!(rule(&reassign(&admin, &id, json!({"people": ["x@example.com"]})).await), (422, "assignees.people[0]", "unknown"));
        assert_eq!(rule(&reassign(&admin, &id, json!({})).await), (422, "assignees", "required"));
        mails(app).await;
    }

    /// An admin assigns a question to others, who are told; an assignee only narrows. The earlier answer of a person who is out counts no
    /// longer.
    async fn a_question_is_assigned_to_other_people(app: &mut TestApp) {
        directory(app).await;
        list(app, DAN, "operator").await;
        list(app, CLEO, "operator").await;
        set(app, "legal", &[DAN, CLEO]).await;
        let [ada, bob, _] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        mails(app).await;
        assert_eq!(tally(ada.respond(intent, &id, "approve").await), (1, 2));
        assert_eq!(rule(&reassign(&bob, &id, json!({"people": [BOB, DAN]})).await), (422, "assignees.people[1]", "assigned"));
        assert_eq!(rule(&reassign(&bob, &id, json!({"groups": ["legal"]})).await), (422, "assignees.groups[0]", "assigned"));
        let narrowed = reassign(&bob, &id, json!({"people": [EVE, BOB]})).await.ok();
        assert_eq!(narrowed["assignees"], json!({"people": [EVE, BOB]}));
        assert_eq!(ada.respond(intent, &id, "approve").await.problem(), (403, "not_assigned"));
        assert_eq!(tally(bob.respond(intent, &id, "approve").await), (1, 2), "Ada's answer counts no longer");
        let admin = app.api(Role::Admin);
        reassign(&admin, &id, json!({"groups": ["legal"]})).await.ok();
        app.restart().await;
        let told = mails(app).await;
        assert_eq!(told.iter().map(|(to, _)| to.as_str()).collect::<Vec<_>>(), [CLEO, DAN]);
        let logged = event(app, intent, "intent.reassigned").await;
        assert_eq!((&logged["before"], &logged["notify_to"]), (&json!({"people": [EVE, BOB]}), &json!([CLEO, DAN])));
        for (_, link) in &told {
            assert_eq!(app.person().answer(link, "approve").await.status, 200);
        }
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!("responded"));
        assert!(record_page(app, intent).await.contains("assigned the question to"));
    }

    /// An address that was removed and listed again is another person, and has not answered.
    async fn an_answer_is_not_inherited_by_the_next_person_with_the_address(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        assert_eq!(tally(ada.respond(intent, &id, "approve").await), (1, 2));
        app.advance(60).await;
        remove(app, &ada_path).await;
        list(app, ADA, "operator").await;
        assert_eq!(tally(bob.respond(intent, &id, "approve").await), (1, 2), "the answer was another person's");
        assert_eq!(ada.respond(intent, &id, "approve").await.ok()["resolution"], json!("responded"), "an answer of her own");
        assert_eq!(counted(app, &id).await, []);
        mails(app).await;
    }

    /// The clock is set back between the answer and the new person, who thereby seems to have been listed before the answer.
    async fn an_answer_is_not_inherited_after_the_clock_was_set_back(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        assert_eq!(tally(ada.respond(intent, &id, "approve").await), (1, 2));
        app.clock.set_by(TimeDelta::seconds(-2));
        remove(app, &ada_path).await;
        list(app, ADA, "operator").await;
        assert_eq!(tally(bob.respond(intent, &id, "approve").await), (1, 2), "the answer was another person's");
        mails(app).await;
    }

    /// The page of a question offers every change to a session, without scripts; the inbox leads there, and shows who has claimed.
    async fn a_session_changes_hands_on_the_page_and_inboxes_follow(app: &mut TestApp) {
        directory(app).await;
        list(app, DAN, "operator").await;
        let (intent, id) = asked(app, json!(null), json!({})).await;
        mails(app).await;
        let (inbox, path) = (format!("{}inbox", app.base), format!("{}questions/{id}", app.base));
        let mut ada = logins::log_in(app, ADA).await;
        let mut bob = logins::log_in(app, BOB).await;
        let shown = ada.open(&inbox).await.html;
        assert!(shown.contains(&format!("/questions/{id}#claim")), "{shown}");
        let page = ada.open(&path).await;
        for part in ["id=\"claim\"", "value=\"claim\"", "value=\"delegate\"", "value=\"reassign\""] {
            assert!(page.html.contains(part), "{part}: {}", page.html);
        }
        let nonce = page.nonce();
        let press = |button: &'static str, name: &'static str, typed: &'static str| {
            vec![("nonce", nonce.clone()), ("person", ADA.to_owned()), ("hand", button.to_owned()), (name, typed.to_owned())]
        };
        let sent = |fields: Vec<(&'static str, String)>, mut who: harness::person::Person| {
            let path = path.clone();
            async move {
                let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
                who.post(&path, &fields).await
            }
        };
        assert_eq!(sent(press("claim", "to", ""), bob.clone()).await.status, 403, "the page was shown to Ada");
        assert_eq!(sent(press("claim", "to", ""), ada.clone()).await.status, 303);
        assert!(ada.open(&path).await.html.contains("value=\"release\""));
        assert!(ada.open(&inbox).await.html.contains("You work on it") && bob.open(&inbox).await.html.contains("works on it"));
        assert_eq!(sent(press("release", "to", ""), ada.clone()).await.status, 303);
        assert!(!bob.open(&inbox).await.html.contains("works on it"));
        let wrong = sent(press("reassign", "who", "bob@example.com, dan@example.com"), ada.clone()).await;
        assert!(wrong.status == 422 && wrong.html.contains("value=\"bob@example.com, dan@example.com\""), "{}", wrong.html);
        assert_eq!(sent(press("delegate", "to", DAN), ada.clone()).await.status, 303);
        let waits = |html: &str| html.contains(&format!("id=\"q-{id}\""));
        assert!(!waits(&ada.open(&inbox).await.html), "her place is Dan's");
        mails(app).await;
        let mut dan = logins::log_in(app, DAN).await;
        assert!(waits(&dan.open(&inbox).await.html) && waits(&bob.open(&inbox).await.html));
        let nonce = bob.open(&path).await.nonce();
        let fields = [("nonce", nonce.as_str()), ("person", BOB), ("hand", "reassign"), ("who", " eve@example.com; bob@example.com ")];
        assert_eq!(bob.post(&path, &fields).await.status, 303);
        assert!(!waits(&dan.open(&inbox).await.html) && waits(&bob.open(&inbox).await.html));
        let logged = event(app, intent, "intent.reassigned").await;
        assert_eq!((&logged["assignees"], logged["credential"]["kind"].as_str()), (&json!({"people": [EVE, BOB]}), Some("session")));
        mails(app).await;
    }

    /// The SDK has a call for each change.
    async fn the_sdk_changes_hands(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let (_, id) = asked(app, json!(null), json!({})).await;
        let client = |api: &Api| Client::new(app.base.clone(), api.key().to_owned()).unwrap();
        let question = client(&ada).open_suspensions(None).await.unwrap().suspensions.remove(0);
        assert_eq!(client(&ada).claim(question.id).await.unwrap().claimed_by.as_deref(), Some(ADA));
        assert_eq!(client(&ada).release(question.id).await.unwrap().claimed_by, None);
        assert_eq!(client(&ada).delegate(question.id, BOB).await.unwrap().handed_on.len(), 1);
        let refused = client(&ada).delegate(question.id, BOB).await;
        assert!(matches!(refused, Err(CallError::Refused(_))), "{refused:?}");
        let assignees = Assignees { people: vec![BOB.into()], ..Assignees::default() };
        let narrowed = client(&bob).reassign(question.id, assignees.clone()).await.unwrap();
        assert_eq!((narrowed.assignees, narrowed.handed_on.len()), (Some(assignees), 0));
        assert_eq!(app.agent().suspension(&id).await["assignees"], json!({"people": [BOB]}));
        mails(app).await;
    }
}
