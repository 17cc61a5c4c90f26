//! Leases (RFC-0003), and the effect of a suspension on them (RFC-0025 §2).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::base::ids::LeaseId;
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::problem::Rejection;
use domain::suspension::lease::Lease;
use domain::wire::{AcquireLeaseRequest, LeaseList, LeaseReleased, RenewLeaseRequest};
use serde_json::json;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, delete, get, intent_id, patch, post};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/leases", [get(Work::Read, list), post(Work::Write, acquire)]);
    let one = [patch(Work::Write, renew), delete(Work::Write, release)];
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/leases/{lease_id}", one);
}

/// Lists the leases that were not given back.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/leases", tag = "leases", params(("intent_id" = String, Path)),
    responses((status = 200, body = LeaseList), (status = 404)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let leases = shared.store.leases(caller.principal, intent_id(&request)?).await?;
    Ok(HttpResponse::Ok().json(LeaseList { leases }))
}

/// Takes a lease; refused while the intent is suspended.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/leases", tag = "leases", request_body = AcquireLeaseRequest,
    params(("intent_id" = String, Path), ("X-Agent-ID" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = Lease), (status = 403), (status = 404), (status = 409, description = "`lease_conflict`, `lease_while_suspended`"), (status = 422, description = "`invalid`, `io_inputs`, `io_upstream_suspended`")))]
pub(super) async fn acquire(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let agent_id = caller.agent_id(&request);
    let id = LeaseId(shared.entropy.uuid(shared.clock.now()));
    let write = Write { action: Action::Lease, scope: "POST /intents/{id}/leases", if_match_required: false };
    let outcome = write
        .send(&request, caller, &shared, body, |body: AcquireLeaseRequest| {
            let (scope, duration_seconds) = (accepting::scope(body.scope)?, accepting::duration(body.duration_seconds)?);
            Ok(Command::AcquireLease { id, agent_id, scope, duration_seconds })
        })
        .await?;
    Ok(respond(outcome))
}

/// Prolongs a lease. It succeeds while the intent is suspended, even if the lease's time has run out meanwhile.
#[utoipa::path(patch, path = "/api/v1/intents/{intent_id}/leases/{lease_id}", tag = "leases", request_body = RenewLeaseRequest,
    params(("intent_id" = String, Path), ("lease_id" = String, Path), ("X-Agent-ID" = Option<String>, Header)), responses(
    (status = 200, body = Lease), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn renew(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let (id, agent_id) = (lease_id(&request)?, caller.agent_id(&request));
    let write = Write { action: Action::Lease, scope: "PATCH /intents/{id}/leases/{id}", if_match_required: false };
    let outcome = write
        .send(&request, caller, &shared, body, |body: RenewLeaseRequest| {
            Ok(Command::RenewLease { id, agent_id, duration_seconds: accepting::duration(body.duration_seconds)? })
        })
        .await?;
    Ok(respond(outcome))
}

/// Gives a lease back.
#[utoipa::path(delete, path = "/api/v1/intents/{intent_id}/leases/{lease_id}", tag = "leases",
    params(("intent_id" = String, Path), ("lease_id" = String, Path), ("X-Agent-ID" = Option<String>, Header)), responses(
    (status = 200, body = LeaseReleased), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn release(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let (id, agent_id) = (lease_id(&request)?, caller.agent_id(&request));
    let write = Write { action: Action::Lease, scope: "DELETE /intents/{id}/leases/{id}", if_match_required: false };
    let nothing = Json(json!({}));
    write.send(&request, caller, &shared, nothing, |_: RenewLeaseRequest| Ok(Command::ReleaseLease { id, agent_id })).await?;
    Ok(HttpResponse::Ok().json(LeaseReleased { message: "Lease released".to_owned() }))
}

fn lease_id(request: &HttpRequest) -> Result<LeaseId, Rejection> {
    request.match_info().get("lease_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound)
}
