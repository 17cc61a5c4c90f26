//! One thread that runs everything: time is a number, and tasks that are ready run in an order that the seed draws.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use chrono::{DateTime, Utc};
use domain::base::time::from_micros;
use tokio::runtime::Runtime;

use crate::chance::Chance;

/// One process of the simulated server; everything else (people, agents, the network) belongs to no process.
pub(crate) type ProcessId = usize;

/// A microsecond, the unit of simulated time.
pub(crate) const MILLISECOND: i64 = 1_000;
pub(crate) const SECOND: i64 = 1_000_000;

/// The longest time between two turns of an idle loop, as in production. A turn is one look of a loop for work that is due.
const LULL: i64 = 5 * SECOND;
/// How many of the busiest tasks are named.
const BUSIEST: usize = 6;
/// Rounds of the runtime's queue after each step.
const ROUNDS: usize = 4;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task with its process and its future.
struct Slot {
    process: Option<ProcessId>,
    name: String,
    task: Task,
}

#[derive(Default)]
struct Ready(Mutex<Vec<u64>>);

struct Wakeup {
    id: u64,
    ready: Arc<Ready>,
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.0.lock().unwrap();
        if !ready.contains(&self.id) {
            ready.push(self.id);
        }
    }
}

/// The scheduler of one run.
pub(crate) struct Executor {
    ready: Arc<Ready>,
    state: Mutex<State>,
}

struct State {
    now: i64,
    chance: Chance,
    next: u64,
    slots: BTreeMap<u64, Slot>,
    /// The timers, ordered by their times. The seed draws the order of timers with the same time.
    timers: BinaryHeap<Reverse<(i64, u64, u64)>>,
    wakers: BTreeMap<u64, Waker>,
    /// The end of the pause of each paused process.
    paused: BTreeMap<ProcessId, i64>,
    /// When [`Step::Lull`] was last returned.
    lulled_at: i64,
    /// How often each task did something, once counting has begun.
    tally: Option<BTreeMap<String, u64>>,
}

/// The result of one step.
pub(crate) enum Step {
    /// A task ran.
    Ran { panicked: Option<String> },
    /// A while has passed in which no task ran. In production, idle loops would have had turns in that time, so the caller must
    /// bring about the effect of these turns.
    Lull,
    /// There was nothing to run, and no task waits for time.
    Nothing,
}

impl Executor {
    pub(crate) fn new(start: i64, chance: Chance) -> Self {
        Self {
            ready: Arc::default(),
            state: Mutex::new(State {
                now: start,
                chance,
                next: 0,
                slots: BTreeMap::new(),
                timers: BinaryHeap::new(),
                wakers: BTreeMap::new(),
                paused: BTreeMap::new(),
                lulled_at: start,
                tally: None,
            }),
        }
    }

    /// The true time, in microseconds.
    pub(crate) fn micros(&self) -> i64 {
        self.state.lock().unwrap().now
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        from_micros(self.micros())
    }

    /// Starts a task; it runs first when the scheduler draws it.
    pub(crate) fn spawn(
        &self,
        process: Option<ProcessId>,
        name: impl Into<String>,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut state = self.state.lock().unwrap();
        let id = state.next;
        state.next += 1;
        state.slots.insert(id, Slot { process, name: name.into(), task: Box::pin(task) });
        drop(state);
        self.ready.0.lock().unwrap().push(id);
    }

    /// From now on, counts what tasks do.
    pub(crate) fn begin_tally(&self) {
        self.state.lock().unwrap().tally.get_or_insert_default();
    }

    /// Counts one action of a task.
    pub(crate) fn tally(&self, who: impl FnOnce() -> String) {
        if let Some(tally) = &mut self.state.lock().unwrap().tally {
            *tally.entry(who()).or_default() += 1;
        }
    }

    /// The busiest tasks since counting began.
    pub(crate) fn busiest(&self) -> String {
        let state = self.state.lock().unwrap();
        let mut all: Vec<(&String, &u64)> = state.tally.iter().flatten().collect();
        all.sort_by_key(|(_, times)| Reverse(**times));
        let named: Vec<String> = all.iter().take(BUSIEST).map(|(who, times)| format!("{who} {times}")).collect();
        named.join(", ")
    }

    /// Forgets every task of a process, wherever it is: its memory is gone.
    pub(crate) fn kill(&self, process: ProcessId) {
        let mut state = self.state.lock().unwrap();
        let doomed: Vec<u64> = state.slots.iter().filter(|(_, slot)| slot.process == Some(process)).map(|(id, _)| *id).collect();
        let dropped: Vec<Slot> = doomed.iter().filter_map(|id| state.slots.remove(id)).collect();
        state.paused.remove(&process);
        drop(state);
        // The tasks are dropped outside the lock, because dropping a task may wake other tasks.
        drop(dropped);
    }

    /// Whether a process stands still.
    pub(crate) fn is_paused(&self, process: ProcessId) -> bool {
        let state = self.state.lock().unwrap();
        state.paused.get(&process).is_some_and(|until| *until > state.now)
    }

    /// Stops a process from running until this time has passed.
    pub(crate) fn pause_process(&self, process: ProcessId, micros: i64) {
        let mut state = self.state.lock().unwrap();
        let until = state.now + micros;
        state.paused.insert(process, until);
    }

