//! Claims, releases, delegations and reassignments of open questions.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::handing;
use domain::intent::hands::HandStep;
use domain::people::authority::Action;
use domain::wire::{ClaimRequest, DelegateRequest, ReassignRequest, SuspensionRecord};
use store::Target;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::route::{Routes, post, suspension_id};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/claim", [post(Work::Write, claim)]);
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/release", [post(Work::Write, release)]);
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/delegate", [post(Work::Write, delegate)]);
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/reassign", [post(Work::Write, reassign)]);
}

/// Tells others that the caller works on an open question. They may answer all the same, and may claim it in turn.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/claim", tag = "suspensions", request_body = ClaimRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403, description = "`not_assigned`, `self_response`: the caller may not answer; `forbidden`"), (status = 404), (status = 409, description = "`version_conflict`, `already_resolved`, `expired`"), (status = 422)))]
pub(super) async fn claim(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Claim, scope: "POST /suspensions/{id}/claim", if_match_required: false };
    let command = |ClaimRequest {}| Ok(handing::hand(suspension_id, HandStep::Claim));
    Ok(respond(write.send_to(Target::Suspension(suspension_id), &request, caller, &shared, body, command).await?))
}

/// Takes the caller's claim back. An admin takes back that of another person, too.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/release", tag = "suspensions", request_body = ClaimRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403, description = "`forbidden`"), (status = 404), (status = 409, description = "`version_conflict`, `not_claimed`, `already_resolved`, `expired`"), (status = 422)))]
pub(super) async fn release(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Release, scope: "POST /suspensions/{id}/release", if_match_required: false };
    let command = |ClaimRequest {}| Ok(handing::hand(suspension_id, HandStep::Release));
    Ok(respond(write.send_to(Target::Suspension(suspension_id), &request, caller, &shared, body, command).await?))
}

/// Hands the caller's own place in an open question to another listed person, who is told of the question and answers in the caller's
/// place. The caller then answers no more.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/delegate", tag = "suspensions", request_body = DelegateRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403, description = "`not_assigned`, `self_response`: the caller has no place in the question; `forbidden`"), (status = 404), (status = 409, description = "`version_conflict`, `has_answered`, `already_resolved`, `expired`"), (status = 422, description = "`invalid`: the person cannot have the place, or too few people could answer")))]
pub(super) async fn delegate(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Delegate, scope: "POST /suspensions/{id}/delegate", if_match_required: false };
    let command = |body: DelegateRequest| handing::delegating(suspension_id, &body);
    Ok(respond(write.send_to(Target::Suspension(suspension_id), &request, caller, &shared, body, command).await?))
}

/// Assigns an open question to other people, who are told of it. An admin may name all listed people; an operator who may answer names
/// only people who may answer already.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/reassign", tag = "suspensions", request_body = ReassignRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403, description = "`not_assigned`, `self_response`; `forbidden`"), (status = 404), (status = 409, description = "`version_conflict`, `already_resolved`, `expired`"), (status = 422, description = "`invalid`: people or groups that do not exist, people who may not answer yet, or too few people")))]
pub(super) async fn reassign(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Reassign, scope: "POST /suspensions/{id}/reassign", if_match_required: false };
    let command = |body: ReassignRequest| handing::reassigning(suspension_id, body);
    Ok(respond(write.send_to(Target::Suspension(suspension_id), &request, caller, &shared, body, command).await?))
}
