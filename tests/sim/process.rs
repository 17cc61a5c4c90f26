//! The processes of the server: production loops over a simulated store, and what befalls them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::clock::Clock;
use domain::time::micros;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select};
use placet_server::metrics::Metrics;
use placet_server::store::sqlite::simulated::{Ended, Fate, SimulatedStore, Surroundings};
use placet_server::store::{Store, StoreError};
use placet_server::worker::deadlines::Deadlines;
use placet_server::worker::deliveries::{self, Deliveries};
use placet_server::worker::lane::Lane;

use crate::executor::{MILLISECOND, ProcessId, SECOND};
use crate::mail::MailServer;
use crate::watch::Watch;
use crate::world::{World, WorldClock};

/// How long deadlines may wait after a jump of the clock, or while a process makes good for its absence and stands still meanwhile.
const HOLD_MAX: i64 = 2 * 3_600 * SECOND;

/// One process; `None` while it is down.
pub(crate) struct Process {
    store: Option<Arc<dyn Store>>,
    /// Messages it has taken and not finished.
    pub(crate) under_way: u64,
}

/// What surrounds the store of one process.
struct Weather {
    world: Arc<World>,
    process: ProcessId,
}

impl Surroundings for Weather {
    fn turn(&self, unit: &'static str) -> BoxFuture<'_, Fate> {
        async move {
            let world = &self.world;
            let faults = &world.plan.faults;
            strike(world, self.process, unit);
            if world.strikes(faults.slow) {
                world.think(60 * SECOND).await;
            } else {
                world.think(2 * MILLISECOND).await;
            }
            world.executor.unpaused(self.process).await;
            let fate = if world.strikes(faults.refused) {
                Fate::Refused
            } else if world.strikes(faults.broken) {
                Fate::BrokenAfter(world.draw(|chance| u32::try_from(chance.below(12)).unwrap()))
            } else if world.strikes(faults.unheard) {
                Fate::Unheard { applied: world.draw(|chance| chance.happens(50)) }
            } else {
                Fate::Committed
            };
            if fate != Fate::Committed {
                world.tell(format!("{} {unit}: {fate:?}", self.process));
            }
            fate
        }
        .boxed()
    }

    fn ended(&self, ended: Ended) {
        let world = &self.world;
        let checked = {
            let mut watch = world.watch.lock().unwrap();
            let leased: Vec<(i64, i64)> = watch.leased().collect();
            let checked = watch.look(&world.database, ended, world.clock());
            count(world, &watch, &leased);
            let news: Vec<&str> = watch.news.iter().map(|(_, event)| event.as_str()).collect();
            if !news.is_empty() || !ended.committed {
                let rolled_back = if ended.committed { "" } else { "rolled back " };
                world.tell(format!("{} {}: {rolled_back}{}", self.process, ended.unit, news.join(", ")));
            }
            checked
        };
        world.check(checked);
        match (ended.fate, ended.committed) {
            (Fate::BrokenAfter(_), false) => world.coverage.count("transaction broken in the middle"),
            (Fate::Unheard { .. }, true) => world.coverage.count("commit unheard, applied"),
            (Fate::Unheard { .. }, false) => world.coverage.count("commit unheard, not applied"),
            _ => {}
        }
    }

    fn heard(&self) -> BoxFuture<'_, ()> {
        strike(&self.world, self.process, "hearing of it");
        async move {
            self.world.think(2 * MILLISECOND).await;
            self.world.executor.unpaused(self.process).await;
        }
        .boxed()
    }
}

