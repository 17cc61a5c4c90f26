//! The login by an issuer of identities (OpenID Connect): the button leads there, and the issuer sends the browser back.
//!
//! Guarantee: a login begins a session only in the browser that began it, once, within ten minutes, and only for a person who is listed.
//! Mechanism: the state that comes back names a row, which is deleted when it is used, and which holds the hash of the browser's cookie.
//! Failure: one page says what happened and what to do; it repeats nothing that the browser brought but a short code of the standard.

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use domain::base::ids::SuspensionId;
use sha2::{Digest, Sha256};
use store::{Entry, OpenIdState, Proved, Stray, TakenLogin};

use super::Pages;
use super::language::in_languages;
use super::login::{destination, fits, form, sent};
use super::session::see_other;
use super::view::{Page, STYLESHEET, Trouble, line};
use crate::edge::admission::Class;
use crate::edge::problem::RETRY_AFTER_SECONDS;
use crate::edge::shared::Shared;
use crate::openid::{Provider, Refused};

/// The address of the form, and the one to which the issuer sends browsers back.
pub(super) const PATH: &str = "/login/openid";
/// The longest value that an issuer sends with a browser, in bytes.
const VALUE_BYTES_MAX: usize = 4_096;
/// The longest code of an error that is shown, in bytes.
const ERROR_BYTES_MAX: usize = 40;

/// Why no session began.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failed {
    /// This browser has begun no login of this state, or has used it, or it has ended.
    NotBegun,
    /// The issuer, or the person there, has declined. The code is the standard's.
    Declined(Option<String>),
    /// The answer is not believed.
    Untrue,
    /// The issuer cannot be used now.
    Away,
    /// The issuer has no verified address of this person.
    NoAddress,
    /// The account is not that of a listed person.
    NotListed,
    /// The server has no issuer.
    NoIssuer,
}

impl Failed {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotBegun => StatusCode::BAD_REQUEST,
            Self::Declined(_) | Self::Untrue | Self::NoAddress | Self::NotListed => StatusCode::FORBIDDEN,
            Self::Away => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoIssuer => StatusCode::NOT_FOUND,
        }
    }

    fn page(self, pages: &Pages) -> HttpResponse {
        let status = self.status();
        let issuer = pages.issuer.as_ref().map(|issuer| issuer.host()).unwrap_or_default();
        let is_away = self == Self::Away;
        let html = NotEnteredPage { page: pages.plain(), issuer, by_mail: pages.sends_logins, failed: self }.render();
        let mut response = pages.page(status, html);
        if is_away {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
        }
        response
    }
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Away(why) => {
                tracing::warn!(why, "the issuer of identities cannot be used");
                Self::Away
            }
            Refused::Untrue(why) => {
                tracing::warn!(why, "a login by the issuer of identities was refused");
                Self::Untrue
            }
        }
    }
}

struct NotEnteredPage {
    page: Page,
    /// The host of the issuer.
    issuer: String,
    /// Whether the server sends login links.
    by_mail: bool,
    failed: Failed,
}

in_languages!(NotEnteredPage, "notentered.html");

/// The answer that a browser brings from the issuer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    state: Option<String>,
    code: Option<String>,
    issuer: Option<String>,
    error: Option<String>,
}

impl Answer {
    /// Reads a query; `None` if a parameter is there twice (RFC 6749 §3.1), or is too long.
    fn read(query: &str) -> Option<Self> {
        let mut answer = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let place = match name.as_ref() {
                "state" => &mut answer.state,
                "code" => &mut answer.code,
                "iss" => &mut answer.issuer,
                "error" => &mut answer.error,
                _ => continue,
            };
            if place.is_some() || value.len() > VALUE_BYTES_MAX {
                return None;
            }
            *place = Some(value.into_owned());
        }
        Some(answer)
    }
}

/// The code of an error, if it has the form of those in the standard. Other text is not repeated.
fn standard(error: &str) -> Option<String> {
    let is_code =
        (1..=ERROR_BYTES_MAX).contains(&error.len()) && error.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase());
    is_code.then(|| error.to_owned())
}

/// The hash by which a login is tied to the browser's cookie.
fn browser(cookie: &str) -> [u8; 32] {
    Sha256::new().chain_update("placet.openid.browser.v1\0").chain_update(cookie).finalize().into()
}

impl Pages {
    /// The content security policy of the page with the button: its form is redirected to the issuer, which counts as sending it there.
    pub(super) async fn policy_towards_issuer(&self) -> Option<HeaderValue> {
        let origins = self.issuer.as_ref()?.origins().await.join(" ");
        let policy = self.policy.replacen("form-action 'self'", &format!("form-action 'self' {origins}"), 1);
        HeaderValue::from_str(&policy).ok()
    }
}

