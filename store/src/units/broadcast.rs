//! One intent of a broadcast, paused by the unit of work of every pause.

use domain::base::ids::{IntentId, SuspensionId};
use domain::intent::command::Command;
use domain::intent::stop_command::StopCommand;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::broadcast::{Broadcast, Struck};
use domain::suspension::stop_refusal::StopRefusal;

use super::execute::execute;
use crate::request::{Outcome, Request, Target};
use crate::rows::Decided;
use crate::rows::prelude::*;
use crate::surroundings::Env;

/// Pauses an intent, and says what came of it.
pub(crate) fn pause<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    intent: IntentId,
    wanted: &Broadcast,
) -> Decided<Struck> {
    let id = SuspensionId(env.entropy.uuid(env.clock.now()));
    let pause = StopCommand::Pause { id, mode: wanted.mode, reason: wanted.reason.clone() };
    let request = Request::plain(principal.clone(), Target::Intent(intent), Ok(Command::Stop(Box::new(pause))));
    Ok(match execute(rows, env, &request)? {
        Ok(Outcome::Stop(record)) if record.id == id => Ok(Struck::Suspended(id)),
        Ok(_) => Ok(Struck::AlreadySuspended),
        Err(Rejection::NotFound) => Ok(Struck::Unknown),
        Err(Rejection::Stop(refusal)) => match *refusal {
            StopRefusal::NotRunning { is_stopped: true, .. } => Ok(Struck::AlreadySuspended),
            // The time of a park was over: it has ended now, in one way or the other, and a call that is repeated finds it so.
            StopRefusal::TimeOver | StopRefusal::NotRunning { .. } => Ok(Struck::NotRunning),
            other @ (StopRefusal::NotStopped
            | StopRefusal::QuestionEnded
            | StopRefusal::NothingStopped { .. }
            | StopRefusal::Mismatch
            | StopRefusal::Lost { .. }
            | StopRefusal::IntentEnded { .. }
            | StopRefusal::Ending
            | StopRefusal::NoHandoff
            | StopRefusal::StatusIsHeld
            | StopRefusal::NothingBegins
            | StopRefusal::ParkedOtherwise
            | StopRefusal::HearsNothing { .. }
            | StopRefusal::TurnIsOver { .. }) => Err(Rejection::Stop(Box::new(other))),
        },
        Err(other) => Err(other),
    })
}
