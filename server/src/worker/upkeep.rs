//! Recurring upkeep: nothing here is durable, and nothing is lost when a turn is missed.

use std::sync::Arc;

use anyhow::Context;
use tokio_cron_scheduler::{Job, JobScheduler};

use crate::store::Store;

/// When records kept for a while are forgotten: every hour, off the full hour.
const FORGET_SCHEDULE: &str = "0 17 * * * *";
/// When counters of quiet links are dropped: every minute.
const LINKS_SCHEDULE: &str = "30 * * * * *";

/// Starts the schedule.
pub(crate) async fn start(
    store: Arc<dyn Store>,
    forget_quiet_links: impl Fn() + Send + Sync + Clone + 'static,
) -> anyhow::Result<JobScheduler> {
    let scheduler = JobScheduler::new().await.context("failed to make the upkeep schedule")?;
    let forget = Job::new_async(FORGET_SCHEDULE, move |_, _| {
        let store = store.clone();
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
    let links = Job::new(LINKS_SCHEDULE, move |_, _| forget_quiet_links())?;
    scheduler.add(forget).await?;
    scheduler.add(links).await?;
    scheduler.start().await.context("failed to start the upkeep schedule")?;
    Ok(scheduler)
}
