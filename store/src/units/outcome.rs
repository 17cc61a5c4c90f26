//! The outcome of a command, as its caller sees it.

use chrono::{DateTime, Utc};
use domain::intent::command::Command;
use domain::intent::event::Event;
use domain::log::Sealed;
use domain::problem::Rejection;
use domain::suspension::Suspension;
use domain::wire::{RespondResponse, SuspensionRecord};
use serde::{Deserialize, Serialize};

use super::loaded::Loaded;
use crate::Outcome;
use crate::request::Idempotency;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsError, RowsResult};

/// The outcome of an accepted command, as its caller sees it.
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
            Some(Event::Resumed(resumed)) => {
                let ended = loaded.intent.suspension(resumed.suspension_id);
                responded(ended.ok_or(RowsError::Inconsistent("an answer ended nothing"))?, loaded.intent.version)
            }
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
        Command::Append(_) | Command::Record(_) => {
            let appended = last.ok_or(RowsError::Inconsistent("an append without its event"))?;
            Ok(Outcome::Event(appended.served()))
        }
        Command::Assign(assigned) => {
            let rid = rows.reads().assigning_event(loaded.row.rid, &assigned.agent_id)?;
            let rid = rid.ok_or(RowsError::Inconsistent("an agent was assigned without an event"))?;
            Ok(Outcome::Event(rows.reads().event(rid)?.served()))
        }
        Command::Unassign { .. } => {
            let unassigned = last.ok_or(RowsError::Inconsistent("an agent was taken off without an event"))?;
            Ok(Outcome::Event(unassigned.served()))
        }
        Command::PatchState { .. }
        | Command::SetStatus { .. }
        | Command::DeadlineReached { .. }
        | Command::AttemptDue { .. }
        | Command::RecordDelivery(_)
        | Command::Redrive(_) => Ok(Outcome::Intent(Box::new(crate::reads::intent_view(rows.reads(), &loaded.row)?))),
    }
}

/// The response to an accepted answer. The ending fixes all of it but the intent's version.
fn responded(ended: &Suspension, version: u32) -> RowsResult<Outcome> {
    let ending = ended.ending.as_ref().ok_or(RowsError::Inconsistent("an answer left its suspension open"))?;
    let value = ending.response.clone().unwrap_or_default();
    let choice = ended.choice(&value);
    let response = RespondResponse {
        intent_id: ended.intent_id,
        suspension_id: ended.id,
        resolution: ending.resolution,
        choice_label: choice.map(|choice| choice.label.clone()),
        choice_description: choice.and_then(|choice| choice.description.clone()),
        responded_by: ending.by.clone().unwrap_or_default(),
        responded_at: ending.at,
        value,
    };
    Ok(Outcome::Responded { response: Box::new(response), version })
}

/// The value stored under an idempotency key. Keys are random, so each row is written to a page of its own: the smaller the rows
/// are, the fewer pages there are, and the sooner two rows share one.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    /// An accepted answer: the row of the suspension it ended, and the version of the intent after it. The row holds the rest.
    Answered(i64, u32),
    #[serde(untagged)]
    Whole(Outcome),
}

/// The form in which an outcome is stored under its key.
pub(super) fn kept(loaded: &Loaded, outcome: &Outcome) -> RowsResult<String> {
    Ok(match outcome {
        Outcome::Responded { response, version } => {
            serde_json::to_string(&Kept::Answered(loaded.suspension_row(response.suspension_id)?.rid, *version))?
        }
        whole @ (Outcome::Intent(_) | Outcome::Suspension { .. } | Outcome::Event(_) | Outcome::Lease(_)) => {
            serde_json::to_string(whole)?
        }
    })
}

/// The outcome that was stored in this form.
pub(super) fn recalled<R: Rows>(rows: &mut R, kept: &str) -> RowsResult<Outcome> {
    match serde_json::from_str(kept)? {
        Kept::Answered(suspension, version) => responded(&rows.reads().suspension_at(suspension)?.suspension, version),
        Kept::Whole(outcome) => Ok(outcome),
    }
}

/// The outcome that an earlier write with this key stored.
pub(super) fn kept_under<R: Rows>(rows: &mut R, key: Idempotency, now: DateTime<Utc>) -> Decided<Option<String>> {
    let Some((body_hash, outcome)) = rows.reads().idempotent(&key.key_hash, now)? else { return Ok(Ok(None)) };
    if body_hash != key.body_hash {
        return Ok(Err(Rejection::IdempotencyMismatch));
    }
    Ok(Ok(Some(outcome)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that an older program stored under a key counts for its day: a repeated request must neither act again nor fail.
    #[test]
    fn what_is_kept_is_read_in_the_old_form_and_the_new() {
        let response = r#"{"intent_id":"01a20114-994c-7e8e-b24b-975054fd6315","suspension_id":"01a20114-a165-7f85-b76e-9324e67a4166",
            "resolution":"responded","value":"approve","choice_label":"Approve","responded_by":"ada","responded_at":"2026-11-22T02:27:38.984569"}"#;
        let old = format!(r#"{{"responded":{{"response":{response},"version":3}}}}"#);
        let Kept::Whole(outcome @ Outcome::Responded { version: 3, .. }) = serde_json::from_str(&old).unwrap() else {
            panic!("the old form is not read")
        };
        assert_eq!(serde_json::to_string(&Kept::Whole(outcome.clone())).unwrap(), serde_json::to_string(&outcome).unwrap());
        let new = serde_json::to_string(&Kept::Answered(7, 3)).unwrap();
        assert_eq!(new, r#"{"answered":[7,3]}"#);
        assert!(matches!(serde_json::from_str(&new).unwrap(), Kept::Answered(7, 3)));
    }
}
