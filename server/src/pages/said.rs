//! An answer to a form in the words that the page of the form had: titles of fields in place of their names, and labels in place of the
//! values of options.

use std::collections::BTreeMap;

use domain::base::text::{defanged, quoted};
use domain::base::words::Language;
use domain::form::{Entry, Field, Kind, Opt, Schema, number};
use serde_json::{Map, Value};

use super::context::{Fields, label};
use super::fields::named;

/// The longest answer in a list of answers, in characters.
const SHORT_CHARS_MAX: usize = 120;

/// The parts of an answer by the titles of their fields, in the order of the form. A part that no field of the form has stands at the end,
/// under its own name. Empty for an answer to a question without fields.
pub(super) fn said(
    schema: Option<&Schema>,
    context: &Map<String, Value>,
    answer: &Value,
    language: Language,
) -> Vec<(String, Value)> {
    let Value::Object(answer) = answer else { return Vec::new() };
    let mut left = answer.clone();
    let mut said = match schema {
        Some(schema) => by_schema(schema, &mut left, language),
        None => by_context(context, &mut left, language),
    };
    if !said.is_empty() {
        said.extend(left.into_iter().map(|(name, value)| (label(&name), value)));
    }
    said
}

fn by_schema(schema: &Schema, left: &mut Map<String, Value>, language: Language) -> Vec<(String, Value)> {
    let shape = schema.shape().unwrap_or_default();
    let mut said = Vec::new();
    for entry in &shape.entries {
        let (name, title) = match entry {
            Entry::Field(field) => (&field.name, field.title.as_deref()),
            Entry::Group(group) => (&group.name, group.title.as_deref()),
        };
        let Some(value) = left.remove(name) else { continue };
        let value = match (entry, value) {
            (Entry::Field(field), value) => shown(field, value, language),
            (Entry::Group(group), Value::Object(inner)) => Value::Object(grouped(&group.fields, inner, language)),
            (Entry::Group(_), value) => value,
        };
        said.push((named(title, name), value));
    }
    said
}

/// The members of a group. Where two fields have the same title, the names tell them apart.
fn grouped(fields: &[Field], mut left: Map<String, Value>, language: Language) -> Map<String, Value> {
    let mut titles: BTreeMap<&str, usize> = BTreeMap::new();
    for title in fields.iter().filter_map(|field| field.title.as_deref()) {
        *titles.entry(title).or_default() += 1;
    }
    let mut said = Map::new();
    for field in fields {
        let Some(value) = left.remove(&field.name) else { continue };
        let title = field.title.as_deref().filter(|title| titles.get(title) == Some(&1));
        said.insert(title.unwrap_or(&field.name).to_owned(), shown(field, value, language));
    }
    for (name, value) in left {
        said.entry(name).or_insert(value);
    }
    said
}

/// The value of a field, as its control showed it.
fn shown(field: &Field, value: Value, language: Language) -> Value {
    let title = |options: &[Opt], value: Value| {
        let option = options.iter().find(|option| value == *option.value);
        option.and_then(|option| option.title.clone()).map_or(value, Value::from)
    };
    match (&field.kind, value) {
        (Kind::One(options), value) => title(options, value),
        (Kind::Many { options, .. }, Value::Array(chosen)) => chosen.into_iter().map(|value| title(options, value)).collect(),
        (Kind::Number(_) | Kind::Integer(_), Value::Number(number)) => Value::from(number::written(&number, language)),
        (Kind::Text { .. } | Kind::Number(_) | Kind::Integer(_) | Kind::Boolean | Kind::Many { .. }, value) => value,
    }
}

fn by_context(context: &Map<String, Value>, left: &mut Map<String, Value>, language: Language) -> Vec<(String, Value)> {
    let fields = Fields::from_context(&Value::Object(context.clone()), language);
    let drawn = fields.fields.into_iter().filter(|_| fields.by_agent);
    drawn.filter_map(|field| Some((field.label, left.remove(&field.name)?))).collect()
}

/// An answer in few words: the label of a choice, a text, or the parts of a form.
pub(super) fn in_short(label: Option<&str>, said: &[(String, Value)], answer: &Value, language: Language) -> String {
    let plain = |value: &Value| match value {
        Value::Null => language.nothing().to_owned(),
        Value::Bool(true) => language.yes().to_owned(),
        Value::Bool(false) => language.no().to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        Value::Number(number) => number::written(number, language),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    let words = match label {
        Some(label) => label.to_owned(),
        None if said.is_empty() => plain(answer),
        None => said.iter().map(|(name, value)| called(name, &plain(value))).collect::<Vec<_>>().join("; "),
    };
    defanged(&quoted(&words, SHORT_CHARS_MAX))
}

/// A part of an answer behind the title of its field, which may be a question.
fn called(name: &str, value: &str) -> String {
    let mark = if name.ends_with(['?', '!', '.', ':']) { "" } else { ":" };
    format!("{name}{mark} {value}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Schema {
        let text = |title: &str| json!({"type": "string", "title": title});
        let schema = json!({"type": "object", "x-order": ["law", "parts", "price", "to", "sure"], "properties": {
            "law": {"type": "string", "title": "Law", "oneOf": [{"const": "de", "title": "Germany"}, {"const": "no"}]},
            "parts": {"type": "array", "title": "Parts", "uniqueItems": true, "items": {"type": "string", "oneOf": [{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}]}},
            "price": {"type": "number", "title": "Price"},
            "sure": {"type": "boolean"},
            "to": {"type": "object", "title": "Recipient", "properties": {"name": text("Name"), "alias": text("Name"), "city": text("City")}},
        }});
        Schema::accept(schema.as_object().unwrap().clone()).unwrap()
    }

    #[test]
    fn an_answer_has_the_words_of_its_form() {
        let answer = json!({"law": "de", "parts": ["b", "c"], "price": 41.5, "sure": true, "to": {"name": "Ada", "alias": "A", "city": "Ulm"}, "more": 1});
        let said = |language| said(Some(&form()), &Map::new(), &answer, language);
        let expected = [
            ("Law", json!("Germany")),
            ("Parts", json!(["Second", "c"])),
            ("Price", json!("41,5")),
            ("Recipient", json!({"name": "Ada", "alias": "A", "City": "Ulm"})),
            ("Sure", json!(true)),
            ("More", json!(1)),
        ];
        assert_eq!(said(Language::German), expected.map(|(name, value)| (name.to_owned(), value)));
        let short = in_short(None, &said(Language::English)[..3], &answer, Language::English);
        assert_eq!(short, "Law: Germany; Parts: Second, c; Price: 41.5");
    }

    #[test]
    fn an_answer_without_fields_has_no_other_words() {
        assert!(said(None, &Map::new(), &json!({"answer": "x"}), Language::English).is_empty());
        assert!(said(Some(&form()), &Map::new(), &json!("x"), Language::English).is_empty());
        let asked = [("Ship it?".to_owned(), json!(true)), ("Law".to_owned(), json!("Norway"))];
        assert_eq!(in_short(None, &asked, &json!({}), Language::English), "Ship it? Yes; Law: Norway");
        assert_eq!(in_short(Some("Approve"), &[], &json!("approve"), Language::English), "Approve");
        let context = json!({"fields": [{"name": "cap", "label": "Liability cap", "type": "number"}]});
        let said = said(None, context.as_object().unwrap(), &json!({"cap": 5}), Language::English);
        assert_eq!(said, [("Liability cap".to_owned(), json!(5))]);
    }
}
