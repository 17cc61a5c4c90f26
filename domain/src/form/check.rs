//! Judges answers by a schema.

use jsonschema::JsonType;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Value, json};

use super::number::in_words;
use super::shape::{Field, Format, Kind, Shape};
use super::{ANSWER_BYTES_MAX, PATTERN_TEXT_MAX, Problem, Schema, TEXT_MAX, rules, segment};
use crate::base::json;
use crate::base::text::is_visible;
use crate::base::words::Language;

/// Every place where an answer breaks a rule; the places in the order of the text of their pointers.
pub(super) fn answer(schema: &Schema, shape: &Shape, answer: &Value, language: Language) -> Vec<Problem> {
    if json::size(answer) > ANSWER_BYTES_MAX {
        return vec![Problem::new("", "length", format!("must be at most {ANSWER_BYTES_MAX} bytes of JSON"))];
    }
    // A longer text would take longer to be compared with its pattern, so it is not compared.
    let long: Vec<Problem> = shape.fields().filter_map(|field| too_long(field, answer, language)).collect();
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
            problem(pointer, error.kind(), language)
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
        let is_valid = too_long_text(field, default, Language::English).is_none()
            && rules::validator(&declared).is_some_and(|validator| validator.is_valid(default));
        if !is_valid {
            problems.push(Problem::new(format!("{at}/default"), "default", "must be an answer that the field accepts"));
        }
        let mut texts = default.as_array().into_iter().flatten().chain([default]).filter_map(Value::as_str);
        problems.extend(texts.find_map(|text| hidden(format!("{at}/default"), text)));
    }
    problems
}

/// The problem of a text of the agent that stands in a field at first. A control shows it as it is, with neither code points in the place of
/// characters nor the lengths of gaps, so the person would send words that stand out of sight.
pub(crate) fn hidden(pointer: String, text: &str) -> Option<Problem> {
    let message = "must not have characters that people cannot see, nor long gaps: people may edit it";
    (!is_visible(text)).then(|| Problem::new(pointer, "characters", message))
}

/// The place of a field in the schema, by its place in the answer.
fn in_schema(pointer: &str) -> String {
    pointer.split('/').skip(1).fold(String::new(), |at, name| format!("{at}/properties/{name}"))
}

fn too_long(field: &Field, answer: &Value, language: Language) -> Option<Problem> {
    too_long_text(field, answer.pointer(&field.pointer)?, language)
}

fn too_long_text(field: &Field, value: &Value, language: Language) -> Option<Problem> {
    let Kind::Text { pattern, .. } = &field.kind else { return None };
    let most = if pattern.is_some() { PATTERN_TEXT_MAX } else { TEXT_MAX };
    let length = u64::try_from(value.as_str()?.chars().count()).unwrap_or(u64::MAX);
    (length > most).then(|| Problem::new(field.pointer.clone(), "maxLength", language.at_most_characters(most)))
}

/// The sentence about a value of another kind than the schema asks for.
const fn kind_needed(needed: JsonType, language: Language) -> &'static str {
    match needed {
        JsonType::Number => language.a_number_needed(),
        JsonType::Integer => language.whole_number_needed(),
        JsonType::String => language.a_text_needed(),
        JsonType::Boolean => language.a_boolean_needed(),
        JsonType::Array => language.a_list_needed(),
        JsonType::Object => language.an_object_needed(),
        JsonType::Null => language.another_kind(),
    }
}

/// An error of the crate, in our words.
#[expect(clippy::wildcard_enum_match_arm, reason = "the crate knows more keywords than a schema may have here")]
fn problem(pointer: String, kind: &ValidationErrorKind, language: Language) -> Problem {
    use ValidationErrorKind as Broken;
    let rule = kind.keyword().to_owned();
    let (pointer, message) = match kind {
        Broken::Required { property } => {
            (format!("{pointer}/{}", segment(property.as_str().unwrap_or_default())), language.is_missing().to_owned())
        }
        Broken::AdditionalProperties { unexpected } => {
            let name = unexpected.first().map(String::as_str).unwrap_or_default();
            (format!("{pointer}/{}", segment(name)), language.no_such_field().to_owned())
        }
        Broken::Enum { .. } | Broken::Constant { .. } | Broken::OneOfNotValid { .. } | Broken::AnyOf { .. } => {
            (pointer, language.option_needed().to_owned())
        }
        Broken::Minimum { limit } => (pointer, language.at_least(&in_words(&limit.to_string(), language))),
        Broken::Maximum { limit } => (pointer, language.at_most(&in_words(&limit.to_string(), language))),
        Broken::ExclusiveMinimum { limit } => (pointer, language.more_than(&in_words(&limit.to_string(), language))),
        Broken::ExclusiveMaximum { limit } => (pointer, language.less_than(&in_words(&limit.to_string(), language))),
        Broken::MultipleOf { multiple_of } => (pointer, language.multiple_of(&in_words(&multiple_of.to_string(), language))),
        Broken::MinLength { limit } => (pointer, language.at_least_characters(*limit)),
        Broken::MaxLength { limit } => (pointer, language.at_most_characters(*limit)),
        Broken::MinItems { limit } => (pointer, language.at_least_options(*limit)),
        Broken::MaxItems { limit } => (pointer, language.at_most_options(*limit)),
        Broken::UniqueItems => (pointer, language.once_each().to_owned()),
        Broken::Type { kind: TypeKind::Single(needed) } => (pointer, kind_needed(*needed, language).to_owned()),
        Broken::Pattern { pattern } => (pointer, language.must_match(pattern)),
        Broken::Format { format } => {
            let known = Format::ALL.into_iter().find(|known| known.name() == format);
            (pointer, known.map_or_else(|| language.another_kind().to_owned(), |format| format.sentence(language)))
        }
        _ => (pointer, language.another_kind().to_owned()),
    };
    Problem { pointer, rule, message }
}
