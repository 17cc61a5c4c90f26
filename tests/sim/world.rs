//! One seed's world: the database, the server's processes, the people, and the record of everything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::asking::policy::{AskingPolicy, CLIENT_GUARD_SECONDS};
use domain::base::clock::Clock;
use domain::base::time::from_micros;
use domain::problem::Rejection;
use futures_util::future::BoxFuture;
use store::sqlite::simulated::SimulatedDatabase;
use store::{Store, StoreError};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::chance::{Chance, SeededEntropy};
use crate::coverage::Coverage;
use crate::endpoint::Calls;
use crate::executor::{Executor, MILLISECOND, ProcessId, SECOND, Step};
use crate::log::{self, Witness};
use crate::mail::Mail;
use crate::plan::Plan;
use crate::process::{self, Process};
use crate::shrink::Change;
use crate::watch::Watch;
use crate::{agent, attacker, cast, operator, restore, stopper, subscriber};

/// The lines of the trace that are kept.
const TRACE_LINES: usize = 200;
/// How many steps the world may take after it has healed; if it takes more, a loop never ends.
const HEALING_STEPS: u64 = 60_000;
/// A world that takes too many steps reports the tasks that were busiest in this many last steps.
const TALLIED_STEPS: u64 = 2_000;
/// How long deadlines may wait after a jump of the clock, or while a process gives back the time of its absence and is paused
/// meanwhile.
const HOLD_MAX: i64 = 2 * 3_600 * SECOND;
/// How long work begun before the healing may last: a process that stands still, then a channel that hangs, then a lease.
const AFTERMATH: i64 = 2 * 3_600 * SECOND;
/// A Tuesday morning.
const START: i64 = 1_795_507_200 * SECOND;

/// The result of one run.
pub(crate) struct Report {
    pub(crate) violation: Option<String>,
    pub(crate) trace: Vec<String>,
    pub(crate) hash: u64,
    pub(crate) steps: u64,
    /// Faults drawn.
    pub(crate) drawn: u64,
    pub(crate) plan: Plan,
    pub(crate) coverage: Coverage,
    /// The export of the log in the end; empty if a rule was broken before.
    pub(crate) exported: String,
}

/// Why a call gave no result.
#[derive(Debug)]
pub(crate) enum Failed {
    Rejected(Rejection),
    /// Done or not done.
    Unknown,
}

/// One run.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) executor: Arc<Executor>,
    pub(crate) database: Arc<SimulatedDatabase>,
    pub(crate) entropy: Arc<SeededEntropy>,
    pub(crate) policy: AskingPolicy,
    pub(crate) watch: Mutex<Watch>,
    pub(crate) coverage: Coverage,
    pub(crate) processes: Mutex<Vec<Process>>,
    /// Processes that die before anything else happens, with the point at which they die.
    pub(crate) doomed: Mutex<BTreeMap<ProcessId, &'static str>>,
    /// How far the server's clock is ahead of the true time.
    pub(crate) clock_ahead: AtomicI64,
    /// Until when deadlines may wait for the clock to be steady, or for a starting process to make up for its absence.
    pub(crate) unsteady_until: AtomicI64,
    pub(crate) healed: AtomicBool,
    /// How often the database was set back; earlier knowledge may then be wrong.
    pub(crate) era: AtomicU64,
    /// Whether the database was set back and is served with `--after-restore` next.
    pub(crate) is_to_hold: AtomicBool,
    /// The failures that each process has seen at each webhook's endpoint since the process started, and its calls.
    pub(crate) endpoints: Mutex<BTreeMap<(ProcessId, &'static str), Calls>>,
    /// The time until which an endpoint takes no messages.
    pub(crate) down_until: Mutex<BTreeMap<&'static str, i64>>,
    /// Endpoints that said they are gone, until an admin sends a message again.
    pub(crate) gone: Mutex<BTreeSet<&'static str>>,
    /// Which of the drawn faults happen.
    change: Change,
    /// Faults drawn so far.
    drawn: AtomicU64,
    /// Faults injected so far.
    pub(crate) faults: AtomicU64,
    /// In a run that may restore the database from a backup: the mails that the mail server acknowledged before that. After the
    /// restore the gateway reports some of them as returned.
    pub(crate) posted: Mutex<Vec<Mail>>,
    /// People and agents that are not done.
    pub(crate) busy: AtomicI64,
    pub(crate) secrets: Mutex<Vec<[u8; 32]>>,
    /// The checkpoints of the log that were signed.
    pub(crate) witness: Mutex<Witness>,
    chance: Mutex<Chance>,
    record: Mutex<Record>,
}

