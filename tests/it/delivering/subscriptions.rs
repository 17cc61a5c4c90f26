//! Subscriptions, by which an agent has the server tell an endpoint about the events of an intent.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::base::clock::Clock;
use domain::base::ids::IntentId;
use domain::base::time::rfc3339;
use domain::people::principal::Role;
use domain::subscription::{SUBSCRIPTIONS_OF_CREATOR_MAX, SUBSCRIPTIONS_OF_CREATOR_TO_INTENT_MAX, SUBSCRIPTIONS_OF_INTENT_MAX};
use harness::api::Api;
use harness::app::{Backend, TestApp};
use harness::on_each_store;
use harness::receiver::{Answer, Posted, Receiver};
use serde_json::{Value, json};

const PATH: &str = "api/v1/subscriptions";

async fn subscribe(agent: &Api, intent: IntentId, receiver: &Receiver, more: Value) -> Value {
    let mut body = json!({"intent_id": intent, "webhook_url": receiver.url()});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    agent.post(PATH, body).await.ok()
}

async fn comment(agent: &Api, intent: IntentId) {
    let comment = json!({"event_type": "comment", "payload": {"text": "hello"}});
    agent.post(&format!("api/v1/intents/{intent}/events"), comment).await.ok();
}

fn sequences(posted: &[Posted]) -> Vec<u64> {
    posted.iter().map(|posted| posted.json()["data"]["sequence"].as_u64().unwrap()).collect()
}

async fn listed(api: &Api, query: &str) -> usize {
    api.get(&format!("{PATH}{query}")).await.ok().as_array().unwrap().len()
}

