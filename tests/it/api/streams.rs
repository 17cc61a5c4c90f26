//! The streams that the OpenIntent client opens: they carry the right events, only to clients that may read them, and miss none.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::api::Api;
use harness::app::{Backend, TestApp};
use harness::on_each_store;
use harness::postgres::Cluster;
use harness::stream::Stream;
use serde_json::{Value, json};

/// How long the server waits before it sends a refusal.
const HELD_FOR: Duration = Duration::from_secs(5);
/// How many streams one key may have open.
const STREAMS_PER_KEY_MAX: usize = 1_000;
const MINE: &str = "agents/test-agent/subscribe";

/// An agent of another owner.
async fn helper(app: &TestApp) -> Api {
    Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await))
}

async fn assign(api: &Api, intent: IntentId, agent: &str) {
    api.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": agent})).await.ok();
}

async fn patch(api: &Api, intent: IntentId, patches: Value) {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("api/v1/intents/{intent}/state"), &version, json!({"patches": patches})).await.ok();
}

async fn set(api: &Api, intent: IntentId, path: &str) {
    patch(api, intent, json!([{"op": "set", "path": path, "value": 1}])).await;
}

async fn complete(api: &Api, intent: IntentId) {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "completed"})).await.ok();
}

/// Reads the next event, which must set a member of an intent's state. Returns the event's id and the member's name.
async fn next_key(stream: &mut Stream) -> (String, String) {
    let event = stream.next().await;
    assert_eq!(event.name, "STATE_CHANGED");
    let key = event.data["new_state"].as_object().unwrap().keys().next().unwrap().clone();
    (event.id, key)
}

/// Like [`next_key`], for the first event of a new stream. If that event is `earlier` once more, it is skipped: on PostgreSQL a
/// stream begins at the oldest transaction that still runs, and a transaction of another test may have begun before `earlier` was
/// written.
async fn first_key_but(stream: &mut Stream, earlier: &str) -> (String, String) {
    let first = next_key(stream).await;
    if first.1 == earlier { next_key(stream).await } else { first }
}

