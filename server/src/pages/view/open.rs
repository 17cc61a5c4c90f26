//! The page of a question that can still be answered.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use domain::base::text::visible_line;
use domain::form::Schema;
use domain::suspension::demand::{COMMENT, Risk};
use domain::suspension::quorum::Quorum;
use domain::suspension::{AskedBefore, NOTIFY_TO_MAX};
use serde_json::Value;
use store::inbox::COUNTED_MAX;
use store::link::OutOfReach;

use super::super::context::{Table, label, not_drawn};
use super::super::fields::{lines, overflows};
use super::super::fold::{Folds, Hidden, Length};
use super::super::language::in_languages;
use super::super::reasons::{REASON, Reasons};
use super::choices::Button;
use super::form_error::{FormError, HandRefused};
use super::moment::{Countdown, hour, machine, minute, near, second};
use super::timeline::{Timeline, What};
use super::{
    Asked, Card, Cell, Choices, DraftsShown, FieldError, FieldKind, Fields, GroundsShown, Leads, Page, PlanRow, ProposalShown,
    STYLESHEET, Silence, line,
};

/// The number of rows of a plan that are shown without a click.
const PLAN_ROWS_SHOWN: usize = 8;
/// The fewest lines of a control for a long text.
const ROWS_MIN: usize = 6;

/// A question that can still be answered.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, which the page shows")]
pub(in crate::pages) struct OpenQuestion {
    /// The parts of every page.
    pub page: Page,
    /// The question.
    pub asked: Asked,
    /// The earlier question without an answer, if there was one.
    pub before: Option<AskedBefore>,
    /// The agent's context, shown before the choices.
    pub context: Value,
    /// The other members that the agent sent, by our names for them.
    pub beside: Vec<(String, Value)>,
    /// How it can be answered.
    pub answers: Answers,
    /// When this page is made.
    pub now: DateTime<Utc>,
    /// The deadline; `None` if the question waits until a person answers.
    pub expires_at: Option<DateTime<Utc>>,
    /// The outcome if no person answers.
    pub silence: Silence,
    /// How many other intents wait for the intent that asks.
    pub waiting: u32,
    /// Whether the intent that asks is in a portfolio with a deadline.
    pub is_grouped: bool,
    /// The plan of the messages, in order; the last row may be the end.
    pub plan: Vec<PlanRow>,
    /// The address to which the form is sent, for its attribute `action`.
    pub form_action: String,
    /// The address of the script that shows times in the reader's zone.
    pub times_path: String,
    /// The address of the script that keeps this page up to date.
    pub script_path: String,
    /// The address of the script that unlocks the answers at the end of a long question.
    pub unlock_path: String,
    /// Ties the form to the cookie and the link.
    pub nonce: String,
    /// The comment that was typed before an error.
    pub comment: String,
    /// The history of the question so far; absent on the page of a link.
    pub timeline: Option<Box<Timeline>>,
    /// The reasons that are offered for a no; absent if none is.
    pub reasons: Option<Box<Reasons>>,
    /// Why the page is shown again instead of the result.
    pub error: Option<FormError>,
    /// How much of the question the reader has seen.
    pub reading: Reading,
    /// The people to whom it is assigned, in words; none if it is assigned to no one in particular.
    pub assignees: Vec<String>,
    /// Whether the reader may answer.
    pub may_answer: bool,
    /// Whether the reader is kept from answering as the owner of the key that asked.
    pub owns_the_asker: bool,
    /// Set if more people are needed than could answer now.
    pub out_of_reach: Option<OutOfReach>,
    /// How many people must agree, and who has answered so far; absent if one answer decides.
    pub quorum: Option<QuorumShown>,
    /// In whose hands it is.
    pub hands: HandsShown,
    /// The passkey that must sign the answer, if the question demands one.
    pub passkey: Option<PasskeyNeeded>,
    /// The login that the reader needs first, if the question demands one.
    pub login: Option<LoginNeeded>,
    /// The person who is logged in in the browser, if that is another one than the reader.
    pub other: Option<String>,
    /// The person for whom the page is made; absent on the page of a link.
    pub person: Option<String>,
    /// The part of the form that was kept over a login.
    pub kept: Option<Kept>,
    /// The drafts of answers that people share.
    pub drafts: DraftsShown,
    /// The risk that the agent declares.
    pub risk: Option<Risk>,
    /// Whether a person who refuses must say why.
    pub needs_comment: bool,
    /// The action that the question proposes, if it proposes one.
    pub proposal: Option<ProposalShown>,
    /// The agent's explanation, and earlier decisions.
    pub grounds: GroundsShown,
}

