//! A reminder of an open question that is sent at once, when an operator or admin asks for it.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::wire::{RemindRequest, SuspensionRecord};
use store::Target;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::route::{Routes, post, suspension_id};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/remind", [post(Work::Write, remind)]);
}

/// Sends the message of the present attempt once more to the people who are asked at present. Operators and admins may do so; the
/// agent that asked may not.
///
/// Attempts and times stay as they were. People can be reminded of a question once in 300 seconds.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/remind", tag = "suspensions", request_body = RemindRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403), (status = 404), (status = 409, description = "`version_conflict`, `already_resolved`, `expired`"), (status = 422, description = "`invalid`: the question names no person; `malformed_json`, `idempotency_mismatch`"), (status = 429, description = "`rate_limited`: people were reminded less than 300 seconds ago")))]
pub(super) async fn remind(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Remind, scope: "POST /suspensions/{id}/remind", if_match_required: false };
    let outcome = write
        .send_to(Target::Suspension(suspension_id), &request, caller, &shared, body, |_: RemindRequest| {
            Ok(Command::Remind { suspension_id, asked: None })
        })
        .await?;
    Ok(respond(outcome))
}
