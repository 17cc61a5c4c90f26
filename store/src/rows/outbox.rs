//! Messages, and what was reported of them.

use chrono::{DateTime, Utc};
use domain::base::ids::DeliveryId;
use domain::suspension::channel::Route;
use domain::suspension::delivery::{self, BounceKind};

use super::codes::DeliveryState;
use super::error::RowsResult;
use crate::sending::LinePlace;

/// Whether no message of a later attempt takes a message's place; one that failed (2) or was dropped (3) takes none.
pub(crate) const IS_NOT_REPLACED: &str = "NOT EXISTS (SELECT 1 FROM outbox newer WHERE newer.suspension = outbox.suspension AND \
     newer.channel = outbox.channel AND newer.recipient = outbox.recipient AND newer.attempt > outbox.attempt AND newer.state NOT IN (2, 3))";

/// A message that is queued.
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
    /// Its place among the messages about its suspension, from 1.
    pub(crate) sequence: u32,
    /// The other side's last word, or why the last try failed.
    pub(crate) detail: Option<String>,
    /// When it came to its end; while it is queued, when it was revived.
    pub(crate) settled_at: Option<DateTime<Utc>>,
    pub(crate) queued_at: DateTime<Utc>,
    /// Whether its newest try carried an answer link; none before the first, and of messages from before this was kept.
    pub(crate) linked: Option<bool>,
}

/// A try that begins.
pub(crate) struct TryRow<'a> {
    pub(crate) lease: &'a [u8],
    /// When another worker may try.
    pub(crate) due_at: DateTime<Utc>,
    /// How many there have been, with this one.
    pub(crate) tries: u32,
    /// Whether it carries an answer link.
    pub(crate) linked: bool,
}

impl OutboxRow {
    /// Where it goes.
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
    /// When its next message is due.
    pub(crate) next_due: DateTime<Utc>,
}

impl DeliveryState {
    /// The state of a message with this row.
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

/// Writes them, in one transaction.
pub(crate) trait WriteOutbox {
    /// Takes a queued message for this transaction, whose intent is taken already; false where somebody has it under way. A worker takes
    /// them the other way round, so waiting for it here would be waiting for each other; it looks at the question once this is done.
    fn take_outbox(&mut self, rid: i64) -> RowsResult<bool>;
    fn insert_outbox(&mut self, row: &OutboxRow) -> RowsResult<()>;
    fn lease_outbox(&mut self, rid: i64, begun: &TryRow<'_>) -> RowsResult<()>;
    /// Gives a message another try; without a `why` the one before stays.
    fn requeue_outbox(&mut self, rid: i64, due_at: DateTime<Utc>, why: Option<&str>) -> RowsResult<()>;
    /// Makes every leased message due at `due_at`, leased by nobody; returns how many.
    fn release_outbox(&mut self, due_at: DateTime<Utc>) -> RowsResult<u64>;
    /// Makes a message that has come to its end due, as if it had never been tried.
    fn revive_outbox(&mut self, rid: i64, now: DateTime<Utc>) -> RowsResult<()>;
    /// Ends a message; without a `detail` the one before stays.
    fn finish_outbox(&mut self, rid: i64, state: DeliveryState, now: DateTime<Utc>, detail: Option<&str>) -> RowsResult<()>;
    /// Keeps what was reported of a message, in place of what was reported before.
    fn save_bounce(&mut self, outbox: i64, bounce: &BounceRow) -> RowsResult<()>;
}

/// Reads them, inside a transaction that writes or outside.
pub(crate) trait ReadOutbox {
    /// Those of one channel, longest due first.
    fn due_deliveries(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>>;
    /// Those of one channel that are due, and those that wait for another try; longest due first.
    fn undelivered(&mut self, channel: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<OutboxRow>>;
    /// Of the messages due for a channel that nobody has in hand and no newer one replaces, those on top of `keep`, newest due first,
    /// and only what stands before a place in the line.
    fn due_beyond(
        &mut self,
        channel: &str,
        now: DateTime<Utc>,
        keep: u32,
        before: LinePlace,
        limit: u32,
    ) -> RowsResult<Vec<OutboxRow>>;
    /// The other messages of its attempt that wait for its channel and that nobody has in hand.
    fn waiting_beside(&mut self, row: &OutboxRow) -> RowsResult<Vec<OutboxRow>>;
    /// Messages with where they stand, newest first.
    fn newest_deliveries(&mut self, limit: u32) -> RowsResult<Vec<(OutboxRow, DeliveryState)>>;
    /// Looks through all messages: for development, where there are few.
    fn delivery_of(&mut self, id: DeliveryId) -> RowsResult<Option<(OutboxRow, DeliveryState)>>;
    /// Messages that have failed, newest first.
    fn failed_deliveries(&mut self, before: Option<DeliveryId>, limit: u32) -> RowsResult<Vec<OutboxRow>>;
    fn failed_delivery(&mut self, id: DeliveryId) -> RowsResult<Option<OutboxRow>>;
    /// Every channel that has a queue, also one the server has no more; by whose message is due first.
    fn queued_channels(&mut self) -> RowsResult<Vec<QueuedChannel>>;
    /// How many messages are queued, and how many of them are leased.
    fn queued_deliveries(&mut self) -> RowsResult<(i64, i64)>;
    fn delivery(&mut self, rid: i64) -> RowsResult<Option<(OutboxRow, DeliveryState)>>;
    /// All messages about a suspension with where they stand, oldest first.
    fn deliveries(&mut self, suspension: i64) -> RowsResult<Vec<(OutboxRow, DeliveryState)>>;
    /// What was reported of a message.
    fn bounce(&mut self, outbox: i64) -> RowsResult<Option<BounceRow>>;
}
