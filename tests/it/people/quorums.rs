//! Questions on which several people must agree.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::quorum::{QUORUM_GROUPS_MAX, QUORUM_MAX};
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

use super::assignees::{ADA, BOB, EVE, directory, key_of, list, mails, remove, set};

/// Asks with this quorum, of Ada, Bob and Eve.
pub(crate) async fn ask(app: &TestApp, quorum: Value, change: Value) -> (IntentId, Reply) {
    let intent = app.agent().active_intent().await;
    let mut body = json!({"quorum": quorum, "assignees": {"people": [ADA, BOB, EVE]}});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    (intent, app.agent().suspend(intent, body).await)
}

pub(crate) async fn asked(app: &TestApp, quorum: Value, change: Value) -> (IntentId, String) {
    let (intent, asked) = ask(app, quorum, change).await;
    (intent, asked.ok()["id"].as_str().unwrap().to_owned())
}

pub(crate) fn two() -> Value {
    json!({"required_approvals": 2})
}

/// The keys of Ada, Bob and Eve.
pub(crate) async fn keys(app: &TestApp) -> [Api; 3] {
    [key_of(app, ADA, "ada").await, key_of(app, BOB, "bob").await, key_of(app, EVE, "eve").await]
}

pub(crate) async fn take_back(api: &Api, question: &str) -> Reply {
    api.post(&format!("api/v1/suspensions/{question}/take-back"), json!({})).await
}

/// How far the reply says that the answer is from its quorum.
pub(crate) fn tally(reply: Reply) -> (u64, u64) {
    let body = reply.ok();
    assert!(body["resolution"].is_null(), "{body}");
    (body["approvals"]["given"].as_u64().unwrap(), body["approvals"]["needed"].as_u64().unwrap())
}

