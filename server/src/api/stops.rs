//! Stops: an intent is paused, its agent says how far it has stopped, and it goes on.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::stopping;
use domain::base::ids::SuspensionId;
use domain::people::authority::Action;
use domain::problem::{Rejection, edge};
use domain::suspension::stop::Fired;
use domain::wire::{FireRequest, FiredView, ParkRequest, PauseRequest, ResumeRequest, SettleRequest, StopRecord, StopRequest};
use serde_json::Value;
use store::{StoreError, Target};

use crate::edge::admission::Work;
use crate::edge::auth::{Caller, to_its_end};
use crate::edge::body::{Json, idempotency};
use crate::edge::problem::{Failure, Problem, Surface};
use crate::edge::route::{Routes, post, suspension_id};
use crate::edge::shared::Shared;
use crate::edge::signed::{self, Signed};
use crate::edge::write::{Write, respond};

pub(super) fn intent_routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/intents/{intent_id}/pause", [post(Work::Write, pause)]);
    routes.keyed(Surface::Ours, "/intents/{intent_id}/park", [post(Work::Write, park)]);
    routes.keyed(Surface::Ours, "/intents/{intent_id}/stop", [post(Work::Write, stop)]);
}

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.signed("/events", fire_signed);
    routes.keyed(Surface::Ours, "/events", [post(Work::Write, fire)]);
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/settle", [post(Work::Write, settle)]);
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/resume", [post(Work::Write, resume)]);
}

