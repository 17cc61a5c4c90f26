//! Makes text inert and writes times, for mails and pages alike.
//!
//! Text from an agent is shown to a person who is about to decide something. The text must not be able to reorder its line, hide
//! a part of itself, or become something to click. Nothing is dropped in silence: a character that would be invisible is shown by
//! its code point, so that the reader sees that something was there. The marks have no words, because a text may go from a reader
//! of one language to one of another.

use std::borrow::Cow;

use chrono::{DateTime, Datelike as _, TimeDelta, Utc};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::base::words::Language;

/// Makes `text` inert and keeps its line breaks.
///
/// Control, bidirectional, zero-width and other invisible characters become `⟨U+202E⟩`, and the same one many times in a row
/// `⟨3000 × U+202E⟩`. A carriage return before a line feed disappears and a tab becomes a space, because both are ordinary in honest
/// text; so are joiners inside an emoji, and between two letters of a script that is spelled with them. The fifth accent on a letter
/// and all further ones are shown by their code points, and so are characters that would make a joined letter or emoji longer than
/// the limit. A run of spaces or empty lines that would push the text behind it out of sight is replaced by its length:
/// `⟨200 × ␣⟩`, `⟨29 × ↵⟩`.
#[must_use]
pub fn visible(text: &str) -> String {
    without_empty_lines(&without_gaps(&inert(text, '\n')))
}

/// Whether a control that shows `text` as it is hides nothing of it: [`visible`] replaces no character and no gap of it.
#[must_use]
pub fn is_visible(text: &str) -> bool {
    visible(text) == text.replace('\t', " ").replace("\r\n", "\n")
}

/// Makes `text` inert and puts it on one line: a line feed becomes a space.
#[must_use]
pub fn visible_line(text: &str) -> String {
    without_gaps(&inert(text, ' '))
}

/// The compatibility form of a text (NFKC). ASCII is its own form, and is not copied.
pub fn nfkc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) }
}

/// Text of another author for a place between our quotation marks: on one line, inert, and bounded. It has no quotation marks
/// of its own, so that it cannot close ours and go on as if we had written the rest.
pub fn quoted(text: &str, max_chars: usize) -> String {
    let words: String = visible_line(text).chars().map(|c| if "“”„‟\"«»".contains(c) { '’' } else { c }).collect();
    truncated(words.trim(), max_chars)
}

/// Whether a title only repeats the beginning of its question, for example because the title was made from the question. The
/// title is then left out.
#[must_use]
pub fn repeats(title: &str, question: &str) -> bool {
    let (title, question) = (title.trim(), question.trim());
    let first_line = question.lines().next().unwrap_or_default().trim_end();
    title == question || title == first_line || title.strip_suffix('…').is_some_and(|start| question.starts_with(start))
}

/// Cuts `text` to at most `max_chars` characters; the last one is an ellipsis when something was cut.
#[must_use]
pub fn truncated(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let Some(kept_chars) = max_chars.checked_sub(1) else {
        return String::new();
    };
    let kept: String = text.chars().take(kept_chars).collect();
    format!("{}…", kept.trim_end())
}

/// Breaks every address in `text`, so that no mail program turns it into a link: `https[:]//help[.]example/t`.
///
/// Each dot of a host is broken, not only the last: in `bank.example[.]zip` a mail program would still link `bank.example`. The
/// scheme is broken and not removed, because the parts around a removed scheme could join into a new one. Call this on text that
/// [`visible`] returned: an invisible character could hide an address from this function.
#[must_use]
pub fn defanged(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = None;
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        match c {
            ':' if rest.starts_with("//") || ends_with_mailto(&text[..at]) => out.push_str("[:]"),
            '.' | '．' | '。' | '｡' if joins_labels(previous, c, rest) => out.push_str("[.]"),
            _ => out.push(c),
        }
        previous = Some(c);
    }
    out
}

