//! A later deadline for an open question.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::intent::command::Command;
use domain::intent::event::ExtensionCause;
use domain::people::authority::Action;
use domain::wire::{ExtendRequest, SuspensionRecord};
use store::Target;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::route::{Routes, post, suspension_id};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/extend", [post(Work::Write, extend)]);
}

/// Moves the deadline of an open question to a later time; for operators and admins, never for the agent that asked.
///
/// People get more time, and every later message names the new deadline; reminders keep their times.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/extend", tag = "suspensions", request_body = ExtendRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403), (status = 404), (status = 409, description = "`version_conflict`, `already_resolved`, `expired`"), (status = 422, description = "`invalid`: not later, more than 366 days in all, or there is no deadline to move; `malformed_json`, `idempotency_mismatch`")))]
pub(super) async fn extend(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Extend, scope: "POST /suspensions/{id}/extend", if_match_required: false };
    let outcome = write
        .send_to(Target::Suspension(suspension_id), &request, caller, &shared, body, |body: ExtendRequest| {
            let (later, reason) = accepting::later(body)?;
            Ok(Command::Extend { suspension_id, later, reason, cause: ExtensionCause::Request })
        })
        .await?;
    Ok(respond(outcome))
}
