//! What the pages behind an answer link show.
//!
//! The public structs take what the server knows as it is; everything a template prints is worked out here,
//! without I/O and without a clock. Agent text reaches a template only through [`line`], [`phrase`], [`visible`]
//! or the context table, so control and bidirectional characters are visible everywhere, and askama escapes the rest.

use std::collections::BTreeMap;

use askama::Template;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::text::{truncated, visible, visible_line};
use serde_json::{Value, json};

use super::context::{Cell, Length, Table};
pub(super) use super::context::{FieldError, FieldKind, FieldProblem, Fields};

/// The one style sheet, inlined in every page so that a page is one response.
///
/// A page contains exactly these bytes between `<style>` and `</style>`: their SHA-256 is the `style-src` of the
/// content security policy.
pub(super) const STYLESHEET: &str = include_str!("assets/placet.css");

/// An agent's words inside one of our sentences are never longer than this.
const PHRASE_CHARS_MAX: usize = 80;
/// A name or title on one line of the agent's frame is never longer than this.
const LINE_CHARS_MAX: usize = 200;
/// A question's first line beyond this length is set as text, not as a headline.
const HEADLINE_CHARS_MAX: usize = 160;
/// A raw value beyond this length gets a line of its own on its button.
const VALUE_CHARS_INLINE_MAX: usize = 24;
/// With more choices than this, the answer column may be taller than the window and must not stick.
const PINNED_CHOICES_MAX: usize = 5;
/// The same for the text on those choices.
const PINNED_CHARS_MAX: usize = 400;
/// The time that is always short, whatever the window was.
const SOON: TimeDelta = TimeDelta::minutes(15);

/// What every page about one question has.
#[derive(Debug, Clone)]
pub(super) struct Page {
    /// The host of the public URL, so that people can compare it with the address bar. Never the request's own header.
    pub host: String,
    /// The person this link belongs to.
    pub answering_as: Option<String>,
}

/// A question as the agent asked it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// Who asks.
    pub agent: String,
    /// What the question is part of.
    pub intent_title: String,
    /// The question; its first line is the headline.
    pub question: String,
    /// When.
    pub at: DateTime<Utc>,
}

impl Asked {
    fn agent(&self) -> String {
        phrase(&self.agent)
    }

    fn intent_title(&self) -> String {
        line(&self.intent_title)
    }

    fn headline(&self) -> String {
        visible(self.parts().0)
    }

    fn explanation(&self) -> String {
        visible(self.parts().1)
    }

    fn is_long(&self) -> bool {
        self.parts().0.chars().count() > HEADLINE_CHARS_MAX
    }

    fn parts(&self) -> (&str, &str) {
        let question = self.question.trim();
        match question.split_once('\n') {
            Some((headline, explanation)) => (headline.trim_end(), explanation.trim()),
            None => (question, ""),
        }
    }
}

/// A question somebody can still answer.
#[derive(Debug, Clone)]
pub(super) struct OpenQuestion {
    /// What every page has.
    pub page: Page,
    /// The question.
    pub asked: Asked,
    /// The agent's context, shown after the choices.
    pub context: Value,
    /// How it can be answered.
    pub answers: Answers,
    /// When this page is made.
    pub now: DateTime<Utc>,
    /// The deadline; `None` when the question waits until somebody answers.
    pub expires_at: Option<DateTime<Utc>>,
    /// What happens if nobody answers.
    pub silence: Silence,
    /// Who is told when, in order; the last row may be the end.
    pub plan: Vec<PlanRow>,
    /// Where the form is sent, explicitly.
    pub form_action: String,
    /// Ties the form to the cookie and the link.
    pub nonce: String,
    /// What was typed as a comment before something went wrong.
    pub comment: String,
    /// Why the page is shown again instead of the result.
    pub error: Option<FormError>,
    /// The address of this page with nothing folded. `None` shows everything at once.
    pub whole_page_href: Option<String>,
}

/// How a question can be answered.
#[derive(Debug, Clone)]
pub(super) enum Answers {
    /// One button per choice.
    Choices(Choices),
    /// One text, posted as `value`.
    Text {
        /// What was typed before something went wrong.
        typed: String,
    },
    /// Fields, posted with [`super::context::FIELD_PREFIX`]; read [`Fields`] from the context to interpret them.
    Form {
        /// What was typed before something went wrong, by the field's name.
        typed: BTreeMap<String, String>,
    },
}

