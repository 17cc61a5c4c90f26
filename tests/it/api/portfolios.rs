//! Portfolios: which intents a portfolio holds, how far these intents are, and which callers may see and change the portfolio.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::log::{Sealed, verify_chain};
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use harness::stream::Stream;
use serde_json::{Value, json};

/// The most intents in one portfolio.
const MEMBERS_MAX: usize = 1_000;
/// The most portfolios that one intent is in.
const PORTFOLIOS_OF_INTENT_MAX: usize = 10;
/// The most bytes of JSON in the metadata of a portfolio.
const METADATA_BYTES_MAX: usize = 16 * 1024;
/// A list of intents ends after this many bytes.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The size of one large state, and the number of intents with a large state that makes a list end early.
const STATE_BYTES: usize = 60 * 1024;
const LARGE: usize = PAGE_BYTES_MAX / STATE_BYTES + 3;
/// How many requests are sent at the same time where a test needs many.
const AT_ONCE: usize = 50;
const PORTFOLIOS: &str = "api/v1/portfolios";

/// An agent of another owner.
async fn stranger(app: &TestApp, name: &str) -> Api {
    Api::new(&app.base, Some(&app.new_key(Role::Agent, name).await))
}

async fn created(api: &Api, body: Value) -> String {
    api.post(PORTFOLIOS, body).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn portfolio(api: &Api) -> String {
    created(api, json!({"name": "Refunds"})).await
}

async fn read(api: &Api, portfolio: &str) -> Reply {
    api.get(&format!("{PORTFOLIOS}/{portfolio}")).await
}

async fn add(api: &Api, portfolio: &str, intent: IntentId) -> Reply {
    api.post(&format!("{PORTFOLIOS}/{portfolio}/intents"), json!({"intent_id": intent})).await
}

async fn remove(api: &Api, portfolio: &str, intent: IntentId) -> Reply {
    api.send(api.request("DELETE", &format!("{PORTFOLIOS}/{portfolio}/intents/{intent}"))).await
}

async fn set_status(api: &Api, portfolio: &str, status: &str) -> Reply {
    let path = format!("{PORTFOLIOS}/{portfolio}/status");
    api.send(api.request("PATCH", &path).json(&json!({"status": status}))).await
}

async fn move_to(api: &Api, intent: IntentId, status: &str) {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": status})).await.ok();
}

async fn grant(api: &Api, intent: IntentId, name: &str, permission: &str) -> String {
    let entry = json!({"principal_id": name, "permission": permission});
    let entry = api.post(&format!("api/v1/intents/{intent}/acl/entries"), entry).await.ok();
    entry["id"].as_str().unwrap().to_owned()
}

/// The ids in a list of intents or portfolios.
fn ids(list: &Value) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|one| one["id"].clone()).collect()
}

/// The events in the portfolio's own log, after a check that its hash chain verifies.
async fn log(api: &Api, portfolio: &str) -> Vec<Value> {
    let events = api.get(&format!("{PORTFOLIOS}/{portfolio}/events")).await.ok();
    let events = events.as_array().unwrap().clone();
    let sealed: Vec<Sealed> = events.iter().map(|event| Sealed::from_served(event).unwrap()).collect();
    assert_eq!(verify_chain(&sealed), Ok(events.len() as u64));
    assert!(events.iter().all(|event| event["portfolio_id"] == json!(portfolio)));
    events
}

/// How many intents have each status. A status that no intent has is left out.
fn counts(aggregate: &Value) -> Value {
    let by_status = aggregate["by_status"].as_object().unwrap();
    assert_eq!(by_status.len(), 6, "all six are there");
    by_status.iter().filter(|(_, count)| **count != json!(0)).map(|(status, count)| (status.clone(), count.clone())).collect()
}

/// Makes this many intents, and puts each into the portfolio.
async fn fill(api: &Api, portfolio: &str, count: usize) {
    for begun in (0..count).step_by(AT_ONCE) {
        let each = (begun..count.min(begun + AT_ONCE)).map(async |_| {
            let intent = api.active_intent().await;
            add(api, portfolio, intent).await.ok();
        });
        join_all(each).await;
    }
}

