//! Receipts of stops in the form of Harn's lifecycle. They are made from the log when they are asked for, and prove no decision.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::attesting;
use domain::base::field::FieldError;
use domain::base::ids::SuspensionId;
use domain::problem::Rejection;
use domain::wire::{LifecycleReceipt, LifecycleReceipts, LifecycleVerdict, VerifyLifecycleRequest};
use store::StoreError;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::query::Query;
use crate::edge::route::{Routes, get, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/lifecycle-receipts", [get(Work::Read, show)]);
    routes.keyed(Surface::Ours, "/lifecycle-receipts/verify", [post(Work::Read, verify)]);
}

/// Gives the receipts of a stop in Harn's form: that the intent was stopped, and that it goes on. For callers that may read the stop.
///
/// Each receipt names the event of the log from which it is made, with its hash: that is what proves it to others. It proves no decision.
#[utoipa::path(get, path = "/api/v1/lifecycle-receipts", tag = "lifecycle", params(("subject" = String, Query)), responses(
    (status = 200, body = LifecycleReceipts), (status = 404, description = "there is no such stop, or the id is that of a question"),
    (status = 410, description = "`redacted`: the content was erased"), (status = 422)))]
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let subject = query.parsed("subject", "the id of a suspension", SuspensionId::parse);
    query.finish(true)?;
    let subject = subject.ok_or_else(|| Rejection::invalid("subject", "required", "the id of a suspension is required"))?;
    let receipts = made(&shared, caller, subject).await?;
    Ok(HttpResponse::Ok().json(LifecycleReceipts { receipts }))
}

/// Compares a receipt with the log. The answer names each difference with its code: `HARN-SUS-011` for the input, `HARN-SUS-012` for the
/// prompt of a drain, `HARN-SUS-013` for the time and everything else. For callers that may read the stop.
///
/// A receipt whose input was replaced by an object with the one member `redacted` is compared by the hash of the input.
#[utoipa::path(post, path = "/api/v1/lifecycle-receipts/verify", tag = "lifecycle", request_body = VerifyLifecycleRequest, responses(
    (status = 200, body = LifecycleVerdict), (status = 410, description = "`redacted`: the content was erased"), (status = 422)))]
pub(super) async fn verify(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body: Result<VerifyLifecycleRequest, Vec<FieldError>> = Json::of(&request)?.into();
    let named = body.and_then(|body| attesting::named(&body.receipt).map(|named| (body, named)));
    let (VerifyLifecycleRequest { receipt, prompt }, named) = named.map_err(|errors| Rejection::Invalid { errors })?;
    let problems = match named {
        None => attesting::check_drain(&receipt, prompt.as_deref()),
        Some(id) => match made(&shared, caller, id).await {
            Ok(known) => attesting::check(&receipt, &known),
            Err(StoreError::Rejected(Rejection::NotFound)) => attesting::unknown(),
            Err(error) => return Err(error.into()),
        },
    };
    Ok(HttpResponse::Ok().json(LifecycleVerdict { valid: problems.is_empty(), problems }))
}

/// The receipts of a stop.
async fn made(shared: &Shared, caller: Caller, id: SuspensionId) -> Result<Vec<LifecycleReceipt>, StoreError> {
    let log = shared.store.stop_log(caller.principal, id).await?;
    let stamp = |kind: &str, at, initiator: &str| shared.stamps.stamp(kind, at, &id.expose(), initiator);
    attesting::receipts(&log, stamp).ok_or(StoreError::Rejected(Rejection::Redacted))
}
