//! Reads that prove something of the log: the state of a chain, checkpoints, inclusion, consistency (RFC-0019).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::log::{Hash, Sealed};
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::{BreakView, ChainView, ConsistencyView, GlobalProofView, LogCheckpointView, MerkleProofView, ProofStepView};
use proof::intent_tree::{self, Side};
use proof::tree::NodeHash;
use uuid::Uuid;

use crate::chain::Chain;
use crate::damage::{Damaged, LogName};
use crate::error::Wanted;
use crate::filter::CheckpointFilter;
use crate::reads::{EVENTS_WALKED_MAX, Step, Walk, may, readable};
use crate::rows::prelude::*;
use crate::rows::{CheckpointRow, Decided, IntentRow, Place, RowsError, RowsResult, Source};
use crate::tree::{leaf_of, root, tree_of};

/// A checkpoint, by its id in requests: the number of leaves, and behind a dot an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointId {
    /// The number of leaves.
    pub size: u64,
    /// The intent whose events are meant; absent for the tree over all events.
    pub intent: Option<IntentId>,
}

impl std::fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.size)?;
        self.intent.map_or(Ok(()), |intent| write!(f, ".{intent}"))
    }
}

impl std::str::FromStr for CheckpointId {
    type Err = Rejection;

    /// An id of another form is treated like the id of a checkpoint that does not exist.
    fn from_str(text: &str) -> Result<Self, Rejection> {
        let (size, intent) = text.split_once('.').map_or((text, None), |(size, intent)| (size, Some(intent)));
        let number = size.parse().ok().filter(|number: &u64| number.to_string() == size).ok_or(Rejection::NotFound)?;
        let intent = intent.map(|intent| intent.parse().map(IntentId).map_err(|_| Rejection::NotFound)).transpose()?;
        Ok(Self { size: number, intent })
    }
}

/// The row ids of an intent's events from the first on; `None` if there are too many to walk.
pub(crate) fn rids_of<R: ReadRows>(rows: &mut R, row: &IntentRow) -> RowsResult<Option<Vec<i64>>> {
    let (mut walk, mut rids) = (Walk::of(row), Vec::new());
    loop {
        match walk.step(rows)? {
            Step::Event(rid, _) => rids.push(rid),
            Step::Start => break,
            Step::TooFar => return Ok(None),
        }
    }
    rids.reverse();
    Ok(Some(rids))
}

/// The events of an intent from the first on, each with its row id; `None` if there are too many to walk.
pub(crate) fn log_of<R: ReadRows>(rows: &mut R, row: &IntentRow) -> RowsResult<Option<Vec<(i64, Sealed)>>> {
    let Some(rids) = rids_of(rows, row)? else { return Ok(None) };
    rids.into_iter().map(|rid| Ok((rid, rows.stored_event(rid)?))).collect::<RowsResult<_>>().map(Some)
}

/// The same log, if no event of it is damaged.
fn whole_log<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    now: DateTime<Utc>,
) -> Decided<(IntentRow, Vec<(i64, Sealed)>)> {
    let found = browsed(rows, principal, id, now)?;
    let damaged = |(_, log): &(IntentRow, Vec<(i64, Sealed)>)| {
        (1..).zip(log).find(|(_, (_, sealed))| !sealed.is_whole()).map(|(number, _)| number)
    };
    if let Ok(Some(number)) = found.as_ref().map(damaged) {
        return Err(RowsError::Damaged(Box::new(Damaged::event(Some(LogName::Intent(id)), Some(number)))));
    }
    Ok(found)
}

/// The log of an intent that the principal may browse.
fn browsed<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    now: DateTime<Utc>,
) -> Decided<(IntentRow, Vec<(i64, Sealed)>)> {
    let row = match readable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if let Err(rejection) = may(rows, principal, Action::Browse, &row, row.newest_suspension, now)? {
        return Ok(Err(rejection));
    }
    let too_long = || {
        Rejection::invalid("intent_id", "range", format!("must have at most {EVENTS_WALKED_MAX} events; export the log instead"))
    };
    Ok(log_of(rows, &row)?.ok_or_else(too_long).map(|log| (row, log)))
}

