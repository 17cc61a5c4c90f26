//! Forms: the JSON Schema that an agent declares for an answer, its fields, and the answers that satisfy it.
//!
//! Guarantee: what is accepted as a schema can be shown as fields, and an answer can be judged in a bounded time. Mechanism: a schema is
//! read into a [`Shape`], which knows a part of JSON Schema (draft 2020-12) and nothing else, under the limits below; only then the crate
//! `jsonschema` judges answers by it, with patterns in linear time, without network and files. Failure: a schema from a log that breaks
//! these rules accepts no answer.

mod check;
pub mod number;
mod read;
mod rules;
mod shape;
mod typed;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub(crate) use self::check::hidden;
pub use self::shape::{Bounds, Entry, Field, Format, Group, Kind, Lengths, Opt, Shape};
pub use self::typed::{TICKED, Typed};
use crate::base::field::FieldError;
use crate::base::words::Language;

/// The largest schema, in bytes of canonical JSON.
pub const SCHEMA_BYTES_MAX: usize = 16 * 1024;
/// The most fields of a form, those of its groups included.
pub const FIELDS_MAX: usize = 50;
/// The longest name of a field, in characters.
pub const NAME_MAX: usize = 64;
/// The longest title of a field, a group, an option or a form, in characters.
pub const TITLE_MAX: usize = 200;
/// The longest description of a field, a group, an option or a form, in characters.
pub const DESCRIPTION_MAX: usize = 2_000;
/// The most options of a field.
pub const OPTIONS_MAX: usize = 100;
/// The longest value of an option, in characters.
pub const OPTION_MAX: usize = 200;
/// The longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 500;
/// The most memory of a compiled pattern, in bytes: it bounds the steps for a character of an answer.
pub const PATTERN_SIZE_MAX: usize = 64 * 1024;
/// The longest text that is compared with a pattern, in characters.
pub const PATTERN_TEXT_MAX: u64 = 1_000;
/// The longest text in an answer, in characters, where the schema allows more or has no limit of its own.
pub const TEXT_MAX: u64 = 10_000;
/// The largest answer to a form with a schema, in bytes of canonical JSON.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A rule that a schema or an answer breaks, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The rule: a keyword of JSON Schema, or a name of ours.
    pub rule: String,
    /// The mistake, in words that complete a sentence about the place.
    pub message: String,
}

impl Problem {
    fn new(pointer: impl Into<String>, rule: &str, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), rule: rule.to_owned(), message: message.into() }
    }

    /// The problem as the error of a request whose member `member` has it.
    pub fn into_error(self, member: &str) -> FieldError {
        FieldError { field: format!("{member}{}", self.pointer), rule: self.rule, message: self.message }
    }
}

/// The JSON Schema of a form's answer, as the agent wrote it. It is also stored in the event that asks the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub struct Schema(Map<String, Value>);

impl Schema {
    /// Accepts a schema that this server can show as fields.
    ///
    /// # Errors
    ///
    /// Every place where it breaks a rule.
    pub fn accept(schema: Map<String, Value>) -> Result<Self, Vec<Problem>> {
        let schema = Self(schema);
        let shape = schema.shape()?;
        let problems = check::defaults(&schema, &shape);
        if problems.is_empty() { Ok(schema) } else { Err(problems) }
    }

    /// The schema as the agent wrote it.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The fields of the form.
    ///
    /// # Errors
    ///
    /// Every place where the schema breaks a rule; none for a schema that was accepted.
    pub fn shape(&self) -> Result<Shape, Vec<Problem>> {
        read::shape(&self.0)
    }

    /// Checks an answer.
    ///
    /// # Errors
    ///
    /// Every place where the answer breaks a rule.
    pub fn check(&self, answer: &Value) -> Result<(), Vec<Problem>> {
        self.check_in(answer, Language::English)
    }

    /// As [`Self::check`], with the problems in a language.
    pub(crate) fn check_in(&self, answer: &Value, language: Language) -> Result<(), Vec<Problem>> {
        let shape = self.shape()?;
        let problems = check::answer(self, &shape, answer, language);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

/// A name as a segment of a JSON pointer.
pub fn segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
