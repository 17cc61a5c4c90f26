//! The session of a person who logged in: its cookie, and the person behind it.
//!
//! Guarantee: only the browser that logged in acts as the person, and only while the person is listed. Mechanism: the cookie holds 256
//! random bits whose hash the database finds, together with the person, at every request; a form of the session holds a nonce that is made
//! from the cookie. Failure: a session that ended leads to the login.

use actix_web::cookie::time::Duration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::uri::PathAndQuery;
use actix_web::http::{Method, StatusCode};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use domain::people::preferences::Preferences;
use domain::people::principal::{Principal, Role};
use store::{OpenSession, SessionToken};

use super::guard::Form;
use super::posted::Posted;
use super::view::{Trouble, Visitor};
use super::{AUDIT, Pages};
use crate::edge::admission::Class;
use crate::edge::reader::{Reader, person};
use crate::edge::shared::Shared;

/// Where a browser without a session is sent.
pub(super) use crate::edge::problem::LOGIN;

/// The cookie with what was typed at a login, so that the page behind it can show it again. An address in a query would stand in the logs of
/// proxies.
pub(super) const TYPED: &str = "login-typed";

/// The cookie with the page to which a login leads back. A search in a query would stand in the logs of proxies.
const BACK: &str = "login-back";
/// How long it lasts: as long as a login link.
const BACK_LASTS: Duration = Duration::minutes(15);
/// The longest address of a page to which a login leads back, in bytes.
const BACK_BYTES_MAX: usize = 1_000;

