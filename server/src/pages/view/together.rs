//! Several questions on one page, and the result for each.

use chrono::{DateTime, Utc};
use domain::base::words::Language;
use domain::suspension::AskedBefore;
use domain::suspension::demand::Risk;
use serde_json::Value;
use store::LinkView;

use super::super::answer::{asked, beside};
use super::super::context::{Table, label};
use super::super::ended::{ending, silence};
use super::super::fold::{Folds, Length};
use super::super::inbox::INBOX;
use super::super::language::in_languages;
use super::super::reasons::Reasons;
use super::super::together::{Problem, TOGETHER, TOGETHER_MAX, Unfit};
use super::super::way::page_of;
use super::choices::Button;
use super::moment::{Manner, machine, minute, near, second};
use super::{
    Asked, Card, Cell, Choices, Ending, Given, GroundsShown, INSIDE_STYLESHEET as STYLESHEET, Page, Silence, Visitor, line,
    phrase,
};

/// A question as its own page shows it, short enough to be shown at once.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Whole {
    href: String,
    card: Card,
    asked: Asked,
    before: Option<AskedBefore>,
    table: Table,
    choices: Vec<Button>,
    expires_at: Option<DateTime<Utc>>,
    silence: Silence,
    others_wait: Option<String>,
    assignees: Vec<String>,
    risk: Option<Risk>,
    grounds: GroundsShown,
    now: DateTime<Utc>,
    /// The field that stands for it in the form.
    sealed: String,
}

impl Whole {
    /// `None` if a part of it would be folded on its own page, or if that page warns of its words: it must be read there.
    pub(in crate::pages) fn of(link: &LinkView, manner: Manner) -> Option<Self> {
        let language = manner.language;
        let (mut folds, length) = (Folds::new(language), Length::Whole);
        let asked = asked(link);
        let card = asked.card(length, &mut folds);
        let silence = silence(link, language);
        let fallback = match &silence {
            Silence::Fallback(given) => given.table(length, &mut folds),
            Silence::Ends | Silence::Beside => None,
        };
        let context = Value::Object(link.question.context.clone());
        let sent = context.as_object().into_iter().flatten().map(|(key, value)| (label(key), value));
        let beside = beside(link, language);
        let beside = beside.iter().map(|(name, value)| (name.clone(), value));
        let grounds = GroundsShown::of(link.question.grounds.as_deref(), Some(link.now), manner);
        let explained = grounds.explanation.iter().map(|(name, value)| (name.clone(), value));
        let table = Table::new(explained.chain(sent).chain(beside), 'r', length, &mut folds);
        let choices = Choices::new(link.suspension.choices.clone());
        let buttons = choices.buttons(length, &mut folds);
        if !folds.0.is_empty() || fallback.is_some() || choices.warning(language).is_some() {
            return None;
        }
        Some(Self {
            href: page_of(link.suspension.id),
            card,
            asked,
            before: link.question.asked_before.clone(),
            table,
            choices: buttons,
            expires_at: link.suspension.ends_at(),
            silence,
            others_wait: language.others_wait(link.waiting),
            assignees: link.assigned_to(language),
            risk: link.question.risk,
            grounds,
            now: link.now,
            sealed: String::new(),
        })
    }

    /// The question with its field for the form.
    pub(in crate::pages) fn sealed(self, sealed: String) -> Self {
        Self { sealed, ..self }
    }
}

/// A question that was chosen and is not answered here.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Apart {
    /// The first line, and the address of its page; absent if the person cannot read it.
    question: Option<(String, String)>,
    unfit: Option<Unfit>,
}

impl Apart {
    /// A question that the person cannot read, or that does not exist.
    pub(in crate::pages) fn missing() -> Self {
        Self { question: None, unfit: None }
    }

    pub(in crate::pages) fn of(link: &LinkView, unfit: Unfit, language: Language) -> Self {
        Self { question: Some((headline(link, language), page_of(link.suspension.id))), unfit: Some(unfit) }
    }
}

/// The first line of a question.
fn headline(link: &LinkView, language: Language) -> String {
    match line(link.question.question.trim().lines().next().unwrap_or_default()) {
        empty if empty.is_empty() => language.empty().to_owned(),
        headline => headline,
    }
}

/// The chosen questions, and the form for all of them.
pub(in crate::pages) struct Togetherness {
    pub problem: Option<Problem>,
    pub questions: Vec<Whole>,
    pub apart: Vec<Apart>,
    /// The choices that all questions have.
    pub choices: Choices,
    pub reasons: Option<Reasons>,
    pub comment: String,
    /// The person for whom the page is made.
    pub person: String,
    pub times_path: String,
}

/// The page with the chosen questions.
pub(in crate::pages) struct TogetherPage {
    page: Page,
    visitor: Visitor,
    shown: Togetherness,
    buttons: Vec<Button>,
}

in_languages!(TogetherPage, "together.html");

impl TogetherPage {
    pub(in crate::pages) fn new((page, visitor): (Page, Visitor), shown: Togetherness) -> Self {
        let buttons = shown.choices.buttons(Length::Whole, &mut Folds::new(page.manner.language));
        // Choices that mislead once they stand apart from the others are not offered.
        let buttons = if shown.choices.warning(page.manner.language).is_some() { Vec::new() } else { buttons };
        Self { page, visitor, shown, buttons }
    }
}

/// Why one answer was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum TogetherTold {
    /// The question changed after it was shown.
    Changed,
    /// It is not answered together with others.
    Unfit,
    /// It does not offer the choice.
    NotAChoice,
    /// Other people may answer it.
    NotYours,
    /// The person has tried too often.
    TooManyTries,
    /// The server could not save it.
    NotSaved,
    /// The server did not learn whether it was saved.
    Unheard,
}

/// The result for one question.
pub(in crate::pages) struct Line {
    headline: String,
    agent: String,
    href: String,
    /// How it ended; absent while it is open.
    ending: Option<Ending>,
    told: Option<TogetherTold>,
}

impl Line {
    pub(in crate::pages) fn of(link: &LinkView, told: Option<TogetherTold>, language: Language) -> Self {
        Self {
            headline: headline(link, language),
            agent: line(&link.agent),
            href: page_of(link.suspension.id),
            ending: (!link.is_open).then(|| ending(link, language)),
            told,
        }
    }

    fn is_yours(&self) -> bool {
        matches!(self.ending, Some(Ending::AnsweredByYou { .. }))
    }
}

/// The page with the results.
pub(in crate::pages) struct TogetherDonePage {
    page: Page,
    visitor: Visitor,
    lines: Vec<Line>,
    answered: usize,
    times_path: String,
}

in_languages!(TogetherDonePage, "togetherdone.html");

impl TogetherDonePage {
    pub(in crate::pages) fn new((page, visitor): (Page, Visitor), lines: Vec<Line>, times_path: String) -> Self {
        let answered = lines.iter().filter(|line| line.is_yours()).count();
        Self { page, visitor, lines, answered, times_path }
    }
}

/// The name of a given answer inside a sentence.
fn named(given: &Given) -> String {
    given.words().unwrap_or_else(|| phrase(&given.value.to_string()))
}
