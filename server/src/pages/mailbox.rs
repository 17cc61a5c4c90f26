//! The mails of development mode, for the browser that was let in.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use channels::StoredMail;
use domain::base::ids::DeliveryId;
use uuid::Uuid;

use super::Pages;
use super::development::{LOGIN_PREFIX, not_here};
use super::language::in_languages;
use super::view::{Page, STYLESHEET, line};
use crate::edge::admission::Class;
use crate::edge::shared::Shared;

/// A mail may style itself inline and do nothing else.
const MAIL_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

struct MailPage<'a> {
    page: Page,
    mail: &'a StoredMail,
    id: String,
    before_link: &'a str,
    link: &'a str,
    after_link: &'a str,
}

in_languages!(MailPage<'_>, "mail.html");

/// Shows one mail as its text part.
pub(super) async fn text(request: HttpRequest, id: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let mail = match pages.mail(&request, &id, &shared).await {
        Ok(mail) => mail,
        Err(refusal) => return refusal,
    };
    let way = if mail.message_id.starts_with(LOGIN_PREFIX) { "login" } else { "a" };
    let prefix = format!("{}{way}/", pages.public_url);
    let (before_link, link, after_link) = around_link(&mail.text, &prefix);
    let page = MailPage { page: pages.plain(), mail: &mail, id: id.into_inner(), before_link, link, after_link };
    pages.page(StatusCode::OK, page.render())
}

/// Shows one mail as its HTML part, as a mail program would.
pub(super) async fn html(request: HttpRequest, id: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let mail = match pages.mail(&request, &id, &shared).await {
        Ok(mail) => mail,
        Err(refusal) => return refusal,
    };
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header(("content-security-policy", MAIL_POLICY))
        .insert_header(("cache-control", "no-store"))
        .insert_header(("referrer-policy", "same-origin"))
        .body(mail.html.clone())
}

impl Pages {
    /// A mail as it was rendered when it left, or, if this process does not remember it, rendered anew with a new link.
    async fn mail(&self, request: &HttpRequest, id: &str, shared: &Shared) -> Result<Arc<StoredMail>, HttpResponse> {
        let development = self.holder(request).ok_or_else(not_here)?.development;
        if let Some(login) = development.mailbox.messages().into_iter().find(|mail| login_of(mail) == Some(id)) {
            return Ok(login);
        }
        let id = Uuid::parse_str(id).map(DeliveryId).map_err(|_| not_here())?;
        if let Some(mail) = development.mailbox.get(&development.deliveries.message_id(id)) {
            return Ok(mail);
        }
        let unreadable = |()| self.cannot_read();
        let _place = shared.admission.enter(Class::Read).await.map_err(|_| unreadable(()))?;
        let letter = shared.store.open_mail(id).await.map_err(|_| unreadable(()))?.ok_or_else(not_here)?;
        development.mailbox.keep(&development.deliveries.message(&letter)).map_err(|error| {
            tracing::error!(delivery.id = %id, error = %error, "failed to render a mail again");
            unreadable(())
        })
    }
}

/// The name of a mail with a login link in the mailbox: the login, and the number of the try. `None` for other mails.
pub(super) fn login_of(mail: &StoredMail) -> Option<&str> {
    mail.message_id.strip_prefix(LOGIN_PREFIX)?.split('@').next()
}

/// Splits a text at its first link of ours, so that the page can make the link clickable.
fn around_link<'a>(text: &'a str, prefix: &str) -> (&'a str, &'a str, &'a str) {
    let Some(start) = text.find(prefix) else { return (text, "", "") };
    let end = text[start..].find(char::is_whitespace).map_or(text.len(), |length| start + length);
    (&text[..start], &text[start..end], &text[end..])
}
