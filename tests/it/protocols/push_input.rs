//! Push configurations that break a rule, on both bindings: none is kept, and a message that brings one along is not heard.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::people::principal::Role;
use domain::subscription::{PUSH_CREDENTIALS_MAX, PUSH_WORD_MAX, PUSHES_OF_TASK_MAX, WEBHOOK_URL_MAX};
use harness::api::Api;
use harness::on_each_store;
use harness::receiver::Receiver;
use serde_json::{Value, json};

use super::contract::{Got, Kit, UNKNOWN, kits};
use super::pushing::pushing;

const CREATE: &str = "CreateTaskPushNotificationConfig";
const GET: &str = "GetTaskPushNotificationConfig";
const LIST: &str = "ListTaskPushNotificationConfigs";
const DELETE: &str = "DeleteTaskPushNotificationConfig";

/// The ids of the configurations of a task, the newest first.
async fn ids(kit: &Kit<'_>, task: &str) -> Vec<String> {
    let listed = kit.ok(LIST, json!({"taskId": task})).await;
    listed["configs"].as_array().unwrap().iter().map(|config| config["id"].as_str().unwrap().to_owned()).collect()
}

/// The member that a refusal is about.
fn field(got: &Got) -> String {
    let details = if got.body["error"]["data"].is_null() { &got.body["error"]["details"] } else { &got.body["error"]["data"] };
    details[1]["fieldViolations"][0]["field"].as_str().unwrap_or_default().to_owned()
}

