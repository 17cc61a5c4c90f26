//! Bodies that are no call, or that two readers could understand differently.

use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::contract::kits;
use super::following::Items;
use super::{Rpc, says, state};

/// Sends these bytes over JSON-RPC.
async fn sent(api: &Api, body: impl Into<Vec<u8>>) -> Reply {
    let request = api.request("POST", "a2a").header("a2a-version", "1.0").header("content-type", "application/json");
    api.send(request.body(body.into())).await
}

/// A call that asks, with this id.
fn asks(id: &str) -> String {
    format!(
        r#"{{"jsonrpc": "2.0", "id": {id}, "method": "SendMessage", "params": {{"message": {{"messageId": "m", "role": "ROLE_USER", "parts": [{{"text": "May I?"}}]}}}}}}"#
    )
}

/// A call that asks, whose part has this metadata.
fn with_metadata(metadata: &str) -> String {
    asks("1").replace(r#"{"text": "May I?"}"#, &format!(r#"{{"text": "May I?", "metadata": {{{metadata}}}}}"#))
}

/// A call that nests so deep in all: the metadata are its sixth level.
fn nested(depth: usize) -> String {
    let inner = depth - 6;
    with_metadata(&format!("\"a\": {}{}", "[".repeat(inner), "]".repeat(inner)))
}

/// A call with so many members in all: it has ten besides those of the metadata.
fn with_members(count: usize) -> String {
    with_metadata(&(10..count).map(|number| format!("\"n{number}\": 0")).collect::<Vec<_>>().join(", "))
}

on_each_store! {
    /// An id is a text or a whole number that every reader of JSON agrees on, and comes back as it is.
    async fn the_id_of_a_call_is_a_text_or_a_whole_number(app: &mut TestApp) {
        let api = app.agent();
        let long = |bytes: usize| json!("i".repeat(bytes)).to_string();
        let unread = "9007199254740992";
        for (id, code) in [
            ("null", -32600), ("true", -32600), ("false", -32600), ("{}", -32600), ("{\"a\": 1}", -32600), ("[]", -32600), ("[1]", -32600),
            ("1.5", -32600), ("1.0", -32600), ("1e3", -32600), (unread, -32700), ("-9007199254740992", -32700), ("1e300", -32700), ("NaN", -32700),
            ("01", -32700), (&*long(1_001), -32600), ("\"\\ud800\"", -32700),
        ] {
            let reply = sent(&api, asks(id)).await.ok();
            assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(code), &Value::Null), "{id}: {reply}");
        }
        assert_eq!(Rpc(&api).result("ListTasks", json!({})).await["totalSize"], 0);
        for id in ["9007199254740991", "-9007199254740991", "0", "\"\"", "\"\\u0000\"", &*long(1_000)] {
            let reply = sent(&api, asks(id)).await.ok();
            assert_eq!((&reply["id"], state(&reply["result"]["task"])), (&serde_json::from_str::<Value>(id).unwrap(), "TASK_STATE_AUTH_REQUIRED"));
        }
    }

    /// A body of which two readers could see different calls is none, and neither is one that has no end of levels or members.
    async fn a_body_that_can_be_understood_in_two_ways_is_no_call(app: &mut TestApp) {
        let api = app.agent();
        let call = asks("1");
        let twice = |name: &str, other: &str| call.replacen(&format!("\"{name}\":"), &format!("\"{name}\": {other}, \"{name}\":"), 1);
        for (body, code) in [
            (String::new(), -32700), ("[]".into(), -32600), (format!("[{call}]"), -32600), (format!("[{call}, {call}]"), -32600), ("[[]]".into(), -32600),
            ("null".into(), -32600), ("5".into(), -32600), ("\"call\"".into(), -32600), (call.replace("\"id\": 1, ", ""), -32600),
            (call.replace("\"2.0\"", "2.0"), -32600), (call.replace("\"jsonrpc\"", "\"rpc\""), -32600), (call.replace("\"SendMessage\"", "null"), -32600),
            (call.replace("\"params\"", "\"Params\""), -32600), (twice("id", "2"), -32700), (twice("method", "\"GetTask\""), -32700),
            (twice("text", "\"Nothing\""), -32700), (twice("messageId", "\"o\""), -32700), (format!("{call}{call}"), -32700), (format!("{call}]"), -32700),
            (format!("\u{feff}{call}"), -32700), (call.replace("May I?", "May\u{0}I?"), -32700), (call.replace("May I?", "\\ud800"), -32700),
            (nested(33), -32700), (nested(10_000), -32700), ("[".repeat(100_000), -32700), (with_members(2_001), -32700),
            (call.replace("messageId", "message_id\": \"m\", \"messageId"), -32602),
        ] {
            let reply = sent(&api, body.clone()).await.ok();
            assert_eq!(reply["error"]["code"], code, "{}: {reply}", body.chars().take(200).collect::<String>());
        }
        for bytes in [b"\xff\xfe".as_slice(), b"\xc3(", b"\xed\xa0\x80", b"\xf0\x9f\x92"] {
            let body = [asks("1").split_once("May").unwrap().0.as_bytes(), bytes, b"\"}]}}}"].concat();
            assert_eq!(sent(&api, body).await.ok()["error"]["code"], -32700, "{bytes:?}");
        }
        assert_eq!(Rpc(&api).result("ListTasks", json!({})).await["totalSize"], 0);
        for (number, body) in [nested(32), with_members(2_000)].into_iter().enumerate() {
            let reply = sent(&api, body.replacen("\"m\"", &format!("\"m-{number}\""), 1)).await.ok();
            assert_eq!(state(&reply["result"]["task"]), "TASK_STATE_AUTH_REQUIRED", "{reply}");
        }
    }

    /// A text may hold a NUL where only people read it, and never where a database looks for it.
    async fn a_nul_in_a_text_is_refused_or_kept(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let nul = "a\u{0}b";
        for kit in kits(&agent) {
            let task = kit.asked("first").await;
            for message in [
                json!({"messageId": nul}), json!({"contextId": nul}), json!({"parts": [{"text": nul}]}), json!({"parts": [{"data": {"question": nul}}]}),
                json!({"parts": [{"data": {"question": "Which?", "responseType": "choice", "choices": [{"value": nul, "label": "A"}]}}]}),
                json!({"taskId": task, "contextId": nul}),
            ] {
                let got = kit.call("SendMessage", kit.message("n", message.clone())).await;
                assert_eq!(got.reason, "INVALID_PARAMS", "{:?} {message} {}", kit.binding, got.body);
            }
            for given in [json!({"contextId": nul}), json!({"pageToken": nul}), json!({"status": nul}), json!({"statusTimestampAfter": nul})] {
                assert_eq!(kit.fails("ListTasks", given.clone()).await, "INVALID_PARAMS", "{:?} {given}", kit.binding);
            }
            let as_operator = super::contract::Kit { api: &operator, ..kit };
            let told = as_operator.ok("SendMessage", kit.message("o", json!({"taskId": task, "parts": [{"text": nul}]}))).await;
            assert_eq!(state(&told["task"]), "TASK_STATE_AUTH_REQUIRED");
            let mut comment = kit.message("p", json!({"taskId": agent.active_intent().await.to_string(), "parts": [{"text": nul}]}));
            comment["configuration"] = json!({"returnImmediately": true});
            let told = as_operator.ok("SendMessage", comment).await;
            assert_eq!(told["task"]["history"][0]["parts"][0]["text"], nul);
        }
        let intent = agent.active_intent().await;
        let text = agent.suspend(intent, json!({"question": "What?", "response_type": "text", "choices": null})).await;
        assert_eq!(text.status, 200, "{}", text.text);
        let said = Rpc(&operator).call("SendMessage", says(&intent.to_string(), "q", &json!([{"text": nul}]))).await;
        assert!(said.status == 200, "{}", said.text);
    }

    /// A parameter of a query that comes twice is refused, as everywhere.
    async fn a_parameter_comes_once(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        for path in [
            format!("a2a/tasks/{id}?historyLength=1&historyLength=2"), "a2a/tasks?pageSize=1&pageSize=1".into(), "a2a/tasks?contextId=a&contextId=b".into(),
            format!("a2a/tasks/{id}:subscribe?tenant=&tenant="),
        ] {
            let reply = api.send(api.request("GET", &path).header("a2a-version", "1.0")).await;
            assert_eq!((reply.status, &reply.body["error"]["details"][0]["reason"]), (400, &json!("INVALID_PARAMS")), "{path} {}", reply.text);
        }
        for version in ["", "0.3", "1.1", "2.0", "1", "v1.0", "1.0, 1.0", "latest"] {
            let reply = api.send(api.request("GET", &format!("a2a/tasks/{id}")).header("a2a-version", version)).await;
            assert_eq!((reply.status, &reply.body["error"]["details"][0]["reason"]), (400, &json!("VERSION_NOT_SUPPORTED")), "{version}");
        }
    }

    /// Headers that name different versions name none: this server and a proxy in front of it could read different ones.
    async fn headers_that_name_different_versions_are_refused(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
        for (one, other) in [("1.0", "0.3"), ("0.3", "1.0"), ("1.0", ""), ("", "1.0"), ("1.0", "2.0")] {
            let with = |method: &str, path: &str| api.request(method, path).header("a2a-version", one).header("a2a-version", other);
            let reply = api.send(with("POST", "a2a").json(&call)).await.ok();
            assert_eq!(reply["error"]["code"], -32009, "{one} {other} {reply}");
            let reply = api.send(with("GET", &format!("a2a/tasks/{id}"))).await;
            assert_eq!((reply.status, &reply.body["error"]["details"][0]["reason"]), (400, &json!("VERSION_NOT_SUPPORTED")), "{one} {other}");
        }
        let same = api.request("POST", "a2a").header("a2a-version", "1.0").header("a2a-version", "1.0").json(&call);
        assert_eq!(api.send(same).await.ok()["result"]["id"], id);
    }

    /// A client that stops reading its stream holds up no other one, and misses nothing when it reads on.
    async fn a_client_that_stops_reading_holds_up_no_other(app: &mut TestApp) {
        const CHANGES: usize = 50;
        let (agent, operator) = (app.agent(), app.api(Role::Operator));
        let intent = agent.active_intent().await;
        let mut idle = Items::open(&operator, "SubscribeToTask", json!({"id": intent})).await;
        let mut busy = Items::open(&operator, "SubscribeToTask", json!({"id": intent})).await;
        busy.next().await.unwrap();
        for number in 0..CHANGES {
            let question = format!("{number}: {}", "?".repeat(2_000));
            let asked = agent.suspend(intent, json!({"question": question})).await.ok()["id"].as_str().unwrap().to_owned();
            let told = busy.next().await.unwrap()["statusUpdate"]["status"].clone();
            assert_eq!(told["state"], "TASK_STATE_INPUT_REQUIRED", "{told}");
            operator.respond(intent, &asked, "approve").await.ok();
            assert_eq!(busy.next().await.unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_WORKING");
        }
        agent.complete(intent).await;
        assert_eq!(busy.next().await.unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        idle.next().await.unwrap();
        let told = timeout(harness::process::PATIENCE, idle.rest()).await.expect("the rest comes in time");
        assert_eq!(told.len(), 2 * CHANGES + 1, "{told:?}");
    }
}