/// The choices of a question, with what their looks may be.
#[derive(Debug, Clone)]
pub(super) struct Choices {
    choices: Vec<Choice>,
    agreeing: bool,
}

/// One choice.
#[derive(Debug, Clone)]
pub(super) struct Choice {
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
pub(super) enum ChoiceStyle {
    /// No wish, or one this page does not know.
    Default,
    /// Filled.
    Primary,
    /// Filled red, with the same weight as `Primary`.
    Danger,
}

impl Choices {
    /// Takes the choices in the order asked, and checks that their words and what they send agree.
    pub(super) fn new(choices: Vec<Choice>) -> Self {
        let agreeing = agree(&choices);
        Self { choices, agreeing }
    }

    /// The choices of a `confirm`: the asker's own, or a Yes and a No that look the same.
    pub(super) fn confirm(choices: Vec<Choice>) -> Self {
        if !choices.is_empty() {
            return Self::new(choices);
        }
        let plain = |value: &str, label: &str| Choice {
            value: value.to_owned(),
            label: label.to_owned(),
            description: None,
            style: ChoiceStyle::Default,
        };
        Self::new(vec![plain("yes", "Yes"), plain("no", "No")])
    }

    /// False when a label contradicts its value, or two labels look the same.
    pub(super) fn agreeing(&self) -> bool {
        self.agreeing
    }

    fn class(&self, choice: &Choice) -> &'static str {
        match choice.style {
            ChoiceStyle::Primary if self.agreeing => " primary",
            ChoiceStyle::Danger if self.agreeing => " danger",
            ChoiceStyle::Primary | ChoiceStyle::Danger | ChoiceStyle::Default => "",
        }
    }

    /// True when the whole column surely fits a window beside the context.
    fn fit(&self) -> bool {
        let chars = |choice: &Choice| choice.label.chars().count() + choice.description.as_deref().unwrap_or("").chars().count();
        self.choices.len() <= PINNED_CHOICES_MAX && self.choices.iter().map(chars).sum::<usize>() <= PINNED_CHARS_MAX
    }
}

impl Choice {
    fn label(&self) -> String {
        line(&self.label)
    }

    fn value_is_long(&self) -> bool {
        self.value.chars().count() > VALUE_CHARS_INLINE_MAX
    }

    fn description(&self) -> String {
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

/// What happens if nobody answers.
#[derive(Debug, Clone)]
pub(super) enum Silence {
    /// Nothing is decided and the agent's task ends.
    Ends,
    /// The agent goes on with the fallback it named.
    Fallback(Given),
}

/// An answer or a fallback: what the agent receives, and the words that stood for it.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// The label of the choice, if it was one.
    pub label: Option<String>,
    /// The value.
    pub value: Value,
}

impl Given {
    /// The label, or a text short enough for one of our sentences.
    fn words(&self) -> Option<String> {
        match (&self.label, &self.value) {
            (Some(label), _) => Some(phrase(label)),
            (None, Value::String(text)) if is_phrase(text) => Some(visible_line(text)),
            (None, value @ (Value::Bool(_) | Value::Number(_))) => Some(value.to_string()),
            (None, _) => None,
        }
    }

    /// The raw value of a choice.
    fn code(&self) -> Option<String> {
        let raw = |text: &str| truncated(&visible_line(text), LINE_CHARS_MAX);
        self.label.as_ref().and(self.value.as_str()).map(raw)
    }

    /// The whole of an answer that does not fit into a sentence.
    fn table(&self) -> Option<Table> {
        let shown = self.words().is_some();
        (!shown).then(|| {
            if self.value.is_object() {
                Table::new(&self.value, Length::Whole, None)
            } else {
                Table::new(&json!({ "answer": self.value }), Length::Whole, None)
            }
        })
    }
}

/// One line of "Who is told when".
#[derive(Debug, Clone)]
pub(super) struct PlanRow {
    /// When.
    pub at: DateTime<Utc>,
    /// Placet's own sentence, such as "You get a reminder".
    pub sentence: String,
    /// True for what happens at the end.
    pub end: bool,
}

impl PlanRow {
    fn sentence(&self) -> String {
        visible_line(&self.sentence)
    }

