//! Events that come with a signature in place of a key (Standard Webhooks).

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use channels::{SIGNED_WITHIN_SECONDS, SignedSender};
use domain::base::clock::Clock;
use domain::people::principal::Role;
use domain::suspension::stop::EVENT_PAYLOAD_BYTES_MAX;
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const PATH: &str = "api/v1/events";

/// The server with one sender, which has this secret.
async fn with_sender(app: &mut TestApp) {
    app.restart_with(|config| config.senders = vec![SignedSender::new("ci".to_owned(), &SECRET.into(), None).unwrap()]).await;
}

/// A signature by code of the tests themselves.
fn signature(secret: &str, id: &str, timestamp: i64, body: &[u8]) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    let mac = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// A message, signed with `secret` so many seconds from now.
async fn send_at(app: &TestApp, secret: &str, id: &str, seconds: i64, body: &Value) -> Reply {
    let (timestamp, bytes) = (app.clock.now().timestamp() + seconds, body.to_string().into_bytes());
    let signed = signature(secret, id, timestamp, &bytes);
    post(app, PATH, &[("webhook-id", id), ("webhook-timestamp", &timestamp.to_string()), ("webhook-signature", &signed)], bytes)
        .await
}

async fn send(app: &TestApp, id: &str, body: &Value) -> Reply {
    send_at(app, SECRET, id, 0, body).await
}