/// Pauses an intent: its agent is asked to stop, and the status becomes `blocked` until the intent is resumed.
///
/// A pause of what is paused is the same pause, and writes nothing.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/pause", tag = "lifecycle", request_body = PauseRequest,
    params(("intent_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = StopRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403, description = "`forbidden`: the agent that works on the intent, or a role that does not pause"), (status = 404), (status = 409, description = "`not_active`: the intent waits for a person, has not begun or has ended; `version_conflict`"), (status = 422)))]
pub(super) async fn pause(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let id = SuspensionId(shared.entropy.uuid(shared.clock.now()));
    let write = Write { action: Action::Pause, scope: "POST /intents/{id}/pause", if_match_required: false };
    let command = |body: PauseRequest| stopping::pausing(id, body);
    Ok(respond(write.send(&request, caller, &shared, body, command).await?))
}

/// Parks an intent: its agent stops by itself, and the status becomes `blocked` until a condition is met or the intent is resumed.
///
/// An agent that parks what is parked, under the same conditions, gets the same record, and nothing is written.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/park", tag = "lifecycle", request_body = ParkRequest,
    params(("intent_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = StopRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403), (status = 404), (status = 409, description = "`not_active`: the intent is not active, or is parked under other `conditions`; `version_conflict`"), (status = 422, description = "`invalid`: each problem of the conditions at its path")))]
pub(super) async fn park(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let id = SuspensionId(shared.entropy.uuid(shared.clock.now()));
    let write = Write { action: Action::Park, scope: "POST /intents/{id}/park", if_match_required: false };
    let command = |body: ParkRequest| stopping::parking(id, body);
    Ok(respond(write.send(&request, caller, &shared, body, command).await?))
}

/// Ends the work on an intent: whatever it waits for ends, and its agent has a minute to hand in what it has (`settle`). Then the intent is
/// abandoned. With `graceful: false` that happens at once.
///
/// A second call while the agent has time is the first one, and writes nothing.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/stop", tag = "lifecycle", request_body = StopRequest,
    params(("intent_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = StopRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403, description = "`forbidden`: the agent that works on the intent, or a role that ends no work"), (status = 404), (status = 409, description = "`not_active`: the intent has ended; `expired`: the time of its question or its stop was over; `version_conflict`"), (status = 422)))]
pub(super) async fn stop(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let id = SuspensionId(shared.entropy.uuid(shared.clock.now()));
    let seconds = shared.handoff_seconds;
    let write = Write { action: Action::Stop, scope: "POST /intents/{id}/stop", if_match_required: false };
    let command = |body: StopRequest| stopping::ending(id, body, seconds);
    Ok(respond(write.send(&request, caller, &shared, body, command).await?))
}

/// Tells of an event: the parked intents that wait for it go on. Those of an operator's or admin's key come from the provider `placet`, those
/// of a gateway from `webhook`.
///
/// An event is not kept: an intent that is parked a moment later does not go on because of it. A repeated call wakes those that the first one
/// did not reach; with the same `Idempotency-Key` it wakes no other one, and `woken` is the number of both.
#[utoipa::path(post, path = "/api/v1/events", tag = "lifecycle", request_body = FireRequest,
    params(("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = FiredView), (status = 403), (status = 422)))]
pub(super) async fn fire(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let once = idempotency(&request, &caller.principal, "POST /events", &body);
    let read = body.into().and_then(|body: FireRequest| stopping::firing(body, &caller.principal));
    let (event, once) = match once {
        Ok(once) => (read, once),
        Err(error) => (Err(vec![error]), None),
    };
    let event = event.map_err(|errors| Rejection::Invalid { errors });
    let woken = shared.store.fire(caller.principal, event, once).await?;
    Ok(HttpResponse::Ok().json(FiredView { woken }))
}

/// Tells of an event by a signature in place of a key (Standard Webhooks). The body is that of [`fire`], or that of Standard Webhooks.
async fn fire_signed(request: HttpRequest, payload: Payload, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let Signed { sender, once, id } = signed::verified(&request, payload, &shared).await?;
    let read = Json::of(&request).map(standard)?.into();
    let event = read.and_then(|body: FireRequest| stopping::firing(body, &sender));
    let event = event.map(|event| Fired { webhook_id: Some(id), ..event }).map_err(|errors| Rejection::Invalid { errors });
    let work = async move { shared.store.fire(sender, event, Some(once)).await };
    let failed = |_| Failure::edge(edge::INTERNAL, "the server failed; the failure was logged");
    let woken = to_its_end(work).await.map_err(failed)?.map_err(in_words_of_messages)?;
    Ok(HttpResponse::Ok().json(FiredView { woken }))
}

/// A refusal of a signed message. Its sender sent no `Idempotency-Key`, and would look for one in vain.
fn in_words_of_messages(error: StoreError) -> Failure {
    if let StoreError::Rejected(rejection @ Rejection::IdempotencyMismatch) = &error {
        return Failure::edge(rejection.entry(), "this webhook-id was used with another message");
    }
    error.into()
}

/// A message of Standard Webhooks as an event: its `type` is the name, and its `data` the payload.
fn standard(Json(mut body): Json) -> Json {
    if let Value::Object(members) = &mut body
        && !members.contains_key("name")
        && let Some(name) = members.remove("type")
    {
        let payload = members.remove("data").unwrap_or_default();
        members.remove("timestamp");
        members.insert("name".to_owned(), name);
        members.insert("payload".to_owned(), payload);
    }
    Json(body)
}

/// Says how far the agent has stopped: it has acknowledged the stop (`quiescing`), or its turn has ended (`suspended`). For the agents that
/// work on the intent. If the work is being ended, the intent ends with the second one, and keeps the `handoff`. The same call once more gets
/// the same record, and nothing is written.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/settle", tag = "lifecycle", request_body = SettleRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = StopRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403), (status = 404), (status = 409, description = "`not_suspended`: the suspension is an open question, or nothing is stopped; `already_resolved`: the stop was resumed before, or is a question that has ended; `not_active`: the intent has ended, or the end of its work has taken the place of this stop; `expired`: its time was over; `not_stopping`: a `handoff` for work that goes on; `version_conflict`"), (status = 422)))]
pub(super) async fn settle(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Settle, scope: "POST /suspensions/{id}/settle", if_match_required: false };
    let command = |body: SettleRequest| stopping::settling(suspension_id, body);
    Ok(respond(write.send_to(Target::Suspension(suspension_id), &request, caller, &shared, body, command).await?))
}

/// Lets a paused intent go on. The agent whose work is paused never does this, nor does a key of its owner.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/resume", tag = "lifecycle", request_body = ResumeRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = StopRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403, description = "`forbidden`: the agent whose work is paused, a key of its owner, or a role that does not resume"), (status = 404), (status = 409, description = "`not_suspended`: the suspension is an open question, or nothing is stopped; `suspension_mismatch`: the handle is another one; `already_resolved`: it was resumed before, or is a question that has ended; `not_active`: the intent has ended, or its work is being ended; `expired`: its time was over; `version_conflict`"), (status = 422)))]
pub(super) async fn resume(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Resume, scope: "POST /suspensions/{id}/resume", if_match_required: false };
    let asked_at = shared.clock.now();
    let command = |body: ResumeRequest| stopping::resuming(suspension_id, body, asked_at);
    Ok(respond(write.send_to(Target::Suspension(suspension_id), &request, caller, &shared, body, command).await?))
}
