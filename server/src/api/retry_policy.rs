//! How work that failed is repeated (RFC-0010).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::recording;
use domain::intent::record::RETRY_POLICY;
use domain::problem::Rejection;
use domain::wire::{RetryPolicyView, SetRetryPolicyRequest};

use super::records::{keep, newest, unreadable};
use crate::edge::admission::Work;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, get, put};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(
        Surface::OpenIntent,
        "/intents/{intent_id}/retry-policy",
        [get(Work::List, read_retry_policy), put(Work::Write, set_retry_policy)],
    );
}

/// Sets the retry policy of an intent, in place of an earlier one.
#[utoipa::path(put, path = "/api/v1/intents/{intent_id}/retry-policy", tag = "records", request_body = SetRetryPolicyRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = RetryPolicyView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn set_retry_policy(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let event = keep(&request, &shared, "PUT /intents/{id}/retry-policy", |body, _, _| recording::retry_policy(body)).await?;
    Ok(HttpResponse::Ok().json(RetryPolicyView::of(event).ok_or_else(unreadable)?))
}

/// Reads the retry policy of an intent.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/retry-policy", tag = "records", params(("intent_id" = String, Path)),
    responses((status = 200, body = RetryPolicyView), (status = 403), (status = 404, description = "`not_found`: the intent does not exist, or the key may not read it, or the intent has no retry policy"), (status = 422)))]
pub(super) async fn read_retry_policy(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let newest = newest(&request, &shared, &[RETRY_POLICY], 1).await?.pop().ok_or(Rejection::NotFound)?;
    Ok(HttpResponse::Ok().json(RetryPolicyView::of(newest).ok_or_else(unreadable)?))
}
