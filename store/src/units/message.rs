//! The contents of a message that follow from the question and from the other messages about it.

use domain::base::ids::DeliveryId;
use domain::people::preferences::Preferences;
use domain::suspension::Question;
use domain::suspension::delivery::{Delivery, DeliveryState as Shown, Sibling};

use super::distance::keeps_its_distance;
use super::queue::supersedes;
use crate::reads::in_portfolios;
use crate::rows::prelude::*;
use crate::rows::{DeliveryState, OutboxRow, RowsResult, SuspensionRow};

/// Reads the suspension of a message, and its contents.
pub(super) fn read<R: Rows>(rows: &mut R, row: &OutboxRow) -> RowsResult<(SuspensionRow, Message)> {
    let suspension = rows.reads().suspension_at(row.suspension)?;
    let suspension = in_portfolios(rows.reads(), suspension)?;
    let message = Message::of(rows, row, &suspension)?;
    Ok((suspension, message))
}

/// The contents of a message besides its own row; read before anything is written.
pub(super) struct Message {
    pub(super) question: Question,
    pub(super) intent_title: String,
    /// How many other intents wait for the intent that asks; counted when the message leaves.
    pub(super) waiting: u32,
    /// The time zone and the locale of the recipient; read when the message leaves.
    pub(super) preferences: Preferences,
    /// The other person in whose place the recipient answers; read when the message leaves.
    pub(super) in_place_of: Option<String>,
    /// The earliest message about the question that was accepted for the same recipient on the same channel, if there is one.
    pub(super) first: Option<DeliveryId>,
    /// The other people that earlier attempts asked; empty if this recipient was asked before, even by another channel.
    pub(super) asked_before: Vec<String>,
    /// Whether the same recipient's mail server took a message of this very attempt before.
    pub(super) repeated: bool,
    /// Whether a newer message to the same recipient is queued or has gone out.
    pub(super) superseded: bool,
    /// Whether an older message to the same recipient waits because of the distance between messages. The older message asks the
    /// same, and leaves as soon as it may.
    pub(super) covered: bool,
}

impl Message {
    fn of<R: Rows>(rows: &mut R, row: &OutboxRow, suspension: &SuspensionRow) -> RowsResult<Self> {
        let question = rows.reads().question(suspension)?;
        let intent_title = rows.reads().title(suspension.intent)?;
        let (first, asked_before) = (None, Vec::new());
        let mut told = Self {
            question,
            intent_title,
            waiting: 0,
            preferences: Preferences::default(),
            in_place_of: None,
            first,
            asked_before,
            repeated: false,
            superseded: false,
            covered: false,
        };
        if suspension.suspension.attempt == 1 && suspension.suspension.reminded_at.is_none() {
            return Ok(told);
        }
        let mut is_asked_already = false;
        for (other, state) in rows.reads().deliveries(suspension.rid)? {
            let person = other.recipient.eq_ignore_ascii_case(&row.recipient);
            let same = other.route().is_same(&row.route());
            let earlier = other.rid < row.rid && state == DeliveryState::Sent;
            told.superseded |= supersedes(&other, state, row);
            told.covered |= same && other.rid < row.rid && state == DeliveryState::Queued && keeps_its_distance(&other);
            // A message of the same attempt by another channel does not count as an earlier question.
            is_asked_already |= person && earlier && (same || other.attempt < row.attempt);
            told.repeated |= same && earlier && other.attempt == row.attempt;
            if same && earlier && told.first.is_none() {
                told.first = Some(other.id);
            } else if !person && earlier && other.attempt < row.attempt && !told.asked_before.contains(&other.recipient) {
                told.asked_before.push(other.recipient);
            }
        }
        if is_asked_already {
            told.asked_before.clear();
        }
        Ok(told)
    }
}

/// A message in the form in which the log records it.
pub(super) fn as_logged(row: OutboxRow, suspension: &SuspensionRow, detail: &str) -> Delivery {
    Delivery {
        suspension_id: suspension.suspension.id,
        delivery_id: row.id,
        attempt: row.attempt,
        sequence: row.sequence,
        channel: row.channel,
        recipient: row.recipient,
        detail: detail.to_owned(),
        tries: row.tries,
    }
}

/// All messages about a question, in the form in which decisions use them.
pub(super) fn siblings<R: Rows>(rows: &mut R, suspension: i64) -> RowsResult<Vec<Sibling>> {
    let all = rows.reads().deliveries(suspension)?.into_iter();
    Ok(all.map(|(row, state)| sibling(row, state)).collect())
}

pub(super) fn sibling(row: OutboxRow, state: DeliveryState) -> Sibling {
    let state = state.shown(&row);
    // A queued message will use the settings of the moment it leaves, so whether it carries a link is not known yet.
    let linked = row.linked.filter(|_| state != Shown::Queued);
    Sibling { attempt: row.attempt, state, channel: row.channel, recipient: row.recipient, linked }
}