struct Record {
    violation: Option<String>,
    lines: VecDeque<String>,
    hash: u64,
}

/// The server's clock: the true time, and its error.
pub(crate) struct WorldClock(pub(crate) Arc<World>);

impl Clock for WorldClock {
    fn now(&self) -> DateTime<Utc> {
        from_micros(self.0.clock())
    }

    fn since_boot(&self) -> Option<Duration> {
        u64::try_from(self.0.executor.micros()).ok().map(Duration::from_micros)
    }
}

impl World {
    fn new(seed: u64, variant: &Change, database: Arc<SimulatedDatabase>) -> Arc<Self> {
        let mut chance = Chance::new(seed, 0);
        let plan = Plan::draw(&mut chance).crowded(&mut Chance::new(seed, 3)).peopled(&mut Chance::new(seed, 4));
        let plan = variant.of(plan.stopped(&mut Chance::new(seed, 5)));
        let policy = AskingPolicy {
            fallback_requires_delivery: plan.requires_delivery,
            client_guard_seconds: CLIENT_GUARD_SECONDS,
            channels: plan.lines.channels(),
            floors: cast::floors(&plan),
            ..harness::app::asking_policy()
        };
        let watch = Watch::new(&plan);
        Arc::new(Self {
            plan,
            executor: Arc::new(Executor::new(START + chance.within(0..=86_400 * SECOND), Chance::new(seed, 1))),
            database,
            entropy: Arc::new(SeededEntropy(Mutex::new(Chance::new(seed, 2)))),
            policy,
            watch: Mutex::new(watch),
            coverage: Coverage::default(),
            processes: Mutex::default(),
            doomed: Mutex::default(),
            clock_ahead: AtomicI64::new(0),
            unsteady_until: AtomicI64::new(0),
            healed: AtomicBool::new(false),
            era: AtomicU64::new(0),
            is_to_hold: AtomicBool::new(false),
            endpoints: Mutex::default(),
            down_until: Mutex::default(),
            gone: Mutex::default(),
            change: variant.clone(),
            drawn: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            posted: Mutex::default(),
            busy: AtomicI64::new(0),
            secrets: Mutex::default(),
            witness: Mutex::default(),
            chance: Mutex::new(chance),
            record: Mutex::new(Record { violation: None, lines: VecDeque::new(), hash: 0xcbf2_9ce4_8422_2325 }),
        })
    }

    /// The server's time, in microseconds.
    pub(crate) fn clock(&self) -> i64 {
        self.executor.micros() + self.clock_ahead.load(Ordering::SeqCst)
    }

    pub(crate) fn is_healed(&self) -> bool {
        self.healed.load(Ordering::SeqCst)
    }

