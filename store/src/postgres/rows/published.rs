//! The events that streams carry, in the order of their transactions' numbers; the migration that makes the table `published`
//! says why that order is safe.

use diesel::prelude::*;
use diesel::sql_types::BigInt;

use super::Writing;
use crate::postgres::session::Session;
use crate::rows::{ReadPublished, RowsResult, WritePublished};
use crate::schema::published;
use crate::stream::{PublishedRow, StreamCursor};

/// The first position at which a transaction that still runs may add a row.
const END: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + last_value AS position, 0::bigint AS rid FROM published_offset";
const OF_ALL: &str = "SELECT position, rid, intent FROM published WHERE (position, rid) > ($1, $2) AND position < $3 \
                      ORDER BY position, rid LIMIT $4";
const OF_ONE: &str = "SELECT position, rid, intent FROM published WHERE intent = $5 AND (position, rid) > ($1, $2) AND position < $3 \
                      ORDER BY position, rid LIMIT $4";

const BEFORE: &str = "SELECT position, rid FROM published WHERE position < $1 ORDER BY position DESC, rid DESC LIMIT 1 OFFSET $2";

#[derive(QueryableByName)]
struct At {
    #[diesel(sql_type = BigInt)]
    position: i64,
    #[diesel(sql_type = BigInt)]
    rid: i64,
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = BigInt)]
    position: i64,
    #[diesel(sql_type = BigInt)]
    rid: i64,
    #[diesel(sql_type = BigInt)]
    intent: i64,
}

impl WritePublished for Writing<'_> {
    fn publish(&mut self, event: i64, intent: i64) -> RowsResult<()> {
        let new = (published::rid.eq(event), published::intent.eq(intent));
        self.session.later(diesel::insert_into(published::table).values(new), None)
    }
}

impl ReadPublished for Session {
    fn published_end(&mut self) -> RowsResult<StreamCursor> {
        let At { position, rid } = diesel::sql_query(END).get_result(self.conn()?)?;
        Ok(StreamCursor { position, rid })
    }

    fn published_before(&mut self, end: StreamCursor, count: usize) -> RowsResult<StreamCursor> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let before = diesel::sql_query(BEFORE).bind::<BigInt, _>(end.position).bind::<BigInt, _>(count);
        let before = before.get_result::<At>(self.conn()?).optional()?;
        Ok(before.map_or(StreamCursor::BEGIN, |At { position, rid }| StreamCursor { position, rid }))
    }

    fn published(
        &mut self,
        intent: Option<i64>,
        after: StreamCursor,
        end: StreamCursor,
        limit: u32,
    ) -> RowsResult<Vec<PublishedRow>> {
        let query = diesel::sql_query(if intent.is_some() { OF_ONE } else { OF_ALL })
            .bind::<BigInt, _>(after.position)
            .bind::<BigInt, _>(after.rid)
            .bind::<BigInt, _>(end.position)
            .bind::<BigInt, _>(i64::from(limit));
        let found: Vec<Found> = match intent {
            Some(intent) => query.bind::<BigInt, _>(intent).load(self.conn()?)?,
            None => query.load(self.conn()?)?,
        };
        let row = |Found { position, rid, intent }| PublishedRow { at: StreamCursor { position, rid }, intent };
        Ok(found.into_iter().map(row).collect())
    }
}
