//! The door to the pages of development mode: an address that opens once, and the cookie it gives to the browser that opened it.
//!
//! Guarantee: only the browser of a person who has read the server's terminal (or a file that only this person can read) sees
//! questions and mails; an agent on the same machine, which can send any request, sees neither. Mechanism: the address holds 128
//! random bits and works once; the cookie is random bytes with their proof under a secret of this database. Failure: a person
//! who opens a used address is told so, and finds a new address in the terminal, where the server has printed it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use channels::MemoryMailbox;
use domain::base::ids::Entropy;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use store::{Store, StoreError};
use subtle::ConstantTimeEq;
use tokio::sync::watch;
use url::Url;

use super::language::in_languages;
use super::view::{Leads, Page, STYLESHEET, line};
use super::{Pages, host_with_port};
use crate::config::is_loopback;
use crate::edge::shared::Shared;
use crate::worker::deliveries::Deliveries;

/// The name of the secret in the database that proves the cookies of development mode; the secret is used for nothing else.
const DEVELOPMENT_SECRET: &str = "development-cookie";
/// The domain separation prefix of the proofs: a proof made with another prefix is not valid here.
const PROOF_DOMAIN: &[u8] = b"placet.development.v1";
/// The beginning of the message id of a mail with a login link.
pub(super) const LOGIN_PREFIX: &str = "login-";
/// The random bytes of a cookie, and of an address.
const RANDOM_BYTES: usize = 16;
/// How many used addresses are remembered, so that a second use can be explained.
const USED_MAX: usize = 16;

/// Everything that the pages of development mode need: the mailbox, the renderer of mails, and the secrets that decide which
/// browser may see them.
pub(crate) struct Development {
    pub(crate) mailbox: MemoryMailbox,
    /// Renders mails anew that were sent before this process began.
    pub(crate) deliveries: Arc<Deliveries>,
    secret: [u8; 32],
    /// Whether the public URL is a loopback address, so that the server is reached from this machine alone.
    at_home: bool,
    doors: Mutex<Doors>,
    /// The present address that lets a browser in, for the task that prints it.
    address: watch::Sender<String>,
}

/// The secret last parts of addresses: the part of the present address, which lets one browser in, and the parts of used
/// addresses.
struct Doors {
    open: String,
    used: VecDeque<String>,
}

/// The result of trying an address.
enum Door {
    Opened,
    Used,
    Unknown,
}

struct UsedPage {
    page: Page,
}

in_languages!(UsedPage, "used.html");

impl Development {
    /// The development mode, if the server has a mailbox.
    ///
    /// # Errors
    ///
    /// The secret of the mailbox cannot be read.
    pub(crate) async fn begin(
        mailbox: Option<&MemoryMailbox>,
        deliveries: &Arc<Deliveries>,
        store: &dyn Store,
        (public_url, entropy): (&Url, &dyn Entropy),
    ) -> Result<Option<Self>, StoreError> {
        let Some(mailbox) = mailbox.cloned() else { return Ok(None) };
        let secret = store.secret(DEVELOPMENT_SECRET).await?;
        let open = random(entropy);
        let address = watch::Sender::new(address(public_url, &open));
        let at_home = is_loopback(public_url);
        let (deliveries, doors) = (deliveries.clone(), Mutex::new(Doors { open, used: VecDeque::new() }));
        Ok(Some(Self { mailbox, deliveries, secret, at_home, doors, address }))
    }

    /// The present address that lets a browser in; once it has been used, another replaces it.
    pub(crate) fn address(&self) -> watch::Receiver<String> {
        self.address.subscribe()
    }

    /// Compares the secret part of an address with the known ones, each in constant time. The present address lets one browser
    /// in.
    fn enter(&self, secret: &str, public_url: &Url, entropy: &dyn Entropy) -> Door {
        let is = |known: &String| bool::from(secret.as_bytes().ct_eq(known.as_bytes()));
        // A poisoned lock can be used, because nothing below can panic between the writes to `doors`.
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if doors.used.iter().any(is) {
            return Door::Used;
        }
        if !is(&doors.open) {
            return Door::Unknown;
        }
        let used = std::mem::replace(&mut doors.open, random(entropy));
        doors.used.truncate(USED_MAX - 1);
        doors.used.push_front(used);
        self.address.send_replace(address(public_url, &doors.open));
        Door::Opened
    }