    /// Draws something.
    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Chance) -> T) -> T {
        draw(&mut self.chance.lock().unwrap())
    }

    /// Whether a fault of this rate happens now; none does after the world has healed.
    pub(crate) fn strikes(&self, percent: u32) -> bool {
        self.befalls(|chance| chance.happens(percent))
    }

    /// Whether a fault happens now. It does if `draw` gives true, unless the world has healed or `change` leaves this fault out.
    pub(crate) fn befalls(&self, draw: impl FnOnce(&mut Chance) -> bool) -> bool {
        if !self.draw(draw) || self.is_healed() || !self.change.allows(self.drawn.fetch_add(1, Ordering::SeqCst)) {
            return false;
        }
        self.faults.fetch_add(1, Ordering::SeqCst);
        self.may_wait();
        true
    }

    /// From now on, for a while, deadlines may wait.
    pub(crate) fn may_wait(&self) {
        // A process notices a jump of the clock when it polls the next time.
        let until = self.executor.micros() + self.plan.poll + HOLD_MAX;
        self.unsteady_until.fetch_max(until, Ordering::SeqCst);
    }

    /// How often the database was set back.
    pub(crate) fn era(&self) -> u64 {
        self.era.load(Ordering::SeqCst)
    }

    /// Resolves after a drawn time of at most `micros_max`.
    pub(crate) async fn think(&self, micros_max: i64) {
        // In whole milliseconds, so that an action aimed at an instant sometimes hits it to the microsecond.
        let millis = self.draw(|chance| chance.within(0..=micros_max / MILLISECOND));
        self.executor.after(millis * MILLISECOND).await;
    }

    /// Resolves after a pause before another try; the pause is longer in worlds of a larger scale.
    pub(crate) async fn pause(&self) {
        self.think((self.plan.scale_seconds * SECOND / 8).max(SECOND)).await;
    }

    /// Writes a line of the trace.
    pub(crate) fn tell(&self, line: impl AsRef<str>) {
        let mut record = self.record.lock().unwrap();
        let line = format!("{} {}", domain::base::time::rfc3339(from_micros(self.clock())), line.as_ref());
        for byte in line.bytes() {
            record.hash = (record.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if record.lines.len() == TRACE_LINES {
            record.lines.pop_front();
        }
        record.lines.push_back(line);
    }

    /// Ends the run as failed; the first failure counts.
    pub(crate) fn fail(&self, violation: impl Into<String>) {
        let violation = violation.into();
        self.tell(format!("VIOLATION {violation}"));
        self.record.lock().unwrap().violation.get_or_insert(violation);
    }

    fn has_failed(&self) -> bool {
        self.record.lock().unwrap().violation.is_some()
    }

    /// Ends the run as failed if a check has found a violation.
    pub(crate) fn check(&self, checked: Result<(), String>) {
        if let Err(violation) = checked {
            self.fail(violation);
        }
    }

    /// Starts a task outside the server.
    pub(crate) fn spawn(self: &Arc<Self>, name: impl Into<String>, task: impl Future<Output = ()> + Send + 'static) {
        self.busy.fetch_add(1, Ordering::SeqCst);
        let world = self.clone();
        self.executor.spawn(None, name, async move {
            task.await;
            world.busy.fetch_sub(1, Ordering::SeqCst);
        });
    }

    /// Sends a request to one of the processes and waits for the reply, if there is one.
    pub(crate) async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        what: impl Into<String>,
        work: impl FnOnce(Arc<dyn Store>) -> BoxFuture<'static, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, Failed> {
        let what = what.into();
        self.think(3 * MILLISECOND).await;
        let running: Vec<(ProcessId, Arc<dyn Store>)> = process::running(self);
        if running.is_empty() {
            self.tell(format!("{what}: no server"));
            // No process runs now, but one will start again. Without this pause the client would ask again and again, and use up
            // the world's steps before that.
            if self.is_healed() {
                self.executor.after(30 * SECOND).await;
            }
            return Err(Failed::Unknown);
        }
        let (process, store) = self.draw(|chance| chance.pick(&running).clone());
        let (faults, era) = (self.faults.load(Ordering::SeqCst), self.era());
        let (reply, answer) = oneshot::channel();
        self.executor.spawn(Some(process), what.clone(), async move {
            let result = work(store).await;
            // The caller may have stopped listening.
            reply.send(result).unwrap_or_default();
        });
        match answer.await {
            _ if self.era() != era => {
                self.tell(format!("{what}: the database was set back meanwhile"));
                Err(Failed::Unknown)
            }
            Ok(Ok(done)) => {
                self.tell(format!("{what}: done"));
                Ok(done)
            }
            Ok(Err(StoreError::Rejected(rejection))) => {
                self.tell(format!("{what}: {}", rejection.entry().code));
                Err(Failed::Rejected(rejection))
            }
            Ok(Err(StoreError::Held(why))) => {
                self.tell(format!("{what}: held: {why}"));
                self.coverage.count("deadline held back");
                let is_held = self.watch.lock().unwrap().is_held;
                let may_wait = is_held || self.executor.micros() < self.unsteady_until.load(Ordering::SeqCst);
                if self.faults.load(Ordering::SeqCst) == faults && !may_wait {
                    self.fail(format!("I24: {what} is held without a fault: {why}"));
                }
                Err(Failed::Unknown)
            }
            Ok(Err(StoreError::Unavailable(why))) => {
                self.tell(format!("{what}: unavailable: {why}"));
                if self.faults.load(Ordering::SeqCst) == faults {
                    self.fail(format!("I24: {what} is unavailable without a fault: {why}"));
                }
                Err(Failed::Unknown)
            }
            Ok(Err(StoreError::Damaged(damaged))) => {
                self.fail(format!("I24: {what} met damage, and no fault damages a record: {damaged}"));
                Err(Failed::Unknown)
            }
            Ok(Err(StoreError::Failed(error))) => {
                self.fail(format!("I24: {what} failed: {error:#}"));
                Err(Failed::Unknown)
            }
            Err(_) => {
                self.tell(format!("{what}: the connection was lost"));
                Err(Failed::Unknown)
            }
        }
    }
}

