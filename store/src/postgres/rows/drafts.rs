//! The drafts of answers that people share.

use diesel::prelude::*;

use super::Writing;
use crate::postgres::session::Session;
use crate::rows::{DraftRow, ReadDrafts, RowsResult, WriteDrafts};
use crate::schema::drafts;
use crate::sql::At;

impl WriteDrafts for Writing<'_> {
    fn save_draft(&mut self, suspension: i64, row: &DraftRow) -> RowsResult<()> {
        let changes = (drafts::texts.eq(&row.texts), drafts::saved_at.eq(At(row.saved_at)));
        let values = (drafts::suspension.eq(suspension), drafts::person.eq(&row.person), changes);
        let saved = diesel::insert_into(drafts::table).values(values);
        let saved = saved.on_conflict((drafts::suspension, drafts::person)).do_update();
        saved.set(changes).execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_draft(&mut self, suspension: i64, person: &str) -> RowsResult<()> {
        diesel::delete(drafts::table.find((suspension, person))).execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_drafts(&mut self, suspension: i64) -> RowsResult<()> {
        diesel::delete(drafts::table.filter(drafts::suspension.eq(suspension))).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadDrafts for Session {
    fn drafts(&mut self, suspension: i64) -> RowsResult<Vec<DraftRow>> {
        let saved = drafts::table.filter(drafts::suspension.eq(suspension)).order((drafts::saved_at, drafts::person));
        let saved =
            saved.select((drafts::person, drafts::texts, drafts::saved_at)).load::<(String, Vec<u8>, At)>(self.conn()?)?;
        Ok(saved.into_iter().map(|(person, texts, At(saved_at))| DraftRow { person, texts, saved_at }).collect())
    }
}
