//! Incoming requests: the order of the checks, the code of each refusal, and that a refusal changes nothing.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

const NOBODYS: &str = "019ab0f2-0000-7000-8000-000000000000";

/// Every route that takes a body, for this intent and this suspension.
fn writes(intent: &str, suspension: &str) -> Vec<(&'static str, String)> {
    vec![
        ("POST", "api/v1/intents".into()),
        ("POST", format!("api/v1/intents/{intent}/state")),
        ("POST", format!("api/v1/intents/{intent}/status")),
        ("POST", format!("api/v1/intents/{intent}/events")),
        ("POST", format!("api/v1/intents/{intent}/leases")),
        ("PATCH", format!("api/v1/intents/{intent}/leases/{NOBODYS}")),
        ("POST", format!("api/v1/intents/{intent}/suspend")),
        ("POST", format!("api/v1/intents/{intent}/suspend/respond")),
        ("POST", format!("api/v1/suspensions/{suspension}/cancel")),
        ("POST", "api/v1/keys".into()),
    ]
}

/// Every route that takes no body.
fn reads(intent: &str, suspension: &str) -> Vec<(&'static str, String)> {
    vec![
        ("GET", "api/v1/intents".into()),
        ("GET", format!("api/v1/intents/{intent}")),
        ("GET", format!("api/v1/intents/{intent}/events")),
        ("GET", format!("api/v1/intents/{intent}/leases")),
        ("DELETE", format!("api/v1/intents/{intent}/leases/{NOBODYS}")),
        ("GET", format!("api/v1/suspensions/{suspension}")),
        ("GET", "api/v1/suspensions".into()),
        ("GET", "api/v1/keys".into()),
        ("DELETE", format!("api/v1/keys/{NOBODYS}")),
    ]
}

async fn bytes(api: &Api, method: &str, path: &str, body: impl Into<Vec<u8>>) -> Reply {
    let request = api.request(method, path).header("content-type", "application/json").body(body.into());
    api.send(request).await
}

/// Placet's own routes and OpenIntent's routes each have a form of errors. In both forms our `code` is at the top level.
fn assert_form(reply: &Reply, path: &str) {
    let ours = !path.contains("intents") || path.ends_with("/suspend");
    let content_type = if ours { "application/problem+json" } else { "application/json" };
    assert_eq!(reply.headers["content-type"], content_type, "{path}");
    assert!(reply.body["code"].is_string() && !reply.body["detail"].is_null(), "{path}: {}", reply.text);
    let extra = if ours { "title" } else { "message" };
    assert!(reply.body[extra].is_string(), "{path}: {}", reply.text);
    assert_eq!(reply.body["status"].as_u64(), ours.then_some(reply.status.into()), "{path}");
}

