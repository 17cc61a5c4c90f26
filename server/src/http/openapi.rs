//! The interface, described from the code that implements it (`OpenAPI` 3.1).

use actix_web::HttpResponse;
use utoipa::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};

use super::{discovery, events, health, intents, keys, leases, suspensions};

#[derive(OpenApi)]
#[openapi(
    info(title = "Placet", description = "A human-in-the-loop approval server: OpenIntent RFC-0025 and RFC-0026."),
    paths(
        discovery::openintent, discovery::compat, discovery::placet, discovery::server_config, health::healthz, health::readyz, openapi,
        intents::create, intents::list, intents::get, intents::patch_state, intents::set_status,
        events::list, events::append,
        leases::list, leases::acquire, leases::renew, leases::release,
        suspensions::suspend, suspensions::respond_to, suspensions::get, suspensions::list, suspensions::cancel,
        keys::create, keys::list, keys::revoke,
    ),
    components(schemas(domain::wire::ProblemBody)),
    security(("api_key" = []))
)]
struct Description;

/// The description of every route.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut description = Description::openapi();
    let key = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key")));
    description.components.get_or_insert_default().add_security_scheme("api_key", key);
    description
}

/// Serves the description.
#[utoipa::path(get, path = "/openapi.json", tag = "discovery", responses((status = 200)))]
pub(super) async fn openapi() -> HttpResponse {
    HttpResponse::Ok().json(document())
}
