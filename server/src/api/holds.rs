//! Legal holds: what they cover is not erased.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::problem::Rejection;
use domain::wire::{HoldLifted, HoldList, HoldView, PlaceHoldRequest};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::query::Query;
use crate::edge::route::{Routes, delete, get, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/holds", [get(Work::List, list), post(Work::Write, place)]);
    routes.keyed(Surface::Ours, "/holds/{hold_id}", [delete(Work::Write, lift)]);
}

/// Places a legal hold on everything, on the intents of an agent, or on one intent. For admins.
#[utoipa::path(post, path = "/api/v1/holds", tag = "proofs", request_body = PlaceHoldRequest, responses(
    (status = 200, body = HoldView), (status = 403), (status = 404, description = "`not_found`: the intent does not exist, or no key has ever had the agent's name"),
    (status = 409, description = "`too_many_holds`"), (status = 422)))]
pub(super) async fn place(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let hold = body.into().and_then(|body: PlaceHoldRequest| accepting::hold(body));
    let hold = shared.store.place_hold(caller.principal, hold.map_err(|errors| Rejection::Invalid { errors })).await?;
    Ok(HttpResponse::Ok().json(HoldView::from(hold)))
}

/// Lists the legal holds in force, oldest first. For admins and auditors.
#[utoipa::path(get, path = "/api/v1/holds", tag = "proofs", responses((status = 200, body = HoldList), (status = 403)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let holds = shared.store.holds(caller.principal).await?;
    Ok(HttpResponse::Ok().json(HoldList { holds: holds.into_iter().map(HoldView::from).collect() }))
}

/// Lifts a legal hold. For admins.
#[utoipa::path(delete, path = "/api/v1/holds/{hold_id}", tag = "proofs",
    params(("hold_id" = String, Path), ("reason" = String, Query)),
    responses((status = 200, body = HoldLifted), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn lift(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let id = request.match_info().get("hold_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound);
    let mut query = Query::new(request.query_string());
    let reason = query.parsed("reason", "a text", |text| Some(text.to_owned())).unwrap_or_default();
    let reason = query.finish(true).and_then(|()| accepting::hold_reason(reason).map_err(|errors| Rejection::Invalid { errors }));
    let hold = shared.store.lift_hold(caller.principal, id, reason.clone()).await?;
    Ok(HttpResponse::Ok().json(HoldLifted { hold: hold.into(), reason: reason.unwrap_or_default() }))
}
