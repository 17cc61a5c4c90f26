//! The leases of coordinators that may have been silent for too long, or whose time may have passed.

use chrono::{DateTime, Utc};
use domain::base::ids::CoordinatorId;
use domain::container::coordinator::{Coordinator, CoordinatorCommand, CoordinatorStep};
use domain::intent::command::Command;

use super::act::act;
use super::loaded::{Loaded, load};
use crate::rows::RowsResult;
use crate::rows::prelude::*;
use crate::surroundings::Env;

/// Looks at the leases whose time has come, as many as one transaction may; returns how many these were.
pub(super) fn look_at_coordinators<R: Rows>(rows: &mut R, env: &Env<'_>, limit: u32, now: DateTime<Utc>) -> RowsResult<usize> {
    let due = rows.reads().due_coordinators(now, limit)?;
    for (intent, id) in &due {
        let loaded = rows.reads().intent_at(*intent).and_then(|row| load(rows, row, None));
        match loaded {
            Ok(mut loaded) => look_at(rows, env, &mut loaded, *id, now)?,
            Err(error) if error.is_unreadable() => {
                tracing::error!(coordinator.id = %id, error = %error, "the intent of a coordinator cannot be read, so it keeps its lease");
                rows.move_coordinator(*id, None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(due.len())
}

fn look_at<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, id: CoordinatorId, now: DateTime<Utc>) -> RowsResult<()> {
    let look = CoordinatorCommand { id, step: CoordinatorStep::Look };
    act(rows, env, loaded, &Command::Coordinate(Box::new(look)), now)?;
    let live = loaded.intent.directed_by().filter(|live| live.id == id);
    // While the intent waits for a person, no lease runs out, and the end of the suspension sets the time anew.
    rows.move_coordinator(id, live.and_then(Coordinator::due_at).filter(|at| *at > now))
}
