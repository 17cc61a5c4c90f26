//! The metrics for Prometheus.

use actix_web::http::Method;
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};
use domain::problem::edge;

use crate::edge::auth;
use crate::edge::problem::{Failure, Problem};
use crate::edge::route::Routes;
use crate::edge::shared::Shared;
use crate::observe::metrics::CONTENT_TYPE;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.scraped("/metrics", (Method::GET, web::to(metrics)));
}

/// Counters since the start of the process, and gauges as they are now; for auditors and admins, whose key may come as a bearer token.
#[utoipa::path(get, path = "/metrics", tag = "health", security(("api_key" = []), ("bearer" = [])),
    responses((status = 200, body = String, content_type = "application/openmetrics-text"), (status = 401), (status = 403), (status = 503)))]
pub(super) async fn metrics(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = auth::bearer(&shared, &request).await?;
    let standing = shared.store.standing(caller.principal).await?;
    shared.metrics.hold(shared.store.hold().await?);
    let exposition = shared.metrics.exposition(&standing, shared.clock.now());
    let exposition = exposition.map_err(|error| {
        tracing::error!(error = %error, "failed to write the metrics");
        Failure::edge(edge::INTERNAL, "the server failed; the failure was logged")
    })?;
    Ok(HttpResponse::Ok().content_type(CONTENT_TYPE).insert_header(("cache-control", "no-store")).body(exposition))
}
