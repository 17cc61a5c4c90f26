//! From the parameters of the extensions for pauses to what is asked of the store: pure functions.
//!
//! There are two vocabularies of the same calls: the proposal of 2026-05 and its revision of 2026-07. A call is answered in the words of the
//! one to which its name belongs.

use domain::base::field::FieldError;
use domain::suspension::stop::Mode;
use domain::wire::{ParkRequest, PauseRequest, ResumeRequest};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::change::{Change, Halting};
use super::error::{Error, Words, in_camel};
use super::parameters::{no_tenant, params, task_id};
use super::projection::Active;
use super::reading::snake_members;
use super::wire::PAUSE;

type Errors = Vec<FieldError>;

/// Whether the calls are there for this client: those of an extension are served to the clients that have activated it.
pub(crate) fn served(active: Active) -> Result<(), Error> {
    if active.describes_pauses() {
        return Ok(());
    }
    Err(Error::no_method(format!("this call belongs to an extension; a client that knows it names {PAUSE} in A2A-Extensions")))
}

/// The operation of a method: its vocabulary, and how its parameters are read.
pub(crate) type Read = fn(Words, Value) -> Result<Halting, Error>;

/// The method of an extension for pauses; `None` if it is none.
pub(crate) fn method(name: &str) -> Option<(Words, Read)> {
    Some(match name {
        "tasks/pause" => (Words::Proposed, pause),
        "tasks/await_resumption" => (Words::Proposed, park),
        "tasks/resume" => (Words::Proposed, resume),
        "PauseTask" => (Words::Revised, pause),
        "AwaitTaskResumption" => (Words::Revised, park),
        "ResumeTask" => (Words::Revised, resume),
        _ => return None,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PauseParams {
    #[serde(default)]
    tenant: String,
    #[serde(alias = "id")]
    task_id: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    mode: Option<Mode>,
    /// Words of the client about its call, for which this server has no use.
    #[serde(default, rename = "metadata")]
    _metadata: Option<Map<String, Value>>,
}

pub(crate) fn pause(words: Words, given: Value) -> Result<Halting, Error> {
    let PauseParams { tenant, task_id: id, reason, mode, .. } = params(given)?;
    no_tenant(&tenant)?;
    Ok(Halting { id: task_id(&id)?, words, change: Change::Pause(PauseRequest { mode, reason }) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ParkParams {
    #[serde(default)]
    tenant: String,
    #[serde(alias = "id")]
    task_id: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    conditions: Option<Value>,
    /// Words of the client about its call, for which this server has no use.
    #[serde(default, rename = "metadata")]
    _metadata: Option<Map<String, Value>>,
}

pub(crate) fn park(words: Words, given: Value) -> Result<Halting, Error> {
    let ParkParams { tenant, task_id: id, reason, summary, conditions, .. } = params(given)?;
    no_tenant(&tenant)?;
    let said: Vec<String> = reason.into_iter().chain(summary).filter(|text| !text.trim().is_empty()).collect();
    let conditions = conditions.map(snake_conditions).transpose();
    let park = conditions.map(|conditions| ParkRequest { reason: said.join("\n\n"), conditions, resume_owner: None });
    Ok(Halting { id: task_id(&id)?, words, change: Change::Park(park) })
}

/// Conditions under the names that the API gives their members. The input and the names of events stay as they are.
fn snake_conditions(given: Value) -> Result<Value, Errors> {
    let Value::Object(members) = given else { return Ok(given) };
    let named = snake_members(members, &["timeout", "trigger"]);
    let below = |error: FieldError| {
        let error = FieldError { field: format!("conditions.{}", error.field), ..error };
        // A name that is no member stands as it came.
        if error.rule == "unknown" { error } else { in_camel(error) }
    };
    named.map(Value::Object).map_err(|errors| errors.into_iter().map(below).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResumeParams {
    #[serde(default)]
    tenant: String,
    #[serde(alias = "id")]
    task_id: String,
    #[serde(default, alias = "resumeToken")]
    handle: Option<String>,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    continue_transcript: Option<bool>,
    /// Words of the client about its call, for which this server has no use.
    #[serde(default, rename = "metadata")]
    _metadata: Option<Map<String, Value>>,
}

pub(crate) fn resume(words: Words, given: Value) -> Result<Halting, Error> {
    let ResumeParams { tenant, task_id: id, handle, input, continue_transcript, .. } = params(given)?;
    no_tenant(&tenant)?;
    Ok(Halting { id: task_id(&id)?, words, change: Change::Resume(ResumeRequest { input, continue_transcript, handle }) })
}

#[cfg(test)]
mod tests {
    use domain::suspension::stop::{OnTimeout, Provider};
    use serde_json::json;

    use super::*;

    const TASK: &str = "01a20114-994c-7e8e-b24b-975054fd6315";

    fn parked(given: Value) -> Result<ParkRequest, Errors> {
        let Change::Park(body) = park(Words::Proposed, given).unwrap().change else { panic!("it parks nothing") };
        body
    }

    #[test]
    fn each_method_has_its_vocabulary() {
        for (name, words) in
            [("tasks/pause", Words::Proposed), ("ResumeTask", Words::Revised), ("tasks/await_resumption", Words::Proposed)]
        {
            assert_eq!(method(name).map(|(words, _)| words), Some(words), "{name}");
        }
        for unknown in ["tasks/get", "pauseTask", "tasks/Pause", ""] {
            assert!(method(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn conditions_are_those_of_the_api_in_other_names() {
        let given = json!({"taskId": TASK, "reason": "CI runs.", "summary": "It takes 3 minutes.", "conditions": {
            "onEvent": "ci.done:1", "trigger": {"kind": "ci", "provider": "webhook", "match": {"events": ["ci.done"]}},
            "timeout": {"durationMinutes": 30, "onTimeout": "resume_with_input", "input": {"anyName": 1, "any_name": 2}}}});
        let body = parked(given).unwrap();
        assert_eq!(body.reason, "CI runs.\n\nIt takes 3 minutes.");
        let read = domain::asking::conditions::conditions(body.conditions.as_ref()).unwrap().unwrap();
        let timeout = read.timeout.unwrap();
        assert_eq!((timeout.duration_minutes, timeout.on_timeout), (30, OnTimeout::ResumeWithInput));
        assert_eq!(timeout.input, Some(json!({"anyName": 1, "any_name": 2})), "an input is the agent's own");
        assert_eq!(read.trigger.map(|trigger| trigger.provider), Some(Provider::Webhook));
        assert_eq!(read.on_event.as_deref(), Some("ci.done:1"));
        let wrong = parked(json!({"taskId": TASK, "reason": "r", "conditions": {"on_event": "x"}})).unwrap_err();
        assert_eq!((&*wrong[0].field, &*wrong[0].rule), ("conditions.on_event", "unknown"));
    }

    #[test]
    fn a_member_that_no_method_has_is_refused() {
        let code = |read: Read, given: Value| read(Words::Revised, given).unwrap_err().code;
        for (read, given, wanted) in [
            (pause as Read, json!({}), -32602),
            (pause, json!({"taskId": TASK, "mode": "at_once"}), -32602),
            (pause, json!({"taskId": TASK, "handle": "h"}), -32602),
            (pause, json!({"taskId": "no-id"}), -32001),
            (pause, json!({"taskId": TASK, "tenant": "t"}), -32602),
            (park, json!({"taskId": TASK, "reason": 5}), -32602),
            (resume, json!({"taskId": TASK, "handle": "a", "resumeToken": "b"}), -32602),
            (resume, json!({"taskId": TASK, "continueTranscript": "no"}), -32602),
        ] {
            assert_eq!(code(read, given.clone()), wanted, "{given}");
        }
        for token in ["handle", "resumeToken"] {
            let mut given = json!({"taskId": TASK, "input": null, "continueTranscript": false, "metadata": {}});
            given[token] = json!("t");
            let Change::Resume(body) = resume(Words::Revised, given).unwrap().change else { panic!("it resumes nothing") };
            assert_eq!((body.handle.as_deref(), body.continue_transcript), (Some("t"), Some(false)));
        }
    }
}