/// The login that an answer needs first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) enum LoginNeeded {
    /// The address of the reader is not listed, so the reader cannot log in.
    Unlisted,
    /// It is at this address, and leads back.
    At(String),
    /// It is at this address, and must be a new one, by the issuer of identities.
    Fresh(String),
}

impl LoginNeeded {
    /// Where the login is; `None` if the reader cannot log in.
    pub(in crate::pages) fn address(&self) -> Option<&str> {
        match self {
            Self::Unlisted => None,
            Self::At(login) | Self::Fresh(login) => Some(login),
        }
    }
}

/// The part of a form that was kept over a login, beside its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) struct Kept {
    /// The label of the choice.
    pub chosen: Option<String>,
    /// When it was kept.
    pub at: DateTime<Utc>,
    /// Whether another holder of the link may have typed it.
    pub is_from_elsewhere: bool,
    /// Whether code points, or the lengths of gaps, stand in it in the place of what would be out of sight.
    pub is_marked: bool,
}

/// How many people must agree, and who has answered so far.
#[derive(Debug, Clone)]
pub(in crate::pages) struct QuorumShown {
    /// How many must agree.
    pub quorum: Quorum,
    /// The answers so far.
    pub counted: Vec<CountedShown>,
    /// The label of the reader's own answer, if it counts.
    pub own: Option<String>,
}

/// An answer that counts.
#[derive(Debug, Clone)]
pub(in crate::pages) struct CountedShown {
    /// The address of the person.
    pub person: String,
    /// The label of the answer.
    pub label: String,
    /// When it was given.
    pub at: DateTime<Utc>,
    /// Whether the person may still answer.
    pub may_answer: bool,
    /// The person in whose place it was given, if a place was handed on.
    pub in_place_of: Option<String>,
}

/// In whose hands a question is.
#[derive(Debug, Clone, Default)]
pub(in crate::pages) struct HandsShown {
    /// The person who works on it, and since when.
    pub claim: Option<(String, DateTime<Utc>)>,
    /// Whether that person is the reader.
    pub is_own: bool,
    /// The places that were handed on: the person who had each, and the one who has it.
    pub handed: Vec<(String, String)>,
    /// The person to whom the reader has handed on their place.
    pub left_to: Option<String>,
    /// The address of another person that was typed before an error.
    pub to: String,
    /// The people and groups that were typed before an error.
    pub who: String,
    /// The login that the reader needs before choosing who answers.
    pub login: Option<LoginNeeded>,
}

/// The passkey that must sign an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) enum PasskeyNeeded {
    /// The address of the link is not that of a person who has logged in.
    Unknown,
    /// The person has no passkey that works here.
    Missing,
    /// A script asks for it.
    Signs {
        /// The address that gives the challenge.
        challenge: String,
        /// The address of the script.
        script_path: String,
    },
}

/// How far a reader has come with a question that is too long to be shown at once.
///
/// An answer needs a nonce, and only a page that shows the whole question has one. Every page of a short question shows it whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::pages) enum Reading {
    /// Long texts end early, and the answers are locked.
    #[default]
    Begun,
    /// Everything is shown, and the answers are still locked. The script unlocks them when every mark was in view: the mark at
    /// the end of the text above the answers, if that text is long, and the mark at the end of the text among them, if that one
    /// is. Without scripts, a link at the last mark leads to [`Self::ToTheEnd`].
    Everything,
    /// The reader followed the link at the end of the long text: the answers are offered below the text.
    ToTheEnd,
}

impl Reading {
    /// The reading that the query of an address asks for.
    pub(in crate::pages) fn of_query(query: &str) -> Self {
        match query {
            "show=everything" => Self::Everything,
            "show=everything&end=reached" => Self::ToTheEnd,
            _ => Self::Begun,
        }
    }

    fn length(self) -> Length {
        if self == Self::Begun { Length::Folded } else { Length::Whole }
    }
}

