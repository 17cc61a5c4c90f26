//! The meaning of an agent's `context` on a page: inert rows to read, and the fields of a form.
//!
//! Everything here is text of the agent. It leaves this module as plain text with control and bidirectional characters made
//! visible; the template escapes it, and nothing ever becomes a link.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use domain::base::text::{defanged, quoted, truncated, visible, visible_line};
use domain::base::words::{Amount, Language};
use domain::form::number::{self, Unread};
use serde_json::{Map, Value, json};

use super::choosable::{Choosable, Heading};
use super::fold::{FOLDED_ROWS_MAX, Folding, Folds, Length, entries_kept};

/// A form with more fields than this is not drawn; its definition is shown as text instead.
pub(super) const FIELDS_MAX: usize = 50;
/// A form with a field that offers more options than this is not drawn.
pub(super) const OPTIONS_MAX: usize = 100;
/// The longest option, in characters as shown; a longer one would be cut.
pub(super) const OPTION_CHARS_MAX: usize = 200;
/// The longest option, in characters as shown, that a closed list shows whole on a small phone.
pub(super) const OPTION_CHARS_INLINE_MAX: usize = 24;
/// A typed field value longer than this many bytes is refused.
pub(super) const TYPED_BYTES_MAX: usize = 16 * 1_024;
/// The prefix of the names of the form's controls in the posted body; the field's name follows.
///
/// The prefix keeps a field named `nonce` or `comment` apart from the page's own inputs.
pub(super) const FIELD_PREFIX: &str = "field.";

const FIELD_NAME_CHARS_MAX: usize = 64;

/// The agent's data as a table, ready for the template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Table {
    /// One row per key, nested objects one level deep as indented rows.
    pub rows: Vec<Row>,
    /// Rows left out because there were too many.
    pub rows_hidden: usize,
}

/// One row: the agent's name for a value, and the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The anchor of links to this row, if there are any.
    pub anchor: Option<String>,
    /// The key, made readable.
    pub label: Folding,
    /// True inside a nested object.
    pub indented: bool,
    /// The value.
    pub cell: Cell,
    /// The part that folding cut from this value, for example `41 more lines`.
    pub more: Option<String>,
}

/// The shapes a value takes on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    /// The rows that follow belong to this one.
    Group,
    /// Words of the page itself, for example `(empty)`.
    Remark(&'static str),
    /// Text, line breaks kept.
    Text(String),
    /// Text with an address in it, which is shown but deliberately not a link.
    Address(String),
    /// Several plain values.
    List(Vec<String>),
    /// Anything deeper, as formatted JSON.
    Code(String),
}

impl Table {
    /// Lays out the entries of one table of a page; `prefix` keeps the anchors of its rows apart from those of another table.
    pub(super) fn new<'a>(
        entries: impl IntoIterator<Item = (String, &'a Value)>,
        prefix: char,
        length: Length,
        folds: &mut Folds,
    ) -> Self {
        let mut table = Self::default();
        for (name, value) in entries {
            let Some(inner) = value.as_object().filter(|inner| !inner.is_empty()) else {
                table.add(name, false, cell(value, folds.1), prefix, length, folds);
                continue;
            };
            table.add(name, false, Cell::Group, prefix, length, folds);
            for (key, value) in inner {
                table.add(label(key), true, cell(value, folds.1), prefix, length, folds);
            }
        }
        let beyond = table.rows.len().saturating_sub(FOLDED_ROWS_MAX);
        if let Some(first) = table.rows.get_mut(FOLDED_ROWS_MAX) {
            let anchor = format!("{prefix}{FOLDED_ROWS_MAX}");
            folds.note(Some(Amount::Entries(beyond)), folds.1.what_the_agent_sent(), &anchor, length);
            first.anchor = Some(anchor);
        }
        if length == Length::Folded {
            table.rows_hidden = beyond;
            table.rows.truncate(FOLDED_ROWS_MAX);
        }
        table
    }

    fn add(&mut self, name: String, indented: bool, cell: Cell, prefix: char, length: Length, folds: &mut Folds) {
        let anchor = format!("{prefix}{}", self.rows.len());
        let before = folds.0.len();
        let label = folds.line(name, folds.1.a_key(), &anchor, length);
        let (cell, more) = fold(cell, &label.text, &anchor, length, folds);
        let anchor = (folds.0.len() > before).then_some(anchor);
        self.rows.push(Row { anchor, label, indented, cell, more });
    }
}

