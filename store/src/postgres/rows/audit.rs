//! Reads over many questions at once, for the audit pages.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::log::Sealed;

use super::Writing;
use crate::columns::sealed_of;
use crate::inbox_columns::{MessageColumns, message_row};
use crate::postgres::session::Session;
use crate::rows::{MessageRow, ReadAudit, RowsResult, WriteAudit};
use crate::schema::{events, outbox, views};
use crate::sql::At;

impl WriteAudit for Writing<'_> {
    fn insert_view(&mut self, suspension: i64, recipient: &str, at: DateTime<Utc>) -> RowsResult<()> {
        let view = (views::suspension.eq(suspension), views::recipient.eq(recipient), views::first_at.eq(At(at)));
        diesel::insert_into(views::table).values(view).on_conflict_do_nothing().execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadAudit for Session {
    fn events_at(&mut self, rids: &[i64]) -> RowsResult<Vec<(i64, Sealed)>> {
        let found = events::table.filter(events::rid.eq_any(rids)).select((events::rid, (events::bytes, events::hash)));
        let found = found.load::<(i64, (Vec<u8>, Vec<u8>))>(self.conn()?)?;
        found.into_iter().map(|(rid, columns)| Ok((rid, sealed_of(columns)?))).collect()
    }

    fn asked_in(&mut self, first: i64, last: i64) -> RowsResult<Vec<(i64, String)>> {
        let asked = outbox::table.filter(outbox::suspension.between(first, last));
        Ok(asked.select((outbox::suspension, outbox::recipient)).distinct().load(self.conn()?)?)
    }

    fn messages_in(&mut self, first: i64, last: i64) -> RowsResult<Vec<MessageRow>> {
        let told = outbox::table.filter(outbox::suspension.between(first, last));
        let told = told.select((outbox::suspension, outbox::attempt, outbox::recipient, outbox::state)).distinct();
        told.load::<MessageColumns>(self.conn()?)?.into_iter().map(message_row).collect()
    }

    fn views_in(&mut self, first: i64, last: i64) -> RowsResult<Vec<(i64, String, DateTime<Utc>)>> {
        let viewed = views::table.filter(views::suspension.between(first, last));
        let viewed =
            viewed.select((views::suspension, views::recipient, views::first_at)).load::<(i64, String, At)>(self.conn()?)?;
        Ok(viewed.into_iter().map(|(suspension, recipient, at)| (suspension, recipient, at.0)).collect())
    }

    fn is_viewed(&mut self, suspension: i64, recipient: &str) -> RowsResult<bool> {
        let view = views::table.find((suspension, recipient)).select(views::suspension);
        Ok(view.first::<i64>(self.conn()?).optional()?.is_some())
    }
}
