//! The people at the checkpoints of plans: the same rules as for every other question.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::container::plan::PLAN_PROPOSALS_BYTES_MAX;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use placet::Client;
use serde_json::{Value, json};

use super::assignees::{ADA, BOB, EVE, directory, key_of, mails, set};
use super::floors::verified;
use super::passkeys;
use super::quorums::keys;
use crate::answering::proposal::{digest, editable, paying, payment};
use crate::containers::plans::{PLANS, act, at_a_checkpoint, checkpoint, create, finish, plan, question, task, update};

/// Approves or rejects at the checkpoint of a plan.
async fn decide(api: &Api, plan: &str, verb: &str) -> Reply {
    api.post(&format!("api/v1/checkpoints/pay/{verb}"), json!({"plan_id": plan})).await
}

/// The state of the plan, and the status of its checkpoint.
async fn stands(app: &TestApp, id: &str) -> (String, String) {
    let plan = plan(&app.agent(), id).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&plan["state"]), text(&plan["checkpoints"][0]["status"]))
}

fn is(state: &str, status: &str) -> (String, String) {
    (state.to_owned(), status.to_owned())
}

async fn payload(app: &TestApp, intent: IntentId, kind: &str) -> Value {
    let events = app.api(Role::Auditor).events(intent).await;
    events.iter().rev().find(|event| event["event_type"] == kind).unwrap()["payload"].clone()
}

/// Two of Ada, Bob and Eve.
fn two_of_three() -> Value {
    json!({"assignees": {"people": [ADA, BOB, EVE]}, "quorum": {"required_approvals": 2}})
}

