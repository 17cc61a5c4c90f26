//! Announced questions that have not come yet, and the ids that clients gave their questions.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::intent::announcement::Announcement;

use super::Writing;
use crate::columns::AnnouncementColumns;
use crate::postgres::session::Session;
use crate::rows::{Code, ReadAnnouncements, RowsResult, WriteAnnouncements};
use crate::schema::{announcements, client_ids};
use crate::sql::{At, Key, Owned};

impl WriteAnnouncements for Writing<'_> {
    fn insert_announcement(&mut self, intent: i64, announced: &Announcement) -> RowsResult<()> {
        let row = (
            announcements::intent.eq(intent),
            announcements::id.eq(Key(announced.id.0)),
            announcements::from_status.eq(announced.from.code()),
            announcements::announced_at.eq(At(announced.at)),
            announcements::asker.eq(&announced.by.name),
            announcements::asker_owner.eq(Owned(announced.by.owner.clone())),
        );
        diesel::insert_into(announcements::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_announcement(&mut self, intent: i64) -> RowsResult<()> {
        diesel::delete(announcements::table.find(intent)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_client_id(&mut self, intent: i64, client_id: &str, suspension: i64) -> RowsResult<()> {
        let row = (client_ids::intent.eq(intent), client_ids::client_id.eq(client_id), client_ids::suspension.eq(suspension));
        diesel::insert_into(client_ids::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadAnnouncements for Session {
    fn announcement(&mut self, intent: i64) -> RowsResult<Option<Announcement>> {
        let found = announcements::table.find(intent).select(AnnouncementColumns::selection());
        let found = found.get_result::<AnnouncementColumns>(self.conn()?).optional()?;
        found.map(AnnouncementColumns::into_announcement).transpose()
    }

    fn announcements_ahead(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<i64>> {
        let ahead = announcements::table.filter(announcements::announced_at.gt(At(now)));
        let ahead = ahead.order(announcements::announced_at).limit(i64::from(limit)).select(announcements::intent);
        Ok(ahead.load(self.conn()?)?)
    }

    fn due_announcements(&mut self, announced_by: DateTime<Utc>, limit: u32) -> RowsResult<Vec<i64>> {
        let due = announcements::table.filter(announcements::announced_at.le(At(announced_by)));
        let due = due.order(announcements::announced_at).limit(i64::from(limit)).select(announcements::intent);
        Ok(due.load(self.conn()?)?)
    }

    fn next_announcement(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        let oldest = announcements::table.select(diesel::dsl::min(announcements::announced_at));
        Ok(oldest.first::<Option<At>>(self.conn()?)?.map(|at| at.0))
    }

    fn by_client_id(&mut self, intent: i64, client_id: &str) -> RowsResult<Option<i64>> {
        let found = client_ids::table.find((intent, client_id)).select(client_ids::suspension);
        Ok(found.get_result(self.conn()?).optional()?)
    }
}
