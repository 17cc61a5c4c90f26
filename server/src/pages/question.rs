//! The page of a question for a person who logged in (`/questions/{id}`): the same page as behind a link, and the same form.
//!
//! Guarantee: a login that has ended loses nothing that was typed, and answers nothing. Mechanism: the nonce of the form proves for whom the
//! page was made, so the form is kept for that person, whether the session still exists or not. Failure: a form that was made for no one
//! leads to the login.

use actix_web::http::{Method, StatusCode};
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use domain::base::ids::SuspensionId;
use domain::problem::Rejection;
use store::{LinkView, StoreError, Typist};

use super::Pages;
use super::answer::{note_view, page_for, sent_by};
use super::form::{Form, Sent};
use super::live::State;
use super::session::Session;
use super::session::see_other;
use super::signing::challenge_for;
use super::view::Trouble;
use super::way::{Way, login_to, page_of};
use super::work::around;
use crate::edge::admission::Class;
use crate::edge::auth::to_its_end;
use crate::edge::shared::Shared;

/// The id in the path, and the session of the browser; without a session, the response that leads to the login.
async fn entered(
    request: &HttpRequest,
    id: &str,
    shared: &Shared,
    pages: &Pages,
) -> Result<(SuspensionId, Session), HttpResponse> {
    let id = SuspensionId::parse(id).ok_or_else(|| pages.trouble(StatusCode::NOT_FOUND, Trouble::NoQuestion))?;
    match pages.open_session(request, shared).await? {
        Some(session) => Ok((id, session)),
        None => Err(see_other(&login_to(id))),
    }
}

/// The question, if there is one and the person may read it.
pub(super) async fn read(
    session: &Session,
    id: SuspensionId,
    shared: &Shared,
    pages: &Pages,
) -> Result<Option<LinkView>, HttpResponse> {
    let _place = shared.admission.enter(Class::Read).await.map_err(|_| pages.cannot_read())?;
    match shared.store.question(session.principal.clone(), id).await {
        Ok(link) => Ok(Some(link)),
        Err(StoreError::Rejected(Rejection::NotFound | Rejection::Forbidden { .. })) => Ok(None),
        Err(_) => Err(pages.cannot_read()),
    }
}

/// Like [`read`]; without a question, the page that says so.
async fn opened(session: &Session, id: SuspensionId, shared: &Shared, pages: &Pages) -> Result<LinkView, HttpResponse> {
    let found = read(session, id, shared, pages).await?;
    found.ok_or_else(|| pages.trouble(StatusCode::NOT_FOUND, Trouble::NoQuestion))
}

/// The question in the path, for the person of the browser's session.
async fn found(request: &HttpRequest, id: &str, shared: &Shared, pages: &Pages) -> Result<(Way, LinkView), HttpResponse> {
    if pages.is_under_another_name(request) {
        return Err(pages.trouble(StatusCode::MISDIRECTED_REQUEST, Trouble::AnotherName));
    }
    let (id, session) = entered(request, id, shared, pages).await?;
    let link = opened(&session, id, shared, pages).await?;
    Ok((Way::Session { session, id }, link))
}

/// Shows the question, or its outcome.
pub(super) async fn show(request: HttpRequest, id: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    match found(&request, &id, &shared, &pages).await {
        Ok((way, link)) => {
            if link.is_open && request.method() == Method::GET {
                note_view(&shared, &link);
            }
            page_for(&request, &shared, &pages, &way, &link).await
        }
        Err(response) => response,
    }
}

/// Says whether the question is still open. This is no use of the session: a page that is left open must not keep it.
pub(super) async fn state(request: HttpRequest, id: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let refuse = |status: StatusCode| pages.headers(HttpResponse::build(status)).finish();
    let (Some(id), Some(token)) = (SuspensionId::parse(&id), pages.brought_session(&request)) else {
        return refuse(StatusCode::NOT_FOUND);
    };
    let Ok(_place) = shared.admission.enter(Class::Read).await else { return refuse(StatusCode::SERVICE_UNAVAILABLE) };
    let Ok(Some(open)) = shared.store.session(token).await else { return refuse(StatusCode::NOT_FOUND) };
    pages.speak_to(&open.preferences);
    match shared.store.question(open.principal, id).await {
        Ok(link) => State::of(&link, pages.manner()).reply(&pages),
        Err(_) => refuse(StatusCode::NOT_FOUND),
    }
}

/// Shows the work around the question, while the question is open.
pub(super) async fn work(request: HttpRequest, id: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    match found(&request, &id, &shared, &pages).await {
        Ok((_, link)) => around(&shared, &pages, &link, page_of(link.suspension.id)).await,
        Err(response) => response,
    }
}

/// Gives the challenge for the answer in a form.
pub(super) async fn challenge(
    request: HttpRequest,
    id: Path<String>,
    payload: Payload,
    shared: Data<Shared>,
    pages: Pages,
) -> HttpResponse {
    let refuse = |status: StatusCode| pages.headers(HttpResponse::build(status)).finish();
    let Ok(body) = pages.posted(&request, payload).await else { return refuse(StatusCode::FORBIDDEN) };
    let Ok((way, link)) = found(&request, &id, &shared, &pages).await else { return refuse(StatusCode::NOT_FOUND) };
    challenge_for(&request, &pages, &way, &link, &Form::read(&body.bytes))
}

/// Takes the answer, once.
pub(super) async fn decide(
    request: HttpRequest,
    id: Path<String>,
    payload: Payload,
    shared: Data<Shared>,
    pages: Pages,
) -> Result<HttpResponse, actix_web::Error> {
    let body = match pages.posted(&request, payload).await {
        Ok(body) => body,
        Err(refusal) => return Ok(refusal),
    };
    let sent = Sent::read(body);
    let Some(named) = SuspensionId::parse(&id) else { return Ok(pages.trouble(StatusCode::NOT_FOUND, Trouble::NoQuestion)) };
    let (id, session) = match entered(&request, &id, &shared, &pages).await {
        Ok(entered) => entered,
        Err(response) => {
            keep_for_author(&request, named, &sent.form, &shared, &pages).await;
            return Ok(response);
        }
    };
    if !sent.form.is_of(&session.principal.name) {
        keep_for_author(&request, named, &sent.form, &shared, &pages).await;
    }
    let link = match opened(&session, id, &shared, &pages).await {
        Ok(link) => link,
        Err(response) => return Ok(response),
    };
    let Ok(place) = shared.admission.enter(Class::Respond).await else { return Ok(pages.cannot_read()) };
    to_its_end(async move {
        let _place = place;
        sent_by(&request, &shared, &pages, &Way::Session { session, id }, &link, &sent.form).await
    })
    .await
}

/// Keeps a form for the person for whom the page was made, if the form proves it.
async fn keep_for_author(request: &HttpRequest, id: SuspensionId, form: &Form, shared: &Shared, pages: &Pages) {
    let Some(cookie) = pages.brought_cookie(request) else { return };
    if !form.takes_back() && pages.question_nonce_fits(form.mac(), &cookie, id, form.person()) {
        form.keep(id, form.person(), Typist::Person, shared).await;
    }
}
