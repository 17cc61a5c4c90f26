//! The events that streams carry. A file has one writer, so the order of their rows is the order of their commits.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::Writing;
use crate::rows::{ReadPublished, RowsResult, WritePublished};
use crate::schema::published;
use crate::stream::{PublishedRow, StreamCursor};

fn at(rid: i64) -> StreamCursor {
    StreamCursor { position: rid, rid }
}

impl WritePublished for Writing<'_> {
    fn publish(&mut self, event: i64, intent: i64) -> RowsResult<()> {
        let new = (published::rid.eq(event), published::intent.eq(intent));
        diesel::insert_into(published::table).values(new).execute(self.conn)?;
        Ok(())
    }
}

impl ReadPublished for SqliteConnection {
    fn published_end(&mut self) -> RowsResult<StreamCursor> {
        let newest = published::table.order(published::rid.desc()).select(published::rid).first::<i64>(self).optional()?;
        Ok(at(newest.unwrap_or_default()))
    }

    fn published_before(&mut self, _: StreamCursor, count: usize) -> RowsResult<StreamCursor> {
        let newest = published::table.order(published::rid.desc()).select(published::rid);
        let before = newest.limit(1).offset(i64::try_from(count).unwrap_or(i64::MAX)).load::<i64>(self)?;
        Ok(at(before.first().copied().unwrap_or_default()))
    }

    fn published(
        &mut self,
        intent: Option<i64>,
        after: StreamCursor,
        _: StreamCursor,
        limit: u32,
    ) -> RowsResult<Vec<PublishedRow>> {
        let behind = published::table.filter(published::rid.gt(after.rid)).order(published::rid).limit(i64::from(limit));
        let behind = behind.select((published::rid, published::intent));
        let found = match intent {
            Some(intent) => behind.filter(published::intent.eq(intent)).load::<(i64, i64)>(self)?,
            None => behind.load::<(i64, i64)>(self)?,
        };
        Ok(found.into_iter().map(|(rid, intent)| PublishedRow { at: at(rid), intent }).collect())
    }
}
