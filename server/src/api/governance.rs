//! The policy of an intent (RFC-0013).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::governing;
use domain::intent::command::Command;
use domain::intent::governance::Policy;
use domain::people::authority::Action;
use domain::wire::{GovernanceView, IntentView};
use serde_json::{Map, Value, json};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, delete, get, intent_id, put};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    let endpoints = [get(Work::Look, show), put(Work::Write, set), delete(Work::Write, remove)];
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/governance", endpoints);
}

/// Shows the policy twice: as it was set, and with the default of every rule that was not set.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/governance", tag = "governance", params(("intent_id" = String, Path)),
    responses((status = 200, body = GovernanceView), (status = 404)))]
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let intent = shared.store.intent(caller.principal, intent_id(&request)?).await?;
    let policy = intent.governance_policy.map(Policy::read).and_then(Result::ok).unwrap_or_default();
    Ok(HttpResponse::Ok().json(GovernanceView::of(intent.id, policy)))
}

/// Sets the policy, in place of the one in force. The agent that created the intent may make each rule stricter; only an admin may
/// loosen one.
#[utoipa::path(put, path = "/api/v1/intents/{intent_id}/governance", tag = "governance", request_body = Policy,
    params(("intent_id" = String, Path), ("If-Match" = String, Header)), responses((status = 200, body = IntentView),
    (status = 400, description = "`if_match_required`"), (status = 403), (status = 404),
    (status = 409, description = "`version_conflict`"), (status = 422)))]
pub(super) async fn set(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let write = Write { action: Action::Govern, scope: "PUT /intents/{id}/governance", if_match_required: true };
    let command = |policy: Map<String, Value>| Ok(Command::Govern(Some(Box::new(governing::policy(policy)?))));
    Ok(respond(write.send(&request, caller, &shared, body, command).await?))
}

/// Removes the policy; for admins.
#[utoipa::path(delete, path = "/api/v1/intents/{intent_id}/governance", tag = "governance",
    params(("intent_id" = String, Path), ("If-Match" = String, Header)), responses((status = 200, body = IntentView),
    (status = 400, description = "`if_match_required`"), (status = 403), (status = 404),
    (status = 409, description = "`version_conflict`"), (status = 422)))]
pub(super) async fn remove(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let write = Write { action: Action::Govern, scope: "DELETE /intents/{id}/governance", if_match_required: true };
    let command = |_: Value| Ok(Command::Govern(None));
    Ok(respond(write.send(&request, caller, &shared, Json(json!({})), command).await?))
}
