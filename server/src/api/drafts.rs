//! Drafts of answers to open questions.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::drafting;
use domain::problem::Rejection;
use domain::wire::{DraftList, SaveDraftRequest};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::route::{Routes, get, put, suspension_id};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/draft", [put(Work::Write, save_draft)]);
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/drafts", [get(Work::List, drafts)]);
}

/// Saves a draft of an answer, which the other people who may answer see, in place of the one that the caller's person saved before. A draft
/// without any text takes that one back.
///
/// A draft is no answer, and no hash covers it. The agent gets it if the question ends without an answer. The reply has all drafts.
#[utoipa::path(put, path = "/api/v1/suspensions/{suspension_id}/draft", tag = "suspensions", params(("suspension_id" = String, Path)),
    request_body = SaveDraftRequest, responses((status = 200, body = DraftList),
    (status = 403, description = "`not_assigned`, `self_response`, `assurance_too_low`: the caller may not answer; `forbidden`"), (status = 404),
    (status = 409, description = "`already_resolved`, `expired`"), (status = 422)))]
pub(super) async fn save_draft(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let values = body.into::<SaveDraftRequest>().and_then(drafting::draft).map_err(|errors| Rejection::Invalid { errors });
    let drafts = shared.store.save_draft(caller.principal, suspension_id, values).await?;
    Ok(HttpResponse::Ok().json(DraftList::of(drafts)))
}

/// Lists the drafts of an open question, oldest first: for those who may answer it, and for auditors.
///
/// A question that has ended has none: those of an end without an answer are in its record.
#[utoipa::path(get, path = "/api/v1/suspensions/{suspension_id}/drafts", tag = "suspensions", params(("suspension_id" = String, Path)),
    responses((status = 200, body = DraftList),
    (status = 403, description = "`not_assigned`, `self_response`, `assurance_too_low`: the caller may not answer; `forbidden`"), (status = 404)))]
pub(super) async fn drafts(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let drafts = shared.store.drafts(caller.principal, suspension_id).await?;
    Ok(HttpResponse::Ok().json(DraftList::of(drafts)))
}
