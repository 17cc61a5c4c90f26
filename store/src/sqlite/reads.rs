//! Reading rows: on the writer's connection inside a transaction, or on a reader's outside.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Integer, Nullable};
use diesel::sqlite::SqliteConnection;
use domain::base::ids::{DeliveryId, IntentId, KeyId, SuspensionId};
use domain::base::time::{from_micros, micros};
use domain::intent::body::IntentBody;
use domain::log::{Hash, Sealed};
use domain::people::principal::Principal;
use domain::suspension::lease::{Lease, LeaseStatus};
use domain::wire::KeyView;

use super::columns::{
    BodyColumns, BounceColumns, IntentColumns, KeyColumns, LeaseColumns, OutboxColumns, PresenceColumns, SuspensionColumns,
    TimerColumns, TokenColumns, signed, uuid,
};
use super::schema::{
    api_keys, bounces, departures, events, idempotency, intent_bodies, intents, leases, outbox, places, presence, secrets,
    suspension_keys, suspensions, timers, tokens,
};
use super::statements as hot;
use crate::codes::{Code, DeliveryState};
use crate::rows::{
    BounceRow, EventLink, IS_NOT_REPLACED, IntentRow, OutboxRow, PresenceRow, QueuedChannel, ReadRows, RowsError, RowsResult,
    SuspensionRow, TimerRow, TokenRow,
};
use crate::units::day;
use crate::{IntentFilter, LinePlace};

/// How long an idempotency record counts, in hours.
const IDEMPOTENCY_HOURS: i64 = 24;

impl ReadRows for SqliteConnection {
    fn intent(&mut self, id: IntentId) -> RowsResult<Option<IntentRow>> {
        hot::SelectIntent { id: id.0.as_bytes() }
            .get_result::<IntentColumns>(self)
            .optional()?
            .map(IntentColumns::into_row)
            .transpose()
    }

    fn intent_at(&mut self, rid: i64) -> RowsResult<IntentRow> {
        hot::SelectIntentAt { rid: &rid }.get_result::<IntentColumns>(self)?.into_row()
    }

    fn body(&mut self, intent: i64) -> RowsResult<IntentBody> {
        intent_bodies::table.find(intent).get_result::<BodyColumns>(self)?.into_body()
    }

    fn title(&mut self, intent: i64) -> RowsResult<String> {
        Ok(intent_bodies::table.find(intent).select(intent_bodies::title).get_result(self)?)
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
        page.load::<IntentColumns>(self)?.into_iter().map(IntentColumns::into_row).collect()
    }

    fn event_link(&mut self, rid: i64) -> RowsResult<EventLink> {
        let columns = (events::event_type, events::created_at, events::previous);
        let (event_type, created_at, previous) =
            events::table.find(rid).select(columns).get_result::<(String, i64, Option<i64>)>(self)?;
        Ok(EventLink { event_type, created_at: from_micros(created_at), previous })
    }

    fn event(&mut self, rid: i64) -> RowsResult<Sealed> {
        let (bytes, hash) =
            events::table.find(rid).select((events::bytes, events::hash)).get_result::<(Vec<u8>, Vec<u8>)>(self)?;
        let hash = hash.try_into().map_err(|_| RowsError::Inconsistent("a hash of the wrong length"))?;
        Ok(Sealed { bytes, hash: Hash(hash) })
    }

    fn suspension(&mut self, id: SuspensionId) -> RowsResult<Option<SuspensionRow>> {
        let found = hot::SelectSuspension { id: id.0.as_bytes() }.get_result::<SuspensionColumns>(self).optional()?;
        found.map(|columns| with_intent_id(self, columns)).transpose()
    }

    fn suspension_at(&mut self, rid: i64) -> RowsResult<SuspensionRow> {
        let found = hot::SelectSuspensionAt { rid: &rid }.get_result::<SuspensionColumns>(self)?;
        with_intent_id(self, found)
    }

    fn suspensions(
        &mut self,
        asker: Option<&str>,
        open: bool,
        before: Option<i64>,
        limit: u32,
    ) -> RowsResult<Vec<SuspensionRow>> {
        let mut query = suspensions::table.into_boxed();
        if let Some(asker) = asker {
            query = query.filter(suspensions::asker.eq(asker));
        }
        if open {
            query = query.filter(is_open());
        }
        if let Some(before) = before {
            query = query.filter(suspensions::rid.lt(before));
        }
        let page = query.order(suspensions::rid.desc()).limit(i64::from(limit)).load::<SuspensionColumns>(self)?;
        page.into_iter().map(|columns| with_intent_id(self, columns)).collect()
    }