async fn post(app: &TestApp, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Reply {
    let api = app.anonymous();
    let request = api.request("POST", path).header("content-type", "application/json").body(body);
    api.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

/// Parks a new intent until this event comes from a webhook; returns the id of the suspension.
async fn parked(agent: &Api, event: &str) -> String {
    let intent = agent.active_intent().await;
    let trigger = json!({"kind": event, "provider": "webhook", "match": {"events": [event]}});
    let body = json!({"reason": "Waiting for the build.", "conditions": {"trigger": trigger}});
    agent.post(&format!("api/v1/intents/{intent}/park"), body).await.ok()["id"].as_str().unwrap().to_owned()
}

on_each_store! {
    /// A sender without a key wakes an agent, under its own name, and one message wakes once: a copy of it wakes no agent that parks later.
    async fn a_signed_event_wakes_once(app: &mut TestApp) {
        with_sender(app).await;
        let agent = app.agent();
        let first = parked(&agent, "build.done").await;
        let body = json!({"name": "build.done", "payload": {"build": 7}});
        assert_eq!(send(app, "msg-1", &body).await.ok(), json!({"woken": 1}));
        let record = agent.suspension(&first).await;
        assert_eq!((&record["cause"], &record["resolved_by"], &record["input"]), (&json!("condition_fired"), &json!("webhook:ci"), &json!({"build": 7})));
        // The sender finds its message in the log by the id that it gave.
        let intent = record["intent_id"].as_str().unwrap().parse().unwrap();
        let woken = agent.events(intent).await.into_iter().find(|event| event["event_type"] == "lifecycle.resumed").unwrap();
        assert_eq!(woken["payload"]["webhook_id"], "msg-1");
        let second = parked(&agent, "build.done").await;
        app.restart().await;
        for _ in 0..2 {
            assert_eq!(send(app, "msg-1", &body).await.ok(), json!({"woken": 1}), "the answer of the first one");
        }
        assert_eq!(agent.suspension(&second).await["resolution"], json!(null));
        let other = json!({"name": "build.done", "payload": {"build": 8}});
        let refused = send(app, "msg-1", &other).await;
        assert_eq!(refused.problem(), (422, "idempotency_mismatch"));
        assert_eq!(refused.body["detail"], "this webhook-id was used with another message");
        // The form of the specification, as a sender that knows nothing of this server writes it.
        let standard = json!({"type": "build.done", "timestamp": "2026-11-24T08:00:00Z", "data": {"build": 9}});
        assert_eq!(send(app, "msg-2", &standard).await.ok(), json!({"woken": 1}));
        assert_eq!(agent.suspension(&second).await["input"], json!({"build": 9}));
        assert_eq!(send(app, "msg-3", &json!({"type": "nothing.waits"})).await.ok(), json!({"woken": 0}));
    }

    /// Copies that arrive at the same time wake one agent once.
    async fn copies_at_once_wake_once(app: &mut TestApp) {
        with_sender(app).await;
        let agent = app.agent();
        let waiting = parked(&agent, "build.done").await;
        let body = json!({"name": "build.done"});
        for reply in join_all((0..8).map(|_| send(app, "msg-1", &body))).await {
            assert_eq!(reply.ok(), json!({"woken": 1}), "each copy tells what the message has woken");
        }
        assert_eq!(agent.suspension(&waiting).await["version"], 2);
    }

    /// A message that no sender has signed, or not just now, is refused without a word about the reason, and wakes no agent.
    async fn a_message_that_no_sender_has_signed_is_refused(app: &mut TestApp) {
        let body = json!({"name": "build.done"});
        assert_eq!(send(app, "msg-1", &body).await.problem(), (401, "unauthorized"), "no sender is configured");
        with_sender(app).await;
        let agent = app.agent();
        let waiting = parked(&agent, "build.done").await;
        assert_eq!(send_at(app, OTHER, "msg-1", 0, &body).await.problem(), (401, "unauthorized"));
        for late in [SIGNED_WITHIN_SECONDS + 1, -SIGNED_WITHIN_SECONDS - 1] {
            assert_eq!(send_at(app, SECRET, "msg-1", late, &body).await.problem(), (401, "unauthorized"), "{late}");
        }
        let (bytes, now) = (body.to_string().into_bytes(), app.clock.now().timestamp());
        let (signed, now) = (signature(SECRET, "msg-1", now, &bytes), now.to_string());
        let all = [("webhook-id", "msg-1"), ("webhook-timestamp", now.as_str()), ("webhook-signature", signed.as_str())];
        for left_out in 0..3 {
            let headers: Vec<_> = all.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, header)| *header).collect();
            assert_eq!(post(app, PATH, &headers, bytes.clone()).await.problem(), (401, "unauthorized"));
        }
        assert_eq!(post(app, PATH, &all, b"{\"name\": \"build.done\" }".to_vec()).await.problem(), (401, "unauthorized"));
        // A signature opens this one call and no other, and gives no key more rights.
        let (intent, _) = app.ask(json!({})).await;
        for path in [format!("api/v1/intents/{intent}/pause"), "api/v1/intents".to_owned(), "a2a".to_owned()] {
            assert_eq!(post(app, &path, &all, bytes.clone()).await.status, 401, "{path}");
        }
        let auditor = app.api(Role::Auditor);
        let request = auditor.request("POST", PATH).json(&body);
        let reply = auditor.send(all.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await;
        assert_eq!(reply.problem(), (403, "forbidden"));
        assert_eq!(agent.suspension(&waiting).await["resolution"], json!(null));
        for (id, seconds) in [("msg-2", SIGNED_WITHIN_SECONDS), ("msg-3", -SIGNED_WITHIN_SECONDS)] {
            assert_eq!(send_at(app, SECRET, id, seconds, &json!({"name": "x"})).await.ok(), json!({"woken": 0}), "{seconds}");
        }
    }

    /// A signed message has the limits of every event, and a flaw is told to its sender.
    async fn a_signed_message_has_the_limits_of_every_event(app: &mut TestApp) {
        with_sender(app).await;
        let payload = |bytes: usize| json!({"name": "x", "payload": "p".repeat(bytes - 2)});
        assert_eq!(send(app, "at", &payload(EVENT_PAYLOAD_BYTES_MAX)).await.ok(), json!({"woken": 0}));
        for (id, body, field) in [
            ("1", payload(EVENT_PAYLOAD_BYTES_MAX + 1), "payload"),
            ("2", json!({"name": "a b"}), "name"),
            ("3", json!({"type": 7}), "name"),
            ("4", json!({}), "name"),
            ("5", json!({"name": "x", "other": 1}), "other"),
        ] {
            let reply = send(app, id, &body).await;
            let (status, _, at, _) = reply.field_problem();
            assert_eq!((status, at), (422, field), "{body}");
        }
        // A message that was refused may be mended and sent again under its id.
        assert_eq!(send(app, "2", &json!({"name": "a-b"})).await.ok(), json!({"woken": 0}));
        assert_eq!(send(app, "6", &json!({"name": "x", "payload": "p".repeat(256 * 1024)})).await.status, 413);
    }
}
