//! Whether the server lives, and whether it can do its work.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use actix_web::HttpResponse;
use actix_web::web::Data;
use domain::problem::edge;

use super::Shared;
use super::problem::{Failure, Problem};
use crate::store::Hold;

/// A deadline loop that has not turned for this long is stuck.
const HEARTBEAT_MAX: Duration = Duration::from_secs(10);

/// The last signs of life of the loops that must run.
#[derive(Default)]
pub(crate) struct Health {
    deadlines: Mutex<Option<Instant>>,
}

impl Health {
    /// The deadline loop turned.
    pub(crate) fn deadlines_beat(&self) {
        *self.deadlines.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn deadlines_alive(&self) -> bool {
        let last = *self.deadlines.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|at| at.elapsed() < HEARTBEAT_MAX)
    }
}

/// The event loop turns.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn healthz() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("ok\n")
}

/// A write can be committed, deadlines are watched and the clock can be trusted; says nothing about mail servers, which are somebody
/// else's. The body is `ready`, and a line `held: true` while everything waits after a restore.
#[utoipa::path(get, path = "/readyz", tag = "health", responses((status = 200, body = String, content_type = "text/plain"), (status = 503, description = "`unavailable`")))]
pub(super) async fn readyz(shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let hold = shared.store.hold().await?;
    if let Some(hold @ (Hold::Clock | Hold::Recovery)) = hold {
        return Err(Failure::edge(edge::UNAVAILABLE, format!("deadlines and messages wait: {}", hold.why())).into());
    }
    shared.store.probe().await?;
    if !shared.health.deadlines_alive() {
        return Err(Failure::edge(edge::UNAVAILABLE, "the deadline loop does not run").into());
    }
    // Whoever restored it looks at it before it goes on: a proxy must let them.
    let body = if hold.is_some() { "ready\nheld: true\n" } else { "ready\n" };
    Ok(HttpResponse::Ok().content_type("text/plain").body(body))
}
