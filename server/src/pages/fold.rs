//! Decides how much of an agent's text a page shows at first.
//!
//! Guarantee: the page counts and names every part that it leaves out, and locks the answers, so that no person can say yes to
//! text that was not shown. Mechanism: all code that shortens a text of an agent on a page with answers notes the cut part in
//! [`Folds`].

use domain::base::text::truncated;
use domain::base::words::{Amount, Language};

/// A text of more lines than this is folded.
pub(super) const FOLDED_LINES_MAX: usize = 12;
/// A text of more characters than this is folded, so one endless line cannot hide behind the line limit.
pub(super) const FOLDED_CHARS_MAX: usize = 1_200;
/// A title, a key or a label of more characters than this is folded.
pub(super) const FOLDED_LINE_CHARS_MAX: usize = 200;
/// More rows than this are folded.
pub(super) const FOLDED_ROWS_MAX: usize = 40;

/// The longest name of a folded text in one of our sentences, in characters.
const NAME_CHARS_MAX: usize = 80;

/// Whether long texts end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// Long texts end early, and tell how much is missing.
    Folded,
    /// Every character is shown.
    Whole,
}

/// A text as far as it is shown.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Folding {
    /// The text that is shown.
    pub text: String,
    /// The missing part, for example `41 more lines`.
    pub more: Option<String>,
}

/// The parts that a page leaves out, or would leave out, in the order of the page; and the language in which the page tells of them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Folds(pub(super) Vec<Hidden>, pub(super) Language);

/// One folded text: how much is hidden, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hidden {
    /// For example `41 lines`.
    pub amount: String,
    /// The page's name for the text.
    pub name: String,
    /// The id of the element that shows all of it.
    pub anchor: String,
}

impl Folds {
    /// No parts yet, on a page in this language.
    pub(super) fn new(language: Language) -> Self {
        Self(Vec::new(), language)
    }

    /// Notes the part that was cut from the text of this name, and returns the words to show in its place. A page that shows the
    /// whole text needs no words, but keeps the note: the answers are locked until the reader has reached the end of the text.
    pub(super) fn note(&mut self, cut: Option<Amount>, name: &str, anchor: &str, length: Length) -> Option<String> {
        let amount = cut?;
        let name = truncated(name, NAME_CHARS_MAX);
        self.0.push(Hidden { amount: self.1.amount(amount), name, anchor: anchor.to_owned() });
        (length == Length::Folded).then(|| self.1.amount_more(amount))
    }

    /// A text of several lines.
    pub(super) fn text(&mut self, text: String, name: &str, anchor: &str, length: Length) -> Folding {
        let (head, cut) = folded_text(&text);
        let more = self.note(cut, name, anchor, length);
        Folding { text: if more.is_some() { head } else { text }, more }
    }

    /// A text on one line.
    pub(super) fn line(&mut self, text: String, name: &str, anchor: &str, length: Length) -> Folding {
        let chars = text.chars().count();
        let cut = chars.checked_sub(FOLDED_LINE_CHARS_MAX).filter(|cut| *cut > 0).map(Amount::Characters);
        let more = self.note(cut, name, anchor, length);
        let head = || text.chars().take(FOLDED_LINE_CHARS_MAX).collect();
        Folding { text: if more.is_some() { head() } else { text }, more }
    }
}

/// The beginning of a text, and the amount that it leaves out.
fn folded_text(text: &str) -> (String, Option<Amount>) {
    let lines_count = text.lines().count();
    let head = text.lines().take(FOLDED_LINES_MAX).collect::<Vec<_>>().join("\n");
    if head.chars().count() > FOLDED_CHARS_MAX {
        let head = head.chars().take(FOLDED_CHARS_MAX).collect();
        return (head, Some(Amount::Characters(text.chars().count() - FOLDED_CHARS_MAX)));
    }
    let cut = lines_count.checked_sub(FOLDED_LINES_MAX).filter(|cut| *cut > 0);
    (head, cut.map(Amount::Lines))
}

/// How many entries of a list are shown: as many as a text may have lines, or fewer if together they have more characters than a
/// text may have. The list also ends before an entry that has too many lines.
pub(super) fn entries_kept(items: &[String]) -> usize {
    let mut left = FOLDED_CHARS_MAX;
    let fits = |item: &&String| {
        let count = item.chars().count();
        let fits = count <= left && item.lines().count() <= FOLDED_LINES_MAX;
        left -= if fits { count } else { 0 };
        fits
    };
    items.iter().take(FOLDED_LINES_MAX).take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text at the limit is shown whole, and a longer one is folded. The limit is exact, because folding locks the answers.
    #[test]
    fn a_text_folds_beyond_its_bounds_and_not_at_them() {
        let folded = |text: String| Folds::default().text(text, "x", "r0", Length::Folded).more;
        let lines = |count: usize| vec!["line"; count].join("\n");
        assert_eq!(folded(lines(FOLDED_LINES_MAX)), None);
        assert_eq!(folded(lines(FOLDED_LINES_MAX + 1)).as_deref(), Some("1 more line"));
        assert_eq!(folded("x".repeat(FOLDED_CHARS_MAX)), None);
        assert_eq!(folded("x".repeat(FOLDED_CHARS_MAX + 1)).as_deref(), Some("1 more character"));
        let line = |chars: usize| Folds::default().line("x".repeat(chars), "x", "r0", Length::Folded);
        assert_eq!(line(FOLDED_LINE_CHARS_MAX).more, None);
        let folding = line(FOLDED_LINE_CHARS_MAX + 1);
        assert_eq!((folding.text.len(), folding.more.as_deref()), (FOLDED_LINE_CHARS_MAX, Some("1 more character")));
    }

    /// Both the page that cuts a part and the page that shows it whole note this part once: the answers are locked on both.
    #[test]
    fn a_note_is_taken_whether_or_not_everything_is_shown() {
        let note = |length| {
            let mut folds = Folds::default();
            let folding = folds.text("line\n".repeat(53), "Proposed text", "r3", length);
            (folding.text.lines().count(), folding.more, folds.0)
        };
        let hidden = vec![Hidden { amount: "41 lines".into(), name: "Proposed text".into(), anchor: "r3".into() }];
        assert_eq!(note(Length::Folded), (12, Some("41 more lines".into()), hidden.clone()));
        assert_eq!(note(Length::Whole), (53, None, hidden));
    }
}