on_each_store! {
    /// The stream of an intent's log carries every event of the log, whatever its type. After the connection breaks, a new
    /// stream carries the rest.
    async fn the_stream_of_a_log_carries_every_event_in_its_order(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let path = format!("subscribe/intents/{intent}");
        let mut stream = Stream::open(&agent, &path, None).await;
        let begun = stream.next().await;
        assert_eq!((&*begun.name, &begun.data), ("place", &json!({})));
        let comment = json!({"event_type": "x.own", "payload": {"text": "line\nbreak"}});
        agent.post(&format!("api/v1/intents/{intent}/events"), comment).await.ok();
        set(&agent, intent, "step").await;
        agent.asked(intent).await;
        app.settle().await;
        let mut seen = Vec::new();
        for _ in 0..2 {
            seen.push(stream.next().await);
        }
        drop(stream);
        let link = app.next_link().await;
        app.person().answer(&link, "approve").await;
        app.restart().await;
        let log = agent.get(&format!("api/v1/intents/{intent}/events?include=all&limit=100")).await.ok();
        let mut expected = log.as_array().unwrap().clone();
        expected.reverse();
        expected.remove(0);
        let mut stream = Stream::open(&agent, &path, Some(&seen[1].id)).await;
        while seen.len() < expected.len() {
            seen.push(stream.next().await);
        }
        assert_eq!(seen.iter().map(|event| event.data.clone()).collect::<Vec<_>>(), expected);
        assert!(seen.iter().skip(1).all(|event| json!(event.name) == event.data["event_type"]));
        let foreign = helper(app).await;
        assert_eq!(foreign.get(&format!("api/v1/{path}")).await.status, 404);
    }

    /// A reader that was away for long is told how many events it missed. An id beyond the newest event, as from another
    /// database, counts as the id of the newest one.
    async fn a_reader_far_behind_is_told_how_many_events_it_missed(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let comment = json!({"event_type": "comment", "payload": {}});
        for _ in 0..1_001 {
            agent.post(&format!("api/v1/intents/{intent}/events"), comment.clone()).await.ok();
        }
        let path = format!("subscribe/intents/{intent}");
        let mut stream = Stream::open(&agent, &path, Some("0-0")).await;
        let first = stream.next().await;
        assert_eq!((&*first.name, &first.data, &*first.id), ("missed", &json!({"missed": 2}), "2-0"));
        for number in 3..=1_002 {
            assert_eq!(stream.next().await.id, format!("{number}-0"));
        }
        let mut later = Stream::open(&agent, &path, Some("9999-0")).await;
        agent.post(&format!("api/v1/intents/{intent}/events"), comment).await.ok();
        assert_eq!(later.next().await.id, "1003-0");
    }

    /// The handlers of the client get their events under the names and with the members that they read.
    async fn an_intents_stream_carries_four_names_with_flat_members(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let one = format!("api/v1/intents/{intent}");
        let (mut stream, _) = Stream::begin(&agent, &format!("intents/{intent}/subscribe")).await;
        let others = agent.active_intent().await;
        set(&agent, others, "not-here").await;
        assign(&agent, intent, "helper").await;
        agent.post(&format!("{one}/events"), json!({"event_type": "comment", "payload": {"text": "not here"}})).await.ok();
        patch(&agent, intent, json!([
            {"op": "set", "path": "a/b", "value": "line\nbreak"}, {"op": "append", "path": "list", "value": 2}, {"op": "remove", "path": "gone"},
        ])).await;
        let lease = agent.post(&format!("{one}/leases"), json!({"scope": "report"})).await.ok();
        agent.send(agent.request("DELETE", &format!("{one}/leases/{}", lease["id"].as_str().unwrap()))).await.ok();
        complete(&agent, intent).await;
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(stream.next().await);
        }
        let names: Vec<_> = seen.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["AGENT_ASSIGNED", "STATE_CHANGED", "LEASE_RELEASED", "INTENT_COMPLETED"]);
        let logged = agent.events(intent).await;
        for event in &seen {
            assert_eq!((&event.data["intent_id"], &event.data["actor"]), (&json!(intent), &json!("test-agent")));
            assert!(logged.iter().any(|logged| logged["id"] == event.data["event_id"]), "{event:?}");
        }
        assert_eq!((&seen[0].data["agent_id"], &seen[0].data["role"]), (&json!("helper"), &json!("worker")));
        assert_eq!(seen[1].data["new_state"], json!({"a": {"b": "line\nbreak"}, "list": 2, "gone": null}));
        assert_eq!(seen[2].data["scope"], json!("report"));
        assert_eq!(seen[3].data["new_status"], json!("completed"));
    }

    /// An agent hears of its own assignments and of the intents on which it works, and of no others.
    async fn an_agents_stream_carries_its_own_intents_alone(app: &mut TestApp) {
        let (agent, other) = (app.agent(), helper(app).await);
        let (mut stream, _) = Stream::begin(&other, "agents/helper/subscribe").await;
        let (mine, foreign) = (agent.active_intent().await, agent.active_intent().await);
        set(&agent, foreign, "foreign").await;
        assign(&agent, foreign, "third").await;
        assign(&agent, mine, "third").await;
        assign(&agent, mine, "helper").await;
        let event = stream.next().await;
        assert_eq!((&*event.name, &event.data["intent_id"], &event.data["agent_id"]), ("AGENT_ASSIGNED", &json!(mine), &json!("helper")));
        set(&agent, mine, "shared").await;
        set(&agent, foreign, "foreign").await;
        assert_eq!(next_key(&mut stream).await.1, "shared");
        let own = other.active_intent().await;
        set(&other, own, "own").await;
        let (id, key) = next_key(&mut stream).await;
        assert_eq!(key, "own");
        // An agent that was unassigned gets no further events of the intent, on this stream or on a new one from an earlier event
        // on.
        agent.send(agent.request("DELETE", &format!("api/v1/intents/{mine}/agents/helper"))).await.ok();
        set(&agent, mine, "hidden").await;
        set(&other, own, "last").await;
        assert_eq!(next_key(&mut stream).await.1, "last");
        let mut again = Stream::open(&other, "agents/helper/subscribe", Some(&id)).await;
        assert_eq!(next_key(&mut again).await.1, "last");
        // An agent whose name is below another agent's, as `helper/1` is below `helper`, has a stream of its own.
        let (mut part, _) = Stream::begin(&other, "agents/helper/1/subscribe").await;
        let (mut escaped, _) = Stream::begin(&other, "agents/helper%2F1/subscribe").await;
        assign(&agent, foreign, "helper/1").await;
        for stream in [&mut part, &mut escaped] {
            assert_eq!(stream.next().await.data["agent_id"], json!("helper/1"));
        }
    }

    /// A server that stops breaks its streams, and a client that comes back misses nothing, not even before its first event.
    async fn nothing_is_lost_over_a_restart(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        set(&agent, intent, "before").await;
        let (mut stream, first) = Stream::begin(&agent, MINE).await;
        let (restarted, broken) = tokio::join!(app.restart(), stream.try_next());
        assert_eq!(((), None), (restarted, broken));
        let agent = app.agent();
        set(&agent, intent, "one").await;
        set(&agent, intent, "two").await;
        for path in [MINE.to_owned(), format!("intents/{intent}/subscribe")] {
            let mut stream = Stream::open(&agent, &path, Some(&first)).await;
            let (id, key) = first_key_but(&mut stream, "before").await;
            assert_eq!((&*key, &*next_key(&mut stream).await.1), ("one", "two"));
            let mut stream = Stream::open(&agent, &path, Some(&id)).await;
            assert_eq!(next_key(&mut stream).await.1, "two");
        }
        // An id beyond the newest event, as after a restore of the database, counts as the id of the newest one.
        let mut stream = Stream::open(&agent, MINE, Some(&format!("{0}-{0}", i64::MAX))).await;
        set(&agent, intent, "three").await;
        assert_eq!(first_key_but(&mut stream, "two").await.1, "three");
    }

    /// Transactions that run at the same time commit in any order. A reader that comes back in the middle still gets each
    /// event once.
    async fn each_event_comes_once_however_many_are_written_at_a_time(app: &mut TestApp) {
        const WRITERS: usize = 8;
        const EACH: usize = 12;
        let agent = app.agent();
        let (mut stream, mut place) = Stream::begin(&agent, MINE).await;
        let writers = join_all((0..WRITERS).map(|writer| {
            let agent = &agent;
            async move {
                let intent = agent.active_intent().await;
                for number in 0..EACH {
                    set(agent, intent, &format!("{writer}-{number}")).await;
                }
            }
        }));
        let reader = async {
            let mut seen = Vec::new();
            while seen.len() < WRITERS * EACH {
                let (id, key) = next_key(&mut stream).await;
                place = id;
                seen.push(key);
                if seen.len() % 5 == 0 {
                    stream = Stream::open(&agent, MINE, Some(&place)).await;
                }
            }
            seen
        };
        let (_, seen) = tokio::join!(writers, reader);
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), WRITERS * EACH, "{seen:?}");
        assert!(stream.is_silent(Duration::from_millis(600)).await);
    }

    /// A stream that a key may not read is answered like one that does not exist, and each refusal is sent after a pause.
    async fn streams_of_others_are_refused_and_each_refusal_is_held(app: &mut TestApp) {
        let (agent, other) = (app.agent(), helper(app).await);
        let intent = agent.active_intent().await;
        let theirs = format!("intents/{intent}/subscribe");
        let (operator, channel) = (app.operator(), app.api(Role::Channel));
        let refused = [
            (&other, &*theirs, None, 404),
            (&other, MINE, None, 404),
            (&other, "agents/helper2/subscribe", None, 404),
            (&other, "agents/%00/subscribe", None, 404),
            (&operator, "agents/ops/subscribe", None, 404),
            (&operator, MINE, None, 404),
            (&channel, &theirs, None, 403),
            (&agent, "intents/019ab0f2-0000-7000-8000-000000000000/subscribe", None, 404),
            (&agent, "intents/../subscribe", None, 404),
            (&agent, MINE, Some("7"), 422),
            (&agent, &theirs, Some("1-2-3"), 422),
            // The right to the stream is checked before `Last-Event-ID`.
            (&other, &theirs, Some("7"), 404),
        ];
        let asked = refused.map(|(api, path, last_event_id, status)| async move {
            let began = Instant::now();
            let mut request = api.request("GET", &format!("api/v1/{path}"));
            if let Some(id) = last_event_id {
                request = request.header("last-event-id", id);
            }
            let reply = api.send(request).await;
            assert_eq!(reply.status, status, "{path}: {}", reply.text);
            assert!(path.contains("..") || began.elapsed() >= HELD_FOR, "{path} was refused after {:?}", began.elapsed());
        });
        join_all(asked).await;
        let posted = agent.post("api/v1/agents/test-agent/subscribe", json!({})).await;
        assert_eq!((posted.status, posted.headers["allow"].to_str().unwrap()), (405, "GET"));
        // An operator may have the stream of any intent.
        Stream::begin(&operator, &theirs).await;
    }

    /// A key that is revoked has no stream any more.
    async fn a_revoked_key_loses_its_streams(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let other = helper(app).await;
        let keys = admin.get("api/v1/keys").await.ok();
        let key = keys["keys"].as_array().unwrap().iter().find(|key| key["name"] == "helper").unwrap()["id"].clone();
        let (mut stream, _) = Stream::begin(&other, "agents/helper/subscribe").await;
        admin.send(admin.request("DELETE", &format!("api/v1/keys/{}", key.as_str().unwrap()))).await;
        assert_eq!(stream.try_next().await, None);
    }

    /// One key may have a limited number of streams open. One more is refused, and a stream that is closed makes room.
    async fn a_key_has_so_many_streams(app: &mut TestApp) {
        let agent = app.agent();
        let mut streams = Vec::new();
        for _ in 0..STREAMS_PER_KEY_MAX {
            streams.push(Stream::begin(&agent, MINE).await);
        }
        let began = Instant::now();
        assert_eq!(agent.get(&format!("api/v1/{MINE}")).await.problem(), (429, "rate_limited"));
        assert!(began.elapsed() >= HELD_FOR);
        // The limit is counted for each key, so another key can still open a stream. Other requests of the first key go on.
        let other = helper(app).await;
        Stream::begin(&other, "agents/helper/subscribe").await;
        let intent = agent.active_intent().await;
        set(&agent, intent, "all").await;
        for (stream, _) in &mut streams {
            assert_eq!(next_key(stream).await.1, "all");
        }
    }
}

