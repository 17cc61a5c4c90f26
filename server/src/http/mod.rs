//! REST: one file per noun. A handler extracts, makes one store call, and converts.

pub(crate) mod auth;
mod body;
pub mod connection;
mod deliveries;
mod discovery;
mod events;
pub(crate) mod exchange;
mod extensions;
mod fields;
mod health;
mod intents;
mod keys;
mod leases;
mod metrics;
mod openapi;
mod preview;
mod problem;
mod query;
mod relay;
mod reminders;
mod suspensions;
pub(crate) mod trace;
pub(crate) mod turns;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use actix_web::http::Method;
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Resource, Route};
use domain::asking::policy::AskingPolicy;
use domain::base::clock::Clock;
use domain::base::ids::{Entropy, IntentId, KeyId, SuspensionId};
use domain::problem::{Rejection, edge};
use tokio::sync::watch;

use self::problem::Surface;
use crate::admission::Admission;
use crate::config::Limits;
use crate::instance::Instance;
use crate::keys::Authenticator;
use crate::metrics::Metrics;
use crate::rates::Rates;
use crate::store::{Outcome, Store};

pub(crate) use self::auth::to_its_end;
pub use self::body::{BODIES_BYTES_MAX, BODY_BYTES_MAX, BODY_WAIT, IDEMPOTENCY_KEY_MAX, PAGE_BODIES_BYTES_MAX};
pub(crate) use self::body::{Bodies, Body, read as read_body};
pub use self::openapi::document;
pub(crate) use self::problem::{Failure, RETRY_AFTER_SECONDS, TurnedAway};
pub use self::suspensions::WAIT_SECONDS_MAX;

/// How many long waits one key may hold at a time.
pub const WAITERS_PER_KEY_MAX: usize = 2_000;

/// What every handler shares.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) asking: AskingPolicy,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) waiters: Waiters,
    pub(crate) admission: Arc<Admission>,
    pub(crate) rates: Rates,
    pub(crate) bodies: Bodies,
    pub(crate) health: health::Health,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) instance: Instance,
    /// Becomes true when the server stops: long waits end then.
    pub(crate) stopping: watch::Sender<bool>,
}

impl Shared {
    /// Resolves when the server stops.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as `self`.
        drop(stopping.wait_for(|stopping| *stopping).await);
    }

    pub(crate) fn new(
        store: Arc<dyn Store>,
        asking: AskingPolicy,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        metrics: Arc<Metrics>,
        instance: Instance,
        limits: &Limits,
    ) -> Self {
        let authenticator = Arc::new(Authenticator::new(store.clone(), clock.clone()));
        Self {
            store,
            authenticator,
            asking,
            clock,
            entropy,
            waiters: Waiters::default(),
            admission: Arc::new(Admission::new(limits.concurrent_requests, &metrics.classes)),
            rates: Rates::new(limits),
            bodies: Bodies::new(BODIES_BYTES_MAX),
            health: health::Health::default(),
            metrics,
            instance,
            stopping: watch::Sender::new(false),
        }
    }
}

/// Counts the long waits of each key.
#[derive(Default)]
pub(crate) struct Waiters {
    // A std mutex: held for a map operation, never across an await.
    held: Mutex<HashMap<Option<KeyId>, usize>>,
}

impl Waiters {
    /// Takes one of the key's places.
    pub(crate) fn enter(&self, key: Option<KeyId>) -> Result<Waiting<'_>, Failure> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(key).or_default();
        if *count >= WAITERS_PER_KEY_MAX {
            return Err(Failure::too_many(format!("one key may hold {WAITERS_PER_KEY_MAX} waits at a time"), 1));
        }
        *count += 1;
        Ok(Waiting { waiters: self, key })
    }
}

/// One of a key's places; given back when dropped.
pub(crate) struct Waiting<'a> {
    waiters: &'a Waiters,
    key: Option<KeyId>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut held = self.waiters.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

/// All routes that are not pages.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config
        .service(resource("/healthz", [(Method::GET, web::to(health::healthz)), (Method::HEAD, web::to(health::healthz))]))
        .service(resource("/readyz", [(Method::GET, web::to(health::readyz)), (Method::HEAD, web::to(health::readyz))]))
        .service(resource("/metrics", [(Method::GET, web::to(metrics::metrics))]))
        .service(resource("/openapi.json", [(Method::GET, web::to(openapi::openapi))]))
        .service(resource("/.well-known/openintent.json", [(Method::GET, web::to(discovery::openintent))]))
        .service(resource("/.well-known/openintent-compat.json", [(Method::GET, web::to(discovery::compat))]))
        .service(resource("/.well-known/placet.json", [(Method::GET, web::to(discovery::placet))]))
        .service(resource("/v1/server/config", [(Method::GET, web::to(discovery::server_config))]))
        .service(resource("/api/v1/server/config", [(Method::GET, web::to(discovery::server_config))]))
        .service(
            web::scope("/api/v1")
                .wrap(from_fn(auth::authenticate))
                .service(web::scope("/intents").configure(intent_routes))
                .service(web::scope("/suspensions").configure(suspensions::routes).configure(deliveries::suspension_routes))
                .service(web::scope("/deliveries").configure(deliveries::routes))
                .service(web::scope("/keys").configure(keys::routes))
                .default_service(web::to(no_route)),
        )
        // The RFC writes the routes without a prefix.
        .service(
            web::scope("/intents").wrap(from_fn(auth::authenticate)).configure(intent_routes).default_service(web::to(no_route)),
        );
}

