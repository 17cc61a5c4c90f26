//! The answers that count towards the quorums of open questions.

use domain::base::ids::PersonId;

use super::error::RowsResult;

/// The event by which a person's answer was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerRow {
    /// The address of the person.
    pub(crate) person: String,
    /// The id that the person had in the list; absent in rows of earlier versions.
    pub(crate) id: Option<PersonId>,
    /// The event.
    pub(crate) event: i64,
}

/// Writes counted answers, in one transaction.
pub(crate) trait WriteAnswers {
    /// Counts an answer, in place of the one that the person has given before.
    fn save_answer(&mut self, suspension: i64, answer: &AnswerRow) -> RowsResult<()>;
    fn delete_answer(&mut self, suspension: i64, person: &str) -> RowsResult<()>;
    /// Deletes all answers of a question that has ended.
    fn delete_answers(&mut self, suspension: i64) -> RowsResult<()>;
}

/// Reads counted answers, inside a transaction that writes or outside.
pub(crate) trait ReadAnswers {
    /// The counted answers of a question, in the order of their events.
    fn answers(&mut self, suspension: i64) -> RowsResult<Vec<AnswerRow>>;
}
