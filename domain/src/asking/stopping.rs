//! Turns a request that stops an intent or lets it go on into a command, or names the fields that break rules.

use chrono::{DateTime, Utc};

use crate::asking::{accepting, conditions};
use crate::base::field::FieldError;
use crate::base::ids::SuspensionId;
use crate::base::json;
use crate::base::text::is_blank;
use crate::intent::command::Command;
use crate::intent::stop_command::StopCommand;
use crate::people::principal::{Principal, Role};
use crate::suspension::stop::{EVENT_NAME_MAX, EVENT_PAYLOAD_BYTES_MAX, Fired, HANDOFF_BYTES_MAX, Provider, ResumeOwner, Stage};
use crate::wire::{FireRequest, ParkRequest, PauseRequest, ResumeRequest, SettleRequest, StopRequest};

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

/// An agent parks its intent.
///
/// # Errors
///
/// A reason that is blank or too long, and every condition that breaks a rule.
pub fn parking(id: SuspensionId, body: ParkRequest) -> Result<Command, Errors> {
    let mut errors = Vec::new();
    if is_blank(&body.reason) {
        errors.push(FieldError::new("reason", "required", "HARN-SUS-005: the reason must not be blank"));
    }
    let reason = accepting::reason(Some(body.reason)).unwrap_or_else(|broken| {
        errors.extend(broken);
        None
    });
    let conditions = conditions::conditions(body.conditions.as_ref()).unwrap_or_else(|broken| {
        errors.extend(broken);
        None
    });
    if !errors.is_empty() {
        return Err(errors);
    }
    // Without conditions no one but a principal lets the intent go on; with conditions this server does.
    let usual = if conditions.is_some() { ResumeOwner::Server } else { ResumeOwner::Parent };
    let resume_owner = body.resume_owner.unwrap_or(usual);
    let (reason, conditions) = (reason.unwrap_or_default(), conditions.map(Box::new));
    Ok(Command::Stop(Box::new(StopCommand::Park { id, reason, conditions, resume_owner })))
}

/// A principal ends the work on an intent. Its agent has so many seconds to hand in what it has, unless the work is to end at once.
///
/// # Errors
///
/// A reason that is too long.
pub fn ending(id: SuspensionId, body: StopRequest, seconds: u32) -> Result<Command, Errors> {
    let reason = accepting::reason(body.reason)?.filter(|reason| !is_blank(reason));
    let seconds = body.graceful.unwrap_or(true).then_some(seconds);
    Ok(Command::Stop(Box::new(StopCommand::End { id, seconds, reason })))
}

/// A principal tells of an event.
///
/// # Errors
///
/// A name or a payload that no event has.
pub fn firing(body: FireRequest, by: &Principal) -> Result<Fired, Errors> {
    let mut errors = Vec::new();
    if !conditions::is_event_name(&body.name) {
        let message = format!("must be 1 to {EVENT_NAME_MAX} letters, digits and characters of ._:/@-");
        errors.push(FieldError::new("name", "value", message));
    }
    let payload = body.payload.filter(|payload| !payload.is_null());
    if payload.as_ref().is_some_and(|payload| json::size(payload) > EVENT_PAYLOAD_BYTES_MAX) {
        errors.push(FieldError::new("payload", "length", format!("must be at most {EVENT_PAYLOAD_BYTES_MAX} bytes of JSON")));
    }
    let provider = if by.role == Role::Channel { Provider::Webhook } else { Provider::Placet };
    if errors.is_empty() { Ok(Fired { name: body.name, provider, payload, webhook_id: None }) } else { Err(errors) }
}

/// An agent says how far it has stopped.
///
/// # Errors
///
/// A stage at which no agent arrives, and a document that is too large or comes too early.
pub fn settling(suspension_id: SuspensionId, body: SettleRequest) -> Result<Command, Errors> {
    let stage = body.stage.unwrap_or(Stage::Suspended);
    if stage == Stage::Requested {
        return Err(vec![FieldError::new("stage", "value", "must be quiescing or suspended: the stop is requested already")]);
    }
    let handoff = body.handoff.filter(|handoff| !handoff.is_null());
    if handoff.is_some() && stage != Stage::Suspended {
        return Err(vec![FieldError::new("handoff", "value", "goes with the stage suspended: the intent ends with it")]);
    }
    if handoff.as_ref().is_some_and(|handoff| !handoff.is_object()) {
        return Err(vec![FieldError::new("handoff", "type", "must be an object")]);
    }
    if handoff.as_ref().is_some_and(|handoff| json::size(handoff) > HANDOFF_BYTES_MAX) {
        return Err(vec![FieldError::new("handoff", "length", format!("must be at most {HANDOFF_BYTES_MAX} bytes of JSON"))]);
    }
    Ok(Command::Stop(Box::new(StopCommand::Settle { suspension_id, stage, handoff })))
}

/// A principal lets a stopped intent go on, with a request that came at `asked_at`.
///
/// # Errors
///
/// An input that is blank or too large.
pub fn resuming(suspension_id: SuspensionId, body: ResumeRequest, asked_at: DateTime<Utc>) -> Result<Command, Errors> {
    let ResumeRequest { input, continue_transcript, handle } = body;
    let input = input.filter(|input| !input.is_null());
    if let Some(message) = input.as_ref().and_then(conditions::input_flaw) {
        return Err(vec![FieldError::new("input", "value", format!("HARN-SUS-009: {message}"))]);
    }
    let continue_transcript = continue_transcript.unwrap_or(true);
    Ok(Command::Stop(Box::new(StopCommand::Resume { suspension_id, handle, input, continue_transcript, asked_at })))
}
