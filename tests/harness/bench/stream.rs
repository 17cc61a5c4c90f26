//! A client of a stream (server-sent events) that costs very little, see [`super::connection`].

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::connection::Target;

/// An event of a stream.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: String,
    pub name: String,
    pub data: Value,
}

/// The members that a patch sets.
#[derive(Deserialize)]
struct Patched {
    new_state: Value,
}

impl Event {
    /// The member `name` of the state that a patch set; `None` for other events.
    pub fn set(&self, name: &str) -> Option<u64> {
        let patched: Patched = (self.name == "STATE_CHANGED").then(|| serde_json::from_value(self.data.clone()).unwrap())?;
        patched.new_state[name].as_u64()
    }
}

/// An open stream.
pub struct EventStream {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl EventStream {
    /// Opens a stream, from behind the event `after` if one is named; returns it with the number of times that a busy server
    /// refused it. The head of the answer has been read when it returns.
    pub async fn open(target: &Target, path: &str, after: Option<&str>) -> (Self, usize) {
        let mut refused = 0;
        loop {
            if let Some(opened) = Self::try_open(target, path, after).await {
                return (opened, refused);
            }
            refused += 1;
        }
    }

    async fn try_open(target: &Target, path: &str, after: Option<&str>) -> Option<Self> {
        let mut stream = TcpStream::connect(target.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let after = after.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let head = format!("GET /{path} HTTP/1.1\r\nhost: {}\r\nx-api-key: {}\r\n{after}\r\n", target.address, target.key);
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut opened = Self { stream, unread: Vec::new() };
        let head = loop {
            if let Some(end) = opened.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break String::from_utf8(opened.unread.drain(..end + 4).collect()).unwrap();
            }
            assert!(opened.receive().await, "the server hung up");
        };
        let is_busy = head.starts_with("HTTP/1.1 503 ");
        assert!(is_busy || head.starts_with("HTTP/1.1 200 "), "{head}");
        (!is_busy).then_some(opened)
    }

    async fn receive(&mut self) -> bool {
        self.stream.read_buf(&mut self.unread).await.is_ok_and(|received| received > 0)
    }

    /// The next event; `None` when the connection breaks. The server sends whole events in each chunk, so the lines that frame a
    /// chunk stand before an event and never within one.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|bytes| bytes == b"\n\n") {
                let block = String::from_utf8(self.unread.drain(..end + 2).collect()).unwrap();
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                if let (Some(id), Some(name), Some(data)) = (field("id"), field("event"), field("data")) {
                    let data = serde_json::from_str(data).unwrap();
                    return Some(Event { id: id.to_owned(), name: name.to_owned(), data });
                }
            }
            if !self.receive().await {
                return None;
            }
        }
    }
}
