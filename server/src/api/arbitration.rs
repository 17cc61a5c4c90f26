//! Arbitration: agents ask people to settle a conflict (RFC-0013).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::requesting;
use domain::wire::{ArbitrationRequest, ArbitrationView};

use super::records::unreadable;
use super::requests;
use crate::edge::admission::Work;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/arbitrate", [post(Work::Write, ask)]);
}

/// Asks people to settle a conflict. The intent goes on meanwhile; people answer as they answer questions.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/arbitrate", tag = "arbitration", request_body = ArbitrationRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = ArbitrationView), (status = 403), (status = 404), (status = 409, description = "`not_active`: the intent has ended"), (status = 422)))]
pub(super) async fn ask(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let scope = "POST /intents/{id}/arbitrate";
    let record = requests::make::<ArbitrationRequest>(&request, &shared, scope, requesting::arbitration).await?;
    Ok(HttpResponse::Ok().json(ArbitrationView::of(record).ok_or_else(unreadable)?))
}
