//! Posts signed messages to one address on the internet.
//!
//! Guarantee: a message keeps its id over all tries, is signed, and goes to an address that was checked just before. Whatever the
//! endpoint does, one try costs at most [`TOTAL_TIMEOUT`] and a few kilobytes. Mechanism: one connection per try, to addresses
//! that a filter accepts, no redirects, no proxies, no cookies, no decompression; only the status of the response counts.

use std::error::Error as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{RequestBuilder, Response, StatusCode, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use url::{Host, Url};

use super::WebhookSettingsError;
use super::address::AddressFilter;
use super::payload::PAYLOAD_BYTES_MAX;
use super::resolver::{GuardedResolver, Lookup, Unresolved};
use super::signature::{SigningKey, signatures};
use crate::DeliveryError;

/// How long connecting may take, including encryption.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a whole try may take.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(15);
/// The largest message of another protocol: a question with its answers, and what the person wrote.
const ITEM_BYTES_MAX: usize = 512 * 1024;
/// How many bytes of a response are read before the connection is closed, so that an endpoint can finish an ordinary response.
const RESPONSE_BYTES_MAX: usize = 16 * 1024;
/// How long reading the response may take; the result is already known from the status.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest pause that an endpoint may ask for, which is also the longest pause between two tries.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);
const USER_AGENT: &str = concat!("placet/", env!("CARGO_PKG_VERSION"));

/// One address to which messages are posted.
pub(super) struct Endpoint {
    pub(super) url: Url,
    pub(super) keys: Vec<SigningKey>,
    pub(super) resolver: GuardedResolver,
    pub(super) client: reqwest::Client,
}

impl Endpoint {
    /// An endpoint at a URL that [`usable`] returned with the same filter; nothing is connected yet.
    pub(super) fn new(
        url: Url,
        keys: Vec<SigningKey>,
        filter: AddressFilter,
        timeout: Duration,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, WebhookSettingsError> {
        let port = url.port_or_known_default().ok_or(WebhookSettingsError::Url("names no port"))?;
        let resolver = GuardedResolver { lookup, filter: Arc::new(filter), port };
        let client = client(&resolver, url.scheme() == "https", timeout)?;
        Ok(Self { url, keys, resolver, client })
    }

    /// The endpoint's host, and the addresses to which a message would go now.
    pub(super) async fn addresses(&self) -> Result<(String, Vec<SocketAddr>), Unresolved> {
        let host = self.url.host_str().unwrap_or_default().to_owned();
        let literal = match self.url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(name)) => return Ok((host.clone(), self.resolver.addresses(name).await?)),
            None => return Err(Unresolved::Unknown(host)),
        };
        // The HTTP client does not ask the resolver about literal addresses, so they are checked here.
        let address = SocketAddr::new(literal, self.resolver.port);
        match self.resolver.filter.check(address) {
            Ok(()) => Ok((host, vec![address])),
            Err(refusal) => Err(Unresolved::Refused { host, refusal }),
        }
    }

    /// Checks an address that stands in the URL itself, about which the HTTP client does not ask the resolver.
    pub(super) async fn check_literal(&self) -> Result<(), DeliveryError> {
        if !matches!(self.url.host(), Some(Host::Domain(_))) {
            self.addresses().await.map_err(|error| DeliveryError::retry(&error.to_string()))?;
        }
        Ok(())
    }

    /// Posts a message, signed at `timestamp`, in seconds since 1970. The id stays the same over all tries.
    pub(super) async fn post(&self, id: &str, timestamp: i64, body: Vec<u8>) -> Result<StatusCode, DeliveryError> {
        if body.len() > PAYLOAD_BYTES_MAX {
            return Err(DeliveryError::permanent("the message is larger than 20 KB"));
        }
        self.check_literal().await?;
        let request = self.client.post(self.url.clone()).header("webhook-id", id);
        let request = request.header("webhook-timestamp", timestamp);
        let request = request.header("webhook-signature", signatures(&self.keys, id, timestamp, &body));
        send(request, body).await
    }

    /// Posts a message of another protocol with these headers, which are secrets.
    pub(super) async fn post_as(
        &self,
        headers: Vec<(&'static str, HeaderValue)>,
        body: Vec<u8>,
    ) -> Result<StatusCode, DeliveryError> {
        if body.len() > ITEM_BYTES_MAX {
            return Err(DeliveryError::permanent("the message is larger than 512 KiB"));
        }
        self.check_literal().await?;
        let mut request = self.client.post(self.url.clone());
        for (name, mut value) in headers {
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        send(request, body).await
    }
}

/// Sends a message of JSON. Only the status of the response counts.
async fn send(request: RequestBuilder, body: Vec<u8>) -> Result<StatusCode, DeliveryError> {
    let request = request.header(CONTENT_TYPE, "application/json").body(body);
    let response = request.send().await.map_err(|error| DeliveryError::retry(&why(&error)))?;
    let verdict = verdict(&response);
    finish(response).await;
    verdict
}

/// Reads a URL, and refuses one that a webhook may not have.
pub(super) fn usable(text: &SecretString, filter: &AddressFilter) -> Result<Url, WebhookSettingsError> {
    let refused = |why| Err(WebhookSettingsError::Url(why));
    if !domain::base::login::is_plain(text.expose_secret()) {
        return refused("must contain no user name and no password (requests are signed instead); write an @ elsewhere as %40");
    }
    let Ok(url) = Url::parse(text.expose_secret()) else { return refused("is not a URL") };
    if !matches!(url.scheme(), "http" | "https") {
        return refused("must begin with https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("must contain no user name and no password; requests are signed instead");
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

/// Whether the host in a URL is this machine by its name or its address alone; the name is not resolved.
pub(super) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

pub(super) fn client(
    resolver: &GuardedResolver,
    https_only: bool,
    timeout: Duration,
) -> Result<reqwest::Client, WebhookSettingsError> {
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

/// The number of seconds in `Retry-After`. A date in this header is ignored: it would need a clock that agrees with the
/// endpoint's.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds: u64 = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

/// Reads the beginning of the body, so that an endpoint can finish an ordinary response; the contents do not count.
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
pub(super) fn why(error: &reqwest::Error) -> String {
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
            // `source` of an I/O error skips the error that it wraps, so the search goes on with the wrapped error.
            cause = io.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static)).or(cause);
        }
    }
    if error.is_timeout() {
        return if error.is_connect() { "there was no connection in time" } else { "the endpoint did not answer in time" }
            .to_owned();
    }
    last.unwrap_or_else(|| "the endpoint sent no usable response".to_owned())
}