/// Leads the browser to the issuer.
pub(super) async fn begin(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    if let Err(refused) = pages.misses.check() {
        return pages.too_many(&refused);
    }
    let sent = match sent(&request, payload, &pages).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let Some(issuer) = &pages.issuer else { return Failed::NoIssuer.page(&pages) };
    let Some(cookie) = pages.brought_cookie(&request).filter(|_| fits(&request, &pages, &sent.nonce)) else {
        return form(&request, &shared, &pages, &sent, Some(pages.language().page_was_open_too_long().to_owned())).await;
    };
    let mut random = [0; 32];
    shared.entropy.fill(&mut random);
    let state = OpenIdState::new(random);
    let there = match issuer.begin(&state, &cookie, sent.fresh).await {
        Ok(there) => there,
        Err(refused) => return Failed::from(refused).page(&pages),
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    match shared.store.begin_openid_login(state, browser(&cookie), sent.question).await {
        Ok(()) => see_other(there.as_str()),
        Err(_) => pages.cannot_read(),
    }
}

/// Takes the answer that a browser brings from the issuer, and begins a session in place of the one that the browser may have.
pub(super) async fn enter(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    if pages.is_under_another_name(&request) {
        return pages.trouble(StatusCode::MISDIRECTED_REQUEST, Trouble::AnotherName);
    }
    if let Err(refused) = pages.misses.check() {
        return pages.too_many(&refused);
    }
    let Some(issuer) = &pages.issuer else { return Failed::NoIssuer.page(&pages) };
    let begun = match begun(&request, &shared, &pages).await {
        Ok(Some(begun)) => begun,
        Ok(None) => return Failed::NotBegun.page(&pages),
        Err(response) => return response,
    };
    let question = begun.question;
    let proved = match proved(issuer, begun).await {
        Ok(proved) => proved,
        Err(failed) => return failed.page(&pages),
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    let Ok(entry) = shared.store.log_in_by_openid(proved, pages.brought_session(&request)).await else {
        return pages.cannot_read();
    };
    match entry {
        Entry::Begun { session, strays } => {
            strays.iter().for_each(tell);
            let mut response = see_other(&destination(question, &request));
            pages.give_session(&mut response, &session);
            response
        }
        Entry::NoAddress => Failed::NoAddress.page(&pages),
        Entry::NotListed => Failed::NotListed.page(&pages),
        Entry::OtherAccount => {
            // The page does not tell it apart from an address that is not listed.
            tracing::warn!("a login was refused: the person with this address logs in by another account of the issuer");
            Failed::NotListed.page(&pages)
        }
    }
}

/// A login that this browser has begun, and the answer that it brings.
struct Begun {
    state: OpenIdState,
    cookie: String,
    answer: Answer,
    /// The question from which the person came.
    question: Option<SuspensionId>,
}

/// Uses up the login that this browser has begun; `None` if there is none.
async fn begun(request: &HttpRequest, shared: &Shared, pages: &Pages) -> Result<Option<Begun>, HttpResponse> {
    let Some(answer) = Answer::read(request.query_string()) else { return Ok(None) };
    let state = answer.state.as_deref().and_then(OpenIdState::parse);
    let Some((state, cookie)) = state.zip(pages.brought_cookie(request)) else { return Ok(None) };
    let _place = shared.admission.enter(Class::Write).await.map_err(|_| pages.cannot_read())?;
    let taken = shared.store.take_openid_login(state.clone(), browser(&cookie)).await.map_err(|_| pages.cannot_read())?;
    Ok(taken.map(|TakenLogin { question }| Begun { state, cookie, answer, question }))
}

/// Everything that the issuer proves about the person.
async fn proved(issuer: &Provider, Begun { state, cookie, answer, .. }: Begun) -> Result<Proved, Failed> {
    issuer.is_of_issuer(answer.issuer.as_deref()).await?;
    if let Some(error) = answer.error {
        return Err(Failed::Declined(standard(&error)));
    }
    let code = answer.code.ok_or(Failed::Declined(None))?;
    Ok(issuer.redeem(code, &state, &cookie).await?)
}

/// Says in the log that a group does not follow the issuer.
fn tell(stray: &Stray) {
    match stray {
        Stray::Missing(group) => {
            tracing::warn!(group, "login.openid: groups names a group that does not exist, so it was left out");
        }
        Stray::Full(group) => tracing::warn!(group, "a person of the issuer's group was left out: the group here is full"),
        Stray::Managed(group) => {
            tracing::warn!(group, "a group does not follow the issuer: the configuration file decides who is in it");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_each_of_its_parts_once() {
        let read = Answer::read("code=a%20b&state=s&iss=https%3A%2F%2Fi.example&session_state=x").unwrap();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(read, Answer { state: text("s"), code: text("a b"), issuer: text("https://i.example"), error: None });
        assert_eq!(Answer::read(""), Some(Answer::default()));
        for wrong in ["state=a&state=b", "code=a&state=s&code=a", "error=a&error=a", &format!("code={}", "c".repeat(4_097))] {
            assert_eq!(Answer::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_a_code_of_the_standard_is_repeated() {
        for code in ["access_denied", "login_required", "temporarily_unavailable"] {
            assert_eq!(standard(code).as_deref(), Some(code));
        }
        for other in ["", "<b>", "Call 555-0100", "access_denied ", &"a".repeat(41)] {
            assert_eq!(standard(other), None, "{other}");
        }
    }
}
