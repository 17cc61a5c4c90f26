//! Gateways that are tied to webhooks: they reach the questions their webhooks were sent, and nothing else.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::channel::{EMAIL, Reach};
use harness::api::{Api, Reply};
use harness::app::{Backend, TestApp};
use harness::on_each_store;
use harness::receiver::{Receiver, add, webhook};
use serde_json::{Value, json};

const ALICE: &str = "alice@example.com";
const BOB: &str = "bob@example.com";
/// An id that belongs to no intent and no question.
const NOBODYS: &str = "019ab0f2-0000-7000-8000-000000000000";

/// A server with mail, a pager webhook and a room webhook, and the gateway key of the pager.
struct Stage {
    app: TestApp,
    agent: Api,
    pager: Api,
    _receiver: Receiver,
}

impl Stage {
    async fn on(backend: Backend) -> Self {
        let receiver = Receiver::start().await;
        let room = Reach::Audience("ops-room".into());
        let webhooks = vec![(webhook("pager", &receiver), Reach::People), (webhook("room", &receiver), room)];
        let app = TestApp::start_on(backend, |config| add(config, webhooks, &[EMAIL])).await;
        let pager = Api::new(&app.base, Some(&app.new_gateway("pager-gateway", &["pager"]).await));
        Self { agent: app.agent(), app, pager, _receiver: receiver }
    }

    /// Asks Alice by one channel.
    async fn asked_by(&self, channel: &str) -> (IntentId, String) {
        self.agent.ask(json!({"channel_hint": channel, "notify_to": [ALICE]})).await
    }

    async fn gateway(&self, name: &str, tied_to: &[&str]) -> Api {
        Api::new(&self.app.base, Some(&self.app.new_gateway(name, tied_to).await))
    }
}

async fn answer(api: &Api, intent: IntentId, id: &str, responded_by: &str) -> Reply {
    let body = json!({"suspension_id": id, "value": "approve", "responded_by": responded_by});
    api.post(&format!("api/v1/intents/{intent}/suspend/respond"), body).await
}

/// Each request that a key can make about an intent and its question.
fn every_way(intent: &str, id: &str) -> Vec<(&'static str, String, Value)> {
    let (intent, question) = (format!("api/v1/intents/{intent}"), format!("api/v1/suspensions/{id}"));
    vec![
        ("GET", intent.clone(), Value::Null),
        ("GET", format!("{intent}/events"), Value::Null),
        ("GET", format!("{intent}/leases"), Value::Null),
        ("GET", question.clone(), Value::Null),
        ("GET", format!("{question}?wait=1"), Value::Null),
        ("GET", format!("{question}/deliveries"), Value::Null),
        ("POST", format!("{intent}/state"), json!({"state": {"k": 1}})),
        ("POST", format!("{intent}/status"), json!({"status": "active"})),
        ("POST", format!("{intent}/events"), json!({"event_type": "comment"})),
        ("POST", format!("{intent}/leases"), json!({"scope": "s"})),
        ("POST", format!("{intent}/suspend"), json!({"question": "Go?", "response_type": "confirm"})),
        ("POST", format!("{intent}/suspend/respond"), json!({"suspension_id": id, "value": "approve", "responded_by": ALICE})),
        ("POST", format!("{intent}/suspend/respond"), json!({"value": "approve"})),
        ("POST", format!("{question}/cancel"), json!({})),
        ("POST", format!("{question}/extend"), json!({"seconds": 60})),
        ("POST", format!("{question}/remind"), json!({})),
    ]
}

async fn send(api: &Api, (method, path, body): &(&str, String, Value)) -> Reply {
    let request = api.request(method, path).header("if-match", "1");
    api.send(if body.is_null() { request } else { request.json(body) }).await
}

/// Checks that each request about this question gets the same 404 as a request about a question that does not exist.
async fn is_nothing_to(api: &Api, intent: IntentId, id: &str) {
    for (way, nowhere) in every_way(&intent.to_string(), id).iter().zip(every_way(NOBODYS, NOBODYS)) {
        let (theirs, nothing) = (send(api, way).await, send(api, &nowhere).await);
        assert_eq!((theirs.status, &theirs.text), (404, &nothing.text), "{way:?}");
    }
}

