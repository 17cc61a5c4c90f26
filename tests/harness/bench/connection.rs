//! One kept-alive HTTP/1.1 connection that costs very little: on a machine of two cores, the generator takes its processor time
//! from the server.

use std::net::SocketAddr;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Room for most answers, so that one read takes them.
const RECEIVED_BYTES: usize = 16 * 1_024;

/// The address to which requests go, and the key that each of them carries. If the key is empty, each request brings its own.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub key: String,
}

/// A connection to a [`Target`].
pub struct Connection {
    stream: TcpStream,
    /// The headers every request has.
    headers: String,
    sent: Vec<u8>,
    received: Vec<u8>,
}

/// A server's answer.
pub struct Answer<'a> {
    pub status: u16,
    pub head: &'a str,
    pub body: &'a [u8],
}

impl Answer<'_> {
    /// The body of a 200, with the members that `T` needs.
    pub fn ok<T: DeserializeOwned>(&self) -> T {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(self.body));
        serde_json::from_slice(self.body).unwrap()
    }
}

impl Connection {
    /// Connects.
    pub async fn open(target: &Target) -> Self {
        let stream = TcpStream::connect(target.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let key = if target.key.is_empty() { String::new() } else { format!("x-api-key: {}\r\n", target.key) };
        let headers = format!("host: {}\r\n{key}", target.address);
        Self { stream, headers, sent: Vec::new(), received: Vec::with_capacity(RECEIVED_BYTES) }
    }

    pub async fn get(&mut self, path: &str) -> Answer<'_> {
        self.send("GET", path, "", "").await
    }

    pub async fn post(&mut self, path: &str, body: &str) -> Answer<'_> {
        self.send("POST", path, "", body).await
    }

    /// Sends a request and reads the answer whole; `more` are further headers, each with its line end.
    pub async fn send(&mut self, method: &str, path: &str, more: &str, body: &str) -> Answer<'_> {
        self.sent.clear();
        let length = body.len();
        for part in [method, " /", path, " HTTP/1.1\r\n", &self.headers, more] {
            self.sent.extend_from_slice(part.as_bytes());
        }
        let rest = format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        self.sent.extend_from_slice(rest.as_bytes());
        self.sent.extend_from_slice(body.as_bytes());
        self.stream.write_all(&self.sent).await.unwrap();
        self.received.clear();
        let head_end = loop {
            assert!(self.stream.read_buf(&mut self.received).await.unwrap() > 0, "the server hung up");
            if let Some(end) = self.received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let end = head_end + content_length(&self.received[..head_end]);
        while self.received.len() < end {
            assert!(self.stream.read_buf(&mut self.received).await.unwrap() > 0, "the server hung up");
        }
        let head = std::str::from_utf8(&self.received[..head_end]).unwrap();
        Answer { status: head[9..12].parse().unwrap(), head, body: &self.received[head_end..end] }
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = std::str::from_utf8(head).unwrap();
    let length =
        head.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    length.expect("every answer says how long it is").1.trim().parse().unwrap()
}
