//! Erasure of the content of intents that have ended.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::people::authority::{Action, Object, authorize};
use domain::problem::Rejection;
use domain::wire::{RedactRequest, RedactionView};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, intent_id, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/redact", [post(Work::Write, redact)]);
}

/// Erases the content of an intent that has ended: payload and salt of its events, and every copy of them. The events keep their places,
/// times, types and hashes, so the log still verifies. An event of the server's log says who erased them, and the legal basis. For admins.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/redact", tag = "proofs", request_body = RedactRequest,
    params(("intent_id" = String, Path)), responses((status = 200, body = RedactionView), (status = 403), (status = 404),
    (status = 409, description = "`question_open`: a question of the intent is open; `intent_not_ended`: the intent is not completed or abandoned; `legal_hold`: a hold covers it"), (status = 422)))]
pub(super) async fn redact(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let intent_id = intent_id(&request)?;
    // An agent must not learn which intents of others exist.
    shared.store.intent(caller.principal.clone(), intent_id).await?;
    authorize(&caller.principal, Action::Redact, Object::Server)?;
    let basis = body.into().and_then(|body: RedactRequest| accepting::legal_basis(body.legal_basis));
    let basis = basis.map_err(|errors| Rejection::Invalid { errors });
    let mut redacted_events = 0;
    loop {
        // Only an event with a leaf is erased.
        while shared.store.extend_tree().await? {}
        let redacted = shared.store.redact(caller.principal.clone(), intent_id, basis.clone()).await?;
        redacted_events += redacted.events;
        if !redacted.more {
            let legal_basis = basis.unwrap_or_default();
            return Ok(HttpResponse::Ok().json(RedactionView { intent_id, redacted_events, legal_basis }));
        }
    }
}
