//! A client of the server's streams (server-sent events).

use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use tokio::time::timeout;

use crate::api::Api;
use crate::process::PATIENCE;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Streamed {
    pub id: String,
    pub name: String,
    pub data: Value,
}

/// An open stream.
pub struct Stream {
    response: Response,
    unread: String,
}

impl Stream {
    /// Opens a stream; `path` is below `api/v1/`.
    pub async fn open(api: &Api, path: &str, last_event_id: Option<&str>) -> Self {
        let request = api.request("GET", &format!("api/v1/{path}"));
        Self::of(match last_event_id {
            Some(id) => request.header("last-event-id", id),
            None => request,
        })
        .await
    }

    async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200, "{:?}", response.text().await);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, unread: String::new() }
    }

    /// Opens a new stream, and returns it with the id of its first event, from which another stream can go on.
    pub async fn begin(api: &Api, path: &str) -> (Self, String) {
        let mut stream = Self::open(api, path, None).await;
        let first = stream.next().await;
        assert_eq!((&*first.name, &first.data), ("STATUS_CHANGED", &serde_json::json!({"new_status": null})));
        (stream, first.id)
    }

    /// The next event; comments are skipped.
    pub async fn next(&mut self) -> Streamed {
        timeout(PATIENCE, self.try_next()).await.expect("an event comes in time").expect("the stream goes on")
    }

    /// The next event; `None` if the connection breaks. A clean end fails the test.
    pub async fn try_next(&mut self) -> Option<Streamed> {
        loop {
            while let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                if block.contains("data:") {
                    return Some(event(&block));
                }
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.unread.push_str(std::str::from_utf8(&bytes).unwrap()),
                Ok(None) => panic!("the stream ended cleanly, after which its client asks again at once"),
                Err(_) => return None,
            }
        }
    }

    /// Whether no event comes for a while.
    pub async fn is_silent(&mut self, wait: Duration) -> bool {
        timeout(wait, self.try_next()).await.is_err()
    }
}

fn event(block: &str) -> Streamed {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or_default();
        line.to_owned()
    };
    Streamed { id: field("id"), name: field("event"), data: serde_json::from_str(&field("data")).unwrap() }
}
