//! The rows that an intent's events about its dependencies imply.

use domain::base::ids::IntentId;
use domain::intent::dependency::DependencyEvent;

use super::loaded::Loaded;
use crate::rows::prelude::*;
use crate::rows::{EdgeKind, EdgeRow, RowsError, RowsResult};

/// Writes the rows that a change of the intent's dependencies implies.
pub(super) fn follow<R: Rows>(rows: &mut R, loaded: &Loaded, change: &DependencyEvent) -> RowsResult<()> {
    match change {
        DependencyEvent::Added(change) => added(rows, loaded, change.dependency_id, change.completed),
        DependencyEvent::Removed(change) => removed(rows, loaded, change.dependency_id),
        DependencyEvent::Met(change) => met(rows, loaded, change.dependency_id),
    }
}

fn added<R: Rows>(rows: &mut R, loaded: &Loaded, dependency: IntentId, is_met: bool) -> RowsResult<()> {
    let needs = row_of(rows, loaded, dependency)?;
    rows.insert_edge(EdgeRow { intent: loaded.row.rid, kind: EdgeKind::Dependency, needs, is_met })?;
    let mut depends_on = rows.reads().depends_on(loaded.row.rid)?;
    // The row of a new intent is written with its whole list, so nothing is left to add.
    if depends_on.contains(&dependency) {
        return Ok(());
    }
    depends_on.push(dependency);
    rows.update_depends_on(loaded.row.rid, &depends_on)
}

fn removed<R: Rows>(rows: &mut R, loaded: &Loaded, dependency: IntentId) -> RowsResult<()> {
    let needs = row_of(rows, loaded, dependency)?;
    rows.delete_dependency(loaded.row.rid, needs)?;
    let mut depends_on = rows.reads().depends_on(loaded.row.rid)?;
    depends_on.retain(|id| *id != dependency);
    rows.update_depends_on(loaded.row.rid, &depends_on)
}

fn met<R: Rows>(rows: &mut R, loaded: &Loaded, dependency: IntentId) -> RowsResult<()> {
    let needs = row_of(rows, loaded, dependency)?;
    rows.meet_dependency(loaded.row.rid, needs)
}

/// The row of a dependency that an event names.
fn row_of<R: Rows>(rows: &mut R, loaded: &Loaded, dependency: IntentId) -> RowsResult<i64> {
    if let Some(rid) = loaded.upstream {
        return Ok(rid);
    }
    let row = rows.reads().intent(dependency)?;
    row.map(|row| row.rid).ok_or(RowsError::Inconsistent("an event names a dependency that does not exist"))
}
