//! The fields of a form, as a browser posts them.
//!
//! Guarantee: a form says one thing, and no order of its fields decides which. Mechanism: each page reads its forms with [`Posted`], which
//! names the fields that came again. Failure: nothing is done, and a page shows what was typed, with the first text of each field.

use std::borrow::Cow;
use std::collections::HashSet;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};

use super::Pages;
use super::view::{Again, Leads, Page, Trouble, TroublePage, Typed};

/// How many fields that came again are named. A person sends none.
const REPEATED_MAX: usize = 10;
/// How many fields of a form are shown again by a page that does not know them.
const SHOWN_MAX: usize = 50;

/// The fields of a form.
pub(super) struct Posted<'a> {
    /// Their names and texts, in the order of the form; of a field that came again, the first text.
    pub(super) fields: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The names of the fields that came again, each once.
    pub(super) repeated: Vec<String>,
}

impl<'a> Posted<'a> {
    /// Reads a body. A field in `lists` may come more than once: the form has one for each entry of a list.
    pub(super) fn read(body: &'a [u8], lists: &[&str]) -> Self {
        let mut seen = HashSet::new();
        let mut posted = Self { fields: Vec::new(), repeated: Vec::new() };
        for (name, text) in url::form_urlencoded::parse(body) {
            if lists.contains(&&*name) || seen.insert(name.clone()) {
                posted.fields.push((name, text));
            } else if posted.repeated.len() < REPEATED_MAX && !posted.repeated.iter().any(|known| known == &*name) {
                posted.repeated.push(name.into_owned());
            }
        }
        posted
    }
}

impl Pages {
    /// The page for a form with a field twice. If the page can show that field, the form can be checked and sent again.
    pub(super) fn came_twice(&self, request: &HttpRequest, posted: &Posted<'_>) -> HttpResponse {
        let nonce = posted.fields.iter().find(|(name, _)| name == "nonce").map_or("", |(_, nonce)| &**nonce);
        let typed = posted.fields.iter().filter(|(name, _)| name != "nonce").take(SHOWN_MAX);
        let typed = typed.map(|(name, text)| Typed { name: name.to_string(), text: text.to_string() });
        let (typed, hidden): (Vec<Typed>, Vec<Typed>) = typed.partition(Typed::is_seen);
        // A person cannot say that the first text is right of a field that the page does not show.
        let is_seen = posted.repeated.iter().all(|name| name == "nonce" || typed.iter().any(|typed| typed.name == *name));
        let again = Again { form_action: request.path().to_owned(), nonce: nonce.to_owned(), typed, hidden };
        let leads = if self.brought_session(request).is_some() { Leads::Inbox(None) } else { Leads::Nowhere };
        let page = TroublePage::new(Page { leads, ..self.plain() }, Trouble::CameTwice, is_seen.then_some(again));
        self.page(StatusCode::UNPROCESSABLE_ENTITY, page.render())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_comes_again_is_named_and_keeps_its_first_text() {
        let body = b"nonce=n&value=yes&comment=a+b&value=no&id=1&id=2&value=no&field.%2Fn=1&field./n=2";
        let posted = Posted::read(body, &["id"]);
        let fields: Vec<(&str, &str)> = posted.fields.iter().map(|(name, text)| (&**name, &**text)).collect();
        let first = [("nonce", "n"), ("value", "yes"), ("comment", "a b"), ("id", "1"), ("id", "2"), ("field./n", "1")];
        assert_eq!(fields, first);
        assert_eq!(posted.repeated, ["value", "field./n"], "written in another way, it is the same field");
        assert!(Posted::read(b"value=yes&comment=&field./parts/0=on&field./parts/1=on", &[]).repeated.is_empty());
    }

    #[test]
    fn no_more_fields_are_named_than_a_page_can_show() {
        let twice = (0..1_000).map(|number| format!("f{}=x", number % 500)).collect::<Vec<_>>().join("&");
        let posted = Posted::read(twice.as_bytes(), &[]);
        assert_eq!((posted.fields.len(), posted.repeated.len()), (500, REPEATED_MAX));
    }
}
