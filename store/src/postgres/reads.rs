//! Reading rows: in a snapshot, or in a transaction that writes and then locks what it decides on.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Integer, Nullable, Timestamptz};
use domain::base::ids::{DeliveryId, IntentId, KeyId, SuspensionId};
use domain::intent::body::IntentBody;
use domain::log::{Hash, Sealed};
use domain::people::principal::Principal;
use domain::suspension::lease::{Lease, LeaseStatus};
use domain::wire::KeyView;
use uuid::Uuid;

use super::columns::{
    BodyColumns, BounceColumns, IntentColumns, KeyColumns, LeaseColumns, OutboxColumns, PresenceColumns, SuspensionColumns,
    TimerColumns, TokenColumns, signed,
};
use super::key_lock::{IDEMPOTENCY_HOURS, lock_of};
use super::schema::{
    api_keys, bounces, departures, events, idempotency, intent_bodies, intents, leases, outbox, places, presence, secrets,
    suspension_keys, suspensions, timers, tokens,
};
use super::session::{Mode, Session};
use super::statements as hot;
use crate::codes::{Code, DeliveryState};
use crate::rows::{
    BounceRow, EventLink, IS_NOT_REPLACED, IntentRow, OutboxRow, PresenceRow, QueuedChannel, ReadRows, RowsError, RowsResult,
    SuspensionRow, TimerRow, TokenRow,
};
use crate::units::day;
use crate::{IntentFilter, LinePlace};

/// The most channels looked at in one turn; far more than anybody configures.
const QUEUED_CHANNELS_MAX: i64 = 1_000;

impl ReadRows for Session {
    fn look_at_the_clock(&mut self) -> RowsResult<()> {
        let now = diesel::select(diesel::dsl::sql::<Timestamptz>("clock_timestamp()")).get_result(&mut self.conn)?;
        self.time.saw(now);
        Ok(())
    }

    fn intent(&mut self, id: IntentId) -> RowsResult<Option<IntentRow>> {
        if let Some(row) = self.ahead.intent(id) {
            return Ok(Some(row));
        }
        if self.mode == Mode::Locking {
            let found = hot::LockIntent { id: id.0 }.get_result::<(IntentColumns, DateTime<Utc>)>(self.conn()?);
            return found.optional()?.map(|found| self.locked_now(found)).transpose();
        }
        let found = hot::SelectIntent { id: id.0 }.get_result::<IntentColumns>(self.conn()?);
        found.optional()?.map(IntentColumns::into_row).transpose()
    }

    fn intent_at(&mut self, rid: i64) -> RowsResult<IntentRow> {
        if self.mode == Mode::Locking {
            return self.lock(rid);
        }
        hot::SelectIntentAt { rid }.get_result::<IntentColumns>(self.conn()?)?.into_row()
    }

    fn body(&mut self, intent: i64) -> RowsResult<IntentBody> {
        intent_bodies::table.find(intent).first::<BodyColumns>(self.conn()?)?.into_body()
    }

    fn title(&mut self, intent: i64) -> RowsResult<String> {
        let title = intent_bodies::table.find(intent).select(intent_bodies::title).first(self.conn()?)?;
        Ok(serde_json::from_value(title)?)
    }

    fn intents(&mut self, creator: Option<&str>, filter: IntentFilter) -> RowsResult<Vec<IntentRow>> {
        let mut query = intents::table.into_boxed();
        if let Some(creator) = creator {
            query = query.filter(intents::creator.eq(creator));
        }
        if let Some(status) = filter.status {
            query = query.filter(intents::status.eq(status.code()));
        }
        if let Some(before) = filter.before {
            query = query.filter(intents::rid.lt(before));
        }
        let page = query.order(intents::rid.desc()).limit(i64::from(filter.limit)).offset(i64::from(filter.offset));
        page.load::<IntentColumns>(self.conn()?)?.into_iter().map(IntentColumns::into_row).collect()
    }

    fn event_link(&mut self, rid: i64) -> RowsResult<EventLink> {
        let columns = (events::event_type, events::created_at, events::previous);
        let (event_type, created_at, previous) = events::table.find(rid).select(columns).first(self.conn()?)?;
        Ok(EventLink { event_type, created_at, previous })
    }

    fn event(&mut self, rid: i64) -> RowsResult<Sealed> {
        let kept = events::table.find(rid).select((events::bytes, events::hash));
        let (bytes, hash) = kept.first::<(Vec<u8>, Vec<u8>)>(self.conn()?)?;
        let hash = hash.try_into().map_err(|_| RowsError::Inconsistent("a hash of the wrong length"))?;
        Ok(Sealed { bytes, hash: Hash(hash) })
    }

