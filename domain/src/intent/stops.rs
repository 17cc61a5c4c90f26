//! Decides how an intent is stopped and how it goes on: one place for every surface.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use crate::base::ids::SuspensionId;
use crate::base::json::canonical;
use crate::base::time::{rfc3339, seconds};
use crate::intent::Intent;
use crate::intent::changing::changed;
use crate::intent::command::Later;
use crate::intent::dependency::BlockedReason;
use crate::intent::event::Event;
use crate::intent::refusal::{Refusal, expired, withdrawn};
use crate::intent::status::Status;
use crate::intent::stop_command::StopCommand;
use crate::intent::stop_event::{Closed, Extended, Parked, Paused, Resumed, Settled, StopEvent, Stopping, TakenOver};
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::stop::{Cause, Conditions, Fired, Initiator, Mode, OnTimeout, ResumeOwner, Stage, Stop};
use crate::suspension::stop_refusal::StopRefusal;
use crate::suspension::{Asker, Kind, Resolution, ResolutionReason};

pub(super) fn decide(intent: &Intent, command: &StopCommand, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    if let Some(stop) = intent.stop.as_deref().filter(|stop| stop.suspension.is_expired(now)) {
        return Err(time_over(intent, stop));
    }
    Ok(match command {
        StopCommand::Park { id, reason, conditions, resume_owner } => {
            park(intent, (*id, reason), conditions.as_deref(), *resume_owner, by, now)?
        }
        StopCommand::Fire { suspension_id, fired } => fire(intent, *suspension_id, fired, by)?,
        StopCommand::Pause { id, mode, reason } => pause(intent, *id, *mode, reason.as_ref(), by)?,
        StopCommand::Settle { suspension_id, stage, handoff } => settle(intent, *suspension_id, *stage, handoff.as_ref(), by)?,
        StopCommand::End { id, seconds, reason } => end(intent, *id, *seconds, reason.as_ref(), by, now)?,
        StopCommand::Resume { suspension_id, handle, input, continue_transcript, asked_at } => {
            let stop = open(intent, *suspension_id).map_err(|refusal| refusal.seen_at(*asked_at))?;
            if !stop.can_go_on() {
                return Err(StopRefusal::Ending.into());
            }
            if handle.as_deref().is_some_and(|handle| SuspensionId::parse(handle) != Some(*suspension_id)) {
                return Err(StopRefusal::Mismatch.into());
            }
            let resumed = Resumed {
                suspension_id: *suspension_id,
                cause: Cause::ExplicitResume,
                input: input.clone(),
                continue_transcript: *continue_transcript,
                digest: None,
                event: None,
                webhook_id: None,
                resumed_by: by.subject.clone(),
                credential: by.credential,
            };
            resumption(intent, resumed)
        }
    })
}

impl From<StopRefusal> for Rejection {
    fn from(refusal: StopRefusal) -> Self {
        Self::Stop(Box::new(refusal))
    }
}

impl From<StopRefusal> for Refusal {
    fn from(refusal: StopRefusal) -> Self {
        Rejection::from(refusal).into()
    }
}

/// Refuses to pause or park an intent that does not run.
fn not_running(intent: &Intent) -> StopRefusal {
    let why = match intent.stop.as_deref().map(|stop| stop.suspension.kind) {
        Some(Kind::Parked) => "is parked".to_owned(),
        Some(Kind::Stopping) => "is being ended".to_owned(),
        Some(_) => "is paused".to_owned(),
        None if intent.status == Status::SuspendedAwaitingInput => "waits for a person".to_owned(),
        None => format!("is {}", intent.status.as_str()),
    };
    StopRefusal::NotRunning { why, is_stopped: intent.stop.is_some() }
}

fn event_of(event: StopEvent) -> Event {
    Event::Stop(Box::new(event))
}

