//! The session of a person who logged in: its cookie, and the person behind it.
//!
//! Guarantee: only the browser that logged in acts as the person, and only while the person is listed. Mechanism: the cookie holds 256
//! random bits whose hash the database finds, together with the person, at every request; a form of the session holds a nonce that is made
//! from the cookie. Failure: a session that ended leads to the login.

use actix_web::cookie::time::Duration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::StatusCode;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use domain::people::preferences::Preferences;
use domain::people::principal::{Principal, Role};
use store::{OpenSession, SessionToken};

use super::Pages;
use super::guard::Form;
use super::view::{Trouble, Visitor};
use crate::edge::admission::Class;
use crate::edge::reader::{Reader, person};
use crate::edge::shared::Shared;

/// Where a browser without a session is sent.
pub(super) use crate::edge::problem::LOGIN;

/// The cookie with what was typed at a login, so that the page behind it can show it again. An address in a query would stand in the logs of
/// proxies.
pub(super) const TYPED: &str = "login-typed";

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

    /// Gives the cookie of a session to the browser, and takes the one with what was typed at the login.
    pub(super) fn give_session(&self, response: &mut HttpResponse, session: &SessionToken) {
        self.set(response, Cookie::new(self.session_cookie_name(), session.expose()));
        let typed = Cookie::build(TYPED, "").path(LOGIN).max_age(Duration::ZERO).finish();
        if let Err(error) = response.add_cookie(&typed) {
            tracing::error!(error = %error, "failed to take the cookie of what was typed at a login");
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
        self.open_session(request, shared).await?.ok_or_else(|| see_other(LOGIN))
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
        let (mut form, mut nonce) = (F::default(), String::new());
        for (name, text) in url::form_urlencoded::parse(&body.bytes) {
            if name == "nonce" {
                nonce = text.into_owned();
            } else {
                field(&mut form, &name, &text);
            }
        }
        let session = self.session(request, shared).await?;
        if !session.fits(&nonce, self) {
            return Err(self.trouble(StatusCode::FORBIDDEN, Trouble::ForeignForm));
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
