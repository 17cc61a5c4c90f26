//! Reads every record of the log, a bounded number at a time, and finds those that are damaged.
//!
//! Guarantee: a whole pass compares each event with its hash, its neighbour in its log, its leaf in the tree and the end of its log as the
//! intent's row has it, and the leaves together with the newest checkpoint as of the beginning of the pass. In SQLite it also compares each
//! page of the file with its checksum, hence all state beside the events. Mechanism: the pass follows the leaves, then the events that have
//! no leaf yet. Failure: a record that cannot be read is named and passed over.

use domain::log::{Hash, Sealed};
use proof::tree::{NodeHash, Rooting, leaf_hash};
use serde_json::Value;

use crate::damage::{Damaged, LogName};
use crate::rows::prelude::*;
use crate::rows::{Place, RowsError, RowsResult, Source};
use crate::tree::{check, leaf_of, newest_checkpoint, tree_of};

/// How many events one step reads.
pub const EVENTS_PER_STEP: u64 = 100;
/// How many pages of a file one step reads.
pub const PAGES_PER_STEP: u32 = 256;

/// The place that a pass has reached.
#[derive(Clone, Debug, Default)]
pub enum Scrub {
    /// The pass begins.
    #[default]
    Begin,
    /// The pass begins at a leaf that this random number chooses, and leaves out the pages.
    Somewhere(u64),
    /// The next page of the database's file.
    Pages(u32),
    /// The next leaf.
    Leaves(Leaves),
}

/// The part of a pass that follows the tree.
#[derive(Clone, Debug, Default)]
pub struct Leaves {
    /// The leaves so far, and the root over them; without a root once a leaf was missing.
    next: u64,
    rooting: Option<Rooting>,
    /// The newest checkpoint at the beginning.
    signed: Option<(u64, NodeHash)>,
}

/// The result of one step.
#[derive(Clone, Debug, Default)]
pub struct Scrubbed {
    /// Where the next step begins; absent at the end.
    pub next: Option<Scrub>,
    /// How many events were read.
    pub events: u64,
    /// How many pages were compared with their checksums.
    pub pages: u64,
    /// How many pages have no checksum, because another program wrote them.
    pub bare_pages: u64,
    /// The damage.
    pub damaged: Vec<Damaged>,
}

impl Leaves {
    /// Begins with the first leaf.
    pub(crate) fn begin<R: ReadRows>(rows: &mut R) -> RowsResult<Self> {
        let newest = newest_checkpoint(rows)?;
        Ok(Self { next: 0, rooting: Some(Rooting::default()), signed: newest.map(|row| (row.size, row.root)) })
    }

    fn push(&mut self, leaf: Option<NodeHash>, damaged: &mut Vec<Damaged>) {
        match (leaf, &mut self.rooting) {
            (Some(leaf), Some(rooting)) => rooting.push(leaf),
            // The event is named already; the root cannot be computed without it.
            (None, _) => self.rooting = None,
            (Some(_), None) => {}
        }
        self.next += 1;
        if let (Some((size, root)), Some(rooting)) = (self.signed, &self.rooting)
            && size == self.next
            && rooting.root() != root
        {
            damaged
                .push(Damaged::Database(format!("the events do not give the root of the checkpoint of {size} leaves")).noted());
        }
    }
}

/// Chooses the leaf at which a pass begins. Its events are not compared with the checkpoint, which needs all leaves.
pub(crate) fn somewhere<R: ReadRows>(rows: &mut R, random: u64) -> RowsResult<Scrubbed> {
    let next = random % rows.tree()?.size.max(1);
    let leaves = Leaves { next, rooting: None, signed: None };
    Ok(Scrubbed { next: Some(Scrub::Leaves(leaves)), ..Scrubbed::default() })
}

