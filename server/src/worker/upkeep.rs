//! Recurring upkeep. The schedule is kept only in memory; if a run is missed, the next run does the work of both.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use anyhow::Context;
use chrono::TimeDelta;
use store::{QUESTIONS_PER_LOOK, Store, StoreError};
use tokio_cron_scheduler::{Job, JobScheduler};

use super::absences::Absences;
use super::deliveries::Deliveries;
use crate::observe::metrics::Metrics;

/// When old records are deleted: every hour, off the full hour.
const FORGET_SCHEDULE: &str = "0 17 * * * *";
/// When open questions are searched for lost timers: every ten minutes.
const SWEEP_SCHEDULE: &str = "45 */10 * * * *";
/// When content that is kept no longer is erased: every ten minutes, a bounded part at a time.
const RETAIN_SCHEDULE: &str = "15 5-55/10 * * * *";
/// When questions are moved to the deputies of people who are out of office: every five seconds.
const ABSENCES_SCHEDULE: &str = "*/5 * * * * *";
/// The transactions of one of these turns.
const RETAIN_UNITS_MAX: u32 = 500;
/// The pages of open questions that one sweep examines; the next sweep goes on from there.
const SWEEP_PAGES_MAX: u32 = 40;
/// When the request counters of links, keys and addresses that have not been used for a while are dropped: every minute.
const LINKS_SCHEDULE: &str = "30 * * * * *";

/// Starts the schedule.
pub(crate) async fn start(
    store: Arc<dyn Store>,
    sweep: Arc<Sweep>,
    deliveries: Arc<Deliveries>,
    retention: Option<TimeDelta>,
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
                    Ok(rows) => tracing::debug!(rows, "deleted old idempotency records and ended subscriptions"),
                    Err(error) => {
                        tracing::warn!(error = %error, "failed to delete old idempotency records and ended subscriptions");
                        break;
                    }
                }
            }
        })
    })?;
    if let Some(kept) = retention {
        let retaining = Arc::new(Retaining::new(store.clone(), kept));
        let retain = Job::new_async(RETAIN_SCHEDULE, move |_, _| {
            let retaining = retaining.clone();
            Box::pin(async move {
                // Failures are logged, and the next turn goes on.
                retaining.turn().await;
            })
        })?;
        scheduler.add(retain).await?;
    }
    let absences = Arc::new(Absences::new(store));
    let absences = Job::new_async(ABSENCES_SCHEDULE, move |_, _| {
        let absences = absences.clone();
        Box::pin(async move {
            // Failures are logged, and the next turn goes on.
            absences.turn().await;
        })
    })?;
    scheduler.add(absences).await?;
    let sweep = Job::new_async(SWEEP_SCHEDULE, move |_, _| {
        let (sweep, deliveries) = (sweep.clone(), deliveries.clone());
        Box::pin(async move {
            // The sweep has logged its findings as errors, and queued the mails to admins.
            sweep.turn().await;
            deliveries.alert().await;
        })
    })?;
    let links = Job::new(LINKS_SCHEDULE, move |_, _| forget_quiet_links())?;
    scheduler.add(forget).await?;
    scheduler.add(sweep).await?;
    scheduler.add(links).await?;
    scheduler.start().await.context("failed to start the upkeep schedule")?;
    Ok(scheduler)
}

/// Erases content that is kept no longer: see [`Store::retain`].
pub struct Retaining {
    store: Arc<dyn Store>,
    kept: TimeDelta,
    /// The row id of the last intent that was looked at.
    place: AtomicI64,
}

impl Retaining {
    /// Makes a pass that begins with the oldest intent. Content is kept as long as `kept` after the last event of its intent.
    pub fn new(store: Arc<dyn Store>, kept: TimeDelta) -> Self {
        Self { store, kept, place: AtomicI64::new(0) }
    }

    /// Goes on where the last call ended, for a bounded number of transactions; returns how many events were erased.
    pub async fn turn(&self) -> u64 {
        let mut erased = 0;
        for _ in 0..RETAIN_UNITS_MAX {
            match self.store.retain(self.place.load(Ordering::Relaxed), self.kept).await {
                Ok(retained) => {
                    erased += retained.events;
                    self.place.store(retained.next.unwrap_or(0), Ordering::Relaxed);
                    if retained.next.is_none() {
                        break;
                    }
                }
                Err(error) => {
                    tracing::warn!(error = %error, "failed to erase content that is kept no longer; the next run goes on");
                    break;
                }
            }
        }
        if erased > 0 {
            tracing::info!(erased, "erased the content of events that were older than retention.days");
        }
        erased
    }
}

/// Restores timers that open questions should have: see [`Store::sweep_timers`].
pub struct Sweep {
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
    /// The row id of the last question that was examined; the next page begins behind it.
    place: AtomicI64,
    /// How many questions out of reach this round through all pages has found so far.
    out_of_reach: AtomicU64,
    /// The start of the last page that could not be read because the store was away; -1 at first.
    away_at: AtomicI64,
    /// Held by the turn under way: the schedule and the changes of people begin turns.
    turn: tokio::sync::Mutex<()>,
}

impl Sweep {
    /// Makes a sweep that begins with the oldest question.
    pub fn new(store: Arc<dyn Store>, metrics: Arc<Metrics>) -> Self {
        Self {
            store,
            metrics,
            place: AtomicI64::new(0),
            out_of_reach: AtomicU64::new(0),
            away_at: AtomicI64::new(-1),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// The same sweep, which begins behind the question in this row.
    #[must_use]
    pub fn behind(self, row: i64) -> Self {
        Self { place: AtomicI64::new(row), ..self }
    }

    /// Goes on where the last call ended, for a bounded number of pages, and once round at most; returns how many timers were missing.
    pub async fn turn(&self) -> u64 {
        let _turn = self.turn.lock().await;
        let begun_after = self.place.load(Ordering::Relaxed);
        let (mut mended, mut is_round) = (0, begun_after == 0);
        for _ in 0..SWEEP_PAGES_MAX {
            let after = self.place.load(Ordering::Relaxed);
            // The round is over where the turn began.
            if is_round && begun_after > 0 && after >= begun_after {
                break;
            }
            match self.store.sweep_timers(after).await {
                Ok(swept) => {
                    mended += swept.mended;
                    self.metrics.left_out_of_sweep(swept.left_out);
                    self.place.store(swept.next.unwrap_or(0), Ordering::Relaxed);
                    self.out_of_reach.fetch_add(swept.out_of_reach, Ordering::Relaxed);
                    if swept.next.is_none() {
                        self.metrics.out_of_reach(self.out_of_reach.swap(0, Ordering::Relaxed));
                        if is_round {
                            break;
                        }
                        is_round = true;
                    }
                }
                // If the store is away, the next turn reads the same page once more. If that fails too, the page itself may be
                // the cause, and is left out.
                Err(StoreError::Unavailable(why)) if self.away_at.swap(after, Ordering::Relaxed) != after => {
                    tracing::warn!(why, "failed to search open questions for missing timers; the next run repeats this page");
                    break;
                }
                Err(error) => {
                    tracing::error!(
                        error = %error,
                        after,
                        "failed to search a page of open questions for missing timers; skipping this page"
                    );
                    self.metrics.left_out_of_sweep(1);
                    // The last question of a full page has at least this id, so no open question behind the page is left out.
                    self.place.store(after + i64::from(QUESTIONS_PER_LOOK), Ordering::Relaxed);
                }
            }
        }
        mended
    }
}