    /// Resolves when this process is not paused.
    pub(crate) async fn unpaused(self: &Arc<Self>, process: ProcessId) {
        loop {
            let left = {
                let state = self.state.lock().unwrap();
                state.paused.get(&process).map_or(0, |until| until - state.now)
            };
            if left <= 0 {
                return;
            }
            self.after(left).await;
        }
    }

    /// Resolves after this much simulated time.
    pub(crate) fn after(self: &Arc<Self>, micros: i64) -> After {
        After { executor: self.clone(), due: self.micros() + micros.max(0), timer: None }
    }

    fn register(&self, due: i64, waker: Waker) -> u64 {
        let mut state = self.state.lock().unwrap();
        let id = state.next;
        state.next += 1;
        let tie = state.chance.bits();
        state.timers.push(Reverse((due, tie, id)));
        state.wakers.insert(id, waker);
        id
    }

    /// Lets one task run; if none is ready, time moves to the next timer. Tasks that the server itself spawns run on `runtime`,
    /// whenever they can. `must_turn` tells whether an idle loop has work to do although none of its timers is due.
    pub(crate) fn step(self: &Arc<Self>, runtime: &Runtime, must_turn: impl FnOnce() -> bool) -> Step {
        let step = self.step_alone(runtime, must_turn);
        if runtime.metrics().num_alive_tasks() == 0 {
            return step;
        }
        // Yields once for each round of the runtime's queue: a task that becomes ready in one round runs in the next.
        runtime.block_on(async {
            for _ in 0..ROUNDS {
                tokio::task::yield_now().await;
            }
        });
        step
    }

    fn step_alone(self: &Arc<Self>, runtime: &Runtime, must_turn: impl FnOnce() -> bool) -> Step {
        let Some(id) = self.draw_ready() else {
            let mut state = self.state.lock().unwrap();
            let (due, tie, timer, waker) = loop {
                let Some(Reverse((due, tie, timer))) = state.timers.pop() else { return Step::Nothing };
                // A timer without a waker is skipped, because its task no longer waits for it.
                if let Some(waker) = state.wakers.remove(&timer) {
                    break (due, tie, timer, waker);
                }
            };
            if due - state.lulled_at > LULL {
                // If an idle loop has work, its next turn comes at its usual time. Turns without work are left out, except for
                // one just before the next timer.
                let turn = state.chance.within(1..=LULL);
                drop(state);
                let must_turn = must_turn();
                let mut state = self.state.lock().unwrap();
                let until = if must_turn { (state.now + turn).min(due) } else { due - turn };
                state.now = state.now.max(until);
                state.lulled_at = state.now;
                state.timers.push(Reverse((due, tie, timer)));
                state.wakers.insert(timer, waker);
                return Step::Lull;
            }
            state.now = state.now.max(due);
            drop(state);
            waker.wake();
            return Step::Ran { panicked: None };
        };
        let mut state = self.state.lock().unwrap();
        let until = state.slots.get(&id).and_then(|slot| slot.process).and_then(|process| state.paused.get(&process).copied());
        if let Some(until) = until.filter(|until| *until > state.now) {
            drop(state);
            self.register(until, self.waker(id));
            return Step::Ran { panicked: None };
        }
        let Some(mut slot) = state.slots.remove(&id) else { return Step::Ran { panicked: None } };
        drop(state);
        self.tally(|| slot.name.clone());
        let _inside = runtime.enter();
        let waker = self.waker(id);
        let mut context = Context::from_waker(&waker);
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| slot.task.as_mut().poll(&mut context)));
        match polled {
            Ok(Poll::Pending) => {
                self.state.lock().unwrap().slots.insert(id, slot);
                Step::Ran { panicked: None }
            }
            Ok(Poll::Ready(())) => Step::Ran { panicked: None },
            Err(panic) => {
                let said = panic.downcast_ref::<String>().cloned();
                let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned())).unwrap_or_default();
                Step::Ran { panicked: Some(format!("{} panicked: {said}", slot.name)) }
            }
        }
    }

    fn waker(&self, id: u64) -> Waker {
        Arc::new(Wakeup { id, ready: self.ready.clone() }).into()
    }

    fn draw_ready(&self) -> Option<u64> {
        let mut ready = self.ready.0.lock().unwrap();
        if ready.is_empty() {
            return None;
        }
        let index = self.state.lock().unwrap().chance.below(ready.len() as u64);
        Some(ready.swap_remove(usize::try_from(index).unwrap()))
    }

    /// Drops every task, which breaks the circle of tasks that hold their executor.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock().unwrap();
        let slots = std::mem::take(&mut state.slots);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        drop((slots, wakers));
    }
}

/// Resolves when its time has come.
pub(crate) struct After {
    executor: Arc<Executor>,
    due: i64,
    timer: Option<u64>,
}

impl Future for After {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(timer) = self.timer else {
            // Even a pause of no time lets others run first.
            self.timer = Some(self.executor.register(self.due, context.waker().clone()));
            return Poll::Pending;
        };
        let mut state = self.executor.state.lock().unwrap();
        match state.wakers.get_mut(&timer) {
            // Polled for another reason: one timer is enough.
            Some(waker) => {
                waker.clone_from(context.waker());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

impl Drop for After {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            let waker = self.executor.state.lock().unwrap().wakers.remove(&timer);
            drop(waker);
        }
    }
}
