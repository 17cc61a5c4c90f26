//! Receipts of decisions: a third party checks one offline before it acts, and uses it once.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting::reason;
use domain::base::ids::ReceiptId;
use domain::intent::receipt::Use;
use domain::problem::Rejection;
use domain::wire::{ConsumeReceiptRequest, ReceiptView, RevokeReceiptRequest};
use store::{ProvedReceipt, StoreError};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::query::Query;
use crate::edge::route::{Routes, get, post, suspension_id};
use crate::edge::shared::Shared;

/// The media type of a transparent statement (RFC 9052 §2).
const COSE: &str = "application/cose; cose-type=\"cose-sign1\"";

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/receipt", [post(Work::Write, issue)]);
    routes.keyed(Surface::Ours, "/receipts/{receipt_id}", [get(Work::Read, read)]);
    routes.keyed(Surface::Ours, "/receipts/{receipt_id}/consume", [post(Work::Write, consume)]);
    routes.keyed(Surface::Ours, "/receipts/{receipt_id}/revoke", [post(Work::Write, revoke)]);
}

fn receipt_id(request: &HttpRequest) -> Result<ReceiptId, Rejection> {
    request.match_info().get("receipt_id").unwrap_or_default().parse().map_err(|_| Rejection::NotFound)
}

/// Gives the receipt of an answered question, and makes it if there is none. For agents that may read the intent, operators and admins.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/receipt", tag = "receipts", params(("suspension_id" = String, Path)),
    responses((status = 200, body = ReceiptView), (status = 403), (status = 404),
    (status = 409, description = "`not_answered`: no person answered the question, or before this server made receipts; `log_not_signed`: this server has no key to sign with, or the log does not extend the checkpoint file")))]
pub(super) async fn issue(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let id = suspension_id(&request)?;
    let key = shared.checkpoints.key_in_force().await?;
    let id = shared.store.issue_receipt(caller.principal.clone(), id, key).await?;
    Ok(HttpResponse::Ok().json(proved(&shared, &caller, id).await?.view))
}

/// Reads a receipt: as JSON, or with `format=cose` as a transparent statement in COSE (RFC 9943). The proof is that of the newest
/// checkpoint. For callers that may read the intent, and for keys with the role `verifier`.
#[utoipa::path(get, path = "/api/v1/receipts/{receipt_id}", tag = "receipts",
    params(("receipt_id" = String, Path), ("format" = Option<String>, Query)),
    responses((status = 200, content((ReceiptView = "application/json"), (Vec<u8> = "application/cose"))), (status = 403), (status = 404),
    (status = 409, description = "`log_not_signed`: this server has no key to sign with, or the log does not extend the checkpoint file"), (status = 422)))]
pub(super) async fn read(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let is_cose = query.parsed("format", "json or cose", |text| match text {
        "json" => Some(false),
        "cose" => Some(true),
        _ => None,
    });
    let proved = proved(&shared, &caller, receipt_id(&request)?).await?;
    query.finish(true)?;
    if is_cose != Some(true) {
        return Ok(HttpResponse::Ok().json(proved.view));
    }
    let Some(key) = shared.checkpoints.key_in_force().await? else { return Err(Rejection::LogNotSigned.into()) };
    let subject = proved.view.receipt.decision.get("suspension_id").and_then(|id| id.as_str()).unwrap_or_default();
    let receipt = proof::receipt::receipt(subject, &proved.leaf, &proved.inclusion, &key);
    let whole = receipt.and_then(|receipt| proof::receipt::transparent(&proved.statement, &receipt));
    let whole = whole.map_err(|error| StoreError::Failed(anyhow::Error::new(error)))?;
    Ok(HttpResponse::Ok().content_type(COSE).body(whole))
}

/// The receipt with its proof. If no checkpoint covers it yet, one is signed now. A request that changes a receipt asks for this before
/// the change: a server that cannot sign then refuses without an effect.
async fn proved(shared: &Shared, caller: &Caller, id: ReceiptId) -> Result<ProvedReceipt, Problem> {
    if let Some(proved) = shared.store.receipt(caller.principal.clone(), id).await? {
        return Ok(proved);
    }
    shared.checkpoints.turn().await?;
    let proved = shared.store.receipt(caller.principal.clone(), id).await?;
    proved.ok_or_else(|| Rejection::LogNotSigned.into())
}

/// Uses a receipt: exactly one of all requests succeeds. For keys with the role `verifier`, and for gateways that were handed the
/// question; never for the agent that asked, or for a key of its owner. The body names the decision on which the caller is about to act.
#[utoipa::path(post, path = "/api/v1/receipts/{receipt_id}/consume", tag = "receipts", request_body = ConsumeReceiptRequest,
    params(("receipt_id" = String, Path)), responses(
    (status = 200, body = ReceiptView), (status = 403, description = "`self_response`: the asker's own key; `forbidden`"), (status = 404),
    (status = 409, description = "`receipt_used`, `receipt_revoked`; `receipt_mismatch`: the receipt is about another action, or says another answer; `log_not_signed`: this server has no key to sign with, or the log does not extend the checkpoint file"), (status = 422)))]
pub(super) async fn consume(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let id = receipt_id(&request)?;
    let used = body.into().map(|body: ConsumeReceiptRequest| Use { action_digest: body.action_digest, value: body.value });
    let used = used.map_err(|errors| Rejection::Invalid { errors });
    let proved = proved(&shared, &caller, id).await?;
    let standing = shared.store.consume_receipt(caller.principal.clone(), id, used).await?;
    Ok(HttpResponse::Ok().json(ReceiptView::of(id, &standing, proved.view.receipt)))
}

/// Revokes a receipt that was not used. For admins, and for the person who answered.
#[utoipa::path(post, path = "/api/v1/receipts/{receipt_id}/revoke", tag = "receipts", request_body = RevokeReceiptRequest,
    params(("receipt_id" = String, Path)), responses(
    (status = 200, body = ReceiptView), (status = 403), (status = 404),
    (status = 409, description = "`receipt_used`, `receipt_revoked`; `log_not_signed`: this server has no key to sign with, or the log does not extend the checkpoint file"), (status = 422)))]
pub(super) async fn revoke(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let id = receipt_id(&request)?;
    let reason =
        body.into().and_then(|body: RevokeReceiptRequest| reason(body.reason)).map_err(|errors| Rejection::Invalid { errors });
    let proved = proved(&shared, &caller, id).await?;
    let standing = shared.store.revoke_receipt(caller.principal.clone(), id, reason).await?;
    Ok(HttpResponse::Ok().json(ReceiptView::of(id, &standing, proved.view.receipt)))
}
