//! The processes of the server: production loops over a simulated store, with their faults.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::base::clock::Clock;
use domain::base::time::micros;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select};
use placet_server::observe::metrics::Metrics;
use placet_server::worker::deadlines::Deadlines;
use placet_server::worker::deliveries::{self, Deliveries};
use placet_server::worker::lane::Lane;
use store::hub::Notice;
use store::sqlite::simulated::{Ended, Fate, Scheduler, SimulatedStore};
use store::{Store, StoreError};

use crate::cast;
use crate::endpoint::{Calls, Endpoint};
use crate::executor::{MILLISECOND, ProcessId, SECOND};
use crate::log;
use crate::mail::MailServer;
use crate::routes::Line;
use crate::watch::{Moment, Watch};
use crate::world::{World, WorldClock};

/// How long a loop sleeps at most once all faults are over. A message may wait a day for its next try, and turns in between would
/// find nothing new, so a longer sleep saves steps. New work wakes the loop before that; a loop that is not woken is late, which
/// I20 reports.
const REST: i64 = 300 * SECOND;

/// One process; `None` while it is down.
pub(crate) struct Process {
    store: Option<Arc<SimulatedStore>>,
    /// Whether it died, and will start again later.
    is_down: bool,
    /// Whether its deadline loop waits for work.
    is_idle: bool,
    /// Messages that it has taken and not finished.
    pub(crate) under_way: u64,
    /// How often it was started before its time: a restart that was planned earlier is then dropped.
    era: u64,
}

/// The surroundings of the store of one process.
struct Weather {
    world: Arc<World>,
    process: ProcessId,
}