/// Whether a login leads back to this page: an audit page of this server. A browser asks for parts of other pages by itself, and no person
/// wants to be led to such a part.
fn leads_back(page: &str) -> bool {
    let is_plain = page.len() <= BACK_BYTES_MAX && page.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    is_plain && page.strip_prefix(AUDIT).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

/// The page from which a browser was sent to the login, if a login leads back there. The browser may have brought any text.
pub(super) fn page_before(request: &HttpRequest) -> Option<String> {
    let page = URL_SAFE_NO_PAD.decode(request.cookie(BACK)?.value()).ok()?;
    String::from_utf8(page).ok().filter(|page| leads_back(page))
}

/// A person who logged in, with the secret of the session.
pub(super) struct Session {
    pub(super) principal: Principal,
    pub(super) preferences: Preferences,
    /// Until when the login counts as recent; absent if it never does.
    recent_until: Option<DateTime<Utc>>,
    token: SessionToken,
}

impl Session {
    /// The parts of every page that name the person.
    pub(super) fn visitor(&self, pages: &Pages) -> Visitor {
        Visitor {
            address: self.principal.name.clone(),
            role: self.principal.role.as_str(),
            sees_audit: matches!(self.principal.role, Role::Auditor | Role::Admin),
            nonce: pages.form_nonce(Form::Session, &self.token.expose()),
        }
    }

    /// Whether a form was made for this session.
    pub(super) fn fits(&self, nonce: &str, pages: &Pages) -> bool {
        pages.form_nonce_fits(nonce, Form::Session, &self.token.expose())
    }

    /// Whether its login is recent at this time.
    pub(super) fn is_recent(&self, now: DateTime<Utc>) -> bool {
        self.recent_until.is_some_and(|until| now <= until)
    }

    /// The person as the reader of a long transfer.
    pub(super) fn into_reader(self) -> Reader {
        Reader::Session(self.principal, self.token)
    }
}

/// Leads a browser elsewhere, with a GET.
pub(super) fn see_other(location: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header(("location", location)).insert_header(("cache-control", "no-store")).finish()
}

impl Pages {
    /// The name of the cookie. On a loopback address it holds the port, because browsers do not keep cookies apart by port.
    fn session_cookie_name(&self) -> String {
        if self.is_https() {
            return "__Host-session".to_owned();
        }
        format!("session-{}", self.public_url.port_or_known_default().unwrap_or_default())
    }

    /// The secret of the session that a browser says it has.
    pub(super) fn brought_session(&self, request: &HttpRequest) -> Option<SessionToken> {
        SessionToken::parse(request.cookie(&self.session_cookie_name())?.value())
    }

    /// Gives the cookie of a session to the browser, and takes those of the login.
    pub(super) fn give_session(&self, response: &mut HttpResponse, session: &SessionToken) {
        self.set(response, Cookie::new(self.session_cookie_name(), session.expose()));
        for name in [TYPED, BACK] {
            let cookie = Cookie::build(name, "").path(LOGIN).max_age(Duration::ZERO).finish();
            if let Err(error) = response.add_cookie(&cookie) {
                tracing::error!(error = %error, "failed to take a cookie of a login");
            }
        }
    }

    /// Takes the cookie of a session from the browser.
    pub(super) fn take_session(&self, response: &mut HttpResponse) {
        let mut cookie = Cookie::new(self.session_cookie_name(), "");
        cookie.set_max_age(Duration::ZERO);
        self.set(response, cookie);
    }

    fn set(&self, response: &mut HttpResponse, mut cookie: Cookie<'static>) {
        cookie.set_path("/");
        cookie.set_http_only(true);
        cookie.set_secure(self.is_https());
        cookie.set_same_site(SameSite::Lax);
        if let Err(error) = response.add_cookie(&cookie) {
            tracing::error!(error = %error, "failed to set the cookie of a session");
        }
    }

    /// The session of a request. Without one, the response that leads to the login.
    pub(super) async fn session(&self, request: &HttpRequest, shared: &Shared) -> Result<Session, HttpResponse> {
        self.open_session(request, shared).await?.ok_or_else(|| self.to_login(request))
    }

    /// Leads to the login, and keeps the page from which the browser is sent away.
    fn to_login(&self, request: &HttpRequest) -> HttpResponse {
        let mut response = see_other(LOGIN);
        let page = request.uri().path_and_query().map(PathAndQuery::as_str).unwrap_or_default();
        let kept = (request.method() == Method::GET && leads_back(page)).then(|| (URL_SAFE_NO_PAD.encode(page), BACK_LASTS));
        // The page of an earlier visitor of this browser is not for this one.
        let (value, lasts) = kept.unwrap_or_default();
        let cookie = Cookie::build(BACK, value).path(LOGIN).max_age(lasts);
        let cookie = cookie.http_only(true).secure(self.is_https()).same_site(SameSite::Lax).finish();
        if let Err(error) = response.add_cookie(&cookie) {
            tracing::error!(error = %error, "failed to keep the page to which a login leads back");
        }
        response
    }

    /// The form of a request, if it came from our own page, and its session, if the form was made for it. `field` takes a field by its name and
    /// its text.
    pub(super) async fn sent<F: Default>(
        &self,
        request: &HttpRequest,
        payload: Payload,
        shared: &Shared,
        field: fn(&mut F, &str, &str),
    ) -> Result<(F, Session), HttpResponse> {
        let body = self.posted(request, payload).await?;
        let posted = Posted::read(&body.bytes, &[]);
        let (mut form, mut nonce) = (F::default(), "");
        for (name, text) in &posted.fields {
            if name == "nonce" {
                nonce = &**text;
            } else {
                field(&mut form, name, text);
            }
        }
        let session = self.session(request, shared).await?;
        if !session.fits(nonce, self) {
            return Err(self.trouble(StatusCode::FORBIDDEN, Trouble::ForeignPage));
        }
        if !posted.repeated.is_empty() {
            return Err(self.came_twice(request, &posted));
        }
        Ok((form, session))
    }

    /// The session of a browser that opens a page of its person. A browser that knows the server under another name gets a page that says so.
    pub(super) async fn entered(&self, request: &HttpRequest, shared: &Shared) -> Result<Session, HttpResponse> {
        if self.is_under_another_name(request) {
            return Err(self.trouble(StatusCode::MISDIRECTED_REQUEST, Trouble::AnotherName));
        }
        self.session(request, shared).await
    }

    /// The session of a request; `None` if the browser has none, or if it has ended.
    pub(super) async fn open_session(&self, request: &HttpRequest, shared: &Shared) -> Result<Option<Session>, HttpResponse> {
        let Some(token) = self.brought_session(request) else { return Ok(None) };
        let later = || self.cannot_read();
        let place = shared.admission.enter(Class::Read).await.map_err(|_| later())?;
        let found = person(shared, &token).await.map_err(|_| later())?;
        drop(place);
        Ok(found.map(|OpenSession { principal, preferences, recent_until, .. }| {
            self.speak_to(&preferences);
            Session { principal, preferences, recent_until, token }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cookie is what the browser brings, so it must never lead to another site, or put a line into a header.
    #[test]
    fn a_login_leads_back_to_audit_pages_alone() {
        for page in
            ["/audit", "/audit?from=2026-11-24&words=a+b", "/audit/019ab0f2-0000-7000-8000-000000000000", "/audit/overview?to="]
        {
            assert!(leads_back(page), "{page}");
        }
        let long = format!("/audit?words={}", "a".repeat(BACK_BYTES_MAX));
        let lines = "/audit?a\r\nlocation: https://evil.example";
        for other in [
            "",
            "/",
            "/auditors",
            "/inbox",
            "//audit",
            "//evil.example/audit",
            "https://evil.example/audit",
            "/audit\\x",
            "/audit/\\x",
            lines,
            &long,
        ] {
            assert!(!leads_back(other), "{other}");
        }
    }
}
