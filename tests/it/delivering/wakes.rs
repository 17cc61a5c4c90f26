//! Wakes: endpoints of the operator that are told when a suspension is over.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::time::Duration;

use domain::suspension::wake::{WakeRule, WakeType};
use domain::wire::WAKE_VALUE_BYTES_MAX;
use futures_util::FutureExt;
use futures_util::future::join_all;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use harness::receiver::{Answer, Posted, Receiver, SECRET, webhook};
use placet_server::config::WakeConfig;
use serde_json::{Value, json};

/// An endpoint that is told of everything but the values.
fn told(receiver: &Receiver) -> WakeConfig {
    let settings = webhook("wake.webhook", receiver).settings;
    let endpoint = receiver.address().to_string();
    let rule = WakeRule { endpoint, agents: Vec::new(), types: Vec::new(), include_value: false };
    WakeConfig { settings, rule, is_this_machine: true }
}

/// The server with these endpoints.
async fn wake(app: &mut TestApp, wakes: Vec<WakeConfig>) {
    app.restart_with(|config| config.wakes = wakes).await;
}

/// Parks a new intent; returns it with the id of the suspension.
async fn parked(agent: &Api, conditions: Value) -> (String, String) {
    let intent = agent.active_intent().await;
    let body = json!({"reason": "Waiting for the review.", "conditions": conditions});
    let record = agent.post(&format!("api/v1/intents/{intent}/park"), body).await.ok();
    (intent.to_string(), record["id"].as_str().unwrap().to_owned())
}

async fn resume(api: &Api, id: &str, body: Value) {
    api.post(&format!("api/v1/suspensions/{id}/resume"), body).await.ok();
}

fn ids(posted: &[Posted]) -> Vec<&String> {
    posted.iter().map(|posted| &posted.headers["webhook-id"]).collect()
}

/// The messages by the suspensions that they are about.
fn told_of(posted: &[Posted], id: &str) -> Vec<Value> {
    let of = |body: &Value| body["data"]["suspension_id"] == id;
    posted.iter().map(Posted::json).filter(of).collect()
}

