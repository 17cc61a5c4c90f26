//! Reads the whole database, slowly and without end, so that damage is found before a decision needs the record.
//!
//! Guarantee: a pass takes as many seconds as the database has steps (100 events or 256 pages each), and begins anew an hour after it has
//! ended. Mechanism: one step a second, each a short read. Half of the servers that start begin a whole pass, and half begin at a leaf by
//! chance, so that the last events are read, too, where a server never runs for a whole pass. With PostgreSQL, each server makes its own
//! passes: they only read. Failure: a step that fails is repeated a minute later.

use std::sync::Arc;
use std::time::Duration;

use store::Store;
use store::scrub::Scrub;
use tokio::sync::watch;

/// The time between two steps.
const EVERY: Duration = Duration::from_secs(1);
/// The time until a step that failed is repeated.
const AGAIN_AFTER: Duration = Duration::from_mins(1);
/// The time between two passes.
const REST: Duration = Duration::from_hours(1);

/// Runs until the server stops. The store logs and counts each damaged record.
pub(crate) async fn run(store: Arc<dyn Store>, random: u64, mut stopping: watch::Receiver<bool>) {
    let mut at = if random.is_multiple_of(2) { Scrub::Begin } else { Scrub::Somewhere(random / 2) };
    let mut wait = EVERY;
    while !*stopping.borrow() {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
            _ = stopping.changed() => continue,
        }
        wait = match store.scrub(at.clone()).await {
            Ok(step) => {
                let is_over = step.next.is_none();
                at = step.next.unwrap_or_default();
                if is_over { REST } else { EVERY }
            }
            Err(error) => {
                tracing::warn!(error = %error, "failed to look for damaged records; trying again in a minute");
                AGAIN_AFTER
            }
        };
    }
}