on_each_store! {
    /// The messages must be provably the server's, and must hold neither the question nor a way to answer it.
    async fn an_endpoint_is_told_of_each_event_signed_thin_and_in_order(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let url = format!("{}?\u{0}\ta", receiver.url());
        let made = subscribe(&agent, intent, &receiver, json!({"subscriber_id": "boss", "webhook_url": url})).await;
        assert_eq!(made["webhook_url"], format!("{}?%00a", receiver.url()), "it is stored as it is called");
        assert_eq!(made["createdAt"], made["created_at"]);
        assert_eq!((&made["subscriber_id"], &made["claimed_subscriber_id"]), (&json!("test-agent"), &json!("boss")));
        agent.asked(intent).await;
        app.settle().await;
        let link = app.next_link().await;
        app.person().answer(&link, "approve").await;
        app.restart().await;
        app.settle().await;
        let posted = receiver.posted();
        let events = agent.get(&format!("api/v1/intents/{intent}/events?include=all&limit=100")).await.ok();
        let since: Vec<&Value> = events.as_array().unwrap().iter().rev().skip(1).collect();
        let types: Vec<Value> = posted.iter().map(|posted| posted.json()["type"].clone()).collect();
        assert_eq!(types, since.iter().map(|event| event["event_type"].clone()).collect::<Vec<_>>());
        assert_eq!(sequences(&posted), (2..2 + since.len() as u64).collect::<Vec<_>>());
        for (posted, event) in posted.iter().zip(since) {
            assert!(posted.is_signed_with(made["secret"].as_str().unwrap()));
            let body = posted.json();
            let expected = json!({"type": event["event_type"], "timestamp": format!("{}Z", event["created_at"].as_str().unwrap()), "data": {
                "subscription_id": made["id"], "subscriber_id": "test-agent", "intent_id": intent, "sequence": body["data"]["sequence"],
            }});
            assert_eq!(body, expected);
        }
        let ids: BTreeSet<_> = posted.iter().map(|posted| posted.headers["webhook-id"].clone()).collect();
        assert_eq!(ids.len(), posted.len(), "each event has an id of its own");
    }

    async fn an_endpoint_is_told_of_the_types_it_names_and_of_nothing_earlier(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        comment(&agent, intent).await;
        subscribe(&agent, intent, &receiver, json!({"event_types": ["comment"]})).await;
        let other = agent.active_intent().await;
        comment(&agent, other).await;
        agent.post_at(&format!("api/v1/intents/{intent}/state"), "1", json!({"patches": [{"op": "set", "path": "a", "value": 1}]})).await.ok();
        comment(&agent, intent).await;
        app.settle().await;
        assert_eq!(sequences(&receiver.posted()), [4]);
    }

    /// An endpoint that was away gets the events that it missed, in the order in which they happened. Each message keeps the
    /// id of its first try.
    async fn an_endpoint_that_fails_is_told_later_and_again(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        subscribe(&agent, intent, &receiver, json!({})).await;
        receiver.script([Answer::Status(500, vec![]), Answer::HangUp]);
        for _ in 0..3 {
            comment(&agent, intent).await;
        }
        app.settle().await;
        app.restart().await;
        app.advance(6).await; // The pause is 5 s and at most a fifth more.
        assert_eq!(sequences(&receiver.posted()), [2, 2]);
        app.advance(360).await; // The pause is 5 min and at most a fifth more.
        assert_eq!(sequences(&receiver.posted()), [2, 3, 4]);
        app.advance(86_400).await;
        assert!(receiver.posted().is_empty(), "a message that was taken is not sent again");
    }

    /// A subscription ends when its endpoint says that it is gone, so that the endpoint is not called once more. It also ends
    /// when ten tries of one message have failed, so that a failing endpoint is not called for ever.
    async fn a_subscription_ends_with_its_endpoint(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        subscribe(&agent, intent, &receiver, json!({})).await;
        receiver.script([Answer::Status(410, vec![])]);
        comment(&agent, intent).await;
        app.settle().await;
        assert_eq!((receiver.posted().len(), listed(&agent, "").await), (1, 0));
        subscribe(&agent, intent, &receiver, json!({})).await;
        receiver.script(vec![Answer::Status(500, vec![]); 20]);
        comment(&agent, intent).await;
        app.settle().await;
        for _ in 0..8 {
            assert_eq!(listed(&agent, "").await, 1);
            app.advance(110_000).await;
        }
        app.advance(110_000).await;
        assert_eq!((receiver.posted().len(), listed(&agent, "").await), (10, 0));
    }

    async fn a_subscription_ends_in_time_and_by_request(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let soon = rfc3339(app.clock.now() + TimeDelta::seconds(60));
        subscribe(&agent, intent, &receiver, json!({"expires_at": soon})).await;
        app.advance(60).await;
        comment(&agent, intent).await;
        app.settle().await;
        assert!(receiver.posted().is_empty() && listed(&agent, "").await == 0, "it ended in time");
        app.store().forget_expired().await.unwrap();
        let made = subscribe(&agent, intent, &receiver, json!({})).await;
        let one = format!("{PATH}/{}", made["id"].as_str().unwrap());
        let foreign = Api::new(&app.base, Some(&app.new_key(Role::Agent, "foreign").await));
        assert_eq!(foreign.send(foreign.request("DELETE", &one)).await.status, 404);
        let operator = app.operator();
        assert_eq!((listed(&operator, "").await, operator.send(operator.request("DELETE", &one)).await.status), (1, 403));
        assert_eq!((listed(&foreign, "").await, listed(&agent, &format!("?intent_id={intent}")).await), (0, 1));
        assert_eq!(agent.send(agent.request("DELETE", &one)).await.status, 204);
        assert_eq!(agent.send(agent.request("DELETE", &one)).await.status, 404);
        comment(&agent, intent).await;
        app.settle().await;
        assert!(receiver.posted().is_empty());
    }

    /// When a key loses the right to read an intent, its subscription to that intent must end.
    async fn a_subscription_ends_with_the_rights_of_its_key(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        let endpoint = json!({"intent_id": intent, "webhook_url": receiver.url()});
        assert_eq!(helper.post(PATH, endpoint.clone()).await.status, 404, "a foreign intent");
        assert_eq!(app.operator().post(PATH, endpoint).await.status, 403);
        let entry = agent.post(&format!("api/v1/intents/{intent}/acl/entries"), json!({"principal_id": "helper"})).await.ok();
        subscribe(&helper, intent, &receiver, json!({})).await;
        comment(&agent, intent).await;
        app.settle().await;
        assert_eq!(receiver.posted().len(), 1);
        let entry = format!("api/v1/intents/{intent}/acl/entries/{}", entry["id"].as_str().unwrap());
        agent.send(agent.request("DELETE", &entry)).await;
        app.settle().await;
        assert_eq!((receiver.posted().len(), listed(&helper, "").await), (0, 0));
        subscribe(&agent, intent, &receiver, json!({})).await;
        let keys = app.api(Role::Admin).get("api/v1/keys").await.ok();
        let key = keys["keys"].as_array().unwrap().iter().find(|key| key["name"] == "test-agent").unwrap().clone();
        comment(&agent, intent).await;
        let admin = app.api(Role::Admin);
        admin.send(admin.request("DELETE", &format!("api/v1/keys/{}", key["id"].as_str().unwrap()))).await.ok();
        app.settle().await;
        assert!(receiver.posted().is_empty(), "a revoked key is told of nothing");
    }

    /// A subscription to an event type that does not exist is refused, because its subscriber would wait in vain. A repeated
    /// request must not show the secret to a key that may no longer read the intent.
    async fn a_subscription_is_made_for_events_that_come_to_a_reader(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let (agent, other) = (app.agent(), Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await)));
        let intent = agent.active_intent().await;
        for wrong in ["intent.resumd", "intent.resumed ", "delivery.", "state_patchd"] {
            let body = json!({"intent_id": intent, "webhook_url": receiver.url(), "event_types": [wrong]});
            assert_eq!(agent.post(PATH, body).await.field_problem().2, "event_types[0]", "{wrong}");
        }
        let entries = format!("api/v1/intents/{intent}/acl/entries");
        let entry = agent.post(&entries, json!({"principal_id": "other", "permission": "read"})).await.ok()["id"].clone();
        let body = json!({"intent_id": intent, "webhook_url": receiver.url()});
        let made = other.post_once(PATH, "one", body.clone()).await.ok();
        assert_eq!(other.post_once(PATH, "one", body.clone()).await.ok(), made);
        agent.send(agent.request("DELETE", &format!("{entries}/{}", entry.as_str().unwrap()))).await;
        assert_eq!(other.post_once(PATH, "one", body).await.problem(), (404, "not_found"));
        app.settle().await;
    }

    /// The operator takes a host off the list because something is wrong with it, so it must not be called any more.
    async fn an_endpoint_off_the_operators_list_is_not_called(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        subscribe(&agent, intent, &receiver, json!({})).await;
        app.restart_with(|config| config.subscriptions.hosts.clear()).await;
        comment(&agent, intent).await;
        app.settle().await;
        assert_eq!((receiver.connections(), listed(&agent, "").await), (0, 0));
        let refused = agent.post(PATH, json!({"intent_id": intent, "webhook_url": receiver.url()})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "webhook_url", "endpoint"));
        assert!(refused.text.contains("subscriptions.hosts"), "{}", refused.text);
    }

    /// An endpoint that is far behind is told so, and costs no more than one that is a little behind.
    async fn an_endpoint_that_is_far_behind_is_told_how_many_events_it_missed(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        subscribe(&agent, intent, &receiver, json!({"event_types": ["comment"]})).await;
        for _ in 0..103 {
            comment(&agent, intent).await;
        }
        app.settle().await;
        let posted = receiver.posted();
        assert_eq!((posted[0].json()["data"]["missed"].as_u64(), posted[1].json()["data"].get("missed")), (Some(3), None));
        assert_eq!(sequences(&posted), (5..=104).collect::<Vec<_>>());
        // The server skips events that are too far behind without reading their types. Any of them may have been of a type that
        // the endpoint wants, so they count as missed.
        let own = json!({"event_type": "x.own", "payload": {}});
        for _ in 0..101 {
            agent.post(&format!("api/v1/intents/{intent}/events"), own.clone()).await.ok();
        }
        app.settle().await;
        comment(&agent, intent).await;
        app.restart().await;
        app.settle().await;
        assert_eq!(receiver.posted()[0].json()["data"]["missed"], 1);
    }

    /// The server calls only a few endpoints of one agent at the same time, here four. If they are slow, the endpoints of other
    /// agents are called all the same.
    async fn slow_endpoints_of_one_agent_hold_up_no_other_agent(app: &mut TestApp) {
        let (slow, fast) = (Receiver::start().await, Receiver::start().await);
        let agent = app.agent();
        slow.script(vec![Answer::Hang; 100]);
        for _ in 0..17 {
            let intent = agent.active_intent().await;
            for _ in 0..SUBSCRIPTIONS_OF_CREATOR_TO_INTENT_MAX {
                subscribe(&agent, intent, &slow, json!({})).await;
            }
            comment(&agent, intent).await;
        }
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await));
        let intent = other.active_intent().await;
        subscribe(&other, intent, &fast, json!({})).await;
        comment(&other, intent).await;
        let (telling, began) = (app.subscriptions(), Instant::now());
        let told = async {
            // The slow endpoints are called first, but a connection may be accepted later than it was begun.
            while fast.connections() == 0 || slow.connections() < 4 {
                assert!(began.elapsed() < Duration::from_secs(10), "the other agent waits");
                harness::pause::pause().await;
            }
        };
        tokio::select! {
            ended = telling.run_due() => panic!("the slow endpoints do not answer: {ended:?}"),
            () = told => {}
        }
        assert_eq!(slow.connections(), 4);
    }

    async fn a_repeated_request_makes_one_subscription_and_gets_the_same_secret(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let body = json!({"intent_id": intent, "webhook_url": "http://127.0.0.1:1/"});
        let first = agent.post_once(PATH, "k", body.clone()).await.ok();
        app.restart().await;
        let second = app.agent().post_once(PATH, "k", body).await.ok();
        assert_eq!((&first, listed(&agent, "").await), (&second, 1));
        assert!(first["secret"].as_str().unwrap().starts_with("whsec_"));
        assert!(!agent.get(PATH).await.text.contains("whsec_"), "the secret is shown once");
    }

    async fn an_intent_has_so_many_subscriptions(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let endpoint = |intent: IntentId| json!({"intent_id": intent, "webhook_url": "http://127.0.0.1:1/"});
        for helper in 0..SUBSCRIPTIONS_OF_INTENT_MAX / SUBSCRIPTIONS_OF_CREATOR_TO_INTENT_MAX {
            let name = format!("helper-{helper}");
            agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": name})).await.ok();
            let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, &name).await));
            for number in 0..=SUBSCRIPTIONS_OF_CREATOR_TO_INTENT_MAX {
                let reply = helper.post(PATH, endpoint(intent)).await;
                assert_eq!(reply.status == 200, number < SUBSCRIPTIONS_OF_CREATOR_TO_INTENT_MAX, "{name} {number}");
            }
        }
        let refused = agent.post(PATH, endpoint(intent)).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "intent_id", "limit"));
        for number in 0..=SUBSCRIPTIONS_OF_CREATOR_MAX {
            let reply = agent.post(PATH, endpoint(agent.active_intent().await)).await;
            assert_eq!(reply.status == 200, number < SUBSCRIPTIONS_OF_CREATOR_MAX, "{number}");
        }
    }
}

/// Two servers of one database share the work: an endpoint must not be told of everything by each of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_tell_an_endpoint_once() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let replica = app.replica().await;
    let receiver = Receiver::start().await;
    let agent = app.agent();
    let intent = agent.active_intent().await;
    subscribe(&agent, intent, &receiver, json!({})).await;
    for _ in 0..30 {
        comment(&agent, intent).await;
        let (one, other) = tokio::join!(async { app.subscriptions().run_due().await.unwrap() }, async {
            replica.subscriptions.run_due().await.unwrap()
        });
        assert_eq!(one + other, 1);
    }
    assert_eq!(sequences(&receiver.posted()), (2..32).collect::<Vec<_>>());
    replica.stop().await;
    app.finish().await;
}