/// The entries of the agent's data, by their readable keys. Data that is no object becomes one entry, named as the context.
pub(super) fn entries(sent: &Value, language: Language) -> Vec<(String, &Value)> {
    match sent {
        Value::Object(entries) => entries.iter().map(|(key, value)| (label(key), value)).collect(),
        Value::Null => Vec::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => vec![(language.context().to_owned(), sent)],
    }
}

fn cell(value: &Value, language: Language) -> Cell {
    match value {
        Value::Null => Cell::Remark(language.nothing()),
        Value::Bool(true) => Cell::Remark(language.yes()),
        Value::Bool(false) => Cell::Remark(language.no()),
        Value::Number(number) => Cell::Text(number::written(number, language)),
        Value::String(text) if text.is_empty() => Cell::Remark(language.empty()),
        Value::String(text) => {
            let shown = visible(text);
            let safe = defanged(&shown);
            if safe == shown { Cell::Text(shown) } else { Cell::Address(safe) }
        }
        Value::Array(items) if items.is_empty() => Cell::Remark(language.empty()),
        Value::Array(items) => match items.iter().map(|item| scalar(item, language)).collect() {
            Some(lines) => Cell::List(lines),
            None => Cell::Code(formatted(value)),
        },
        Value::Object(entries) if entries.is_empty() => Cell::Remark(language.empty()),
        Value::Object(_) => Cell::Code(formatted(value)),
    }
}

fn scalar(value: &Value, language: Language) -> Option<String> {
    match value {
        Value::String(text) => Some(defanged(&visible(text))),
        Value::Null => Some(language.nothing().to_owned()),
        Value::Number(number) => Some(number::written(number, language)),
        Value::Bool(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// JSON itself escapes control characters; other characters, for example a right-to-left override, are made visible here.
fn formatted(value: &Value) -> String {
    defanged(&visible(&format!("{value:#}")))
}

fn fold(cell: Cell, name: &str, anchor: &str, length: Length, folds: &mut Folds) -> (Cell, Option<String>) {
    let (text, shape): (String, fn(String) -> Cell) = match cell {
        Cell::Text(text) => (text, Cell::Text),
        Cell::Address(text) => (text, Cell::Address),
        Cell::Code(text) => (text, Cell::Code),
        Cell::List(items) => return fold_list(items, name, anchor, length, folds),
        Cell::Group | Cell::Remark(_) => return (cell, None),
    };
    let folding = folds.text(text, name, anchor, length);
    (shape(folding.text), folding.more)
}

fn fold_list(mut items: Vec<String>, name: &str, anchor: &str, length: Length, folds: &mut Folds) -> (Cell, Option<String>) {
    let kept = entries_kept(&items);
    let cut = (kept < items.len()).then(|| Amount::Entries(items.len() - kept));
    let more = folds.note(cut, name, anchor, length);
    if more.is_some() {
        items.truncate(kept);
    }
    (Cell::List(items), more)
}

/// `order_id` reads as "Order id". Keys that are not plain snake case stay as the agent wrote them.
pub(super) fn label(key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let spaced = key.replace('_', " ");
    let words = spaced.trim();
    if !plain || words.is_empty() {
        return visible_line(key);
    }
    let (first, rest) = words.split_at(1);
    format!("{}{rest}", first.to_ascii_uppercase())
}

/// The fields of a question whose `response_type` is `form`.
///
/// The agent defines them as `context.fields`, an array of
/// `{name, label?, description?, type?, required?, options?}`:
///
/// * `name`: 1 … 64 characters, unique; the key of the answer.
/// * `type`: `text` (default), `textarea`, `number`, `boolean` or `date`.
/// * `options`: an array of strings; the person picks one.
/// * `required`: defaults to true. A `boolean` always has an answer.
///
/// The answer is an object with one entry per field. A field that is optional and left empty is absent from it.
/// Without `context.fields`, or when any part of it does not follow this convention, the page has one
/// large field and the answer is `{"answer": "…"}`; a definition that was not understood is shown as context.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "no other word says what a form has")]
pub(super) struct Fields {
    /// In the agent's order.
    pub fields: Vec<Field>,
    /// True if the agent defined them, so that the page shows them as the agent's words.
    pub by_agent: bool,
    /// The heading of all fields, if the agent gave them one.
    pub about: Option<Heading>,
    /// The warning about fields that may be taken for each other.
    pub warning: Option<String>,
}

/// One field of a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The key in the answer; the place in it, as a JSON pointer, if the answer has a schema.
    pub name: String,
    /// The last part of that place.
    pub member: String,
    /// The text that the person reads.
    pub label: String,
    /// The hint below the label; may be empty.
    pub description: String,
    /// The rules for the answer, in our words; may be empty.
    pub hint: String,
    /// The parts that folding cut from label and description, for example `41 more lines`.
    pub more: Vec<String>,
    /// The control and the type of the answer.
    pub kind: FieldKind,
    /// Whether the person must fill this field.
    pub required: bool,
    /// The heading of a group that begins with this field.
    pub opens: Option<Heading>,
    /// Whether a group ends with this field.
    pub closes: bool,
    /// The warning about options that may mislead.
    pub warning: Option<String>,
}

/// The control a field is shown as.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// One line.
    Text,
    /// Several lines, for a long text.
    Textarea,
    /// A JSON number.
    Number,
    /// A box to tick.
    Boolean,
    /// A calendar date, answered as `2026-11-24`.
    Date,
    /// One of these.
    Options(Vec<String>),
    /// One line of a kind that a schema names.
    Line {
        /// The `type` of the control.
        input: &'static str,
        /// The keyboard that a phone shows.
        keyboard: &'static str,
        /// Whether a short control is enough.
        is_short: bool,
    },
    /// One of these options of a schema, all of which stand on the page.
    One(Vec<Choosable>),
    /// One of these options of a schema, in a closed list.
    Listed(Vec<Choosable>),
    /// Some of these options of a schema: a box to tick for each.
    Many(Vec<Choosable>),
}

/// The error in one typed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldError {
    /// The field's name.
    pub name: String,
    /// The field's label, for the sentence.
    pub label: String,
    /// The rest of the sentence.
    pub problem: FieldProblem,
}

