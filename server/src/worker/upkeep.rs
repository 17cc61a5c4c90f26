//! Recurring upkeep: nothing here is durable, and nothing is lost when a turn is missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::Context;
use tokio_cron_scheduler::{Job, JobScheduler};

use crate::store::Store;

/// When records kept for a while are forgotten: every hour, off the full hour.
const FORGET_SCHEDULE: &str = "0 17 * * * *";
/// When open questions are looked at for timers they have lost: every ten minutes.
const SWEEP_SCHEDULE: &str = "45 */10 * * * *";
/// Pages of open questions one sweep looks at; the next one goes on there.
const SWEEP_PAGES_MAX: u32 = 40;
/// When counters of quiet links are dropped: every minute.
const LINKS_SCHEDULE: &str = "30 * * * * *";

/// Starts the schedule.
pub(crate) async fn start(
    store: Arc<dyn Store>,
    forget_quiet_links: impl Fn() + Send + Sync + Clone + 'static,
) -> anyhow::Result<JobScheduler> {
    let scheduler = JobScheduler::new().await.context("failed to make the upkeep schedule")?;
    let forgetful = store.clone();
    let forget = Job::new_async(FORGET_SCHEDULE, move |_, _| {
        let store = forgetful.clone();
        Box::pin(async move {
            loop {
                match store.forget_expired().await {
                    Ok(0) => break,
                    Ok(rows) => tracing::debug!(rows, "forgot idempotency records older than a day"),
                    Err(error) => {
                        tracing::warn!(error = %error, "failed to forget old idempotency records");
                        break;
                    }
                }
            }
        })
    })?;
    let sweep = Arc::new(Sweep::new(store));
    let sweep = Job::new_async(SWEEP_SCHEDULE, move |_, _| {
        let sweep = sweep.clone();
        Box::pin(async move {
            // What it found it has said, loudly.
            sweep.turn().await;
        })
    })?;
    let links = Job::new(LINKS_SCHEDULE, move |_, _| forget_quiet_links())?;
    scheduler.add(forget).await?;
    scheduler.add(sweep).await?;
    scheduler.add(links).await?;
    scheduler.start().await.context("failed to start the upkeep schedule")?;
    Ok(scheduler)
}

/// Looks after timers that open questions should have: see [`Store::sweep_timers`].
pub struct Sweep {
    store: Arc<dyn Store>,
    /// The last question looked at.
    place: AtomicI64,
}

impl Sweep {
    /// A sweep that begins with the oldest question.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, place: AtomicI64::new(0) }
    }

    /// Goes on where the turn before ended, for a bounded number of pages; returns how many timers were missing.
    pub async fn turn(&self) -> u64 {
        let mut mended = 0;
        for _ in 0..SWEEP_PAGES_MAX {
            match self.store.sweep_timers(self.place.load(Ordering::Relaxed)).await {
                Ok(swept) => {
                    mended += swept.mended;
                    self.place.store(swept.next.unwrap_or(0), Ordering::Relaxed);
                    if swept.next.is_none() {
                        break;
                    }
                }
                Err(error) => {
                    tracing::warn!(error = %error, "failed to look for lost timers");
                    break;
                }
            }
        }
        mended
    }
}
