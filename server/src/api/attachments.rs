//! Files that belong to an intent and are kept elsewhere (RFC-0005).

use std::collections::HashSet;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::recording;
use domain::base::ids::EventId;
use domain::intent::command::Command;
use domain::intent::record::{ATTACHMENT, ATTACHMENT_REMOVED, AttachmentRemoved, Record};
use domain::problem::Rejection;
use domain::wire::{AddAttachmentRequest, AttachmentList, AttachmentView};
use serde_json::{Value, json};

use super::records::{keep, kept, unreadable, write};
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Failure, Surface};
use crate::edge::route::{Routes, delete, get, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(
        Surface::OpenIntent,
        "/intents/{intent_id}/attachments",
        [get(Work::List, list_attachments), post(Work::Write, add_attachment)],
    );
    routes.keyed(
        Surface::OpenIntent,
        "/intents/{intent_id}/attachments/{attachment_id}",
        [delete(Work::Write, remove_attachment)],
    );
}

/// Adds an attachment: its name and where it is kept, not its bytes.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/attachments", tag = "records", request_body = AddAttachmentRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = AttachmentView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn add_attachment(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let event = keep(&request, &shared, "POST /intents/{id}/attachments", |body, _, _| recording::attachment(body)).await?;
    Ok(HttpResponse::Ok().json(AttachmentView::of(event).ok_or_else(unreadable)?))
}

/// Lists the attachments that were not removed.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/attachments", tag = "records", params(("intent_id" = String, Path)),
    responses((status = 200, body = AttachmentList), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list_attachments(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    Ok(HttpResponse::Ok().json(AttachmentList { attachments: listed(&request, &shared).await? }))
}

/// The attachments of the intent in the path that were not removed.
async fn listed(request: &HttpRequest, shared: &Shared) -> Result<Vec<AttachmentView>, Failure> {
    let events = kept(request, shared, &[ATTACHMENT, ATTACHMENT_REMOVED]).await?;
    let removals = events.iter().filter(|event| event.event_type == ATTACHMENT_REMOVED);
    let removed: HashSet<Value> = removals.filter_map(|event| event.payload.get("attachment_id").cloned()).collect();
    let attachments = events.into_iter().filter_map(AttachmentView::of);
    Ok(attachments.filter(|attachment| !removed.contains(&json!(attachment.id))).collect())
}

/// Takes an attachment from the list. The log keeps the event that added it.
#[utoipa::path(delete, path = "/api/v1/intents/{intent_id}/attachments/{attachment_id}", tag = "records",
    params(("intent_id" = String, Path), ("attachment_id" = String, Path)), responses((status = 204), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn remove_attachment(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let id: Option<EventId> = request.match_info().get("attachment_id").and_then(|text| text.parse().ok());
    let attachment_id = id.ok_or(Rejection::NotFound)?;
    // The list is not read in the transaction of the write, because reading a long log takes long. So two requests at the same
    // time may both remove an attachment, which has the same effect as one removal.
    if !listed(&request, &shared).await?.iter().any(|attachment| attachment.id == attachment_id.to_string()) {
        return Err(Rejection::NotFound.into());
    }
    let caller = Caller::of(&request)?;
    let removed = Record::AttachmentRemoved(AttachmentRemoved { attachment_id });
    let command = |_: Value| Ok(Command::Record(Box::new(removed)));
    let write = write("DELETE /intents/{id}/attachments/{id}");
    write.send(&request, caller, &shared, Json(json!({})), command).await?;
    Ok(HttpResponse::NoContent().finish())
}
