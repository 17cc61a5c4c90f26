//! The answers that count towards the quorums of open questions.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::Writing;
use crate::rows::{AnswerRow, ReadAnswers, RowsResult, WriteAnswers};
use crate::schema::counted_answers;

impl WriteAnswers for Writing<'_> {
    fn save_answer(&mut self, suspension: i64, answer: &AnswerRow) -> RowsResult<()> {
        let row = (
            counted_answers::suspension.eq(suspension),
            counted_answers::person.eq(&answer.person),
            counted_answers::event.eq(answer.event),
        );
        let saved = diesel::insert_into(counted_answers::table).values(row);
        let saved = saved.on_conflict((counted_answers::suspension, counted_answers::person)).do_update();
        saved.set(counted_answers::event.eq(answer.event)).execute(self.conn)?;
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
        let answers = answers.select((counted_answers::person, counted_answers::event)).load(self)?;
        Ok(answers.into_iter().map(|(person, event)| AnswerRow { person, event }).collect())
    }
}
