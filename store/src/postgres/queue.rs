//! A queue of jobs that are done together: a free thread takes all jobs that wait by then, up to a limit.
//!
//! Like the writer of SQLite, the queue has no batching timer: a job that arrives alone is served at once, and jobs that arrive
//! while others are served share the next trip. Guarantee: a job that is refused for waiting too long was never begun. Mechanism:
//! the job is taken out of the queue before it is refused.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::pool::{PLACE_WAIT, WAITING_MAX, WORK_WAIT};
use crate::StoreError;

/// The sender that takes the answer to a job.
pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// Jobs in the order in which they came.
pub(super) struct Queue<J> {
    // A std mutex is enough, because it is held only to push or take, and never while the thread waits for something else.
    waiting: Mutex<Waiting<J>>,
    arrived: Condvar,
}

struct Waiting<J> {
    jobs: VecDeque<(u64, J)>,
    /// How many jobs have ever been pushed, which is also the number of the newest.
    count: u64,
    closed: bool,
}

impl<J> Queue<J> {
    pub(super) fn new() -> Arc<Self> {
        let waiting = Waiting { jobs: VecDeque::new(), count: 0, closed: false };
        Arc::new(Self { waiting: Mutex::new(waiting), arrived: Condvar::new() })
    }

    /// Queues a job and waits for its answer. A caller that stops waiting does not stop the job.
    pub(super) async fn ask<T>(&self, job: impl FnOnce(Reply<T>) -> J) -> Result<T, StoreError> {
        let (reply, mut answer) = oneshot::channel();
        let number = self.push(job(reply))?;
        let answered = match tokio::time::timeout(PLACE_WAIT, &mut answer).await {
            Ok(answered) => answered,
            Err(_) if self.withdraw(number) => {
                return Err(StoreError::Unavailable("no connection to the database became free in time".into()));
            }
            Err(_) => match tokio::time::timeout(WORK_WAIT, answer).await {
                Ok(answered) => answered,
                Err(_) => return Err(StoreError::Unavailable("the database did not answer in time".into())),
            },
        };
        answered
            .unwrap_or_else(|_| Err(StoreError::Failed(anyhow::anyhow!("the thread of the database ended before it answered"))))
    }

    fn push(&self, job: J) -> Result<u64, StoreError> {
        let mut waiting = self.waiting();
        if waiting.closed {
            return Err(StoreError::Unavailable("the server is stopping".into()));
        }
        if waiting.jobs.len() >= WAITING_MAX {
            return Err(StoreError::Unavailable("too many requests are waiting for the database".into()));
        }
        waiting.count += 1;
        let number = waiting.count;
        waiting.jobs.push_back((number, job));
        drop(waiting);
        self.arrived.notify_one();
        Ok(number)
    }

    /// Takes a job out of the queue; false if a thread has taken it already.
    fn withdraw(&self, number: u64) -> bool {
        let mut waiting = self.waiting();
        let place = waiting.jobs.iter().position(|(other, _)| *other == number);
        place.and_then(|place| waiting.jobs.remove(place)).is_some()
    }

    /// Waits until there is a job to take; false once the queue is closed and empty.
    pub(super) fn wait(&self) -> bool {
        let waiting = self.waiting();
        let idle = |waiting: &mut Waiting<J>| waiting.jobs.is_empty() && !waiting.closed;
        let waiting = self.arrived.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner);
        !waiting.jobs.is_empty()
    }

    /// Takes the jobs that wait by now, at most `count_max`.
    pub(super) fn take(&self, count_max: usize) -> Vec<J> {
        let mut waiting = self.waiting();
        let count = waiting.jobs.len().min(count_max);
        let taken = waiting.jobs.drain(..count).map(|(_, job)| job).collect();
        let is_left = !waiting.jobs.is_empty();
        drop(waiting);
        // The wake-up for the jobs that are left may have gone to this thread, so another thread is woken.
        if is_left {
            self.arrived.notify_one();
        }
        taken
    }

    /// Refuses new jobs; jobs that are already in the queue are still served.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.arrived.notify_all();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<J>> {
        // A panic cannot leave the queue half changed, so a poisoned lock is safe to use.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
