//! For which time the person who logged in is out of office, and who answers meanwhile (`/out-of-office`).
//!
//! Guarantee: a session sends away its own person alone. Mechanism: the store compares the person of the session with the person of the
//! change. Failure: the page says what is wrong with the form, and nothing has changed.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, NaiveDateTime, Utc};
use domain::base::field::FieldError;
use domain::problem::Rejection;
use domain::wire::OutOfOffice;
use store::{Named, OwnAbsence, StoreError};

use super::Pages;
use super::language::in_languages;
use super::session::{Session, see_other};
use super::view::{INSIDE_STYLESHEET as STYLESHEET, Manner, Page, Visitor, line, machine, second};
use crate::edge::admission::Class;
use crate::edge::shared::Shared;

/// The address of the page.
pub(super) const OUT_OF_OFFICE: &str = "/out-of-office";
/// The form of a time in a field of the page.
const TIME: &str = "%Y-%m-%dT%H:%M";

struct AbsencePage {
    page: Page,
    visitor: Visitor,
    /// The absence as it is.
    away: Option<OwnAbsence>,
    typed: Form,
    /// The faults of the form.
    problems: Vec<FieldError>,
}

in_languages!(AbsencePage, "absence.html");

impl AbsencePage {
    /// What is wrong with a field.
    fn problem(&self, field: &str) -> Option<&FieldError> {
        self.problems.iter().find(|problem| problem.field == field)
    }
}

/// The fields of the form.
#[derive(Clone, Default)]
struct Form {
    from: String,
    until: String,
    deputy: String,
    /// Whether the person is back.
    is_back: bool,
}

impl Form {
    fn field(&mut self, name: &str, text: &str) {
        let text = text.trim().to_owned();
        match name {
            "from" => self.from = text,
            "until" => self.until = text,
            "deputy" => self.deputy = text,
            "back" => self.is_back = true,
            _ => {}
        }
    }

    /// The absence in the form; `None` if the person is back.
    fn absence(&self, manner: Manner) -> Result<Option<OutOfOffice>, Rejection> {
        if self.is_back {
            return Ok(None);
        }
        let mut errors = Vec::new();
        let mut time = |field: &str, text: &str| {
            let read =
                NaiveDateTime::parse_from_str(text, TIME).or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S"));
            let Ok(there) = read else {
                errors.push(FieldError::new(field, "format", "must be a day and a time"));
                return None;
            };
            let at = manner.moment_at(there);
            if at.is_none() {
                errors.push(FieldError::new(
                    field,
                    "skipped",
                    "must be a time that there is: the clocks are set forward over it",
                ));
            }
            at
        };
        let (from, until) = (time("from", &self.from), time("until", &self.until));
        if self.deputy.is_empty() {
            errors.push(FieldError::new("deputy", "required", "must be the address of a listed person"));
        }
        match (from, until) {
            (Some(from), Some(until)) if errors.is_empty() => Ok(Some(OutOfOffice { from, until, deputy: self.deputy.clone() })),
            (Some(_) | None, _) => Err(Rejection::Invalid { errors }),
        }
    }

    /// The fields of an absence; for none, those of a time that begins now.
    fn of(away: Option<&OutOfOffice>, now: DateTime<Utc>, manner: Manner) -> Self {
        let text = |time: DateTime<Utc>| manner.clock(time).format(TIME).to_string();
        match away {
            Some(away) => Self { from: text(away.from), until: text(away.until), deputy: away.deputy.clone(), ..Self::default() },
            None => Self { from: text(now), ..Self::default() },
        }
    }
}

/// Shows the absence of the person.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match pages.entered(&request, &shared).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let Ok(_place) = shared.admission.enter(Class::Read).await else { return pages.cannot_read() };
    page(&session, &shared, &pages, None, Vec::new()).await
}

/// The page; `typed` is what was sent before an error.
async fn page(
    session: &Session,
    shared: &Shared,
    pages: &Pages,
    typed: Option<Form>,
    mut errors: Vec<FieldError>,
) -> HttpResponse {
    // If a time could not be read, the store has not looked at the deputy yet. What is wrong is told together.
    let is_untold = !errors.is_empty() && errors.iter().all(|error| error.field != "deputy");
    let deputy = typed.as_ref().filter(|_| is_untold).map(|typed| typed.deputy.clone());
    let found = shared.store.own_absence(session.principal.clone(), deputy).await;
    let Ok((away, fault)) = found else { return pages.cannot_read() };
    errors.extend(fault);
    let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let typed = typed.unwrap_or_else(|| Form::of(away.as_ref().map(|own| &own.away), shared.clock.now(), pages.manner()));
    let html = AbsencePage { page: pages.plain(), visitor: session.visitor(pages), away, typed, problems: errors }.render();
    pages.page_under(&pages.inside_policy, status, html)
}

/// Sets the absence of the person, or ends it.
pub(super) async fn change(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let (form, session) = match pages.sent(&request, payload, &shared, Form::field).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    let own = Ok(Named::Address(session.principal.subject.to_lowercase()));
    match shared.store.set_absence(session.principal.clone(), own, form.absence(pages.manner())).await {
        Ok(_) => see_other(OUT_OF_OFFICE),
        Err(StoreError::Rejected(Rejection::Invalid { errors })) => page(&session, &shared, &pages, Some(form), errors).await,
        Err(_) => pages.cannot_read(),
    }
}
