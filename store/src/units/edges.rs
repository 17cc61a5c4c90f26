//! The rows that an intent's events about its dependencies imply.

use domain::base::ids::IntentId;

use super::loaded::Loaded;
use crate::rows::prelude::*;
use crate::rows::{EdgeKind, EdgeRow, RowsError, RowsResult};

/// Writes the rows that an added dependency implies.
pub(super) fn added<R: Rows>(rows: &mut R, loaded: &Loaded, dependency: IntentId, is_met: bool) -> RowsResult<()> {
    let needed = row_of(rows, loaded, dependency)?;
    rows.insert_edge(EdgeRow { needer: loaded.row.rid, kind: EdgeKind::Dependency, needed }, is_met)?;
    let mut depends_on = rows.reads().depends_on(loaded.row.rid)?;
    if !depends_on.contains(&dependency) {
        depends_on.push(dependency);
    }
    rows.update_depends_on(loaded.row.rid, &depends_on)
}

/// Writes the rows that a removed dependency implies.
pub(super) fn removed<R: Rows>(rows: &mut R, loaded: &Loaded, dependency: IntentId) -> RowsResult<()> {
    let needed = row_of(rows, loaded, dependency)?;
    rows.delete_dependency(loaded.row.rid, needed)?;
    let mut depends_on = rows.reads().depends_on(loaded.row.rid)?;
    depends_on.retain(|id| *id != dependency);
    rows.update_depends_on(loaded.row.rid, &depends_on)
}

/// Writes the row that a dependency which was completed implies.
pub(super) fn met<R: Rows>(rows: &mut R, loaded: &Loaded, dependency: IntentId) -> RowsResult<()> {
    let needed = row_of(rows, loaded, dependency)?;
    rows.meet_dependency(loaded.row.rid, needed)
}

/// The row of a dependency that an event names.
fn row_of<R: Rows>(rows: &mut R, loaded: &Loaded, dependency: IntentId) -> RowsResult<i64> {
    if let Some(rid) = loaded.upstream {
        return Ok(rid);
    }
    let row = rows.reads().intent(dependency)?;
    row.map(|row| row.rid).ok_or(RowsError::Inconsistent("an event names a dependency that does not exist"))
}
