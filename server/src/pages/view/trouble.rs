//! The pages that show no question.

use domain::base::words::Language;

use super::super::context::FIELD_PREFIX;
use super::super::language::in_languages;
use super::super::reasons::REASON;
use super::{Page, STYLESHEET, line};

/// The page of every token that leads to no question: mistyped, replaced, or ended long ago.
///
/// It depends on nothing but the host, so its bytes never tell which of these reasons applies.
#[derive(Debug, Clone)]
pub(in crate::pages) struct UnknownLink {
    /// The parts of every page; this page names no person.
    page: Page,
}

in_languages!(UnknownLink, "unknown.html");

impl UnknownLink {
    /// The page of this host.
    pub(in crate::pages) fn new(page: Page) -> Self {
        Self { page }
    }
}

/// A refusal or failure that is not about the typed text.
#[derive(Debug, Clone)]
pub(in crate::pages) struct TroublePage {
    page: Page,
    trouble: Trouble,
    /// The form that was sent, to be sent again.
    again: Option<Again>,
}

in_languages!(TroublePage, "trouble.html");

/// A form that was refused before it was compared with its question. This page does not know the question, so it repeats the
/// typed text unchanged.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Again {
    /// Where it is sent.
    pub form_action: String,
    /// Ties it to the cookie and the link.
    pub nonce: String,
    /// The button and the texts.
    pub typed: Vec<Typed>,
    /// The inputs that are sent with them, and not shown.
    pub hidden: Vec<Typed>,
}

/// One field of a form that is sent again.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Typed {
    /// Its name on the wire.
    pub name: String,
    /// The field's text.
    pub text: String,
}

/// The longest text that is shown on one line.
const LINE_CHARS_MAX: usize = 60;

impl Typed {
    fn label(&self, language: Language) -> String {
        match self.name.strip_prefix(FIELD_PREFIX) {
            // The name in a form with a schema is a JSON pointer.
            Some(name) => line(name.strip_prefix('/').unwrap_or(name)),
            None => match self.name.as_str() {
                "comment" => language.comment().to_owned(),
                "value" => language.your_answer().to_owned(),
                REASON => language.reason_for_a_no().to_owned(),
                name => line(name),
            },
        }
    }

    /// Whether it is a field of one of our own forms that a person sees there.
    pub(in crate::pages) fn is_seen(&self) -> bool {
        matches!(self.name.as_str(), "address" | "deputy" | "from" | "input" | "locale" | "time_zone" | "until")
    }

    fn is_line(&self) -> bool {
        !self.text.contains('\n') && self.text.chars().count() <= LINE_CHARS_MAX
    }
}

/// The reason why the page cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) enum Trouble {
    /// This link was opened or used too often in a minute (429).
    TooManyTries,
    /// The answer cannot be saved, because the server is overloaded or the database is unavailable (503).
    CannotSave,
    /// Not even the question can be shown, because the server is overloaded or the database is unavailable (503).
    CannotRead,
    /// The answer came from another site (403).
    ForeignForm,
    /// The form is no answer, and came from another site, or from a page of an earlier login (403).
    ForeignPage,
    /// No question with this id, or none that the person may read (404).
    NoQuestion,
    /// The browser used another name of this machine, under which neither its cookie nor its form would be accepted (421).
    AnotherName,
    /// The browser, or a program, sent a method that a page does not know (405).
    NoMethod,
    /// No page has this address (404).
    NoPage,
    /// The log cannot be exported now, because the server has no key to sign with (409).
    NoExport,
    /// A field came twice in the form (422).
    CameTwice,
    /// The form was too large, too slow or broken (413, 408, 422).
    Unreadable,
}

impl TroublePage {
    /// The page of this host.
    pub(in crate::pages) fn new(page: Page, trouble: Trouble, again: Option<Again>) -> Self {
        Self { page, trouble, again }
    }

    /// Whether the page may be about an answer.
    fn is_an_answer(&self) -> bool {
        !matches!(self.trouble, Trouble::CameTwice | Trouble::ForeignPage | Trouble::NoExport)
    }

    fn title(&self) -> &'static str {
        let language = self.page.manner.language;
        match self.trouble {
            Trouble::TooManyTries => language.too_many_tries(),
            Trouble::CannotSave => language.cannot_save(),
            Trouble::CannotRead => language.cannot_show(),
            Trouble::ForeignForm => language.not_from_our_page(),
            Trouble::ForeignPage => language.form_not_from_our_page(),
            Trouble::NoQuestion => language.no_such_question(),
            Trouble::AnotherName => language.opened_under_another_name(),
            Trouble::NoMethod => language.not_done_here(),
            Trouble::NoPage => language.no_such_page(),
            Trouble::NoExport => language.could_not_be_exported(),
            Trouble::CameTwice => language.field_came_twice(),
            Trouble::Unreadable => language.could_not_be_read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Manner, samples};
    use super::*;

