//! Checks whether a value is an answer to a question (RFC-0025 §8).

use serde_json::Value;

use crate::base::text::quoted;
use crate::form::Schema;
use crate::problem::Rejection;
use crate::suspension::{ResponseType, Suspension, SuspensionChoice, TEXT_ANSWER_BYTES_MAX};

/// How much of a refused value its refusal repeats, in characters.
const GIVEN_MAX: usize = 100;

/// Checks a value against a response type, its choices (RFC-0025 §8) and the schema of a form.
///
/// # Errors
///
/// `InvalidChoice` with the accepted values, or `Invalid` naming `value`, or the places in it that break the schema.
pub fn check_answer(
    response_type: ResponseType,
    choices: &[SuspensionChoice],
    schema: Option<&Schema>,
    value: &Value,
) -> Result<(), Rejection> {
    match response_type {
        ResponseType::Choice | ResponseType::Confirm => {
            if value.as_str().is_some_and(|text| choices.iter().any(|choice| choice.value == text)) {
                Ok(())
            } else {
                let valid_choices = choices.iter().map(|choice| choice.value.clone()).collect();
                Err(Rejection::InvalidChoice { given: given(value), valid_choices })
            }
        }
        ResponseType::Text => match value.as_str() {
            Some("") => Err(Rejection::invalid("value", "required", "a text answer must not be empty")),
            Some(text) if text.len() > TEXT_ANSWER_BYTES_MAX => {
                Err(Rejection::invalid("value", "length", format!("a text answer is at most {TEXT_ANSWER_BYTES_MAX} bytes")))
            }
            Some(_) => Ok(()),
            None => Err(Rejection::invalid("value", "type", "a text answer must be a string")),
        },
        ResponseType::Form => match schema.map(|schema| schema.check(value)) {
            Some(Err(problems)) => {
                Err(Rejection::Invalid { errors: problems.into_iter().map(|problem| problem.into_error("value")).collect() })
            }
            Some(Ok(())) | None => Ok(()),
        },
    }
}

/// A refused value, in a form in which a refusal can repeat it.
fn given(value: &Value) -> String {
    quoted(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), GIVEN_MAX)
}

impl Suspension {
    /// Checks a value against the response type, the choices (RFC-0025 §8) and the schema.
    ///
    /// # Errors
    ///
    /// `InvalidChoice` with the accepted values, or `Invalid` naming `value`, or the places in it that break the schema.
    pub fn check(&self, value: &Value) -> Result<(), Rejection> {
        check_answer(self.response_type, &self.choices, self.schema.as_deref(), value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_choice_accepts_its_values_and_nothing_else() {
        let choices = vec![SuspensionChoice::plain("approve", "Approve")];
        assert!(check_answer(ResponseType::Choice, &choices, None, &json!("approve")).is_ok());
        for wrong in [json!("Approve"), json!(""), json!(null), json!(1), json!(["approve"])] {
            let refused = check_answer(ResponseType::Choice, &choices, None, &wrong).unwrap_err();
            assert_eq!(refused, Rejection::InvalidChoice { given: given(&wrong), valid_choices: vec!["approve".into()] });
        }
    }

    #[test]
    fn text_holds_at_its_bound_and_not_beyond() {
        let check = |text: &str| check_answer(ResponseType::Text, &[], None, &json!(text));
        assert!(check("").is_err());
        assert!(check("x").is_ok());
        assert!(check(&"x".repeat(TEXT_ANSWER_BYTES_MAX)).is_ok());
        assert!(check(&"x".repeat(TEXT_ANSWER_BYTES_MAX + 1)).is_err());
        assert!(check_answer(ResponseType::Text, &[], None, &json!(5)).is_err());
    }

    #[test]
    fn confirm_is_yes_or_no() {
        let choices = SuspensionChoice::yes_no();
        assert!(check_answer(ResponseType::Confirm, &choices, None, &json!("yes")).is_ok());
        assert!(check_answer(ResponseType::Confirm, &choices, None, &json!(true)).is_err());
        assert!(check_answer(ResponseType::Confirm, &choices, None, &json!("Yes")).is_err());
    }

    /// The same function judges the answers of pages, of the API and of a log: a rule that one of them left out would be none.
    #[test]
    fn a_form_with_a_schema_names_each_place_that_breaks_it() {
        let schema =
            json!({"type": "object", "properties": {"amount": {"type": "integer", "maximum": 5}}, "required": ["amount"]});
        let schema = Schema::accept(schema.as_object().unwrap().clone()).unwrap();
        let check = |value| check_answer(ResponseType::Form, &[], Some(&schema), &value);
        assert!(check(json!({"amount": 5})).is_ok());
        let Err(Rejection::Invalid { errors }) = check(json!({"amount": 6})) else { panic!("6 is accepted") };
        assert_eq!((&*errors[0].field, &*errors[0].rule, &*errors[0].message), ("value/amount", "maximum", "must be at most 5"));
        assert!(check(json!({})).is_err() && check(json!(null)).is_err() && check(json!([])).is_err());
        assert!(check_answer(ResponseType::Form, &[], None, &json!({"amount": 6})).is_ok(), "without a schema all values pass");
    }
}
