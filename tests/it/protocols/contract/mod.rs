//! The demands of A2A 1.0 (MUST), as its public compatibility kit lists it: one test for each requirement, named after the id that it has there,
//! on both bindings. The words are this project's own.
//!
//! 101 of the 114 apply here. The others are about gRPC (7), signatures of cards (4), the client (1) and TLS, which a proxy in front of the
//! server gives (1).

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

mod core;
mod forms;
mod pushes;
mod rights;
mod streams;

use harness::api::Api;
use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use url::form_urlencoded::Serializer;

use super::following::Items;

/// The id of no task.
pub(super) const UNKNOWN: &str = "01a20114-994c-7e8e-b24b-975054fd6315";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    JsonRpc,
    HttpJson,
}

/// A client of one binding.
#[derive(Clone, Copy)]
pub(super) struct Kit<'a> {
    pub(super) api: &'a Api,
    pub(super) binding: Binding,
}

/// The reply to a call on either binding.
pub(super) struct Got {
    http: u16,
    headers: HeaderMap,
    pub(super) body: Value,
    /// Null if the call failed.
    result: Value,
    /// The reason of the failure; empty if the call succeeded.
    pub(super) reason: String,
}

/// A client of each binding, with the same key.
pub(super) fn kits(api: &Api) -> [Kit<'_>; 2] {
    [Binding::JsonRpc, Binding::HttpJson].map(|binding| Kit { api, binding })
}

impl Kit<'_> {
    /// The request of an operation. The operations have the names that they have in JSON-RPC.
    fn request(&self, operation: &str, params: Value) -> RequestBuilder {
        match self.binding {
            Binding::JsonRpc => {
                let call = json!({"jsonrpc": "2.0", "id": "k", "method": operation, "params": params});
                self.api.request("POST", "a2a").json(&call)
            }
            Binding::HttpJson => self.rest(operation, params),
        }
    }

    fn rest(&self, operation: &str, params: Value) -> RequestBuilder {
        let Value::Object(mut members) = params else { panic!("parameters are an object") };
        let of = |name: &str, members: &mut Map<String, Value>| {
            members.remove(name).and_then(|id| id.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let (method, path) = match operation {
            "SendMessage" => ("POST", "message:send".to_owned()),
            "SendStreamingMessage" => ("POST", "message:stream".to_owned()),
            "GetTask" => ("GET", format!("tasks/{}", of("id", &mut members))),
            "ListTasks" => ("GET", "tasks".to_owned()),
            "CancelTask" => ("POST", format!("tasks/{}:cancel", of("id", &mut members))),
            "SubscribeToTask" => ("GET", format!("tasks/{}:subscribe", of("id", &mut members))),
            "GetExtendedAgentCard" => ("GET", "extendedAgentCard".to_owned()),
            "CreateTaskPushNotificationConfig" => {
                ("POST", format!("tasks/{}/pushNotificationConfigs", of("taskId", &mut members)))
            }
            "ListTaskPushNotificationConfigs" => ("GET", format!("tasks/{}/pushNotificationConfigs", of("taskId", &mut members))),
            "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
                let (task, config) = (of("taskId", &mut members), of("id", &mut members));
                let method = if operation.starts_with("Get") { "GET" } else { "DELETE" };
                (method, format!("tasks/{task}/pushNotificationConfigs/{config}"))
            }
            other => ("POST", other.to_owned()),
        };
        if method == "POST" {
            return self.api.request(method, &format!("a2a/{path}")).json(&members);
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let pairs = members.iter().map(|(name, value)| (name, text(value)));
        let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
        self.api.request(method, &format!("a2a/{path}?{query}"))
    }

    pub(super) async fn call(&self, operation: &str, params: Value) -> Got {
        self.sent(self.request(operation, params).header("a2a-version", "1.0")).await
    }

    async fn sent(&self, request: RequestBuilder) -> Got {
        let reply = self.api.send(request).await;
        let (details, result) = match self.binding {
            Binding::JsonRpc => (&reply.body["error"]["data"], reply.body["result"].clone()),
            Binding::HttpJson if reply.body["error"].is_null() => (&Value::Null, reply.body.clone()),
            Binding::HttpJson => (&reply.body["error"]["details"], Value::Null),
        };
        let reason = details[0]["reason"].as_str().unwrap_or_default().to_owned();
        Got { http: reply.status, headers: reply.headers, result, reason, body: reply.body }
    }

    /// The result of a call that succeeds.
    pub(super) async fn ok(&self, operation: &str, params: Value) -> Value {
        let got = self.call(operation, params).await;
        assert_eq!((got.http, &*got.reason), (200, ""), "{operation} {:?}: {}", self.binding, got.body);
        got.result
    }

    /// The reason of a call that fails.
    pub(super) async fn fails(&self, operation: &str, params: Value) -> String {
        let got = self.call(operation, params).await;
        assert!(!got.reason.is_empty(), "{operation} {:?}: {}", self.binding, got.body);
        got.reason
    }

    /// A message that asks, with these members besides.
    #[expect(clippy::needless_pass_by_value, reason = "the tests write the members in place")]
    pub(super) fn message(&self, id: &str, more: Value) -> Value {
        let mut message =
            json!({"messageId": format!("{:?}-{id}", self.binding), "role": "ROLE_USER", "parts": [{"text": "Deploy?"}]});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"message": message})
    }

    /// Asks; returns the task.
    async fn asks(&self, id: &str) -> Value {
        self.ok("SendMessage", self.message(id, json!({}))).await["task"].clone()
    }

    /// Asks; returns the id of the task.
    pub(super) async fn asked(&self, id: &str) -> String {
        self.asks(id).await["id"].as_str().unwrap().to_owned()
    }

    /// Asks, and another key answers; returns the id of the task, which has ended.
    async fn ended(&self, id: &str, by: &Api) -> String {
        let task = self.asked(id).await;
        Kit { api: by, ..*self }
            .ok("SendMessage", self.message(&format!("{id}-yes"), json!({"taskId": task, "parts": [{"text": "yes"}]})))
            .await;
        task
    }

    /// Opens a stream.
    async fn stream(&self, operation: &str, params: Value) -> Items {
        Items::of(self.request(operation, params).header("a2a-version", "1.0").send().await.unwrap())
    }
}

