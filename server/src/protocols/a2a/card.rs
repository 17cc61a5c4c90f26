//! The card by which this server introduces itself to agents. It promises only what works.

use domain::suspension::stop::Mode;
use serde_json::{Value, json};

use super::projection::Active;
use super::wire::{JSON, PAUSE, PAUSED_STATE, QUESTION};
use crate::edge::doors::Doors;

/// The path below the public address at which agents call.
pub(crate) const PATH: &str = "a2a";
/// Why stopped work goes on.
const RESUME_CAUSES: [&str; 4] = ["explicit_resume", "condition_fired", "timeout", "external_event"];
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
    }, {
        "uri": PAUSE,
        "description": "PauseTask, ResumeTask and AwaitTaskResumption (tasks/pause, tasks/resume and tasks/await_resumption) stop the work of \
                        a task and let it go on; its status has the member pause.",
        "required": false,
        "params": {
            "supportsPause": true,
            "supportsAwaitResumption": true,
            "resumeCauses": RESUME_CAUSES,
            "modes": Mode::ALL.map(Mode::as_str),
        },
    }, {
        "uri": PAUSED_STATE,
        "description": "Work that is stopped has a state of its own: TASK_STATE_PAUSED.",
        "required": false,
    }])
}

/// The capabilities of the card. The proposal of pauses has flags here, which a strict parser refuses: only clients that know it get them.
fn capabilities(active: Active, mut capabilities: Value) -> Value {
    if active.pause {
        capabilities["supportsPause"] = json!(true);
        capabilities["supportsAwaitResumption"] = json!(true);
        capabilities["resumeCauses"] = json!(RESUME_CAUSES);
    }
    capabilities
}

/// The card in the form of 1.0.
pub(crate) fn card(doors: &Doors, active: Active) -> Value {
    let interface = |binding: &str| json!({ "url": doors.at(PATH), "protocolBinding": binding, "protocolVersion": "1.0" });
    json!({
        "name": "Placet",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [interface("JSONRPC"), interface("HTTP+JSON")],
        "capabilities": capabilities(active, json!({
            "streaming": true,
            "pushNotifications": doors.push.is_some(),
            "extendedAgentCard": true,
            "extensions": extensions(),
        })),
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
pub(crate) fn earlier_card(doors: &Doors, active: Active) -> Value {
    let supported = json!({ "streaming": true, "pushNotifications": doors.push.is_some(), "extensions": extensions() });
    json!({
        "name": "Placet",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "protocolVersion": "0.3.0",
        "url": doors.at(PATH),
        "preferredTransport": "JSONRPC",
        "capabilities": capabilities(active, supported),
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
