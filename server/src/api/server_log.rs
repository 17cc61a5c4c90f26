//! The server's own log: the events that belong to no intent (RFC-0019's envelope, with `log` in place of `intent_id`).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::wire::ServerEventView;
use store::ServerEventFilter;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::problem::{Problem, Surface};
use crate::edge::query::{PAGE_DEFAULT, PAGE_MAX, Query};
use crate::edge::route::{Routes, get};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/server/events", [get(Work::List, events)]);
}

/// Reads the server's own log, oldest first: who made, imported and revoked keys. For admins and auditors.
#[utoipa::path(get, path = "/api/v1/server/events", tag = "server",
    params(("limit" = Option<u32>, Query), ("after" = Option<u32>, Query)),
    responses((status = 200, body = Vec<ServerEventView>), (status = 403), (status = 422)))]
pub(super) async fn events(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let filter = ServerEventFilter {
        limit: query.number("limit", 1..=PAGE_MAX, PAGE_DEFAULT),
        after: u64::from(query.number("after", 0..=u32::MAX, 0)),
    };
    let filter = query.wanted(true, filter);
    let events = shared.store.server_events(caller.principal, filter).await?;
    Ok(HttpResponse::Ok().content_type("application/json").body(format!("[{}]", events.join(","))))
}
