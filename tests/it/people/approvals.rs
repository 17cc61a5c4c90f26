//! Approvals (`/approvals`) on which several people agree, that propose an action, and that say on which grounds they ask.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

use super::assignees::{ADA, BOB, EVE, directory, mails, remove, set};
use super::floors::verified;
use super::quorums::{keys, take_back, two};
use crate::answering::proposal::{digest, editable, paying, payment};

/// Asks for an approval of Ada, Bob and Eve with these members.
async fn ask(app: &TestApp, more: Value) -> (IntentId, Reply) {
    let intent = app.agent().active_intent().await;
    let mut body = json!({"action": "pay", "reason": "Invoice 7 is due.", "assignees": {"people": [ADA, BOB, EVE]}});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    (intent, app.agent().post(&format!("api/v1/intents/{intent}/approvals"), body).await)
}

async fn asked(app: &TestApp, more: Value) -> (String, Value) {
    let (intent, asked) = ask(app, more).await;
    let asked = asked.ok();
    (format!("api/v1/intents/{intent}/approvals/{}", asked["id"].as_str().unwrap()), asked)
}

async fn decide(api: &Api, approval: &str, word: &str, body: Value) -> Reply {
    api.post(&format!("{approval}/{word}"), body).await
}

fn intent_of(approval: &Value) -> IntentId {
    approval["intent_id"].as_str().unwrap().parse().unwrap()
}

