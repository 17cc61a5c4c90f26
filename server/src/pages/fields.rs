//! The fields of a form whose answer has a schema, as the page shows them.
//!
//! Everything here is text of the agent. It leaves this module as plain text with control and bidirectional characters made visible; the
//! template escapes it.

use std::collections::BTreeSet;

use domain::asking::choice::{Misleading, judge_fields, judge_options};
use domain::base::text::{defanged, truncated, visible, visible_line};
use domain::base::words::Language;
use domain::form::{self, Bounds, Entry, Format, Group, Kind, Problem, Schema, Shape};
use unicode_width::UnicodeWidthStr as _;

use super::choosable::{Choosable, Heading};
use super::context::{FIELD_PREFIX, Field, FieldError, FieldKind, FieldProblem, Fields, OPTION_CHARS_INLINE_MAX, label};

/// The longest label inside one of our sentences, in characters.
const PHRASE_CHARS_MAX: usize = 80;
/// The names of the fields in a warning, in characters.
const WARNED_CHARS_MAX: usize = 200;
/// How much text a line of a control of several lines has on a small phone, roughly, in columns: most characters take one, Chinese ones take
/// two.
const LINE_COLUMNS_MAX: usize = 24;
/// The longest text that a control of one line shows whole on a small phone, whatever its letters are: in the rooms of narrow letters.
const ONE_LINE_MAX: usize = 20;
/// Fewer options than this stand on the page: one tap is less than two.
const LISTED_MIN: usize = 5;

impl Fields {
    /// The fields of a schema; one large field if it is none that this server accepts.
    pub(super) fn of_schema(schema: &Schema, language: Language) -> Self {
        let Ok(shape) = schema.shape() else { return Self::one(language) };
        let mut fields = Vec::new();
        for entry in &shape.entries {
            match entry {
                Entry::Field(field) => fields.push(shown(field, language)),
                Entry::Group(group) => fields.extend(grouped(group, language)),
            }
        }
        let about = Heading { label: defanged(&visible_line(&shape.title)), description: text(&shape.description) };
        let about = Some(about).filter(|about| !about.is_empty());
        Self { fields, by_agent: true, about, warning: warning(&shape, language) }
    }
}

/// The warning about fields that may be taken for each other, which names them.
fn warning(shape: &Shape, language: Language) -> Option<String> {
    let mistaken = judge_fields(shape);
    let reasons: BTreeSet<Misleading> = mistaken.iter().flat_map(|(_, reasons)| reasons).copied().collect();
    let sentences = reasons.into_iter().map(|reason| reason.sentence(language));
    let names = mistaken.iter().map(|(pointer, _)| visible_line(pointer.trim_start_matches('/')));
    let names = format!("({})", truncated(&names.collect::<Vec<_>>().join(", "), WARNED_CHARS_MAX));
    let all: Vec<&str> = sentences.chain([&*names]).collect();
    (!mistaken.is_empty()).then(|| all.join(" "))
}

/// The errors of the page for the problems of an answer.
pub(super) fn errors(schema: &Schema, problems: Vec<Problem>, language: Language) -> Vec<FieldError> {
    let shape = schema.shape().unwrap_or_default();
    problems.into_iter().map(|problem| error(&shape, problem, language)).collect()
}

fn error(shape: &Shape, problem: Problem, language: Language) -> FieldError {
    let Problem { pointer, message, .. } = problem;
    let field = shape.fields().find(|field| field.pointer == pointer);
    let label = field.map_or_else(|| language.your_answer().to_owned(), |field| named(field.title.as_deref(), &field.name));
    FieldError { name: pointer, label: truncated(&label, PHRASE_CHARS_MAX), problem: FieldProblem::Rule(visible_line(&message)) }
}

pub(super) fn named(title: Option<&str>, name: &str) -> String {
    title.map_or_else(|| label(name), |title| defanged(&visible_line(title)))
}

fn text(words: &str) -> String {
    defanged(&visible(words))
}

fn grouped(group: &Group, language: Language) -> Vec<Field> {
    let mut fields: Vec<Field> = group.fields.iter().map(|field| shown(field, language)).collect();
    let heading = Heading { label: named(group.title.as_deref(), &group.name), description: text(&group.description) };
    if let Some(first) = fields.first_mut() {
        first.opens = Some(heading);
    }
    if let Some(last) = fields.last_mut() {
        last.closes = true;
    }
    fields
}

