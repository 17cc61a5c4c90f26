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
        let values = (unsent_answers::suspension.eq(suspension), unsent_answers::person.eq(Key(person.0)), changes);
        let saved = diesel::insert_into(unsent_answers::table).values(values);
        let saved = saved.on_conflict((unsent_answers::suspension, unsent_answers::person)).do_update();
        saved.set(changes).execute(self.conn)?;
        Ok(())
    }

    fn delete_unsent(&mut self, suspension: i64, person: PersonId) -> RowsResult<()> {
        diesel::delete(unsent_answers::table.find((suspension, Key(person.0)))).execute(self.conn)?;
        Ok(())
    }

    fn delete_unsent_before(&mut self, time: DateTime<Utc>, limit: u32) -> RowsResult<u64> {
        let old = unsent_answers::table.filter(unsent_answers::kept_at.lt(At(time))).order(unsent_answers::kept_at);
        let old = old.select((unsent_answers::suspension, unsent_answers::person)).limit(i64::from(limit));
        let old = old.load::<(i64, Key)>(self.conn)?;
        for (suspension, person) in &old {
            diesel::delete(unsent_answers::table.find((suspension, person))).execute(self.conn)?;
        }
        Ok(old.len() as u64)
    }
}

impl ReadUnsent for SqliteConnection {
    fn unsent(&mut self, suspension: i64, person: PersonId) -> RowsResult<Option<UnsentRow>> {
        let kept = unsent_answers::table.find((suspension, Key(person.0)));
        let kept = kept.select((unsent_answers::form, unsent_answers::kept_at)).first::<(Vec<u8>, At)>(self).optional()?;
        Ok(kept.map(|(form, kept_at)| UnsentRow { form, kept_at: kept_at.0 }))
    }
}
