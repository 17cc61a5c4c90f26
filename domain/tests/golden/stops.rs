//! Intents that are paused, and go on.

use domain::base::name::Owner;
use domain::intent::dependency::BlockedReason;
use domain::intent::event::Event;
use domain::intent::status::Status;
use domain::intent::stop_event::{Closed, Extended, Parked, Paused, Resumed, Settled, StopEvent, Stopping, TakenOver};
use domain::people::principal::Credential;
use domain::suspension::Asker;
use domain::suspension::stop::{Cause, Conditions, Initiator, Mode, OnTimeout, Provider, ResumeOwner, Stage, Timeout, Trigger};
use serde_json::json;

use super::{asked_id, at, key};

fn closed(cause: Cause, by: &str, credential: Option<Credential>) -> Event {
    let (suspension_id, closed_by) = (asked_id(), by.to_owned());
    Event::Stop(Box::new(StopEvent::Closed(Box::new(Closed { suspension_id, cause, handoff: None, closed_by, credential }))))
}

pub(super) fn events() -> Vec<Event> {
    let (suspension_id, credential) = (asked_id(), Some(key()));
    let stop = |event| Event::Stop(Box::new(event));
    let paused = |mode, stage, reason: Option<&str>, initiator, credential| {
        let by = Some(Asker { name: "bot".into(), owner: Owner("team-a".into()) });
        let (reason, paused_by) = (reason.map(str::to_owned), "ada@example.com".to_owned());
        stop(StopEvent::Paused(Box::new(Paused { suspension_id, mode, stage, reason, initiator, paused_by, credential, by })))
    };
    let resumed = |input, continue_transcript, credential| {
        let (cause, resumed_by) = (Cause::ExplicitResume, "ada@example.com".to_owned());
        stop(StopEvent::Resumed(Box::new(Resumed {
            suspension_id,
            cause,
            input,
            continue_transcript,
            digest: None,
            event: None,
            webhook_id: None,
            resumed_by,
            credential,
        })))
    };
    let closed_by = "ada@example.com".to_owned();
    vec![
        paused(Mode::FinishStep, Stage::Requested, Some("The supplier is being checked."), Initiator::Operator, credential),
        Event::StatusChanged {
            old: Status::Active,
            new: Status::Blocked,
            reason: Some("paused".into()),
            blocked_reason: Some(BlockedReason::Paused),
            overrides: Vec::new(),
        },
        paused(Mode::InterruptImmediate, Stage::Suspended, None, Initiator::Parent, None),
        stop(StopEvent::Settled(Settled { suspension_id, stage: Stage::Quiescing, credential })),
        stop(StopEvent::Settled(Settled { suspension_id, stage: Stage::Suspended, credential: None })),
        resumed(Some(json!({"supplier": "fine"})), true, credential),
        resumed(None, false, None),
        closed(Cause::Closed, &closed_by, credential),
    ]
}

