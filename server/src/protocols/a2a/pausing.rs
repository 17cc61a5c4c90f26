//! Items and results about the stop of an intent: pure functions.

use chrono::{DateTime, Utc};
use domain::intent::stop_event::Resumed;
use serde_json::{Map, Value, json};
use store::{Halted, Matter};

use super::projection::{Shown, state, stopped_status, task};
use super::stopped::Stopped;
use super::wire::{PAUSE, State, Status, StatusUpdate, timestamp};

/// The stop as an item of a stream.
pub(crate) fn stop_update(matter: &Matter, stopped: &Stopped, shown: Shown) -> StatusUpdate {
    StatusUpdate {
        task_id: matter.intent_id.to_string(),
        context_id: matter.context_id.clone(),
        status: stopped_status(matter, stopped, shown, stopped.at),
        metadata: Some(named(stopped.members(matter.may_resume))),
    }
}

/// The end of a stop as an item of a stream: the work goes on.
pub(crate) fn resumed_update(matter: &Matter, stopped: &Stopped, resumed: &Resumed, at: DateTime<Utc>) -> StatusUpdate {
    let had_input = resumed.input.is_some();
    let members = went_on(stopped.state(), &json!(resumed.cause), had_input, resumed.continue_transcript, at);
    StatusUpdate {
        task_id: matter.intent_id.to_string(),
        context_id: matter.context_id.clone(),
        status: Status { state: State::Working, message: None, timestamp: timestamp(at), pause: None },
        metadata: Some(named(members)),
    }
}

fn went_on(previous: &str, cause: &Value, had_input: bool, continue_transcript: bool, at: DateTime<Utc>) -> Value {
    json!({
        "previousState": previous,
        "cause": cause,
        "hadResumeInput": had_input,
        "continueTranscript": continue_transcript,
        "resumedAt": timestamp(at),
    })
}

/// Members under the name of the extension.
pub(crate) fn named(members: Value) -> Map<String, Value> {
    Map::from_iter([(PAUSE.to_owned(), members)])
}

/// The result of a call in the words of the proposal.
pub(crate) fn proposed(halted: &Halted) -> Value {
    let matter = &halted.matter;
    let mut result = match &halted.stop {
        Some(record) if record.resolution.is_none() => Stopped::of(record).members(matter.may_resume),
        Some(record) => {
            let (had_input, at) = (record.input.is_some(), record.resolved_at.unwrap_or(matter.changed_at));
            let previous = Stopped::of(record);
            went_on(previous.state(), &json!(record.cause), had_input, record.continue_transcript.unwrap_or(true), at)
        }
        // An open question was answered.
        None => went_on(answered_state(matter), &json!("explicit_resume"), true, true, matter.changed_at),
    };
    if halted.stop.as_ref().is_none_or(|record| record.resolution.is_some()) {
        result["state"] = json!(word(state(matter)));
    }
    result["taskId"] = json!(matter.intent_id);
    result
}

/// The state of a task before its question was answered.
fn answered_state(matter: &Matter) -> &'static str {
    if matter.fate.is_some() { "auth-required" } else { "input-required" }
}

/// A state in the words of 0.3, which are those of the proposal.
fn word(state: State) -> &'static str {
    match state {
        State::Submitted => "submitted",
        State::Working | State::Paused => "working",
        State::InputRequired => "input-required",
        State::AuthRequired => "auth-required",
        State::Completed => "completed",
        State::Failed => "failed",
        State::Canceled => "canceled",
    }
}

/// The result of a call in the words of the revision: the task.
pub(crate) fn revised(halted: &Halted, shown: Shown) -> Value {
    json!(task(&halted.matter, shown))
}
