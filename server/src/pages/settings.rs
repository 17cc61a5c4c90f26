//! The language and the time zone of the person who logged in (`/settings`).
//!
//! Guarantee: a session changes those of its own person alone. Mechanism: the store takes the person of the session. Failure: the page
//! says that nothing was changed.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use domain::people::preferences::{Preferences, TimeZone};
use domain::problem::Rejection;
use store::StoreError;

use super::Pages;
use super::language::in_languages;
use super::session::{Session, see_other};
use super::view::{INSIDE_STYLESHEET as STYLESHEET, Page, Visitor, line};
use crate::edge::admission::Class;
use crate::edge::shared::Shared;

/// The address of the page.
pub(super) const SETTINGS: &str = "/settings";
/// The query of the page after a choice was saved.
const SAVED: &str = "saved";
/// The locales that the page offers, with their names in their own languages.
const LOCALES: [(&str, &str); 2] = [("en", "English"), ("de", "Deutsch")];

struct SettingsPage {
    page: Page,
    visitor: Visitor,
    /// Whether the configuration file says them.
    managed: bool,
    locales: Vec<Choice>,
    zones: Vec<Choice>,
    /// The result of the choice that was sent, if one was.
    sent: Option<Sent>,
}

/// The result of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Saved,
    Refused,
}

in_languages!(SettingsPage, "settings.html");

/// A locale or a time zone in a list.
struct Choice {
    value: String,
    /// The words for people; empty if the value says it.
    name: &'static str,
    is_chosen: bool,
}

impl SettingsPage {
    fn new(page: Page, visitor: Visitor, preferences: &Preferences, sent: Option<Sent>) -> Self {
        let (zone, locale) = preferences.names();
        let choice = |(value, name): (&str, &'static str), chosen: Option<&String>| Choice {
            value: value.to_owned(),
            name,
            is_chosen: chosen.is_some_and(|chosen| chosen == value),
        };
        // A locale with a region, for example, was set by an admin. It stays as it is if the person does not choose another.
        let other = locale.as_deref().filter(|tag| LOCALES.iter().all(|(known, _)| known != tag)).map(|tag| (tag, ""));
        let locales = LOCALES.into_iter().chain(other).map(|known| choice(known, locale.as_ref())).collect();
        let zones = TimeZone::all().map(|name| choice((name, ""), zone.as_ref())).collect();
        Self { page, visitor, managed: preferences.managed, locales, zones, sent }
    }
}

/// The fields of the form.
#[derive(Default)]
struct Form {
    locale: String,
    time_zone: String,
}

impl Form {
    fn field(&mut self, name: &str, text: &str) {
        let text = text.trim().to_owned();
        match name {
            "locale" => self.locale = text,
            "time_zone" => self.time_zone = text,
            _ => {}
        }
    }

    /// What the form says; an empty field says that the browser decides.
    fn preferences(&self) -> Result<Preferences, Rejection> {
        let [time_zone, locale] = [&self.time_zone, &self.locale].map(|text| Some(text.as_str()).filter(|text| !text.is_empty()));
        Preferences::read("", time_zone, locale).map_err(|errors| Rejection::Invalid { errors })
    }
}

/// Shows the settings of the person.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    match pages.entered(&request, &shared).await {
        Ok(session) => {
            let sent = (request.query_string() == SAVED).then_some(Sent::Saved);
            page(&session, &pages, StatusCode::OK, sent)
        }
        Err(response) => response,
    }
}

fn page(session: &Session, pages: &Pages, status: StatusCode, sent: Option<Sent>) -> HttpResponse {
    let visitor = session.visitor(pages);
    let html = SettingsPage::new(pages.plain(), visitor, &session.preferences, sent).render();
    pages.page_under(&pages.inside_policy, status, html)
}

/// Sets the language and the time zone of the person.
pub(super) async fn change(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let (form, session) = match pages.sent(&request, payload, &shared, Form::field).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    match shared.store.choose_preferences(session.principal.clone(), form.preferences()).await {
        Ok(()) => see_other(&format!("{SETTINGS}?{SAVED}")),
        Err(StoreError::Rejected(Rejection::Invalid { .. })) => {
            page(&session, &pages, StatusCode::UNPROCESSABLE_ENTITY, Some(Sent::Refused))
        }
        Err(StoreError::Rejected(_)) => page(&session, &pages, StatusCode::CONFLICT, None),
        Err(_) => pages.cannot_read(),
    }
}
