//! Subscriptions through breaks of their connection.

use std::time::Duration;

use placet::{CallError, Client, Streamed, Subscription, TransportError};
use serde_json::json;

use crate::holding::{Connection, Holding, tasks, tasks_are};
use crate::script::INTENT;

const BEGIN: &str = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\nretry: 5000\n\n";
const POSITION: &str = "id: 10-1\nevent: STATUS_CHANGED\ndata: {\"new_status\":null}\n\n";

fn event(place: &str, name: &str) -> String {
    let data = json!({"intent_id": INTENT, "actor": "a", "scope": place});
    format!("id: {place}\nevent: {name}\ndata: {data}\n\n")
}

/// A stream with its first place.
async fn begun(server: &Holding, client: &Client) -> (Subscription, Connection) {
    let (subscription, connection) = tokio::join!(client.subscribe("bot", None), async {
        let (mut connection, request) = server.request().await;
        assert!(request.starts_with("GET /api/v1/agents/bot/subscribe ") && !request.contains("last-event-id"));
        connection.send(&format!("{BEGIN}{POSITION}")).await;
        connection
    });
    (subscription.unwrap(), connection)
}

/// At stake: an agent that misses an event does not do the work that the event asks for.
#[tokio::test]
async fn a_stream_that_breaks_goes_on_behind_its_last_whole_event() {
    let server = Holding::start().await;
    let client = server.client();
    let (mut events, mut connection) = begun(&server, &client).await;
    assert_eq!(events.place(), Some("10-1"));
    let [second, third] = ["10-2", "10-3"].map(|place| event(place, "AGENT_ASSIGNED"));
    let serving = async {
        connection.send(&format!(": alive\n\n{second}{}", &third[..third.len() / 2])).await;
        drop(connection);
        // A connection that breaks, a refusal, then a stream with the third event.
        drop(server.request().await);
        let (mut busy, _) = server.request().await;
        busy.reply(503, "connection: close\r\n", &json!({"detail": "no", "code": "overloaded"})).await;
        let (mut connection, request) = server.request().await;
        assert!(request.contains("\r\nlast-event-id: 10-2\r\n"), "{request}");
        connection.send(&format!("{BEGIN}{third}")).await;
        connection
    };
    let (told, connection) = tokio::join!(
        async {
            let mut told = Vec::new();
            for place in ["10-2", "10-3"] {
                let Streamed::Event(event) = events.next().await.unwrap() else { panic!("nothing is missing") };
                assert_eq!((event.data["scope"].as_str(), events.place()), (Some(place), Some(place)));
                told.push(event.name);
            }
            told
        },
        serving
    );
    assert_eq!(told, ["AGENT_ASSIGNED"; 2]);
    drop(connection);
}

/// At stake: a program that believes that it has seen all events acts on an old state. If the server sends a place before the
/// last one, its database was restored, and events may be missing.
#[tokio::test]
async fn a_place_that_went_back_is_told_as_a_gap() {
    let server = Holding::start().await;
    let client = server.client();
    let (mut events, mut connection) = begun(&server, &client).await;
    connection.send(&format!("{}{}", event("3-1", "NEW_NAME"), event("3-2", "STATE_CHANGED"))).await;
    assert_eq!(events.next().await.unwrap(), Streamed::Gap);
    for name in ["NEW_NAME", "STATE_CHANGED"] {
        assert!(matches!(events.next().await.unwrap(), Streamed::Event(event) if event.name == name));
    }
    assert_eq!(events.place(), Some("3-2"));
}

/// At stake: one event that cannot be read must neither end the stream nor be given out as another.
#[tokio::test]
async fn an_event_that_cannot_be_read_is_an_error_and_the_next_one_comes() {
    let server = Holding::start().await;
    let client = server.client();
    let (mut events, mut connection) = begun(&server, &client).await;
    let unreadable = "id: 10-2\nevent: A\ndata: {\"intent_id\": 5, \"secret\": \"hush\"}\n\nid: 10-3\nevent: A\ndata: 5\n\n";
    connection.send(&format!("{unreadable}{}", event("10-4", "A"))).await;
    for place in ["10-2", "10-3"] {
        let error = events.next().await.unwrap_err();
        assert!(matches!(&error, CallError::Transport(TransportError::Unreadable { .. })), "{error:?}");
        assert!(!format!("{error:?} {error}").contains("hush"));
        assert_eq!(events.place(), Some(place));
    }
    assert!(matches!(events.next().await.unwrap(), Streamed::Event(_)));
}

/// At stake: a subscription that is dropped must not hold one of the key's streams, and one that cannot go on must say so.
#[tokio::test]
async fn a_subscription_ends_when_it_is_dropped_refused_or_out_of_patience() {
    let server = Holding::start().await;
    let client = server.client();
    let before = tasks();
    let (events, connection) = begun(&server, &client).await;
    drop(events);
    connection.closed().await;
    tasks_are(before).await;

    let refuse = async |status, code: &str| {
        let (mut connection, _) = server.request().await;
        connection.reply(status, "connection: close\r\n", &json!({"detail": "no", "code": code})).await;
    };
    let (hidden, ()) = tokio::join!(client.subscribe("bot", Some("10-1")), refuse(404, "not_found"));
    assert!(matches!(&hidden, Err(CallError::Refused(problem)) if problem.is("not_found")), "{hidden:?}");
    assert!(matches!(client.subscribe("bot", Some("line\nbreak")).await, Err(CallError::Refused(_))));

    let impatient = Client::builder(server.base.clone(), "the-key").outage_tolerance(Duration::ZERO).build().unwrap();
    let (mut events, connection) = begun(&server, &impatient).await;
    drop(connection);
    assert!(matches!(events.next().await, Err(CallError::Transport(_))));
    // The program calls `next` again after the error, and gets the event behind the last one that it saw.
    let (told, ()) = tokio::join!(events.next(), async {
        let (mut connection, request) = server.request().await;
        assert!(request.contains("\r\nlast-event-id: 10-1\r\n"), "{request}");
        connection.send(&format!("{BEGIN}{}", event("10-2", "A"))).await;
    });
    assert!(matches!(told.unwrap(), Streamed::Event(_)));
}
