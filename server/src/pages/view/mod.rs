//! The pages behind an answer link.
//!
//! The public structs take the server's data unchanged; everything a template prints is computed here, without I/O and without a
//! clock. Agent text reaches a template only through [`line`], [`phrase`], [`visible`] or the context table, so control and
//! bidirectional characters are visible everywhere, and askama escapes the rest.

mod around;
mod awaited;
mod choices;
mod dashboard;
mod drafts;
mod drawing;
mod form_error;
mod given;
mod grounds;
mod halted;
mod held;
mod inbox;
mod moment;
mod open;
mod outcome;
mod overview;
mod proposal;
mod record;
#[cfg(test)]
mod samples;
mod timeline;
mod together;
mod trouble;

use chrono::{DateTime, Utc};
use domain::base::text::{repeats, truncated, visible, visible_line};
use store::inbox::Tally;

pub(super) use self::around::{Around, CameFrom};
pub(super) use self::awaited::{Awaited, Effect};
pub(super) use self::choices::Choices;
pub(super) use self::dashboard::DashboardPage;
pub(super) use self::drafts::DraftsShown;
pub(super) use self::form_error::{FormError, HandRefused};
pub(super) use self::given::{Given, Silence};
pub(super) use self::grounds::GroundsShown;
pub(super) use self::held::Held;
pub(super) use self::inbox::{InboxListPage, InboxPage, Shown, TypedSearch};
pub(super) use self::moment::{Manner, machine, minute, second};
pub(super) use self::open::{
    Answers, CountedShown, HandsShown, Kept, LoginNeeded, OpenQuestion, PasskeyNeeded, QuorumShown, Reading,
};
pub(super) use self::outcome::{Ending, Outcome};
pub(super) use self::overview::OverviewPage;
pub(super) use self::proposal::{ApprovedShown, ChangeRow, ProposalShown, titled};
pub(super) use self::record::RecordPage;
pub(super) use self::timeline::Timeline;
pub(super) use self::together::{Apart, Line, TogetherDonePage, TogetherPage, TogetherTold, Togetherness, Whole};
pub(super) use self::trouble::{Again, Trouble, TroublePage, Typed, UnknownLink};
use super::context::Cell;
pub(super) use super::context::{FieldError, FieldKind, FieldProblem, Fields};
use super::fold::{Folding, Folds, Length};

/// The one style sheet, inlined in every page so that a page is one response.
///
/// A page contains exactly these bytes between `<style>` and `</style>`: their SHA-256 is the `style-src` of the
/// content security policy.
pub(super) const STYLESHEET: &str = include_str!("../assets/placet.css");

/// The style sheet of the pages behind the login: the one of all pages, and what only these pages need.
pub(super) const INSIDE_STYLESHEET: &str = concat!(include_str!("../assets/placet.css"), include_str!("../assets/inside.css"));

/// An agent's words inside one of our sentences are never longer than this.
const PHRASE_CHARS_MAX: usize = 80;

/// A name or title on one line of the agent's frame is never longer than this.
const LINE_CHARS_MAX: usize = 200;

/// A question's first line beyond this length is set as text, not as a headline.
const HEADLINE_CHARS_MAX: usize = 160;

/// The parts of every page about one question.
#[derive(Debug, Clone)]
pub(super) struct Page {
    /// The host of the public URL, so that people can compare it with the address bar. It is never taken from the request.
    pub host: String,
    /// The person this link belongs to.
    pub answering_as: Option<String>,
    /// Where the page leads beside its own form.
    pub leads: Leads,
    /// How the page speaks to its reader.
    pub manner: Manner,
}

/// Where a page about a question leads beside its own form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leads {
    /// Nowhere: the reader has no inbox that is known.
    Nowhere,
    /// To the login, because the reader came by a link and is listed.
    Login,
    /// To the inbox of the reader, who logged in, and to the question that waits next, if that was looked up.
    Inbox(Option<Next>),
}

/// The question that waits next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Next {
    /// Its address; absent if no question waits.
    pub href: Option<String>,
    /// How many questions wait.
    pub tally: Tally,
    /// The address of the script that goes there by a key.
    pub script_path: String,
}

/// The parts of every page behind the login: the person who logged in.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    /// The person's address.
    pub address: String,
    /// The person's role.
    pub role: &'static str,
    /// Whether the person may see the audit pages.
    pub sees_audit: bool,
    /// Ties the forms of the session to it.
    pub nonce: String,
}

/// A question as the agent asked it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The agent's name.
    pub agent: String,
    /// The title of the question's intent.
    pub intent_title: String,
    /// The question; its first line is the headline.
    pub question: String,
    /// When it was asked.
    pub at: DateTime<Utc>,
}

impl Asked {
    fn agent(&self) -> String {
        line(&self.agent)
    }

