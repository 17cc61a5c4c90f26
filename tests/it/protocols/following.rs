//! Streams of the changes of a task.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::time::Duration;

use harness::api::Api;
use harness::on_each_store;
use harness::process::PATIENCE;
use reqwest::Response;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Rpc, says, state};

/// A stream of A2A.
pub(super) struct Items {
    response: Response,
    unread: String,
}

impl Items {
    /// Opens the stream of a method of JSON-RPC.
    pub(super) async fn open(api: &Api, method: &str, params: Value) -> Self {
        let call = json!({"jsonrpc": "2.0", "id": "s", "method": method, "params": params});
        let response = api.request("POST", "a2a").header("a2a-version", "1.0").json(&call).send().await.unwrap();
        Self::of(response)
    }

    pub(super) fn of(response: Response) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, unread: String::new() }
    }

    /// The next item; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                if let Some(data) = block.strip_prefix("data: ") {
                    let item: Value = serde_json::from_str(data).unwrap();
                    return Some(if item["jsonrpc"] == "2.0" { item["result"].clone() } else { item });
                }
            }
            match timeout(PATIENCE, self.response.chunk()).await.expect("an item comes in time").unwrap() {
                Some(bytes) => self.unread.push_str(std::str::from_utf8(&bytes).unwrap()),
                None => return None,
            }
        }
    }

    /// All items to the end.
    pub(super) async fn rest(mut self) -> Vec<Value> {
        let mut items = Vec::new();
        while let Some(item) = self.next().await {
            items.push(item);
        }
        items
    }
}

on_each_store! {
    /// All streams of a task begin with the task, carry the same changes in the same order, and end with it.
    async fn all_streams_of_a_task_tell_the_same(app: &mut TestApp) {
        let api = app.agent();
        let message = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Deploy?"}]}});
        let mut first = Items::open(&api, "SendStreamingMessage", message).await;
        let task = first.next().await.unwrap()["task"].clone();
        assert_eq!(state(&task), "TASK_STATE_AUTH_REQUIRED");
        let id = task["id"].as_str().unwrap().to_owned();
        let mut second = Items::open(&api, "SubscribeToTask", json!({"id": id})).await;
        assert_eq!(second.next().await.unwrap()["task"], task);
        let path = format!("a2a/tasks/{id}:subscribe");
        let third = app.operator();
        let mut third = Items::of(third.request("GET", &path).header("a2a-version", "1.0").send().await.unwrap());
        assert_eq!(third.next().await.unwrap()["task"]["id"], id);
        Rpc(&app.operator()).result("SendMessage", says(&id, "n", &json!([{"text": "yes"}]))).await;
        let told = first.rest().await;
        assert_eq!(told[0]["artifactUpdate"]["artifact"]["parts"][0]["data"]["value"], "yes");
        assert_eq!(told[1]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(told.len(), 2);
        assert_eq!(second.rest().await, told);
        assert_eq!(third.rest().await, told);
        assert_eq!(Rpc(&api).error("SubscribeToTask", json!({"id": id})).await, (200, -32004, "UNSUPPORTED_OPERATION".into()));
    }

    /// A stream that breaks because the server stops is resumed by subscribing again; an ending in between is not lost.
    async fn a_stream_is_resumed_by_subscribing_again(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        let mut broken = Items::open(&api, "SubscribeToTask", json!({"id": id})).await;
        broken.next().await.unwrap();
        app.restart().await;
        let api = app.agent();
        let mut again = Items::open(&api, "SubscribeToTask", json!({"id": id})).await;
        assert_eq!(state(&again.next().await.unwrap()["task"]), "TASK_STATE_AUTH_REQUIRED");
        Rpc(&api).result("CancelTask", json!({"id": id})).await;
        let told = again.rest().await;
        assert_eq!(told[0]["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
        assert_eq!(told.len(), 1);
    }

    /// The work of an intent that is no errand goes on after an answer, and so does its stream.
    async fn the_stream_of_mirrored_work_goes_on(app: &mut TestApp) {
        let api = app.agent();
        let intent = api.active_intent().await;
        let mut items = Items::open(&app.operator(), "SubscribeToTask", json!({"id": intent})).await;
        assert_eq!(state(&items.next().await.unwrap()["task"]), "TASK_STATE_WORKING");
        let suspension = api.asked(intent).await;
        assert_eq!(items.next().await.unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        app.operator().respond(intent, &suspension, "approve").await.ok();
        assert_eq!(items.next().await.unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_WORKING");
        api.complete(intent).await;
        assert_eq!(items.next().await.unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(items.next().await, None);
        app.settle().await;
    }

    /// One key follows at most 100 tasks at a time.
    async fn a_key_follows_so_many_tasks(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        let mut streams = Vec::new();
        for _ in 0..100 {
            streams.push(Items::open(&api, "SubscribeToTask", json!({"id": id})).await);
        }
        let refused = Rpc(&api).call("SubscribeToTask", json!({"id": id})).await;
        assert_eq!((refused.status, &refused.body["error"]["code"]), (429, &json!(-32029)));
        assert!(refused.headers.contains_key("retry-after"));
        // A message that could not be followed is not sent: no person is asked.
        let message = json!({"message": {"messageId": "n", "role": "ROLE_USER", "parts": [{"text": "Deploy?"}]}});
        assert_eq!(Rpc(&api).error("SendStreamingMessage", message).await.0, 429);
        assert_eq!(Rpc(&api).result("ListTasks", json!({})).await["totalSize"], 1);
        drop(streams);
        // A client that hangs up gives its places back at once, and not when the server next writes to it.
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": id}});
        let again = async {
            while api.request("POST", "a2a").header("a2a-version", "1.0").json(&call).send().await.unwrap().status() == 429 {}
        };
        timeout(Duration::from_secs(5), again).await.expect("the places come back at once");
        // The places of one key are not those of another.
        let operator = app.operator();
        timeout(Duration::from_secs(30), Items::open(&operator, "SubscribeToTask", json!({"id": id}))).await.unwrap();
    }
}
