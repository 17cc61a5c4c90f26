//! Erases what is kept no longer: the content of intents that ended long ago.
//!
//! Guarantee: nothing is erased that is younger than the operator's limit, that a legal hold covers, or that is needed. Mechanism: pages of
//! intents in the order of their rows, each in one transaction that erases at most one part of one intent, by the one way to erase. Failure: a
//! server that stops goes on with the first intent; intents that are erased already are passed over.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::name::SERVER;

use super::redact::{self, Eraser};
use crate::reads::hold;
use crate::rows::prelude::*;
use crate::rows::{IntentRow, RowsResult};
use crate::surroundings::Env;

/// The row ids of one page.
const ROWS_PER_UNIT: i64 = 200;
/// The legal basis in the server's log.
const RETENTION: &str = "retention";

/// How far a pass over all intents has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// The row behind which the next page begins; absent at the end of the pass.
    pub next: Option<i64>,
    /// How many events this transaction erased.
    pub events: u64,
}

/// Looks at the intents behind the row `after`, and erases the next part of the first that ended before the limit. While deadlines are held
/// back nothing is erased, because the clock may have jumped ahead.
pub(crate) fn retain<R: Rows>(rows: &mut R, env: &Env<'_>, after: i64, kept: TimeDelta) -> RowsResult<Retained> {
    if hold(rows.reads(), env.watch)?.is_some() {
        return Ok(Retained::default());
    }
    let before = env.clock.now() - kept;
    let up_to = after.saturating_add(ROWS_PER_UNIT);
    for rid in rows.reads().ended_in(after, up_to, before)? {
        let row = rows.reads().intent_at(rid)?;
        if !is_due(rows, &row, before)? {
            continue;
        }
        let eraser = Eraser { actor: SERVER, credential: None, legal_basis: RETENTION };
        // A refusal means that the content is needed, or on hold; a later pass looks again.
        if let Ok(redacted) = redact::erase(rows, env, &row, &eraser)?
            && redacted.events > 0
        {
            return Ok(Retained { next: Some(if redacted.more { rid - 1 } else { rid }), events: redacted.events });
        }
    }
    let next = (up_to < rows.reads().newest_intent()?).then_some(up_to);
    Ok(Retained { next, events: 0 })
}

/// Whether the last event of the intent is old enough.
fn is_due<R: Rows>(rows: &mut R, row: &IntentRow, before: DateTime<Utc>) -> RowsResult<bool> {
    Ok(row.last_sequence > 0 && rows.reads().event_link(row.last_event)?.created_at < before)
}