/// Why a typed value cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldProblem {
    /// It needs an answer and has none.
    Empty,
    /// It is not a date.
    NotADate,
    /// It is none of the options.
    NotAnOption,
    /// It is longer than [`TYPED_BYTES_MAX`].
    TooLong,
    /// It breaks a rule of the schema; the rest of the sentence.
    Rule(String),
}

impl FieldProblem {
    /// Completes the sentence that begins with the field's label.
    pub(super) fn sentence(&self, language: Language) -> &str {
        match self {
            Self::Empty => language.is_still_empty(),
            Self::NotADate => language.must_be_a_date(),
            Self::NotAnOption => language.must_be_an_option(),
            Self::TooLong => language.must_be_shorter(),
            Self::Rule(sentence) => sentence,
        }
    }
}

impl Fields {
    /// Reads the agent's definition.
    pub(super) fn from_context(context: &Value, language: Language) -> Self {
        match context.get("fields").and_then(defined_fields) {
            Some(fields) => Self { fields, by_agent: true, about: None, warning: None },
            None => Self::one(language),
        }
    }

    pub(super) fn one(language: Language) -> Self {
        let field = Field {
            name: "answer".to_owned(),
            member: "answer".to_owned(),
            label: language.your_answer().to_owned(),
            description: String::new(),
            hint: String::new(),
            more: Vec::new(),
            kind: FieldKind::Textarea,
            required: true,
            opens: None,
            closes: false,
            warning: None,
        };
        Self { fields: vec![field], by_agent: false, about: None, warning: None }
    }

    /// The fields as they are shown.
    pub(super) fn folded(mut self, length: Length, folds: &mut Folds) -> Self {
        let about = self.about.as_mut().map(|about| about.folded("at-f0", length, folds));
        let mut before: Vec<String> = about.into_iter().flatten().collect();
        for (index, field) in self.fields.iter_mut().enumerate() {
            // The anchor marks the whole field, and not only its control: the label and the description stand before the control.
            let anchor = format!("at-f{index}");
            let label = folds.line(std::mem::take(&mut field.label), folds.1.a_key(), &anchor, length);
            let description = folds.text(std::mem::take(&mut field.description), &label.text, &anchor, length);
            (field.label, field.description) = (label.text, description.text);
            let heading = field.opens.as_mut().map(|heading| heading.folded(&anchor, length, folds));
            before.extend(heading.into_iter().flatten().chain(label.more).chain(description.more));
            if let FieldKind::One(options) | FieldKind::Many(options) = &mut field.kind {
                before.extend(options.iter_mut().filter_map(|option| option.folded(&anchor, length, folds)));
            }
            field.more = std::mem::take(&mut before);
        }
        self
    }

