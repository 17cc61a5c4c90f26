//! The work around a question: which other work waits for the answer, and what holds it up. A person opens it from the link
//! (`/a/{token}/work`), and in development mode the browser that was let in opens it from the first page (`/work/{intent_id}`). Opening it
//! decides nothing.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use domain::base::ids::IntentId;
use domain::intent::status::Status;
use domain::people::principal::Principal;

use store::LinkView;

use super::Pages;
use super::answer::opened;
use super::development::{home, not_here};
use super::session::see_other;
use super::view::{Around, CameFrom, Leads, Page, Trouble};
use crate::edge::admission::Class;
use crate::edge::shared::Shared;

/// Shows the page while the question is open, and then leads back to its outcome: a link is for one question, and not for what becomes of
/// the work afterwards.
pub(super) async fn show(request: HttpRequest, token: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    if pages.is_under_another_name(&request) {
        return pages.trouble(StatusCode::MISDIRECTED_REQUEST, Trouble::AnotherName);
    }
    let back = format!("/a/{token}");
    let (_, link) = match opened(&token, &shared, &pages).await {
        Ok(found) => found,
        Err(refusal) => return refusal,
    };
    around(&shared, &pages, &link, back).await
}

/// The page around an open question. If the question has ended, leads `back` to it.
pub(super) async fn around(shared: &Shared, pages: &Pages, link: &LinkView, back: String) -> HttpResponse {
    if !link.is_open {
        return see_other(&back);
    }
    let later = || pages.cannot_read();
    let Ok(_place) = shared.admission.enter(Class::List).await else { return later() };
    let by = &link.suspension.asked_by;
    let asker = Principal::agent(&by.name, by.owner.clone());
    let Ok(Some(work)) = shared.store.work(asker, link.suspension.intent_id).await else { return later() };
    let page =
        Page { host: pages.host(), answering_as: Some(link.recipient.clone()), leads: Leads::Nowhere, manner: pages.manner() };
    let around = Around::new(page, CameFrom::Question { back, waiting: link.waiting }, work, link.now);
    pages.page(StatusCode::OK, around.render())
}

/// Shows the page to the browser that was let in: all of the work, whichever agent may read it. When the intent waits no more, leads back to
/// the first page.
pub(super) async fn show_inside(request: HttpRequest, id: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    if pages.holder(&request).is_none() {
        return not_here();
    }
    let Ok(id) = id.parse::<IntentId>() else { return not_here() };
    let later = || pages.cannot_read();
    let Ok(_place) = shared.admission.enter(Class::List).await else { return later() };
    match shared.store.work(Principal::server(), id).await {
        Err(_) => later(),
        Ok(None) => not_here(),
        Ok(Some(work)) if work.works.first().is_none_or(|first| first.status != Status::SuspendedAwaitingInput) => home(),
        Ok(Some(work)) => {
            pages.page(StatusCode::OK, Around::new(pages.plain(), CameFrom::FirstPage, work, shared.clock.now()).render())
        }
    }
}
