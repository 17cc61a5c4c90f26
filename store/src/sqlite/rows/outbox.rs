//! Messages, and the bounces reported for them.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::DeliveryId;
use domain::base::time::from_micros;
use domain::suspension::delivery::BounceKind;

use super::Writing;
use crate::columns::{BounceColumns, OutboxColumns, signed};
use crate::rows::{
    BounceRow, Code, DeliveryState, IS_NOT_REPLACED, OutboxRow, QueuedChannel, ReadOutbox, RowsResult, TryRow, WriteOutbox,
};
use crate::schema::{bounces, outbox};
use crate::sending::LinePlace;
use crate::sql::{At, Key, Said};
use crate::sqlite::statements as hot;

impl WriteOutbox for Writing<'_> {
    fn insert_outbox(&mut self, row: &OutboxRow) -> RowsResult<()> {
        hot::InsertOutbox {
            rid: &row.rid,
            id: &Key(row.id.0),
            suspension: &row.suspension,
            attempt: &signed(row.attempt),
            channel: &row.channel,
            recipient: &row.recipient,
            due_at: &At(row.due_at),
            sequence: &signed(row.sequence),
            queued_at: &At(row.queued_at),
        }
        .execute(self.conn)?;
        Ok(())
    }

    /// Always true: there is only one writer, so no other transaction can take the message.
    fn take_outbox(&mut self, _rid: i64) -> RowsResult<bool> {
        Ok(true)
    }

    fn lease_outbox(&mut self, rid: i64, begun: &TryRow<'_>) -> RowsResult<()> {
        let TryRow { lease, due_at, tries, linked } = begun;
        hot::LeaseOutbox { lease, due_at: &At(*due_at), tries: &signed(*tries), linked, rid: &rid }.execute(self.conn)?;
        Ok(())
    }

    fn requeue_outbox(&mut self, rid: i64, due_at: DateTime<Utc>, why: Option<&str>) -> RowsResult<()> {
        let released = (outbox::lease.eq(None::<Vec<u8>>), outbox::due_at.eq(At(due_at)));
        // Diesel does not write a `None`, so without a reason the old detail stays.
        let changes = (released, why.map(|why| outbox::detail.eq(Said::from(why))));
        diesel::update(outbox::table.find(rid)).set(changes).execute(self.conn)?;
        Ok(())
    }

    fn release_outbox(&mut self, due_at: DateTime<Utc>) -> RowsResult<u64> {
        // The state is a literal, so that the partial index of queued messages serves the query.
        let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("0")));
        let released = (outbox::lease.eq(None::<Vec<u8>>), outbox::due_at.eq(At(due_at)));
        Ok(diesel::update(queued.filter(outbox::lease.is_not_null())).set(released).execute(self.conn)? as u64)
    }

    fn revive_outbox(&mut self, rid: i64, now: DateTime<Utc>) -> RowsResult<()> {
        let queued = (outbox::state.eq(DeliveryState::Queued.code()), outbox::tries.eq(0), outbox::lease.eq(None::<Vec<u8>>));
        let due = (outbox::due_at.eq(At(now)), outbox::settled_at.eq(At(now)));
        diesel::update(outbox::table.find(rid)).set((queued, due)).execute(self.conn)?;
        Ok(())
    }

    fn finish_outbox(&mut self, rid: i64, state: DeliveryState, now: DateTime<Utc>, detail: Option<&str>) -> RowsResult<()> {
        hot::FinishOutbox { state: &state.code(), settled_at: &At(now), detail: &detail.map(Said::from), rid: &rid }
            .execute(self.conn)?;
        Ok(())
    }

    fn save_bounce(&mut self, outbox: i64, bounce: &BounceRow) -> RowsResult<()> {
        let row = (
            bounces::outbox.eq(outbox),
            bounces::hard.eq(bounce.kind == BounceKind::Hard),
            bounces::reported_at.eq(At(bounce.reported_at)),
            bounces::detail.eq(bounce.detail.clone().map(Said)),
        );
        diesel::replace_into(bounces::table).values(row).execute(self.conn)?;
        Ok(())
    }
}

