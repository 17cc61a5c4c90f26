//! HTTP as bytes on a connection: for load, and for clients that misbehave. It has no pool, no retries and no other help.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;

/// One connection.
pub struct Wire {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// The server's answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// A header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// A request with a key and a JSON body, as bytes; an empty body is left out.
pub fn request(method: &str, path: &str, key: &str, body: &str) -> Vec<u8> {
    let length = if body.is_empty() {
        String::new()
    } else {
        format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
    };
    format!("{method} /{path} HTTP/1.1\r\nhost: placet\r\nx-api-key: {key}\r\n{length}\r\n{body}").into_bytes()
}

impl Wire {
    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// No server listens, or none accepts the connection.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, unread: Vec::new() })
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    ///
    /// The connection ended.
    pub async fn send(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.write(request).await?;
        self.read().await
    }

    /// Sends bytes.
    ///
    /// # Errors
    ///
    /// The connection ended.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads an answer.
    ///
    /// # Errors
    ///
    /// The connection ended before the whole answer was there.
    pub async fn read(&mut self) -> io::Result<Answer> {
        let end = self.head().await?;
        let head = String::from_utf8_lossy(&self.unread[..end]).into_owned();
        let mut answer =
            Answer { status: head.get(9..12).and_then(|code| code.parse().ok()).unwrap_or_default(), head, body: Vec::new() };
        let length: usize = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
        while self.unread.len() < end + length {
            self.more().await?;
        }
        answer.body = self.unread[end..end + length].to_vec();
        self.unread.drain(..end + length);
        Ok(answer)
    }

    /// Waits for the head of an answer and leaves it unread; returns its length.
    ///
    /// # Errors
    ///
    /// The connection ended before the whole head was there.
    pub async fn head(&mut self) -> io::Result<usize> {
        loop {
            if let Some(end) = self.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                return Ok(end + 4);
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> io::Result<()> {
        let start = self.unread.len();
        self.unread.resize(start + READ_BYTES, 0);
        let read = self.stream.read(&mut self.unread[start..]).await;
        self.unread.truncate(start + *read.as_ref().unwrap_or(&0));
        if read? == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}