/// Pauses an intent. A pause of what is paused is the same pause, and causes no event, unless a person takes it over from an agent.
fn pause(
    intent: &Intent,
    id: SuspensionId,
    mode: Mode,
    reason: Option<&String>,
    by: &Principal,
) -> Result<Vec<Event>, StopRefusal> {
    if let Some(stop) = &intent.stop {
        if stop.suspension.kind != Kind::Paused {
            return Err(not_running(intent));
        }
        return Ok(take_over(stop, reason, by).into_iter().collect());
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

/// A person who pauses what an agent has paused takes the pause over. Otherwise that agent could lift it, and would not know that a person
/// wants the work to stand still.
fn take_over(stop: &Stop, reason: Option<&String>, by: &Principal) -> Option<Event> {
    let is_person = matches!(by.role, Role::Operator | Role::Admin);
    let taken = || TakenOver {
        suspension_id: stop.suspension.id,
        reason: reason.cloned(),
        taken_over_by: by.subject.clone(),
        credential: by.credential,
        by: Some(Asker { name: by.name.clone(), owner: by.owner.clone() }),
    };
    (is_person && stop.is_an_agents_pause()).then(|| event_of(StopEvent::TakenOver(Box::new(taken()))))
}

/// Parks an intent. A second request to park what is parked, under the same conditions, is the same one, and causes no event. Under other
/// conditions it is refused: its agent would wait for what lets nothing go on.
fn park(
    intent: &Intent,
    (id, reason): (SuspensionId, &str),
    conditions: Option<&Conditions>,
    resume_owner: ResumeOwner,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, StopRefusal> {
    if let Some(stop) = &intent.stop {
        if stop.suspension.kind != Kind::Parked {
            return Err(not_running(intent));
        }
        // If the event that has the conditions was erased, they cannot be compared.
        let is_same = stop.terms.as_ref().is_none_or(|terms| is_equal(terms.conditions.as_ref(), conditions));
        if is_same {
            return Ok(Vec::new());
        }
        return Err(StopRefusal::ParkedOtherwise);
    }
    if intent.status != Status::Active {
        return Err(not_running(intent));
    }
    let timeout = conditions.and_then(|conditions| conditions.timeout.as_ref());
    let parked = Parked {
        suspension_id: id,
        reason: reason.to_owned(),
        conditions: conditions.cloned(),
        expires_at: timeout.map(|timeout| now + TimeDelta::minutes(i64::from(timeout.duration_minutes))),
        resume_owner,
        parked_by: by.subject.clone(),
        credential: by.credential,
        by: Some(Asker { name: by.name.clone(), owner: by.owner.clone() }),
    };
    let blocked = Event::StatusChanged {
        old: intent.status,
        new: Status::Blocked,
        reason: Some("parked".to_owned()),
        blocked_reason: Some(BlockedReason::Parked),
        overrides: Vec::new(),
    };
    Ok(vec![event_of(StopEvent::Parked(Box::new(parked))), blocked])
}

/// Ends the work on an intent: whatever it waits for ends, and its agent has some seconds to hand in what it has. It ends at once if the
/// agent is given no time, and if no agent is at work. A second request for the same is the first one, and causes no event.
fn end(
    intent: &Intent,
    id: SuspensionId,
    in_seconds: Option<u32>,
    reason: Option<&String>,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    if intent.status.is_final() {
        return Err(StopRefusal::IntentEnded { status: intent.status.as_str().to_owned() }.into());
    }
    if let Some(open) = intent.open.as_ref().filter(|open| open.is_expired(now)) {
        return Err(expired(intent, open));
    }
    // A draft has not begun, and an errand is nothing but its question.
    let in_seconds = in_seconds.filter(|_| intent.status != Status::Draft && !intent.is_errand);
    if let Some(stop) = intent.stop.as_deref().filter(|stop| stop.suspension.kind == Kind::Stopping) {
        return Ok(if in_seconds.is_some() {
            Vec::new()
        } else {
            closes(intent, stop.suspension.id, reason, (Cause::Stopped, None), by).into()
        });
    }
    let note = reason.cloned().or_else(|| Some("the work on the intent is ended".to_owned()));
    let question = intent.open.as_ref().map(|open| withdrawn(open, ResolutionReason::Withdrawn, note, by));
    let other = intent.stop.as_deref().map(|stop| closed_by(stop.suspension.id, Cause::Stopped, None, by));
    let stopping = Stopping {
        suspension_id: id,
        stage: reached(intent),
        reason: reason.cloned(),
        expires_at: in_seconds.map(|given| now + seconds(given)),
        initiator: if by.role == Role::Agent { Initiator::Parent } else { Initiator::Operator },
        stopped_by: by.subject.clone(),
        credential: by.credential,
        by: Some(Asker { name: by.name.clone(), owner: by.owner.clone() }),
    };
    let mut events: Vec<Event> = question.into_iter().chain(other).collect();
    events.push(event_of(StopEvent::Stopping(Box::new(stopping))));
    if in_seconds.is_none() {
        events.extend(closes(intent, id, reason, (Cause::Stopped, None), by));
    } else if intent.status != Status::Blocked {
        events.push(Event::StatusChanged {
            old: intent.status,
            new: Status::Blocked,
            reason: Some("stopping".to_owned()),
            blocked_reason: Some(BlockedReason::Stopping),
            overrides: Vec::new(),
        });
    }
    Ok(events)
}

/// How far the agent has stopped at the moment at which the end of its work begins.
fn reached(intent: &Intent) -> Stage {
    let is_running = matches!(intent.status, Status::Active | Status::SuspendedAwaitingInput);
    match intent.stop.as_deref() {
        // The status is no measure of it: an agent that has not acknowledged a pause still runs, and its intent is blocked.
        Some(stop) => stop.stage,
        None if is_running => Stage::Requested,
        // Nothing runs while the intent is blocked, and nothing has begun in a draft.
        None => Stage::Suspended,
    }
}

/// The end of a stop that is the end of its intent as well.
fn closed_by(suspension_id: SuspensionId, cause: Cause, handoff: Option<&Value>, by: &Principal) -> Event {
    let (closed_by, credential) = (by.subject.clone(), by.credential);
    event_of(StopEvent::Closed(Box::new(Closed { suspension_id, cause, handoff: handoff.cloned(), closed_by, credential })))
}

/// The events by which the work on an intent is over. An agent that says so hands in a document, if it has one.
fn closes(
    intent: &Intent,
    id: SuspensionId,
    reason: Option<&String>,
    (cause, handoff): (Cause, Option<&Value>),
    by: &Principal,
) -> [Event; 2] {
    let said = intent.stop.as_deref().and_then(|stop| stop.terms.as_ref()).and_then(|terms| terms.reason.clone());
    let reason = reason.cloned().or(said).unwrap_or_else(|| "stopped".to_owned());
    [closed_by(id, cause, handoff, by), changed(intent, Status::Abandoned, Some(reason))]
}

/// Lets a parked intent go on, if this event is one for which it waits.
fn fire(intent: &Intent, suspension_id: SuspensionId, fired: &Fired, by: &Principal) -> Result<Vec<Event>, StopRefusal> {
    let stop = open(intent, suspension_id)?;
    let conditions = stop.terms.as_ref().and_then(|terms| terms.conditions.as_ref());
    let Some(cause) = conditions.and_then(|conditions| conditions.met_by(fired)) else { return Ok(Vec::new()) };
    let resumed = Resumed {
        suspension_id,
        cause,
        input: fired.payload.clone(),
        continue_transcript: true,
        digest: None,
        event: Some(fired.name.clone()),
        webhook_id: fired.webhook_id.clone(),
        resumed_by: by.subject.clone(),
        credential: by.credential,
    };
    Ok(resumption(intent, resumed))
}

fn resumption(intent: &Intent, resumed: Resumed) -> Vec<Event> {
    std::iter::once(event_of(StopEvent::Resumed(Box::new(resumed)))).chain(goes_on(intent)).collect()
}

/// The refusal of a command after the time of a parked intent. It carries the events of that time, so that a time that is over always
/// takes effect.
pub(super) fn time_over(intent: &Intent, stop: &Stop) -> Refusal {
    Refusal { rejection: Rejection::Stop(Box::new(StopRefusal::TimeOver)), deadline: end_by_time(intent, stop), record: None }
}

/// The time of a parked intent may be over.
pub(super) fn deadline(intent: &Intent, suspension_id: SuspensionId, now: DateTime<Utc>) -> Vec<Event> {
    let stop = intent.stop.as_deref().filter(|stop| stop.suspension.id == suspension_id && stop.suspension.is_expired(now));
    stop.map(|stop| end_by_time(intent, stop)).unwrap_or_default()
}

/// The events that follow when no condition came in time.
fn end_by_time(intent: &Intent, stop: &Stop) -> Vec<Event> {
    let (suspension, server) = (&stop.suspension, Principal::server());
    let terms = stop.terms.as_ref();
    let timeout = terms.and_then(|terms| terms.conditions.as_ref()).and_then(|conditions| conditions.timeout.as_ref());
    let (suspension_id, cause) = (suspension.id, Cause::Timeout);
    if suspension.kind == Kind::Stopping {
        let reason = terms.and_then(|terms| terms.reason.clone()).unwrap_or_else(|| "stopped".to_owned());
        return vec![closed_by(suspension_id, cause, None, &server), changed(intent, Status::Abandoned, Some(reason))];
    }
    let Some(timeout) = timeout.filter(|timeout| timeout.on_timeout != OnTimeout::Fail) else {
        let reason = Some("HARN-SUS-008: auto-resume timeout expired".to_owned());
        return vec![closed_by(suspension_id, cause, None, &server), changed(intent, Status::Abandoned, reason)];
    };
    let minutes = timeout.duration_minutes;
    let with_input = timeout.on_timeout == OnTimeout::ResumeWithInput;
    let event = || json!({ "type": "timeout", "suspension_id": suspension_id, "duration_minutes": minutes });
    let input = with_input.then(|| timeout.input.clone().unwrap_or_else(event));
    let reason = terms.and_then(|terms| terms.reason.as_deref()).unwrap_or_default();
    // The time may have been moved later after an outage, so it is not told in minutes.
    let (since, until) = (rfc3339(suspension.suspended_at), suspension.expires_at.map(rfc3339).unwrap_or_default());
    let digest =
        format!("The work was parked at {since}, and none of its conditions was met by {until}. The reason was: {reason}");
    let resumed = Resumed {
        suspension_id,
        cause,
        input,
        continue_transcript: with_input,
        digest: (!with_input).then_some(digest),
        event: None,
        webhook_id: None,
        resumed_by: server.subject,
        credential: None,
    };
    resumption(intent, resumed)
}

/// The open stop with this id, if it has one.
pub(super) fn opened(intent: &Intent, id: SuspensionId) -> Option<&Stop> {
    intent.stop.as_deref().filter(|stop| stop.suspension.id == id)
}

/// Gives the time of an outage back to a parked intent.
pub(super) fn give_back(stop: &Stop, later: Later) -> Vec<Event> {
    let Some(old_expires_at) = stop.suspension.expires_at else { return Vec::new() };
    let new_expires_at = match later {
        Later::Until(at) => at,
        Later::By(span) => old_expires_at + span,
    };
    let extended = Extended { suspension_id: stop.suspension.id, old_expires_at, new_expires_at };
    (new_expires_at > old_expires_at).then(|| event_of(StopEvent::Extended(extended))).into_iter().collect()
}

/// Records that the agent has stopped further. What is reached already is not recorded again. If the work is being ended, an agent that has
/// stopped ends the intent, with the document that it hands in. The same document once more is the same call, whose reply was lost.
fn settle(
    intent: &Intent,
    suspension_id: SuspensionId,
    stage: Stage,
    handoff: Option<&Value>,
    by: &Principal,
) -> Result<Vec<Event>, StopRefusal> {
    if stage == Stage::Suspended && has_handed_in(intent, suspension_id, handoff) {
        return Ok(Vec::new());
    }
    let stop = open(intent, suspension_id)?;
    if stop.suspension.kind == Kind::Stopping {
        if stage == Stage::Suspended {
            return Ok(closes(intent, suspension_id, None, (Cause::HandedOver, handoff), by).into());
        }
    } else if handoff.is_some() {
        return Err(StopRefusal::NoHandoff);
    }
    let settled = Settled { suspension_id, stage, credential: by.credential };
    Ok((stage > stop.stage).then(|| event_of(StopEvent::Settled(settled))).into_iter().collect())
}

/// Whether the end of the work is over because its agent has stopped, with this document or with none.
fn has_handed_in(intent: &Intent, id: SuspensionId, handoff: Option<&Value>) -> bool {
    let past = intent.past_stop.as_deref().filter(|past| past.suspension.id == id);
    let gone = past.and_then(|past| past.gone.as_ref()).filter(|gone| gone.cause == Cause::HandedOver);
    gone.is_some_and(|gone| is_equal(gone.handoff.as_ref(), handoff))
}

/// Whether two values are the same in the log, which writes 1.0 and 1 alike.
fn is_equal<T: Serialize>(one: Option<&T>, other: Option<&T>) -> bool {
    matches!((canonical(&one), canonical(&other)), (Ok(one), Ok(other)) if one == other)
}

/// The open stop with this id.
fn open(intent: &Intent, id: SuspensionId) -> Result<&Stop, StopRefusal> {
    if let Some(stop) = intent.stop.as_deref().filter(|stop| stop.suspension.id == id) {
        return Ok(stop);
    }
    let Some(past) = intent.past_stop.as_deref().filter(|past| past.suspension.id == id) else {
        return Err(no_stop(intent, id));
    };
    if intent.status.is_final() {
        return Err(StopRefusal::IntentEnded { status: intent.status.as_str().to_owned() });
    }
    let ending = past.suspension.ending.as_ref();
    // This stop was closed, and not resumed: the end of the work has taken its place, and goes on.
    if ending.is_some_and(|ending| ending.resolution != Resolution::Responded) {
        return Err(StopRefusal::Ending);
    }
    Err(StopRefusal::Lost {
        resumed_by: ending.and_then(|ending| ending.by.clone()),
        at: ending.map(|ending| ending.at),
        is_late: false,
    })
}

/// Why an id that is that of no stop of the intent is refused. Callers of other protocols may name no id at all.
fn no_stop(intent: &Intent, id: SuspensionId) -> StopRefusal {
    let status = intent.status.as_str().to_owned();
    match intent.suspension(id) {
        Some(question) if question.ending.is_some() => StopRefusal::QuestionEnded,
        Some(_) => StopRefusal::NotStopped,
        None if intent.status.is_final() => StopRefusal::IntentEnded { status },
        // A question that was announced and has not come yet is one as well.
        None if intent.open.is_some() || intent.status == Status::SuspendedAwaitingInput => StopRefusal::NotStopped,
        None => StopRefusal::NothingStopped { status },
    }
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
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    if stop.suspension.is_expired(now) {
        return Err(time_over(intent, stop));
    }
    if status != Status::Abandoned {
        return Err(StopRefusal::StatusIsHeld.into());
    }
    Ok(vec![closed_by(stop.suspension.id, Cause::Closed, None, by), changed(intent, status, reason.cloned())])
}
