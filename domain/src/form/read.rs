//! Reads a schema into the fields that it describes, or names every place where it breaks a rule.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::shape::{Bounds, Entry, Field, Format, Group, Kind, Lengths, Opt, Shape};
use super::{
    DESCRIPTION_MAX, FIELDS_MAX, NAME_MAX, OPTION_MAX, OPTIONS_MAX, PATTERN_BYTES_MAX, PATTERN_TEXT_MAX, Problem,
    SCHEMA_BYTES_MAX, TEXT_MAX, TITLE_MAX, rules, segment,
};
use crate::base::json;
use crate::base::text::is_blank;

/// The one version of JSON Schema that a schema may name.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The keyword that gives the order of the fields: the log does not keep the order of the members.
const ORDER: &str = "x-order";

type Members = Map<String, Value>;

/// The fields that a schema describes.
pub(super) fn shape(schema: &Members) -> Result<Shape, Vec<Problem>> {
    if json::size(schema) > SCHEMA_BYTES_MAX {
        return Err(vec![Problem::new("", "length", format!("must be at most {SCHEMA_BYTES_MAX} bytes of JSON"))]);
    }
    let mut reader = Reader::default();
    let known = ["$schema", "type", "title", "description", "properties", "required", "additionalProperties", ORDER];
    reader.known(schema, "", &known);
    if let Some(draft) = schema.get("$schema")
        && draft.as_str().map(|draft| draft.trim_end_matches('#')) != Some(DRAFT)
    {
        reader.problem("/$schema", "$schema", format!("must be {DRAFT}, or be left out"));
    }
    let shape = Shape {
        title: reader.text(schema, "", "title", TITLE_MAX).unwrap_or_default(),
        description: reader.text(schema, "", "description", DESCRIPTION_MAX).unwrap_or_default(),
        entries: reader.entries(schema, "", ""),
    };
    if shape.fields().count() > FIELDS_MAX {
        reader.problem("/properties", "count", format!("must describe at most {FIELDS_MAX} fields"));
    }
    if reader.problems.is_empty() { Ok(shape) } else { Err(reader.problems) }
}

