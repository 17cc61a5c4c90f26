//! The places of open questions in the inboxes of people, and the questions that people have answered.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::name::Owner;
use domain::suspension::place::Place;

use super::Writing;
use super::suspensions::{is_open, with_intent_id};
use crate::columns::SuspensionColumns;
use crate::inbox_columns::{ListedColumns, listed, reads_of_inbox};
use crate::rows::{ListedRow, PlaceMarks, PlacedRow, ReadInbox, RowsResult, SuspensionRow, WriteInbox};
use crate::schema::{answered, counted_answers, inbox, intents, suspensions};
use crate::sql::{At, Owned};
use crate::sqlite::statements as hot;

impl WriteInbox for Writing<'_> {
    fn put_in_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String], marks: PlaceMarks) -> RowsResult<()> {
        let PlaceMarks { keeps_owner, is_plain } = marks;
        for place in places {
            hot::InsertInbox {
                place,
                due_at: &At(due_at),
                suspension: &suspension,
                keeps_owner: &keeps_owner,
                is_plain: &is_plain,
            }
            .execute(self.conn)?;
        }
        Ok(())
    }

    fn mark_in_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String]) -> RowsResult<()> {
        for place in places {
            let row = inbox::table.find((place, At(due_at), suspension));
            diesel::update(row).set(inbox::is_plain.eq(false)).execute(self.conn)?;
        }
        Ok(())
    }

    fn move_in_inbox(&mut self, suspension: i64, places: &[String], from: DateTime<Utc>, to: DateTime<Utc>) -> RowsResult<()> {
        for place in places {
            let row = inbox::table.find((place, At(from), suspension));
            diesel::update(row).set(inbox::due_at.eq(At(to))).execute(self.conn)?;
        }
        Ok(())
    }

    fn take_from_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String]) -> RowsResult<()> {
        for place in places {
            hot::DeleteInbox { place, due_at: &At(due_at), suspension: &suspension }.execute(self.conn)?;
        }
        Ok(())
    }

    fn insert_answered(&mut self, person: &str, suspension: i64) -> RowsResult<()> {
        hot::InsertAnswered { person, suspension: &suspension }.execute(self.conn)?;
        Ok(())
    }

    fn delete_answered(&mut self, person: &str, suspension: i64) -> RowsResult<()> {
        diesel::delete(answered::table.find((person, suspension))).execute(self.conn)?;
        Ok(())
    }
}

impl ReadInbox for SqliteConnection {
    reads_of_inbox!(self, self);

    fn suspensions_in(&mut self, rids: &[i64]) -> RowsResult<Vec<SuspensionRow>> {
        let found = suspensions::table.filter(suspensions::rid.eq_any(rids)).select(SuspensionColumns::selection());
        let found = found.load::<SuspensionColumns>(self)?;
        found.into_iter().map(|columns| with_intent_id(self, columns)).collect()
    }
}