/// Reads the next events. A record that is damaged does not keep the step from the others.
pub(crate) fn step<R: ReadRows>(rows: &mut R, mut at: Leaves) -> RowsResult<Scrubbed> {
    let mut done = Scrubbed::default();
    let size = rows.tree()?.size;
    while at.next < size && done.events < EVENTS_PER_STEP {
        let Some(run) =
            rows.runs(at.next, 1)?.pop().filter(|run| (run.first_leaf..run.first_leaf + run.length).contains(&at.next))
        else {
            done.damaged.push(Damaged::Database(format!("the leaf {} belongs to no event", at.next)).noted());
            at.push(None, &mut done.damaged);
            done.events += 1;
            continue;
        };
        let within = at.next - run.first_leaf;
        for offset in within..run.length {
            if done.events >= EVENTS_PER_STEP || at.next >= size {
                break;
            }
            let number = run.place.number.saturating_add(i64::try_from(offset).unwrap_or(i64::MAX));
            let place = Place { number, ..run.place };
            let leaf = unless_damaged(examined(rows, place, Some(at.next)), &mut done.damaged)?;
            at.push(leaf, &mut done.damaged);
            done.events += 1;
        }
    }
    if at.next < size {
        done.next = Some(Scrub::Leaves(at));
        return Ok(done);
    }
    // The newest events have no leaf yet. There are few of them, unless the tree stands still.
    let tree = rows.tree()?;
    let waiting = rows.unplaced(&tree, u32::try_from(EVENTS_PER_STEP).unwrap_or(u32::MAX));
    for (place, _) in unless_damaged(waiting, &mut done.damaged)?.unwrap_or_default() {
        unless_damaged(examined(rows, place, None), &mut done.damaged)?;
        done.events += 1;
    }
    Ok(done)
}

/// The result, unless a record is damaged, which is noted.
fn unless_damaged<T>(result: RowsResult<T>, damaged: &mut Vec<Damaged>) -> RowsResult<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(RowsError::Damaged(found)) => {
            damaged.push(*found);
            Ok(None)
        }
        Err(RowsError::Database(diesel::result::Error::DatabaseError(_, said)))
            if let Some(found) = Damaged::said(said.message()) =>
        {
            damaged.push(found);
            Ok(None)
        }
        Err(error) if error.is_unreadable() => {
            damaged.push(Damaged::Database(error.to_string()).noted());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Compares one event with its hash, its leaf and its neighbours; returns the hash of its leaf.
fn examined<R: ReadRows>(rows: &mut R, place: Place, leaf: Option<u64>) -> RowsResult<NodeHash> {
    let found = rows.events_from(place, 1)?.pop();
    let Some(sealed) = found else { return Err(RowsError::Damaged(Box::new(fault(rows, place, None, "it is missing")))) };
    check(rows, place, &sealed)?;
    let event: Value = serde_json::from_slice(&sealed.bytes)?;
    let sequence = event["sequence"].as_u64();
    let faulty = |rows: &mut R, why: &str| Err(RowsError::Damaged(Box::new(fault(rows, place, sequence, why))));
    let own = leaf_hash(&leaf_of(&sealed)?);
    if let Some(leaf) = leaf {
        let stored = tree_of(rows, leaf + 1).leaf(leaf);
        if stored? != own {
            return faulty(rows, "it does not give its leaf in the tree");
        }
    }
    if previous(rows, place)?.map(|hash| hash.to_string()).as_deref() != event["previous_event_hash"].as_str() {
        return faulty(rows, "it does not follow the event before it");
    }
    if place.source == Source::Intents {
        let link = rows.event_link(place.number)?;
        if event["event_type"].as_str() != Some(&link.event_type) || sealed.created_at() != Some(link.created_at) {
            return faulty(rows, "its row has another type or time than the event");
        }
        let intent = rows.intent_of_event(place.number)?;
        if event["intent_id"].as_str() != Some(intent.to_string().as_str()) {
            return faulty(rows, "its row belongs to another intent");
        }
        let row = rows.intent(intent)?.ok_or(RowsError::Inconsistent("an event of no intent"))?;
        if row.last_event == place.number && (Some(row.last_sequence), row.last_hash) != (sequence, Some(sealed.hash)) {
            return faulty(rows, "the intent's row names another end of the log");
        }
    }
    Ok(own)
}

/// The hash of the event before, in the same log.
fn previous<R: ReadRows>(rows: &mut R, place: Place) -> RowsResult<Option<Hash>> {
    let hash = |sealed: Sealed| sealed.hash;
    if place.source == Source::Intents {
        let previous = rows.event_link(place.number)?.previous;
        return previous.map(|previous| Ok(rows.stored_event(previous)?.hash)).transpose();
    }
    Ok(rows.events_from(Place { number: place.number - 1, ..place }, 1)?.pop().map(hash))
}

fn fault<R: ReadRows>(rows: &mut R, place: Place, sequence: Option<u64>, why: &str) -> Damaged {
    let (log, sequence) = match place.source {
        Source::Intents => (rows.intent_of_event(place.number).ok().map(LogName::Intent), sequence),
        Source::Portfolios => (rows.portfolio_id(place.subject).ok().map(LogName::Portfolio), u64::try_from(place.number).ok()),
        Source::Server => (Some(LogName::Server), u64::try_from(place.number).ok()),
    };
    Damaged::Event { log, sequence, why: why.to_owned() }.noted()
}
