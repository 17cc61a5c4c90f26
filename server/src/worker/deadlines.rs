//! Fires deadlines when they are due, whether or not the agent that asked still lives.
//!
//! Guarantee: a deadline that is due is applied, once, in the transaction that removes it. Mechanism: rows ordered by due time; this
//! loop sleeps until the next one, or until a commit announces an earlier one. Failure: a crash leaves the rows; the next start
//! finds them due. Being late changes nothing but the lateness: an answer counts iff it came before the deadline.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::base::clock::Clock;
use store::{Store, StoreError};
use tokio::sync::watch;

/// The longest sleep: wake-ups are hints, looking again is the truth, and a clock that jumped is noticed.
const SLEEP_MAX: Duration = Duration::from_secs(5);
/// The pause before a timer that seems due is looked at again.
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
    /// A loop over `store` that calls `beat` each time it turns.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, beat: impl Fn() + Send + Sync + 'static) -> Self {
        Self { store, clock, beat: Box::new(beat) }
    }

    /// Fires everything that is due; returns how many rows that were, and when the next one is due.
    pub async fn run_due(&self) -> Result<(usize, Option<DateTime<Utc>>), StoreError> {
        let mut rows = 0;
        loop {
            let fired = self.store.fire_deadlines().await?;
            // Only a turn that worked is a sign of life.
            (self.beat)();
            rows += fired.rows;
            // A full batch may have left some behind; the next due time says so.
            if fired.rows == 0 {
                return Ok((rows, fired.next_due));
            }
        }
    }

    /// Runs until the server stops. That this loop itself is away counts as an outage like any other: when the machine sleeps, the
    /// process is stopped or the disk takes nothing, nobody can answer either.
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
                // A sender that is gone means the same.
                _ = stopping.changed() => {}
            }
        }
    }

    fn until(&self, next: Option<DateTime<Utc>>) -> Duration {
        let Some(next) = next else { return SLEEP_MAX };
        // A timer that is due was just fired. One that seems due and was not is another server's, or the database's clock says that it
        // is not; asking without a pause would help nobody.
        let Ok(left) = (next - self.clock.now()).to_std() else { return NOT_OURS };
        // A millisecond more than needed: waking early means waking twice.
        (left + Duration::from_millis(1)).min(SLEEP_MAX)
    }
}
