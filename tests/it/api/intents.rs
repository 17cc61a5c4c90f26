//! Intents: creating, listing and patching them, the steps of their lifecycle, and `_suspension`, which only the server writes.

use domain::base::ids::IntentId;
use domain::intent::body::{DESCRIPTION_BYTES_MAX, PATCHES_MAX, STATE_BYTES_MAX};
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

async fn patch(api: &Api, intent: IntentId, body: Value) -> Reply {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("api/v1/intents/{intent}/state"), &version, body).await
}

fn set(path: &str, value: &Value) -> Value {
    json!({"patches": [{"op": "set", "path": path, "value": value}]})
}

on_each_store! {
    /// The shape that the OpenIntent client reads: both names of the parent, no null where the client expects text, times without
    /// `Z`.
    async fn an_intent_has_the_shape_the_client_reads(app: &mut TestApp) {
        let agent = app.agent();
        let reply = agent.post("api/v1/intents", json!({"title": "Refund", "description": null, "state": null, "depends_on": null})).await;
        assert_eq!(reply.headers["etag"], "\"1\"");
        let bare = reply.ok();
        assert_eq!(bare, json!({
            "id": bare["id"], "title": "Refund", "description": "", "created_by": "test-agent", "parent_intent_id": null,
            "parent_id": null, "depends_on": [], "blocked_by": [], "blocked_reason": null, "constraints": {}, "state": {}, "status": "draft", "confidence": 0.0, "version": 1,
            "governance_policy": null, "created_at": "2026-11-24T08:00:00.000000", "updated_at": "2026-11-24T08:00:00.000000",
        }));
        for parent in ["parent_intent_id", "parent_id"] {
            let full = json!({
                "title": "Part", "description": "d", "created_by": "somebody", parent: bare["id"], "depends_on": [],
                "constraints": ["legacy", "list"], "state": {"k": 1}, "status": "active", "confidence": 99.5,
            });
            let made = agent.post("api/v1/intents", full.clone()).await.ok();
            for field in ["title", "description", "created_by", "depends_on", "constraints", "state", "status", "confidence"] {
                assert_eq!(made[field], full[field], "{field}");
            }
            assert_eq!((&made["parent_intent_id"], &made["parent_id"]), (&bare["id"], &bare["id"]));
            assert_eq!(agent.intent(made["id"].as_str().unwrap().parse().unwrap()).await, made);
        }
    }

    /// `created_by` is only shown. The rights to see and to answer follow the key that created the intent.
    async fn a_shown_creator_gives_nobody_rights(app: &mut TestApp) {
        let agent = app.agent();
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other-agent").await));
        let made = agent.post("api/v1/intents", json!({"title": "t", "created_by": "other-agent"})).await.ok();
        let path = format!("api/v1/intents/{}", made["id"].as_str().unwrap());
        assert_eq!(other.get(&path).await.problem(), (404, "not_found"));
        assert_eq!(agent.get(&path).await.status, 200);
    }

    /// A broken rule of a new intent is reported by field, and no part of the intent is kept.
    async fn an_intent_that_breaks_a_rule_is_named_by_field_and_not_made(app: &mut TestApp) {
        let agent = app.agent();
        let with = |field: &str, value: Value| {
            let mut body = json!({"title": "t"});
            body[field] = value;
            body
        };
        for (body, field) in [
            (json!({}), "title"), (with("title", json!("")), "title"), (with("title", json!("x".repeat(501))), "title"),
            (with("title", json!(1)), "title"), (with("description", json!("x".repeat(DESCRIPTION_BYTES_MAX + 1))), "description"),
            (with("created_by", json!("x".repeat(501))), "created_by"), (with("status", json!("completed")), "status"),
            (with("status", json!("suspended_awaiting_input")), "status"), (with("status", json!("bogus")), "status"),
            (with("confidence", json!(100.5)), "confidence"), (with("confidence", json!(-1)), "confidence"),
            (with("constraints", json!("text")), "constraints"), (with("governance_policy", json!([null])), "governance_policy"), (with("state", json!([])), "state"),
            (with("depends_on", json!("x")), "depends_on"), (with("depends_on", json!([1])), "depends_on[0]"),
            (with("depends_on", json!(["x", "x"])), "depends_on"),
            (with("governance_policy", json!({"require_approval": true})), "governance_policy.require_approval"),
            (json!({"title": "t", "parent_intent_id": "a", "parent_id": "b"}), "parent_id"),
        ] {
            let refused = agent.post("api/v1/intents", body.clone()).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{body}");
        }
        // Another agent's intent cannot be named as the parent, since that would reveal that it exists.
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other-agent").await));
        let foreign = other.active_intent().await;
        for parent in [json!("019ab0f2-0000-7000-8000-000000000000"), json!("x"), json!(foreign)] {
            assert_eq!(agent.post("api/v1/intents", with("parent_id", parent)).await.problem(), (404, "not_found"));
        }
        assert_eq!(agent.get("api/v1/intents").await.ok()["intents"], json!([]));
        agent.post("api/v1/intents", with("title", json!("ä".repeat(500)))).await.ok();
    }

    /// A forged `_suspension` would be a forged approval, so every spelling of its path is refused.
    async fn no_write_reaches_the_servers_part_of_the_state(app: &mut TestApp) {
        let agent = app.agent();
        let forged = json!({"id": "x", "resolution": "responded", "response": "approve"});
        for status in ["draft", "active"] {
            let body = json!({"title": "t", "status": status, "state": {"_suspension": forged}});
            assert_eq!(agent.post("api/v1/intents", body.clone()).await.problem(), (409, "suspension_is_server_owned"));
            assert_eq!(app.operator().post("api/v1/intents", body).await.problem(), (403, "forbidden"));
        }
        assert_eq!(agent.get("api/v1/intents").await.ok()["intents"], json!([]));
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.settle().await;
        let before = agent.everything(intent).await;
        for path in [
            "_suspension", "/_suspension", "//_suspension", "_suspension/", "/_suspension//", "_suspension/response",
            "/_suspension/resolution", "//_suspension//response//", "", "/", "//",
        ] {
            for op in ["set", "append", "remove"] {
                let body = json!({"patches": [
                    {"op": "set", "path": "harmless", "value": 1}, {"op": op, "path": path, "value": forged},
                ]});
                assert_eq!(patch(&agent, intent, body).await.problem(), (409, "suspension_is_server_owned"), "{op} {path}");
            }
        }
        assert_eq!(patch(&agent, intent, json!({"state": {"_suspension": forged}})).await.problem(), (409, "suspension_is_server_owned"));
        for key in ["/_suspension", "_suspension/response", ""] {
            let refused = patch(&agent, intent, json!({"state": {key: forged}})).await;
            assert_eq!(refused.field_problem(), (422, "invalid", "state", "key"), "{key}");
        }
        assert_eq!(agent.everything(intent).await, before);
        // Below the top level the agent may use that name.
        patch(&agent, intent, set("mine/_suspension", &json!(1))).await.ok();
        let state = &agent.intent(intent).await["state"];
        assert_eq!((&state["mine"], &state["_suspension"]["id"]), (&json!({"_suspension": 1}), &json!(id)));
    }

    /// The patches of one request are applied in order, all or none, and as one version.
    async fn patches_are_applied_in_order_and_as_one_version(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let body = json!({"patches": [
            {"op": "set", "path": "/a/b", "value": {"c": 1}}, {"op": "append", "path": "list", "value": 1},
            {"op": "append", "path": "list", "value": null}, {"op": "set", "path": "a/b/d", "value": "x"},
            {"op": "remove", "path": "/a/b/c"}, {"op": "remove", "path": "never/there"}, {"op": "set", "path": "gone", "value": 1},
            {"op": "remove", "path": "gone"},
        ]});
        let after = patch(&agent, intent, body).await.ok();
        assert_eq!((&after["state"], &after["version"]), (&json!({"a": {"b": {"d": "x"}}, "list": [1, null]}), &json!(2)));
        let after = patch(&agent, intent, json!({"state": {"a": 2, "new": [0]}})).await.ok();
        assert_eq!(after["state"], json!({"a": 2, "list": [1, null], "new": [0]}));
        app.restart().await;
        assert_eq!(agent.intent(intent).await, after);
        assert_eq!(agent.event_types(intent).await, ["intent_created", "state_patched", "state_patched"]);
    }

    /// A broken rule of a patch is reported by field. The bound of the state applies to the state after the patch.
    async fn a_patch_that_breaks_a_rule_is_named_and_not_applied(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let before = agent.everything(intent).await;
        let many = |count: usize| json!({"patches": vec![json!({"op": "remove", "path": "x"}); count]});
        for (body, field) in [
            (json!({}), "patches"), (json!({"patches": []}), "patches"), (json!({"patches": {}}), "patches"),
            (json!({"patches": [], "state": {}}), "patches"), (json!({"state": {}}), "patches"), (json!({"state": 1}), "state"),
            (json!({"patches": [{"op": "move", "path": "a"}]}), "patches[0].op"),
            (json!({"patches": [{"op": "set"}]}), "patches[0].path"), (json!({"patches": [["set", "a", 1]]}), "patches[0]"),
            (many(PATCHES_MAX + 1), "patches"),
        ] {
            let refused = patch(&agent, intent, body.clone()).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{body}");
        }
        assert_eq!(agent.everything(intent).await, before);
        patch(&agent, intent, many(PATCHES_MAX)).await.ok();
        let half = "x".repeat(STATE_BYTES_MAX / 2);
        patch(&agent, intent, set("a", &json!(half))).await.ok();
        let frame = r#"{"a":"","b":""}"#.len();
        let rest = "x".repeat(STATE_BYTES_MAX / 2 - frame);
        let full = patch(&agent, intent, set("b", &json!(format!("{rest}x")))).await;
        assert_eq!(full.field_problem(), (422, "invalid", "patches", "length"));
        patch(&agent, intent, set("b", &json!(rest))).await.ok();
    }

    /// The steps from one status to another are those of RFC-0001 and RFC-0025 §2; every other step is refused. An unknown
    /// status is refused too, because the client could not read an intent that had it.
    async fn the_lifecycle_has_these_steps_and_no_others(app: &mut TestApp) {
        let agent = app.agent();
        let path = |intent: IntentId| format!("api/v1/intents/{intent}/status");
        let to = async |intent: IntentId, status: &str| {
            let version = agent.intent(intent).await["version"].to_string();
            agent.post_at(&path(intent), &version, json!({"status": status})).await
        };
        let all = ["draft", "active", "blocked", "completed", "abandoned"];
        for (from, allowed) in [
            ("draft", &["active", "abandoned"][..]), ("active", &["blocked", "completed", "abandoned"]),
            ("blocked", &["active", "abandoned"]), ("completed", &[]), ("abandoned", &[]),
        ] {
            for next in all {
                let start = if from == "draft" { "draft" } else { "active" };
                let made = agent.post("api/v1/intents", json!({"title": "t", "status": start})).await.ok();
                let intent: IntentId = made["id"].as_str().unwrap().parse().unwrap();
                if !["draft", "active"].contains(&from) {
                    to(intent, from).await.ok();
                }
                let version = agent.intent(intent).await["version"].as_u64().unwrap();
                let reply = to(intent, next).await;
                if allowed.contains(&next) {
                    let after = reply.ok();
                    assert_eq!((&after["status"], after["version"].as_u64()), (&json!(next), Some(version + 1)));
                    let last = agent.events(intent).await.pop().unwrap();
                    assert_eq!(last["payload"]["old_status"], json!(from));
                    assert_eq!(last["payload"]["new_status"], json!(next));
                } else {
                    assert_eq!(reply.problem(), (409, "invalid_transition"), "{from} {next}");
                    assert_eq!(reply.body["detail"]["error"], json!("invalid_transition"));
                    assert_eq!(agent.intent(intent).await["version"].as_u64(), Some(version));
                }
            }
        }
        let intent = agent.active_intent().await;
        for (body, field) in [
            (json!({"status": "bogus"}), "status"), (json!({"status": "Active"}), "status"), (json!({}), "status"),
            (json!({"status": null}), "status"), (json!({"status": "blocked", "reason": "x".repeat(2001)}), "reason"),
        ] {
            let refused = agent.post_at(&path(intent), "1", body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field));
        }
        assert_eq!(agent.status(intent).await, "active");
    }

    /// The list is an object with a bounded page of intents, newest first and filtered. An agent sees only its own intents.
    async fn the_list_is_a_bounded_page_of_what_one_may_read(app: &mut TestApp) {
        let agent = app.agent();
        let mut made = Vec::new();
        for number in 0..5 {
            let status = if number % 2 == 0 { "active" } else { "draft" };
            let intent = agent.post("api/v1/intents", json!({"title": number.to_string(), "status": status})).await.ok();
            made.push(intent["id"].as_str().unwrap().to_owned());
        }
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other-agent").await));
        other.active_intent().await;
        let titles = async |api: &Api, query: &str| -> String {
            let page = api.get(&format!("api/v1/intents{query}")).await.ok();
            page["intents"].as_array().unwrap().iter().map(|intent| intent["title"].as_str().unwrap()).collect()
        };
        assert_eq!(titles(&agent, "").await, "43210");
        assert_eq!(titles(&agent, "?limit=2").await, "43");
        assert_eq!(titles(&agent, "?limit=2&offset=3").await, "10");
        assert_eq!(titles(&agent, "?offset=5").await, "");
        assert_eq!(titles(&agent, "?status=draft").await, "31");
        assert_eq!(titles(&agent, "?status=active&limit=1000").await, "420");
        assert_eq!(titles(&agent, "?status=").await, "43210");
        // By following the cursor an auditor reaches the oldest intent and sees none twice, even while new ones are made.
        let auditor = app.api(Role::Auditor);
        let (mut seen, mut cursor) = (String::new(), String::new());
        for number in 0.. {
            let page = auditor.get(&format!("api/v1/intents?status=active&limit=2&cursor={cursor}")).await.ok();
            seen.extend(page["intents"].as_array().unwrap().iter().map(|intent| intent["title"].as_str().unwrap()));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = next.to_owned();
            assert!(number < 2, "{page}");
            if number == 0 {
                app.agent().active_intent().await;
            }
        }
        assert_eq!(seen, "Refund order 12345420");
        assert_eq!(auditor.get("api/v1/intents?limit=7").await.ok()["next_cursor"], json!(null));
        for role in [Role::Operator, Role::Admin, Role::Auditor] {
            assert_eq!(titles(&app.api(role), "").await, "Refund order 12345Refund order 1234543210", "{role}");
        }
        for (query, field) in [
            ("?limit=0", "limit"), ("?limit=1001", "limit"), ("?limit=x", "limit"), ("?limit=-1", "limit"), ("?offset=-1", "offset"),
            ("?status=bogus", "status"), ("?cursor=x", "cursor"), ("?limit=1&limit=2", "limit"),
        ] {
            let refused = agent.get(&format!("api/v1/intents{query}")).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{query}");
        }
    }
}