async fn answers_what_it_was_sent(stage: &Stage) {
    let (intent, id) = stage.asked_by("pager").await;
    let read = stage.pager.get(&format!("api/v1/intents/{intent}")).await.ok();
    assert_eq!(read["state"]["_suspension"]["id"], json!(id));
    assert_eq!(stage.pager.suspension(&id).await["question"], "Refund order 12345?");
    for path in [format!("api/v1/intents/{intent}/events"), format!("api/v1/suspensions/{id}/deliveries")] {
        assert_eq!(stage.pager.get(&path).await.problem(), (403, "forbidden"), "{path}");
    }
    let before = stage.agent.everything(intent).await;
    // Bob is on the allow-list, but this question was not sent to him.
    for somebody in [BOB, "alice@example.com.evil.example", "alice", "ops-room"] {
        assert_eq!(answer(&stage.pager, intent, &id, somebody).await.problem(), (403, "forbidden"), "{somebody}");
    }
    let path = format!("api/v1/intents/{intent}/suspend/respond");
    let nobody = stage.pager.post(&path, json!({"suspension_id": id, "value": "approve"})).await;
    assert_eq!(nobody.field_problem().2, "responded_by");
    let other = stage.gateway("room-gateway", &["room"]).await;
    is_nothing_to(&other, intent, &id).await;
    assert_eq!(stage.agent.everything(intent).await, before, "a refusal leaves nothing behind");
    let answered = answer(&stage.pager, intent, &id, "Alice@EXAMPLE.com").await.ok();
    let record = stage.agent.suspension(&id).await;
    assert_eq!((&record["resolution"], &record["responded_by"]), (&json!("responded"), &json!(ALICE)), "as in her message");
    assert_eq!(answered["responded_by"], ALICE);
    let resumed = stage.agent.events(intent).await.into_iter().find(|event| event["event_type"] == "intent.resumed").unwrap();
    assert_eq!(resumed["payload"]["responded_by"], ALICE);
    assert_eq!(answer(&stage.pager, intent, &id, ALICE).await.problem(), (409, "already_resolved"));
    let unbound = stage.app.api(Role::Channel);
    let (intent, id) = stage.asked_by(EMAIL).await;
    answer(&unbound, intent, &id, "anybody").await.ok();
}

async fn sees_nothing_of_another_way(stage: &Stage) {
    let (intent, id) = stage.asked_by(EMAIL).await;
    stage.app.settle().await;
    is_nothing_to(&stage.pager, intent, &id).await;
    for list in ["api/v1/intents", "api/v1/suspensions", "api/v1/keys", "api/v1/deliveries"] {
        assert_eq!(stage.pager.get(list).await.problem(), (403, "forbidden"), "{list}");
    }
    // The gateway's own earlier question on the same intent leads neither to the new question nor to the intent.
    let (intent, first) = stage.asked_by("pager").await;
    let supersede = json!({"channel_hint": EMAIL, "notify_to": [ALICE], "supersedes": first});
    let second = stage.agent.suspend(intent, supersede).await.ok()["id"].as_str().unwrap().to_owned();
    is_nothing_to(&stage.pager, intent, &second).await;
    assert_eq!(stage.pager.suspension(&first).await["resolution_reason"], "superseded");
    assert_eq!(answer(&stage.pager, intent, &first, ALICE).await.problem(), (409, "already_resolved"));
    assert_eq!(stage.agent.suspension(&second).await["resolution"], Value::Null);
    // A later question of the same intent is sent to the gateway's webhook, so the gateway may answer that one.
    let third = json!({"channel_hint": "pager", "notify_to": [ALICE], "supersedes": second});
    let third = stage.agent.suspend(intent, third).await.ok()["id"].as_str().unwrap().to_owned();
    is_nothing_there(&stage.pager, &second).await;
    answer(&stage.pager, intent, &third, ALICE).await.ok();
}

async fn is_nothing_there(api: &Api, id: &str) {
    assert_eq!(api.get(&format!("api/v1/suspensions/{id}")).await.problem(), (404, "not_found"));
}

