//! Failures of the work on an intent (RFC-0010).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::recording;
use domain::intent::record::FAILURE;
use domain::wire::{FailureList, FailureView, RecordFailureRequest};

use super::records::{keep, kept, shown, unreadable};
use crate::edge::admission::Work;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, get, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(
        Surface::OpenIntent,
        "/intents/{intent_id}/failures",
        [get(Work::List, list_failures), post(Work::Write, record_failure)],
    );
}

/// Records work that failed.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/failures", tag = "records", request_body = RecordFailureRequest,
    params(("intent_id" = String, Path), ("X-Agent-ID" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = FailureView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn record_failure(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let event = keep(&request, &shared, "POST /intents/{id}/failures", recording::failure).await?;
    Ok(HttpResponse::Ok().json(FailureView::of(event).ok_or_else(unreadable)?))
}

/// Lists the failures of an intent.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/failures", tag = "records", params(("intent_id" = String, Path)),
    responses((status = 200, body = FailureList), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list_failures(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let failures = shown(kept(&request, &shared, &[FAILURE]).await?, FailureView::of)?;
    Ok(HttpResponse::Ok().json(FailureList { failures }))
}
