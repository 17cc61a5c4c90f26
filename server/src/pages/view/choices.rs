//! The choices of a question as buttons.

use domain::asking::choice::{Judgement, judge};
use domain::base::text::{visible, visible_line};
use domain::base::words::Language;
use domain::suspension::{Style, SuspensionChoice};

use super::super::fold::{Folding, Folds, Length};

/// With more choices than this, the answer column may be taller than the window, so it must scroll with the page.
const PINNED_CHOICES_MAX: usize = 5;

/// With more characters than this on all choices together, the answer column must scroll with the page, too.
const PINNED_CHARS_MAX: usize = 400;

/// The choices of a question, with the styles that they may have.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Choices {
    choices: Vec<SuspensionChoice>,
    judgement: Judgement,
}

/// One choice as it is shown.
#[derive(Debug, Clone)]
pub(super) struct Button {
    /// The value that is sent.
    pub value: String,
    /// The value as people read it.
    pub sends: String,
    pub label: String,
    pub description: Folding,
    /// The CSS class, with a space before it, for the attribute.
    pub class: &'static str,
}

impl Choices {
    /// Takes the choices in the order asked, and judges their words.
    pub(in crate::pages) fn new(choices: Vec<SuspensionChoice>) -> Self {
        let judgement = judge(&choices);
        Self { choices, judgement }
    }

    /// The warning for people, if there is one.
    pub(super) fn warning(&self, language: Language) -> Option<String> {
        self.judgement.warning(language)
    }

    /// The buttons. Labels and values are short and shown whole; a description folds.
    pub(super) fn buttons(&self, length: Length, folds: &mut Folds) -> Vec<Button> {
        let button = |(index, (choice, style)): (usize, (&SuspensionChoice, &Style))| {
            let label = visible_line(&choice.label).trim().to_owned();
            let description = visible(choice.description.as_deref().unwrap_or("").trim());
            Button {
                value: choice.value.clone(),
                sends: visible_line(&choice.value),
                description: folds.text(description, &label, &format!("c{index}"), length),
                label,
                class: match style {
                    Style::Primary => " primary",
                    Style::Danger => " danger",
                    Style::Default => "",
                },
            }
        };
        self.choices.iter().zip(&self.judgement.styles).enumerate().map(button).collect()
    }

    /// Whether the column of answers surely fits into a window as a whole, so that it can stay in view beside the context.
    pub(super) fn fit(&self) -> bool {
        let chars = |choice: &SuspensionChoice| {
            choice.value.chars().count()
                + choice.label.chars().count()
                + choice.description.as_deref().unwrap_or("").chars().count()
        };
        self.choices.len() <= PINNED_CHOICES_MAX && self.choices.iter().map(chars).sum::<usize>() <= PINNED_CHARS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{choice, open};
    use super::super::{Answers, OpenQuestion};
    use super::*;

    fn shown(choices: Vec<SuspensionChoice>) -> String {
        OpenQuestion { answers: Answers::Choices(Choices::new(choices)), ..open() }.render().unwrap()
    }

    // With a button "Deny" that sends `approve`, an agent could get a yes from a person who said no. So the page warns of it, and
    // shows all buttons without colours.
    #[test]
    fn words_that_mislead_are_warned_of_and_take_all_colours_away() {
        let html = open().render().unwrap();
        assert!(html.contains("choice primary") && html.contains("choice danger") && !html.contains("may mislead"));
        let html = shown(vec![choice("approve", "I deny", Style::Danger), choice("deny", "Reject", Style::Danger)]);
        assert!(html.contains("The words of these answers may mislead") && html.contains("says one thing and sends another"));
        assert!(!html.contains("choice primary") && !html.contains("choice danger"));
    }

    /// A label may promise anything, but the agent gets the value. So the value is shown whole, below all else on its button.
    #[test]
    fn the_value_is_the_last_line_of_its_button() {
        let html = shown(SuspensionChoice::yes_no());
        for (id, value, label) in [("c0", "yes", "Yes"), ("c1", "no", "No")] {
            let button = format!(
                "<button class=\"choice\" id=\"{id}\" type=\"submit\" name=\"value\" value=\"{value}\"><b dir=\"auto\">{label}</b>\
                 <span class=\"sends\">sends <code><bdi>{value}</bdi></code></span></button>"
            );
            assert!(html.contains(&button), "{html}");
        }
        let longest = "\u{202E}".repeat(200);
        let html = shown(vec![choice(&longest, &longest, Style::Default)]);
        assert_eq!(html.matches("⟨200 × U+202E⟩").count(), 2, "neither is cut");
    }
}