/// The log of the server, and of everything that people decided, breaks no rule.
async fn in_order(app: &TestApp) {
    app.settle().await;
    let report = verified(app).await;
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

/// The parts of an approval that say how far it is.
fn far(approval: &Value) -> (&str, &Value) {
    (approval["status"].as_str().unwrap(), &approval["approvals"])
}

on_each_store! {
    /// Two of three approve, with a restart between them: one by a key at `/approvals`, and one by the link of a mail. The reply says how
    /// far the approval is, and so does everyone's page; the log of it is in order.
    async fn two_of_three_approve_an_action(app: &mut TestApp) {
        directory(app).await;
        let (approval, asked) = asked(app, json!({"quorum": two(), "required_assurance": null})).await;
        assert_eq!(far(&asked), ("pending", &json!({"given": 0, "needed": 2})));
        assert_eq!((&asked["assignees"], &asked["quorum"]["required_approvals"]), (&json!({"people": [ADA, BOB, EVE]}), &json!(2)));
        let [ada, ..] = keys(app).await;
        let ada = ada.key().to_owned();
        let links = mails(app).await;
        assert_eq!(links.len(), 3);
        let first = decide(&Api::new(&app.base, Some(&ada)), &approval, "approve", json!({"notes": "Seen."})).await.ok();
        assert_eq!(far(&first), ("pending", &json!({"given": 1, "needed": 2})));
        assert_eq!((&first["counted"][0]["person"], &first["decided_by"]), (&json!(ADA), &json!(null)));
        app.restart().await;
        let own = decide(&Api::new(&app.base, Some(&ada)), &approval, "approve", json!({})).await.ok();
        assert_eq!(far(&own), ("pending", &json!({"given": 1, "needed": 2})), "one person is one person");
        let page = app.person().open(&links[1].1).await;
        for part in [ADA, "2 people must give the same answer", "Invoice 7 is due."] {
            assert!(page.html.contains(part), "{part} is missing in {}", page.html);
        }
        assert_eq!(app.person().answer(&links[1].1, "approve").await.status, 200);
        let decided = app.agent().get(&approval).await.ok();
        assert_eq!((far(&decided), &decided["decided_by"]), (("approved", &json!(null)), &json!(BOB)));
        let types = app.agent().event_types(intent_of(&asked)).await;
        let of = |kind: &str| types.iter().filter(|one| *one == kind).count();
        assert_eq!((of("intent.answer_counted"), of("governance.approval_granted")), (1, 1));
        in_order(app).await;
    }

    /// A member of finance must be among them; refusals have a number of their own; an approval may be taken back.
    async fn each_part_of_the_quorum_of_an_approval_counts(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, eve] = keys(app).await;
        let quorum = json!({"required_approvals": 1, "required_refusals": 2, "required_by_group": {"finance": 1}});
        let (approval, asked) = asked(app, json!({"quorum": quorum})).await;
        assert_eq!(far(&decide(&eve, &approval, "approve", json!({})).await.ok()), ("pending", &json!({"given": 1, "needed": 2})));
        assert_eq!(far(&app.agent().get(&approval).await.ok()), ("pending", &json!({"given": 1, "needed": 2})));
        take_back(&eve, asked["id"].as_str().unwrap()).await.ok();
        assert_eq!(far(&decide(&eve, &approval, "deny", json!({})).await.ok()), ("pending", &json!({"given": 1, "needed": 2})));
        let denied = decide(&bob, &approval, "deny", json!({"reason": "No."})).await.ok();
        assert_eq!((far(&denied), &denied["decision_notes"]), (("denied", &json!(null)), &json!("No.")));
        assert_eq!(decide(&ada, &approval, "approve", json!({})).await.problem(), (409, "already_resolved"));
        in_order(app).await;
    }

    /// The approval of a person who may not answer any more is not given, and the view says so before another person decides.
    async fn an_approval_of_a_person_who_left_is_not_given(app: &mut TestApp) {
        let [ada, ..] = directory(app).await;
        let [by_ada, bob, _] = keys(app).await;
        let (approval, _) = asked(app, json!({"quorum": two()})).await;
        decide(&by_ada, &approval, "approve", json!({})).await.ok();
        remove(app, &ada).await;
        let left = app.agent().get(&approval).await.ok();
        assert_eq!((far(&left), &left["counted"][0]["person"]), (("pending", &json!({"given": 0, "needed": 2})), &json!(ADA)));
        assert_eq!(far(&decide(&bob, &approval, "approve", json!({})).await.ok()), ("pending", &json!({"given": 1, "needed": 2})));
        assert_eq!(far(&app.agent().get(&approval).await.ok()), ("pending", &json!({"given": 1, "needed": 2})));
        mails(app).await;
    }

    /// People leave the group and come back while it decides: each view says how far the approval is at that moment, which is what the next
    /// decision counts. Enough approvals end nothing by themselves, and the next one does.
    async fn a_view_counts_as_the_next_decision_would(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, eve] = keys(app).await;
        let members = json!({"quorum": two(), "assignees": {"groups": ["finance"]}});
        let (approval, asked) = asked(app, members).await;
        let id = asked["id"].as_str().unwrap();
        let seen = async |app: &TestApp| {
            let both = [app.agent().get(&approval).await.ok()["approvals"].clone(), app.agent().suspension(id).await["approvals"].clone()];
            assert_eq!(both[0], both[1]);
            both[0].clone()
        };
        decide(&ada, &approval, "approve", json!({})).await.ok();
        assert_eq!(seen(app).await, json!({"given": 1, "needed": 2}));
        set(app, "finance", &[BOB, EVE]).await;
        assert_eq!(seen(app).await, json!({"given": 0, "needed": 2}), "she left");
        let reminded = app.operator().post(&format!("api/v1/suspensions/{id}/remind"), json!({})).await.ok();
        assert_eq!((&reminded["approvals"], &reminded["counted"][0]["person"]), (&json!({"given": 0, "needed": 2}), &json!(ADA)));
        assert_eq!(far(&decide(&bob, &approval, "approve", json!({})).await.ok()), ("pending", &json!({"given": 1, "needed": 2})));
        set(app, "finance", &[ADA, BOB, EVE]).await;
        assert_eq!(seen(app).await, json!({"given": 2, "needed": 2}), "she came back, and no decision has come since");
        assert_eq!(far(&app.agent().get(&approval).await.ok()).0, "pending");
        assert_eq!(far(&decide(&ada, &approval, "approve", json!({})).await.ok()), ("approved", &json!(null)));
        // Two members of a group are lacking, and one person alone cannot be both of them.
        set(app, "finance", &[ADA, BOB]).await;
        let quorum = json!({"required_approvals": 2, "required_by_group": {"finance": 2}});
        let (approval, asked) = self::asked(app, json!({"quorum": quorum})).await;
        let counted = decide(&eve, &approval, "approve", json!({})).await.ok();
        assert_eq!(far(&counted), ("pending", &json!({"given": 1, "needed": 3})));
        assert_eq!(app.agent().get(&approval).await.ok()["approvals"], counted["approvals"]);
        assert_eq!(app.agent().suspension(asked["id"].as_str().unwrap()).await["approvals"], counted["approvals"]);
        mails(app).await;
    }

    /// More people than there are, a group that does not exist, and a silence after an answer.
    async fn an_approval_without_its_quorum_is_none(app: &mut TestApp) {
        directory(app).await;
        let (_, refused) = ask(app, json!({"quorum": {"required_approvals": 4}})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "quorum.required_approvals", "count"), "{}", refused.body);
        let (_, refused) = ask(app, json!({"quorum": {"required_approvals": 2, "required_by_group": {"legal": 1}}})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "quorum.required_by_group.legal", "unknown"));
        let (_, refused) = ask(app, json!({"quorum": {"required_approvals": 0}})).await;
        assert_eq!(refused.status, 422);
        for path in ["escalations", "arbitrate"] {
            let intent = app.agent().active_intent().await;
            let body = json!({"reason": "r", "quorum": two(), "proposal": payment()});
            assert_eq!(app.agent().post(&format!("api/v1/intents/{intent}/{path}"), body).await.status, 422, "a text has no quorum");
        }
    }

    /// The agent proposes 2,500 and two people approve 2,400 at `/approvals`: reply, record, log and receipt have both digests. An approval
    /// of what was edited since is refused with what changed.
    async fn an_edited_action_is_approved_by_both(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let (approval, asked) = asked(app, json!({"quorum": two(), "proposal": payment(), "editable": editable()})).await;
        let [proposed, approved] = [digest(&payment()), digest(&paying(2400))];
        assert_eq!((&asked["proposal"], &asked["action_digest"], &asked["proposed_digest"]), (&payment(), &json!(proposed), &json!(proposed)));
        let refused = decide(&ada, &approval, "deny", json!({"proposal": paying(1)})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "proposal", "refused"));
        let refused = decide(&ada, &approval, "approve", json!({"proposal": paying(6000)})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "proposal/amount", "maximum"));
        let first = decide(&ada, &approval, "approve", json!({"proposal": paying(2400)})).await.ok();
        assert_eq!((far(&first), &first["proposal"], &first["original_proposal"]), (("pending", &json!({"given": 1, "needed": 2})), &paying(2400), &payment()));
        let stale = decide(&bob, &approval, "approve", json!({})).await;
        assert_eq!(stale.problem(), (412, "proposal_changed"));
        let agreed = decide(&bob, &approval, "approve", json!({"based_on": approved})).await.ok();
        assert_eq!((far(&agreed), &agreed["proposal"], &agreed["original_proposal"]), (("approved", &json!(null)), &paying(2400), &payment()));
        assert_eq!((&agreed["action_digest"], &agreed["proposed_digest"]), (&json!(approved), &json!(proposed)));
        let events = app.api(Role::Auditor).events(intent_of(&asked)).await;
        let granted = events.iter().find(|event| event["event_type"] == "governance.approval_granted").unwrap()["payload"].clone();
        assert_eq!((&granted["proposal"], &granted["action_digest"], &granted["proposed_digest"]), (&paying(2400), &json!(approved), &json!(proposed)));
        in_order(app).await;
    }

    /// The grounds, the confidence and the action are on the page, in the event and under the hash of what was shown.
    async fn people_see_on_which_grounds_they_approve(app: &mut TestApp) {
        let more = json!({
            "assignees": null, "proposal": payment(), "editable": editable(), "risk": "high", "reversibility": "irreversible", "confidence": 0.625,
            "explanation": {"what_happens": "The bank pays today.", "rollback": "None."},
        });
        let (approval, asked) = asked(app, more).await;
        assert_eq!(asked["proposal"], payment());
        app.settle().await;
        let link = app.next_link().await;
        let mut person = app.person();
        let page = person.open(&link).await;
        for part in ["The bank pays today.", "None.", "DE02 1203 0000", "name=\"field./amount\"", "0.625", "The proposed action"] {
            assert!(page.html.contains(part), "{part} is missing in {}", page.html);
        }
        let events = app.api(Role::Auditor).events(intent_of(&asked)).await;
        let requested = events.iter().find(|event| event["event_type"] == "governance.approval_requested").unwrap()["payload"].clone();
        assert_eq!((&requested["reversibility"], &requested["risk"]), (&json!("irreversible"), &json!("high")));
        assert_eq!((&requested["proposal"], &requested["confidence_at_suspension"]), (&payment(), &json!(0.625)));
        assert_eq!(person.answer(&link, "approve").await.status, 200);
        let decided = app.agent().get(&approval).await.ok();
        assert_eq!((decided["status"].as_str(), &decided["proposal"]), (Some("approved"), &payment()));
        in_order(app).await;
    }

    /// A floor holds at `/approvals` as it does for a question, and the reply names it.
    async fn an_approval_can_demand_a_login(app: &mut TestApp) {
        directory(app).await;
        let [ada, ..] = keys(app).await;
        let (approval, asked) = asked(app, json!({"required_assurance": "session"})).await;
        assert_eq!(asked["required_assurance"], json!("session"));
        assert_eq!(decide(&ada, &approval, "approve", json!({})).await.problem(), (403, "assurance_too_low"));
    }
}
