//! What this server is, for clients that ask before they call (RFC-0025 §12).

use actix_web::HttpResponse;
use actix_web::web::Data;
use domain::wire::{ServerConfigView, SuspensionConfigView};
use serde_json::json;

use super::Shared;

/// The OpenIntent RFCs whose routes this server has.
const RFCS: [&str; 5] = ["0001", "0003", "0019", "0025", "0026"];

/// Describes the protocol, without a key.
#[utoipa::path(get, path = "/.well-known/openintent.json", tag = "discovery", responses((status = 200, body = Object)))]
pub(super) async fn openintent() -> HttpResponse {
    HttpResponse::Ok().json(json!({
        "protocol": "openintent",
        "version": "0.17.0",
        "rfcUrls": RFCS.map(|number| format!("RFC-{number}")),
        "capabilities": ["intents", "events", "leases", "suspension"],
        "openApiUrl": "/openapi.json",
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

/// Shows the server's level of the retry cascade, read-only (RFC-0026).
#[utoipa::path(get, path = "/api/v1/server/config", tag = "discovery", responses((status = 200, body = ServerConfigView)))]
pub(super) async fn server_config(shared: Data<Shared>) -> HttpResponse {
    HttpResponse::Ok().json(ServerConfigView {
        protocol_version: "0.1".to_owned(),
        suspension: SuspensionConfigView { default_retry_policy: shared.asking.default_retry_policy.clone() },
    })
}
