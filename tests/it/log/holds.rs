//! Legal holds: what they cover is not erased.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use futures_util::future::join;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

async fn redact(app: &TestApp, intent: IntentId) -> Reply {
    app.api(Role::Admin).post(&format!("api/v1/intents/{intent}/redact"), json!({"legal_basis": "a request"})).await
}

async fn place(app: &TestApp, scope: Value) -> Reply {
    app.api(Role::Admin).post("api/v1/holds", json!({"scope": scope, "reason": "Litigation 2026-7"})).await
}

async fn lift(app: &TestApp, id: &Value) -> Reply {
    let admin = app.api(Role::Admin);
    let path = format!("api/v1/holds/{}?reason=It+has+ended.", id.as_str().unwrap());
    admin.send(admin.request("DELETE", &path)).await
}

async fn events(app: &TestApp, event_type: &str) -> Vec<Value> {
    let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
    events.as_array().unwrap().iter().filter(|event| event["event_type"] == event_type).cloned().collect()
}

on_each_store! {
    /// Evidence that a court asks for must not be erased meanwhile, also not by an admin.
    async fn what_is_on_hold_is_not_erased_until_the_hold_is_lifted(app: &mut TestApp) {
        let agent = app.agent();
        let other = Api::new(agent.base(), Some(&app.new_key(Role::Agent, "other-agent").await));
        for scope in ["everything", "agent", "intent"] {
            let (held, free) = (agent.completed_intent().await, other.completed_intent().await);
            let id = if scope == "agent" { json!("test-agent") } else { json!(held) };
            let scope = if scope == "everything" { json!({"kind": scope}) } else { json!({"kind": scope, "id": id}) };
            let hold = place(app, scope.clone()).await.ok();
            assert_eq!((&hold["scope"], &hold["reason"], &hold["placed_by"]), (&scope, &json!("Litigation 2026-7"), &json!("test-admin")));
            app.restart().await;
            let before = app.agent().everything(held).await;
            assert_eq!(redact(app, held).await.problem(), (409, "legal_hold"), "{scope}");
            assert_eq!(app.agent().everything(held).await, before);
            let expected = if scope["kind"] == "everything" { 409 } else { 200 };
            assert_eq!(redact(app, free).await.status, expected, "{scope}");
            let listed = app.api(Role::Auditor).get("api/v1/holds").await.ok();
            assert_eq!(listed["holds"], json!([hold]));
            let lifted = lift(app, &hold["id"]).await.ok();
            assert_eq!((&lifted["hold"], &lifted["reason"]), (&hold, &json!("It has ended.")));
            assert_eq!(lift(app, &hold["id"]).await.problem(), (404, "not_found"));
            assert_eq!(redact(app, held).await.status, 200, "{scope}");
            let [placed, taken] = [events(app, "hold.placed").await, events(app, "hold.lifted").await].map(|mut events| events.pop().unwrap());
            assert_eq!((&placed["payload"]["hold_id"], &placed["payload"]["scope"], &placed["actor"]), (&hold["id"], &scope, &json!("test-admin")));
            assert_eq!((&taken["payload"]["hold_id"], &taken["payload"]["reason"]), (&hold["id"], &json!("It has ended.")));
        }
        assert_eq!(events(app, "hold.lifted").await.len(), 3, "a hold is lifted once");
    }

    /// Names of agents are compared without the case of letters where a difference would let something be erased. A key that is
    /// revoked has left intents behind.
    async fn a_hold_names_an_agent_in_any_case(app: &mut TestApp) {
        let other = app.new_key(Role::Agent, "other-agent").await;
        let intent = Api::new(&app.base, Some(&other)).completed_intent().await;
        let keys = app.api(Role::Admin).get("api/v1/keys").await.ok();
        let key = keys["keys"].as_array().unwrap().iter().find(|key| key["name"] == "other-agent").unwrap()["id"].clone();
        let admin = app.api(Role::Admin);
        admin.send(admin.request("DELETE", &format!("api/v1/keys/{}", key.as_str().unwrap()))).await.ok();
        let hold = place(app, json!({"kind": "agent", "id": "Other-AGENT"})).await.ok();
        assert_eq!(redact(app, intent).await.problem(), (409, "legal_hold"));
        lift(app, &hold["id"]).await.ok();
        assert_eq!(redact(app, intent).await.status, 200);
    }

    /// A hold and an erasure at the same time: either the hold was first, and nothing is erased, or the erasure was.
    async fn a_hold_and_an_erasure_do_not_pass_each_other(app: &mut TestApp) {
        for _ in 0..8 {
            let intent = app.agent().completed_intent().await;
            let (hold, erased) = join(place(app, json!({"kind": "intent", "id": intent})), redact(app, intent)).await;
            assert_eq!(hold.status, 200);
            let log = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
            let of = |event_type: &str| log.as_array().unwrap().iter().filter(|event| event["event_type"] == event_type).map(|event| event["sequence"].as_u64()).max().flatten();
            match erased.status {
                200 => assert!(of("payload.redacted") < of("hold.placed")),
                status => assert_eq!((status, app.agent().events(intent).await[0].get("redacted")), (409, None)),
            }
        }
    }

    /// An admin places a hold in a hurry. The refusal of a wrong scope must say what to change, and not speak of types of this program.
    async fn a_wrong_scope_is_refused_by_its_member_and_its_rule(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        let id = json!(intent);
        for (scope, field, rule) in [
            (json!(null), "scope", "type"),
            (json!("everything"), "scope", "type"),
            (json!(["everything"]), "scope", "type"),
            (json!({}), "scope.kind", "required"),
            (json!({"id": id}), "scope.kind", "required"),
            (json!({"kind": null}), "scope.kind", "required"),
            (json!({"kind": 1}), "scope.kind", "value"),
            (json!({"kind": "all"}), "scope.kind", "value"),
            (json!({"kind": "Everything"}), "scope.kind", "value"),
            (json!({"kind": "everything", "id": id}), "scope.id", "unsupported"),
            (json!({"kind": "agent"}), "scope.id", "required"),
            (json!({"kind": "intent"}), "scope.id", "required"),
            (json!({"kind": "intent", "id": null}), "scope.id", "required"),
            (json!({"kind": "agent", "id": 7}), "scope.id", "type"),
            (json!({"kind": "intent", "id": [id]}), "scope.id", "type"),
            (json!({"kind": "intent", "id": "x"}), "scope.id", "format"),
            (json!({"kind": "agent", "id": ""}), "scope.id", "length"),
            (json!({"kind": "everything", "until": "2027-01-01"}), "scope.until", "unknown"),
        ] {
            let refused = place(app, scope.clone()).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, rule), "{scope}: {}", refused.text);
            for word in ["HoldScope", "variant", "Everything", "UUID"] {
                assert!(!refused.text.contains(word), "{word}: {}", refused.text);
            }
        }
        let missing = app.api(Role::Admin).post("api/v1/holds", json!({"reason": "Litigation 2026-7"})).await;
        assert_eq!(missing.field_problem(), (422, "invalid", "scope", "required"));
        assert_eq!(events(app, "hold.placed").await.len(), 0);
        place(app, json!({"kind": "intent", "id": id})).await.ok();
        place(app, json!({"kind": "everything", "id": null})).await.ok();
    }

    /// A hold on nothing would calm people for no reason.
    async fn a_hold_that_covers_nothing_is_refused(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        for (scope, words) in [
            (json!({"kind": "intent", "id": uuid::Uuid::from_u128(7)}), "scope.id: must be the id of an intent of this server"),
            (json!({"kind": "agent", "id": "test-agnet"}), "scope.id: must be a name that a key of this server has or had"),
        ] {
            let refused = place(app, scope).await;
            assert_eq!(refused.field_problem(), (404, "not_found", "scope.id", "known"));
            assert!(refused.text.contains(words), "{}", refused.text);
        }
        for (reason, status) in [(" ".to_owned(), 422), ("é".repeat(2_001), 422), ("é".repeat(2_000), 200)] {
            assert_eq!(admin.post("api/v1/holds", json!({"scope": {"kind": "everything"}, "reason": reason})).await.status, status);
        }
        assert_eq!(events(app, "hold.placed").await.len(), 1);
    }
}
