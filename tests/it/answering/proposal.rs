//! Proposed actions: people edit what the agent lets them edit, and the agent gets what they approved.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::evidence::action_digest;
use domain::suspension::proposal::PROPOSAL_BYTES_MAX;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

use crate::people::quorums::{asked, keys, take_back, tally, two};

/// A payment.
pub(crate) fn payment() -> Value {
    json!({"amount": 2500, "purpose": "Invoice 7", "to": {"iban": "DE02 1203 0000", "name": "ACME"}})
}

/// The part of the payment that people may edit.
pub(crate) fn editable() -> Value {
    json!({"type": "object", "required": ["amount"], "x-order": ["amount", "purpose", "to"], "properties": {
        "amount": {"type": "integer", "title": "Amount", "description": "In euros", "minimum": 1, "maximum": 5000},
        "purpose": {"type": "string", "title": "Purpose", "maxLength": 140},
        "to": {"type": "object", "title": "Recipient", "properties": {"name": {"type": "string", "title": "Name", "maxLength": 70}}},
    }})
}

/// The members of a question that proposes the payment.
pub(crate) fn proposing() -> Value {
    json!({"question": "Pay invoice 7?", "proposal": payment(), "editable": editable()})
}

pub(crate) fn paying(amount: u32) -> Value {
    let mut payment = payment();
    payment["amount"] = json!(amount);
    payment
}

pub(crate) fn digest(action: &Value) -> String {
    action_digest(action.as_object().unwrap()).unwrap().to_string()
}

async fn answer(api: &Api, intent: IntentId, id: &str, more: Value) -> Reply {
    let mut body = json!({"suspension_id": id, "value": "approve"});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    api.post(&format!("api/v1/intents/{intent}/suspend/respond"), body).await
}

