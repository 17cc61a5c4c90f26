//! API keys, for admins: create, list, revoke.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::base::ids::KeyId;
use domain::problem::Rejection;
use domain::wire::{CreateKeyRequest, CreatedKey, KeyList, KeyView};
use secrecy::ExposeSecret;

use store::SecretOrigin;

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::keys::{generate, new_key};
use crate::edge::problem::{Problem, Surface};
use crate::edge::route::{Routes, delete, get, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/keys", [get(Work::List, list), post(Work::Write, create)]);
    routes.keyed(Surface::Ours, "/keys/{key_id}", [delete(Work::Write, revoke)]);
}

/// Makes a key and shows its secret this once.
#[utoipa::path(post, path = "/api/v1/keys", tag = "keys", request_body = CreateKeyRequest,
    responses((status = 200, body = CreatedKey), (status = 403), (status = 422)))]
pub(super) async fn create(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let by = caller.principal.name.clone();
    let id = KeyId(shared.entropy.uuid(shared.clock.now()));
    let mut secret = None;
    let key = body.into().and_then(|body: CreateKeyRequest| {
        let secret = secret.insert(generate(body.role, &*shared.entropy));
        new_key(body, secret, id, Some(&shared.asking.channels.names()), SecretOrigin::Drawn)
    });
    let key = shared.store.create_key(caller.principal, key.map_err(|errors| Rejection::Invalid { errors })).await?;
    tracing::info!(key.id = %key.id, key.name, key.role = %key.role, key.owner = %key.owner, by, "a key was made");
    let secret = secret.unwrap_or_default();
    let created = CreatedKey { id: key.id, name: key.name, role: key.role, key: secret.expose_secret().to_owned() };
    Ok(HttpResponse::Ok().insert_header(("cache-control", "no-store")).json(created))
}

/// Lists keys, oldest first, without their secrets.
#[utoipa::path(get, path = "/api/v1/keys", tag = "keys", responses((status = 200, body = KeyList), (status = 403)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(KeyList { keys: shared.store.keys(caller.principal).await? }))
}

/// Revokes a key: at once on this server, within a second on others.
///
/// Waits and streams that are open on other servers end some seconds later.
#[utoipa::path(delete, path = "/api/v1/keys/{key_id}", tag = "keys", params(("key_id" = String, Path)),
    responses((status = 200, body = KeyView), (status = 403), (status = 404)))]
pub(super) async fn revoke(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let by = caller.principal.name.clone();
    let id = request.match_info().get("key_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound);
    let key = shared.store.revoke_key(caller.principal, id).await?;
    shared.authenticator.forget(key.id);
    tracing::info!(key.id = %key.id, key.name, key.role = %key.role, by, "a key was revoked");
    Ok(HttpResponse::Ok().json(key))
}