/// Computes the chain of an intent from its stored bytes. A damaged event is a break of the chain here, and not an error: the caller asks for it.
pub(crate) fn chain<R: ReadRows>(rows: &mut R, principal: &Principal, id: IntentId, now: DateTime<Utc>) -> Decided<ChainView> {
    let (row, log) = match browsed(rows, principal, id, now)? {
        Ok(found) => found,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let Chain { length, erased, broken } = Chain::of(rows, &row, &log)?;
    let breaks: Vec<BreakView> = broken.into_iter().map(|(sequence, reason)| BreakView { sequence, reason }).collect();
    let valid = breaks.is_empty();
    Ok(Ok(ChainView {
        intent_id: id,
        valid,
        chain_valid: valid,
        event_count: length,
        first_sequence: u64::from(length > 0),
        last_sequence: length,
        redacted_count: erased,
        breaks,
    }))
}

/// The hashes of the intent's events that have leaves below `size`. Events get their leaves in their order.
fn covered<R: ReadRows>(rows: &mut R, log: &[(i64, Sealed)], size: u64) -> RowsResult<Vec<NodeHash>> {
    let mut covered = log.len();
    while covered > 0 {
        let place = Place { source: Source::Intents, subject: 0, number: log[covered - 1].0 };
        if rows.leaf_of(place)?.is_some_and(|leaf| leaf < size) {
            break;
        }
        covered -= 1;
    }
    Ok(log[..covered].iter().map(|(_, sealed)| sealed.hash.0).collect())
}

/// The public key of a checkpoint's log, and its signature, as the note has them.
fn signature_of(note: &str) -> (String, String) {
    let line = note.lines().find_map(|line| line.strip_prefix("\u{2014} ")).and_then(|line| line.split_once(' '));
    line.map(|(name, signature)| (name.to_owned(), signature.to_owned())).unwrap_or_default()
}

fn global(row: CheckpointRow) -> LogCheckpointView {
    let (signed_by, signature) = signature_of(&row.note);
    LogCheckpointView {
        checkpoint_id: row.size.to_string(),
        intent_id: None,
        scope: "global",
        merkle_root: Hash(row.root).to_string(),
        event_count: row.size,
        first_sequence: 0,
        last_sequence: row.size.saturating_sub(1),
        created_at: row.created_at,
        signed_by,
        signature,
        anchor: None,
        note: row.note,
    }
}

/// The checkpoint of one intent's events at the size of a checkpoint; `None` if that checkpoint has none of them.
fn of_intent(row: CheckpointRow, intent: IntentId, hashes: &[NodeHash]) -> Option<LogCheckpointView> {
    let merkle_root = Hash(intent_tree::root(hashes)?).to_string();
    let checkpoint_id = CheckpointId { size: row.size, intent: Some(intent) }.to_string();
    let (intent_id, event_count) = (Some(intent), hashes.len() as u64);
    let (scope, first_sequence, last_sequence) = ("intent", 1, event_count);
    Some(LogCheckpointView {
        checkpoint_id,
        intent_id,
        scope,
        merkle_root,
        event_count,
        first_sequence,
        last_sequence,
        ..global(row)
    })
}

/// Checkpoints, newest first. For an intent, the newest one with any of its events.
pub(crate) fn checkpoints<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: Wanted<CheckpointFilter>,
    now: DateTime<Utc>,
) -> Decided<Vec<LogCheckpointView>> {
    if let Err(rejection) = authorize(principal, Action::ReadTree, Object::Server) {
        return Ok(Err(rejection));
    }
    let filter = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let Some(intent) = filter.intent else {
        let found = rows.checkpoints(filter.before.unwrap_or(u64::MAX), filter.limit)?;
        return Ok(Ok(found.into_iter().map(global).collect()));
    };
    let (_, log) = match whole_log(rows, principal, intent, now)? {
        Ok(found) => found,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let newest = rows.checkpoints(filter.before.unwrap_or(u64::MAX), 1)?.pop();
    let Some(newest) = newest else { return Ok(Ok(Vec::new())) };
    let hashes = covered(rows, &log, newest.size)?;
    Ok(Ok(of_intent(newest, intent, &hashes).into_iter().collect()))
}

/// One checkpoint.
pub(crate) fn checkpoint<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: Wanted<CheckpointId>,
    now: DateTime<Utc>,
) -> Decided<LogCheckpointView> {
    let (row, id) = match found(rows, principal, id)? {
        Ok(found) => found,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let Some(intent) = id.intent else { return Ok(Ok(global(row))) };
    let (_, log) = match whole_log(rows, principal, intent, now)? {
        Ok(found) => found,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let hashes = covered(rows, &log, row.size)?;
    Ok(of_intent(row, intent, &hashes).ok_or(Rejection::NotFound))
}

fn found<R: ReadRows>(rows: &mut R, principal: &Principal, id: Wanted<CheckpointId>) -> Decided<(CheckpointRow, CheckpointId)> {
    if let Err(rejection) = authorize(principal, Action::ReadTree, Object::Server) {
        return Ok(Err(rejection));
    }
    let id = match id {
        Ok(id) => id,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let size = i64::try_from(id.size).ok().and(Some(id.size));
    let row = match size {
        Some(size) => rows.checkpoint(size)?,
        None => None,
    };
    Ok(row.ok_or(Rejection::NotFound).map(|row| (row, id)))
}

/// Proves that the log contains an event of an intent.
pub(crate) fn inclusion<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    (id, event): (Wanted<CheckpointId>, Wanted<Uuid>),
    now: DateTime<Utc>,
) -> Decided<MerkleProofView> {
    let (row, id) = match found(rows, principal, id)? {
        Ok(found) => found,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let Some(intent) = id.intent else {
        let message = "must name the intent of the event: GET /checkpoints?intent_id=… gives the ids of an intent's checkpoints";
        return Ok(Err(Rejection::invalid("checkpoint_id", "required", message)));
    };
    let (_, log) = match whole_log(rows, principal, intent, now)? {
        Ok(found) => found,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let event_id = match event {
        Ok(event) => event,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let named = format!("\"id\":\"{}\"", event_id.hyphenated());
    let is_named = |sealed: &Sealed| {
        // The text may also stand within the payload, so the member is read, but of few events.
        let is_there = sealed.bytes.windows(named.len()).any(|window| window == named.as_bytes());
        is_there
            && serde_json::from_slice::<serde_json::Value>(&sealed.bytes).is_ok_and(|event| event["id"] == event_id.to_string())
    };
    let hashes = covered(rows, &log, row.size)?;
    let Some(index) = log.iter().position(|(_, sealed)| is_named(sealed)).filter(|index| *index < hashes.len()) else {
        return Ok(Err(Rejection::NotFound));
    };
    let (rid, sealed) = &log[index];
    let Some(leaf_index) = rows.leaf_of(Place { source: Source::Intents, subject: 0, number: *rid })? else {
        return Ok(Err(Rejection::NotFound));
    };
    let (Ok(path), Some(merkle_root)) = (tree_of(rows, row.size).inclusion(leaf_index)?, intent_tree::root(&hashes)) else {
        return Ok(Err(Rejection::NotFound));
    };
    let step = |(hash, side): (NodeHash, Side)| ProofStepView {
        hash: Hash(hash).to_string(),
        position: if side == Side::Left { "left" } else { "right" },
    };
    Ok(Ok(MerkleProofView {
        event_id,
        event_hash: sealed.hash.to_string(),
        checkpoint_id: id.to_string(),
        merkle_root: Hash(merkle_root).to_string(),
        proof_hashes: intent_tree::path(&hashes, index).unwrap_or_default().into_iter().map(step).collect(),
        leaf_index: index as u64,
        global: GlobalProofView {
            leaf: String::from_utf8_lossy(&leaf_of(sealed)?).into_owned(),
            leaf_index,
            proof: path.iter().map(|hash| STANDARD.encode(hash)).collect(),
            checkpoint: row.note,
        },
    }))
}

/// Proves that one checkpoint's tree is the beginning of another's. Both roots are computed from the stored tree.
pub(crate) fn consistency<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    (from, to): (Wanted<CheckpointId>, Wanted<CheckpointId>),
) -> Decided<ConsistencyView> {
    let both = match found(rows, principal, from)? {
        Ok((from, _)) => found(rows, principal, to)?.map(|(to, _)| (from, to)),
        Err(rejection) => Err(rejection),
    };
    let (from, to) = match both {
        Ok(both) => both,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if from.size > to.size {
        return Ok(Err(Rejection::invalid("from_checkpoint", "range", "must not be newer than to_checkpoint")));
    }
    let are_stored = root(rows, from.size)? == from.root && root(rows, to.size)? == to.root;
    let proof = tree_of(rows, to.size).consistency(from.size)?.unwrap_or_default();
    let consistent = are_stored && proof::tree::is_consistent((from.size, from.root), (to.size, to.root), &proof);
    Ok(Ok(ConsistencyView {
        from_checkpoint: from.size.to_string(),
        to_checkpoint: to.size.to_string(),
        consistent,
        proof: if consistent { proof.iter().map(|hash| STANDARD.encode(hash)).collect() } else { Vec::new() },
        from_note: from.note,
        to_note: to.note,
    }))
}
