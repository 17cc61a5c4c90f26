//! The requests to the issuer: of bounded size and time, encrypted, without redirections.

use std::pin::Pin;
use std::time::Duration;

use openidconnect::http::Response;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::header::CONTENT_TYPE;
use url::Url;

use crate::config::is_loopback;
use crate::crypto::provide_crypto;

/// How long connecting may take, including encryption.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest response that is read, in bytes.
pub(super) const RESPONSE_BYTES_MAX: usize = 256 * 1024;

/// The client of one issuer.
pub(super) struct Http {
    client: reqwest::Client,
    /// Whether the issuer is on this machine, where its addresses need no encryption.
    at_home: bool,
}

/// Why there is no usable response.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error("the issuer names an address that is not encrypted")]
    Unencrypted,
    #[error("{0}")]
    Request(String),
    #[error("the issuer answers with status {0}")]
    Status(u16),
    #[error("the issuer's answer is larger than {} KB", RESPONSE_BYTES_MAX / 1024)]
    TooLarge,
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        // The innermost cause tells most, and the URL is left out, because a code may be part of it.
        let error = error.without_url();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let timeout = error.is_timeout();
        Self::Request(if timeout { "the issuer does not answer in time".to_owned() } else { cause.to_string() })
    }
}

impl Http {
    /// A client of the issuer at this address.
    pub(super) fn new(issuer: &Url) -> reqwest::Result<Self> {
        provide_crypto();
        let at_home = issuer.scheme() == "http" && is_loopback(issuer);
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .https_only(!at_home)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .user_agent(concat!("placet/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, at_home })
    }

    /// Whether the server may send something to this address, or lead a browser there.
    pub(super) fn may_reach(&self, url: &Url) -> bool {
        url.scheme() == "https" || (self.at_home && url.scheme() == "http" && is_loopback(url))
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        if !self.may_reach(request.url()) {
            return Err(HttpError::Unencrypted);
        }
        let mut response = self.client.execute(request).await?;
        let status = response.status();
        if status.is_redirection() || status.is_server_error() {
            return Err(HttpError::Status(status.as_u16()));
        }
        let mut answer = Response::builder().status(status);
        if let Some(kind) = response.headers().get(CONTENT_TYPE) {
            answer = answer.header(CONTENT_TYPE, kind);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > RESPONSE_BYTES_MAX {
                return Err(HttpError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        answer.body(body).map_err(|error| HttpError::Request(error.to_string()))
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An issuer elsewhere must not be able to lead the server's requests to this machine.
    #[test]
    fn only_an_issuer_on_this_machine_needs_no_encryption() {
        let may = |issuer: &str, url: &str| Http::new(&issuer.parse().unwrap()).unwrap().may_reach(&url.parse().unwrap());
        let (away, home) = ("https://login.example.com", "http://127.0.0.1:9");
        assert!(may(away, "https://login.example.com/token") && may(away, "https://keys.example.net/jwks"));
        assert!(may(home, "http://127.0.0.1:9/token") && may(home, "http://localhost:9/token") && may(home, "https://a.example"));
        for (issuer, url) in [
            (away, "http://login.example.com/token"),
            (away, "http://127.0.0.1:9/token"),
            (away, "ftp://login.example.com"),
            (home, "http://10.0.0.1/token"),
            ("https://127.0.0.1", "http://127.0.0.1"),
        ] {
            assert!(!may(issuer, url), "{issuer} {url}");
        }
    }
}
