//! Costs of the work on an intent (RFC-0009).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::recording;
use domain::intent::record::COST;
use domain::wire::{CostList, CostView, RecordCostRequest};

use super::records::{keep, kept, shown, unreadable};
use crate::edge::admission::Work;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, get, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(
        Surface::OpenIntent,
        "/intents/{intent_id}/costs",
        [get(Work::List, list_costs), post(Work::Write, record_cost)],
    );
}

/// Records what some work cost.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/costs", tag = "records", request_body = RecordCostRequest,
    params(("intent_id" = String, Path), ("X-Agent-ID" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = CostView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn record_cost(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let event = keep(&request, &shared, "POST /intents/{id}/costs", recording::cost).await?;
    Ok(HttpResponse::Ok().json(CostView::of(event).ok_or_else(unreadable)?))
}

/// Lists the costs of an intent, with their sums.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/costs", tag = "records", params(("intent_id" = String, Path)),
    responses((status = 200, body = CostList), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list_costs(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let costs = shown(kept(&request, &shared, &[COST]).await?, CostView::of)?;
    Ok(HttpResponse::Ok().json(CostList::of(costs)))
}
