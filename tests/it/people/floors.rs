//! Floors of assurance, logins that lead to a question and back, the separation of an agent from its owner, and refusals that say why.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeMap;

use domain::asking::floors::Floors;
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::demand::{AgentRule, COMMENT_BYTES_MAX, RequiredAssurance, Risk, Separation};
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use harness::person::{Page, Person};
use serde_json::{Value, json};
use verify::report::Report;
use verify::{Options, Watchers, verify};

use super::assignees::{ADA, BOB, EVE, directory, key_of, list, mails};
use super::logins::log_in_for;
use super::passkeys::{at_home, person_with_passkey, recorded};
use crate::containers::plans::{PLANS, act, checkpoint, create, finish, plan, question, task, update};

/// The floors of these tests: by an agent, by a group and by a risk.
fn floors() -> Floors {
    let rule = |name: &str, assurance, separation| AgentRule { name: name.to_owned(), assurance, separation };
    Floors {
        agents: vec![rule("payer", Some(RequiredAssurance::Session), None), rule("owned", None, Some(Separation::Owner))],
        groups: BTreeMap::from([("finance".to_owned(), RequiredAssurance::Session)]),
        risks: BTreeMap::from([(Risk::High, RequiredAssurance::Session)]),
    }
}

async fn with_floors(app: &mut TestApp) {
    directory(app).await;
    app.restart_with(|config| config.asking.floors = floors()).await;
}

/// Asks one person; gives the intent, the question and the link.
async fn ask(app: &TestApp, to: &str, change: Value) -> (IntentId, Value, String) {
    let intent = app.agent().active_intent().await;
    let mut body = json!({"notify_to": [to]});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    let asked = app.agent().suspend(intent, body).await.ok();
    let link = mails(app).await.into_iter().find(|(recipient, _)| recipient == to).unwrap().1;
    (intent, asked, link)
}

fn id(asked: &Value) -> &str {
    asked["id"].as_str().unwrap()
}

fn at(app: &TestApp, path: &str) -> String {
    format!("{}{path}", app.base)
}

/// The address of the login on a page.
fn login_on(page: &Page) -> String {
    let (_, rest) = page.html.split_once("href=\"/login?question=").unwrap_or_else(|| panic!("no login: {}", page.html));
    format!("login?question={}", rest.split('"').next().unwrap())
}

/// Sends the form of a page as a browser does, with the hidden fields.
async fn send(person: &mut Person, url: &str, shown: &Page, more: &[(&str, &str)]) -> Page {
    let nonce = shown.nonce();
    let hidden = shown.html.split_once("name=\"person\" value=\"").map(|(_, rest)| rest.split('"').next().unwrap().to_owned());
    let mut fields = vec![("nonce", nonce.as_str())];
    fields.extend(hidden.as_deref().map(|hidden| ("person", hidden)));
    fields.extend(more);
    person.post(url, &fields).await
}

async fn is_open(app: &TestApp, question: &str) -> bool {
    app.agent().suspension(question).await["resolution"].is_null()
}

/// The report of the verifier on an export.
pub(crate) async fn verified(app: &TestApp) -> Report {
    app.checkpoints().turn().await.unwrap();
    let key = app.checkpoints().key().unwrap().verifying().clone();
    let export = app.api(Role::Auditor).get("api/v1/export").await.text;
    verify("export", export.as_bytes(), &Options::with_keys(vec![key]), Watchers::default())
}