    fn unanswered(&mut self, intent: i64, since: DateTime<Utc>, limit: u32) -> RowsResult<Vec<DateTime<Utc>>> {
        // Written out, so that the partial index of what ended without an answer serves it.
        let unanswered = suspensions::resolution.ne(diesel::dsl::sql::<Nullable<Integer>>("0"));
        let since = suspensions::resolved_at.gt(micros(since));
        let found = suspensions::table.filter(unanswered).filter(suspensions::intent.eq(intent)).filter(since);
        let newest = found.order(suspensions::resolved_at.desc()).limit(i64::from(limit));
        let times = newest.select(suspensions::resolved_at.assume_not_null()).load::<i64>(self)?;
        Ok(times.into_iter().map(from_micros).collect())
    }

    fn places(&mut self, pair: i64, after: DateTime<Utc>, limit: usize) -> RowsResult<Vec<DateTime<Utc>>> {
        // A message that was dropped, or has another place by now, leaves its row behind.
        let holds = outbox::rid.eq(places::outbox).and(outbox::due_at.eq(places::leaves_at));
        let waits = holds.and(outbox::state.eq(DeliveryState::Queued.code()));
        let found = places::table.inner_join(outbox::table.on(waits));
        let found = found.filter(places::pair.eq(pair)).filter(places::leaves_at.gt(micros(after))).order(places::leaves_at);
        let next = found.limit(i64::try_from(limit).unwrap_or(i64::MAX)).select(places::leaves_at);
        Ok(next.load::<i64>(self)?.into_iter().map(from_micros).collect())
    }

    fn departures(
        &mut self,
        pair: i64,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
        limit: usize,
    ) -> RowsResult<Vec<DateTime<Utc>>> {
        // One that lies ahead was left by a clock that has been set back since.
        let counts = departures::left_at.gt(micros(since)).and(departures::left_at.le(micros(until)));
        let found = departures::table.filter(departures::pair.eq(pair)).filter(counts).order(departures::left_at.desc());
        let newest = found.limit(i64::try_from(limit).unwrap_or(i64::MAX)).select(departures::left_at);
        let times = newest.load::<i64>(self)?;
        Ok(times.into_iter().map(from_micros).collect())
    }

    fn leases(&mut self, intent: i64) -> RowsResult<Vec<Lease>> {
        let intent_id = IntentId(uuid(&intents::table.find(intent).select(intents::id).get_result::<Vec<u8>>(self)?)?);
        let held = leases::table.filter(leases::intent.eq(intent)).filter(leases::status.ne(LeaseStatus::Released.code()));
        let held = held.order(leases::rid).load::<LeaseColumns>(self)?;
        held.into_iter().map(|columns| columns.into_lease(intent_id)).collect()
    }

