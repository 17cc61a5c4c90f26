//! A server that follows a script, and the bodies that servers send.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use placet::{Client, IntentId};
use serde_json::{Value, json};

pub(crate) const INTENT: &str = "0190a6c0-0000-7000-8000-000000000001";
pub(crate) const SUSPENSION: &str = "0190a6c0-0000-7000-8000-000000000002";
pub(crate) const AT: &str = "2026-11-21T08:13:35.889468Z";

/// One request as it arrived: the request line, the headers in lower case, the body.
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|header| header.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// The server's reaction to one request.
pub(crate) enum Step {
    /// It answers with this status and body.
    Answer(u16, Value),
    /// It answers with this status, these header lines and an empty object.
    Headed(u16, &'static str),
    /// It answers that there were too many calls, and that the client may come back in a minute.
    TooMany,
    /// It reads the request and breaks the connection.
    HangUp,
}

pub(crate) use self::Step::{Answer, HangUp, Headed, TooMany};

/// Answers one request after the other, each on its own connection, then stops listening.
pub(crate) fn serve(script: Vec<Step>) -> (Client, JoinHandle<Vec<Seen>>) {
    let (base, server) = listen(script);
    (Client::new(base, "the-key").unwrap(), server)
}

pub(crate) fn listen(script: Vec<Step>) -> (String, JoinHandle<Vec<Seen>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        script
            .into_iter()
            .map(|step| {
                let mut stream = listener.accept().unwrap().0;
                let seen = read_request(&stream);
                let (status, more, body) = match step {
                    Answer(status, body) => (status, "", body.to_string()),
                    Headed(status, more) => (status, more, "{}".to_owned()),
                    TooMany => (429, "retry-after: 60\r\n", json!({"detail": "no", "code": "rate_limited"}).to_string()),
                    HangUp => return seen,
                };
                let length = body.len();
                let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{more}connection: close\r\n\r\n");
                stream.write_all((head + &body).as_bytes()).unwrap();
                seen
            })
            .collect()
    });
    (base, server)
}

pub(crate) fn read_request(stream: &TcpStream) -> Seen {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.remove(0);
    let mut seen = Seen { line, headers: lines, body: Value::Null };
    if let Some(length) = seen.header("content-length") {
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        seen.body = serde_json::from_slice(&body).unwrap();
    }
    seen
}

pub(crate) fn ok(body: Value) -> Step {
    Answer(200, body)
}

pub(crate) fn problem(status: u16, code: &str) -> Step {
    Answer(status, json!({"detail": "no", "code": code}))
}

pub(crate) fn record(more: Value) -> Value {
    let mut record = json!({
        "id": SUSPENSION, "intent_id": INTENT, "kind": "awaiting_input", "version": 1, "attempt": 1, "question": "Go?",
        "response_type": "confirm", "choices": [], "context": {}, "channel_hint": null, "notify_to": [], "suspended_at": AT,
        "timeout_seconds": null, "expires_at": null, "fallback_policy": "fail", "fallback_value": null, "retry_policy": null,
        "reached": false, "response": null, "responded_at": null, "resolution": null, "resolved_at": null, "metadata": null,
    });
    let Value::Object(more) = more else { panic!("an object is expected") };
    record.as_object_mut().unwrap().extend(more);
    record
}

pub(crate) fn answered() -> Value {
    record(
        json!({"version": 2, "resolution": "responded", "response": "yes", "responded_by": "alice@example.com", "responded_at": AT,
        "resolved_at": AT}),
    )
}

pub(crate) fn intent(version: u32, status: &str) -> Value {
    json!({
        "id": INTENT, "title": "T", "description": "", "created_by": "a", "parent_intent_id": null, "parent_id": null,
        "depends_on": [], "constraints": {}, "state": {"_suspension": {"id": SUSPENSION}}, "status": status, "confidence": 0.0,
        "version": version, "governance_policy": null, "created_at": "2026-11-21T08:13:35.889468",
        "updated_at": "2026-11-21T08:13:35.889468",
    })
}

pub(crate) fn intent_id() -> IntentId {
    INTENT.parse().unwrap()
}