/// Says how long is left: `3 days 4 h`, `2 h 14 min`, `10 min`, `45 s`.
///
/// Rounded to the smallest unit shown, so that ten minutes are still ten minutes a moment later; the last minute is counted down.
#[must_use]
pub fn time_left(left: TimeDelta, language: Language) -> String {
    if left < TimeDelta::minutes(1) {
        return language.seconds(left.num_seconds().max(0));
    }
    let minutes = (left + TimeDelta::seconds(30)).num_minutes();
    if minutes >= 48 * 60 {
        let hours = (minutes + 30) / 60;
        return two(language.days(hours / 24), (hours % 24 > 0).then(|| language.hours(hours % 24)));
    }
    let (hours, minutes) = (minutes / 60, minutes % 60);
    let minutes = (minutes > 0).then(|| language.minutes(minutes));
    match minutes {
        Some(minutes) if hours == 0 => minutes,
        minutes => two(language.hours(hours), minutes),
    }
}

fn two(first: String, second: Option<String>) -> String {
    match second {
        Some(second) => format!("{first} {second}"),
        None => first,
    }
}

/// The time of day, `09:30`; say the zone (UTC) beside it.
#[must_use]
pub fn clock(at: DateTime<Utc>, language: Language) -> String {
    language.clock(at)
}

/// The time of day, with the date in front when it is not the day of `now`: `Wed 25 Nov, 09:30`.
#[must_use]
pub fn moment(at: DateTime<Utc>, now: DateTime<Utc>, language: Language) -> String {
    if at.date_naive() == now.date_naive() { clock(at, language) } else { date_and_clock(at, now, language) }
}

/// A deadline in full, `Tue 24 Nov, 09:30 UTC`, with the year when it is not the year of `now`.
#[must_use]
pub fn deadline(at: DateTime<Utc>, now: DateTime<Utc>, language: Language) -> String {
    language.in_utc(&date_and_clock(at, now, language))
}

fn date_and_clock(at: DateTime<Utc>, now: DateTime<Utc>, language: Language) -> String {
    language.date_and_clock(at, at.year() != now.year())
}

/// The most accents shown on one letter. No language writes more, and a taller stack would paint over the lines around it.
const MARKS_MAX: usize = 4;

/// The most combining marks shown on one letter. No letter of any script has more, and a further mark is drawn on a circle of its
/// own.
const ALL_MARKS_MAX: usize = 6;

/// How many characters may be shown as one letter. No line is broken inside a letter, so five joined letters of Devanagari, which
/// are nine or ten characters, would stick out of a narrow box, for example that of the name of a value on a phone. The last
/// letters of the few longer syllables are shown by their code points.
const CLUSTER_CHARS_MAX: usize = 8;

/// How many characters may be shown as one emoji. No emoji has more: a kiss between two people of two colours has ten, and is
/// only as wide as two letters.
const EMOJI_CHARS_MAX: usize = 10;

/// The most kinds of hidden characters of one run that are shown by their code points. Without a limit a run of two kinds in turns
/// would become several times as long as it was, and a form with it could not be sent.
const RUN_MARKS_MAX: usize = 8;

/// The most empty lines in a row that are shown as they are.
const EMPTY_LINES_MAX: usize = 2;

/// The most spaces in a row that are shown as they are; a table drawn with spaces needs no more.
const SPACES_MAX: usize = 80;

/// How many parts of a Korean syllable may be shown as one. No syllable has more, and each part may be as wide as two letters.
const JAMO_MAX: usize = 4;

/// How many characters may be shown as one, if `c` is the last of them.
fn cluster_chars_max(c: char) -> usize {
    match c {
        '\u{1100}'..='\u{11FF}' | '\u{A960}'..='\u{A97C}' | '\u{D7B0}'..='\u{D7FB}' => JAMO_MAX,
        '\u{200D}' | '\u{2600}'..='\u{27BF}' | '\u{FE0F}' | '\u{1F000}'..='\u{1FAFF}' => EMOJI_CHARS_MAX,
        _ => CLUSTER_CHARS_MAX,
    }
}

/// Whether a character is an accent that stands on any letter, or a tone letter. Fonts join a row of tone letters into one
/// line.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{02E5}'..='\u{02E9}' | '\u{A700}'..='\u{A71F}' | '\u{0300}'..='\u{036F}' | '\u{0483}'..='\u{0489}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

