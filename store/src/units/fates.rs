//! The rows of errands, which follow from events.

use domain::intent::fate::Fate;
use domain::suspension::Question;

use super::loaded::Loaded;
use crate::rows::prelude::*;
use crate::rows::{ErrandRow, RowsResult};

/// Writes the row of an errand that this question begins.
pub(super) fn begin<R: Rows>(rows: &mut R, loaded: &Loaded, question: &Question) -> RowsResult<()> {
    let Some(errand) = &question.errand else { return Ok(()) };
    let Loaded { row, intent, .. } = loaded;
    rows.insert_errand(&ErrandRow {
        intent: row.rid,
        asker: intent.created_by.name.clone(),
        context_id: errand.context_id.clone(),
        fate: Fate::Open,
        changed_at: intent.updated_at,
    })
}

/// Moves an errand whose intent has ended.
pub(super) fn follow<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<()> {
    let intent = &loaded.intent;
    if !intent.is_errand || !intent.status.is_final() {
        return Ok(());
    }
    rows.move_errand(loaded.row.rid, Fate::of(intent.status, intent.ended.last()), intent.updated_at)
}