/// The ids of all requirements that apply.
const APPLY: [&str; 101] = [
    "AUTH-INTASK-001",
    "AUTH-INTASK-002",
    "AUTH-INTASK-003",
    "AUTH-INTASK-004",
    "AUTH-SCOPE-001",
    "AUTH-SCOPE-002",
    "AUTH-SCOPE-003",
    "AUTH-SERVER-002",
    "BIND-EQUIV-001",
    "BIND-EQUIV-002",
    "BIND-EQUIV-003",
    "BIND-EQUIV-004",
    "BIND-FIELD-001",
    "CARD-DISC-001",
    "CARD-EXT-001",
    "CARD-EXT-002",
    "CARD-PROTO-001",
    "CARD-PROTO-002",
    "CARD-STRUCT-001",
    "CORE-CANCEL-001",
    "CORE-CANCEL-002",
    "CORE-CANCEL-003",
    "CORE-CAP-001",
    "CORE-CAP-002",
    "CORE-CAP-003",
    "CORE-CAP-004",
    "CORE-ERR-001",
    "CORE-ERR-002",
    "CORE-EXECUTION-MODE-001",
    "CORE-EXECUTION-MODE-002",
    "CORE-GET-001",
    "CORE-GET-002",
    "CORE-HIST-002",
    "CORE-LIST-001",
    "CORE-LIST-002",
    "CORE-LIST-003",
    "CORE-LIST-004",
    "CORE-LIST-005",
    "CORE-MULTI-001a",
    "CORE-MULTI-002a",
    "CORE-MULTI-003",
    "CORE-MULTI-004",
    "CORE-MULTI-005",
    "CORE-MULTI-006",
    "CORE-SEND-001",
    "CORE-SEND-002",
    "CORE-SEND-003",
    "CORE-STREAM-001",
    "CORE-STREAM-002",
    "CORE-STREAM-003",
    "DM-ART-001",
    "DM-MSG-001",
    "DM-MSG-002",
    "DM-PART-001",
    "DM-SERIAL-001",
    "DM-SERIAL-002",
    "DM-SERIAL-003",
    "DM-SERIAL-004",
    "DM-STATUS-001",
    "DM-TASK-001",
    "DM-TASK-002",
    "HTTP_JSON-ERR-001",
    "HTTP_JSON-ERR-002",
    "HTTP_JSON-QP-001",
    "HTTP_JSON-SSE-001",
    "HTTP_JSON-STATUS-001",
    "HTTP_JSON-SVC-001",
    "HTTP_JSON-SVC-002",
    "HTTP_JSON-URL-001",
    "HTTP_JSON-URL-002",
    "JSONRPC-ERR-001",
    "JSONRPC-ERR-002",
    "JSONRPC-ERR-003",
    "JSONRPC-FMT-001",
    "JSONRPC-FMT-002",
    "JSONRPC-SSE-001",
    "JSONRPC-SSE-002",
    "JSONRPC-SVC-001",
    "JSONRPC-SVC-002",
    "PUSH-CREATE-001",
    "PUSH-CREATE-002",
    "PUSH-DEL-001",
    "PUSH-DEL-002",
    "PUSH-DELIVER-001",
    "PUSH-DELIVER-002",
    "PUSH-DELIVER-003",
    "PUSH-GET-001",
    "PUSH-GET-002",
    "PUSH-LIST-001",
    "STREAM-ORDER-001",
    "STREAM-ORDER-002",
    "STREAM-ORDER-003",
    "STREAM-ORDER-004",
    "STREAM-SUB-001",
    "STREAM-SUB-002",
    "STREAM-SUB-003",
    "STREAM-SUB-004",
    "VER-CLIENT-002",
    "VER-SERVER-001",
    "VER-SERVER-002",
    "VER-SERVER-003",
];

/// Each requirement that applies has its test.
#[test]
fn each_requirement_has_its_test() {
    let sources = [
        include_str!("core.rs"),
        include_str!("streams.rs"),
        include_str!("forms.rs"),
        include_str!("pushes.rs"),
        include_str!("rights.rs"),
    ]
    .concat();
    for id in APPLY {
        let name = format!("async fn {}(app: &mut TestApp)", id.to_lowercase().replace('-', "_"));
        assert!(sources.contains(&name), "{id} has no test");
    }
}
