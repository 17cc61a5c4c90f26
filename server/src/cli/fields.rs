//! The fields of a form, as a terminal shows them: each with its question, its kind, its rules and its options.

use std::fmt::Write as _;

use domain::base::words::{self, Language};
use domain::form::{Entry, Field, Kind, Opt, Schema};
use serde_json::Value;

use super::margins::Margins;
use super::remote::inert_line;

/// The heading of the fields.
const FIELDS: &str = "The fields of the answer";

/// A form in words; as the agent wrote it if its fields cannot be read.
pub(super) fn shown(schema: &Schema, margins: Margins) -> anyhow::Result<String> {
    let mut out = String::new();
    let Ok(shape) = schema.shape() else {
        writeln!(out, "\n{}", words::FORM_AS_A_SCHEMA)?;
        for (key, value) in schema.members() {
            writeln!(out, "{}", margins.entry(&inert_line(key), value))?;
        }
        return Ok(out);
    };
    writeln!(out, "\n{FIELDS}")?;
    for text in [&shape.title, &shape.description].into_iter().filter(|text| !text.is_empty()) {
        writeln!(out, "{}", margins.labelled(text, BESIDE))?;
    }
    for entry in &shape.entries {
        match entry {
            Entry::Field(field) => out.push_str(&of_field(field, margins)?),
            Entry::Group(group) => {
                let title = group.title.as_deref().unwrap_or(&group.name);
                writeln!(out, "{}", margins.entry(&named(&group.pointer), &Value::from(title)))?;
                if !group.description.is_empty() {
                    writeln!(out, "{}", margins.labelled(&group.description, BESIDE))?;
                }
                for field in &group.fields {
                    out.push_str(&of_field(field, margins)?);
                }
            }
        }
    }
    Ok(out)
}

/// Stands before a line that belongs to the entry above it.
const BESIDE: &str = "        │ ";

fn of_field(field: &Field, margins: Margins) -> anyhow::Result<String> {
    let mut out = String::new();
    writeln!(out, "{}", margins.entry(&named(&field.pointer), &Value::from(field.title.as_deref().unwrap_or(&field.name))))?;
    if !field.description.is_empty() {
        writeln!(out, "{}", margins.labelled(&field.description, BESIDE))?;
    }
    writeln!(out, "{}", margins.labelled(&kind(field), BESIDE))?;
    for Opt { value, title, description } in options(field) {
        writeln!(out, "{}", margins.labelled(value, "  value │ "))?;
        if let Some(title) = title {
            writeln!(out, "{}", margins.labelled(title, "  label │ "))?;
        }
        if !description.is_empty() {
            writeln!(out, "{}", margins.labelled(description, BESIDE))?;
        }
    }
    Ok(out)
}

/// The place of a field in the answer, without its first slash.
fn named(pointer: &str) -> String {
    inert_line(pointer.trim_start_matches('/'))
}

fn options(field: &Field) -> &[Opt] {
    match &field.kind {
        Kind::One(options) | Kind::Many { options, .. } => options,
        Kind::Text { .. } | Kind::Number(_) | Kind::Integer(_) | Kind::Boolean => &[],
    }
}

/// What the answer must be, whether it may be left out, and the value that stands there at first on a page.
fn kind(field: &Field) -> String {
    let kind = match &field.kind {
        Kind::Text { .. } => "a text",
        Kind::Number(_) => "a number",
        Kind::Integer(_) => "a whole number",
        Kind::Boolean => "true or false",
        Kind::One(_) => "one of these values",
        Kind::Many { .. } => "a list of these values",
    };
    // A whole number says so already.
    let rules = field.rules(Language::English).into_iter().filter(|rule| rule != Language::English.whole_number_needed());
    let left_out = (!field.required).then(|| "may be left out".to_owned());
    let default = field.default.as_ref().map(|value| format!("{value} at first"));
    let all: Vec<String> = [kind.to_owned()].into_iter().chain(rules).chain(left_out).chain(default).collect();
    all.join("; ")
}