fn inert(text: &str, line_feed: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = None;
    let (mut marks, mut all_marks) = (0, 0);
    let mut hidden = Vec::new();
    let mut chars = text.graphemes(true).flat_map(|cluster| cluster.chars().enumerate()).peekable();
    while let Some((position, c)) = chars.next() {
        let next = chars.peek().map(|&(position, c)| Next { c, joined: position > 0 });
        marks = if is_mark(c) { marks + 1 } else { 0 };
        all_marks = if is_combining_mark(c) { all_marks + 1 } else { 0 };
        let shown = match c {
            '\r' if next.is_some_and(|next| next.c == '\n') => None,
            '\n' => Some(line_feed),
            '\t' => Some(' '),
            _ if marks > MARKS_MAX
                || all_marks > ALL_MARKS_MAX
                || position >= cluster_chars_max(c)
                || strikes_out(c)
                || (is_invisible(c) && !shapes_an_emoji(previous, c, next) && !spells_a_word(previous, c, next)) =>
            {
                hidden.push(c);
                previous = Some(c);
                continue;
            }
            _ => Some(c),
        };
        if !hidden.is_empty() {
            out.push_str(&marks_of(&hidden));
            hidden.clear();
        }
        out.extend(shown);
        previous = Some(c);
    }
    out + &marks_of(&hidden)
}

/// The marks in the place of a run of hidden characters: one for each kind in a row, and one for all that follow
/// [`RUN_MARKS_MAX`] of these.
fn marks_of(run: &[char]) -> String {
    let (mut marks, mut left) = (String::new(), run.len());
    for same in run.chunk_by(|one, next| one == next).take(RUN_MARKS_MAX) {
        left -= same.len();
        marks.push_str(&counted(&format!("U+{:04X}", u32::from(same[0])), same.len()));
    }
    if left > 0 {
        marks.push_str(&counted("…", left));
    }
    marks
}

/// The mark in the place of so many characters.
fn counted(what: &str, count: usize) -> String {
    if count == 1 { format!("⟨{what}⟩") } else { format!("⟨{count} × {what}⟩") }
}

/// The next character, and whether it is part of the same grapheme cluster as the character before it.
#[derive(Clone, Copy)]
struct Next {
    c: char,
    joined: bool,
}

/// Whether a mark crosses out the letter before it or draws a prohibition sign around it. The mark would reverse the meaning of
/// the word.
fn strikes_out(c: char) -> bool {
    matches!(c, '\u{0334}'..='\u{0338}' | '\u{20D2}'..='\u{20D3}' | '\u{20D8}'..='\u{20DA}' | '\u{20DD}'..='\u{20E0}' | '\u{20E2}' | '\u{20E4}'..='\u{20E6}' | '\u{20EA}'..='\u{20EB}')
}

/// Replaces more than [`SPACES_MAX`] spaces in a row, of whatever width, by their number.
fn without_gaps(text: &str) -> String {
    let is_space = |c: char| c.is_whitespace() && c != '\n';
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_space) {
        let gap = rest[start..].find(|c| !is_space(c)).map_or(rest.len(), |length| start + length);
        let spaces = rest[start..gap].chars().count();
        if spaces > SPACES_MAX {
            out.push_str(&rest[..start]);
            out.push_str(&counted("␣", spaces));
        } else {
            out.push_str(&rest[..gap]);
        }
        rest = &rest[gap..];
    }
    out.push_str(rest);
    out
}

/// As [`without_gaps`], for empty lines.
fn without_empty_lines(text: &str) -> String {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    for run in text.split('\n').collect::<Vec<_>>().chunk_by(|one, next| one.trim().is_empty() == next.trim().is_empty()) {
        if run.len() > EMPTY_LINES_MAX && run[0].trim().is_empty() {
            lines.push(counted("↵", run.len()).into());
        } else {
            lines.extend(run.iter().map(|line| Cow::from(*line)));
        }
    }
    lines.join("\n")
}

/// Whether a text shows nothing: it is empty, or has only spaces and characters that show nothing.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

