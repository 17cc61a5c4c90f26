//! Tells an HTTP endpoint that a question was asked (Standard Webhooks 1.0).
//!
//! Guarantee: a message keeps its id over all tries, is signed, and goes to an address that was checked just before. Whatever the
//! endpoint does, it costs at most [`TOTAL_TIMEOUT`] and a few kilobytes. Mechanism: one connection per try, to addresses that a
//! filter accepts, no redirects, no proxies, no cookies, no decompression; only the status of the response counts.

mod address;
mod payload;
mod resolver;
mod signature;

use std::error::Error as _;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ipnet::IpNet;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode, redirect};
use secrecy::SecretString;
use url::{Host, Url};

use self::address::AddressFilter;
pub use self::address::Refusal;
pub use self::payload::Template;
use self::payload::{PAYLOAD_BYTES_MAX, payload};
pub use self::resolver::Unresolved;
use self::resolver::{GuardedResolver, Lookup, SystemLookup};
use self::signature::{SigningKey, signatures};
use crate::compose::NO_PLAIN_ADDRESS;
use crate::{Channel, DeliveryError, Message, Receipt};

/// How long connecting may take, including encryption.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a whole try may take.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(15);
/// How many bytes of a response are read, so that an endpoint with a long answer is not cut off in the middle of a sentence.
const RESPONSE_BYTES_MAX: usize = 16 * 1024;
/// How long reading the response may take; the result is already known from the status.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest pause that an endpoint may ask for, which is also the longest pause between two tries.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);
const USER_AGENT: &str = concat!("placet/", env!("CARGO_PKG_VERSION"));

/// The settings of a webhook channel.
#[derive(Clone)]
pub struct WebhookSettings {
    /// The name of the channel.
    pub name: String,
    /// The URL that messages are sent to. Its path may be a secret, so it is never shown.
    pub url: SecretString,
    /// `whsec_` and base64 of 24 to 64 bytes.
    pub secret: SecretString,
    /// The previous secret, while receivers change over.
    pub previous_secret: Option<SecretString>,
    /// Subnets off the public internet in which the endpoint may be, and in which it may use any port.
    pub allow_subnets: Vec<IpNet>,
    /// Whether the endpoint passes answer links on to people.
    pub links: bool,
    /// The form of the body.
    pub template: Template,
    /// The limit of one try, usually [`TOTAL_TIMEOUT`].
    pub timeout: Duration,
}

impl WebhookSettings {
    /// Checks the settings as far as possible without a network; returns whether the endpoint is on this machine.
    ///
    /// # Errors
    ///
    /// The first setting that cannot be used.
    pub fn check(&self) -> Result<bool, WebhookSettingsError> {
        self.keys()?;
        let url = endpoint(&self.url, &AddressFilter { allowed: self.allow_subnets.clone(), own: Vec::new() })?;
        Ok(is_this_machine(&url))
    }

    fn keys(&self) -> Result<Vec<SigningKey>, WebhookSettingsError> {
        let key = |name, secret| SigningKey::parse(secret).ok_or(WebhookSettingsError::Secret(name));
        let mut keys = vec![key("secret", &self.secret)?];
        if let Some(previous) = &self.previous_secret {
            keys.push(key("previous_secret", previous)?);
        }
        Ok(keys)
    }
}

/// `Debug` leaves out everything that may be a secret.
impl fmt::Debug for WebhookSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSettings")
            .field("name", &self.name)
            .field("allow_subnets", &self.allow_subnets)
            .field("links", &self.links)
            .field("template", &self.template)
            .finish_non_exhaustive()
    }
}