    /// Converts the typed texts, by the names of the fields, into the answer's value, or tells which of them need a change.
    pub(super) fn answer(&self, typed: &BTreeMap<String, String>, language: Language) -> Result<Value, Vec<FieldError>> {
        let mut answer = Map::new();
        let mut errors = Vec::new();
        for field in &self.fields {
            let text = typed.get(&field.name).map_or("", String::as_str);
            match field.read(text, language) {
                Ok(Some(value)) => {
                    answer.insert(field.name.clone(), value);
                }
                Ok(None) => {}
                Err(problem) => errors.push(FieldError { name: field.name.clone(), label: truncated(&field.label, 80), problem }),
            }
        }
        if errors.is_empty() { Ok(Value::Object(answer)) } else { Err(errors) }
    }
}

/// The members of a form's definition that a page does not draw, by field.
pub(super) fn not_drawn(definition: &Value, language: Language) -> Vec<(String, Value)> {
    let items = definition.as_array().into_iter().flatten().filter_map(Value::as_object);
    let rest = |item: &Map<String, Value>| {
        let others = item.iter().filter(|(key, value)| !is_drawn(key, value));
        let others: Map<String, Value> = others.map(|(key, value)| (key.clone(), value.clone())).collect();
        let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
        (!others.is_empty())
            .then(|| (language.more_about_a_field(&quoted(&label(name), FIELD_NAME_CHARS_MAX)), Value::Object(others)))
    };
    items.filter_map(rest).collect()
}

/// Whether a page draws this member of a field whose definition it understood. A field with `options` may have any text as its
/// `type`; the page draws the `type` only if the text names a kind of field.
fn is_drawn(key: &str, value: &Value) -> bool {
    match key {
        "name" | "label" | "description" | "required" | "options" => true,
        "type" => value.is_null() || value.as_str().is_some_and(|word| kind_called(word).is_some()),
        _ => false,
    }
}

impl Field {
    /// The key under which the agent receives the answer, if the label does not show this key.
    pub(super) fn key(&self) -> Option<String> {
        (label(&self.member) != self.label).then(|| visible_line(&self.member))
    }

    /// Whether a closed list would cut an option, so that all options must stand on the page.
    pub(super) fn has_long_options(&self) -> bool {
        let is_long = |option: &String| visible_line(option).chars().count() > OPTION_CHARS_INLINE_MAX;
        matches!(&self.kind, FieldKind::Options(options) if options.iter().any(is_long))
    }

    /// The control's name in the posted body.
    pub(super) fn posted_name(&self) -> String {
        format!("{FIELD_PREFIX}{}", self.name)
    }

    fn read(&self, typed: &str, language: Language) -> Result<Option<Value>, FieldProblem> {
        if typed.len() > TYPED_BYTES_MAX {
            return Err(FieldProblem::TooLong);
        }
        if self.kind == FieldKind::Boolean {
            return Ok(Some(json!(!typed.is_empty())));
        }
        let trimmed = typed.trim();
        if trimmed.is_empty() {
            return if self.required { Err(FieldProblem::Empty) } else { Ok(None) };
        }
        match &self.kind {
            // The fields of a schema are read by it, and not here.
            FieldKind::Boolean
            | FieldKind::Text
            | FieldKind::Line { .. }
            | FieldKind::One(_)
            | FieldKind::Listed(_)
            | FieldKind::Many(_) => Ok(Some(json!(trimmed))),
            // A browser sends line breaks as CR LF; the agent gets the text that the person saw.
            FieldKind::Textarea => Ok(Some(json!(typed.replace("\r\n", "\n")))),
            FieldKind::Number => match number::read(trimmed, language) {
                Ok(number) => Ok(Some(number)),
                Err(Unread::NoNumber) => Err(FieldProblem::Rule(language.must_be_a_number().to_owned())),
                Err(unread) => Err(FieldProblem::Rule(unread.sentence(language))),
            },
            FieldKind::Date => match NaiveDate::parse_from_str(trimmed, "%Y-%m-%d") {
                Ok(date) => Ok(Some(json!(date.to_string()))),
                Err(_) => Err(FieldProblem::NotADate),
            },
            // An option is not trimmed: it is compared exactly as it was offered.
            FieldKind::Options(options) if options.iter().any(|option| option == typed) => Ok(Some(json!(typed))),
            FieldKind::Options(_) => Err(FieldProblem::NotAnOption),
        }
    }
}