    /// The card with the question; folded parts are noted.
    fn card(&self, length: Length, folds: &mut Folds) -> Card {
        let title = if repeats(&self.intent_title, &self.question) { "" } else { self.intent_title.as_str() };
        let title = visible_line(title).trim().to_owned();
        let language = folds.1;
        let title = folds.line(title, language.title(), "main", length);
        let question = folds.text(visible(self.question.trim()), language.question(), "q", length);
        let (headline, explanation) = question.text.split_once('\n').unwrap_or((&question.text, ""));
        Card {
            agent: self.agent(),
            title,
            headline: headline.trim_end().to_owned(),
            explanation: explanation.trim_start_matches('\n').to_owned(),
            more: question.more,
        }
    }
}

/// The agent and its question, in the agent's words.
#[derive(Debug, Clone)]
struct Card {
    agent: String,
    title: Folding,
    /// The first line of the question.
    headline: String,
    /// The rest of the question.
    explanation: String,
    /// The part that is missing from the question.
    more: Option<String>,
}

impl Card {
    fn is_long(&self) -> bool {
        self.headline.chars().count() > HEADLINE_CHARS_MAX
    }
}

/// One line of "Who is told when".
#[derive(Debug, Clone)]
pub(super) struct PlanRow {
    /// When.
    pub at: DateTime<Utc>,
    /// Placet's own sentence, for example "You get a reminder".
    pub sentence: String,
    /// True for the row that tells when the question closes.
    pub end: bool,
}

impl PlanRow {
    fn sentence(&self) -> String {
        visible_line(&self.sentence)
    }

    /// The clock time, and the day unless it is today.
    fn when(&self, now: DateTime<Utc>, manner: Manner) -> String {
        manner.moment(self.at, now)
    }
}

/// Words that are not ours, cut to the length of one line.
pub(super) fn line(text: &str) -> String {
    truncated(visible_line(text).trim(), LINE_CHARS_MAX)
}

/// Words that are not ours, between our quotation marks: they cannot close the marks and go on as if they were ours.
fn quoted(text: &str) -> String {
    domain::base::text::quoted(text, PHRASE_CHARS_MAX)
}

/// Words that are not ours, inside one of our sentences.
fn phrase(text: &str) -> String {
    truncated(visible_line(text).trim(), PHRASE_CHARS_MAX)
}

fn is_phrase(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\n') && visible_line(text).chars().count() <= PHRASE_CHARS_MAX
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use domain::suspension::{Style, SuspensionChoice};
    use serde_json::json;

    use super::samples::{TIMES, at, choice, open};
    use super::*;

    // A hostile text, in every place that an agent can write to, stays text on every page.
    #[test]
    fn hostile_text_stays_text() {
        let hostile = "</b></style><script>alert(1)</script><h1 onclick='x'>\"\u{202e}\u{0}\u{200b} & {{ open }}";
        let text = || hostile.to_owned();
        let given = || Given { label: Some(text()), value: json!("x"), said: Vec::new() };
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
        let choices = vec![SuspensionChoice { description: Some(text()), ..choice("<script>\"", hostile, Style::Primary) }];
        let mut pages = vec![
            OpenQuestion { answers: Answers::Choices(Choices::new(choices)), ..question.clone() }.render().unwrap(),
            OpenQuestion { answers: Answers::Text { typed: String::new() }, ..question.clone() }.render().unwrap(),
            OpenQuestion { answers: Answers::Form { schema: None, typed: BTreeMap::new() }, ..question.clone() }
                .render()
                .unwrap(),
        ];
        for ending in [
            Ending::AnsweredByYou {
                given: given(),
                at: at(7, 18),
                comment: Some(text()),
                received_at: None,
                in_place_of: Some(text()),
            },
            Ending::AnsweredByAnother { by: text(), given: given(), at: at(7, 18), in_place_of: Some(text()) },
            Ending::Expired {
                at: at(9, 30),
                silence: Some(Silence::Fallback(Given { label: None, value: json!({text(): text()}), said: Vec::new() })),
            },
            Ending::Withdrawn { at: at(9, 30), by: Some(text()), reason: Some(text()) },
            Ending::TimeLost { at: at(9, 30) },
            Ending::Superseded { at: at(9, 30), changed: Some(text()), newer_href: None },
        ] {
            let asked = question.asked.clone();
            pages.push(
                Outcome {
                    page: question.page.clone(),
                    asked,
                    ending,
                    approved: None,
                    tried: true,
                    timeline: None,
                    told: question.plan.clone(),
                    now: at(9, 31),
                    times_path: TIMES.to_owned(),
                }
                .render()
                .unwrap(),
            );
        }
        for html in pages {
            let ours = ["answer", "times"]
                .map(|name| html.matches(&format!("<script src=\"/assets/{name}-0.js\" defer></script>")).count());
            let ours: usize = ours.iter().sum();
            assert_eq!(html.matches("<script").count(), ours, "{html}");
            assert!(!html.contains("onclick='") && !html.contains("<h1 onclick"), "{html}");
            assert!(!html.contains(['\u{202e}', '\u{0}', '\u{200b}']), "{html}");
            assert_eq!(html.matches("<h1").count(), 1);
            assert_eq!(html.matches("</style>").count(), 1);
        }
    }
}
