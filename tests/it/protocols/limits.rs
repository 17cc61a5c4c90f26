//! The limits of a key, which hold behind this door as behind the others.

use std::num::NonZeroU32;

use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use placet_server::config::SubscriptionsConfig;
use serde_json::{Value, json};

use super::{Rpc, says, state};

/// How many requests each key may send in a minute.
const IN_A_MINUTE: u32 = 2;

/// The server with a limit, and with push configurations.
async fn limited(app: &mut TestApp) {
    let push = SubscriptionsConfig { hosts: vec!["hooks.example.com".into()], allow_subnets: Vec::new() };
    app.restart_with(|config| {
        config.limits.key_requests_per_minute = NonZeroU32::new(IN_A_MINUTE);
        config.a2a.push = push;
    })
    .await;
}

/// The server without a limit: what the harness reads at the end of a test counts as well.
async fn unlimited(app: &mut TestApp) {
    app.restart_with(|config| config.limits.key_requests_per_minute = None).await;
}

async fn fresh(app: &TestApp, role: Role, name: &str) -> Api {
    Api::new(&app.base, Some(&app.new_key(role, name).await))
}

/// Sends a body to a path of A2A.
async fn posted(api: &Api, path: &str, body: &str) -> Reply {
    let request = api.request("POST", path).header("a2a-version", "1.0").header("a2a-extensions", "urn:placet:a2a:pause:v1");
    api.send(request.header("content-type", "application/json").body(body.to_owned())).await
}

#[expect(clippy::needless_pass_by_value, reason = "the tests write the parameters in place")]
fn call(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

on_each_store! {
    /// An agent that got hold of a key which answers could otherwise ask, withdraw and stop work as often as it likes.
    async fn only_answers_are_not_counted(app: &mut TestApp) {
        let id = Rpc(&app.agent()).asked("m").await;
        limited(app).await;
        let question = json!({"message": {"messageId": "q", "role": "ROLE_USER", "parts": [{"text": "Deploy?"}]}});
        let config = json!({"taskId": id, "id": "c", "url": "https://hooks.example.com/"});
        let (cancel, configs) = (format!("a2a/tasks/{id}:cancel"), format!("a2a/tasks/{id}/pushNotificationConfigs"));
        let calls = [
            ("a2a", call("SendMessage", question.clone())),
            ("a2a/", call("SendStreamingMessage", question.clone())),
            ("a2a", call("CancelTask", json!({"id": id}))),
            ("a2a", call("PauseTask", json!({"taskId": id}))),
            ("a2a", call("ResumeTask", json!({"taskId": id}))),
            ("a2a", call("AwaitTaskResumption", json!({"taskId": id, "reason": "r"}))),
            ("a2a", call("CreateTaskPushNotificationConfig", config.clone())),
            ("a2a", call("DeleteTaskPushNotificationConfig", config.clone())),
            ("a2a", call("GetTask", json!({"id": id}))),
            ("a2a", call("NoMethod", json!({}))),
            ("a2a", "[]".to_owned()),
            ("a2a", "{".to_owned()),
            ("a2a/message:send", question.to_string()),
            ("a2a/message:stream", question.to_string()),
            ("a2a/message:send", "{".to_owned()),
            ("a2a/message:stream", "[]".to_owned()),
            (cancel.as_str(), "{}".to_owned()),
            (configs.as_str(), config.to_string()),
        ];
        for (number, (path, body)) in calls.iter().enumerate() {
            for role in [Role::Operator, Role::Channel] {
                let key = fresh(app, role, &format!("{role}-{number}")).await;
                for _ in 0..IN_A_MINUTE {
                    assert_ne!(posted(&key, path, body).await.status, 429, "{role} {path} {body}");
                }
                let refused = posted(&key, path, body).await;
                assert_eq!((refused.status, refused.headers.contains_key("retry-after")), (429, true), "{role} {path} {body} {}", refused.text);
            }
        }
        unlimited(app).await;
    }

    /// Words to an agent at work are a write, and only the server can tell them from an answer. The one too many has no effect, and does not keep
    /// the key from answering.
    async fn words_to_an_agent_at_work_are_counted_and_answers_are_not(app: &mut TestApp) {
        let agent = app.agent();
        let works = agent.active_intent().await.to_string();
        let mut tasks = Vec::new();
        for number in 0..=IN_A_MINUTE {
            tasks.push(Rpc(&agent).asked(&format!("m-{number}")).await);
        }
        limited(app).await;
        let tells = |number: u32| {
            let mut said = says(&works, &format!("t-{number}"), &json!([{"text": format!("Hurry {number}.")}]));
            said["configuration"] = json!({"returnImmediately": true});
            said
        };
        for (path, method) in [("a2a", Some("SendMessage")), ("a2a/message:send", None)] {
            let key = fresh(app, Role::Operator, path).await;
            let body = |params: Value| method.map_or_else(|| params.to_string(), |method| call(method, params.clone()));
            let first = if method.is_some() { 10 } else { 20 };
            for number in 0..=IN_A_MINUTE {
                let told = posted(&key, path, &body(tells(first + number))).await;
                let wanted = if number < IN_A_MINUTE { 200 } else { 429 };
                assert_eq!(told.status, wanted, "{path} {}", told.text);
            }
            for task in tasks.split_off(tasks.len() / 2) {
                let told = posted(&key, path, &body(says(&task, &format!("a-{task}"), &json!([{"text": "maybe"}])))).await.ok();
                let told = if method.is_some() { told["result"].clone() } else { told };
                assert_eq!(state(&told["task"]), "TASK_STATE_AUTH_REQUIRED");
                let answered = posted(&key, path, &body(says(&task, &format!("b-{task}"), &json!([{"text": "yes"}])))).await.ok();
                let answered = if method.is_some() { answered["result"].clone() } else { answered };
                assert_eq!(state(&answered["task"]), "TASK_STATE_COMPLETED");
            }
        }
        unlimited(app).await;
        let log = app.api(Role::Auditor).get(&format!("api/v1/intents/{works}/events?event_type=comment")).await.ok();
        let told: Vec<&str> = log.as_array().unwrap().iter().map(|event| event["payload"]["text"].as_str().unwrap()).collect();
        assert_eq!(told, ["Hurry 21.", "Hurry 20.", "Hurry 11.", "Hurry 10."]);
    }
}
