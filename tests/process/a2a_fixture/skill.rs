//! The conduct of the fixture for a message, by the prefix of its id, as the kit's scenarios describe it.
//!
//! Each message that begins a task is a question of the server, and a person answers it at once. Where the kit wants an artifact that an
//! answer of a person cannot be (a file, say), the person's answer is that artifact written as a text, and [`shown`] reads it again. So a
//! finding of the kit about an artifact of this kind is one about this file, and every other finding is one about the server.

use std::time::Duration;

use serde_json::{Value, json};

/// How long the task of a client that comes back later takes.
const LONG: Duration = Duration::from_secs(4);
/// The member of an answer in which a part of the artifact stands.
const PART: &str = "fixturePart";
/// The member of an answer in which the text of a message stands.
const MESSAGE: &str = "fixtureMessage";

/// The conduct of the person who is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Skill {
    /// The person says yes after a while.
    Completes(Duration),
    /// The person gives this in answer.
    Gives(Value),
    /// The person does not answer.
    Waits,
}

impl Skill {
    /// The skill that the id of a message names.
    pub(crate) fn of(message_id: &str) -> Self {
        let text = |text: &str| Self::Gives(json!({ PART: { "text": text } }));
        let file = || json!({ "raw": "dGNr", "filename": "output.txt", "mediaType": "text/plain" });
        // A prefix of another one comes after it.
        let skills = [
            ("tck-input-required", Self::Waits),
            ("tck-artifact-text", text("Generated text content")),
            ("tck-artifact-file-url", {
                let url = "https://example.com/output.txt";
                Self::Gives(json!({ PART: { "url": url, "filename": "output.txt", "mediaType": "text/plain" } }))
            }),
            ("tck-artifact-file", Self::Gives(json!({ PART: file() }))),
            ("tck-artifact-data", Self::Gives(json!({ PART: { "data": { "key": "value", "count": 42 } } }))),
            ("tck-message-response", Self::Gives(json!({ MESSAGE: "Direct message response" }))),
            ("tck-stream-artifact-text", text("Streamed text content")),
            ("tck-stream-artifact-file", Self::Gives(json!({ PART: file() }))),
            ("test-resubscribe-message-id", Self::Completes(LONG)),
        ];
        let named = skills.into_iter().find(|(prefix, _)| message_id.starts_with(prefix));
        named.map_or(Self::Completes(Duration::ZERO), |(_, skill)| skill)
    }

    /// The parts of the question, if it is another one than the text of the message with a yes or a no.
    pub(crate) fn question(&self) -> Option<Value> {
        let data = json!({ "question": "What is the outcome?", "responseType": "text" });
        matches!(self, Self::Gives(_)).then(|| json!([{ "mediaType": "application/json", "data": data }]))
    }

    /// The answer, and how long it takes; `None` if there is none.
    pub(crate) fn answer(&self) -> Option<(String, Duration)> {
        match self {
            Self::Completes(after) => Some(("yes".to_owned(), *after)),
            Self::Gives(outcome) => Some((outcome.to_string(), Duration::ZERO)),
            Self::Waits => None,
        }
    }
}

/// Shows a body of the server as the fixture's own work would look: an open question as one to the client, which has a skill of its own
/// here, and an answer that is a part or a message as what it is.
pub(crate) fn shown(body: &mut Value) {
    match body {
        Value::Object(members) => {
            let message = members.get("task").and_then(message_of);
            if let Some(message) = message {
                members.remove("task");
                members.insert("message".to_owned(), message);
            }
            if members.get("state").and_then(Value::as_str) == Some("TASK_STATE_AUTH_REQUIRED") {
                members.insert("state".to_owned(), json!("TASK_STATE_INPUT_REQUIRED"));
            }
            if let Some(mut outcome) = members.get("artifactId").and_then(|_| outcome(&members["parts"]))
                && outcome.get(PART).is_some()
            {
                members.insert("parts".to_owned(), json!([outcome[PART].take()]));
            }
            members.values_mut().for_each(shown);
        }
        Value::Array(items) => items.iter_mut().for_each(shown),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The outcome in the parts of an artifact of the server.
fn outcome(parts: &Value) -> Option<Value> {
    let outcome: Value = serde_json::from_str(parts[0]["data"]["value"].as_str()?).ok()?;
    outcome.is_object().then_some(outcome)
}

/// The message that a task is shown as.
fn message_of(task: &Value) -> Option<Value> {
    let outcome = outcome(&task["artifacts"][0]["parts"])?;
    let text = outcome.get(MESSAGE)?;
    Some(json!({
        "messageId": format!("{}:message", task["id"].as_str()?),
        "contextId": task["contextId"],
        "role": "ROLE_AGENT",
        "parts": [{ "text": text }],
    }))
}
