//! Gives events their leaves in the tree over all events, and signs the tree.
//!
//! Guarantee: within ten seconds of its commit an event is in a signed checkpoint, if this server has the key, the store is there, and
//! the checkpoint file does not contradict the log. Mechanism: a turn every few seconds, and one at shutdown. Failure: a turn that fails
//! is repeated; the tree and its checkpoints are written in transactions, so a crash at any instant leaves them whole.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proof::key::SigningKey;
use store::{CheckpointRow, Store, StoreError};
use tokio::sync::{Mutex, watch};

use super::file::{CheckpointFile, Compared};
use crate::observe::metrics::Metrics;

/// The time between two turns.
const EVERY: Duration = Duration::from_secs(5);
/// The name of the checkpoint file among the second places, in metrics.
const FILE: &str = "file";

/// The loop that keeps the tree.
pub struct Checkpoints {
    store: Arc<dyn Store>,
    key: Option<Arc<SigningKey>>,
    // The loop and an admin's request may take turns at once, and a file has one writer. The lock is held during reads and writes of
    // that file and of the store.
    file: Option<Mutex<CheckpointFile>>,
    metrics: Arc<Metrics>,
}

impl Checkpoints {
    /// Makes a loop that signs with `key`; without it, the loop signs nothing. Each checkpoint is appended to `file`.
    pub fn new(store: Arc<dyn Store>, key: Option<Arc<SigningKey>>, file: Option<PathBuf>, metrics: Arc<Metrics>) -> Self {
        let file = file.map(|path| Mutex::new(CheckpointFile::new(path)));
        if file.is_some() {
            metrics.log_place_known(FILE);
        }
        Self { store, key, file, metrics }
    }

    /// Gives all events their leaves, signs the tree if it has grown, and appends the checkpoint to the file.
    ///
    /// # Errors
    ///
    /// The store is away, or the tree is not an extension of the last one that was signed, or of the last checkpoint in the file.
    pub async fn turn(&self) -> Result<Option<CheckpointRow>, StoreError> {
        while self.store.extend_tree().await? {}
        let Some(key) = &self.key else { return Ok(None) };
        let Some(file) = &self.file else { return self.store.sign_tree(key.clone()).await };
        let file = file.lock().await;
        let compared = file.compare(&*self.store, key.verifying()).await?;
        self.metrics.log_place_contradicts(FILE, matches!(compared, Compared::Contradicts(_)));
        let end = match compared {
            Compared::Extends(end) => Ok(end),
            Compared::Contradicts(why) => {
                return Err(StoreError::Failed(anyhow::anyhow!(
                    "{why}; nothing is signed until an operator has found out why and has moved the file away"
                )));
            }
            Compared::Unreadable(error) => Err(error),
        };
        let signed = self.store.sign_tree(key.clone()).await?;
        let caught_up = match end {
            Ok(end) => file.catch_up(&*self.store, end).await,
            Err(error) => Err(error),
        };
        match caught_up {
            Ok(size) => self.metrics.log_place_holds(FILE, size),
            Err(error) => {
                self.metrics.log_place_failed(FILE);
                let error = format!("{error:#}");
                tracing::error!(error, "failed to append checkpoints to the checkpoint file; signing goes on, trying again");
            }
        }
        Ok(signed)
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
