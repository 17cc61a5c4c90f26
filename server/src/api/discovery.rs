//! Facts about this server, for clients that ask before they call (RFC-0025 §12).

use actix_web::http::Method;
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};
use domain::base::field::FieldError;
use domain::problem::Rejection;
use domain::suspension::FallbackPolicy;
use domain::suspension::retry::PartialRetryPolicy;
use domain::wire::{ServerConfigView, SuspensionConfigView};
use serde_json::json;

use crate::edge::instance::{CHALLENGE_CHARS, is_challenge};
use crate::edge::problem::{Problem, Surface};
use crate::edge::query::Query;
use crate::edge::route::Routes;
use crate::edge::settings::{Settings, Signing};
use crate::edge::shared::Shared;

/// The OpenIntent RFCs of which this server has at least a part.
const RFCS: [&str; 15] =
    ["0001", "0002", "0003", "0005", "0006", "0007", "0009", "0010", "0011", "0012", "0013", "0019", "0024", "0025", "0026"];

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.open(Surface::Ours, "/.well-known/openintent.json", [(Method::GET, web::to(openintent))]);
    routes.open(Surface::Ours, "/.well-known/openintent-compat.json", [(Method::GET, web::to(compat))]);
    routes.open(Surface::Ours, "/.well-known/placet.json", [(Method::GET, web::to(placet))]);
    // The OpenIntent client asks at the first path; the RFC names the second.
    routes.open(Surface::OpenIntent, "/v1/server/config", [(Method::GET, web::to(server_config))]);
    routes.open(Surface::OpenIntent, "/api/v1/server/config", [(Method::GET, web::to(server_config))]);
}

/// Describes the protocol, without a key.
#[utoipa::path(get, path = "/.well-known/openintent.json", tag = "discovery", responses((status = 200, body = Object)))]
pub(super) async fn openintent(shared: Data<Shared>) -> HttpResponse {
    // A surface that is turned off has no address here.
    let a2a = shared.doors.a2a.then(|| ("a2a", json!({ "card": shared.doors.at(".well-known/agent-card.json") })));
    let surfaces: serde_json::Map<_, _> = a2a.into_iter().map(|(name, surface)| (name.to_owned(), surface)).collect();
    HttpResponse::Ok().json(json!({
        "protocol": "openintent",
        "version": "0.17.0",
        "rfcUrls": RFCS.map(|number| format!("RFC-{number}")),
        "capabilities": ["intents", "events", "leases", "suspension"],
        "openApiUrl": "/openapi.json",
        "surfaces": surfaces,
    }))
}

/// Describes the implementation, without a key.
#[utoipa::path(get, path = "/.well-known/openintent-compat.json", tag = "discovery", responses((status = 200, body = Object)))]
pub(super) async fn compat() -> HttpResponse {
    let compliance: serde_json::Map<_, _> = RFCS.iter().map(|number| (format!("RFC-{number}"), json!("partial"))).collect();
    HttpResponse::Ok().json(json!({
        "implementation": "placet",
        "version": env!("CARGO_PKG_VERSION"),
        "rfcCompliance": compliance,
        "features": { "suspension": true, "server_owned_timers": true, "long_poll": true, "hash_chain": true },
    }))
}

/// Proves, without a key, that this server runs on a certain database: a program that can read that database can check the proof.
///
/// There is no limit on calls: one costs a hash of a few bytes, less than reading the request.
#[utoipa::path(get, path = "/.well-known/placet.json", tag = "discovery",
    params(
        ("challenge" = String, Query),
        ("reader" = Option<String>, Query)
    ),
    responses((status = 200), (status = 422)))]
pub(super) async fn placet(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let mut query = Query::new(request.query_string());
    let expected = format!("{CHALLENGE_CHARS} characters of base64url");
    let challenge = query.parsed("challenge", &expected, |text| is_challenge(text).then(|| text.to_owned()));
    let reader = query.parsed("reader", &expected, |text| is_challenge(text).then(|| text.to_owned()));
    query.finish(true)?;
    let missing = || Rejection::Invalid { errors: vec![FieldError::new("challenge", "required", "must be given")] };
    let challenge = challenge.ok_or_else(missing)?;
    // A cache that kept a proof could pass for this server.
    let mut response = HttpResponse::Ok();
    response.insert_header(("cache-control", "no-store"));
    let mut said = json!({ "implementation": "placet", "proof": shared.instance.prove(&challenge) });
    if let Some(settings) = reader.and_then(|reader| shared.instance.settings_for(&challenge, &reader, shared.clock.now())) {
        let signing = shared.checkpoints.why_unsigned().map_or(Signing::Signs, Signing::SignsNot);
        let settings = Settings { signing: Some(signing), ..settings.clone() };
        said["settings"] = serde_json::to_value(settings).unwrap_or_default();
    }
    Ok(response.json(said))
}

/// Shows the server's default retry policy, which fills in what the retry policy of a question leaves out (RFC-0026).
#[utoipa::path(get, path = "/api/v1/server/config", tag = "discovery", responses((status = 200, body = ServerConfigView)))]
pub(super) async fn server_config(shared: Data<Shared>) -> HttpResponse {
    // In the OpenIntent client a fallback policy of the server overrides the `fail` that a call asks for: silence would become
    // consent. So the server shows no policy but `fail`.
    let shown = shared.asking.default_retry_policy.clone().map(|policy| PartialRetryPolicy {
        final_fallback_policy: policy.final_fallback_policy.filter(|policy| *policy == FallbackPolicy::Fail),
        ..policy
    });
    HttpResponse::Ok().json(ServerConfigView {
        protocol_version: "0.1".to_owned(),
        suspension: SuspensionConfigView { default_retry_policy: shown },
    })
}
