//! The documents that agents handed in when the work on the children of an intent was ended.

use domain::base::json;
use domain::wire::ChildHandoff;

use crate::rows::prelude::*;
use crate::rows::{EdgeKind, RowsResult};
use crate::stopped::stop_of;

/// The most children whose documents are in one record.
const CHILDREN_MAX: u32 = 100;
/// The most generations of children in it.
const GENERATIONS_MAX: u32 = 8;
/// The most bytes of documents in it.
const BYTES_MAX: usize = 1024 * 1024;

/// The children of an intent whose work was ended, with what their agents handed in, and the same of their own children.
pub(crate) fn below<R: ReadRows>(rows: &mut R, intent: i64) -> RowsResult<Vec<ChildHandoff>> {
    Room { children: CHILDREN_MAX, bytes: BYTES_MAX }.below(rows, intent, GENERATIONS_MAX)
}

/// The room that is left in a record.
struct Room {
    children: u32,
    bytes: usize,
}

impl Room {
    fn below<R: ReadRows>(&mut self, rows: &mut R, intent: i64, generations: u32) -> RowsResult<Vec<ChildHandoff>> {
        let mut found = Vec::new();
        if generations == 0 || self.children == 0 {
            return Ok(found);
        }
        for edge in rows.needs_of(&[intent], Some(EdgeKind::Child), self.children)? {
            let Some(rid) = rows.newest_ending(edge.needs)? else { continue };
            let row = rows.suspension_at(rid)?;
            if row.suspension.ending.is_none() || self.children == 0 {
                continue;
            }
            self.children -= 1;
            let handed_in = stop_of(rows, &row)?.gone.and_then(|gone| gone.handoff);
            let size = handed_in.as_ref().map_or(0, json::size);
            let handoff = handed_in.filter(|_| size <= self.bytes);
            let left_out = handoff.is_none() && size > 0;
            self.bytes -= if left_out { 0 } else { size };
            let children = self.below(rows, edge.needs, generations - 1)?;
            let (intent_id, suspension_id) = (row.suspension.intent_id, row.suspension.id);
            found.push(ChildHandoff { intent_id, suspension_id, handoff, left_out, children });
        }
        Ok(found)
    }
}
