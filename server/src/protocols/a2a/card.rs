//! The card by which this server introduces itself to agents. It promises only what works.

use serde_json::{Value, json};

use super::wire::{JSON, QUESTION};
use crate::edge::doors::Doors;

/// The path below the public address at which agents call.
pub(crate) const PATH: &str = "a2a";
const TEXT: &str = "text/plain";
const DESCRIPTION: &str = "Asks people, and waits for their answers: each task is one question. A person answers by a mailed link or a page; \
                           the agent that asks never can. Reminders, deadlines and the log are this server's.";

fn skill() -> Value {
    json!({
        "id": "ask",
        "name": "Ask a person",
        "description": "A text is asked as a question with the answers yes and no. A data part is a question in full: question, \
                        responseType, choices, context, timeoutSeconds, fallbackPolicy, assignees and more.",
        "tags": ["approval", "human-in-the-loop"],
        "examples": ["May I refund order 12345?"],
        "inputModes": [TEXT, JSON],
        "outputModes": [JSON, TEXT],
    })
}

fn extensions() -> Value {
    json!([{
        "uri": QUESTION,
        "description": "The status message of a task that waits has a data part with the question and the answers that it takes.",
        "required": false,
    }])
}

/// The card in the form of 1.0.
pub(crate) fn card(doors: &Doors) -> Value {
    let interface = |binding: &str| json!({ "url": doors.at(PATH), "protocolBinding": binding, "protocolVersion": "1.0" });
    json!({
        "name": "Placet",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [interface("JSONRPC"), interface("HTTP+JSON")],
        "capabilities": {
            "streaming": true,
            "pushNotifications": doors.push.is_some(),
            "extendedAgentCard": true,
            "extensions": extensions(),
        },
        "securitySchemes": {
            "apiKey": { "apiKeySecurityScheme": { "location": "header", "name": "X-API-Key" } },
            "bearer": { "httpAuthSecurityScheme": { "scheme": "Bearer" } },
        },
        "securityRequirements": [{ "schemes": { "apiKey": { "list": [] } } }, { "schemes": { "bearer": { "list": [] } } }],
        "defaultInputModes": [TEXT, JSON],
        "defaultOutputModes": [JSON, TEXT],
        "skills": [skill()],
    })
}

/// The card in the form of 0.3.
pub(crate) fn earlier_card(doors: &Doors) -> Value {
    json!({
        "name": "Placet",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "protocolVersion": "0.3.0",
        "url": doors.at(PATH),
        "preferredTransport": "JSONRPC",
        "capabilities": { "streaming": true, "pushNotifications": doors.push.is_some(), "extensions": extensions() },
        "securitySchemes": {
            "apiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
            "bearer": { "type": "http", "scheme": "bearer" },
        },
        "security": [{ "apiKey": [] }, { "bearer": [] }],
        "defaultInputModes": [TEXT, JSON],
        "defaultOutputModes": [JSON, TEXT],
        "skills": [skill()],
        "supportsAuthenticatedExtendedCard": true,
    })
}