    /// The clock time, and the day unless it is today.
    fn when(&self, now: DateTime<Utc>) -> String {
        domain::text::moment(self.at, now)
    }
}

/// Why an open question is shown again after a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FormError {
    /// The nonce does not fit the cookie.
    PageTooOld,
    /// The store refused to take the answer; it is not recorded.
    CannotSave,
    /// A button was pressed whose value this question does not offer.
    NotAChoice,
    /// What was typed cannot be sent yet.
    NeedsChange(Vec<FieldError>),
}

impl FormError {
    /// The one field of a text answer has this problem.
    pub(super) fn text(problem: FieldProblem) -> Self {
        let label = "Text of your answer".to_owned();
        Self::NeedsChange(vec![FieldError { name: "value".to_owned(), label, problem }])
    }

    fn heading(&self) -> String {
        match self {
            Self::PageTooOld => "This page was open for too long".to_owned(),
            Self::CannotSave => "The server cannot save right now".to_owned(),
            Self::NotAChoice => "That is not one of the choices".to_owned(),
            Self::NeedsChange(errors) if errors.len() == 1 => "Nothing was sent yet. One answer needs a change".to_owned(),
            Self::NeedsChange(errors) => {
                const WORDS: [&str; 10] = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
                let count = WORDS.get(errors.len()).map_or_else(|| errors.len().to_string(), |word| (*word).to_owned());
                format!("Nothing was sent yet. {count} answers need a change")
            }
        }
    }

    fn fields(&self) -> &[FieldError] {
        match self {
            Self::NeedsChange(errors) => errors,
            Self::PageTooOld | Self::CannotSave | Self::NotAChoice => &[],
        }
    }
}

/// The time that is left, as text and as a bar.
#[derive(Debug, PartialEq, Eq)]
struct Countdown {
    at: DateTime<Utc>,
    left: String,
    elapsed_percent: i64,
    soon: bool,
}

impl Countdown {
    /// Amber in the last quarter or the last 15 minutes; red never, because silence is no error.
    fn new(asked_at: DateTime<Utc>, expires_at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        let window_ms = (expires_at - asked_at).num_milliseconds().max(1);
        let left = (expires_at - now).max(TimeDelta::zero());
        let left_ms = left.num_milliseconds().min(window_ms);
        Self {
            at: expires_at,
            left: domain::text::time_left(left),
            elapsed_percent: (window_ms - left_ms) * 100 / window_ms,
            soon: left <= SOON || left_ms * 4 <= window_ms,
        }
    }
}

impl OpenQuestion {
    /// Renders the page.
    pub(super) fn render(&self) -> askama::Result<String> {
        let length = if self.whole_page_href.is_some() { Length::Folded } else { Length::Whole };
        let fields = match self.answers {
            Answers::Form { .. } => Some(Fields::from_context(&self.context)),
            Answers::Choices(_) | Answers::Text { .. } => None,
        };
        let drawn = fields.as_ref().is_some_and(|fields| fields.by_agent).then_some("fields");
        OpenPage {
            page: &self.page,
            open: self,
            countdown: self.expires_at.map(|at| Countdown::new(self.asked.at, at, self.now)),
            table: Table::new(&self.context, length, drawn),
            fields,
        }
        .render()
    }
}

#[derive(Template)]
#[template(path = "open.html")]
struct OpenPage<'a> {
    page: &'a Page,
    open: &'a OpenQuestion,
    countdown: Option<Countdown>,
    table: Table,
    fields: Option<Fields>,
}

impl OpenPage<'_> {
    fn locked(&self) -> bool {
        self.table.is_folded()
    }

    fn pinned(&self) -> bool {
        matches!(&self.open.answers, Answers::Choices(choices) if choices.fit()) && !self.locked()
    }

    /// The control of a field, which is also where the error summary's link leads. A text answer has only one.
    fn id(&self, name: &str) -> String {
        let position = self.fields.iter().flat_map(|fields| &fields.fields).position(|field| field.name == name);
        position.map_or_else(|| "answer".to_owned(), |index| format!("f{index}"))
    }

    fn problem(&self, name: &str) -> Option<&FieldError> {
        self.open.error.as_ref()?.fields().iter().find(|error| error.name == name)
    }

    fn typed(&self, name: &str) -> &str {
        match &self.open.answers {
            Answers::Form { typed } => typed.get(name).map_or("", String::as_str),
            Answers::Choices(_) | Answers::Text { .. } => "",
        }
    }
}

