//! Texts of callers in stops: with characters that databases, terminals and pages trip over, and longer than any name is.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::field::{FIELD_CHARS_MAX, MESSAGE_CHARS_MAX};
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};
use verify::report::Verdict;
use verify::{Options, Watchers};

use super::pausing::{id_of, pause, resume, set_status, settle};

/// NUL, other controls, an override of the direction, a separator of lines, a noncharacter and quotation marks.
const HOSTILE: &str = "a\u{0}b\u{1}\u{8}\u{b}\u{1b}[2J\u{7f}\u{85}\u{9f}\u{202e}\u{2028}\u{fffe}'\"\\";
/// The most bytes of a refusal, whatever its request repeats. A control character takes six bytes in JSON.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

async fn act(api: &Api, intent: IntentId, verb: &str, body: Value) -> Reply {
    api.post(&format!("api/v1/intents/{intent}/{verb}"), body).await
}

async fn rpc(api: &Api, method: &str, params: Value) -> Reply {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = api.request("POST", "a2a").header("a2a-version", "1.0").header("a2a-extensions", "urn:placet:a2a:pause:v1");
    api.send(request.json(&call)).await
}

/// An object with the hostile text as a name and as a value, at two depths.
fn object() -> Value {
    json!({HOSTILE: HOSTILE, "deep": [{HOSTILE: [HOSTILE]}]})
}

/// A refusal of this field: 422, with its name.
fn is_about(reply: &Reply, field: &str, what: &Value) {
    assert_eq!((reply.problem(), reply.field_problem().2), ((422, "invalid"), field), "{what}");
}

async fn is_verified(app: &TestApp) {
    let text = app.api(Role::Auditor).get("api/v1/export").await.text;
    let key = app.checkpoints().key().unwrap().verifying().clone();
    let report = verify::verify("export", text.as_bytes(), &Options::with_keys(vec![key]), Watchers::default());
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
}