    fn suspension(&mut self, id: SuspensionId) -> RowsResult<Option<SuspensionRow>> {
        let found = hot::SelectSuspension { id: id.0 }.get_result::<(SuspensionColumns, Uuid)>(self.conn()?).optional()?;
        let Some((columns, intent)) = found else { return Ok(None) };
        let row = columns.into_row(intent)?;
        // Named by somebody who has locked an intent. If it is not about that one it never was nor will be, and that is all it is read
        // for: nobody who holds the other one is waited for.
        if self.is_waited_for() && !self.locked.contains(&row.intent) {
            return Ok(Some(row));
        }
        self.settled(row).map(Some)
    }

    fn suspension_at(&mut self, rid: i64) -> RowsResult<SuspensionRow> {
        if let Some(row) = self.ahead.suspension(rid) {
            return Ok(row);
        }
        let (columns, intent) = hot::SelectSuspensionAt { rid }.get_result::<(SuspensionColumns, Uuid)>(self.conn()?)?;
        self.settled(columns.into_row(intent)?)
    }

    fn suspensions(
        &mut self,
        asker: Option<&str>,
        open: bool,
        before: Option<i64>,
        limit: u32,
    ) -> RowsResult<Vec<SuspensionRow>> {
        let with_intent = suspensions::table.inner_join(intents::table.on(intents::rid.eq(suspensions::intent)));
        let mut query = with_intent.select((suspensions::all_columns, intents::id)).into_boxed();
        if let Some(asker) = asker {
            query = query.filter(suspensions::asker.eq(asker));
        }
        if open {
            query = query.filter(is_open());
        }
        if let Some(before) = before {
            query = query.filter(suspensions::rid.lt(before));
        }
        let page = query.order(suspensions::rid.desc()).limit(i64::from(limit));
        let page = page.load::<(SuspensionColumns, Uuid)>(self.conn()?)?;
        page.into_iter().map(|(columns, intent)| columns.into_row(intent)).collect()
    }

    fn unanswered(&mut self, intent: i64, since: DateTime<Utc>, limit: u32) -> RowsResult<Vec<DateTime<Utc>>> {
        // Written out, so that the partial index of what ended without an answer serves it.
        let unanswered = suspensions::resolution.ne(diesel::dsl::sql::<Nullable<Integer>>("0"));
        let since = suspensions::resolved_at.gt(since);
        let found = suspensions::table.filter(unanswered).filter(suspensions::intent.eq(intent)).filter(since);
        let newest = found.order(suspensions::resolved_at.desc()).limit(i64::from(limit));
        let times = newest.select(suspensions::resolved_at.assume_not_null()).load::<DateTime<Utc>>(self.conn()?)?;
        Ok(times)
    }

    fn places(&mut self, pair: i64, after: DateTime<Utc>, limit: usize) -> RowsResult<Vec<DateTime<Utc>>> {
        // A message that was dropped, or has another place by now, leaves its row behind.
        let holds = outbox::rid.eq(places::outbox).and(outbox::due_at.eq(places::leaves_at));
        let waits = holds.and(outbox::state.eq(DeliveryState::Queued.code()));
        let found = places::table.inner_join(outbox::table.on(waits));
        let found = found.filter(places::pair.eq(pair)).filter(places::leaves_at.gt(after)).order(places::leaves_at);
        let next = found.limit(i64::try_from(limit).unwrap_or(i64::MAX)).select(places::leaves_at);
        Ok(next.load::<DateTime<Utc>>(self.conn()?)?)
    }

    fn departures(
        &mut self,
        pair: i64,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
        limit: usize,
    ) -> RowsResult<Vec<DateTime<Utc>>> {
        // One that lies ahead was left by a clock that has been set back since.
        let counts = departures::left_at.gt(since).and(departures::left_at.le(until));
        let found = departures::table.filter(departures::pair.eq(pair)).filter(counts).order(departures::left_at.desc());
        let newest = found.limit(i64::try_from(limit).unwrap_or(i64::MAX)).select(departures::left_at);
        let times = newest.load::<DateTime<Utc>>(self.conn()?)?;
        Ok(times)
    }

    fn leases(&mut self, intent: i64) -> RowsResult<Vec<Lease>> {
        let intent_id = IntentId(intents::table.find(intent).select(intents::id).first(self.conn()?)?);
        let held = leases::table.filter(leases::intent.eq(intent)).filter(leases::status.ne(LeaseStatus::Released.code()));
        let held = held.order(leases::rid).load::<LeaseColumns>(self.conn()?)?;
        held.into_iter().map(|columns| columns.into_lease(intent_id)).collect()
    }

