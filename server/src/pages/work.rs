//! The work around a question (`/a/{token}/work`): which other work waits for the answer, and what holds it up. Opening it decides nothing.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use domain::people::principal::Principal;

use super::Pages;
use super::answer::{opened, see_other};
use super::view::{Around, Page, Trouble};
use crate::edge::admission::Class;
use crate::edge::problem::RETRY_AFTER_SECONDS;
use crate::edge::shared::Shared;

/// Shows the page while the question is open, and then leads back to its outcome: a link is for one question, and not for what becomes of
/// the work afterwards.
pub(super) async fn show(request: HttpRequest, token: Path<String>, shared: Data<Shared>, pages: Data<Pages>) -> HttpResponse {
    if pages.is_under_another_name(&request) {
        return pages.trouble(StatusCode::MISDIRECTED_REQUEST, Trouble::AnotherName);
    }
    let back = format!("/a/{token}");
    let (_, link) = match opened(&token, &shared, &pages).await {
        Ok(found) => found,
        Err(refusal) => return refusal,
    };
    if !link.is_open {
        return see_other(&back);
    }
    let later = || pages.later(RETRY_AFTER_SECONDS, StatusCode::SERVICE_UNAVAILABLE, Trouble::CannotRead, None);
    let Ok(_place) = shared.admission.enter(Class::List).await else { return later() };
    let by = &link.suspension.asked_by;
    let asker = Principal::agent(&by.name, by.owner.clone());
    let Ok(Some(work)) = shared.store.work(asker, link.suspension.intent_id).await else { return later() };
    let page = Page { host: pages.host(), answering_as: Some(link.recipient.clone()) };
    let around = Around::new(page, back, link.waiting, work, link.now);
    pages.page(StatusCode::OK, around.render())
}
