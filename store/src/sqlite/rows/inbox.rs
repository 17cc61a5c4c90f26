//! The places of open questions in the inboxes of people, and the questions that people have answered.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::name::Owner;
use domain::suspension::place::Place;

use super::Writing;
use super::suspensions::{is_open, with_intent_id};
use crate::columns::SuspensionColumns;
use crate::inbox_columns::{ListedColumns, listed};
use crate::rows::{ListedRow, ReadInbox, RowsResult, SuspensionRow, WriteInbox};
use crate::schema::{answered, counted_answers, inbox, intents, suspensions};
use crate::sql::{At, Owned};
use crate::sqlite::statements as hot;

impl WriteInbox for Writing<'_> {
    fn put_in_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[Place]) -> RowsResult<()> {
        for place in places {
            hot::InsertInbox { place: &place.to_string(), due_at: &At(due_at), suspension: &suspension }.execute(self.conn)?;
        }
        Ok(())
    }

    fn move_in_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>) -> RowsResult<()> {
        let places = inbox::table.filter(inbox::suspension.eq(suspension));
        diesel::update(places).set(inbox::due_at.eq(At(due_at))).execute(self.conn)?;
        Ok(())
    }

    fn take_from_inbox(&mut self, suspension: i64) -> RowsResult<()> {
        hot::DeleteInbox { suspension: &suspension }.execute(self.conn)?;
        Ok(())
    }

    fn insert_answered(&mut self, person: &str, suspension: i64) -> RowsResult<()> {
        let row = (answered::person.eq(person), answered::suspension.eq(suspension));
        diesel::insert_into(answered::table).values(row).on_conflict_do_nothing().execute(self.conn)?;
        Ok(())
    }

    fn delete_answered(&mut self, person: &str, suspension: i64) -> RowsResult<()> {
        diesel::delete(answered::table.find((person, suspension))).execute(self.conn)?;
        Ok(())
    }
}

impl ReadInbox for SqliteConnection {
    fn at_place(
        &mut self,
        place: &Place,
        person: &str,
        after: Option<(DateTime<Utc>, i64)>,
        limit: u32,
    ) -> RowsResult<Vec<(DateTime<Utc>, ListedRow)>> {
        let counted = counted_answers::suspension.eq(inbox::suspension).and(counted_answers::person.eq(person));
        let joined = inbox::table.inner_join(suspensions::table.on(suspensions::rid.eq(inbox::suspension)));
        let joined = joined.left_join(counted_answers::table.on(counted));
        let mut found = joined.filter(inbox::place.eq(place.to_string())).filter(is_open()).into_boxed();
        if let Some((due_at, rid)) = after {
            // The first condition bounds the range of the index; the second one leaves out its beginning.
            found = found.filter(inbox::due_at.ge(At(due_at)));
            found = found.filter(inbox::due_at.gt(At(due_at)).or(inbox::suspension.gt(rid)));
        }
        let found = found.order((inbox::due_at, inbox::suspension)).limit(i64::from(limit)).select((inbox::due_at, listed()));
        let found = found.load::<(At, ListedColumns)>(self)?;
        found.into_iter().map(|(due_at, columns)| Ok((due_at.0, columns.into_row()?))).collect()
    }

    fn listed_open(&mut self, person: &str, before: Option<i64>, limit: u32) -> RowsResult<Vec<ListedRow>> {
        let counted = counted_answers::suspension.eq(suspensions::rid).and(counted_answers::person.eq(person));
        let mut open = suspensions::table.left_join(counted_answers::table.on(counted)).filter(is_open()).into_boxed();
        if let Some(before) = before {
            open = open.filter(suspensions::rid.lt(before));
        }
        let open = open.order(suspensions::rid.desc()).limit(i64::from(limit)).select(listed());
        open.load::<ListedColumns>(self)?.into_iter().map(ListedColumns::into_row).collect()
    }

    fn listed_answered(&mut self, person: &str, before: Option<i64>, limit: u32) -> RowsResult<Vec<ListedRow>> {
        let counted = counted_answers::suspension.eq(answered::suspension).and(counted_answers::person.eq(person));
        let joined = answered::table.inner_join(suspensions::table.on(suspensions::rid.eq(answered::suspension)));
        let joined = joined.left_join(counted_answers::table.on(counted));
        let mut found = joined.filter(answered::person.eq(person)).into_boxed();
        if let Some(before) = before {
            found = found.filter(answered::suspension.lt(before));
        }
        let found = found.order(answered::suspension.desc()).limit(i64::from(limit)).select(listed());
        found.load::<ListedColumns>(self)?.into_iter().map(ListedColumns::into_row).collect()
    }

    fn owners_in(&mut self, rids: &[i64]) -> RowsResult<Vec<(i64, Owner)>> {
        let found = intents::table.filter(intents::rid.eq_any(rids)).select((intents::rid, intents::creator_owner));
        let found = found.load::<(i64, Owned)>(self)?;
        Ok(found.into_iter().map(|(rid, owner)| (rid, owner.0)).collect())
    }

    fn suspensions_in(&mut self, rids: &[i64]) -> RowsResult<Vec<SuspensionRow>> {
        let found = suspensions::table.filter(suspensions::rid.eq_any(rids)).select(SuspensionColumns::selection());
        let found = found.load::<SuspensionColumns>(self)?;
        found.into_iter().map(|columns| with_intent_id(self, columns)).collect()
    }
}
