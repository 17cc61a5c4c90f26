//! The questions of a person, or of the people in a group, in numbers (`/dashboard`). The page changes nothing.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::problem::Rejection;
use store::StoreError;
use store::dashboard::{Dashboard, DashboardFilter};

use super::Pages;
use super::inbox::typed_fields;
use super::scripts::TIMES;
use super::view::DashboardPage;
use crate::edge::admission::Class;
use crate::edge::shared::Shared;

/// The address of the page.
pub(super) const DASHBOARD: &str = "/dashboard";

/// Shows the numbers of the person, or of a group.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match pages.session(&request, &shared).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let group = typed_fields(request.query_string()).filter(|(name, ..)| name == "group").last();
    let (group, is_whole) =
        group.map_or((None, true), |(_, group, is_whole)| (Some(group).filter(|group| !group.is_empty()), is_whole));
    let Ok(_place) = shared.admission.enter(Class::List).await else { return pages.cannot_read() };
    let found = if is_whole {
        shared.store.dashboard(session.principal.clone(), Ok(DashboardFilter { group: group.clone() })).await
    } else {
        Err(StoreError::Rejected(Rejection::NotFound))
    };
    let (status, found) = match found {
        Ok(found) => (StatusCode::OK, found),
        Err(StoreError::Rejected(_)) => (StatusCode::NOT_FOUND, Dashboard::default()),
        Err(_) => return pages.cannot_read(),
    };
    let head = (pages.plain(), session.visitor(&pages));
    let page = DashboardPage::new(head, (group, status == StatusCode::NOT_FOUND), TIMES.path(), &found);
    pages.page_under(&pages.inside_live_policy, status, page.render())
}
