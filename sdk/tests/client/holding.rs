//! Tests of futures that are dropped, against a server that leaves requests unanswered until the test replies.

use std::io::ErrorKind;
use std::time::Duration;

use placet::{Client, Question};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::script::{INTENT, SUSPENSION, answered, intent_id, record};

/// How long a test waits before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A server that sends only the bytes that a test tells it to send.
pub(crate) struct Holding {
    listener: TcpListener,
    pub(crate) base: String,
}

/// One connection to it.
pub(crate) struct Connection(TcpStream);

impl Holding {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, base }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.base.clone(), "the-key").unwrap()
    }

    pub(crate) async fn connection(&self) -> Connection {
        Connection(timeout(PATIENCE, self.listener.accept()).await.unwrap().unwrap().0)
    }

    /// A connection with its first request, whole.
    pub(crate) async fn request(&self) -> (Connection, String) {
        let mut connection = self.connection().await;
        let request = connection.request().await.unwrap();
        (connection, request)
    }

    /// Whether no connection waits to be taken.
    async fn is_idle(&self) -> bool {
        timeout(Duration::from_millis(1), self.listener.accept()).await.is_err()
    }
}

impl Connection {
    /// The next request, head and body; `None` if the client closes the connection instead.
    pub(crate) async fn request(&mut self) -> Option<String> {
        let mut request = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&request).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                if body.len() >= length.unwrap_or(0) {
                    return Some(text);
                }
            }
            timeout(PATIENCE, self.0.readable()).await.unwrap().unwrap();
            let mut buffer = [0; 4096];
            match self.0.try_read(&mut buffer) {
                Ok(0) => return None,
                Ok(read) => request.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// Answers, and says that the connection ends with it.
    async fn answer(&mut self, status: u16, body: &Value) {
        self.reply(status, "connection: close\r\n", body).await;
    }

    /// Answers with these header lines.
    pub(crate) async fn reply(&mut self, status: u16, headers: &str, body: &Value) {
        let body = body.to_string();
        self.send(&format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())).await;
    }

    pub(crate) async fn send(&mut self, text: &str) {
        let mut unsent = text.as_bytes();
        while !unsent.is_empty() {
            timeout(PATIENCE, self.0.writable()).await.unwrap().unwrap();
            if let Ok(sent) = self.0.try_write(unsent) {
                unsent = &unsent[sent..];
            }
        }
    }

    /// Waits until the client has closed it.
    pub(crate) async fn closed(mut self) {
        assert_eq!(self.request().await, None);
    }
}

fn go() -> Question<bool> {
    Question::confirm("Go?")
}

/// The number of live tasks of the runtime. A client adds tasks only for its connections.
pub(crate) fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

pub(crate) async fn tasks_are(wanted: usize) {
    let fewer = async {
        while tasks() != wanted {
            tokio::task::yield_now().await;
        }
    };
    assert!(timeout(PATIENCE, fewer).await.is_ok(), "{} tasks are left, and {wanted} were there before", tasks());
}

/// At stake: a program that gives up must not leave a request, a connection or a task behind, and the next call must ask the same
/// question under the same key.
#[tokio::test]
async fn a_question_that_is_dropped_while_it_is_asked_leaves_nothing_behind() {
    let server = Holding::start().await;
    let client = server.client();
    let before = tasks();

    drop(client.request_input(intent_id(), go()));
    assert!(server.is_idle().await, "a future that never ran connected to the server");

    // The server has the whole request and does not answer.
    let mut keys = Vec::new();
    for _ in 0..2 {
        let mut asking = Box::pin(client.request_input(intent_id(), go()));
        let (connection, request) = tokio::select! {
            _ = &mut asking => panic!("the server has not answered"),
            arrived = server.request() => arrived,
        };
        assert!(request.starts_with(&format!("POST /api/v1/intents/{INTENT}/suspend ")));
        keys.push(request.lines().find(|line| line.starts_with("idempotency-key: ")).unwrap().to_owned());
        drop(asking);
        connection.closed().await;
        tasks_are(before).await;
    }
    assert_eq!(keys[0], keys[1]);

    // The connection breaks, and the future is dropped in the pause before the next try.
    let mut asking = Box::pin(client.request_input(intent_id(), go()));
    tokio::select! {
        _ = &mut asking => panic!("the server has not answered"),
        () = async { drop(server.request().await) } => {}
    }
    assert!(timeout(Duration::from_millis(10), &mut asking).await.is_err());
    drop(asking);
    tasks_are(before).await;
    assert!(server.is_idle().await, "a dropped call was sent again");
}

/// At stake: a wait that is dropped must leave no request, connection or task behind either. Programs drop waits far more often
/// than they drop the request that asks.
#[tokio::test]
async fn a_wait_that_is_dropped_leaves_nothing_behind_and_goes_on_where_it_was() {
    let server = Holding::start().await;
    let client = server.client();
    let before = tasks();
    let asked = async {
        let (mut connection, _) = server.request().await;
        connection.answer(200, &record(json!({}))).await;
    };
    let (asked, ()) = tokio::join!(client.ask(intent_id(), go()), asked);
    let mut pending = asked.unwrap();
    tasks_are(before).await;

    drop(pending.answer());
    assert!(server.is_idle().await, "a future that never ran connected to the server");
    for _ in 0..2 {
        let mut waiting = Box::pin(pending.answer());
        let (connection, request) = tokio::select! {
            _ = &mut waiting => panic!("the server has not answered"),
            arrived = server.request() => arrived,
        };
        assert!(request.starts_with(&format!("GET /api/v1/suspensions/{SUSPENSION}?wait=50&after_version=1 ")));
        drop(waiting);
        connection.closed().await;
        tasks_are(before).await;
    }
    let answers = async {
        let (mut connection, _) = server.request().await;
        connection.answer(200, &answered()).await;
    };
    let (answer, ()) = tokio::join!(pending.answer(), answers);
    let answer = answer.unwrap();
    assert!(answer.value && !answer.replayed);
}
