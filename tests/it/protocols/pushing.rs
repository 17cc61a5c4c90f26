//! Push configurations: endpoints that are told the changes of a task.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::people::principal::Role;
use domain::subscription::PUSHES_OF_TASK_MAX;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use harness::receiver::{Answer, Posted, Receiver};
use placet_server::config::SubscriptionsConfig;
use serde_json::{Value, json};

use super::{Rpc, says, state};

const CREATE: &str = "CreateTaskPushNotificationConfig";
const LIST: &str = "ListTaskPushNotificationConfigs";
const CREDENTIALS: &str = "s3cr3t-credentials";
const TOKEN: &str = "s3cr3t-token";

/// The server, pushing to this machine.
pub(super) async fn pushing(app: &mut TestApp) {
    let push = SubscriptionsConfig { hosts: vec!["127.0.0.1".into()], allow_subnets: vec!["127.0.0.0/8".parse().unwrap()] };
    app.restart_with(|config| config.a2a.push = push).await;
}

fn config(task: &str, receiver: &Receiver) -> Value {
    json!({"taskId": task, "id": "mine", "url": receiver.url(), "token": TOKEN,
        "authentication": {"scheme": "Bearer", "credentials": CREDENTIALS}})
}

async fn answer(app: &TestApp, task: &str, word: &str) {
    Rpc(&app.operator()).result("SendMessage", says(task, &format!("answer-{task}"), &json!([{"text": word}]))).await;
}

async fn rest(api: &Api, method: &str, path: &str, body: Option<Value>) -> Reply {
    let request = api.request(method, &format!("a2a/tasks/{path}")).header("a2a-version", "1.0");
    api.send(if let Some(body) = body { request.json(&body) } else { request }).await
}

async fn earlier(api: &Api, method: &str, params: Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    api.send(api.request("POST", "a2a").json(&call)).await.ok()["result"].clone()
}

/// The names of the items, and the state of the last one.
fn items(posted: &[Posted]) -> (Vec<String>, Value) {
    let bodies: Vec<Value> = posted.iter().map(Posted::json).collect();
    let names = bodies.iter().flat_map(|body| body.as_object().unwrap().keys().cloned()).collect();
    (names, bodies.last().map(|last| last["statusUpdate"]["status"]["state"].clone()).unwrap_or_default())
}

