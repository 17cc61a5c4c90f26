//! The tree over all events: how far it reaches, its tiles, its checkpoints, and the key that signs them.

use chrono::{DateTime, Utc};
use domain::log::Sealed;
use proof::key::{KeyError, VerifyingKey};
use proof::tree::NodeHash;

use super::codes::Source;
use super::error::RowsResult;
use crate::inspection::KeyOfLog;

/// How far the tree reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeRow {
    /// The number of leaves.
    pub(crate) size: u64,
    /// In SQLite the highest row id of an event that has a leaf.
    pub(crate) events: i64,
    /// The size of the newest checkpoint; 0 before the first.
    pub(crate) signed_size: u64,
    /// The latest time of an event with a leaf. A clock that is set back may date later events earlier.
    pub(crate) latest_at: Option<DateTime<Utc>>,
}

/// An event's place in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) source: Source,
    /// The portfolio's row id; 0 for others.
    pub(crate) subject: i64,
    /// The row id of an intent's event, or the number in the log of a portfolio or the server.
    pub(crate) number: i64,
}

/// Consecutive leaves of consecutive events of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first_leaf: u64,
    pub(crate) place: Place,
    pub(crate) length: u64,
}

impl Run {
    /// The leaf of the event at `place`, if the run has it.
    pub(crate) fn leaf_of(&self, place: Place) -> Option<u64> {
        let is_same_log = (self.place.source, self.place.subject) == (place.source, place.subject);
        let offset = u64::try_from(place.number - self.place.number).ok()?;
        (is_same_log && offset < self.length).then_some(self.first_leaf + offset)
    }
}

/// A checkpoint, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRow {
    /// The number of leaves.
    pub size: u64,
    /// The root over them.
    pub root: NodeHash,
    /// The signed note.
    pub note: String,
    /// When it was signed.
    pub created_at: DateTime<Utc>,
}

impl CheckpointRow {
    /// The name of the log: the first line of the note.
    pub fn origin(&self) -> &str {
        self.note.lines().next().unwrap_or_default()
    }
}

/// A key that signs checkpoints, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogKeyRow {
    /// The name of the log.
    pub name: String,
    /// The public half.
    pub public: [u8; 32],
    /// The secret half, encrypted; absent if the operator keeps it.
    pub sealed: Option<Vec<u8>>,
    /// The signature of the key before under the statement that this key signs after it, in base64; absent for the first key.
    pub signature: Option<String>,
}

impl From<LogKeyRow> for KeyOfLog {
    fn from(LogKeyRow { name, public, sealed, signature: _ }: LogKeyRow) -> Self {
        Self { name, public, sealed }
    }
}

impl LogKeyRow {
    /// The public key and its name.
    ///
    /// # Errors
    ///
    /// A name that no key can have: the row was changed from outside.
    pub fn verifying(&self) -> Result<VerifyingKey, KeyError> {
        VerifyingKey::new(&self.name, self.public)
    }
}

/// Writes the tree, in one transaction.
pub(crate) trait WriteTree {
    /// Says how far the tree reaches. Other transactions that ask wait until this one is over.
    fn lock_tree(&mut self) -> RowsResult<TreeRow>;
    fn update_tree(&mut self, tree: &TreeRow) -> RowsResult<()>;
    fn save_tile(&mut self, level: u8, number: u64, hashes: &[u8]) -> RowsResult<()>;
    fn insert_run(&mut self, run: &Run) -> RowsResult<()>;
    /// Notes that these events have leaves.
    fn placed(&mut self, places: &[Place]) -> RowsResult<()>;
    fn insert_checkpoint(&mut self, checkpoint: &CheckpointRow) -> RowsResult<()>;
    /// Replaces the signed note of a checkpoint, for one with more signatures.
    fn update_note(&mut self, size: u64, note: &str) -> RowsResult<()>;
    /// Notes how many leaves the newest checkpoint has that the witness with this key cosigned.
    fn save_witness(&mut self, key: &str, size: u64) -> RowsResult<()>;
    /// Notes that the checkpoint with so many leaves is mailed to auditors.
    fn note_mailed(&mut self, size: u64, now: DateTime<Utc>) -> RowsResult<()>;
    /// Puts a key in force behind those that are there, and erases their secret halves.
    fn insert_log_key(&mut self, key: &LogKeyRow, now: DateTime<Utc>) -> RowsResult<()>;
}

/// Reads the tree, inside a transaction that writes or outside.
pub(crate) trait ReadTree {
    fn tree(&mut self) -> RowsResult<TreeRow>;
    /// Events that have no leaf yet, at least one if there is one, in an order in which they can get their leaves: the events of one log
    /// follow each other. About `limit` events, and fewer if they are large.
    fn unplaced(&mut self, tree: &TreeRow, limit: u32) -> RowsResult<Vec<(Place, Sealed)>>;
    /// The hashes of a tile; empty if there is no such tile.
    fn tile(&mut self, level: u8, number: u64) -> RowsResult<Vec<u8>>;
    /// The leaf of an event; `None` if it has none yet.
    fn leaf_of(&mut self, place: Place) -> RowsResult<Option<u64>>;
    /// The run with leaf `first` and those behind it, at most `limit`.
    fn runs(&mut self, first: u64, limit: u32) -> RowsResult<Vec<Run>>;
    /// The events from `place` on, at most `length`, in their order.
    fn events_from(&mut self, place: Place, length: u64) -> RowsResult<Vec<Sealed>>;
    fn checkpoint(&mut self, size: u64) -> RowsResult<Option<CheckpointRow>>;
    /// The checkpoints of sizes below `before`, newest first.
    fn checkpoints(&mut self, before: u64, limit: u32) -> RowsResult<Vec<CheckpointRow>>;
    /// The checkpoints of sizes above `after`, oldest first.
    fn checkpoints_after(&mut self, after: u64, limit: u32) -> RowsResult<Vec<CheckpointRow>>;
    /// How many leaves the newest checkpoint has that the witness with this key cosigned.
    fn witness_size(&mut self, key: &str) -> RowsResult<Option<u64>>;
    /// How many leaves the checkpoint has that was mailed last, and when.
    fn mailed(&mut self) -> RowsResult<Option<(u64, Option<DateTime<Utc>>)>>;
    /// All keys that signed or sign, oldest first. The last one is in force.
    fn log_keys(&mut self) -> RowsResult<Vec<LogKeyRow>>;
}
