//! Several questions with one form.

use domain::asking::several;
use domain::base::field::FieldError;
use domain::form::Schema;
use domain::wire::SuspendRequest;
use serde_json::Value;

use crate::question::Question;

impl<T> Question<T> {
    /// Asks several questions with one [form](Question::form): a list of 1 to 20 objects with the members `name`, `question`,
    /// `description`, `response_type` (`choice`, `confirm` or `text`), `choices`, `multiple` and `required`. The answer is an object with
    /// a member for each name.
    ///
    /// ```
    /// # use placet::Question;
    /// # use serde_json::{Value, json};
    /// let contract = Question::form::<Value>("What does the contract say?").questions(json!([
    ///     {"name": "law", "question": "Which law applies?", "choices": [{"value": "de", "label": "Germany"}, {"value": "no", "label": "Norway"}]},
    ///     {"name": "notice", "question": "May we give notice?", "response_type": "confirm"},
    /// ]));
    /// ```
    pub fn questions(mut self, questions: Value) -> Self {
        match serde_json::from_value(questions) {
            Ok(questions) => self.request.questions = Some(questions),
            Err(error) => self.errors.push(FieldError::new("questions", "type", format!("must be a list of questions: {error}"))),
        }
        self
    }
}

/// Whether a form has this schema: its own, or the one that its questions become.
pub(crate) fn is_schema_of(request: &SuspendRequest, recorded: Option<&Schema>) -> bool {
    match &request.questions {
        Some(questions) => several::schema(questions).ok().as_ref() == recorded,
        None => request.schema.as_ref() == recorded.map(Schema::members),
    }
}
