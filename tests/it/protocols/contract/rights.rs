//! The requirements on the card, on rights, and on versions.

use domain::people::principal::Role;
use harness::api::Api;
use harness::on_each_store;
use serde_json::{Value, json};

use super::{Binding, Kit, UNKNOWN, kits};
use crate::protocols::state;

const CARD: &str = ".well-known/agent-card.json";

/// Every operation on a task.
fn on_a_task(kit: &Kit<'_>, id: &str) -> [(&'static str, Value); 4] {
    [
        ("GetTask", json!({"id": id})),
        ("CancelTask", json!({"id": id})),
        ("SubscribeToTask", json!({"id": id})),
        ("SendMessage", kit.message("other", json!({"taskId": id}))),
    ]
}

on_each_store! {
    /// The card is there, without a key.
    async fn card_disc_001(app: &mut TestApp) {
        let reply = app.anonymous().get(CARD).await;
        assert_eq!((reply.status, reply.headers["content-type"].to_str().unwrap()), (200, "application/json"));
    }

    /// The card names its bindings, and each of them works.
    async fn card_proto_001(app: &mut TestApp) {
        let card = app.anonymous().get(CARD).await.ok();
        let bindings: Vec<_> = card["supportedInterfaces"].as_array().unwrap().iter().map(|one| one["protocolBinding"].clone()).collect();
        assert_eq!(bindings, ["JSONRPC", "HTTP+JSON"]);
        for kit in kits(&app.agent()) {
            kit.asked("m").await;
        }
    }

    /// Each interface has its address, its binding and its version.
    async fn card_proto_002(app: &mut TestApp) {
        let card = app.anonymous().get(CARD).await.ok();
        for interface in card["supportedInterfaces"].as_array().unwrap() {
            assert_eq!((interface["url"].as_str().unwrap(), &interface["protocolVersion"]), (&*format!("{}a2a", app.base), &json!("1.0")));
        }
    }

    /// The card has all members that a card must have.
    async fn card_struct_001(app: &mut TestApp) {
        let card = app.anonymous().get(CARD).await.ok();
        for text in ["name", "description", "version"] {
            assert!(card[text].as_str().is_some_and(|text| !text.is_empty()), "{text}");
        }
        for list in ["supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"] {
            assert!(card[list].as_array().is_some_and(|list| !list.is_empty()), "{list}");
        }
        assert!(card["capabilities"].is_object());
        for skill in card["skills"].as_array().unwrap() {
            assert!(["id", "name", "description"].iter().all(|text| skill[text].is_string()) && skill["tags"].is_array(), "{skill}");
        }
    }

    /// The extended card needs a key.
    async fn card_ext_001(app: &mut TestApp) {
        let (anonymous, agent) = (app.anonymous(), app.agent());
        for kit in kits(&anonymous) {
            let got = kit.call("GetExtendedAgentCard", json!({})).await;
            assert_eq!((got.http, &*got.reason), (401, "unauthorized"));
            assert!(got.headers["www-authenticate"].to_str().unwrap().contains("Bearer"));
            assert!(Kit { api: &agent, ..kit }.ok("GetExtendedAgentCard", json!({})).await["skills"].is_array());
        }
    }

    /// An extended card that is not there has an error of its own; here it is there, as the public card says.
    async fn card_ext_002(app: &mut TestApp) {
        let (card, agent) = (app.anonymous().get(CARD).await.ok(), app.agent());
        for kit in kits(&agent) {
            let got = kit.call("GetExtendedAgentCard", json!({})).await;
            assert_eq!(card["capabilities"]["extendedAgentCard"] == json!(true), got.reason.is_empty(), "{}", got.body);
        }
    }

    /// Every request is authenticated.
    async fn auth_server_002(app: &mut TestApp) {
        let (anonymous, wrong, agent) = (app.anonymous(), Api::new(&app.base, Some("not-a-key")), app.agent());
        for kit in kits(&agent) {
            let id = kit.asked("m").await;
            for api in [&anonymous, &wrong] {
                let kit = Kit { api, ..kit };
                for (operation, params) in on_a_task(&kit, &id).into_iter().chain([("ListTasks", json!({}))]) {
                    let got = kit.call(operation, params).await;
                    assert_eq!((got.http, &*got.reason), (401, "unauthorized"), "{operation}");
                }
            }
            assert_eq!(state(&kit.ok("GetTask", json!({"id": id})).await), "TASK_STATE_AUTH_REQUIRED");
        }
    }

    /// Every operation checks the rights of the caller.
    async fn auth_scope_001(app: &mut TestApp) {
        let (agent, other) = (app.agent(), Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await)));
        for kit in kits(&agent) {
            let id = kit.asked("m").await;
            let theirs = Kit { api: &other, ..kit };
            for (operation, params) in on_a_task(&theirs, &id) {
                assert_eq!(theirs.fails(operation, params).await, "TASK_NOT_FOUND", "{operation}");
            }
            // The asker reads its task, and may not answer it.
            assert_eq!(kit.fails("SendMessage", kit.message("yes", json!({"taskId": id, "parts": [{"text": "yes"}]}))).await, "self_response");
            assert_eq!(state(&kit.ok("GetTask", json!({"id": id})).await), "TASK_STATE_AUTH_REQUIRED");
        }
    }

    /// Results have only what the caller may see.
    async fn auth_scope_002(app: &mut TestApp) {
        let (agent, other) = (app.agent(), Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await)));
        for kit in kits(&agent) {
            kit.ok("SendMessage", kit.message("m", json!({"contextId": "talk"}))).await;
            let theirs = Kit { api: &other, ..kit };
            for filter in [json!({}), json!({"contextId": "talk"}), json!({"status": "TASK_STATE_AUTH_REQUIRED"})] {
                let page = theirs.ok("ListTasks", filter).await;
                assert_eq!((&page["tasks"], &page["totalSize"]), (&json!([]), &json!(0)));
            }
        }
    }

    /// A task that the caller may not see looks like one that does not exist, to the byte.
    async fn auth_scope_003(app: &mut TestApp) {
        let (agent, other) = (app.agent(), Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await)));
        for kit in kits(&agent) {
            let id = kit.asked("m").await;
            let theirs = Kit { api: &other, ..kit };
            for ((operation, hidden), (_, none)) in on_a_task(&theirs, &id).into_iter().zip(on_a_task(&theirs, UNKNOWN)) {
                let (hidden, none) = (theirs.call(operation, hidden).await, theirs.call(operation, none).await);
                assert_eq!((hidden.http, hidden.body), (none.http, none.body), "{operation}");
            }
        }
    }

    /// Work that waits for a person is a task.
    async fn auth_intask_001(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let task = kit.asks("m").await;
            assert_eq!(kit.ok("GetTask", json!({"id": task["id"]})).await["id"], task["id"]);
        }
    }

    /// The task is in the state that says so.
    async fn auth_intask_002(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            assert_eq!(state(&kit.asks("m").await), "TASK_STATE_AUTH_REQUIRED");
        }
    }

    /// Its status says who is asked, and what for.
    async fn auth_intask_003(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            let words = kit.asks("m").await["status"]["message"]["parts"][0]["text"].as_str().unwrap().to_owned();
            assert!(words.contains("A person has to answer") && words.contains("Deploy?"), "{words}");
        }
    }

    /// The answer comes by another way than the protocol.
    async fn auth_intask_004(app: &mut TestApp) {
        let agent = app.agent();
        for kit in kits(&agent) {
            let id = kit.asked("m").await;
            app.settle().await;
            let link = app.next_link().await;
            app.person().answer(&link, "yes").await;
            assert_eq!(state(&kit.ok("GetTask", json!({"id": id})).await), "TASK_STATE_COMPLETED");
        }
    }

    /// A request is worked on by the rules of the version that it names.
    async fn ver_server_001(app: &mut TestApp) {
        let agent = app.agent();
        for kit in kits(&agent) {
            assert_eq!(state(&kit.asks("m").await), "TASK_STATE_AUTH_REQUIRED");
        }
        let message = json!({"kind": "message", "messageId": "n", "role": "user", "parts": [{"kind": "text", "text": "Deploy?"}]});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}});
        let earlier = agent.send(agent.request("POST", "a2a").header("a2a-version", "0.3").json(&call)).await.ok();
        assert_eq!((&earlier["result"]["kind"], &earlier["result"]["status"]["state"]), (&json!("task"), &json!("auth-required")));
    }

    /// A version that is not served is refused by its own error.
    async fn ver_server_002(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            for version in ["0.1", "1.1", "2.0", "99.0", "latest"] {
                let got = kit.sent(kit.request("ListTasks", json!({})).header("a2a-version", version)).await;
                assert_eq!(got.reason, "VERSION_NOT_SUPPORTED", "{version}");
            }
        }
    }

    /// No version is 0.3: JSON-RPC is then answered in its words, and HTTP+JSON, which has no 0.3 here, says so.
    async fn ver_server_003(app: &mut TestApp) {
        let agent = app.agent();
        for kit in kits(&agent) {
            for empty in [false, true] {
                let request = if kit.binding == Binding::JsonRpc { kit.request("tasks/get", json!({"id": UNKNOWN})) } else { kit.request("ListTasks", json!({})) };
                let got = kit.sent(if empty { request.header("a2a-version", "") } else { request }).await;
                let wanted = if kit.binding == Binding::JsonRpc { "TASK_NOT_FOUND" } else { "VERSION_NOT_SUPPORTED" };
                assert_eq!(got.reason, wanted);
            }
        }
    }

    /// The number of a patch makes no difference.
    async fn ver_client_002(app: &mut TestApp) {
        for kit in kits(&app.agent()) {
            for version in ["1.0", "1.0.0", "1.0.9"] {
                let got = kit.sent(kit.request("ListTasks", json!({})).header("a2a-version", version)).await;
                assert_eq!(got.reason, "", "{version}");
            }
        }
    }
}
