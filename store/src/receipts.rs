//! Receipts of decisions, as they are read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use domain::base::ids::ReceiptId;
use domain::intent::receipt::{Decision, Receipt};
use domain::log::Sealed;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::{ReceiptFileView, ReceiptView};
use proof::leaf;
use proof::receipt::{FILE_VERSION, Inclusion, parts};

use crate::reads::may;
use crate::rows::{CheckpointRow, Decided, Place, ReadRows, ReceiptRow, RowsError, RowsResult, Source};
use crate::tree::{newest_checkpoint, tree_of};

/// A receipt with everything that proves it.
#[derive(Clone, Debug)]
pub struct ProvedReceipt {
    /// The receipt as it is served.
    pub view: ReceiptView,
    /// The signed statement.
    pub statement: Vec<u8>,
    /// The leaf of the event that carries the statement's hash.
    pub leaf: Vec<u8>,
    /// The path from the leaf to the root of the checkpoint.
    pub inclusion: Inclusion,
}

const UNREADABLE: RowsError = RowsError::Inconsistent("a receipt is not in the form in which it was written");

/// The receipt in a row, as far as its use needs it.
pub(crate) fn decision_of(row: &ReceiptRow) -> RowsResult<Receipt> {
    let (content, _) = parts(&row.statement).map_err(|_| UNREADABLE)?;
    let decision: Decision = serde_json::from_slice(content)?;
    Ok(Receipt { decision, standing: row.standing.clone() })
}

/// Reads a receipt, with its proof in the tree of the newest checkpoint. `None` if no checkpoint covers it yet.
pub(crate) fn receipt<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: ReceiptId,
    now: DateTime<Utc>,
) -> Decided<Option<ProvedReceipt>> {
    let Some(row) = rows.receipt(id)? else { return Ok(Err(Rejection::NotFound)) };
    let suspension = rows.suspension_at(row.suspension)?;
    let intent = rows.intent_at(suspension.intent)?;
    if let Err(rejection) = may(rows, principal, Action::ReadReceipt, &intent, Some(suspension.rid), now)? {
        return Ok(Err(rejection));
    }
    if row.is_erased() {
        return Ok(Err(Rejection::Redacted));
    }
    let event = rows.event(row.event)?;
    let place = Place { source: Source::Intents, subject: 0, number: row.event };
    let (Some(index), Some(newest)) = (rows.leaf_of(place)?, newest_checkpoint(rows)?) else { return Ok(Ok(None)) };
    if index >= newest.size {
        return Ok(Ok(None));
    }
    let Ok(path) = tree_of(rows, newest.size).inclusion(index)? else { return Ok(Ok(None)) };
    let inclusion = Inclusion { size: newest.size, index, path, root: newest.root };
    proved(row, &event, inclusion, newest).map(|proved| Ok(Some(proved)))
}

fn proved(row: ReceiptRow, event: &Sealed, inclusion: Inclusion, checkpoint: CheckpointRow) -> RowsResult<ProvedReceipt> {
    let (content, signature) = parts(&row.statement).map_err(|_| UNREADABLE)?;
    let file = ReceiptFileView {
        placet_receipt: FILE_VERSION,
        decision: serde_json::from_slice(content)?,
        signature: STANDARD.encode(signature),
        event: serde_json::from_str(&event.served())?,
        leaf: inclusion.index,
        proof: inclusion.path.iter().map(|hash| STANDARD.encode(hash)).collect(),
        checkpoint: checkpoint.note,
    };
    let view = ReceiptView::of(row.id, &row.standing, file);
    let leaf = leaf::of(event).ok_or(UNREADABLE)?;
    Ok(ProvedReceipt { view, statement: row.statement, leaf, inclusion })
}
