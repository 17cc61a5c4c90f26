//! The login by mail: a person asks for a link, and confirms on the page behind it. There is no password.
//!
//! Guarantee: the replies do not tell whether an address is listed, and opening a link logs no one in. Mechanism: each request for a link
//! gets the same reply and writes one row; only the form behind a link uses it. Failure: a link that was used, is too old or was replaced
//! says so, and leads to the form for another one.

use actix_web::cookie::time::Duration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_SECURITY_POLICY;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::base::ids::SuspensionId;
use domain::people::person::read_address;
use store::{Entered, LoginToken};

use super::Pages;
use super::guard::Form as Purpose;
use super::inbox::INBOX;
use super::language::in_languages;
use super::posted::Posted;
use super::session::{LOGIN, TYPED, page_before, see_other};
use super::view::{Page, STYLESHEET, Trouble, line};
use super::way::{FRESH, QUESTION, page_of};
use crate::edge::admission::Class;
use crate::edge::shared::Shared;

/// The query by which the page says that a link was asked for.
const ASKED: &str = "asked";
/// How long the cookie lasts: as long as a login link.
const TYPED_LASTS: Duration = Duration::minutes(15);

struct LoginPage {
    page: Page,
    /// The host of the issuer of identities by which people log in, if there is one.
    issuer: Option<String>,
    state: State,
    /// The address in the form.
    address: String,
    /// The question to which the login leads back.
    question: Option<String>,
    /// Whether only a login at the issuer that is recent helps there.
    fresh: bool,
    /// Why no link was asked for.
    problem: Option<String>,
    nonce: String,
}

in_languages!(LoginPage, "login.html");

/// The part of the login that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The form.
    Form,
    /// A link was asked for.
    Asked,
    /// The server sends no links, or a link does not help.
    NoMail,
}

struct EnterPage {
    page: Page,
    /// The person who can log in with the link; absent if the link cannot be used.
    address: Option<String>,
    form_action: String,
    nonce: String,
    /// Why the login was not confirmed.
    problem: Option<String>,
}

in_languages!(EnterPage, "enter.html");

/// The fields of the forms.
#[derive(Default)]
pub(super) struct Form {
    pub(super) nonce: String,
    address: String,
    /// The question from which the person came.
    pub(super) question: Option<SuspensionId>,
    /// Whether the issuer is to ask the person again who they are.
    pub(super) fresh: bool,
    everywhere: bool,
}

impl Form {
    fn read(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, text) in url::form_urlencoded::parse(body) {
            form.field(&name, &text);
        }
        form
    }

    fn field(&mut self, name: &str, text: &str) {
        match name {
            "nonce" => text.clone_into(&mut self.nonce),
            "address" => text.clone_into(&mut self.address),
            QUESTION => self.question = SuspensionId::parse(text),
            FRESH => self.fresh = true,
            "where" => self.everywhere = text == "everywhere",
            _ => {}
        }
    }
}

/// The form of a request, if it came from our own page.
pub(super) async fn sent(request: &HttpRequest, payload: Payload, pages: &Pages) -> Result<Form, HttpResponse> {
    let body = pages.posted(request, payload).await?;
    let posted = Posted::read(&body.bytes, &[]);
    if !posted.repeated.is_empty() {
        return Err(pages.came_twice(request, &posted));
    }
    Ok(Form::read(&body.bytes))
}

/// A page with a form that is tied to the browser's cookie, which is set if it is missing.
fn with_form(
    request: &HttpRequest,
    shared: &Shared,
    pages: &Pages,
    status: StatusCode,
    page: impl FnOnce(String) -> askama::Result<String>,
) -> HttpResponse {
    let (cookie, fresh) = pages.cookie(request, &*shared.entropy);
    let mut response = pages.page(status, page(pages.form_nonce(Purpose::Login, &cookie)));
    if let Some(fresh) = fresh
        && let Err(error) = response.add_cookie(&fresh)
    {
        tracing::error!(error = %error, "failed to set the cookie of the login");
    }
    response
}

/// Whether a form was made for the browser that sent it.
pub(super) fn fits(request: &HttpRequest, pages: &Pages, nonce: &str) -> bool {
    pages.brought_cookie(request).is_some_and(|cookie| pages.form_nonce_fits(nonce, Purpose::Login, &cookie))
}

/// The page of the login, with the reason why the last try failed.
pub(super) async fn form(
    request: &HttpRequest,
    shared: &Shared,
    pages: &Pages,
    Form { address, question, fresh, .. }: &Form,
    problem: Option<String>,
) -> HttpResponse {
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    // A link in a mail begins no login that counts as recent.
    let fresh = *fresh && pages.issuer.is_some();
    let state = match (request.query_string(), pages.sends_logins) {
        (_, false) => State::NoMail,
        (_, true) if fresh => State::NoMail,
        (ASKED, true) if problem.is_none() => State::Asked,
        (_, true) => State::Form,
    };
    let issuer = pages.issuer.as_ref().map(|issuer| issuer.host());
    let mut page = with_form(request, shared, pages, status, |nonce| {
        let question = question.map(|id| id.expose());
        LoginPage { page: pages.plain(), issuer, state, address: line(address), question, fresh, problem, nonce }.render()
    });
    if let Some(policy) = pages.policy_towards_issuer().await {
        page.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    page
}

/// Shows the form that asks for a login link.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    if pages.is_under_another_name(&request) {
        return pages.trouble(StatusCode::MISDIRECTED_REQUEST, Trouble::AnotherName);
    }
    let typed = if request.query_string() == ASKED { typed(&request) } else { None };
    let typed = typed.unwrap_or_else(|| Form::read(request.query_string().as_bytes()));
    form(&request, &shared, &pages, &typed, None).await
}

