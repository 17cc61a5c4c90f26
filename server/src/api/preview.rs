//! Tells, before a question is asked, which people would be told and when.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::base::ids::SuspensionId;
use domain::problem::Rejection;
use domain::wire::{SuspendRequest, SuspensionPreview};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::route::{Routes, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/suspensions/preview", [post(Work::Read, preview)]);
}

/// Tells which people would be told and when, and the outcome without an answer, if this question were asked now. Nothing is
/// kept, and no person is told.
///
/// It refuses the fields that asking would refuse, with the same errors.
#[utoipa::path(post, path = "/api/v1/suspensions/preview", tag = "suspensions", request_body = SuspendRequest,
    responses((status = 200, body = SuspensionPreview), (status = 403), (status = 422, description = "`invalid`: asking would refuse this question; `malformed_json`")))]
pub(super) async fn preview(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let now = shared.clock.now();
    let id = SuspensionId(shared.entropy.uuid(now));
    let accepted =
        body.into().and_then(|body: SuspendRequest| shared.asking.accept(body, id, &caller.principal, caller.principal.client));
    let accepted = accepted.map_err(|errors| Rejection::Invalid { errors });
    let suspend = shared.store.would_ask(caller.principal, accepted).await?;
    Ok(HttpResponse::Ok().json(SuspensionPreview::of(suspend, &shared.asking, now)))
}