on_each_store! {
    /// The fields of a form are kept over a login like a comment, and are not replaced by the defaults of its schema.
    async fn the_fields_of_a_form_are_kept_over_a_login(app: &mut TestApp) {
        with_floors(app).await;
        let schema = json!({"type": "object", "properties": {"city": {"type": "string", "default": "Berlin"}}});
        let (_, asked, link) = ask(app, ADA, json!({"risk": "high", "response_type": "form", "choices": [], "schema": schema})).await;
        let mut ada = app.person();
        let shown = ada.open(&link).await;
        assert!(shown.html.contains("Berlin"), "{}", shown.html);
        let refused = send(&mut ada, &link, &shown, &[("field./city", "Bremen")]).await;
        assert!(refused.status == 403 && refused.html.contains("Bremen"), "{} {}", refused.status, refused.html);
        log_in_for(app, &mut ada, ADA, &login_on(&refused)).await;
        let back = ada.open(&at(app, &format!("questions/{}", id(&asked)))).await;
        assert!(back.html.contains("Bremen") && !back.html.contains("Berlin"), "{}", back.html);
    }

    /// A plan asks in the name of the agent that wrote it. Another agent that may change the plan must not take its floor away.
    async fn another_agent_takes_no_floor_from_a_plan(app: &mut TestApp) {
        with_floors(app).await;
        let helper = app.agent();
        let payer = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "payer", "payer").await));
        let intent = helper.active_intent().await;
        helper.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "payer"})).await.ok();
        let one = task(&payer, intent, json!({})).await;
        let id = create(&payer, intent, json!({"tasks": [one], "checkpoints": [checkpoint(&one)]})).await.ok()["id"].as_str().unwrap().to_owned();
        update(&helper, PLANS, &id, json!({"checkpoints": [checkpoint(&one)]})).await.ok();
        assert_eq!(plan(&payer, &id).await["checkpoints"][0]["required_assurance"], json!("session"));
        act(&helper, &id, "activate").await.ok();
        finish(&payer, &one, "complete").await;
        let asked = question(&payer, &id).await;
        assert_eq!(payer.suspension(&asked).await["required_assurance"], json!("session"));
        assert_eq!(app.operator().respond(intent, &asked, "yes").await.problem(), (403, "assurance_too_low"));
        // The question whether the tasks of a plan may begin is asked when any of the agents activates it.
        let reviewed = payer.active_intent().await;
        payer.post(&format!("api/v1/intents/{reviewed}/agents"), json!({"agent_id": "test-agent"})).await.ok();
        let guarded = json!({"agent_id": "payer", "intent_id": reviewed, "guardrails": {"requires_plan_review": true}});
        payer.post("api/v1/coordinators", guarded).await.ok();
        let two = task(&payer, reviewed, json!({})).await;
        let id = create(&payer, reviewed, json!({"tasks": [two]})).await.ok()["id"].as_str().unwrap().to_owned();
        act(&payer, &id, "activate").await.ok();
        let open = payer.intent(reviewed).await["state"]["_suspension"]["id"].as_str().unwrap().to_owned();
        assert_eq!(app.operator().respond(reviewed, &open, "yes").await.problem(), (403, "assurance_too_low"));
    }

    /// A second agent of the same owner asks in the intent of the first one, by each way to ask: the rules about the first one hold.
    async fn another_agent_asks_by_the_rules_about_the_agent_of_the_intent(app: &mut TestApp) {
        with_floors(app).await;
        let payer = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "payer", "team").await));
        let helper = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "helper", "team").await));
        let operator = app.operator();
        let intent_of = async |agent: &Api| {
            let intent = agent.active_intent().await;
            agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "helper"})).await.ok();
            intent
        };
        let intent = intent_of(&payer).await;
        for (path, body) in [("approvals", json!({"action": "pay"})), ("escalations", json!({"reason": "Stuck."})), ("arbitrate", json!({"reason": "Stuck."}))] {
            let asked = helper.post(&format!("api/v1/intents/{intent}/{path}"), body).await.ok();
            assert_eq!(helper.suspension(id(&asked)).await["required_assurance"], json!("session"), "{path}");
            assert_eq!(operator.respond(intent, id(&asked), "approve").await.problem(), (403, "assurance_too_low"), "{path}");
        }
        let ask = helper.request("POST", &format!("api/v1/intents/{intent}/suspend")).header("idempotency-key", "one");
        let ask = ask.json(&json!({"question": "Pay?", "response_type": "confirm", "notify_to": [ADA]}));
        let again = ask.try_clone().unwrap();
        let (asked, repeated) = (helper.send(ask).await.ok(), helper.send(again).await.ok());
        let warning = "required_assurance is session: this server demands it for the question";
        for shown in [&asked, &repeated] {
            let told = shown["warnings"].as_array().unwrap().iter().filter(|told| told.as_str() == Some(warning)).count();
            assert_eq!((&shown["required_assurance"], told), (&json!("session"), 1), "{shown}");
        }
        assert_eq!(operator.respond(intent, id(&asked), "yes").await.problem(), (403, "assurance_too_low"));
        let planned = intent_of(&payer).await;
        let one = task(&helper, planned, json!({})).await;
        let plan = create(&helper, planned, json!({"tasks": [one], "checkpoints": [checkpoint(&one)]})).await.ok();
        assert_eq!(plan["checkpoints"][0]["required_assurance"], json!("session"));
        mails(app).await;
    }

    /// The separation of the agent that created the intent holds for another agent that asks in it: its owner is neither asked nor heard.
    async fn another_agent_asks_no_owner_of_the_agent_of_the_intent(app: &mut TestApp) {
        with_floors(app).await;
        let owned = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "owned", ADA).await));
        let helper = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "helper", ADA).await));
        let intent = owned.active_intent().await;
        owned.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "helper"})).await.ok();
        let assigned = json!({"action": "pay", "assignees": {"people": [ADA, BOB]}});
        let asked = helper.post(&format!("api/v1/intents/{intent}/approvals"), assigned).await.ok();
        let shown = helper.suspension(id(&asked)).await;
        assert_eq!((&shown["separation"], &shown["notify_to"]), (&json!("owner"), &json!([BOB])), "{shown}");
        let ada = key_of(app, ADA, "ada").await;
        assert_eq!(ada.respond(intent, id(&asked), "approve").await.problem(), (403, "self_response"));
        let one = task(&helper, intent, json!({})).await;
        let checkpoint = |approvers: &[&str]| {
            let mut wanted = checkpoint(&one);
            wanted["approvers"] = json!(approvers);
            json!({"tasks": [one], "checkpoints": [wanted]})
        };
        let alone = create(&helper, intent, checkpoint(&[ADA])).await;
        assert_eq!(alone.field_problem(), (422, "invalid", "checkpoints[0].approvers", "separation"));
        create(&helper, intent, checkpoint(&[ADA, BOB])).await.ok();
        mails(app).await;
    }

    /// An agent that is set apart from its owner is let go on by another person, when a person has paused it.
    async fn an_owner_who_is_kept_apart_lifts_no_pause(app: &mut TestApp) {
        with_floors(app).await;
        let owned = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "owned", ADA).await));
        let free = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "free", ADA).await));
        let ada = key_of(app, ADA, "ada").await;
        let resumed = async |by: &Api, agent: &Api, how: &str| {
            let intent = agent.active_intent().await;
            let stopper = if how == "park" { agent.clone() } else { app.operator() };
            let record = stopper.post(&format!("api/v1/intents/{intent}/{how}"), json!({"reason": "r"})).await.ok();
            by.post(&format!("api/v1/suspensions/{}/resume", id(&record)), json!({})).await.status
        };
        assert_eq!(resumed(&ada, &owned, "pause").await, 403);
        assert_eq!(resumed(&ada, &owned, "park").await, 200, "an agent that waits may be woken by its owner");
        assert_eq!(resumed(&ada, &free, "pause").await, 200, "the rule is about one agent");
        assert_eq!(resumed(&key_of(app, BOB, "bob").await, &owned, "pause").await, 200);
        // The rule holds for each agent that works on the intent, and not only for its creator.
        let intent = app.agent().active_intent().await;
        app.agent().post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "owned"})).await.ok();
        let record = app.operator().post(&format!("api/v1/intents/{intent}/pause"), json!({})).await.ok();
        let path = format!("api/v1/suspensions/{}/resume", id(&record));
        assert_eq!(ada.post(&path, json!({})).await.status, 403);
        assert_eq!(app.operator().post(&path, json!({})).await.status, 200);
    }

    /// A plan that only the owner of its agent could let go on is refused: by the question about a failed task when it is made, and by the
    /// review when it is to be active. A plan that asks neither is not.
    async fn a_plan_that_only_the_owner_could_let_go_on_is_refused(app: &mut TestApp) {
        with_floors(app).await;
        app.restart_with(|config| config.asking.operators = vec![ADA.to_owned()]).await;
        let owned = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "owned", ADA).await));
        let intent = owned.active_intent().await;
        let (one, two) = (task(&owned, intent, json!({})).await, task(&owned, intent, json!({})).await);
        let refused = create(&owned, intent, json!({"tasks": [one]})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "on_failure.approvers", "separation"), "{}", refused.text);
        for (tasks, is_reviewed) in [([&one], false), ([&two], true)] {
            let plan = create(&owned, intent, json!({"tasks": tasks, "on_failure": "fail"})).await.ok();
            if is_reviewed {
                let guarded = json!({"agent_id": "owned", "intent_id": intent, "guardrails": {"requires_plan_review": true}});
                owned.post("api/v1/coordinators", guarded).await.ok();
            }
            let activated = act(&owned, id(&plan), "activate").await;
            if is_reviewed {
                assert_eq!(activated.field_problem(), (422, "invalid", "state.approvers", "separation"), "{}", activated.text);
            } else {
                assert_eq!(activated.ok()["state"], "active");
            }
        }
    }

    /// The owner of the agent that made a plan is not asked to review it, also if another agent activates it, and is not asked about a task
    /// of it that has failed for good.
    async fn no_question_of_a_plan_asks_the_owner_of_the_agent_that_made_it(app: &mut TestApp) {
        with_floors(app).await;
        app.restart_with(|config| config.asking.operators = vec![ADA.to_owned(), BOB.to_owned()]).await;
        let (agent, owned) = (app.agent(), Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "owned", ADA).await)));
        let (ada, bob) = (key_of(app, ADA, "ada").await, key_of(app, BOB, "bob").await);
        let intent = agent.active_intent().await;
        agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "owned"})).await.ok();
        let guarded = json!({"agent_id": "test-agent", "intent_id": intent, "guardrails": {"requires_plan_review": true}});
        agent.post("api/v1/coordinators", guarded).await.ok();
        let (one, two) = (task(&owned, intent, json!({"max_attempts": 1})).await, task(&owned, intent, json!({})).await);
        let made = create(&owned, intent, json!({"tasks": [one, two]})).await.ok();
        act(&agent, id(&made), "activate").await.ok();
        for about in ["the review", "the failed task"] {
            let open = agent.intent(intent).await["state"]["_suspension"]["id"].as_str().unwrap().to_owned();
            let shown = agent.suspension(&open).await;
            assert_eq!((&shown["separation"], &shown["notify_to"]), (&json!("owner"), &json!([BOB])), "{about}: {shown}");
            assert_eq!(mails(app).await.iter().map(|(to, _)| to.as_str()).collect::<Vec<_>>(), [BOB], "{about}");
            assert_eq!(ada.respond(intent, &open, "yes").await.problem(), (403, "self_response"), "{about}");
            bob.respond(intent, &open, "yes").await.ok();
            assert_eq!(plan(&agent, id(&made)).await["state"], "active", "{about}");
            if about == "the review" {
                finish(&owned, &one, "fail").await;
            }
        }
        mails(app).await;
    }

    /// A declared risk has its floor in every request to people, and a request that cannot have one is refused.
    async fn a_risk_has_its_floor_in_approvals_escalations_arbitrations_and_checkpoints(app: &mut TestApp) {
        with_floors(app).await;
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        for (path, body) in [("approvals", json!({"action": "pay"})), ("escalations", json!({"reason": "Stuck."})), ("arbitrate", json!({"reason": "Stuck."}))] {
            let mut body = body;
            body["risk"] = json!("critical");
            let asked = agent.post(&format!("api/v1/intents/{intent}/{path}"), body.clone()).await.ok();
            let shown = agent.suspension(id(&asked)).await;
            assert_eq!((&shown["risk"], &shown["required_assurance"]), (&json!("critical"), &json!("session")), "{path}");
            body["risk"] = json!("enormous");
            let refused = agent.post(&format!("api/v1/intents/{intent}/{path}"), body).await;
            assert_eq!((refused.status, refused.text.contains("risk")), (422, true), "{}", refused.text);
        }
        let asked = agent.post(&format!("api/v1/intents/{intent}/approvals"), json!({"action": "pay", "risk": "high"})).await.ok();
        let approve = format!("api/v1/intents/{intent}/approvals/{}/approve", id(&asked));
        assert_eq!(operator.post(&approve, json!({})).await.problem().1, "assurance_too_low");
        let (planned, id) = {
            let intent = agent.active_intent().await;
            let one = task(&agent, intent, json!({})).await;
            let mut risky = checkpoint(&one);
            risky["risk"] = json!("high");
            let plan = create(&agent, intent, json!({"tasks": [one], "checkpoints": [risky]})).await.ok();
            (plan["checkpoints"][0].clone(), plan["id"].clone())
        };
        assert!(id.is_string());
        assert_eq!(planned["required_assurance"], json!("session"));
        let task = task(&agent, intent, json!({})).await;
        let refused = agent.post(&format!("api/v1/tasks/{task}/escalate"), json!({"reason": "Stuck.", "risk": "high"})).await;
        assert_eq!(refused.field_problem().2, "risk", "{}", refused.text);
    }

    /// The demand of the agent can only raise the floor; the floor that holds is in the record and in the log.
    async fn a_floor_holds_by_agent_by_group_and_by_risk(app: &mut TestApp) {
        with_floors(app).await;
        let payer = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "payer", "payer").await));
        let intent = payer.active_intent().await;
        let asked = payer.suspend(intent, json!({})).await.ok();
        assert_eq!(asked["required_assurance"], json!("session"));
        assert!(asked["warnings"].to_string().contains("this server demands it"), "{asked}");
        let events = app.api(Role::Auditor).events(intent).await;
        let suspended = events.iter().find(|event| event["event_type"] == "intent.suspended").unwrap();
        assert_eq!(suspended["payload"]["required_assurance"], json!("session"), "the log has the floor");
        for (change, floor) in [
            (json!({}), Value::Null),
            (json!({"assignees": {"groups": ["finance"]}, "notify_to": [ADA]}), json!("session")),
            (json!({"assignees": {"people": [ADA]}, "notify_to": [ADA]}), Value::Null),
            (json!({"risk": "medium"}), Value::Null),
            (json!({"risk": "critical"}), json!("session")),
            (json!({"required_assurance": "session"}), json!("session")),
        ] {
            let intent = app.agent().active_intent().await;
            let asked = app.agent().suspend(intent, change.clone()).await.ok();
            assert_eq!((&asked["required_assurance"], &asked["risk"]), (&floor, &change["risk"]), "{change}");
        }
        let intent = app.agent().active_intent().await;
        let wrong = app.agent().suspend(intent, json!({"risk": "huge"})).await;
        assert_eq!(wrong.status, 422);
        app.settle().await;
    }

    /// A key proves that a program has it. The refusal says what is needed, what was given, and where the login is.
    async fn no_key_answers_below_the_floor(app: &mut TestApp) {
        with_floors(app).await;
        let (intent, asked, _) = ask(app, ADA, json!({"risk": "high"})).await;
        let ada = key_of(app, ADA, "ada").await;
        let refused = ada.respond(intent, id(&asked), "approve").await;
        assert_eq!(refused.problem(), (403, "assurance_too_low"));
        let body = &refused.body;
        assert_eq!(
            (&body["required_assurance"], &body["given_assurance"], &body["login"]),
            (&json!("session"), &json!("none"), &json!("/login"))
        );
        assert!(is_open(app, id(&asked)).await);
        let approval = json!({"action": "pay", "reason": "an invoice", "assignees": {"groups": ["finance"]}});
        let other = app.agent().active_intent().await;
        let made = app.agent().post(&format!("api/v1/intents/{other}/approvals"), approval).await.ok();
        let path = format!("api/v1/intents/{other}/approvals/{}/approve", made["id"].as_str().unwrap());
        let decided = ada.post(&path, json!({})).await;
        assert_eq!(decided.problem().1, "assurance_too_low", "{:?}", decided.body);
        app.settle().await;
        mails(app).await;
    }

    /// The whole way of a person without JavaScript, with restarts: type, press, be led to the login, log in in another browser, come back,
    /// and find what was typed.
    async fn a_link_leads_to_the_login_and_back_and_nothing_typed_is_lost(app: &mut TestApp) {
        with_floors(app).await;
        let (intent, asked, link) = ask(app, ADA, json!({"risk": "high"})).await;
        let mut ada = app.person();
        let shown = ada.open(&link).await;
        assert!(shown.html.contains("Log in to answer this question") && shown.html.contains("Refund order 12345?"), "{}", shown.html);
        let refused = send(&mut ada, &link, &shown, &[("value", "deny"), ("comment", "Not without a receipt.")]).await;
        assert!(refused.status == 403 && refused.html.contains("is kept for you") && refused.html.contains("Not without a receipt."), "{} {}", refused.status, refused.html);
        assert!(is_open(app, id(&asked)).await);
        app.restart().await;
        let again = app.person().open(&link).await;
        assert!(!again.html.contains("Not without a receipt."), "the holder of a link alone does not see it");
        let login = login_on(&refused);
        let mut other = app.person();
        let entered = log_in_for(app, &mut other, ADA, &login).await;
        let page = format!("questions/{}", id(&asked));
        assert_eq!(entered.header("location"), format!("/{page}"), "{}", entered.html);
        app.restart().await;
        let shown = other.open(&at(app, &page)).await;
        assert!(shown.status == 200 && shown.html.contains("Not without a receipt.") && shown.html.contains("Deny refund"), "{}", shown.html);
        assert!(shown.html.contains("choose it again") && !shown.html.contains("id=\"login\""), "{}", shown.html);
        let sent = send(&mut other, &at(app, &page), &shown, &[("value", "deny"), ("comment", "Not without a receipt.")]).await;
        assert_eq!((sent.status, sent.header("location")), (303, format!("/{page}").as_str()), "{}", sent.html);
        let outcome = other.open(&at(app, &page)).await;
        assert!(outcome.html.contains("Deny refund"), "{}", outcome.html);
        let event = recorded(app, &intent.to_string()).await;
        assert_eq!(
            (&event["assurance"], &event["credential"]["kind"], &event["responded_by"], &event["role"]),
            (&json!("session"), &json!("session"), &json!(ADA), &json!("operator"))
        );
        let report = verified(app).await;
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }

    /// A person who holds the stolen link of another one replaces nothing that the other one typed, and cannot fill the room for it in
    /// silence. Text from another browser is told apart.
    async fn a_stolen_link_replaces_no_text_of_its_recipient(app: &mut TestApp) {
        with_floors(app).await;
        let (_, asked, link) = ask(app, ADA, json!({"risk": "high"})).await;
        let page = at(app, &format!("questions/{}", id(&asked)));
        let (mut ada, mut thief) = (app.person(), app.person());
        let shown = ada.open(&link).await;
        assert_eq!(send(&mut ada, &link, &shown, &[("value", "deny"), ("comment", "Her own words.")]).await.status, 403);
        app.advance(5).await;
        let of_thief = thief.open(&link).await;
        let kept = send(&mut thief, &link, &of_thief, &[("value", "approve"), ("comment", "Pay at once.")]).await;
        assert!(kept.html.contains("is kept for you"), "{}", kept.html);
        app.restart().await;
        log_in_for(app, &mut ada, ADA, "login").await;
        let back = ada.open(&page).await;
        assert!(back.html.contains("Her own words.") && !back.html.contains("Pay at once."), "{}", back.html);
        // In a browser in which she typed nothing, the text is from elsewhere, and the page says so.
        let mut other = app.person();
        log_in_for(app, &mut other, ADA, "login").await;
        let elsewhere = other.open(&page).await;
        assert!(elsewhere.html.contains("another person has your link"), "{}", elsewhere.html);
        for _ in 0..store::UNSENT_BROWSERS_MAX - 2 {
            let mut more = app.person();
            let shown = more.open(&link).await;
            assert!(send(&mut more, &link, &shown, &[("value", "deny"), ("comment", "More.")]).await.html.contains("is kept for you"));
        }
        let mut last = app.person();
        let shown = last.open(&link).await;
        let refused = send(&mut last, &link, &shown, &[("value", "deny"), ("comment", "Too much.")]).await;
        assert!(!refused.html.contains("is kept for you") && refused.html.contains("Too much."), "{}", refused.html);
        assert!(ada.open(&page).await.html.contains("Her own words."));
    }

    /// A session of the same person counts on the page of the link, and one of another person does not: the answer counts for the person of
    /// the link alone.
    async fn a_link_in_the_browser_of_another_person_merges_no_one(app: &mut TestApp) {
        with_floors(app).await;
        let (intent, asked, link) = ask(app, ADA, json!({"risk": "high"})).await;
        let mut bob = app.person();
        log_in_for(app, &mut bob, BOB, "login").await;
        let shown = bob.open(&link).await;
        assert!(shown.html.contains(BOB) && shown.html.contains("for that address alone") && shown.html.contains("id=\"login\""), "{}", shown.html);
        let refused = send(&mut bob, &link, &shown, &[("value", "approve")]).await;
        assert!(refused.status == 403 && is_open(app, id(&asked)).await, "{}", refused.html);
        let plain = ask(app, ADA, json!({})).await;
        let shown = bob.open(&plain.2).await;
        assert_eq!(send(&mut bob, &plain.2, &shown, &[("value", "approve")]).await.status, 303);
        let event = recorded(app, &plain.0.to_string()).await;
        assert_eq!((&event["responded_by"], &event["assurance"]), (&json!(ADA), &json!("email_link")), "the session adds nothing");
        let mut ada = app.person();
        log_in_for(app, &mut ada, ADA, "login").await;
        let shown = ada.open(&link).await;
        assert!(!shown.html.contains("id=\"login\""), "{}", shown.html);
        assert_eq!(send(&mut ada, &link, &shown, &[("value", "approve")]).await.status, 303);
        let event = recorded(app, &intent.to_string()).await;
        assert_eq!((&event["responded_by"], &event["assurance"]), (&json!(ADA), &json!("session")));
    }

    /// A login that ends in the middle of a form loses nothing and answers nothing, and the words of one person are shown to no other.
    async fn a_login_that_ends_in_the_middle_of_a_form_loses_nothing(app: &mut TestApp) {
        with_floors(app).await;
        let (_, asked, _) = ask(app, ADA, json!({"risk": "high", "timeout_seconds": 604_800})).await;
        let page = at(app, &format!("questions/{}", id(&asked)));
        let mut ada = app.person();
        let led = ada.open(&page).await;
        assert_eq!(led.header("location"), format!("/login?question={}", id(&asked)));
        log_in_for(app, &mut ada, ADA, "login").await;
        let shown = ada.open(&page).await;
        let forged = ada.post(&page, &[("nonce", "bm9uY2U"), ("value", "approve")]).await;
        assert_eq!(forged.status, 403, "a form without the nonce of the page");
        let foreign = ada.bare_form(&page, &[("nonce", &shown.nonce()), ("value", "approve")]).header("origin", "https://evil.example");
        assert_eq!(ada.send(foreign).await.status, 403);
        let leave = ada.open(&at(app, "passkeys")).await.nonce();
        ada.post(&at(app, "logout"), &[("nonce", &leave), ("where", "here")]).await;
        let sent = send(&mut ada, &page, &shown, &[("value", "approve"), ("comment", "My own words.")]).await;
        assert_eq!((sent.status, sent.header("location")), (303, format!("/login?question={}", id(&asked)).as_str()), "{}", sent.html);
        assert!(is_open(app, id(&asked)).await, "a session after the logout answers nothing");
        // Bob logs in in the same browser: the form of Ada's page is not his.
        log_in_for(app, &mut ada, BOB, "login").await;
        let of_bob = ada.open(&page).await;
        assert!(!of_bob.html.contains("My own words."), "{}", of_bob.html);
        let refused = send(&mut ada, &page, &shown, &[("value", "approve"), ("comment", "My own words.")]).await;
        assert!(refused.status == 403 && refused.html.contains("made for another person") && !refused.html.contains("My own words."), "{}", refused.html);
        assert!(is_open(app, id(&asked)).await);
        let mut again = app.person();
        log_in_for(app, &mut again, ADA, "login").await;
        let shown = again.open(&page).await;
        assert!(shown.html.contains("My own words."), "{}", shown.html);
        app.advance(1860).await;
        let sent = send(&mut again, &page, &shown, &[("value", "approve"), ("comment", "After half an hour.")]).await;
        assert_eq!(sent.status, 303, "an idle session has ended");
        assert!(is_open(app, id(&asked)).await);
        log_in_for(app, &mut again, ADA, "login").await;
        assert!(again.open(&page).await.html.contains("After half an hour."));
        app.advance(90000).await;
        log_in_for(app, &mut again, ADA, "login").await;
        assert!(!again.open(&page).await.html.contains("After half an hour."), "it is kept for a day");
    }

    /// A question that ends while a person logs in shows its end, and the answer is not recorded.
    async fn a_question_that_ends_during_the_login_shows_its_end(app: &mut TestApp) {
        with_floors(app).await;
        let (_, asked, link) = ask(app, ADA, json!({"risk": "high", "timeout_seconds": 600})).await;
        let mut ada = app.person();
        let shown = ada.open(&link).await;
        let refused = send(&mut ada, &link, &shown, &[("value", "approve"), ("comment", "In time?")]).await;
        let login = login_on(&refused);
        app.advance(600).await;
        let entered = log_in_for(app, &mut ada, ADA, &login).await;
        let page = ada.follow(&link, &entered).await;
        assert!(page.status == 200 && !page.html.contains("name=\"value\""), "{}", page.html);
        let late = send(&mut ada, &at(app, &format!("questions/{}", id(&asked))), &shown, &[("value", "approve")]).await;
        assert!(late.status == 303 || late.status == 403, "{}", late.html);
        assert_eq!(app.agent().suspension(id(&asked)).await["resolution"], json!("expired"));
    }

    /// An admin who has logged in is a person and answers as one; an admin's key does not, and an auditor does not.
    async fn people_answer_by_their_sessions_by_their_roles(app: &mut TestApp) {
        with_floors(app).await;
        list(app, "oscar@example.com", "auditor").await;
        for (address, answers) in [(EVE, true), ("oscar@example.com", false)] {
            let (intent, asked, _) = ask(app, ADA, json!({"risk": "high"})).await;
            let mut person = app.person();
            log_in_for(app, &mut person, address, "login").await;
            let page = at(app, &format!("questions/{}", id(&asked)));
            let shown = person.open(&page).await;
            // An auditor reads. The page has no form for one, and a forged one does not count.
            let sent = if answers {
                send(&mut person, &page, &shown, &[("value", "approve")]).await
            } else {
                assert!(!shown.has_form() && shown.html.contains("id=\"unassigned\""), "{}", shown.html);
                person.post(&page, &[("nonce", "x"), ("value", "approve")]).await
            };
            assert_eq!(is_open(app, id(&asked)).await, !answers, "{address}: {} {}", sent.status, sent.html);
            if answers {
                assert_eq!(recorded(app, &intent.to_string()).await["role"], json!("admin"));
            }
        }
        let mut reader = app.person();
        log_in_for(app, &mut reader, BOB, "login").await;
        for wrong in ["questions/00000000-0000-0000-0000-000000000000", "questions/x"] {
            assert_eq!(reader.open(&at(app, wrong)).await.status, 404, "{wrong}");
        }
        let report = verified(app).await;
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }

    /// A question whose recipient is not listed says that no login helps, and its asker is warned.
    async fn an_address_that_is_not_listed_cannot_log_in(app: &mut TestApp) {
        with_floors(app).await;
        let (_, asked, link) = ask(app, "stranger@example.com", json!({"required_assurance": "session"})).await;
        assert!(asked["warnings"].to_string().contains("none of them can log in"), "{asked}");
        let mut stranger = app.person();
        let shown = stranger.open(&link).await;
        assert!(shown.html.contains("not one that can log in here") && !shown.html.contains("/login?question="), "{}", shown.html);
        let refused = send(&mut stranger, &link, &shown, &[("value", "approve"), ("comment", "Hello.")]).await;
        assert!(refused.status == 403 && refused.html.contains("Hello.") && refused.html.contains("still on this page"), "{}", refused.html);
    }

    /// A passkey meets the floor of a login, by a link without any session.
    async fn a_passkey_is_more_than_a_login(app: &mut TestApp) {
        at_home(app).await;
        let (mut ada, _) = person_with_passkey(app, ADA).await;
        let (_, asked, link) = ask(app, ADA, json!({"required_assurance": "passkey"})).await;
        let shown = ada.open(&link).await;
        let refused = send(&mut ada, &link, &shown, &[("value", "approve")]).await;
        assert_eq!(refused.status, 403, "a session is less than a passkey");
        assert!(is_open(app, id(&asked)).await);
    }

    /// With this setting, the person behind the asking key answers by no route, also without a quorum, and is not asked.
    async fn the_owner_of_a_separated_agent_answers_by_no_route(app: &mut TestApp) {
        with_floors(app).await;
        let owned = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "owned", ADA).await));
        let intent = owned.active_intent().await;
        let alone = owned.suspend(intent, json!({"notify_to": [ADA]})).await;
        assert_eq!(alone.field_problem(), (422, "invalid", "notify_to", "separation"));
        let asked = owned.suspend(intent, json!({"notify_to": [ADA, BOB]})).await.ok();
        assert_eq!((&asked["notify_to"], &asked["separation"]), (&json!([BOB]), &json!("owner")));
        let ada = key_of(app, ADA, "ada").await;
        assert_eq!(ada.respond(intent, id(&asked), "approve").await.problem(), (403, "self_response"));
        let mut person = app.person();
        mails(app).await;
        log_in_for(app, &mut person, ADA, "login").await;
        let page = at(app, &format!("questions/{}", id(&asked)));
        let shown = person.open(&page).await;
        assert!(shown.html.contains("id=\"unassigned\"") && !shown.html.contains("name=\"value\""), "{}", shown.html);
        let other = owned.active_intent().await;
        let both = owned.suspend(other, json!({"assignees": {"people": [ADA, BOB]}})).await.ok();
        let row = format!("/questions/{}\"", id(&both));
        assert!(!person.open(&at(app, "inbox")).await.html.contains(&row), "the inbox of the owner has no question that refuses the owner");
        assert!(person.open(&at(app, "inbox?list=everything")).await.html.contains(&row));
        let gateway = app.api(Role::Channel);
        let body = json!({"suspension_id": asked["id"], "value": "approve", "responded_by": BOB});
        let by_gateway = gateway.post(&format!("api/v1/intents/{intent}/suspend/respond"), body).await;
        assert_eq!(by_gateway.problem(), (403, "forbidden"), "a gateway that is tied to nothing could answer for the owner");
        let bob = key_of(app, BOB, "bob").await;
        bob.respond(intent, id(&asked), "approve").await.ok();
        let report = verified(app).await;
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }

    /// A refusal says why where that is asked for, by every route; an approval needs no comment.
    async fn a_refusal_needs_a_comment_where_asked_for(app: &mut TestApp) {
        directory(app).await;
        let demanding = json!({"comment_on_refusal": true});
        let (intent, asked, link) = ask(app, ADA, demanding.clone()).await;
        assert_eq!(asked["comment_on_refusal"], json!({"refusing": ["deny"]}));
        let bob = key_of(app, BOB, "bob").await;
        for comment in [Value::Null, json!(" "), json!("x".repeat(COMMENT_BYTES_MAX + 1))] {
            let body = json!({"suspension_id": asked["id"], "value": "deny", "metadata": {"comment": comment}});
            let refused = bob.post(&format!("api/v1/intents/{intent}/suspend/respond"), body).await;
            assert_eq!((refused.status, refused.body["errors"][0]["field"].as_str()), (422, Some("metadata.comment")), "{}", refused.text);
        }
        let mut ada = app.person();
        let shown = ada.open(&link).await;
        assert!(shown.html.contains("a no without a comment is not sent"), "{}", shown.html);
        let refused = send(&mut ada, &link, &shown, &[("value", "deny")]).await;
        assert!(refused.status == 422 && refused.html.contains("id=\"commente\""), "{}", refused.html);
        let sent = send(&mut ada, &link, &shown, &[("value", "deny"), ("comment", "The parcel arrived.")]).await;
        assert_eq!(sent.status, 303, "{}", sent.html);
        let record = app.agent().suspension(id(&asked)).await;
        assert_eq!((&record["response"], &record["metadata"]["comment"]), (&json!("deny"), &json!("The parcel arrived.")));
        let (intent, asked, _) = ask(app, ADA, demanding.clone()).await;
        bob.respond(intent, id(&asked), "approve").await.ok();
        for change in [
            json!({"choices": [{"value": "eu", "label": "Europe"}, {"value": "us", "label": "America"}]}),
            json!({"response_type": "text", "choices": []}),
        ] {
            let mut body = demanding.clone();
            for (name, value) in change.as_object().unwrap() {
                body[name] = value.clone();
            }
            let refused = app.agent().suspend(app.agent().active_intent().await, body).await;
            assert_eq!(refused.field_problem(), (422, "invalid", "comment_on_refusal", "unsupported"), "{change}");
        }
    }
}