/// Characters that show nothing or change how others are shown: Unicode's controls, its default-ignorable code points, the line
/// and paragraph separators, and the blank Braille cell.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{00AD}'
                | '\u{034F}'
                | '\u{061C}'
                | '\u{115F}'..='\u{1160}'
                | '\u{17B4}'..='\u{17B5}'
                | '\u{180B}'..='\u{180F}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{FEFF}'
                | '\u{FFA0}'
                | '\u{FFF0}'..='\u{FFFB}'
                | '\u{1BCA0}'..='\u{1BCA3}'
                | '\u{1D173}'..='\u{1D17A}'
                | '\u{E0000}'..='\u{E0FFF}'
        )
}

/// Whether a joiner or a variation selector is part of an honest emoji. Elsewhere these characters only hide something.
fn shapes_an_emoji(previous: Option<char>, c: char, next: Option<Next>) -> bool {
    match c {
        '\u{200D}' => previous.is_some_and(is_emoji_part) && next.is_some_and(|next| next.joined && is_emoji_part(next.c)),
        // A keycap is made of a digit, this selector, and a frame.
        '\u{FE0F}' if next.is_some_and(|next| next.c == '\u{20E3}') => {
            previous.is_some_and(|c| c.is_ascii_digit() || c == '#' || c == '*')
        }
        '\u{FE0E}' | '\u{FE0F}' => previous.is_some_and(is_emoji_base),
        _ => false,
    }
}

/// Whether a joiner stands between two letters of a script that is spelled with joiners: it tells which forms of the letters are
/// written, and some words differ in it alone. Between some letters it shows nothing, and people type it there all the same; texts that
/// differ in it alone look alike, which [`skeleton`](super::confusable::skeleton) finds. In other scripts it only hides something.
fn spells_a_word(previous: Option<char>, c: char, next: Option<Next>) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}')
        && previous.is_some_and(is_joined_letter)
        && next.is_some_and(|next| is_joined_letter(next.c))
}

/// Whether a character is a letter, or a mark on one, of a script that is spelled with joiners: Arabic, Syriac and N’Ko, those of
/// India, Sri Lanka, Myanmar and Cambodia, and Mongolian.
fn is_joined_letter(c: char) -> bool {
    let is_of_script = matches!(c, '\u{0600}'..='\u{07FF}' | '\u{0840}'..='\u{0DFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{18AF}' | '\u{A8E0}'..='\u{A8FF}' | '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}');
    is_of_script && (c.is_alphabetic() || is_combining_mark(c)) && !is_invisible(c)
}

fn is_emoji_part(c: char) -> bool {
    is_emoji_base(c) || c == '\u{FE0F}'
}

