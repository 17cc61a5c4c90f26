//! Plans: tasks that are worked on together, with checkpoints at which people decide (RFC-0012).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::planning;
use domain::asking::policy::Asking;
use domain::base::field::FieldError;
use domain::base::ids::PlanId;
use domain::container::plan::{PlanCommand, PlanState, PlanStep};
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::problem::Rejection;
use domain::wire::{CreatePlanRequest, PlanView, UpdatePlanRequest};
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::Target;

use super::tasks::named_intent;
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, get, intent_id, patch, post};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    let surface = Surface::OpenIntent;
    routes.keyed(surface, "/plans", [post(Work::Write, create)]);
    routes.keyed(surface, "/plans/{plan_id}", [get(Work::Read, show), patch(Work::Write, update)]);
    routes.keyed(surface, "/plans/{plan_id}/activate", [post(Work::Write, activate)]);
    routes.keyed(surface, "/plans/{plan_id}/pause", [post(Work::Write, pause)]);
    routes.keyed(surface, "/plans/{plan_id}/resume", [post(Work::Write, resume)]);
    routes.keyed(surface, "/plans/{plan_id}/cancel", [post(Work::Write, cancel)]);
}

pub(super) fn intent_routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/plans", [get(Work::List, list)]);
}

/// The plan in the path; a text that is no UUID is refused as not found.
fn plan_id(request: &HttpRequest) -> Result<PlanId, Rejection> {
    request.match_info().get("plan_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound)
}

/// Sends a write about a plan.
async fn send<T: DeserializeOwned>(
    write: Write,
    (target, id): (Target, PlanId),
    request: &HttpRequest,
    shared: &Shared,
    body: Json,
    step: impl FnOnce(T) -> Result<PlanStep, Vec<FieldError>>,
) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(request)?;
    let command = |body| Ok(Command::Plan(Box::new(PlanCommand { id, step: step(body)? })));
    Ok(respond(write.send_to(target, request, caller, shared, body, command).await?))
}

fn write(scope: &'static str, if_match_required: bool) -> Write {
    Write { action: Action::WorkOnTask, scope, if_match_required }
}

/// Moves the plan in the path to a state.
async fn move_to(request: &HttpRequest, shared: &Shared, scope: &'static str, state: PlanState) -> Result<HttpResponse, Detail> {
    let (id, body) = (plan_id(request)?, Json::of(request)?);
    let by = Caller::of(request)?.principal;
    let step = |_: Value| planning::moved_plan(Asking { policy: &shared.asking, by: &by }, state);
    send(write(scope, false), (Target::Plan(id), id), request, shared, body, step).await
}

/// Creates a plan of an intent, as a draft. Its tasks wait until it is active.
#[utoipa::path(post, path = "/api/v1/plans", tag = "plans", request_body = CreatePlanRequest,
    params(("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = PlanView), (status = 403), (status = 404, description = "`not_found`: the intent"),
    (status = 409, description = "`intent_ended`"), (status = 422)))]
pub(super) async fn create(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let id = PlanId(shared.entropy.uuid(shared.clock.now()));
    let seed = shared.entropy.bytes32();
    let (target, body) = named_intent(&request)?;
    let by = Caller::of(&request)?.principal;
    let step = |body: CreatePlanRequest| planning::new_plan(Asking { policy: &shared.asking, by: &by }, body, seed);
    send(write("POST /plans", false), (target, id), &request, &shared, body, step).await
}

/// Reads a plan, with the progress of its tasks.
#[utoipa::path(get, path = "/api/v1/plans/{plan_id}", tag = "plans", params(("plan_id" = String, Path)),
    responses((status = 200, body = PlanView), (status = 403), (status = 404)))]
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let plan = shared.store.plan(caller.principal, plan_id(&request)?).await?;
    Ok(HttpResponse::Ok().insert_header(("etag", format!("\"{}\"", plan.version))).json(plan))
}

/// Lists the plans of an intent, oldest first.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/plans", tag = "plans", params(("intent_id" = String, Path)),
    responses((status = 200, body = Vec<PlanView>), (status = 403), (status = 404)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(shared.store.plans(caller.principal, intent_id(&request)?).await?))
}

/// Changes a plan: its state, and the tasks, checkpoints and conditions of a draft.
#[utoipa::path(patch, path = "/api/v1/plans/{plan_id}", tag = "plans", request_body = UpdatePlanRequest,
    params(("plan_id" = String, Path), ("If-Match" = String, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = PlanView), (status = 403), (status = 404),
    (status = 409, description = "`version_conflict`, `invalid_transition`, `plan_not_draft`, `plan_waits_for_person`"), (status = 422),
    (status = 428, description = "`precondition_required`: `If-Match` is missing")))]
pub(super) async fn update(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let (id, body) = (plan_id(&request)?, Json::of(&request)?);
    let by = Caller::of(&request)?.principal;
    let step = |body: UpdatePlanRequest| planning::changed_plan(Asking { policy: &shared.asking, by: &by }, body);
    send(write("PATCH /plans/{id}", true), (Target::Plan(id), id), &request, &shared, body, step).await
}

/// Activates a draft: its tasks are worked on.
#[utoipa::path(post, path = "/api/v1/plans/{plan_id}/activate", tag = "plans", params(("plan_id" = String, Path),
    ("Idempotency-Key" = Option<String>, Header)), responses((status = 200, body = PlanView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`"), (status = 422)))]
pub(super) async fn activate(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    move_to(&request, &shared, "POST /plans/{id}/activate", PlanState::Active).await
}

/// Pauses an active plan: no task of it begins. Tasks that run go on.
#[utoipa::path(post, path = "/api/v1/plans/{plan_id}/pause", tag = "plans", params(("plan_id" = String, Path),
    ("Idempotency-Key" = Option<String>, Header)), responses((status = 200, body = PlanView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`"), (status = 422)))]
pub(super) async fn pause(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    move_to(&request, &shared, "POST /plans/{id}/pause", PlanState::Paused).await
}

/// Resumes a plan that an agent has paused.
#[utoipa::path(post, path = "/api/v1/plans/{plan_id}/resume", tag = "plans", params(("plan_id" = String, Path),
    ("Idempotency-Key" = Option<String>, Header)), responses((status = 200, body = PlanView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`, `plan_waits_for_person`"), (status = 422)))]
pub(super) async fn resume(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    move_to(&request, &shared, "POST /plans/{id}/resume", PlanState::Active).await
}

/// Gives a plan up, and cancels its tasks that are not finished.
#[utoipa::path(post, path = "/api/v1/plans/{plan_id}/cancel", tag = "plans", params(("plan_id" = String, Path),
    ("Idempotency-Key" = Option<String>, Header)), responses((status = 200, body = PlanView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`, `plan_waits_for_person`"), (status = 422)))]
pub(super) async fn cancel(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    move_to(&request, &shared, "POST /plans/{id}/cancel", PlanState::Cancelled).await
}