/// An event that another server wrote wakes the streams here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_carries_what_another_server_wrote() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let agent = app.agent();
    let replica = app.replica().await;
    let there = replica.api(&agent);
    let (mut stream, _) = Stream::begin(&agent, MINE).await;
    let intent = there.active_intent().await;
    set(&there, intent, "there").await;
    let (id, key) = next_key(&mut stream).await;
    assert_eq!(key, "there");
    set(&agent, intent, "here").await;
    // The id of an event means the same position on every server.
    let mut moved = Stream::open(&there, MINE, Some(&id)).await;
    assert_eq!((&*next_key(&mut moved).await.1, &*next_key(&mut stream).await.1), ("here", "here"));
    replica.stop().await;
    app.finish().await;
}

/// The position of an event comes from the number of its transaction. A new PostgreSQL cluster counts transactions from the
/// beginning, so a database that was moved there holds positions far above the numbers of the new transactions. New events must
/// still get higher positions than the events that were moved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn positions_of_another_cluster_are_followed_by_new_ones() {
    let mut app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let intent = app.agent().active_intent().await;
    set(&app.agent(), intent, "before").await;
    let name = app.scratch().unwrap().name().to_owned();
    Cluster::of_this_process().sql(&name, "UPDATE published SET position = position + 1000000000").await;
    app.restart().await;
    let agent = app.agent();
    let (mut stream, place) = Stream::begin(&agent, MINE).await;
    set(&agent, intent, "one").await;
    assert_eq!(first_key_but(&mut stream, "before").await.1, "one");
    // The first restart raised the offset that the server adds to new positions. A second restart leaves the offset as it is.
    app.restart().await;
    let agent = app.agent();
    set(&agent, intent, "two").await;
    let mut stream = Stream::open(&agent, MINE, Some(&place)).await;
    assert_eq!((&*first_key_but(&mut stream, "before").await.1, &*next_key(&mut stream).await.1), ("one", "two"));
    app.finish().await;
}