/// Counts the rare things one transaction did; `leased` are the messages that were leased before it, with their tries.
fn count(world: &World, watch: &Watch, leased: &[(i64, i64)]) {
    if watch.news.iter().filter(|(_, event)| event == "intent.suspension_renotified").count() > 1 {
        world.coverage.count("catch-up over more than one attempt");
    }
    for (rid, tries) in leased {
        if watch.messages.get(rid).is_some_and(|message| message.tries > *tries) {
            world.coverage.count("lease taken over");
        }
    }
    for (intent, event) in &watch.news {
        let intent = &watch.intents[intent];
        let close = |at: i64| (at - intent.updated_at).abs() <= MILLISECOND;
        let at_the_deadline = || intent.suspensions.values().any(|suspension| suspension.expires_at.is_some_and(close));
        if matches!(event.as_str(), "intent.resumed" | "intent.late_answer") && at_the_deadline() {
            world.coverage.count("answer within a millisecond of the deadline");
        }
    }
}

/// Starts a process: what it does first, and its loops.
pub(crate) fn start(world: &Arc<World>, process: ProcessId) {
    let clock = Arc::new(WorldClock(world.clone()));
    let surroundings = Arc::new(Weather { world: world.clone(), process });
    let store: Arc<dyn Store> =
        Arc::new(SimulatedStore::open(world.database.clone(), clock.clone(), world.entropy.clone(), surroundings).unwrap());
    let down = Process { store: None, under_way: 0 };
    {
        let mut processes = world.processes.lock().unwrap();
        if let Some(place) = processes.get_mut(process) {
            *place = down;
        } else {
            processes.push(down);
        }
    }
    world.tell(format!("{process} starts"));
    may_wait(world);
    let url = url::Url::parse("https://placet.example.com").unwrap();
    let channel = Arc::new(MailServer { world: world.clone(), process });
    let deadlines = Deadlines::new(store.clone(), clock.clone(), || {});
    let around = deliveries::Surroundings {
        store: store.clone(),
        clock: clock.clone(),
        entropy: world.entropy.clone(),
        metrics: Arc::new(Metrics::new(clock.now())),
    };
    let deliveries = Arc::new(Deliveries::new(around, vec![Lane::email(channel)], url, &world.policy));
    let starting = world.clone();
    world.executor.spawn(Some(process), "startup", async move {
        prepare(&starting, &store).await;
        starting.processes.lock().unwrap()[process].store = Some(store.clone());
        starting.tell(format!("{process} serves"));
        let (one, other) = (starting.clone(), starting.clone());
        starting.executor.spawn(Some(process), "deadlines", fire(one, store.clone(), deadlines));
        starting.executor.spawn(Some(process), "deliveries", deliver(other, store, deliveries));
    });
}

/// What a server does before it serves, as `App::build_on` does it.
async fn prepare(world: &Arc<World>, store: &Arc<dyn Store>) {
    // Whoever had leased messages is gone, if this process knows itself to be alone.
    while world.plan.processes == 1 && store.release_deliveries().await.is_err() {
        world.executor.after(SECOND).await;
    }
    loop {
        match store.recover().await {
            Ok(recovered) if recovered.done => return,
            Ok(_) => world.coverage.count("absence made good for"),
            Err(_) => world.executor.after(SECOND).await,
        }
    }
}

async fn fire(world: Arc<World>, store: Arc<dyn Store>, deadlines: Deadlines) {
    loop {
        let wait = match deadlines.run_due().await {
            Ok((_, next)) => until(&world, next.map(micros)),
            Err(error) => failed(&world, &error),
        };
        select(Box::pin(world.executor.after(wait)), Box::pin(store.hub().timer())).await;
    }
}

async fn deliver(world: Arc<World>, store: Arc<dyn Store>, deliveries: Arc<Deliveries>) {
    loop {
        let wait = match deliveries.run_due().await {
            Ok((_, next)) => until(&world, next.map(micros)),
            Err(error) => failed(&world, &error),
        };
        select(Box::pin(world.executor.after(wait)), Box::pin(store.hub().delivery())).await;
    }
}

/// A loop pauses after a failure; one that is not the disk's is a bug.
fn failed(world: &World, error: &StoreError) -> i64 {
    if let StoreError::Failed(error) = error {
        world.fail(format!("I24: a loop failed: {error:#}"));
    }
    SECOND
}

