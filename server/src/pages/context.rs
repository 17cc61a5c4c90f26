//! What an agent's `context` means on a page: inert rows to read, and the fields of a form.
//!
//! Everything here is agent text. It leaves this module as plain text with control and bidirectional
//! characters made visible; escaping is the template's, and nothing ever becomes a link.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use domain::text::{defanged, truncated, visible, visible_line};
use domain::words::{self, Amount};
use serde_json::{Map, Value, json};

/// A value longer than this many lines is folded.
pub(super) const FOLDED_LINES_MAX: usize = 12;
/// A value longer than this many characters is folded, so one endless line cannot hide behind the line limit.
pub(super) const FOLDED_CHARS_MAX: usize = 1_200;
/// More rows than this are folded.
pub(super) const FOLDED_ROWS_MAX: usize = 40;
/// A form with more fields than this is not drawn; its definition is shown as text instead.
pub(super) const FIELDS_MAX: usize = 50;
/// A field offering more options than this makes the form one that is not drawn.
pub(super) const OPTIONS_MAX: usize = 100;
/// The longest option, in characters as shown; a longer one would be cut.
pub(super) const OPTION_CHARS_MAX: usize = 200;
/// A typed field value longer than this many bytes is refused.
pub(super) const TYPED_BYTES_MAX: usize = 16 * 1_024;
/// What the form's controls are called in the posted body: this prefix and the field's name.
///
/// The prefix keeps a field named `nonce` or `comment` apart from the page's own inputs.
pub(super) const FIELD_PREFIX: &str = "field.";

const LABEL_CHARS_MAX: usize = 200;
const FIELD_NAME_CHARS_MAX: usize = 64;

/// Whether long parts are shortened.
///
/// A page that shortens anything locks its answers and links to itself unshortened: nobody should
/// be able to say yes to text they were not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// Long values end early and say how much is missing.
    Folded,
    /// Every character is shown.
    Whole,
}

/// The context as a table, ready for the template.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    /// One row per key, nested objects one level deep as indented rows.
    pub rows: Vec<Row>,
    /// What folding left out, one sentence fragment each, such as `41 lines of “Proposed text”`.
    pub hidden: Vec<Hidden>,
    /// Rows left out because there were too many.
    pub rows_hidden: usize,
}

/// One row: what the agent called it and what it said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The key, made readable.
    pub label: String,
    /// True inside a nested object.
    pub indented: bool,
    /// The value.
    pub cell: Cell,
    /// What folding cut from this value, such as `41 more lines`.
    pub more: Option<String>,
}

/// The shapes a value takes on the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// The rows that follow belong to this one.
    Group,
    /// Words the page supplies itself, such as `(empty)`.
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

/// One folded value: how much is hidden, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    /// Such as `41 lines`.
    pub amount: String,
    /// The row's label.
    pub label: String,
}

impl Table {
    /// Lays out `context`, leaving out the key `without` (the form's own definition).
    pub(super) fn new(context: &Value, length: Length, without: Option<&str>) -> Self {
        let mut table = Self::default();
        if let Some(entries) = context.as_object() {
            table.add_entries(entries, length, without);
        } else if !context.is_null() {
            table.add(words::CONTEXT.to_owned(), false, context, length);
        }
        if length == Length::Folded && table.rows.len() > FOLDED_ROWS_MAX {
            table.rows_hidden = table.rows.len() - FOLDED_ROWS_MAX;
            table.rows.truncate(FOLDED_ROWS_MAX);
        }
        table
    }

    /// True when the reader does not see everything the agent sent.
    pub(super) fn is_folded(&self) -> bool {
        !self.hidden.is_empty() || self.rows_hidden > 0
    }

    fn add_entries(&mut self, entries: &Map<String, Value>, length: Length, without: Option<&str>) {
        for (key, value) in entries.iter().filter(|(key, _)| Some(key.as_str()) != without) {
            let Some(inner) = value.as_object().filter(|inner| !inner.is_empty()) else {
                self.add(label(key), false, value, length);
                continue;
            };
            self.rows.push(Row { label: label(key), indented: false, cell: Cell::Group, more: None });
            for (key, value) in inner {
                self.add(label(key), true, value, length);
            }
        }
    }

