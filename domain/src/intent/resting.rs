//! The acts that an agent may still do while its intent is stopped.
//!
//! Work that is under way comes to its end, and nothing begins. Words, costs, signs of life and all that gives something back always pass: a
//! log that refused them would hide what happened.

use chrono::{DateTime, Utc};

use crate::container::plan::{Outline, PlanCommand, PlanState, PlanStep};
use crate::container::task::{TaskCommand, TaskStatus, TaskStep};
use crate::intent::command::Command;
use crate::intent::record::Record;
use crate::intent::refusal::Refusal;
use crate::intent::{Intent, stops};
use crate::people::principal::{Principal, Role};
use crate::suspension::Kind;
use crate::suspension::stop::{Mode, Stage, Stop};
use crate::suspension::stop_refusal::StopRefusal;

/// The meaning of a command for work that is stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Something begins.
    Begins,
    /// A step that is under way goes on, or comes to its end.
    GoesOn,
    /// It is no work, or other rules decide about it.
    Passes,
}

/// Refuses the commands of agents that the stop of the intent forbids.
pub(super) fn enforce(intent: &Intent, command: &Command, by: &Principal, now: DateTime<Utc>) -> Result<(), Refusal> {
    let Some(stop) = intent.stop.as_deref().filter(|_| by.role == Role::Agent) else { return Ok(()) };
    let is_over = stop.suspension.is_expired(now);
    let refusal = match meaning(command) {
        Meaning::Begins => StopRefusal::NothingBegins,
        Meaning::GoesOn if is_over && stop.ends_work() => return Err(stops::time_over(intent, stop)),
        Meaning::GoesOn if !stop.lets_finish() => StopRefusal::TurnIsOver { is_broken_off: stop.breaks_off() },
        Meaning::GoesOn | Meaning::Passes => return Ok(()),
    };
    // A time that is over counts, also before its timer runs.
    Err(if is_over { stops::time_over(intent, stop) } else { refusal.into() })
}

fn meaning(command: &Command) -> Meaning {
    match command {
        Command::PatchState { .. } | Command::AddDependency(_) | Command::RemoveDependency(_) => Meaning::GoesOn,
        Command::Suspend(suspend) if !suspend.kind.stops_intent() => Meaning::GoesOn,
        Command::Record(record) => match &**record {
            Record::Attachment(_) | Record::AttachmentRemoved(_) => Meaning::GoesOn,
            Record::Decision(_)
            | Record::CoordinatorDecision(_)
            | Record::Cost(_)
            | Record::Failure(_)
            | Record::RetryPolicy(_) => Meaning::Passes,
        },
        Command::Assign(_) => Meaning::Begins,
        Command::Task(task) => of_a_task(task),
        Command::Plan(plan) => of_a_plan(plan),
        // Leases, questions, and the lease of a coordinator have refusals of their own; a repeated call for what an agent has passes there.
        Command::AcquireLease { .. } | Command::Coordinate(_) | Command::Suspend(_) | Command::SuspendByRecord(_) => {
            Meaning::Passes
        }
        Command::SetStatus { .. }
        | Command::Append(_)
        | Command::Unassign { .. }
        | Command::Access(_)
        | Command::Join(_)
        | Command::Leave(_)
        | Command::DependencyCompleted(_)
        | Command::RetryDue { .. }
        | Command::Govern(_)
        | Command::RenewLease { .. }
        | Command::ReleaseLease { .. }
        | Command::AnnouncementDue
        | Command::Respond(_)
        | Command::Stop(_)
        | Command::Hand(_)
        | Command::Cancel { .. }
        | Command::Extend { .. }
        | Command::Remind { .. }
        | Command::DeadlineReached { .. }
        | Command::AttemptDue { .. }
        | Command::RecordDelivery(_)
        | Command::Redrive(_) => Meaning::Passes,
    }
}

fn of_a_task(task: &TaskCommand) -> Meaning {
    match &task.step {
        TaskStep::Create(_) | TaskStep::Delegate { .. } => Meaning::Begins,
        TaskStep::Report(_) => Meaning::GoesOn,
        TaskStep::LookAtLease => Meaning::Passes,
        TaskStep::Change(change) => match change.status {
            // Another attempt.
            TaskStatus::Ready => Meaning::Begins,
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Blocked => Meaning::GoesOn,
            // The intent is blocked, so no task of it is claimed and none begins. One that is given up is no work.
            TaskStatus::Pending | TaskStatus::Claimed | TaskStatus::Running | TaskStatus::Cancelled | TaskStatus::Skipped => {
                Meaning::Passes
            }
        },
    }
}

fn of_a_plan(plan: &PlanCommand) -> Meaning {
    match &plan.step {
        PlanStep::Change(change)
            if change.outline == Outline::default()
                && matches!(change.state, Some(PlanState::Paused | PlanState::Cancelled) | None) =>
        {
            Meaning::Passes
        }
        PlanStep::Create(_) | PlanStep::Change(_) => Meaning::Begins,
    }
}

impl Stop {
    /// Whether the agent may end the step at which it works. A park is the agent's own word, and while its work is being ended it hands in
    /// what it has; a pause ends its turn.
    pub fn lets_finish(&self) -> bool {
        self.suspension.kind != Kind::Paused || self.stage < Stage::Suspended && !self.breaks_off()
    }

    /// Whether it breaks the turn of the agent off.
    fn breaks_off(&self) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.mode == Some(Mode::InterruptImmediate))
    }
}