/// How a question can be answered.
#[derive(Debug, Clone)]
pub(in crate::pages) enum Answers {
    /// One button per choice.
    Choices(Choices),
    /// One text, posted as `value`.
    Text {
        /// The text that was typed before an error.
        typed: String,
    },
    /// Fields, posted with [`super::context::FIELD_PREFIX`]; read [`Fields`] from the schema, or else the context, to interpret them.
    Form {
        /// The schema of the answer, if it has one.
        schema: Option<Box<Schema>>,
        /// The texts that were typed before an error, by the names of the fields.
        typed: BTreeMap<String, String>,
    },
}

impl OpenQuestion {
    /// Whether a person has answered, and more must agree.
    fn is_answered(&self) -> bool {
        self.quorum.as_ref().is_some_and(|shown| !shown.counted.is_empty())
    }

    /// Renders the page.
    pub(in crate::pages) fn render(&self) -> askama::Result<String> {
        let (length, mut folds) = (self.reading.length(), Folds::new(self.page.manner.language));
        let card = self.asked.card(length, &mut folds);
        let explained = self.grounds.explanation.iter().map(|(name, value)| (name.clone(), value));
        let explained = Table::new(explained, 'g', length, &mut folds);
        let fallback = match &self.silence {
            Silence::Fallback(given) => given.table(length, &mut folds),
            Silence::Ends | Silence::Beside => None,
        };
        let form = match &self.answers {
            Answers::Form { schema: Some(schema), .. } => Some(Fields::of_schema(schema, self.page.manner.language)),
            Answers::Form { schema: None, .. } => Some(Fields::from_context(&self.context, self.page.manner.language)),
            Answers::Choices(_) | Answers::Text { .. } => {
                self.proposal.as_ref().and_then(|proposal| proposal.fields(self.page.manner.language))
            }
        };
        let reads_context = matches!(&self.answers, Answers::Form { schema: None, .. });
        let drawn = reads_context && form.as_ref().is_some_and(|fields| fields.by_agent);
        let left = if drawn { not_drawn(&self.context["fields"], self.page.manner.language) } else { Vec::new() };
        let shown = |key: &String| !(drawn && key == "fields");
        let context = self.context.as_object().into_iter().flatten().filter(|(key, _)| shown(key));
        let context = context.map(|(key, value)| (label(key), value));
        let beside = left.iter().chain(&self.beside).map(|(name, value)| (name.clone(), value));
        let table = Table::new(context.chain(beside), 'r', length, &mut folds);
        let proposed = self.proposal.as_ref().map(|proposal| Table::new(proposal.members(), 'p', length, &mut folds));
        let folds_above = folds.0.len();
        let buttons = match &self.answers {
            Answers::Choices(choices) => choices.buttons(length, &mut folds),
            Answers::Text { .. } | Answers::Form { .. } => Vec::new(),
        };
        let fields = form.map(|fields| fields.folded(length, &mut folds));
        let countdown = self.expires_at.map(|at| Countdown::new(self.asked.at, at, self.now, self.page.manner.language));
        let folds = folds.0;
        let page = &self.page;
        OpenPage { page, open: self, card, explained, fallback, countdown, table, proposed, buttons, fields, folds, folds_above }
            .render()
    }
}

struct OpenPage<'a> {
    page: &'a Page,
    open: &'a OpenQuestion,
    card: Card,
    /// The agent's explanation of the action.
    explained: Table,
    fallback: Option<Table>,
    countdown: Option<Countdown>,
    table: Table,
    /// The action that the question proposes.
    proposed: Option<Table>,
    buttons: Vec<Button>,
    fields: Option<Fields>,
    /// The parts that are not shown at once.
    folds: Vec<Hidden>,
    /// How many of the `folds` stand above the answers; the others are among the answers.
    folds_above: usize,
}

