//! The intents that wait for a person and therefore hold up others.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use domain::container::coordinator::SuspensionPolicy;
use domain::intent::dependency::HeldUp;
use domain::intent::status::Status;

use super::loaded::Loaded;
use crate::reads::in_portfolios;
use crate::rows::prelude::*;
use crate::rows::{EdgeKind, GRAPH_AT_ONCE, IntentRow, RowsResult};

/// How many dependencies are looked at, at most, to find an intent that holds up another one.
const EDGES_SEARCHED_MAX: usize = 2_000;

/// An intent that waits for a person, that this one needs, also by way of others, and whose coordinator holds up all intents that need it.
pub(super) fn holding_up<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<Option<HeldUp>> {
    let (mut found, mut left, mut searched) = (HashSet::from([loaded.row.rid]), vec![loaded.row.rid], 0);
    while !left.is_empty() && searched < EDGES_SEARCHED_MAX {
        let part = left.split_off(left.len().saturating_sub(GRAPH_AT_ONCE));
        let limit = u32::try_from(EDGES_SEARCHED_MAX - searched).unwrap_or(u32::MAX);
        let edges = rows.reads().needs_of(&part, Some(EdgeKind::Dependency), limit)?;
        searched += edges.len();
        let needed: Vec<i64> =
            edges.into_iter().filter(|edge| !edge.is_met).map(|edge| edge.needs).filter(|rid| found.insert(*rid)).collect();
        for (row, _) in rows.reads().nodes(&needed)? {
            if holds_up(rows, &row)? {
                return held_up_by(rows, loaded, &row).map(Some);
            }
            // A completed intent does not wait, so the search does not go on below it.
            if row.intent.status != Status::Completed {
                left.push(row.rid);
            }
        }
    }
    Ok(None)
}

fn holds_up<R: Rows>(rows: &mut R, row: &IntentRow) -> RowsResult<bool> {
    if row.intent.status != Status::SuspendedAwaitingInput || !row.intent.has_tasks {
        return Ok(false);
    }
    let newest = rows.reads().newest_coordinator(row.rid)?;
    Ok(newest.is_some_and(|lease| !lease.is_over() && lease.suspension_policy == SuspensionPolicy::BlockDependents))
}

/// The refusal that names this intent, which waits for a person.
pub(super) fn held_up_by<R: Rows>(rows: &mut R, loaded: &Loaded, row: &IntentRow) -> RowsResult<HeldUp> {
    let (title, resumes_at) = (rows.reads().title(loaded.row.rid)?, resumes_at(rows, row)?);
    Ok(HeldUp { title, suspended_intent_id: row.intent.id, resumes_at })
}

/// The time at which the open question of an intent ends at the latest.
pub(super) fn resumes_at<R: Rows>(rows: &mut R, row: &IntentRow) -> RowsResult<Option<DateTime<Utc>>> {
    let Some(open) = row.open_suspension else { return Ok(None) };
    let open = rows.reads().suspension_at(open)?;
    Ok(in_portfolios(rows.reads(), open)?.suspension.ends_at())
}
