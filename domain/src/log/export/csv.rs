//! A table for people (RFC 4180).
//!
//! A CSV file is not lossless and cannot be verified: apostrophes are added before formulas, invisible characters are shown by
//! their code points, and long fields are cut.

use serde_json::Value;

use super::{Facts, json_text, marked};
use crate::base::time;

/// The first record of the table with its line end: the names of the columns.
pub const HEADER: &str = "leaf,created_at,log,subject_id,sequence,event_type,actor,suspension_id,question,response,responded_by,\
                          resolution,event_hash,payload\r\n";

/// The longest field, in UTF-16 units. A spreadsheet puts what goes beyond 32,767 units into another cell, where it could be a
/// formula.
const FIELD_MAX: usize = 32_000;
/// The last character of a field that was cut.
const CUT: char = '…';
/// The characters that begin a formula, also in their other widths.
const FORMULA: [char; 13] = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '−'];
/// The characters after which a reader with other separators than ours would begin a new cell.
const SEPARATORS: [char; 4] = [';', '\t', '\n', '\r'];

/// The record of one served event, which is leaf number `leaf`, with its line end (CR LF). Line ends within a field stay, in
/// quotation marks.
#[must_use]
pub fn line(leaf: u64, event: &Value) -> String {
    let facts = Facts::of(event);
    let created_at = facts.at.map_or_else(|| facts.created_at.to_owned(), time::rfc3339);
    let fields = [
        leaf.to_string(),
        field(&created_at),
        field(facts.log),
        field(facts.subject_id),
        facts.sequence.map(|sequence| sequence.to_string()).unwrap_or_default(),
        field(facts.event_type),
        field(facts.actor),
        field(facts.suspension_id),
        field(facts.question),
        field(&facts.response),
        field(facts.responded_by),
        field(facts.resolution),
        field(facts.event_hash),
        field(&facts.payload.map(json_text).unwrap_or_default()),
    ];
    let mut line = fields.join(",");
    line.push_str("\r\n");
    line
}

/// A field in quotation marks; nothing if there is no text.
fn field(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = marked(text, |c| matches!(c, '\t' | '\n' | '\r'));
    format!("\"{}\"", cut(inert(&text)).replace('"', "\"\""))
}

/// The text with an apostrophe in front if a spreadsheet could take it for a formula, and before each formula within it that
/// would begin a cell for a reader with another separator.
fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    if begins_formula(text) {
        out.push('\'');
    }
    let mut begins_cell = false;
    for c in text.chars() {
        if begins_cell && FORMULA.contains(&c) {
            out.push('\'');
        }
        begins_cell = SEPARATORS.contains(&c) || (begins_cell && (c.is_whitespace() || c == '"'));
        out.push(c);
    }
    out
}

fn begins_formula(text: &str) -> bool {
    let begins_with_control = text.starts_with(['\t', '\r', '\n']);
    let shown = text.trim_start_matches(|c: char| c.is_whitespace() || super::is_invisible(c));
    begins_with_control || shown.starts_with(FORMULA)
}

fn cut(mut text: String) -> String {
    let mut units = 0;
    let end = text.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > FIELD_MAX
    });
    if let Some((at, _)) = end {
        text.truncate(at);
        text.push(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spreadsheet must not compute what an agent wrote.
    #[test]
    fn a_field_that_could_be_a_formula_begins_with_an_apostrophe() {
        for formula in FORMULA {
            for before in ["", " ", "  \u{a0}", "\u{200d}"] {
                let text = format!("{before}{formula}1+1");
                assert_eq!(field(&text), format!("\"'{text}\""));
            }
        }
        for text in ["\tx", "\rx", "\nx", "\t", "-", "=HYPERLINK(0)"] {
            assert_eq!(field(text), format!("\"'{text}\""));
        }
        for text in ["a=1", "1-1", "a@example.com", "'=1", "(=1)", "well, -5"] {
            assert_eq!(field(text), format!("\"{text}\""));
        }
    }

    /// Many spreadsheets separate by semicolon or tab, and then see other cells than we wrote.
    #[test]
    fn a_formula_after_another_separator_gets_an_apostrophe_too() {
        assert_eq!(field("a;=1"), "\"a;'=1\"");
        assert_eq!(field("a\t @b"), "\"a\t '@b\"");
        assert_eq!(field("a\r\n\"=1;b"), "\"a\r\n\"\"'=1;b\"");
        assert_eq!(field("a; b=1"), "\"a; b=1\"");
    }

    #[test]
    fn quotation_marks_are_doubled_and_invisible_characters_shown() {
        assert_eq!(field("a \"b\",\0\u{202e}\u{2028}\u{85}c"), "\"a \"\"b\"\",⟨U+0000⟩⟨U+202E⟩⟨U+2028⟩⟨U+0085⟩c\"");
        assert_eq!(field("a\r\nb\tc"), "\"a\r\nb\tc\"");
        assert_eq!(field(""), "");
    }

    /// A spreadsheet begins a new cell after 32,767 units, so no field is as long.
    #[test]
    fn a_long_field_is_cut() {
        let longest = "x".repeat(FIELD_MAX);
        assert_eq!(field(&longest), format!("\"{longest}\""));
        assert_eq!(field(&format!("{longest}=")), format!("\"{longest}…\""));
        assert_eq!(field(&"😀".repeat(FIELD_MAX)), format!("\"{}…\"", "😀".repeat(FIELD_MAX / 2)));
    }
}