in_languages!(OpenPage<'_>, "open.html");

impl OpenPage<'_> {
    /// Whether the plan would push the parts below it off the screen.
    fn plan_is_long(&self) -> bool {
        self.open.plan.len() > PLAN_ROWS_SHOWN
    }

    fn locked(&self) -> bool {
        !self.folds.is_empty() && self.open.reading != Reading::ToTheEnd
    }

    /// Whether long texts end early on this page.
    fn folded(&self) -> bool {
        !self.folds.is_empty() && self.open.reading == Reading::Begun
    }

    /// Whether the reader must reach the end of the text above the answers.
    fn marks_text(&self) -> bool {
        self.locked() && !self.folded() && self.folds_above > 0
    }

    /// Whether the reader must reach the end of the agent's text among the answers.
    fn marks_answers(&self) -> bool {
        self.locked() && !self.folded() && self.folds_above < self.folds.len()
    }

    /// Whether the page is one column, in which the answers come after everything else. So the end of a long text among the
    /// answers is the end of the page.
    fn slim(&self) -> bool {
        self.fields.is_some() || self.open.reading == Reading::ToTheEnd || self.marks_answers()
    }

    fn pinned(&self) -> bool {
        matches!(&self.open.answers, Answers::Choices(choices) if choices.fit()) && !self.folded() && !self.slim()
    }

    /// Whether there is more to read than a line or two before the answers.
    fn has_evidence(&self) -> bool {
        self.fallback.is_some()
            || !self.explained.rows.is_empty()
            || self.proposed.is_some()
            || !self.table.rows.is_empty()
            || !self.card.explanation.is_empty()
            || self.card.is_long()
    }

    /// The id of a field's control, to which the link in the error summary leads. A text answer has only one control, `answer`.
    fn id(&self, name: &str) -> String {
        if name == COMMENT || name == REASON {
            return name.to_owned();
        }
        let position = self.fields.iter().flat_map(|fields| &fields.fields).position(|field| field.name == name);
        // A problem of the whole form leads to its first field, or to its first button.
        let first = match &self.open.answers {
            _ if self.fields.is_some() => "f0",
            Answers::Choices(_) => "c0",
            Answers::Text { .. } | Answers::Form { .. } => "answer",
        };
        position.map_or_else(|| first.to_owned(), |index| format!("f{index}"))
    }

    fn problem(&self, name: &str) -> Option<&FieldError> {
        self.open.error.as_ref()?.fields().iter().find(|error| error.name == name)
    }

    /// Why the people and groups were refused that were typed in this field about other hands, `to` or `who`.
    fn refused(&self, field: &str) -> &[HandRefused] {
        self.open.error.as_ref().map_or(&[], |error| error.refused_in(field))
    }

    /// Whether the part about other hands is open.
    fn shows_hands(&self) -> bool {
        let hands = &self.open.hands;
        !hands.to.is_empty() || !hands.who.is_empty() || ["to", "who"].iter().any(|field| !self.refused(field).is_empty())
    }

    /// How many lines the control of a text has: so many that a phone shows all of what stands in it.
    fn rows(&self, name: &str) -> usize {
        let field = self.fields.iter().flat_map(|fields| &fields.fields).find(|field| field.name == name);
        let is_long = field.is_some_and(|field| field.kind == FieldKind::Textarea);
        lines(self.typed(name)).max(if is_long { ROWS_MIN } else { 1 })
    }

    /// Whether one line would hide the end of what stands in a field: a draft of another person may be longer than what the agent put there.
    fn overflows(&self, name: &str) -> bool {
        overflows(self.typed(name))
    }

    fn typed(&self, name: &str) -> &str {
        match &self.open.answers {
            Answers::Form { typed, .. } => typed.get(name).map_or("", String::as_str),
            Answers::Choices(_) | Answers::Text { .. } => {
                let proposal = self.open.proposal.as_ref();
                proposal.and_then(|proposal| proposal.typed.get(name)).map_or("", String::as_str)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::base::words::Language;
    use domain::suspension::{Style, SuspensionChoice};
    use serde_json::json;

    use super::super::samples::{at, choice, open};
    use super::super::{FieldProblem, Given};
    use super::*;

    /// The buttons beside those of the answer: claim or release, hand on, assign to others.
    const HANDS: usize = 3;
    /// The first button of the form, which is never pressed and keeps Enter from answering.
    const NONE: &str = "<button disabled hidden></button>";
    /// The same button above the form, on a page whose answers are locked.
    const NONE_ABOVE: &str = "<button form=\"answer-form\" disabled hidden></button>";
    /// The buttons about drafts in the form of the answer: save.
    const DRAFTS: usize = 1;

    // The page must work for a person without scripts, and a scanner that renders it must not decide anything.
    #[test]
    fn an_open_question_is_one_form_without_script_or_preselection() {
        let html = open().render().unwrap();
        // The buttons about hands belong to the form of the answer, so that they lose nothing that was typed.
        assert_eq!(html.matches("<form method=\"post\" action=\"/a/plc_token\"").count(), 1);
        assert_eq!(html.matches("form=\"answer-form\" name=\"hand\"").count(), HANDS);
        assert_eq!(html.matches("type=\"submit\" name=\"value\" value=\"").count(), 2);
        assert!(html.contains("name=\"value\" value=\"approve\""));
        assert!(html.contains("<input type=\"hidden\" name=\"nonce\" value=\"n0nce\">"));
        // The scripts are ours, come from our own address and are not needed.
        assert_eq!(html.matches("<script").count(), 2);
        for script in ["answer", "times"] {
            assert!(html.contains(&format!("<script src=\"/assets/{script}-0.js\" defer></script>")), "{script}");
        }
        for absent in ["style=\"", "http://", "https://", "checked", "selected", " onclick"] {
            assert!(!html.contains(absent), "{absent}");
        }
        assert_eq!(html.matches("<h1").count(), 1);
        assert!(html.len() <= 30 * 1_024, "{}", html.len());
    }

    // The style element holds exactly `STYLESHEET`: the content security policy names its hash, and with one byte more the page
    // would be unstyled.
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
    fn without_a_deadline_the_page_says_so() {
        let html = OpenQuestion { expires_at: None, ..open() }.render().unwrap();
        assert!(html.contains("No deadline") && !html.contains("class=\"bar\""));
        // Without a deadline the agent goes on waiting, so the page must not say that the agent stops.
        assert!(html.contains("the agent goes on waiting") && !html.contains("stops there"));
    }

    // If a question is asked anew, the page says how often it was asked before: a person who is asked again and again says yes in
    // the end.
    #[test]
    fn a_question_that_is_asked_anew_says_how_often() {
        assert!(!open().render().unwrap().contains("has asked"));
        let before = |times, expires_at| Some(AskedBefore { times, superseded: true, expires_at, answered: false });
        let html = OpenQuestion { before: before(1, Some(at(9, 0))), ..open() }.render().unwrap();
        assert!(
            html.contains("<bdi>refund-agent</bdi> has asked 2 times: the question before this one ended without an answer."),
            "{html}"
        );
        assert!(
            html.contains("That question could be answered until <time") && html.contains("09:00") && html.contains("09:30"),
            "{html}"
        );
        let html = OpenQuestion { before: before(3, None), ..open() }.render().unwrap();
        assert!(
            html.contains(
                "has asked 4 times: 3 questions before this one ended without an answer. The last of them had no deadline."
            ),
            "{html}"
        );
    }

    #[test]
    fn folded_text_locks_every_answer_until_its_end_was_reached() {
        let context = json!({"proposed_text": "line\n".repeat(53)});
        let page = |reading| OpenQuestion { context: context.clone(), reading, ..open() }.render().unwrap();
        let html = page(Reading::Begun);
        assert_eq!((html.matches(" disabled>").count(), html.matches("name=\"nonce\"").count()), (2, 0));
        assert!(html.contains("41 lines of “<bdi>Proposed text</bdi>” are hidden."));
        assert!(html.contains("formaction=\"?show=everything#r0\">Show everything</button>"));
        let html = page(Reading::Everything);
        assert_eq!((html.matches(" disabled>").count(), html.matches("name=\"nonce\"").count()), (2 + DRAFTS + HANDS, 1));
        assert!(
            html.contains("<tr id=\"r0\">")
                && html.contains("formaction=\"?show=everything&amp;end=reached#d\"")
                && !html.contains("hidden.")
        );
        let html = page(Reading::ToTheEnd);
        assert!(!html.contains(" disabled>") && !html.contains("Show everything") && html.contains("class=\"wrap slim\""));
        assert!(html.find("class=\"choices\"") > html.find("</table>"), "below the end");
    }

    /// An agent may hide the point in any text that it sends, so each text that is cut locks the answers.
    #[test]
    fn whatever_is_cut_locks_the_answers() {
        let (long, endless) = ("line\n".repeat(13), "x".repeat(60_000));
        let context = |value: Value| OpenQuestion { context: value, ..open() };
        let asks = |question: &str| OpenQuestion { asked: Asked { question: question.to_owned(), ..open().asked }, ..open() };
        let form = |fields: Value| OpenQuestion {
            answers: Answers::Form { schema: None, typed: BTreeMap::new() },
            ..context(json!({ "fields": fields }))
        };
        let described = SuspensionChoice { description: Some(long.clone()), ..choice("a", "A", Style::Default) };
        let fallback = Silence::Fallback(Given { label: None, value: json!(endless), said: Vec::new() });
        let cases = vec![
            ("a key", context(json!({endless.clone(): 1}))),
            ("a key of a group", context(json!({"group": {endless.clone(): 1}}))),
            ("the key of a group", context(json!({endless.clone(): {"a": 1}}))),
            ("a value", context(json!({"a": long}))),
            ("an entry", context(json!({"a": [long]}))),
            ("a deep value", context(json!({"a": [{"b": endless}]}))),
            ("rows", context(json!((0..41).map(|row| (format!("k{row}"), json!(row))).collect::<serde_json::Map<_, _>>()))),
            ("what stands beside", OpenQuestion { beside: vec![("Decision".into(), json!({"reason": long}))], ..open() }),
            ("the lines of a question", asks(&long)),
            ("a question", asks(&endless)),
            ("a title", OpenQuestion { asked: Asked { intent_title: "x".repeat(201), ..open().asked }, ..open() }),
            ("a description", OpenQuestion { answers: Answers::Choices(Choices::new(vec![described])), ..open() }),
            ("a fallback", OpenQuestion { silence: fallback, ..open() }),
            ("the label of a field", form(json!([{"name": "a", "label": "x".repeat(201)}]))),
            ("the description of a field", form(json!([{"name": "a", "description": long}]))),
            ("a member no field has", form(json!([{"name": "a", "note": long}]))),
            ("the name of such a member", form(json!([{"name": "a", endless.clone(): 1}]))),
            ("the type of a list", form(json!([{"name": "a", "options": ["x"], "type": endless}]))),
        ];
        for (name, question) in cases {
            let html = question.render().unwrap().replace(NONE, "").replace(NONE_ABOVE, "");
            // One button shows the rest of the text.
            let buttons = html.matches("<button").count() - 1;
            assert!(buttons > 0 && html.matches(" disabled>").count() == buttons, "{name} is hidden beside live buttons");
            let (_, rest) = html.split_once("formaction=\"?show=everything#").unwrap();
            let anchor = format!("id=\"{}\"", rest.split('"').next().unwrap());
            let whole = OpenQuestion { reading: Reading::Everything, ..question }.render().unwrap();
            let marks = whole.matches("mark\" id=\"end").count();
            assert!(whole.contains(&anchor) && marks == 1, "{name}: {anchor} leads nowhere, or to no end");
            assert!(whole.matches(" disabled>").count() == buttons + DRAFTS + HANDS, "{name}: its end was not seen");
        }
        for question in [
            asks(&"x".repeat(1_200)),
            OpenQuestion { asked: Asked { intent_title: "x".repeat(200), ..open().asked }, ..open() },
            context(json!({"x".repeat(200): "line\n".repeat(12), "gap": "\n".repeat(3_900)})),
        ] {
            assert!(!question.render().unwrap().contains(" disabled>"));
        }
    }

    /// A person who must say why would press the button that refuses in vain, if the field stood below it.
    #[test]
    fn a_comment_that_a_refusal_needs_stands_above_the_buttons() {
        let place = |html: &str, part: &str| html.find(part).unwrap_or_else(|| panic!("{part} is missing in {html}"));
        for needs_comment in [true, false] {
            let html = OpenQuestion { needs_comment, ..open() }.render().unwrap();
            let is_above = place(&html, "<textarea id=\"comment\"") < place(&html, "id=\"c0\"");
            assert_eq!((is_above, html.matches("id=\"comment\"").count()), (needs_comment, 1), "{html}");
        }
    }

    /// The agent's default, or the text of another person, is sent with one press, so a control shows all of it.
    #[test]
    fn a_control_is_as_long_as_its_text() {
        let schema = json!({"type": "object", "properties": {
            "note": {"type": "string"},
            "name": {"type": "string", "maxLength": 200, "default": "x".repeat(25)},
            "city": {"type": "string", "maxLength": 200},
        }});
        let schema = Some(Box::new(Schema::accept(schema.as_object().unwrap().clone()).unwrap()));
        let shown = |name: &str, text: String| {
            let answers = Answers::Form { schema: schema.clone(), typed: [(format!("/{name}"), text)].into() };
            OpenQuestion { answers, ..open() }.render().unwrap()
        };
        for (name, text, rows) in [
            ("note", String::new(), ROWS_MIN),
            ("note", "x".repeat(24 * ROWS_MIN), ROWS_MIN),
            ("note", "x".repeat(24 * ROWS_MIN + 1), ROWS_MIN + 1),
            ("note", "国".repeat(12 * ROWS_MIN + 1), ROWS_MIN + 1),
            ("note", ".\n".repeat(40), 41),
            ("name", "x".repeat(25), 2),
            ("name", "Ｗ".repeat(24), 2),
            ("name", "国".repeat(60), 5),
            ("city", "We pay nothing, but 500 euros are due".to_owned(), 2),
        ] {
            assert!(shown(name, text).contains(&format!("name=\"field./{name}\" rows=\"{rows}\"")), "{name} {rows}");
        }
    }

    // An error loses no typed text, not even a line break at its beginning.
    #[test]
    fn an_error_keeps_what_was_typed_and_says_nothing_was_sent() {
        let stale = OpenQuestion { error: Some(FormError::PageTooOld), comment: "Carrier’s fault".to_owned(), ..open() };
        let html = stale.render().unwrap();
        assert!(html.contains("<title>Error: "));
        assert!(html.contains("role=\"alert\""));
        assert!(html.contains("Nothing was sent; what you typed is still here. Send it again."));
        assert!(html.contains("Carrier’s fault</textarea>"));

        let error = Some(FormError::text(FieldProblem::TooLong, Language::English));
        let text = OpenQuestion { answers: Answers::Text { typed: "\nmine <b>".to_owned() }, error, ..open() };
        let html = text.render().unwrap();
        assert!(html.contains(">\n\nmine &#60;b&#62;</textarea>"), "{html}");
        assert!(html.contains("<a href=\"#answer\">") && html.contains("aria-invalid=\"true\""));

        let unsaved = OpenQuestion { error: Some(FormError::CannotSave), ..open() };
        assert!(unsaved.render().unwrap().contains("Your answer was <strong>not</strong> recorded."));
        let unheard = OpenQuestion { error: Some(FormError::Unheard), ..open() };
        let html = unheard.render().unwrap();
        assert!(
            html.contains("Your answer was not confirmed")
                && html.contains("It is not certain whether your answer was recorded.")
        );
        assert!(!html.contains("cannot save") && !html.contains("<strong>not</strong>"), "it may have been recorded");
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
        let errors = Fields::from_context(&context, Language::English).answer(&typed, Language::English).unwrap_err();
        let error = Some(FormError::NeedsChange(errors));
        let html = OpenQuestion { context, answers: Answers::Form { schema: None, typed }, error, ..open() }.render().unwrap();
        assert!(html.contains("Nothing was sent yet. One field needs a change"));
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
        // A closed list would cut an option of this length.
        let long = json!({"fields": [{"name": "a", "options": ["x".repeat(25), "y"]}]});
        let html = OpenQuestion { context: long, answers: Answers::Form { schema: None, typed: BTreeMap::new() }, ..open() }
            .render()
            .unwrap();
        assert!(html.matches("type=\"radio\" name=\"field.a\"").count() == 2 && !html.contains("<select"), "{html}");
        // If the label does not tell the name of the field, the page shows the name beside it.
        let renamed = json!({"fields": [{"name": "pay_all", "label": "Colour", "placeholder": "red"}]});
        let html = OpenQuestion { context: renamed, answers: Answers::Form { schema: None, typed: BTreeMap::new() }, ..open() }
            .render()
            .unwrap();
        assert!(html.contains("<bdi>Colour</bdi> <code class=\"mute\"><bdi>pay_all</bdi></code>"), "{html}");
        assert!(html.contains("Placeholder") && html.contains(">red</div>"), "{html}");
    }
}