    fn add(&mut self, label: String, indented: bool, value: &Value, length: Length) {
        let (cell, cut) = fold(cell(value), length);
        if let Some(amount) = &cut {
            let label = truncated(&label, 80);
            self.hidden.push(Hidden { amount: words::amount(*amount), label });
        }
        let more = cut.map(words::amount_more);
        self.rows.push(Row { label, indented, cell, more });
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Remark(words::NOTHING),
        Value::Bool(true) => Cell::Remark(words::YES),
        Value::Bool(false) => Cell::Remark(words::NO),
        Value::Number(number) => Cell::Text(number.to_string()),
        Value::String(text) if text.is_empty() => Cell::Remark(words::EMPTY),
        Value::String(text) => {
            let shown = visible(text);
            let safe = defanged(&shown);
            if safe == shown { Cell::Text(shown) } else { Cell::Address(safe) }
        }
        Value::Array(items) if items.is_empty() => Cell::Remark(words::EMPTY),
        Value::Array(items) => match items.iter().map(scalar).collect() {
            Some(lines) => Cell::List(lines),
            None => Cell::Code(formatted(value)),
        },
        Value::Object(entries) if entries.is_empty() => Cell::Remark(words::EMPTY),
        Value::Object(_) => Cell::Code(formatted(value)),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(defanged(&visible(text))),
        Value::Null => Some(words::NOTHING.to_owned()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// JSON itself escapes control characters; what it leaves alone, such as a right-to-left override, is made visible here.
fn formatted(value: &Value) -> String {
    defanged(&visible(&format!("{value:#}")))
}

fn fold(cell: Cell, length: Length) -> (Cell, Option<Amount>) {
    if length == Length::Whole {
        return (cell, None);
    }
    match cell {
        Cell::Text(text) => fold_text(&text, Cell::Text),
        Cell::Address(text) => fold_text(&text, Cell::Address),
        Cell::Code(text) => fold_text(&text, Cell::Code),
        Cell::List(items) => fold_list(items),
        Cell::Group | Cell::Remark(_) => (cell, None),
    }
}

fn fold_text(text: &str, shape: fn(String) -> Cell) -> (Cell, Option<Amount>) {
    let lines_count = text.lines().count();
    let head = text.lines().take(FOLDED_LINES_MAX).collect::<Vec<_>>().join("\n");
    let head_count = head.chars().count();
    if head_count > FOLDED_CHARS_MAX {
        let head = head.chars().take(FOLDED_CHARS_MAX).collect();
        let cut = text.chars().count() - FOLDED_CHARS_MAX;
        return (shape(head), Some(Amount::Characters(cut)));
    }
    if lines_count > FOLDED_LINES_MAX {
        return (shape(head), Some(Amount::Lines(lines_count - FOLDED_LINES_MAX)));
    }
    (shape(text.to_owned()), None)
}

/// A list folds like a text: by its entries, or by its size when a few entries are long.
fn fold_list(mut items: Vec<String>) -> (Cell, Option<Amount>) {
    let mut left = FOLDED_CHARS_MAX;
    let mut kept = 0;
    for item in items.iter().take(FOLDED_LINES_MAX) {
        let count = item.chars().count();
        if count > left || item.lines().count() > FOLDED_LINES_MAX {
            break;
        }
        left -= count;
        kept += 1;
    }
    let cut = items.len() - kept;
    items.truncate(kept);
    (Cell::List(items), (cut > 0).then_some(Amount::Entries(cut)))
}

/// `order_id` reads as "Order id". Keys that are not plain snake case stay as the agent wrote them.
fn label(key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let spaced = key.replace('_', " ");
    let words = spaced.trim();
    if !plain || words.is_empty() {
        return truncated(&visible_line(key), LABEL_CHARS_MAX);
    }
    let (first, rest) = words.split_at(1);
    truncated(&format!("{}{rest}", first.to_ascii_uppercase()), LABEL_CHARS_MAX)
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
pub(super) struct Fields {
    /// In the agent's order.
    pub fields: Vec<Field>,
    /// True when the agent defined them, so the page shows them in its voice.
    pub by_agent: bool,
}

/// One field of a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The key in the answer.
    pub name: String,
    /// What the person reads.
    pub label: String,
    /// The hint below the label; may be empty.
    pub description: String,
    /// The control and the type of the answer.
    pub kind: FieldKind,
    /// Whether it may stay empty.
    pub required: bool,
}

/// The control a field is shown as.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// One line.
    Text,
    /// Several lines.
    Textarea,
    /// A JSON number.
    Number,
    /// A box to tick.
    Boolean,
    /// A calendar date, answered as `2026-11-24`.
    Date,
    /// One of these.
    Options(Vec<String>),
}

/// What is wrong with one typed value.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldProblem {
    /// It needs an answer and has none.
    Empty,
    /// It is not a number.
    NotANumber,
    /// It is not a date.
    NotADate,
    /// It is none of the options.
    NotAnOption,
    /// It is longer than [`TYPED_BYTES_MAX`].
    TooLong,
}

impl FieldProblem {
    /// Completes the sentence that starts with the field's label.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Empty => words::IS_STILL_EMPTY,
            Self::NotANumber => words::MUST_BE_A_NUMBER,
            Self::NotADate => words::MUST_BE_A_DATE,
            Self::NotAnOption => words::MUST_BE_AN_OPTION,
            Self::TooLong => words::MUST_BE_SHORTER,
        }
    }
}

