//! The number of intents that wait for another one, which people see beside a question.

use std::collections::HashSet;

use domain::base::words::WAITING_COUNTED_MAX;

use crate::rows::prelude::*;
use crate::rows::{EdgeKind, RowsResult};

/// How many intents wait for this one, directly or through others, and have not ended; one more than [`WAITING_COUNTED_MAX`] if there
/// are more than that.
pub(crate) fn waiting<R: ReadRows>(rows: &mut R, root: i64) -> RowsResult<usize> {
    let limit = u32::try_from(WAITING_COUNTED_MAX + 1).unwrap_or(u32::MAX);
    let (mut seen, mut next) = (HashSet::from([root]), vec![root]);
    let mut count = 0;
    while !next.is_empty() && count <= WAITING_COUNTED_MAX {
        let edges = rows.needing(&next, Some(EdgeKind::Dependency), limit)?.into_iter().filter(|edge| !edge.is_met);
        let found: Vec<i64> = edges.map(|edge| edge.intent).filter(|rid| seen.insert(*rid)).collect();
        if found.is_empty() {
            break;
        }
        let waiting = rows.nodes(&found)?.into_iter().map(|(row, _)| row).filter(|row| !row.intent.status.is_final());
        next = waiting.map(|row| row.rid).collect();
        count += next.len();
    }
    Ok(count.min(WAITING_COUNTED_MAX + 1))
}
