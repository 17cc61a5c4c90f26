//! Tells admins soon of questions that too few people are left to answer.
//!
//! Guarantee: after a change of people, groups or keys, and after a start, the open questions are looked at once more, and the mails to admins
//! leave; each admin gets one mail about a question. Mechanism: the commit of the change wakes this loop, and the hub keeps one permit for all
//! changes that come during a look; a change that an earlier server did not look at any more is found by the look after the start. The commit
//! of another program, `placet people` for example, may wake nothing, so every few seconds this loop reads the server's log for changes. A mail
//! that was not taken is tried again here. Failure: a question behind the pages of one turn waits for the sweep every ten minutes.

use std::sync::Arc;
use std::time::Duration;

use store::Store;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::deliveries::Deliveries;
use super::upkeep::Sweep;

/// The least time between two looks, so that changes one after the other do not keep the database busy.
const REST: Duration = Duration::from_secs(1);

/// The pauses of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// The time until mails that were not taken are tried again.
    pub again_after: Duration,
    /// The time between two reads of the server's log.
    pub read_after: Duration,
}

/// The pauses of a server.
pub const PAUSES: Pauses = Pauses { again_after: Duration::from_mins(1), read_after: Duration::from_secs(5) };

/// Runs until the server stops. Failures are logged, and the next look or the sweep goes on.
pub async fn run(
    store: Arc<dyn Store>,
    sweep: Arc<Sweep>,
    deliveries: Arc<Deliveries>,
    pauses: Pauses,
    mut stopping: watch::Receiver<bool>,
) {
    let mut seen = 0;
    while !*stopping.borrow() {
        let began = Instant::now();
        // The look that follows is enough for all changes before it.
        has_changed(&*store, &mut seen).await;
        sweep.turn().await;
        deliveries.alert().await;
        // Looks take half of the time at most, however many questions there are.
        tokio::select! {
            () = sleep(REST.max(began.elapsed())) => {}
            () = stopped(&mut stopping) => return,
        }
        loop {
            tokio::select! {
                () = store.hub().directory() => break,
                () = changed(&*store, &mut seen, pauses.read_after) => break,
                () = sleep(pauses.again_after) => {
                    deliveries.alert().await;
                }
                () = stopped(&mut stopping) => return,
            }
        }
    }
}

/// Resolves after a change of people, groups or keys, whichever program made it.
async fn changed(store: &dyn Store, seen: &mut i64, read_after: Duration) {
    loop {
        sleep(read_after).await;
        if has_changed(store, seen).await {
            return;
        }
    }
}

/// Whether people, groups or keys changed since the event that was `seen` last.
async fn has_changed(store: &dyn Store, seen: &mut i64) -> bool {
    match store.people_changed(*seen).await {
        Ok((newest, has_changed)) => {
            *seen = newest;
            has_changed
        }
        Err(error) => {
            tracing::debug!(error = %error, "failed to read whether people, groups or keys have changed; reading again soon");
            false
        }
    }
}

/// Resolves when the server stops, also if that was said before the call.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
    drop(stopping.wait_for(|stopping| *stopping).await);
}