on_each_store! {
    /// A caller without a key learns nothing: neither whether a route, an intent or a method exists, nor whether the body could
    /// be read.
    async fn no_key_is_401_before_everything_else(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        let huge = vec![b' '; 300 * 1024];
        let wrong = Api::new(&app.base, Some("placet_agent_000000000000000000000000000000000"));
        let long = Api::new(&app.base, Some(&"x".repeat(201)));
        for api in [&app.anonymous(), &Api::new(&app.base, Some("")), &wrong, &long] {
            let routes = writes(&intent.to_string(), &id).into_iter().chain(reads(&intent.to_string(), &id));
            let strange = [("GET", "api/v1/nothing"), ("PUT", "api/v1/intents"), ("GET", "api/v1"), ("GET", "api/v1/suspensions/x/y")];
            for (method, path) in routes.chain(strange.map(|(method, path)| (method, path.to_owned()))) {
                for body in [&b"{"[..], b"", &huge] {
                    let refused = bytes(api, method, &path, body).await;
                    assert_eq!(refused.problem(), (401, "unauthorized"), "{method} {path}");
                    assert_eq!(refused.body["detail"], json!("Invalid or missing API key"));
                    assert_form(&refused, &path);
                }
            }
        }
        assert_eq!(app.anonymous().get(&format!("intents/{intent}")).await.problem(), (401, "unauthorized"));
    }

    /// 413, 415 and malformed JSON come before 404, so that an unreadable body cannot reveal which intents exist.
    async fn a_body_that_cannot_be_read_is_refused_before_the_intent_is_looked_up(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        let mine = writes(&intent.to_string(), &id);
        let before = agent.everything(intent).await;
        for (method, path) in mine.into_iter().chain(writes(NOBODYS, NOBODYS)) {
            let huge = [vec![b'['; 262_145]].concat();
            assert_eq!(bytes(&agent, method, &path, huge).await.problem(), (413, "body_too_large"), "{path}");
            let text = agent.request(method, &path).header("content-type", "text/plain").body("{");
            assert_eq!(agent.send(text).await.problem(), (415, "unsupported_media_type"), "{path}");
            let refused = bytes(&agent, method, &path, "{").await;
            assert_eq!(refused.problem(), (422, "malformed_json"), "{path}");
            assert_form(&refused, &path);
        }
        assert_eq!(agent.everything(intent).await, before);
    }

    /// For a caller who may not read a record, the reply is the same, byte for byte, as for one that does not exist.
    async fn a_foreign_thing_and_an_unknown_one_look_the_same(app: &mut TestApp) {
        let stranger = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "other-agent", "test-agent").await));
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        let before = agent.everything(intent).await;
        let routes = |intent: &str, id: &str| -> Vec<(&str, String)> {
            let all = writes(intent, id).into_iter().chain(reads(intent, id));
            all.filter(|(_, path)| path.contains(intent) || path.contains(id)).collect()
        };
        for ((method, foreign), (_, unknown)) in routes(&intent.to_string(), &id).into_iter().zip(routes(NOBODYS, NOBODYS)) {
            if foreign.contains("keys") {
                continue; // Keys are not read by ids: the role is checked first, which gives 403.
            }
            // The check for existence also comes before those of If-Match and of the fields.
            let foreign = bytes(&stranger, method, &foreign, r#"{"unknown": 1}"#).await;
            let unknown = bytes(&stranger, method, &unknown, r#"{"unknown": 1}"#).await;
            assert_eq!(foreign.problem(), (404, "not_found"), "{method}");
            assert_eq!((foreign.status, &foreign.text), (unknown.status, &unknown.text), "{method}");
        }
        for odd in ["x", "0", &intent.to_string()[1..], &format!("{{{intent}}}"), &intent.to_string().replace('-', "")] {
            assert_eq!(agent.get(&format!("api/v1/intents/{odd}")).await.problem(), (404, "not_found"), "{odd}");
        }
        assert_eq!(stranger.get("api/v1/suspensions?state=all").await.ok()["suspensions"], json!([]));
        assert_eq!(stranger.get("api/v1/intents").await.ok()["intents"], json!([]));
        assert_eq!(agent.everything(intent).await, before);
    }

    /// The checks come in the order 403, 400, 422, 409, so the reply names the mistake that the caller must correct first. The
    /// one exception is the value of an answer (422), which is checked last.
    async fn the_later_checks_come_in_their_order(app: &mut TestApp) {
        let (agent, auditor) = (app.agent(), app.api(Role::Auditor));
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        let before = agent.everything(intent).await;
        for route in ["state", "status"] {
            let path = format!("api/v1/intents/{intent}/{route}");
            assert_eq!(auditor.post(&path, json!({})).await.problem(), (403, "forbidden")); // If-Match and fields are missing.
            assert_eq!(agent.post(&path, json!({})).await.problem(), (400, "if_match_required"));
            assert_eq!(agent.post_at(&path, "99", json!({})).await.status, 422);
        }
        let patch = json!({"state": {"_suspension": {"response": "approve"}}});
        let path = format!("api/v1/intents/{intent}/state");
        assert_eq!(agent.post_at(&path, "99", patch).await.problem(), (409, "version_conflict"));
        // Suspend reports all wrong fields at once, before it reports that the intent is suspended already.
        let broken = json!({"question": "", "timeout_seconds": 0, "confidence": 2, "notify_to": []});
        let refused = agent.suspend(intent, broken).await;
        assert_eq!(refused.problem(), (422, "invalid"));
        let mut fields: Vec<&str> = refused.body["errors"].as_array().unwrap().iter().map(|e| e["field"].as_str().unwrap()).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["confidence", "notify_to", "question", "timeout_seconds"]);
        // The named suspension is checked first, then the version, then the value.
        let respond = format!("api/v1/intents/{intent}/suspend/respond");
        let operator = app.operator();
        let wrong = json!({"suspension_id": id, "value": "no such choice"});
        assert_eq!(operator.post_at(&respond, "99", wrong).await.problem(), (409, "version_conflict"));
        assert_eq!(operator.post_at(&respond, "99", json!({})).await.field_problem().2, "suspension_id");
        assert_eq!(agent.everything(intent).await, before);
    }

    /// Three forms of a version in If-Match are in use. Any other value must not be taken for a version.
    async fn if_match_takes_three_forms_and_no_other(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let path = format!("api/v1/intents/{intent}/state");
        for (version, form) in ["{}", "\"{}\"", "W/\"{}\""].iter().enumerate() {
            let version = version + 1;
            let reply = agent.post_at(&path, &form.replace("{}", &version.to_string()), json!({"state": {"n": version}})).await;
            assert_eq!(reply.headers["etag"], format!("\"{}\"", version + 1));
            assert_eq!(reply.ok()["version"], json!(version + 1));
        }
        let before = agent.everything(intent).await;
        for garbage in ["", "*", "+4", "four", "\"4", "4\"", "-4", "4.0", "4, 5", "\"4\", \"5\"", "99999999999999999999", "''", "w/\"4\""] {
            let refused = agent.post_at(&path, garbage, json!({"state": {"n": 0}})).await;
            assert_eq!(refused.problem(), (400, "if_match_required"), "{garbage}");
            assert_eq!(refused.body["message"], json!("If-Match header required"));
        }
        for stale in ["3", "5", "\"0\""] {
            let refused = agent.post_at(&path, stale, json!({"state": {"n": 0}})).await;
            assert_eq!(refused.problem(), (409, "version_conflict"));
            assert_eq!((&refused.body["current_version"], &refused.body["message"]), (&json!(4), &json!("Version conflict")));
            assert!(!refused.text.to_lowercase().contains("lease")); // That word makes the Python client report a lease conflict.
        }
        assert_eq!(agent.everything(intent).await, before);
        assert_eq!(agent.get(&format!("api/v1/intents/{intent}")).await.headers["etag"], "\"4\"");
    }
}

