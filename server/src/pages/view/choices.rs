//! The choices of a question, and whether their words and what they send agree.

use domain::text::{visible, visible_line};
use domain::words;

use super::line;

/// A raw value beyond this length gets a line of its own on its button.
const VALUE_CHARS_INLINE_MAX: usize = 24;

/// With more choices than this, the answer column may be taller than the window and must not stick.
const PINNED_CHOICES_MAX: usize = 5;

/// The same for the text on those choices.
const PINNED_CHARS_MAX: usize = 400;

/// The choices of a question, with what their looks may be.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Choices {
    pub(super) choices: Vec<Choice>,
    agreeing: bool,
}

/// One choice.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Choice {
    /// Exactly what the agent receives.
    pub value: String,
    /// What the button says.
    pub label: String,
    /// More about it, below the label.
    pub description: Option<String>,
    /// How the asker wishes it to look.
    pub style: ChoiceStyle,
}

/// The look an asker may wish for. It changes the colour and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) enum ChoiceStyle {
    /// No wish, or one this page does not know.
    Default,
    /// Filled.
    Primary,
    /// Filled red, with the same weight as `Primary`.
    Danger,
}

impl Choices {
    /// Takes the choices in the order asked, and checks that their words and what they send agree.
    pub(in crate::pages) fn new(choices: Vec<Choice>) -> Self {
        let agreeing = agree(&choices);
        Self { choices, agreeing }
    }

    /// The choices of a `confirm`: the asker's own, or a Yes and a No that look the same.
    pub(in crate::pages) fn confirm(choices: Vec<Choice>) -> Self {
        if !choices.is_empty() {
            return Self::new(choices);
        }
        let plain = |value: &str, label: &str| Choice {
            value: value.to_owned(),
            label: label.to_owned(),
            description: None,
            style: ChoiceStyle::Default,
        };
        Self::new(vec![plain("yes", words::YES), plain("no", words::NO)])
    }

    /// False when a label contradicts its value, or two labels look the same.
    pub(in crate::pages) fn agreeing(&self) -> bool {
        self.agreeing
    }

    pub(super) fn class(&self, choice: &Choice) -> &'static str {
        match choice.style {
            ChoiceStyle::Primary if self.agreeing => " primary",
            ChoiceStyle::Danger if self.agreeing => " danger",
            ChoiceStyle::Primary | ChoiceStyle::Danger | ChoiceStyle::Default => "",
        }
    }

    /// True when the whole column surely fits a window beside the context.
    pub(super) fn fit(&self) -> bool {
        let chars = |choice: &Choice| choice.label.chars().count() + choice.description.as_deref().unwrap_or("").chars().count();
        self.choices.len() <= PINNED_CHOICES_MAX && self.choices.iter().map(chars).sum::<usize>() <= PINNED_CHARS_MAX
    }
}

impl Choice {
    pub(super) fn label(&self) -> String {
        line(&self.label)
    }

    pub(super) fn value_is_long(&self) -> bool {
        self.value.chars().count() > VALUE_CHARS_INLINE_MAX
    }

    pub(super) fn description(&self) -> String {
        visible(self.description.as_deref().unwrap_or("").trim())
    }
}

/// Which way a word leans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaning {
    Yes,
    No,
    Unknown,
}

/// A "Deny" that sends `approve`, or two buttons that read alike, are how an agent would get a wrong answer out of
/// a person in a hurry. The style alone is never held against a choice: a dangerous yes may well be red.
fn agree(choices: &[Choice]) -> bool {
    let contradicts = |choice: &Choice| {
        let pair = (leaning(&choice.label), leaning(&choice.value));
        matches!(pair, (Leaning::Yes, Leaning::No) | (Leaning::No, Leaning::Yes))
    };
    let mut labels: Vec<String> = choices.iter().map(|choice| visible_line(&choice.label).trim().to_lowercase()).collect();
    labels.sort_unstable();
    let alike = labels.windows(2).any(|pair| pair[0] == pair[1]);
    !alike && !choices.iter().any(contradicts)
}

