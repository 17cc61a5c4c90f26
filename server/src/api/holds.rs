//! Legal holds: what they cover is not erased.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::base::field::{FieldError, UNSUPPORTED};
use domain::people::hold::HoldScope;
use domain::problem::Rejection;
use domain::wire::{HoldLifted, HoldList, HoldView, PlaceHoldRequest};
use serde_json::Value;
use store::StoreError;
use uuid::Uuid;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Failure, Problem, Surface};
use crate::edge::query::Query;
use crate::edge::route::{Routes, delete, get, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/holds", [get(Work::List, list), post(Work::Write, place)]);
    routes.keyed(Surface::Ours, "/holds/{hold_id}", [delete(Work::Write, lift)]);
}

/// Places a legal hold on everything, on the intents of an agent, or on one intent. For admins.
#[utoipa::path(post, path = "/api/v1/holds", tag = "proofs", request_body = PlaceHoldRequest, responses(
    (status = 200, body = HoldView), (status = 403), (status = 404, description = "`not_found`: the intent does not exist, or no key has ever had the agent's name"),
    (status = 409, description = "`too_many_holds`"), (status = 422)))]
pub(super) async fn place(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let hold = check_scope(&body.0).and_then(|()| body.into()).and_then(|body: PlaceHoldRequest| accepting::hold(body));
    let missing = hold.as_ref().ok().and_then(|(scope, _)| unknown(scope));
    let placed = shared.store.place_hold(caller.principal, hold.map_err(|errors| Rejection::Invalid { errors })).await;
    let hold = placed.map_err(|error| not_placed(error, missing))?;
    Ok(HttpResponse::Ok().json(HoldView::from(hold)))
}

/// The error of a scope whose intent or agent does not exist.
fn unknown(scope: &HoldScope) -> Option<FieldError> {
    let message = match scope {
        HoldScope::Everything => return None,
        HoldScope::Agent(_) => "must be a name that a key of this server has or had; a hold on another name would cover nothing",
        HoldScope::Intent(_) => "must be the id of an intent of this server; a hold on another id would cover nothing",
    };
    Some(FieldError::new("scope.id", "known", message))
}

/// The failure to place a hold. If the scope covers nothing, it names the member of the request.
fn not_placed(error: StoreError, missing: Option<FieldError>) -> Failure {
    let is_missing = matches!(error, StoreError::Rejected(Rejection::NotFound));
    let mut failure = Failure::from(error);
    if let Some(missing) = missing.filter(|_| is_missing) {
        failure.detail = format!("{}: {}", missing.field, missing.message);
        failure.more.errors.push(missing);
    }
    failure
}

/// Checks the form of the scope, because an error of serde would name the scope and not its member, in words of this program. A scope that
/// is absent is left to serde.
fn check_scope(body: &Value) -> Result<(), Vec<FieldError>> {
    const KINDS: &str = "must be everything, agent or intent";
    let one = |field: &str, rule: &str, message: &str| Err(vec![FieldError::new(field, rule, message)]);
    let Some(scope) = body.get("scope") else { return Ok(()) };
    let Some(scope) = scope.as_object() else {
        return one("scope", "type", "must be an object, for example {\"kind\": \"everything\"}");
    };
    if let Some(name) = scope.keys().find(|name| !matches!(name.as_str(), "kind" | "id")) {
        return one(&format!("scope.{name}"), "unknown", "must be absent: the members of a scope are kind and id");
    }
    let given = |name: &str| scope.get(name).filter(|value| !value.is_null());
    let kind = given("kind").map(|kind| kind.as_str().unwrap_or_default());
    match (kind, given("id")) {
        (None, _) => one("scope.kind", "required", KINDS),
        (Some("everything"), Some(_)) => one("scope.id", UNSUPPORTED, "must be absent: the hold covers all intents"),
        (Some("agent" | "intent"), None) => one("scope.id", "required", "must be the name of the agent or the id of the intent"),
        (Some("agent" | "intent"), Some(id)) if !id.is_string() => one("scope.id", "type", "must be a text"),
        (Some("intent"), Some(id)) if id.as_str().is_none_or(|id| Uuid::try_parse(id).is_err()) => {
            one("scope.id", "format", "must be the id of an intent, for example 01890a5d-ac96-774b-bcce-b302099a8057")
        }
        (Some("everything" | "agent" | "intent"), _) => Ok(()),
        (Some(_), _) => one("scope.kind", "value", KINDS),
    }
}

/// Lists the legal holds in force, oldest first. For admins and auditors.
#[utoipa::path(get, path = "/api/v1/holds", tag = "proofs", responses((status = 200, body = HoldList), (status = 403)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let holds = shared.store.holds(caller.principal).await?;
    Ok(HttpResponse::Ok().json(HoldList { holds: holds.into_iter().map(HoldView::from).collect() }))
}

/// Lifts a legal hold. For admins.
#[utoipa::path(delete, path = "/api/v1/holds/{hold_id}", tag = "proofs",
    params(("hold_id" = String, Path), ("reason" = String, Query)),
    responses((status = 200, body = HoldLifted), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn lift(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let id = request.match_info().get("hold_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound);
    let mut query = Query::new(request.query_string());
    let reason = query.parsed("reason", "a text", |text| Some(text.to_owned())).unwrap_or_default();
    let reason = query.finish(true).and_then(|()| accepting::hold_reason(reason).map_err(|errors| Rejection::Invalid { errors }));
    let hold = shared.store.lift_hold(caller.principal, id, reason.clone()).await?;
    Ok(HttpResponse::Ok().json(HoldLifted { hold: hold.into(), reason: reason.unwrap_or_default() }))
}
