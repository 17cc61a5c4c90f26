//! Reads of the tree over all events, and the next step of its growth.
//!
//! A step is computed beside the writer, from a snapshot, and saved by a short transaction, which saves nothing if another server took
//! the step first. So neither decisions nor other servers wait for hashes.

use std::cmp::Ordering;

use domain::log::Sealed;
use proof::leaf;
use proof::tree::{Damaged, Growth, NodeHash, TilesInMemory, Tree, leaf_hash};
use proof::witness::WitnessKey;

use crate::damage::{self, LogName};
use crate::rows::prelude::*;
use crate::rows::{CheckpointRow, Place, RowsError, RowsResult, Run, Source, TreeRow};

/// About how many events of intents, and at most how many others, one step gives leaves.
const EVENTS_PER_STEP: u32 = 1_000;

/// The tiles of a database.
pub(crate) struct StoredTiles<'a, R>(pub(crate) &'a mut R);

impl<R: ReadRows> proof::tree::Tiles for StoredTiles<'_, R> {
    type Error = RowsError;

    fn tile(&mut self, level: u8, number: u64) -> RowsResult<Vec<u8>> {
        self.0.tile(level, number)
    }
}

impl From<Damaged> for RowsError {
    fn from(_: Damaged) -> Self {
        Self::Inconsistent("a tile of the tree lacks hashes")
    }
}

/// The tree with the first `size` leaves.
pub(crate) fn tree_of<R: ReadRows>(rows: &mut R, size: u64) -> Tree<StoredTiles<'_, R>> {
    Tree::new(StoredTiles(rows), size)
}

/// The root over the first `size` leaves, computed from the stored hashes.
pub(crate) fn root<R: ReadRows>(rows: &mut R, size: u64) -> RowsResult<NodeHash> {
    tree_of(rows, size).root()
}

/// Whether the tree has at least `size` leaves, and the first of them have this root.
pub(crate) fn extends<R: ReadRows>(rows: &mut R, size: u64, expected: &NodeHash) -> RowsResult<bool> {
    Ok(size <= rows.tree()?.size && root(rows, size)? == *expected)
}

/// The newest checkpoint, if there is one.
pub(crate) fn newest_checkpoint<R: ReadRows>(rows: &mut R) -> RowsResult<Option<CheckpointRow>> {
    Ok(rows.checkpoints(u64::MAX, 1)?.pop())
}

/// A checkpoint for a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForWitness {
    /// How many leaves the tree has that the witness cosigned last.
    pub old: u64,
    /// The checkpoint.
    pub checkpoint: CheckpointRow,
    /// The proof that the checkpoint's tree extends the old one; absent if the old one is larger.
    pub proof: Option<Vec<NodeHash>>,
}

/// The newest checkpoint, and how a witness that has `old` leaves is shown that the tree grew to it.
pub(crate) fn for_witness<R: ReadRows>(rows: &mut R, witness: &WitnessKey, old: Option<u64>) -> RowsResult<Option<ForWitness>> {
    let Some(checkpoint) = newest_checkpoint(rows)? else { return Ok(None) };
    let old = match old {
        Some(old) => old,
        None => rows.witness_size(&witness.to_string())?.unwrap_or_default(),
    };
    let proof = match old.cmp(&checkpoint.size) {
        Ordering::Greater => None,
        Ordering::Equal => Some(Vec::new()),
        Ordering::Less if old == 0 => Some(Vec::new()),
        Ordering::Less => tree_of(rows, checkpoint.size).consistency(old)?.ok(),
    };
    Ok(Some(ForWitness { old, checkpoint, proof }))
}

/// Leaves to add to the tree.
pub(crate) struct Step {
    pub(crate) before: TreeRow,
    pub(crate) after: TreeRow,
    pub(crate) places: Vec<Place>,
    pub(crate) runs: Vec<Run>,
    pub(crate) tiles: TilesInMemory,
}

/// The next step of the tree's growth; `None` if each event has its leaf.
pub(crate) fn next_step<R: ReadRows>(rows: &mut R) -> RowsResult<Option<Step>> {
    let before = rows.tree()?;
    let events = rows.unplaced(&before, EVENTS_PER_STEP)?;
    if events.is_empty() {
        return Ok(None);
    }
    let mut growth = Growth::begin(&mut StoredTiles(rows), before.size)?;
    let mut runs: Vec<Run> = Vec::new();
    let mut after = before;
    for (place, sealed) in &events {
        // A leaf stays for ever, so a damaged event gets none, and no event behind it.
        check(rows, *place, sealed)?;
        match runs.last_mut() {
            Some(run) if is_next(run, *place) => run.length += 1,
            Some(_) | None => runs.push(Run { first_leaf: growth.size(), place: *place, length: 1 }),
        }
        if place.source == Source::Intents {
            after.events = after.events.max(place.number);
        }
        // The leaf has the time as well, and is several times shorter. An erased event is stored in this form, too.
        let leaf = Sealed { bytes: leaf_of(sealed)?, hash: sealed.hash };
        after.latest_at = after.latest_at.max(leaf.created_at());
        growth.push(leaf_hash(&leaf.bytes));
    }
    after.size = growth.size();
    let places = events.into_iter().map(|(place, _)| place).collect();
    Ok(Some(Step { before, after, places, runs, tiles: growth.into_tiles() }))
}

/// Names a stored event that is damaged.
pub(crate) fn check<R: ReadRows>(rows: &mut R, place: Place, sealed: &Sealed) -> RowsResult<()> {
    if sealed.is_whole() {
        return Ok(());
    }
    let log = match place.source {
        Source::Intents => return rows.event(place.number).map(drop),
        Source::Portfolios => rows.portfolio_id(place.subject).ok().map(LogName::Portfolio),
        Source::Server => Some(LogName::Server),
    };
    Err(RowsError::Damaged(Box::new(damage::Damaged::event(log, u64::try_from(place.number).ok()))))
}

/// The leaf of a stored event.
pub(crate) fn leaf_of(sealed: &Sealed) -> RowsResult<Vec<u8>> {
    leaf::of(sealed).ok_or(RowsError::Inconsistent("an event is not canonical"))
}

/// Whether the event at `place` follows the run's last one.
fn is_next(run: &Run, place: Place) -> bool {
    let length = i64::try_from(run.length).unwrap_or(i64::MAX);
    place == Place { number: run.place.number.saturating_add(length), ..run.place }
}
