//! Access of agents to intents that other agents created: the access control list of an intent, and requests for access
//! (RFC-0011).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::admitting;
use domain::base::field::FieldError;
use domain::base::ids::AccessId;
use domain::intent::access::{APPROVED, ChangeAccess, DENIED, REQUESTED};
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::wire::{
    AccessRequestList, AccessRequestView, AclEntryView, AclView, ApproveAccessRequest, DenyAccessRequest, GrantAccessRequest,
    RequestAccessRequest, SetAclRequest,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::records::{kept, unreadable};
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, delete, get, intent_id, post, put};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/acl", [get(Work::List, read_acl), put(Work::Write, set_acl)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/acl/entries", [post(Work::Write, grant)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/acl/entries/{entry_id}", [delete(Work::Write, revoke)]);
    routes.keyed(
        Surface::OpenIntent,
        "/intents/{intent_id}/access-requests",
        [get(Work::List, list_requests), post(Work::Write, request_access)],
    );
    let one = "/intents/{intent_id}/access-requests/{request_id}";
    routes.keyed(Surface::OpenIntent, &[one, "/approve"].concat(), [post(Work::Write, approve)]);
    routes.keyed(Surface::OpenIntent, &[one, "/deny"].concat(), [post(Work::Write, deny)]);
}

/// Has the store change the access control list of the intent in the path, or its requests for access.
async fn change<T: DeserializeOwned>(
    request: &HttpRequest,
    shared: &Shared,
    (action, scope): (Action, &'static str),
    body: Json,
    change: impl FnOnce(T) -> Result<ChangeAccess, Vec<FieldError>>,
) -> Result<HttpResponse, Detail> {
    let write = Write { action, scope, if_match_required: false };
    let command = |body| Ok(Command::Access(Box::new(change(body)?)));
    Ok(respond(write.send(request, Caller::of(request)?, shared, body, command).await?))
}

/// An id for a new entry or request.
fn new_id(shared: &Shared) -> AccessId {
    AccessId(shared.entropy.uuid(shared.clock.now()))
}

/// The id of the entry or request in the path. A text that is no id becomes an id that names nothing, so that the rights of the
/// caller are checked before the 404.
fn id_in_path(request: &HttpRequest, name: &str) -> AccessId {
    request.match_info().get(name).and_then(|text| text.parse().ok()).unwrap_or(AccessId(uuid::Uuid::nil()))
}

/// Reads the access control list. An agent that it does not name has no access, unless it created the intent or is assigned to it.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/acl", tag = "access", params(("intent_id" = String, Path)),
    responses((status = 200, body = AclView), (status = 403), (status = 404)))]
pub(super) async fn read_acl(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(shared.store.acl(caller.principal, intent_id(&request)?).await?))
}

/// Replaces the access control list. An entry that stays as it is keeps its id. `default_policy` can only be `closed`.
#[utoipa::path(put, path = "/api/v1/intents/{intent_id}/acl", tag = "access", request_body = SetAclRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = AclView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn set_acl(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let body = Json::of(&request)?;
    let kind = (Action::ManageAccess, "PUT /intents/{id}/acl");
    change(&request, &shared, kind, body, |body| admitting::list(body, || new_id(&shared))).await
}

/// Gives an agent access. The new entry replaces an earlier entry of that agent. The creator, an admin, and agents with the
/// permission `admin` may do so.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/acl/entries", tag = "access", request_body = GrantAccessRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = AclEntryView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn grant(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let (body, id) = (Json::of(&request)?, new_id(&shared));
    let kind = (Action::ManageAccess, "POST /intents/{id}/acl/entries");
    change(&request, &shared, kind, body, |body| Ok(ChangeAccess::Grant(admitting::grant(id, body)?))).await
}

/// Removes an entry. If its agent may then no longer write, the leases of the agent are released.
#[utoipa::path(delete, path = "/api/v1/intents/{intent_id}/acl/entries/{entry_id}", tag = "access",
    params(("intent_id" = String, Path), ("entry_id" = String, Path)),
    responses((status = 204), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn revoke(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let id = id_in_path(&request, "entry_id");
    let kind = (Action::ManageAccess, "DELETE /intents/{id}/acl/entries/{id}");
    change(&request, &shared, kind, Json(json!({})), |_: Value| Ok(ChangeAccess::Revoke(id))).await
}

/// Asks for access to an intent, also to one that the agent may not read. An agent asks once: until a person has decided, a repeat
/// returns the open request.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/access-requests", tag = "access", request_body = RequestAccessRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = AccessRequestView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn request_access(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let (body, id) = (Json::of(&request)?, new_id(&shared));
    let kind = (Action::RequestAccess, "POST /intents/{id}/access-requests");
    change(&request, &shared, kind, body, |body| admitting::request(id, body)).await
}

/// Lists the requests for access, with the decisions about them.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/access-requests", tag = "access", params(("intent_id" = String, Path)),
    responses((status = 200, body = AccessRequestList), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list_requests(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let events = kept(&request, &shared, &[REQUESTED, APPROVED, DENIED]).await?;
    Ok(HttpResponse::Ok().json(AccessRequestList::of(events).ok_or_else(unreadable)?))
}

/// Approves a request. Operators and admins decide; a key of the owner that asked may not decide.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/access-requests/{request_id}/approve", tag = "access",
    request_body = ApproveAccessRequest,
    params(("intent_id" = String, Path), ("request_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = AccessRequestView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn approve(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let (body, id) = (Json::of(&request)?, id_in_path(&request, "request_id"));
    let kind = (Action::DecideAccess, "POST /intents/{id}/access-requests/{id}/approve");
    change(&request, &shared, kind, body, |body| admitting::approval(id, body)).await
}

/// Denies a request. Operators and admins decide; a key of the owner that asked may not decide.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/access-requests/{request_id}/deny", tag = "access",
    request_body = DenyAccessRequest,
    params(("intent_id" = String, Path), ("request_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = AccessRequestView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn deny(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let (body, id) = (Json::of(&request)?, id_in_path(&request, "request_id"));
    let kind = (Action::DecideAccess, "POST /intents/{id}/access-requests/{id}/deny");
    change(&request, &shared, kind, body, |body| admitting::denial(id, body)).await
}