impl ReadOutbox for SqliteConnection {
    fn due_deliveries(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        let due = hot::SelectDueOutbox { channel, due_at: &At(now), limit: &i64::from(limit) };
        due.load::<OutboxColumns>(self)?.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn undelivered(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>> {
        let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("0")));
        let free = queued.filter(outbox::channel.eq(channel)).filter(outbox::lease.is_null().or(outbox::due_at.le(At(now))));
        let free = free.order(outbox::due_at).limit(i64::from(limit));
        free.select(OutboxColumns::selection()).load::<OutboxColumns>(self)?.into_iter().map(OutboxColumns::into_row).collect()
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
            queued.filter(outbox::channel.eq(channel)).filter(outbox::due_at.le(At(now)))
        };
        // If no more than `keep` messages are due, the index alone says so. The messages themselves are read only if more
        // are due, which is rare.
        let more = hot::SelectMoreDue { channel, due_at: &At(now), keep: &i64::from(keep) };
        if more.get_result::<i64>(self).optional()?.is_none() {
            return Ok(Vec::new());
        }
        let waiting = || {
            let unleased = due().filter(outbox::lease.is_null());
            unleased.filter(diesel::dsl::sql::<diesel::sql_types::Bool>(IS_NOT_REPLACED))
        };
        let first = waiting().order((outbox::due_at, outbox::rid)).offset(i64::from(keep)).select((outbox::due_at, outbox::rid));
        let Some((due_at, rid)) = first.first::<(At, i64)>(self).optional()? else { return Ok(Vec::new()) };
        let beyond = waiting().filter(outbox::due_at.gt(due_at).or(outbox::due_at.eq(due_at).and(outbox::rid.ge(rid))));
        let (due_at, rid) = (At(before.due_at), before.rid);
        let beyond = beyond.filter(outbox::due_at.lt(due_at).or(outbox::due_at.eq(due_at).and(outbox::rid.lt(rid))));
        let newest = beyond.order((outbox::due_at.desc(), outbox::rid.desc())).limit(i64::from(limit));
        newest.select(OutboxColumns::selection()).load::<OutboxColumns>(self)?.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn waiting_beside(&mut self, row: &OutboxRow) -> RowsResult<Vec<OutboxRow>> {
        let all = self.deliveries(row.suspension)?.into_iter().filter(|(_, state)| *state == DeliveryState::Queued);
        let others = all.map(|(other, _)| other).filter(|other| other.rid != row.rid && other.lease.is_none());
        Ok(others.filter(|other| other.attempt == row.attempt && other.channel == row.channel).collect())
    }

    fn newest_deliveries(&mut self, limit: u32) -> RowsResult<Vec<(OutboxRow, DeliveryState)>> {
        let newest = outbox::table
            .order(outbox::rid.desc())
            .limit(i64::from(limit))
            .select(OutboxColumns::selection())
            .load::<OutboxColumns>(self)?;
        newest.into_iter().map(OutboxColumns::into_both).collect()
    }

    fn delivery_of(&mut self, id: DeliveryId) -> RowsResult<Option<(OutboxRow, DeliveryState)>> {
        let found = outbox::table
            .filter(outbox::id.eq(Key(id.0)))
            .select(OutboxColumns::selection())
            .first::<OutboxColumns>(self)
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
            .load::<OutboxColumns>(self)?;
        page.into_iter().map(OutboxColumns::into_row).collect()
    }

    fn failed_delivery(&mut self, id: DeliveryId) -> RowsResult<Option<OutboxRow>> {
        let failed = outbox::table.filter(is_failed()).filter(outbox::id.eq(Key(id.0)));
        failed
            .select(OutboxColumns::selection())
            .get_result::<OutboxColumns>(self)
            .optional()?
            .map(OutboxColumns::into_row)
            .transpose()
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

    fn queued_deliveries(&mut self) -> RowsResult<(i64, i64)> {
        let queued = || outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("0")));
        let leased = queued().filter(outbox::lease.is_not_null()).count().get_result(self)?;
        Ok((queued().count().get_result(self)?, leased))
    }

    fn delivery(&mut self, rid: i64) -> RowsResult<Option<(OutboxRow, DeliveryState)>> {
        outbox::table
            .find(rid)
            .select(OutboxColumns::selection())
            .get_result::<OutboxColumns>(self)
            .optional()?
            .map(OutboxColumns::into_both)
            .transpose()
    }

    fn deliveries(&mut self, suspension: i64) -> RowsResult<Vec<(OutboxRow, DeliveryState)>> {
        let about = hot::SelectOutboxOf { suspension: &suspension };
        about.load::<OutboxColumns>(self)?.into_iter().map(OutboxColumns::into_both).collect()
    }

    fn bounce(&mut self, outbox: i64) -> RowsResult<Option<BounceRow>> {
        Ok(bounces::table
            .find(outbox)
            .select(BounceColumns::selection())
            .get_result::<BounceColumns>(self)
            .optional()?
            .map(BounceColumns::into_row))
    }
}

/// The state is a literal, so that the partial index of failed messages serves the query.
fn is_failed() -> diesel::dsl::Eq<outbox::state, diesel::expression::SqlLiteral<diesel::sql_types::Integer>> {
    outbox::state.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("2"))
}