on_each_store! {
    /// A person who looks at a portfolio must see which intents belong to it and how far they are, and must be able to trust
    /// that.
    async fn a_portfolio_holds_intents_and_says_how_far_they_are(app: &mut TestApp) {
        let agent = app.agent();
        let body = json!({
            "name": "Refunds", "description": "All of November.", "created_by": "test-agent", "governance_policy": {}, "metadata": {"team": "billing"},
        });
        let made = agent.post(PORTFOLIOS, body).await.ok();
        let id = made["id"].as_str().unwrap().to_owned();
        let none = json!({
            "total": 0, "completion_percentage": 0, "status": "in_progress",
            "by_status": {"draft": 0, "active": 0, "blocked": 0, "suspended_awaiting_input": 0, "completed": 0, "abandoned": 0},
        });
        let at = json!("2026-11-24T08:00:00.000000");
        assert_eq!(made, json!({
            "id": id, "name": "Refunds", "description": "All of November.", "created_by": "test-agent", "status": "active",
            "metadata": {"team": "billing"}, "governance_policy": {}, "governance": {}, "created_at": at, "updated_at": at,
            "createdAt": at, "updatedAt": at, "has_suspended_members": false, "suspended_member_count": 0,
            "aggregate_status": none,
        }));
        let (first, second, third) = (agent.active_intent().await, agent.active_intent().await, agent.active_intent().await);
        app.advance(60).await;
        let placed = agent.post(&format!("{PORTFOLIOS}/{id}/intents"), json!({"intent_id": first, "role": "primary", "priority": -5})).await.ok();
        assert_eq!(placed, json!({
            "id": placed["id"], "portfolio_id": id, "intent_id": first, "role": "primary", "priority": -5, "added_at": "2026-11-24T08:01:00.000000",
        }));
        let plain = add(&agent, &id, second).await.ok();
        assert_eq!((&plain["role"], &plain["priority"]), (&json!("member"), &json!(0)));
        add(&agent, &id, third).await.ok();
        move_to(&agent, second, "completed").await;
        agent.asked(third).await;
        app.restart().await;
        let (agent, operator) = (app.agent(), app.operator());
        let whole = read(&agent, &id).await.ok();
        assert_eq!(ids(&whole["intents"]), [json!(second), json!(third), json!(first)], "by priority, then the oldest intent first");
        let member = &whole["intents"][2];
        assert_eq!((&member["intent_id"], &member["role"], &member["priority"]), (&json!(first), &json!("primary"), &json!(-5)));
        assert_eq!((&member["added_at"], &member["version"]), (&placed["added_at"], &json!(1)));
        assert_eq!(counts(&whole["aggregate_status"]), json!({"active": 1, "completed": 1, "suspended_awaiting_input": 1}));
        assert_eq!((&whole["aggregate_status"]["total"], &whole["aggregate_status"]["completion_percentage"]), (&json!(3), &json!(33)));
        assert_eq!((&whole["updated_at"], &whole["next_offset"]), (&at, &json!(null)));
        let members = agent.get(&format!("{PORTFOLIOS}/{id}/intents")).await.ok();
        assert_eq!((&members["intents"], &members["aggregate_status"]), (&whole["intents"], &whole["aggregate_status"]));
        let rest = agent.get(&format!("{PORTFOLIOS}/{id}/intents?offset=2")).await.ok();
        assert_eq!(ids(&rest["intents"]), [json!(first)]);
        for reader in [&agent, &operator] {
            let listed = reader.get(&format!("{PORTFOLIOS}?created_by=test-agent")).await.ok();
            assert_eq!(ids(&listed), [json!(id)]);
            // A list shows no intents, so it names none.
            let mut counted = whole["aggregate_status"].clone();
            let named = ["blocking_intents", "ready_intents"].map(|name| counted.as_object_mut().unwrap().remove(name).unwrap());
            assert_eq!((&listed[0]["aggregate_status"], named), (&counted, [json!([]), json!([first])]));
            assert!(listed[0].get("intents").is_none());
            assert_eq!(ids(&reader.get(&format!("api/v1/intents/{first}/portfolios")).await.ok()), [json!(id)]);
        }

        assert_eq!(remove(&agent, &id, third).await.ok(), json!({"message": "Intent removed from portfolio"}));
        assert_eq!(remove(&agent, &id, third).await.problem(), (404, "not_found"));
        assert_eq!(read(&agent, &id).await.ok()["aggregate_status"]["completion_percentage"], json!(50));
        assert_eq!(agent.get(&format!("api/v1/intents/{third}/portfolios")).await.ok(), json!([]));
        // The OpenIntent client knows the event types of adding and removing, so both are shown without `include=all`.
        let shown = agent.get(&format!("api/v1/intents/{third}/events?limit=3")).await.ok();
        assert_eq!((&shown[0]["event_type"], &shown[0]["payload"]["portfolio_id"]), (&json!("removed_from_portfolio"), &json!(id)));
        let events = agent.events(third).await;
        let added = events.iter().find(|event| event["event_type"] == json!("added_to_portfolio")).unwrap();
        assert_eq!((&added["actor"], &added["payload"]["role"]), (&json!("test-agent"), &json!("member")));
        let sealed: Vec<Sealed> = events.iter().map(|event| Sealed::from_served(event).unwrap()).collect();
        assert_eq!(verify_chain(&sealed), Ok(events.len() as u64));
        let begun = log(&operator, &id).await;
        assert_eq!((begun.len(), &begun[0]["event_type"], &begun[0]["payload"]["name"]), (1, &json!("portfolio_created"), &json!("Refunds")));
    }

    /// An agent must not see, or change, what another agent has put together, and must not reach an intent by way of a portfolio.
    async fn a_portfolio_is_its_creators_and_gives_no_right_to_an_intent(app: &mut TestApp) {
        let (agent, other) = (app.agent(), stranger(app, "other").await);
        let (own, foreign) = (portfolio(&agent).await, portfolio(&other).await);
        let (mine, others) = (agent.active_intent().await, other.active_intent().await);
        add(&other, &foreign, others).await.ok();
        // The portfolio of another agent is answered like one that does not exist.
        for path in ["", "/intents", "/events"] {
            assert_eq!(agent.get(&format!("{PORTFOLIOS}/{foreign}{path}")).await.problem(), (404, "not_found"), "{path}");
        }
        assert_eq!(add(&agent, &foreign, mine).await.problem(), (404, "not_found"));
        assert_eq!(remove(&agent, &foreign, mine).await.problem(), (404, "not_found"));
        assert_eq!(remove(&agent, &foreign, others).await.problem(), (404, "not_found"));
        assert_eq!(set_status(&agent, &foreign, "abandoned").await.problem(), (404, "not_found"));
        let wrong = agent.post(&format!("{PORTFOLIOS}/{foreign}/intents"), json!({"intent_id": 5})).await;
        assert_eq!(wrong.problem(), (404, "not_found"), "an error in the body is not told before");
        assert_eq!(ids(&agent.get(PORTFOLIOS).await.ok()), [json!(own)]);
        assert_eq!(agent.get(&format!("{PORTFOLIOS}?created_by=other")).await.ok(), json!([]));
        // The intent of another agent is answered in the same way, until its creator gives this agent access.
        assert_eq!(add(&agent, &own, others).await.problem(), (404, "not_found"));
        let entry = grant(&other, others, "test-agent", "read").await;
        assert_eq!(add(&agent, &own, others).await.problem(), (403, "forbidden"));
        other.send(other.request("DELETE", &format!("api/v1/intents/{others}/acl/entries/{entry}"))).await;
        let entry = grant(&other, others, "test-agent", "write").await;
        add(&agent, &own, others).await.ok();
        // Write access to an intent does not let an agent take the intent out of another agent's portfolio.
        assert_eq!(remove(&agent, &foreign, others).await.problem(), (404, "not_found"));
        assert_eq!(ids(&agent.get(&format!("api/v1/intents/{others}/portfolios")).await.ok()), [json!(own)]);
        assert_eq!(ids(&other.get(&format!("api/v1/intents/{others}/portfolios")).await.ok()), [json!(foreign)]);
        let both = app.api(Role::Auditor).get(&format!("api/v1/intents/{others}/portfolios")).await.ok();
        assert_eq!(ids(&both), [json!(foreign), json!(own)]);
        // An agent that lost its access sees the intent no more.
        other.send(other.request("DELETE", &format!("api/v1/intents/{others}/acl/entries/{entry}"))).await;
        add(&agent, &own, mine).await.ok();
        let whole = read(&agent, &own).await.ok();
        assert_eq!((ids(&whole["intents"]), &whole["aggregate_status"]["total"]), (vec![json!(mine)], &json!(2)));
        assert_eq!(agent.get(&format!("api/v1/intents/{others}/portfolios")).await.problem(), (404, "not_found"));
        assert_eq!(ids(&read(&app.operator(), &own).await.ok()["intents"]), [json!(mine), json!(others)]);
        // The creator of an intent may take it out of a portfolio that it cannot read. The creator of the portfolio may do so
        // too.
        assert_eq!(read(&other, &own).await.problem(), (404, "not_found"));
        assert_eq!(remove(&other, &own, mine).await.problem(), (404, "not_found"));
        remove(&other, &own, others).await.ok();
        assert_eq!(read(&agent, &own).await.ok()["aggregate_status"]["total"], json!(1));
        let entry = grant(&other, others, "test-agent", "write").await;
        add(&agent, &own, others).await.ok();
        other.send(other.request("DELETE", &format!("api/v1/intents/{others}/acl/entries/{entry}"))).await;
        remove(&agent, &own, others).await.ok();
        assert_eq!(agent.get(&format!("api/v1/intents/{others}")).await.problem(), (404, "not_found"));
    }

    /// People read all portfolios. Only agents create them and add to them; an admin can end one whose agent is gone.
    async fn people_read_portfolios_and_admins_end_them(app: &mut TestApp) {
        let agent = app.agent();
        let (id, intent) = (portfolio(&agent).await, agent.active_intent().await);
        add(&agent, &id, intent).await.ok();
        for role in [Role::Operator, Role::Auditor, Role::Admin] {
            let person = app.api(role);
            assert_eq!(ids(&read(&person, &id).await.ok()["intents"]), [json!(intent)], "{role}");
            assert_eq!(person.post(PORTFOLIOS, json!({"name": "n"})).await.problem(), (403, "forbidden"), "{role}");
            assert_eq!(add(&person, &id, intent).await.problem(), (403, "forbidden"), "{role}");
            assert_eq!(person.get(&format!("{PORTFOLIOS}/{intent}")).await.problem(), (404, "not_found"), "{role}");
            if role != Role::Admin {
                assert_eq!(remove(&person, &id, intent).await.problem(), (403, "forbidden"), "{role}");
                assert_eq!(set_status(&person, &id, "abandoned").await.problem(), (403, "forbidden"), "{role}");
            }
        }
        let gateway = app.api(Role::Channel);
        assert_eq!(read(&gateway, &id).await.problem(), (403, "forbidden"));
        assert_eq!(gateway.get(PORTFOLIOS).await.problem(), (403, "forbidden"));
        let tied = Api::new(&app.base, Some(&app.new_gateway("tied", &["email"]).await));
        assert_eq!(read(&tied, &id).await.problem(), (404, "not_found"));
        let admin = app.api(Role::Admin);
        remove(&admin, &id, intent).await.ok();
        assert_eq!(set_status(&admin, &id, "abandoned").await.ok()["status"], json!("abandoned"));
        assert_eq!(app.anonymous().get(PORTFOLIOS).await.status, 401);
    }

    /// If a portfolio's policy is `require_all_completed`, it cannot be completed while an intent in it is open. Otherwise
    /// people would see it as completed although work is left.
    async fn a_portfolio_is_completed_once_and_only_when_its_policy_allows_it(app: &mut TestApp) {
        let agent = app.agent();
        let strict = json!({"name": "Strict", "governance_policy": {"require_all_completed": true}});
        let id = created(&agent, strict).await;
        let (first, second) = (agent.active_intent().await, agent.active_intent().await);
        add(&agent, &id, first).await.ok();
        add(&agent, &id, second).await.ok();
        move_to(&agent, first, "completed").await;
        let refused = set_status(&agent, &id, "completed").await;
        assert_eq!(refused.problem(), (409, "members_incomplete"));
        assert!(refused.text.contains("and 1 are not"), "{}", refused.text);
        assert_eq!((read(&agent, &id).await.ok()["status"].clone(), log(&agent, &id).await.len()), (json!("active"), 1));
        move_to(&agent, second, "completed").await;
        app.advance(60).await;
        let done = set_status(&agent, &id, "completed").await.ok();
        assert_eq!((&done["status"], &done["updated_at"]), (&json!("completed"), &json!("2026-11-24T08:01:00.000000")));
        assert_eq!(done["governance"], json!({"require_all_completed": true}));
        app.restart().await;
        let agent = app.agent();
        assert_eq!(set_status(&agent, &id, "completed").await.ok()["updated_at"], done["updated_at"], "once more changes nothing");
        for status in ["active", "abandoned"] {
            assert_eq!(set_status(&agent, &id, status).await.problem(), (409, "invalid_transition"), "{status}");
        }
        let events = log(&agent, &id).await;
        assert_eq!((events.len(), &events[1]["event_type"]), (2, &json!("portfolio_status_changed")));
        assert_eq!((&events[1]["payload"]["old_status"], &events[1]["payload"]["new_status"]), (&json!("active"), &json!("completed")));
        // Without the rule, the creator may call a portfolio completed at any time. With the rule, it may still abandon one with
        // open work, because that claims nothing about the work.
        let loose = created(&agent, json!({"name": "Loose", "governance": {"require_all_completed": false}})).await;
        let open = agent.active_intent().await;
        add(&agent, &loose, open).await.ok();
        assert_eq!(set_status(&agent, &loose, "completed").await.ok()["aggregate_status"]["completion_percentage"], json!(0));
        let given_up = created(&agent, json!({"name": "Strict", "governance_policy": {"require_all_completed": true}})).await;
        add(&agent, &given_up, open).await.ok();
        assert_eq!(set_status(&agent, &given_up, "abandoned").await.ok()["status"], json!("abandoned"));
        assert_eq!(set_status(&agent, &given_up, "active").await.problem(), (409, "invalid_transition"));
        assert_eq!(set_status(&agent, &loose, "paused").await.field_problem(), (422, "invalid", "status", "type"));
        assert_eq!(agent.status(open).await, "active", "the intents in it go on");
    }

    /// Adding an intent to a portfolio again changes nothing. If it is added again with another role or priority, its place in
    /// the portfolio changes, and it gets no second place.
    async fn an_intent_has_one_place_in_a_portfolio(app: &mut TestApp) {
        let agent = app.agent();
        let (id, intent) = (portfolio(&agent).await, agent.active_intent().await);
        let first = add(&agent, &id, intent).await.ok();
        app.advance(60).await;
        assert_eq!(add(&agent, &id, intent).await.ok(), first);
        assert_eq!(agent.event_types(intent).await, ["intent_created", "added_to_portfolio"]);
        let body = json!({"intent_id": intent, "role": "dependency", "priority": 7});
        let moved = agent.post(&format!("{PORTFOLIOS}/{id}/intents"), body).await.ok();
        assert_eq!((&moved["id"], &moved["added_at"]), (&first["id"], &first["added_at"]));
        assert_eq!((&moved["role"], &moved["priority"]), (&json!("dependency"), &json!(7)));
        assert_eq!(read(&agent, &id).await.ok()["aggregate_status"]["total"], json!(1));
        assert_eq!(agent.event_types(intent).await.len(), 3);

        set_status(&agent, &id, "completed").await.ok();
        let other = agent.active_intent().await;
        let before = agent.everything(other).await;
        assert_eq!(add(&agent, &id, other).await.problem(), (409, "portfolio_not_active"));
        assert_eq!(add(&agent, &id, intent).await.problem(), (409, "portfolio_not_active"), "its place would change");
        assert_eq!(agent.everything(other).await, before);
        let again = json!({"intent_id": intent, "role": "dependency", "priority": 7});
        assert_eq!(agent.post(&format!("{PORTFOLIOS}/{id}/intents"), again).await.ok(), moved);
        remove(&agent, &id, intent).await.ok();
        assert_eq!(add(&agent, &id, intent).await.problem(), (409, "portfolio_not_active"));
    }

    /// An agent that did not get the reply repeats its request with the same idempotency key. The repeat must not create a
    /// second portfolio, nor have any other effect.
    async fn a_repeated_write_is_made_once(app: &mut TestApp) {
        let agent = app.agent();
        let first = agent.post_once(PORTFOLIOS, "k", json!({"name": "Refunds"})).await.ok();
        app.advance(60).await;
        app.restart().await;
        let agent = app.agent();
        assert_eq!(agent.post_once(PORTFOLIOS, "k", json!({"name": "Refunds"})).await.ok(), first);
        assert_eq!(agent.post_once(PORTFOLIOS, "k", json!({"name": "Others"})).await.problem(), (422, "idempotency_mismatch"));
        assert_eq!(ids(&agent.get(PORTFOLIOS).await.ok()).len(), 1);
        let (id, intent) = (first["id"].as_str().unwrap(), agent.active_intent().await);
        let path = format!("{PORTFOLIOS}/{id}/intents");
        let placed = agent.post_once(&path, "k", json!({"intent_id": intent})).await.ok();
        remove(&agent, id, intent).await.ok();
        assert_eq!(agent.post_once(&path, "k", json!({"intent_id": intent})).await.ok(), placed);
        assert_eq!(read(&agent, id).await.ok()["intents"], json!([]), "a repeat does not put it back");
        let elsewhere = portfolio(&agent).await;
        let other = agent.post_once(&format!("{PORTFOLIOS}/{elsewhere}/intents"), "k", json!({"intent_id": intent})).await;
        assert_eq!(other.problem(), (422, "idempotency_mismatch"));
        let done = |status: &str| {
            let path = format!("{PORTFOLIOS}/{id}/status");
            agent.request("PATCH", &path).header("idempotency-key", "s").json(&json!({"status": status}))
        };
        let completed = agent.send(done("completed")).await.ok();
        assert_eq!(agent.send(done("completed")).await.ok(), completed);
        assert_eq!(agent.send(done("abandoned")).await.problem(), (422, "idempotency_mismatch"));
        let bad = agent.post_once(PORTFOLIOS, &"k".repeat(300), json!({"name": "n"})).await;
        assert_eq!(bad.field_problem().2, "Idempotency-Key");
    }

    /// A rule that the server does not enforce is refused: accepted, it would be a promise that is not kept.
    async fn rules_without_an_effect_are_refused_by_name(app: &mut TestApp) {
        let agent = app.agent();
        for (change, field, rule) in [
            (json!({"deadline": "2026-12-01T00:00:00"}), "deadline", "unsupported"),
            (json!({"governance_policy": {"require_all_completed": true, "budget_limit_cents": 5}}), "governance_policy.budget_limit_cents", "unsupported"),
            (json!({"governance": {"timeout_hours": 1}}), "governance.timeout_hours", "unsupported"),
            (json!({"governance_policy": {"require_all_completed": "yes"}}), "governance_policy.require_all_completed", "type"),
            (json!({"governance_policy": {"require_all_completed": true}, "governance": {}}), "governance", "one"),
            (json!({"governance_policy": []}), "governance_policy", "type"),
            (json!({"metadata": []}), "metadata", "type"),
            (json!({"name": ""}), "name", "length"),
            (json!({"name": "n".repeat(201)}), "name", "length"),
            (json!({"description": "d".repeat(65_537)}), "description", "length"),
            (json!({"created_by": "c".repeat(201)}), "created_by", "length"),
            (json!({"metadata": {"k": "m".repeat(METADATA_BYTES_MAX - 7)}}), "metadata", "length"),
        ] {
            let mut body = json!({"name": "n"});
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            assert_eq!(agent.post(PORTFOLIOS, body).await.field_problem(), (422, "invalid", field, rule), "{field}");
        }
        assert_eq!(agent.get(PORTFOLIOS).await.ok(), json!([]));
        let widest = agent.post(PORTFOLIOS, json!({
            "name": "é".repeat(200), "description": "d".repeat(65_536), "created_by": "c".repeat(200), "deadline": null,
            "metadata": {"k": "m".repeat(METADATA_BYTES_MAX - 8)}, "governance_policy": {"deadline": null}, "governance": null,
        })).await.ok();
        assert_eq!((&widest["created_by"], &widest["claimed_created_by"]), (&json!("test-agent"), &json!("c".repeat(200))));
        let (id, intent) = (widest["id"].as_str().unwrap(), agent.active_intent().await);
        let path = format!("{PORTFOLIOS}/{id}/intents");
        for (change, field, rule) in [
            (json!({"priority": 1_000_001}), "priority", "range"),
            (json!({"priority": -1_000_001}), "priority", "range"),
            (json!({"priority": 0.5}), "priority", "type"),
            (json!({"role": "boss"}), "role", "type"),
        ] {
            let mut body = json!({"intent_id": intent});
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            assert_eq!(agent.post(&path, body).await.field_problem(), (422, "invalid", field, rule), "{change}");
        }
        assert_eq!(agent.post(&path, json!({})).await.field_problem(), (422, "invalid", "intent_id", "required"));
        for unknown in ["", "x", "019ab0f2-0000-7000-8000-000000000000"] {
            assert_eq!(agent.post(&path, json!({"intent_id": unknown})).await.problem(), (404, "not_found"), "{unknown:?}");
        }
        for priority in [1_000_000, -1_000_000] {
            assert_eq!(agent.post(&path, json!({"intent_id": intent, "priority": priority})).await.ok()["priority"], json!(priority));
        }
        for (query, field) in [("limit=0", "limit"), ("limit=101", "limit"), ("offset=100001", "offset")] {
            assert_eq!(agent.get(&format!("{PORTFOLIOS}?{query}")).await.field_problem(), (422, "invalid", field, "range"));
        }
        assert_eq!(agent.get(&format!("{path}?offset=1001")).await.field_problem(), (422, "invalid", "offset", "range"));
        assert_eq!(agent.get(&format!("{path}?offset=1000")).await.ok()["intents"], json!([]));
    }

    /// The words that an agent writes come back as they were written, to itself and to people.
    async fn hostile_words_come_back_as_they_were_written(app: &mut TestApp) {
        let agent = app.agent();
        for name in ["<script>alert(1)</script>", "'; DROP TABLE portfolios; --", "a\u{0}b", "\u{202e}drow", "line\nbreak", "{\"id\": 1}", "☃ \u{1f4a9}"] {
            let body = json!({"name": name, "description": name, "metadata": {name: {name: [name]}}, "created_by": name});
            let made = agent.post(PORTFOLIOS, body).await.ok();
            let read = read(&app.operator(), made["id"].as_str().unwrap()).await.ok();
            for shown in [&made, &read] {
                assert_eq!((&shown["name"], &shown["description"], &shown["claimed_created_by"]), (&json!(name), &json!(name), &json!(name)));
                assert_eq!(shown["metadata"], json!({name: {name: [name]}}));
            }
            assert_eq!(log(&agent, made["id"].as_str().unwrap()).await[0]["payload"]["name"], json!(name));
        }
        assert_eq!(agent.get(&format!("{PORTFOLIOS}/..%2f..%2fkeys")).await.problem(), (404, "not_found"));
        assert_eq!(agent.get(&format!("{PORTFOLIOS}?created_by=%27%20OR%201=1")).await.ok(), json!([]));
    }

    /// The number of intents in one portfolio is limited. Without the limit an agent could make each read of the portfolio as
    /// expensive as it likes. The limit also holds for requests that are sent at the same time.
    async fn a_portfolio_has_room_for_so_many_intents(app: &mut TestApp) {
        let agent = app.agent();
        let id = portfolio(&agent).await;
        fill(&agent, &id, MEMBERS_MAX - 1).await;
        let late = join_all((0..4).map(async |_| agent.active_intent().await)).await;
        let tried = join_all(late.iter().map(|intent| add(&agent, &id, *intent))).await;
        let in_it = tried.iter().filter(|reply| reply.status == 200).count();
        assert_eq!(in_it, 1, "{tried:?}");
        for refused in tried.iter().filter(|reply| reply.status != 200) {
            assert_eq!(refused.field_problem(), (422, "invalid", "intent_id", "count"));
        }
        let whole = read(&agent, &id).await.ok();
        assert_eq!((ids(&whole["intents"]).len(), &whole["aggregate_status"]["total"]), (MEMBERS_MAX, &json!(MEMBERS_MAX)));
        let last = agent.get(&format!("{PORTFOLIOS}/{id}/intents?offset=999")).await.ok();
        assert_eq!(ids(&last["intents"]).len(), 1);
        // An intent in a full portfolio can still change its place, and an intent that is taken out makes room.
        let (member, _) = late.iter().zip(&tried).find(|(_, reply)| reply.status == 200).unwrap();
        let body = json!({"intent_id": member, "priority": 1});
        agent.post(&format!("{PORTFOLIOS}/{id}/intents"), body).await.ok();
        assert_eq!(ids(&read(&agent, &id).await.ok()["intents"])[0], json!(member));
        let (outside, _) = late.iter().zip(&tried).find(|(_, reply)| reply.status != 200).unwrap();
        remove(&agent, &id, *member).await.ok();
        add(&agent, &id, *outside).await.ok();
        assert_eq!(add(&agent, &id, *member).await.field_problem(), (422, "invalid", "intent_id", "count"));
    }

    /// A portfolio of large intents must not fill the memory of the server, and must not be cut off without a word.
    async fn a_list_of_large_intents_ends_early_and_says_where_it_goes_on(app: &mut TestApp) {
        let agent = app.agent();
        let id = portfolio(&agent).await;
        let mut all = Vec::new();
        for number in 0..LARGE {
            let large = json!({"title": format!("{number}"), "state": {"text": "s".repeat(STATE_BYTES)}});
            let intent = agent.post("api/v1/intents", large).await.ok()["id"].clone();
            agent.post(&format!("{PORTFOLIOS}/{id}/intents"), json!({"intent_id": intent})).await.ok();
            all.push(intent);
        }
        let whole = read(&agent, &id).await;
        assert!(whole.text.len() > PAGE_BYTES_MAX && whole.text.len() < PAGE_BYTES_MAX + 2 * STATE_BYTES, "{}", whole.text.len());
        let whole = whole.ok();
        let first = ids(&whole["intents"]);
        assert_eq!((&whole["next_offset"], &whole["aggregate_status"]["total"]), (&json!(first.len()), &json!(LARGE)));
        let rest = agent.get(&format!("{PORTFOLIOS}/{id}/intents?offset={}", first.len())).await.ok();
        assert_eq!(rest["next_offset"], json!(null));
        assert_eq!([first, ids(&rest["intents"])].concat(), all);
    }

    /// The number of portfolios of one intent has a limit: each question and answer of the intent causes work for each of its
    /// portfolios.
    async fn an_intent_is_in_so_many_portfolios(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let mut last = String::new();
        for _ in 0..PORTFOLIOS_OF_INTENT_MAX {
            last = portfolio(&agent).await;
            add(&agent, &last, intent).await.ok();
        }
        let one_more = portfolio(&agent).await;
        assert_eq!(add(&agent, &one_more, intent).await.field_problem(), (422, "invalid", "intent_id", "count"));
        assert_eq!(ids(&agent.get(&format!("api/v1/intents/{intent}/portfolios")).await.ok()).len(), PORTFOLIOS_OF_INTENT_MAX);
        for _ in PORTFOLIOS_OF_INTENT_MAX..100 {
            portfolio(&agent).await;
        }
        // A page of the list of portfolios holds 100 by default; an offset gives the next page.
        assert_eq!(ids(&agent.get(PORTFOLIOS).await.ok()).len(), 100);
        assert_eq!(ids(&agent.get(&format!("{PORTFOLIOS}?offset=100")).await.ok()).len(), 1);
        assert_eq!(ids(&agent.get(&format!("{PORTFOLIOS}?limit=1")).await.ok()).len(), 1);
        remove(&agent, &last, intent).await.ok();
        add(&agent, &one_more, intent).await.ok();
    }

    /// The same intent, added and removed at once by several requests, is in the portfolio once or not at all, and its log
    /// says which.
    async fn requests_at_once_leave_one_place_or_none(app: &mut TestApp) {
        let agent = app.agent();
        let (id, intent) = (portfolio(&agent).await, agent.active_intent().await);
        let added = join_all((0..10).map(|_| add(&agent, &id, intent))).await;
        let first = added[0].clone().ok();
        assert!(added.into_iter().all(|reply| reply.ok() == first));
        assert_eq!(agent.event_types(intent).await, ["intent_created", "added_to_portfolio"]);
        let removed = join_all((0..10).map(|_| remove(&agent, &id, intent))).await;
        let statuses: Vec<u16> = removed.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 404].contains(status)), "{statuses:?}");
        let ended = join_all((0..10).map(async |number| {
            if number == 5 { set_status(&agent, &id, "completed").await } else { add(&agent, &id, agent.active_intent().await).await }
        })).await;
        assert!(ended.iter().all(|reply| reply.status == 200 || reply.problem() == (409, "portfolio_not_active")), "{ended:?}");
        let inside = ended.iter().filter(|reply| reply.body.get("added_at").is_some()).count();
        assert_eq!(ids(&read(&agent, &id).await.ok()["intents"]).len(), inside);
    }

    /// The stream of a portfolio tells a coordinator of the intents in the portfolio and of no others. It also leaves out each
    /// intent in the portfolio that the coordinator may not read.
    async fn a_portfolios_stream_carries_the_intents_in_it(app: &mut TestApp) {
        let (agent, other) = (app.agent(), stranger(app, "other").await);
        let id = portfolio(&agent).await;
        let (inside, outside, late) = (agent.active_intent().await, agent.active_intent().await, agent.active_intent().await);
        let (others, hidden) = (other.active_intent().await, other.active_intent().await);
        for intent in [others, hidden] {
            grant(&other, intent, "test-agent", "write").await;
            add(&agent, &id, intent).await.ok();
        }
        add(&agent, &id, inside).await.ok();
        let path = format!("portfolios/{id}/subscribe");
        let (mut stream, _) = Stream::begin(&agent, &path).await;
        let entries = other.get(&format!("api/v1/intents/{hidden}/acl")).await.ok();
        let entry = entries["entries"][0]["id"].as_str().unwrap();
        other.send(other.request("DELETE", &format!("api/v1/intents/{hidden}/acl/entries/{entry}"))).await;
        move_to(&agent, outside, "completed").await;
        move_to(&other, hidden, "completed").await;
        move_to(&agent, inside, "completed").await;
        let first = stream.next().await;
        assert_eq!((&*first.name, &first.data["intent_id"]), ("INTENT_COMPLETED", &json!(inside)));
        add(&agent, &id, late).await.ok();
        move_to(&agent, late, "completed").await;
        assert_eq!(stream.next().await.data["intent_id"], json!(late));
        drop(stream);
        move_to(&other, others, "completed").await;
        app.restart().await;
        let (agent, other) = (app.agent(), Api::new(&app.base, Some(other.key())));
        let mut stream = Stream::open(&agent, &path, Some(&first.id)).await;
        assert_eq!(stream.next().await.data["intent_id"], json!(late));
        assert_eq!(stream.next().await.data["intent_id"], json!(others));
        assert_eq!(other.get(&format!("api/v1/{path}")).await.problem(), (404, "not_found"));
        assert_eq!(app.api(Role::Channel).get(&format!("api/v1/{path}")).await.problem(), (403, "forbidden"));
        drop(Stream::begin(&app.operator(), &path).await);
    }
}
