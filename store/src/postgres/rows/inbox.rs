//! The places of open questions in the inboxes of people, and the questions that people have answered.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::base::ids::IntentId;
use domain::base::name::Owner;
use domain::suspension::place::Place;

use super::Writing;
use super::suspensions::is_open;
use crate::columns::SuspensionColumns;
use crate::inbox_columns::{ListedColumns, listed, reads_of_inbox};
use crate::postgres::session::Session;
use crate::postgres::statements as hot;
use crate::rows::{ListedRow, PlaceMarks, PlacedRow, ReadInbox, RowsResult, SuspensionRow, WriteInbox};
use crate::schema::{answered, counted_answers, inbox, intents, suspensions};
use crate::sql::{At, Key, Owned};

impl WriteInbox for Writing<'_> {
    fn put_in_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String], marks: PlaceMarks) -> RowsResult<()> {
        let PlaceMarks { keeps_owner, is_plain } = marks;
        for place in places {
            self.session
                .later(hot::InsertInbox { place: place.clone(), due_at: At(due_at), suspension, keeps_owner, is_plain }, None)?;
        }
        Ok(())
    }

    fn mark_in_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String]) -> RowsResult<()> {
        for place in places {
            let row = inbox::table.find((place, At(due_at), suspension));
            diesel::update(row).set(inbox::is_plain.eq(false)).execute(self.session.conn()?)?;
        }
        Ok(())
    }

    fn move_in_inbox(&mut self, suspension: i64, places: &[String], from: DateTime<Utc>, to: DateTime<Utc>) -> RowsResult<()> {
        for place in places {
            let row = inbox::table.find((place, At(from), suspension));
            diesel::update(row).set(inbox::due_at.eq(At(to))).execute(self.session.conn()?)?;
        }
        Ok(())
    }

    fn take_from_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String]) -> RowsResult<()> {
        for place in places {
            self.session.later(hot::DeleteInbox { place: place.clone(), due_at: At(due_at), suspension }, None)?;
        }
        Ok(())
    }

    fn insert_answered(&mut self, person: &str, suspension: i64) -> RowsResult<()> {
        self.session.later(hot::InsertAnswered { person: person.to_owned(), suspension }, None)
    }

    fn delete_answered(&mut self, person: &str, suspension: i64) -> RowsResult<()> {
        diesel::delete(answered::table.find((person, suspension))).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadInbox for Session {
    reads_of_inbox!(self, self.conn()?);

    fn suspensions_in(&mut self, rids: &[i64]) -> RowsResult<Vec<SuspensionRow>> {
        let with_intent = suspensions::table.inner_join(intents::table.on(intents::rid.eq(suspensions::intent)));
        let found = with_intent.filter(suspensions::rid.eq_any(rids)).select((SuspensionColumns::selection(), intents::id));
        let found = found.load::<(SuspensionColumns, Key)>(self.conn()?)?;
        found.into_iter().map(|(columns, intent)| columns.into_row(IntentId(intent.0))).collect()
    }
}