/// A question nobody can answer any more.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// What every page has.
    pub page: Page,
    /// The question.
    pub asked: Asked,
    /// How it ended.
    pub ending: Ending,
    /// Who was told when; may be empty.
    pub told: Vec<PlanRow>,
    /// When this page is made.
    pub now: DateTime<Utc>,
}

/// How a question ended, as the holder of one link sees it.
#[derive(Debug, Clone)]
pub(super) enum Ending {
    /// The holder's answer counted.
    AnsweredByYou {
        /// The answer.
        given: Given,
        /// When it was recorded.
        at: DateTime<Utc>,
        /// The holder's comment.
        comment: Option<String>,
        /// When the agent fetched it, if it has.
        received_at: Option<DateTime<Utc>>,
    },
    /// Somebody else's answer counted.
    AnsweredByAnother {
        /// Who.
        by: String,
        /// The answer.
        given: Given,
        /// When it was recorded.
        at: DateTime<Utc>,
        /// When the holder tried, if the holder did.
        yours_at: Option<DateTime<Utc>>,
    },
    /// Nobody answered before the deadline.
    Expired {
        /// The deadline.
        at: DateTime<Utc>,
        /// What happened instead.
        silence: Silence,
    },
    /// The agent, or an admin for it, took the question back.
    Withdrawn {
        /// When.
        at: DateTime<Utc>,
        /// Why, in the agent's words.
        reason: Option<String>,
    },
    /// The agent asked again.
    Superseded {
        /// When.
        at: DateTime<Utc>,
        /// What changed, in Placet's words.
        changed: Option<String>,
        /// The newer question, if the holder may see it.
        newer_href: Option<String>,
    },
    /// No message arrived before the deadline.
    Undeliverable {
        /// The deadline.
        at: DateTime<Utc>,
        /// How many messages were tried.
        messages: usize,
    },
}

impl Outcome {
    /// Renders the page.
    pub(super) fn render(&self) -> askama::Result<String> {
        OutcomePage { page: &self.page, outcome: self, table: self.answer_table() }.render()
    }

    fn answer_table(&self) -> Option<Table> {
        match &self.ending {
            Ending::AnsweredByYou { given, .. }
            | Ending::AnsweredByAnother { given, .. }
            | Ending::Expired { silence: Silence::Fallback(given), .. } => given.table(),
            Ending::Expired { silence: Silence::Ends, .. }
            | Ending::Withdrawn { .. }
            | Ending::Superseded { .. }
            | Ending::Undeliverable { .. } => None,
        }
    }
}

#[derive(Template)]
#[template(path = "outcome.html")]
struct OutcomePage<'a> {
    page: &'a Page,
    outcome: &'a Outcome,
    table: Option<Table>,
}

impl OutcomePage<'_> {
    fn title(&self) -> &'static str {
        match self.outcome.ending {
            Ending::AnsweredByYou { .. } => "Answered by you",
            Ending::AnsweredByAnother { .. } => "Answered by somebody else",
            Ending::Expired { .. } => "Closed: nobody answered in time",
            Ending::Withdrawn { .. } => "Withdrawn by the agent",
            Ending::Superseded { .. } => "Replaced by a newer question",
            Ending::Undeliverable { .. } => "Closed: nobody could be reached",
        }
    }
}

/// The page of every token that opens nothing: mistyped, replaced, or ended long ago.
///
/// It depends on nothing but the host, so the bytes never tell which of the reasons it is.
#[derive(Debug, Clone, Template)]
#[template(path = "unknown.html")]
pub(super) struct UnknownLink {
    /// What every page has; nobody answers here.
    page: Page,
}

impl UnknownLink {
    /// The page of this host.
    pub(super) fn new(host: String) -> Self {
        Self { page: Page { host, answering_as: None } }
    }
}

/// A refusal or failure that is not about what was typed.
#[derive(Debug, Clone, Template)]
#[template(path = "trouble.html")]
pub(super) struct TroublePage {
    page: Page,
    trouble: Trouble,
}

/// What is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// This link was opened or used too often in a minute (429).
    TooManyTries,
    /// The database does not take writes (503).
    CannotSave,
    /// The database does not answer, so not even the question can be shown (503).
    CannotRead,
    /// The form came from another site (403).
    ForeignForm,
}

