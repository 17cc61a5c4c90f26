//! Messages, and the bounces reported for them.

use chrono::{DateTime, Utc};
use domain::base::ids::DeliveryId;
use domain::suspension::channel::Route;
use domain::suspension::delivery::{self, BounceKind};

use super::codes::DeliveryState;
use super::error::RowsResult;
use crate::sending::LinePlace;

/// The condition that no message of a later attempt supersedes this one. A later message that failed (2) or was dropped (3) does
/// not count.
pub(crate) const IS_NOT_REPLACED: &str = "NOT EXISTS (SELECT 1 FROM outbox newer WHERE newer.suspension = outbox.suspension AND \
     newer.channel = outbox.channel AND newer.recipient = outbox.recipient AND newer.attempt > outbox.attempt AND newer.state NOT IN (2, 3))";

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct OutboxRow {
    pub(crate) rid: i64,
    pub(crate) id: DeliveryId,
    pub(crate) suspension: i64,
    pub(crate) attempt: u32,
    pub(crate) channel: String,
    pub(crate) recipient: String,
    pub(crate) tries: u32,
    pub(crate) due_at: DateTime<Utc>,
    pub(crate) lease: Option<Vec<u8>>,
    /// The message's place among the messages about its suspension, from 1.
    pub(crate) sequence: u32,
    /// The last reply of the other side, or why the last try failed.
    pub(crate) detail: Option<String>,
    /// When the message ended. For a queued message: when it was last made due again after it had ended.
    pub(crate) settled_at: Option<DateTime<Utc>>,
    pub(crate) queued_at: DateTime<Utc>,
    /// Whether the newest try carried an answer link; `None` before the first try, and for messages older than this column.
    pub(crate) linked: Option<bool>,
}

/// A try that is about to begin.
pub(crate) struct TryRow<'a> {
    pub(crate) lease: &'a [u8],
    /// When another worker may try the message.
    pub(crate) due_at: DateTime<Utc>,
    /// How many tries there have been, including this one.
    pub(crate) tries: u32,
    /// Whether the message carries an answer link.
    pub(crate) linked: bool,
}

impl OutboxRow {
    /// The channel and the recipient of the message.
    pub(crate) fn route(&self) -> Route<'_> {
        Route { channel: &self.channel, recipient: &self.recipient }
    }
}

/// A report that a message came back.
#[derive(Clone, Debug)]
pub(crate) struct BounceRow {
    pub(crate) kind: BounceKind,
    pub(crate) reported_at: DateTime<Utc>,
    pub(crate) detail: Option<String>,
}

/// A channel with messages that are queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueuedChannel {
    pub(crate) channel: String,
    /// When the channel's next message is due.
    pub(crate) next_due: DateTime<Utc>,
}

impl DeliveryState {
    /// The state to show for a message with this row.
    pub(crate) fn shown(self, row: &OutboxRow) -> delivery::DeliveryState {
        match self {
            Self::Queued if row.lease.is_some() => delivery::DeliveryState::Sending,
            Self::Queued => delivery::DeliveryState::Queued,
            Self::Sent => delivery::DeliveryState::Sent,
            Self::Failed => delivery::DeliveryState::Failed,
            Self::Obsolete => delivery::DeliveryState::Obsolete,
            Self::Bounced => delivery::DeliveryState::Bounced,
        }
    }
}

/// Writes messages and bounces, in one transaction.
pub(crate) trait WriteOutbox {
    /// Locks a queued message for this transaction, which has locked the intent already; false if the message is leased, or
    /// another transaction has locked it. This does not wait: a worker locks the message first and the intent second, so waiting
    /// for the message could be a deadlock. A message that a worker has locked may be left to that worker: it waits for the
    /// intent, so it reads the question only after this transaction is done.
    fn take_outbox(&mut self, rid: i64) -> RowsResult<bool>;
    fn insert_outbox(&mut self, row: &OutboxRow) -> RowsResult<()>;
    fn lease_outbox(&mut self, rid: i64, begun: &TryRow<'_>) -> RowsResult<()>;
    /// Gives a message another try at `due_at`; without a `why` the earlier detail stays.
    fn requeue_outbox(&mut self, rid: i64, due_at: DateTime<Utc>, why: Option<&str>) -> RowsResult<()>;
    /// Ends the leases of vanished servers (on SQLite: all leases), and makes these messages due at `due_at`; returns how many
    /// messages.
    fn release_outbox(&mut self, due_at: DateTime<Utc>) -> RowsResult<u64>;
    /// Makes a message that has ended due, as if it had never been tried.
    fn revive_outbox(&mut self, rid: i64, now: DateTime<Utc>) -> RowsResult<()>;
    /// Sets the final state of a message. Without a `detail`, the earlier detail stays.
    fn finish_outbox(&mut self, rid: i64, state: DeliveryState, now: DateTime<Utc>, detail: Option<&str>) -> RowsResult<()>;
    /// Records a bounce of a message, in place of an earlier one.
    fn save_bounce(&mut self, outbox: i64, bounce: &BounceRow) -> RowsResult<()>;
}

/// Reads messages and bounces, inside a transaction that writes or outside.
pub(crate) trait ReadOutbox {
    /// The due messages of one channel, longest due first.
    fn due_deliveries(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>>;
    /// The messages of one channel that are due or wait for another try, longest due first.
    fn undelivered(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>>;
    /// The due messages of a channel, apart from the `keep` that have been due longest: the last due first, and only those
    /// before `before` in the channel's queue. Messages that are leased, or superseded by a newer one, are not counted.
    fn due_beyond(
        &mut self,
        channel: &str,
        now: DateTime<Utc>,
        keep: u32,
        before: LinePlace,
        limit: u32,
    ) -> RowsResult<Vec<OutboxRow>>;
    /// The other messages of the same attempt that wait for the same channel and are not leased.
    fn waiting_beside(&mut self, row: &OutboxRow) -> RowsResult<Vec<OutboxRow>>;
    /// Messages with their states, newest first.
    fn newest_deliveries(&mut self, limit: u32) -> RowsResult<Vec<(OutboxRow, DeliveryState)>>;
    /// Finds a message by its id. It looks through all messages: for development, where there are few.
    fn delivery_of(&mut self, id: DeliveryId) -> RowsResult<Option<(OutboxRow, DeliveryState)>>;
    /// Messages that have failed, newest first.
    fn failed_deliveries(&mut self, before: Option<DeliveryId>, limit: u32) -> RowsResult<Vec<OutboxRow>>;
    fn failed_delivery(&mut self, id: DeliveryId) -> RowsResult<Option<OutboxRow>>;
    /// Every channel that has queued messages, even if the server no longer has the channel; the one whose message
    /// is due first comes first.
    fn queued_channels(&mut self) -> RowsResult<Vec<QueuedChannel>>;
    /// How many messages are queued, and how many of them are leased.
    fn queued_deliveries(&mut self) -> RowsResult<(i64, i64)>;
    fn delivery(&mut self, rid: i64) -> RowsResult<Option<(OutboxRow, DeliveryState)>>;
    /// All messages about a suspension with their states, oldest first.
    fn deliveries(&mut self, suspension: i64) -> RowsResult<Vec<(OutboxRow, DeliveryState)>>;
    /// The bounce reported for a message.
    fn bounce(&mut self, outbox: i64) -> RowsResult<Option<BounceRow>>;
}
