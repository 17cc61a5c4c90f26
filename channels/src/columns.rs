//! The text part of a mail, laid out in columns.

use domain::base::text::truncated;

/// The width of the text part, in columns.
pub(crate) const TEXT_COLUMNS: usize = 72;

/// Wraps `text` at [`TEXT_COLUMNS`]; the first line starts with `first`, the others with `rest`.
///
/// A word that is longer than a line is broken, so that no line is wider than the text part.
pub(crate) fn wrapped(text: &str, first: &str, rest: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let space = usize::from(!is_empty);
        if !is_empty && columns(&line) + space + columns(word) > TEXT_COLUMNS {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        for c in word.chars() {
            if !is_empty && columns(&line) + char_columns(c) > TEXT_COLUMNS {
                lines.push(std::mem::replace(&mut line, rest.to_owned()));
            }
            line.push(c);
            is_empty = false;
        }
    }
    lines.push(line);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// Cuts `text` to the part that fits in `max_columns` columns, with an ellipsis in place of the rest.
pub(crate) fn truncated_to_columns(text: &str, max_columns: usize) -> String {
    let mut kept = text.to_owned();
    let mut max_chars = text.chars().count();
    while columns(&kept) > max_columns && max_chars > 0 {
        max_chars -= 1;
        kept = truncated(text, max_chars);
    }
    kept
}

/// How many columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

/// An upper bound of the width of a character in columns: every character from U+1100 on counts as two columns, even a narrow
/// one. A count that is too large only breaks or cuts a line earlier.
fn char_columns(c: char) -> usize {
    if u32::from(c) < 0x1100 { 1 } else { 2 }
}
