//! The client's spans and events tell enough to follow a question, and nothing that is secret.
//!
//! The test has a program of its own. A test that ran before it without a subscriber would make `tracing` remember, for all
//! threads, that nothing listens.
#![expect(clippy::unwrap_used, reason = "the server is part of the test, and fails like it")]

#[expect(dead_code, reason = "one test does not need all of it")]
#[path = "client/script.rs"]
mod script;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use placet::Question;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use self::script::{HangUp, INTENT, SUSPENSION, answered, intent_id, ok, problem, record, serve};

/// Keeps what is written.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// At stake: people look for a slow or lost question in their traces, where a key, a question or an answer must not be found.
#[tokio::test]
async fn each_call_is_a_span_without_anything_secret() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(log.clone());
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let secretive = json!({"question": "Pay the ransom?", "context": {"why": "hush"}});
    let script = vec![problem(503, "unavailable"), ok(record(secretive)), HangUp, ok(answered())];
    let (client, server) = serve(script);
    let question = Question::confirm("Pay the ransom?").context("why", "hush").idempotency_key("the-name");
    assert!(client.request_input(intent_id(), question).await.unwrap().value);
    server.join().unwrap();

    let log = log.text();
    let ask = format!("placet.ask{{intent.id={INTENT}}}");
    let wait = format!("placet.wait{{intent.id={INTENT}}}");
    let post = "placet.call{method=POST path=\"/api/v1/intents/{intent_id}/suspend\"";
    let get = "placet.call{method=GET path=\"/api/v1/suspensions/{id}\"";
    for span in [
        format!("{ask}:{post} attempt=1 status=503}}: "),
        format!("{ask}:{post} attempt=2 status=200}}: "),
        format!("{ask}: "),
        format!("{wait}:{get} attempt=1}}: "),
        format!("{wait}:{get} attempt=2 status=200}}: "),
        format!("{wait}: "),
    ] {
        let closed = log.lines().filter(|line| line.contains(&span) && line.contains(": close ")).count();
        assert_eq!(closed, 1, "{span} in {log}");
    }
    for secret in ["the-key", "the-name", "ransom", "hush", "\"yes\"", "alice", SUSPENSION] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}
