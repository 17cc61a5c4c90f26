//! The requirements on push configurations, at a server that pushes. CORE-CAP-001 is about one that does not.

use domain::people::principal::Role;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use harness::receiver::{Answer, Posted, Receiver};
use serde_json::{Value, json};

use super::{Kit, UNKNOWN, kits};
use crate::protocols::pushing::pushing;

const CREATE: &str = "CreateTaskPushNotificationConfig";
const GET: &str = "GetTaskPushNotificationConfig";
const LIST: &str = "ListTaskPushNotificationConfigs";
const DELETE: &str = "DeleteTaskPushNotificationConfig";

/// A configuration with credentials.
fn config(task: &str, id: &str, receiver: &Receiver) -> Value {
    json!({"taskId": task, "id": id, "url": receiver.url(), "authentication": {"scheme": "Bearer", "credentials": format!("secret-of-{id}")}})
}

/// The ids of the configurations of a task.
async fn ids(kit: &Kit<'_>, task: &str) -> Vec<String> {
    let listed = kit.ok(LIST, json!({"taskId": task})).await;
    let mut ids: Vec<_> =
        listed["configs"].as_array().unwrap().iter().map(|config| config["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// Another key answers with a yes, and all that is due is sent.
async fn answered(app: &TestApp, kit: &Kit<'_>, task: &str) {
    let operator = app.operator();
    let message = kit.message(&format!("{task}-yes"), json!({"taskId": task, "parts": [{"text": "yes"}]}));
    Kit { api: &operator, ..*kit }.ok("SendMessage", message).await;
    app.settle().await;
}

/// The only member of a pushed item, which is its kind.
fn kind(posted: &Posted) -> String {
    let item = posted.json();
    let members = item.as_object().unwrap();
    assert_eq!(members.len(), 1, "{item}");
    members.keys().next().unwrap().clone()
}

on_each_store! {
    /// Making a configuration names an endpoint that is told of the task.
    async fn push_create_001(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        for kit in kits(&agent) {
            let task = kit.asked("m").await;
            let made = kit.ok(CREATE, config(&task, "c", &receiver)).await;
            assert_eq!((&made["id"], &made["taskId"], &made["url"]), (&json!("c"), &json!(task), &json!(receiver.url())));
            answered(app, &kit, &task).await;
            assert!(!receiver.posted().is_empty());
        }
    }

    /// A configuration stays over changes and restarts, until the task has ended.
    async fn push_create_002(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent, operator) = (Receiver::start().await, app.agent(), app.operator());
        for kit in kits(&agent) {
            let intent = agent.active_intent().await;
            let task = intent.to_string();
            kit.ok(CREATE, config(&task, "c", &receiver)).await;
            for _ in 0..2 {
                let question = agent.asked(intent).await;
                app.settle().await;
                app.restart().await;
                operator.respond(intent, &question, "approve").await.ok();
                app.settle().await;
                assert_eq!((receiver.posted().len(), ids(&kit, &task).await), (2, vec!["c".to_owned()]), "each change is told");
            }
            agent.complete(intent).await;
            app.settle().await;
            assert_eq!(receiver.posted().last().unwrap().json()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        }
    }

    /// A configuration is shown with its URL and its settings.
    async fn push_get_001(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        for kit in kits(&agent) {
            let task = kit.asked("m").await;
            let made = kit.ok(CREATE, config(&task, "c", &receiver)).await;
            let got = kit.ok(GET, json!({"taskId": task, "id": "c"})).await;
            assert_eq!((&got, &got["url"], &got["authentication"]["scheme"]), (&made, &json!(receiver.url()), &json!("Bearer")));
        }
    }

    /// A configuration that does not exist, or that the caller may not read, is not found.
    async fn push_get_002(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await));
        for kit in kits(&agent) {
            let task = kit.asked("m").await;
            kit.ok(CREATE, config(&task, "c", &receiver)).await;
            for (task, id) in [(&*task, "none"), (UNKNOWN, "c")] {
                assert_eq!(kit.fails(GET, json!({"taskId": task, "id": id})).await, "TASK_NOT_FOUND");
            }
            assert_eq!(Kit { api: &other, ..kit }.fails(GET, json!({"taskId": task, "id": "c"})).await, "TASK_NOT_FOUND");
        }
    }

    /// A list has all configurations of a task, and none of another one.
    async fn push_list_001(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        for kit in kits(&agent) {
            let (task, other) = (kit.asked("m").await, kit.asked("n").await);
            assert_eq!(ids(&kit, &task).await, Vec::<String>::new());
            for (task, id) in [(&task, "a"), (&task, "b"), (&other, "c")] {
                kit.ok(CREATE, config(task, id, &receiver)).await;
            }
            assert_eq!((ids(&kit, &task).await, ids(&kit, &other).await), (vec!["a".into(), "b".into()], vec!["c".into()]));
        }
    }

    /// A configuration that was deleted is gone, and nothing more is told to its endpoint.
    async fn push_del_001(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        for kit in kits(&agent) {
            let task = kit.asked("m").await;
            kit.ok(CREATE, config(&task, "c", &receiver)).await;
            kit.ok(DELETE, json!({"taskId": task, "id": "c"})).await;
            assert_eq!(kit.fails(GET, json!({"taskId": task, "id": "c"})).await, "TASK_NOT_FOUND");
            app.restart().await;
            answered(app, &kit, &task).await;
            assert!(receiver.posted().is_empty());
        }
    }

    /// Deleting twice is deleting once.
    async fn push_del_002(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        for kit in kits(&agent) {
            let task = kit.asked("m").await;
            for id in ["c", "stays"] {
                kit.ok(CREATE, config(&task, id, &receiver)).await;
            }
            let gone = json!({"taskId": task, "id": "c"});
            assert_eq!(kit.ok(DELETE, gone.clone()).await, kit.ok(DELETE, gone).await);
            assert_eq!(ids(&kit, &task).await, ["stays"]);
        }
    }

    /// A message to an endpoint has the credentials of its configuration, and of no other.
    async fn push_deliver_001(app: &mut TestApp) {
        pushing(app).await;
        let (one, two, agent) = (Receiver::start().await, Receiver::start().await, app.agent());
        for kit in kits(&agent) {
            let task = kit.asked("m").await;
            kit.ok(CREATE, config(&task, "one", &one)).await;
            let mut basic = config(&task, "two", &two);
            basic["authentication"]["scheme"] = json!("Basic");
            kit.ok(CREATE, basic).await;
            answered(app, &kit, &task).await;
            for (receiver, wanted) in [(&one, "Bearer secret-of-one"), (&two, "Basic secret-of-two")] {
                let posted = receiver.posted();
                assert!(!posted.is_empty() && posted.iter().all(|posted| posted.headers["authorization"] == wanted));
            }
        }
    }

    /// Each endpoint is told at least once, also one that comes with the message and one that is away at first.
    async fn push_deliver_002(app: &mut TestApp) {
        pushing(app).await;
        let (one, two, agent) = (Receiver::start().await, Receiver::start().await, app.agent());
        for kit in kits(&agent) {
            let mut message = kit.message("m", json!({}));
            message["configuration"] = json!({"taskPushNotificationConfig": {"id": "one", "url": one.url()}});
            let task = kit.ok("SendMessage", message).await["task"]["id"].as_str().unwrap().to_owned();
            kit.ok(CREATE, config(&task, "two", &two)).await;
            two.script([Answer::Status(503, vec![])]);
            answered(app, &kit, &task).await;
            assert_eq!(one.posted().len(), 2, "the artifact and the end");
            two.posted();
            app.restart().await;
            app.advance(6).await; // The pause is 5 s and at most a fifth more.
            assert_eq!(two.posted().len(), 2);
        }
    }

    /// A message to an endpoint is one item of a stream, in the words in which a stream tells it.
    async fn push_deliver_003(app: &mut TestApp) {
        pushing(app).await;
        let (receiver, agent) = (Receiver::start().await, app.agent());
        for kit in kits(&agent) {
            let task = kit.asked("m").await;
            kit.ok(CREATE, config(&task, "c", &receiver)).await;
            let mut items = kit.stream("SubscribeToTask", json!({"id": task})).await;
            items.next().await.unwrap();
            answered(app, &kit, &task).await;
            let posted = receiver.posted();
            assert_eq!(posted.iter().map(kind).collect::<Vec<_>>(), ["artifactUpdate", "statusUpdate"]);
            assert_eq!(posted.iter().map(Posted::json).collect::<Vec<_>>(), items.rest().await);
        }
    }
}