    fn due_timers(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<TimerRow>> {
        // Those another server is just dealing with are its own.
        let due = timers::table.filter(timers::due_at.le(now)).order(timers::due_at).limit(i64::from(limit));
        let due = due.for_update().skip_locked().load::<TimerColumns>(self.conn()?)?;
        due.into_iter().map(TimerColumns::into_row).collect()
    }

    fn has_timer(&mut self, timer: TimerRow) -> RowsResult<bool> {
        let (kind, attempt) = (timer.kind.code(), signed(timer.attempt));
        let there = timers::table.find((timer.due_at, timer.suspension, kind, attempt));
        if diesel::select(diesel::dsl::exists(there)).get_result(self.conn()?)? {
            return Ok(true);
        }
        // Looks at all timers, for the rare one that is not where it should be.
        let elsewhere = timers::table.filter(timers::suspension.eq(timer.suspension)).filter(timers::kind.eq(kind));
        let elsewhere = elsewhere.filter(timers::attempt.eq(attempt));
        Ok(diesel::select(diesel::dsl::exists(elsewhere)).get_result(self.conn()?)?)
    }

    fn next_timer(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        Ok(timers::table.select(diesel::dsl::min(timers::due_at)).first(self.conn()?)?)
    }

    fn due_deliveries(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        // Written out, so that the partial index of what is queued serves it; likewise below.
        let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<Integer>("0")));
        let due = queued.filter(outbox::channel.eq(channel)).filter(outbox::due_at.le(now));
        let due = due.order((outbox::due_at, outbox::rid)).limit(i64::from(limit));
        let due = due.for_no_key_update().skip_locked().load::<OutboxColumns>(self.conn()?)?;
        due.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn undelivered(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<Integer>("0")));
        let free = queued.filter(outbox::channel.eq(channel)).filter(outbox::lease.is_null().or(outbox::due_at.le(now)));
        let free = free.order((outbox::due_at, outbox::rid)).limit(i64::from(limit));
        let free = free.for_no_key_update().skip_locked().load::<OutboxColumns>(self.conn()?)?;
        free.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn due_beyond(
        &mut self,
        channel: &str,
        now: DateTime<Utc>,
        keep: u32,
        before: LinePlace,
        limit: u32,
    ) -> RowsResult<Vec<OutboxRow>> {
        let due = || {
            let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<Integer>("0")));
            queued.filter(outbox::channel.eq(channel)).filter(outbox::due_at.le(now))
        };
        // The index alone tells when there are too few; looking at each of them is for the rare time when there may be too many.
        let one_more = due().select(outbox::rid).order(outbox::due_at).offset(i64::from(keep)).first::<i64>(self.conn()?);
        if one_more.optional()?.is_none() {
            return Ok(Vec::new());
        }
        let waiting = || {
            let unleased = due().filter(outbox::lease.is_null());
            unleased.filter(diesel::dsl::sql::<Bool>(IS_NOT_REPLACED))
        };
        let first = waiting().order((outbox::due_at, outbox::rid)).offset(i64::from(keep)).select((outbox::due_at, outbox::rid));
        let first = first.first::<(DateTime<Utc>, i64)>(self.conn()?).optional()?;
        let Some((due_at, rid)) = first else { return Ok(Vec::new()) };
        let beyond = waiting().filter(outbox::due_at.gt(due_at).or(outbox::due_at.eq(due_at).and(outbox::rid.ge(rid))));
        let LinePlace { due_at, rid } = before;
        let beyond = beyond.filter(outbox::due_at.lt(due_at).or(outbox::due_at.eq(due_at).and(outbox::rid.lt(rid))));
        let newest = beyond.order((outbox::due_at.desc(), outbox::rid.desc())).limit(i64::from(limit));
        // What another server has in hand just now is counted and left to it.
        let locked = newest.for_no_key_update().skip_locked().load::<OutboxColumns>(self.conn()?)?;
        locked.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn waiting_beside(&mut self, row: &OutboxRow) -> RowsResult<Vec<OutboxRow>> {
        let about = outbox::table.filter(outbox::suspension.eq(row.suspension)).filter(outbox::rid.ne(row.rid));
        let waiting = about.filter(outbox::state.eq(DeliveryState::Queued.code())).filter(outbox::lease.is_null());
        let beside = waiting.filter(outbox::attempt.eq(signed(row.attempt))).filter(outbox::channel.eq(&row.channel));
        let beside = beside.order(outbox::rid).for_no_key_update().skip_locked().load::<OutboxColumns>(self.conn()?)?;
        beside.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn newest_deliveries(&mut self, limit: u32) -> RowsResult<Vec<(OutboxRow, DeliveryState)>> {
        let newest = outbox::table.order(outbox::rid.desc()).limit(i64::from(limit)).load::<OutboxColumns>(self.conn()?)?;
        newest.into_iter().map(OutboxColumns::into_both).collect()
    }

    fn delivery_of(&mut self, id: DeliveryId) -> RowsResult<Option<(OutboxRow, DeliveryState)>> {
        let found = outbox::table.filter(outbox::id.eq(id.0)).first::<OutboxColumns>(self.conn()?).optional()?;
        found.map(OutboxColumns::into_both).transpose()
    }

    fn failed_deliveries(&mut self, before: Option<DeliveryId>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        let mut failed = outbox::table.filter(is_failed()).into_boxed();
        if let Some(before) = before {
            failed = failed.filter(outbox::id.lt(before.0));
        }
        let page = failed.order(outbox::id.desc()).limit(i64::from(limit)).load::<OutboxColumns>(self.conn()?)?;
        page.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn failed_delivery(&mut self, id: DeliveryId) -> RowsResult<Option<OutboxRow>> {
        let failed = outbox::table.filter(is_failed()).filter(outbox::id.eq(id.0));
        let found = match self.mode {
            Mode::Locking => failed.for_no_key_update().first::<OutboxColumns>(self.conn()?),
            Mode::Snapshot => failed.first::<OutboxColumns>(self.conn()?),
        };
        found.optional()?.map(OutboxColumns::into_row).transpose()
    }

    fn queued_channels(&mut self) -> RowsResult<Vec<QueuedChannel>> {
        let queued = hot::SelectQueuedChannels { limit: QUEUED_CHANNELS_MAX };
        let mut queued = queued.load::<(String, DateTime<Utc>)>(self.conn()?)?;
        queued.sort_by_key(|(_, next_due)| *next_due);
        Ok(queued.into_iter().map(|(channel, next_due)| QueuedChannel { channel, next_due }).collect())
    }

    fn is_alone(&mut self) -> RowsResult<bool> {
        let server = self.server;
        Ok(hot::SelectAlone { server }.get_result(self.conn()?)?)
    }

    fn open_suspensions(&mut self) -> RowsResult<i64> {
        Ok(suspensions::table.filter(is_open()).count().get_result(self.conn()?)?)
    }

    fn queued_deliveries(&mut self) -> RowsResult<(i64, i64)> {
        let queued = || outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<Integer>("0")));
        let leased = queued().filter(outbox::lease.is_not_null()).count().get_result(self.conn()?)?;
        Ok((queued().count().get_result(self.conn()?)?, leased))
    }

    fn delivery(&mut self, rid: i64) -> RowsResult<Option<(OutboxRow, DeliveryState)>> {
        // Locked where it is written: two workers may both believe that they hold its lease.
        let found = match self.mode {
            Mode::Locking => outbox::table.find(rid).for_no_key_update().first::<OutboxColumns>(self.conn()?),
            Mode::Snapshot => outbox::table.find(rid).first::<OutboxColumns>(self.conn()?),
        };
        found.optional()?.map(OutboxColumns::into_both).transpose()
    }

    fn deliveries(&mut self, suspension: i64) -> RowsResult<Vec<(OutboxRow, DeliveryState)>> {
        if let Some(messages) = self.ahead.messages(suspension) {
            return Ok(messages);
        }
        let about = outbox::table.filter(outbox::suspension.eq(suspension)).order(outbox::rid);
        about.load::<OutboxColumns>(self.conn()?)?.into_iter().map(OutboxColumns::into_both).collect()
    }

    fn bounce(&mut self, outbox: i64) -> RowsResult<Option<BounceRow>> {
        let found = bounces::table.find(outbox).first::<BounceColumns>(self.conn()?);
        found.optional()?.map(BounceColumns::into_row).transpose()
    }

    fn token(&mut self, rid: i64) -> RowsResult<Option<TokenRow>> {
        Ok(tokens::table.find(rid).first::<TokenColumns>(self.conn()?).optional()?.map(TokenColumns::into_row))
    }

    fn suspension_key(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<(Vec<u8>, i64)>> {
        let kept = suspension_keys::table.find(key_hash.as_slice());
        let columns = (suspension_keys::body_hash, suspension_keys::suspension);
        Ok(kept.select(columns).first(self.conn()?).optional()?)
    }

    fn idempotent(&mut self, key_hash: &[u8; 32], now: DateTime<Utc>) -> RowsResult<Option<(Vec<u8>, String)>> {
        if let Some(kept) = self.ahead.outcomes(key_hash, now) {
            return Ok(kept.into_iter().next());
        }
        let today = day(now);
        let since = now - TimeDelta::hours(IDEMPOTENCY_HOURS);
        // Whoever was waited for may have begun later, on the next day.
        let kept = idempotency::table.filter(idempotency::day.eq_any([today + 1, today, today - 1]));
        let kept = kept.filter(idempotency::key_hash.eq(key_hash.as_slice())).filter(idempotency::created_at.gt(since));
        let columns = (idempotency::body_hash, idempotency::outcome);
        let kept = kept.select(columns).order(idempotency::day.desc());
        if self.mode == Mode::Snapshot {
            return Ok(kept.first(self.conn()?).optional()?);
        }
        // Also behind the lock of an intent: a key may be used for two of them, and whoever inserted it first would have to be waited
        // for, by a group as well. Around midnight there are two keys of the table.
        self.behind(hot::LockKey { hash: lock_of(key_hash) }, kept.limit(1))
    }

    fn agent_bytes(&mut self, agent: &str, day: i32) -> RowsResult<u64> {
        let bytes: i64 = hot::SelectAgentBytes { agent: agent.to_owned(), day }.get_result(self.conn()?)?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    fn principal(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<Principal>> {
        let counting = api_keys::table.filter(api_keys::hash.eq(key_hash.as_slice())).filter(api_keys::revoked_at.is_null());
        counting.first::<KeyColumns>(self.conn()?).optional()?.map(KeyColumns::into_principal).transpose()
    }

    fn key(&mut self, id: KeyId) -> RowsResult<Option<KeyView>> {
        let key = api_keys::table.filter(api_keys::id.eq(id.0));
        key.first::<KeyColumns>(self.conn()?).optional()?.map(KeyColumns::into_view).transpose()
    }

    fn keys(&mut self) -> RowsResult<Vec<KeyView>> {
        let all = api_keys::table.order(api_keys::rid).load::<KeyColumns>(self.conn()?)?;
        all.into_iter().map(KeyColumns::into_view).collect()
    }

    fn secret(&mut self, name: &str) -> RowsResult<Option<Vec<u8>>> {
        Ok(secrets::table.find(name).select(secrets::value).first(self.conn()?).optional()?)
    }

    fn presence(&mut self) -> RowsResult<Option<PresenceRow>> {
        let found = presence::table.find(1).first::<PresenceColumns>(self.conn()?).optional()?;
        // Read by every server and locked by none: whoever writes it proves that nobody wrote it meanwhile.
        self.presence_version = found.as_ref().map(PresenceColumns::version);
        Ok(found.map(PresenceColumns::into_row))
    }

    fn open_in(&mut self, after: i64, up_to: i64, with_fallback: bool, limit: u32) -> RowsResult<Vec<i64>> {
        let left = suspensions::rid.gt(after).and(suspensions::rid.le(up_to));
        let mut open = suspensions::table.filter(is_open()).filter(left).into_boxed();
        if with_fallback {
            // Written out, so that the partial index serves it.
            open = open.filter(diesel::dsl::sql::<Bool>("fallback_policy <> 0"));
        }
        Ok(open.order(suspensions::rid).limit(i64::from(limit)).select(suspensions::rid).load(self.conn()?)?)
    }

    /// Ids are drawn in blocks, so the newest row need not have the highest. Asked only where no server ever left a sign of life.
    fn newest_event_at(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        Ok(events::table.select(diesel::dsl::max(events::created_at)).first(self.conn()?)?)
    }

    fn newest_suspension(&mut self) -> RowsResult<i64> {
        let newest = suspensions::table.select(diesel::dsl::max(suspensions::rid));
        Ok(newest.first::<Option<i64>>(self.conn()?)?.unwrap_or(0))
    }

    fn newest_token(&mut self) -> RowsResult<i64> {
        Ok(tokens::table.select(diesel::dsl::max(tokens::rid)).first::<Option<i64>>(self.conn()?)?.unwrap_or(0))
    }
}

/// What "open" means, for the list and the count alike: two definitions would part one day.
fn is_open() -> diesel::dsl::IsNull<suspensions::resolution> {
    suspensions::resolution.is_null()
}

/// Written out, so that the partial index of what has failed serves it.
fn is_failed() -> diesel::dsl::Eq<outbox::state, diesel::expression::SqlLiteral<Integer>> {
    outbox::state.eq(diesel::dsl::sql::<Integer>("2"))
}
