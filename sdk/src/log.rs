//! The server's log as this client has seen it: the last checkpoint, and the demand that each later one extends it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proof::checkpoint::{CheckpointError, TreeHead};
use proof::key::VerifyingKey;
use proof::tree::{NodeHash, is_consistent};
use serde::Deserialize;
use thiserror::Error;

use crate::client::Client;
use crate::error::{CallError, SetupError};
use crate::transport::Call;

/// A signed checkpoint of the server's log, from [`Client::check_log`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogCheckpoint {
    /// The name of the log.
    pub origin: String,
    /// How many events the log had.
    pub size: u64,
    /// The signed note, as `placet-verify --checkpoint` reads it.
    pub note: String,
}

/// Why the log was not found in order. For [`WentBack`](Self::WentBack) and [`Forked`](Self::Forked) keep both notes: together they
/// show what the holder of the log's key has signed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The client does not know the log's key.
    #[error("the log's key is not known; give it to the builder of the client: log_key(\"NAME+HASH+KEY\")")]
    NoKey,
    /// The server has signed no checkpoint yet.
    #[error("the server has signed no checkpoint of its log yet")]
    NoCheckpoint,
    /// The newest checkpoint is not one of this log, or not signed with the key that the client trusts.
    #[error("the server's newest checkpoint cannot be trusted")]
    Untrusted(#[source] CheckpointError),
    /// The log has fewer events than at the last check: it was rolled back, for example by a restore from a backup.
    #[error("the log went back: its newest checkpoint covers {newest_size} events, and an earlier one covered {}", remembered.size)]
    WentBack {
        /// The last checkpoint that was seen.
        remembered: Box<LogCheckpoint>,
        /// The size of the newest one; 0 if there is none.
        newest_size: u64,
        /// The note of the newest one; empty if there is none.
        newest_note: String,
    },
    /// The log does not begin with the events of the last check: it was rewritten, or its holder shows different logs to different
    /// readers.
    #[error("the log was rewritten: it does not begin with the {} events of an earlier checkpoint", remembered.size)]
    Forked {
        /// The last checkpoint that was seen.
        remembered: Box<LogCheckpoint>,
        /// The note of the newest one.
        newest_note: String,
    },
    /// The file with the last checkpoint cannot be read or written, or holds something else.
    #[error("the file with the last checkpoint of the log cannot be used")]
    File(#[source] std::io::Error),
    /// The server could not be asked.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// The memory that a client has of the log. Clones of the client share it.
#[derive(Debug, Default)]
pub(crate) struct LogMemory {
    keys: Vec<VerifyingKey>,
    file: Option<PathBuf>,
    // A std mutex will do: it is held for a copy, and never across an await.
    last: Mutex<Option<(TreeHead, String)>>,
}

impl LogMemory {
    /// Reads the keys.
    pub(crate) fn new(keys: &[String], file: Option<PathBuf>) -> Result<Self, SetupError> {
        let keys = keys.iter().map(|key| key.parse()).collect::<Result<_, _>>().map_err(|_| SetupError::InvalidLogKey)?;
        Ok(Self { keys, file, last: Mutex::default() })
    }

    fn last(&self) -> MutexGuard<'_, Option<(TreeHead, String)>> {
        // A panic cannot leave the value half changed, so a poisoned lock is safe to use.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last checkpoint that was seen, also by an earlier process if there is a file. A checkpoint in the file must be signed, too.
    fn remembered(&self) -> Result<Option<(TreeHead, String)>, LogError> {
        let last = self.last().clone();
        let Some(file) = self.file.as_ref().filter(|_| last.is_none()) else { return Ok(last) };
        let note = match std::fs::read_to_string(file) {
            Ok(note) => note,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LogError::File(error)),
        };
        let head = TreeHead::verify(&note, &self.keys);
        let head = head.map_err(|error| LogError::File(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))?;
        Ok(Some((head, note)))
    }

    /// Remembers a checkpoint, unless another task has seen a later one meanwhile.
    fn remember(&self, head: TreeHead, note: String) -> Result<(), LogError> {
        let mut last = self.last();
        if last.as_ref().is_some_and(|(seen, _)| seen.size > head.size) {
            return Ok(());
        }
        if let Some(file) = &self.file {
            replace(file, &note).map_err(LogError::File)?;
        }
        *last = Some((head, note));
        Ok(())
    }
}

/// Replaces a file as a whole, so that a crash leaves the old text or the new one.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut new = std::fs::File::create(&beside)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    std::fs::rename(&beside, file)
}