fn is_emoji_base(c: char) -> bool {
    matches!(c, '©' | '®' | '‼' | '⁉' | '™' | '\u{2190}'..='\u{27BF}' | '\u{2900}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Whether a dot stands between two labels of a host, as a mail program could read it.
///
/// No top-level domain has fewer than two letters or starts with a digit, so `e.g.`, `4.18.0` and `€412.00` stay as
/// they are. The ideographic full stop ends a sentence unless an ASCII letter touches it.
fn joins_labels(previous: Option<char>, dot: char, rest: &str) -> bool {
    let mut following = rest.chars();
    let (Some(before), Some(first), Some(second)) = (previous, following.next(), following.next()) else {
        return false;
    };
    let labels = before.is_alphanumeric() && first.is_alphabetic() && (second.is_alphanumeric() || second == '-');
    labels && (matches!(dot, '.' | '．') || before.is_ascii() || first.is_ascii())
}

fn ends_with_mailto(text: &str) -> bool {
    let scheme = "mailto";
    text.len().checked_sub(scheme.len()).and_then(|at| text.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    fn at(year: i32, month: u32, day: u32, hour: u32, minute: u32) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(year, month, day, hour, minute, 0).unwrap()
    }

    #[test]
    fn a_chain_that_no_line_can_be_broken_in_ends_soon() {
        assert_eq!(visible_line(&"ᄀ".repeat(6)), "ᄀᄀᄀᄀ⟨2 × U+1100⟩");
        assert_eq!(visible_line(&"˥".repeat(5)), "˥˥˥˥⟨U+02E5⟩");
        assert_eq!(visible_line(&"क्".repeat(5)), "क्क्क्क्⟨U+0915⟩⟨U+094D⟩");
        for honest in [
            "👨🏽\u{200d}❤\u{fe0f}\u{200d}💋\u{200d}👨🏽",
            "लक्ष्म्य",
            "한국어 질문",
            "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}",
            "ma˧˥ ma˨˩˦",
        ] {
            assert_eq!(visible_line(honest), honest);
        }
    }

    #[test]
    fn a_title_that_repeats_the_question_is_told_from_one_that_says_more() {
        for title in ["Deploy?", " Deploy? ", "Deploy?\n\nTo eu.", "Dep…"] {
            assert!(repeats(title, "Deploy?\n\nTo eu."), "{title:?}");
        }
        for title in ["Deploy", "deploy?", "Deploy? Yes", "Dop…", "Release 4"] {
            assert!(!repeats(title, "Deploy?\n\nTo eu."), "{title:?}");
        }
    }

    /// Quotation marks inside a quoted text become apostrophes. Otherwise the text could close our quotation marks and go on as
    /// if we had written the rest.
    #[test]
    fn quoted_words_cannot_close_our_quotation_marks() {
        assert_eq!(quoted("no”. You answered already. “", 80), "no’. You answered already. ’");
        assert_eq!(quoted("a \"b\" «c»\n", 80), "a ’b’ ’c’");
    }

    /// Invisible characters are shown by their codes. If they took effect, a person could approve a question of which a part
    /// was hidden or in another order.
    #[test]
    fn invisible_characters_are_shown_by_their_code_point() {
        assert_eq!(visible("pay \u{202E}005€"), "pay ⟨U+202E⟩005€");
        assert_eq!(visible("a\u{0}b\u{1B}[2Jc\u{85}"), "a⟨U+0000⟩b⟨U+001B⟩[2Jc⟨U+0085⟩");
        for c in "\u{200E}\u{200F}\u{061C}\u{202A}\u{202D}\u{2066}\u{2069}\u{200B}\u{200C}\u{200D}\u{2060}\u{2064}\u{FEFF}\
                  \u{00AD}\u{E0041}\u{E007F}\u{2028}\u{2029}\u{3164}\u{7F}\u{9F}"
            .chars()
        {
            assert_eq!(visible(&format!("a{c}b")), format!("a⟨U+{:04X}⟩b", u32::from(c)));
        }
    }

    #[test]
    fn honest_text_stays_as_it_is() {
        for text in ["Refund €412.00?", "日本語の質問", "مرحبا", "naïve café", "👩‍👩‍👧 ❤️ 🏳️‍🌈 ☎️"]
        {
            assert_eq!(visible(text), text);
        }
        assert_eq!(visible("one\r\ntwo\tthree\nfour"), "one\ntwo three\nfour");
    }

    #[test]
    fn one_line_has_no_line_break_left() {
        assert_eq!(visible_line("one\r\ntwo\nthree\rfour"), "one two three⟨U+000D⟩four");
    }

    /// The fifth accent on a letter is shown by its code. A taller stack of accents would reach out of the frame around the
    /// agent's text and cover our own words.
    #[test]
    fn the_fifth_accent_on_a_letter_is_shown_by_its_code_point() {
        let letter = "a\u{301}\u{302}\u{303}\u{304}";
        assert_eq!(visible(letter), letter);
        assert_eq!(visible(&format!("{letter}\u{305}\u{1DC0}b\u{301}")), format!("{letter}⟨U+0305⟩⟨U+1DC0⟩b\u{301}"));
        assert_eq!(visible("1\u{FE0F}\u{20E3}"), "1\u{FE0F}\u{20E3}");
        assert_eq!(visible("a\u{FE0F}\u{20E3}"), "a⟨U+FE0F⟩\u{20E3}");
    }

    /// Characters that fonts join without end are shown by their codes after a few. No line is broken inside a letter, so a
    /// longer one would reach out of its box.
    #[test]
    fn a_chain_without_end_is_shown_by_its_code_points() {
        for link in ["◼\u{200D}", "👩\u{200D}", "\u{1100}", "क\u{94D}", "\u{E47}", "\u{5B0}", "\u{1F3FB}"] {
            let shown = visible(&format!("ก{}", link.repeat(100)));
            let longest = shown.graphemes(true).map(|cluster| cluster.chars().count()).max().unwrap();
            assert!(longest <= EMOJI_CHARS_MAX, "{link:?}: {longest}");
        }
        let kiss = "👩🏻\u{200D}❤\u{FE0F}\u{200D}💋\u{200D}👨🏿";
        for text in [kiss, "မျှော်", "ཧཱུྃ", "शुक्ल", "각", "ที่นี้"] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn what_crosses_a_word_out_is_shown_by_its_code_point() {
        assert_eq!(visible("a\u{336}b\u{20E0}"), "a⟨U+0336⟩b⟨U+20E0⟩");
    }

    /// A long gap is replaced by a note of its length, because text behind a gap of several screens is as good as hidden.
    #[test]
    fn a_gap_is_closed_and_counted() {
        for (text, shown) in [
            ("a\n\n\nb".to_owned(), "a\n\n\nb".to_owned()),
            ("a\n\n \n\u{A0}\nb".to_owned(), "a\n⟨3 × ↵⟩\nb".to_owned()),
            (format!("a{}b", "\r\n".repeat(3_901)), "a\n⟨3900 × ↵⟩\nb".to_owned()),
            (format!("a{}b", " ".repeat(80)), format!("a{}b", " ".repeat(80))),
            (format!("a{}b\n", "\u{3000}".repeat(81)), "a⟨81 × ␣⟩b\n".to_owned()),
        ] {
            assert_eq!(visible(&text), shown);
        }
        assert_eq!(visible_line(&format!("a{}b", "\n".repeat(3_900))), "a⟨3900 × ␣⟩b");
    }

    /// A person reads how often a hidden character came, and a flood of them does not make a text so long that it cannot be sent.
    #[test]
    fn a_run_of_hidden_characters_is_counted() {
        assert_eq!(visible(&format!("a{}b", "\u{202E}".repeat(3_000))), "a⟨3000 × U+202E⟩b");
        assert_eq!(visible("a\u{202E}\u{202E}\u{200B}\r\n"), "a⟨2 × U+202E⟩⟨U+200B⟩\n");
        assert_eq!(visible("\u{202E}a\u{202E}"), "⟨U+202E⟩a⟨U+202E⟩", "these are two runs");
        let in_turns = "\u{202E}\u{202D}".repeat(1_500);
        assert_eq!(visible(&in_turns), "⟨U+202E⟩⟨U+202D⟩".repeat(4) + "⟨2992 × …⟩");
    }

    /// In Persian and in the scripts of India joiners are spelling: a text without them is misspelled, or is another word.
    #[test]
    fn joiners_stay_in_words_that_are_spelled_with_them() {
        for honest in [
            "می\u{200C}خواهم",
            "خانه\u{200C}ها",
            "क्\u{200D}ष",
            "শর\u{200D}্য",
            "ශ\u{0DCA}\u{200D}ර\u{0DD3}",
            "\u{1820}\u{200D}\u{1821}",
        ] {
            assert!(is_visible(honest), "{honest:?}: {}", visible(honest));
        }
        for (hidden, shown) in [
            ("ve\u{200C}to", "ve⟨U+200C⟩to"),
            ("می\u{200C}", "می⟨U+200C⟩"),
            ("می\u{200C}\u{200C}خواهم", "می⟨2 × U+200C⟩خواهم"),
            ("می\u{200C} خواهم", "می⟨U+200C⟩ خواهم"),
            ("a\u{200D}م", "a⟨U+200D⟩م"),
            ("۴\u{200C}۲", "۴⟨U+200C⟩۲"),
            ("م\u{202E}م", "م⟨U+202E⟩م"),
        ] {
            assert_eq!(visible(hidden), shown);
        }
    }

    #[test]
    fn emoji_parts_outside_an_emoji_are_shown() {
        assert_eq!(visible("a\u{200D}b"), "a⟨U+200D⟩b");
        assert_eq!(visible("a\u{FE0F}"), "a⟨U+FE0F⟩");
        assert_eq!(visible("👩\u{200D}"), "👩⟨U+200D⟩");
    }

    #[test]
    fn truncation_counts_characters_and_keeps_short_text() {
        assert_eq!(truncated("äöü", 3), "äöü");
        assert_eq!(truncated("äöüß", 3), "äö…");
        assert_eq!(truncated("one two", 5), "one…");
        assert_eq!(truncated("a", 0), "");
        assert_eq!(truncated("", 0), "");
    }

    /// Every address in an agent's text is broken. Mail programs make a link of everything that looks like an address, and a
    /// phishing link must not look like one of our links.
    #[test]
    fn addresses_are_broken() {
        assert_eq!(defanged("see https://help.example/t now"), "see https[:]//help[.]example/t now");
        assert_eq!(defanged("www.bank.example.zip"), "www[.]bank[.]example[.]zip");
        assert_eq!(defanged("HTTP://1.2.3.4/x"), "HTTP[:]//1.2.3.4/x");
        assert_eq!(defanged("marta@shop.example"), "marta@shop[.]example");
        assert_eq!(defanged("MailTo:a@b"), "MailTo[:]a@b");
        assert_eq!(defanged("evil。com evil．com 中文.com xn--a.xn--p1ai"), "evil[.]com evil[.]com 中文[.]com xn--a[.]xn--p1ai");
    }

    #[test]
    fn breaking_an_address_cannot_make_a_new_one() {
        for text in ["hthttps://tps://x.example", "http:://://evil.example", ":://////", "https:https:////evil.example"] {
            assert!(!defanged(text).contains("://"), "{text}");
        }
    }

    #[test]
    fn numbers_and_sentences_are_no_addresses() {
        for text in ["€412.00", "v4.18.0", "e.g. this", "Stop. Go", "你好。世界", "half...", "12:30", "a: b", "."] {
            assert_eq!(defanged(text), text);
        }
    }

    #[test]
    fn time_left_uses_two_units_at_most() {
        let cases = [
            (TimeDelta::seconds(-5), "0 s"),
            (TimeDelta::milliseconds(59_999), "59 s"),
            (TimeDelta::minutes(1), "1 min"),
            (TimeDelta::seconds(599), "10 min"),
            (TimeDelta::milliseconds(599_001), "10 min"),
            (TimeDelta::seconds(570), "10 min"),
            (TimeDelta::milliseconds(569_999), "9 min"),
            (TimeDelta::minutes(59), "59 min"),
            (TimeDelta::seconds(3_599), "1 h"),
            (TimeDelta::minutes(60), "1 h"),
            (TimeDelta::minutes(134), "2 h 14 min"),
            (TimeDelta::minutes(48 * 60 - 1), "47 h 59 min"),
            (TimeDelta::seconds(48 * 3_600 - 1), "2 days"),
            (TimeDelta::hours(48), "2 days"),
            (TimeDelta::minutes(76 * 60 - 30), "3 days 4 h"),
            (TimeDelta::hours(76), "3 days 4 h"),
        ];
        for (left, words) in cases {
            assert_eq!(time_left(left, Language::English), words);
        }
    }

    #[test]
    fn deadlines_name_the_zone_and_a_foreign_year() {
        let now = at(2026, 11, 24, 7, 16);
        assert_eq!(clock(at(2026, 11, 24, 9, 30), Language::English), "09:30");
        assert_eq!(deadline(at(2026, 11, 24, 9, 30), now, Language::English), "Tue 24 Nov, 09:30 UTC");
        assert_eq!(deadline(at(2027, 1, 4, 9, 30), now, Language::English), "Mon 4 Jan 2027, 09:30 UTC");
        assert_eq!(moment(at(2026, 11, 24, 9, 30), now, Language::English), "09:30");
        assert_eq!(moment(at(2026, 11, 25, 9, 30), now, Language::English), "Wed 25 Nov, 09:30");
    }
}
