//! Reads of the drafts of answers that people share.
//!
//! Guarantee: while a question is open, only a person who may answer it reads the drafts, or an auditor; the agent that asked reads them once
//! it has ended without an answer. Mechanism: one function asks [`authorize`] with the demands of the question, for reading and for saving.
//! Failure: a draft whose author may not answer any more is shown to no one, and is gone when the question ends.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::intent::refusal::has_ended;
use domain::people::answerer::answers_for;
use domain::people::authority::{Action, Demands, Object, Ownership, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::Question;
use domain::suspension::draft::Draft;

use crate::assigning::{Met, answerer, holders, may_answer, owns};
use crate::reads::{handed, in_force, is_at_home};
use crate::rows::prelude::*;
use crate::rows::{Decided, DraftRow, IntentRow, RowsResult, SuspensionRow};

/// The address of the person for whom `principal` saves or reads drafts, if `principal` may do so.
pub(crate) fn permitted<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    action: Action,
    (intent, row, question): (&IntentRow, &SuspensionRow, &Question),
    now: DateTime<Utc>,
) -> Decided<String> {
    let address = answers_for(principal, None).unwrap_or_default();
    let asked_by = &row.suspension.asked_by;
    let keeps_owner = row.suspension.quorum.is_some() || question.separation.is_some();
    let is_own = keeps_owner && owns(rows, &[asked_by, &intent.intent.created_by], &address)?;
    let listed = question.assignees.as_ref().map(|_| answerer(rows, &address)).transpose()?.flatten();
    let hands = &row.suspension.hands;
    let demands = Demands {
        assurance: question.required_assurance,
        assignees: question.assignees.as_ref(),
        answerer: listed.as_ref(),
        ownership: if is_own { Ownership::Own } else { Ownership::Free },
        hands: Some(hands),
        holders: &holders(rows, &mut Met::default(), hands)?,
    };
    let handed_for = &handed(rows, principal, Some(row.rid))?;
    let (mut assigned, mut entries) = (Vec::new(), Vec::new());
    if !is_at_home(principal, &intent.intent) {
        assigned = rows.assigned(intent.rid)?;
        entries = in_force(rows, intent, now)?;
    }
    let (created_by, assigned, entries) = (&intent.intent.created_by, &assigned, &entries);
    let object = Object::Intent { created_by, asked_by: Some(asked_by), assigned, entries, handed_for, demands };
    Ok(authorize(principal, action, object).map(|()| address))
}

/// Whether the author of a draft may still answer. A person who was listed after the draft was saved is another one with the same address.
pub(crate) fn stands<R: ReadRows>(rows: &mut R, row: &SuspensionRow, question: &Question, draft: &DraftRow) -> RowsResult<bool> {
    if rows.person_called(&draft.person)?.is_some_and(|person| person.added_at > draft.saved_at) {
        return Ok(false);
    }
    may_answer(rows, row, question, &draft.person)
}

/// The drafts of an open question whose authors may still answer, oldest first.
pub(crate) fn standing<R: ReadRows>(rows: &mut R, row: &SuspensionRow, question: &Question) -> RowsResult<Vec<Draft>> {
    let mut drafts = Vec::new();
    // Most questions have no drafts, and their rows say so.
    let saved = if row.suspension.hands.has_drafts { rows.drafts(row.rid)? } else { Vec::new() };
    for draft in saved {
        if stands(rows, row, question, &draft)? {
            drafts.push(draft.read()?);
        }
    }
    Ok(drafts)
}

/// The drafts of a question while it is open, for a caller who may answer it, or an auditor.
pub(crate) fn drafts<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: SuspensionId,
    now: DateTime<Utc>,
) -> Decided<Vec<Draft>> {
    let Some(row) = rows.suspension(id)? else { return Ok(Err(Rejection::NotFound)) };
    let intent = rows.intent_at(row.intent)?;
    let question = rows.question(&row)?;
    if let Err(rejection) = permitted(rows, principal, Action::ReadDrafts, (&intent, &row, &question), now)? {
        return Ok(Err(rejection));
    }
    // What was left at an end without an answer is in the record.
    let is_open = has_ended(&row.suspension).is_none();
    Ok(Ok(if is_open { standing(rows, &row, &question)? } else { Vec::new() }))
}