/// Paths are tried one after the other: those of every question come first.
fn intent_routes(config: &mut ServiceConfig) {
    suspensions::intent_routes(config);
    intents::routes(config);
    events::routes(config);
    leases::routes(config);
}

/// The methods of a resource, as its 405 names them (RFC 9110 §15.5.6).
pub(crate) struct Allow(String);

impl Allow {
    /// Those of the resource a request has come to.
    pub(crate) fn of(request: &HttpRequest) -> Option<HeaderValue> {
        HeaderValue::from_str(&request.app_data::<Self>()?.0).ok()
    }
}

/// A resource that leaves methods it does not know to `no_method`, for which it notes those it knows.
pub(crate) fn allowing<const N: usize>(path: &str, routes: [(Method, Route); N], no_method: Route) -> Resource {
    let methods: Vec<&str> = routes.iter().map(|(method, _)| method.as_str()).collect();
    let resource = web::resource(path).app_data(Allow(methods.join(", "))).default_service(no_method);
    routes.into_iter().fold(resource, |resource, (method, route)| resource.route(route.method(method)))
}

/// A resource that answers methods it does not know in its surface's form.
fn resource<const N: usize>(path: &str, routes: [(Method, Route); N]) -> Resource {
    allowing(path, routes, web::to(no_method))
}

async fn no_method(request: HttpRequest) -> HttpResponse {
    let methods = Allow::of(&request);
    let known = methods.as_ref().and_then(|methods| methods.to_str().ok()).unwrap_or_default();
    let failure = Failure::edge(edge::NO_METHOD, format!("this route knows these methods: {known}"));
    let mut response = Surface::of(request.path()).error(failure).error_response();
    if let Some(methods) = methods {
        response.headers_mut().insert(ALLOW, methods);
    }
    response
}

/// What no route matches.
pub(crate) async fn no_route(request: HttpRequest) -> Result<HttpResponse, actix_web::Error> {
    Err(Surface::of(request.path()).error(Failure::edge(edge::NO_ROUTE, "not found")))
}

/// The intent a path names; one that is no UUID does not exist.
fn intent_id(request: &HttpRequest) -> Result<IntentId, Rejection> {
    request.match_info().get("intent_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound)
}

/// The suspension a path names; anything that is no id of ours does not exist.
fn suspension_id(request: &HttpRequest) -> Result<SuspensionId, Rejection> {
    let id = request.match_info().get("suspension_id").and_then(SuspensionId::parse);
    id.ok_or(Rejection::NotFound)
}

/// An outcome as JSON, with its `ETag`.
fn respond(outcome: Outcome) -> HttpResponse {
    let etag = |version: u32| ("etag", format!("\"{version}\""));
    match outcome {
        Outcome::Intent(intent) => HttpResponse::Ok().insert_header(etag(intent.version)).json(intent),
        Outcome::Suspension { record, version } => HttpResponse::Ok().insert_header(etag(version)).json(record),
        Outcome::Responded { response, version } => HttpResponse::Ok().insert_header(etag(version)).json(response),
        Outcome::Event(served) => HttpResponse::Ok().content_type("application/json").body(served),
        Outcome::Lease(lease) => HttpResponse::Ok().json(lease),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_so_many_places_and_gets_them_back() {
        let waiters = Waiters::default();
        let key = |number| Some(KeyId(uuid::Uuid::from_u128(number)));
        let mut places: Vec<Waiting<'_>> = (0..WAITERS_PER_KEY_MAX).map(|_| waiters.enter(key(1)).ok().unwrap()).collect();
        let refused = waiters.enter(key(1)).err().unwrap();
        assert_eq!((refused.entry.status, refused.more.retry_after), (429, Some(1)));
        assert!(waiters.enter(key(2)).is_ok(), "each key has its own");
        places.pop();
        places.push(waiters.enter(key(1)).ok().unwrap());
        assert!(waiters.enter(key(1)).is_err());
        drop(places);
        assert!(waiters.held.lock().unwrap().is_empty(), "a key that waits for nothing is forgotten");
    }
}