fn defined_fields(definition: &Value) -> Option<Vec<Field>> {
    let items = definition.as_array()?;
    if items.is_empty() || items.len() > FIELDS_MAX {
        return None;
    }
    let fields: Vec<Field> = items.iter().map(defined_field).collect::<Option<_>>()?;
    let mut names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    (names.len() == fields.len()).then_some(fields)
}

fn defined_field(item: &Value) -> Option<Field> {
    let name = item.get("name")?.as_str()?;
    if !survives_a_form(name) || name.chars().count() > FIELD_NAME_CHARS_MAX {
        return None;
    }
    let text = |key: &str| match item.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(value) => value.as_str().map(Some),
    };
    Some(Field {
        name: name.to_owned(),
        member: name.to_owned(),
        label: match text("label")?.filter(|text| !text.trim().is_empty()) {
            Some(text) => visible_line(text),
            None => label(name),
        },
        description: defanged(&visible(text("description")?.unwrap_or(""))),
        hint: String::new(),
        more: Vec::new(),
        kind: defined_kind(text("type")?.unwrap_or("text"), item.get("options"))?,
        required: match item.get("required") {
            None | Some(Value::Null) => true,
            Some(value) => value.as_bool()?,
        },
        opens: None,
        closes: false,
        warning: None,
    })
}

/// A browser rewrites line breaks and drops other control characters, so a text with them would come back changed.
fn survives_a_form(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(char::is_control)
}

fn defined_kind(kind: &str, options: Option<&Value>) -> Option<FieldKind> {
    if let Some(options) = options.filter(|options| !options.is_null()) {
        let options: Vec<String> = options
            .as_array()?
            .iter()
            .map(|option| option.as_str().filter(|text| survives_a_form(text)).map(str::to_owned))
            .collect::<Option<_>>()?;
        // An option that is cut, or that reads like another, would send a value that the person was not shown.
        let mut shown: Vec<String> = options.iter().map(|option| visible_line(option).trim().to_lowercase()).collect();
        let whole = shown.iter().all(|option| option.chars().count() <= OPTION_CHARS_MAX);
        shown.sort_unstable();
        let distinct = shown.windows(2).all(|pair| pair[0] != pair[1]);
        let usable = whole && distinct && (1..=OPTIONS_MAX).contains(&options.len());
        return usable.then_some(FieldKind::Options(options));
    }
    kind_called(kind)
}

