//! The two bindings of A2A 1.0, the version 0.3, and calls that are none.

use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

use super::{Rpc, says, state};

/// Calls HTTP+JSON.
async fn rest(api: &Api, method: &str, path: &str, body: Option<Value>) -> Reply {
    let request = api.request(method, &format!("a2a/{path}")).header("a2a-version", "1.0");
    api.send(if let Some(body) = body { request.json(&body) } else { request }).await
}

fn reason(reply: &Reply) -> (u16, &str) {
    (reply.status, reply.body["error"]["details"][0]["reason"].as_str().unwrap_or_default())
}

/// Calls a method of 0.3: a call that names no version.
async fn earlier(api: &Api, method: &str, params: Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    api.send(api.request("POST", "a2a").json(&call)).await.ok()
}

on_each_store! {
    /// The same call on both bindings has the same effect and the same result.
    async fn http_and_json_does_what_json_rpc_does(app: &mut TestApp) {
        let api = app.agent();
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Deploy?"}]});
        let sent = rest(&api, "POST", "message:send", Some(json!({"message": message}))).await.ok()["task"].clone();
        assert_eq!(state(&sent), "TASK_STATE_AUTH_REQUIRED");
        let id = sent["id"].as_str().unwrap();
        assert_eq!(rest(&api, "GET", &format!("tasks/{id}"), None).await.ok(), Rpc(&api).task(id).await);
        let bare = rest(&api, "GET", &format!("tasks/{id}?historyLength=0"), None).await.ok();
        assert!(bare["history"].is_null() && bare["id"] == id, "{bare}");
        assert_eq!(rest(&api, "GET", "tasks?pageSize=5", None).await.ok(), Rpc(&api).result("ListTasks", json!({"pageSize": 5})).await);
        let answered = rest(&app.operator(), "POST", "message:send", Some(says(id, "n", &json!([{"text": "no"}])))).await.ok();
        assert_eq!(state(&answered["task"]), "TASK_STATE_COMPLETED");
        let second = Rpc(&api).asked("m-2").await;
        let canceled = rest(&api, "POST", &format!("tasks/{second}:cancel"), Some(json!({"id": second}))).await.ok();
        assert_eq!(state(&canceled), "TASK_STATE_CANCELED");
        assert_eq!(rest(&api, "GET", "extendedAgentCard", None).await.ok(), Rpc(&api).result("GetExtendedAgentCard", json!({})).await);
    }

    /// Each refusal has the status and the reason that the protocol gives it.
    async fn refusals_have_their_status_and_their_reason(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        let unknown = "01a20114-994c-7e8e-b24b-975054fd6315";
        for (method, path, body, wanted) in [
            ("GET", format!("tasks/{unknown}"), None, (404, "TASK_NOT_FOUND")),
            ("GET", "tasks/no-id".to_owned(), None, (404, "TASK_NOT_FOUND")),
            ("GET", format!("tasks/{id}?historyLength=1001"), None, (400, "INVALID_PARAMS")),
            ("GET", format!("tasks/{id}?historyLength=many"), None, (400, "INVALID_PARAMS")),
            ("GET", "tasks?pageSize=101".to_owned(), None, (400, "INVALID_PARAMS")),
            ("POST", format!("tasks/{unknown}:cancel"), Some(json!({})), (404, "TASK_NOT_FOUND")),
            ("POST", format!("tasks/{id}:cancel"), Some(json!({"id": unknown})), (400, "INVALID_PARAMS")),
            ("POST", "message:send".to_owned(), Some(json!({})), (400, "INVALID_PARAMS")),
            ("POST", "message:send".to_owned(), Some(says(&id, "n", &json!([{"text": "yes"}]))), (403, "self_response")),
            ("POST", format!("tasks/{id}/pushNotificationConfigs"), Some(json!({})), (400, "PUSH_NOTIFICATION_NOT_SUPPORTED")),
            ("GET", format!("tasks/{id}/pushNotificationConfigs/c"), None, (400, "PUSH_NOTIFICATION_NOT_SUPPORTED")),
            ("POST", format!("tasks/{id}:pause"), Some(json!({})), (404, "METHOD_NOT_FOUND")),
            ("GET", "nothing".to_owned(), None, (404, "METHOD_NOT_FOUND")),
        ] {
            let reply = rest(&api, method, &path, body).await;
            assert_eq!(reason(&reply), wanted, "{method} {path}");
            assert_eq!(reply.body["error"]["code"], wanted.0, "{method} {path}");
        }
        assert!(rest(&api, "GET", &format!("tasks/{id}?historyLength=1000&newer=1"), None).await.status == 200);
        let anonymous = rest(&app.anonymous(), "GET", &format!("tasks/{id}"), None).await;
        assert_eq!(reason(&anonymous), (401, "unauthorized"));
        assert!(anonymous.headers["www-authenticate"].to_str().unwrap().contains("Bearer"));
        let without = api.send(api.request("GET", &format!("a2a/tasks/{id}"))).await;
        assert_eq!(reason(&without), (400, "VERSION_NOT_SUPPORTED"));
    }

    /// The recommended media type is written where a client names it.
    async fn the_media_type_is_the_one_that_the_client_names(app: &mut TestApp) {
        let api = app.agent();
        let named = |accept: Option<&str>| {
            let request = api.request("GET", "a2a/tasks?A2A-Version=1.0");
            if let Some(accept) = accept { request.header("accept", accept) } else { request }
        };
        for (accept, wanted) in [
            (None, "application/json"),
            (Some("*/*"), "application/json"),
            (Some("application/a2a+json"), "application/a2a+json"),
            (Some("application/json, application/a2a+json;q=0.5"), "application/a2a+json"),
        ] {
            let reply = api.send(named(accept)).await;
            assert_eq!((reply.status, reply.headers["content-type"].to_str().unwrap()), (200, wanted), "{accept:?}");
        }
        let body = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "May I?"}]}}).to_string();
        let request = api.request("POST", "a2a/message:send").header("a2a-version", "1.0").header("content-type", "application/a2a+json");
        let reply = api.send(request.body(body.clone())).await;
        assert_eq!((reply.status, reply.headers["content-type"].to_str().unwrap()), (200, "application/a2a+json"));
        for (path, code) in [("a2a", "-32005"), ("a2a/message:send", "CONTENT_TYPE_NOT_SUPPORTED")] {
            let request = api.request("POST", path).header("a2a-version", "1.0").header("content-type", "text/plain");
            let reply = api.send(request.body(body.clone())).await;
            assert!(reply.text.contains(code), "{}", reply.text);
        }
    }

    /// A body that is no call is refused without an effect, with the id where there is one.
    async fn what_is_no_call_is_refused(app: &mut TestApp) {
        let api = app.agent();
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":
            {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "May I?"}]}}});
        let with = |name: &str, value: Value| {
            let mut call = call.clone();
            call[name] = value;
            call
        };
        let mut notification = call.clone();
        notification.as_object_mut().unwrap().remove("id");
        for (body, id, code) in [
            (json!([call]), Value::Null, -32600),
            (notification, Value::Null, -32600),
            (with("id", json!({"a": 1})), Value::Null, -32600),
            (with("id", json!(1.5)), Value::Null, -32600),
            (with("jsonrpc", json!("1.0")), json!(1), -32600),
            (with("params", json!([1])), json!(1), -32602),
            (with("method", json!("DoSomething")), json!(1), -32601),
            (with("method", json!("message/send")), json!(1), -32601),
            (with("method", json!("tasks/pause")), json!(1), -32601),
            (with("method", json!("PauseTask")), json!(1), -32601),
            (with("method", json!("CreateTaskPushNotificationConfig")), json!(1), -32003),
        ] {
            let reply = api.send(api.request("POST", "a2a").header("a2a-version", "1.0").json(&body)).await.ok();
            assert_eq!((&reply["id"], &reply["error"]["code"]), (&id, &json!(code)), "{body}");
        }
        let broken = api.request("POST", "a2a").header("content-type", "application/json").body("{\"jsonrpc\":");
        assert_eq!(api.send(broken).await.ok()["error"]["code"], -32700);
        for version in ["2.0", "1.1", "latest"] {
            let reply = api.send(api.request("POST", "a2a").header("a2a-version", version).json(&call)).await.ok();
            assert_eq!((&reply["error"]["code"], &reply["error"]["data"][0]["reason"]), (&json!(-32009), &json!("VERSION_NOT_SUPPORTED")));
        }
        assert_eq!(Rpc(&api).result("ListTasks", json!({})).await["totalSize"], 0);
    }

    /// A client that ends the address with a slash reaches the same door, with the same guards: it is not redirected, because then some clients
    /// would lose the body or the key.
    async fn a_slash_at_the_end_leads_to_the_same_door(app: &mut TestApp) {
        let (api, anonymous) = (app.agent(), app.anonymous());
        let call = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let message = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Deploy?"}]}});
        let at = |api: &Api, path: &str, body: &Value| api.request("POST", path).header("a2a-version", "1.0").json(body);
        let sends = call("SendMessage", message);
        let sent = api.send(at(&api, "a2a/", &sends)).await.ok()["result"]["task"].clone();
        assert_eq!(state(&sent), "TASK_STATE_AUTH_REQUIRED");
        assert_eq!(api.send(at(&api, "a2a", &sends)).await.ok()["result"]["task"], sent, "it is one question");
        let refused = anonymous.send(at(&anonymous, "a2a/", &sends)).await;
        assert_eq!((refused.status, &refused.body["error"]["code"]), (401, &json!(-32041)));
        let large = format!("{}{}", call("ListTasks", json!({})), " ".repeat(256 * 1024));
        let request = api.request("POST", "a2a/").header("content-type", "application/json").body(large);
        assert_eq!(api.send(request).await.status, 413);
        for path in ["a2a", "a2a/"] {
            let read = api.get(path).await;
            assert_eq!((read.status, read.headers["allow"].to_str().unwrap()), (405, "POST"), "{path}");
        }
        for path in ["a2a//", "a2a/x/"] {
            assert_eq!(api.send(at(&api, path, &sends)).await.status, 404, "{path}");
        }
        app.restart_with(|config| config.a2a.enabled = false).await;
        assert_eq!(app.agent().send(at(&app.agent(), "a2a/", &sends)).await.status, 404);
    }

    /// A body has at most 256 KiB, on both bindings.
    async fn a_body_has_its_bound(app: &mut TestApp) {
        let api = app.agent();
        // The whole body is counted, so the padding stands in white space behind the call.
        let body = |bytes: usize, call: &Value| {
            let call = call.to_string();
            format!("{call}{}", " ".repeat(bytes - call.len()))
        };
        let params = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "May I?"}]}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let most = 256 * 1024;
        for (path, content) in [("a2a", &call), ("a2a/message:send", &params)] {
            for (bytes, status) in [(most, 200), (most + 1, 413), (2 * 1024 * 1024, 413)] {
                let request = api.request("POST", path).header("a2a-version", "1.0").header("content-type", "application/json");
                let reply = api.send(request.body(body(bytes, content))).await;
                assert_eq!(reply.status, status, "{path} {bytes} {}", reply.text);
                assert_eq!(reply.body["error"].is_null(), status == 200, "{}", reply.text);
            }
        }
    }

    /// A call that names no version is one of 0.3, and is answered in its words.
    async fn the_version_before_is_spoken_where_none_is_named(app: &mut TestApp) {
        let api = app.agent();
        let message = json!({"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "Deploy?"}]});
        let params = json!({"message": message, "configuration": {"blocking": true}});
        let task = earlier(&api, "message/send", params).await["result"].clone();
        assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("auth-required")));
        assert_eq!(task["status"]["message"]["parts"][0]["kind"], "text");
        let id = task["id"].as_str().unwrap();
        let answer = json!({"messageId": "n", "role": "user", "taskId": id, "parts": [{"kind": "data", "data": {"value": "yes"}}]});
        let done = earlier(&app.operator(), "message/send", json!({"message": answer})).await["result"].clone();
        assert_eq!((&done["status"]["state"], &done["artifacts"][0]["parts"][0]["kind"]), (&json!("completed"), &json!("data")));
        let read = earlier(&api, "tasks/get", json!({"id": id, "metadata": {}})).await["result"].clone();
        assert_eq!(read["status"], done["status"]);
        for (method, code) in [("SendMessage", -32601), ("tasks/list", -32601), ("tasks/pushNotificationConfig/set", -32003)] {
            assert_eq!(earlier(&api, method, json!({"id": id})).await["error"]["code"], code, "{method}");
        }
        assert_eq!(earlier(&api, "tasks/cancel", json!({"id": id})).await["error"]["code"], -32002);
        let card = earlier(&api, "agent/getAuthenticatedExtendedCard", json!({})).await["result"].clone();
        assert_eq!((&card["protocolVersion"], &card["preferredTransport"]), (&json!("0.3.0"), &json!("JSONRPC")));
    }

    /// A key comes in either header, and no other text is one.
    async fn a_key_comes_in_either_header(app: &mut TestApp) {
        let (api, anonymous) = (app.agent(), app.anonymous());
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
        let with = |value: String| anonymous.request("POST", "a2a").header("a2a-version", "1.0").header("authorization", value).json(&call);
        assert_eq!(anonymous.send(with(format!("Bearer {}", api.key()))).await.ok()["result"]["totalSize"], 0);
        for wrong in ["Bearer nonsense".to_owned(), format!("Basic {}", api.key())] {
            let reply = anonymous.send(with(wrong)).await;
            assert_eq!((reply.status, &reply.body["error"]["code"], &reply.body["id"]), (401, &json!(-32041), &Value::Null));
            assert!(reply.headers["www-authenticate"].to_str().unwrap().contains("Bearer"));
        }
    }
}
