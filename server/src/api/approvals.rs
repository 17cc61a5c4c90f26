//! Approvals of actions (RFC-0013).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::requesting;
use domain::base::ids::SuspensionId;
use domain::problem::Rejection;
use domain::suspension::Kind;
use domain::wire::{ApprovalList, ApprovalRequest, ApprovalView, DecideApprovalRequest};
use store::Target;

use super::records::unreadable;
use super::requests;
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, get, intent_id, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/approvals", [get(Work::Inbox, list), post(Work::Write, ask)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/approvals/{approval_id}", [get(Work::Look, show)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/approvals/{approval_id}/approve", [post(Work::Answer, approve)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/approvals/{approval_id}/deny", [post(Work::Answer, deny)]);
}

/// The approval in the path; a text that is not in the form of our ids is refused as not found.
fn approval_id(request: &HttpRequest) -> Result<SuspensionId, Rejection> {
    request.match_info().get("approval_id").and_then(SuspensionId::parse).ok_or(Rejection::NotFound)
}

/// Asks people to approve an action. The intent goes on meanwhile; several approvals may be open.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/approvals", tag = "approvals", request_body = ApprovalRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = ApprovalView), (status = 403), (status = 404), (status = 409, description = "`not_active`: the intent has ended"), (status = 422)))]
pub(super) async fn ask(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let record =
        requests::make::<ApprovalRequest>(&request, &shared, "POST /intents/{id}/approvals", requesting::approval).await?;
    Ok(HttpResponse::Ok().json(ApprovalView::of(record).ok_or_else(unreadable)?))
}

/// Lists the approvals of an intent, newest first.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/approvals", tag = "approvals", params(("intent_id" = String, Path)),
    responses((status = 200, body = ApprovalList), (status = 403), (status = 404)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let wanted = Ok((Some(intent_id(&request)?), false));
    let records = requests::listed(&request, &shared, Kind::Approval, wanted).await?;
    Ok(HttpResponse::Ok().json(ApprovalList { approvals: records.into_iter().filter_map(ApprovalView::of).collect() }))
}

/// Shows an approval.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/approvals/{approval_id}", tag = "approvals",
    params(("intent_id" = String, Path), ("approval_id" = String, Path)),
    responses((status = 200, body = ApprovalView), (status = 404)))]
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let (caller, intent) = (Caller::of(&request)?, intent_id(&request)?);
    let record = shared.store.suspension(caller.principal, approval_id(&request)?).await?;
    let approval = ApprovalView::of(record).filter(|approval| approval.intent_id == intent).ok_or(Rejection::NotFound)?;
    Ok(HttpResponse::Ok().json(approval))
}

/// Approves. The agent that asked may not do so, and neither may any other key of its owner.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/approvals/{approval_id}/approve", tag = "approvals",
    request_body = DecideApprovalRequest, params(("intent_id" = String, Path), ("approval_id" = String, Path)), responses(
    (status = 200, body = ApprovalView),
    (status = 403, description = "`self_response`, `forbidden`, `assurance_too_low`, `not_assigned`"), (status = 404),
    (status = 409, description = "`already_resolved`, `expired`"), (status = 412, description = "`proposal_changed`"), (status = 422)))]
pub(super) async fn approve(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    decide(&request, &shared, "POST /intents/{id}/approvals/{id}/approve", true).await
}

/// Refuses to approve. The agent that asked may not do so, and neither may any other key of its owner.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/approvals/{approval_id}/deny", tag = "approvals",
    request_body = DecideApprovalRequest, params(("intent_id" = String, Path), ("approval_id" = String, Path)), responses(
    (status = 200, body = ApprovalView),
    (status = 403, description = "`self_response`, `forbidden`, `assurance_too_low`, `not_assigned`"), (status = 404),
    (status = 409, description = "`already_resolved`, `expired`"), (status = 412, description = "`proposal_changed`"), (status = 422)))]
pub(super) async fn deny(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    decide(&request, &shared, "POST /intents/{id}/approvals/{id}/deny", false).await
}

async fn decide(request: &HttpRequest, shared: &Shared, scope: &'static str, approved: bool) -> Result<HttpResponse, Detail> {
    let (target, id) = (Target::Intent(intent_id(request)?), approval_id(request)?);
    let answer = |body: DecideApprovalRequest| requesting::decided(body, approved, id);
    let (record, approvals) = requests::decide(target, id, request, shared, scope, answer).await?;
    let approval = ApprovalView::of(record).ok_or_else(unreadable)?;
    // Another person may have decided since, and then nothing is lacking.
    let approvals = approvals.filter(|_| approval.approvals.is_some());
    Ok(HttpResponse::Ok().json(ApprovalView { approvals, ..approval }))
}
