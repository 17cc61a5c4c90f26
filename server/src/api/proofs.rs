//! Proofs of the log: chains, checkpoints, inclusion, consistency (RFC-0019). Everything is computed from stored bytes for each response;
//! `docs/log-format.md` says how to check it without trusting this server.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::base::ids::IntentId;
use domain::people::authority::{Action, Object, authorize};
use domain::problem::Rejection;
use domain::wire::{ChainView, ConsistencyView, LogCheckpointView, MerkleProofView};
use store::{CheckpointFilter, CheckpointId};
use uuid::Uuid;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::problem::{Detail, Surface};
use crate::edge::query::{PAGE_DEFAULT, PAGE_MAX, Query};
use crate::edge::route::{Routes, get, intent_id, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    let surface = Surface::OpenIntent;
    routes.keyed(surface, "/intents/{intent_id}/events/verify", [get(Work::List, chain)]);
    routes.keyed(surface, "/checkpoints", [get(Work::List, checkpoints)]);
    routes.keyed(surface, "/checkpoints/{checkpoint_id}", [get(Work::List, checkpoint)]);
    routes.keyed(surface, "/checkpoints/{checkpoint_id}/proof/{event_id}", [get(Work::List, proof)]);
    routes.keyed(surface, "/verify/consistency", [get(Work::List, consistency)]);
    routes.keyed(surface, "/admin/checkpoints", [post(Work::Write, sign)]);
}

fn checkpoint_id(request: &HttpRequest) -> Result<CheckpointId, Rejection> {
    request.match_info().get("checkpoint_id").unwrap_or_default().parse()
}

/// Computes the chain of an intent's events from the stored bytes, and says where it breaks if it does.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/events/verify", tag = "proofs", params(("intent_id" = String, Path)),
    responses((status = 200, body = ChainView), (status = 403), (status = 404),
    (status = 422, description = "`invalid`: the intent has too many events; export the log instead")))]
pub(super) async fn chain(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(shared.store.chain(caller.principal, intent_id(&request)?).await?))
}

/// Lists checkpoints of the tree over all events, newest first; with `intent_id`, the newest one with events of that intent.
#[utoipa::path(get, path = "/api/v1/checkpoints", tag = "proofs",
    params(("intent_id" = Option<String>, Query), ("scope" = Option<String>, Query), ("limit" = Option<u32>, Query),
    ("before" = Option<u64>, Query)),
    responses((status = 200, body = Vec<LogCheckpointView>), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn checkpoints(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let limit = query.number("limit", 1..=PAGE_MAX, PAGE_DEFAULT);
    let before = query.parsed("before", "a number of leaves", |text| text.parse::<i64>().ok()?.try_into().ok());
    let intent = query.parsed("intent_id", "the id of an intent", |text| text.parse().ok().map(IntentId));
    let scope = query.parsed("scope", "global or intent", |text| ["global", "intent"].contains(&text).then(|| text.to_owned()));
    let filter = CheckpointFilter { intent: intent.filter(|_| scope.as_deref() != Some("global")), before, limit };
    let mut filter = query.wanted(false, filter);
    if scope.as_deref() == Some("intent") && intent.is_none() && filter.is_ok() {
        filter = Err(Rejection::invalid("intent_id", "required", "must name the intent whose checkpoints are wanted"));
    }
    Ok(HttpResponse::Ok().json(shared.store.checkpoints(caller.principal, filter).await?))
}

/// Reads a checkpoint. Its id is the number of leaves; the id of the checkpoint of one intent has the intent behind a dot.
#[utoipa::path(get, path = "/api/v1/checkpoints/{checkpoint_id}", tag = "proofs", params(("checkpoint_id" = String, Path)),
    responses((status = 200, body = LogCheckpointView), (status = 403), (status = 404)))]
pub(super) async fn checkpoint(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(shared.store.checkpoint(caller.principal, checkpoint_id(&request)).await?))
}

/// Proves that a checkpoint covers an event: by RFC-0019's tree over the intent's events, and by the tree over all events.
#[utoipa::path(get, path = "/api/v1/checkpoints/{checkpoint_id}/proof/{event_id}", tag = "proofs",
    params(("checkpoint_id" = String, Path), ("event_id" = String, Path)),
    responses((status = 200, body = MerkleProofView), (status = 403),
    (status = 404, description = "`not_found`: no such checkpoint, or it does not cover an event with this id"),
    (status = 422, description = "`invalid`: the checkpoint names no intent")))]
pub(super) async fn proof(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let event = request.match_info().get("event_id").unwrap_or_default();
    let event = event.parse::<Uuid>().map_err(|_| Rejection::NotFound);
    Ok(HttpResponse::Ok().json(shared.store.inclusion(caller.principal, checkpoint_id(&request), event).await?))
}

/// Proves that the tree of an older checkpoint is the beginning of a newer one's. Both roots are computed from the stored tree.
#[utoipa::path(get, path = "/api/v1/verify/consistency", tag = "proofs",
    params(("from_checkpoint" = String, Query), ("to_checkpoint" = String, Query)),
    responses((status = 200, body = ConsistencyView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn consistency(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let mut named = |name: &str| query.parsed(name, "the id of a checkpoint", |text| text.parse::<CheckpointId>().ok());
    let (from, to) = (named("from_checkpoint"), named("to_checkpoint"));
    let wrong = query.finish(false);
    let wanted = |name: &str, id: Option<CheckpointId>| {
        wrong.clone()?;
        id.ok_or_else(|| Rejection::invalid(name, "required", "must be the id of a checkpoint"))
    };
    let (from, to) = (wanted("from_checkpoint", from), wanted("to_checkpoint", to));
    Ok(HttpResponse::Ok().json(shared.store.consistency(caller.principal, from, to).await?))
}

/// Signs a checkpoint now, instead of within ten seconds. The reply is the newest checkpoint, new or not.
#[utoipa::path(post, path = "/api/v1/admin/checkpoints", tag = "proofs",
    responses((status = 201, body = LogCheckpointView), (status = 403),
    (status = 409, description = "`log_not_signed`: this server has no key to sign with, or the log does not extend the checkpoint file")))]
pub(super) async fn sign(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    authorize(&caller.principal, Action::SignTree, Object::Server)?;
    shared.checkpoints.turn().await?;
    if shared.checkpoints.key().is_none() {
        return Err(Rejection::LogNotSigned.into());
    }
    let newest = Ok(CheckpointFilter { intent: None, before: None, limit: 1 });
    let newest = shared.store.checkpoints(caller.principal, newest).await?.pop();
    Ok(HttpResponse::Created().json(newest.ok_or(Rejection::NotFound)?))
}
