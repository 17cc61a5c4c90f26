//! Searches for intents that would wait for each other.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use domain::base::ids::IntentId;
use domain::problem::Rejection;

use crate::rows::prelude::*;
use crate::rows::{Decided, EdgeRow, GRAPH_AT_ONCE, RowsResult};

/// How many edges one search reads at most.
const EDGES_SEARCHED_MAX: usize = 20_000;

/// One side of the search: the intents that were found, each with the intent from which it was found, and the intents whose edges
/// are still to be read.
struct Side {
    found: HashMap<i64, Option<i64>>,
    left: Vec<i64>,
}

impl Side {
    fn begin(at: &[i64]) -> Self {
        Self { found: at.iter().map(|rid| (*rid, None)).collect(), left: at.to_vec() }
    }

    /// Adds the edges; returns an intent that the other side has found as well.
    fn add(&mut self, edges: impl Iterator<Item = (i64, i64)>, other: &Self) -> Option<i64> {
        for (from, to) in edges {
            if let Entry::Vacant(new) = self.found.entry(to) {
                new.insert(Some(from));
                self.left.push(to);
                if other.found.contains_key(&to) {
                    return Some(to);
                }
            }
        }
        None
    }

    /// The intents on the way from `at` back to where this side began.
    fn way(&self, at: i64) -> Vec<i64> {
        std::iter::successors(Some(at), |at| self.found.get(at).copied().flatten()).collect()
    }
}

/// The ids on the circle that would be closed if `waiting` needed these intents, from `waiting` to `waiting`; empty if no circle
/// would be closed.
///
/// The search goes down from the needed intents and up from `waiting`, each time on the side that has fewer intents left. It ends
/// at the latest when one side has none left, so it is usually short: a new intent is needed by none, and an old one seldom needs
/// many.
pub(super) fn circle<R: Rows>(rows: &mut R, waiting: i64, needed: &[i64]) -> Decided<Vec<IntentId>> {
    let (mut below, mut above) = (Side::begin(needed), Side::begin(&[waiting]));
    let mut meeting = needed.contains(&waiting).then_some(waiting);
    let mut searched = 0;
    while meeting.is_none() && !below.left.is_empty() && !above.left.is_empty() {
        let goes_down = below.left.len() <= above.left.len();
        let left = if goes_down { &mut below.left } else { &mut above.left };
        let part = left.split_off(left.len().saturating_sub(GRAPH_AT_ONCE));
        let limit = u32::try_from(EDGES_SEARCHED_MAX + 1 - searched).unwrap_or(u32::MAX);
        let edges =
            if goes_down { rows.reads().needs_of(&part, None, limit)? } else { rows.reads().needing(&part, None, limit)? };
        searched += edges.len();
        if searched > EDGES_SEARCHED_MAX {
            let message = format!(
                "cannot be checked for a circle: more than {EDGES_SEARCHED_MAX} dependencies and children would have to be \
                 searched"
            );
            return Ok(Err(Rejection::invalid("dependency_id", "count", message)));
        }
        let down = |edge: &EdgeRow| (edge.intent, edge.needs);
        let up = |edge: &EdgeRow| (edge.needs, edge.intent);
        meeting = if goes_down { below.add(edges.iter().map(down), &above) } else { above.add(edges.iter().map(up), &below) };
    }
    let Some(meeting) = meeting else { return Ok(Ok(Vec::new())) };
    let (mut rids, down) = (vec![waiting], below.way(meeting));
    rids.extend(down.into_iter().rev());
    rids.extend(above.way(meeting).into_iter().skip(1));
    Ok(Ok(ids_of(rows, &rids)?))
}

/// The ids of these rows, in the same order.
fn ids_of<R: Rows>(rows: &mut R, rids: &[i64]) -> RowsResult<Vec<IntentId>> {
    let mut ids = HashMap::new();
    for part in rids.chunks(GRAPH_AT_ONCE) {
        ids.extend(rows.reads().nodes(part)?.into_iter().map(|(row, _)| (row.rid, row.intent.id)));
    }
    Ok(rids.iter().filter_map(|rid| ids.get(rid).copied()).collect())
}
