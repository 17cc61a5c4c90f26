//! Intents: create, list, read, patch, change status (RFC-0001).

use actix_web::http::Method;
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::base::field::FieldError;
use domain::base::ids::IntentId;
use domain::intent::command::Command;
use domain::intent::status::Status;
use domain::people::authority::Action;
use domain::wire::{CreateIntentRequest, IntentPage, IntentView, PatchStateRequest, SetStatusRequest};

use super::auth::Caller;
use super::body::{Json, idempotency, if_match};
use super::problem::Detail;
use super::query::Query;
use super::{Shared, intent_id, resource, respond};
use crate::store::{CreateIntent, IntentFilter, NewIntent, Request, Target};

/// The most entries on one page of any list.
pub(super) const PAGE_MAX: u32 = 1_000;
pub(super) const PAGE_DEFAULT: u32 = 100;
/// The furthest a list can be read by offset.
pub(super) const OFFSET_MAX: u32 = 100_000;

pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .service(resource("", [(Method::GET, web::to(list)), (Method::POST, web::to(create))]))
        .service(resource("/{intent_id}", [(Method::GET, web::to(get))]))
        .service(resource("/{intent_id}/state", [(Method::POST, web::to(patch_state))]))
        .service(resource("/{intent_id}/status", [(Method::POST, web::to(set_status))]));
}

/// Creates an intent, `draft` unless it says `active`.
#[utoipa::path(post, path = "/api/v1/intents", tag = "intents", request_body = CreateIntentRequest, params(("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = IntentView), (status = 403), (status = 404, description = "`not_found`: a dependency or the parent does not exist, or the key may not read it"),
    (status = 409, description = "`suspension_is_server_owned`: the state names `_suspension`"), (status = 422)))]
pub(super) async fn create(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let key = idempotency(&request, &caller.principal, "POST /intents", &body);
    let intent = body.into::<CreateIntentRequest>().and_then(|body| {
        let (status, body) = accepting::new_intent(body, &caller.principal.name)?;
        Ok(NewIntent { id: IntentId(shared.entropy.uuid(shared.clock.now())), status, body })
    });
    let (idempotency, intent) = match key {
        Ok(idempotency) => (idempotency, intent),
        Err(error) => (None, Err(vec![error])),
    };
    Ok(respond(shared.store.create(CreateIntent { principal: caller.principal, idempotency, intent }).await?))
}

/// Lists the intents the caller may read, newest first.
#[utoipa::path(get, path = "/api/v1/intents", tag = "intents", params(
    ("status" = Option<String>, Query), ("limit" = Option<u32>, Query, description = "1 to 1,000; 100 by default"), ("offset" = Option<u32>, Query),
    ("cursor" = Option<String>, Query)), responses((status = 200, body = IntentPage), (status = 403), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    caller.may(Action::Browse)?;
    let mut query = Query::new(request.query_string());
    let filter = IntentFilter {
        limit: query.number("limit", 1..=PAGE_MAX, PAGE_DEFAULT),
        offset: query.number("offset", 0..=OFFSET_MAX, 0),
        status: query.parsed("status", "one of the six statuses", Status::parse),
        before: query.parsed("cursor", "a cursor of this list", |text| text.parse().ok()),
    };
    query.finish(false)?;
    Ok(HttpResponse::Ok().json(shared.store.intents(caller.principal, filter).await?))
}

/// Reads an intent.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}", tag = "intents", params(("intent_id" = String, Path)),
    responses((status = 200, body = IntentView), (status = 404)))]
pub(super) async fn get(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let intent = shared.store.intent(caller.principal, intent_id(&request)?).await?;
    Ok(respond(crate::store::Outcome::Intent(Box::new(intent))))
}

/// Patches the state; `_suspension` is the server's.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/state", tag = "intents", request_body = PatchStateRequest,
    params(("intent_id" = String, Path), ("If-Match" = String, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = IntentView), (status = 400), (status = 403), (status = 404), (status = 409, description = "`version_conflict`, `suspension_is_server_owned`"), (status = 422)))]
pub(super) async fn patch_state(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let agent_id = caller.agent_id(&request);
    let write = Write { action: Action::PatchState, scope: "POST /intents/{id}/state", if_match_required: true };
    let outcome = write
        .send(&request, caller, &shared, body, |body: PatchStateRequest| {
            Ok(Command::PatchState { patches: accepting::patches(body)?, agent_id })
        })
        .await?;
    Ok(respond(outcome))
}

/// Changes the status; `suspended_awaiting_input` is reached by asking a question.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/status", tag = "intents", request_body = SetStatusRequest,
    params(("intent_id" = String, Path), ("If-Match" = String, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = IntentView), (status = 400), (status = 403), (status = 404), (status = 409, description = "`version_conflict`, `invalid_transition`, `use_suspend`"), (status = 422)))]
pub(super) async fn set_status(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let write = Write { action: Action::SetStatus, scope: "POST /intents/{id}/status", if_match_required: true };
    let outcome = write
        .send(&request, caller, &shared, body, |body: SetStatusRequest| {
            let (status, reason) = accepting::status(body)?;
            Ok(Command::SetStatus { status, reason })
        })
        .await?;
    Ok(respond(outcome))
}

/// One kind of write to an intent: what it needs, and where its idempotency keys live.
pub(super) struct Write {
    pub(super) action: Action,
    pub(super) scope: &'static str,
    pub(super) if_match_required: bool,
}

impl Write {
    /// Sends a write to the intent the path names; fields that break rules travel along, to be told after 404, 403 and 400.
    pub(super) async fn send<T: serde::de::DeserializeOwned>(
        &self,
        request: &HttpRequest,
        caller: Caller,
        shared: &Shared,
        body: Json,
        command: impl FnOnce(T) -> Result<Command, Vec<FieldError>>,
    ) -> Result<crate::store::Outcome, super::problem::Failure> {
        let target = Target::Intent(intent_id(request)?);
        self.send_to(target, request, caller, shared, body, command).await
    }

    /// Sends a write to this target.
    pub(super) async fn send_to<T: serde::de::DeserializeOwned>(
        &self,
        target: Target,
        request: &HttpRequest,
        caller: Caller,
        shared: &Shared,
        body: Json,
        command: impl FnOnce(T) -> Result<Command, Vec<FieldError>>,
    ) -> Result<crate::store::Outcome, super::problem::Failure> {
        let key = idempotency(request, &caller.principal, self.scope, &body);
        let (idempotency, command) = match key {
            Ok(idempotency) => (idempotency, body.into().and_then(command)),
            Err(error) => (None, Err(vec![error])),
        };
        let precondition = if_match(request, self.if_match_required);
        let trace_parent = request.headers().get("traceparent").and_then(|value| value.to_str().ok()?.parse().ok());
        let principal = caller.principal;
        let write = Request { principal, action: self.action, target, precondition, idempotency, command, trace_parent };
        Ok(shared.store.execute(write).await?)
    }
}
