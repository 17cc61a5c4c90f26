//! Gives events their leaves in the tree over all events, and signs the tree.
//!
//! Guarantee: within ten seconds of its commit an event is in a signed checkpoint, if this server has the key, the store is there, and
//! the checkpoint file does not contradict the log. Mechanism: a turn every few seconds, and one at shutdown. Failure: a turn that fails
//! is repeated; the tree and its checkpoints are written in transactions, so a crash at any instant leaves them whole.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use domain::base::text;
use domain::problem::Rejection;
use proof::key::SigningKey;
use store::{CheckpointRow, Store, StoreError};
use tokio::sync::{Mutex, watch};

use super::file::{CheckpointFile, Compared};
use super::key::reopen;
use crate::config::LogConfig;
use crate::observe::metrics::Metrics;

/// The time between two turns.
const EVERY: Duration = Duration::from_secs(5);
/// The name of the checkpoint file among the second places, in metrics.
const FILE: &str = "file";
/// Why a server that has just started signs nothing; its first turn finds out more.
const NOT_OPENED: &str = "its key file has not opened the key of the log";
/// The longest reason that is told, in characters: the answer that holds it is short.
const WHY_CHARS_MAX: usize = 400;

/// The loop that keeps the tree.
pub struct Checkpoints {
    store: Arc<dyn Store>,
    key: RwLock<Option<Arc<SigningKey>>>,
    // Why nothing is signed, for the doctor; `None` while this server signs.
    unsigned: RwLock<Option<String>>,
    key_file: Option<PathBuf>,
    // The loop and an admin's request may take turns at once, and a file has one writer. The lock is held during reads and writes of
    // that file and of the store.
    file: Option<Mutex<CheckpointFile>>,
    metrics: Arc<Metrics>,
}

impl Checkpoints {
    /// Makes a loop that signs with `key`; without it, the loop signs nothing until the key file opens the key in force. Each checkpoint
    /// is appended to the checkpoint file.
    pub fn new(store: Arc<dyn Store>, key: Option<Arc<SigningKey>>, config: &LogConfig, metrics: Arc<Metrics>) -> Self {
        let file = config.checkpoint_file.clone().map(|path| Mutex::new(CheckpointFile::new(path)));
        if file.is_some() {
            metrics.log_place_known(FILE);
        }
        let unsigned = key.is_none().then(|| NOT_OPENED.to_owned());
        metrics.log_signs(unsigned.is_none());
        Self { store, key: RwLock::new(key), unsigned: RwLock::new(unsigned), key_file: config.key_file.clone(), file, metrics }
    }

    /// Gives all events their leaves, signs the tree if it has grown, and appends the checkpoint to the file.
    ///
    /// # Errors
    ///
    /// The store is away, or the tree is not an extension of the last one that was signed. [`Rejection::LogContradicted`] if it is no
    /// extension of the last checkpoint in the file; the server prints the reason.
    pub async fn turn(&self) -> Result<Option<CheckpointRow>, StoreError> {
        self.follow_key().await?;
        while self.store.extend_tree().await? {}
        let Some(key) = self.key() else { return Ok(None) };
        let Some(file) = &self.file else {
            let signed = self.store.sign_tree(key).await?;
            self.note_signing(None);
            return Ok(signed);
        };
        let file = file.lock().await;
        let compared = file.compare(&*self.store, key.verifying()).await?;
        self.metrics.log_place_contradicts(FILE, matches!(compared, Compared::Contradicts(_)));
        let end = match compared {
            Compared::Extends(end) => Ok(end),
            Compared::Contradicts(why) => {
                self.note_signing(Some(&why));
                tracing::error!(why, "nothing is signed until an operator has found out why and has moved the file away");
                return Err(Rejection::LogContradicted.into());
            }
            Compared::Unreadable(error) => Err(error),
        };
        let signed = self.store.sign_tree(key).await?;
        self.note_signing(None);
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
    pub fn key(&self) -> Option<Arc<SigningKey>> {
        self.key.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why this server signs no checkpoints; `None` while it signs them.
    pub(crate) fn why_unsigned(&self) -> Option<String> {
        self.unsigned.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes for the doctor and the metrics whether this server signs, or why it does not.
    fn note_signing(&self, why_not: Option<&str>) {
        self.metrics.log_signs(why_not.is_none());
        let why_not = why_not.map(|why| text::truncated(why, WHY_CHARS_MAX));
        *self.unsigned.write().unwrap_or_else(PoisonError::into_inner) = why_not;
    }

    /// The key in force, if this server can sign with it: another one may have been put in force since the last turn.
    ///
    /// # Errors
    ///
    /// The store is away.
    pub async fn key_in_force(&self) -> Result<Option<Arc<SigningKey>>, StoreError> {
        self.follow_key().await?;
        Ok(self.key())
    }

    /// Opens the key in force if another one was put in force, or if the key file could not open it before.
    async fn follow_key(&self) -> Result<(), StoreError> {
        let Some(in_force) = self.store.log_keys().await?.pop() else { return Ok(()) };
        let key = self.key();
        if key.as_ref().is_some_and(|key| key.verifying().public() == in_force.public) {
            return Ok(());
        }
        let path = self.key_file.clone();
        let opened = tokio::task::spawn_blocking(move || reopen(path.as_deref(), &in_force)).await;
        let opened = opened.map_err(anyhow::Error::from).flatten().map(Arc::new);
        match &opened {
            Ok(key) => {
                tracing::info!(key = %key.verifying(), "this server signs checkpoints of the log with another key from now on");
            }
            // The warning is not repeated at each turn.
            Err(error) if key.is_some() => tracing::warn!(
                error = %format!("{error:#}"),
                "the log has another key, and this server signs no checkpoints until its key file opens that key"
            ),
            Err(_) => {}
        }
        if let Err(error) = &opened {
            self.note_signing(Some(&format!("{error:#}")));
        }
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = opened.ok();
        Ok(())
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
            // The turn has logged the reason of a refusal.
            Ok(None) | Err(StoreError::Rejected(Rejection::LogContradicted)) => {}
            Err(StoreError::Failed(why)) => {
                let error = format!("{why:#}");
                self.note_signing(Some(&error));
                tracing::error!(error, "failed to add events to the tree of the log, or to sign it; trying again");
            }
            Err(StoreError::Damaged(damaged)) => {
                let error = damaged.to_string();
                self.note_signing(Some(&error));
                tracing::error!(
                    error,
                    "an event that has no place in the tree of the log yet is damaged, so nothing is signed any more"
                );
            }
            Err(error) => tracing::warn!(error = %error, "failed to add events to the tree of the log; trying again"),
        }
    }
}
