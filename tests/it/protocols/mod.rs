//! The protocols of other agents.

mod answering;
mod asking;
mod bindings;
mod calls;
mod contract;
mod doors;
mod every_door;
mod following;
mod limits;
mod pausing;
mod push_input;
mod pushing;

use harness::api::{Api, Reply};
use serde_json::{Value, json};

/// A client of A2A over JSON-RPC.
struct Rpc<'a>(&'a Api);

impl Rpc<'_> {
    /// Calls a method of 1.0.
    async fn call(&self, method: &str, params: Value) -> Reply {
        let call = json!({"jsonrpc": "2.0", "id": "c-1", "method": method, "params": params});
        self.0.send(self.0.request("POST", "a2a").header("a2a-version", "1.0").json(&call)).await
    }

    /// The result of a call that succeeds.
    async fn result(&self, method: &str, params: Value) -> Value {
        let reply = self.call(method, params).await.ok();
        assert_eq!((&reply["jsonrpc"], &reply["id"]), (&json!("2.0"), &json!("c-1")), "{reply}");
        assert!(reply["error"].is_null(), "{reply}");
        reply["result"].clone()
    }

    /// The status of HTTP, the code and the reason of a call that fails.
    async fn error(&self, method: &str, params: Value) -> (u16, i64, String) {
        let reply = self.call(method, params).await;
        let error = &reply.body["error"];
        let reason = error["data"][0]["reason"].as_str().unwrap_or_default().to_owned();
        (reply.status, error["code"].as_i64().unwrap_or_default(), reason)
    }

    /// Asks with this message; returns the task.
    async fn asks(&self, message_id: &str, parts: Value) -> Value {
        let message = json!({"messageId": message_id, "role": "ROLE_USER", "parts": parts});
        self.result("SendMessage", json!({"message": message})).await["task"].clone()
    }

    /// Asks a yes or a no; returns the id of the task.
    async fn asked(&self, message_id: &str) -> String {
        self.asks(message_id, json!([{"text": "Deploy to production?"}])).await["id"].as_str().unwrap_or_default().to_owned()
    }

    async fn task(&self, id: &str) -> Value {
        self.result("GetTask", json!({"id": id})).await
    }
}

/// A message to a task.
fn says(task: &str, message_id: &str, parts: &Value) -> Value {
    json!({"message": {"messageId": message_id, "role": "ROLE_USER", "taskId": task, "parts": parts}})
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}