    fn due_timers(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<TimerRow>> {
        let due = timers::table.filter(timers::due_at.le(micros(now))).order(timers::due_at).limit(i64::from(limit));
        due.load::<TimerColumns>(self)?.into_iter().map(TimerColumns::into_row).collect()
    }

    fn has_timer(&mut self, timer: TimerRow) -> RowsResult<bool> {
        let key = (micros(timer.due_at), timer.suspension, timer.kind.code(), signed(timer.attempt));
        if diesel::select(diesel::dsl::exists(timers::table.find(key))).get_result(self)? {
            return Ok(true);
        }
        // Looks at all timers, for the rare one that is not where it should be.
        let elsewhere = timers::table.filter(timers::suspension.eq(timer.suspension)).filter(timers::kind.eq(timer.kind.code()));
        let elsewhere = elsewhere.filter(timers::attempt.eq(signed(timer.attempt)));
        Ok(diesel::select(diesel::dsl::exists(elsewhere)).get_result(self)?)
    }

    fn next_timer(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        Ok(timers::table.select(diesel::dsl::min(timers::due_at)).get_result::<Option<i64>>(self)?.map(from_micros))
    }

    fn due_deliveries(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        let due = hot::SelectDueOutbox { channel, due_at: &micros(now), limit: &i64::from(limit) };
        due.load::<OutboxColumns>(self)?.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn undelivered(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("0")));
        let free = queued.filter(outbox::channel.eq(channel)).filter(outbox::lease.is_null().or(outbox::due_at.le(micros(now))));
        let free = free.order(outbox::due_at).limit(i64::from(limit));
        free.load::<OutboxColumns>(self)?.into_iter().map(OutboxColumns::into_row).collect()
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
            let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("0")));
            queued.filter(outbox::channel.eq(channel)).filter(outbox::due_at.le(micros(now)))
        };
        // The index alone tells when there are too few; looking at each of them is for the rare time when there may be too many.
        let more = hot::SelectMoreDue { channel, due_at: &micros(now), keep: &i64::from(keep) };
        if more.get_result::<i64>(self).optional()?.is_none() {
            return Ok(Vec::new());
        }
        let waiting = || {
            let unleased = due().filter(outbox::lease.is_null());
            unleased.filter(diesel::dsl::sql::<diesel::sql_types::Bool>(IS_NOT_REPLACED))
        };
        let first = waiting().order((outbox::due_at, outbox::rid)).offset(i64::from(keep)).select((outbox::due_at, outbox::rid));
        let Some((due_at, rid)) = first.first::<(i64, i64)>(self).optional()? else { return Ok(Vec::new()) };
        let beyond = waiting().filter(outbox::due_at.gt(due_at).or(outbox::due_at.eq(due_at).and(outbox::rid.ge(rid))));
        let (due_at, rid) = (micros(before.due_at), before.rid);
        let beyond = beyond.filter(outbox::due_at.lt(due_at).or(outbox::due_at.eq(due_at).and(outbox::rid.lt(rid))));
        let newest = beyond.order((outbox::due_at.desc(), outbox::rid.desc())).limit(i64::from(limit));
        newest.load::<OutboxColumns>(self)?.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn waiting_beside(&mut self, row: &OutboxRow) -> RowsResult<Vec<OutboxRow>> {
        let all = self.deliveries(row.suspension)?.into_iter().filter(|(_, state)| *state == DeliveryState::Queued);
        let others = all.map(|(other, _)| other).filter(|other| other.rid != row.rid && other.lease.is_none());
        Ok(others.filter(|other| other.attempt == row.attempt && other.channel == row.channel).collect())
    }

    fn newest_deliveries(&mut self, limit: u32) -> RowsResult<Vec<(OutboxRow, DeliveryState)>> {
        let newest = outbox::table.order(outbox::rid.desc()).limit(i64::from(limit)).load::<OutboxColumns>(self)?;
        newest.into_iter().map(OutboxColumns::into_both).collect()
    }

    fn delivery_of(&mut self, id: DeliveryId) -> RowsResult<Option<(OutboxRow, DeliveryState)>> {
        let found = outbox::table.filter(outbox::id.eq(id.0.as_bytes().to_vec())).first::<OutboxColumns>(self).optional()?;
        found.map(OutboxColumns::into_both).transpose()
    }

    fn failed_deliveries(&mut self, before: Option<DeliveryId>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        let mut failed = outbox::table.filter(is_failed()).into_boxed();
        if let Some(before) = before {
            failed = failed.filter(outbox::id.lt(before.0.as_bytes().to_vec()));
        }
        let page = failed.order(outbox::id.desc()).limit(i64::from(limit)).load::<OutboxColumns>(self)?;
        page.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn failed_delivery(&mut self, id: DeliveryId) -> RowsResult<Option<OutboxRow>> {
        let failed = outbox::table.filter(is_failed()).filter(outbox::id.eq(id.0.as_bytes().to_vec()));
        failed.get_result::<OutboxColumns>(self).optional()?.map(OutboxColumns::into_row).transpose()
    }

    fn queued_channels(&mut self) -> RowsResult<Vec<QueuedChannel>> {
        let (mut queued, mut after) = (Vec::new(), String::new());
        let next = |conn: &mut Self, after: &str| hot::SelectNextQueue { after }.get_result::<(String, i64)>(conn).optional();
        while let Some((channel, next_due)) = next(self, &after)? {
            queued.push(QueuedChannel { channel: channel.clone(), next_due: from_micros(next_due) });
            after = channel;
        }
        queued.sort_by_key(|queue| queue.next_due);
        Ok(queued)
    }

    /// The file is locked.
    fn is_alone(&mut self) -> RowsResult<bool> {
        Ok(true)
    }

    fn open_suspensions(&mut self) -> RowsResult<i64> {
        Ok(suspensions::table.filter(is_open()).count().get_result(self)?)
    }

    fn queued_deliveries(&mut self) -> RowsResult<(i64, i64)> {
        let queued = || outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("0")));
        let leased = queued().filter(outbox::lease.is_not_null()).count().get_result(self)?;
        Ok((queued().count().get_result(self)?, leased))
    }

    fn delivery(&mut self, rid: i64) -> RowsResult<Option<(OutboxRow, DeliveryState)>> {
        outbox::table.find(rid).get_result::<OutboxColumns>(self).optional()?.map(OutboxColumns::into_both).transpose()
    }

    fn deliveries(&mut self, suspension: i64) -> RowsResult<Vec<(OutboxRow, DeliveryState)>> {
        let about = hot::SelectOutboxOf { suspension: &suspension };
        about.load::<OutboxColumns>(self)?.into_iter().map(OutboxColumns::into_both).collect()
    }

    fn bounce(&mut self, outbox: i64) -> RowsResult<Option<BounceRow>> {
        Ok(bounces::table.find(outbox).get_result::<BounceColumns>(self).optional()?.map(BounceColumns::into_row))
    }

    fn token(&mut self, rid: i64) -> RowsResult<Option<TokenRow>> {
        tokens::table.find(rid).get_result::<TokenColumns>(self).optional()?.map(TokenColumns::into_row).transpose()
    }

    fn suspension_key(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<(Vec<u8>, i64)>> {
        let kept = suspension_keys::table.find(key_hash.as_slice());
        let columns = (suspension_keys::body_hash, suspension_keys::suspension);
        Ok(kept.select(columns).get_result(self).optional()?)
    }

    fn idempotent(&mut self, key_hash: &[u8; 32], now: DateTime<Utc>) -> RowsResult<Option<(Vec<u8>, String)>> {
        let today = day(now);
        let since = micros(now - TimeDelta::hours(IDEMPOTENCY_HOURS));
        for day in [today, today - 1] {
            let kept = idempotency::table.find((day, key_hash.as_slice())).filter(idempotency::created_at.gt(since));
            let columns = (idempotency::body_hash, idempotency::outcome);
            if let Some(found) = kept.select(columns).get_result(self).optional()? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn agent_bytes(&mut self, agent: &str, day: i32) -> RowsResult<u64> {
        let bytes: i64 = hot::SelectAgentBytes { agent, day: &day }.get_result(self)?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    fn principal(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<Principal>> {
        let counting = api_keys::table.filter(api_keys::hash.eq(key_hash.as_slice())).filter(api_keys::revoked_at.is_null());
        counting.get_result::<KeyColumns>(self).optional()?.map(KeyColumns::into_principal).transpose()
    }

    fn key(&mut self, id: KeyId) -> RowsResult<Option<KeyView>> {
        let key = api_keys::table.filter(api_keys::id.eq(id.0.as_bytes().to_vec()));
        key.get_result::<KeyColumns>(self).optional()?.map(KeyColumns::into_view).transpose()
    }

    fn keys(&mut self) -> RowsResult<Vec<KeyView>> {
        let all = api_keys::table.order(api_keys::rid).load::<KeyColumns>(self)?;
        all.into_iter().map(KeyColumns::into_view).collect()
    }

    fn secret(&mut self, name: &str) -> RowsResult<Option<Vec<u8>>> {
        Ok(secrets::table.find(name).select(secrets::value).get_result(self).optional()?)
    }

    fn presence(&mut self) -> RowsResult<Option<PresenceRow>> {
        Ok(presence::table.find(1).get_result::<PresenceColumns>(self).optional()?.map(PresenceColumns::into_row))
    }

    fn open_in(&mut self, after: i64, up_to: i64, with_fallback: bool, limit: u32) -> RowsResult<Vec<i64>> {
        let left = suspensions::rid.gt(after).and(suspensions::rid.le(up_to));
        let mut open = suspensions::table.filter(is_open()).filter(left).into_boxed();
        if with_fallback {
            // Written out, so that the partial index serves it.
            open = open.filter(diesel::dsl::sql::<diesel::sql_types::Bool>("fallback_policy <> 0"));
        }
        Ok(open.order(suspensions::rid).limit(i64::from(limit)).select(suspensions::rid).load(self)?)
    }

    fn newest_event_at(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        let newest = events::table.order(events::rid.desc()).select(events::created_at).first::<i64>(self).optional()?;
        Ok(newest.map(from_micros))
    }

    fn newest_suspension(&mut self) -> RowsResult<i64> {
        Ok(suspensions::table.select(diesel::dsl::max(suspensions::rid)).get_result::<Option<i64>>(self)?.unwrap_or(0))
    }

    fn newest_token(&mut self) -> RowsResult<i64> {
        Ok(tokens::table.select(diesel::dsl::max(tokens::rid)).get_result::<Option<i64>>(self)?.unwrap_or(0))
    }
}

/// Written out, so that the partial index of what has failed serves it.
fn is_failed() -> diesel::dsl::Eq<outbox::state, diesel::expression::SqlLiteral<diesel::sql_types::Integer>> {
    outbox::state.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("2"))
}

/// What "open" means, for the list and the count alike: two definitions would part one day.
fn is_open() -> diesel::dsl::IsNull<suspensions::resolution> {
    suspensions::resolution.is_null()
}

/// A suspension's row links its intent by row; what is shown names it by id.
fn with_intent_id(conn: &mut SqliteConnection, columns: SuspensionColumns) -> RowsResult<SuspensionRow> {
    let id = hot::SelectIntentId { rid: &columns.intent() }.get_result::<Vec<u8>>(conn)?;
    columns.into_row(IntentId(uuid(&id)?))
}
