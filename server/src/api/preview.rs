//! Who would be told when, before anything is asked.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::preview;
use domain::base::ids::SuspensionId;
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

/// Says who would be told when, and what silence would do, if this question were asked now. Nothing is kept, and nobody is told.
///
/// It refuses what asking would refuse about the question's own fields.
#[utoipa::path(post, path = "/api/v1/suspensions/preview", tag = "suspensions", request_body = SuspendRequest,
    responses((status = 200, body = SuspensionPreview), (status = 403), (status = 422, description = "`invalid`: what asking would refuse; `malformed_json`")))]
pub(super) async fn preview(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let now = shared.clock.now();
    let id = SuspensionId(shared.entropy.uuid(now));
    Ok(HttpResponse::Ok().json(preview::preview(&caller.principal, body.into(), id, &shared.asking, now)?))
}
