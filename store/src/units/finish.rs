//! The end of a message.

use domain::intent::command::Command;
use domain::suspension::Question;
use domain::suspension::delivery::{DeliveryRecord, Fate, Sibling};

use super::act::act;
use super::loaded::load_of;
use super::message::{as_logged, sibling};
use crate::fact::{Fact, Settled};
use crate::hub::Notice;
use crate::rows::prelude::*;
use crate::rows::{DeliveryState, OutboxRow, RowsResult, SuspensionRow};
use crate::surroundings::Env;

/// Ends a message (accepted, given up or returned), records that in the log, and applies the consequences.
pub(super) fn finish_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: OutboxRow,
    suspension: &SuspensionRow,
    fate: Fate,
    detail: &str,
) -> RowsResult<()> {
    let (state, settled) = match fate {
        Fate::Sent => (DeliveryState::Sent, Settled::Sent),
        Fate::Failed => (DeliveryState::Failed, Settled::Failed),
        Fate::Bounced => (DeliveryState::Bounced, Settled::Bounced),
    };
    // A bounce report stands beside the mail server's last reply and does not replace it.
    let last_word = (fate != Fate::Bounced).then_some(detail);
    let now = env.clock.now();
    rows.finish_outbox(row.rid, state, now, last_word)?;
    rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel.clone(), state: settled }));
    // The intent is loaded before the other messages are read. If two messages fail at the same time, the later transaction
    // then sees that the other message has failed.
    let mut loaded = load_of(rows, suspension)?;
    // The other messages and the question are read only if this message can no longer reach its recipient and the question is
    // open. They show whether another person is still reached, and which people are asked instead.
    let (mut siblings, mut question) = (Vec::new(), None);
    if fate != Fate::Sent && suspension.suspension.ending.is_none() {
        let asked;
        (siblings, asked) = beside(rows, &row, suspension)?;
        question = Some(Box::new(asked));
    }
    let delivery = as_logged(row, suspension, detail);
    let record = DeliveryRecord { delivery, fate, siblings, question, channels: env.channels.clone() };
    act(rows, env, &mut loaded, &Command::RecordDelivery(Box::new(record)), now)
}

/// The other messages about the same question, and the question.
fn beside<R: Rows>(rows: &mut R, row: &OutboxRow, suspension: &SuspensionRow) -> RowsResult<(Vec<Sibling>, Question)> {
    let all = rows.reads().deliveries(row.suspension)?.into_iter();
    let others = all.filter(|(other, _)| other.rid != row.rid).map(|(other, state)| sibling(other, state)).collect();
    Ok((others, rows.reads().question(suspension)?))
}
