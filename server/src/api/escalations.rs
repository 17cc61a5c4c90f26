//! Escalations: agents ask people how to go on (RFC-0013).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::requesting;
use domain::base::ids::{IntentId, SuspensionId};
use domain::problem::Rejection;
use domain::suspension::Kind;
use domain::wire::{EscalationList, EscalationRequest, EscalationView, ResolveEscalationRequest};
use store::Target;

use super::records::unreadable;
use super::requests;
use crate::edge::admission::Work;
use crate::edge::problem::{Detail, Surface};
use crate::edge::query::Query;
use crate::edge::route::{Routes, get, post};
use crate::edge::shared::Shared;

/// The states of escalations. The OpenIntent client also knows `acknowledged`; no escalation of this server is in that state.
const STATUSES: [&str; 5] = ["pending", "acknowledged", "resolved", "expired", "cancelled"];

pub(super) fn intent_routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/escalations", [post(Work::Write, ask)]);
}

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/escalations", [get(Work::Inbox, list)]);
    routes.keyed(Surface::OpenIntent, "/escalations/{escalation_id}/resolve", [post(Work::Answer, resolve)]);
}

/// Asks people how to go on. The intent goes on meanwhile; several escalations may be open.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/escalations", tag = "escalations", request_body = EscalationRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = EscalationView), (status = 403), (status = 404), (status = 409, description = "`not_active`: the intent has ended"), (status = 422)))]
pub(super) async fn ask(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let scope = "POST /intents/{id}/escalations";
    let record = requests::make::<EscalationRequest>(&request, &shared, scope, requesting::escalation).await?;
    Ok(HttpResponse::Ok().json(EscalationView::of(record).ok_or_else(unreadable)?))
}

/// Lists the newest escalations of one intent, or of all intents that the caller may read. `status` chooses among them.
#[utoipa::path(get, path = "/api/v1/escalations", tag = "escalations",
    params(("intent_id" = Option<String>, Query), ("status" = Option<String>, Query)),
    responses((status = 200, body = EscalationList), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let mut query = Query::new(request.query_string());
    let status = query
        .parsed("status", &format!("one of {}", STATUSES.join(", ")), |text| STATUSES.into_iter().find(|status| *status == text));
    let beside = query.parsed("intent_id", "the id of an intent", |id| id.parse::<IntentId>().ok());
    let wanted = query.wanted(false, (beside, status == Some("pending")));
    let records = requests::listed(&request, &shared, Kind::Escalation, wanted).await?;
    let mut escalations: Vec<_> = records.into_iter().filter_map(EscalationView::of).collect();
    escalations.retain(|escalation| status.is_none_or(|status| status == escalation.status));
    Ok(HttpResponse::Ok().json(EscalationList { escalations }))
}

/// Says how to go on. The agent that asked may not do so, and neither may any other key of its owner.
#[utoipa::path(post, path = "/api/v1/escalations/{escalation_id}/resolve", tag = "escalations",
    request_body = ResolveEscalationRequest, params(("escalation_id" = String, Path)), responses(
    (status = 200, body = EscalationView), (status = 403, description = "`self_response`, `forbidden`"), (status = 404),
    (status = 409, description = "`already_resolved`, `expired`"), (status = 422)))]
pub(super) async fn resolve(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let id = request.match_info().get("escalation_id").and_then(SuspensionId::parse).ok_or(Rejection::NotFound)?;
    let answer = |body: ResolveEscalationRequest| requesting::resolved(body, id);
    let scope = "POST /escalations/{id}/resolve";
    let (record, _) = requests::decide(Target::Suspension(id), id, &request, &shared, scope, answer).await?;
    Ok(HttpResponse::Ok().json(EscalationView::of(record).ok_or_else(unreadable)?))
}
