//! The requirements on streams.

use harness::on_each_store;
use serde_json::{Value, json};

use super::{Kit, UNKNOWN, kits};
use crate::protocols::state;

/// The only member of an item, which is its kind.
fn kind(item: &Value) -> &str {
    item.as_object().unwrap().keys().next().unwrap()
}

on_each_store! {
    /// A message that is to be followed opens a stream.
    async fn core_stream_001(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let mut items = kit.stream("SendStreamingMessage", kit.message("m", json!({}))).await;
            assert_eq!(kind(&items.next().await.unwrap()), "task");
        }
    }

    /// A stream has a message alone or none at all: this server answers by tasks.
    async fn core_stream_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let mut items = kit.stream("SendStreamingMessage", kit.message("m", json!({}))).await;
            let id = items.next().await.unwrap()["task"]["id"].clone();
            let answer = kit.message("n", json!({"taskId": id, "parts": [{"text": "yes"}]}));
            Kit { api: &operator, ..kit }.ok("SendMessage", answer).await;
            assert!(items.rest().await.iter().all(|item| kind(item) != "message"));
        }
    }

    /// The stream of a task begins with the task and closes at its end.
    async fn core_stream_003(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let mut items = kit.stream("SendStreamingMessage", kit.message("m", json!({}))).await;
            let task = items.next().await.unwrap()["task"].clone();
            assert_eq!(state(&task), "TASK_STATE_AUTH_REQUIRED");
            let answer = kit.message("n", json!({"taskId": task["id"], "parts": [{"text": "yes"}]}));
            Kit { api: &operator, ..kit }.ok("SendMessage", answer).await;
            let rest = items.rest().await;
            assert_eq!(state(&rest.last().unwrap()["statusUpdate"]), "TASK_STATE_COMPLETED");
        }
    }

    /// A stream stays open while a task waits for a person, and closes at whichever end the task has.
    async fn a_stream_stays_open_at_an_interruption_and_closes_at_each_end(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            for end in ["TASK_STATE_COMPLETED", "TASK_STATE_CANCELED", "TASK_STATE_FAILED"] {
                let question = json!({"question": "Deploy?", "responseType": "confirm", "timeoutSeconds": 3_600, "fallbackPolicy": "fail"});
                let message = kit.message(end, json!({"parts": [{"data": question}]}));
                let mut items = kit.stream("SendStreamingMessage", message).await;
                let task = items.next().await.unwrap()["task"].clone();
                assert_eq!(state(&task), "TASK_STATE_AUTH_REQUIRED");
                app.advance(60).await;
                let id = json!({"id": task["id"]});
                let more = json!({"taskId": task["id"], "parts": [{"text": "yes please"}]});
                let open = Kit { api: &operator, ..kit }.ok("SendMessage", kit.message(&format!("{end}-words"), more)).await;
                assert_eq!(state(&open["task"]), "TASK_STATE_AUTH_REQUIRED", "words that are no answer change nothing");
                match end {
                    "TASK_STATE_COMPLETED" => {
                        let yes = json!({"taskId": task["id"], "parts": [{"text": "yes"}]});
                        Kit { api: &operator, ..kit }.ok("SendMessage", kit.message(&format!("{end}-yes"), yes)).await;
                    }
                    "TASK_STATE_CANCELED" => drop(kit.ok("CancelTask", id.clone()).await),
                    _ => app.advance(3_600).await,
                }
                let told = items.rest().await;
                assert_eq!(state(&told.last().unwrap()["statusUpdate"]), end, "{told:?}");
                assert_eq!(told.len(), if end == "TASK_STATE_COMPLETED" { 2 } else { 1 }, "{told:?}");
                assert_eq!(kit.fails("SubscribeToTask", id).await, "UNSUPPORTED_OPERATION");
            }
        }
    }

    /// Changes are told in the order in which they came.
    async fn stream_order_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&operator) {
            let intent = agent.active_intent().await;
            let mut items = kit.stream("SubscribeToTask", json!({"id": intent})).await;
            items.next().await.unwrap();
            let question = agent.asked(intent).await;
            operator.respond(intent, &question, "approve").await.ok();
            agent.complete(intent).await;
            let states: Vec<_> = items.rest().await.iter().map(|item| state(&item["statusUpdate"]).to_owned()).collect();
            assert_eq!(states, ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
        }
    }

    /// Every stream of a task is told.
    async fn stream_order_002(app: &mut TestApp) {
        let agent = app.agent();
        for kit in kits(&agent) {
            let id = kit.asked("m").await;
            let mut streams = Vec::new();
            for _ in 0..3 {
                streams.push(kit.stream("SubscribeToTask", json!({"id": id})).await);
            }
            kit.ok("CancelTask", json!({"id": id})).await;
            for items in streams {
                assert_eq!(state(&items.rest().await.last().unwrap()["statusUpdate"]), "TASK_STATE_CANCELED");
            }
        }
    }

    /// All streams of a task are told the same in the same order, on whichever binding.
    async fn stream_order_003(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let [one, two] = kits(&agent);
        let id = one.asked("m").await;
        let (mut first, mut second) =
            (one.stream("SubscribeToTask", json!({"id": id})).await, two.stream("SubscribeToTask", json!({"id": id})).await);
        assert_eq!(first.next().await, second.next().await);
        Kit { api: &operator, ..one }.ok("SendMessage", one.message("n", json!({"taskId": id, "parts": [{"text": "yes"}]}))).await;
        let told = first.rest().await;
        assert_eq!((told.len(), told), (2, second.rest().await));
    }

    /// A stream that is closed disturbs no other.
    async fn stream_order_004(app: &mut TestApp) {
        let agent = app.agent();
        for kit in kits(&agent) {
            let id = kit.asked("m").await;
            let mut closed = kit.stream("SubscribeToTask", json!({"id": id})).await;
            let mut stays = kit.stream("SubscribeToTask", json!({"id": id})).await;
            closed.next().await.unwrap();
            stays.next().await.unwrap();
            drop(closed);
            kit.ok("CancelTask", json!({"id": id})).await;
            assert_eq!(state(&stays.rest().await.last().unwrap()["statusUpdate"]), "TASK_STATE_CANCELED");
        }
    }

    /// A stream of a task begins with the task as it is.
    async fn stream_sub_001(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let task = kit.asks("m").await;
            let mut items = kit.stream("SubscribeToTask", json!({"id": task["id"]})).await;
            assert_eq!(items.next().await.unwrap()["task"], task);
        }
    }

    /// A stream of a task closes when the task ends.
    async fn stream_sub_002(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let id = kit.asked("m").await;
            let mut items = kit.stream("SubscribeToTask", json!({"id": id})).await;
            items.next().await.unwrap();
            kit.ok("CancelTask", json!({"id": id})).await;
            assert_eq!(items.rest().await.len(), 1);
        }
    }

    /// A task that has ended cannot be followed.
    async fn stream_sub_003(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let id = kit.ended("m", &operator).await;
            assert_eq!(kit.fails("SubscribeToTask", json!({"id": id})).await, "UNSUPPORTED_OPERATION");
        }
    }

    /// A task that does not exist cannot be followed.
    async fn stream_sub_004(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            assert_eq!(kit.fails("SubscribeToTask", json!({"id": UNKNOWN})).await, "TASK_NOT_FOUND");
        }
    }
}