on_each_store! {
    /// The agent proposes 2,500 and a person approves 2,400: answer, record, log and receipt have both digests, and only the second action
    /// is approved. The server restarts in between.
    async fn the_agent_gets_the_action_as_the_person_approved_it(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = agent.ask(proposing()).await;
        let open = agent.suspension(&id).await;
        assert_eq!((&open["proposal"], &open["editable"], &open["refusing"]), (&payment(), &editable(), &json!(["deny"])));
        assert_eq!((open["action_digest"].as_str(), open.get("original_proposal")), (Some(&*digest(&payment())), None));
        app.restart().await;
        let answered = answer(&app.operator(), intent, &id, json!({"proposal": paying(2400)})).await.ok();
        let (proposed, approved) = (digest(&payment()), digest(&paying(2400)));
        assert_eq!(answered["proposal"], paying(2400));
        assert_eq!((answered["action_digest"].as_str(), answered["proposed_digest"].as_str()), (Some(&*approved), Some(&*proposed)));
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["proposal"], &record["original_proposal"]), (&paying(2400), &payment()));
        assert_eq!(record["action_digest"].as_str(), Some(&*approved));
        let events = app.api(Role::Auditor).events(intent).await;
        let of = |kind: &str| events.iter().find(|event| event["event_type"] == kind).unwrap()["payload"].clone();
        let (asked, resumed) = (of("intent.suspended"), of("intent.resumed"));
        assert_eq!((&asked["proposal"], &asked["editable"]), (&payment(), &editable()));
        assert_eq!(resumed["proposal"], paying(2400));
        assert_eq!((resumed["action_digest"].as_str(), resumed["proposed_digest"].as_str()), (Some(&*approved), Some(&*proposed)));
        let waited = app.agent().get(&format!("api/v1/suspensions/{id}?wait=1")).await.ok();
        assert_eq!(waited["proposal"], paying(2400), "a waiting agent gets the final action too");
    }

    /// An edit of anything else never reaches the agent, and its place is named.
    async fn an_edit_of_anything_else_is_refused(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(proposing()).await;
        let operator = app.operator();
        let with = |pointer: &str, value: Value| {
            let mut action = payment();
            *action.pointer_mut(pointer).unwrap() = value;
            action
        };
        for (action, field, rule) in [
            (with("/to/iban", json!("DE99")), "proposal/to/iban", "editable"),
            (with("/amount", json!(5001)), "proposal/amount", "maximum"),
            (with("/amount", json!("2400")), "proposal/amount", "type"),
            (with("/purpose", json!("x\u{202e}y")), "proposal/purpose", "characters"),
            (json!({"amount": 1}), "proposal/to", "editable"),
            (with("/purpose", json!("x".repeat(PROPOSAL_BYTES_MAX))), "proposal", "length"),
        ] {
            let refused = answer(&operator, intent, &id, json!({"proposal": action})).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, rule), "{}", refused.body);
        }
        let refused = answer(&operator, intent, &id, json!({"value": "deny", "proposal": paying(1)})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "proposal", "refused"));
        let refused = answer(&operator, intent, &id, json!({"based_on": "sha256:x"})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "based_on", "digest"));
        assert_eq!(app.agent().status(intent).await, "suspended_awaiting_input");
        let denied = answer(&operator, intent, &id, json!({"value": "deny"})).await.ok();
        assert_eq!(denied["proposal"], payment());
        // A question without a proposal takes none in its answer.
        let (intent, id) = app.agent().ask(json!({})).await;
        let refused = answer(&operator, intent, &id, json!({"proposal": payment()})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "proposal", "unsupported"));
    }

    /// A proposal that people could not decide about is refused when it is asked.
    async fn a_proposal_that_breaks_a_rule_is_refused_when_it_is_asked(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let with = |name: &str, value: Value| {
            let mut question = proposing();
            question[name] = value;
            question
        };
        for (question, field, rule) in [
            (json!({"editable": editable()}), "editable", "unsupported"),
            (with("proposal", json!({})), "proposal", "required"),
            (with("proposal", paying(5001)), "proposal/amount", "maximum"),
            (with("proposal", json!({"purpose": "x"})), "proposal/amount", "required"),
            (with("editable", json!({"type": "object", "properties": {"amount": {"$ref": "#"}}})), "editable/properties/amount/type", "type"),
            (json!({"response_type": "text", "choices": [], "proposal": payment()}), "proposal", "unsupported"),
            (json!({"response_type": "form", "choices": [], "proposal": payment()}), "proposal", "unsupported"),
        ] {
            let refused = agent.suspend(intent, question).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, rule), "{}", refused.body);
        }
        let sized = |bytes: usize| json!({"proposal": {"a": "x".repeat(bytes - 8)}});
        assert_eq!(agent.suspend(intent, sized(PROPOSAL_BYTES_MAX + 1)).await.field_problem().2, "proposal");
        agent.suspend(intent, sized(PROPOSAL_BYTES_MAX)).await.ok();
    }

    /// Approvals count for one action: an edit clears those before it, and an answer to an action that was edited since is refused.
    async fn approvals_count_per_final_action(app: &mut TestApp) {
        crate::people::assignees::directory(app).await;
        let (intent, id) = asked(app, two(), proposing()).await;
        let [ada, bob, eve] = keys(app).await;
        assert_eq!(tally(answer(&ada, intent, &id, json!({})).await), (1, 2));
        app.restart().await;
        let [ada, bob, eve] = [ada, bob, eve].map(|api| Api::new(&app.base, Some(api.key())));
        let edited = answer(&bob, intent, &id, json!({"proposal": paying(2400)})).await;
        assert_eq!((edited.body["proposal"].clone(), tally(edited)), (paying(2400), (1, 2)));
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["proposal"], &record["original_proposal"]), (&paying(2400), &payment()));
        let people: Vec<_> = record["counted"].as_array().unwrap().iter().map(|counted| counted["person"].clone()).collect();
        assert_eq!(people, [json!("bob@example.com")], "the edit has cleared the approval of the first person");
        let events = app.api(Role::Auditor).events(intent).await;
        let clears: Vec<_> = events.iter().filter_map(|event| event["payload"].get("clears")).collect();
        assert_eq!(clears, [&json!(["ada@example.com"])]);
        for stale in [json!({}), json!({"proposal": payment()}), json!({"proposal": paying(2300)}), json!({"based_on": digest(&payment())})] {
            let refused = answer(&ada, intent, &id, stale).await;
            assert_eq!(refused.problem(), (412, "proposal_changed"), "{}", refused.body);
            assert_eq!(refused.body["changes"], json!([{"field": "/amount", "from": 2500, "to": 2400}]));
            assert_eq!(refused.body["action_digest"].as_str(), Some(&*digest(&paying(2400))));
        }
        // An approval may be taken back, and then the action stands as it was proposed.
        take_back(&bob, &id).await.ok();
        assert_eq!(app.agent().suspension(&id).await["proposal"], payment());
        assert_eq!(tally(answer(&bob, intent, &id, json!({"proposal": paying(2400)})).await), (1, 2));
        let seen = json!({"based_on": digest(&paying(2400))});
        let agreed = answer(&eve, intent, &id, seen).await.ok();
        assert_eq!((&agreed["resolution"], &agreed["proposal"]), (&json!("responded"), &paying(2400)));
        assert_eq!(agreed["action_digest"].as_str(), Some(&*digest(&paying(2400))));
        assert_eq!(app.agent().suspension(&id).await["proposal"], paying(2400));
    }

    /// Different actions do not add up, even if the value is the same; a refusal is one of every action.
    async fn a_refusal_stands_whatever_is_edited(app: &mut TestApp) {
        crate::people::assignees::directory(app).await;
        let quorum = json!({"required_approvals": 2, "required_refusals": 2});
        let (intent, id) = asked(app, quorum, proposing()).await;
        let [ada, bob, eve] = keys(app).await;
        assert_eq!(tally(answer(&ada, intent, &id, json!({"value": "deny"})).await), (1, 2));
        assert_eq!(tally(answer(&bob, intent, &id, json!({"proposal": paying(2400)})).await), (1, 2));
        let denied = answer(&eve, intent, &id, json!({"value": "deny"})).await.ok();
        assert_eq!((&denied["resolution"], &denied["value"]), (&json!("responded"), &json!("deny")));
    }

    /// An answer that was made for another question is refused, also where no action is proposed.
    async fn an_answer_names_the_digest_of_its_own_question(app: &mut TestApp) {
        let plain = json!({"question": "Refund?", "choices": [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}], "context": {"order": 1}});
        let (intent, id) = app.agent().ask(plain).await;
        let operator = app.operator();
        let refused = answer(&operator, intent, &id, json!({"based_on": digest(&payment())})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "based_on", "digest"));
        let own = answer(&operator, intent, &id, json!({"based_on": digest(&json!({"order": 1}))})).await.ok();
        assert_eq!(own["resolution"], "responded");
    }
}