impl Scheduler for Weather {
    fn turn(&self, unit: &'static str) -> BoxFuture<'_, Fate> {
        async move {
            let world = &self.world;
            let faults = &world.plan.faults;
            world.executor.tally(|| format!("{} {unit}", self.process));
            strike(world, self.process, unit);
            if world.befalls(|chance| chance.rarely(faults.stall)) {
                world.coverage.count("store stalled");
                world.think(15 * 60 * SECOND).await;
            } else if world.strikes(faults.slow) {
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
            let at = Moment { clock: world.clock(), truly: world.executor.micros() };
            let checked = watch.look(&world.database, ended, at);
            let checked = checked.and_then(|()| world.witness.lock().unwrap().look(&world.database, ended));
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

/// Counts the rare effects of one transaction; `leased` are the messages that were leased before it, with their tries.
fn count(world: &World, watch: &Watch, leased: &[(i64, i64)]) {
    if watch.news.iter().filter(|(_, event)| event == "intent.suspension_renotified").count() > 1 {
        world.coverage.count("catch-up over more than one attempt");
    }
    for (intent, event) in &watch.news {
        match event.as_str() {
            stop if stop.starts_with("lifecycle.") => world.coverage.count(watch.intents[intent].stops.last),
            "delivery.failover" => world.coverage.count("others asked at once"),
            "delivery.bounced" => world.coverage.count("message came back"),
            "delivery.redriven" => {
                world.coverage.count("message sent again by hand");
                // An admin sends a failed message again when the endpoint works, so from now on the server may call endpoints
                // that had failed.
                world.gone.lock().unwrap().clear();
                world.endpoints.lock().unwrap().values_mut().for_each(Calls::believe);
            }
            "intent.suspension_undeliverable" => world.coverage.count("nobody reached"),
            _ => {}
        }
    }
    for what in &watch.council.news {
        world.coverage.count(what);
    }
    if watch.given_back > 0 {
        world.coverage.count("time given back after an absence");
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

/// Starts a process: its first steps, and its loops.
pub(crate) fn start(world: &Arc<World>, process: ProcessId) {
    let clock = Arc::new(WorldClock(world.clone()));
    let scheduler = Arc::new(Weather { world: world.clone(), process });
    let (database, entropy, channels) = (world.database.clone(), world.entropy.clone(), world.policy.channels.clone());
    let store = Arc::new(SimulatedStore::open(database, clock.clone(), entropy, channels, scheduler).unwrap());
    {
        let mut processes = world.processes.lock().unwrap();
        let era = processes.get(process).map_or(0, |before| before.era);
        let starting = Process { store: None, is_down: false, is_idle: false, under_way: 0, era };
        if let Some(place) = processes.get_mut(process) {
            *place = starting;
        } else {
            processes.push(starting);
        }
    }
    world.tell(format!("{process} starts"));
    world.may_wait();
    world.endpoints.lock().unwrap().retain(|(of, _), _| *of != process);
    let shared: Arc<dyn Store> = store.clone();
    let deadlines = Deadlines::new(shared.clone(), clock.clone(), || {});
    let resources = deliveries::Resources {
        store: shared,
        clock: clock.clone(),
        entropy: world.entropy.clone(),
        metrics: Arc::new(Metrics::new(clock.now())),
    };
    let url = url::Url::parse("https://placet.example.com").unwrap();
    let deliveries = Arc::new(Deliveries::new(resources, lanes(world, process), url, &world.policy));
    let starting = world.clone();
    world.executor.spawn(Some(process), "startup", async move {
        prepare(&starting, process, &store).await;
        starting.processes.lock().unwrap()[process].store = Some(store.clone());
        starting.tell(format!("{process} serves"));
        let (one, other) = (starting.clone(), starting.clone());
        starting.executor.spawn(Some(process), "deadlines", fire(one, process, store.clone(), deadlines));
        if starting.plan.has_people {
            let deputies = cast::stand_in(starting.clone(), store.clone());
            starting.executor.spawn(Some(process), "deputies", deputies);
        }
        starting.executor.spawn(Some(process), "checkpoints", log::keep(starting.clone(), store.clone()));
        starting.executor.spawn(Some(process), "deliveries", deliver(other, store, deliveries));
    });
}

/// Makes one lane for each channel, as `App::build_on` does. A lane sends the messages of its channel.
fn lanes(world: &Arc<World>, process: ProcessId) -> Vec<Lane> {
    let lane = |line: &Line| {
        if line.audience.is_none() {
            return Lane::email(Arc::new(MailServer { world: world.clone(), process }));
        }
        let endpoint = Endpoint { world: world.clone(), process, line: *line };
        Lane::webhook(line.name.to_owned(), Arc::new(endpoint))
    };
    world.plan.lines.0.iter().map(lane).collect()
}

/// The steps of a server before it serves, as in `serve` and `App::build_on`.
async fn prepare(world: &Arc<World>, process: ProcessId, store: &Arc<SimulatedStore>) {
    // A restored database is served first with `--after-restore`, by one process alone.
    while world.is_to_hold.load(Ordering::SeqCst) {
        if process == 0 && store.hold_after_restore().await.is_ok() {
            world.is_to_hold.store(false, Ordering::SeqCst);
            world.tell("a restored database waits");
            world.coverage.count("restored database held");
        } else {
            world.executor.after(SECOND).await;
        }
    }
    // If there is only one process, the one that leased messages is gone, and its leases are released. With several processes it
    // may still be at work.
    while world.plan.processes == 1 && store.release_deliveries().await.is_err() {
        world.executor.after(SECOND).await;
    }
    while log::adopt(&**store).await.is_err() {
        world.executor.after(SECOND).await;
    }
    loop {
        match store.recover().await {
            Ok(recovered) if recovered.more => {}
            Ok(recovered) => {
                if !recovered.done {
                    world.coverage.count("absence noticed by a starting process");
                }
                return;
            }
            Err(_) => world.executor.after(SECOND).await,
        }
    }
}

async fn fire(world: Arc<World>, process: ProcessId, store: Arc<SimulatedStore>, deadlines: Deadlines) {
    let is_idle = |is_idle| world.processes.lock().unwrap()[process].is_idle = is_idle;
    store.attend();
    loop {
        let turned = deadlines.run_due().await;
        let wait = match &turned {
            // If nothing is due later, the loop sleeps as long as it may: `must_turn` finds work that comes up meanwhile.
            Ok((_, next)) => until(&world, next.map_or(i64::MAX, micros)),
            Err(error) => failed(&world, error),
        };
        is_idle(turned.is_ok());
        select(Box::pin(world.executor.after(wait)), Box::pin(store.hub().timer())).await;
        is_idle(false);
    }
}

/// The running processes whose deadline loop waits.
fn idle(world: &World) -> Vec<Arc<SimulatedStore>> {
    let processes = world.processes.lock().unwrap();
    let idle = processes.iter().enumerate().filter(|(process, of)| of.is_idle && !world.executor.is_paused(*process));
    idle.filter_map(|(_, of)| of.store.clone()).collect()
}

/// Whether a waiting deadline loop has work at its next turn.
pub(crate) fn must_turn(world: &World) -> bool {
    idle(world).iter().any(|store| store.must_turn().unwrap())
}

/// After [`Step::Lull`](crate::executor::Step::Lull): wakes the idle deadline loops that have work, and leaves for the others the
/// sign of life that their turns would have left.
pub(crate) fn turn_meanwhile(world: &World) {
    for store in idle(world) {
        if store.must_turn().unwrap() {
            store.hub().announce(&[Notice::Timer]);
        } else if store.turned_meanwhile().unwrap() {
            world.watch.lock().unwrap().turned(&world.database, world.executor.micros(), world.clock());
        }
    }
}

async fn deliver(world: Arc<World>, store: Arc<SimulatedStore>, deliveries: Arc<Deliveries>) {
    loop {
        let wait = match deliveries.run_due().await {
            // Nothing is due, or everything waits until the clock can be trusted.
            Ok((_, None)) => world.plan.poll,
            Ok((_, Some(next))) => until(&world, micros(next)),
            Err(error) => failed(&world, &error),
        };
        select(Box::pin(world.executor.after(wait)), Box::pin(store.hub().delivery())).await;
    }
}

/// How long a loop pauses after an error. An error that no fault of the world explains is a bug and fails the run.
pub(crate) fn failed(world: &World, error: &StoreError) -> i64 {
    if let StoreError::Failed(error) = error {
        world.fail(format!("I24: a loop failed: {error:#}"));
    }
    SECOND
}

/// How long a loop sleeps whose next work is due at this time.
fn until(world: &World, next: i64) -> i64 {
    next.saturating_sub(world.clock()).saturating_add(MILLISECOND).clamp(MILLISECOND, rest(world))
}

/// How long a loop sleeps at most.
pub(crate) fn rest(world: &World) -> i64 {
    if world.is_healed() { world.plan.poll.max(REST) } else { world.plan.poll }
}

/// The running processes, with their stores.
pub(crate) fn running(world: &World) -> Vec<(ProcessId, Arc<dyn Store>)> {
    let processes = world.processes.lock().unwrap();
    processes.iter().enumerate().filter_map(|(process, of)| Some((process, of.store.clone()? as Arc<dyn Store>))).collect()
}

/// Adds `change` to the number of messages that a process is delivering.
pub(crate) fn under_way(world: &World, process: ProcessId, change: i64) {
    if let Some(process) = world.processes.lock().unwrap().get_mut(process) {
        process.under_way = process.under_way.saturating_add_signed(change);
    }
}

/// May stop a process at this point: for good, or for a while.
pub(crate) fn strike(world: &Arc<World>, process: ProcessId, at: &'static str) {
    if world.is_healed() {
        return;
    }
    if world.befalls(|chance| chance.rarely(3 * world.plan.faults.crash)) {
        world.doomed.lock().unwrap().insert(process, at);
    } else if world.befalls(|chance| chance.rarely(3 * world.plan.faults.pause)) {
        let micros = world.draw(|chance| chance.within(1..=3_600_000)) * MILLISECOND;
        world.tell(format!("{process} stands still for {} ms at {at}", micros / MILLISECOND));
        world.coverage.count("process paused");
        world.executor.pause_process(process, micros);
        // When the pause ends, the deadline loop has slept for too long, so it is woken and turns at once.
        let of = &mut world.processes.lock().unwrap()[process];
        of.is_idle = false;
        let (store, waking) = (of.store.clone(), world.clone());
        world.executor.spawn(None, "wakes", async move {
            waking.executor.after(micros).await;
            if let Some(store) = store {
                store.hub().announce(&[Notice::Timer]);
            }
        });
    }
}

/// Ends the doomed processes. Nothing has run since they were doomed.
pub(crate) fn bury(world: &Arc<World>) {
    let doomed = std::mem::take(&mut *world.doomed.lock().unwrap());
    for (process, at) in doomed {
        crash(world, process, at);
    }
}

/// Ends a process; its memory is gone. Returns the number of messages that were under way, and the `era` of the process.
fn end(world: &World, process: ProcessId) -> (u64, u64) {
    let ended = {
        let mut processes = world.processes.lock().unwrap();
        let of = &mut processes[process];
        (of.store, of.is_idle) = (None, false);
        (std::mem::take(&mut of.under_way), of.era)
    };
    world.executor.kill(process);
    ended
}

fn crash(world: &Arc<World>, process: ProcessId, at: &str) {
    let (under_way, era) = end(world, process);
    world.processes.lock().unwrap()[process].is_down = true;
    world.tell(format!("{process} dies at {at}, {under_way} messages under way"));
    world.coverage.count("crash");
    if under_way > 0 {
        world.coverage.count("crash with a message under way");
    }
    // In half of the cases the process starts again within a second, otherwise after an outage of up to several attempts.
    let longest = if world.draw(|chance| chance.happens(50)) { world.plan.outage_max() } else { SECOND };
    let (restarting, down) = (world.clone(), world.draw(|chance| chance.within(0..=longest / MILLISECOND)) * MILLISECOND);
    world.executor.spawn(None, "restart", async move {
        restarting.executor.after(down).await;
        if restarting.processes.lock().unwrap()[process].era == era {
            start(&restarting, process);
        }
    });
}

/// Ends every process and starts all of them again, on a database that is set back meanwhile.
pub(crate) fn replace(world: &Arc<World>, set_back: impl FnOnce()) {
    for process in 0..world.plan.processes {
        end(world, process);
        world.processes.lock().unwrap()[process].era += 1;
    }
    set_back();
    for process in 0..world.plan.processes {
        start(world, process);
    }
}

/// May move the server's clock.
pub(crate) fn jump_clock(world: &Arc<World>) {
    let jump = u64::from(world.plan.faults.jump) * 10;
    if jump == 0 || !world.befalls(|chance| chance.below(10_000) < jump) {
        return;
    }
    let seconds = world.draw(|chance| *chance.pick(&[-600, -60, -1, 1, 60, 3_600]));
    world.clock_ahead.fetch_add(seconds * SECOND, Ordering::SeqCst);
    world.coverage.count("clock jumped");
    world.tell(format!("the clock jumps by {seconds} s"));
}

/// Ends every fault, and with it every outage: a process that is down starts now. If it started at its planned time, clients
/// would ask in vain until then.
pub(crate) fn heal(world: &Arc<World>) {
    world.healed.store(true, Ordering::SeqCst);
    world.tell("everything heals");
    for process in 0..world.plan.processes {
        let is_down = {
            let of = &mut world.processes.lock().unwrap()[process];
            // A restart that was planned for later is dropped.
            of.era += u64::from(of.is_down);
            of.is_down
        };
        if is_down {
            start(world, process);
        }
    }
}
