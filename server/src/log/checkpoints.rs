//! Gives events their leaves in the tree over all events, and signs the tree.
//!
//! Guarantee: within ten seconds of its commit an event is in a signed checkpoint, if this server has the key and the store is there.
//! Mechanism: a turn every few seconds, and one at shutdown. Failure: a turn that fails is repeated; the tree and its checkpoints are
//! written in transactions, so a crash at any instant leaves them whole.

use std::sync::Arc;
use std::time::Duration;

use proof::key::SigningKey;
use store::{CheckpointRow, Store, StoreError};
use tokio::sync::watch;

/// The time between two turns.
const EVERY: Duration = Duration::from_secs(5);

/// The loop that keeps the tree.
pub struct Checkpoints {
    store: Arc<dyn Store>,
    key: Option<Arc<SigningKey>>,
}

impl Checkpoints {
    /// Makes a loop that signs with `key`; without it, the loop signs nothing.
    pub fn new(store: Arc<dyn Store>, key: Option<Arc<SigningKey>>) -> Self {
        Self { store, key }
    }

    /// Gives all events their leaves, and signs the tree if it has grown.
    ///
    /// # Errors
    ///
    /// The store is away, or the tree is not an extension of the last one that was signed.
    pub async fn turn(&self) -> Result<Option<CheckpointRow>, StoreError> {
        while self.store.extend_tree().await? {}
        match &self.key {
            Some(key) => self.store.sign_tree(key.clone()).await,
            None => Ok(None),
        }
    }

    /// The key with which this server signs.
    pub fn key(&self) -> Option<&Arc<SigningKey>> {
        self.key.as_ref()
    }

    /// Runs until the server stops.
    pub(crate) async fn run(&self, mut stopping: watch::Receiver<bool>) {
        while !*stopping.borrow() {
            self.turn_or_say().await;
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
                _ = stopping.changed() => {}
            }
        }
    }

    /// Takes a turn; a failure is logged.
    pub(crate) async fn turn_or_say(&self) {
        match self.turn().await {
            Ok(Some(checkpoint)) => tracing::debug!(size = checkpoint.size, "signed a checkpoint of the log"),
            Ok(None) => {}
            Err(StoreError::Failed(why)) => tracing::error!(
                error = %format!("{why:#}"),
                "failed to add events to the tree of the log, or to sign it; trying again"
            ),
            Err(error) => tracing::warn!(error = %error, "failed to add events to the tree of the log; trying again"),
        }
    }
}