/// The part of a checkpoint in the server's answer that is read.
#[derive(Deserialize)]
struct Shown {
    note: String,
}

/// The part of a consistency proof in the server's answer that is read. The server's own verdict is not believed.
#[derive(Deserialize)]
struct ShownProof {
    proof: Vec<String>,
}

impl Client {
    /// Fetches the newest checkpoint of the server's log, and checks that it is signed with the log's key
    /// ([`ClientBuilder::log_key`](crate::ClientBuilder::log_key)) and extends the last one that this client, one of its clones, or an
    /// earlier process with the same [`log_file`](crate::ClientBuilder::log_file) saw. Then this checkpoint is remembered. So a log
    /// that is rolled back or rewritten is noticed at the next check, even if the key of the log is in the wrong hands. The first
    /// check has nothing to compare with.
    ///
    /// ```no_run
    /// # async fn example(api_key: String) -> Result<(), Box<dyn std::error::Error>> {
    /// let client = placet::Client::builder("https://placet.example.com", api_key)
    ///     .log_key("placet.example.com/log+1f2e3d4c+AbCd…")
    ///     .log_file("placet.checkpoint")
    ///     .build()?;
    /// println!("the log is in order: {} events", client.check_log().await?.size);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `WentBack` and `Forked` if the log is not in order. Then the remembered checkpoint stays, so each further check fails, too.
    pub async fn check_log(&self) -> Result<LogCheckpoint, LogError> {
        if self.log.keys.is_empty() {
            return Err(LogError::NoKey);
        }
        let remembered = self.log.remembered()?;
        let newest: Vec<Shown> = self.send(Call::read("/api/v1/checkpoints", []).query("limit", "1")).await?;
        let went_back = |(head, note): (TreeHead, String), newest_size, newest_note| {
            let remembered = Box::new(LogCheckpoint { origin: head.origin, size: head.size, note });
            LogError::WentBack { remembered, newest_size, newest_note }
        };
        let Some(Shown { note }) = newest.into_iter().next() else {
            return Err(remembered.map_or(LogError::NoCheckpoint, |remembered| went_back(remembered, 0, String::new())));
        };
        let head = TreeHead::verify(&note, &self.log.keys).map_err(LogError::Untrusted)?;
        if let Some((seen, seen_note)) = remembered {
            if head.size < seen.size {
                return Err(went_back((seen, seen_note), head.size, note));
            }
            if !self.is_extended(&seen, &head).await? {
                let remembered = Box::new(LogCheckpoint { origin: seen.origin, size: seen.size, note: seen_note });
                return Err(LogError::Forked { remembered, newest_note: note });
            }
        }
        self.log.remember(head.clone(), note.clone())?;
        Ok(LogCheckpoint { origin: head.origin, size: head.size, note })
    }

    /// Whether the server proves that the tree of `head` begins with that of `seen`.
    async fn is_extended(&self, seen: &TreeHead, head: &TreeHead) -> Result<bool, CallError> {
        if seen.size == head.size {
            return Ok(seen.root == head.root);
        }
        let call = Call::read("/api/v1/verify/consistency", [])
            .query("from_checkpoint", seen.size.to_string())
            .query("to_checkpoint", head.size.to_string());
        let shown: ShownProof = match self.send(call).await {
            Ok(shown) => shown,
            // The server does not know the checkpoint that it signed: another one is in its place.
            Err(CallError::Refused(problem)) if problem.status == 404 => return Ok(false),
            Err(error) => return Err(error),
        };
        let hash = |text: &String| STANDARD.decode(text).ok().and_then(|bytes| NodeHash::try_from(bytes).ok());
        let Some(proof) = shown.proof.iter().map(hash).collect::<Option<Vec<_>>>() else { return Ok(false) };
        Ok(is_consistent((seen.size, seen.root), (head.size, head.root), &proof))
    }
}
