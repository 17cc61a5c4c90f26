//! The mailbox of development mode: what would have been sent, behind a path only the terminal shows.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use channels::StoredMail;
use subtle::ConstantTimeEq;
use url::Host;

use super::view::{Page, STYLESHEET, line};
use super::{DevelopmentMailbox, Pages, host_with_port};

/// A mail may style itself inline and do nothing else.
const MAIL_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

#[derive(Template)]
#[template(path = "mailbox.html")]
struct MailboxPage {
    page: Page,
    base: String,
    mails: Vec<Row>,
}

struct Row {
    id: String,
    subject: String,
    to: String,
    sent_at: String,
}

#[derive(Template)]
#[template(path = "mail.html")]
struct MailPage<'a> {
    page: Page,
    base: String,
    mail: &'a StoredMail,
    id: String,
    before_link: &'a str,
    link: &'a str,
    after_link: &'a str,
}

/// Lists the mails, newest first.
pub(super) async fn list(request: HttpRequest, secret: Path<String>, pages: Data<Pages>) -> HttpResponse {
    let Some(development) = pages.development(&request, &secret) else { return not_here() };
    let mails = development.mailbox.messages();
    let mails = mails.iter().map(|mail| Row {
        id: mail.message_id.clone(),
        subject: mail.subject.clone(),
        to: mail.to.clone(),
        sent_at: mail.sent_at.format("%H:%M:%S UTC").to_string(),
    });
    let page = MailboxPage { page: pages.plain(), base: development.base(), mails: mails.collect() };
    pages.page(StatusCode::OK, page.render())
}

/// Shows one mail as its text part.
pub(super) async fn text(request: HttpRequest, path: Path<(String, String)>, pages: Data<Pages>) -> HttpResponse {
    let (secret, id) = path.into_inner();
    let Some(development) = pages.development(&request, &secret) else { return not_here() };
    let Some(mail) = development.mailbox.get(&id) else { return not_here() };
    let prefix = format!("{}a/", pages.public_url);
    let (before_link, link, after_link) = around_link(&mail.text, &prefix);
    let page = MailPage { page: pages.plain(), base: development.base(), mail: &mail, id, before_link, link, after_link };
    pages.page(StatusCode::OK, page.render())
}

/// Shows one mail as its HTML part, as a mail program would.
pub(super) async fn html(request: HttpRequest, path: Path<(String, String)>, pages: Data<Pages>) -> HttpResponse {
    let (secret, id) = path.into_inner();
    let mail = pages.development(&request, &secret).and_then(|development| development.mailbox.get(&id));
    let Some(mail) = mail else { return not_here() };
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header(("content-security-policy", MAIL_POLICY))
        .insert_header(("cache-control", "no-store"))
        .insert_header(("referrer-policy", "same-origin"))
        .body(mail.html.clone())
}

impl Pages {
    fn plain(&self) -> Page {
        Page { host: self.host(), answering_as: None }
    }

    /// The mailbox, for who knows the path and came under our own name: a foreign name that leads here is a rebinding attack.
    fn development(&self, request: &HttpRequest, secret: &str) -> Option<&DevelopmentMailbox> {
        let development = self.mailbox.as_ref()?;
        let knows: bool = secret.as_bytes().ct_eq(development.secret_path.as_bytes()).into();
        let host = request.headers().get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
        (knows && (host == host_with_port(&self.public_url) || is_loopback_host(host))).then_some(development)
    }
}

impl DevelopmentMailbox {
    /// The path of the mailbox.
    pub(crate) fn base(&self) -> String {
        format!("/dev/{}/mailbox", self.secret_path)
    }
}

fn is_loopback_host(host: &str) -> bool {
    let url = url::Url::parse(&format!("http://{host}"));
    url.is_ok_and(|url| match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    })
}

fn not_here() -> HttpResponse {
    HttpResponse::NotFound().content_type("text/plain").body("not found\n")
}

/// Splits a text at its first answer link, so that the page can make that one clickable.
fn around_link<'a>(text: &'a str, prefix: &str) -> (&'a str, &'a str, &'a str) {
    let Some(start) = text.find(prefix) else { return (text, "", "") };
    let end = text[start..].find(char::is_whitespace).map_or(text.len(), |length| start + length);
    (&text[..start], &text[start..end], &text[end..])
}
