//! Keeps the inboxes of people: the places of each open question, and the questions that a person has answered.
//!
//! Guarantee: a question stands at its places from the commit that asks it to the commit that ends it. Mechanism: the rows are written
//! with the events that imply them. Failure: a program of an earlier version, which does not know these rows, leaves the places of the
//! questions that it ends; a list passes over questions that have ended.

use domain::base::ids::SuspensionId;
use domain::intent::event::{AnswerCounted, AnswerTakenBack, Event, Resumed};
use domain::intent::hands::HandsEvent;
use domain::people::principal::Role;
use domain::suspension::place::Place;
use domain::suspension::{Question, Suspension};

use super::loaded::Loaded;
use crate::inbox_columns::NO_DEADLINE;
use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult};

/// Puts a question into the inboxes of the people who are told of it, or to whom it is assigned.
pub(super) fn put<R: Rows>(
    rows: &mut R,
    rid: i64,
    suspension: &Suspension,
    question: &Question,
    told: &[String],
) -> RowsResult<()> {
    rows.put_in_inbox(rid, suspension.expires_at.unwrap_or(NO_DEADLINE), &question.places(told), question.separation.is_some())
}

/// Puts an open question into the inboxes of further people who are told of it.
pub(super) fn put_further<R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    id: SuspensionId,
    question: &Question,
    told: &[String],
) -> RowsResult<()> {
    let suspension = loaded.intent.suspension(id).ok_or(RowsError::Inconsistent("people are told of no question"))?;
    put(rows, loaded.suspension_row(id)?.rid, suspension, question, told)
}

/// Moves an open question that is in other hands to the inboxes of the people who have it now.
pub(super) fn hand<R: Rows>(
    rows: &mut R,
    rid: i64,
    suspension: &Suspension,
    question: &Question,
    change: &HandsEvent,
) -> RowsResult<()> {
    let (due_at, keeps_owner) = (suspension.expires_at.unwrap_or(NO_DEADLINE), question.separation.is_some());
    match change {
        HandsEvent::Claimed(_) | HandsEvent::Released(_) => Ok(()),
        // The person who has handed the place on stays where the question stands by a group or a role: the lists leave that person out.
        HandsEvent::Delegated(delegated) => rows.put_in_inbox(rid, due_at, &[Place::Person(delegated.to.clone())], keeps_owner),
        HandsEvent::Reassigned(_) => {
            rows.take_from_inbox(rid)?;
            rows.put_in_inbox(rid, due_at, &question.places(&[]), keeps_owner)
        }
    }
}

/// Takes a question that an event has ended out of all inboxes, and notes which people answered it.
pub(super) fn end<R: Rows>(rows: &mut R, rid: i64, event: &Event) -> RowsResult<()> {
    rows.take_from_inbox(rid)?;
    if let Event::Resumed(resumed) = event {
        for person in answerers(resumed) {
            rows.insert_answered(&person, rid)?;
        }
    }
    Ok(())
}

/// The addresses of the people who answered. An answer of a gateway alone names a person by the gateway's word, and shows in no list
/// of that person.
fn answerers(resumed: &Resumed) -> Vec<String> {
    if !resumed.agreed.is_empty() {
        return resumed.agreed.iter().map(|agreed| agreed.person.to_lowercase()).collect();
    }
    let by = resumed.ending.by.iter().filter(|by| resumed.role != Role::Channel && by.contains('@'));
    by.map(|by| by.to_lowercase()).collect()
}

/// Notes that a person has given an answer that counts.
pub(super) fn count<R: Rows>(rows: &mut R, rid: i64, counted: &AnswerCounted) -> RowsResult<()> {
    // Whose approval is cleared has not answered the question as it stands.
    for person in &counted.clears {
        rows.delete_answered(person, rid)?;
    }
    rows.insert_answered(&counted.person, rid)
}

/// Notes that a person has taken the answer back.
pub(super) fn discount<R: Rows>(rows: &mut R, rid: i64, taken: &AnswerTakenBack) -> RowsResult<()> {
    rows.delete_answered(&taken.person, rid)
}
