//! The erasures that the server's log records.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::log::Sealed;
use domain::people::event::{PAYLOAD_REDACTED, PayloadRedacted};

use crate::rows::prelude::*;
use crate::rows::{Place, RedactionRow, RowsResult, Source};

/// The erasure that covers an event.
pub(crate) fn covering(redactions: &[RedactionRow], sequence: u64) -> Option<&RedactionRow> {
    redactions.iter().find(|row| (row.first_sequence..=row.last_sequence).contains(&sequence))
}

/// Whether the server's log has the event that an erasure names, and this event names the same events.
pub(crate) fn is_recorded<R: ReadRows>(rows: &mut R, intent: IntentId, redaction: &RedactionRow) -> RowsResult<bool> {
    #[derive(serde::Deserialize)]
    struct Recorded {
        payload: PayloadRedacted,
    }
    let Some(event) = rows.server_events(redaction.server_event.saturating_sub(1), 1)?.pop() else { return Ok(false) };
    if event.sequence() != Some(redaction.server_event) || event.event_type().as_deref() != Some(PAYLOAD_REDACTED) {
        return Ok(false);
    }
    let Ok(Recorded { payload }) = serde_json::from_slice(&event.bytes) else { return Ok(false) };
    let named = (payload.intent_id, payload.first_sequence, payload.last_sequence);
    Ok(named == (intent, redaction.first_sequence, redaction.last_sequence))
}

/// An erasure of content of an intent.
#[derive(Clone, Debug)]
pub struct Erasure {
    /// The person or program.
    pub by: String,
    pub at: DateTime<Utc>,
    pub legal_basis: String,
}

/// The erasures of an intent, oldest first, as far as the server's log records them.
pub(crate) fn recorded<R: ReadRows>(rows: &mut R, (intent, rid): (IntentId, i64)) -> RowsResult<Vec<Erasure>> {
    #[derive(serde::Deserialize)]
    struct Recorded {
        actor: String,
        payload: PayloadRedacted,
    }
    let mut erasures = Vec::new();
    for redaction in rows.redactions(rid)?.into_iter().rev() {
        if !is_recorded(rows, intent, &redaction)? {
            continue;
        }
        let Some(event) = rows.server_events(redaction.server_event.saturating_sub(1), 1)?.pop() else { continue };
        let Some(at) = event.created_at().filter(|_| event.is_whole()) else { continue };
        let Ok(Recorded { actor, payload }) = serde_json::from_slice(&event.bytes) else { continue };
        erasures.push(Erasure { by: actor, at, legal_basis: payload.legal_basis });
    }
    Ok(erasures)
}

/// Finds out whether erased events can be shown in an export of the first `size` leaves.
pub(crate) struct Shown {
    size: u64,
    /// The erasures of the intents that were looked at.
    known: HashMap<IntentId, Vec<RedactionRow>>,
}

impl Shown {
    pub(crate) fn new(size: u64) -> Self {
        Self { size, known: HashMap::new() }
    }

    /// Whether the event that says so is in the export, too. True if no event says so: then someone changed the database, and the export
    /// shows that to a verifier.
    pub(crate) fn is<R: ReadRows>(&mut self, rows: &mut R, erased: &Sealed) -> RowsResult<bool> {
        #[derive(serde::Deserialize)]
        struct Named {
            intent_id: Option<IntentId>,
        }
        let named: Named = serde_json::from_slice(&erased.bytes)?;
        let (Some(id), Some(sequence)) = (named.intent_id, erased.sequence()) else { return Ok(true) };
        let known = match self.known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let found = rows.intent(id)?.map(|row| rows.redactions(row.rid)).transpose()?;
                unknown.insert(found.unwrap_or_default())
            }
        };
        let Some(covering) = covering(known, sequence) else { return Ok(true) };
        let number = i64::try_from(covering.server_event).unwrap_or(i64::MAX);
        let leaf = rows.leaf_of(Place { source: Source::Server, subject: 0, number })?;
        Ok(leaf.is_some_and(|leaf| leaf < self.size))
    }
}