impl Fields {
    /// Reads the agent's definition.
    pub(super) fn from_context(context: &Value) -> Self {
        match context.get("fields").and_then(defined_fields) {
            Some(fields) => Self { fields, by_agent: true },
            None => Self::one(),
        }
    }

    fn one() -> Self {
        let field = Field {
            name: "answer".to_owned(),
            label: words::YOUR_ANSWER.to_owned(),
            description: String::new(),
            kind: FieldKind::Textarea,
            required: true,
        };
        Self { fields: vec![field], by_agent: false }
    }

    /// Turns what was typed, keyed by the field's name, into the answer's value, or says what needs a change.
    pub(super) fn answer(&self, typed: &BTreeMap<String, String>) -> Result<Value, Vec<FieldError>> {
        let mut answer = Map::new();
        let mut errors = Vec::new();
        for field in &self.fields {
            let text = typed.get(&field.name).map_or("", String::as_str);
            match field.read(text) {
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

impl Field {
    /// The control's name in the posted body.
    pub(super) fn posted_name(&self) -> String {
        format!("{FIELD_PREFIX}{}", self.name)
    }

    fn read(&self, typed: &str) -> Result<Option<Value>, FieldProblem> {
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
            FieldKind::Boolean | FieldKind::Text => Ok(Some(json!(trimmed))),
            // A browser sends line breaks as CR LF; the agent gets what the person saw.
            FieldKind::Textarea => Ok(Some(json!(typed.replace("\r\n", "\n")))),
            FieldKind::Number => number(trimmed).map(Some).ok_or(FieldProblem::NotANumber),
            FieldKind::Date => match NaiveDate::parse_from_str(trimmed, "%Y-%m-%d") {
                Ok(date) => Ok(Some(json!(date.to_string()))),
                Err(_) => Err(FieldProblem::NotADate),
            },
            // Not trimmed: an option is compared as it was offered.
            FieldKind::Options(options) if options.iter().any(|option| option == typed) => Ok(Some(json!(typed))),
            FieldKind::Options(_) => Err(FieldProblem::NotAnOption),
        }
    }
}

/// Only what the API would take as a number, so that `1e999`, `NaN`, `1,5` and integers that readers would round are asked about
/// instead of guessed.
fn number(text: &str) -> Option<Value> {
    domain::json::parse(text.as_bytes()).ok().filter(Value::is_number)
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
        label: match text("label")?.filter(|text| !text.trim().is_empty()) {
            Some(text) => truncated(&visible_line(text), LABEL_CHARS_MAX),
            None => label(name),
        },
        description: defanged(&visible(text("description")?.unwrap_or(""))),
        kind: defined_kind(text("type")?.unwrap_or("text"), item.get("options"))?,
        required: match item.get("required") {
            None | Some(Value::Null) => true,
            Some(value) => value.as_bool()?,
        },
    })
}

/// A browser rewrites line breaks and drops other control characters, so such a text would come back as another one.
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
        // An option that is cut or reads like another would send what nobody was shown.
        let mut shown: Vec<String> = options.iter().map(|option| visible_line(option).trim().to_lowercase()).collect();
        let whole = shown.iter().all(|option| option.chars().count() <= OPTION_CHARS_MAX);
        shown.sort_unstable();
        let distinct = shown.windows(2).all(|pair| pair[0] != pair[1]);
        let usable = whole && distinct && (1..=OPTIONS_MAX).contains(&options.len());
        return usable.then_some(FieldKind::Options(options));
    }
    match kind {
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
        table.rows.iter().find(|row| row.label == label).expect("the row is there")
    }

    // A key is how the person tells values apart; it must stay recognisable.
    #[test]
    fn snake_case_keys_become_words_and_others_stay() {
        assert_eq!(label("order_id"), "Order id");
        assert_eq!(label("orderId"), "orderId");
        assert_eq!(label("Über uns"), "Über uns");
        assert_eq!(label("___"), "___");
    }

    #[test]
    fn nested_objects_are_indented_once_and_then_formatted() {
        let context = json!({"order": {"id": 7, "lines": [{"sku": "a"}]}, "tags": ["x", "y"], "none": null});
        let table = Table::new(&context, Length::Whole, None);
        assert_eq!(row(&table, "Order").cell, Cell::Group);
        assert!(row(&table, "Id").indented);
        assert_eq!(row(&table, "Id").cell, Cell::Text("7".to_owned()));
        assert!(matches!(&row(&table, "Lines").cell, Cell::Code(text) if text.contains("\"sku\": \"a\"")));
        assert_eq!(row(&table, "Tags").cell, Cell::List(vec!["x".to_owned(), "y".to_owned()]));
        assert_eq!(row(&table, "None").cell, Cell::Remark("(nothing)"));
        assert!(!table.is_folded());
    }

    // An agent's link on our page would be phishing with our name on it.
    #[test]
    fn addresses_are_defanged_wherever_they_stand() {
        let context =
            json!({"a": "see https://evil.example/x", "b": ["https://evil.example/x"], "c": [{"d": "https://evil.example/x"}]});
        for row in Table::new(&context, Length::Whole, None).rows {
            let shown = format!("{:?}", row.cell);
            assert!(!shown.contains("evil.example"), "{shown}");
        }
    }

    // Folding is what locks the answers, so its edge is exact.
    #[test]
    fn values_fold_after_twelve_lines_and_say_how_much_is_missing() {
        let lines = |count: usize| vec!["line"; count].join("\n");
        let table = Table::new(&json!({"text": lines(12)}), Length::Folded, None);
        assert!(!table.is_folded());
        let table = Table::new(&json!({"proposed_text": lines(53)}), Length::Folded, None);
        assert_eq!(row(&table, "Proposed text").more.as_deref(), Some("41 more lines"));
        assert_eq!(table.hidden[0].amount, "41 lines");
        assert!(!Table::new(&json!({"text": lines(53)}), Length::Whole, None).is_folded());
    }

    #[test]
    fn one_endless_line_a_long_list_and_many_rows_fold_too() {
        let endless = Table::new(&json!({"text": "x".repeat(1_201)}), Length::Folded, None);
        assert_eq!(endless.rows[0].more.as_deref(), Some("1 more character"));
        let list = Table::new(&json!({"list": vec!["x"; 14]}), Length::Folded, None);
        assert_eq!(list.rows[0].more.as_deref(), Some("2 more entries"));
        let many: Map<String, Value> = (0..50).map(|index| (format!("k{index}"), json!(index))).collect();
        let many = Table::new(&Value::Object(many), Length::Folded, None);
        assert_eq!((many.rows.len(), many.rows_hidden), (40, 10));
        assert!(many.is_folded());
    }

    #[test]
    fn hidden_characters_are_made_visible() {
        let context = json!({"k\u{202e}ey": "a\u{202e}b\u{0}", "deep": {"x": {"y": "\u{202e}"}}});
        let shown: String = Table::new(&context, Length::Whole, None)
            .rows
            .iter()
            .flat_map(|row| match &row.cell {
                Cell::Text(text) | Cell::Code(text) => [row.label.as_str(), text.as_str()],
                Cell::Group | Cell::Remark(_) | Cell::Address(_) | Cell::List(_) => [row.label.as_str(), ""],
            })
            .collect();
        assert!(shown.contains("k⟨U+202E⟩ey"), "{shown}");
        assert!(!shown.contains(['\u{202e}', '\u{0}']), "{shown}");
    }

    fn form() -> Fields {
        Fields::from_context(&json!({"fields": [
            {"name": "cap", "label": "Liability cap", "type": "number"},
            {"name": "law", "options": ["Germany", "Norway"]},
            {"name": "clause", "type": "textarea"},
            {"name": "sign", "type": "date"},
            {"name": "cc", "type": "boolean"},
            {"name": "note", "required": false},
        ]}))
    }

    fn typed(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn typed_values_become_typed_json() {
        let answer = form().answer(&typed(&[
            ("cap", " 250000 "),
            ("law", "Norway"),
            ("clause", "a\r\nb"),
            ("sign", "2026-11-24"),
            ("cc", "on"),
            ("note", ""),
            ("uninvited", "x"),
        ]));
        assert_eq!(answer, Ok(json!({"cap": 250_000, "law": "Norway", "clause": "a\nb", "sign": "2026-11-24", "cc": true})));
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let errors = form()
            .answer(&typed(&[("cap", "1,5"), ("law", "Atlantis"), ("clause", " "), ("sign", "24.11.2026")]))
            .expect_err("nothing of it can be sent");
        let problems: Vec<_> = errors.iter().map(|error| (error.name.as_str(), error.problem)).collect();
        assert_eq!(
            problems,
            [
                ("cap", FieldProblem::NotANumber),
                ("law", FieldProblem::NotAnOption),
                ("clause", FieldProblem::Empty),
                ("sign", FieldProblem::NotADate),
            ]
        );
        for text in ["NaN", "1e999", "inf", "0x10", "--1"] {
            assert!(number(text).is_none(), "{text}");
        }
    }

    // A definition we misread would ask the person something else than the agent meant.
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
            let read = Fields::from_context(&json!({"fields": fields}));
            assert!(!read.by_agent, "{fields}");
            assert_eq!(read.answer(&typed(&[("answer", "fine")])), Ok(json!({"answer": "fine"})));
        }
    }
}
