//! What a database must be able to do inside one transaction: small, synchronous, without policy.

use chrono::{DateTime, Utc};
use domain::base::ids::{DeliveryId, IntentId, KeyId, SuspensionId};
use domain::intent::Intent;
use domain::intent::body::IntentBody;
use domain::log::payload::Suspended;
use domain::log::{Hash, Sealed};
use domain::people::principal::Principal;
use domain::suspension::channel::Route;
use domain::suspension::delivery::BounceKind;
use domain::suspension::lease::Lease;
use domain::suspension::{Question, Suspension};
use domain::wire::KeyView;
use serde_json::{Map, Value};
use thiserror::Error;

use super::codes::{DeliveryState, TimerKind};
use super::hub::Notice;
use super::span::TraceContext;
use super::{Idempotency, IntentFilter, LinePlace, NewKey};

/// Why a row could not be read or written. The transaction is over.
#[derive(Debug, Error)]
pub(super) enum RowsError {
    #[error("the database refused")]
    Database(#[from] diesel::result::Error),
    /// A row is not what the schema promises.
    #[error("inconsistent row: {0}")]
    Inconsistent(&'static str),
    #[error("a row holds JSON that cannot be read")]
    Json(#[from] serde_json::Error),
    /// Time would decide, and may not at present.
    #[error("deadlines wait: {0}")]
    Held(&'static str),
}

impl RowsError {
    /// Whether one row is not what it should be, or is missing, and its neighbours may be read all the same.
    pub(super) fn is_unreadable(&self) -> bool {
        match self {
            Self::Inconsistent(_) | Self::Json(_) => true,
            Self::Database(error) => {
                matches!(error, diesel::result::Error::NotFound | diesel::result::Error::DeserializationError(_))
            }
            Self::Held(_) => false,
        }
    }
}

pub(super) type RowsResult<T> = Result<T, RowsError>;

/// Whether no message of a later attempt takes a message's place; one that failed (2) or was dropped (3) takes none.
pub(super) const IS_NOT_REPLACED: &str = "NOT EXISTS (SELECT 1 FROM outbox newer WHERE newer.suspension = outbox.suspension AND \
     newer.channel = outbox.channel AND newer.recipient = outbox.recipient AND newer.attempt > outbox.attempt AND newer.state NOT IN (2, 3))";

/// An intent's row: what deciding needs, and where its log ends.
#[derive(Clone, Debug)]
pub(super) struct IntentRow {
    pub(super) rid: i64,
    /// Without suspensions and leases: those are other rows.
    pub(super) intent: Intent,
    pub(super) open_suspension: Option<i64>,
    pub(super) newest_suspension: Option<i64>,
    pub(super) has_leases: bool,
    pub(super) last_event: i64,
    pub(super) last_sequence: u64,
    pub(super) last_hash: Option<Hash>,
}

/// A suspension's row, with the rows it hangs on.
#[derive(Clone, Debug)]
pub(super) struct SuspensionRow {
    pub(super) rid: i64,
    pub(super) intent: i64,
    /// The event that asked, which holds the question.
    pub(super) event: i64,
    pub(super) suspension: Suspension,
}

/// An event to append.
pub(super) struct NewEvent<'a> {
    pub(super) rid: i64,
    pub(super) intent: i64,
    pub(super) previous: Option<i64>,
    pub(super) event_type: &'a str,
    pub(super) created_at: DateTime<Utc>,
    pub(super) sealed: &'a Sealed,
}

/// An event's place in its log, without what it says.
pub(super) struct EventLink {
    pub(super) event_type: String,
    pub(super) created_at: DateTime<Utc>,
    pub(super) previous: Option<i64>,
}

/// A timer that is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimerRow {
    pub(super) due_at: DateTime<Utc>,
    pub(super) suspension: i64,
    pub(super) kind: TimerKind,
    pub(super) attempt: u32,
}

/// A message that is queued.
#[derive(Clone, Debug)]
pub(super) struct OutboxRow {
    pub(super) rid: i64,
    pub(super) id: DeliveryId,
    pub(super) suspension: i64,
    pub(super) attempt: u32,
    pub(super) channel: String,
    pub(super) recipient: String,
    pub(super) tries: u32,
    pub(super) due_at: DateTime<Utc>,
    pub(super) lease: Option<Vec<u8>>,
    /// Its place among the messages about its suspension, from 1.
    pub(super) sequence: u32,
    /// The other side's last word, or why the last try failed.
    pub(super) detail: Option<String>,
    /// When it came to its end; while it is queued, when it was revived.
    pub(super) settled_at: Option<DateTime<Utc>>,
    pub(super) queued_at: DateTime<Utc>,
    /// Whether its newest try carried an answer link; none before the first, and of messages from before this was kept.
    pub(super) linked: Option<bool>,
}

/// A try that begins.
pub(super) struct TryRow<'a> {
    pub(super) lease: &'a [u8],
    /// When another worker may try.
    pub(super) due_at: DateTime<Utc>,
    /// How many there have been, with this one.
    pub(super) tries: u32,
    /// Whether it carries an answer link.
    pub(super) linked: bool,
}

impl OutboxRow {
    /// Where it goes.
    pub(super) fn route(&self) -> Route<'_> {
        Route { channel: &self.channel, recipient: &self.recipient }
    }
}