/// The pager may not answer for a person who is told by mail at a later attempt, neither before that mail nor after it.
async fn answers_for_its_own_recipients(stage: &Stage) {
    let rung = json!({"attempt": 2, "notify_to": BOB, "channel_hint": EMAIL});
    let policy = json!({"max_attempts": 2, "interval_seconds": 600, "escalation_ladder": [rung]});
    let body = json!({"channel_hint": "pager", "notify_to": [ALICE], "retry_policy": policy, "timeout_seconds": 600});
    let (intent, id) = stage.agent.ask(body).await;
    for _ in 0..2 {
        assert_eq!(answer(&stage.pager, intent, &id, BOB).await.problem(), (403, "forbidden"));
        stage.app.advance(600).await;
    }
    let (intent, id) = stage.agent.ask(json!({"channel_hint": "room", "notify_to": [ALICE]})).await;
    let room = stage.gateway("the-room", &["pager", "room"]).await;
    assert_eq!(answer(&room, intent, &id, ALICE).await.problem(), (403, "forbidden"), "the room was told, not alice");
    answer(&room, intent, &id, "ops-room").await.ok();
}

/// An attacker who breaks into a gateway must find only the questions it passes on.
mod a_tied_gateway_has_what_its_webhook_was_sent_and_nothing_else {
    use super::*;

    async fn on(backend: Backend) {
        let stage = Stage::on(backend).await;
        answers_what_it_was_sent(&stage).await;
        sees_nothing_of_another_way(&stage).await;
        answers_for_its_own_recipients(&stage).await;
        stage.app.finish().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn on_sqlite() {
        on(Backend::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn on_postgres() {
        on(Backend::Postgres).await;
    }
}

on_each_store! {
    /// The admin who creates a gateway key must say that it is tied to webhooks or that it is unbound. If the admin says neither,
    /// the key must not become unbound.
    async fn a_gateways_key_is_tied_or_unbound_and_no_other_key_is(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let key = |role: &str, change: Value| {
            let mut body = json!({"role": role, "name": "gate"});
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            body
        };
        let many: Vec<String> = (0..101).map(|n| format!("w{n}")).collect();
        for (body, rule) in [
            (key("channel", json!({})), "required"), (key("channel", json!({"unbound": false})), "required"),
            (key("channel", json!({"for": ["email"], "unbound": true})), "conflict"), (key("channel", json!({"for": []})), "length"),
            (key("channel", json!({"for": ["Pager"]})), "format"), (key("channel", json!({"for": ["pa ger"]})), "format"),
            (key("channel", json!({"for": many})), "length"), (key("channel", json!({"for": ["pager"]})), "value"),
            (key("agent", json!({"for": ["email"]})), "role"), (key("operator", json!({"unbound": true})), "role"),
        ] {
            let refused = admin.post("api/v1/keys", body.clone()).await;
            assert_eq!((refused.status, refused.field_problem().2, refused.body["errors"][0]["rule"].as_str()), (422, "for", Some(rule)), "{body}");
            if rule == "value" {
                assert!(refused.text.contains("there are: email"), "it names those there are: {}", refused.text);
            }
        }
        let tied = admin.post("api/v1/keys", key("channel", json!({"for": ["email", "email"]}))).await.ok();
        let unbound = admin.post("api/v1/keys", key("channel", json!({"unbound": true}))).await.ok();
        app.restart().await;
        let keys = admin.get("api/v1/keys").await.ok();
        let shown = |id: &Value| keys["keys"].as_array().unwrap().iter().find(|key| key["id"] == *id).unwrap()["for"].clone();
        assert_eq!((shown(&tied["id"]), shown(&unbound["id"])), (json!(["email"]), Value::Null));
    }

    /// A key that reports bounces needs no access to questions, and a pager's key must not report on mails.
    async fn a_gateway_reports_on_its_own_channel(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = agent.ask(json!({"notify_to": [ALICE]})).await;
        app.settle().await;
        let token = app.smtp.received().last().unwrap().header("x-placet-delivery").unwrap();
        let report = json!({"returned_to": token, "kind": "hard"});
        let pager = Api::new(&app.base, Some(&app.new_gateway("pager", &["pager"]).await));
        assert_eq!(pager.post("api/v1/deliveries/bounces", report.clone()).await.problem(), (404, "not_found"));
        let bounces = Api::new(&app.base, Some(&app.new_gateway("bounces", &[EMAIL]).await));
        is_nothing_to(&bounces, intent, &id).await;
        assert_eq!(bounces.post("api/v1/deliveries/bounces", report).await.ok()["state"], "bounced");
        assert_eq!(answer(&bounces, intent, &id, ALICE).await.problem(), (404, "not_found"), "mails are answered on their page");
    }
}