/// Judges by the first word, and only words that mean the same in every question: "cancel" may well be the yes.
fn leaning(text: &str) -> Leaning {
    let lower = text.to_lowercase().replace('’', "'");
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    match words.next().unwrap_or("") {
        "do" if words.next() == Some("not") => negated(words.next()),
        "don't" | "dont" | "not" | "never" => negated(words.next()),
        word => one_word(word),
    }
}

/// "Do not refund" leans to no; "do not reject" could be either, so nothing is concluded from it.
fn negated(next: Option<&str>) -> Leaning {
    match next.map(one_word) {
        Some(Leaning::No) => Leaning::Unknown,
        Some(Leaning::Yes | Leaning::Unknown) | None => Leaning::No,
    }
}

fn one_word(word: &str) -> Leaning {
    match word {
        "yes" | "approve" | "approved" | "accept" | "accepted" | "allow" | "allowed" | "confirm" | "confirmed" | "agree"
        | "grant" | "permit" | "authorize" | "authorise" | "ok" | "okay" | "proceed" | "true" => Leaning::Yes,
        "no" | "deny" | "denied" | "reject" | "rejected" | "refuse" | "refused" | "decline" | "declined" | "disallow"
        | "disapprove" | "disagree" | "forbid" | "false" => Leaning::No,
        _ => Leaning::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{choice, open};
    use super::super::{Answers, OpenQuestion};
    use super::*;

    #[test]
    fn honest_labels_keep_their_colours() {
        for (value, label) in [
            ("approve", "Refund €412.00"),
            ("deny", "Do not refund"),
            ("yes", "Cancel the order"),
            ("cancel", "Yes, cancel"),
            ("no", "Do not cancel"),
            ("yes", "Do not reject it"),
            ("no", "No"),
            ("deny", "Reject"),
            ("half", "Approve half"),
            ("none", "Notify nobody"),
        ] {
            assert!(Choices::new(vec![choice(value, label, ChoiceStyle::Primary)]).agreeing(), "{label} sends {value}");
        }
        assert!(open().render().unwrap().contains("choice primary"));
    }

    #[test]
    fn two_labels_that_read_the_same_are_warned_about() {
        let twice = vec![choice("a", "Refund", ChoiceStyle::Primary), choice("b", " refund ", ChoiceStyle::Primary)];
        assert!(!Choices::new(twice).agreeing());
    }

    // "Deny" sending `approve` is an agent trying to get a yes out of a person who said no.
    #[test]
    fn a_label_that_contradicts_its_value_takes_all_colours_away() {
        for (value, label) in [
            ("approve", "Deny"),
            ("deny", "Approve"),
            ("yes", "No"),
            ("no", "Yes, go on"),
            ("approve", "Do not refund"),
            ("APPROVED", "Don’t do it"),
            ("reject_all", "OK"),
        ] {
            let choices =
                Choices::new(vec![choice(value, label, ChoiceStyle::Danger), choice("later", "Later", ChoiceStyle::Primary)]);
            assert!(!choices.agreeing(), "{label} sends {value}");
            let html = OpenQuestion { answers: Answers::Choices(choices), ..open() }.render().unwrap();
            assert!(html.contains("The words on the buttons may mislead"));
            assert!(!html.contains("choice primary") && !html.contains("choice danger"));
        }
    }

    #[test]
    fn a_confirm_without_choices_offers_a_yes_and_a_no_that_look_the_same() {
        let html = OpenQuestion { answers: Answers::Choices(Choices::confirm(Vec::new())), ..open() }.render().unwrap();
        for (value, label) in [("yes", "Yes"), ("no", "No")] {
            let button =
                format!("<button class=\"choice\" type=\"submit\" name=\"value\" value=\"{value}\"><b dir=\"auto\">{label}</b>");
            assert!(html.contains(&button), "{html}");
        }
    }

    #[test]
    fn a_long_raw_value_gets_its_own_line() {
        let tall = |length| {
            let choices = Choices::new(vec![choice(&"v".repeat(length), "Label", ChoiceStyle::Default)]);
            OpenQuestion { answers: Answers::Choices(choices), ..open() }.render().unwrap().contains("choice tall")
        };
        assert!(!tall(24));
        assert!(tall(25));
    }
}
