//! Messages about a question: their states, and reports that one came back.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::base::field::FieldError;
use domain::base::quotation::without_links;
use domain::base::text::visible_line;
use domain::problem::Rejection;
use domain::wire::{BOUNCE_DETAIL_MAX, BounceReceipt, BounceRequest, DeliveryPage, DeliveryView, RETURNED_TO_MAX};
use serde_json::Value;
use store::bounce::BounceToken;
use store::{BounceReport, DeliveryFilter, FailedFilter, Redrive};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::{Json, idempotency};
use crate::edge::problem::{Problem, Surface};
use crate::edge::query::{PAGE_DEFAULT, PAGE_MAX, Query};
use crate::edge::route::{Routes, get, post, suspension_id};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/deliveries", [get(Work::List, list)]);
    routes.keyed(Surface::Ours, "/deliveries", [get(Work::List, failed)]);
    routes.keyed(Surface::Ours, "/deliveries/bounces", [post(Work::Write, report_bounce)]);
    routes.keyed(Surface::Ours, "/deliveries/{delivery_id}/redrive", [post(Work::Write, redrive)]);
}

/// Lists the messages about a question, oldest first: recipient, state, and the last reply of the mail server or endpoint.
#[utoipa::path(get, path = "/api/v1/suspensions/{suspension_id}/deliveries", tag = "deliveries",
    params(("suspension_id" = String, Path), ("limit" = Option<u32>, Query),
    ("cursor" = Option<String>, Query)), responses((status = 200, body = DeliveryPage), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let id = suspension_id(&request)?;
    let mut query = Query::new(request.query_string());
    let filter = DeliveryFilter {
        limit: query.number("limit", 1..=PAGE_MAX, PAGE_DEFAULT),
        after: query.parsed("cursor", "a cursor of this list", |text| text.parse().ok()).unwrap_or(0),
    };
    let filter = query.wanted(true, filter);
    Ok(HttpResponse::Ok().json(shared.store.deliveries(caller.principal, id, filter).await?))
}

/// Lists the messages that have failed, over all questions, newest first; for admins and auditors.
#[utoipa::path(get, path = "/api/v1/deliveries", tag = "deliveries", params(
    ("state" = Option<String>, Query),
    ("limit" = Option<u32>, Query), ("cursor" = Option<String>, Query)),
    responses((status = 200, body = DeliveryPage), (status = 403), (status = 422)))]
pub(super) async fn failed(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    query.parsed("state", "failed", |text| (text == "failed").then_some(()));
    let filter = FailedFilter {
        limit: query.number("limit", 1..=PAGE_MAX, PAGE_DEFAULT),
        before: query.parsed("cursor", "a cursor of this list", |text| text.parse().ok()),
    };
    let filter = query.wanted(true, filter);
    Ok(HttpResponse::Ok().json(shared.store.failed_deliveries(caller.principal, filter).await?))
}

/// Sends a failed message again, while its question is open; for admins.
///
/// It is the same message with the same id, and its tries are counted from the beginning. An endpoint that answered
/// 410 (gone) is tried again.
#[utoipa::path(post, path = "/api/v1/deliveries/{delivery_id}/redrive", tag = "deliveries",
    params(("delivery_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, body = DeliveryView), (status = 403),
    (status = 404, description = "`not_found`: no message with this id has failed"),
    (status = 409, description = "`already_resolved`, `expired`"), (status = 422),
    (status = 507, description = "`no_room`: the server's disk is nearly full, and what is left is kept for answers")))]
pub(super) async fn redrive(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let id = request.match_info().get("delivery_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound);
    // The request has no body, so `null` stands for it. The key is compared by the id in the path too, so the same key for
    // another message is refused.
    let key = idempotency(&request, &caller.principal, "POST /deliveries/{id}/redrive", &Json(Value::Null));
    let key = key.map_err(|error| Rejection::Invalid { errors: vec![error] });
    let redrive = id.and_then(|id| Ok(Redrive { id, idempotency: key? }));
    Ok(HttpResponse::Ok().json(shared.store.redrive(caller.principal, redrive).await?))
}

/// Reports that a message came back; for keys with the role `channel`.
///
/// A repeated report changes nothing and shows the present state of the message. A report never changes a decision.
#[utoipa::path(post, path = "/api/v1/deliveries/bounces", tag = "deliveries", request_body = BounceRequest, responses(
    (status = 200, body = BounceReceipt), (status = 403), (status = 404, description = "`not_found`: no message of this server has this token"), (status = 422)))]
pub(super) async fn report_bounce(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let report = body.into().and_then(report).map_err(|errors| Rejection::Invalid { errors });
    Ok(HttpResponse::Ok().json(BounceReceipt::from(shared.store.report_bounce(caller.principal, report).await?)))
}

fn report(body: BounceRequest) -> Result<BounceReport, Vec<FieldError>> {
    let mut errors = Vec::new();
    let length = body.returned_to.chars().count();
    if length == 0 || length > RETURNED_TO_MAX {
        errors.push(FieldError::new("returned_to", "length", format!("must be 1 to {RETURNED_TO_MAX} characters")));
    }
    if body.detail.as_ref().is_some_and(|detail| detail.chars().count() > BOUNCE_DETAIL_MAX) {
        errors.push(FieldError::new("detail", "length", format!("must be at most {BOUNCE_DETAIL_MAX} characters")));
    }
    let token = BounceToken::parse(&body.returned_to);
    match token {
        // A report may quote the mail, and any person with the link in the mail can answer. So the link is taken out.
        Some(token) if errors.is_empty() => {
            let detail = body.detail.map(|detail| visible_line(&without_links(&detail)));
            Ok(BounceReport { token, kind: body.kind, detail })
        }
        None if errors.is_empty() => {
            let message = "must be the token of a message, or an address with that token after a plus sign";
            Err(vec![FieldError::new("returned_to", "format", message)])
        }
        Some(_) | None => Err(errors),
    }
}