on_each_store! {
    /// An endpoint gets the items of a stream, with what it recognises the server by, and nothing after the end.
    async fn the_changes_of_a_task_are_pushed_with_their_credentials(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, api) = (Receiver::start().await, app.agent());
        let task = Rpc(&api).asked("m-1").await;
        let made = Rpc(&api).result(CREATE, config(&task, &receiver)).await;
        let wanted = json!({"id": "mine", "taskId": task, "url": receiver.url(), "authentication": {"scheme": "Bearer"}});
        assert_eq!(made, wanted, "the token and the credentials are not shown again");
        app.settle().await;
        assert!(receiver.posted().is_empty(), "nothing has changed yet");
        app.restart().await;
        answer(app, &task, "yes").await;
        app.restart().await;
        app.settle().await;
        let posted = receiver.posted();
        assert_eq!(items(&posted), (vec!["artifactUpdate".into(), "statusUpdate".into()], json!("TASK_STATE_COMPLETED")));
        for posted in &posted {
            assert_eq!(posted.headers["x-a2a-notification-token"], TOKEN);
            assert_eq!(posted.headers["authorization"], format!("Bearer {CREDENTIALS}"));
            assert_eq!(posted.headers["content-type"], "application/json");
            assert!(!posted.headers.contains_key("webhook-signature"));
        }
        let done = Rpc(&api).task(&task).await;
        let update = &posted[0].json()["artifactUpdate"];
        assert_eq!((&update["artifact"], &update["taskId"], &update["contextId"]), (&done["artifacts"][0], &done["id"], &done["contextId"]));
        assert_eq!(posted[1].json()["statusUpdate"]["status"], done["status"]);
        assert_eq!(Rpc(&api).result(LIST, json!({"taskId": task})).await["configs"], json!([]), "it is kept until the end");
        app.advance(86_400).await;
        assert!(receiver.posted().is_empty());
        // A copy of the database shows neither the token nor the credentials of one that waits.
        let task = Rpc(&api).asked("m-2").await;
        Rpc(&api).result(CREATE, config(&task, &receiver)).await;
        for entry in std::fs::read_dir(app.folder()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(TOKEN) && !text.contains(CREDENTIALS), "{path:?}");
        }
    }

    /// An endpoint is told that the work is being ended, without a handle that no call could use, and then that it was ended.
    async fn the_end_of_work_is_pushed(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, api, operator) = (Receiver::start().await, app.agent(), app.operator());
        let intent = api.active_intent().await.to_string();
        Rpc(&api).result(CREATE, config(&intent, &receiver)).await;
        let reason = json!({"reason": "Another team does it."});
        let record = operator.post(&format!("api/v1/intents/{intent}/stop"), reason).await.ok();
        let handle = record["id"].as_str().unwrap();
        app.settle().await;
        let told = receiver.posted()[0].json()["statusUpdate"].clone();
        let words = "The work is being ended by another: “Another team does it.”\n\n\
                     It does not go on. Its agent may hand in what it has until 2026-11-24T08:01:00.000Z.";
        assert_eq!((state(&told), &told["status"]["message"]["parts"][0]["text"]), ("TASK_STATE_WORKING", &json!(words)));
        assert!(!told.to_string().contains(handle), "{told}");
        api.post(&format!("api/v1/suspensions/{handle}/settle"), json!({})).await.ok();
        app.settle().await;
        let told = receiver.posted()[0].json()["statusUpdate"].clone();
        let words = "The work was ended by another: “Another team does it.”";
        assert_eq!((state(&told), &told["status"]["message"]["parts"][0]["text"]), ("TASK_STATE_FAILED", &json!(words)));
    }

    /// A message whose configuration is refused is not heard: an operator who is told that it may not has decided nothing.
    async fn a_message_has_no_effect_without_its_configuration(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, api, operator) = (Receiver::start().await, app.agent(), app.operator());
        let with = |id: &str, mut message: Value| {
            message["configuration"] = json!({"returnImmediately": true, "taskPushNotificationConfig": {"id": id, "url": receiver.url()}});
            message
        };
        let task = Rpc(&api).asked("m-1").await;
        let yes = says(&task, "a-1", &json!([{"text": "yes"}]));
        for method in ["SendMessage", "SendStreamingMessage"] {
            assert_eq!(Rpc(&operator).error(method, with("mine", yes.clone())).await.1, -32043);
            assert_eq!(state(&Rpc(&api).task(&task).await), "TASK_STATE_AUTH_REQUIRED");
        }
        let done = Rpc(&operator).result("SendMessage", yes).await;
        assert_eq!(state(&done["task"]), "TASK_STATE_COMPLETED", "the id of a message that was refused is free");
        // An answer of the asker is refused and recorded, with or without a configuration.
        let task = Rpc(&api).asked("m-2").await;
        let own = with("mine", says(&task, "a-2", &json!([{"text": "yes"}])));
        assert_eq!(Rpc(&api).error("SendMessage", own).await, (403, -32043, "self_response".into()));
        assert_eq!(Rpc(&api).result(LIST, json!({"taskId": task})).await["configs"], json!([]));
        let log = |intent: String| { let api = api.clone(); async move { api.get(&format!("api/v1/intents/{intent}/events?include=all")).await.text } };
        assert!(log(task).await.contains("self_response"));

        let intent = api.active_intent().await.to_string();
        for number in 0..PUSHES_OF_TASK_MAX {
            let config = json!({"taskId": intent, "id": format!("c-{number}"), "url": receiver.url()});
            Rpc(&api).result(CREATE, config).await;
        }
        let hello = says(&intent, "c-1", &json!([{"text": "Hello"}]));
        assert_eq!(Rpc(&api).error("SendMessage", with("one-more", hello.clone())).await.1, -32602);
        assert!(!log(intent.clone()).await.contains("Hello"));
        // One under a known id replaces that one, so there is room.
        for _ in 0..2 {
            Rpc(&api).result("SendMessage", with("c-1", hello.clone())).await;
        }
        assert_eq!(log(intent.clone()).await.matches("Hello").count(), 1);
        assert_eq!(Rpc(&api).result(LIST, json!({"taskId": intent})).await["configs"].as_array().unwrap().len(), PUSHES_OF_TASK_MAX);

        // A question that comes again brings its configuration again.
        let asks = |id: &str| with(id, json!({"message": {"messageId": "m-3", "role": "ROLE_USER", "parts": [{"text": "May I?"}]}}));
        let task = Rpc(&api).result("SendMessage", asks("first")).await["task"]["id"].clone();
        app.restart().await;
        let again = Rpc(&api).result("SendMessage", asks("second")).await["task"]["id"].clone();
        assert_eq!(again, task);
        let configs = Rpc(&api).result(LIST, json!({"taskId": task})).await["configs"].clone();
        let ids: Vec<&str> = configs.as_array().unwrap().iter().map(|config| config["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["second", "first"]);
        answer(app, task.as_str().unwrap(), "no").await;
        app.settle().await;
        assert!(receiver.posted().len() >= 4, "both are told");
    }

    /// Configurations are made, read, listed and deleted alike over both bindings and in 0.3.
    async fn configurations_are_kept_over_both_bindings_and_in_both_versions(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, api) = (Receiver::start().await, app.agent());
        let task = Rpc(&api).asked("m").await;
        let path = format!("{task}/pushNotificationConfigs");
        let made = rest(&api, "POST", &path, Some(config(&task, &receiver))).await.ok();
        assert_eq!(Rpc(&api).result("GetTaskPushNotificationConfig", json!({"taskId": task, "id": "mine"})).await, made);
        assert_eq!(rest(&api, "GET", &format!("{path}/mine"), None).await.ok(), made);
        let all = json!({"configs": [made], "nextPageToken": ""});
        assert_eq!(rest(&api, "GET", &format!("{path}?pageSize=5"), None).await.ok(), all);
        assert_eq!(Rpc(&api).result(LIST, json!({"taskId": task})).await, all);
        app.restart().await;
        let shown = json!({"taskId": task, "pushNotificationConfig": {"id": "mine", "url": receiver.url(), "authentication": {"schemes": ["Bearer"]}}});
        assert_eq!(earlier(&api, "tasks/pushNotificationConfig/list", json!({"id": task})).await, json!([shown]));
        assert_eq!(earlier(&api, "tasks/pushNotificationConfig/get", json!({"id": task})).await, shown);
        let one = json!({"id": task, "pushNotificationConfigId": "mine"});
        assert_eq!(earlier(&api, "tasks/pushNotificationConfig/get", one.clone()).await, shown);
        assert_eq!(earlier(&api, "tasks/pushNotificationConfig/delete", one.clone()).await, Value::Null);
        // Deleting twice is fine.
        assert_eq!(rest(&api, "DELETE", &format!("{path}/mine"), None).await.ok(), json!({}));
        assert_eq!(Rpc(&api).result("DeleteTaskPushNotificationConfig", json!({"taskId": task, "id": "mine"})).await, json!({}));
        assert_eq!(Rpc(&api).error("GetTaskPushNotificationConfig", json!({"taskId": task, "id": "mine"})).await.1, -32001);
        let set = json!({"taskId": task, "pushNotificationConfig": {"url": receiver.url(), "token": TOKEN}});
        let made = earlier(&api, "tasks/pushNotificationConfig/set", set).await;
        assert_eq!(made["pushNotificationConfig"]["id"], json!(task));
        answer(app, &task, "no").await;
        app.settle().await;
        let posted = receiver.posted();
        assert_eq!(posted.len(), 1, "in 0.3 the message is the task");
        assert_eq!((&posted[0].json()["kind"], &posted[0].json()["status"]["state"]), (&json!("task"), &json!("completed")));
        assert_eq!(posted[0].headers["x-a2a-notification-token"], TOKEN);
    }

    /// A message brings its configuration along, and a repeated one makes no second.
    async fn a_message_brings_its_configuration_along(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, api) = (Receiver::start().await, app.agent());
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Deploy?"}]});
        let params = json!({"message": message, "configuration": {"taskPushNotificationConfig": {"url": receiver.url(), "token": TOKEN}}});
        let task = Rpc(&api).result("SendMessage", params.clone()).await["task"]["id"].as_str().unwrap().to_owned();
        assert_eq!(Rpc(&api).result("SendMessage", params.clone()).await["task"]["id"], json!(task));
        assert_eq!(Rpc(&api).result(LIST, json!({"taskId": task})).await["configs"].as_array().unwrap().len(), 1);
        Rpc(&api).result("CancelTask", json!({"id": task})).await;
        app.settle().await;
        assert_eq!(items(&receiver.posted()), (vec!["statusUpdate".into()], json!("TASK_STATE_CANCELED")));
        // The task had ended when the message came again; its end is told all the same.
        Rpc(&api).result("SendMessage", params.clone()).await;
        app.settle().await;
        assert_eq!(items(&receiver.posted()).1, "TASK_STATE_CANCELED");
        let mut foreign = params;
        foreign["configuration"]["taskPushNotificationConfig"]["url"] = json!("https://evil.example/");
        foreign["message"]["messageId"] = json!("n");
        assert_eq!(Rpc(&api).error("SendMessage", foreign).await.1, -32602);
        assert_eq!(Rpc(&api).result("ListTasks", json!({})).await["totalSize"], 1, "nothing was asked");
    }

    /// A host that the operator does not allow is refused, and so is another caller than the one that asked.
    async fn only_what_the_operator_allows_is_pushed_and_only_for_the_asker(app: &mut TestApp) {
        let (receiver, api) = (Receiver::start().await, app.agent());
        let task = Rpc(&api).asked("m").await;
        let card = ".well-known/agent-card.json";
        assert_eq!(app.anonymous().get(card).await.ok()["capabilities"]["pushNotifications"], false);
        assert_eq!(Rpc(&api).error(CREATE, config(&task, &receiver)).await, (200, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED".into()));
        let brings = json!({"message": {"messageId": "n", "role": "ROLE_USER", "parts": [{"text": "Deploy?"}]},
            "configuration": {"taskPushNotificationConfig": {"url": receiver.url()}}});
        assert_eq!(Rpc(&api).error("SendMessage", brings).await.1, -32003);
        pushing(app).await;
        assert_eq!(app.anonymous().get(card).await.ok()["capabilities"]["pushNotifications"], true);
        for url in [
            "https://hooks.example.com/", "http://10.0.0.1/", "https://[::ffff:127.0.0.1]/", "http://[::1]:9/", "http://localhost:9/",
            "https://169.254.169.254/", "ftp://127.0.0.1/", "http://user:pass@127.0.0.1:9/", "nothing", "",
            app.base.as_str(),
        ] {
            let mut refused = config(&task, &receiver);
            refused["url"] = json!(url);
            assert_eq!(Rpc(&api).error(CREATE, refused).await.1, -32602, "{url}");
        }
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await));
        assert_eq!(Rpc(&other).error(CREATE, config(&task, &receiver)).await.1, -32001, "the same answer as for an unknown task");
        assert_eq!(Rpc(&other).error(LIST, json!({"taskId": task})).await.1, -32001);
        for role in [Role::Operator, Role::Admin, Role::Auditor, Role::Channel] {
            assert_eq!(Rpc(&app.api(role)).error(CREATE, config(&task, &receiver)).await.1, -32043, "{role}");
        }
        for number in 0..PUSHES_OF_TASK_MAX {
            let mut one = config(&task, &receiver);
            one["id"] = json!(format!("c-{number}"));
            Rpc(&api).result(CREATE, one).await;
        }
        assert_eq!(Rpc(&api).error(CREATE, config(&task, &receiver)).await.1, -32602, "one too many");
        let mut again = config(&task, &receiver);
        again["id"] = json!("c-1");
        Rpc(&api).result(CREATE, again).await;
        let configs = Rpc(&api).result(LIST, json!({"taskId": task})).await["configs"].clone();
        assert_eq!(configs.as_array().unwrap().len(), PUSHES_OF_TASK_MAX);
        // They are no subscriptions of the API, and count against none of its bounds.
        assert_eq!(api.get("api/v1/subscriptions").await.ok(), json!([]));
        // A host that is taken off is told nothing more.
        app.restart_with(|config| config.a2a.push = SubscriptionsConfig::default()).await;
        answer(app, &task, "yes").await;
        app.settle().await;
        assert!(receiver.posted().is_empty());
    }

    /// An endpoint that fails is told later, one that redirects leads nowhere, and one that is gone is forgotten.
    async fn an_endpoint_that_fails_is_told_later_and_one_that_is_gone_is_forgotten(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, elsewhere, api) = (Receiver::start().await, Receiver::start().await, app.agent());
        let task = Rpc(&api).asked("m-1").await;
        Rpc(&api).result(CREATE, config(&task, &receiver)).await;
        let location = format!("location: {}", elsewhere.url());
        receiver.script([Answer::Status(302, vec![location]), Answer::HangUp]);
        Rpc(&api).result("CancelTask", json!({"id": task})).await;
        app.settle().await;
        app.restart().await;
        app.advance(6).await; // The pause is 5 s and at most a fifth more.
        assert_eq!((receiver.posted().len(), elsewhere.connections()), (2, 0));
        app.restart().await;
        app.advance(360).await; // The pause is 5 min and at most a fifth more.
        assert_eq!(items(&receiver.posted()), (vec!["statusUpdate".into()], json!("TASK_STATE_CANCELED")));
        let task = Rpc(&api).asked("m-2").await;
        Rpc(&api).result(CREATE, config(&task, &receiver)).await;
        receiver.script([Answer::Status(410, vec![])]);
        answer(app, &task, "yes").await;
        app.settle().await;
        app.advance(86_400).await;
        assert_eq!(receiver.posted().len(), 1);
        assert_eq!(Rpc(&api).result(LIST, json!({"taskId": task})).await["configs"], json!([]));
    }
}