fn shown(field: &form::Field, language: Language) -> Field {
    let label = named(field.title.as_deref(), &field.name);
    Field {
        name: field.pointer.clone(),
        member: field.name.clone(),
        label,
        description: text(&field.description),
        hint: visible_line(&language.hint(&field.rules(language))),
        more: Vec::new(),
        kind: kind(field),
        required: field.required,
        opens: None,
        closes: false,
        warning: judge_options(field).warning(language),
    }
}

fn kind(field: &form::Field) -> FieldKind {
    match &field.kind {
        Kind::Text { format: None, .. } if field.is_long_text() => FieldKind::Textarea,
        Kind::Text { format, .. } => {
            let (input, keyboard) = match format {
                None | Some(Format::DateTime) => ("text", "text"),
                Some(Format::Email) => ("email", "email"),
                Some(Format::Uri) => ("url", "url"),
                Some(Format::Date) => ("date", "text"),
            };
            FieldKind::Line { input, keyboard, is_short: *format == Some(Format::Date) }
        }
        Kind::Number(bounds) => number(bounds, "decimal"),
        Kind::Integer(bounds) => number(bounds, "numeric"),
        Kind::Boolean => FieldKind::Boolean,
        Kind::One(options) => {
            let options = choosable(field, options);
            if fits_a_list(&options) { FieldKind::Listed(options) } else { FieldKind::One(options) }
        }
        Kind::Many { options, .. } => FieldKind::Many(choosable(field, options)),
    }
}

/// Whether a control of one line would hide the end of a text on a small phone. The end would then be sent unseen.
pub(super) fn overflows(text: &str) -> bool {
    text.chars().any(|letter| letter.is_whitespace() && letter != ' ') || text.chars().map(room).sum::<usize>() > ONE_LINE_MAX
}

/// How many narrow letters are as wide as a letter, at most.
fn room(letter: char) -> usize {
    match letter {
        'm' | 'w' => 2,
        'a'..='z' | '0'..='9' | ' ' | '.' | ',' | ':' | ';' | '!' | '\'' | '(' | ')' | '-' | '/' | '_' => 1,
        _ => 2,
    }
}

/// How many lines of a control a text takes on a small phone, roughly.
pub(super) fn lines(text: &str) -> usize {
    text.split('\n').map(broken).sum()
}

/// How many lines a line takes that is broken between its words, and in the middle of those that are too long.
fn broken(line: &str) -> usize {
    let (mut lines, mut used) = (1, 0);
    for word in line.split_inclusive(' ') {
        // The space behind a word may stand beyond the edge.
        let columns = word.trim_end_matches(' ').width();
        if used > 0 && used + columns > LINE_COLUMNS_MAX {
            (lines, used) = (lines + 1, 0);
        }
        let more = columns.saturating_sub(1) / LINE_COLUMNS_MAX;
        lines += more;
        used += word.width().saturating_sub(more * LINE_COLUMNS_MAX);
    }
    lines
}

/// The keyboards of phones that show digits have no sign, so they serve only numbers that cannot be negative.
fn number(bounds: &Bounds, keyboard: &'static str) -> FieldKind {
    let least = bounds.minimum.as_ref().or(bounds.exclusive_minimum.as_ref()).and_then(serde_json::Number::as_f64);
    let keyboard = if least.is_some_and(|least| least >= 0.0) { keyboard } else { "text" };
    FieldKind::Line { input: "text", keyboard, is_short: true }
}

fn choosable(field: &form::Field, options: &[form::Opt]) -> Vec<Choosable> {
    let shown = |(index, option): (usize, &form::Opt)| Choosable {
        box_name: field.tick_name(index),
        value: option.value.clone(),
        label: option.title.as_deref().map_or_else(|| visible_line(&option.value), |title| defanged(&visible_line(title))),
        description: text(&option.description),
        // If the words do not tell the value, the page shows the value beside them.
        sends: option.title.as_deref().filter(|title| *title != option.value).map(|_| visible_line(&option.value)),
    };
    options.iter().enumerate().map(shown).collect()
}

/// Whether a closed list shows all options whole on a small phone.
fn fits_a_list(options: &[Choosable]) -> bool {
    let is_short = |option: &Choosable| {
        option.description.is_empty() && option.sends.is_none() && option.label.chars().count() <= OPTION_CHARS_INLINE_MAX
    };
    options.len() >= LISTED_MIN && options.iter().all(is_short)
}

impl Field {
    /// Whether words stand below the label.
    pub(super) fn has_hint(&self) -> bool {
        !self.description.is_empty() || !self.hint.is_empty()
    }

