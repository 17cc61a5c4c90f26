//! What the answers of a group will ask for, read in the trip that locks their intents.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use diesel::Queryable;
use diesel_async::async_connection_wrapper::BlockOn;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use domain::base::ids::IntentId;
use futures_util::try_join;
use uuid::Uuid;

use super::columns::{IntentColumns, OutboxColumns, SuspensionColumns};
use super::reads::{IDEMPOTENCY_HOURS, lock_of};
use super::session::Session;
use super::statements as hot;
use crate::store::codes::DeliveryState;
use crate::store::rows::{IntentRow, OutboxRow, RowsResult, SuspensionRow};
use crate::store::unit::day;

/// Rows under locks, each given out once: whoever reads a row again may have written it.
#[derive(Default)]
pub(super) struct Ahead {
    intents: HashMap<Uuid, IntentRow>,
    suspensions: HashMap<i64, SuspensionRow>,
    messages: HashMap<i64, Vec<(OutboxRow, DeliveryState)>>,
    /// Whether this transaction has taken a queued message; of those in `messages`.
    taken: HashMap<i64, bool>,
    outcomes: HashMap<Vec<u8>, Vec<OutcomeColumns>>,
    /// What the keys are locked by that nobody else uses.
    keys: HashSet<i32>,
    /// The day around which outcomes were looked for.
    day: i32,
}

/// What is kept of the answers of a group that have a key.
#[derive(Queryable)]
struct OutcomeColumns {
    day: i32,
    key_hash: Vec<u8>,
    body_hash: Vec<u8>,
    outcome: String,
    created_at: DateTime<Utc>,
}

/// What the answers of a group are about.
pub(super) struct About {
    pub(super) intents: HashSet<Uuid>,
    /// The hashes of their idempotency keys, of those that have one.
    pub(super) keys: HashSet<[u8; 32]>,
}

impl Ahead {
    pub(super) fn has(&self, id: IntentId) -> bool {
        self.intents.contains_key(&id.0)
    }

    /// Whether nobody else uses a key until this transaction ends.
    pub(super) fn has_key(&self, key_hash: &[u8; 32]) -> bool {
        self.keys.contains(&lock_of(key_hash))
    }

    pub(super) fn intent(&mut self, id: IntentId) -> Option<IntentRow> {
        self.intents.remove(&id.0)
    }

    pub(super) fn suspension(&mut self, rid: i64) -> Option<SuspensionRow> {
        self.suspensions.remove(&rid)
    }

    /// All messages about a suspension, oldest first.
    pub(super) fn messages(&mut self, suspension: i64) -> Option<Vec<(OutboxRow, DeliveryState)>> {
        self.messages.remove(&suspension)
    }

    /// Whether a message is this transaction's, if that has been tried.
    pub(super) fn is_taken(&mut self, rid: i64) -> Option<bool> {
        self.taken.remove(&rid)
    }

    /// The outcomes kept for a key, newest first, with the hashes of their bodies, if they have been looked for around this day.
    pub(super) fn outcomes(&mut self, key_hash: &[u8], now: DateTime<Utc>) -> Option<Vec<(Vec<u8>, String)>> {
        let mut kept = self.outcomes.remove(key_hash).filter(|_| self.day == day(now))?;
        let since = now - TimeDelta::hours(IDEMPOTENCY_HOURS);
        kept.retain(|kept| kept.created_at > since);
        kept.sort_unstable_by_key(|kept| std::cmp::Reverse(kept.day));
        Some(kept.into_iter().map(|kept| (kept.body_hash, kept.outcome)).collect())
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn fill(&mut self, open: Vec<(SuspensionColumns, Uuid)>, taken: Vec<i64>, messages: Vec<OutboxColumns>) -> RowsResult<()> {
        for (columns, intent) in open {
            let row = columns.into_row(intent)?;
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

impl Session {
    /// Begins a transaction that writes, locks those of the intents and keys that nobody else holds, and reads the intents' open
    /// suspensions with the messages about them, in one trip to the database; returns the transaction's number.
    ///
    /// Each is a statement of its own, so what is read behind the locks is as whoever held them before has left it; likewise the time.
    pub(super) fn begin_ahead(&mut self, about: About) -> RowsResult<String> {
        let About { intents, keys } = about;
        let (intents, hashes) = (Vec::from_iter(intents), keys.iter().map(lock_of).collect());
        let keys: Vec<_> = keys.into_iter().map(Vec::from).collect();
        let today = day(self.time.expected());
        let conn: &AsyncPgConnection = &self.conn;
        let [mut first, mut second, mut third, mut fourth, mut fifth, mut sixth, mut seventh, mut eighth] = [conn; 8];
        let ids = || intents.clone();
        let begun = async {
            let opened = first.batch_execute("BEGIN");
            let locked = RunQueryDsl::load::<IntentColumns>(hot::LockIntents { ids: ids() }, &mut second);
            let asked = RunQueryDsl::get_result::<(DateTime<Utc>, String)>(hot::Begin, &mut third);
            let open = RunQueryDsl::load::<(SuspensionColumns, Uuid)>(hot::SelectOpen { ids: ids() }, &mut fourth);
            let taken = RunQueryDsl::load::<i64>(hot::LockMessages { ids: ids() }, &mut fifth);
            let messages = RunQueryDsl::load::<OutboxColumns>(hot::SelectMessages { ids: ids() }, &mut sixth);
            let outcomes = async {
                if keys.is_empty() {
                    return Ok((Vec::new(), Vec::new()));
                }
                let kept = hot::SelectOutcomes { keys: keys.clone(), days: vec![today + 1, today, today - 1] };
                let locked = RunQueryDsl::load::<i32>(hot::LockKeys { hashes }, &mut seventh);
                try_join!(locked, RunQueryDsl::load::<OutcomeColumns>(kept, &mut eighth))
            };
            // The first one polled is the first one sent.
            try_join!(opened, locked, asked, open, taken, messages, outcomes)
        };
        let ((), locked, (time, number), open, taken, messages, (ours, outcomes)) = self.pump.block_on(begun)?;
        self.time.saw(time);
        for columns in locked {
            let row = columns.into_row()?;
            self.locked.push(row.rid);
            self.ahead.intents.insert(row.intent.id.0, row);
        }
        self.ahead.fill(open, taken, messages)?;
        self.ahead.keys = ours.into_iter().collect();
        self.ahead.day = today;
        self.ahead.outcomes = keys.into_iter().map(|key| (key, Vec::new())).collect();
        for kept in outcomes {
            self.ahead.outcomes.entry(kept.key_hash.clone()).or_default().push(kept);
        }
        Ok(number)
    }
}
