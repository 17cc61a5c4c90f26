//! Coordinators: the agents that direct the work of intents, and their decisions (RFC-0013).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::coordinating;
use domain::base::field::FieldError;
use domain::base::ids::CoordinatorId;
use domain::container::coordinator::{CoordinatorCommand, CoordinatorStep};
use domain::intent::command::Command;
use domain::intent::record::COORDINATOR_DECISION;
use domain::people::authority::Action;
use domain::problem::Rejection;
use domain::wire::{
    CoordinatorDecisionView, CoordinatorView, CreateCoordinatorRequest, CreateDecisionRecordRequest, HeartbeatView,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::{Outcome, Target};

use super::records::{event, newest, shown, unreadable, write as record};
use super::tasks::named_intent;
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Failure, Surface};
use crate::edge::query::Query;
use crate::edge::route::{Routes, get, intent_id, post};
use crate::edge::shared::Shared;
use crate::edge::write::Write;

/// The most decisions in one list.
pub(super) const DECISIONS_MAX: u32 = 100;
/// The number of decisions in a list whose request does not say how many.
pub(super) const DECISIONS_DEFAULT: u32 = 50;

pub(super) fn routes(routes: &mut Routes<'_>) {
    let surface = Surface::OpenIntent;
    routes.keyed(surface, "/coordinators", [post(Work::Write, create)]);
    routes.keyed(surface, "/coordinators/{coordinator_id}", [get(Work::Read, show)]);
    routes.keyed(surface, "/coordinators/{coordinator_id}/heartbeat", [post(Work::Write, heartbeat)]);
    routes.keyed(surface, "/decisions", [post(Work::Write, decide)]);
}

pub(super) fn intent_routes(routes: &mut Routes<'_>) {
    let surface = Surface::OpenIntent;
    routes.keyed(surface, "/intents/{intent_id}/coordinators", [get(Work::List, list)]);
    routes.keyed(surface, "/intents/{intent_id}/coordinator-decisions", [get(Work::List, decisions)]);
}

/// The lease in the path; a text that is no UUID is refused as not found.
fn coordinator_id(request: &HttpRequest) -> Result<CoordinatorId, Rejection> {
    request.match_info().get("coordinator_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound)
}

/// Sends a write about the lease of a coordinator.
async fn send<T: DeserializeOwned>(
    scope: &'static str,
    (target, id): (Target, CoordinatorId),
    request: &HttpRequest,
    shared: &Shared,
    body: Json,
    step: impl FnOnce(T) -> Result<CoordinatorStep, Vec<FieldError>>,
) -> Result<CoordinatorView, Failure> {
    let caller = Caller::of(request)?;
    let command = |body| Ok(Command::Coordinate(Box::new(CoordinatorCommand { id, step: step(body)? })));
    let write = Write { action: Action::WorkOnTask, scope, if_match_required: false };
    let outcome = write.send_to(target, request, caller, shared, body, command).await?;
    if let Outcome::Coordinator(coordinator) = outcome { Ok(*coordinator) } else { Err(unreadable()) }
}

/// Takes the lease of the coordinator of an intent. An agent that has it already gets its own.
#[utoipa::path(post, path = "/api/v1/coordinators", tag = "coordinators", request_body = CreateCoordinatorRequest,
    params(("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = CoordinatorView), (status = 403), (status = 404, description = "`not_found`: the intent"),
    (status = 409, description = "`coordinator_conflict`: another agent has the lease; `intent_ended`"), (status = 422)))]
pub(super) async fn create(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let now = shared.clock.now();
    let id = CoordinatorId(shared.entropy.uuid(now));
    let (target, body) = named_intent(&request)?;
    let step = |body: CreateCoordinatorRequest| coordinating::new_coordinator(&shared.asking, body, now);
    let coordinator = send("POST /coordinators", (target, id), &request, &shared, body, step).await?;
    Ok(HttpResponse::Ok().json(coordinator))
}

/// Reads the lease of a coordinator.
#[utoipa::path(get, path = "/api/v1/coordinators/{coordinator_id}", tag = "coordinators",
    params(("coordinator_id" = String, Path)), responses((status = 200, body = CoordinatorView), (status = 403), (status = 404)))]
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let coordinator = shared.store.coordinator(caller.principal, coordinator_id(&request)?).await?;
    Ok(HttpResponse::Ok().json(coordinator))
}

/// Lists the newest leases of coordinators of an intent, at most 100, oldest first.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/coordinators", tag = "coordinators", params(("intent_id" = String, Path)),
    responses((status = 200, body = Vec<CoordinatorView>), (status = 403), (status = 404)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(shared.store.coordinators(caller.principal, intent_id(&request)?).await?))
}

/// Says that a coordinator is alive.
#[utoipa::path(post, path = "/api/v1/coordinators/{coordinator_id}/heartbeat", tag = "coordinators",
    params(("coordinator_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = HeartbeatView), (status = 403, description = "`forbidden`: another agent has the lease"), (status = 404),
    (status = 409, description = "`coordinator_ended`"), (status = 422)))]
pub(super) async fn heartbeat(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let (id, body) = (coordinator_id(&request)?, Json::of(&request)?);
    let target = (Target::Coordinator(id), id);
    let step = |_: Value| Ok(CoordinatorStep::Heartbeat);
    let coordinator = send("POST /coordinators/{id}/heartbeat", target, &request, &shared, body, step).await?;
    Ok(HttpResponse::Ok().json(HeartbeatView::of(&coordinator)))
}

/// Records a decision of the agent that directs the intent.
#[utoipa::path(post, path = "/api/v1/decisions", tag = "coordinators", request_body = CreateDecisionRecordRequest,
    params(("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = CoordinatorDecisionView), (status = 403), (status = 404, description = "`not_found`: the intent"),
    (status = 409, description = "`coordinator_ended`"), (status = 422)))]
pub(super) async fn decide(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let (target, body) = named_intent(&request)?;
    let caller = Caller::of(&request)?;
    let command = |body| Ok(Command::Record(Box::new(coordinating::decision_record(body)?)));
    let outcome = record("POST /decisions").send_to(target, &request, caller, &shared, body, command).await?;
    Ok(HttpResponse::Ok().json(CoordinatorDecisionView::of(event(outcome)?).ok_or_else(unreadable)?))
}

/// Lists the newest decisions of the coordinators of an intent, oldest first.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/coordinator-decisions", tag = "coordinators",
    params(("intent_id" = String, Path), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Vec<CoordinatorDecisionView>), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn decisions(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let mut query = Query::new(request.query_string());
    let limit = query.number("limit", 1..=DECISIONS_MAX, DECISIONS_DEFAULT);
    let wanted = query.wanted(false, limit);
    let found = newest(&request, &shared, &[COORDINATOR_DECISION], limit as usize).await?;
    // Only a caller that may read the intent learns that its limit breaks a rule.
    wanted?;
    Ok(HttpResponse::Ok().json(shown(found, CoordinatorDecisionView::of)?))
}
