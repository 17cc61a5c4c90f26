//! The drafts of answers that people share.
//!
//! Guarantee: a draft is there when its question ends, or is refused; two authors keep a draft each. Mechanism: saving holds the intent, as
//! the end of its question does, and the row of the question says whether there are drafts. Failure: the later one of two drafts of the same
//! author is kept.

use domain::asking::drafting::too_many;
use domain::base::ids::SuspensionId;
use domain::intent::refusal::has_ended;
use domain::people::answerer::answers_for;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::Resolution;
use domain::suspension::draft::{DRAFTS_MAX, Draft, DraftValues};
use domain::suspension::hands::Hands;

use super::hands::hold as hold_people;
use crate::drafts::{permitted, standing, stands};
use crate::error::Wanted;
use crate::reads::{hold, in_portfolios};
use crate::rows::prelude::*;
use crate::rows::{Decided, DraftRow, RowsError, RowsResult, SuspensionRow};
use crate::surroundings::Env;

/// Saves the draft of the caller's person, in place of the one before; an empty one takes that back. Returns the drafts of the question.
pub(crate) fn save<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    id: SuspensionId,
    values: &Wanted<DraftValues>,
) -> Decided<Vec<Draft>> {
    let Some(found) = rows.reads().suspension(id)? else { return Ok(Err(Rejection::NotFound)) };
    let intent = rows.reads().intent_at(found.intent)?;
    // The question is read once more: it may have ended before this transaction held its intent.
    let row = rows.reads().suspension(id)?.ok_or(RowsError::Inconsistent("a question that was there is gone"))?;
    let row = in_portfolios(rows.reads(), row)?;
    let question = rows.reads().question(&row)?;
    let groups = question.assignees.as_ref().map(|assignees| assignees.groups.clone()).unwrap_or_default();
    let people = row.suspension.hands.holders().into_iter().chain(answers_for(principal, None)).collect();
    hold_people(rows, people, &groups)?;
    let now = env.clock.now();
    let person = match permitted(rows.reads(), principal, Action::SaveDraft, (&intent, &row, &question), now)? {
        Ok(person) => person,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let values = match values {
        Ok(values) => values,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    if let Some(rejection) = has_ended(&row.suspension) {
        return Ok(Err(rejection));
    }
    if row.suspension.is_expired(now) {
        let expired_at = row.suspension.ends_at();
        return hold(rows.reads(), env.watch)?
            .map_or(Ok(Err(Rejection::Expired { expired_at })), |hold| Err(RowsError::Held(hold.why())));
    }
    let others = rows.reads().drafts(row.rid)?.into_iter().filter(|draft| draft.person != person).count();
    if values.is_empty() {
        rows.delete_draft(row.rid, &person)?;
    } else if others >= DRAFTS_MAX {
        return Ok(Err(Rejection::Invalid { errors: vec![too_many()] }));
    } else {
        rows.save_draft(row.rid, &DraftRow { person, texts: serde_json::to_vec(values)?, saved_at: now })?;
    }
    let row = marked(rows, row, others > 0 || !values.is_empty())?;
    Ok(Ok(standing(rows.reads(), &row, &question)?))
}

/// The row of an open question, which says from now on whether there are drafts.
fn marked<R: Rows>(rows: &mut R, mut row: SuspensionRow, has_drafts: bool) -> RowsResult<SuspensionRow> {
    if row.suspension.hands.has_drafts != has_drafts {
        row.suspension.hands.has_drafts = has_drafts;
        rows.save_hands(row.rid, &row.suspension.hands)?;
    }
    Ok(row)
}

/// Deletes the draft of a person whose answer counts now: the answer says more.
pub(super) fn discard<R: Rows>(rows: &mut R, row: &SuspensionRow, person: &str) -> RowsResult<()> {
    if row.suspension.hands.has_drafts { rows.delete_draft(row.rid, person) } else { Ok(()) }
}

/// The hands of a question that has ended, which say whether drafts are left: none after an answer, and otherwise those of people who could
/// still answer.
pub(super) fn end<R: Rows>(rows: &mut R, row: &SuspensionRow, resolution: Resolution) -> RowsResult<Hands> {
    if !row.suspension.hands.has_drafts {
        return Ok(Hands::default());
    }
    if resolution == Resolution::Responded {
        rows.delete_drafts(row.rid)?;
        return Ok(Hands::default());
    }
    let question = rows.reads().question(row)?;
    let mut has_drafts = false;
    for draft in rows.reads().drafts(row.rid)? {
        if stands(rows.reads(), row, &question, &draft)? {
            has_drafts = true;
        } else {
            rows.delete_draft(row.rid, &draft.person)?;
        }
    }
    Ok(Hands { has_drafts, ..Hands::default() })
}
