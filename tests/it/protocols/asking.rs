//! An agent asks by A2A: an intent and its question in one transaction, which end together.

use domain::people::principal::Role;
use harness::api::Api;
use harness::on_each_store;
use serde_json::{Value, json};

use super::{Rpc, says, state};

/// The value and the source of a task's artifact.
fn decision(task: &Value) -> (Value, String) {
    let data = &task["artifacts"][0]["parts"][0]["data"];
    (data["value"].clone(), data["source"].as_str().unwrap_or_default().to_owned())
}

on_each_store! {
    /// The whole way: an agent without an intent sends a text, a person presses a mailed link, and the task is completed. A server that
    /// was stopped in between changes nothing.
    async fn a_message_asks_and_a_mailed_link_answers(app: &mut TestApp) {
        let api = app.agent();
        let task = Rpc(&api).asks("m-1", json!([{"text": "Deploy to production?"}])).await;
        assert_eq!(state(&task), "TASK_STATE_AUTH_REQUIRED");
        assert!(task["status"]["message"]["parts"][0]["text"].as_str().unwrap().contains("Deploy to production?"), "{task}");
        assert!(!task.to_string().contains("suspensionId"), "the asker learns no capability: {task}");
        let id = task["id"].as_str().unwrap();
        app.settle().await;
        let link = app.next_link().await;
        app.restart().await;
        let api = app.agent();
        assert_eq!(state(&Rpc(&api).task(id).await), "TASK_STATE_AUTH_REQUIRED");
        let link = format!("{}a/{}", app.base, link.rsplit('/').next().unwrap());
        app.person().answer(&link, "yes").await;
        let task = Rpc(&api).task(id).await;
        assert_eq!((state(&task), decision(&task)), ("TASK_STATE_COMPLETED", (json!("yes"), "human".into())));
        assert_eq!(task["artifacts"][0]["parts"][0]["data"]["respondedBy"], "ops@example.com");
        let intent = id.parse().unwrap();
        let types = api.event_types(intent).await;
        let own: Vec<&str> = types.iter().map(String::as_str).filter(|name| !name.starts_with("delivery.")).collect();
        assert_eq!(own, ["intent_created", "intent.suspended", "status_changed", "intent.resumed", "status_changed"]);
        let events = api.events(intent).await;
        let of = |name: &str| events.iter().rfind(|event| event["event_type"] == name).unwrap()["payload"].clone();
        assert_eq!((&of("status_changed")["new_status"], &of("intent.resumed")["via"]), (&json!("completed"), &json!("link")));
        let errand = &of("intent.suspended")["errand"];
        assert_eq!((&errand["via"], &errand["message_id"], &errand["context_id"]), (&json!("a2a"), &json!("m-1"), &task["contextId"]));
        let roles: Vec<_> = task["history"].as_array().unwrap().iter().map(|message| (&message["messageId"], &message["role"])).collect();
        assert_eq!(roles[0], (&json!("m-1"), &json!("ROLE_USER")));
        assert_eq!(roles.len(), 2);
    }

    /// A client that did not get its answer sends the message again: no person is asked twice, and another message under the same id is
    /// refused. The id counts in the name of its agent alone.
    async fn a_repeated_message_is_the_same_task(app: &mut TestApp) {
        let api = app.agent();
        let first = Rpc(&api).asked("m-1").await;
        app.restart().await;
        let api = app.agent();
        assert_eq!(Rpc(&api).asked("m-1").await, first);
        let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Something else?"}]});
        let refused = Rpc(&api).error("SendMessage", json!({"message": message})).await;
        assert_eq!(refused, (200, -32602, "idempotency_mismatch".into()));
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await));
        assert_ne!(Rpc(&other).asked("m-1").await, first);
        app.settle().await;
        app.operator().get("api/v1/suspensions").await.ok()["suspensions"].as_array().map(|open| assert_eq!(open.len(), 2)).unwrap();
    }

    /// The intent ends with its question, whichever way that ends.
    async fn each_ending_has_its_state(app: &mut TestApp) {
        let api = app.agent();
        let rpc = Rpc(&api);
        let ask = async |id: &str, more: Value| {
            let mut data = json!({"question": "Refund?", "responseType": "choice", "timeoutSeconds": 60,
                "choices": [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}]});
            data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            Rpc(&api).asks(id, json!([{"data": data}])).await["id"].as_str().unwrap().to_owned()
        };
        let falls_back = ask("a", json!({"fallbackPolicy": "complete_with_fallback", "fallbackValue": "deny"})).await;
        let fails = ask("b", json!({})).await;
        let denied = ask("c", json!({"timeoutSeconds": 3_600})).await;
        let withdrawn = ask("d", json!({"timeoutSeconds": 3_600})).await;
        app.settle().await;
        let told = says(&denied, "n", &json!([{"text": "deny"}]));
        let no = Rpc(&app.operator()).result("SendMessage", told).await["task"].clone();
        assert_eq!((state(&no), decision(&no)), ("TASK_STATE_COMPLETED", (json!("deny"), "human".into())), "a no is an answer");
        let canceled = rpc.result("CancelTask", json!({"id": withdrawn})).await;
        assert_eq!(state(&canceled), "TASK_STATE_CANCELED");
        app.advance(61).await;
        let fallen = rpc.task(&falls_back).await;
        assert_eq!((state(&fallen), decision(&fallen)), ("TASK_STATE_COMPLETED", (json!("deny"), "fallback".into())));
        let failed = rpc.task(&fails).await;
        assert_eq!((state(&failed), failed["artifacts"].is_null()), ("TASK_STATE_FAILED", true));
        assert!(failed["status"]["message"]["parts"][0]["text"].as_str().unwrap().contains("deadline"), "{failed}");
        for (id, status) in [(&falls_back, "completed"), (&denied, "completed"), (&fails, "abandoned"), (&withdrawn, "abandoned")] {
            assert_eq!(api.status(id.parse().unwrap()).await, status, "{id}");
        }
        app.restart().await;
        let api = app.agent();
        for (id, wanted) in [(&fails, "TASK_STATE_FAILED"), (&withdrawn, "TASK_STATE_CANCELED"), (&denied, "TASK_STATE_COMPLETED")] {
            assert_eq!(state(&Rpc(&api).task(id).await), wanted);
        }
    }

    /// An errand ends with its question, and the requests that are open beside it end as well: otherwise people would be asked about an
    /// intent that has ended.
    async fn requests_beside_an_errand_end_with_it(app: &mut TestApp) {
        let api = app.agent();
        for (message, answers) in [("m-1", true), ("m-2", false)] {
            let id = Rpc(&api).asked(message).await;
            api.post(&format!("api/v1/intents/{id}/approvals"), json!({"action": "deploy"})).await.ok();
            let task = if answers {
                let said = says(&id, message, &json!([{"text": "yes"}]));
                Rpc(&app.operator()).result("SendMessage", said).await["task"].clone()
            } else {
                Rpc(&api).result("CancelTask", json!({"id": id})).await
            };
            assert_eq!(state(&task), if answers { "TASK_STATE_COMPLETED" } else { "TASK_STATE_CANCELED" });
            let open = app.operator().get("api/v1/suspensions").await.ok()["suspensions"].clone();
            assert_eq!(open, json!([]), "after {message}");
        }
    }

    /// A refused question leaves nothing behind: neither an intent nor a task.
    async fn a_refused_question_leaves_no_intent(app: &mut TestApp) {
        let api = app.agent();
        let before = api.get("api/v1/intents").await.ok();
        let refused = async |parts: Value| {
            let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": parts});
            let reply = Rpc(&api).call("SendMessage", json!({"message": message})).await.ok();
            let field = reply["error"]["data"][1]["fieldViolations"][0]["field"].as_str().unwrap_or_default().to_owned();
            (reply["error"]["code"].as_i64().unwrap(), field)
        };
        assert_eq!(refused(json!([{"text": ""}])).await, (-32602, "question".into()));
        assert_eq!(refused(json!([{"data": {"question": "q", "responseType": "choice"}}])).await.0, -32602);
        let supersedes = json!([{"data": {"question": "q", "responseType": "text", "supersedes": "x"}}]);
        assert_eq!(refused(supersedes).await, (-32602, "supersedes".into()));
        // The people to whom a question is assigned are known only to the store, which has made the intent by then.
        let assigned = json!([{"data": {"question": "q", "responseType": "confirm", "assignees": {"people": ["unlisted@example.com"]}}}]);
        assert_eq!(refused(assigned).await.0, -32602);
        assert_eq!(api.get("api/v1/intents").await.ok(), before);
        assert_eq!(Rpc(&api).result("ListTasks", json!({})).await["totalSize"], 0);
        let message = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "May I?"}]}});
        assert_eq!(Rpc(&app.operator()).error("SendMessage", message).await, (403, -32043, "forbidden".into()));
    }

    /// A client that writes names as the API does is told all of them, each at its place and as it was sent.
    async fn every_misspelt_member_of_a_question_is_told_at_its_place(app: &mut TestApp) {
        let api = app.agent();
        let places = async |data: Value| {
            let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"data": data}]});
            let reply = Rpc(&api).call("SendMessage", json!({"message": message})).await.ok();
            let told = reply["error"]["data"][1]["fieldViolations"].as_array().unwrap().clone();
            told.iter().map(|one| one["field"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let choices = json!([{"value": "a", "label": "A", "is_x": 1}, {"value": "b", "label": "B"}]);
        let question = json!({"question": "q", "choices": choices, "retryPolicy": {"max_attempts": 2}, "context": {"own_name": 1}});
        assert_eq!(places(question).await, ["choices[0].is_x", "retryPolicy.max_attempts"]);
        assert_eq!(places(json!({"question": "q", "retryPolicy": {"maxAttempt": 2}})).await, ["retryPolicy.maxAttempt"]);
        assert_eq!(places(json!({"question": "q", "retryPolicy": {"maxAttempts": "2"}})).await, ["retryPolicy.maxAttempts"]);
        assert_eq!(places(json!({"question": "q", "": 1})).await, ["\"\""]);
        assert_eq!(places(json!({"question": "q", "retryPolicy": {"": 2}})).await, ["retryPolicy.\"\""]);
        assert_eq!(Rpc(&api).result("ListTasks", json!({})).await["totalSize"], 0);
    }

    /// An errand has no work to which it could return.
    async fn an_errand_cannot_be_set_active(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        let admin = app.api(Role::Admin);
        let version = api.intent(id.parse().unwrap()).await["version"].to_string();
        let refused = admin.post_at(&format!("api/v1/intents/{id}/status"), &version, json!({"status": "active"})).await;
        assert_eq!(refused.problem(), (409, "invalid_transition"));
        let abandoned = api.post_at(&format!("api/v1/intents/{id}/status"), &version, json!({"status": "abandoned"})).await;
        assert_eq!(abandoned.ok()["status"], "abandoned");
        assert_eq!(state(&Rpc(&api).task(&id).await), "TASK_STATE_CANCELED");
    }

    /// An agent lists its own tasks, the one that changed last first, and people list all of them.
    async fn tasks_are_listed_by_their_last_change(app: &mut TestApp) {
        let api = app.agent();
        let rpc = Rpc(&api);
        let mut ids = Vec::new();
        for number in 0..4 {
            ids.push(rpc.asked(&format!("m-{number}")).await);
            app.advance(1).await;
        }
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await));
        let in_context = json!({"message": {"messageId": "m", "role": "ROLE_USER", "contextId": "talk", "parts": [{"text": "May I?"}]}});
        let of_other = Rpc(&other).result("SendMessage", in_context).await["task"].clone();
        assert_eq!(of_other["contextId"], "talk");
        app.advance(1).await;
        rpc.result("CancelTask", json!({"id": ids[0]})).await;
        let listed = async |params: Value| {
            let page = rpc.result("ListTasks", params).await;
            let ids: Vec<_> = page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect();
            (ids, page["nextPageToken"].as_str().unwrap().to_owned(), page["totalSize"].as_u64().unwrap())
        };
        let newest_first = vec![ids[0].clone(), ids[3].clone(), ids[2].clone(), ids[1].clone()];
        assert_eq!(listed(json!({})).await, (newest_first.clone(), String::new(), 4));
        let (one, token, total) = listed(json!({"pageSize": 3})).await;
        assert_eq!((&one[..], total), (&newest_first[..3], 4));
        assert_eq!(listed(json!({"pageSize": 3, "pageToken": token})).await, (newest_first[3..].to_vec(), String::new(), 4));
        assert_eq!(listed(json!({"status": "TASK_STATE_CANCELED"})).await.0, [ids[0].clone()]);
        assert!(listed(json!({"contextId": "talk"})).await.0.is_empty(), "the conversation of another agent shows none of its tasks");
        let page = Rpc(&app.operator()).result("ListTasks", json!({"contextId": "talk", "includeArtifacts": true})).await;
        assert_eq!(page["tasks"][0]["id"], of_other["id"]);
        assert_eq!(Rpc(&other).error("GetTask", json!({"id": ids[0]})).await, (200, -32001, "TASK_NOT_FOUND".into()));
        let unknown = "01a20114-994c-7e8e-b24b-975054fd6315";
        let (hidden, none) = (Rpc(&other).call("GetTask", json!({"id": ids[0]})).await, Rpc(&other).call("GetTask", json!({"id": unknown})).await);
        assert_eq!(hidden.text, none.text, "a task that may not be read looks like one that does not exist");
        let behind = async |id: &str| Rpc(&other).call("ListTasks", json!({"pageToken": format!("1790000000000000-{id}")})).await.text;
        for hidden in [ids[0].clone(), api.active_intent().await.to_string()] {
            assert_eq!(behind(&hidden).await, behind(unknown).await, "and so does its place in a list");
        }
    }
}
