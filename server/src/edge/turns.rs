//! Turns: new requests are read a few at a time, between the steps of the requests under way.
//!
//! A worker runs its tasks in the order in which they become ready. Under overload thousands of connections have a new request to
//! read, and most of these requests will be refused. Without turns, each step of a request that has been let in (its place, its
//! commit, its response) waits until all these connections are read. So a request holds its place for four times as long as it
//! takes to read from every connection, and the writer is idle.
//!
//! Guarantee: between two steps of a request under way, at most twice [`TURNS_MAX`] new requests begin. Mechanism: a connection
//! that could read a new request takes a turn. When the turns are used up, it waits in line until all other ready tasks have run;
//! then as many turns are given out anew. This can happen once between two steps, hence twice as many.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

thread_local! {
    static HERE: Rc<Turns> = Turns::start();
}

/// How many new requests may begin in each round, in which all other ready tasks run once. Refusing this many takes about a
/// millisecond.
const TURNS_MAX: usize = 32;

/// The turns of a worker.
pub(crate) struct Turns {
    left: Cell<usize>,
    line: RefCell<VecDeque<Rc<Ticket>>>,
    task: RefCell<Option<Waker>>,
}

/// The place of a connection in the line.
pub(crate) struct Ticket {
    is_called: Cell<bool>,
    waker: RefCell<Waker>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { left: Cell::new(TURNS_MAX), line: RefCell::default(), task: RefCell::default() }
    }
}

impl Turns {
    /// The turns of the calling worker.
    pub(crate) fn here() -> Rc<Self> {
        HERE.with(Rc::clone)
    }

    fn start() -> Rc<Self> {
        let turns = Rc::new(Self::default());
        let run = turns.clone();
        // The task ends with its thread.
        drop(actix_web::rt::spawn(poll_fn(move |cx| {
            run.call(cx);
            Poll::<()>::Pending
        })));
        turns
    }

    /// Gives out new turns. A connection that asks for a turn wakes the task that calls this. The task then runs behind all tasks
    /// that were ready.
    fn call(&self, cx: &Context<'_>) {
        self.task.borrow_mut().get_or_insert_with(|| cx.waker().clone());
        let mut left = TURNS_MAX;
        let mut line = self.line.borrow_mut();
        while left > 0
            && let Some(ticket) = line.pop_front()
        {
            // If only this list still holds the ticket, its connection is gone, and the ticket takes no turn.
            if Rc::strong_count(&ticket) > 1 {
                ticket.is_called.set(true);
                ticket.waker.borrow().wake_by_ref();
                left -= 1;
            }
        }
        self.left.set(left);
        if !line.is_empty() {
            cx.waker().wake_by_ref();
        }
    }

    /// Takes a turn, or waits in line for one with a ticket that the caller keeps.
    pub(crate) fn poll_turn(&self, ticket: &mut Option<Rc<Ticket>>, cx: &Context<'_>) -> Poll<()> {
        if let Some(waiting) = ticket {
            if !waiting.is_called.get() {
                waiting.waker.borrow_mut().clone_from(cx.waker());
                return Poll::Pending;
            }
            *ticket = None;
            return Poll::Ready(());
        }
        if let Some(task) = &*self.task.borrow() {
            task.wake_by_ref();
        }
        let mut line = self.line.borrow_mut();
        if self.left.get() > 0 && line.is_empty() {
            self.left.set(self.left.get() - 1);
            return Poll::Ready(());
        }
        let waiting = Rc::new(Ticket { is_called: Cell::new(false), waker: RefCell::new(cx.waker().clone()) });
        line.push_back(waiting.clone());
        *ticket = Some(waiting);
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use actix_web::rt::{Runtime, spawn};
    use futures_util::poll;
    use tokio::task::yield_now;

    use super::*;

    /// A step of a request under way must not wait for all new requests, and a new request must not wait for ever.
    #[test]
    fn so_many_requests_begin_between_two_steps_of_one_under_way() {
        Runtime::new().unwrap().block_on(async {
            let turns = Turns::here();
            let begun = Rc::new(RefCell::new(Vec::new()));
            for number in 0..10 * TURNS_MAX {
                let (turns, begun) = (turns.clone(), begun.clone());
                drop(spawn(async move {
                    let mut ticket = None;
                    poll_fn(|cx| turns.poll_turn(&mut ticket, cx)).await;
                    begun.borrow_mut().push(number);
                }));
            }
            let mut steps = 0;
            let mut before = 0;
            while before < 10 * TURNS_MAX {
                yield_now().await;
                steps += 1;
                let now = begun.borrow().len();
                assert!(now - before <= 2 * TURNS_MAX, "{} began before step {steps}", now - before);
                before = now;
                assert!(steps < 1_000, "{before} have begun");
            }
            assert!(begun.borrow().is_sorted(), "first come, first served");
        });
    }

    /// Clients that hang up while they wait must not use up the turns of others.
    #[tokio::test]
    async fn a_turn_is_not_given_to_who_is_gone() {
        let turns = Turns::default();
        let take = async |ticket: &mut Option<Rc<Ticket>>| poll!(poll_fn(|cx| turns.poll_turn(ticket, cx))).is_ready();
        for _ in 0..TURNS_MAX {
            assert!(take(&mut None).await);
        }
        let mut waiting: Vec<_> = std::iter::repeat_with(|| None).take(TURNS_MAX + 2).collect();
        for ticket in &mut waiting {
            assert!(!take(ticket).await, "they are used up");
        }
        waiting[0] = None;
        let give = async || {
            poll_fn(|cx| {
                turns.call(cx);
                Poll::Ready(())
            })
            .await;
        };
        give().await;
        for ticket in &mut waiting[1..=TURNS_MAX] {
            assert!(take(ticket).await);
        }
        assert!(!take(&mut waiting[TURNS_MAX + 1]).await && !take(&mut None).await, "nobody overtakes who waits");
        give().await;
        assert!(take(&mut waiting[TURNS_MAX + 1]).await && take(&mut None).await);
    }
}