    fn page() -> Page {
        Page { answering_as: None, ..samples::page() }
    }

    // The page has the same bytes for every unknown token. Different bytes would tell a guesser which tokens once existed.
    #[test]
    fn the_page_of_an_unknown_link_is_always_the_same() {
        let render = || UnknownLink::new(page()).render().unwrap();
        let html = render();
        assert_eq!(html, render());
        assert!(html.contains("<h1>This link leads to no question</h1>") && !html.contains("You answer as"));
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
            (Trouble::ForeignForm, "this server’s name, <strong>placet.example</strong>"),
            (Trouble::ForeignPage, "Nothing was changed."),
            (Trouble::ForeignPage, "this server’s name, <strong>placet.example</strong>"),
            (Trouble::AnotherName, "<strong>placet.example</strong>, and an answer counts only there. Nothing was recorded."),
            (Trouble::NoMethod, "Nothing was changed."),
            (Trouble::NoPage, "<a href=\"/inbox\">your inbox</a>"),
            (Trouble::NoQuestion, "<a href=\"/inbox\">your inbox</a>"),
            (Trouble::CameTwice, "Nothing was changed"),
            (Trouble::Unreadable, "Nothing was recorded."),
        ] {
            let html = TroublePage::new(page(), trouble, None).render().unwrap();
            assert!(html.contains(sentence), "{sentence}");
            let is_other = matches!(trouble, Trouble::CameTwice | Trouble::ForeignPage);
            assert_eq!(html.contains("only the buttons send an answer"), !is_other, "{trouble:?}: {html}");
        }
    }

    // A person knows the fields of our forms by their labels, and not by their names on the wire.
    #[test]
    fn a_field_of_our_own_has_the_label_of_its_page() {
        for (name, english, german) in [
            ("address", "Your e-mail address", "Ihre E-Mail-Adresse"),
            ("deputy", "Address of your deputy", "Adresse Ihrer Stellvertretung"),
            ("from", "From", "Von"),
            ("input", "Input for the agent", "Eingabe für den Agenten"),
            ("locale", "Language", "Sprache"),
            ("time_zone", "Time zone", "Zeitzone"),
            ("until", "Until", "Bis"),
        ] {
            let typed = Typed { name: name.to_owned(), text: "x".to_owned() };
            assert!(typed.is_seen(), "{name}");
            let again = Again { form_action: String::new(), nonce: String::new(), typed: vec![typed], hidden: Vec::new() };
            for (language, label) in [(Language::English, english), (Language::German, german)] {
                let page = Page { manner: Manner { language, ..page().manner }, ..page() };
                let html = TroublePage::new(page, Trouble::CameTwice, Some(again.clone())).render().unwrap();
                assert!(html.contains(&format!("<label for=\"t1\">{label}</label>")), "{label} is missing in {html}");
            }
        }
    }

    // Typed text survives every refusal, even with a line break at its beginning, and stays text.
    #[test]
    fn a_form_that_was_refused_can_be_sent_again() {
        let typed = |name: &str, text: &str| Typed { name: name.to_owned(), text: text.to_owned() };
        let again = Again {
            form_action: "/a/plc_token".to_owned(),
            nonce: "n0nce".to_owned(),
            typed: vec![typed("value", "\nDear <b>"), typed("field.cap", "25 \"o"), typed("comment", &"x".repeat(61))],
            hidden: Vec::new(),
        };
        for trouble in [Trouble::CannotSave, Trouble::TooManyTries, Trouble::CameTwice] {
            let html = TroublePage::new(page(), trouble, Some(again.clone())).render().unwrap();
            assert!(
                html.contains("<form method=\"post\" action=\"/a/plc_token\"") && html.contains("name=\"nonce\" value=\"n0nce\"")
            );
            assert!(html.contains("name=\"value\" rows=\"6\" dir=\"auto\" readonly>\n\nDear &#60;b&#62;</textarea>"), "{html}");
            assert!(html.contains("name=\"field.cap\" dir=\"auto\" readonly value=\"25 &#34;o\">"), "{html}");
            assert!(html.contains("<bdi>cap</bdi>") && html.contains("Your answer</bdi>") && html.contains("Comment</bdi>"));
            assert!(html.contains("still here") && !html.contains("go back") && html.matches("<button").count() == 1);
            // Not every form is an answer, and other pages can be changed again.
            assert_eq!(html.contains("change it afterwards"), trouble != Trouble::CameTwice);
        }
    }
}
