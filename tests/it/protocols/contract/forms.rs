//! The requirements on the bindings, and on the form of what they carry.

use harness::api::Api;
use harness::on_each_store;
use serde_json::{Value, json};

use super::{Binding, Kit, UNKNOWN, kits};
use crate::protocols::state;

const STATES: [&str; 9] = [
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
    "TASK_STATE_UNSPECIFIED",
];

/// A task in each state that occurs here: one that waits, one that was answered, one that was cancelled, and work that goes on.
async fn tasks(kit: &Kit<'_>, operator: &Api) -> Vec<Value> {
    let canceled = kit.asked("canceled").await;
    kit.ok("CancelTask", json!({"id": canceled})).await;
    let works = kit.api.active_intent().await;
    let ids = [kit.asked("open").await, kit.ended("ended", operator).await, canceled, works.to_string()];
    let mut tasks = Vec::new();
    for id in ids {
        tasks.push(kit.ok("GetTask", json!({"id": id})).await);
    }
    tasks
}

/// Every message of a task.
fn messages(task: &Value) -> Vec<Value> {
    let status = Some(&task["status"]["message"]).filter(|message| message.is_object());
    task["history"].as_array().into_iter().flatten().chain(status).cloned().collect()
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// Every name of a member at or below a value, except those of data, which are the caller's own.
fn names(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                found.push(name.clone());
                if !["data", "metadata", "params", "schemes", "securitySchemes"].contains(&name.as_str()) {
                    names(member, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The calls that fail, each with the reason, the code of JSON-RPC, and the status and the word of HTTP.
fn failures(kit: &Kit<'_>, ended: &str) -> Vec<(&'static str, Value, &'static str, i64, u16, &'static str)> {
    let picture = json!({"parts": [{"raw": "aGk=", "mediaType": "image/png"}]});
    vec![
        ("GetTask", json!({"id": UNKNOWN}), "TASK_NOT_FOUND", -32001, 404, "NOT_FOUND"),
        ("CancelTask", json!({"id": ended}), "TASK_NOT_CANCELABLE", -32002, 400, "FAILED_PRECONDITION"),
        (
            "ListTaskPushNotificationConfigs",
            json!({"taskId": ended}),
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
            -32003,
            400,
            "FAILED_PRECONDITION",
        ),
        ("SubscribeToTask", json!({"id": ended}), "UNSUPPORTED_OPERATION", -32004, 400, "FAILED_PRECONDITION"),
        ("SendMessage", kit.message("p", picture), "CONTENT_TYPE_NOT_SUPPORTED", -32005, 400, "INVALID_ARGUMENT"),
        ("ListTasks", json!({"pageSize": 0}), "INVALID_PARAMS", -32602, 400, "INVALID_ARGUMENT"),
    ]
}

on_each_store! {
    /// A task has an id and a status.
    async fn dm_task_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            for task in tasks(&kit, &operator).await {
                assert!(is_text(&task["id"]) && is_text(&task["contextId"]) && task["status"].is_object(), "{task}");
            }
        }
    }

    /// A state is a word of the protocol.
    async fn dm_task_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            for task in tasks(&kit, &operator).await {
                assert!(STATES.contains(&state(&task)), "{task}");
            }
        }
    }

    /// A message has an id, a role and parts.
    async fn dm_msg_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let all: Vec<_> = tasks(&kit, &operator).await.iter().flat_map(messages).collect();
            assert!(all.len() > 3);
            for message in all {
                assert!(is_text(&message["messageId"]) && is_text(&message["role"]) && !message["parts"].as_array().unwrap().is_empty(), "{message}");
            }
        }
    }

    /// A role is a word of the protocol; the client is the user, and cannot speak as the agent.
    async fn dm_msg_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            for message in tasks(&kit, &operator).await.iter().flat_map(messages) {
                assert!(["ROLE_USER", "ROLE_AGENT"].contains(&message["role"].as_str().unwrap()), "{message}");
            }
            for wrong in ["ROLE_AGENT", "user", "ROLE_UNSPECIFIED", ""] {
                assert_eq!(kit.fails("SendMessage", kit.message("m", json!({"role": wrong}))).await, "INVALID_PARAMS");
            }
        }
    }

    /// A part has one content.
    async fn dm_part_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let tasks = tasks(&kit, &operator).await;
            let artifacts = tasks.iter().flat_map(|task| task["artifacts"].as_array().into_iter().flatten());
            let all = tasks.iter().flat_map(messages).chain(artifacts.cloned());
            for part in all.flat_map(|holder| holder["parts"].as_array().unwrap().clone()) {
                let contents = ["text", "raw", "url", "data"].iter().filter(|content| !part[**content].is_null()).count();
                assert_eq!(contents, 1, "{part}");
            }
            for wrong in [json!([{}]), json!([{"text": "a", "data": {}}]), json!([{"mediaType": "text/plain"}])] {
                assert_eq!(kit.fails("SendMessage", kit.message("m", json!({"parts": wrong}))).await, "INVALID_PARAMS");
            }
        }
    }

    /// An artifact has an id and parts.
    async fn dm_art_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let task = kit.ended("m", &operator).await;
            let artifacts = kit.ok("GetTask", json!({"id": task})).await["artifacts"].clone();
            let artifacts = artifacts.as_array().unwrap();
            assert!(artifacts.len() == 1 && is_text(&artifacts[0]["artifactId"]) && !artifacts[0]["parts"].as_array().unwrap().is_empty());
        }
    }

    /// A status has a state.
    async fn dm_status_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            for task in tasks(&kit, &operator).await {
                assert!(is_text(&task["status"]["state"]), "{task}");
            }
        }
    }

    /// Names are in camelCase.
    async fn dm_serial_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let mut found = Vec::new();
            tasks(&kit, &operator).await.iter().for_each(|task| names(task, &mut found));
            names(&kit.ok("ListTasks", json!({})).await, &mut found);
            names(&kit.ok("GetExtendedAgentCard", json!({})).await, &mut found);
            let wrong: Vec<_> = found.iter().filter(|name| name.contains('_') || name.contains('-')).collect();
            assert_eq!(wrong, Vec::<&String>::new());
        }
    }

    /// Words of an enumeration are its names.
    async fn dm_serial_002(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let task = kit.asks("m").await;
            assert_eq!((state(&task), &task["status"]["message"]["role"]), ("TASK_STATE_AUTH_REQUIRED", &json!("ROLE_AGENT")));
            assert_eq!(kit.ok("ListTasks", json!({"status": "TASK_STATE_AUTH_REQUIRED"})).await["tasks"][0]["id"], task["id"]);
        }
    }

    /// Times are in UTC, with milliseconds.
    async fn dm_serial_003(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            for task in tasks(&kit, &operator).await {
                let time = task["status"]["timestamp"].as_str().unwrap();
                assert!(time.len() == "2026-11-24T08:00:00.000Z".len() && time.ends_with('Z') && &time[19..20] == ".", "{time}");
            }
        }
    }

    /// A member that a message must have is there, and is demanded of the client.
    async fn dm_serial_004(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            for missing in ["messageId", "role", "parts"] {
                let mut message = kit.message("m", json!({}));
                message["message"].as_object_mut().unwrap().remove(missing);
                assert_eq!(kit.fails("SendMessage", message).await, "INVALID_PARAMS", "{missing}");
            }
            let page = kit.ok("ListTasks", json!({})).await;
            assert!(["tasks", "nextPageToken", "pageSize", "totalSize"].iter().all(|member| !page[member].is_null()), "{page}");
        }
    }

    /// A member that the protocol does not have is left alone (a recommendation), and one that a question does not have is refused.
    async fn dm_serial_005(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let mut message = kit.message("m", json!({"newer": 1, "parts": [{"text": "Deploy?", "newer": {"a": []}}]}));
            message["newer"] = json!(true);
            message["configuration"] = json!({"newer": "x", "historyLength": 0});
            let task = kit.ok("SendMessage", message).await["task"].clone();
            assert!(task["history"].is_null(), "the members beside it are understood: {task}");
            let question = json!({"question": "Deploy?", "newer": 1});
            let message = kit.message("n", json!({"parts": [{"data": question}]}));
            assert_eq!(kit.fails("SendMessage", message).await, "INVALID_PARAMS");
        }
    }

    /// A name is read as the definition in protobuf has it, too: writers of its JSON may choose either.
    async fn names_of_the_definition_are_read_as_well(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let kit = Kit { api: &agent, binding: Binding::JsonRpc };
        let message = json!({"message_id": "m", "role": "ROLE_USER", "context_id": "c", "parts": [{"text": "Deploy?", "media_type": "text/plain"}]});
        let task = kit.ok("SendMessage", json!({"message": message, "configuration": {"history_length": 0}})).await["task"].clone();
        assert_eq!((&task["contextId"], &task["history"]), (&json!("c"), &Value::Null));
        kit.asked("other").await;
        assert_eq!(kit.ok("ListTasks", json!({"context_id": "c", "page_size": 1})).await["totalSize"], 1);
        assert!(kit.ok("GetTask", json!({"id": task["id"], "history_length": 0})).await["history"].is_null());
        let answer = json!({"message_id": "n", "role": "ROLE_USER", "task_id": task["id"], "parts": [{"text": "yes"}]});
        let answered = Kit { api: &operator, ..kit }.ok("SendMessage", json!({"message": answer})).await;
        assert_eq!(answered["task"]["id"], task["id"], "it answers, and asks nothing anew");
        assert_eq!(kit.fails("ListTasks", json!({"pageSize": 1, "page_size": 1})).await, "INVALID_PARAMS");
    }

    /// The warnings about a question are in the metadata, which is free, so a strict parser takes them. A message that comes again is told them
    /// again, because the first reply may have been lost. Later readers do not see them.
    async fn the_asker_reads_the_warnings_about_its_question(app: &mut TestApp) {
        let agent = app.agent();
        let choices = json!([{"value": "approve", "label": "I deny"}, {"value": "deny", "label": "Deny it"}]);
        let data = json!({"question": "Refund?", "responseType": "choice", "timeoutSeconds": 3_600, "choices": choices});
        let warning = "choices: An answer says one thing and sends another. People are warned.";
        let warned = json!({"urn:placet:a2a:question:v1": {"warnings": [warning]}});
        for kit in kits(&agent) {
            let misleading = |id: &str| kit.message(id, json!({"parts": [{"data": data}]}));
            let task = kit.ok("SendMessage", misleading("m")).await["task"].clone();
            assert_eq!(task["metadata"], warned, "{task}");
            assert_eq!(kit.ok("SendMessage", misleading("m")).await["task"]["metadata"], warned);
            assert_eq!(kit.ok("GetTask", json!({"id": task["id"]})).await["metadata"], Value::Null);
            let first = kit.stream("SendStreamingMessage", misleading("s")).await.next().await.unwrap();
            assert_eq!(first["task"]["metadata"], warned, "{first}");
            assert_eq!(kit.asks("honest").await["metadata"], Value::Null);
        }
    }

    /// Each operation is on both bindings.
    async fn bind_equiv_001(app: &mut TestApp) {
        let agent = app.agent();
        for kit in kits(&agent) {
            let id = kit.asked("m").await;
            kit.ok("GetTask", json!({"id": id})).await;
            kit.ok("ListTasks", json!({})).await;
            kit.ok("GetExtendedAgentCard", json!({})).await;
            kit.stream("SubscribeToTask", json!({"id": id})).await;
            kit.stream("SendStreamingMessage", kit.message("n", json!({}))).await;
            kit.ok("CancelTask", json!({"id": id})).await;
            assert_eq!(kit.fails("ListTaskPushNotificationConfigs", json!({"taskId": id})).await, "PUSH_NOTIFICATION_NOT_SUPPORTED");
        }
    }

    /// The same call has the same result on both bindings.
    async fn bind_equiv_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let [one, two] = kits(&agent);
        let id = one.ended("m", &operator).await;
        one.asked("n").await;
        for (operation, params) in [
            ("GetTask", json!({"id": id})),
            ("GetTask", json!({"id": id, "historyLength": 1})),
            ("ListTasks", json!({"includeArtifacts": true, "historyLength": 2})),
            ("ListTasks", json!({"pageSize": 1, "status": "TASK_STATE_COMPLETED"})),
            ("GetExtendedAgentCard", json!({})),
        ] {
            assert_eq!(one.ok(operation, params.clone()).await, two.ok(operation, params).await, "{operation}");
        }
    }

    /// The same error has the same reason on both bindings, and its code and status there.
    async fn bind_equiv_003(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for kit in kits(&agent) {
            let ended = kit.ended("m", &operator).await;
            for (operation, params, reason, code, status, word) in failures(&kit, &ended) {
                let got = kit.call(operation, params).await;
                assert_eq!(got.reason, reason);
                let error = &got.body["error"];
                match kit.binding {
                    Binding::JsonRpc => assert_eq!(error["code"], code, "{reason}"),
                    Binding::HttpJson => assert_eq!((got.http, &error["code"], &error["status"]), (status, &json!(status), &json!(word)), "{reason}"),
                }
            }
        }
    }

    /// Both bindings take the keys that the card names.
    async fn bind_equiv_004(app: &mut TestApp) {
        let (agent, anonymous) = (app.agent(), app.anonymous());
        let card = anonymous.get(".well-known/agent-card.json").await.ok();
        assert_eq!(card["securityRequirements"].as_array().unwrap().len(), 2);
        for kit in kits(&anonymous) {
            for (header, value) in [("x-api-key", agent.key().to_owned()), ("authorization", format!("Bearer {}", agent.key()))] {
                let request = kit.request("ListTasks", json!({})).header("a2a-version", "1.0").header(header, value);
                assert_eq!(kit.sent(request).await.reason, "", "{header}");
            }
        }
    }

    /// The card names every binding that is served.
    async fn bind_field_001(app: &mut TestApp) {
        let card = app.anonymous().get(".well-known/agent-card.json").await.ok();
        let named: Vec<_> = card["supportedInterfaces"].as_array().unwrap().iter().map(|one| one["protocolBinding"].clone()).collect();
        assert_eq!(named, ["JSONRPC", "HTTP+JSON"]);
    }

    /// A call and its response have the form of JSON-RPC 2.0.
    async fn jsonrpc_fmt_001(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::JsonRpc };
        let body = kit.call("ListTasks", json!({})).await.body;
        assert_eq!((&body["jsonrpc"], &body["id"], body["error"].is_null()), (&json!("2.0"), &json!("k"), true));
        for wrong in [json!({"id": 1, "method": "ListTasks"}), json!({"jsonrpc": "1.0", "id": 1, "method": "ListTasks"}), json!([])] {
            let got = kit.sent(agent.request("POST", "a2a").header("a2a-version", "1.0").json(&wrong)).await;
            assert_eq!(got.body["error"]["code"], -32600, "{wrong}");
        }
    }

    /// The media type is application/json; another one is refused by its own error.
    async fn jsonrpc_fmt_002(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::JsonRpc };
        assert_eq!(kit.call("ListTasks", json!({})).await.headers["content-type"].to_str().unwrap(), "application/json");
        let request = agent.request("POST", "a2a").header("a2a-version", "1.0").header("content-type", "text/plain").body("{}");
        assert_eq!(kit.sent(request).await.body["error"]["code"], -32005);
    }

    /// Methods have the names of the operations, to the letter.
    async fn jsonrpc_svc_001(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::JsonRpc };
        kit.ok("ListTasks", json!({})).await;
        for wrong in ["listTasks", "list_tasks", "tasks/list", "LISTTASKS"] {
            assert_eq!(kit.call(wrong, json!({})).await.body["error"]["code"], -32601, "{wrong}");
        }
    }

    /// Version and extensions come in headers.
    async fn jsonrpc_svc_002(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::JsonRpc };
        let request = kit.request("ListTasks", json!({})).header("A2A-Version", "1.0");
        let got = kit.sent(request.header("A2A-Extensions", "urn:placet:a2a:question:v1")).await;
        assert_eq!((&*got.reason, got.headers["a2a-extensions"].to_str().unwrap()), ("", "urn:placet:a2a:question:v1"));
    }

    /// An error has a code and a message, and no result beside it.
    async fn jsonrpc_err_001(app: &mut TestApp) {
        let agent = app.agent();
        let body = Kit { api: &agent, binding: Binding::JsonRpc }.call("GetTask", json!({"id": UNKNOWN})).await.body;
        assert!(body["error"]["code"].is_i64() && is_text(&body["error"]["message"]) && body.get("result").is_none(), "{body}");
        assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!("k")));
    }

    /// The codes of the protocol's own errors lie where it says.
    async fn jsonrpc_err_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let kit = Kit { api: &agent, binding: Binding::JsonRpc };
        let ended = kit.ended("m", &operator).await;
        for (operation, params, reason, ..) in failures(&kit, &ended).into_iter().filter(|failure| failure.2 != "INVALID_PARAMS") {
            let code = kit.call(operation, params).await.body["error"]["code"].as_i64().unwrap();
            assert!((-32099..=-32001).contains(&code), "{reason} {code}");
        }
    }

    /// An error says its reason in an `ErrorInfo`.
    async fn jsonrpc_err_003(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let kit = Kit { api: &agent, binding: Binding::JsonRpc };
        let ended = kit.ended("m", &operator).await;
        for (operation, params, reason, ..) in failures(&kit, &ended) {
            let info = kit.call(operation, params).await.body["error"]["data"][0].clone();
            assert_eq!((&info["@type"], &info["reason"], &info["domain"]), (&json!("type.googleapis.com/google.rpc.ErrorInfo"), &json!(reason), &json!("a2a-protocol.org")));
        }
    }

    /// A stream is one of events, each of which is a response to the call.
    async fn jsonrpc_sse_001(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::JsonRpc };
        let mut response = kit.request("SendStreamingMessage", kit.message("m", json!({}))).header("a2a-version", "1.0").send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let first = response.chunk().await.unwrap().unwrap();
        let data = std::str::from_utf8(&first).unwrap().strip_prefix("data: ").unwrap().trim_end();
        let item: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&item["jsonrpc"], &item["id"], item["result"]["task"].is_object()), (&json!("2.0"), &json!("k"), true));
    }

    /// Each error has the code that the protocol gives it.
    async fn jsonrpc_sse_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let kit = Kit { api: &agent, binding: Binding::JsonRpc };
        let ended = kit.ended("m", &operator).await;
        for (operation, params, reason, code, ..) in failures(&kit, &ended) {
            assert_eq!(kit.call(operation, params).await.body["error"]["code"], code, "{reason}");
        }
    }

    /// Resources have their paths.
    async fn http_json_url_001(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::HttpJson };
        let id = kit.asked("m").await;
        for path in ["a2a/tasks".to_owned(), format!("a2a/tasks/{id}"), "a2a/extendedAgentCard".to_owned()] {
            assert_eq!(agent.send(agent.request("GET", &path).header("a2a-version", "1.0")).await.status, 200, "{path}");
        }
        let cancel = agent.request("POST", &format!("a2a/tasks/{id}:cancel")).header("a2a-version", "1.0").json(&json!({}));
        assert_eq!(agent.send(cancel).await.status, 200);
    }

    /// Each operation has its method, and no other.
    async fn http_json_url_002(app: &mut TestApp) {
        let agent = app.agent();
        for (method, path) in [("GET", "message:send"), ("DELETE", "tasks"), ("POST", "extendedAgentCard"), ("PUT", "tasks/x")] {
            let reply = agent.send(agent.request(method, &format!("a2a/{path}")).header("a2a-version", "1.0")).await;
            assert_eq!(reply.status, 405, "{method} {path}");
        }
    }

    /// The media type is application/json, unless the client names that of the protocol.
    async fn http_json_svc_001(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::HttpJson };
        for (operation, params) in [("ListTasks", json!({})), ("GetTask", json!({"id": UNKNOWN})), ("SendMessage", kit.message("m", json!({})))] {
            assert_eq!(kit.call(operation, params).await.headers["content-type"].to_str().unwrap(), "application/json");
        }
    }

    /// Version and extensions come in headers.
    async fn http_json_svc_002(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::HttpJson };
        let request = kit.request("ListTasks", json!({})).header("A2A-Version", "1.0");
        let got = kit.sent(request.header("A2A-Extensions", "urn:placet:a2a:question:v1")).await;
        assert_eq!((got.http, got.headers["a2a-extensions"].to_str().unwrap()), (200, "urn:placet:a2a:question:v1"));
    }

    /// Parameters of a query are in camelCase.
    async fn http_json_qp_001(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::HttpJson };
        assert_eq!(kit.ok("ListTasks", json!({"pageSize": 5, "includeArtifacts": true, "historyLength": 1})).await["pageSize"], 5);
        for wrong in [json!({"page_size": 5}), json!({"include_artifacts": true})] {
            assert_eq!(kit.fails("ListTasks", wrong).await, "INVALID_PARAMS");
        }
    }

    /// An error has the form of AIP-193.
    async fn http_json_err_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let kit = Kit { api: &agent, binding: Binding::HttpJson };
        let ended = kit.ended("m", &operator).await;
        for (operation, params, reason, ..) in failures(&kit, &ended) {
            let got = kit.call(operation, params).await;
            let error = &got.body["error"];
            assert_eq!(error["code"], got.http, "{reason}");
            assert!(is_text(&error["status"]) && is_text(&error["message"]) && error["details"].is_array(), "{error}");
        }
    }

    /// An error says its reason in an `ErrorInfo`.
    async fn http_json_err_002(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let kit = Kit { api: &agent, binding: Binding::HttpJson };
        let ended = kit.ended("m", &operator).await;
        for (operation, params, reason, ..) in failures(&kit, &ended) {
            let info = kit.call(operation, params).await.body["error"]["details"][0].clone();
            assert_eq!((&info["@type"], &info["reason"], &info["domain"]), (&json!("type.googleapis.com/google.rpc.ErrorInfo"), &json!(reason), &json!("a2a-protocol.org")));
        }
    }

    /// Each error has the status that the protocol gives it.
    async fn http_json_status_001(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let kit = Kit { api: &agent, binding: Binding::HttpJson };
        let ended = kit.ended("m", &operator).await;
        for (operation, params, reason, _, status, _) in failures(&kit, &ended) {
            assert_eq!(kit.call(operation, params).await.http, status, "{reason}");
        }
        let request = agent.request("POST", "a2a/message:send").header("a2a-version", "1.0").header("content-type", "text/plain");
        let got = kit.sent(request.body("{}")).await;
        assert_eq!((got.http, &*got.reason), (415, "CONTENT_TYPE_NOT_SUPPORTED"), "it is the request that has the wrong type");
    }

    /// A stream is one of events, each of which is an item.
    async fn http_json_sse_001(app: &mut TestApp) {
        let agent = app.agent();
        let kit = Kit { api: &agent, binding: Binding::HttpJson };
        let mut response = kit.request("SendStreamingMessage", kit.message("m", json!({}))).header("a2a-version", "1.0").send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let first = response.chunk().await.unwrap().unwrap();
        let data = std::str::from_utf8(&first).unwrap().strip_prefix("data: ").unwrap().trim_end();
        assert!(serde_json::from_str::<Value>(data).unwrap()["task"].is_object(), "{data}");
    }
}
