//! The pages for people: the answer page behind a link, the first page about this server, and in development the mails.

mod absence;
mod answer;
mod arrivals;
mod audit;
mod choosable;
mod context;
mod dashboard;
mod development;
mod drafting;
mod drafts;
mod ended;
mod fields;
mod fold;
mod form;
mod guard;
mod hands;
mod home;
mod inbox;
mod language;
mod live;
mod login;
mod mailbox;
mod next;
mod openid;
mod passkeys;
mod posted;
mod proposed;
mod proposing;
mod question;
mod reasons;
mod reference;
mod said;
mod scripts;
mod session;
mod settings;
mod signature;
mod signing;
mod stops;
mod together;
mod view;
mod way;
mod work;

use std::future::{Ready, ready};
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use actix_web::dev::Payload;
use actix_web::http::header::{
    ACCEPT, ALLOW, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, RETRY_AFTER, VARY,
};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, ServiceConfig};
use actix_web::{Error, FromRequest, HttpRequest, HttpResponse, HttpResponseBuilder, Resource, Route};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use domain::base::passkey::Site;
use domain::base::words::Language;
use domain::people::preferences::Preferences;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};
use serde_json::Value;
use sha2::{Digest, Sha256};
use store::link::LinkToken;
use tokio::sync::watch;
use url::Url;

pub(crate) use self::development::Development;
use self::language::wished;
use self::view::{Again, INSIDE_STYLESHEET, Manner, STYLESHEET, Trouble, TroublePage};
use crate::config::InboxConfig;
use crate::edge::address::host_with_port;
use crate::edge::admission::Class;
use crate::edge::body::{Bodies, PAGE_BODIES_BYTES_MAX};
use crate::edge::problem::RETRY_AFTER_SECONDS;
use crate::edge::rates::seconds_until;
use crate::edge::route::{Allow, allowing, no_route};
use crate::openid::Provider;

/// How often one link may be opened in a minute.
pub const GETS_PER_MINUTE: u32 = 120;
/// How many answers may be sent through one link in a minute.
pub const POSTS_PER_MINUTE: u32 = 10;

/// How many links that lead to no question are answered in a minute, all together.
pub const MISSES_PER_MINUTE: u32 = 600;

/// The first page behind the login.
const AUDIT: &str = "/audit";

/// The parts that the pages share.
pub(crate) struct AllPages {
    public_url: Url,
    /// Where passkeys belong; absent if the server has no domain name.
    site: Option<Site>,
    /// The secret for the nonces of answer forms, and for nothing else.
    nonce_secret: [u8; 32],
    /// The secret that distinguishes links this server sent from made-up ones.
    link_secret: [u8; 32],
    /// Room for the bodies of answers.
    bodies: Bodies,
    gets: DefaultKeyedRateLimiter<[u8; 32]>,
    posts: DefaultKeyedRateLimiter<[u8; 32]>,
    /// Counts links that lead to no question, all together: guessing becomes slow, and people who hold a link are not affected.
    misses: DefaultDirectRateLimiter,
    policy: String,
    /// The content security policy of a page that keeps itself up to date: it may also run our scripts and send requests to us.
    live_policy: String,
    /// The description of the interface for machines; the reference shows it to people.
    description: fn() -> &'static Value,
    /// The content security policy of the reference, which has a style of its own.
    reference_policy: String,
    /// The content security policy of the pages behind the login.
    inside_policy: String,
    /// The content security policy of a page behind the login that may also run our scripts and send requests to us.
    inside_live_policy: String,
    development: Option<Development>,
    /// Whether the server can send login links.
    sends_logins: bool,
    /// The issuer of identities by which people log in, if there is one.
    issuer: Option<Arc<Provider>>,
    /// How long the content of an intent is kept after its last event; absent if it is kept until an admin erases it.
    retention: Option<TimeDelta>,
    /// The reasons for a no that people find ready, and the kinds of questions that they may answer together.
    inbox: InboxConfig,
    /// Whether a browser was shown how a question had ended.
    outcome_shown: watch::Sender<bool>,
}

