//! `ScannerSim`: a mail scanner, which visits every link of a mail before, and again after, a person does.
//!
//! It reads and never presses: GET, HEAD and OPTIONS, redirects followed, cookies kept, every round from another address. No
//! request of it may decide a question.

#![expect(clippy::missing_panics_doc, reason = "a harness reports by panicking: the test that called it fails")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Method, Response, StatusCode, Url};

/// Longest chain of redirects a scanner follows.
const HOPS_MAX: usize = 10;
/// Most rounds: each takes one more loopback address.
pub const ROUNDS_MAX: u8 = 100;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// One request of the scanner and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// GET, HEAD or OPTIONS.
    pub method: Method,
    /// The requested address, redirects included.
    pub url: Url,
    /// The status of the answer.
    pub status: StatusCode,
}

/// A mail scanner with its cookies.
#[derive(Debug, Default)]
pub struct ScannerSim {
    /// The cookies by host and port, then by name. Their paths are not kept, because a scanner that keeps cookies does not have
    /// to respect their paths.
    cookies: BTreeMap<String, BTreeMap<String, String>>,
}

impl ScannerSim {
    /// A scanner without cookies.
    pub fn new() -> Self {
        Self::default()
    }

    /// Visits every URL with GET, HEAD and OPTIONS, `rounds` times; returns every request it made, in order.
    pub async fn scan(&mut self, urls: &[String], rounds: u8) -> Vec<Visit> {
        assert!(rounds <= ROUNDS_MAX, "a scan has at most {ROUNDS_MAX} rounds");
        let mut visits = Vec::new();
        for round in 1..=rounds {
            let client = scanner_client(round);
            for url in urls {
                let url = Url::parse(url).unwrap_or_else(|error| panic!("{url} is no URL: {error}"));
                for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
                    self.follow(&client, method, url.clone(), &mut visits).await;
                }
            }
        }
        visits
    }

    async fn follow(&mut self, client: &Client, method: Method, url: Url, visits: &mut Vec<Visit>) {
        let mut next = Some((method, url));
        for _ in 0..HOPS_MAX {
            let Some((method, url)) = next.take() else {
                return;
            };
            let mut request = client.request(method.clone(), url.clone());
            if let Some(cookies) = self.cookie_header(&url) {
                request = request.header(COOKIE, cookies);
            }
            let response = request.send().await.unwrap_or_else(|error| panic!("failed to {method} {url}: {error}"));
            self.keep_cookies(&response);
            visits.push(Visit { method: method.clone(), url, status: response.status() });
            next = redirect(&response, method);
            // Read to the end, as a scanner does, because it wants the page.
            response.bytes().await.unwrap_or_else(|error| panic!("failed to read a page: {error}"));
        }
    }

    fn cookie_header(&self, url: &Url) -> Option<String> {
        let cookies = self.cookies.get(url.authority())?;
        let pairs: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    fn keep_cookies(&mut self, response: &Response) {
        let cookies = self.cookies.entry(response.url().authority().to_owned()).or_default();
        for header in response.headers().get_all(SET_COOKIE) {
            let header = header.to_str().expect("a cookie is ASCII");
            let (pair, attributes) = header.split_once(';').unwrap_or((header, ""));
            let (name, value) = pair.split_once('=').expect("a cookie has a name and a value");
            if attributes.split(';').any(|attribute| attribute.trim().eq_ignore_ascii_case("max-age=0")) {
                cookies.remove(name.trim());
            } else {
                cookies.insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
    }
}

/// The address to which a response redirects, and the method (RFC 9110 §15.4).
fn redirect(response: &Response, method: Method) -> Option<(Method, Url)> {
    let location = response.headers().get(LOCATION).filter(|_| response.status().is_redirection())?;
    let location = location.to_str().expect("a Location header is ASCII");
    let url = response.url().join(location).unwrap_or_else(|error| panic!("{location} leads nowhere: {error}"));
    let method = match response.status() {
        StatusCode::SEE_OTHER if method != Method::HEAD => Method::GET,
        _ => method,
    };
    Some((method, url))
}

fn scanner_client(round: u8) -> Client {
    let builder = http_client_builder()
        .redirect(Policy::none()) // Followed by hand: every hop is a visit and may set a cookie.
        .timeout(REQUEST_TIMEOUT)
        .user_agent("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36"); // Scanners pass for browsers.
    // Linux answers on all of 127.0.0.0/8; elsewhere every round comes from the same address.
    let builder =
        if cfg!(target_os = "linux") { builder.local_address(IpAddr::V4(Ipv4Addr::new(127, 0, 1, round))) } else { builder };
    builder.build().expect("failed to build a client")
}

/// The start of every client in the harness: no proxy from the environment, and a TLS provider.
///
/// reqwest without a provider of its own panics when a client is built, even a client for plain http only. The harness speaks plain
/// http only, so its clients trust no certificate: reading the system's certificates takes 20 ms, and tests make thousands of clients.
pub fn http_client_builder() -> ClientBuilder {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another test may install it first: it is the same provider, so losing that race does no harm.
        rustls::crypto::ring::default_provider().install_default().ok();
    }
    Client::builder().no_proxy().tls_certs_only([])
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers `requests` requests: `/` sets a cookie and leads to `/page`. Returns the requests, their senders and their
    /// cookies.
    async fn serve(listener: TcpListener, requests: usize) -> Vec<(String, IpAddr, String)> {
        let mut seen = Vec::new();
        for _ in 0..requests {
            let (stream, peer) = listener.accept().await.unwrap();
            let mut stream = BufStream::new(stream);
            let (mut request, mut cookies, mut line) = (String::new(), String::new(), String::new());
            while line != "\r\n" {
                line.clear();
                stream.read_line(&mut line).await.unwrap();
                if request.is_empty() {
                    request = line.replace(" HTTP/1.1\r\n", "");
                }
                if let Some(value) = line.strip_prefix("cookie: ") {
                    cookies = value.trim().to_owned();
                }
            }
            let answer = if request.ends_with(" /") {
                "303 See Other\r\nset-cookie: a=1; HttpOnly\r\nset-cookie: gone=; Max-Age=0\r\nlocation: /page"
            } else {
                "200 OK"
            };
            let answer = format!("HTTP/1.1 {answer}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            seen.push((request, peer.ip(), cookies));
        }
        seen
    }

    #[tokio::test]
    async fn a_scanner_asks_three_ways_follows_redirects_keeps_cookies_and_comes_from_elsewhere() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let mut scanner = ScannerSim::new();
        let urls = [url];
        let (visits, seen) = tokio::join!(scanner.scan(&urls, 2), serve(listener, 12));

        let visits: Vec<String> =
            visits.iter().map(|visit| format!("{} {} {}", visit.method, visit.url.path(), visit.status.as_u16())).collect();
        let round = ["GET / 303", "GET /page 200", "HEAD / 303", "HEAD /page 200", "OPTIONS / 303", "GET /page 200"];
        assert_eq!(visits, [round, round].concat());
        let asked: Vec<String> = seen.iter().map(|(request, _, _)| request.clone()).collect();
        assert_eq!(asked[..6], round.map(|visit| visit[..visit.len() - 4].to_owned()));
        let cookies: Vec<&str> = seen.iter().map(|(_, _, cookies)| cookies.as_str()).collect();
        assert_eq!(cookies[..3], ["", "a=1", "a=1"]);
        assert_eq!(seen[0].1 == seen[6].1, !cfg!(target_os = "linux"), "the second round has its own address");
    }
}
