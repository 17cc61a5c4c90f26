//! Turns a request that stops an intent or lets it go on into a command, or names the fields that break rules.

use serde_json::Value;

use crate::asking::accepting;
use crate::base::field::FieldError;
use crate::base::ids::SuspensionId;
use crate::base::json;
use crate::base::text::is_blank;
use crate::intent::command::Command;
use crate::intent::stop_command::StopCommand;
use crate::suspension::stop::{RESUME_INPUT_BYTES_MAX, Stage};
use crate::wire::{PauseRequest, ResumeRequest, SettleRequest};

type Errors = Vec<FieldError>;

/// A principal pauses an intent.
///
/// # Errors
///
/// A reason that is too long.
pub fn pausing(id: SuspensionId, body: PauseRequest) -> Result<Command, Errors> {
    let reason = accepting::reason(body.reason)?.filter(|reason| !is_blank(reason));
    Ok(Command::Stop(Box::new(StopCommand::Pause { id, mode: body.mode.unwrap_or_default(), reason })))
}

/// An agent says how far it has stopped.
///
/// # Errors
///
/// A stage at which no agent arrives.
pub fn settling(suspension_id: SuspensionId, body: SettleRequest) -> Result<Command, Errors> {
    let stage = body.stage.unwrap_or(Stage::Suspended);
    if stage == Stage::Requested {
        return Err(vec![FieldError::new("stage", "value", "must be quiescing or suspended: the stop is requested already")]);
    }
    Ok(Command::Stop(Box::new(StopCommand::Settle { suspension_id, stage })))
}

/// A principal lets a stopped intent go on.
///
/// # Errors
///
/// An input that is blank or too large.
pub fn resuming(suspension_id: SuspensionId, body: ResumeRequest) -> Result<Command, Errors> {
    let ResumeRequest { input, continue_transcript, handle } = body;
    let input = input.filter(|input| !input.is_null());
    if let Some(message) = input.as_ref().and_then(flaw) {
        return Err(vec![FieldError::new("input", "value", format!("HARN-SUS-009: {message}"))]);
    }
    let continue_transcript = continue_transcript.unwrap_or(true);
    Ok(Command::Stop(Box::new(StopCommand::Resume { suspension_id, handle, input, continue_transcript })))
}

fn flaw(input: &Value) -> Option<String> {
    if input.as_str().is_some_and(is_blank) {
        return Some("must not be a blank text; leave it out if the agent is given nothing".to_owned());
    }
    let is_too_large = json::size(input) > RESUME_INPUT_BYTES_MAX;
    is_too_large.then(|| format!("must be at most {RESUME_INPUT_BYTES_MAX} bytes of JSON"))
}
