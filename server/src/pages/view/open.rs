//! The page of a question somebody can still answer.

use std::collections::BTreeMap;

use askama::Template;
use chrono::{DateTime, Utc};
use domain::pressing::AskedBefore;
use domain::words;
use serde_json::Value;

use super::super::context::{Length, Table};
use super::moment::{Countdown, hour, machine, minute, near};
use super::{Asked, Cell, Choices, FieldError, FieldKind, FieldProblem, Fields, Page, PlanRow, STYLESHEET, Silence, line};

/// Rows of a plan that are shown without being asked for.
const PLAN_ROWS_SHOWN: usize = 8;

/// A question somebody can still answer.
#[derive(Debug, Clone)]
pub(in crate::pages) struct OpenQuestion {
    /// What every page has.
    pub page: Page,
    /// The question.
    pub asked: Asked,
    /// What was taken back for it, if anything was.
    pub before: Option<AskedBefore>,
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
    /// Where the script is that tells times in the reader's zone.
    pub times_path: String,
    /// Where the script is that keeps this page up to date.
    pub script_path: String,
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
pub(in crate::pages) enum Answers {
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

/// Why an open question is shown again after a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) enum FormError {
    /// The nonce does not fit the cookie.
    PageTooOld,
    /// The store refused to take the answer; it is not recorded.
    CannotSave,
    /// The store did not say what became of the answer. It may be recorded, or become so.
    Unheard,
    /// A button was pressed whose value this question does not offer.
    NotAChoice,
    /// What was typed cannot be sent yet.
    NeedsChange(Vec<FieldError>),
}

impl FormError {
    /// The one field of a text answer has this problem.
    pub(in crate::pages) fn text(problem: FieldProblem) -> Self {
        let label = words::TEXT_OF_YOUR_ANSWER.to_owned();
        Self::NeedsChange(vec![FieldError { name: "value".to_owned(), label, problem }])
    }

    fn heading(&self) -> String {
        match self {
            Self::PageTooOld => words::PAGE_WAS_OPEN_TOO_LONG.to_owned(),
            Self::CannotSave => words::CANNOT_SAVE.to_owned(),
            // Not that it cannot save: it may have.
            Self::Unheard => words::NOT_CONFIRMED.to_owned(),
            Self::NotAChoice => words::NOT_ONE_OF_THE_CHOICES.to_owned(),
            Self::NeedsChange(errors) => words::answers_need_a_change(errors.len()),
        }
    }

    fn fields(&self) -> &[FieldError] {
        match self {
            Self::NeedsChange(errors) => errors,
            Self::PageTooOld | Self::CannotSave | Self::Unheard | Self::NotAChoice => &[],
        }
    }
}

impl OpenQuestion {
    /// Renders the page.
    pub(in crate::pages) fn render(&self) -> askama::Result<String> {
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
    /// Whether the plan would push what stands below it off the screen.
    fn plan_is_long(&self) -> bool {
        self.open.plan.len() > PLAN_ROWS_SHOWN
    }

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::samples::{at, open};
    use super::*;

    // The page must work for somebody without script, and a scanner that renders it must not decide anything.
    #[test]
    fn an_open_question_is_one_form_without_script_or_preselection() {
        let html = open().render().unwrap();
        assert_eq!(html.matches("<form method=\"post\" action=\"/a/plc_token\"").count(), 1);
        assert_eq!(html.matches("type=\"submit\" name=\"value\" value=\"").count(), 2);
        assert!(html.contains("name=\"value\" value=\"approve\""));
        assert!(html.contains("<input type=\"hidden\" name=\"nonce\" value=\"n0nce\">"));
        // The script is one of ours, comes from our own address and is not needed.
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
    fn without_a_deadline_the_page_says_so() {
        let html = OpenQuestion { expires_at: None, ..open() }.render().unwrap();
        assert!(html.contains("No deadline") && !html.contains("class=\"bar\""));
        // What never closes ends nothing: the page must not say that the agent stops.
        assert!(html.contains("the agent goes on waiting") && !html.contains("stops there"));
    }

    // Whoever is asked again and again says yes at last, and should at least see that it is so.
    #[test]
    fn a_question_that_is_asked_anew_says_how_often() {
        assert!(!open().render().unwrap().contains("took back"));
        let before = |times, expires_at| Some(AskedBefore { times, superseded: true, expires_at });
        let html = OpenQuestion { before: before(1, Some(at(9, 0))), ..open() }.render().unwrap();
        assert!(html.contains("<bdi>refund-agent</bdi> has asked 2 times: it took back the question before this one."), "{html}");
        assert!(
            html.contains("That could be answered until <time") && html.contains("09:00") && html.contains("09:30"),
            "{html}"
        );
        let html = OpenQuestion { before: before(3, None), ..open() }.render().unwrap();
        assert!(
            html.contains("has asked 4 times: it took back 3 questions before this one. The last of them had no deadline."),
            "{html}"
        );
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
}