/// Why settings cannot be used; the text is a fragment that names no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookSettingsError {
    /// The URL cannot be used.
    #[error("url {0}")]
    Url(&'static str),
    /// The address in the URL is refused.
    #[error("url leads to an address that is refused: {0}")]
    Address(#[from] Refusal),
    /// The secret of this name cannot be used.
    #[error("{0} must be whsec_ and base64 of 24 to 64 bytes; make one with: echo whsec_$(openssl rand -base64 32)")]
    Secret(&'static str),
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be made: {0}")]
    Client(String),
}

/// Posts questions to one endpoint.
pub struct WebhookChannel {
    name: String,
    url: Url,
    keys: Vec<SigningKey>,
    links: bool,
    template: Template,
    resolver: GuardedResolver,
    client: reqwest::Client,
}

impl WebhookChannel {
    /// Checks the settings; nothing is connected yet. `own` holds the addresses on which the server listens.
    pub fn new(settings: &WebhookSettings, own: &[SocketAddr]) -> Result<Self, WebhookSettingsError> {
        Self::with_lookup(settings, own, Arc::new(SystemLookup))
    }

    fn with_lookup(
        settings: &WebhookSettings,
        own: &[SocketAddr],
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, WebhookSettingsError> {
        let filter = AddressFilter { allowed: settings.allow_subnets.clone(), own: own.to_vec() };
        let url = endpoint(&settings.url, &filter)?;
        let port = url.port_or_known_default().ok_or(WebhookSettingsError::Url("names no port"))?;
        let keys = settings.keys()?;
        let resolver = GuardedResolver { lookup, filter: Arc::new(filter), port };
        let client = client(&resolver, url.scheme() == "https", settings.timeout)?;
        let (name, links, template) = (settings.name.clone(), settings.links, settings.template);
        Ok(Self { name, url, keys, links, template, resolver, client })
    }

    /// Resolves the endpoint's host, as a delivery does, and sends nothing. Returns the host and its addresses.
    pub async fn check(&self) -> Result<(String, Vec<IpAddr>), Unresolved> {
        let (host, addresses) = self.addresses().await?;
        Ok((host, addresses.into_iter().map(|address| address.ip()).collect()))
    }

    async fn addresses(&self) -> Result<(String, Vec<SocketAddr>), Unresolved> {
        let host = self.url.host_str().unwrap_or_default().to_owned();
        let literal = match self.url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(name)) => return Ok((host.clone(), self.resolver.addresses(name).await?)),
            None => return Err(Unresolved::Unknown(host)),
        };
        // The HTTP client does not ask the resolver about literal addresses.
        let address = SocketAddr::new(literal, self.resolver.port);
        match self.resolver.filter.check(address) {
            Ok(()) => Ok((host, vec![address])),
            Err(refusal) => Err(Unresolved::Refused { host, refusal }),
        }
    }

    async fn post(&self, message: &Message) -> Result<StatusCode, DeliveryError> {
        // An endpoint that delivers to people may send a mail to the recipient. The name of an audience is no address.
        if message.recipient.contains('@') && domain::base::address::exact(&message.recipient).is_none() {
            return Err(DeliveryError::permanent(NO_PLAIN_ADDRESS));
        }
        let body = payload(message, self.template, self.links).map_err(|_| DeliveryError::permanent("the message is no JSON"))?;
        if body.len() > PAYLOAD_BYTES_MAX {
            return Err(DeliveryError::permanent("the message is larger than 20 KB"));
        }
        if !matches!(self.url.host(), Some(Host::Domain(_))) {
            self.addresses().await.map_err(|error| DeliveryError::retry(&error.to_string()))?;
        }
        let id = message.delivery_id.to_string();
        let timestamp = message.sent_at.timestamp();
        let request = self.client.post(self.url.clone());
        let request = request.header(CONTENT_TYPE, "application/json").header("webhook-id", &id);
        let request = request.header("webhook-timestamp", timestamp);
        let request = request.header("webhook-signature", signatures(&self.keys, &id, timestamp, &body));
        let response = request.body(body).send().await.map_err(|error| DeliveryError::retry(&why(&error)))?;
        let verdict = verdict(&response);
        finish(response).await;
        verdict
    }
}

#[async_trait]
impl Channel for WebhookChannel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn deliver(&self, message: &Message) -> Result<Receipt, DeliveryError> {
        let status = self.post(message).await?;
        Ok(Receipt::new(&format!("status {}", status.as_u16())))
    }
}