pub(super) fn parks() -> Vec<Event> {
    let (suspension_id, credential) = (asked_id(), Some(key()));
    let stop = |event| Event::Stop(Box::new(event));
    let parked = |conditions: Option<Conditions>, expires_at, resume_owner, credential| {
        let (reason, parked_by) = ("Waiting for the review.".to_owned(), "bot".to_owned());
        let by = Some(Asker { name: "bot".into(), owner: Owner("team-a".into()) });
        stop(StopEvent::Parked(Box::new(Parked {
            suspension_id,
            reason,
            conditions,
            expires_at,
            resume_owner,
            parked_by,
            credential,
            by,
        })))
    };
    let timeout = |on_timeout, input| Some(Timeout { duration_minutes: 5, on_timeout, input });
    let trigger = Trigger { kind: "review".into(), provider: Provider::Webhook, events: vec!["review.approved".into()] };
    let all = Conditions {
        on_event: Some("ci.build:1".into()),
        trigger: Some(trigger),
        timeout: timeout(OnTimeout::ResumeWithInput, Some(json!("go"))),
    };
    let failing = Conditions { on_event: None, trigger: None, timeout: timeout(OnTimeout::Fail, None) };
    let resumed = |cause, input, digest: Option<&str>, event: Option<&str>, credential| {
        let (continue_transcript, digest, event) = (digest.is_none(), digest.map(str::to_owned), event.map(str::to_owned));
        let resumed_by = "placet".to_owned();
        stop(StopEvent::Resumed(Box::new(Resumed {
            suspension_id,
            cause,
            input,
            continue_transcript,
            digest,
            event,
            webhook_id: None,
            resumed_by,
            credential,
        })))
    };
    let closed_by = "placet".to_owned();
    vec![
        parked(None, None, ResumeOwner::Parent, None),
        Event::StatusChanged {
            old: Status::Active,
            new: Status::Blocked,
            reason: Some("parked".into()),
            blocked_reason: Some(BlockedReason::Parked),
            overrides: Vec::new(),
        },
        parked(Some(all), Some(at(360)), ResumeOwner::Server, credential),
        parked(Some(failing), Some(at(360)), ResumeOwner::External, credential),
        stop(StopEvent::Extended(Extended { suspension_id, old_expires_at: at(360), new_expires_at: at(660) })),
        resumed(Cause::ExternalEvent, Some(json!({"build": 1})), None, Some("ci.build:1"), credential),
        resumed(Cause::ConditionFired, None, None, Some("review.approved"), credential),
        resumed(Cause::Timeout, None, Some("Nothing happened."), None, None),
        closed(Cause::Timeout, &closed_by, None),
    ]
}

fn taken_over(reason: Option<&str>, credential: Option<Credential>) -> Event {
    let (suspension_id, taken_over_by) = (asked_id(), "ada@example.com".to_owned());
    let by = Some(Asker { name: "bot".into(), owner: Owner("team-a".into()) });
    let taken = TakenOver { suspension_id, reason: reason.map(str::to_owned), taken_over_by, credential, by };
    Event::Stop(Box::new(StopEvent::TakenOver(Box::new(taken))))
}

pub(super) fn endings() -> Vec<Event> {
    let (suspension_id, credential) = (asked_id(), Some(key()));
    let stop = |event| Event::Stop(Box::new(event));
    let stopping = |stage, reason: Option<&str>, expires_at, initiator, credential| {
        let by = Some(Asker { name: "bot".into(), owner: Owner("team-a".into()) });
        let (reason, stopped_by) = (reason.map(str::to_owned), "ada@example.com".to_owned());
        let stopping = Stopping { suspension_id, stage, reason, expires_at, initiator, stopped_by, credential, by };
        stop(StopEvent::Stopping(Box::new(stopping)))
    };
    let (cause, handoff, closed_by) = (Cause::HandedOver, Some(json!({"done": ["a"], "left": ["b"]})), "bot".to_owned());
    vec![
        stopping(Stage::Requested, Some("Another team does it."), Some(at(120)), Initiator::Operator, credential),
        Event::StatusChanged {
            old: Status::Active,
            new: Status::Blocked,
            reason: Some("stopping".into()),
            blocked_reason: Some(BlockedReason::Stopping),
            overrides: Vec::new(),
        },
        stop(StopEvent::Closed(Box::new(Closed { suspension_id, cause, handoff, closed_by, credential }))),
        stopping(Stage::Suspended, None, None, Initiator::Parent, None),
        closed(Cause::Stopped, "ada@example.com", None),
        taken_over(Some("Everything stands still."), Some(key())),
        taken_over(None, None),
    ]
}

/// An intent that goes on because of the event of a signed message.
pub(super) fn by_message() -> Vec<Event> {
    vec![Event::Stop(Box::new(StopEvent::Resumed(Box::new(Resumed {
        suspension_id: asked_id(),
        cause: Cause::ConditionFired,
        input: None,
        continue_transcript: true,
        digest: None,
        event: Some("build.finished".into()),
        webhook_id: Some("msg_2KWPBgLlAfxdpx2AI54pPJ85f4W".into()),
        resumed_by: "webhook:ci".into(),
        credential: None,
    }))))]
}