/// Runs one seed, perhaps with parts left out, on an empty database.
pub(crate) fn run(seed: u64, variant: &Change, database: &Arc<SimulatedDatabase>, runtime: &Runtime) -> Report {
    database.clear().unwrap();
    let world = World::new(seed, variant, database.clone());
    world.tell(format!("{:?}", world.plan));
    for process in 0..world.plan.processes {
        process::start(&world, process);
    }
    for number in 0..world.plan.intents {
        agent::start(&world, number);
    }
    for number in 0..world.plan.operators {
        operator::start(&world, number);
    }
    for number in 0..world.plan.attackers {
        attacker::start(&world, number);
    }
    cast::start(&world);
    stopper::start(&world);
    subscriber::start(&world);
    if world.plan.restores {
        restore::start(&world);
    }
    let mut steps = 0;
    while steps < world.plan.chaos_steps && !world.has_failed() && step(&world, runtime) {
        steps += 1;
        process::jump_clock(&world);
    }
    process::heal(&world);
    steps += settle(&world, runtime);
    let mut exported = String::new();
    if !world.has_failed() {
        let secrets = world.secrets.lock().unwrap().clone();
        let mut watch = world.watch.lock().unwrap();
        world.check(watch.look_at_all(&world.database, world.clock()));
        world.check(watch.check_told());
        world.check(watch.check_whole(&world.database, &secrets));
        drop(watch);
        match log::export(&world) {
            Ok(text) => {
                world.check(log::verify(&world, &text));
                exported = text;
            }
            Err(violation) => world.fail(violation),
        }
    }
    finish(&world, (steps, exported), runtime)
}

/// Runs until everything that can happen by itself has happened: the check of liveness (I20).
fn settle(world: &Arc<World>, runtime: &Runtime) -> u64 {
    let mut steps = 0;
    let caught_up = world.executor.micros() + AFTERMATH + world.plan.outage_max();
    while !world.has_failed() {
        if steps > HEALING_STEPS {
            let waits = world.watch.lock().unwrap().what_waits(world.clock());
            world.fail(format!("I20: the world does not come to rest: {waits}; busiest at last: {}", world.executor.busiest()));
            break;
        }
        if steps == HEALING_STEPS - TALLIED_STEPS {
            world.executor.begin_tally();
        }
        let is_quiet = || world.watch.lock().unwrap().is_quiet() && log::is_signed(&world.database);
        if world.busy.load(Ordering::SeqCst) == 0 && is_quiet() {
            break;
        }
        if !step(world, runtime) {
            world.fail("I20: nothing is going to happen any more, and not everything is done");
            break;
        }
        steps += 1;
        if world.executor.micros() > caught_up && steps.is_multiple_of(64) {
            let checked = world.watch.lock().unwrap().check_quiet(world.clock(), world.plan.poll);
            world.check(checked);
        }
    }
    steps
}

fn step(world: &Arc<World>, runtime: &Runtime) -> bool {
    let step = loop {
        match world.executor.step(runtime, || process::must_turn(world)) {
            Step::Lull => process::turn_meanwhile(world),
            step @ (Step::Ran { .. } | Step::Nothing) => break step,
        }
    };
    process::bury(world);
    match step {
        Step::Ran { panicked: Some(said) } => {
            world.fail(format!("I24: {said}"));
            true
        }
        Step::Ran { panicked: None } | Step::Lull => true,
        Step::Nothing => false,
    }
}

fn finish(world: &Arc<World>, (steps, exported): (u64, String), runtime: &Runtime) -> Report {
    world.executor.clear();
    // Tasks that the server spawned on the runtime end when their owners are dropped, but the runtime must run once for that.
    world.executor.step(runtime, || false);
    let processes = std::mem::take(&mut *world.processes.lock().unwrap());
    drop(processes);
    let coverage = Coverage::default();
    coverage.add(&world.coverage);
    let record = world.record.lock().unwrap();
    Report {
        violation: record.violation.clone(),
        trace: record.lines.iter().cloned().collect(),
        hash: record.hash,
        steps,
        drawn: world.drawn.load(Ordering::SeqCst),
        plan: world.plan.clone(),
        coverage,
        exported,
    }
}
