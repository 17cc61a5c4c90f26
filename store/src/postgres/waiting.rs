//! Work that waits for a connection.

use std::sync::Arc;

use domain::base::ids::IntentId;
use domain::problem::Rejection;

use super::queue::Reply;
use crate::observer::Observer;
use crate::request::{Outcome, Request};

/// An answer that waits to be decided.
pub(super) struct Waiting {
    pub(super) intent: IntentId,
    pub(super) request: Arc<Request>,
    pub(super) queued: Option<Queued>,
    pub(super) reply: Reply<Result<Outcome, Rejection>>,
}

/// A unit of work that waits for a connection; it counts as refused if it is dropped before it gets one.
pub(super) struct Queued {
    observer: Arc<dyn Observer>,
    refused: bool,
}

impl Queued {
    pub(super) fn enter(observer: &Arc<dyn Observer>) -> Self {
        observer.queued();
        Self { observer: observer.clone(), refused: true }
    }

    pub(super) fn leave(mut self) {
        self.refused = false;
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.observer.unqueued();
        if self.refused {
            self.observer.refused();
        }
    }
}
