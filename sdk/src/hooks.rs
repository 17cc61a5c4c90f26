//! What a program may watch while its client works.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::TransportError;

/// Callbacks for what happens to a client's calls; each does nothing unless it is implemented.
///
/// [`ClientBuilder::hooks`](crate::ClientBuilder::hooks) registers them. They are plain functions, called one after the other, in
/// the order of their registration, by the task that makes the call. Not being `async` is on purpose: what a hook is told and what
/// its caller gets cannot be torn apart by a future that is dropped in between. So a hook returns at once; what takes time goes
/// through a channel to a task of the program's own. A slow hook delays the call that tells it, and may not call a blocking client.
///
/// A hook that panics is logged and otherwise ignored: neither the answer nor the other hooks are lost.
#[expect(unused_variables, reason = "the documentation shows what a hook is told, without underscores")]
pub trait Hooks: Send + Sync + 'static {
    /// The server could not be reached, or failed (502, 503, 504), where it answered before.
    ///
    /// Told once per outage, however many calls suffer from it. The calls go on trying, so there is nothing to do but to tell
    /// somebody.
    fn on_connection_lost(&self, error: &TransportError) {}

    /// The server answers again, `lost_for` after [`on_connection_lost`](Hooks::on_connection_lost).
    fn on_connection_restored(&self, lost_for: Duration) {}
}

/// All hooks of one client, and whether they know the server to be away.
#[derive(Default)]
pub(crate) struct HookList {
    hooks: Vec<Arc<dyn Hooks>>,
    lost_at: Mutex<Option<Instant>>,
}

impl HookList {
    pub(crate) fn new(hooks: Vec<Arc<dyn Hooks>>) -> Self {
        Self { hooks, lost_at: Mutex::new(None) }
    }

    /// Tells every hook, whatever the ones before it did.
    pub(crate) fn tell(&self, what: impl Fn(&dyn Hooks)) {
        for hooks in &self.hooks {
            // The hook's own state may be torn by its panic; that is the hook's own affair.
            if catch_unwind(AssertUnwindSafe(|| what(hooks.as_ref()))).is_err() {
                tracing::error!("a hook panicked; the call it was told of goes on");
            }
        }
    }

    /// The lock is held while hooks run, or two tasks could tell "back" before "lost".
    pub(crate) fn connection_lost(&self, error: &TransportError) {
        let mut lost_at = self.lost_at.lock().unwrap_or_else(PoisonError::into_inner);
        if lost_at.is_none() {
            *lost_at = Some(Instant::now());
            self.tell(|hooks| hooks.on_connection_lost(error));
        }
    }

    pub(crate) fn connection_works(&self) {
        let mut lost_at = self.lost_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = lost_at.take() {
            self.tell(|hooks| hooks.on_connection_restored(at.elapsed()));
        }
    }
}