on_each_store! {
    /// Two people approve, each by another way, with a restart between them.
    async fn two_people_approve_at_a_checkpoint(app: &mut TestApp) {
        directory(app).await;
        let [ada, _, _] = keys(app).await;
        let (intent, id, _) = at_a_checkpoint(&app.agent(), two_of_three()).await;
        let shown = plan(&app.agent(), &id).await["checkpoints"][0].clone();
        assert_eq!(shown["assignees"], json!({"people": [ADA, BOB, EVE]}));
        assert_eq!(shown["quorum"], json!({"required_approvals": 2, "required_refusals": 1, "refusing": ["no"]}));
        let links = mails(app).await;
        assert_eq!(links.iter().map(|(to, _)| to.as_str()).collect::<Vec<_>>(), [ADA, BOB, EVE]);
        let partial = decide(&ada, &id, "approve").await.ok();
        assert_eq!((&partial["state"], &partial["checkpoints"][0]["status"]), (&json!("paused"), &json!("reached")));
        assert_eq!(partial["checkpoints"][0]["approvals"], json!({"given": 1, "needed": 2}));
        assert_eq!(payload(app, intent, "intent.answer_counted").await["person"], json!(ADA));
        app.restart().await;
        let ada = Api::new(&app.base, Some(ada.key()));
        decide(&ada, &id, "approve").await.ok();
        assert_eq!(stands(app, &id).await, is("paused", "reached"), "one person is one person");
        assert_eq!(app.person().answer(&links[1].1, "yes").await.status, 200);
        assert_eq!(stands(app, &id).await, is("active", "approved"));
        let agreed = payload(app, intent, "intent.resumed").await["agreed"].clone();
        assert_eq!(agreed.as_array().unwrap().iter().map(|agreed| &agreed["person"]).collect::<Vec<_>>(), [ADA, BOB]);
        assert_eq!(plan(&app.agent(), &id).await["checkpoints"][0]["approved_by"], json!(BOB));
    }

    /// The agent writes into the plan what it will do, why, and what people may change of it. Two people approve an edited action at the
    /// checkpoint, and an approval of what was edited since is refused.
    async fn an_edited_action_is_approved_at_a_checkpoint(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let mut more = two_of_three();
        let explanation = json!({"what_happens": "The bank pays today."});
        for (name, value) in [("proposal", payment()), ("editable", editable()), ("explanation", explanation.clone()), ("reversibility", json!("irreversible")), ("confidence", json!(0.625))] {
            more[name] = value;
        }
        let (intent, id, _) = at_a_checkpoint(&app.agent(), more).await;
        let shown = plan(&app.agent(), &id).await["checkpoints"][0].clone();
        assert_eq!((&shown["proposal"], &shown["explanation"], &shown["confidence"]), (&payment(), &explanation, &json!(0.625)));
        let page = app.person().open(&mails(app).await[0].1).await;
        for part in ["The bank pays today.", "DE02 1203 0000", "name=\"field./amount\"", "0.625"] {
            assert!(page.html.contains(part), "{part} is missing in {}", page.html);
        }
        let at = |api: &Api, more: Value| {
            let mut body = json!({"plan_id": id});
            for (name, value) in more.as_object().unwrap() {
                body[name] = value.clone();
            }
            api.request("POST", "api/v1/checkpoints/pay/approve").json(&body)
        };
        let refused = ada.send(at(&ada, json!({"proposal": paying(6000)}))).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "proposal/amount", "maximum"));
        ada.send(at(&ada, json!({"proposal": paying(2400)}))).await.ok();
        assert_eq!(bob.send(at(&bob, json!({}))).await.problem(), (412, "proposal_changed"));
        let so_far = plan(&app.agent(), &id).await["checkpoints"][0].clone();
        assert_eq!((&so_far["proposal"], &so_far["original_proposal"]), (&paying(2400), &payment()));
        bob.send(at(&bob, json!({"based_on": digest(&paying(2400))}))).await.ok();
        assert_eq!(stands(app, &id).await, is("active", "approved"));
        // Only the edited action may be carried out, so the checkpoint shows it, after a restart as well.
        app.restart().await;
        let client = Client::new(app.base.clone(), app.agent().key().to_owned()).unwrap();
        let read = client.plan(id.parse().unwrap()).await.unwrap();
        let approved = serde_json::to_value(&read.view().checkpoints[0]).unwrap();
        for checkpoint in [plan(&app.agent(), &id).await["checkpoints"][0].clone(), approved] {
            assert_eq!((&checkpoint["proposal"], &checkpoint["original_proposal"]), (&paying(2400), &payment()));
            assert_eq!((&checkpoint["action_digest"], checkpoint.get("approvals")), (&json!(digest(&paying(2400))), None));
        }
        let resumed = payload(app, intent, "intent.resumed").await;
        assert_eq!((&resumed["proposal"], &resumed["action_digest"]), (&paying(2400), &json!(digest(&paying(2400)))));
        assert_eq!((&resumed["proposed_digest"], resumed["agreed"].as_array().unwrap().len()), (&json!(digest(&payment())), 2));
        let asked = payload(app, intent, "intent.suspended").await;
        assert_eq!((&asked["proposal"], &asked["explanation"], &asked["reversibility"]), (&payment(), &explanation, &json!("irreversible")));
        app.settle().await;
        let report = verified(app).await;
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        // Without a decision there is nothing to edit and nothing to explain.
        let done = task(&app.agent(), intent, json!({})).await;
        let mut idle = checkpoint(&done);
        (idle["requires_approval"], idle["explanation"]) = (json!(false), explanation);
        let refused = create(&app.agent(), intent, json!({"tasks": [done], "checkpoints": [idle]})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "checkpoints[0].requires_approval", "value"));
    }

    /// The agent that plans hears of fields that may mislead people, as one that asks does, also when it repeats the request.
    async fn an_agent_hears_of_misleading_fields_of_a_checkpoint(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let one = task(&agent, intent, json!({})).await;
        let text = |title: &str| json!({"type": "string", "title": title});
        let mut misleading = checkpoint(&one);
        misleading["proposal"] = json!({"a": "x", "b": "y"});
        misleading["editable"] = json!({"type": "object", "properties": {"a": text("Account"), "b": text("Account")}});
        let body = json!({"intent_id": intent, "tasks": [one], "checkpoints": [misleading]});
        let keyed = |body: &Value| agent.request("POST", PLANS).header("idempotency-key", "k").json(body);
        let created = agent.send(keyed(&body)).await.ok();
        let warned = created["warnings"].clone();
        let first = warned[0].as_str().unwrap_or_default();
        assert!(first.starts_with("checkpoints[0]: editable/a: ") && first.ends_with("People are warned."), "{created}");
        assert_eq!(agent.send(keyed(&body)).await.ok()["warnings"], warned);
        let id = created["id"].as_str().unwrap().to_owned();
        assert_eq!(plan(&agent, &id).await.get("warnings"), None, "they are for the reply alone");
        let again = update(&agent, PLANS, &id, json!({"checkpoints": [misleading]})).await.ok();
        assert_eq!(again["warnings"], warned);
        let honest = update(&agent, PLANS, &id, json!({"checkpoints": [checkpoint(&one)]})).await.ok();
        assert_eq!(honest.get("warnings"), None);
    }

    /// People at a checkpoint see how the newest questions of its kind were decided, at the time at which they are asked.
    async fn a_checkpoint_shows_earlier_decisions_of_its_kind(app: &mut TestApp) {
        let agent = app.agent();
        let keyed = json!({"question_key": "payments"});
        let (_, first, _) = at_a_checkpoint(&agent, keyed.clone()).await;
        let shown = plan(&agent, &first).await["checkpoints"][0].clone();
        assert_eq!(shown["question_key"], json!("payments"));
        let asked = agent.suspension(&question(&agent, &first).await).await;
        assert_eq!((&asked["question_key"], asked.get("earlier_decisions")), (&json!("payments"), None));
        // The plan is written before the first question is decided, and its people are asked afterwards.
        let intent = agent.active_intent().await;
        let one = task(&agent, intent, json!({})).await;
        let mut later = checkpoint(&one);
        later["question_key"] = json!("payments");
        let second = create(&agent, intent, json!({"tasks": [one], "checkpoints": [later]})).await.ok()["id"].as_str().unwrap().to_owned();
        act(&agent, &second, "activate").await.ok();
        decide(&app.operator(), &first, "approve").await.ok();
        finish(&agent, &one, "complete").await;
        let asked = agent.suspension(&question(&agent, &second).await).await;
        let earlier = asked["earlier_decisions"].as_array().unwrap();
        assert_eq!((earlier.len(), &earlier[0]["response"]), (1, &json!("yes")));
        app.settle().await;
        let report = verified(app).await;
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        mails(app).await;
    }

    /// A plan is written anew with each step, so all its proposals together have a bound.
    async fn the_proposals_of_a_plan_have_a_common_bound(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let one = task(&agent, intent, json!({})).await;
        // {"a":"x…"} has eight bytes beside the text.
        let of = |bytes: usize, id: &str| {
            let mut proposing = checkpoint(&one);
            (proposing["id"], proposing["proposal"]) = (json!(id), json!({"a": "x".repeat(bytes - 8)}));
            proposing
        };
        let third = PLAN_PROPOSALS_BYTES_MAX / 3;
        let with = |last: usize| json!({"tasks": [one], "checkpoints": [of(third, "one"), of(third, "two"), of(last, "three")]});
        let rest = PLAN_PROPOSALS_BYTES_MAX - 2 * third;
        let refused = create(&agent, intent, with(rest + 1)).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "checkpoints", "length"), "{}", refused.body);
        let id = create(&agent, intent, with(rest)).await.ok()["id"].as_str().unwrap().to_owned();
        let refused = update(&agent, PLANS, &id, json!({"checkpoints": with(rest + 1)["checkpoints"]})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "checkpoints", "length"), "{}", refused.body);
    }

    /// One refusal stops the plan, and a person who is not among the assignees does neither.
    async fn an_outsider_decides_nothing_and_one_refusal_stops_the_plan(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, eve] = keys(app).await;
        let assigned = json!({"assignees": {"groups": ["finance"]}, "quorum": {"required_approvals": 2}});
        let (intent, id, _) = at_a_checkpoint(&app.agent(), assigned).await;
        let asked = question(&app.agent(), &id).await;
        for verb in ["approve", "reject"] {
            assert_eq!(decide(&eve, &id, verb).await.problem(), (403, "not_assigned"));
            assert_eq!(decide(&app.operator(), &id, verb).await.problem(), (403, "not_assigned"));
            assert_eq!(decide(&app.agent(), &id, verb).await.problem().0, 403);
        }
        assert_eq!(eve.respond(intent, &asked, "yes").await.problem(), (403, "not_assigned"));
        decide(&ada, &id, "approve").await.ok();
        assert_eq!(stands(app, &id).await, is("paused", "reached"));
        decide(&bob, &id, "reject").await.ok();
        assert_eq!(stands(app, &id).await, is("failed", "rejected"));
        assert_eq!(decide(&ada, &id, "approve").await.problem(), (409, "checkpoint_not_open"));
    }

    /// Silence after an approval approves nothing, although the checkpoint approves itself after silence alone.
    async fn silence_after_an_approval_approves_nothing(app: &mut TestApp) {
        directory(app).await;
        let [ada, _, _] = keys(app).await;
        let silent = json!({"timeout_hours": 1, "on_timeout": "auto_approve"});
        let mut checkpoint = two_of_three();
        checkpoint.as_object_mut().unwrap().extend(silent.as_object().unwrap().clone());
        let (first, approved, _) = at_a_checkpoint(&app.agent(), checkpoint.clone()).await;
        let (second, unmet, _) = at_a_checkpoint(&app.agent(), checkpoint).await;
        decide(&ada, &unmet, "approve").await.ok();
        app.settle().await;
        app.advance(3_601).await;
        assert_eq!(stands(app, &approved).await, is("active", "approved"));
        assert_eq!(app.agent().status(first).await, "active");
        assert_eq!(payload(app, second, "intent.suspension_cancelled").await["resolution_reason"], json!("quorum_unmet"));
        assert_eq!(app.agent().status(second).await, "abandoned");
        assert_eq!(stands(app, &unmet).await.0, "failed");
    }

    /// Who may decide is who is in the group when the decision comes. The people who are told are those of the time of the plan.
    async fn membership_counts_when_the_decision_comes(app: &mut TestApp) {
        directory(app).await;
        let [_, bob, eve] = keys(app).await;
        let (_, id, _) = at_a_checkpoint(&app.agent(), json!({"assignees": {"groups": ["finance"]}})).await;
        assert_eq!(mails(app).await.iter().map(|(to, _)| to.as_str()).collect::<Vec<_>>(), [ADA, BOB]);
        set(app, "finance", &[ADA, EVE]).await;
        assert_eq!(decide(&bob, &id, "approve").await.problem(), (403, "not_assigned"));
        decide(&eve, &id, "approve").await.ok();
        assert_eq!(stands(app, &id).await, is("active", "approved"));
    }

    /// The person who owns the key of the agent that plans makes no quorum at its checkpoints.
    async fn the_owner_of_the_planning_agent_is_none_of_them(app: &mut TestApp) {
        directory(app).await;
        let owned = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "payer", ADA).await));
        let [ada, bob, eve] = keys(app).await;
        let (_, id, _) = at_a_checkpoint(&owned, two_of_three()).await;
        assert_eq!(mails(app).await.iter().map(|(to, _)| to.as_str()).collect::<Vec<_>>(), [BOB, EVE]);
        assert_eq!(decide(&ada, &id, "approve").await.problem().0, 403);
        decide(&bob, &id, "approve").await.ok();
        decide(&eve, &id, "approve").await.ok();
        assert_eq!(plan(&owned, &id).await["state"], "active");
        let intent = owned.active_intent().await;
        let one = task(&owned, intent, json!({})).await;
        let mut all = checkpoint(&one);
        (all["assignees"], all["quorum"]) = (json!({"people": [ADA, BOB, EVE]}), json!({"required_approvals": 3}));
        let refused = create(&owned, intent, json!({"tasks": [one], "checkpoints": [all]})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "checkpoints[0].quorum.required_approvals", "count"));
    }

    /// A plan whose checkpoint could not be decided is not made, and each broken rule is named at its checkpoint.
    async fn a_checkpoint_that_could_not_be_decided_is_refused(app: &mut TestApp) {
        directory(app).await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let one = task(&agent, intent, json!({})).await;
        let with = |change: Value| {
            let mut second = checkpoint(&one);
            second["id"] = json!("second");
            for (name, value) in change.as_object().unwrap() {
                second[name] = value.clone();
            }
            json!({"tasks": [one], "checkpoints": [checkpoint(&one), second]})
        };
        let draft = create(&agent, intent, with(json!({}))).await.ok()["id"].as_str().unwrap().to_owned();
        let before = plan(&agent, &draft).await;
        for (change, field, rule) in [
            (json!({"assignees": {"people": ["eve@other.example"]}}), "assignees.people[0]", "unknown"),
            (json!({"assignees": {"groups": ["pilots"]}}), "assignees.groups[0]", "unknown"),
            (json!({"assignees": {"people": []}}), "assignees", "required"),
            (json!({"assignees": {"people": [ADA]}, "approvers": [BOB]}), "approvers", "assigned"),
            (json!({"assignees": {"people": [ADA]}, "quorum": {"required_approvals": 2}}), "quorum.required_approvals", "count"),
            (json!({"quorum": {"required_approvals": 0}}), "quorum.required_approvals", "range"),
            (json!({"quorum": {"required_approvals": 1, "required_by_group": {"pilots": 1}}}), "quorum.required_by_group.pilots", "unknown"),
            (json!({"required_assurance": "passkey"}), "required_assurance", "unsupported"),
            (json!({"requires_approval": false, "assignees": {"people": [ADA]}}), "requires_approval", "value"),
        ] {
            let body = with(change.clone());
            let field = format!("checkpoints[1].{field}");
            assert_eq!(create(&agent, intent, body.clone()).await.field_problem(), (422, "invalid", field.as_str(), rule), "{change}");
            let outline = json!({"checkpoints": body["checkpoints"]});
            assert_eq!(update(&agent, PLANS, &draft, outline).await.field_problem(), (422, "invalid", field.as_str(), rule), "{change}");
        }
        assert_eq!(plan(&agent, &draft).await, before);
        let other = json!({"checkpoints": with(json!({"assignees": {"people": [EVE]}}))["checkpoints"]});
        update(&agent, PLANS, &draft, other).await.ok();
        assert_eq!(plan(&agent, &draft).await["checkpoints"][1]["assignees"], json!({"people": [EVE]}));
    }

    /// A checkpoint that demands a passkey is not passed by a key.
    async fn a_checkpoint_demands_a_passkey(app: &mut TestApp) {
        passkeys::at_home(app).await;
        let (mut ada, passkey) = passkeys::person_with_passkey(app, ADA).await;
        let demands = json!({"approvers": [ADA], "required_assurance": "passkey"});
        let (_, id, _) = at_a_checkpoint(&app.agent(), demands).await;
        for api in [key_of(app, ADA, "ada").await, app.operator()] {
            assert_eq!(decide(&api, &id, "approve").await.problem(), (403, "assurance_too_low"));
        }
        app.settle().await;
        let link = app.next_link().await;
        assert_eq!(stands(app, &id).await, is("paused", "reached"));
        let answered = passkeys::signed_answer(&mut ada, &passkey, &link, "yes").await;
        assert_eq!(answered.status, 303, "{}", answered.html);
        assert_eq!(stands(app, &id).await, is("active", "approved"));
    }
}
