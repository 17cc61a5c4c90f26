//! Tells admins soon of questions that too few people are left to answer.
//!
//! Guarantee: after a change of people, groups or keys, and after a start, the open questions are looked at once more, and the mails to admins
//! leave; each admin gets one mail about a question. Mechanism: the commit of the change wakes this loop, and the hub keeps one permit for all
//! changes that come during a look; a change that an earlier server did not look at any more is found by the look after the start. A mail that
//! was not taken is tried again here. Failure: a question behind the pages of one turn, and a change that another program wrote into the file
//! of SQLite, wait for the sweep every ten minutes.

use std::sync::Arc;
use std::time::Duration;

use store::Store;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::deliveries::Deliveries;
use super::upkeep::Sweep;

/// The least time between two looks, so that changes one after the other do not keep the database busy.
const REST: Duration = Duration::from_secs(1);
/// The time until mails that were not taken are tried again.
pub const AGAIN_AFTER: Duration = Duration::from_mins(1);

/// Runs until the server stops. Failures are logged, and the next look or the sweep goes on.
pub async fn run(
    store: Arc<dyn Store>,
    sweep: Arc<Sweep>,
    deliveries: Arc<Deliveries>,
    again_after: Duration,
    mut stopping: watch::Receiver<bool>,
) {
    while !*stopping.borrow() {
        let began = Instant::now();
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
                () = sleep(again_after) => {
                    deliveries.alert().await;
                }
                () = stopped(&mut stopping) => return,
            }
        }
    }
}

/// Resolves when the server stops, also if that was said before the call.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
    drop(stopping.wait_for(|stopping| *stopping).await);
}
