//! The contents of the mailbox in development mode: open questions, and the newest messages with the state of their questions.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::base::ids::DeliveryId;
use domain::suspension::delivery::DeliveryState;
use domain::suspension::{Question, Suspension};

use super::PRODUCTION_MARK;
use crate::reads::in_portfolios;
use crate::rows::prelude::*;
use crate::rows::{Listed, RowsResult, SuspensionRow};

/// The contents of the mailbox, newest first.
#[derive(Clone, Debug)]
pub struct MailboxView {
    /// The questions that wait for an answer.
    pub waiting: Vec<Asked>,
    /// The messages.
    pub messages: Vec<Mailed>,
    /// Whether a message that has gone out may be opened with a new link; see [`Store::open_mail`](super::Store::open_mail).
    pub may_open: bool,
}

/// A question with its state.
#[derive(Clone, Debug)]
pub struct Asked {
    pub suspension: Suspension,
    pub question: Question,
}

/// A message, with the question it is about.
#[derive(Clone, Debug)]
pub struct Mailed {
    pub id: DeliveryId,
    pub channel: String,
    pub recipient: String,
    pub state: DeliveryState,
    /// When the message ended or, if it is still to be sent, when it was queued.
    pub at: DateTime<Utc>,
    pub asked: Asked,
}

/// Reads at most `limit` questions and at most `limit` messages.
pub(super) fn mailbox<R: ReadRows>(rows: &mut R, limit: u32) -> RowsResult<MailboxView> {
    let mut read: HashMap<i64, Asked> = HashMap::new();
    let mut asked = |rows: &mut R, row: SuspensionRow| -> RowsResult<Asked> {
        if let Some(known) = read.get(&row.rid) {
            return Ok(known.clone());
        }
        let row = in_portfolios(rows, row)?;
        let question = rows.question(&row)?;
        let asked = Asked { suspension: row.suspension, question };
        read.insert(row.rid, asked.clone());
        Ok(asked)
    };
    let may_open = rows.secret(PRODUCTION_MARK)?.is_none();
    let mut view = MailboxView { waiting: Vec::new(), messages: Vec::new(), may_open };
    for row in rows.suspensions(Listed { open: true, limit, ..Listed::default() })? {
        view.waiting.push(asked(rows, row)?);
    }
    for (row, state) in rows.newest_deliveries(limit)? {
        let about = rows.suspension_at(row.suspension)?;
        let state = state.shown(&row);
        let at = row.settled_at.filter(|_| !state.is_under_way()).unwrap_or(row.queued_at);
        let asked = asked(rows, about)?;
        view.messages.push(Mailed { id: row.id, channel: row.channel, recipient: row.recipient, state, at, asked });
    }
    Ok(view)
}
