//! What people see: the answer page behind a link, and in development the mailbox.

mod answer;
mod context;
mod guard;
mod live;
mod mailbox;
mod reference;
mod view;

use std::num::NonZeroU32;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpResponse, HttpResponseBuilder};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use channels::MemoryMailbox;
use domain::words;
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use sha2::{Digest, Sha256};
use url::Url;

use self::view::{STYLESHEET, Trouble, TroublePage};

/// How often one link may be opened in a minute.
pub const GETS_PER_MINUTE: u32 = 120;
/// How often one link may be used in a minute.
pub const POSTS_PER_MINUTE: u32 = 10;

/// How many links that open nothing are answered in a minute, all together.
pub const MISSES_PER_MINUTE: u32 = 600;

/// What the pages share.
pub(crate) struct Pages {
    public_url: Url,
    /// For the nonces of answer forms, and for nothing else.
    nonce_secret: [u8; 32],
    gets: DefaultKeyedRateLimiter<[u8; 32]>,
    posts: DefaultKeyedRateLimiter<[u8; 32]>,
    /// Links that open nothing, all together: guessing is slow, and costs those who hold a link nothing.
    misses: DefaultDirectRateLimiter,
    policy: String,
    /// The policy of a page that may keep itself up to date: it may also run and ask for what is ours.
    live_policy: String,
    /// The reference has a style of its own.
    reference_policy: String,
    mailbox: Option<DevelopmentMailbox>,
}

/// The mailbox of development mode, behind a path that is printed on the terminal only.
pub(crate) struct DevelopmentMailbox {
    pub(crate) mailbox: MemoryMailbox,
    pub(crate) secret_path: String,
}

impl Pages {
    pub(crate) fn new(public_url: Url, nonce_secret: [u8; 32], mailbox: Option<DevelopmentMailbox>) -> Self {
        let quota = |times| Quota::per_minute(NonZeroU32::new(times).unwrap_or(NonZeroU32::MIN));
        Self {
            public_url,
            nonce_secret,
            gets: RateLimiter::keyed(quota(GETS_PER_MINUTE)),
            posts: RateLimiter::keyed(quota(POSTS_PER_MINUTE)),
            misses: RateLimiter::direct(quota(MISSES_PER_MINUTE)),
            live_policy: format!("{}; script-src 'self'; connect-src 'self'", policy(STYLESHEET)),
            policy: policy(STYLESHEET),
            reference_policy: policy(reference::STYLESHEET),
            mailbox,
        }
    }

    fn is_https(&self) -> bool {
        self.public_url.scheme() == "https"
    }

    /// The host people compare with their address bar.
    fn host(&self) -> String {
        host_with_port(&self.public_url)
    }

    /// A page with the one script.
    fn live_page(&self, status: StatusCode, html: askama::Result<String>) -> HttpResponse {
        let mut page = self.page(status, html);
        if let Ok(policy) = HeaderValue::from_str(&self.live_policy) {
            page.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        page
    }

    /// A page with the headers every page has.
    fn page(&self, status: StatusCode, html: askama::Result<String>) -> HttpResponse {
        match html {
            Ok(html) => self.headers(HttpResponse::build(status)).body(html),
            Err(error) => {
                tracing::error!(error = %error, "failed to render a page");
                self.headers(HttpResponse::InternalServerError()).body(words::SERVER_FAILED)
            }
        }
    }

    fn headers(&self, mut response: HttpResponseBuilder) -> HttpResponseBuilder {
        response
            .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
            .insert_header(("cache-control", "no-store"))
            // Under no-referrer browsers send `Origin: null` with a form POST.
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
        self.page(status, askama::Template::render(&TroublePage::new(self.host(), trouble)))
    }

    /// Forgets links that were quiet for a while, so that the counters stay small.
    pub(crate) fn forget_quiet_links(&self) {
        self.gets.retain_recent();
        self.posts.retain_recent();
    }
}

/// Allows a page this style, its own forms, and nothing else.
fn policy(stylesheet: &str) -> String {
    let style = STANDARD.encode(Sha256::digest(stylesheet));
    format!("default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
}

/// `placet.example.com`, or `127.0.0.1:7420`.
pub(crate) fn host_with_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// All pages.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config
        .service(
            // GET and HEAD show; only POST decides; any other method is refused without looking at the link.
            web::resource("/a/{token}")
                .route(web::get().to(answer::show))
                .route(web::head().to(answer::show))
                .route(web::post().to(answer::decide)),
        )
        .service(web::resource("/a/{token}/state").route(web::get().to(live::state)))
        .service(web::resource("/assets/{name}").route(web::get().to(live::script)))
        .service(web::resource("/docs").route(web::get().to(reference::show)).route(web::head().to(reference::show)))
        .service(web::resource("/dev/{secret}/mailbox").route(web::get().to(mailbox::list)))
        .service(web::resource("/dev/{secret}/mailbox/{message_id}").route(web::get().to(mailbox::text)))
        .service(web::resource("/dev/{secret}/mailbox/{message_id}/html").route(web::get().to(mailbox::html)));
}
