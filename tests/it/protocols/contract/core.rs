//! The requirements on messages, tasks and lists.

use domain::people::principal::Role;
use harness::api::Api;
use harness::on_each_store;
use serde_json::{Value, json};

use super::{Kit, UNKNOWN, kits};
use crate::protocols::state;

/// The ids of the tasks of a page.
fn ids(page: &Value) -> Vec<String> {
    page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

on_each_store! {
    /// A message is answered by a task or a message.
    async fn core_send_001(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let sent = kit.ok("SendMessage", kit.message("m", json!({}))).await;
            assert!(sent["task"].is_object() && sent.as_object().unwrap().len() == 1, "{sent}");
        }
    }

    /// A task that has ended takes no message.
    async fn core_send_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let ended = kit.ended("m", &operator).await;
            let canceled = kit.asked("n").await;
            kit.ok("CancelTask", json!({"id": canceled})).await;
            for task in [ended, canceled] {
                assert_eq!(kit.fails("SendMessage", kit.message("late", json!({"taskId": task}))).await, "UNSUPPORTED_OPERATION");
            }
        }
    }

    /// A media type that is not taken is refused by its own error.
    async fn core_send_003(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            for part in [json!({"raw": "aGk=", "mediaType": "image/png"}), json!({"text": "a", "mediaType": "text/html"})] {
                assert_eq!(kit.fails("SendMessage", kit.message("m", json!({"parts": [part]}))).await, "CONTENT_TYPE_NOT_SUPPORTED");
            }
        }
    }

    /// A task is shown as it is now.
    async fn core_get_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let task = kit.asks("m").await;
            assert_eq!(kit.ok("GetTask", json!({"id": task["id"]})).await, task);
            let ended = kit.ended("n", &operator).await;
            assert_eq!(state(&kit.ok("GetTask", json!({"id": ended})).await), "TASK_STATE_COMPLETED");
        }
    }

    /// A task that does not exist is not found.
    async fn core_get_002(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            for id in [UNKNOWN, "no-id"] {
                assert_eq!(kit.fails("GetTask", json!({"id": id})).await, "TASK_NOT_FOUND");
            }
        }
    }

    /// A list has only what the caller may read.
    async fn core_list_001(app: &mut TestApp) {
        let (agent, other) = (app.agent(), Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await)));
        for kit in kits(&agent) {
            kit.asked("m").await;
            let theirs = Kit { api: &other, ..kit }.asked("m").await;
            let page = kit.ok("ListTasks", json!({})).await;
            assert!(!ids(&page).contains(&theirs), "{page}");
            assert_eq!(page["totalSize"].as_u64().unwrap(), ids(&page).len() as u64);
        }
    }

    /// Pages follow each other by a cursor: nothing is missed or told twice, also if something changes in between.
    async fn core_list_002(app: &mut TestApp) {
        let agent = app.agent();
        let mut all = Vec::new();
        for number in 0..5 {
            all.push(kits(&agent)[0].asked(&format!("m-{number}")).await);
            app.advance(1).await;
        }
        all.reverse();
        for kit in kits(&agent) {
            let (mut seen, mut token) = (Vec::new(), String::new());
            loop {
                let page = kit.ok("ListTasks", json!({"pageSize": 2, "pageToken": token})).await;
                seen.extend(ids(&page));
                token = page["nextPageToken"].as_str().unwrap().to_owned();
                if token.is_empty() {
                    break;
                }
            }
            assert_eq!(seen, all);
            assert_eq!(kit.fails("ListTasks", json!({"pageToken": "5-7"})).await, "INVALID_PARAMS");
        }
    }

    /// The task that changed last comes first.
    async fn core_list_003(app: &mut TestApp) {
        let agent = app.agent();
        for kit in kits(&agent) {
            let first = kit.asked("a").await;
            app.advance(1).await;
            let second = kit.asked("b").await;
            app.advance(1).await;
            assert_eq!(ids(&kit.ok("ListTasks", json!({})).await)[..2], [second.clone(), first.clone()]);
            kit.ok("CancelTask", json!({"id": first})).await;
            assert_eq!(ids(&kit.ok("ListTasks", json!({})).await)[..2], [first, second]);
            app.advance(1).await;
        }
    }

    /// The last page has an empty token, and never none.
    async fn core_list_004(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            assert_eq!(kit.ok("ListTasks", json!({"contextId": "none"})).await["nextPageToken"], "");
            kit.asked("m").await;
            assert_eq!(kit.ok("ListTasks", json!({"pageSize": 100})).await["nextPageToken"], "");
        }
    }

    /// A list has artifacts on request alone.
    async fn core_list_005(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            kit.ended("m", &operator).await;
            for (params, has) in [(json!({}), false), (json!({"includeArtifacts": false}), false), (json!({"includeArtifacts": true}), true)] {
                let page = kit.ok("ListTasks", params).await;
                assert_eq!(page["tasks"][0]["artifacts"].is_array(), has, "{page}");
            }
        }
    }

    /// Cancelling gives the task as it is then.
    async fn core_cancel_001(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let id = kit.asked("m").await;
            let canceled = kit.ok("CancelTask", json!({"id": id})).await;
            assert_eq!((state(&canceled), &canceled["id"]), ("TASK_STATE_CANCELED", &json!(id)));
        }
    }

    /// A task that has ended cannot be cancelled.
    async fn core_cancel_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let ended = kit.ended("m", &operator).await;
            assert_eq!(kit.fails("CancelTask", json!({"id": ended})).await, "TASK_NOT_CANCELABLE");
        }
    }

    /// A task that does not exist cannot be cancelled.
    async fn core_cancel_003(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            assert_eq!(kit.fails("CancelTask", json!({"id": UNKNOWN})).await, "TASK_NOT_FOUND");
        }
    }

    /// A call that waits comes back when the task has ended or needs something: a question needs a person.
    async fn core_execution_mode_001(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let mut waits = kit.message("m", json!({}));
            waits["configuration"] = json!({"returnImmediately": false});
            assert_eq!(state(&kit.ok("SendMessage", waits).await["task"]), "TASK_STATE_AUTH_REQUIRED");
        }
    }

    /// A call that does not wait comes back at once.
    async fn core_execution_mode_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let works = agent.active_intent().await;
        for kit in kits(&operator) {
            let mut said = kit.message("m", json!({"taskId": works, "parts": [{"text": "Please hurry."}]}));
            said["configuration"] = json!({"returnImmediately": true});
            assert_eq!(state(&kit.ok("SendMessage", said).await["task"]), "TASK_STATE_WORKING");
        }
    }

    /// An error says what is wrong, and where.
    async fn core_err_001(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let got = kit.call("SendMessage", kit.message("m", json!({"role": "ROLE_AGENT"}))).await;
            let error = &got.body["error"];
            assert!(error["message"].as_str().unwrap().contains("ROLE_USER"), "{error}");
            let details = if error["data"].is_array() { &error["data"] } else { &error["details"] };
            assert_eq!(details[1]["fieldViolations"][0]["field"], "message.role");
        }
    }

    /// Parameters are checked before anything is done.
    async fn core_err_002(app: &mut TestApp) {
        let agent = app.agent();
        for kit in kits(&agent) {
            for wrong in [json!({"parts": []}), json!({"messageId": ""}), json!({"parts": [{"text": "a", "data": {}}]}), json!({"role": "ROLE_STRANGE"})] {
                assert_eq!(kit.fails("SendMessage", kit.message("m", wrong)).await, "INVALID_PARAMS");
            }
            assert_eq!(kit.fails("ListTasks", json!({"pageSize": 0})).await, "INVALID_PARAMS");
            assert_eq!(kit.fails("GetTask", json!({"id": UNKNOWN, "historyLength": -1})).await, "TASK_NOT_FOUND");
        }
        assert_eq!(agent.get("api/v1/intents").await.ok()["intents"], json!([]));
    }

    /// An operation that the card does not promise is refused by name: push notifications.
    async fn core_cap_001(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let id = kit.asked("m").await;
            let config = json!({"taskId": id, "id": "c", "url": "https://hooks.example/"});
            for operation in ["Create", "Get", "Delete"].map(|verb| format!("{verb}TaskPushNotificationConfig")) {
                assert_eq!(kit.fails(&operation, config.clone()).await, "PUSH_NOTIFICATION_NOT_SUPPORTED");
            }
            assert_eq!(kit.fails("ListTaskPushNotificationConfigs", json!({"taskId": id})).await, "PUSH_NOTIFICATION_NOT_SUPPORTED");
            let mut with = kit.message("n", json!({}));
            with["configuration"] = json!({"taskPushNotificationConfig": {"url": "https://hooks.example/"}});
            assert_eq!(kit.fails("SendMessage", with).await, "PUSH_NOTIFICATION_NOT_SUPPORTED");
        }
    }

    /// The card promises streams, and there are streams.
    async fn core_cap_002(app: &mut TestApp) {
        let (agent, card) = (app.agent(), app.anonymous().get(".well-known/agent-card.json").await.ok());
        assert_eq!(card["capabilities"]["streaming"], true);
        for kit in kits(&agent) {
            assert!(kit.stream("SendStreamingMessage", kit.message("m", json!({}))).await.next().await.is_some());
        }
    }

    /// The card promises a card for keys, and there is one.
    async fn core_cap_003(app: &mut TestApp) {
        let (agent, card) = (app.agent(), app.anonymous().get(".well-known/agent-card.json").await.ok());
        assert_eq!(card["capabilities"]["extendedAgentCard"], true);
        for kit in kits(&agent) {
            assert_eq!(kit.ok("GetExtendedAgentCard", json!({})).await["name"], card["name"]);
        }
    }

    /// No extension is required, so none is missing, and an unknown one is no error.
    async fn core_cap_004(app: &mut TestApp) {
        let (agent, card) = (app.agent(), app.anonymous().get(".well-known/agent-card.json").await.ok());
        let extensions = card["capabilities"]["extensions"].as_array().unwrap();
        assert!(!extensions.is_empty() && extensions.iter().all(|extension| extension["required"] == false), "{card}");
        for kit in kits(&agent) {
            let request = kit.request("SendMessage", kit.message("m", json!({"extensions": ["urn:example:unknown"]})));
            let got = kit.sent(request.header("a2a-version", "1.0").header("a2a-extensions", "urn:example:unknown")).await;
            assert_eq!((&*got.reason, got.headers.contains_key("a2a-extensions")), ("", false), "{}", got.body);
        }
    }

    /// A conversation that the server makes is told.
    async fn core_multi_001a(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let (one, two) = (kit.asks("a").await, kit.asks("b").await);
            assert!(!one["contextId"].as_str().unwrap().is_empty());
            assert_ne!(one["contextId"], two["contextId"]);
        }
    }

    /// A conversation of the client is taken as it is, or refused.
    async fn core_multi_002a(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let sent = kit.ok("SendMessage", kit.message("m", json!({"contextId": "talk"}))).await;
            assert_eq!(sent["task"]["contextId"], "talk");
            for wrong in ["c".repeat(201), "a\nb".to_owned()] {
                assert_eq!(kit.fails("SendMessage", kit.message("n", json!({"contextId": wrong}))).await, "INVALID_PARAMS");
            }
        }
    }

    /// Each task has an id of its own.
    async fn core_multi_003(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            assert_ne!(kit.asked("a").await, kit.asked("b").await);
        }
    }

    /// A message to a task that does not exist finds none, and makes none.
    async fn core_multi_004(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            for id in [UNKNOWN, "task-of-the-client"] {
                assert_eq!(kit.fails("SendMessage", kit.message("m", json!({"taskId": id}))).await, "TASK_NOT_FOUND");
            }
            assert_eq!(kit.ok("ListTasks", json!({})).await["totalSize"], 0);
        }
    }

    /// A message to a task belongs to the conversation of the task.
    async fn core_multi_005(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let task = kit.ok("SendMessage", kit.message("m", json!({"contextId": "talk"}))).await["task"].clone();
            let answer = kit.message("n", json!({"taskId": task["id"], "parts": [{"text": "no"}]}));
            assert_eq!(Kit { api: &operator, ..kit }.ok("SendMessage", answer).await["task"]["contextId"], "talk");
        }
    }

    /// A message to a task that names another conversation is refused.
    async fn core_multi_006(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let id = kit.asked("m").await;
            let answer = kit.message("n", json!({"taskId": id, "contextId": "another", "parts": [{"text": "no"}]}));
            assert_eq!(Kit { api: &operator, ..kit }.fails("SendMessage", answer).await, "INVALID_PARAMS");
            assert_eq!(state(&kit.ok("GetTask", json!({"id": id})).await), "TASK_STATE_AUTH_REQUIRED");
        }
    }

    /// The history is no longer than was asked for, and has the newest messages.
    async fn core_hist_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let id = kit.ended("m", &operator).await;
            for (wanted, had) in [(0, 0), (1, 1), (2, 2), (1_000, 2)] {
                let task = kit.ok("GetTask", json!({"id": id, "historyLength": wanted})).await;
                assert_eq!(task["history"].as_array().map_or(0, Vec::len), had, "{wanted}");
                let listed = kit.ok("ListTasks", json!({"pageSize": 1, "historyLength": wanted})).await;
                assert_eq!(listed["tasks"][0]["history"].as_array().map_or(0, Vec::len), had, "{wanted}");
            }
            assert_eq!(kit.fails("GetTask", json!({"id": id, "historyLength": 1_001})).await, "INVALID_PARAMS");
        }
    }
}
