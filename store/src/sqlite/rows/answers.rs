//! The answers that count towards the quorums of open questions.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::PersonId;

use super::Writing;
use crate::rows::{AnswerRow, ReadAnswers, RowsResult, WriteAnswers};
use crate::schema::counted_answers;
use crate::sql::Key;

impl WriteAnswers for Writing<'_> {
    fn save_answer(&mut self, suspension: i64, answer: &AnswerRow) -> RowsResult<()> {
        let given = (counted_answers::event.eq(answer.event), counted_answers::person_id.eq(answer.id.map(|id| Key(id.0))));
        let row = (counted_answers::suspension.eq(suspension), counted_answers::person.eq(&answer.person), given);
        let saved = diesel::insert_into(counted_answers::table).values(row);
        let saved = saved.on_conflict((counted_answers::suspension, counted_answers::person)).do_update();
        saved.set(given).execute(self.conn)?;
        Ok(())
    }

    fn delete_answer(&mut self, suspension: i64, person: &str) -> RowsResult<()> {
        diesel::delete(counted_answers::table.find((suspension, person))).execute(self.conn)?;
        Ok(())
    }

    fn delete_answers(&mut self, suspension: i64) -> RowsResult<()> {
        let answers = counted_answers::table.filter(counted_answers::suspension.eq(suspension));
        diesel::delete(answers).execute(self.conn)?;
        Ok(())
    }
}

impl ReadAnswers for SqliteConnection {
    fn answers(&mut self, suspension: i64) -> RowsResult<Vec<AnswerRow>> {
        let answers = counted_answers::table.filter(counted_answers::suspension.eq(suspension)).order(counted_answers::event);
        let columns = (counted_answers::person, counted_answers::event, counted_answers::person_id);
        let answers: Vec<(String, i64, Option<Key>)> = answers.select(columns).load(self)?;
        let row = |(person, event, id): (String, i64, Option<Key>)| AnswerRow { person, event, id: id.map(|id| PersonId(id.0)) };
        Ok(answers.into_iter().map(row).collect())
    }
}