/// The people and values that count at present.
pub(crate) async fn counted(app: &TestApp, question: &str) -> Vec<(String, String)> {
    let record = app.agent().suspension(question).await;
    let counted = record["counted"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    counted.iter().map(|counted| (text(&counted["person"]), text(&counted["value"]))).collect()
}

on_each_store! {
    /// Two of three agree by their links, with a restart between them. Each of them sees who has answered before.
    async fn two_of_three_agree_and_the_agent_goes_on(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        let links = mails(app).await;
        assert_eq!(links.len(), 3);
        let [ada, bob, _] = [0, 1, 2].map(|index| links[index].1.clone());
        let page = app.person().open(&ada).await;
        assert!(page.html.contains("2 people must give the same answer") && page.html.contains("No answer so far"), "{}", page.html);
        let mut person = app.person();
        assert_eq!(person.answer(&ada, "approve").await.status, 200);
        let page = person.open(&ada).await;
        assert!(page.html.contains("If not enough people agree") && !page.html.contains("told that no person") && page.html.contains("Your answer counts") && page.html.contains("Take my answer back"), "{}", page.html);
        assert_eq!(app.agent().status(intent).await, "suspended_awaiting_input");
        app.restart().await;
        let page = app.person().open(&bob).await;
        assert!(page.html.contains(ADA) && page.html.contains("Approve refund") && !page.html.contains("Take my answer back"), "{}", page.html);
        assert_eq!(app.person().answer(&bob, "approve").await.status, 200);
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["resolution"], &record["response"], &record["responded_by"]), (&json!("responded"), &json!("approve"), &json!(BOB)));
        assert_eq!(app.agent().status(intent).await, "active");
        let events = app.api(Role::Auditor).events(intent).await;
        let of = |kind: &str| events.iter().find(|event| event["event_type"] == kind).unwrap()["payload"].clone();
        let first = of("intent.answer_counted");
        assert_eq!((&first["person"], &first["approvals"]), (&json!(ADA), &json!({"given": 1, "needed": 2})));
        let agreed: Vec<_> = of("intent.resumed")["agreed"].as_array().unwrap().iter().map(|agreed| agreed["person"].clone()).collect();
        assert_eq!(agreed, [json!(ADA), json!(BOB)]);
        assert_eq!(of("intent.suspended")["quorum"]["refusing"], json!(["deny"]));
        assert_ne!(first["presented_hash"], of("intent.resumed")["presented_hash"], "the second person saw the first one's answer");
    }

    /// One person is one person, by a link, by two keys, and in capitals.
    async fn one_person_does_not_make_a_quorum_alone(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        let link = mails(app).await[0].1.clone();
        assert_eq!(app.person().answer(&link, "approve").await.status, 200);
        for (number, subject) in [ADA, "Ada@Example.com", "ADA@EXAMPLE.COM"].into_iter().enumerate() {
            let key = key_of(app, subject, &format!("ada-{number}")).await;
            assert_eq!(tally(key.respond(intent, &id, "approve").await), (1, 2), "{subject}");
        }
        assert_eq!(counted(app, &id).await, [(ADA.to_owned(), "approve".to_owned())]);
        let count = app.api(Role::Auditor).event_types(intent).await.iter().filter(|kind| *kind == "intent.answer_counted").count();
        assert_eq!(count, 1, "the same answer again is no event");
    }

    /// The reply to the same answer again names the answer that is recorded, and not what the page shows by now: with its hashes the person
    /// finds the event.
    async fn the_same_answer_again_has_the_hashes_of_its_event(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, _] = keys(app).await;
        for change in [json!({}), crate::answering::proposal::proposing()] {
            let quorum = json!({"required_approvals": 3, "required_refusals": 2});
            let (intent, id) = asked(app, quorum, change).await;
            let first = ada.respond(intent, &id, "approve").await.ok();
            // Everyone's page shows one more answer from now on.
            bob.respond(intent, &id, "deny").await.ok();
            app.restart().await;
            let again = ada.respond(intent, &id, "approve").await.ok();
            for member in ["presented_hash", "action_digest", "proposed_digest", "responded_at"] {
                assert_eq!(again[member], first[member], "{member}");
            }
            let events = app.api(Role::Auditor).events(intent).await;
            let counted: Vec<&Value> = events.iter().filter(|event| event["event_type"] == "intent.answer_counted").map(|event| &event["payload"]).collect();
            assert_eq!(counted.len(), 2, "the same answer again is no event");
            assert_eq!(again["presented_hash"], counted[0]["presented_hash"]);
            assert_ne!(again["presented_hash"], counted[1]["presented_hash"], "the second person saw the first one's answer");
        }
        mails(app).await;
    }

    /// Different answers do not add up. A person may choose another one, and the newest counts.
    async fn approvals_count_per_value(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, eve] = keys(app).await;
        let choices = json!([{"value": "eu", "label": "Europe"}, {"value": "us", "label": "America"}]);
        let (intent, id) = asked(app, two(), json!({"choices": choices})).await;
        assert_eq!(tally(ada.respond(intent, &id, "eu").await), (1, 2));
        assert_eq!(tally(bob.respond(intent, &id, "us").await), (1, 2));
        assert_eq!(tally(ada.respond(intent, &id, "eu").await), (1, 2));
        assert_eq!(bob.respond(intent, &id, "mars").await.problem().1, "invalid_choice");
        assert_eq!(tally(bob.respond(intent, &id, "us").await), (1, 2));
        let agreed = eve.respond(intent, &id, "us").await.ok();
        assert_eq!((&agreed["resolution"], &agreed["value"]), (&json!("responded"), &json!("us")));
        assert!(agreed["approvals"].is_null(), "{agreed}");
        let late = ada.respond(intent, &id, "us").await;
        assert_eq!(late.problem(), (409, "already_resolved"));
    }

    /// One refusal ends the question, unless it needs more.
    async fn a_refusal_ends_the_question(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, eve] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        assert_eq!(tally(ada.respond(intent, &id, "approve").await), (1, 2));
        assert_eq!(bob.respond(intent, &id, "deny").await.ok()["resolution"], json!("responded"));
        assert_eq!(app.agent().suspension(&id).await["response"], json!("deny"));
        let slow = json!({"required_approvals": 3, "required_refusals": 2});
        let (intent, id) = asked(app, slow, json!({})).await;
        assert_eq!(tally(ada.respond(intent, &id, "deny").await), (1, 2));
        assert_eq!(tally(bob.respond(intent, &id, "approve").await), (1, 3));
        assert_eq!(tally(eve.respond(intent, &id, "approve").await), (2, 3));
        assert_eq!(bob.respond(intent, &id, "deny").await.ok()["value"], json!("deny"), "Bob chose another answer");
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!("responded"));
    }

    /// An answer can be taken back until the quorum is complete, by its own person alone.
    async fn an_answer_is_taken_back(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, eve] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        assert_eq!(take_back(&ada, &id).await.problem(), (409, "not_counted"));
        ada.respond(intent, &id, "approve").await.ok();
        assert_eq!(take_back(&bob, &id).await.problem(), (409, "not_counted"));
        assert_eq!(take_back(&app.operator(), &id).await.problem(), (403, "not_assigned"));
        assert_eq!(take_back(&app.agent(), &id).await.problem(), (403, "self_response"));
        assert_eq!(take_back(&ada, &id).await.ok()["counted"], Value::Null);
        app.restart().await;
        assert_eq!(tally(bob.respond(intent, &id, "approve").await), (1, 2), "Ada's answer does not count any more");
        let links = mails(app).await;
        let mut person = app.person();
        person.answer(&links[2].1, "deny").await;
        assert_eq!(app.agent().suspension(&id).await["response"], json!("deny"));
        assert_eq!(take_back(&bob, &id).await.problem(), (409, "already_resolved"));
        let (_, id) = asked(app, two(), json!({})).await;
        let link = mails(app).await[2].1.clone();
        person.answer(&link, "approve").await;
        let nonce = person.open(&link).await.nonce();
        assert_eq!(person.post(&link, &[("nonce", &nonce), ("take_back", "yes")]).await.status, 303);
        assert_eq!(counted(app, &id).await, []);
        let taken = take_back(&eve, &id).await;
        assert_eq!(taken.problem(), (409, "not_counted"));
    }

    /// A person who may not answer any more when the last one answers does not count.
    async fn a_person_who_left_does_not_count(app: &mut TestApp) {
        let [ada, ..] = directory(app).await;
        let [by_ada, bob, eve] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        by_ada.respond(intent, &id, "approve").await.ok();
        remove(app, &ada).await;
        assert_eq!(tally(bob.respond(intent, &id, "approve").await), (1, 2));
        let page = app.person().open(&mails(app).await.last().unwrap().1).await;
        assert!(page.html.contains("may not answer any more"), "{}", page.html);
        assert_eq!(eve.respond(intent, &id, "approve").await.ok()["resolution"], json!("responded"));
        let events = app.api(Role::Auditor).events(intent).await;
        let resumed = events.iter().find(|event| event["event_type"] == "intent.resumed").unwrap();
        let agreed: Vec<_> = resumed["payload"]["agreed"].as_array().unwrap().iter().map(|agreed| agreed["person"].clone()).collect();
        assert_eq!(agreed, [json!(BOB), json!(EVE)]);
    }

    /// A minimum of a group is counted by the groups of the last moment.
    async fn some_of_a_group_must_be_among_them(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, eve] = keys(app).await;
        let quorum = json!({"required_approvals": 2, "required_by_group": {"finance": 2}});
        let (intent, id) = asked(app, quorum, json!({})).await;
        assert_eq!(tally(eve.respond(intent, &id, "approve").await), (1, 3), "two of finance must follow");
        assert_eq!(tally(ada.respond(intent, &id, "approve").await), (2, 3), "one of finance is missing");
        assert_eq!(bob.respond(intent, &id, "approve").await.ok()["resolution"], json!("responded"));
        let quorum = json!({"required_approvals": 2, "required_by_group": {"finance": 1}});
        let (intent, id) = asked(app, quorum, json!({})).await;
        ada.respond(intent, &id, "approve").await.ok();
        set(app, "finance", &[BOB]).await;
        assert_eq!(tally(eve.respond(intent, &id, "approve").await), (2, 3), "Ada left the group");
        assert_eq!(tally(eve.respond(intent, &id, "approve").await), (2, 3), "the same answer again changes nothing");
        set(app, "finance", &[EVE]).await;
        assert_eq!(eve.respond(intent, &id, "approve").await.ok()["resolution"], json!("responded"), "it completes the quorum now");
    }

    /// No person approves an own request: neither by the person whom the key names as its owner, nor by another key of the owner.
    async fn the_owner_of_the_agent_is_no_part_of_a_quorum(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, eve] = keys(app).await;
        for (agent, owner) in [("bot-a", "Ada@example.com"), ("bot-b", "team-b")] {
            if owner == "team-b" {
                let key = json!({"role": "operator", "name": "helper", "subject": ADA, "owner": owner});
                app.api(Role::Admin).post("api/v1/keys", key).await.ok();
            }
            let agent = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, agent, owner).await));
            let intent = agent.active_intent().await;
            let three = json!({"quorum": {"required_approvals": 3}, "assignees": {"people": [ADA, BOB, EVE]}});
            let refused = agent.suspend(intent, three).await;
            assert_eq!(refused.field_problem(), (422, "invalid", "quorum.required_approvals", "count"), "{owner}");
            let asked = agent.suspend(intent, json!({"quorum": two(), "assignees": {"people": [ADA, BOB, EVE]}})).await.ok();
            assert_eq!(asked["notify_to"], json!([BOB, EVE]), "a person who cannot count is not asked");
            let id = asked["id"].as_str().unwrap();
            assert_eq!(ada.respond(intent, id, "approve").await.problem(), (403, "self_response"), "{owner}");
            bob.respond(intent, id, "approve").await.ok();
            assert_eq!(eve.respond(intent, id, "approve").await.ok()["resolution"], json!("responded"));
        }
        app.settle().await;
    }

    /// Silence after an answer is no silence: no fallback applies, and the word is not `expired`.
    async fn a_partial_answer_forbids_the_fallback(app: &mut TestApp) {
        directory(app).await;
        let [ada, ..] = keys(app).await;
        let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "approve", "timeout_seconds": 60});
        for is_answered in [false, true] {
            let (intent, id) = asked(app, two(), fallback.clone()).await;
            app.settle().await;
            if is_answered {
                ada.respond(intent, &id, "approve").await.ok();
                app.restart().await;
            }
            app.advance(60).await;
            app.settle().await;
            let record = app.agent().suspension(&id).await;
            let found = (record["resolution"].clone(), record["resolution_reason"].clone(), record["response"].clone());
            if is_answered {
                assert_eq!(found, (json!("cancelled"), json!("quorum_unmet"), Value::Null));
                assert_eq!(app.agent().status(intent).await, "abandoned");
                assert_eq!(ada.respond(intent, &id, "approve").await.problem(), (409, "expired"));
            } else {
                assert_eq!(found, (json!("expired"), Value::Null, json!("approve")));
                assert_eq!(app.agent().status(intent).await, "active");
            }
        }
        mails(app).await;
    }

    /// A gateway knows the people behind it only by their words: it counts once, and one that is not tied to channels does not count.
    async fn an_unbound_gateway_counts_for_no_one(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = asked(app, two(), json!({})).await;
        let answer = json!({"suspension_id": id, "value": "approve", "responded_by": ADA});
        let reply = app.api(Role::Channel).post(&format!("api/v1/intents/{intent}/suspend/respond"), answer).await;
        assert_eq!(reply.problem(), (403, "not_assigned"));
        app.settle().await;
    }

    /// Each limit at its bound and beyond, and each rule with its field.
    async fn a_quorum_that_cannot_be_is_refused(app: &mut TestApp) {
        directory(app).await;
        let groups: serde_json::Map<_, _> = (0..=QUORUM_GROUPS_MAX).map(|number| (format!("g{number}"), json!(1))).collect();
        let text = json!({"response_type": "text", "choices": []});
        let no_refusal = json!({"choices": [{"value": "eu", "label": "Europe"}, {"value": "us", "label": "America"}]});
        for (quorum, change, field, rule) in [
            (json!({"required_approvals": 0}), json!({}), "quorum.required_approvals", "range"),
            (json!({"required_approvals": QUORUM_MAX + 1}), json!({}), "quorum.required_approvals", "range"),
            (json!({"required_approvals": QUORUM_MAX}), json!({}), "quorum.required_approvals", "count"),
            (json!({"required_approvals": 4}), json!({}), "quorum.required_approvals", "count"),
            (json!({"required_approvals": 2, "required_refusals": 0}), json!({}), "quorum.required_refusals", "range"),
            (json!({"required_approvals": 2, "required_refusals": 4}), json!({}), "quorum.required_refusals", "count"),
            (json!({"required_approvals": 2, "required_refusals": 1}), no_refusal, "quorum.required_refusals", "unsupported"),
            (json!({"required_approvals": 2, "required_by_group": {"finance": 3}}), json!({}), "quorum.required_by_group.finance", "range"),
            (json!({"required_approvals": 3, "required_by_group": {"finance": 3}}), json!({}), "quorum.required_by_group.finance", "count"),
            (json!({"required_approvals": 2, "required_by_group": {"legal": 1}}), json!({}), "quorum.required_by_group.legal", "unknown"),
            (json!({"required_approvals": 2, "required_by_group": {"Finance": 1}}), json!({}), "quorum.required_by_group", "format"),
            (json!({"required_approvals": 2, "required_by_group": groups}), json!({}), "quorum.required_by_group", "count"),
            (json!({"required_approvals": 2}), text, "quorum", "unsupported"),
            (json!({}), json!({}), "quorum.required_approvals", "required"),
            (json!({"required_approvals": 2, "of": 3}), json!({}), "quorum.of", "unknown"),
        ] {
            let (intent, refused) = ask(app, quorum.clone(), change).await;
            let found = refused.field_problem();
            assert_eq!(found, (422, "invalid", field, rule), "{quorum}: {}", refused.body);
            assert_eq!(app.agent().status(intent).await, "active");
        }
        ask(app, json!({"required_approvals": 3, "required_refusals": 3, "required_by_group": {"finance": 2}}), json!({})).await.1.ok();
        app.settle().await;
        let intent = app.agent().active_intent().await;
        let all = app.agent().suspend(intent, json!({"quorum": two()})).await.ok();
        assert_eq!((&all["notify_to"], &all["assignees"]), (&json!([ADA, BOB, EVE]), &json!({"roles": ["operator", "admin"]})));
        mails(app).await;
    }

    /// Many people answer at the same moment: the quorum is completed once, and every reply fits one order of the answers.
    async fn answers_at_the_same_moment_make_one_quorum(app: &mut TestApp) {
        let mut people = Vec::new();
        for number in 0..6 {
            let address = format!("p{number}@example.com");
            list(app, &address, "operator").await;
            people.push(key_of(app, &address, &format!("p{number}")).await);
        }
        for _ in 0..5 {
            let intent = app.agent().active_intent().await;
            let body = json!({"quorum": {"required_approvals": 4}, "assignees": {"roles": ["operator"]}});
            let id = app.agent().suspend(intent, body).await.ok()["id"].as_str().unwrap().to_owned();
            let replies = join_all(people.iter().map(|person| person.respond(intent, &id, "approve"))).await;
            let mut given: Vec<u64> = replies.iter().filter(|reply| reply.body["resolution"].is_null() && reply.status == 200)
                .map(|reply| reply.body["approvals"]["given"].as_u64().unwrap()).collect();
            given.sort_unstable();
            assert_eq!(given, [1, 2, 3]);
            let ended = replies.iter().filter(|reply| reply.status == 200 && reply.body["resolution"] == json!("responded")).count();
            let late = replies.iter().filter(|reply| reply.status == 409).count();
            assert_eq!((ended, late), (1, 2));
        }
        mails(app).await;
    }
}
