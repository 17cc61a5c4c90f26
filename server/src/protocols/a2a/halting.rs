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
use super::error::{Error, Words};
use super::names;
use super::parameters::{no_tenant, params, task_id};
use super::projection::Active;
use super::wire::PAUSE;

/// Members of conditions whose own members are in camelCase as well.
const MEMBERS: &[&str] = &["timeout", "trigger", "match"];

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
    let park = ParkRequest { reason: said.join("\n\n"), conditions: conditions.map(conditions_inside), resume_owner: None };
    Ok(Halting { id: task_id(&id)?, words, change: Change::Park(park) })
}

/// Conditions under the names that the API gives their members. The input and the names of events stay as they are. A name that is no member
/// stays none, so the domain refuses it together with all other problems.
fn conditions_inside(given: Value) -> Value {
    match given {
        Value::Object(members) => Value::Object(names::inside(members, MEMBERS)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => given,
    }
}

/// A problem of a park, in whose words the members have their names in a message. Its place gets that name with those of all other errors.
pub(super) fn in_a_message(error: FieldError) -> FieldError {
    let Some(place) = error.field.strip_prefix("conditions") else { return error };
    let message = match &*error.rule {
        // The words name the members that there are.
        "unknown" => names::camel(&error.message),
        _ => error.message.replacen(place, &names::camel(place), 1),
    };
    FieldError { message, ..error }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResumeParams {
    #[serde(default)]
    tenant: String,
    #[serde(alias = "id")]
    task_id: String,
    #[serde(default)]
    handle: Option<String>,
    /// The name that the handle has in the revision.
    #[serde(default)]
    resume_token: Option<String>,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    continue_transcript: Option<bool>,
    /// Words of the client about its call, for which this server has no use.
    #[serde(default, rename = "metadata")]
    _metadata: Option<Map<String, Value>>,
}

pub(crate) fn resume(words: Words, given: Value) -> Result<Halting, Error> {
    let ResumeParams { tenant, task_id: id, handle, resume_token, input, continue_transcript, .. } = params(given)?;
    no_tenant(&tenant)?;
    let handle = match (handle, resume_token) {
        (Some(_), Some(_)) => return Err(two_handles()),
        (handle, resume_token) => handle.or(resume_token),
    };
    Ok(Halting { id: task_id(&id)?, words, change: Change::Resume(ResumeRequest { input, continue_transcript, handle }) })
}

/// The error of a call with both names of the handle.
fn two_handles() -> Error {
    let wrong = |name: &str, other: &str| {
        let message = format!("must be left out if {other} is there: they are two names of the same handle");
        FieldError::new(name, "one", message)
    };
    Error::invalid(vec![wrong("handle", "resumeToken"), wrong("resumeToken", "handle")])
}

#[cfg(test)]
mod tests {
    use domain::asking::conditions::conditions;
    use domain::suspension::stop::{OnTimeout, Provider};
    use serde_json::json;

    use super::*;

    const TASK: &str = "01a20114-994c-7e8e-b24b-975054fd6315";

    fn parked(given: Value) -> ParkRequest {
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
        let body = parked(given);
        assert_eq!(body.reason, "CI runs.\n\nIt takes 3 minutes.");
        let read = conditions(body.conditions.as_ref()).unwrap().unwrap();
        let timeout = read.timeout.unwrap();
        assert_eq!((timeout.duration_minutes, timeout.on_timeout), (30, OnTimeout::ResumeWithInput));
        assert_eq!(timeout.input, Some(json!({"anyName": 1, "any_name": 2})), "an input is the agent's own");
        assert_eq!(read.trigger.map(|trigger| trigger.provider), Some(Provider::Webhook));
        assert_eq!(read.on_event.as_deref(), Some("ci.done:1"));
    }

    /// A client mends all problems at once, and looks for the names that it has sent.
    #[test]
    fn every_problem_of_conditions_is_told_at_its_place_under_the_name_that_was_sent() {
        let told = |given: Value| {
            let body = parked(json!({"taskId": TASK, "reason": "r", "conditions": given}));
            let errors = conditions(body.conditions.as_ref()).unwrap_err();
            errors
                .into_iter()
                .map(|error| names::in_camel(in_a_message(error)))
                .map(|error| (error.field, error.message))
                .collect::<Vec<_>>()
        };
        let is = |given: Value, wanted: &[(&str, &str)]| {
            let code = "HARN-SUS-002: invalid ResumeConditions";
            let told = told(given);
            let wanted: Vec<(String, String)> =
                wanted.iter().map(|(place, why)| (format!("conditions{place}"), format!("{code}{place}: {why}"))).collect();
            assert_eq!(told, wanted);
        };
        let minutes = "must be a positive int, of at most 527040";
        let in_timeout = "unknown field; expected durationMinutes, onTimeout, or input";
        is(
            json!({"timeout": {"durationMinutes": 0, "on_timeout": "fail"}}),
            &[(".timeout.on_timeout", in_timeout), (".timeout.durationMinutes", minutes)],
        );
        is(
            json!({"timeout": {"duration_minutes": 5, "OnTimeout": "fail"}}),
            &[
                (".timeout.OnTimeout", in_timeout),
                (".timeout.duration_minutes", in_timeout),
                (".timeout.durationMinutes", minutes),
            ],
        );
        let at_the_top = "unknown field; expected trigger, timeout, or onEvent";
        is(json!({"on_event": "x"}), &[(".on_event", at_the_top)]);
        is(json!({"onEvents": "x"}), &[(".onEvents", at_the_top)]);
        let unnamed = json!({"": 1, "timeout": {"durationMinutes": 1, "": 1}});
        is(unnamed, &[(".\"\"", at_the_top), (".timeout.\"\"", in_timeout)]);
        let matching = json!({"trigger": {"kind": "k", "provider": "placet", "match": {"events": ["x"], "event_names": 1}}});
        is(matching, &[(".trigger.match.event_names", "unknown field; expected events")]);
        let actions = "unsupported action `x_y`; expected one of: resume_with_summary, fail, resume_with_input";
        is(json!({"timeout": {"durationMinutes": 1, "onTimeout": "x_y"}}), &[(".timeout.onTimeout", actions)]);
        is(json!([]), &[("", "expected dict or nil, got list")]);
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
            (resume, json!({"taskId": TASK, "handle": "a", "resumeToken": "a"}), -32602),
            (resume, json!({"taskId": TASK, "continueTranscript": "no"}), -32602),
        ] {
            assert_eq!(code(read, given.clone()), wanted, "{given}");
        }
        let both = resume(Words::Revised, json!({"taskId": TASK, "handle": "a", "resumeToken": "b"})).unwrap_err().details();
        let named: Vec<&Value> = both[1]["fieldViolations"].as_array().unwrap().iter().map(|wrong| &wrong["field"]).collect();
        assert_eq!(named, ["handle", "resumeToken"], "{both}");
        for token in ["handle", "resumeToken"] {
            let mut given = json!({"taskId": TASK, "input": null, "continueTranscript": false, "metadata": {}});
            given[token] = json!("t");
            let Change::Resume(body) = resume(Words::Revised, given).unwrap().change else { panic!("it resumes nothing") };
            assert_eq!((body.handle.as_deref(), body.continue_transcript), (Some("t"), Some(false)));
        }
    }
}
