//! What the caller of a command gets to see.

use domain::command::Command;
use domain::event::Event;
use domain::log::Sealed;
use domain::wire::{RespondResponse, SuspensionRecord};

use super::Loaded;
use crate::store::Outcome;
use crate::store::rows::{ReadRows, Rows, RowsError, RowsResult};

/// What the caller gets to see.
pub(super) fn outcome<R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    command: &Command,
    events: &[Event],
    last: Option<Sealed>,
    warnings: Vec<String>,
) -> RowsResult<Outcome> {
    match command {
        Command::Suspend(suspend) => {
            let suspension = loaded.intent.open.as_ref().ok_or(RowsError::Inconsistent("a suspend left no suspension open"))?;
            let record = Box::new(SuspensionRecord { warnings, ..SuspensionRecord::of(suspension, &suspend.question) });
            Ok(Outcome::Suspension { record, version: loaded.intent.version })
        }
        Command::Respond(_) => match events.first() {
            Some(Event::Resumed(resumed)) => Ok(Outcome::Responded {
                response: Box::new(RespondResponse {
                    intent_id: loaded.intent.id,
                    suspension_id: resumed.suspension_id,
                    resolution: resumed.ending.resolution,
                    value: resumed.ending.response.clone().unwrap_or_default(),
                    choice_label: resumed.choice_label.clone(),
                    choice_description: resumed.choice_description.clone(),
                    responded_by: resumed.ending.by.clone().unwrap_or_default(),
                    responded_at: resumed.ending.at,
                }),
                version: loaded.intent.version,
            }),
            _ => Err(RowsError::Inconsistent("an accepted answer without its event")),
        },
        Command::Cancel { suspension_id, .. } | Command::Extend { suspension_id, .. } | Command::Remind { suspension_id, .. } => {
            let row = loaded.suspension_row(*suspension_id)?;
            let question = rows.reads().question(row)?;
            let suspension = loaded.intent.suspension(*suspension_id).unwrap_or(&row.suspension);
            let record = Box::new(SuspensionRecord::of(suspension, &question));
            Ok(Outcome::Suspension { version: record.version, record })
        }
        Command::AcquireLease { .. } | Command::RenewLease { .. } | Command::ReleaseLease { .. } => match events.first() {
            Some(Event::LeaseAcquired(lease) | Event::LeaseRenewed(lease) | Event::LeaseReleased(lease)) => {
                Ok(Outcome::Lease(lease.clone()))
            }
            _ => Err(RowsError::Inconsistent("a lease without its event")),
        },
        Command::Append(_) => {
            let appended = last.ok_or(RowsError::Inconsistent("an append without its event"))?;
            Ok(Outcome::Event(appended.served()))
        }
        Command::PatchState { .. }
        | Command::SetStatus { .. }
        | Command::DeadlineReached { .. }
        | Command::AttemptDue { .. }
        | Command::RecordDelivery(_)
        | Command::Redrive(_) => Ok(Outcome::Intent(Box::new(crate::store::reads::intent_view(rows.reads(), &loaded.row)?))),
    }
}
