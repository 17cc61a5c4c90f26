//! The history of one question so far, for the people who may read it.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::delivery::DeliveryState;

use crate::reads::may;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult, SuspensionRow};

/// How many events are looked at for the answers to one question. An agent can write any number while its question is open; answers before
/// so many events are left out.
const LOOKED_AT_MAX: u32 = 1_000;

/// A message about a question, as far as its people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The attempt to which it belongs, from 1.
    pub attempt: u32,
    pub recipient: String,
    pub state: DeliveryState,
    /// When it was sent, or failed; before that, when it was queued.
    pub at: DateTime<Utc>,
}

/// An answer that counted while more people had to agree, or that a person took back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedOnce {
    pub person: String,
    pub at: DateTime<Utc>,
    /// The other person in whose place it was given, if it was.
    pub in_place_of: Option<String>,
    pub is_taken_back: bool,
}

/// The history of one question so far, beside the question itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The messages, oldest first.
    pub told: Vec<Told>,
    /// The people whose pages showed the question, each with the first time.
    pub seen: Vec<(String, DateTime<Utc>)>,
    /// The answers that did not end the question, oldest first.
    pub counted: Vec<CountedOnce>,
}

/// The history of a question for a person who logged in, and who may read the intent.
pub(crate) fn history<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: SuspensionId,
    now: DateTime<Utc>,
) -> Decided<History> {
    let row = if principal.session_id().is_some() { rows.suspension(id)? } else { None };
    let Some(row) = row else { return Ok(Err(Rejection::NotFound)) };
    let intent = rows.intent_at(row.intent)?;
    if let Err(rejection) = may(rows, principal, Action::Read, &intent, Some(row.rid), now)? {
        return Ok(Err(rejection));
    }
    let told = rows.deliveries(row.rid)?.into_iter().map(|(message, state)| Told {
        attempt: message.attempt,
        state: state.shown(&message),
        at: message.settled_at.unwrap_or(message.queued_at),
        recipient: message.recipient,
    });
    let told = told.collect();
    let seen = rows.views_in(row.rid, row.rid)?.into_iter().map(|(_, recipient, at)| (recipient, at)).collect();
    let counted = counted(rows, &row, intent.last_event)?;
    Ok(Ok(History { told, seen, counted }))
}

/// The answers that counted, and those that were taken back. They are read from the log: the rows of counted answers are deleted when an
/// answer is taken back, and when the question ends.
fn counted<R: ReadRows>(rows: &mut R, row: &SuspensionRow, newest: i64) -> RowsResult<Vec<CountedOnce>> {
    #[derive(serde::Deserialize)]
    struct Event {
        payload: Answer,
    }
    #[derive(serde::Deserialize)]
    struct Answer {
        suspension_id: SuspensionId,
        person: String,
        in_place_of: Option<String>,
    }
    let mut counted = Vec::new();
    if row.suspension.quorum.is_none() {
        return Ok(counted);
    }
    let mut next = Some(row.ending_event.unwrap_or(newest));
    for _ in 0..LOOKED_AT_MAX {
        let Some(rid) = next.filter(|rid| *rid != row.event) else { break };
        let link = rows.event_link(rid)?;
        next = link.previous;
        let is_taken_back = match link.event_type.as_str() {
            "intent.answer_counted" => false,
            "intent.answer_taken_back" => true,
            _ => continue,
        };
        let event = rows.event(rid)?;
        if event.is_erased() {
            continue;
        }
        let Event { payload: Answer { suspension_id, person, in_place_of } } = serde_json::from_slice(&event.bytes)?;
        if suspension_id == row.suspension.id {
            counted.push(CountedOnce { person, at: link.created_at, in_place_of, is_taken_back });
        }
    }
    counted.reverse();
    Ok(counted)
}
