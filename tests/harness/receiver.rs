//! An HTTP endpoint that keeps all requests and misbehaves when a test tells it to.

#![expect(clippy::missing_panics_doc, reason = "a harness reports by panicking: the test that called it fails")]

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use channels::{Template, WebhookSettings};
use domain::suspension::channel::{Channels, EMAIL, NamedChannel, Reach};
use hmac::{Hmac, KeyInit, Mac};
use placet_server::config::{Config, WebhookConfig};
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The secret of [`webhook`].
pub const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A status, and headers of one line each.
    Status(u16, Vec<String>),
    /// Nothing, for as long as the sender waits.
    Hang,
    /// A 200 whose head comes one byte a second.
    SlowHead,
    /// A 200 with a body of this many bytes.
    Body(usize),
    /// A 200 with a body that begins and never ends.
    EndlessBody,
    /// Bytes that are no HTTP.
    Garbage,
    /// The connection drops after the request.
    HangUp,
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Posted {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Posted {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Whether one of its signatures is made with `secret` (Standard Webhooks), checked by code of the tests themselves.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.update(format!("{}.{}.", self.headers["webhook-id"], self.headers["webhook-timestamp"]).as_bytes());
        mac.update(&self.body);
        let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.headers["webhook-signature"].split(' ').any(|signature| signature == expected)
    }
}

#[derive(Default)]
struct Shared {
    script: Mutex<VecDeque<Answer>>,
    posted: Mutex<Vec<Posted>>,
    connections: AtomicUsize,
}

/// A receiver of webhooks on 127.0.0.1. Without a script it answers 204.
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, shared.clone()));
        Self { address, shared, _serving: serving }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A URL of the receiver. Its path looks like those that some services use as a secret.
    pub fn url(&self) -> String {
        format!("http://{}/services/T0/B0/s3cr3t-path", self.address)
    }

    /// Answers the next requests in this order; after them it answers 204 again.
    pub fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.shared.script.lock().unwrap().extend(answers);
    }

    /// Everything that arrived since the last call.
    pub fn posted(&self) -> Vec<Posted> {
        std::mem::take(&mut *self.shared.posted.lock().unwrap())
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

/// A webhook to `receiver` whose messages carry an answer link, with a timeout that is short enough for a test.
pub fn webhook(name: &str, receiver: &Receiver) -> WebhookConfig {
    let settings = WebhookSettings {
        name: name.to_owned(),
        url: receiver.url().into(),
        secret: SECRET.into(),
        previous_secret: None,
        allow_subnets: vec!["127.0.0.0/8".parse().unwrap()],
        links: true,
        template: Template::Placet,
        timeout: Duration::from_secs(2),
    };
    WebhookConfig { settings, is_this_machine: true }
}

/// Gives a server webhooks beside its mails; `default` is used for questions that prefer no channel.
pub fn add(config: &mut Config, webhooks: Vec<(WebhookConfig, Reach)>, default: &[&str]) {
    let mut known = vec![NamedChannel { name: EMAIL.to_owned(), reach: Reach::People, links: true }];
    for (webhook, reach) in webhooks {
        known.push(NamedChannel { name: webhook.settings.name.clone(), reach, links: webhook.settings.links });
        config.webhooks.push(webhook);
    }
    config.asking.channels = Channels::new(known, default.iter().map(|name| (*name).to_owned()).collect()).unwrap();
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let shared = shared.clone();
        connections.spawn(async move {
            // A sender that goes away is no failure of the receiver.
            converse(stream, &shared).await.unwrap_or_default();
        });
    }
}

async fn converse(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut stream = BufStream::new(stream);
    let posted = read(&mut stream).await?;
    shared.posted.lock().unwrap().push(posted);
    let answer = shared.script.lock().unwrap().pop_front().unwrap_or(Answer::Status(204, Vec::new()));
    match answer {
        Answer::Status(status, headers) => {
            let headers = headers.iter().map(|header| [header, "\r\n"].concat()).collect::<String>();
            stream.write_all(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n{headers}\r\n").as_bytes()).await?;
        }
        Answer::Hang => wait_until_gone(&mut stream).await?,
        Answer::SlowHead => {
            let mut second = tokio::time::interval(Duration::from_secs(1));
            for byte in b"HTTP/1.1 200 OK\r\nx-slow: yes\r\n" {
                stream.write_all(&[*byte]).await?;
                stream.flush().await?;
                second.tick().await;
            }
        }
        Answer::Body(bytes) => {
            stream.write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n").as_bytes()).await?;
            let chunk = vec![b'x'; 64 * 1024];
            for _ in 0..bytes.div_ceil(chunk.len()) {
                stream.write_all(&chunk).await?;
            }
        }
        Answer::EndlessBody => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx").await?;
            stream.flush().await?;
            wait_until_gone(&mut stream).await?;
        }
        Answer::Garbage => stream.write_all(b"\x16\x03\x01 SSH-2.0-what \xff\xfe\r\n\r\n").await?,
        Answer::HangUp => return Ok(()),
    }
    stream.flush().await
}

async fn wait_until_gone(stream: &mut BufStream<TcpStream>) -> io::Result<()> {
    while stream.read_u8().await.is_ok() {}
    Ok(())
}

pub(crate) async fn read(stream: &mut BufStream<TcpStream>) -> io::Result<Posted> {
    let mut first = String::new();
    stream.read_line(&mut first).await?;
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Posted { path, headers, body })
}