impl AllPages {
    pub(crate) fn new(
        (public_url, site): (Url, Option<Site>),
        (nonce_secret, link_secret): ([u8; 32], [u8; 32]),
        description: fn() -> &'static Value,
        development: Option<Development>,
        sends_logins: bool,
    ) -> Self {
        let quota = |times| Quota::per_minute(NonZeroU32::new(times).unwrap_or(NonZeroU32::MIN));
        Self {
            public_url,
            site,
            nonce_secret,
            link_secret,
            bodies: Bodies::new(PAGE_BODIES_BYTES_MAX),
            gets: RateLimiter::keyed(quota(GETS_PER_MINUTE)),
            posts: RateLimiter::keyed(quota(POSTS_PER_MINUTE)),
            misses: RateLimiter::direct(quota(MISSES_PER_MINUTE)),
            live_policy: live(policy(STYLESHEET)),
            policy: policy(STYLESHEET),
            description,
            reference_policy: policy(reference::STYLESHEET),
            inside_live_policy: live(policy(INSIDE_STYLESHEET)),
            inside_policy: policy(INSIDE_STYLESHEET),
            development,
            sends_logins,
            issuer: None,
            retention: None,
            inbox: InboxConfig::default(),
            outcome_shown: watch::Sender::new(false),
        }
    }

    /// Says on the audit pages how long content is kept.
    pub(crate) fn keeping(self, retention: Option<TimeDelta>) -> Self {
        Self { retention, ..self }
    }

    /// Offers reasons for a no, and lets people answer questions of some kinds together.
    pub(crate) fn with_inbox(self, inbox: InboxConfig) -> Self {
        Self { inbox, ..self }
    }

    /// Lets people log in by an issuer of identities.
    pub(crate) fn with_issuer(self, issuer: Option<Arc<Provider>>) -> Self {
        Self { issuer, ..self }
    }

    /// The address that lets a browser in to the pages of development mode; once it has been used, another replaces it.
    pub(crate) fn development_address(&self) -> Option<watch::Receiver<String>> {
        Some(self.development.as_ref()?.address())
    }

    /// Whether a browser was shown how a question had ended.
    pub(crate) fn outcome_shown(&self) -> watch::Receiver<bool> {
        self.outcome_shown.subscribe()
    }

    /// Whether people can log in.
    fn has_login(&self) -> bool {
        self.sends_logins || self.issuer.is_some()
    }

    fn is_https(&self) -> bool {
        self.public_url.scheme() == "https"
    }

    /// The host, which people compare with their address bar.
    fn host(&self) -> String {
        host_with_port(&self.public_url)
    }

    /// Forgets links that were quiet for a while, so that the counters stay small.
    pub(crate) fn forget_quiet_links(&self) {
        self.gets.retain_recent();
        self.posts.retain_recent();
    }

    /// The class in which a request with this link is admitted. A link of an early version of this server has no proof and looks
    /// like a made-up one, so it waits with the reads.
    fn class(&self, token: &LinkToken) -> Class {
        if token.is_proven(&self.link_secret) { Class::Respond } else { Class::Read }
    }
}

/// The pages for one reader: the parts that all pages share, and what is known of the reader.
#[derive(Clone)]
struct Pages {
    all: web::Data<AllPages>,
    /// The language for which the browser asks.
    wished: Language,
    /// The entry of the reader in the directory, from the look-up of the link or the session on.
    known: Arc<OnceLock<Preferences>>,
}

impl Deref for Pages {
    type Target = AllPages;

    fn deref(&self) -> &AllPages {
        &self.all
    }
}

impl FromRequest for Pages {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let all = web::Data::<AllPages>::from_request(request, payload).into_inner();
        ready(all.map(|all| Self { all, wished: wished(request), known: Arc::default() }))
    }
}

impl Pages {
    /// Speaks to this person from now on. If a request has a link and a session, the person of the link counts, who is looked up first.
    fn speak_to(&self, reader: &Preferences) {
        self.known.get_or_init(|| reader.clone());
    }

    /// The reader's language: that of the reader's locale, or the one for which the browser asks.
    fn language(&self) -> Language {
        self.known.get().and_then(Preferences::language).unwrap_or(self.wished)
    }

    /// How a page speaks to the reader.
    fn manner(&self) -> Manner {
        Manner { language: self.language(), zone: self.known.get().and_then(|known| known.time_zone) }
    }

    /// A page that may run our scripts.
    fn live_page(&self, status: StatusCode, html: askama::Result<String>) -> HttpResponse {
        self.page_under(&self.live_policy, status, html)
    }

    /// A page behind the login.
    fn inside_page(&self, status: StatusCode, html: askama::Result<String>) -> HttpResponse {
        self.page_under(&self.inside_policy, status, html)
    }