    fn mac(&self, random: &[u8]) -> Hmac<Sha256> {
        // Unwrap safety: HMAC takes a key of any length.
        let mac = Hmac::<Sha256>::new_from_slice(&self.secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
        mac.chain_update(PROOF_DOMAIN).chain_update(random)
    }

    /// The value of a new cookie.
    fn mint(&self, entropy: &dyn Entropy) -> String {
        let mut bytes = vec![0; RANDOM_BYTES];
        entropy.fill(&mut bytes);
        let proof = self.mac(&bytes).finalize().into_bytes();
        bytes.extend_from_slice(&proof);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn is_ours(&self, cookie: &str) -> bool {
        let bytes = URL_SAFE_NO_PAD.decode(cookie).unwrap_or_default();
        let split = bytes.split_at_checked(RANDOM_BYTES);
        split.is_some_and(|(random, proof)| self.mac(random).verify_slice(proof).is_ok())
    }
}

/// The browser that was let in, with the origin of its request.
pub(super) struct Holder<'a> {
    pub(super) development: &'a Development,
    /// Ties a form to this browser.
    pub(super) cookie: String,
    /// The origin under which the browser knows this server.
    pub(super) origin: String,
}

impl Pages {
    /// The parts that every page has, for a page that names no person.
    pub(super) fn plain(&self) -> Page {
        Page { host: self.host(), answering_as: None, leads: Leads::Nowhere, manner: self.manner() }
    }

    /// Development mode, and the origin of the request. `None` if the request did not come under our own name: a foreign name
    /// that leads here may be an attack by DNS rebinding.
    fn development(&self, request: &HttpRequest) -> Option<(&Development, String)> {
        let development = self.development.as_ref()?;
        let host = request.headers().get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
        let ours = host == host_with_port(&self.public_url) || development.at_home && is_loopback_host(host);
        ours.then(|| (development, format!("{}://{host}", self.public_url.scheme())))
    }

    /// Development mode, for a browser that holds its cookie.
    pub(super) fn holder(&self, request: &HttpRequest) -> Option<Holder<'_>> {
        let (development, origin) = self.development(request)?;
        let cookie = request.cookie(&self.development_cookie())?.value().to_owned();
        development.is_ours(&cookie).then_some(Holder { development, cookie, origin })
    }

    /// The name of the cookie. It holds the port, because browsers do not keep cookies apart by port, and two servers on one
    /// machine must not overwrite each other's cookie.
    fn development_cookie(&self) -> String {
        format!("development-{}", self.public_url.port_or_known_default().unwrap_or_default())
    }
}

/// Gives the cookie to the browser that opens the address first.
pub(super) async fn enter(request: HttpRequest, secret: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let Some((development, _)) = pages.development(&request) else { return not_here() };
    // A browser that is already in goes on, and does not use up the address.
    if pages.holder(&request).is_some() {
        return home();
    }
    match development.enter(&secret, &pages.public_url, &*shared.entropy) {
        Door::Unknown => not_here(),
        Door::Used => pages.page(StatusCode::GONE, UsedPage { page: pages.plain() }.render()),
        Door::Opened => {
            tracing::info!("a browser was let in to the pages of development mode");
            let cookie = Cookie::build(pages.development_cookie(), development.mint(&*shared.entropy))
                .path("/")
                .http_only(true)
                .secure(pages.is_https())
                .same_site(SameSite::Lax)
                .finish();
            let mut response = home();
            if let Err(error) = response.add_cookie(&cookie) {
                tracing::error!(error = %error, "failed to set the cookie of development mode");
            }
            response
        }
    }
}

/// Redirects to the first page.
pub(super) fn home() -> HttpResponse {
    HttpResponse::SeeOther().insert_header(("location", "/")).insert_header(("cache-control", "no-store")).finish()
}

pub(super) fn not_here() -> HttpResponse {
    HttpResponse::NotFound().content_type("text/plain").insert_header(("cache-control", "no-store")).body("not found\n")
}

fn random(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; RANDOM_BYTES];
    entropy.fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn address(public_url: &Url, secret: &str) -> String {
    format!("{public_url}dev/{secret}")
}

fn is_loopback_host(host: &str) -> bool {
    Url::parse(&format!("http://{host}")).is_ok_and(|url| is_loopback(&url))
}
