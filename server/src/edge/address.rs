//! The server's address as people read it.

use url::Url;

/// `placet.example.com`, or `127.0.0.1:7420`.
pub(crate) fn host_with_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
