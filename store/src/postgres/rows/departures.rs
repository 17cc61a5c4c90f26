//! When messages of one agent to one person left, and the times reserved for messages that would follow the last one too soon
//! ("places").

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::Writing;
use crate::postgres::session::Session;
use crate::postgres::statements as hot;
use crate::rows::{Code, DeliveryState, ReadDepartures, RowsResult, WriteDepartures};
use crate::schema::{departures, outbox, places};
use crate::sql::At;

impl WriteDepartures for Writing<'_> {
    fn take_pair(&mut self, pair: i64) -> RowsResult<bool> {
        // A pair is an agent and a person. Half of the pair's number names the lock, so two pairs may share a lock. A message of
        // one pair may then be sent a little later.
        let [.., a, b, c, d] = pair.to_be_bytes();
        Ok(hot::TakePair { pair: i32::from_be_bytes([a, b, c, d]) }.get_result(self.session.conn()?)?)
    }

    fn insert_departure(&mut self, pair: i64, left_at: DateTime<Utc>, outbox: i64) -> RowsResult<()> {
        let row = (departures::pair.eq(pair), departures::left_at.eq(At(left_at)), departures::outbox.eq(outbox));
        diesel::insert_into(departures::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_place(&mut self, pair: i64, leaves_at: DateTime<Utc>, outbox: i64, now: DateTime<Utc>) -> RowsResult<()> {
        // Reserved times of messages that have left, were dropped or now have another time no longer count. If their rows
        // stayed, each search for a free time would read them.
        let holds = outbox::rid.eq(places::outbox).and(outbox::due_at.eq(places::leaves_at));
        let waits = outbox::table.filter(holds).filter(outbox::state.eq(DeliveryState::Queued.code())).select(outbox::rid);
        let counts_no_more = places::leaves_at.le(At(now)).or(diesel::dsl::not(diesel::dsl::exists(waits)));
        diesel::delete(places::table.filter(places::pair.eq(pair)).filter(counts_no_more)).execute(self.session.conn()?)?;
        let row = (places::pair.eq(pair), places::leaves_at.eq(At(leaves_at)), places::outbox.eq(outbox));
        diesel::insert_into(places::table).values(row).on_conflict_do_nothing().execute(self.session.conn()?)?;
        Ok(())
    }

    fn forget_departures(&mut self, pair: i64, before: DateTime<Utc>) -> RowsResult<()> {
        let gone = departures::table.filter(departures::pair.eq(pair)).filter(departures::left_at.lt(At(before)));
        diesel::delete(gone).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadDepartures for Session {
    fn places(&mut self, pair: i64, after: DateTime<Utc>, limit: usize) -> RowsResult<Vec<DateTime<Utc>>> {
        // The row of a message that was dropped, or now has another time, may still be in the table and is left out.
        let holds = outbox::rid.eq(places::outbox).and(outbox::due_at.eq(places::leaves_at));
        let waits = holds.and(outbox::state.eq(DeliveryState::Queued.code()));
        let found = places::table.inner_join(outbox::table.on(waits));
        let found = found.filter(places::pair.eq(pair)).filter(places::leaves_at.gt(At(after))).order(places::leaves_at);
        let next = found.limit(i64::try_from(limit).unwrap_or(i64::MAX)).select(places::leaves_at);
        Ok(next.load::<At>(self.conn()?)?.into_iter().map(|at| at.0).collect())
    }

    fn departures(
        &mut self,
        pair: i64,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
        limit: usize,
    ) -> RowsResult<Vec<DateTime<Utc>>> {
        // A departure that lies in the future was written by a clock that has been set back since.
        let counts = departures::left_at.gt(At(since)).and(departures::left_at.le(At(until)));
        let found = departures::table.filter(departures::pair.eq(pair)).filter(counts).order(departures::left_at.desc());
        let newest = found.limit(i64::try_from(limit).unwrap_or(i64::MAX)).select(departures::left_at);
        Ok(newest.load::<At>(self.conn()?)?.into_iter().map(|at| at.0).collect())
    }
}
