//! The growth of the tree over all events, its checkpoints, and the key that signs them.
//!
//! Guarantee: each event gets one leaf, no two checkpoints have one size, and each checkpoint's tree is the beginning of the next one's,
//! whatever number of servers sign. Mechanism: a transaction locks the row that says how far the tree reaches. Failure: a crash leaves
//! the tree as it was, and events without leaves get them later.

use chrono::TimeDelta;
use domain::base::name::SERVER;
use domain::people::authority::{Action, Object, authorize};
use domain::people::event::{LogExported, LogKeyAdded, ServerEvent};
use domain::people::principal::Principal;
use proof::checkpoint::TreeHead;
use proof::key::SigningKey;
use proof::succession::{Succession, successors};
use proof::witness::{Cosignature, WitnessError, WitnessKey, append};

use super::server_log;
use crate::error::Wanted;
use crate::rows::prelude::*;
use crate::rows::{CheckpointRow, Decided, LogKeyRow, RowsError, RowsResult, TreeRow};
use crate::surroundings::Env;
use crate::tree::{Step, root};

/// Saves a step of the tree's growth. Returns false if the tree has grown meanwhile, and then saves nothing.
pub(crate) fn extend<R: Rows>(rows: &mut R, step: &Step) -> RowsResult<bool> {
    let tree = rows.lock_tree()?;
    if (tree.size, tree.events) != (step.before.size, step.before.events) {
        return Ok(false);
    }
    for ((level, number), hashes) in &step.tiles {
        rows.save_tile(*level, *number, hashes)?;
    }
    for run in &step.runs {
        rows.insert_run(run)?;
    }
    rows.placed(&step.places)?;
    let signed_size = tree.signed_size;
    rows.update_tree(&TreeRow { signed_size, ..step.after })?;
    Ok(true)
}

/// Signs the tree as it is; `None` if the newest checkpoint says as much already.
///
/// # Errors
///
/// `Inconsistent` if the key is not the one in force, or if the stored tree is not an extension of the one that was signed last: then
/// nothing is signed any more, and people have to find out what changed the database.
pub(crate) fn sign<R: Rows>(rows: &mut R, env: &Env<'_>, key: &SigningKey) -> RowsResult<Option<CheckpointRow>> {
    let mut tree = rows.lock_tree()?;
    let in_force = rows.reads().log_keys()?.pop();
    if in_force.is_none_or(|in_force| in_force.public != key.verifying().public() || in_force.name != key.verifying().name()) {
        return Err(RowsError::Inconsistent("another key than this server's signs the log"));
    }
    if tree.size == tree.signed_size {
        return Ok(None);
    }
    if tree.signed_size > 0 {
        let last = rows.reads().checkpoint(tree.signed_size)?.ok_or(RowsError::Inconsistent("the last checkpoint is missing"))?;
        let is_signed = TreeHead::read(&last.note).is_ok_and(|head| (head.size, head.root) == (tree.signed_size, last.root));
        if !is_signed || tree.signed_size > tree.size || root(rows.reads(), tree.signed_size)? != last.root {
            return Err(RowsError::Inconsistent(
                "the tree does not extend the last signed one; the database was changed from outside",
            ));
        }
    }
    let root = root(rows.reads(), tree.size)?;
    let note = TreeHead::sign(tree.size, root, key);
    // A checkpoint is not dated before the events that it covers, whatever the clock shows.
    let created_at = tree.latest_at.map_or(env.clock.now(), |latest| latest.max(env.clock.now()));
    let checkpoint = CheckpointRow { size: tree.size, root, note, created_at };
    rows.insert_checkpoint(&checkpoint)?;
    tree.signed_size = tree.size;
    rows.update_tree(&tree)?;
    Ok(Some(checkpoint))
}

