//! The forms that people sent before a login.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::PersonId;

use super::Writing;
use crate::rows::{ReadUnsent, RowsResult, UnsentRow, WriteUnsent};
use crate::schema::unsent_answers;
use crate::sql::{At, Key};

impl WriteUnsent for Writing<'_> {
    fn save_unsent(&mut self, suspension: i64, person: PersonId, row: &UnsentRow) -> RowsResult<()> {
        let changes = (unsent_answers::form.eq(&row.form), unsent_answers::kept_at.eq(At(row.kept_at)));
        let key = (
            unsent_answers::suspension.eq(suspension),
            unsent_answers::person.eq(Key(person.0)),
            unsent_answers::browser.eq(&row.browser),
        );
        let values = (key, changes);
        let saved = diesel::insert_into(unsent_answers::table).values(values);
        let saved = saved.on_conflict((unsent_answers::suspension, unsent_answers::person, unsent_answers::browser)).do_update();
        saved.set(changes).execute(self.conn)?;
        Ok(())
    }

    fn delete_unsent(&mut self, suspension: i64, person: PersonId) -> RowsResult<()> {
        let own = unsent_answers::suspension.eq(suspension).and(unsent_answers::person.eq(Key(person.0)));
        diesel::delete(unsent_answers::table.filter(own)).execute(self.conn)?;
        Ok(())
    }

    fn delete_unsent_before(&mut self, time: DateTime<Utc>, limit: u32) -> RowsResult<u64> {
        let old = unsent_answers::table.filter(unsent_answers::kept_at.lt(At(time))).order(unsent_answers::kept_at);
        let old =
            old.select((unsent_answers::suspension, unsent_answers::person, unsent_answers::browser)).limit(i64::from(limit));
        let old = old.load::<(i64, Key, Vec<u8>)>(self.conn)?;
        for (suspension, person, browser) in &old {
            diesel::delete(unsent_answers::table.find((suspension, person, browser))).execute(self.conn)?;
        }
        Ok(old.len() as u64)
    }
}

impl ReadUnsent for SqliteConnection {
    fn unsent(&mut self, suspension: i64, person: PersonId) -> RowsResult<Vec<UnsentRow>> {
        let own = unsent_answers::suspension.eq(suspension).and(unsent_answers::person.eq(Key(person.0)));
        let kept = unsent_answers::table.filter(own).order(unsent_answers::kept_at.desc());
        let kept = kept.select((unsent_answers::browser, unsent_answers::form, unsent_answers::kept_at));
        let kept = kept.load::<(Vec<u8>, Vec<u8>, At)>(self)?;
        Ok(kept.into_iter().map(|(browser, form, At(kept_at))| UnsentRow { browser, form, kept_at }).collect())
    }
}
