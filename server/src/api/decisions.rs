//! Decisions that agents made themselves (RFC-0013); never answers of people.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::recording;
use domain::intent::record::{COORDINATOR_DECISION, DECISION};
use domain::wire::{DecisionList, DecisionView, RecordDecisionRequest};

use super::records::{keep, kept, shown, unreadable};
use crate::edge::admission::Work;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, get, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(
        Surface::OpenIntent,
        "/intents/{intent_id}/decisions",
        [get(Work::List, list_decisions), post(Work::Write, record_decision)],
    );
}

/// Records a decision that the agent made itself.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/decisions", tag = "records", request_body = RecordDecisionRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = DecisionView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn record_decision(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let event = keep(&request, &shared, "POST /intents/{id}/decisions", |body, _, _| recording::decision(body)).await?;
    Ok(HttpResponse::Ok().json(DecisionView::of(event).ok_or_else(unreadable)?))
}

/// Lists the decisions that agents made themselves, those of coordinators included.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/decisions", tag = "records", params(("intent_id" = String, Path)),
    responses((status = 200, body = DecisionList), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list_decisions(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let decisions = shown(kept(&request, &shared, &[DECISION, COORDINATOR_DECISION]).await?, DecisionView::of)?;
    Ok(HttpResponse::Ok().json(DecisionList { decisions }))
}
