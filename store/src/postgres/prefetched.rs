//! Rows that deciding a group of answers will need, read in the same trip that locks their intents.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use diesel::Queryable;
use domain::base::ids::IntentId;
use domain::base::sealed::Sealed;
use uuid::Uuid;

use super::key_lock::{IDEMPOTENCY_HOURS, lock_of};
use crate::columns::{OutboxColumns, SuspensionColumns};
use crate::rows::{DeliveryState, IntentRow, OutboxRow, RowsResult, SuspensionRow, day};
use crate::sql::{At, Key};

/// Rows read under locks. Each row is given out once, because its reader may change it and make this copy stale.
#[derive(Default)]
pub(super) struct Prefetched {
    pub(super) intents: HashMap<Uuid, IntentRow>,
    suspensions: HashMap<i64, SuspensionRow>,
    /// The events that asked the questions in `suspensions`, by their rows.
    pub(super) questions: HashMap<i64, Sealed>,
    messages: HashMap<i64, Vec<(OutboxRow, DeliveryState)>>,
    /// For each message in `messages`: whether this transaction has locked it. Only queued messages without a lease are locked.
    taken: HashMap<i64, bool>,
    pub(super) outcomes: HashMap<Vec<u8>, Vec<OutcomeColumns>>,
    /// The lock numbers of the idempotency keys that this transaction has locked.
    pub(super) keys: HashSet<i32>,
    /// The outcomes in `outcomes` are those of this day, the day before and the day after.
    pub(super) day: i32,
}

/// An outcome kept for an idempotency key that an answer of the group has.
#[derive(Queryable)]
pub(super) struct OutcomeColumns {
    day: i32,
    pub(super) key_hash: Vec<u8>,
    body_hash: Vec<u8>,
    outcome: String,
    created_at: At,
}

/// The intents and the idempotency keys of a group of answers.
pub(super) struct About {
    pub(super) intents: HashSet<Uuid>,
    /// The hashes of the idempotency keys, for the answers that have one.
    pub(super) keys: HashSet<[u8; 32]>,
}

impl Prefetched {
    pub(super) fn has(&self, id: IntentId) -> bool {
        self.intents.contains_key(&id.0)
    }

    /// Whether this transaction holds the lock of a key, so that no other transaction uses the key until this one ends.
    pub(super) fn has_key(&self, key_hash: &[u8; 32]) -> bool {
        self.keys.contains(&lock_of(key_hash))
    }

    pub(super) fn intent(&mut self, id: IntentId) -> Option<IntentRow> {
        self.intents.remove(&id.0)
    }

    pub(super) fn suspension(&mut self, rid: i64) -> Option<SuspensionRow> {
        self.suspensions.remove(&rid)
    }

    pub(super) fn question(&mut self, event: i64) -> Option<Sealed> {
        self.questions.remove(&event)
    }

    /// All messages about a suspension, oldest first.
    pub(super) fn messages(&mut self, suspension: i64) -> Option<Vec<(OutboxRow, DeliveryState)>> {
        self.messages.remove(&suspension)
    }

    /// Whether this transaction has locked a message; `None` if it has not tried.
    pub(super) fn is_taken(&mut self, rid: i64) -> Option<bool> {
        self.taken.remove(&rid)
    }

    /// The outcomes kept for a key, newest first, each with the hash of its request's body. `None` if the outcomes for this key
    /// were not read ahead, or were read ahead for another day.
    pub(super) fn outcomes(&mut self, key_hash: &[u8], now: DateTime<Utc>) -> Option<Vec<(Vec<u8>, String)>> {
        let mut kept = self.outcomes.remove(key_hash).filter(|_| self.day == day(now))?;
        let since = now - TimeDelta::hours(IDEMPOTENCY_HOURS);
        kept.retain(|kept| kept.created_at.0 > since);
        kept.sort_unstable_by_key(|kept| std::cmp::Reverse(kept.day));
        Some(kept.into_iter().map(|kept| (kept.body_hash, kept.outcome)).collect())
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn fill(
        &mut self,
        open: Vec<(SuspensionColumns, Key)>,
        taken: Vec<i64>,
        messages: Vec<OutboxColumns>,
    ) -> RowsResult<()> {
        for (columns, intent) in open {
            let row = columns.into_row(IntentId(intent.0))?;
            self.messages.insert(row.rid, Vec::new());
            self.suspensions.insert(row.rid, row);
        }
        let taken: HashSet<i64> = taken.into_iter().collect();
        for columns in messages {
            let (row, state) = columns.into_both()?;
            self.taken.insert(row.rid, taken.contains(&row.rid));
            if let Some(about) = self.messages.get_mut(&row.suspension) {
                about.push((row, state));
            }
        }
        for about in self.messages.values_mut() {
            about.sort_unstable_by_key(|(row, _)| row.rid);
        }
        Ok(())
    }
}
