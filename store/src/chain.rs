//! The chain of hashes of an intent's log, computed from its stored bytes.

use domain::log::{Follower, Sealed};

use crate::redactions::{covering, is_recorded};
use crate::rows::prelude::*;
use crate::rows::{IntentRow, RowsResult};

/// A log whose chain was computed.
pub(crate) struct Chain {
    /// How many events it has until it breaks.
    pub length: u64,
    /// How many events are erased.
    pub erased: u64,
    /// The first event that is not as it was recorded, and why. It is the one behind the last event if each event is right, and the log ends
    /// elsewhere than the intent says.
    pub broken: Option<(u64, String)>,
}

impl Chain {
    pub(crate) fn of<R: ReadRows>(rows: &mut R, row: &IntentRow, log: &[(i64, Sealed)]) -> RowsResult<Self> {
        let mut follower = Follower::default();
        let broken = log.iter().find_map(|(_, sealed)| follower.follow(sealed).err());
        let length = follower.length();
        let mut broken = broken.map(|broken| (length + 1, broken.to_string()));
        let erased: Vec<u64> =
            (1..).zip(log).filter(|(_, (_, sealed))| sealed.is_erased()).map(|(sequence, _)| sequence).collect();
        if broken.is_none()
            && let Some(sequence) = unrecorded(rows, row, &erased)?
        {
            broken = Some((sequence, format!("event {sequence} has no payload, and no event says that it was erased")));
        }
        if broken.is_none() && (length, follower.head()) != (row.last_sequence, row.last_hash) {
            // No hash covers the row, so it accuses no event that is there.
            broken = Some((length + 1, "the log does not end where the intent says".to_owned()));
        }
        Ok(Self { length, erased: erased.len() as u64, broken })
    }
}

/// The first of these erased events that no event of the server's log names.
fn unrecorded<R: ReadRows>(rows: &mut R, row: &IntentRow, erased: &[u64]) -> RowsResult<Option<u64>> {
    if erased.is_empty() {
        return Ok(None);
    }
    let mut recorded = Vec::new();
    for redaction in rows.redactions(row.rid)? {
        if is_recorded(rows, row.intent.id, &redaction)? {
            recorded.push(redaction);
        }
    }
    Ok(erased.iter().copied().find(|sequence| covering(&recorded, *sequence).is_none()))
}
