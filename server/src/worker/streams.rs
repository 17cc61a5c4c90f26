//! The reader of the log that wakes streams: one for all streams of a server.
//!
//! Guarantee: a stream is woken for each of its events, whichever server wrote it. Mechanism: the reader reads on from the event
//! at which it last stopped; a commit wakes the reader, which also reads every two seconds without being woken. Failure: a stream
//! that is not woken looks for events by itself, once a minute.

use std::sync::Arc;
use std::time::Duration;

use store::Store;
use tokio::sync::watch;
use tokio::time::sleep;

/// How often the reader looks although no commit was announced to it.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How soon the reader looks again after a commit was announced: an event may be hidden behind a transaction that still runs.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// The pause between the announcement of a commit and the look that it causes, so that one look serves many commits.
const PAUSE: Duration = Duration::from_millis(5);

/// Reads until the server stops.
pub(crate) async fn run(store: Arc<dyn Store>, mut stopping: watch::Receiver<bool>) {
    let mut look_in = LOOK_EVERY;
    while !*stopping.borrow() {
        match store.sort_published().await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => tracing::warn!(error = %error, "failed to look for the events of streams; trying again"),
        }
        tokio::select! {
            () = store.hub().published() => {
                look_in = LOOK_AGAIN;
                sleep(PAUSE).await;
            }
            () = sleep(look_in) => look_in = LOOK_EVERY,
            // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
            _ = stopping.changed() => {}
        }
    }
}
