//! Posts the newest checkpoint to an auditor's webhook.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use channels::SignedHook;
use domain::base::clock::Clock;
use domain::base::time;
use proof::tree::NodeHash;
use serde_json::json;
use store::{CheckpointRow, Store};

use super::failure::Failure;

/// The webhook.
pub(crate) struct Hook {
    endpoint: SignedHook,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    // The size and the root that this process posted last. A server that starts posts the newest checkpoint again, under the same id.
    // A std mutex will do: it is held for a copy, and never across an await.
    posted: Mutex<(u64, NodeHash)>,
}

impl Hook {
    pub(crate) fn new(endpoint: SignedHook, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { endpoint, store, clock, posted: Mutex::new((0, [0; 32])) }
    }

    /// Posts the newest checkpoint, unless it was posted; returns its size.
    pub(super) async fn turn(&self) -> Result<u64, Failure> {
        let posted = *self.posted.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = self.store.newest_checkpoint().await.map_err(|error| Failure::later(&error))?;
        let Some(newest) = newest.filter(|newest| (newest.size, newest.root) != posted) else { return Ok(posted.0) };
        let body = serde_json::to_vec(&body(&newest)).map_err(|error| Failure::later(&error))?;
        let id = format!("log-checkpoint-{}", newest.size);
        self.endpoint.post(&id, self.clock.now().timestamp(), body).await.map_err(|error| Failure::later(&error))?;
        *self.posted.lock().unwrap_or_else(PoisonError::into_inner) = (newest.size, newest.root);
        Ok(newest.size)
    }
}

fn body(checkpoint: &CheckpointRow) -> serde_json::Value {
    json!({
        "type": "log.checkpoint",
        "timestamp": time::rfc3339(checkpoint.created_at),
        "data": {"origin": checkpoint.origin(), "size": checkpoint.size, "root": STANDARD.encode(checkpoint.root), "note": checkpoint.note},
    })
}
