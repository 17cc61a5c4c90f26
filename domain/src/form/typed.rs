//! The texts that a person types into the fields, and the answer that they make.
//!
//! The typed texts have the pointer of their field as their name. A box of a field with several options has the number of the option
//! behind it, as another segment.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::number::{self, Unread};
use super::shape::{Entry, Field, Format, Kind, Shape};
use super::{Problem, Schema};
use crate::base::words::Language;

/// The typed texts, by their names.
pub type Typed = BTreeMap<String, String>;

/// The text of a box that is ticked.
pub const TICKED: &str = "on";

impl Schema {
    /// The answer that was typed.
    ///
    /// # Errors
    ///
    /// Every field whose text is not an answer.
    pub fn read(&self, typed: &Typed, language: Language) -> Result<Value, Vec<Problem>> {
        let shape = self.shape()?;
        let (answer, mut problems) = shape.read(typed, language);
        for problem in super::check::answer(self, &shape, &answer, language) {
            if !problems.iter().any(|known| known.pointer == problem.pointer) {
                problems.push(problem);
            }
        }
        // A problem of no field of the form is shown nowhere else, so it comes first.
        let place = |problem: &Problem| shape.fields().position(|field| field.pointer == problem.pointer);
        problems.sort_by_key(place);
        if problems.is_empty() { Ok(answer) } else { Err(problems) }
    }
}

impl Shape {
    /// The texts that stand in the fields at first: those of these values, or else the defaults.
    pub fn typed(&self, values: Option<&Value>, language: Language) -> Typed {
        let mut typed = Typed::new();
        for field in self.fields() {
            let value = match values {
                Some(values) => values.pointer(&field.pointer),
                None => field.default.as_ref(),
            };
            if let Some(value) = value {
                field.type_into(value, &mut typed, language);
            }
        }
        typed
    }

    /// The answer that was typed, without the fields whose text cannot be read.
    pub(crate) fn read(&self, typed: &Typed, language: Language) -> (Value, Vec<Problem>) {
        let (mut answer, mut problems) = (Map::new(), Vec::new());
        for entry in &self.entries {
            match entry {
                Entry::Field(field) => read_into(&mut answer, field, typed, &mut problems, language),
                // A group in which nothing was typed is absent, if it may be.
                Entry::Group(group) if !group.required && !group.fields.iter().any(|field| field.is_typed(typed)) => {}
                Entry::Group(group) => {
                    let mut inner = Map::new();
                    for field in &group.fields {
                        read_into(&mut inner, field, typed, &mut problems, language);
                    }
                    answer.insert(group.name.clone(), Value::Object(inner));
                }
            }
        }
        (Value::Object(answer), problems)
    }
}

fn read_into(answer: &mut Map<String, Value>, field: &Field, typed: &Typed, problems: &mut Vec<Problem>, language: Language) {
    match field.read(typed, language) {
        Ok(Some(value)) => {
            answer.insert(field.name.clone(), value);
        }
        Ok(None) => {}
        Err((rule, message)) => problems.push(Problem::new(field.pointer.clone(), rule, message)),
    }
}

impl Field {
    /// The name of the box of an option.
    pub fn tick_name(&self, option: usize) -> String {
        format!("{}/{option}", self.pointer)
    }

    /// Whether a text of this field can have several lines.
    pub fn is_long_text(&self) -> bool {
        const LINE: u64 = 200;
        match &self.kind {
            Kind::Text { format: None, lengths, pattern } => pattern.is_none() && lengths.max.is_none_or(|max| max > LINE),
            Kind::Text { .. } | Kind::Number(_) | Kind::Integer(_) | Kind::Boolean | Kind::One(_) | Kind::Many { .. } => false,
        }
    }

