//! A person with a browser, without the browser: opens a link, keeps the cookie, sends the form that was shown.

use reqwest::header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Url};

use crate::crawler::http_client_builder;

/// One browser of one person.
#[derive(Clone)]
pub struct Person {
    http: Client,
    /// `name=value; name=value`, as they are sent back.
    pub cookie: Option<String>,
    /// The origin that the browser names when it sends a form.
    pub origin: String,
}

/// A page as it was served.
#[derive(Clone, Debug)]
pub struct Page {
    pub status: u16,
    pub headers: HeaderMap,
    pub html: String,
}

impl Page {
    /// The nonce of the form.
    pub fn nonce(&self) -> String {
        let (_, rest) = self.html.split_once("name=\"nonce\" value=\"").unwrap_or_else(|| panic!("no form: {}", self.html));
        rest.split('"').next().unwrap_or_default().to_owned()
    }

    /// Whether the page asks for an answer.
    pub fn has_form(&self) -> bool {
        self.html.contains("<form")
    }

    /// The first headline, tags removed.
    pub fn heading(&self) -> String {
        let (_, rest) = self.html.split_once("<h1").unwrap_or_else(|| panic!("no headline: {}", self.html));
        let (heading, _) = rest.split_once("</h1>").unwrap();
        let (_, heading) = heading.split_once('>').unwrap();
        let tagless = heading.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        tagless.collect::<String>().trim().to_owned()
    }

    /// A header as text; empty when it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The attributes of the cookie that the page sets.
    pub fn set_cookie(&self) -> Option<&str> {
        self.headers.get(SET_COOKIE).map(|value| value.to_str().unwrap())
    }
}

impl Person {
    /// A person whose browser knows the server as `origin` (a public URL, with or without its last slash).
    pub fn new(origin: &str) -> Self {
        let http = http_client_builder().redirect(Policy::none()).build().unwrap();
        Self { http, cookie: None, origin: origin.trim_end_matches('/').to_owned() }
    }

    /// A request with the cookie, to be finished by the test.
    pub fn request(&self, method: Method, url: &str) -> RequestBuilder {
        let request = self.http.request(method, url);
        match &self.cookie {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        }
    }

    /// A form as a browser sends it from our own page, to be finished by the test.
    pub fn form(&self, url: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        self.bare_form(url, fields).header("origin", &self.origin).header("sec-fetch-site", "same-origin")
    }

    /// A form without any header about its origin.
    pub fn bare_form(&self, url: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let body = Url::parse_with_params("http://form/", fields).unwrap().query().unwrap_or_default().to_owned();
        self.request(Method::POST, url).header("content-type", "application/x-www-form-urlencoded").body(body)
    }

    /// Sends a request and keeps the cookie of the answer.
    pub async fn send(&mut self, request: RequestBuilder) -> Page {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let page = Page { status, headers, html: response.text().await.unwrap() };
        if let Some(cookie) = page.set_cookie() {
            self.keep(cookie);
        }
        page
    }

    /// Keeps a cookie in place of an earlier one of the same name; a cookie without a value goes.
    fn keep(&mut self, set: &str) {
        let pair = set.split(';').next().unwrap_or_default();
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let kept = self.cookie.take().unwrap_or_default();
        let others = kept.split("; ").filter(|other| !other.is_empty() && other.split('=').next() != Some(name));
        let all: Vec<&str> = others.chain((!value.is_empty()).then_some(pair)).collect();
        self.cookie = (!all.is_empty()).then(|| all.join("; "));
    }

    /// Opens a link.
    pub async fn open(&mut self, url: &str) -> Page {
        let request = self.request(Method::GET, url);
        self.send(request).await
    }

    /// Sends a form and stays on the page of the answer: a redirect is not followed.
    pub async fn post(&mut self, url: &str, fields: &[(&str, &str)]) -> Page {
        let request = self.form(url, fields);
        self.send(request).await
    }

    /// Opens the page a redirect leads to.
    pub async fn follow(&mut self, url: &str, page: &Page) -> Page {
        assert_eq!(page.status, 303, "no redirect: {}", page.html);
        let location = page.headers.get(LOCATION).unwrap().to_str().unwrap();
        let url = Url::parse(url).unwrap().join(location).unwrap();
        self.open(url.as_str()).await
    }

    /// Opens a link, answers with `value` and reads the page the answer leads to.
    pub async fn answer(&mut self, url: &str, value: &str) -> Page {
        let nonce = self.open(url).await.nonce();
        let posted = self.post(url, &[("nonce", &nonce), ("value", value)]).await;
        self.follow(url, &posted).await
    }
}
