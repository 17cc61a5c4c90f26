//! Broadcasts: one call pauses many intents.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::broadcast::{FOUND_MAX, IDS_MAX};
use harness::api::{Api, Reply};
use harness::on_each_store;
use placet_server::edge::body::MANY_BODY_BYTES_MAX;
use serde_json::{Value, json};

use super::pausing::{id_of, pause, resume, since_it_began};

async fn broadcast(api: &Api, body: Value) -> Reply {
    api.post("api/v1/suspensions:broadcast", body).await
}

/// The intents of the answer with their outcomes.
fn outcomes(answer: &Value) -> Vec<(String, String)> {
    let text = |result: &Value, name: &str| result[name].as_str().unwrap_or_default().to_owned();
    let results = answer["results"].as_array().into_iter().flatten();
    results.map(|result| (text(result, "intent_id"), text(result, "outcome"))).collect()
}

on_each_store! {
    /// Each outcome, in the order of the ids. A repeated call writes nothing.
    async fn each_intent_of_a_broadcast_has_its_outcome(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let (active, blocked, paused, parked) =
            (agent.active_intent().await, agent.active_intent().await, agent.active_intent().await, agent.active_intent().await);
        super::pausing::set_status(&agent, blocked, "blocked").await.ok();
        let before = pause(&operator, paused, json!({"reason": "before"})).await.ok();
        agent.post(&format!("api/v1/intents/{parked}/park"), json!({"reason": "r"})).await.ok();
        let ending = agent.active_intent().await;
        operator.post(&format!("api/v1/intents/{ending}/stop"), json!({})).await.ok();
        let (asking, _) = app.ask(json!({})).await;
        let done = agent.completed_intent().await;
        let draft: IntentId = id_of(&agent.post("api/v1/intents", json!({"title": "t"})).await.ok()).parse().unwrap();
        let unknown: IntentId = "019ab0f2-0000-7000-8000-000000000000".parse().unwrap();
        let ids = [active, blocked, paused, parked, ending, asking, done, draft, unknown, active];
        let answer = broadcast(&admin, json!({"ids": ids, "mode": "interrupt_immediate", "reason": "A leak."})).await.ok();
        let words = ["suspended", "suspended", "already_suspended", "already_suspended", "already_suspended", "not_running", "not_running", "not_running", "unknown"];
        let expected: Vec<_> = ids.iter().zip(words).map(|(id, word)| (id.to_string(), word.to_owned())).collect();
        assert_eq!(outcomes(&answer), expected);
        assert_eq!((&answer["suspended"], &answer["next"]), (&json!(2), &json!(null)));
        app.restart().await;
        let record = agent.suspension(answer["results"][0]["suspension_id"].as_str().unwrap()).await;
        assert_eq!((&record["reason"], &record["mode"], &record["stage"]), (&json!("A leak."), &json!("interrupt_immediate"), &json!("requested")));
        assert_eq!(agent.suspension(&id_of(&before)).await, before);
        assert_eq!(since_it_began(&agent, active).await, ["lifecycle.paused", "status_changed"]);
        let again = broadcast(&admin, json!({"ids": ids})).await.ok();
        assert_eq!(again["suspended"], 0);
        assert_eq!(outcomes(&again)[0].1, "already_suspended");
        assert_eq!(since_it_began(&agent, active).await, ["lifecycle.paused", "status_changed"]);
        resume(&operator, &id_of(&record), json!({})).await.ok();
        assert_eq!(agent.status(active).await, "active");
        // No target is no error.
        assert_eq!(broadcast(&admin, json!({"ids": []})).await.ok(), json!({"suspended": 0, "results": [], "next": null}));
    }

    /// All that run, or those of one agent, the newest first, in steps that the caller chooses.
    async fn a_filter_finds_all_that_run(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await));
        let mut own = Vec::new();
        for _ in 0..4 {
            own.push(agent.active_intent().await);
        }
        super::pausing::set_status(&agent, own[1], "blocked").await.ok();
        agent.completed_intent().await;
        let others = other.active_intent().await;
        let answer = broadcast(&admin, json!({"filter": {"created_by": "test-agent", "limit": 3}})).await.ok();
        let found: Vec<_> = outcomes(&answer).into_iter().map(|(id, _)| id).collect();
        assert_eq!(found, [own[3], own[2], own[1]].map(|id| id.to_string()));
        assert_eq!((&answer["suspended"], &answer["next"]), (&json!(3), &json!(own[1])));
        app.restart().await;
        let answer = broadcast(&admin, json!({"filter": {"created_by": "test-agent", "limit": 3, "after": answer["next"]}})).await.ok();
        assert_eq!((outcomes(&answer), &answer["next"]), (vec![(own[0].to_string(), "suspended".to_owned())], &json!(null)));
        assert_eq!(other.status(others).await, "active");
        let all = broadcast(&admin, json!({"filter": {}})).await.ok();
        assert_eq!(all["suspended"], 1);
        assert_eq!(outcomes(&all).len(), 5);
        // A known key may have no work; a misspelt name is told as that, and pauses nothing.
        assert_eq!(broadcast(&admin, json!({"filter": {"created_by": "test-admin"}})).await.ok()["results"], json!([]));
        for unknown in ["test-agnet", "Test-Agent"] {
            let refused = broadcast(&admin, json!({"filter": {"created_by": unknown}})).await;
            let (status, _, field, rule) = refused.field_problem();
            assert_eq!((status, field, rule), (422, "filter.created_by", "unknown"), "{unknown}");
        }
    }

    /// Only admins pause many at once, and each bound names its field.
    async fn only_admins_broadcast_and_every_member_has_its_bound(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        for role in [Role::Agent, Role::Operator, Role::Auditor, Role::Channel, Role::Verifier] {
            assert_eq!(broadcast(&app.api(role), json!({"ids": [intent]})).await.problem(), (403, "forbidden"), "{role}");
            assert_eq!(broadcast(&app.api(role), json!({})).await.problem(), (403, "forbidden"), "{role}");
        }
        let admin = app.api(Role::Admin);
        let many = |count: usize| vec!["019ab0f2-0000-7000-8000-000000000000"; count];
        for (body, field) in [
            (json!({}), "ids"), (json!({"ids": ["x"]}), "ids[0]"), (json!({"ids": many(IDS_MAX + 1)}), "ids"),
            (json!({"ids": [], "filter": {}}), "filter"), (json!({"filter": {"limit": 0}}), "filter.limit"),
            (json!({"filter": {"limit": FOUND_MAX + 1}}), "filter.limit"), (json!({"filter": {"created_by": " "}}), "filter.created_by"),
            (json!({"filter": {"status": "active"}}), "filter.status"), (json!({"ids": [], "mode": "now"}), "mode"),
            (json!({"ids": [], "reason": "x".repeat(2_001)}), "reason"), (json!({"ids": [], "graceful": true}), "graceful"),
        ] {
            let refused = broadcast(&admin, body.clone()).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{body}");
        }
        assert_eq!(app.agent().status(intent).await, "active");
        assert_eq!(outcomes(&broadcast(&admin, json!({"ids": many(IDS_MAX)})).await.ok()).len(), 1);
        // As many different ids as there may be, one on a line and with the longest reason, fit into a body.
        let different: Vec<String> = (0..IDS_MAX).map(|number| format!("019ab0f2-0000-7000-8000-{number:012}")).collect();
        let written = serde_json::to_string_pretty(&json!({"ids": different, "reason": "ä".repeat(2_000)})).unwrap();
        let answer = admin.post_bytes("api/v1/suspensions:broadcast", written).await.ok();
        assert_eq!((answer["results"].as_array().map(Vec::len), &answer["suspended"]), (Some(IDS_MAX), &json!(0)));
        let too_large = json!({"ids": [], "reason": "x".repeat(MANY_BODY_BYTES_MAX)});
        assert_eq!(broadcast(&admin, too_large).await.problem(), (413, "body_too_large"));
        broadcast(&admin, json!({"filter": {"limit": FOUND_MAX}})).await.ok();
    }

    /// More than one look finds, with answers in between: none of them is lost, and each is paused once.
    async fn a_broadcast_that_takes_several_looks_reaches_all(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        for _ in 0..510 {
            agent.active_intent().await;
        }
        let (asking, question) = app.ask(json!({})).await;
        let operator = app.operator();
        let answer = async { operator.respond(asking, &question, "approve").await.ok() };
        let (first, second, _) =
            futures_util::join!(broadcast(&admin, json!({"filter": {}})), broadcast(&admin, json!({"filter": {}})), answer);
        let suspended = |answer: &Value| answer["suspended"].as_u64().unwrap_or_default();
        let (first, second) = (first.ok(), second.ok());
        // The answered intent runs again, and may have been found by one of them.
        assert!((510..=511).contains(&(suspended(&first) + suspended(&second))), "{} {}", suspended(&first), suspended(&second));
        assert_eq!(broadcast(&admin, json!({"filter": {"limit": 510}})).await.ok()["results"].as_array().map(Vec::len), Some(510));
    }
}