fn until(world: &World, next: Option<i64>) -> i64 {
    next.map_or(world.plan.poll, |next| (next - world.clock() + MILLISECOND).clamp(MILLISECOND, world.plan.poll))
}

/// The processes that run, with their stores.
pub(crate) fn running(world: &World) -> Vec<(ProcessId, Arc<dyn Store>)> {
    let processes = world.processes.lock().unwrap();
    processes.iter().enumerate().filter_map(|(process, of)| Some((process, of.store.clone()?))).collect()
}

/// Counts messages a process has taken over from the store.
pub(crate) fn under_way(world: &World, process: ProcessId, change: i64) {
    if let Some(process) = world.processes.lock().unwrap().get_mut(process) {
        process.under_way = process.under_way.saturating_add_signed(change);
    }
}

/// May stop a process where it stands: for good, or for a while.
pub(crate) fn strike(world: &World, process: ProcessId, at: &'static str) {
    if world.is_healed() {
        return;
    }
    if world.draw(|chance| chance.rarely(3 * world.plan.faults.crash)) {
        world.faults.fetch_add(1, Ordering::SeqCst);
        world.doomed.lock().unwrap().insert(process, at);
    } else if world.draw(|chance| chance.rarely(3 * world.plan.faults.pause)) {
        let micros = world.draw(|chance| chance.within(1..=3_600_000)) * MILLISECOND;
        world.tell(format!("{process} stands still for {} ms at {at}", micros / MILLISECOND));
        world.coverage.count("process paused");
        world.executor.pause_process(process, micros);
    }
}

/// Ends the processes that are doomed; nothing has run since they were.
pub(crate) fn bury(world: &Arc<World>) {
    let doomed = std::mem::take(&mut *world.doomed.lock().unwrap());
    for (process, at) in doomed {
        crash(world, process, at);
    }
}

fn crash(world: &Arc<World>, process: ProcessId, at: &str) {
    let under_way = {
        let mut processes = world.processes.lock().unwrap();
        processes[process].store = None;
        std::mem::take(&mut processes[process].under_way)
    };
    world.tell(format!("{process} dies at {at}, {under_way} messages under way"));
    world.coverage.count("crash");
    if under_way > 0 {
        world.coverage.count("crash with a message under way");
    }
    world.executor.kill(process);
    // Mostly at once, sometimes after an outage of several attempts.
    let longest = if world.draw(|chance| chance.happens(50)) { world.plan.outage_max() } else { SECOND };
    let (restarting, down) = (world.clone(), world.draw(|chance| chance.within(0..=longest / MILLISECOND)) * MILLISECOND);
    world.executor.spawn(None, "restart", async move {
        restarting.executor.after(down).await;
        start(&restarting, process);
    });
}

/// May move the server's clock.
pub(crate) fn jump_clock(world: &Arc<World>) {
    if world.plan.faults.jump == 0 || !world.draw(|chance| chance.below(10_000) < u64::from(world.plan.faults.jump) * 10) {
        return;
    }
    let seconds = world.draw(|chance| *chance.pick(&[-600, -60, -1, 1, 60, 3_600]));
    world.clock_ahead.fetch_add(seconds * SECOND, Ordering::SeqCst);
    may_wait(world);
    world.coverage.count("clock jumped");
    world.tell(format!("the clock jumps by {seconds} s"));
}

/// From now on, for a while, deadlines may wait.
fn may_wait(world: &World) {
    // A process notices a jump when it looks, which it does each time it polls.
    let until = world.executor.micros() + world.plan.poll + HOLD_MAX;
    world.unsteady_until.fetch_max(until, Ordering::SeqCst);
}

/// Ends every fault.
pub(crate) fn heal(world: &Arc<World>) {
    world.healed.store(true, Ordering::SeqCst);
    world.tell("everything heals");
}
