//! Whether the server lives, and whether it can do its work.

use actix_web::HttpResponse;
use actix_web::http::Method;
use actix_web::web::{self, Data};
use domain::problem::edge;
use store::Hold;

use crate::edge::problem::{Failure, Problem, Surface};
use crate::edge::route::Routes;
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.open(Surface::Ours, "/healthz", [(Method::GET, web::to(healthz)), (Method::HEAD, web::to(healthz))]);
    routes.open(Surface::Ours, "/readyz", [(Method::GET, web::to(readyz)), (Method::HEAD, web::to(readyz))]);
}

/// Answers 200 while the process serves requests.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn healthz() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("ok\n")
}

/// Answers 200 when a write can be committed, deadlines are watched and the clock can be trusted. It says nothing about mail
/// servers, which are not part of this server. The body is `ready`, and a line `held: true` while deadlines and messages wait
/// after a restore.
#[utoipa::path(get, path = "/readyz", tag = "health", responses((status = 200, body = String, content_type = "text/plain"), (status = 503, description = "`unavailable`")))]
pub(super) async fn readyz(shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let look = async {
        let hold = shared.store.hold().await?;
        if let Some(hold @ (Hold::Clock | Hold::Recovery)) = hold {
            return Err(Failure::edge(edge::UNAVAILABLE, format!("deadlines and messages wait: {}", hold.why())));
        }
        shared.store.probe().await?;
        Ok(hold)
    };
    let hold = shared.health.look(look).await?;
    if !shared.health.deadlines_alive() {
        return Err(Failure::edge(edge::UNAVAILABLE, "the deadline loop does not run").into());
    }
    // After a restore, deadlines and messages wait until an operator has looked at the data and released them. The operator reads
    // the data with requests to this server. So the server counts as ready, because a proxy sends no requests to one that is not.
    let body = if hold.is_some() { "ready\nheld: true\n" } else { "ready\n" };
    Ok(HttpResponse::Ok().content_type("text/plain").body(body))
}
