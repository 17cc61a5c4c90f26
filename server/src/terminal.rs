//! The terminal of the person who reads: whether there is one, how wide it is, and how foreign words (texts that agents and
//! others wrote) are laid out for it.
//!
//! Guarantee: no line of foreign words begins at the margin, whatever the words and however narrow the terminal. Mechanism: lines
//! are broken here, by the most columns that any terminal gives a character, and each begins with words or a bar of ours.
//! Failure: a terminal of fewer than [`COLUMNS_MIN`] columns, or one that is made narrower afterwards, breaks lines itself.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthChar;

/// The number of columns if there is no terminal: the output is a pipe, or a file that is read on a terminal later.
const COLUMNS_DEFAULT: usize = 80;
/// The fewest columns for which lines are broken.
const COLUMNS_MIN: usize = 24;
/// The fewest columns that remain for the words behind their prefix.
const TEXT_COLUMNS_MIN: usize = 8;

/// Whether a person can be asked: the person types the input, and sees the question and its result.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

/// How many columns the person's terminal has; any of the three streams may lead to it.
#[cfg(unix)]
pub(crate) fn columns() -> usize {
    use rustix::termios::tcgetwinsize;
    let sizes = [tcgetwinsize(std::io::stdout()), tcgetwinsize(std::io::stderr()), tcgetwinsize(std::io::stdin())];
    let known = sizes.into_iter().flatten().map(|size| usize::from(size.ws_col)).find(|columns| *columns > 0);
    known.unwrap_or(COLUMNS_DEFAULT).max(COLUMNS_MIN)
}

#[cfg(not(unix))]
pub(crate) fn columns() -> usize {
    COLUMNS_DEFAULT
}

/// Discards keys that were pressed before the question could be read.
#[cfg(unix)]
pub(crate) fn forget_what_was_typed() {
    use rustix::termios::{QueueSelector, tcflush};
    if let Err(error) = tcflush(std::io::stdin(), QueueSelector::IFlush) {
        tracing::debug!(error = %error, "failed to forget what was typed ahead");
    }
}

#[cfg(not(unix))]
pub(crate) fn forget_what_was_typed() {}

/// Lays out `text`, which holds no control codes but our colours, in `columns`: `before` stands before the first line, `between`
/// before all others.
pub(crate) fn laid_out(text: &str, before: &str, between: &str, columns: usize) -> String {
    let taken = width(before).max(width(between));
    let room = columns.saturating_sub(taken).max(TEXT_COLUMNS_MIN);
    let mut out = String::new();
    for (index, line) in broken(text, room).iter().enumerate() {
        let start = if index == 0 { before } else { between };
        let end = if index == 0 { "" } else { "\n" };
        out.push_str(end);
        out.push_str(if line.is_empty() { start.trim_end() } else { start });
        out.push_str(line);
    }
    out
}

/// The lines of a text, none wider than `columns`; broken at spaces where there are some.
fn broken(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let mut rest = line.trim_end();
        while let Some(end) = overflow(rest, columns) {
            let at_space = rest[..end].rfind(' ').filter(|space| !rest[..*space].trim().is_empty());
            let (this, next) = rest.split_at(if rest[end..].starts_with(' ') { end } else { at_space.unwrap_or(end) });
            lines.push(this.trim_end().to_owned());
            rest = next.trim_start();
        }
        lines.push(rest.to_owned());
    }
    lines
}

/// The place where a line must end because the width is used up; at least one character fits. Escape sequences count as no width:
/// the only ones in `line` are our colour codes.
fn overflow(line: &str, columns: usize) -> Option<usize> {
    let (mut used, mut in_colour) = (0, false);
    // The place where the present letter or emoji begins; other characters that belong to it may follow.
    let (mut whole, mut is_joined) = (0, false);
    for (at, c) in line.char_indices() {
        in_colour |= c == '\u{1B}';
        if in_colour {
            in_colour = c != 'm';
            continue;
        }
        if !is_joined && !belongs_to_the_one_before(c) {
            whole = at;
        }
        is_joined = c == JOINER;
        used += columns_of(c);
        if used > columns && at > 0 {
            return Some(if whole > 0 { whole } else { at });
        }
    }
    None
}

/// The character that joins two emoji into one.
const JOINER: char = '\u{200D}';

fn belongs_to_the_one_before(c: char) -> bool {
    matches!(c, JOINER | '\u{0300}'..='\u{036F}' | '\u{20E3}' | '\u{FE0E}' | '\u{FE0F}')
}

fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The most columns that any terminal gives a character. Terminals differ about characters that East Asian fonts draw wide, about
/// joined emoji, and about accents. A line that ends early costs nothing; a line that is too long continues at the margin.
fn columns_of(c: char) -> usize {
    match c {
        ' '..='~' => 1,
        '\u{2300}'..='\u{27BF}' | '\u{2900}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}' => 2,
        _ => c.width_cjk().unwrap_or(1).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces_and_at_the_last_column() {
        assert_eq!(laid_out("one two three", "> ", "| ", 9), "> one two\n| three");
        assert_eq!(laid_out("onetwothreefour", "> ", "| ", 10), "> onetwoth\n| reefour");
        assert_eq!(laid_out("one\n  two\n\nthree", "> ", "| ", 40), "> one\n|   two\n|\n| three");
        assert_eq!(laid_out("", "> ", "| ", 40), ">");
        assert_eq!(laid_out("12345678 b", "", "  ", 10), "12345678\n  b");
    }

    /// However an agent pads a line, its next words do not begin at the margin, where only our words may begin.
    #[test]
    fn padding_never_reaches_the_margin() {
        for padding in [" ", "\u{2500}", "\u{e9}", "界", "👩\u{200D}", "☎\u{FE0F}", "\u{1F1E9}", "e\u{301}", "\u{a0}"] {
            for columns in [40, 80] {
                for count in 0..2 * columns {
                    let text = format!("x{}Answers", padding.repeat(count));
                    for line in laid_out(&text, "  │ ", "  │ ", columns).lines() {
                        assert!(line.starts_with("  │"), "{line}");
                        assert!(width(line) <= columns, "{} columns: {line}", width(line));
                    }
                }
            }
        }
    }

    #[test]
    fn an_emoji_is_not_broken_unless_it_fills_a_line() {
        assert_eq!(laid_out("☎\u{FE0F}☎\u{FE0F}☎\u{FE0F}", "", "", 8), "☎\u{FE0F}☎\u{FE0F}\n☎\u{FE0F}");
        assert_eq!(laid_out("abcdefge\u{301}", "", "", 8), "abcdefg\ne\u{301}");
        assert!(laid_out(&"👧\u{200D}".repeat(9), "", "", 8).lines().all(|line| width(line) <= 8));
    }
}