    /// Whether a typed text with this name belongs to the field.
    pub fn owns(&self, name: &str) -> bool {
        let boxes = if let Kind::Many { options, .. } = &self.kind { options.len() } else { 0 };
        let is_box = |option: &str| option.parse().is_ok_and(|option: usize| option < boxes);
        name.strip_prefix(&*self.pointer).is_some_and(|rest| rest.is_empty() || rest.strip_prefix('/').is_some_and(is_box))
    }

    /// The texts of the field. A browser sends line breaks in one form, and an empty text alike with none.
    pub fn texts<'a>(&self, typed: &'a Typed) -> Vec<(&'a str, String)> {
        let own = typed.iter().filter(|(name, _)| self.owns(name));
        let own = own.map(|(name, text)| (&**name, text.replace("\r\n", "\n").replace('\r', "\n")));
        own.filter(|(_, text)| !text.is_empty()).collect()
    }

    fn is_typed(&self, typed: &Typed) -> bool {
        let is_filled = |name: &str| typed.get(name).is_some_and(|text| !text.trim().is_empty());
        match &self.kind {
            Kind::Many { options, .. } => (0..options.len()).any(|option| is_filled(&self.tick_name(option))),
            Kind::Text { .. } | Kind::Number(_) | Kind::Integer(_) | Kind::Boolean | Kind::One(_) => is_filled(&self.pointer),
        }
    }

    fn type_into(&self, value: &Value, typed: &mut Typed, language: Language) {
        if let Kind::Many { options, .. } = &self.kind {
            for (index, option) in options.iter().enumerate() {
                if value.as_array().is_some_and(|chosen| chosen.iter().any(|chosen| *chosen == *option.value)) {
                    typed.insert(self.tick_name(index), TICKED.to_owned());
                }
            }
            return;
        }
        let text = match value {
            Value::Bool(true) => Some(TICKED.to_owned()),
            Value::Number(number) => Some(number::written(number, language)),
            Value::String(text) => Some(text.clone()),
            Value::Bool(false) | Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        if let Some(text) = text {
            typed.insert(self.pointer.clone(), text);
        }
    }

    fn read(&self, typed: &Typed, language: Language) -> Result<Option<Value>, (&'static str, String)> {
        let text = typed.get(&self.pointer).map_or("", String::as_str);
        match &self.kind {
            Kind::Boolean => return Ok(Some(json!(!text.is_empty()))),
            Kind::Many { options, .. } => {
                let is_ticked = |index: usize| typed.get(&self.tick_name(index)).is_some_and(|text| !text.is_empty());
                let chosen = options.iter().enumerate().filter(|(index, _)| is_ticked(*index));
                let chosen: Vec<&str> = chosen.map(|(_, option)| option.value.as_str()).collect();
                return Ok((self.required || !chosen.is_empty()).then(|| json!(chosen)));
            }
            // An option is not trimmed: it is compared exactly as it was offered.
            Kind::One(_) => return Ok(Some(json!(text)).filter(|_| !text.is_empty())),
            Kind::Text { .. } | Kind::Number(_) | Kind::Integer(_) => {}
        }
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Ok(None);
        }
        Ok(Some(match &self.kind {
            Kind::Text { format: Some(Format::Email | Format::Uri | Format::Date | Format::DateTime), .. } => json!(trimmed),
            Kind::Text { .. } if self.is_long_text() => json!(text),
            Kind::Text { .. } | Kind::Boolean | Kind::One(_) | Kind::Many { .. } => json!(trimmed),
            Kind::Number(_) => number::read(trimmed, language).map_err(|unread| ("type", unread.sentence(language)))?,
            Kind::Integer(_) => number::read(trimmed, language).map_err(|unread| match unread {
                // With marks for thousands it is a whole number that is written in another way; a number with decimals is none for this field.
                Unread::Written(number) | Unread::TwoNumbers(number, _) if !number.contains('.') => {
                    ("type", language.whole_number_is_written(&number))
                }
                Unread::NoNumber | Unread::Written(_) | Unread::TwoNumbers(..) => {
                    ("type", language.whole_number_needed().to_owned())
                }
            })?,
        }))
    }
}
