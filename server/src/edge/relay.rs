//! What other threads wake, a whole commit at a time.
//!
//! A worker that serves HTTP prefers what it has woken itself: of 31 tasks it runs, one comes from the queue of those that others have
//! woken (tokio's `LocalSet`). A flood of requests keeps its own queue full. Whoever had been let in then waited seconds for a result
//! the writer had had ready for long, and so held a place; a key that one request looked up kept all of that key waiting.
//!
//! Guarantee: what the store has ready is told, however many requests come in. Mechanism: a wake from another thread goes to one task of
//! the worker, and that task wakes whom it was meant for, as the worker's own: for a commit of 256 writes one turn is waited for, not 256.

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

/// Where the other threads leave whom they wake on this one.
struct Relay {
    home: ThreadId,
    woken: Mutex<Vec<Waker>>,
    task: AtomicWaker,
}

impl Relay {
    fn start() -> Arc<Self> {
        let relay = Arc::new(Self { home: thread::current().id(), woken: Mutex::default(), task: AtomicWaker::new() });
        let run = relay.clone();
        // It ends with its thread.
        drop(actix_web::rt::spawn(poll_fn(move |cx| {
            run.pass_on(cx);
            Poll::<()>::Pending
        })));
        relay
    }

    fn pass_on(&self, cx: &Context<'_>) {
        // Registered before the look: who comes between the two wakes it again.
        self.task.register(cx.waker());
        let woken = mem::take(&mut *self.woken.lock().unwrap_or_else(PoisonError::into_inner));
        woken.into_iter().for_each(Waker::wake);
    }
}

/// A task, and the relay of its thread.
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

/// Works on a request so that what other threads have ready for it does not wait behind the requests that come in.
pub(super) async fn relayed<T>(work: impl Future<Output = T>) -> T {
    let relay = HERE.with(Arc::clone);
    let mut work = pin!(work);
    // A task's waker stays the same as a rule, so the one made of it is kept.
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

    /// Counts how often a worker's own tasks ran until what another thread had ready was told.
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

    /// One turn in 31 is what a worker gives to others. Results that wait for one each take as many times as long.
    #[test]
    fn what_a_commit_has_ready_waits_for_one_turn() {
        let alone = turns(|receiver| Box::pin(async move { receiver.await.unwrap() }));
        let relayed = turns(|receiver| Box::pin(relayed(async move { receiver.await.unwrap() })));
        assert!(relayed * 2 < alone, "{relayed} turns of other tasks instead of {alone}");
    }
}