    /// The keyboard of a phone for an address, if the field is for one. A control of several lines has no type that would bring it up.
    pub(super) fn keyboard_for_addresses(&self) -> Option<&'static str> {
        let FieldKind::Line { keyboard, .. } = &self.kind else { return None };
        Some(*keyboard).filter(|keyboard| matches!(*keyboard, "email" | "url"))
    }
}

impl Choosable {
    /// The name of its box in the posted body.
    pub(super) fn posted_box(&self) -> String {
        format!("{FIELD_PREFIX}{}", self.box_name)
    }
}

#[cfg(test)]
mod tests {
    use domain::form::Typed;
    use serde_json::{Value, json};

    use super::*;

    fn schema(schema: &Value) -> Schema {
        Schema::accept(schema.as_object().unwrap().clone()).unwrap()
    }

    #[test]
    fn each_kind_of_a_schema_has_the_control_that_suits_a_phone() {
        let schema = schema(&json!({"type": "object", "properties": {
            "count": {"type": "integer", "minimum": 0},
            "delta": {"type": "integer"},
            "price": {"type": "number", "exclusiveMinimum": 0},
            "mail": {"type": "string", "format": "email"},
            "site": {"type": "string", "format": "uri"},
            "day": {"type": "string", "format": "date"},
            "at": {"type": "string", "format": "date-time"},
            "name": {"type": "string", "maxLength": 200},
            "essay": {"type": "string"},
            "sure": {"type": "boolean"},
        }, "x-order": ["count", "delta", "price", "mail", "site", "day", "at", "name", "essay", "sure"]}));
        let line = |input, keyboard, is_short| FieldKind::Line { input, keyboard, is_short };
        let kinds: Vec<FieldKind> =
            Fields::of_schema(&schema, Language::English).fields.into_iter().map(|field| field.kind).collect();
        let expected = [
            line("text", "numeric", true),
            line("text", "text", true),
            line("text", "decimal", true),
            line("email", "email", false),
            line("url", "url", false),
            line("date", "text", true),
            line("text", "text", false),
            line("text", "text", false),
            FieldKind::Textarea,
            FieldKind::Boolean,
        ];
        assert_eq!(kinds, expected);
    }

    /// The person sends a default with one press, so its end must not stand out of sight behind the edge of one line.
    #[test]
    fn a_text_that_one_line_would_cut_overflows() {
        for fits in ["x".repeat(ONE_LINE_MAX), "W".repeat(ONE_LINE_MAX / 2), String::new()] {
            assert!(!overflows(&fits), "{fits:?}");
        }
        let [long, wide] = ["x".repeat(ONE_LINE_MAX + 1), "Ｗ".repeat(24)];
        for cut in [&*long, &*wide, "a\nb", "a\rb", "thanks\tpay", "MAXIMILIAN AG", "a\u{2003}b"] {
            assert!(overflows(cut), "{cut:?}");
        }
    }

    #[test]
    fn the_lines_of_a_text_are_counted_by_its_columns_and_words() {
        let words = |count: usize| vec!["x".repeat(13); count].join(" ");
        for (text, expected) in [
            (String::new(), 1),
            ("x".repeat(24), 1),
            ("x".repeat(24) + " ", 1),
            ("x".repeat(49), 3),
            ("Ｗ".repeat(24), 2),
            ("国".repeat(60), 5),
            (words(3), 3),
            ("a\n\nb\n".to_owned(), 4),
        ] {
            assert_eq!(lines(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_problem_names_its_field_by_the_label_that_the_page_shows() {
        let schema = schema(&json!({"type": "object", "required": ["to"], "properties": {
            "to": {"type": "object", "title": "Recipient", "required": ["post_code"], "properties": {
                "post_code": {"type": "string", "pattern": "^[0-9]{5}$"},
            }},
        }}));
        let fields = Fields::of_schema(&schema, Language::English);
        assert_eq!(fields.fields[0].opens.as_ref().map(|heading| &*heading.label), Some("Recipient"));
        let typed = Typed::from([("/to/post_code".to_owned(), "12".to_owned())]);
        let errors = errors(&schema, schema.read(&typed, Language::English).unwrap_err(), Language::English);
        assert_eq!(errors[0].name, "/to/post_code");
        assert_eq!(errors[0].label, "Post code");
        assert_eq!(errors[0].problem.sentence(Language::English), "must match the pattern ^[0-9]{5}$");
    }
}