/// A report that a message came back.
#[derive(Clone, Debug)]
pub(super) struct BounceRow {
    pub(super) kind: BounceKind,
    pub(super) reported_at: DateTime<Utc>,
    pub(super) detail: Option<String>,
}

/// A channel with messages that are queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueuedChannel {
    pub(super) channel: String,
    /// When its next message is due.
    pub(super) next_due: DateTime<Utc>,
}

/// An answer link's row.
pub(super) struct TokenRow {
    pub(super) rid: i64,
    pub(super) hash: Vec<u8>,
    pub(super) suspension: i64,
    pub(super) recipient: String,
    pub(super) created_at: DateTime<Utc>,
    /// The message it was in; absent of links from before this was kept.
    pub(super) delivery: Option<DeliveryId>,
}

/// What the server knows of its own presence.
#[derive(Clone, Copy, Debug)]
pub(super) struct PresenceRow {
    /// The last sign of life.
    pub(super) beat_at: DateTime<Utc>,
    /// Whether it waits after a restore.
    pub(super) restore: Restore,
    /// Answer links up to this row count no more.
    pub(super) tokens_void_to: i64,
    /// The absence being made good for. One that a restore interrupted goes on once that is released.
    pub(super) recovery: Option<Recovery>,
}

/// Where a server stands after its database was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restore {
    /// It was not restored, or has gone on since.
    Over,
    /// Deadlines and messages wait for the operator.
    Held { since: DateTime<Utc> },
    /// They were let go, and the server has not gone on yet.
    Released,
}

impl Restore {
    /// From the two columns it is kept in.
    pub(super) fn of(held_since: Option<DateTime<Utc>>, released: bool) -> Self {
        match held_since {
            Some(since) => Self::Held { since },
            None if released => Self::Released,
            None => Self::Over,
        }
    }

    /// Since when deadlines and messages wait.
    pub(super) fn held_since(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Held { since } => Some(since),
            Self::Over | Self::Released => None,
        }
    }
}

impl PresenceRow {
    /// That of a server which was last there at a time.
    pub(super) fn at(now: DateTime<Utc>) -> Self {
        Self { beat_at: now, restore: Restore::Over, tokens_void_to: 0, recovery: None }
    }
}

/// An absence being made good for, and how far that went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    pub(super) from: DateTime<Utc>,
    pub(super) until: DateTime<Utc>,
    /// Whether the absence ends a restore: then everybody is asked afresh.
    pub(super) restored: bool,
    /// The last suspension dealt with.
    pub(super) done_to: i64,
    /// The newest suspension there was when the absence was recorded; later ones lost nothing.
    pub(super) up_to: i64,
}

/// The tables whose row ids the writer assigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Intents,
    Events,
    Suspensions,
    Outbox,
    Tokens,
}

/// One transaction on one database.
pub(super) trait Rows {
    /// What reads in the same transaction.
    type Reads: ReadRows;

    /// Reads in the same transaction.
    fn reads(&mut self) -> &mut Self::Reads;
    /// The next row id of a table.
    fn next(&mut self, table: Table) -> RowsResult<i64>;
    /// Something to announce after the commit.
    fn notice(&mut self, notice: Notice);

