//! The signs of life that show whether the server can do its work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::Hold;

use super::problem::Failure;

/// A deadline loop that has not run for this long counts as stuck.
const HEARTBEAT_MAX: Duration = Duration::from_secs(10);

/// The last sign of life of the deadline loop, and the checks of the store.
#[derive(Default)]
pub(crate) struct Health {
    deadlines: Mutex<Option<Instant>>,
    looks: Looks,
}

/// Lets requests share one check of the store, called a look here, because clients without a key must not keep the disk busy.
///
/// Guarantee: every request gets the result of a look that began after the request, and however many requests come at once, at
/// most two looks serve all of them: the one under way and one after it. Mechanism: each request has a number, and each look
/// knows the last number that was given out when it began.
#[derive(Default)]
struct Looks {
    askers: AtomicU64,
    last: tokio::sync::Mutex<Look>,
}

/// The result of a look.
#[derive(Clone, Default)]
struct Look {
    /// All requests up to this number asked before the look began.
    began_after: u64,
    found: Option<Result<Option<Hold>, Failure>>,
}

impl Looks {
    async fn look(&self, look: impl Future<Output = Result<Option<Hold>, Failure>>) -> Result<Option<Hold>, Failure> {
        let asker = self.askers.fetch_add(1, Ordering::SeqCst) + 1;
        let mut last = self.last.lock().await;
        if let Some(found) = last.found.clone().filter(|_| last.began_after >= asker) {
            return found;
        }
        let began_after = self.askers.load(Ordering::SeqCst);
        let found = look.await;
        *last = Look { began_after, found: Some(found.clone()) };
        found
    }
}

impl Health {
    /// Notes that the deadline loop has run once more.
    pub(crate) fn deadlines_beat(&self) {
        *self.deadlines.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Looks at the store, together with other requests that ask at the same time.
    pub(crate) async fn look(&self, look: impl Future<Output = Result<Option<Hold>, Failure>>) -> Result<Option<Hold>, Failure> {
        self.looks.look(look).await
    }

    /// Whether the deadline loop has run lately.
    pub(crate) fn deadlines_alive(&self) -> bool {
        let last = *self.deadlines.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|at| at.elapsed() < HEARTBEAT_MAX)
    }
}
