//! Webhooks: who gets what, and what an endpoint that misbehaves can do to anybody.

use domain::channel::{EMAIL, Reach};
use harness::app::{OPERATOR, TestApp};
use harness::receiver::{Answer, Receiver, SECRET, add, webhook};
use serde_json::{Value, json};

/// A server with mails and one webhook, which is its default.
async fn with_pager() -> (TestApp, Receiver) {
    let receiver = Receiver::start().await;
    let app = TestApp::start_with(|config| add(config, vec![(webhook("pager", &receiver), Reach::People)], &["pager"])).await;
    (app, receiver)
}

/// The endpoint learns which question waits and, as a deliverer, where it is answered; and can tell that it was us who said so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_posted_signed_and_thin() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let id = agent.asked(intent).await;
    app.settle().await;

    let posted = receiver.posted().remove(0);
    assert!(posted.is_signed_with(SECRET));
    assert_eq!(posted.headers["content-type"], "application/json");
    assert_eq!(posted.headers["user-agent"], concat!("placet/", env!("CARGO_PKG_VERSION")));
    for absent in ["cookie", "accept-encoding", "referer", "authorization"] {
        assert!(!posted.headers.contains_key(absent), "{absent}");
    }
    let body = posted.json();
    let events = agent.events(intent).await;
    let asked = events.iter().find(|event| event["event_type"] == "intent.suspended").unwrap();
    let link = body["data"]["url"].as_str().unwrap();
    assert_eq!(
        body,
        json!({
            "type": "intent.suspended",
            "timestamp": format!("{}Z", asked["created_at"].as_str().unwrap()),
            "data": {
                "intent_id": intent, "suspension_id": id, "attempt": 1, "sequence": 1, "recipient": OPERATOR, "url": link,
            },
        })
    );
    assert_eq!(app.person().answer(link, "approve").await.heading(), "Your answer was recorded");
    let sent = agent.events(intent).await.into_iter().find(|event| event["event_type"] == "delivery.sent").unwrap();
    assert_eq!((&sent["payload"]["channel"], &sent["payload"]["detail"]), (&json!("pager"), &json!("status 204")));
    assert_eq!(sent["payload"]["delivery_id"], json!(posted.headers["webhook-id"]));
    assert!(app.smtp.received().is_empty(), "it was the only channel");
    app.finish().await;
}

/// A receiver tells a repeat by its id; whoever verifies needs each try to be signed for its own time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_keeps_its_id_over_all_its_tries() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    let intent = agent.active_intent().await;
    agent.asked(intent).await;
    receiver.script([Answer::Status(500, vec![]), Answer::HangUp, Answer::Status(204, vec![])]);
    app.settle().await;
    app.advance(6).await; // 5 s and a fifth.
    app.advance(360).await; // 5 min and a fifth.
    let posted = receiver.posted();
    assert_eq!(posted.len(), 3);
    for pair in posted.windows(2) {
        assert_eq!(pair[0].headers["webhook-id"], pair[1].headers["webhook-id"]);
        assert!(pair[0].headers["webhook-timestamp"] < pair[1].headers["webhook-timestamp"]);
        let without_link = |body: Value| [body["type"].clone(), body["timestamp"].clone(), body["data"]["sequence"].clone()];
        assert_eq!(without_link(pair[0].json()), without_link(pair[1].json()));
    }
    assert!(posted.iter().all(|posted| posted.is_signed_with(SECRET)));
    app.advance(86_400).await;
    assert!(receiver.posted().is_empty(), "what was taken is not sent again");
    app.finish().await;
}

/// A question says where it wants to be asked; who prefers something else, or nothing, is asked where the operator says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_picks_the_channel_of_the_question_and_of_each_rung() {
    let (pager, room) = (Receiver::start().await, Receiver::start().await);
    let app = TestApp::start_with(|config| {
        let mut quiet = webhook("room", &room);
        quiet.settings.links = false;
        let reach = Reach::Audience("ops-room".into());
        add(config, vec![(webhook("pager", &pager), Reach::People), (quiet, reach)], &[EMAIL]);
    })
    .await;
    let agent = app.agent();

    // Two people, each by the default channel.
    let people = json!(["alice@example.com", "bob@example.com"]);
    let warned = agent.suspend(agent.active_intent().await, json!({"notify_to": people, "channel_hint": "slack"})).await.ok();
    assert!(warned["warnings"][0].as_str().unwrap().contains("email, pager, room"), "{warned}");
    app.settle().await;
    assert_eq!((app.smtp.received().len(), pager.connections(), room.connections()), (2, 0, 0));

    // By the pager first, by the room at the second attempt.
    let ladder = json!({
        "notify_to": people, "channel_hint": "pager",
        "retry_policy": {
            "max_attempts": 2, "interval_seconds": 600,
            "escalation_ladder": [{"attempt": 2, "channel_hint": "room"}],
        },
    });
    let intent = agent.active_intent().await;
    agent.suspend(intent, ladder).await.ok();
    app.settle().await;
    let mut told: Vec<Value> = pager.posted().iter().map(|posted| posted.json()["data"]["recipient"].clone()).collect();
    told.sort_by_key(ToString::to_string);
    assert_eq!(json!(told), people);
    app.advance(600).await;
    let posted = room.posted();
    assert_eq!(posted.len(), 1, "a room is told once, however many people are asked");
    let data = &posted[0].json()["data"];
    assert_eq!((&data["recipient"], &data["attempt"], &data["url"]), (&json!("ops-room"), &json!(2), &Value::Null));
    assert_eq!((app.smtp.received().len(), pager.posted().len()), (2, 0));
    app.finish().await;
}
