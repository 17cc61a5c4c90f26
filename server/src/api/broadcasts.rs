//! Broadcasts: many intents are paused by one call.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::broadcasting::broadcasting;
use domain::problem::Rejection;
use domain::suspension::broadcast::Struck;
use domain::wire::BroadcastOutcome as Said;
use domain::wire::{BroadcastRequest, BroadcastResult, BroadcastView};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::route::{Routes, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/suspensions:broadcast", [post(Work::WriteMany, broadcast)]);
}

/// Pauses many intents: those that are named, or all that run. Each is paused as by a call of its own, in a transaction of its own.
///
/// Intents that are stopped already stay as they are, so a call that broke off can be repeated.
#[utoipa::path(post, path = "/api/v1/suspensions:broadcast", tag = "lifecycle", request_body = BroadcastRequest, responses(
    (status = 200, body = BroadcastView), (status = 403, description = "`forbidden`: only admins pause many intents at once"), (status = 413, description = "`body_too_large`: a body is at most 524288 bytes"), (status = 422)))]
pub(super) async fn broadcast(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let wanted = Json::of(&request)?.into::<BroadcastRequest>().and_then(broadcasting);
    let wanted = wanted.map_err(|errors| Rejection::Invalid { errors });
    let heard = shared.store.broadcast(caller.principal, wanted).await?;
    let results: Vec<BroadcastResult> = heard
        .struck
        .into_iter()
        .map(|(intent_id, struck)| {
            let (outcome, suspension_id) = match struck {
                Struck::Suspended(id) => (Said::Suspended, Some(id)),
                Struck::AlreadySuspended => (Said::AlreadySuspended, None),
                Struck::NotRunning => (Said::NotRunning, None),
                Struck::Unknown => (Said::Unknown, None),
            };
            BroadcastResult { intent_id, outcome, suspension_id }
        })
        .collect();
    let suspended = results.iter().filter(|result| result.outcome == Said::Suspended).count();
    Ok(HttpResponse::Ok().json(BroadcastView { suspended, results, next: heard.next }))
}