/// The form that was typed before the page said that a link is on its way.
fn typed(request: &HttpRequest) -> Option<Form> {
    let typed = URL_SAFE_NO_PAD.decode(request.cookie(TYPED)?.value()).ok()?;
    Some(Form::read(&typed))
}

/// Leads to the page that says that a link is on its way, and keeps what was typed for it. The reply is the same for every address.
fn asked(sent: &Form, pages: &Pages) -> HttpResponse {
    let mut typed = url::form_urlencoded::Serializer::new(String::new());
    typed.append_pair("address", &sent.address);
    typed.extend_pairs(sent.question.map(|id| (QUESTION, id.expose())));
    let cookie = Cookie::build(TYPED, URL_SAFE_NO_PAD.encode(typed.finish()))
        .path(LOGIN)
        .max_age(TYPED_LASTS)
        .http_only(true)
        .secure(pages.is_https())
        .same_site(SameSite::Lax)
        .finish();
    let mut response = see_other(&format!("{LOGIN}?{ASKED}"));
    if let Err(error) = response.add_cookie(&cookie) {
        tracing::error!(error = %error, "failed to keep the address of a login");
    }
    response
}

/// Has a link sent, if the address is listed. The reply does not tell.
pub(super) async fn ask(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    if let Err(refused) = pages.misses.check() {
        return pages.too_many(&refused);
    }
    let sent = match sent(&request, payload, &pages).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    if !fits(&request, &pages, &sent.nonce) {
        return form(&request, &shared, &pages, &sent, Some(pages.language().page_was_open_too_long().to_owned())).await;
    }
    let Ok(address) = read_address(&sent.address) else {
        return form(&request, &shared, &pages, &sent, Some(pages.language().not_an_address().to_owned())).await;
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    match shared.store.request_login(address, sent.question).await {
        Ok(()) => asked(&sent, &pages),
        Err(_) => pages.cannot_read(),
    }
}

/// The page behind a link.
fn behind(
    request: &HttpRequest,
    shared: &Shared,
    pages: &Pages,
    address: Option<String>,
    problem: Option<String>,
) -> HttpResponse {
    let status = match (&address, &problem) {
        (None, _) => StatusCode::NOT_FOUND,
        (Some(_), Some(_)) => StatusCode::FORBIDDEN,
        (Some(_), None) => StatusCode::OK,
    };
    let form_action = request.path().to_owned();
    with_form(request, shared, pages, status, |nonce| {
        EnterPage { page: pages.plain(), address, form_action, nonce, problem }.render()
    })
}

/// The address of the person who can log in with a link; `None` if it cannot be used.
async fn opened(token: &str, shared: &Shared, pages: &Pages) -> Result<Option<(LoginToken, String)>, HttpResponse> {
    let Some(token) = LoginToken::parse(token) else { return Ok(None) };
    let _place = shared.admission.enter(Class::Read).await.map_err(|_| pages.cannot_read())?;
    let address = shared.store.login(token.clone()).await.map_err(|_| pages.cannot_read())?;
    Ok(address.map(|address| (token, address)))
}

/// Shows who can log in with a link, and the button that does it. A program that opens the links in mails logs no one in.
pub(super) async fn open(request: HttpRequest, token: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    if pages.is_under_another_name(&request) {
        return pages.trouble(StatusCode::MISDIRECTED_REQUEST, Trouble::AnotherName);
    }
    match opened(&token, &shared, &pages).await {
        Ok(Some((_, address))) => behind(&request, &shared, &pages, Some(address), None),
        Ok(None) => unusable(&request, &shared, &pages),
        Err(refusal) => refusal,
    }
}

/// The page of a link that cannot be used: the same for every reason.
fn unusable(request: &HttpRequest, shared: &Shared, pages: &Pages) -> HttpResponse {
    if let Err(refused) = pages.misses.check() {
        return pages.too_many(&refused);
    }
    behind(request, shared, pages, None, None)
}

/// Uses a link, and begins a session in place of the one that the browser may have.
pub(super) async fn enter(
    request: HttpRequest,
    token: Path<String>,
    payload: Payload,
    shared: Data<Shared>,
    pages: Pages,
) -> HttpResponse {
    let sent = match sent(&request, payload, &pages).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let (token, address) = match opened(&token, &shared, &pages).await {
        Ok(Some(found)) => found,
        Ok(None) => return unusable(&request, &shared, &pages),
        Err(refusal) => return refusal,
    };
    if !fits(&request, &pages, &sent.nonce) {
        return behind(&request, &shared, &pages, Some(address), Some(pages.language().page_was_open_too_long().to_owned()));
    }
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    match shared.store.log_in(token, pages.brought_session(&request)).await {
        Ok(Some(Entered { session, question })) => {
            let mut response = see_other(&destination(question, &request));
            pages.give_session(&mut response, &session);
            response
        }
        Ok(None) => unusable(&request, &shared, &pages),
        Err(_) => pages.cannot_read(),
    }
}

/// Where a person goes on after the login: at the question, or else at the page from which the browser was sent here.
pub(super) fn destination(question: Option<SuspensionId>, request: &HttpRequest) -> String {
    question.map(page_of).or_else(|| page_before(request)).unwrap_or_else(|| INBOX.to_owned())
}

/// Ends the session, or all sessions of the person.
pub(super) async fn leave(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let (sent, session) = match pages.sent(&request, payload, &shared, Form::field).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    if shared.store.log_out(session.principal, sent.everywhere).await.is_err() {
        return pages.cannot_read();
    }
    let mut response = see_other(LOGIN);
    pages.take_session(&mut response);
    response
}
