//! Keeps the inboxes of people: the places of each open question, and the questions that a person has answered.
//!
//! Guarantee: a question stands at its places from the commit that asks it to the commit that ends it. Mechanism: the rows are written
//! with the events that imply them, and the row of the question names its places, so that its end finds them by their keys. Failure: a
//! program of an earlier version, which does not know these rows, leaves the places of the questions that it ends, and marks that are not
//! true any more; a list does not show these questions, and may count them.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::intent::event::{AnswerCounted, AnswerTakenBack, Event, Resumed};
use domain::intent::hands::HandsEvent;
use domain::log::payload::Payload;
use domain::people::principal::Role;
use domain::suspension::place::Place;
use domain::suspension::{Question, Suspension};

use super::loaded::Loaded;
use crate::inbox_columns::NO_DEADLINE;
use crate::rows::prelude::*;
use crate::rows::{PlaceMarks, RowsError, RowsResult, SuspensionRow};

/// Where a question stands when these people are told of it.
pub(super) fn places(question: &Question, told: &[String]) -> Vec<String> {
    let mut places: Vec<String> = question.places(told).iter().map(Place::to_string).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Puts a question that was just asked into the inboxes at its places.
pub(super) fn put<R: Rows>(rows: &mut R, row: &SuspensionRow, question: &Question) -> RowsResult<()> {
    rows.put_in_inbox(row.rid, due_at(&row.suspension), &row.places, marks(&row.suspension, question))
}

/// Puts an open question into the inboxes of further people who are told of it.
pub(super) fn put_further<R: Rows>(
    rows: &mut R,
    loaded: &mut Loaded,
    id: SuspensionId,
    question: &Question,
    told: &[String],
) -> RowsResult<()> {
    add(rows, loaded, id, question, places(question, told))
}

/// Moves an open question that is in other hands to the inboxes of the people who have it now.
pub(super) fn hand<R: Rows>(rows: &mut R, loaded: &mut Loaded, question: &Question, change: &HandsEvent) -> RowsResult<()> {
    let id = change.suspension_id();
    match change {
        HandsEvent::Claimed(_) | HandsEvent::Released(_) => Ok(()),
        // The person who has handed the place on stays where the question stands by a group or a role: the lists leave that person out.
        HandsEvent::Delegated(delegated) => {
            let (rid, due_at, stands_at) = stands(loaded, id)?;
            rows.mark_in_inbox(rid, due_at, stands_at)?;
            add(rows, loaded, id, question, vec![Place::Person(delegated.to.clone()).to_string()])
        }
        HandsEvent::Reassigned(_) => {
            take(rows, loaded, id)?;
            loaded.suspension_row_mut(id)?.places.clear();
            add(rows, loaded, id, question, places(question, &[]))
        }
    }
}

/// Puts an open question at these places, too.
fn add<R: Rows>(rows: &mut R, loaded: &mut Loaded, id: SuspensionId, question: &Question, places: Vec<String>) -> RowsResult<()> {
    let open = loaded.intent.suspension(id).ok_or(RowsError::Inconsistent("people are told of no question"))?;
    let (due_at, marks) = (due_at(open), marks(open, question));
    let row = loaded.suspension_row_mut(id)?;
    let new: Vec<String> = places.into_iter().filter(|place| !row.places.contains(place)).collect();
    rows.put_in_inbox(row.rid, due_at, &new, marks)?;
    row.places.extend(new);
    rows.save_places(row.rid, &row.places)
}

/// Takes a question from all its places.
fn take<R: Rows>(rows: &mut R, loaded: &Loaded, id: SuspensionId) -> RowsResult<()> {
    let (rid, due_at, stands_at) = stands(loaded, id)?;
    rows.take_from_inbox(rid, due_at, stands_at)
}

/// The row of a question, its time in the order of the deadlines, and its places.
fn stands(loaded: &Loaded, id: SuspensionId) -> RowsResult<(i64, DateTime<Utc>, &[String])> {
    let row = loaded.suspension_row(id)?;
    let suspension = loaded.intent.suspension(id).unwrap_or(&row.suspension);
    Ok((row.rid, due_at(suspension), &row.places))
}

/// The marks of a question at its places. A place that it gets later has the marks of that moment.
fn marks(suspension: &Suspension, question: &Question) -> PlaceMarks {
    let keeps_owner = question.separation.is_some();
    PlaceMarks { keeps_owner, is_plain: !keeps_owner && suspension.quorum.is_none() && suspension.hands.handed.is_empty() }
}

/// The time of a question in the order of the deadlines.
fn due_at(suspension: &Suspension) -> DateTime<Utc> {
    suspension.expires_at.unwrap_or(NO_DEADLINE)
}

/// Takes a question that an event has ended out of all inboxes, and notes which people answered it.
pub(super) fn end<R: Rows>(rows: &mut R, loaded: &Loaded, id: SuspensionId, event: &Event) -> RowsResult<()> {
    take(rows, loaded, id)?;
    if let Event::Resumed(resumed) = event {
        let rid = loaded.suspension_row(id)?.rid;
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

/// The people in whose lists an event has put a question that they have answered.
pub(super) fn answerers_in(payload: &Payload) -> Vec<String> {
    let people: Vec<&String> = if let Payload::Resumed(resumed) = payload {
        resumed.responded_by.iter().chain(resumed.agreed.iter().map(|agreed| &agreed.person)).collect()
    } else if let Payload::AnswerCounted(counted) = payload {
        vec![&counted.person]
    } else {
        Vec::new()
    };
    people.into_iter().map(|person| person.to_lowercase()).collect()
}