impl TroublePage {
    /// The page of this host.
    pub(super) fn new(host: String, trouble: Trouble) -> Self {
        Self { page: Page { host, answering_as: None }, trouble }
    }

    fn title(&self) -> &'static str {
        match self.trouble {
            Trouble::TooManyTries => "Too many tries",
            Trouble::CannotSave => "The server cannot save right now",
            Trouble::CannotRead => "The server cannot show this question right now",
            Trouble::ForeignForm => "This answer did not come from our page",
        }
    }
}

/// Somebody else's words on one line of their frame.
pub(super) fn line(text: &str) -> String {
    truncated(visible_line(text).trim(), LINE_CHARS_MAX)
}

/// Somebody else's words inside one of our sentences.
fn phrase(text: &str) -> String {
    truncated(visible_line(text).trim(), PHRASE_CHARS_MAX)
}

fn is_phrase(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\n') && visible_line(text).chars().count() <= PHRASE_CHARS_MAX
}

/// For `<time datetime>`.
fn machine(at: &DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// A moment something was recorded, to the second, because two people may compare theirs.
fn second(at: &DateTime<Utc>) -> String {
    at.format("%a %-d %b %Y at %H:%M:%S UTC").to_string()
}

/// A deadline, or when something ended: to the minute.
fn minute(at: &DateTime<Utc>, now: &DateTime<Utc>) -> String {
    domain::text::deadline(*at, *now)
}

/// How soon the agent had the answer; after a minute the time says more than a count.
fn received(received_at: &DateTime<Utc>, at: &DateTime<Utc>) -> String {
    match (*received_at - *at).num_seconds() {
        ..1 => "at once".to_owned(),
        1 => "1 second later".to_owned(),
        seconds @ 2..60 => format!("{seconds} seconds later"),
        _ => format!("on {}", second(received_at)),
    }
}

/// "6 seconds before yours" is what the one who lost the race wants to know.
fn before_yours(at: &DateTime<Utc>, yours_at: &DateTime<Utc>) -> String {
    let seconds = (*yours_at - *at).num_seconds();
    match seconds {
        ..1 => "a moment before yours".to_owned(),
        1 => "1 second before yours".to_owned(),
        2..120 => format!("{seconds} seconds before yours"),
        _ => "before yours".to_owned(),
    }
}

/// A time close by: without the date when it is today.
fn near(at: &DateTime<Utc>, now: &DateTime<Utc>) -> String {
    format!("{} UTC", domain::text::moment(*at, *now))
}

fn hour(at: &DateTime<Utc>) -> String {
    format!("{} UTC", domain::text::clock(*at))
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    fn at(hour: u32, minute: u32) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 24, hour, minute, 4).unwrap()
    }

    fn choice(value: &str, label: &str, style: ChoiceStyle) -> Choice {
        Choice { value: value.to_owned(), label: label.to_owned(), description: None, style }
    }

    fn approve_and_deny() -> Choices {
        Choices::new(vec![
            choice("approve", "Refund €412.00", ChoiceStyle::Primary),
            choice("deny", "Do not refund", ChoiceStyle::Danger),
        ])
    }

    fn page() -> Page {
        Page { host: "placet.example".to_owned(), answering_as: Some("priya@example.com".to_owned()) }
    }

    fn asked() -> Asked {
        Asked {
            agent: "refund-agent".to_owned(),
            intent_title: "Support".to_owned(),
            question: "Refund €412.00?\nThe parcel is lost.".to_owned(),
            at: at(7, 14),
        }
    }

    fn open() -> OpenQuestion {
        OpenQuestion {
            page: page(),
            asked: asked(),
            context: json!({"order": "10-88421"}),
            answers: Answers::Choices(approve_and_deny()),
            now: at(7, 16),
            expires_at: Some(at(9, 30)),
            silence: Silence::Ends,
            plan: vec![PlanRow { at: at(8, 0), sentence: "You get a reminder".to_owned(), end: false }],
            form_action: "/a/plc_token".to_owned(),
            nonce: "n0nce".to_owned(),
            comment: String::new(),
            error: None,
            whole_page_href: None,
        }
    }

    fn outcome(ending: Ending) -> String {
        Outcome { page: page(), asked: asked(), ending, told: Vec::new(), now: at(9, 31) }.render().unwrap()
    }

    fn given() -> Given {
        Given { label: Some("Do not refund".to_owned()), value: json!("deny") }
    }

    // The page must work for somebody without script, and a scanner that renders it must not decide anything.
    #[test]
    fn an_open_question_is_one_form_without_script_or_preselection() {
        let html = open().render().unwrap();
        assert_eq!(html.matches("<form method=\"post\" action=\"/a/plc_token\"").count(), 1);
        assert_eq!(html.matches("type=\"submit\" name=\"value\" value=\"").count(), 2);
        assert!(html.contains("name=\"value\" value=\"approve\""));
        assert!(html.contains("<input type=\"hidden\" name=\"nonce\" value=\"n0nce\">"));
        for absent in ["<script", "style=\"", "http://", "https://", "checked", "selected", " onclick"] {
            assert!(!html.contains(absent), "{absent}");
        }
        assert_eq!(html.matches("<h1").count(), 1);
        assert!(html.len() <= 30 * 1_024, "{}", html.len());
    }

    // The policy names the hash of STYLESHEET; one byte more and the page is unstyled.
    #[test]
    fn the_style_element_holds_exactly_the_stylesheet() {
        let html = open().render().unwrap();
        let (_, rest) = html.split_once("<style>").unwrap();
        let (style, _) = rest.split_once("</style>").unwrap();
        assert_eq!(style, STYLESHEET);
        assert!(STYLESHEET.len() <= 12 * 1_024);
        assert!(!STYLESHEET.contains("</") && !STYLESHEET.contains("url(") && !STYLESHEET.contains("@import"));
    }

    #[test]
    fn time_turns_amber_in_the_last_quarter_or_the_last_15_minutes() {
        let soon = |asked_at, expires_at, now| Countdown::new(asked_at, expires_at, now).soon;
        let second = TimeDelta::seconds(1);
        assert!(!soon(at(0, 0), at(20, 0), at(15, 0) - second));
        assert!(soon(at(0, 0), at(20, 0), at(15, 0)));
        assert!(!soon(at(9, 0), at(9, 40), at(9, 25) - second));
        assert!(soon(at(9, 0), at(9, 40), at(9, 25)));
        assert!(soon(at(9, 0), at(9, 10), at(9, 0)));
    }

    #[test]
    fn the_bar_stays_between_empty_and_full() {
        let elapsed = |now| Countdown::new(at(7, 0), at(9, 0), now).elapsed_percent;
        assert_eq!((elapsed(at(6, 0)), elapsed(at(7, 30)), elapsed(at(9, 0)), elapsed(at(12, 0))), (0, 25, 100, 100));
        assert_eq!(Countdown::new(at(7, 0), at(7, 0), at(7, 0)).elapsed_percent, 100);
        assert!(open().render().unwrap().contains("aria-label=\"1 percent of the time has passed\""));
    }

    #[test]
    fn without_a_deadline_the_page_says_so() {
        let html = OpenQuestion { expires_at: None, ..open() }.render().unwrap();
        assert!(html.contains("No deadline") && !html.contains("class=\"bar\""));
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

    // Everything an agent can write is tried at once, in every place it can reach.
    #[test]
    fn hostile_text_stays_text() {
        let hostile = "</b></style><script>alert(1)</script><h1 onclick='x'>\"\u{202e}\u{0}\u{200b} & {{ open }}";
        let text = || hostile.to_owned();
        let given = || Given { label: Some(text()), value: json!("x") };
        let context = json!({
            text(): text(), "group": {text(): text(), "deep": {text(): text()}}, "list": [text()],
            "fields": [{"name": "a", "label": text(), "description": text(), "options": ["<script>"]}],
        });
        let mut question = open();
        question.page.answering_as = Some(text());
        question.asked = Asked { agent: text(), intent_title: text(), question: format!("{hostile}\n{hostile}"), at: at(7, 14) };
        question.context = context;
        question.silence = Silence::Fallback(given());
        question.plan[0].sentence = text();
        let choices = vec![Choice { description: Some(text()), ..choice("<script>\"", hostile, ChoiceStyle::Primary) }];
        let mut pages = vec![
            OpenQuestion { answers: Answers::Choices(Choices::new(choices)), ..question.clone() }.render().unwrap(),
            OpenQuestion { answers: Answers::Text { typed: String::new() }, ..question.clone() }.render().unwrap(),
            OpenQuestion { answers: Answers::Form { typed: BTreeMap::new() }, ..question.clone() }.render().unwrap(),
        ];
        for ending in [
            Ending::AnsweredByYou { given: given(), at: at(7, 18), comment: Some(text()), received_at: None },
            Ending::AnsweredByAnother { by: text(), given: given(), at: at(7, 18), yours_at: None },
            Ending::Expired { at: at(9, 30), silence: Silence::Fallback(Given { label: None, value: json!({text(): text()}) }) },
            Ending::Withdrawn { at: at(9, 30), reason: Some(text()) },
            Ending::Superseded { at: at(9, 30), changed: Some(text()), newer_href: None },
        ] {
            let asked = question.asked.clone();
            pages.push(
                Outcome { page: question.page.clone(), asked, ending, told: question.plan.clone(), now: at(9, 31) }
                    .render()
                    .unwrap(),
            );
        }
        for html in pages {
            assert!(!html.contains("<script") && !html.contains("onclick='") && !html.contains("<h1 onclick"), "{html}");
            assert!(!html.contains(['\u{202e}', '\u{0}', '\u{200b}']), "{html}");
            assert_eq!(html.matches("<h1").count(), 1);
            assert_eq!(html.matches("</style>").count(), 1);
        }
    }

    #[test]
    fn folded_text_locks_every_answer_and_the_whole_page_unlocks_them() {
        let context = json!({"proposed_text": "line\n".repeat(53)});
        let folded = OpenQuestion { context, whole_page_href: Some("?show=everything".to_owned()), ..open() };
        let html = folded.render().unwrap();
        assert_eq!(html.matches(" disabled>").count(), 2);
        assert!(html.contains("41 lines of “<bdi>Proposed text</bdi>” are hidden."));
        assert!(html.contains("<a href=\"?show=everything\">Show everything</a>"));
        let html = OpenQuestion { whole_page_href: None, ..folded }.render().unwrap();
        assert!(!html.contains(" disabled>") && !html.contains("Show everything"));
    }

    // What somebody typed is never lost to an error, down to its first line break.
    #[test]
    fn an_error_keeps_what_was_typed_and_says_nothing_was_sent() {
        let stale = OpenQuestion { error: Some(FormError::PageTooOld), comment: "Carrier’s fault".to_owned(), ..open() };
        let html = stale.render().unwrap();
        assert!(html.contains("<title>Error: "));
        assert!(html.contains("role=\"alert\""));
        assert!(html.contains("Nothing was sent; what you typed is still here. Send it again."));
        assert!(html.contains("Carrier’s fault</textarea>"));

        let error = Some(FormError::text(FieldProblem::TooLong));
        let text = OpenQuestion { answers: Answers::Text { typed: "\nmine <b>".to_owned() }, error, ..open() };
        let html = text.render().unwrap();
        assert!(html.contains(">\n\nmine &#60;b&#62;</textarea>"), "{html}");
        assert!(html.contains("<a href=\"#answer\">") && html.contains("aria-invalid=\"true\""));

        let unsaved = OpenQuestion { error: Some(FormError::CannotSave), ..open() };
        assert!(unsaved.render().unwrap().contains("Your answer was <strong>not</strong> recorded."));
    }

    #[test]
    fn a_form_links_each_error_to_its_field() {
        let context = json!({"fields": [
            {"name": "cap", "type": "number"},
            {"name": "law", "options": ["Germany", "Norway"]},
            {"name": "cc", "type": "boolean"},
        ], "clause": "7.2"});
        let typed: BTreeMap<String, String> =
            [("cap", "25oo"), ("law", "Norway"), ("cc", "on")].map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let errors = Fields::from_context(&context).answer(&typed).unwrap_err();
        let error = Some(FormError::NeedsChange(errors));
        let html = OpenQuestion { context, answers: Answers::Form { typed }, error, ..open() }.render().unwrap();
        assert!(html.contains("Nothing was sent yet. One answer needs a change"));
        assert!(html.contains("<a href=\"#f0\">“<bdi>Cap</bdi>” must be a number"));
        assert!(
            html.contains(
                "name=\"field.cap\" inputmode=\"decimal\" value=\"25oo\" aria-describedby=\"f0e\" aria-invalid=\"true\""
            )
        );
        assert!(html.contains("<option value=\"Norway\" selected>"));
        assert!(html.contains("name=\"field.cc\" checked"));
        // The definition is drawn as fields and therefore not repeated as context.
        assert!(html.contains("Clause") && !html.contains(">Fields<"));
    }

    #[test]
    fn each_ending_says_what_did_and_what_did_not_happen() {
        let yours_at = Some(at(7, 18) + TimeDelta::seconds(6));
        let cases = [
            (
                Ending::AnsweredByYou {
                    given: given(),
                    at: at(7, 18),
                    comment: None,
                    received_at: Some(at(7, 18) + TimeDelta::seconds(1)),
                },
                vec![
                    "<h1>Your answer was recorded</h1>",
                    "Do not refund",
                    "<code><bdi>deny</bdi></code>",
                    "07:18:04 UTC",
                    "received it 1 second later",
                ],
            ),
            (
                Ending::AnsweredByAnother { by: "Jonas Weber".to_owned(), given: given(), at: at(7, 18), yours_at },
                vec![
                    "<h1><bdi>Jonas Weber</bdi> answered first</h1>",
                    "Do not refund",
                    "6 seconds before yours",
                    "Yours was not counted.",
                ],
            ),
            (
                Ending::Expired { at: at(9, 30), silence: Silence::Ends },
                vec!["<h1>The deadline has passed</h1>", "Nobody answered by", "no fallback was used", "not recorded as a no"],
            ),
            (
                Ending::Expired { at: at(9, 30), silence: Silence::Fallback(given()) },
                vec![
                    "<h1>The deadline has passed</h1>",
                    "The fallback the agent had named was used: <b><bdi>Do not refund</bdi></b>",
                    "not recorded as a no",
                ],
            ),
            (
                Ending::Withdrawn { at: at(7, 20), reason: Some("customer cancelled".to_owned()) },
                vec!["<h1>The agent withdrew this question</h1>", "07:20 UTC", "“<bdi>customer cancelled</bdi>”"],
            ),
            (
                Ending::Superseded {
                    at: at(7, 20),
                    changed: Some("The amount changed".to_owned()),
                    newer_href: Some("/a/new".to_owned()),
                },
                vec!["<h1>A newer question replaced this one</h1>", "The amount changed", "<a href=\"/a/new\">"],
            ),
            (
                Ending::Undeliverable { at: at(9, 30), messages: 3 },
                vec!["<h1>Nobody could be reached</h1>", "None of 3 messages arrived", "no fallback was used"],
            ),
        ];
        for (ending, sentences) in cases {
            let html = outcome(ending);
            for sentence in sentences {
                assert!(html.contains(sentence), "{sentence} is missing in {html}");
            }
            assert!(html.contains("Refund €412.00?"));
            assert!(!html.contains("<form") && !html.contains("<button"));
        }
    }

    #[test]
    fn an_answer_too_long_for_a_sentence_is_shown_below_in_full() {
        let value = json!("line one\nline two");
        let html = outcome(Ending::AnsweredByYou {
            given: Given { label: None, value },
            at: at(7, 18),
            comment: None,
            received_at: None,
        });
        assert!(html.contains("Your answer is shown below") && html.contains("line one\nline two"));
    }

    // Different bytes would tell a guesser which tokens once existed.
    #[test]
    fn the_page_of_an_unknown_link_is_always_the_same() {
        let render = || UnknownLink::new("placet.example".to_owned()).render().unwrap();
        let html = render();
        assert_eq!(html, render());
        assert!(html.contains("<h1>This link opens nothing</h1>") && !html.contains("You answer as"));
        for reason in ["mistyped", "replaced by a newer mail", "closed"] {
            assert!(html.contains(reason));
        }
    }

    #[test]
    fn trouble_says_that_nothing_was_recorded() {
        for (trouble, sentence) in [
            (Trouble::TooManyTries, "Nothing was sent."),
            (Trouble::CannotSave, "Your answer was <strong>not</strong> recorded."),
            (Trouble::CannotRead, "Nothing was changed"),
            (Trouble::ForeignForm, "nothing was recorded"),
        ] {
            let html = TroublePage::new("placet.example".to_owned(), trouble).render().unwrap();
            assert!(html.contains(sentence), "{sentence}");
        }
    }
}