on_each_store! {
    /// Addresses that lead elsewhere than the operator allows, texts that would break a header, and values of another type.
    async fn a_configuration_that_breaks_a_rule_is_refused_with_its_message(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        let right = receiver.url();
        let of_length = |characters: usize| {
            let begins = format!("{right}?");
            json!(format!("{begins}{}", "x".repeat(characters - begins.len())))
        };
        let bearer = |credentials: &str| json!({"scheme": "Bearer", "credentials": credentials});
        let own = format!("{}api/v1/keys", app.base);
        let urls = [
            "http://10.0.0.1/", "http://192.168.1.1/", "http://172.16.0.1/", "http://169.254.169.254/latest/meta-data/", "http://0.0.0.0/",
            "http://[::1]/", "http://[fe80::1]/", "http://[fc00::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:10.0.0.1]/", "http://[64:ff9b::7f00:1]/",
            "http://localhost/", "http://127.0.0.1.nip.io/", "http://127.0.0.1@hooks.example.com/", "http://hooks.example.com#@127.0.0.1/",
            "ftp://127.0.0.1/", "file:///etc/passwd", "javascript:alert(1)", "http://user@127.0.0.1/", "http://:x@127.0.0.1/", "http://127.0.0.1/#x",
            "//127.0.0.1/", "127.0.0.1", "http://", " ", "", app.base.as_str(), &own,
        ];
        let mut wrong: Vec<(&str, Value, &str)> = urls.iter().map(|url| ("url", json!(url), "url")).collect();
        wrong.extend([
            ("url", of_length(WEBHOOK_URL_MAX + 1), "url"),
            ("url", Value::Null, "url"),
            ("url", json!(5), "url"),
            ("url", json!([right]), "url"),
            ("id", json!("a b"), "id"),
            ("id", json!("a\u{0}"), "id"),
            ("id", json!("ä"), "id"),
            ("id", json!("x".repeat(PUSH_WORD_MAX + 1)), "id"),
            ("id", json!(5), "id"),
            ("token", json!("a\r\nX-Evil: 1"), "token"),
            ("token", json!("a\u{7f}"), "token"),
            ("token", json!("x".repeat(PUSH_WORD_MAX + 1)), "token"),
            ("authentication", bearer("a\r\nX-Evil: 1"), "authentication.credentials"),
            ("authentication", bearer("a\u{0}"), "authentication.credentials"),
            ("authentication", bearer("a\tb"), "authentication.credentials"),
            ("authentication", bearer("ä"), "authentication.credentials"),
            ("authentication", bearer(&"x".repeat(PUSH_CREDENTIALS_MAX + 1)), "authentication.credentials"),
            ("authentication", json!({"scheme": "Bearer\r\nX-Evil:", "credentials": "x"}), "authentication.scheme"),
            ("authentication", json!({"scheme": "", "credentials": "x"}), "authentication.scheme"),
            ("authentication", json!(["Bearer", "x"]), "authentication"),
            ("headers", json!({"x-evil": "1"}), "headers"),
            ("tenant", json!("another"), "tenant"),
        ]);
        for kit in kits(&agent) {
            let task = kit.asked("m").await;
            for (number, (member, value, named)) in wrong.iter().enumerate() {
                let mut given = json!({"taskId": task, "id": "c", "url": right});
                given[*member] = value.clone();
                let got = kit.call(CREATE, given.clone()).await;
                assert_eq!((&*got.reason, &*field(&got)), ("INVALID_PARAMS", *named), "{:?} {member} {value} {}", kit.binding, got.body);
                given.as_object_mut().unwrap().remove("taskId");
                let mut brings = kit.message(&format!("n-{number}"), json!({}));
                brings["configuration"] = json!({"taskPushNotificationConfig": given});
                let got = kit.call("SendMessage", brings).await;
                assert_eq!(got.reason, "INVALID_PARAMS", "{:?} {member} {value} {}", kit.binding, got.body);
            }
            assert_eq!(ids(&kit, &task).await, Vec::<String>::new());
            // Members that the protocol does not have are left alone, and are not shown again.
            let most = json!({"taskId": task, "id": "x".repeat(PUSH_WORD_MAX), "url": of_length(WEBHOOK_URL_MAX), "token": "x".repeat(PUSH_WORD_MAX),
                "authentication": {"scheme": "Bearer", "credentials": "x".repeat(PUSH_CREDENTIALS_MAX), "more": 1}, "more": 1});
            let made = kit.ok(CREATE, most.clone()).await;
            assert_eq!(made, json!({"taskId": task, "id": most["id"], "url": most["url"], "authentication": {"scheme": "Bearer"}}));
        }
        let listed = kits(&agent)[0].ok("ListTasks", json!({})).await;
        assert_eq!(listed["totalSize"], 2, "a message with a wrong configuration asks nothing");
        app.settle().await;
        assert_eq!(receiver.connections(), 0);
    }

    /// A task has five configurations, by whichever binding they came, and the task of another agent has none.
    async fn a_task_has_so_many_configurations_and_another_agent_sees_none(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await));
        for kit in kits(&agent) {
            let task = kit.asked("m").await;
            let with = |id: &str| json!({"taskId": task, "id": id, "url": receiver.url()});
            for number in 1..=PUSHES_OF_TASK_MAX {
                kit.ok(CREATE, with(&format!("c-{number}"))).await;
            }
            let stranger = Kit { api: &other, ..kit };
            for of in [&*task, UNKNOWN, "no-id"] {
                for (operation, more) in [(CREATE, json!({"url": receiver.url()})), (GET, json!({})), (LIST, json!({})), (DELETE, json!({}))] {
                    let mut given = more;
                    given["taskId"] = json!(of);
                    if operation != LIST {
                        given["id"] = json!("c-1");
                    }
                    assert_eq!(stranger.fails(operation, given).await, "TASK_NOT_FOUND", "{operation} {of}");
                }
            }
            for both in kits(&agent) {
                let got = both.call(CREATE, with("c-6")).await;
                assert_eq!(got.reason, "INVALID_PARAMS", "{}", got.body);
                both.ok(CREATE, with("c-5")).await;
            }
            assert_eq!(ids(&kit, &task).await.len(), PUSHES_OF_TASK_MAX);
            kit.ok(DELETE, json!({"taskId": task, "id": "c-1"})).await;
            kit.ok(CREATE, with("c-6")).await;
        }
    }

    /// An id may have every visible letter, and both bindings find it: in a path it is written with escapes.
    async fn an_id_of_any_letters_is_found_over_both_bindings(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        let [rpc, rest] = kits(&agent);
        let task = rpc.asked("m").await;
        for (id, escaped) in [("a/b", "a%2Fb"), ("50%", "50%25"), ("a+b", "a%2Bb"), ("a?b#c", "a%3Fb%23c"), ("a%2Fb", "a%252Fb")] {
            let made = rpc.ok(CREATE, json!({"taskId": task, "id": id, "url": receiver.url()})).await;
            assert_eq!(made["id"], id);
            assert_eq!(rest.ok(GET, json!({"taskId": task, "id": escaped})).await, made, "{id}");
            rest.ok(DELETE, json!({"taskId": task, "id": escaped})).await;
            assert_eq!(rpc.fails(GET, json!({"taskId": task, "id": id})).await, "TASK_NOT_FOUND", "{id}");
        }
        for (id, escaped) in [("a\u{0}b", "a%00b"), ("a b", "a%20b")] {
            for (kit, id) in [(&rpc, id), (&rest, escaped)] {
                assert_eq!(kit.fails(DELETE, json!({"taskId": task, "id": id})).await, "INVALID_PARAMS", "{id:?}");
                assert_eq!(kit.fails(GET, json!({"taskId": task, "id": id})).await, "TASK_NOT_FOUND", "{id:?}");
            }
        }
    }
}
