//! Checkpoints of plans: the decision of a person at one (RFC-0012). The question at a checkpoint is answered by the link, on the page and
//! through the API as well; all of these are one answer.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting::words_in_path;
use domain::asking::requesting;
use domain::base::ids::PlanId;
use domain::container::plan::CheckpointId;
use domain::intent::command::Command;
use domain::people::authority::{Action, Object, authorize};
use domain::problem::Rejection;
use domain::wire::{DecideCheckpointRequest, PlanView};
use serde_json::Value;
use store::Target;
use uuid::Uuid;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, post};
use crate::edge::shared::Shared;
use crate::edge::write::Write;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/checkpoints/{checkpoint_id}/approve", [post(Work::Answer, approve)]);
    routes.keyed(Surface::OpenIntent, "/checkpoints/{checkpoint_id}/reject", [post(Work::Answer, reject)]);
}

/// Lets a plan go on that waits at a checkpoint. No agent may do so, nor a key of the owner of an agent that works in the plan, nor a
/// gateway. The reply is the plan.
#[utoipa::path(post, path = "/api/v1/checkpoints/{checkpoint_id}/approve", tag = "plans", request_body = DecideCheckpointRequest,
    params(("checkpoint_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = PlanView),
    (status = 403, description = "`self_response`, `forbidden`, `assurance_too_low`, `not_assigned`"), (status = 404),
    (status = 409, description = "`checkpoint_not_open`, `expired`, `version_conflict`"),
    (status = 412, description = "`proposal_changed`"), (status = 422)))]
pub(super) async fn approve(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    decide(&request, &shared, "POST /checkpoints/{id}/approve", true).await
}

/// Stops a plan that waits at a checkpoint. The reply is the plan.
#[utoipa::path(post, path = "/api/v1/checkpoints/{checkpoint_id}/reject", tag = "plans", request_body = DecideCheckpointRequest,
    params(("checkpoint_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = PlanView),
    (status = 403, description = "`self_response`, `forbidden`, `assurance_too_low`, `not_assigned`"), (status = 404),
    (status = 409, description = "`checkpoint_not_open`, `expired`, `version_conflict`"),
    (status = 412, description = "`proposal_changed`"), (status = 422)))]
pub(super) async fn reject(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    decide(&request, &shared, "POST /checkpoints/{id}/reject", false).await
}

async fn decide(request: &HttpRequest, shared: &Shared, scope: &'static str, approved: bool) -> Result<HttpResponse, Detail> {
    let (caller, body) = (Caller::of(request)?, Json::of(request)?);
    let principal = caller.principal.clone();
    let Some(named) = body.0.get("plan_id").and_then(Value::as_str) else {
        authorize(&principal, Action::Respond, Object::Server)?;
        return Err(Rejection::invalid("plan_id", "required", "must name the plan of the checkpoint").into());
    };
    // An id that is no UUID is treated like the id of a plan that does not exist.
    let plan_id = PlanId(named.parse().unwrap_or(Uuid::nil()));
    let id = words_in_path(request.match_info().get("checkpoint_id").unwrap_or_default());
    let write = Write { action: Action::Respond, scope, if_match_required: false };
    let answer = |body: DecideCheckpointRequest| {
        Ok(Command::Respond(Box::new(requesting::decided_at(body, approved, CheckpointId { plan_id, id })?)))
    };
    write.send_to(Target::Plan(plan_id), request, caller, shared, body, answer).await?;
    let plan = shared.store.plan(principal, plan_id).await?;
    Ok(HttpResponse::Ok().insert_header(("etag", format!("\"{}\"", plan.version))).json(plan))
}
