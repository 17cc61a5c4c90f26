//! Decides how an intent is stopped and how it goes on: one place for every surface.

use crate::base::ids::SuspensionId;
use crate::intent::Intent;
use crate::intent::changing::changed;
use crate::intent::dependency::BlockedReason;
use crate::intent::event::Event;
use crate::intent::refusal::Refusal;
use crate::intent::status::Status;
use crate::intent::stop_command::StopCommand;
use crate::intent::stop_event::{Closed, Paused, Resumed, Settled, StopEvent};
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::stop::{Cause, Initiator, Mode, Stage, Stop};
use crate::suspension::stop_refusal::StopRefusal;
use crate::suspension::{Asker, Kind};

pub(super) fn decide(intent: &Intent, command: &StopCommand, by: &Principal) -> Result<Vec<Event>, Refusal> {
    Ok(match command {
        StopCommand::Pause { id, mode, reason } => pause(intent, *id, *mode, reason.as_ref(), by)?,
        StopCommand::Settle { suspension_id, stage } => settle(intent, *suspension_id, *stage, by)?,
        StopCommand::Resume { suspension_id, handle, input, continue_transcript } => {
            open(intent, *suspension_id)?;
            if handle.as_deref().is_some_and(|handle| SuspensionId::parse(handle) != Some(*suspension_id)) {
                return Err(StopRefusal::Mismatch.into());
            }
            let resumed = Resumed {
                suspension_id: *suspension_id,
                cause: Cause::ExplicitResume,
                input: input.clone(),
                continue_transcript: *continue_transcript,
                resumed_by: by.subject.clone(),
                credential: by.credential,
            };
            std::iter::once(event_of(StopEvent::Resumed(Box::new(resumed)))).chain(goes_on(intent)).collect()
        }
    })
}

impl From<StopRefusal> for Refusal {
    fn from(refusal: StopRefusal) -> Self {
        Rejection::Stop(Box::new(refusal)).into()
    }
}

/// Refuses to stop an intent that does not run.
fn not_running(intent: &Intent) -> StopRefusal {
    let why = match intent.stop.as_deref().map(|stop| stop.suspension.kind) {
        Some(Kind::Parked) => "is parked".to_owned(),
        Some(_) => "is paused".to_owned(),
        None if intent.status == Status::SuspendedAwaitingInput => "waits for a person".to_owned(),
        None => format!("is {}", intent.status.as_str()),
    };
    StopRefusal::NotRunning { why }
}

fn event_of(event: StopEvent) -> Event {
    Event::Stop(Box::new(event))
}

/// Pauses an intent. A pause of what is paused is the same pause, and causes no event.
fn pause(
    intent: &Intent,
    id: SuspensionId,
    mode: Mode,
    reason: Option<&String>,
    by: &Principal,
) -> Result<Vec<Event>, StopRefusal> {
    if let Some(stop) = &intent.stop {
        return if stop.suspension.kind == Kind::Paused { Ok(Vec::new()) } else { Err(not_running(intent)) };
    }
    // An open question is answered or withdrawn, and not paused: it would wait for two things.
    if intent.open.is_some() || !matches!(intent.status, Status::Active | Status::Blocked) {
        return Err(not_running(intent));
    }
    let is_running = intent.status == Status::Active;
    let paused = Paused {
        suspension_id: id,
        mode,
        // Nothing runs while the intent is blocked, so there is no turn whose end could be awaited.
        stage: if is_running { Stage::Requested } else { Stage::Suspended },
        reason: reason.cloned(),
        initiator: if by.role == Role::Agent { Initiator::Parent } else { Initiator::Operator },
        paused_by: by.subject.clone(),
        credential: by.credential,
        by: Some(Asker { name: by.name.clone(), owner: by.owner.clone() }),
    };
    let blocked = is_running.then(|| Event::StatusChanged {
        old: intent.status,
        new: Status::Blocked,
        reason: Some("paused".to_owned()),
        blocked_reason: Some(BlockedReason::Paused),
        overrides: Vec::new(),
    });
    Ok(std::iter::once(event_of(StopEvent::Paused(Box::new(paused)))).chain(blocked).collect())
}

/// Records that the agent has stopped further. What is reached already is not recorded again.
fn settle(intent: &Intent, suspension_id: SuspensionId, stage: Stage, by: &Principal) -> Result<Vec<Event>, StopRefusal> {
    let stop = open(intent, suspension_id)?;
    let settled = Settled { suspension_id, stage, credential: by.credential };
    Ok((stage > stop.stage).then(|| event_of(StopEvent::Settled(settled))).into_iter().collect())
}

/// The open stop with this id.
fn open(intent: &Intent, id: SuspensionId) -> Result<&Stop, StopRefusal> {
    if let Some(stop) = intent.stop.as_deref().filter(|stop| stop.suspension.id == id) {
        return Ok(stop);
    }
    let Some(past) = intent.past_stop.as_deref().filter(|past| past.suspension.id == id) else {
        // The id is that of a question.
        return Err(StopRefusal::NotStopped);
    };
    if intent.status.is_final() {
        return Err(StopRefusal::IntentEnded { status: intent.status.as_str().to_owned() });
    }
    let by = past.suspension.ending.as_ref().and_then(|ending| ending.by.clone());
    Err(StopRefusal::Lost { resumed_by: by })
}

/// The change to `active` after the stop has ended, unless something else blocks the intent as well.
fn goes_on(intent: &Intent) -> Option<Event> {
    let is_free = intent.status == Status::Blocked && intent.unmet == 0 && !intent.is_held;
    is_free.then(|| changed(intent, Status::Active, Some("resumed".to_owned())))
}

/// A change of the status of a stopped intent. Only the end of the intent passes; otherwise its agent could lift the stop by writing a
/// status.
pub(super) fn set_status(
    intent: &Intent,
    stop: &Stop,
    status: Status,
    reason: Option<&String>,
    by: &Principal,
) -> Result<Vec<Event>, Refusal> {
    if status != Status::Abandoned {
        return Err(StopRefusal::StatusIsHeld.into());
    }
    let (closed_by, credential) = (by.subject.clone(), by.credential);
    let closed = Closed { suspension_id: stop.suspension.id, cause: Cause::Closed, closed_by, credential };
    Ok(vec![event_of(StopEvent::Closed(closed)), changed(intent, status, reason.cloned())])
}
