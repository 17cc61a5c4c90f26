//! The event log: what it shows, which events clients may append, and how a stranger verifies it.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::io::Write;
use std::process::{Command, Stdio};

use domain::base::ids::IntentId;
use domain::intent::vocabulary::in_openintent_vocabulary;
use domain::log::{Sealed, verify_chain};
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

async fn append(api: &Api, intent: IntentId, body: Value) -> Reply {
    api.post(&format!("api/v1/intents/{intent}/events"), body).await
}

/// Runs the recipe of docs/http.md on these events. Returns whether they passed, and the recipe's output.
fn check(kept: &str, events: &str) -> (bool, String) {
    let document = include_str!("../../../docs/http.md");
    let recipe = document.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("check.py"), recipe).unwrap();
    // These events hold no fraction and no name beyond ASCII, so this simple form equals their canonical form.
    let canonical = "import json\ndef dumps(value):\n    return json.dumps(value, sort_keys=True, separators=(',', ':'), ensure_ascii=False).encode()\n";
    std::fs::write(folder.path().join("rfc8785.py"), canonical).unwrap();
    let mut python = Command::new("python3");
    python
        .args(["check.py", kept])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut python = python.spawn().unwrap();
    python.stdin.take().unwrap().write_all(events.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// The event types on one page, in the order served.
async fn page(api: &Api, intent: IntentId, query: &str) -> Vec<String> {
    let events = api.get(&format!("api/v1/intents/{intent}/events{query}")).await.ok();
    let name = |event: &Value| event["event_type"].as_str().unwrap().to_owned();
    events.as_array().unwrap().iter().map(name).collect()
}

/// The credential that the newest event of this type names.
async fn credential(api: &Api, intent: IntentId, event_type: &str) -> Value {
    let events = api.events(intent).await;
    let event = events.into_iter().rev().find(|event| event["event_type"] == event_type);
    event.unwrap_or_else(|| panic!("no {event_type}"))["payload"]["credential"].clone()
}

on_each_store! {
    /// Two keys can have the same name. The log must say which of the two was used.
    async fn what_somebody_did_names_the_credential(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        let mut twins = Vec::new();
        for _ in 0..2 {
            let made = admin.post("api/v1/keys", json!({"role": "operator", "name": "desk"})).await.ok();
            twins.push((Api::new(&app.base, made["key"].as_str()), json!({"kind": "api_key", "id": made["id"]})));
        }
        let (first, second) = (&twins[0], &twins[1]);
        let (intent, id) = agent.ask(json!({})).await;
        let question = format!("api/v1/suspensions/{id}");
        first.0.post(&format!("{question}/extend"), json!({"seconds": 60})).await.ok();
        second.0.post(&format!("{question}/remind"), json!({})).await.ok();
        first.0.respond(intent, &id, "approve").await.ok();
        assert_eq!(second.0.respond(intent, &id, "deny").await.status, 409);
        for (event_type, by) in [
            ("intent.suspension_extended", first), ("intent.suspension_reminded", second), ("intent.resumed", first),
            ("intent.response_rejected", second),
        ] {
            assert_eq!(credential(&agent, intent, event_type).await, by.1, "{event_type}");
        }
        let (intent, id) = agent.ask(json!({"timeout_seconds": 60})).await;
        app.advance(60).await;
        assert_ne!(agent.suspension(&id).await["resolution"], Value::Null);
        first.0.respond(intent, &id, "approve").await;
        let late = agent.event_types(intent).await.iter().any(|event_type| event_type == "intent.late_answer");
        let refused = if late { "intent.late_answer" } else { "intent.response_rejected" };
        assert_eq!(credential(&agent, intent, refused).await, first.1);
        let (intent, id) = agent.ask(json!({})).await;
        agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        assert_eq!(credential(&agent, intent, "intent.suspension_cancelled").await["kind"], "api_key");
    }

    /// A link is a credential too. The event names the message that held the link, and no event holds the link's token.
    async fn an_answer_by_a_link_names_its_message(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = agent.ask(json!({})).await;
        app.settle().await;
        let mail = app.smtp.received().pop().unwrap();
        app.restart().await;
        let link = mail.link(&app.base);
        assert_eq!(app.person().answer(&link, "approve").await.heading(), "Your answer was recorded");
        let sent = agent.get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
        let expected = json!({"kind": "email_link", "id": sent["deliveries"][0]["id"]});
        assert_eq!(credential(&agent, intent, "intent.resumed").await, expected);
        let token = link.rsplit('/').next().unwrap();
        assert!(!agent.get(&format!("api/v1/intents/{intent}/events?include=all")).await.text.contains(token));
    }

    /// The check that docs/http.md describes must find an event that was forged, changed or removed.
    async fn the_documented_recipe_finds_what_was_changed(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = agent.ask(json!({})).await;
        app.operator().respond(intent, &id, "deny").await.ok();
        let served = agent.get(&format!("api/v1/intents/{intent}/events?include=all&limit=1000")).await;
        let kept = served.body[0]["event_hash"].as_str().unwrap().to_owned();
        let said = check(&kept, &served.text);
        assert!(said.0 && said.1.contains("events, unchanged since"), "{said:?}");
        let forged = served.text.replace("\"value\":\"deny\"", "\"value\":\"approve\",\"value\":\"deny\"");
        let changed = served.text.replace("\"value\":\"deny\"", "\"value\":\"approve\"");
        let lost = json!(served.body.as_array().unwrap()[..2]).to_string();
        for (text, why) in [(forged, "a member twice"), (changed, "was changed"), (lost, "something is missing")] {
            assert_ne!(text, served.text);
            let said = check(&kept, &text);
            assert!(!said.0 && said.1.contains(why), "{why}: {said:?}");
        }
        let said = check("sha256:other", &served.text);
        assert!(!said.0 && said.1.contains("is not the one"), "{said:?}");
    }

    /// The OpenIntent client raises on event types it does not know, so only its types are shown by default. `include=all` shows
    /// all.
    async fn the_clients_vocabulary_is_shown_unless_everything_is_asked_for(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.settle().await;
        append(&agent, intent, json!({"event_type": "x.mine"})).await.ok();
        append(&agent, intent, json!({"event_type": "tool_call_dreamt"})).await.ok();
        append(&agent, intent, json!({"event_type": "tool_call_started"})).await.ok();
        operator.respond(intent, &id, "deny").await.ok();
        operator.respond(intent, &id, "deny").await;
        let second = agent.asked(intent).await;
        agent.post(&format!("api/v1/suspensions/{second}/cancel"), json!({})).await.ok();
        app.settle().await;
        assert_eq!(page(&agent, intent, "?include=all").await, [
            "status_changed", "intent.suspension_cancelled", "status_changed", "intent.suspended", "intent.response_rejected",
            "status_changed", "intent.resumed", "tool_call_started", "tool_call_dreamt", "x.mine", "delivery.sent",
            "status_changed", "intent.suspended", "intent_created",
        ]);
        let shown = page(&agent, intent, "").await;
        assert_eq!(shown, [
            "status_changed", "status_changed", "intent.suspended", "status_changed", "intent.resumed", "tool_call_started",
            "status_changed", "intent.suspended", "intent_created",
        ]);
        assert!(shown.iter().all(|name| in_openintent_vocabulary(name)));
        for event in agent.events(intent).await {
            let name = event["event_type"].as_str().unwrap();
            let about_one = name.starts_with("intent.") || name.starts_with("delivery.");
            assert_eq!(event["payload"]["suspension_id"].is_string(), about_one, "{name}");
        }
    }

    /// Events are filtered before pages are cut, newest first. A page of n therefore has n events while there are enough.
    async fn pages_are_filtered_first_and_newest_first(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for second in 0..6 {
            let kind = if second % 2 == 0 { "comment" } else { "x.other" };
            append(&agent, intent, json!({"event_type": kind, "payload": {"n": second}})).await.ok();
            app.advance(1).await;
        }
        let numbers = async |query: &str| -> Vec<i64> {
            let events = agent.get(&format!("api/v1/intents/{intent}/events{query}")).await.ok();
            events.as_array().unwrap().iter().filter_map(|event| event["payload"]["n"].as_i64()).collect()
        };
        assert_eq!(numbers("").await, [4, 2, 0]);
        assert_eq!(numbers("?include=all").await, [5, 4, 3, 2, 1, 0]);
        assert_eq!(numbers("?limit=2").await, [4, 2]);
        assert_eq!(numbers("?limit=2&offset=1").await, [2, 0]);
        assert_eq!(numbers("?limit=2&offset=2&include=all").await, [3, 2]);
        assert_eq!(numbers("?offset=100000").await, [0_i64; 0]);
        assert_eq!(numbers("?event_type=comment&limit=1&offset=1").await, [2]);
        assert_eq!(numbers("?event_type=x.other").await, [0_i64; 0]); // Outside the vocabulary, `include=all` is needed as well.
        assert_eq!(numbers("?event_type=x.other&include=all").await, [5, 3, 1]);
        for since in ["2026-11-24T08:00:03.000000", "2026-11-24T08:00:03Z", "2026-11-24T09:00:03%2B01:00"] {
            assert_eq!(numbers(&format!("?include=all&since={since}")).await, [5, 4, 3], "{since}");
        }
        assert_eq!(numbers("?include=all&since=2026-11-24T08:00:03.000001Z").await, [5, 4]);
        assert_eq!(page(&agent, intent, "?limit=1000&include=all").await.last().unwrap(), "intent_created");
        for (query, field) in [
            ("?limit=0", "limit"), ("?limit=1001", "limit"), ("?limit=ten", "limit"), ("?offset=-1", "offset"), ("?offset=100001", "offset"),
            ("?since=yesterday", "since"), ("?include=some", "include"), ("?limit=1&limit=1", "limit"),
        ] {
            let refused = agent.get(&format!("api/v1/intents/{intent}/events{query}")).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{query}");
        }
    }

    /// A page holds 100 events by default, so that an old client is not handed a whole history.
    async fn a_page_holds_a_hundred_events_by_default(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for _ in 0..100 {
            append(&agent, intent, json!({"event_type": "comment"})).await.ok();
        }
        assert_eq!(page(&agent, intent, "").await.len(), 100);
        assert_eq!(page(&agent, intent, "?limit=1000").await.len(), 101);
        assert_eq!(page(&agent, intent, "?offset=100").await, ["intent_created"]);
    }

    /// The actor of an event is the key that wrote it. The actor that the body names is kept as a claim and hashed with the rest.
    async fn an_appended_event_says_who_wrote_it_and_whom_they_claimed(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let payload = json!({"text": "a\u{0}\u{202e}", "n": 0.1, "deep": [{"é": null}]});
        let event = append(&operator, intent, json!({
            "event_type": "comment", "actor": "ceo", "payload": payload, "trace_id": "t-1", "parent_event_id": "e-1",
        })).await.ok();
        assert_eq!((&event["actor"], &event["claimed_actor"]), (&json!("test-operator"), &json!("ceo")));
        assert_eq!((&event["trace_id"], &event["parent_event_id"]), (&json!("t-1"), &json!("e-1")));
        assert_eq!((&event["payload"], &event["sequence"]), (&payload, &json!(2)));
        assert_eq!(event["created_at"], json!("2026-11-24T08:00:00.000000"));
        assert_eq!(agent.events(intent).await[1], event); // The event is served the same every time.
        let bare = append(&agent, intent, json!({"event_type": "comment", "payload": null})).await.ok();
        assert_eq!(bare["payload"], json!({}));
        for absent in ["claimed_actor", "trace_id", "parent_event_id"] {
            assert_eq!(bare.get(absent), None);
        }
        assert_eq!(agent.intent(intent).await["version"], json!(1)); // An appended event does not change the intent.
    }

    /// A type without a meaning for this server is kept below `x.`, where it can never be taken for an event of the server's,
    /// and where the client that raises on unknown types does not see it.
    async fn a_type_that_means_nothing_here_is_stored_below_x(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for unknown in ["note", "tool_invocation", "Comment", "comment ", "x.", "x", "tool_call_", "engagement.decisions"] {
            let kept = append(&agent, intent, json!({"event_type": unknown, "payload": {"trace_id": "t"}})).await.ok();
            assert_eq!(kept["event_type"], json!(format!("x.{unknown}")));
        }
        let shown = agent.get(&format!("api/v1/intents/{intent}/events")).await.ok();
        assert_eq!(shown.as_array().unwrap().len(), 1, "{shown}");
        assert_eq!(agent.event_types(intent).await.len(), 9);
    }

    /// A client that could write the server's events could forge an approval in the log.
    async fn the_servers_event_types_are_reserved(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        let before = agent.everything(intent).await;
        for reserved in [
            "intent.resumed", "intent.suspended", "intent.suspension_expired", "intent.late_answer", "intent_created", "state_patched",
            "status_changed", "lease_acquired", "delivery.sent", "delivery.made_up", "governance.approval_granted", "lease_renewed",
            "decision_recorded", "cost_recorded", "attachment_removed", "retry_policy_set", "task.created", "intent.made_up",
        ] {
            let refused = append(&agent, intent, json!({"event_type": reserved, "payload": {"suspension_id": id, "value": "approve"}})).await;
            assert_eq!(refused.problem(), (403, "reserved_event_type"), "{reserved}");
        }
        let long = "x".repeat(201);
        for (body, field) in [
            (json!({}), "event_type"), (json!({"event_type": ""}), "event_type"), (json!({"event_type": format!("x.{long}")}), "event_type"),
            (json!({"event_type": "comment", "actor": long}), "actor"), (json!({"event_type": "comment", "trace_id": ""}), "trace_id"),
            (json!({"event_type": "comment", "parent_event_id": 5}), "parent_event_id"),
            (json!({"event_type": "comment", "payload": []}), "payload"),
        ] {
            let refused = append(&agent, intent, body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field));
        }
        assert_eq!(agent.everything(intent).await, before);
        for allowed in [
            "comment", "tool_call_started", "tool_call_completed", "llm_request_failed", "stream_chunk", "engagement.decision", "x.a",
        ] {
            append(&agent, intent, json!({"event_type": allowed})).await.ok();
        }
    }

    /// A key that may not read an intent gets the same 404 as for an unknown intent, even if the query is wrong as well.
    async fn the_log_of_an_unknown_intent_is_404(app: &mut TestApp) {
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other-agent").await));
        let foreign = app.agent().active_intent().await.to_string();
        for intent in [foreign.as_str(), "019ab0f2-0000-7000-8000-000000000000", "x"] {
            for query in ["", "?limit=0", "?include=all"] {
                let refused = other.get(&format!("api/v1/intents/{intent}/events{query}")).await;
                assert_eq!(refused.problem(), (404, "not_found"));
            }
        }
        for role in [Role::Operator, Role::Admin, Role::Auditor] {
            assert_eq!(page(&app.api(role), foreign.parse().unwrap(), "").await, ["intent_created"], "{role}");
        }
        // A gateway may read the intent, so it gets a 403 for the log: it learns that there is a log, but sees no event.
        let gateway = app.api(Role::Channel);
        gateway.intent(foreign.parse().unwrap()).await;
        assert_eq!(gateway.get(&format!("api/v1/intents/{foreign}/events")).await.problem(), (403, "forbidden"));
    }

    /// The log keeps its promise: anyone can find changed, removed or moved events from the served log alone.
    async fn the_served_log_verifies_and_any_change_to_it_is_found(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let strange = json!({"f": 31.245_270_191_439_438, "e": 1e-7, "big": 9_007_199_254_740_991_i64, "one": 1.0, "\u{1f600}": 1,
            "\u{e000}": 2, "zero": -0.0, "text": "\u{0}\u{7f}\u{2028}\"\\/é"});
        append(&agent, intent, json!({"event_type": "comment", "actor": "é", "payload": strange, "trace_id": "t"})).await.ok();
        let id = agent.suspend(intent, json!({"context": strange, "confidence": 0.1})).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        app.restart().await; // The hash chain continues after the restart.
        operator.respond(intent, &id, "approve").await.ok();
        let events = agent.events(intent).await;
        let verify = |events: &[Value]| {
            let sealed: Vec<Sealed> = events.iter().map(|event| Sealed::from_served(event).unwrap()).collect();
            verify_chain(&sealed)
        };
        assert_eq!(verify(&events), Ok(events.len() as u64));
        assert_eq!(events[0]["previous_event_hash"], json!(null));
        let salts: std::collections::BTreeSet<&str> = events.iter().map(|event| event["salt"].as_str().unwrap()).collect();
        assert_eq!(salts.len(), events.len());
        for index in 0..events.len() {
            for (field, value) in [("actor", json!("eve")), ("created_at", json!("2026-11-24T08:00:00.000001")), ("salt", json!("AA")), ("note", json!(1))] {
                let mut changed = events.clone();
                changed[index][field] = value;
                assert!(verify(&changed).is_err(), "{index} {field}");
            }
            let mut shorter = events.clone();
            shorter.remove(index);
            assert!(index == events.len() - 1 || verify(&shorter).is_err(), "{index}");
        }
    }
}
