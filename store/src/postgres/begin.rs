//! Begins the transaction of a group of answers, and reads in the same trip the rows that deciding them will need.

use chrono::{DateTime, Utc};
use diesel_async::async_connection_wrapper::BlockOn;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::try_join;

use super::key_lock::lock_of;
use super::prefetched::{About, OutcomeColumns};
use super::session::Session;
use super::statements as hot;
use crate::columns::{IntentColumns, OutboxColumns, SuspensionColumns, sealed_of};
use crate::rows::{RowsResult, day};
use crate::sql::Key;

impl Session {
    /// Begins a transaction that writes, in one trip to the database, and returns the transaction's number. The trip also
    /// locks those of the intents and keys that no other transaction holds, and reads the intents' open suspensions with
    /// the messages about them.
    ///
    /// Each lock and each read is a statement of its own, so a row is read as the previous holder of its lock left it. The time
    /// is read after the intents are locked.
    pub(super) fn begin_prefetching(&mut self, about: About) -> RowsResult<String> {
        let About { intents, keys } = about;
        let (intents, hashes) = (Vec::from_iter(intents), keys.iter().map(lock_of).collect());
        let keys: Vec<_> = keys.into_iter().map(Vec::from).collect();
        let today = day(self.time.expected());
        self.time.asks();
        let conn: &AsyncPgConnection = &self.conn;
        let [mut first, mut second, mut third, mut fourth, mut fifth, mut sixth, mut seventh, mut eighth, mut ninth] = [conn; 9];
        let ids = || intents.clone();
        let begun = async {
            let opened = first.batch_execute("BEGIN");
            let locked = RunQueryDsl::load::<IntentColumns>(hot::LockIntents { ids: ids() }, &mut second);
            let asked = RunQueryDsl::get_result::<(DateTime<Utc>, String)>(hot::Begin, &mut third);
            let open = RunQueryDsl::load::<(SuspensionColumns, Key)>(hot::SelectOpen { ids: ids() }, &mut fourth);
            let taken = RunQueryDsl::load::<i64>(hot::LockMessages { ids: ids() }, &mut fifth);
            let messages = RunQueryDsl::load::<OutboxColumns>(hot::SelectMessages { ids: ids() }, &mut sixth);
            let questions = RunQueryDsl::load::<(i64, Vec<u8>, Vec<u8>)>(hot::SelectAsked { ids: ids() }, &mut ninth);
            let outcomes = async {
                if keys.is_empty() {
                    return Ok((Vec::new(), Vec::new()));
                }
                let kept = hot::SelectOutcomes { keys: keys.clone(), days: vec![today + 1, today, today - 1] };
                let locked = RunQueryDsl::load::<i32>(hot::LockKeys { hashes }, &mut seventh);
                try_join!(locked, RunQueryDsl::load::<OutcomeColumns>(kept, &mut eighth))
            };
            // The statement polled first is sent first.
            try_join!(opened, locked, asked, open, taken, messages, questions, outcomes)
        };
        let ((), locked, (time, number), open, taken, messages, questions, (ours, outcomes)) = self.pump.block_on(begun)?;
        self.time.saw(time);
        for columns in locked {
            let row = columns.into_row()?;
            self.locked.push(row.rid);
            self.prefetched.intents.insert(row.intent.id.0, row);
        }
        self.prefetched.fill(open, taken, messages)?;
        for (rid, bytes, hash) in questions {
            self.prefetched.questions.insert(rid, sealed_of((bytes, hash))?);
        }
        self.prefetched.keys = ours.into_iter().collect();
        self.prefetched.day = today;
        self.prefetched.outcomes = keys.into_iter().map(|key| (key, Vec::new())).collect();
        for kept in outcomes {
            self.prefetched.outcomes.entry(kept.key_hash.clone()).or_default().push(kept);
        }
        Ok(number)
    }
}
