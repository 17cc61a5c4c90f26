//! Subscriptions: endpoints that are told of the events of an intent (RFC-0006).

use actix_web::http::header::CACHE_CONTROL;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::subscribing::{WEBHOOK_URL, subscription};
use domain::base::field::FieldError;
use domain::base::ids::{IntentId, SubscriptionId};
use domain::problem::Rejection;
use domain::wire::{SubscribeRequest, SubscriptionView};
use secrecy::ExposeSecret;
use store::{NewSubscription, Outcome, SUBSCRIPTION_SECRET, SubscriptionFilter, subscription_secret};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::query::{OFFSET_MAX, Query};
use crate::edge::route::{Routes, delete, get, post};
use crate::edge::shared::Shared;
use crate::edge::write::{repeatable, respond};

/// The most subscriptions on one page; a page has this many unless the request asks for fewer.
pub(super) const SUBSCRIPTIONS_PAGE_MAX: u32 = 100;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/subscriptions", [get(Work::List, list), post(Work::Write, subscribe)]);
    routes.keyed(Surface::OpenIntent, "/subscriptions/{subscription_id}", [delete(Work::Write, unsubscribe)]);
}

/// Sends an endpoint a message for each event of an intent, from the next one on. The operator decides on which hosts endpoints may be; by
/// default on none. A message names an event and holds nothing of its contents.
#[utoipa::path(post, path = "/api/v1/subscriptions", tag = "subscriptions", request_body = SubscribeRequest,
    params(("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SubscriptionView), (status = 403), (status = 404, description = "`not_found`: the intent"), (status = 422)))]
pub(super) async fn subscribe(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let (principal, body) = (caller.principal, Json::of(&request)?);
    let now = shared.clock.now();
    let id = SubscriptionId(shared.entropy.uuid(now));
    let endpoint = |url: &str| shared.subscribers.check(url).map_err(|why| FieldError::new(WEBHOOK_URL, "endpoint", why));
    let new = |body: SubscribeRequest| {
        let (intent_id, body) = subscription(body, &principal.name, endpoint, now)?;
        Ok(NewSubscription { id, intent_id, body })
    };
    let write = repeatable(&request, &principal, "POST /subscriptions", body, new);
    // The secret is read before anything is written, because a subscription whose secret is never told would be of no use.
    let secret = shared.store.secret(SUBSCRIPTION_SECRET).await?;
    let mut outcome = shared.store.subscribe(principal, write).await?;
    if let Outcome::Subscription(view) = &mut outcome {
        // A repeated request gets the same secret, because the secret is made from the id and stored nowhere.
        view.secret = Some(subscription_secret(&secret, view.id).expose_secret().to_owned());
    }
    let mut response = respond(outcome);
    response.headers_mut().insert(CACHE_CONTROL, actix_web::http::header::HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Lists subscriptions, newest first. An agent finds its own, and a person finds all.
#[utoipa::path(get, path = "/api/v1/subscriptions", tag = "subscriptions", params(("intent_id" = Option<String>, Query),
    ("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query)),
    responses((status = 200, body = Vec<SubscriptionView>), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let filter = SubscriptionFilter {
        limit: query.number("limit", 1..=SUBSCRIPTIONS_PAGE_MAX, SUBSCRIPTIONS_PAGE_MAX),
        offset: query.number("offset", 0..=OFFSET_MAX, 0),
        intent: query.parsed("intent_id", "the id of an intent", |text| text.parse::<IntentId>().ok()),
    };
    let filter = query.wanted(false, filter);
    Ok(HttpResponse::Ok().json(shared.store.subscriptions(caller.principal, filter).await?))
}

/// Ends a subscription. Its creator and admins may do so. A message that is under way may still arrive.
#[utoipa::path(delete, path = "/api/v1/subscriptions/{subscription_id}", tag = "subscriptions",
    params(("subscription_id" = String, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub(super) async fn unsubscribe(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let id = request.match_info().get("subscription_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound);
    shared.store.unsubscribe(caller.principal, id).await?;
    Ok(HttpResponse::NoContent().finish())
}