/// Adds the cosignature of a witness to a checkpoint, and notes how far the witness is. Lines that hold no right cosignature change
/// nothing.
pub(crate) fn add_cosignature<R: Rows>(
    rows: &mut R,
    (size, lines): (u64, &str),
    witness: &WitnessKey,
) -> RowsResult<Result<Cosignature, WitnessError>> {
    // Two witnesses may answer at once, and each answer changes the same note.
    rows.lock_tree()?;
    let checkpoint = rows.reads().checkpoint(size)?.ok_or(RowsError::Inconsistent("a cosigned checkpoint is missing"))?;
    let (note, cosignature) = match append(&checkpoint.note, lines, witness) {
        Ok(added) => added,
        Err(error) => return Ok(Err(error)),
    };
    rows.update_note(size, &note)?;
    let known = rows.reads().witness_size(&witness.to_string())?.unwrap_or_default();
    rows.save_witness(&witness.to_string(), known.max(size))?;
    Ok(Ok(cosignature))
}

/// The newest checkpoint, if none was mailed within the time `every`. It counts as mailed from then on.
pub(crate) fn to_mail<R: Rows>(rows: &mut R, env: &Env<'_>, every: TimeDelta) -> RowsResult<Option<CheckpointRow>> {
    let size = rows.lock_tree()?.signed_size;
    let mailed = rows.reads().mailed()?;
    if let Some((mailed, at)) = mailed
        && (mailed == size || at.is_some_and(|at| env.clock.now() < at + every))
    {
        return Ok(None);
    }
    let newest = rows.reads().checkpoint(size)?;
    if newest.is_some() {
        rows.note_mailed(size, env.clock.now())?;
    }
    Ok(newest)
}

/// Puts a first key in force, and records it in the server's own log. Returns the key in force, which is another one if there was one.
pub(crate) fn adopt_key<R: Rows>(rows: &mut R, env: &Env<'_>, candidate: &LogKeyRow, text: &str) -> RowsResult<LogKeyRow> {
    rows.lock_tree()?;
    if let Some(in_force) = rows.reads().log_keys()?.pop() {
        return Ok(in_force);
    }
    rows.insert_log_key(candidate, env.clock.now())?;
    let added = LogKeyAdded { key: text.to_owned(), replaces: None, signature: None };
    server_log::append(rows, env, SERVER, &ServerEvent::LogKeyAdded(added))?;
    Ok(candidate.clone())
}

/// Puts the key `next` in force behind the one that has named it, and records it in the server's own log. Returns false and changes nothing
/// if another key is in force than the one that signed.
///
/// # Errors
///
/// `Inconsistent` if the key in force has not signed the statement about `next`.
pub(crate) fn pass_on_key<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    (next, succession): (&LogKeyRow, &Succession),
) -> Decided<bool> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    rows.lock_tree()?;
    let in_force = rows.reads().log_keys()?.pop().ok_or(RowsError::Inconsistent("the log has no key that could be replaced"))?;
    let named = |key: &LogKeyRow| {
        key.verifying().map_err(|_| RowsError::Inconsistent("a key of the log has a name that no key can have"))
    };
    let (in_force, verifying) = (named(&in_force)?, named(next)?);
    if in_force.to_string() != succession.replaces {
        return Ok(Ok(false));
    }
    if successors(&[in_force], std::slice::from_ref(succession)) != [verifying] {
        return Err(RowsError::Inconsistent("the key in force did not sign that another one follows it"));
    }
    rows.insert_log_key(next, env.clock.now())?;
    let Succession { replaces, key, signature } = succession.clone();
    let added = LogKeyAdded { key, replaces: Some(replaces), signature: Some(signature) };
    server_log::append(rows, env, &principal.name, &ServerEvent::LogKeyAdded(added))?;
    Ok(Ok(true))
}

/// Records that a principal exports the log: reads by people who read everything leave a trace.
pub(crate) fn begin_export<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    about: &Wanted<LogExported>,
) -> Decided<()> {
    if let Err(rejection) = authorize(principal, Action::Export, Object::Server) {
        return Ok(Err(rejection));
    }
    let about = match about {
        Ok(about) => LogExported { credential: principal.credential, ..about.clone() },
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    server_log::append(rows, env, &principal.name, &ServerEvent::LogExported(about))?;
    Ok(Ok(()))
}