#[derive(Default)]
struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn problem(&mut self, pointer: impl Into<String>, rule: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(pointer, rule, message));
    }

    /// Refuses every keyword that is not among these.
    fn known(&mut self, schema: &Members, at: &str, known: &[&str]) {
        for keyword in schema.keys().filter(|keyword| !known.contains(&keyword.as_str())) {
            let message = format!("is not supported here; the keywords here are {}", known.join(", "));
            self.problem(format!("{at}/{}", segment(keyword)), "keyword", message);
        }
    }

    /// The entries of an object: the schema is at `at`, and its value at `pointer` of the answer.
    fn entries(&mut self, schema: &Members, at: &str, pointer: &str) -> Vec<Entry> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            self.problem(format!("{at}/type"), "type", "must be object");
        }
        if schema.get("additionalProperties").is_some_and(|value| !value.is_boolean()) {
            self.problem(format!("{at}/additionalProperties"), "type", "must be true or false");
        }
        let empty = Members::new();
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) if !properties.is_empty() => properties,
            Some(_) | None => {
                self.problem(format!("{at}/properties"), "required", "must be an object with at least one property");
                &empty
            }
        };
        let required = self.names(schema, at, "required", properties);
        let order = self.names(schema, at, ORDER, properties);
        let mut names: Vec<&String> = Vec::new();
        for name in order.iter().chain(&required).chain(properties.keys()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut entries = Vec::new();
        for name in names {
            let Some(property) = properties.get(name) else { continue };
            let at = format!("{at}/properties/{}", segment(name));
            let length = name.chars().count();
            if length == 0 || length > NAME_MAX || name.contains(char::is_control) {
                self.problem(
                    &at,
                    "name",
                    format!("must have a name of 1 to {NAME_MAX} characters, none of them a control character"),
                );
            }
            let Some(members) = property.as_object() else {
                self.problem(&at, "type", "must be an object");
                continue;
            };
            let place =
                Place { name, at: &at, pointer: format!("{pointer}/{}", segment(name)), is_required: required.contains(name) };
            entries.extend(self.entry(members, place, !pointer.is_empty()));
        }
        entries
    }

    /// A list of names of properties; each must exist, and come once.
    fn names(&mut self, schema: &Members, at: &str, keyword: &str, properties: &Members) -> Vec<String> {
        let Some(value) = schema.get(keyword) else { return Vec::new() };
        let names: Option<Vec<String>> =
            value.as_array().and_then(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
        let Some(names) = names else {
            self.problem(format!("{at}/{keyword}"), "type", "must be a list of names");
            return Vec::new();
        };
        let distinct: BTreeSet<&String> = names.iter().collect();
        if distinct.len() < names.len() {
            self.problem(format!("{at}/{keyword}"), "unique", "must name each property once");
        }
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !properties.contains_key(*name)) {
            self.problem(format!("{at}/{keyword}/{index}"), "known", format!("{name:?} is none of the properties"));
        }
        names
    }

    fn entry(&mut self, members: &Members, place: Place<'_>, is_inside: bool) -> Option<Entry> {
        let at = place.at;
        let title = self.text(members, at, "title", TITLE_MAX);
        let description = self.text(members, at, "description", DESCRIPTION_MAX).unwrap_or_default();
        let Place { name, pointer, is_required: required, .. } = place;
        let name = name.to_owned();
        let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "object" {
            if is_inside {
                self.problem(format!("{at}/type"), "nesting", "must not be object: an object in an object has no objects");
                return None;
            }
            self.known(members, at, &["type", "title", "description", "properties", "required", "additionalProperties", ORDER]);
            let entries = self.entries(members, at, &pointer);
            let fields = entries.into_iter().filter_map(|entry| if let Entry::Field(field) = entry { Some(field) } else { None });
            let fields = fields.collect();
            return Some(Entry::Group(Group { name, pointer, title, description, required, fields }));
        }
        let kind = self.kind(members, at, kind)?;
        let default = members.get("default").cloned();
        Some(Entry::Field(Field { name, pointer, title, description, required, default, kind }))
    }

    fn kind(&mut self, members: &Members, at: &str, kind: &str) -> Option<Kind> {
        const ABOUT: [&str; 4] = ["type", "title", "description", "default"];
        let mut known = ABOUT.to_vec();
        let kind = match kind {
            "string" if ["enum", "oneOf", "anyOf"].iter().any(|keyword| members.contains_key(*keyword)) => {
                known.extend(["enum", "oneOf", "anyOf"]);
                Kind::One(self.options(members, at))
            }
            "string" => {
                known.extend(["format", "minLength", "maxLength", "pattern"]);
                self.string(members, at)
            }
            "number" | "integer" => {
                known.extend(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]);
                let bounds = self.bounds(members, at, kind == "integer");
                if kind == "number" { Kind::Number(bounds) } else { Kind::Integer(bounds) }
            }
            "boolean" => Kind::Boolean,
            "array" => {
                known.extend(["items", "minItems", "maxItems", "uniqueItems"]);
                self.many(members, at)
            }
            _ => {
                self.problem(format!("{at}/type"), "type", "must be string, number, integer, boolean, array or object");
                return None;
            }
        };
        self.known(members, at, &known);
        Some(kind)
    }

    fn string(&mut self, members: &Members, at: &str) -> Kind {
        let format = members.get("format").and_then(|name| {
            let format = Format::ALL.into_iter().find(|format| name.as_str() == Some(format.name()));
            if format.is_none() {
                let names: Vec<&str> = Format::ALL.into_iter().map(Format::name).collect();
                self.problem(format!("{at}/format"), "format", format!("must be one of {}", names.join(", ")));
            }
            format
        });
        let pattern = members.get("pattern").and_then(|pattern| match pattern.as_str() {
            Some(text) if text.len() > PATTERN_BYTES_MAX => {
                self.problem(format!("{at}/pattern"), "length", format!("must be at most {PATTERN_BYTES_MAX} bytes"));
                None
            }
            Some(text) if !rules::is_pattern(text) => {
                let message =
                    "must be a regular expression that needs linear time (no lookaround, no backreference) and little memory";
                self.problem(format!("{at}/pattern"), "pattern", message);
                None
            }
            Some(text) => Some(text.to_owned()),
            None => {
                self.problem(format!("{at}/pattern"), "type", "must be a string");
                None
            }
        });
        let lengths = self.lengths(members, at, "minLength", "maxLength");
        let most = if pattern.is_some() { PATTERN_TEXT_MAX } else { TEXT_MAX };
        if lengths.min.is_some_and(|min| min > most) {
            self.problem(
                format!("{at}/minLength"),
                "range",
                format!("must be at most {most}, the longest text that a person can send"),
            );
        }
        Kind::Text { format, lengths, pattern }
    }

    fn many(&mut self, members: &Members, at: &str) -> Kind {
        // A box that is ticked cannot be ticked twice, so an answer of the API must not have an option twice, either.
        if members.get("uniqueItems") != Some(&Value::Bool(true)) {
            self.problem(format!("{at}/uniqueItems"), "required", "must be true: each option can be chosen once");
        }
        let counts = self.lengths(members, at, "minItems", "maxItems");
        let at = format!("{at}/items");
        let Some(items) = members.get("items").and_then(Value::as_object) else {
            self.problem(&at, "required", "must be an object with an enum of strings");
            return Kind::Many { options: Vec::new(), counts };
        };
        self.known(items, &at, &["type", "enum", "oneOf", "anyOf"]);
        if items.get("type").is_some_and(|kind| kind != "string") {
            self.problem(format!("{at}/type"), "type", "must be string");
        }
        let options = self.options(items, &at);
        if counts.min.is_some_and(|min| usize::try_from(min).is_ok_and(|min| min > options.len())) {
            self.problem(&at, "count", "must have as many options as minItems asks for");
        }
        Kind::Many { options, counts }
    }

    /// The options of an `enum`, or those of a `oneOf` or an `anyOf` whose entries have a `const`.
    fn options(&mut self, members: &Members, at: &str) -> Vec<Opt> {
        let present: Vec<&str> =
            ["enum", "oneOf", "anyOf"].into_iter().filter(|keyword| members.contains_key(*keyword)).collect();
        let &[keyword] = present.as_slice() else {
            self.problem(at, "enum", "must have an enum of strings, or a oneOf of constants, and not both");
            return Vec::new();
        };
        let at = format!("{at}/{keyword}");
        let listed = members.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if listed.is_empty() || listed.len() > OPTIONS_MAX {
            self.problem(&at, "count", format!("must have 1 to {OPTIONS_MAX} entries"));
            return Vec::new();
        }
        let mut options: Vec<Opt> = Vec::new();
        for (index, entry) in listed.iter().enumerate() {
            let at = format!("{at}/{index}");
            let Some(option) = self.option(entry, keyword, &at) else { continue };
            let length = option.value.chars().count();
            // A browser may send a line break in a value back as other characters.
            if is_blank(&option.value) || length > OPTION_MAX || option.value.contains(char::is_control) {
                let message =
                    format!("must be 1 to {OPTION_MAX} characters that show something, none of them a control character");
                self.problem(&at, "length", message);
            }
            if options.iter().any(|other| other.value == option.value) {
                self.problem(&at, "unique", "must be unique: an earlier entry has the same value");
            }
            options.push(option);
        }
        options
    }

    fn option(&mut self, entry: &Value, keyword: &str, at: &str) -> Option<Opt> {
        if keyword == "enum" {
            let value = entry.as_str().map(str::to_owned);
            if value.is_none() {
                self.problem(at, "type", "must be a string");
            }
            return value.map(|value| Opt { value, title: None, description: String::new() });
        }
        let members = entry.as_object();
        let Some((members, value)) = members.and_then(|members| Some((members, members.get("const")?.as_str()?.to_owned())))
        else {
            self.problem(at, "const", "must be an object with a const, which is a string");
            return None;
        };
        self.known(members, at, &["const", "title", "description"]);
        let title = self.text(members, at, "title", TITLE_MAX);
        Some(Opt { value, title, description: self.text(members, at, "description", DESCRIPTION_MAX).unwrap_or_default() })
    }

    /// A text about the form; `None` if it is absent, or wrong.
    fn text(&mut self, members: &Members, at: &str, keyword: &str, most: usize) -> Option<String> {
        let value = members.get(keyword)?;
        let Some(text) = value.as_str() else {
            self.problem(format!("{at}/{keyword}"), "type", "must be a string");
            return None;
        };
        if text.chars().count() > most {
            self.problem(format!("{at}/{keyword}"), "length", format!("must be at most {most} characters"));
        }
        // Some readers take NUL for the end of a text, so the person and the log could see different forms.
        if text.contains('\0') {
            self.problem(format!("{at}/{keyword}"), "nul", "must not contain a NUL character");
        }
        Some(text.to_owned()).filter(|text| !is_blank(text))
    }

    fn lengths(&mut self, members: &Members, at: &str, least: &str, most: &str) -> Lengths {
        let mut count = |keyword: &str| {
            let value = members.get(keyword)?;
            let count = value.as_u64();
            if count.is_none() {
                self.problem(format!("{at}/{keyword}"), "type", "must be a whole number, at least 0");
            }
            count
        };
        let lengths = Lengths { min: count(least), max: count(most) };
        if lengths.min.zip(lengths.max).is_some_and(|(min, max)| min > max) {
            self.problem(format!("{at}/{most}"), "range", format!("must be at least {least}"));
        }
        lengths
    }

    fn bounds(&mut self, members: &Members, at: &str, is_whole: bool) -> Bounds {
        let mut number = |keyword: &str| -> Option<Number> {
            let value = members.get(keyword)?;
            let number = value.as_number().cloned();
            if number.is_none() {
                self.problem(format!("{at}/{keyword}"), "type", "must be a number");
            }
            number
        };
        let bounds = Bounds {
            minimum: number("minimum"),
            maximum: number("maximum"),
            exclusive_minimum: number("exclusiveMinimum"),
            exclusive_maximum: number("exclusiveMaximum"),
            multiple_of: number("multipleOf"),
        };
        if bounds.multiple_of.as_ref().and_then(Number::as_f64).is_some_and(|step| step <= 0.0) {
            self.problem(format!("{at}/multipleOf"), "range", "must be more than 0");
        }
        let float = |number: &Option<Number>| number.as_ref().and_then(Number::as_f64);
        for (least, least_counts) in [(&bounds.minimum, true), (&bounds.exclusive_minimum, false)] {
            for (most, most_counts, name) in
                [(&bounds.maximum, true, "maximum"), (&bounds.exclusive_maximum, false, "exclusiveMaximum")]
            {
                let Some((least, most)) = float(least).zip(float(most)) else { continue };
                let is_possible = if least_counts && most_counts { least <= most } else { least < most };
                // Between 0.2 and 0.8 there are numbers, and no whole ones.
                let first = if least_counts { least.ceil() } else { least.floor() + 1.0 };
                let has_whole = if most_counts { first <= most } else { first < most };
                if !is_possible || (is_whole && !has_whole) {
                    self.problem(format!("{at}/{name}"), "range", "must leave a number above the lower bound");
                }
            }
        }
        bounds
    }
}

/// Where a property stands.
struct Place<'a> {
    name: &'a str,
    /// Its place in the schema.
    at: &'a str,
    /// Its place in the answer.
    pointer: String,
    is_required: bool,
}
