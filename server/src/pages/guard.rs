//! Ties a form to the browser that was shown it: with a cookie, and with a nonce made from the cookie and the link.

use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::base::ids::{Entropy, SuspensionId};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use store::Typist;
use store::link::LinkToken;

use super::view::Trouble;
use super::{Pages, host_with_port};
use crate::config::is_loopback;
use crate::edge::body::{Body, read};

/// The cookie's random bytes.
const COOKIE_BYTES: usize = 16;

/// A form that is tied to a cookie alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The form of development mode.
    Development,
    /// The forms that ask for a login link, and that use one.
    Login,
    /// The forms of a session.
    Session,
    /// The form of a question, for a person who logged in.
    Question,
}

impl Form {
    fn prefix(self) -> &'static [u8] {
        match self {
            Self::Development => b"placet.development.form.v1\0",
            Self::Login => b"placet.login.form.v1\0",
            Self::Session => b"placet.session.form.v1\0",
            Self::Question => b"placet.question.form.v1\0",
        }
    }
}

impl Pages {
    fn cookie_name(&self) -> &'static str {
        // Browsers accept the prefix `__Host-` only with https, which a server on a loopback address need not have.
        if self.is_https() { "__Host-a" } else { "a" }
    }

    /// The browser's cookie: the present one (two tabs share it), or a new one to be set.
    pub(super) fn cookie(&self, request: &HttpRequest, entropy: &dyn Entropy) -> (String, Option<Cookie<'static>>) {
        if let Some(value) = self.brought_cookie(request) {
            return (value, None);
        }
        let mut bytes = [0; COOKIE_BYTES];
        entropy.fill(&mut bytes);
        let value = URL_SAFE_NO_PAD.encode(bytes);
        let cookie = Cookie::build(self.cookie_name(), value.clone())
            .path("/")
            .http_only(true)
            .secure(self.is_https())
            .same_site(SameSite::Lax)
            .finish();
        (value, Some(cookie))
    }

    /// The cookie that a browser sent, if it has the format of our cookies.
    pub(super) fn brought_cookie(&self, request: &HttpRequest) -> Option<String> {
        let value = request.cookie(self.cookie_name())?.value().to_owned();
        let ours = URL_SAFE_NO_PAD.decode(&value).is_ok_and(|bytes| bytes.len() == COOKIE_BYTES);
        ours.then_some(value)
    }

    /// The browser in which a form was typed, by its cookie. Without a cookie no form is accepted.
    pub(super) fn typist(&self, request: &HttpRequest) -> Typist {
        let cookie = self.brought_cookie(request).unwrap_or_default();
        Typist::Browser(Sha256::new().chain_update(b"placet.typist.v1\0").chain_update(cookie).finalize().into())
    }

    /// The nonce of the form shown under this cookie and this link.
    pub(super) fn nonce(&self, cookie: &str, token: &LinkToken) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(cookie, token).finalize().into_bytes())
    }

    /// Whether a nonce is the one that was shown, in constant time.
    pub(super) fn nonce_fits(&self, nonce: &str, cookie: &str, token: &LinkToken) -> bool {
        URL_SAFE_NO_PAD.decode(nonce).is_ok_and(|bytes| self.mac(cookie, token).verify_slice(&bytes).is_ok())
    }

    fn mac(&self, cookie: &str, token: &LinkToken) -> Hmac<Sha256> {
        // Unwrap safety: HMAC takes a key of any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.nonce_secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
        mac.update(cookie.as_bytes());
        mac.update(&[0]);
        mac.update(&token.hash());
        mac
    }

    /// The nonce of the form of a question, shown under this cookie to a person who logged in.
    pub(super) fn question_nonce(&self, cookie: &str, id: SuspensionId, person: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.question_mac(cookie, id, person).finalize().into_bytes())
    }

    /// Like [`Pages::nonce_fits`], for the form of a question that was shown to a person who logged in.
    pub(super) fn question_nonce_fits(&self, nonce: &str, cookie: &str, id: SuspensionId, person: &str) -> bool {
        URL_SAFE_NO_PAD.decode(nonce).is_ok_and(|bytes| self.question_mac(cookie, id, person).verify_slice(&bytes).is_ok())
    }

    fn question_mac(&self, cookie: &str, id: SuspensionId, person: &str) -> Hmac<Sha256> {
        // The cookie and the id have a length of their own, so no two inputs are the same bytes.
        self.form_mac(Form::Question, cookie).chain_update([0]).chain_update(id.0.as_bytes()).chain_update(person)
    }

    /// The nonce of a form that is tied to a cookie alone, for its purpose.
    pub(super) fn form_nonce(&self, form: Form, cookie: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.form_mac(form, cookie).finalize().into_bytes())
    }

    /// Like [`Pages::nonce_fits`], for a form that is tied to a cookie alone.
    pub(super) fn form_nonce_fits(&self, nonce: &str, form: Form, cookie: &str) -> bool {
        URL_SAFE_NO_PAD.decode(nonce).is_ok_and(|bytes| self.form_mac(form, cookie).verify_slice(&bytes).is_ok())
    }

    fn form_mac(&self, form: Form, cookie: &str) -> Hmac<Sha256> {
        // Unwrap safety: HMAC takes a key of any length.
        let mac = Hmac::<Sha256>::new_from_slice(&self.nonce_secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
        // The prefix keeps this nonce apart from that of an answer form, which is made with the same secret: the input for that
        // one begins with the 22 characters of a cookie, and none of them is a dot.
        mac.chain_update(form.prefix()).chain_update(cookie)
    }

    /// Whether a browser has opened a page under another name of this machine: `localhost` for `127.0.0.1`. An answer from that
    /// page would be refused, because cookies and origins depend on the name.
    ///
    /// This is checked only on a server that is reached from this machine alone: a proxy before any other server may have its own
    /// name for it.
    pub(super) fn is_under_another_name(&self, request: &HttpRequest) -> bool {
        let host = request.headers().get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
        let port = |host: &str| host.rsplit_once(':').map(|(_, port)| port.to_owned());
        let ours = host_with_port(&self.public_url);
        is_loopback(&self.public_url) && !host.is_empty() && host != ours && port(host) == port(&ours)
    }

    /// The body of a form that came from our own page.
    pub(super) async fn posted(&self, request: &HttpRequest, payload: Payload) -> Result<Body, HttpResponse> {
        let Ok(body) = read(&self.bodies, request, payload).await else {
            return Err(self.trouble(StatusCode::BAD_REQUEST, Trouble::Unreadable));
        };
        if !self.is_from_our_page(request.headers()) {
            return Err(self.trouble(StatusCode::FORBIDDEN, Trouble::ForeignPage));
        }
        Ok(body)
    }

    /// Whether a form came from our own page. The headers `Origin` and `Sec-Fetch-Site` must fit if they are there.
    pub(super) fn is_from_our_page(&self, headers: &HeaderMap) -> bool {
        Self::is_from(headers, &self.public_url.origin().ascii_serialization())
    }

    /// Like [`Pages::is_from_our_page`], for a page under this origin.
    pub(super) fn is_from(headers: &HeaderMap, origin: &str) -> bool {
        let says = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default().to_owned());
        says("origin").is_none_or(|said| said == origin) && says("sec-fetch-site").is_none_or(|said| said == "same-origin")
    }
}
