//! Intents: create, list, read, patch, change status (RFC-0001).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::base::ids::IntentId;
use domain::intent::command::Command;
use domain::intent::status::Status;
use domain::people::authority::Action;
use domain::wire::{CreateIntentRequest, IntentPage, IntentView, PatchStateRequest, SetStatusRequest};
use store::{CreateIntent, IntentFilter, NewIntent};

use super::three_calls;
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::{Json, idempotency};
use crate::edge::problem::{Detail, Surface};
use crate::edge::query::{OFFSET_MAX, PAGE_DEFAULT, PAGE_MAX, Query};
use crate::edge::route::{self, Routes, intent_id, post};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents", [route::get(Work::List, list), post(Work::Write, create)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}", [route::get(Work::Look, get)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/state", [post(Work::Write, patch_state)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/status", [post(Work::Write, set_status)]);
}

/// Creates an intent. Its status is `draft`, unless the request says `active`.
#[utoipa::path(post, path = "/api/v1/intents", tag = "intents", request_body = CreateIntentRequest, params(("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = IntentView), (status = 400, description = "`dependency_cycle`: the intent would need its own parent"), (status = 403),
    (status = 404, description = "`not_found`: the parent or a dependency does not exist, or the key may not read it"),
    (status = 409, description = "`intent_ended`: the parent is completed or abandoned; `suspension_is_server_owned`: the state names `_suspension`"), (status = 422)))]
pub(super) async fn create(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    create_below(&request, &shared, "POST /intents", None).await
}

/// Creates an intent, below `parent` if the path names one. `scope` is the scope of idempotency keys.
pub(super) async fn create_below(
    request: &HttpRequest,
    shared: &Shared,
    scope: &'static str,
    parent: Option<IntentId>,
) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(request)?;
    let body = Json::of(request)?;
    let key = idempotency(request, &caller.principal, scope, &body);
    let intent = body.into::<CreateIntentRequest>().and_then(|body| {
        let (status, body) = accepting::new_intent(body, parent, &caller.principal.name)?;
        Ok(NewIntent { id: IntentId(shared.entropy.uuid(shared.clock.now())), status, body })
    });
    let (idempotency, intent) = match key {
        Ok(idempotency) => (idempotency, intent),
        Err(error) => (None, Err(vec![error])),
    };
    Ok(respond(shared.store.create(CreateIntent { principal: caller.principal, idempotency, below: parent, intent }).await?))
}

/// Lists the intents the caller may read, newest first.
#[utoipa::path(get, path = "/api/v1/intents", tag = "intents", params(
    ("status" = Option<String>, Query), ("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query),
    ("cursor" = Option<String>, Query)), responses((status = 200, body = IntentPage), (status = 403), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let filter = IntentFilter {
        limit: query.number("limit", 1..=PAGE_MAX, PAGE_DEFAULT),
        offset: query.number("offset", 0..=OFFSET_MAX, 0),
        status: query.parsed("status", "one of the six statuses", Status::parse),
        before: query.parsed("cursor", "a cursor of this list", |text| text.parse().ok()),
    };
    let filter = query.wanted(false, filter);
    Ok(HttpResponse::Ok().json(shared.store.intents(caller.principal, filter).await?))
}

/// Reads an intent.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}", tag = "intents", params(("intent_id" = String, Path)),
    responses((status = 200, body = IntentView), (status = 404)))]
pub(super) async fn get(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let intent = shared.store.intent(caller.principal, intent_id(&request)?).await?;
    Ok(respond(store::Outcome::Intent(Box::new(intent))))
}

/// Patches the state. Its member `_suspension` belongs to the server.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/state", tag = "intents", request_body = PatchStateRequest,
    params(("intent_id" = String, Path), ("If-Match" = String, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = IntentView), (status = 400), (status = 403), (status = 404), (status = 409, description = "`version_conflict`, `suspension_is_server_owned`, `lease_conflict`, `io_contract_frozen`"), (status = 422, description = "`invalid`, `io_outputs`")))]
pub(super) async fn patch_state(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let (agent_id, by) = (caller.agent_id(&request), caller.principal.clone());
    let write = Write { action: Action::PatchState, scope: "POST /intents/{id}/state", if_match_required: true };
    let outcome = write
        .send(&request, caller, &shared, body, |body: PatchStateRequest| {
            let patches = accepting::patches(body)?;
            let asks = three_calls::asks(&shared, &by, &patches)?;
            Ok(asks.unwrap_or(Command::PatchState { patches, agent_id }))
        })
        .await?;
    Ok(respond(outcome))
}

/// Changes the status; to reach `suspended_awaiting_input`, ask a question. An intent with a dependency that is not completed becomes
/// `blocked` instead of `active`, and only a person can complete an intent before its dependencies and children are completed.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/status", tag = "intents", request_body = SetStatusRequest,
    params(("intent_id" = String, Path), ("If-Match" = String, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = IntentView), (status = 400), (status = 403), (status = 404),
    (status = 409, description = "`version_conflict`, `invalid_transition`, `use_suspend`, `dependencies_incomplete`"), (status = 422, description = "`invalid`, `io_outputs`")))]
pub(super) async fn set_status(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let by = caller.principal.clone();
    let write = Write { action: Action::SetStatus, scope: "POST /intents/{id}/status", if_match_required: true };
    let outcome = write
        .send(&request, caller, &shared, body, |body: SetStatusRequest| {
            let (status, reason) = accepting::status(body)?;
            let announces = three_calls::announces(&shared, &by, status);
            Ok(Command::SetStatus { status, reason, announces })
        })
        .await?;
    Ok(respond(outcome))
}