on_each_store! {
    /// A configuration has at most 20 endpoints, and the last one has its turn beside all the others.
    async fn each_of_twenty_endpoints_is_told(app: &mut TestApp) {
        let receivers = join_all((0..20).map(|_| Receiver::start())).await;
        wake(app, receivers.iter().map(told).collect()).await;
        parked(&app.agent(), json!({"on_event": "review.approved"})).await;
        app.operator().post("api/v1/events", json!({"name": "review.approved"})).await.ok();
        app.settle().await;
        let told: Vec<usize> = receivers.iter().map(|receiver| receiver.posted().len()).collect();
        assert_eq!(told, [1; 20]);
    }

    /// The commit that ends a suspension calls the sender at once, if an endpoint is told.
    async fn an_ending_calls_the_sender(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        for (wakes, is_called) in [(Vec::new(), false), (vec![told(&receiver)], true)] {
            wake(app, wakes).await;
            let agent = app.agent();
            parked(&agent, json!({"on_event": "review.approved"})).await;
            let store = app.store();
            while store.hub().wake().now_or_never().is_some() {}
            app.operator().post("api/v1/events", json!({"name": "review.approved"})).await.ok();
            assert_eq!(store.hub().wake().now_or_never().is_some(), is_called);
        }
    }

    /// Whatever ends a suspension, its endpoint is told once, signed, and without the answer.
    async fn each_ending_wakes_once_signed_and_thin(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        wake(app, vec![told(&receiver)]).await;
        let (agent, operator) = (app.agent(), app.operator());
        let answered = agent.active_intent().await;
        let question = agent.asked(answered).await;
        app.settle().await;
        let link = app.next_link().await;
        assert!(receiver.posted().is_empty(), "nothing is over yet");
        app.person().answer(&link, "approve").await;
        let (_, by_event) = parked(&agent, json!({"on_event": "review.approved"})).await;
        operator.post("api/v1/events", json!({"name": "review.approved", "payload": {"secret": "s3cr3t"}})).await.ok();
        let timeout = json!({"timeout": {"duration_minutes": 1, "on_timeout": "fail"}});
        let (failing, by_time) = parked(&agent, timeout).await;
        let paused = agent.active_intent().await;
        let record = operator.post(&format!("api/v1/intents/{paused}/pause"), json!({})).await.ok();
        let by_hand = record["id"].as_str().unwrap().to_owned();
        resume(&operator, &by_hand, json!({"input": "s3cr3t"})).await;
        // The rows are in the database, so a server that dies before it sends loses nothing.
        app.restart().await;
        app.advance(60).await;
        let posted = receiver.posted();
        assert_eq!(posted.len(), 4);
        assert!(posted.iter().all(|posted| posted.is_signed_with(SECRET)));
        assert!(posted.iter().all(|posted| !String::from_utf8_lossy(&posted.body).contains("s3cr3t")));
        let mut different = ids(&posted);
        different.dedup();
        assert!(different.len() == 4 && different.iter().all(|id| !id.contains('.')), "{different:?}");
        let record = agent.suspension(&question).await;
        let ended = json!({"type": "suspension.ended", "timestamp": record["resolved_at"], "data": {
            "suspension_id": question, "intent_id": answered, "kind": "awaiting_input", "agent": "test-agent", "resolution": "responded"}});
        let mut of_question = told_of(&posted, &question);
        of_question[0]["timestamp"] = json!(of_question[0]["timestamp"].as_str().unwrap().trim_end_matches('Z'));
        let mut wanted = ended;
        wanted["timestamp"] = json!(wanted["timestamp"].as_str().unwrap().trim_end_matches('Z'));
        assert_eq!(of_question, [wanted]);
        let [of_event] = &told_of(&posted, &by_event)[..] else { panic!("told once") };
        assert_eq!((&of_event["type"], &of_event["data"]["kind"]), (&json!("suspension.resumed"), &json!("parked")));
        let data = &of_event["data"];
        assert_eq!((&data["cause"], &data["event"], &data["continue_transcript"]), (&json!("external_event"), &json!("review.approved"), &json!(true)));
        let [of_time] = &told_of(&posted, &by_time)[..] else { panic!("told once") };
        assert_eq!((&of_time["type"], &of_time["data"]["resolution"]), (&json!("suspension.ended"), &json!("expired")));
        assert_eq!((&of_time["data"]["intent_id"], &of_time["data"]["cause"]), (&json!(failing), &json!("timeout")));
        let [of_pause] = &told_of(&posted, &by_hand)[..] else { panic!("told once") };
        assert_eq!((&of_pause["type"], &of_pause["data"]["kind"]), (&json!("suspension.resumed"), &json!("paused")));
        assert_eq!(of_pause["data"]["agent"], "test-agent", "the agent that waited, and not the person that paused it");
        app.restart().await;
        app.advance(86_400).await;
        assert!(receiver.posted().is_empty(), "a message that was taken is not sent again");
    }

    /// The answer goes only where the operator wants it, and as far as a message has room for it.
    async fn a_value_is_told_where_the_operator_wants_it(app: &mut TestApp) {
        let (with, without) = (Receiver::start().await, Receiver::start().await);
        let mut open = told(&with);
        open.rule.include_value = true;
        wake(app, vec![open, told(&without)]).await;
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let question = agent.asked(intent).await;
        operator.respond(intent, &question, "approve").await.ok();
        let (_, at) = parked(&agent, json!(null)).await;
        let (_, beyond) = parked(&agent, json!(null)).await;
        let (_, none) = parked(&agent, json!(null)).await;
        // Two quotation marks are part of the JSON.
        resume(&operator, &at, json!({"input": "x".repeat(WAKE_VALUE_BYTES_MAX - 2)})).await;
        resume(&operator, &beyond, json!({"input": "x".repeat(WAKE_VALUE_BYTES_MAX - 1)})).await;
        resume(&operator, &none, json!({})).await;
        app.settle().await;
        let (open, thin) = (with.posted(), without.posted());
        assert_eq!((open.len(), thin.len()), (4, 4));
        let value = |posted: &[Posted], id: &str| told_of(posted, id)[0]["data"].clone();
        assert_eq!(value(&open, &question)["value"], "approve");
        assert_eq!(value(&open, &at)["value"].as_str().unwrap().len(), WAKE_VALUE_BYTES_MAX - 2);
        assert_eq!((value(&open, &beyond).get("value"), &value(&open, &beyond)["value_left_out"]), (None, &json!(true)));
        assert_eq!((value(&open, &none).get("value"), value(&open, &none).get("value_left_out")), (None, None));
        for id in [&question, &at, &beyond] {
            assert_eq!((value(&thin, id).get("value"), value(&thin, id).get("value_left_out")), (None, None));
        }
    }

    /// An endpoint is told of the agents and the types that it names.
    async fn an_endpoint_is_told_of_what_it_names(app: &mut TestApp) {
        let (of_agent, of_other, of_resumed) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
        let (mut agents, mut others, mut resumed) = (told(&of_agent), told(&of_other), told(&of_resumed));
        agents.rule.agents = vec!["test-agent".to_owned()];
        others.rule.agents = vec!["another".to_owned()];
        resumed.rule.types = vec![WakeType::Resumed];
        wake(app, vec![agents, others, resumed]).await;
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let question = agent.asked(intent).await;
        operator.respond(intent, &question, "approve").await.ok();
        let (_, stop) = parked(&agent, json!(null)).await;
        resume(&agent, &stop, json!({})).await;
        app.settle().await;
        assert_eq!((of_agent.posted().len(), of_other.posted().len()), (2, 0));
        let posted = of_resumed.posted();
        assert_eq!((posted.len(), told_of(&posted, &stop).len()), (1, 1));
    }

    /// An endpoint that was away is told later, under the id of the first try. One that hangs holds up no other.
    async fn an_endpoint_that_fails_is_told_later_under_the_same_id(app: &mut TestApp) {
        let (failing, hanging, well) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
        let mut slow = told(&hanging);
        slow.settings.timeout = Duration::from_millis(300);
        wake(app, vec![told(&failing), slow, told(&well)]).await;
        let agent = app.agent();
        failing.script([Answer::Status(500, vec![]), Answer::HangUp]);
        hanging.script([Answer::Hang]);
        let (_, stop) = parked(&agent, json!(null)).await;
        resume(&agent, &stop, json!({})).await;
        app.settle().await;
        assert_eq!((failing.posted().len(), hanging.posted().len(), well.posted().len()), (1, 1, 1));
        app.restart().await;
        app.advance(6).await; // The pause is 5 s and at most a fifth more.
        assert_eq!(hanging.posted().len(), 1);
        app.restart().await;
        app.advance(360).await; // The pause is 5 min and at most a fifth more.
        let posted = failing.posted();
        assert_eq!((ids(&posted)[0], posted.len()), (ids(&posted)[1], 2));
        assert!(posted[0].headers["webhook-timestamp"] < posted[1].headers["webhook-timestamp"]);
        assert!(posted.iter().all(|posted| posted.is_signed_with(SECRET)));
        app.advance(86_400).await;
        assert!(failing.posted().is_empty() && hanging.posted().is_empty() && well.posted().is_empty());
    }

    /// A message is given up after ten tries, and one that waits for an endpoint of no configuration after four days.
    async fn a_message_is_given_up_in_the_end(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        wake(app, vec![told(&receiver)]).await;
        let agent = app.agent();
        receiver.script(vec![Answer::Status(500, vec![]); 20]);
        let (_, stop) = parked(&agent, json!(null)).await;
        resume(&agent, &stop, json!({})).await;
        for _ in 0..12 {
            app.advance(110_000).await;
        }
        assert_eq!(receiver.posted().len(), 10);
        let (_, stop) = parked(&agent, json!(null)).await;
        resume(&agent, &stop, json!({})).await;
        wake(app, Vec::new()).await;
        app.advance(4 * 86_400).await;
        app.store().forget_expired().await.unwrap();
        app.advance(1).await;
        assert_eq!(app.store().forget_expired().await.unwrap(), 1, "the message, a moment after four days");
        wake(app, vec![told(&receiver)]).await;
        app.settle().await;
        assert!(receiver.posted().is_empty());
    }

    /// An endpoint that says it is gone is not called once more, until the next start.
    async fn an_endpoint_that_is_gone_is_left_alone(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        wake(app, vec![told(&receiver)]).await;
        let agent = app.agent();
        receiver.script([Answer::Status(410, vec![])]);
        for count in [1, 0] {
            let (_, stop) = parked(&agent, json!(null)).await;
            resume(&agent, &stop, json!({})).await;
            app.settle().await;
            app.advance(86_400).await;
            assert_eq!(receiver.posted().len(), count);
        }
        app.restart().await;
        app.settle().await;
        assert!(receiver.posted().is_empty(), "these messages were given up");
        let (_, stop) = parked(&agent, json!(null)).await;
        resume(&agent, &stop, json!({})).await;
        app.settle().await;
        assert_eq!(receiver.posted().len(), 1);
    }
}
