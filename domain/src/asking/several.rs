//! Several questions that are asked as one: a form with a field for each of them.
//!
//! The questions become the [schema](crate::form::Schema) of the form when the question is asked. The page, the log, the drafts, the hash
//! of what was shown and the verifier know the schema alone, so an answer to several questions has no rule of its own.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::text::is_blank;
use crate::form::{Problem, Schema, segment};
use crate::suspension::{ResponseType, SuspensionChoice};
use crate::wire::{OptionRequest, QuestionRequest};

/// The most questions that one form asks.
pub const QUESTIONS_MAX: usize = 20;
/// The member of the request.
const QUESTIONS: &str = "questions";

/// The schema of the form that asks these questions: each has the member of its name in the answer.
///
/// # Errors
///
/// Every place where a question breaks a rule.
pub fn schema(questions: &[QuestionRequest]) -> Result<Schema, Vec<FieldError>> {
    if questions.is_empty() || questions.len() > QUESTIONS_MAX {
        return Err(vec![FieldError::new(QUESTIONS, "count", format!("must have 1 to {QUESTIONS_MAX} entries"))]);
    }
    let errors = flaws(questions);
    if !errors.is_empty() {
        return Err(errors);
    }
    let names: Vec<&str> = questions.iter().map(|question| question.name.as_str()).collect();
    let required: Vec<&str> =
        questions.iter().filter(|question| question.is_required()).map(|question| question.name.as_str()).collect();
    let properties: Map<String, Value> = questions.iter().map(|question| (question.name.clone(), property(question))).collect();
    let form = [
        ("type", json!("object")),
        ("properties", json!(properties)),
        ("required", json!(required)),
        ("x-order", json!(names)),
        ("additionalProperties", json!(false)),
    ];
    let form = form.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect();
    Schema::accept(form).map_err(|problems| problems.into_iter().map(|problem| error(questions, problem)).collect())
}

/// The rules that the schema does not have: a name of each question's own, and members that fit together.
fn flaws(questions: &[QuestionRequest]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, question) in questions.iter().enumerate() {
        let mut error = |member: &str, rule: &str, message: &str| {
            errors.push(FieldError::new(format!("{QUESTIONS}[{index}].{member}"), rule, message));
        };
        if !seen.insert(question.name.as_str()) {
            error("name", "unique", "must be unique: an earlier question has the same name");
        }
        if is_blank(&question.question) {
            error("question", "required", "must not be blank");
        }
        for (choice, _) in question.choices.iter().flatten().enumerate().filter(|(_, choice)| is_blank(&choice.label)) {
            error(&format!("choices[{choice}].label"), "required", "must not be blank");
        }
        let choices = question.choices.as_ref().is_some_and(|choices| !choices.is_empty());
        match question.kind() {
            ResponseType::Choice if !choices => error("choices", "required", "a choice needs at least one entry"),
            ResponseType::Confirm | ResponseType::Text if choices => {
                error("choices", UNSUPPORTED, "must be left out: only a choice has choices");
            }
            ResponseType::Form => error("response_type", "value", "must be choice, confirm or text: a form has no form in it"),
            ResponseType::Choice | ResponseType::Confirm | ResponseType::Text => {}
        }
        if question.multiple == Some(true) && question.kind() != ResponseType::Choice {
            error("multiple", UNSUPPORTED, "must be left out: only a choice takes several answers");
        }
    }
    errors
}

impl QuestionRequest {
    /// The kind of answer expected, as for a question that is asked alone.
    fn kind(&self) -> ResponseType {
        self.response_type.unwrap_or_default()
    }

    fn is_required(&self) -> bool {
        self.required.unwrap_or(true)
    }
}

/// The field of one question.
fn property(question: &QuestionRequest) -> Value {
    let mut field = match question.kind() {
        // As alone, the answer to a confirm is yes or no.
        ResponseType::Confirm => {
            json!({"type": "string", "oneOf": SuspensionChoice::yes_no().iter().map(yes_or_no).collect::<Vec<_>>()})
        }
        ResponseType::Choice => {
            let choices: Vec<Value> = question.choices.iter().flatten().map(option).collect();
            let one = json!({"type": "string", "oneOf": choices});
            match question.multiple {
                // The answer to a question that must be answered names at least one of them.
                Some(true) if question.is_required() => {
                    json!({"type": "array", "uniqueItems": true, "items": one, "minItems": 1})
                }
                Some(true) => json!({"type": "array", "uniqueItems": true, "items": one}),
                Some(false) | None => one,
            }
        }
        ResponseType::Text | ResponseType::Form => json!({"type": "string", "minLength": 1}),
    };
    field["title"] = json!(question.question);
    if let Some(description) = &question.description {
        field["description"] = json!(description);
    }
    field
}

fn yes_or_no(choice: &SuspensionChoice) -> Value {
    json!({"const": choice.value, "title": choice.label})
}

fn option(choice: &OptionRequest) -> Value {
    let mut option = json!({"const": choice.value, "title": choice.label});
    if let Some(description) = &choice.description {
        option["description"] = json!(description);
    }
    option
}

/// A rule that the schema breaks, at the member of the request from which that part of the schema came.
fn error(questions: &[QuestionRequest], problem: Problem) -> FieldError {
    let place = questions.iter().enumerate().find_map(|(index, question)| {
        let rest = problem.pointer.strip_prefix(&format!("/properties/{}", segment(&question.name)))?;
        (rest.is_empty() || rest.starts_with('/')).then_some((index, rest))
    });
    let Some((index, rest)) = place else {
        return FieldError::new(QUESTIONS, &problem.rule, problem.message);
    };
    let rest = rest.strip_prefix("/items").unwrap_or(rest);
    let member = match rest.strip_prefix("/oneOf/").map(|rest| rest.split_once('/').unwrap_or((rest, ""))) {
        Some((choice, keyword)) => format!(
            "choices[{choice}]{}",
            match keyword {
                "title" => ".label",
                "description" => ".description",
                _ => ".value",
            }
        ),
        None => match rest {
            "/title" => "question",
            "/description" => "description",
            "/oneOf" => "choices",
            _ => "name",
        }
        .to_owned(),
    };
    FieldError::new(format!("{QUESTIONS}[{index}].{member}"), &problem.rule, problem.message)
}