    /// A page with a content security policy of its own.
    fn page_under(&self, policy: &str, status: StatusCode, html: askama::Result<String>) -> HttpResponse {
        let mut page = self.page(status, html);
        if let Ok(policy) = HeaderValue::from_str(policy) {
            page.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        page
    }

    /// A page with the headers that every page has.
    fn page(&self, status: StatusCode, html: askama::Result<String>) -> HttpResponse {
        match html {
            Ok(html) => self.headers(HttpResponse::build(status)).body(html),
            Err(error) => {
                tracing::error!(error = %error, "failed to render a page");
                self.headers(HttpResponse::InternalServerError()).body(self.language().server_failed())
            }
        }
    }

    fn headers(&self, mut response: HttpResponseBuilder) -> HttpResponseBuilder {
        response
            .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
            .insert_header(("cache-control", "no-store"))
            .insert_header((CONTENT_LANGUAGE, self.language().language()))
            .insert_header((VARY, "accept-language"))
            // With `no-referrer` browsers would send `Origin: null` with a form POST.
            .insert_header(("referrer-policy", "same-origin"))
            .insert_header(("x-robots-tag", "noindex"))
            .insert_header(("cross-origin-opener-policy", "same-origin"))
            .insert_header(("cross-origin-resource-policy", "same-origin"));
        if let Ok(policy) = HeaderValue::from_str(&self.policy) {
            response.insert_header((CONTENT_SECURITY_POLICY, policy));
        }
        if self.is_https() {
            response.insert_header(("strict-transport-security", "max-age=31536000"));
        }
        response
    }

    fn trouble(&self, status: StatusCode, trouble: Trouble) -> HttpResponse {
        self.page(status, TroublePage::new(self.plain(), trouble, None).render())
    }

    /// Like [`Pages::trouble`], for a trouble that may be over in some seconds; with the form that was sent, if it is known.
    fn later(&self, seconds: u32, status: StatusCode, trouble: Trouble, again: Option<Again>) -> HttpResponse {
        let mut page = self.page(status, TroublePage::new(self.plain(), trouble, again).render());
        page.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        page
    }

    /// The page for a store that cannot be read now, or a server that is too busy to read it.
    fn cannot_read(&self) -> HttpResponse {
        self.later(RETRY_AFTER_SECONDS, StatusCode::SERVICE_UNAVAILABLE, Trouble::CannotRead, None)
    }

    /// The page for a link that was opened too often, or for too many links that lead to no question.
    fn too_many(&self, refused: &NotUntil<<DefaultClock as Clock>::Instant>) -> HttpResponse {
        self.later(seconds_until(refused), StatusCode::TOO_MANY_REQUESTS, Trouble::TooManyTries, None)
    }
}

/// Allows a page this style, its own forms, and nothing else.
fn policy(stylesheet: &str) -> String {
    let style = STANDARD.encode(Sha256::digest(stylesheet));
    format!("default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
}

/// Also allows our own scripts, and that they send requests to us.
fn live(policy: String) -> String {
    policy + "; script-src 'self'; connect-src 'self'"
}

/// Registers all pages.
pub(crate) fn routes(config: &mut ServiceConfig) {
    use Method as M;
    config
        // GET and HEAD show; only POST decides; any other method is refused without a look at the link.
        .service(resource(
            "/a/{token}",
            [(M::GET, web::to(answer::show)), (M::HEAD, web::to(answer::show)), (M::POST, web::to(answer::decide))],
        ))
        .service(resource("/a/{token}/challenge", [(M::POST, web::to(signing::challenge))]))
        .service(resource("/a/{token}/state", [(M::GET, web::to(live::state))]))
        .service(resource(
            "/questions/{id}",
            [(M::GET, web::to(question::show)), (M::HEAD, web::to(question::show)), (M::POST, web::to(question::decide))],
        ))
        .service(resource("/questions/{id}/challenge", [(M::POST, web::to(question::challenge))]))
        .service(resource("/questions/{id}/state", [(M::GET, web::to(question::state))]))
        .service(resource("/questions/{id}/work", [(M::GET, web::to(question::work)), (M::HEAD, web::to(question::work))]))
        .service(resource("/a/{token}/work", [(M::GET, web::to(work::show)), (M::HEAD, web::to(work::show))]))
        .service(resource("/work/{intent_id}", [(M::GET, web::to(work::show_inside)), (M::HEAD, web::to(work::show_inside))]))
        .service(resource("/assets/{name}", [(M::GET, web::to(scripts::serve))]))
        .service(resource("/docs", [(M::GET, web::to(reference::show)), (M::HEAD, web::to(reference::show))]))
        .service(resource(
            "/login",
            [(M::GET, web::to(login::show)), (M::HEAD, web::to(login::show)), (M::POST, web::to(login::ask))],
        ))
        .service(resource(openid::PATH, [(M::GET, web::to(openid::enter)), (M::POST, web::to(openid::begin))]))
        .service(resource(
            "/login/{token}",
            [(M::GET, web::to(login::open)), (M::HEAD, web::to(login::open)), (M::POST, web::to(login::enter))],
        ))
        .service(resource("/logout", [(M::POST, web::to(login::leave))]))
        .service(resource(
            "/passkeys",
            [(M::GET, web::to(passkeys::show)), (M::HEAD, web::to(passkeys::show)), (M::POST, web::to(passkeys::add))],
        ))
        .service(resource(
            absence::OUT_OF_OFFICE,
            [(M::GET, web::to(absence::show)), (M::HEAD, web::to(absence::show)), (M::POST, web::to(absence::change))],
        ))
        .service(resource(
            settings::SETTINGS,
            [(M::GET, web::to(settings::show)), (M::HEAD, web::to(settings::show)), (M::POST, web::to(settings::change))],
        ))
        .service(resource("/passkeys/challenge", [(M::POST, web::to(passkeys::challenge))]))
        .service(resource("/passkeys/remove", [(M::POST, web::to(passkeys::remove))]))
        .service(resource(
            stops::STOPS,
            [(M::GET, web::to(stops::show)), (M::HEAD, web::to(stops::show)), (M::POST, web::to(stops::resume))],
        ))
        .service(resource(together::DONE, [(M::GET, web::to(together::done)), (M::HEAD, web::to(together::done))]))
        .service(resource(
            together::TOGETHER,
            [(M::GET, web::to(together::show)), (M::HEAD, web::to(together::show)), (M::POST, web::to(together::decide))],
        ))
        .service(resource("/inbox/list", [(M::GET, web::to(inbox::list))]))
        .service(resource("/inbox/live", [(M::GET, web::to(arrivals::stream))]))
        .service(resource(inbox::INBOX, [(M::GET, web::to(inbox::show)), (M::HEAD, web::to(inbox::show))]))
        .service(resource(dashboard::DASHBOARD, [(M::GET, web::to(dashboard::show)), (M::HEAD, web::to(dashboard::show))]))
        .service(resource("/audit/export", [(M::POST, web::to(audit::export))]))
        .service(resource("/audit/overview", [(M::GET, web::to(audit::overview)), (M::HEAD, web::to(audit::overview))]))
        .service(resource("/audit/{intent_id}", [(M::GET, web::to(audit::record)), (M::HEAD, web::to(audit::record))]))
        .service(resource(AUDIT, [(M::GET, web::to(audit::show)), (M::HEAD, web::to(audit::show))]))
        .service(resource("/", [(M::GET, web::to(home::show)), (M::HEAD, web::to(home::show))]))
        .service(resource("/ask", [(M::POST, web::to(home::ask))]))
        .service(resource("/dev/{secret}", [(M::GET, web::to(development::enter))]))
        .service(resource("/mailbox/{delivery_id}", [(M::GET, web::to(mailbox::text))]))
        .service(resource("/mailbox/{delivery_id}/html", [(M::GET, web::to(mailbox::html))]))
        .default_service(web::to(no_page));
}

/// The resource at a path. It answers a request with an unknown method with a page, and names the known methods in `Allow`.
fn resource<const N: usize>(path: &str, routes: [(Method, Route); N]) -> Resource {
    allowing(path, routes, web::to(no_method))
}

/// Answers a path that no route matches: a browser with a page, and a program with the error of the interface.
async fn no_page(request: HttpRequest, pages: Pages) -> Result<HttpResponse, Error> {
    let names_html = |accept: &HeaderValue| accept.to_str().is_ok_and(|accept| accept.contains("text/html"));
    if request.path().starts_with("/api/") || !request.headers().get_all(ACCEPT).any(names_html) {
        return no_route().await;
    }
    Ok(pages.trouble(StatusCode::NOT_FOUND, Trouble::NoPage))
}

async fn no_method(request: HttpRequest, pages: Pages) -> HttpResponse {
    let mut page = pages.trouble(StatusCode::METHOD_NOT_ALLOWED, Trouble::NoMethod);
    if let Some(methods) = Allow::of(&request) {
        page.headers_mut().insert(ALLOW, methods);
    }
    page
}