/// Reads a URL, and refuses one that a webhook may not have.
fn endpoint(text: &SecretString, filter: &AddressFilter) -> Result<Url, WebhookSettingsError> {
    use secrecy::ExposeSecret as _;
    let refused = |why| Err(WebhookSettingsError::Url(why));
    if !domain::base::login::is_plain(text.expose_secret()) {
        return refused("must hold no user and no password (requests are signed), and an @ elsewhere is written %40");
    }
    let Ok(url) = Url::parse(text.expose_secret()) else { return refused("is not a URL") };
    if !matches!(url.scheme(), "http" | "https") {
        return refused("must begin with https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("must hold no user and no password; requests are signed");
    }
    if url.fragment().is_some() {
        return refused("must have no #fragment");
    }
    let port = url.port_or_known_default().unwrap_or_default();
    match url.host() {
        Some(Host::Domain(name)) if name.ends_with('.') => return refused("must name its host without a dot at the end"),
        Some(Host::Domain(_)) => {}
        Some(Host::Ipv4(address)) => filter.check(SocketAddr::new(IpAddr::V4(address), port))?,
        Some(Host::Ipv6(address)) => filter.check(SocketAddr::new(IpAddr::V6(address), port))?,
        None => return refused("names no host"),
    }
    let is_this_machine = is_this_machine(&url);
    if url.scheme() == "http" && !is_this_machine {
        return refused("must begin with https://; http:// is for this machine only");
    }
    let opens_loopback = filter.allows(Ipv4Addr::LOCALHOST.into()) || filter.allows(Ipv6Addr::LOCALHOST.into());
    if is_this_machine && !opens_loopback {
        return refused("leads to this machine; open it with allow_subnets = [\"127.0.0.0/8\"]");
    }
    Ok(url)
}

/// Whether a URL names this machine, whatever a resolver may answer.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn client(resolver: &GuardedResolver, https_only: bool, timeout: Duration) -> Result<reqwest::Client, WebhookSettingsError> {
    if rustls::crypto::CryptoProvider::get_default().is_none()
        && rustls::crypto::ring::default_provider().install_default().is_err()
    {
        tracing::debug!("another thread has just provided TLS with cryptography; using that");
    }
    reqwest::Client::builder()
        .dns_resolver(resolver.clone())
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .https_only(https_only)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(timeout)
        // A connection that is kept open would outlive the check of its address.
        .pool_max_idle_per_host(0)
        .user_agent(USER_AGENT)
        .build()
        .map_err(|error| WebhookSettingsError::Client(error.without_url().to_string()))
}

/// Only 2xx is a success, and only 410 is final: every other failure may be mended at the endpoint.
fn verdict(response: &Response) -> Result<StatusCode, DeliveryError> {
    let status = response.status();
    let number = status.as_u16();
    if status.is_success() {
        return Ok(status);
    }
    if status == StatusCode::GONE {
        return Err(DeliveryError::gone("status 410: the endpoint says it is gone"));
    }
    let waits = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let after = waits.then(|| retry_after(response)).flatten();
    let what = if status.is_redirection() { "; redirections are not followed" } else { "" };
    Err(DeliveryError::retry_after(&format!("status {number}{what}"), after))
}

/// The number of seconds in `Retry-After`; a date would need a clock that agrees with the endpoint's.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds: u64 = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

/// Reads a little of the body, out of politeness; its contents do not count.
async fn finish(mut response: Response) {
    let read = async {
        let mut bytes = 0;
        while let Ok(Some(chunk)) = response.chunk().await {
            bytes += chunk.len();
            if bytes >= RESPONSE_BYTES_MAX {
                break;
            }
        }
    };
    if tokio::time::timeout(RESPONSE_TIMEOUT, read).await.is_err() {
        tracing::debug!("the rest of a response was not waited for");
    }
}

/// Why there was no response, without the URL, whose path may be a secret.
fn why(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut last = None;
    while let Some(this) = cause {
        if let Some(unresolved) = this.downcast_ref::<Unresolved>() {
            return unresolved.to_string();
        }
        if let Some(tls) = this.downcast_ref::<rustls::Error>() {
            return format!("the connection cannot be encrypted: {tls}");
        }
        last = Some(this.to_string());
        cause = this.source();
        if let Some(io) = this.downcast_ref::<io::Error>() {
            if io.kind() == io::ErrorKind::ConnectionRefused {
                return "the connection was refused".to_owned();
            }
            // An I/O error stands for the error it wraps, and its `source` skips that error.
            cause = io.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static)).or(cause);
        }
    }
    if error.is_timeout() {
        return if error.is_connect() { "there was no connection in time" } else { "the endpoint did not answer in time" }
            .to_owned();
    }
    last.unwrap_or_else(|| "the endpoint sent no usable response".to_owned())
}

#[cfg(test)]
mod tests;