on_each_store! {
    /// JSON that two readers could understand differently is refused, because a hash must stand for one meaning.
    async fn ambiguous_json_is_malformed_and_changes_nothing(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let path = format!("api/v1/intents/{intent}/suspend");
        let before = agent.everything(intent).await;
        let with = |context: &str| format!(r#"{{"question":"Go?","response_type":"confirm","context":{context}}}"#);
        let deep = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        for body in [
            r#"{"question":"a","question":"b","response_type":"confirm"}"#.to_owned(),
            with(r#"{"k":1,"k":1}"#), with(r#"{"k":1,"\u006b":1}"#), with(&deep(32)), with(r#"{"n":9007199254740992}"#),
            with(r#"{"n":-9007199254740992}"#), with(r#"{"n":1e999}"#), with(r#"{"n":NaN}"#), with(r#"{"s":"\ud800"}"#),
            with(r#"{"s":"\udc00\ud800"}"#), with("{}") + "{}", with("{}") + "x", with("{'a':1}"), with("{\"a\":1,}"),
            with("{\"a\":01}"), with("{\"s\":\"\n\"}"), "\u{feff}{}".to_owned(), " ".to_owned(), "nul".to_owned(),
        ] {
            let refused = agent.post_bytes(&path, body.clone()).await;
            assert_eq!(refused.problem(), (422, "malformed_json"), "{body}");
        }
        let broken_utf8 = agent.post_bytes(&path, b"{\"question\":\"\xff\"}".to_vec()).await;
        assert_eq!(broken_utf8.problem(), (422, "malformed_json"));
        assert_eq!(agent.everything(intent).await, before);
        // A body exactly at each bound is read.
        agent.post_bytes(&path, with(&deep(31)).replace(":1}", ":9007199254740991}")).await.ok();
    }

    /// The documented limit must be the exact limit.
    async fn a_body_of_256_kib_is_read_and_one_byte_more_is_not(app: &mut TestApp) {
        let agent = app.agent();
        let padded = |size: usize| {
            let head = r#"{"title":"t","status":"active","padding":""#;
            format!("{head}{}\"}}", "x".repeat(size - head.len() - 2))
        };
        agent.post_bytes("api/v1/intents", padded(262_144)).await.ok();
        assert_eq!(agent.post_bytes("api/v1/intents", padded(262_145)).await.problem(), (413, "body_too_large"));
        assert_eq!(agent.get("api/v1/intents").await.ok()["intents"].as_array().unwrap().len(), 1);
    }

    /// A text that consists only of invisible characters counts as empty. It is refused as a question, a value or a label,
    /// because a person could not see it.
    async fn a_text_that_shows_nothing_is_blank(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for nothing in [" ", "\u{a0}", "\u{200b}", "\u{3164}", "\u{2800}", "\u{ad}\u{202e}"] {
            let choice = |value: &str, label: &str| json!({"choices": [{"value": value, "label": label}, {"value": "b", "label": "B"}]});
            for (change, field) in [
                (json!({"question": nothing}), "question"),
                (choice(nothing, "A"), "choices[0].value"),
                (choice("a", nothing), "choices[0].label"),
            ] {
                let refused = agent.suspend(intent, change).await;
                assert_eq!(refused.field_problem(), (422, "invalid", field, "required"), "{nothing:?}");
            }
        }
    }

    /// An error about a wrong type names the field at any depth. A list is a wrong type where an object is expected, too.
    async fn a_field_of_the_wrong_type_is_named(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let before = agent.everything(intent).await;
        for (change, field) in [
            (json!({"question": null}), "question"), (json!({"question": 5}), "question"), (json!({"choices": {}}), "choices"),
            (json!({"choices": [1]}), "choices[0]"), (json!({"choices": [["a", "A"]]}), "choices[0]"),
            (json!({"choices": [{"value": 1, "label": "A"}]}), "choices[0].value"),
            (json!({"response_type": "essay"}), "response_type"), (json!({"context": "text"}), "context"),
            (json!({"context": []}), "context"), (json!({"timeout_seconds": -1}), "timeout_seconds"),
            (json!({"timeout_seconds": 1.5}), "timeout_seconds"), (json!({"timeout_seconds": 4_294_967_296_i64}), "timeout_seconds"),
            (json!({"timeout_seconds": "60"}), "timeout_seconds"), (json!({"fallback_policy": "guess"}), "fallback_policy"),
            (json!({"confidence": "high"}), "confidence"), (json!({"notify_to": "alice@example.com"}), "notify_to"),
            (json!({"notify_to": [null]}), "notify_to[0]"), (json!({"retry_policy": 3}), "retry_policy"),
            (json!({"retry_policy": [2, 60]}), "retry_policy"), (json!({"supersedes": 1}), "supersedes"),
            (json!({"retry_policy": {"max_attempts": "2"}}), "retry_policy.max_attempts"),
            (json!({"retry_policy": {"escalation_ladder": [{"attempt": -1}]}}), "retry_policy.escalation_ladder[0].attempt"),
        ] {
            let refused = agent.suspend(intent, change.clone()).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, "type"), "{change}");
        }
        let id = agent.asked(intent).await;
        for (method, path) in writes(&intent.to_string(), &id) {
            for body in ["[]", "[\"x\"]", "null", "\"x\"", "1", "true"] {
                let api = if path.ends_with("keys") { app.api(Role::Admin) } else if path.ends_with("respond") { app.operator() } else { agent.clone() };
                let request = api.request(method, &path).header("if-match", "2").header("content-type", "application/json");
                let request = if path.ends_with("cancel") { api.request(method, &path).header("if-match", "1") } else { request };
                let refused = api.send(request.body(body)).await;
                assert_eq!(refused.field_problem(), (422, "invalid", "body", "type"), "{path} {body}: {}", refused.text);
            }
        }
        // Only the question that this test asked is new.
        assert_eq!(agent.events(intent).await.len(), before.1.len() + 2);
    }

    /// Placet's own routes refuse an unknown field, since a typo in an optional field would silently change the question.
    /// OpenIntent's routes ignore an unknown field, since OpenIntent's clients send fields of their own.
    async fn unknown_fields_are_refused_on_our_surface_and_ignored_on_openintents(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        let created = agent.post("api/v1/intents", json!({"title": "t", "status": "active", "colour": "red"})).await.ok();
        let intent: IntentId = created["id"].as_str().unwrap().parse().unwrap();
        let before = agent.everything(intent).await;
        for (change, field) in [
            (json!({"timeout": 60}), "timeout"),
            (json!({"choices": [{"value": "a", "label": "A", "lable": "B"}]}), "choices[0].lable"),
            (json!({"retry_policy": {"attempts": 3}}), "retry_policy.attempts"),
        ] {
            assert_eq!(agent.suspend(intent, change).await.field_problem(), (422, "invalid", field, "unknown"));
        }
        let key = admin.post("api/v1/keys", json!({"role": "agent", "name": "n", "secret": "s"})).await;
        assert_eq!(key.field_problem(), (422, "invalid", "secret", "unknown"));
        assert_eq!(agent.get("api/v1/suspensions?colour=red").await.field_problem(), (422, "invalid", "colour", "unknown"));
        assert_eq!(agent.get("api/v1/intents?colour=red").await.status, 200);
        assert_eq!(agent.everything(intent).await, before);
        let path = format!("api/v1/intents/{intent}");
        agent.post_at(&format!("{path}/state"), "1", json!({"state": {"a": 1}, "colour": "red"})).await.ok();
        agent.post(&format!("{path}/events"), json!({"event_type": "comment", "colour": "red"})).await.ok();
        agent.post(&format!("{path}/leases"), json!({"scope": "s", "colour": "red"})).await.ok();
    }

    /// A broken rule of a question is reported by field and rule. A question must not be accepted in part, since that would be a
    /// different question.
    async fn a_question_that_breaks_a_rule_is_named_by_field_and_rule(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let before = agent.everything(intent).await;
        let choices = |count: usize| (0..count).map(|n| json!({"value": n.to_string(), "label": "x"})).collect::<Vec<Value>>();
        let fallback = |value: Value| json!({"fallback_policy": "complete_with_fallback", "fallback_value": value});
        for (change, field, rule) in [
            (json!({"question": " "}), "question", "required"), (json!({"question": "x".repeat(4097)}), "question", "length"),
            (json!({"question": "a\u{0}"}), "question", "nul"), (json!({"choices": []}), "choices", "required"),
            (json!({"choices": null}), "choices", "required"), (json!({"choices": choices(51)}), "choices", "length"),
            (json!({"choices": choices(900)}), "choices", "length"), (json!({"timeout_seconds": 0}), "timeout_seconds", "range"),
            (json!({"timeout_seconds": 31_622_401}), "timeout_seconds", "range"), (fallback(json!("maybe")), "fallback_value", "answer"),
            (fallback(json!(null)), "fallback_value", "required"), (json!({"confidence": 1.01}), "confidence", "range"),
            (json!({"notify_to": ["alice@example.com\r\nBcc: eve@example.com"]}), "notify_to[0]", "email"),
            (json!({"notify_to": ["alice\r@example.com"]}), "notify_to[0]", "email"),
            (json!({"notify_to": ["alice@example.com", "eve@elsewhere.example"]}), "notify_to[1]", "allowed"),
            (json!({"context": {"k": "x".repeat(65_529)}}), "context", "length"),
            (json!({"retry_policy": {"max_attempts": 21, "interval_seconds": 1}}), "retry_policy.max_attempts", "range"),
            (json!({"retry_policy": {"interval_seconds": 3601}}), "retry_policy.interval_seconds", "range"),
        ] {
            let refused = agent.suspend(intent, change.clone()).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, rule), "{change}");
            assert_eq!(refused.headers["content-type"], "application/problem+json");
        }
        // Far more choices are refused by the limits of a body, before any field is checked.
        let many = agent.suspend(intent, json!({"choices": choices(10_000)})).await;
        assert!([(413, "body_too_large"), (422, "malformed_json")].contains(&many.problem()), "{}", many.text);
        assert_eq!(agent.post_bytes(&format!("api/v1/intents/{intent}/suspend"), "").await.field_problem().2, "question");
        assert_eq!(agent.everything(intent).await, before);
        // A question exactly at the bounds is accepted.
        agent.suspend(intent, json!({"choices": choices(50), "timeout_seconds": 31_622_400, "question": "x".repeat(4096)})).await.ok();
    }

    /// Strange characters are data: they are stored, hashed and returned, and never interpreted.
    async fn strange_characters_are_kept_as_data(app: &mut TestApp) {
        let agent = app.agent();
        let text = "a\u{0}b\u{202e}\u{2066}c\u{feff}\u{1f469}\u{200d}\u{1f4bb}\u{301}' OR 1=1;--<b>\\\"";
        let body = json!({"title": text, "description": text, "status": "active", "state": {text: text}});
        let intent: IntentId = agent.post("api/v1/intents", body).await.ok()["id"].as_str().unwrap().parse().unwrap();
        app.restart().await;
        let shown = agent.intent(intent).await;
        assert_eq!((&shown["title"], &shown["state"]), (&json!(text), &json!({text: text})));
        assert_eq!(agent.events(intent).await[0]["payload"]["title"], json!(text));
        let question = text.replace('\u{0}', "");
        let record = agent.suspend(intent, json!({"question": question, "context": {"k": text}})).await.ok();
        assert_eq!((&record["question"], &record["context"]["k"]), (&json!(question), &json!(text)));
    }

    /// A caller with a key gets 404 for an unknown route and 405 for an unknown method, in the form of errors that belongs to
    /// the path: Placet's own or OpenIntent's.
    async fn unknown_routes_and_methods_are_told_apart(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for path in ["api/v1/nothing", "api/v1", "api/v1/", "api/v1/intents/x/y/z", "api/v1/suspensions/a/b/c", "nothing", "api/v2/suspensions"] {
            let refused = agent.get(path).await;
            assert_eq!(refused.problem(), (404, "not_found"), "{path}");
            assert_form(&refused, path);
        }
        let id = "x";
        for (method, path) in [
            ("PUT", "api/v1/intents".to_owned()), ("DELETE", format!("api/v1/intents/{intent}")),
            ("GET", format!("api/v1/intents/{intent}/state")), ("GET", format!("api/v1/intents/{intent}/suspend")),
            ("GET", format!("api/v1/intents/{intent}/suspend/respond")), ("POST", format!("api/v1/suspensions/{id}")),
            ("GET", format!("api/v1/suspensions/{id}/cancel")), ("PUT", "api/v1/keys".to_owned()),
        ] {
            let refused = bytes(&agent, method, &path, "{").await;
            assert_eq!(refused.problem(), (405, "method_not_allowed"), "{method} {path}");
            assert_form(&refused, &path);
        }
    }

    /// The RFC writes its routes without a prefix. They are served as the same routes.
    async fn the_rfcs_own_paths_are_served_too(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.post("intents", json!({"title": "t", "status": "active"})).await.ok();
        let intent = intent["id"].as_str().unwrap();
        let asked = agent.post(&format!("intents/{intent}/suspend"), json!({"question": "Go?", "response_type": "confirm"})).await.ok();
        let answer = json!({"suspension_id": asked["id"], "value": "yes"});
        operator.post(&format!("intents/{intent}/suspend/respond"), answer).await.ok();
        assert_eq!(agent.get(&format!("intents/{intent}")).await.ok()["status"], json!("active"));
        assert_eq!(agent.get("intents/x/y/z").await.problem(), (404, "not_found"));
        let config = app.anonymous().get("v1/server/config").await.ok();
        assert_eq!(config, app.anonymous().get("api/v1/server/config").await.ok());
    }
}
