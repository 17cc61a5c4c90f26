//! Intents that are paused, and go on.

use domain::base::name::Owner;
use domain::intent::dependency::BlockedReason;
use domain::intent::event::Event;
use domain::intent::status::Status;
use domain::intent::stop_event::{Closed, Paused, Resumed, Settled, StopEvent};
use domain::suspension::Asker;
use domain::suspension::stop::{Cause, Initiator, Mode, Stage};
use serde_json::json;

use super::{asked_id, key};

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
        stop(StopEvent::Resumed(Box::new(Resumed { suspension_id, cause, input, continue_transcript, resumed_by, credential })))
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
        stop(StopEvent::Closed(Closed { suspension_id, cause: Cause::Closed, closed_by, credential })),
    ]
}
