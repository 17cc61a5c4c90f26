//! Fires deadlines when they are due, whether or not the agent that asked still lives.
//!
//! Guarantee: a deadline that is due is applied, once, in the transaction that removes it. Mechanism: rows ordered by due time;
//! this loop sleeps until the next one, or until a commit announces an earlier one. Failure: a crash leaves the rows, and the
//! next start finds them due. A late loop only applies deadlines late: an answer counts if and only if it came before the
//! deadline.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::base::clock::Clock;
use store::{Store, StoreError};
use tokio::sync::watch;

/// The longest sleep. A wake-up is only a hint, so the loop looks again by itself; it also notices a clock that jumped.
const SLEEP_MAX: Duration = Duration::from_secs(5);
/// The pause before the loop looks again if a timer seems due but was not fired.
const NOT_OURS: Duration = Duration::from_millis(10);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// The deadline loop.
pub struct Deadlines {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    beat: Box<dyn Fn() + Send + Sync>,
}

impl Deadlines {
    /// Makes a loop over `store` that calls `beat` after each batch that the store has handled.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, beat: impl Fn() + Send + Sync + 'static) -> Self {
        Self { store, clock, beat: Box::new(beat) }
    }

    /// Fires everything that is due; returns the number of rows, and when the next one is due.
    pub async fn run_due(&self) -> Result<(usize, Option<DateTime<Utc>>), StoreError> {
        let mut rows = 0;
        loop {
            let fired = self.store.fire_deadlines().await?;
            // The loop counts as alive only if the store handled the batch, so a failure above skips this.
            (self.beat)();
            rows += fired.rows;
            // A full batch may have left due rows behind, so the loop goes on until a batch is empty.
            if fired.rows == 0 {
                return Ok((rows, fired.next_due));
            }
        }
    }

    /// Runs until the server stops. A time in which this loop makes no progress counts as an outage of the server: if the machine
    /// sleeps, the process is stopped or the disk takes no writes, people cannot answer either.
    pub(crate) async fn run(&self, mut stopping: watch::Receiver<bool>) {
        self.store.attend();
        while !*stopping.borrow() {
            let pause = match self.run_due().await {
                Ok((_, next)) => self.until(next),
                Err(error) => {
                    tracing::error!(error = %error, "failed to fire deadlines; trying again");
                    PAUSE
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.store.hub().timer() => {}
                // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
                _ = stopping.changed() => {}
            }
        }
    }

    fn until(&self, next: Option<DateTime<Utc>>) -> Duration {
        let Some(next) = next else { return SLEEP_MAX };
        // Timers that were due have just been fired. A timer that still seems due belongs to another server, or is not yet due by
        // the database's clock; asking without a pause would not help.
        let Ok(left) = (next - self.clock.now()).to_std() else { return NOT_OURS };
        // The pause is a millisecond longer than needed, because a loop that wakes too early has to wake once more.
        (left + Duration::from_millis(1)).min(SLEEP_MAX)
    }
}