/// The kind of field that a `type` names.
fn kind_called(word: &str) -> Option<FieldKind> {
    match word {
        "text" => Some(FieldKind::Text),
        "textarea" => Some(FieldKind::Textarea),
        "number" => Some(FieldKind::Number),
        "boolean" => Some(FieldKind::Boolean),
        "date" => Some(FieldKind::Date),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(table: &'a Table, label: &str) -> &'a Row {
        table.rows.iter().find(|row| row.label.text == label).expect("the row is there")
    }

    // A key tells a person which value is which, so it stays recognizable: only a key in plain snake case is changed into words.
    #[test]
    fn snake_case_keys_become_words_and_others_stay() {
        assert_eq!(label("order_id"), "Order id");
        assert_eq!(label("orderId"), "orderId");
        assert_eq!(label("Über uns"), "Über uns");
        assert_eq!(label("___"), "___");
    }

    fn table(sent: &Value, length: Length) -> (Table, Folds) {
        let mut folds = Folds::default();
        (Table::new(entries(sent, Language::English), 'r', length, &mut folds), folds)
    }

    #[test]
    fn nested_objects_are_indented_once_and_then_formatted() {
        let context = json!({"order": {"id": 7, "lines": [{"sku": "a"}]}, "tags": ["x", "y"], "none": null});
        let (table, folds) = table(&context, Length::Whole);
        assert_eq!(row(&table, "Order").cell, Cell::Group);
        assert!(row(&table, "Id").indented);
        assert_eq!(row(&table, "Id").cell, Cell::Text("7".to_owned()));
        assert!(matches!(&row(&table, "Lines").cell, Cell::Code(text) if text.contains("\"sku\": \"a\"")));
        assert_eq!(row(&table, "Tags").cell, Cell::List(vec!["x".to_owned(), "y".to_owned()]));
        assert_eq!(row(&table, "None").cell, Cell::Remark("(nothing)"));
        assert_eq!(folds, Folds::default());
    }

    // No address in an agent's data appears unbroken on our page: a link there would be phishing with our name on it.
    #[test]
    fn addresses_are_defanged_wherever_they_stand() {
        let context =
            json!({"a": "see https://evil.example/x", "b": ["https://evil.example/x"], "c": [{"d": "https://evil.example/x"}]});
        for row in table(&context, Length::Whole).0.rows {
            let shown = format!("{:?}", row.cell);
            assert!(!shown.contains("evil.example"), "{shown}");
        }
    }

    #[test]
    fn a_long_list_and_many_rows_fold_too() {
        let (list, folds) = table(&json!({"list": vec!["x"; 14]}), Length::Folded);
        assert_eq!((list.rows[0].more.as_deref(), folds.0.len()), (Some("2 more entries"), 1));
        let many = Value::Object((0..50).map(|index| (format!("k{index}"), json!(index))).collect());
        let (folded, folds) = table(&many, Length::Folded);
        assert_eq!((folded.rows.len(), folded.rows_hidden, folds.0.len()), (40, 10, 1));
        let (whole, folds) = table(&many, Length::Whole);
        assert_eq!((whole.rows.len(), whole.rows_hidden, folds.0.len()), (50, 0, 1));
        assert_eq!(whole.rows[40].anchor.as_deref(), Some("r40"));
    }

    #[test]
    fn hidden_characters_are_made_visible() {
        let context = json!({"k\u{202e}ey": "a\u{202e}b\u{0}", "deep": {"x": {"y": "\u{202e}"}}});
        let (table, _) = table(&context, Length::Whole);
        let shown: String = table
            .rows
            .iter()
            .flat_map(|row| match &row.cell {
                Cell::Text(text) | Cell::Code(text) => [row.label.text.as_str(), text.as_str()],
                Cell::Group | Cell::Remark(_) | Cell::Address(_) | Cell::List(_) => [row.label.text.as_str(), ""],
            })
            .collect();
        assert!(shown.contains("k⟨U+202E⟩ey"), "{shown}");
        assert!(!shown.contains(['\u{202e}', '\u{0}']), "{shown}");
    }

    fn form() -> Fields {
        Fields::from_context(
            &json!({"fields": [
                {"name": "cap", "label": "Liability cap", "type": "number"},
                {"name": "law", "options": ["Germany", "Norway"]},
                {"name": "clause", "type": "textarea"},
                {"name": "sign", "type": "date"},
                {"name": "cc", "type": "boolean"},
                {"name": "note", "required": false},
            ]}),
            Language::English,
        )
    }

    fn typed(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn typed_values_become_typed_json() {
        let answer = form().answer(
            &typed(&[
                ("cap", " 250000 "),
                ("law", "Norway"),
                ("clause", "a\r\nb"),
                ("sign", "2026-11-24"),
                ("cc", "on"),
                ("note", ""),
                ("uninvited", "x"),
            ]),
            Language::English,
        );
        assert_eq!(answer, Ok(json!({"cap": 250_000, "law": "Norway", "clause": "a\nb", "sign": "2026-11-24", "cc": true})));
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let errors = form()
            .answer(&typed(&[("cap", "1,5"), ("law", "Atlantis"), ("clause", " "), ("sign", "24.11.2026")]), Language::English)
            .expect_err("nothing of it can be sent");
        let problems: Vec<_> = errors.iter().map(|error| (error.name.as_str(), error.problem.clone())).collect();
        assert_eq!(
            problems,
            [
                ("cap", FieldProblem::Rule(Unread::Written("1.5".to_owned()).sentence(Language::English))),
                ("law", FieldProblem::NotAnOption),
                ("clause", FieldProblem::Empty),
                ("sign", FieldProblem::NotADate),
            ]
        );
    }

    // A definition that breaks the convention is not guessed at, and the form has one large field. A guess could ask the person
    // something else than the agent meant.
    #[test]
    fn a_definition_that_does_not_follow_the_convention_becomes_one_large_field() {
        for fields in [
            json!(null),
            json!([]),
            json!({"cap": "number"}),
            json!([{"label": "no name"}]),
            json!([{"name": ""}]),
            json!([{"name": "a"}, {"name": "a"}]),
            json!([{"name": "a", "type": "password"}]),
            json!([{"name": "a", "options": [1]}]),
            json!([{"name": "a", "options": ["x\ny"]}]),
            json!([{"name": "a", "required": "yes"}]),
            json!([{"name": "a\nb"}]),
        ] {
            let read = Fields::from_context(&json!({"fields": fields}), Language::English);
            assert!(!read.by_agent, "{fields}");
            assert_eq!(read.answer(&typed(&[("answer", "fine")]), Language::English), Ok(json!({"answer": "fine"})));
        }
    }
}