    fn insert_intent(&mut self, row: &IntentRow, body: &IntentBody) -> RowsResult<()>;
    fn update_intent(&mut self, row: &IntentRow) -> RowsResult<()>;
    fn update_state(&mut self, intent: i64, state: &Map<String, Value>) -> RowsResult<()>;
    fn insert_event(&mut self, event: &NewEvent<'_>) -> RowsResult<()>;
    fn insert_suspension(&mut self, row: &SuspensionRow) -> RowsResult<()>;
    /// Ends a suspension that is open; false if it has already ended. The one place where that happens.
    fn end_suspension(&mut self, rid: i64, ended: &Suspension) -> RowsResult<bool>;
    /// Writes what may change while it is open, or after: `version`, `attempt`, `reached` and `refusals`.
    fn touch_suspension(&mut self, rid: i64, suspension: &Suspension) -> RowsResult<()>;
    /// Writes when people were last reminded on request.
    fn mark_reminded(&mut self, suspension: i64, at: DateTime<Utc>) -> RowsResult<()>;
    /// Writes a later deadline.
    fn move_deadline(&mut self, suspension: i64, expires_at: DateTime<Utc>) -> RowsResult<()>;
    /// Keeps the span that asked.
    fn insert_trace(&mut self, suspension: i64, context: TraceContext) -> RowsResult<()>;
    /// Takes a queued message for this transaction, whose intent is taken already; false where somebody has it under way. A worker takes
    /// them the other way round, so waiting for it here would be waiting for each other; it looks at the question once this is done.
    fn take_outbox(&mut self, rid: i64) -> RowsResult<bool>;
    /// Takes the span that asked, if one was kept.
    fn take_trace(&mut self, suspension: i64) -> RowsResult<Option<TraceContext>>;
    fn insert_timer(&mut self, timer: TimerRow) -> RowsResult<()>;
    fn delete_timer(&mut self, timer: TimerRow) -> RowsResult<()>;
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
    /// Keeps other servers, until the transaction ends, from deciding about the messages of one agent to one person; false if one does.
    fn take_pair(&mut self, pair: i64) -> RowsResult<bool>;
    /// Keeps when a message of one agent to one person left.
    fn insert_departure(&mut self, pair: i64, left_at: DateTime<Utc>, outbox: i64) -> RowsResult<()>;
    /// Forgets those before a time.
    fn forget_departures(&mut self, pair: i64, before: DateTime<Utc>) -> RowsResult<()>;
    /// Gives a message that keeps its distance a place of its own; those of this pair that count no more are forgotten.
    fn insert_place(&mut self, pair: i64, leaves_at: DateTime<Utc>, outbox: i64, now: DateTime<Utc>) -> RowsResult<()>;
    fn insert_token(&mut self, token: &TokenRow) -> RowsResult<()>;
    fn save_lease(&mut self, intent: i64, lease: &Lease) -> RowsResult<()>;
    fn insert_suspension_key(&mut self, key: Idempotency, suspension: i64) -> RowsResult<()>;
    fn insert_idempotent(&mut self, key: Idempotency, now: DateTime<Utc>, outcome: &str) -> RowsResult<()>;
    /// Deletes at most `limit` idempotency records of the days before `day`; returns how many.
    fn forget_idempotent_before(&mut self, day: i32, limit: u32) -> RowsResult<u64>;
    /// Counts bytes that were written for an agent on a day.
    fn add_agent_bytes(&mut self, agent: &str, day: i32, bytes: i64) -> RowsResult<()>;
    /// Deletes what was counted on the days before `day`.
    fn forget_agent_bytes_before(&mut self, day: i32) -> RowsResult<()>;
    fn insert_key(&mut self, key: &NewKey, now: DateTime<Utc>) -> RowsResult<()>;
    fn revoke_key(&mut self, id: KeyId, now: DateTime<Utc>) -> RowsResult<bool>;
    fn insert_secret(&mut self, name: &str, value: &[u8; 32]) -> RowsResult<()>;
    fn save_presence(&mut self, presence: &PresenceRow) -> RowsResult<()>;
}

/// What can be read, inside a transaction that writes or outside.
pub(super) trait ReadRows {
    /// Reads the time again where a database other servers share has the say: this transaction does not write, so nothing else did.
    fn look_at_the_clock(&mut self) -> RowsResult<()> {
        Ok(())
    }
    fn intent(&mut self, id: IntentId) -> RowsResult<Option<IntentRow>>;
    fn intent_at(&mut self, rid: i64) -> RowsResult<IntentRow>;
    fn body(&mut self, intent: i64) -> RowsResult<IntentBody>;
    /// The title alone: a state may be large.
    fn title(&mut self, intent: i64) -> RowsResult<String>;
    /// Newest first; `creator` limits to one agent's own.
    fn intents(&mut self, creator: Option<&str>, filter: IntentFilter) -> RowsResult<Vec<IntentRow>>;
    fn event_link(&mut self, rid: i64) -> RowsResult<EventLink>;
    fn event(&mut self, rid: i64) -> RowsResult<Sealed>;
    fn suspension(&mut self, id: SuspensionId) -> RowsResult<Option<SuspensionRow>>;
    fn suspension_at(&mut self, rid: i64) -> RowsResult<SuspensionRow>;
    /// Newest first; `asker` limits to one agent's own.
    fn suspensions(&mut self, asker: Option<&str>, open: bool, before: Option<i64>, limit: u32)
    -> RowsResult<Vec<SuspensionRow>>;
    /// When questions of an intent ended after a time without an answer although people were asked, newest first.
    fn unanswered(&mut self, intent: i64, since: DateTime<Utc>, limit: u32) -> RowsResult<Vec<DateTime<Utc>>>;
    /// When messages of one agent to one person are to leave that keep their distance, after a time, the next one first.
    fn places(&mut self, pair: i64, after: DateTime<Utc>, limit: usize) -> RowsResult<Vec<DateTime<Utc>>>;
    /// When messages of one agent to one person left, after a time and not after another, newest first.
    fn departures(
        &mut self,
        pair: i64,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
        limit: usize,
    ) -> RowsResult<Vec<DateTime<Utc>>>;
    /// The leases of an intent that were not given back.
    fn leases(&mut self, intent: i64) -> RowsResult<Vec<Lease>>;
    fn due_timers(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<TimerRow>>;
    /// Whether a suspension has this timer, at its time or, put off, at another.
    fn has_timer(&mut self, timer: TimerRow) -> RowsResult<bool>;
    fn next_timer(&mut self) -> RowsResult<Option<DateTime<Utc>>>;
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
    /// Whether no other server lives on the same database.
    fn is_alone(&mut self) -> RowsResult<bool>;
    /// How many suspensions are open: those [`ReadRows::suspensions`] lists as open.
    fn open_suspensions(&mut self) -> RowsResult<i64>;
    /// How many messages are queued, and how many of them are leased.
    fn queued_deliveries(&mut self) -> RowsResult<(i64, i64)>;
    fn delivery(&mut self, rid: i64) -> RowsResult<Option<(OutboxRow, DeliveryState)>>;
    /// All messages about a suspension with where they stand, oldest first.
    fn deliveries(&mut self, suspension: i64) -> RowsResult<Vec<(OutboxRow, DeliveryState)>>;
    /// What was reported of a message.
    fn bounce(&mut self, outbox: i64) -> RowsResult<Option<BounceRow>>;
    fn token(&mut self, rid: i64) -> RowsResult<Option<TokenRow>>;
    /// The suspension a suspend with this key made, and the hash of its body.
    fn suspension_key(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<(Vec<u8>, i64)>>;
    /// The outcome kept for a key, and the hash of its body.
    fn idempotent(&mut self, key_hash: &[u8; 32], now: DateTime<Utc>) -> RowsResult<Option<(Vec<u8>, String)>>;
    /// How many bytes were written for an agent on a day.
    fn agent_bytes(&mut self, agent: &str, day: i32) -> RowsResult<u64>;
    fn principal(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<Principal>>;
    fn key(&mut self, id: KeyId) -> RowsResult<Option<KeyView>>;
    fn keys(&mut self) -> RowsResult<Vec<KeyView>>;
    fn secret(&mut self, name: &str) -> RowsResult<Option<Vec<u8>>>;
    /// What the server knows of its own presence; absent before its first start.
    fn presence(&mut self) -> RowsResult<Option<PresenceRow>>;
    /// When the newest event happened.
    fn newest_event_at(&mut self) -> RowsResult<Option<DateTime<Utc>>>;
    /// The next open suspensions after a row and up to another, in order: all, or those with a fallback other than `fail`.
    fn open_in(&mut self, after: i64, up_to: i64, with_fallback: bool, limit: u32) -> RowsResult<Vec<i64>>;
    /// The row of the newest suspension; 0 if there is none.
    fn newest_suspension(&mut self) -> RowsResult<i64>;
    /// The row of the newest answer link; 0 if there is none.
    fn newest_token(&mut self) -> RowsResult<i64>;

    /// The question a suspension asks, read from the event that asked it.
    fn question(&mut self, row: &SuspensionRow) -> RowsResult<Question> {
        #[derive(serde::Deserialize)]
        struct Asked {
            payload: Suspended,
        }
        let asked: Asked = serde_json::from_slice(&self.event(row.event)?.bytes)?;
        Ok(asked.payload.into_question())
    }
}
