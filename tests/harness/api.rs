//! Raw requests, for calls that the SDK would not send.

use domain::base::ids::IntentId;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::crawler::http_client_builder;

/// The connection of one actor to the server: a base URL and a key, without retries or other help.
#[derive(Clone)]
pub struct Api {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
}

/// The server's answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    /// The body as JSON; null if it is not JSON.
    pub body: Value,
    pub text: String,
    pub headers: reqwest::header::HeaderMap,
}

impl Reply {
    /// Status and code, the two things a client matches on.
    pub fn problem(&self) -> (u16, &str) {
        (self.status, self.body["code"].as_str().unwrap_or_default())
    }

    /// Status, code, and the field and rule of the first field error.
    pub fn field_problem(&self) -> (u16, &str, &str, &str) {
        let first = &self.body["errors"][0];
        let word = |name: &str| first[name].as_str().unwrap_or_default();
        (self.status, self.problem().1, word("field"), word("rule"))
    }

    /// The body of a 200; anything else fails the test.
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        self.body
    }
}

impl Api {
    /// A connection to the server at `base` (with a slash at its end), with a key or without.
    pub fn new(base: &str, key: Option<&str>) -> Self {
        let http = http_client_builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { http, base: base.to_owned(), key: key.map(str::to_owned) }
    }

    /// The server's address, with a slash at its end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The key.
    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or_default()
    }

    /// A request to be finished by the test; `path` has no slash at its beginning.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.header("x-api-key", key),
            None => request,
        }
    }

    /// Sends a request and reads the answer whole.
    pub async fn send(&self, request: RequestBuilder) -> Reply {
        self.try_send(request).await.unwrap()
    }

    /// Like [`Api::send`], for servers that may be gone.
    pub async fn try_send(&self, request: RequestBuilder) -> reqwest::Result<Reply> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        Ok(Reply { status, body: domain::base::json::unambiguous(text.as_bytes()).unwrap_or(Value::Null), text, headers })
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(self.request("GET", path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(self.request("POST", path).json(&body)).await
    }

    /// Posts with `If-Match`.
    pub async fn post_at(&self, path: &str, version: &str, body: Value) -> Reply {
        self.send(self.request("POST", path).header("if-match", version).json(&body)).await
    }

    /// Posts with `Idempotency-Key`.
    pub async fn post_once(&self, path: &str, key: &str, body: Value) -> Reply {
        self.send(self.request("POST", path).header("idempotency-key", key).json(&body)).await
    }

    /// Posts bytes unchanged, as JSON.
    pub async fn post_bytes(&self, path: &str, body: impl Into<Vec<u8>>) -> Reply {
        self.send(self.request("POST", path).header("content-type", "application/json").body(body.into())).await
    }

    /// Creates an active intent.
    pub async fn active_intent(&self) -> IntentId {
        let intent = self.post("api/v1/intents", json!({"title": "Refund order 12345", "status": "active"})).await.ok();
        intent["id"].as_str().unwrap().parse().unwrap()
    }

    /// Completes an intent.
    pub async fn complete(&self, intent: IntentId) {
        let version = self.intent(intent).await["version"].to_string();
        self.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "completed"})).await.ok();
    }

    /// Creates an intent and completes it.
    pub async fn completed_intent(&self) -> IntentId {
        let intent = self.active_intent().await;
        self.complete(intent).await;
        intent
    }

    /// Asks on a new active intent; returns the intent and the question's id.
    pub async fn ask(&self, change: Value) -> (IntentId, String) {
        let intent = self.active_intent().await;
        (intent, self.suspend(intent, change).await.ok()["id"].as_str().unwrap().to_owned())
    }

    /// Asks; the question is approve or deny, with the members of `change` added or replaced.
    pub async fn suspend(&self, intent: IntentId, change: Value) -> Reply {
        let mut body = json!({
            "question": "Refund order 12345?",
            "choices": [
                {"value": "approve", "label": "Approve refund", "description": "The whole amount", "style": "primary"},
                {"value": "deny", "label": "Deny refund", "style": "danger"},
            ],
            "timeout_seconds": 3600,
        });
        for (name, value) in change.as_object().unwrap() {
            body[name] = value.clone();
        }
        self.post(&format!("api/v1/intents/{intent}/suspend"), body).await
    }

    /// Asks and returns the suspension's id.
    pub async fn asked(&self, intent: IntentId) -> String {
        self.suspend(intent, json!({})).await.ok()["id"].as_str().unwrap().to_owned()
    }

    /// Answers.
    pub async fn respond(&self, intent: IntentId, suspension_id: &str, value: impl Into<Value>) -> Reply {
        let body = json!({"suspension_id": suspension_id, "value": value.into()});
        self.post(&format!("api/v1/intents/{intent}/suspend/respond"), body).await
    }

    /// The intent.
    pub async fn intent(&self, intent: IntentId) -> Value {
        self.get(&format!("api/v1/intents/{intent}")).await.ok()
    }

    /// The intent's status.
    pub async fn status(&self, intent: IntentId) -> String {
        self.intent(intent).await["status"].as_str().unwrap().to_owned()
    }

    /// The suspension's record.
    pub async fn suspension(&self, id: &str) -> Value {
        self.get(&format!("api/v1/suspensions/{id}")).await.ok()
    }

    /// All events, oldest first.
    pub async fn events(&self, intent: IntentId) -> Vec<Value> {
        let events = self.get(&format!("api/v1/intents/{intent}/events?include=all&limit=1000")).await.ok();
        events.as_array().unwrap().iter().rev().cloned().collect()
    }

    /// The types of all events, oldest first.
    pub async fn event_types(&self, intent: IntentId) -> Vec<String> {
        self.events(intent).await.iter().map(|event| event["event_type"].as_str().unwrap().to_owned()).collect()
    }

    /// The parts that a refused request must leave unchanged: the intent and its whole log.
    pub async fn everything(&self, intent: IntentId) -> (Value, Vec<Value>) {
        (self.intent(intent).await, self.events(intent).await)
    }
}
