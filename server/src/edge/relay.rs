//! Passes on the wake-ups that other threads send to the tasks of this thread, for a whole commit at a time.
//!
//! A worker that serves HTTP prefers the tasks that it has woken itself: only one of 31 tasks that it runs comes from the queue
//! that other threads fill (tokio's `LocalSet`), and a flood of requests keeps the worker's own queue full. Without this module,
//! a request that has been let in waits seconds for a result that the writer has long finished, and holds its place for that
//! time; and while one request looks up a key, all requests with that key wait.
//!
//! Guarantee: results that the store has finished are passed on, however many requests come in. Mechanism: a wake-up from another
//! thread goes to one task of the worker. That task then wakes the waiting tasks from within the worker, so the results of a
//! commit of 256 writes wait until the queue of other threads is served once, not 256 times.

use std::mem;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use futures_util::future::poll_fn;
use futures_util::task::AtomicWaker;

thread_local! {
    static HERE: Arc<Relay> = Relay::start();
}

/// The wakers that other threads leave for the tasks of this thread.
struct Relay {
    home: ThreadId,
    woken: Mutex<Vec<Waker>>,
    task: AtomicWaker,
}

impl Relay {
    fn start() -> Arc<Self> {
        let relay = Arc::new(Self { home: thread::current().id(), woken: Mutex::default(), task: AtomicWaker::new() });
        let run = relay.clone();
        // The task ends with its thread.
        drop(actix_web::rt::spawn(poll_fn(move |cx| {
            run.pass_on(cx);
            Poll::<()>::Pending
        })));
        relay
    }

    fn pass_on(&self, cx: &Context<'_>) {
        // The task is registered before the list is read: a waker that comes between the two steps wakes the task again.
        self.task.register(cx.waker());
        let woken = mem::take(&mut *self.woken.lock().unwrap_or_else(PoisonError::into_inner));
        woken.into_iter().for_each(Waker::wake);
    }
}

/// A task's waker, and the relay of its thread.
struct Relayed {
    task: Waker,
    relay: Arc<Relay>,
}

impl Wake for Relayed {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if thread::current().id() == self.relay.home {
            return self.task.wake_by_ref();
        }
        self.relay.woken.lock().unwrap_or_else(PoisonError::into_inner).push(self.task.clone());
        self.relay.task.wake();
    }
}

/// Runs the work on a request so that results of other threads do not wait behind the requests that come in.
pub(super) async fn relayed<T>(work: impl Future<Output = T>) -> T {
    let relay = HERE.with(Arc::clone);
    let mut work = pin!(work);
    // A task's waker usually stays the same, so the waker made from it is kept.
    let mut kept: Option<(Waker, Waker)> = None;
    poll_fn(move |cx| {
        if !kept.as_ref().is_some_and(|(task, _)| task.will_wake(cx.waker())) {
            let task = cx.waker().clone();
            kept = Some((task.clone(), Arc::new(Relayed { task, relay: relay.clone() }).into()));
        }
        let waker = kept.as_ref().map_or(cx.waker(), |(_, relayed)| relayed);
        work.as_mut().poll(&mut Context::from_waker(waker))
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use actix_web::rt::{Runtime, spawn};
    use futures_util::future::LocalBoxFuture;
    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    use super::*;

    /// How many results wait on a worker that is never idle.
    const RESULTS: usize = 256;

    /// Counts how often a worker's own tasks ran until the results of another thread were passed on.
    fn turns(work: fn(oneshot::Receiver<()>) -> LocalBoxFuture<'static, ()>) -> usize {
        Runtime::new().unwrap().block_on(async move {
            let (senders, receivers): (Vec<_>, Vec<_>) = (0..RESULTS).map(|_| oneshot::channel()).unzip();
            let waiting: Vec<_> = receivers.into_iter().map(|receiver| spawn(work(receiver))).collect();
            // All of them wait before the flood begins.
            for _ in 0..10 {
                yield_now().await;
            }
            let turns = Rc::new(Cell::new(0));
            for _ in 0..100 {
                let turns = turns.clone();
                drop(spawn(poll_fn(move |cx| {
                    turns.set(turns.get() + 1);
                    cx.waker().wake_by_ref();
                    Poll::<()>::Pending
                })));
            }
            let commit = thread::spawn(move || senders.into_iter().for_each(|sender| sender.send(()).unwrap()));
            commit.join().unwrap();
            for waiting in waiting {
                waiting.await.unwrap();
            }
            turns.get()
        })
    }

    /// Only one of 31 tasks that a worker runs comes from other threads. If each of the 256 results of a commit needed a task of
    /// its own there, the last result would wait 256 times as long.
    #[test]
    fn what_a_commit_has_ready_waits_for_one_turn() {
        let alone = turns(|receiver| Box::pin(async move { receiver.await.unwrap() }));
        let relayed = turns(|receiver| Box::pin(relayed(async move { receiver.await.unwrap() })));
        assert!(relayed * 2 < alone, "{relayed} turns of other tasks instead of {alone}");
    }
}
