//! Whether the server lives, and whether it can do its work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
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
    looks: Looks,
}

/// Lets one request look at the store at a time: who asks without a key must not keep the disk busy.
///
/// Guarantee: nobody hears of a look that began before they asked, and however many ask at once there are two looks at most. Mechanism:
/// each asker has a number, and each look knows the last number that was given out when it began.
#[derive(Default)]
struct Looks {
    askers: AtomicU64,
    last: tokio::sync::Mutex<Look>,
}

/// What a look found.
#[derive(Clone, Default)]
struct Look {
    /// Everybody up to this number asked before it began.
    began_after: u64,
    found: Option<Result<Option<Hold>, Failure>>,
}

impl Looks {
    async fn look(&self, look: impl Future<Output = Result<Option<Hold>, Failure>>) -> Result<Option<Hold>, Failure> {
        let asker = self.askers.fetch_add(1, Ordering::SeqCst) + 1;
        let mut last = self.last.lock().await;
        if let Some(found) = last.found.clone().filter(|_| last.began_after >= asker) {
            return found;
        }
        let began_after = self.askers.load(Ordering::SeqCst);
        let found = look.await;
        *last = Look { began_after, found: Some(found.clone()) };
        found
    }
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

/// The process serves requests.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn healthz() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("ok\n")
}

/// A write can be committed, deadlines are watched and the clock can be trusted; says nothing about mail servers, which are somebody
/// else's. The body is `ready`, and a line `held: true` while everything waits after a restore.
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
    let hold = shared.health.looks.look(look).await?;
    if !shared.health.deadlines_alive() {
        return Err(Failure::edge(edge::UNAVAILABLE, "the deadline loop does not run").into());
    }
    // Whoever restored it looks at it before it goes on: a proxy must let them.
    let body = if hold.is_some() { "ready\nheld: true\n" } else { "ready\n" };
    Ok(HttpResponse::Ok().content_type("text/plain").body(body))
}
