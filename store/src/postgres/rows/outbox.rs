//! Messages, and the bounces reported for them.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Integer};
use domain::base::ids::DeliveryId;
use domain::suspension::delivery::BounceKind;

use super::Writing;
use crate::columns::{BounceColumns, OutboxColumns, signed};
use crate::postgres::proof::Proof;
use crate::postgres::session::{Mode, Session};
use crate::postgres::statements as hot;
use crate::rows::{
    BounceRow, Code, DeliveryState, IS_NOT_REPLACED, OutboxRow, QueuedChannel, ReadOutbox, RowsResult, TryRow, WriteOutbox,
};
use crate::schema::{bounces, outbox};
use crate::sending::LinePlace;
use crate::sql::{At, Key, Said};

/// The most channels that one query lists, which is far more than any server has.
const QUEUED_CHANNELS_MAX: i64 = 1_000;

impl WriteOutbox for Writing<'_> {
    fn insert_outbox(&mut self, row: &OutboxRow) -> RowsResult<()> {
        let write = hot::InsertOutbox {
            rid: row.rid,
            id: Key(row.id.0),
            suspension: row.suspension,
            attempt: signed(row.attempt),
            channel: row.channel.clone(),
            recipient: row.recipient.clone(),
            due_at: At(row.due_at),
            sequence: signed(row.sequence),
            queued_at: At(row.queued_at),
        };
        self.session.later(write, None)
    }

    fn take_outbox(&mut self, rid: i64) -> RowsResult<bool> {
        if let Some(taken) = self.session.prefetched.is_taken(rid) {
            return Ok(taken);
        }
        let queued = outbox::table.find(rid).filter(outbox::state.eq(DeliveryState::Queued.code()));
        let free = queued.filter(outbox::lease.is_null()).select(outbox::rid).for_no_key_update().skip_locked();
        Ok(free.first::<i64>(self.session.conn()?).optional()?.is_some())
    }

    fn lease_outbox(&mut self, rid: i64, begun: &TryRow<'_>) -> RowsResult<()> {
        let TryRow { lease, due_at, tries, linked } = *begun;
        // This lease may serve as the proof that the transaction was committed. An event that is already kept as the proof is
        // not replaced, because events are never deleted, while a lease may end.
        self.session.proof.get_or_insert_with(|| Proof::Lease { rid, lease: lease.to_vec() });
        let (lease, leased_by, tries) = (lease.to_vec(), self.session.server, signed(tries));
        self.session.later(hot::LeaseOutbox { lease, leased_by, due_at: At(due_at), tries, linked, rid }, None)
    }

    fn requeue_outbox(&mut self, rid: i64, due_at: DateTime<Utc>, why: Option<&str>) -> RowsResult<()> {
        let released = (outbox::lease.eq(None::<Vec<u8>>), outbox::leased_by.eq(None::<i32>), outbox::due_at.eq(At(due_at)));
        // Diesel does not write a `None`, so without a reason the old detail stays.
        let changes = (released, why.map(|why| outbox::detail.eq(Said::from(why))));
        diesel::update(outbox::table.find(rid)).set(changes).execute(self.session.conn()?)?;
        Ok(())
    }

    fn revive_outbox(&mut self, rid: i64, now: DateTime<Utc>) -> RowsResult<()> {
        let queued = (outbox::state.eq(DeliveryState::Queued.code()), outbox::tries.eq(0));
        let released = (outbox::lease.eq(None::<Vec<u8>>), outbox::leased_by.eq(None::<i32>));
        let due = (outbox::due_at.eq(At(now)), outbox::settled_at.eq(At(now)));
        diesel::update(outbox::table.find(rid)).set((queued, released, due)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn release_outbox(&mut self, due_at: DateTime<Utc>) -> RowsResult<u64> {
        Ok(hot::ReleaseOutbox { due_at: At(due_at) }.execute(self.session.conn()?)? as u64)
    }

    fn finish_outbox(&mut self, rid: i64, state: DeliveryState, now: DateTime<Utc>, detail: Option<&str>) -> RowsResult<()> {
        let write = hot::FinishOutbox { state: state.code(), settled_at: At(now), detail: detail.map(Said::from), rid };
        self.session.later(write, None)
    }

    fn save_bounce(&mut self, outbox: i64, bounce: &BounceRow) -> RowsResult<()> {
        let said = (
            bounces::hard.eq(bounce.kind == BounceKind::Hard),
            bounces::reported_at.eq(At(bounce.reported_at)),
            bounces::detail.eq(bounce.detail.clone().map(Said)),
        );
        diesel::insert_into(bounces::table)
            .values((bounces::outbox.eq(outbox), said.clone()))
            .on_conflict(bounces::outbox)
            .do_update()
            .set(said)
            .execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadOutbox for Session {
    fn due_deliveries(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        // The state is a literal here and below, so that the partial index of queued messages serves the queries.
        let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<Integer>("0")));
        let due = queued.filter(outbox::channel.eq(channel)).filter(outbox::due_at.le(At(now)));
        let due = due.order((outbox::due_at, outbox::rid)).limit(i64::from(limit));
        let due = due.for_no_key_update().skip_locked().select(OutboxColumns::selection()).load::<OutboxColumns>(self.conn()?)?;
        due.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn undelivered(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<Integer>("0")));
        let free = queued.filter(outbox::channel.eq(channel)).filter(outbox::lease.is_null().or(outbox::due_at.le(At(now))));
        let free = free.order((outbox::due_at, outbox::rid)).limit(i64::from(limit));
        let free =
            free.for_no_key_update().skip_locked().select(OutboxColumns::selection()).load::<OutboxColumns>(self.conn()?)?;
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
            queued.filter(outbox::channel.eq(channel)).filter(outbox::due_at.le(At(now)))
        };
        // If no more than `keep` messages are due, the index alone says so. The messages themselves are read only if more
        // are due, which is rare.
        let one_more = due().select(outbox::rid).order(outbox::due_at).offset(i64::from(keep)).first::<i64>(self.conn()?);
        if one_more.optional()?.is_none() {
            return Ok(Vec::new());
        }
        let waiting = || {
            let unleased = due().filter(outbox::lease.is_null());
            unleased.filter(diesel::dsl::sql::<Bool>(IS_NOT_REPLACED))
        };
        let first = waiting().order((outbox::due_at, outbox::rid)).offset(i64::from(keep)).select((outbox::due_at, outbox::rid));
        let first = first.first::<(At, i64)>(self.conn()?).optional()?;
        let Some((At(due_at), rid)) = first else { return Ok(Vec::new()) };
        let beyond = waiting().filter(outbox::due_at.gt(At(due_at)).or(outbox::due_at.eq(At(due_at)).and(outbox::rid.ge(rid))));
        let LinePlace { due_at, rid } = before;
        let beyond = beyond.filter(outbox::due_at.lt(At(due_at)).or(outbox::due_at.eq(At(due_at)).and(outbox::rid.lt(rid))));
        let newest = beyond.order((outbox::due_at.desc(), outbox::rid.desc())).limit(i64::from(limit));
        // A message that another server has locked just now counts among the first `keep`, as any other. If it comes after them,
        // it is left to that server.
        let locked =
            newest.for_no_key_update().skip_locked().select(OutboxColumns::selection()).load::<OutboxColumns>(self.conn()?)?;
        locked.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn waiting_beside(&mut self, row: &OutboxRow) -> RowsResult<Vec<OutboxRow>> {
        let about = outbox::table.filter(outbox::suspension.eq(row.suspension)).filter(outbox::rid.ne(row.rid));
        let waiting = about.filter(outbox::state.eq(DeliveryState::Queued.code())).filter(outbox::lease.is_null());
        let beside = waiting.filter(outbox::attempt.eq(signed(row.attempt))).filter(outbox::channel.eq(&row.channel));
        let beside = beside
            .order(outbox::rid)
            .for_no_key_update()
            .skip_locked()
            .select(OutboxColumns::selection())
            .load::<OutboxColumns>(self.conn()?)?;
        beside.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn newest_deliveries(&mut self, limit: u32) -> RowsResult<Vec<(OutboxRow, DeliveryState)>> {
        let newest = outbox::table
            .order(outbox::rid.desc())
            .limit(i64::from(limit))
            .select(OutboxColumns::selection())
            .load::<OutboxColumns>(self.conn()?)?;
        newest.into_iter().map(OutboxColumns::into_both).collect()
    }

    fn delivery_of(&mut self, id: DeliveryId) -> RowsResult<Option<(OutboxRow, DeliveryState)>> {
        let found = outbox::table
            .filter(outbox::id.eq(Key(id.0)))
            .select(OutboxColumns::selection())
            .first::<OutboxColumns>(self.conn()?)
            .optional()?;
        found.map(OutboxColumns::into_both).transpose()
    }

    fn failed_deliveries(&mut self, before: Option<DeliveryId>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        let mut failed = outbox::table.filter(is_failed()).into_boxed();
        if let Some(before) = before {
            failed = failed.filter(outbox::id.lt(Key(before.0)));
        }
        let page = failed
            .order(outbox::id.desc())
            .limit(i64::from(limit))
            .select(OutboxColumns::selection())
            .load::<OutboxColumns>(self.conn()?)?;
        page.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn failed_delivery(&mut self, id: DeliveryId) -> RowsResult<Option<OutboxRow>> {
        let failed = outbox::table.filter(is_failed()).filter(outbox::id.eq(Key(id.0)));
        let found = match self.mode {
            Mode::Locking => failed.for_no_key_update().select(OutboxColumns::selection()).first::<OutboxColumns>(self.conn()?),
            Mode::Snapshot => failed.select(OutboxColumns::selection()).first::<OutboxColumns>(self.conn()?),
        };
        found.optional()?.map(OutboxColumns::into_row).transpose()
    }

    fn queued_channels(&mut self) -> RowsResult<Vec<QueuedChannel>> {
        let queued = hot::SelectQueuedChannels { limit: QUEUED_CHANNELS_MAX };
        let mut queued = queued.load::<(String, DateTime<Utc>)>(self.conn()?)?;
        queued.sort_by_key(|(_, next_due)| *next_due);
        Ok(queued.into_iter().map(|(channel, next_due)| QueuedChannel { channel, next_due }).collect())
    }

    fn queued_deliveries(&mut self) -> RowsResult<(i64, i64)> {
        let queued = || outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<Integer>("0")));
        let leased = queued().filter(outbox::lease.is_not_null()).count().get_result(self.conn()?)?;
        Ok((queued().count().get_result(self.conn()?)?, leased))
    }

    fn delivery(&mut self, rid: i64) -> RowsResult<Option<(OutboxRow, DeliveryState)>> {
        // A transaction that writes locks the message, because two workers may both believe that they hold its lease.
        let found = match self.mode {
            Mode::Locking => outbox::table
                .find(rid)
                .for_no_key_update()
                .select(OutboxColumns::selection())
                .first::<OutboxColumns>(self.conn()?),
            Mode::Snapshot => outbox::table.find(rid).select(OutboxColumns::selection()).first::<OutboxColumns>(self.conn()?),
        };
        found.optional()?.map(OutboxColumns::into_both).transpose()
    }

    fn deliveries(&mut self, suspension: i64) -> RowsResult<Vec<(OutboxRow, DeliveryState)>> {
        if let Some(messages) = self.prefetched.messages(suspension) {
            return Ok(messages);
        }
        let about = outbox::table.filter(outbox::suspension.eq(suspension)).order(outbox::rid);
        about
            .select(OutboxColumns::selection())
            .load::<OutboxColumns>(self.conn()?)?
            .into_iter()
            .map(OutboxColumns::into_both)
            .collect()
    }

    fn bounce(&mut self, outbox: i64) -> RowsResult<Option<BounceRow>> {
        let found = bounces::table.find(outbox).select(BounceColumns::selection()).first::<BounceColumns>(self.conn()?);
        Ok(found.optional()?.map(BounceColumns::into_row))
    }
}

/// The state is a literal, so that the partial index of failed messages serves the query.
fn is_failed() -> diesel::dsl::Eq<outbox::state, diesel::expression::SqlLiteral<Integer>> {
    outbox::state.eq(diesel::dsl::sql::<Integer>("2"))
}
