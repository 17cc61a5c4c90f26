//! Judges answers by a schema.

use jsonschema::error::ValidationErrorKind;
use serde_json::{Value, json};

use super::shape::{Field, Format, Kind, Shape};
use super::{ANSWER_BYTES_MAX, PATTERN_TEXT_MAX, Problem, Schema, TEXT_MAX, rules, segment};
use crate::base::text::visible;
use crate::base::{json, words};

/// How a code point begins that [`visible`] puts in the place of a character.
const CODE_POINT: &str = "⟨U+";

/// Every place where an answer breaks a rule; the places in the order of the text of their pointers.
pub(super) fn answer(schema: &Schema, shape: &Shape, answer: &Value) -> Vec<Problem> {
    if json::size(answer) > ANSWER_BYTES_MAX {
        return vec![Problem::new("", "length", format!("must be at most {ANSWER_BYTES_MAX} bytes of JSON"))];
    }
    // A longer text would take longer to be compared with its pattern, so it is not compared.
    let long: Vec<Problem> = shape.fields().filter_map(|field| too_long(field, answer)).collect();
    if !long.is_empty() {
        return long;
    }
    let Some(validator) = rules::validator(&Value::Object(schema.members().clone())) else {
        return vec![Problem::new("", "schema", "cannot be checked: the schema is none that this server accepts")];
    };
    let mut problems: Vec<Problem> = validator
        .iter_errors(answer)
        .map(|error| {
            let pointer = error.instance_path().to_string();
            problem(pointer, error.kind())
        })
        .collect();
    problems.sort_by(|one, other| (&one.pointer, &one.rule).cmp(&(&other.pointer, &other.rule)));
    // A text can break its format and its pattern at once. People read one sentence at each field.
    problems.dedup_by(|one, other| one.pointer == other.pointer);
    problems
}

/// Every default that is not an answer to its own field.
pub(super) fn defaults(schema: &Schema, shape: &Shape) -> Vec<Problem> {
    let mut problems = Vec::new();
    for field in shape.fields() {
        let Some(default) = &field.default else { continue };
        let at = in_schema(&field.pointer);
        let declared = Value::Object(schema.members().clone()).pointer(&at).cloned().unwrap_or_else(|| json!({}));
        let is_valid = too_long_text(field, default).is_none()
            && rules::validator(&declared).is_some_and(|validator| validator.is_valid(default));
        if !is_valid {
            problems.push(Problem::new(format!("{at}/default"), "default", "must be an answer that the field accepts"));
        }
        // The control of a field cannot show code points in place of characters, so the person could not see what is sent.
        if default.as_str().is_some_and(has_hidden) {
            problems.push(Problem::new(
                format!("{at}/default"),
                "characters",
                "must have no character that shows nothing or turns text around",
            ));
        }
    }
    problems
}

/// Whether a page shows code points in place of characters of this text.
fn has_hidden(text: &str) -> bool {
    let shown = |text: &str| text.matches(CODE_POINT).count();
    shown(&visible(text)) > shown(text)
}

/// The place of a field in the schema, by its place in the answer.
fn in_schema(pointer: &str) -> String {
    pointer.split('/').skip(1).fold(String::new(), |at, name| format!("{at}/properties/{name}"))
}

fn too_long(field: &Field, answer: &Value) -> Option<Problem> {
    too_long_text(field, answer.pointer(&field.pointer)?)
}

fn too_long_text(field: &Field, value: &Value) -> Option<Problem> {
    let Kind::Text { pattern, .. } = &field.kind else { return None };
    let most = if pattern.is_some() { PATTERN_TEXT_MAX } else { TEXT_MAX };
    let length = u64::try_from(value.as_str()?.chars().count()).unwrap_or(u64::MAX);
    (length > most).then(|| Problem::new(field.pointer.clone(), "maxLength", words::at_most_characters(most)))
}

/// An error of the crate, in our words.
#[expect(clippy::wildcard_enum_match_arm, reason = "the crate knows more keywords than a schema may have here")]
fn problem(pointer: String, kind: &ValidationErrorKind) -> Problem {
    use ValidationErrorKind as Broken;
    let rule = kind.keyword().to_owned();
    let (pointer, message) = match kind {
        Broken::Required { property } => {
            (format!("{pointer}/{}", segment(property.as_str().unwrap_or_default())), words::IS_MISSING.to_owned())
        }
        Broken::AdditionalProperties { unexpected } => {
            let name = unexpected.first().map(String::as_str).unwrap_or_default();
            (format!("{pointer}/{}", segment(name)), words::NO_SUCH_FIELD.to_owned())
        }
        Broken::Enum { .. } | Broken::Constant { .. } | Broken::OneOfNotValid { .. } | Broken::AnyOf { .. } => {
            (pointer, words::OPTION_NEEDED.to_owned())
        }
        Broken::Minimum { limit } => (pointer, words::at_least(&limit.to_string())),
        Broken::Maximum { limit } => (pointer, words::at_most(&limit.to_string())),
        Broken::ExclusiveMinimum { limit } => (pointer, words::more_than(&limit.to_string())),
        Broken::ExclusiveMaximum { limit } => (pointer, words::less_than(&limit.to_string())),
        Broken::MultipleOf { multiple_of } => (pointer, words::multiple_of(&multiple_of.to_string())),
        Broken::MinLength { limit } => (pointer, words::at_least_characters(*limit)),
        Broken::MaxLength { limit } => (pointer, words::at_most_characters(*limit)),
        Broken::MinItems { limit } => (pointer, words::at_least_options(*limit)),
        Broken::MaxItems { limit } => (pointer, words::at_most_options(*limit)),
        Broken::UniqueItems => (pointer, words::ONCE_EACH.to_owned()),
        Broken::Pattern { pattern } => (pointer, words::must_match(pattern)),
        Broken::Format { format } => {
            let known = Format::ALL.into_iter().find(|known| known.name() == format);
            (pointer, known.map_or_else(|| words::ANOTHER_KIND.to_owned(), Format::sentence))
        }
        _ => (pointer, words::ANOTHER_KIND.to_owned()),
    };
    Problem { pointer, rule, message }
}