on_each_store! {
    /// Words for the agent and for people are kept as they came, whatever characters they hold: a log that changed them would not be one.
    async fn the_words_of_a_stop_are_kept_as_they_came(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let intent = agent.active_intent().await;
        let mut kept = Vec::new();
        for (way, input) in [("pause", json!(HOSTILE)), ("pause", object()), ("park", object())] {
            let by = if way == "park" { &agent } else { &operator };
            let record = act(by, intent, way, json!({"reason": HOSTILE})).await.ok();
            assert_eq!(record["reason"], HOSTILE);
            let gone = resume(&operator, &id_of(&record), json!({"input": input})).await.ok();
            assert_eq!((&gone["input"], &gone["reason"]), (&input, &json!(HOSTILE)));
            kept.push(gone);
        }

        let trigger = json!({"kind": HOSTILE, "provider": "placet", "match": {"events": ["go"]}});
        let timeout = json!({"duration_minutes": 1, "on_timeout": "resume_with_input", "input": object()});
        let conditions = json!({"trigger": trigger, "timeout": timeout});
        for (woken, by_time) in [(true, false), (false, true)] {
            let record = act(&agent, intent, "park", json!({"reason": HOSTILE, "conditions": conditions})).await.ok();
            assert_eq!(record["conditions"]["trigger"]["kind"], HOSTILE);
            if woken {
                let event = json!({"name": "go", "payload": object()});
                for _ in 0..2 {
                    assert_eq!(operator.post_once("api/v1/events", "one", event.clone()).await.ok(), json!({"woken": 1}));
                }
            }
            if by_time {
                app.advance(60).await;
            }
            let gone = agent.suspension(&id_of(&record)).await;
            assert_eq!((&gone["input"], &gone["resolution"]), (&object(), &json!("resumed")));
            kept.push(gone);
        }

        let ids = json!({"ids": [intent], "reason": HOSTILE});
        let paused = admin.post("api/v1/suspensions:broadcast", ids).await.ok();
        let id = paused["results"][0]["suspension_id"].as_str().unwrap().to_owned();
        assert_eq!(agent.intent(intent).await["state"]["_pause"]["reason"], HOSTILE);
        let stopped = act(&operator, intent, "stop", json!({"reason": HOSTILE})).await.ok();
        let gone = settle(&agent, &id_of(&stopped), json!({"handoff": object()})).await.ok();
        assert_eq!((&gone["handoff"], &gone["reason"]), (&object(), &json!(HOSTILE)));
        kept.extend([gone, agent.suspension(&id).await]);
        let last = agent.events(intent).await.pop().unwrap();
        assert_eq!(last["payload"]["abandonment_reason"], HOSTILE);

        app.restart().await;
        for record in kept {
            assert_eq!(app.agent().suspension(&id_of(&record)).await, record);
        }
        is_verified(app).await;
    }

    /// By A2A the same words are kept, and the task can be read with them.
    async fn the_words_of_a_stop_by_a2a_are_kept_as_they_came(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let paused = rpc(&operator, "tasks/pause", json!({"taskId": intent, "reason": HOSTILE})).await.ok();
        assert_eq!(paused["result"]["reason"], HOSTILE, "{paused}");
        let task = rpc(&agent, "GetTask", json!({"id": intent})).await.ok();
        assert!(task["result"]["id"] == json!(intent), "{task}");
        let resumed = rpc(&operator, "tasks/resume", json!({"taskId": intent, "input": object()})).await.ok();
        assert_eq!(resumed["result"]["state"], "working", "{resumed}");
        let parked = rpc(&agent, "tasks/await_resumption", json!({"taskId": intent, "reason": HOSTILE})).await.ok();
        assert!(parked["error"].is_null(), "{parked}");
        for params in [json!({"taskId": intent, "handle": HOSTILE}), json!({"taskId": HOSTILE}), json!({"taskId": intent, HOSTILE: 1})] {
            let refused = rpc(&operator, "tasks/resume", params.clone()).await;
            let code = refused.body["error"]["code"].as_i64().unwrap_or_default();
            assert!(refused.status == 200 && code != -32603 && code != 0, "{params}: {}", refused.text);
        }
        set_status(&agent, intent, "abandoned").await.ok();
        is_verified(app).await;
    }

    /// A member that is a name or one of some words is refused by its field, never by the database.
    async fn names_with_characters_that_show_nothing_are_refused_by_their_field(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let intent = agent.active_intent().await;
        let before = agent.everything(intent).await;
        for (conditions, field) in [
            (json!({"on_event": HOSTILE}), "conditions.on_event".to_owned()),
            (json!({HOSTILE: 1}), format!("conditions.{HOSTILE}")),
            (json!({"trigger": {"kind": "k", "provider": HOSTILE, "match": {"events": ["x"]}}}), "conditions.trigger.provider".to_owned()),
            (json!({"trigger": {"kind": "k", "provider": "placet", "match": {"events": [HOSTILE]}}}), "conditions.trigger.match.events[0]".to_owned()),
            (json!({"timeout": {"duration_minutes": 1, "on_timeout": HOSTILE}}), "conditions.timeout.on_timeout".to_owned()),
        ] {
            let body = json!({"reason": "r", "conditions": conditions});
            is_about(&act(&agent, intent, "park", body.clone()).await, &field, &body);
        }
        for (api, verb, body, field) in [
            (&operator, "pause", json!({"mode": HOSTILE}), "mode"),
            (&operator, "pause", json!({HOSTILE: 1}), HOSTILE),
            (&agent, "park", json!({"reason": "r", "resume_owner": HOSTILE}), "resume_owner"),
            (&operator, "stop", json!({"graceful": HOSTILE}), "graceful"),
        ] {
            is_about(&act(api, intent, verb, body.clone()).await, field, &body);
        }
        for (body, field) in [
            (json!({"ids": [HOSTILE]}), "ids[0]"), (json!({"filter": {"created_by": HOSTILE}}), "filter.created_by"),
            (json!({"filter": {"after": HOSTILE}}), "filter.after"), (json!({"ids": [], "mode": HOSTILE}), "mode"),
        ] {
            is_about(&admin.post("api/v1/suspensions:broadcast", body.clone()).await, field, &body);
        }
        let event = json!({"name": HOSTILE});
        is_about(&operator.post("api/v1/events", event.clone()).await, "name", &event);
        assert_eq!(agent.everything(intent).await, before);
        let id = id_of(&pause(&operator, intent, json!({})).await.ok());
        is_about(&settle(&agent, &id, json!({"stage": HOSTILE})).await, "stage", &json!("stage"));
        is_about(&resume(&operator, &id, json!({"handle": 1})).await, "handle", &json!("handle"));
        assert_eq!(resume(&operator, &id, json!({"handle": HOSTILE})).await.problem(), (409, "suspension_mismatch"));
        for path in ["api/v1/suspensions/%00/resume", "api/v1/suspensions/%00/settle", "api/v1/intents/%00/pause"] {
            assert_eq!(operator.post(path, json!({})).await.status, 404, "{path}");
        }
        assert!(operator.get("api/v1/lifecycle-receipts?subject=%00").await.status < 500);
    }

    /// A refusal says which name is wrong, and does not repeat all of it: otherwise a small request could fill the log of another program.
    async fn a_refusal_repeats_little_of_a_long_name(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let intent = agent.active_intent().await;
        let id = id_of(&pause(&operator, agent.active_intent().await, json!({})).await.ok());
        for long in ["x".repeat(100_000), "\u{1}".repeat(20_000), "é`\"".repeat(10_000)] {
            let many: serde_json::Map<String, Value> = (0..30).map(|number| (format!("{number}{}", &long[..600]), json!(1))).collect();
            let park = |conditions: Value| json!({"reason": "r", "conditions": conditions});
            let mut replies = vec![
                act(&agent, intent, "park", park(json!({&long: 1}))).await,
                act(&agent, intent, "park", park(json!(many))).await,
                act(&agent, intent, "park", park(json!({"timeout": {"duration_minutes": 1, "on_timeout": long}}))).await,
                act(&agent, intent, "park", park(json!({"timeout": {"duration_minutes": 1, &long: 1}}))).await,
                act(&agent, intent, "park", park(json!({"trigger": {"kind": "k", "provider": &long[..600], "match": {"events": ["x"]}}}))).await,
                act(&agent, intent, "park", json!({"reason": "r", &long: 1})).await,
                act(&operator, intent, "pause", json!({"mode": long})).await,
                act(&operator, intent, "pause", json!({&long: 1})).await,
                act(&operator, intent, "stop", json!({"graceful": long})).await,
                admin.post("api/v1/suspensions:broadcast", json!({"ids": [long]})).await,
                admin.post("api/v1/suspensions:broadcast", json!({"filter": {&long: 1}})).await,
                admin.post("api/v1/suspensions:broadcast", json!({"filter": {"after": long}})).await,
                operator.post("api/v1/events", json!({"name": long})).await,
                operator.post("api/v1/events", json!({"name": "go", &long: 1})).await,
                settle(&agent, &id, json!({"stage": long})).await,
                resume(&operator, &id, json!({"continue_transcript": long})).await,
            ];
            for reply in &replies {
                assert_eq!(reply.problem(), (422, "invalid"), "{}", &reply.text[..reply.text.len().min(300)]);
                for error in reply.body["errors"].as_array().unwrap() {
                    let chars = |member: &str| error[member].as_str().unwrap().chars().count();
                    assert!(chars("field") <= FIELD_CHARS_MAX && chars("message") <= MESSAGE_CHARS_MAX);
                }
            }
            replies.extend([
                rpc(&operator, "tasks/pause", json!({"taskId": intent, "mode": long})).await,
                rpc(&operator, "tasks/pause", json!({"taskId": intent, &long: 1})).await,
                rpc(&operator, "PauseTask", json!({"taskId": long})).await,
                rpc(&agent, "tasks/await_resumption", json!({"taskId": intent, "reason": "r", "conditions": {&long: 1}})).await,
                rpc(&agent, "tasks/await_resumption", json!({"taskId": intent, "reason": "r", "conditions": many})).await,
                rpc(&operator, &long, json!({})).await,
            ]);
            for reply in replies {
                assert!(reply.text.len() <= REFUSAL_BYTES_MAX, "{} bytes: {}", reply.text.len(), &reply.text.chars().take(300).collect::<String>());
            }
        }
        assert_eq!(agent.status(intent).await, "active");
    }
}
