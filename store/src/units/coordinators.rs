//! The leases of coordinators: the rows that an event about one implies, and the reply to a command about one.

use domain::container::coordinator::CoordinatorBody;
use domain::container::coordinator_event::CoordinatorEvent;
use domain::wire::CoordinatorView;

use super::loaded::Loaded;
use crate::hub::Notice;
use crate::request::Outcome;
use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult};

const NOT_LOADED: RowsError = RowsError::Inconsistent("an event names a lease of a coordinator that was not loaded");

/// Writes the rows that an event about the lease of a coordinator implies.
pub(super) fn follow<R: Rows>(rows: &mut R, loaded: &Loaded, change: &CoordinatorEvent) -> RowsResult<()> {
    let newest = loaded.intent.coordinator.as_deref();
    let lease = newest.filter(|lease| lease.id == change.coordinator_id()).ok_or(NOT_LOADED)?;
    rows.notice(Notice::Timer);
    match change {
        CoordinatorEvent::Granted(granted) => {
            rows.insert_coordinator(loaded.row.rid, lease, &CoordinatorBody { metadata: granted.metadata.clone() })
        }
        CoordinatorEvent::Heartbeat(_)
        | CoordinatorEvent::Unresponsive(_)
        | CoordinatorEvent::FailedOver(_)
        | CoordinatorEvent::Ended(_)
        | CoordinatorEvent::EscalationRequired(_) => rows.update_coordinator(lease, lease.due_at()),
    }
}

/// Writes the lease after a suspension of its intent has ended: its coordinator has the time until its next heartbeat again.
pub(super) fn outlive<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<()> {
    match loaded.intent.directed_by() {
        Some(live) => {
            rows.notice(Notice::Timer);
            rows.update_coordinator(live, live.due_at())
        }
        None => Ok(()),
    }
}

/// The newest lease of the loaded intent, as it is shown. Each command about a lease is about this one.
pub(super) fn shown<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<Outcome> {
    let newest = loaded.intent.coordinator.as_deref().ok_or(NOT_LOADED)?;
    let (_, _, body) = rows.reads().coordinator(newest.id)?.ok_or(NOT_LOADED)?;
    Ok(Outcome::Coordinator(Box::new(CoordinatorView::of(loaded.intent.id, newest.clone(), body))))
}
