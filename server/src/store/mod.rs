//! Where intents live, with their event logs and the work those events cause.
//!
//! [`Store`] is what the rest of the server sees: about a dozen units of work. Each database is itself behind it: a private,
//! synchronous `rows::Rows`, over which the transaction bodies in `unit` and the reads in `reads` are written once.

pub mod allowance;
pub mod bounce;
mod codes;
mod database;
pub mod fact;
pub mod hub;
pub mod link;
pub mod mailbox;
pub mod moving;
mod outside;
pub mod postgres;
mod reads;
mod rows;
pub mod span;
pub mod sqlite;
pub mod story;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::field::FieldError;
use domain::base::ids::{DeliveryId, IntentId, KeyId, SuspensionId};
use domain::intent::body::IntentBody;
use domain::intent::command::Command;
use domain::intent::status::Status;
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::suspension::delivery::BounceKind;
use domain::suspension::lease::Lease;
use domain::suspension::{Question, Suspension};
use domain::wire::{
    DeliveryPage, DeliveryView, IntentPage, IntentView, KeyView, RespondResponse, SuspensionPage, SuspensionRecord,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::bounce::BounceToken;
pub use self::database::{Database, Gateway, Inspection, Schema, open};
use self::hub::Hub;
use self::link::LinkToken;
use self::mailbox::MailboxView;
pub use self::outside::Outside;
use self::span::TraceContext;
pub(crate) use self::unit::sweep::QUESTIONS_PER_LOOK;
use crate::clock_watch::ClockWatch;

/// The mark of a database a server in production has served. It lies among the server's own secrets, whose values are random: it needs no
/// table of its own, is made once, and goes wherever the data is moved.
pub const PRODUCTION_MARK: &str = "served-in-production";

/// Why a unit of work gave no result.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The domain refused; state is unchanged, only the refusal's own events are committed.
    #[error("{0}")]
    Rejected(Rejection),
    /// The outcome is unknown, or the queue is full. Sending the same command again is safe where it can be recognised.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// Time would decide, and may not at present; nothing was written. Sending the same command again is safe.
    #[error("deadlines wait: {0}")]
    Held(&'static str),
    /// The database or a row in it is not what it must be.
    #[error("the store failed")]
    Failed(#[source] anyhow::Error),
}

impl From<Rejection> for StoreError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

/// What `If-Match` said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing, and nothing was needed.
    None,
    /// Nothing, or no version, where a version was needed.
    Missing,
    /// This version.
    Version(u32),
}

/// What makes a repeat recognisable: hashes of (principal, method, route, key) and of the canonical body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idempotency {
    pub key_hash: [u8; 32],
    pub body_hash: [u8; 32],
}

/// One write by somebody, with everything that is checked before it is decided.
#[derive(Clone, Debug)]
pub struct Request {
    pub principal: Principal,
    pub action: Action,
    pub target: Target,
    pub precondition: Precondition,
    pub idempotency: Option<Idempotency>,
    /// The command, or the fields that break rules: those are told only to who may act.
    pub command: Result<Command, Vec<FieldError>>,
    /// The caller's span, if it named one.
    pub trace_parent: Option<TraceContext>,
}

/// What a write is aimed at.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    Intent(IntentId),
    /// The intent of this suspension.
    Suspension(SuspensionId),
}

/// A new intent, with everything that is checked before it exists.
#[derive(Clone, Debug)]
pub struct CreateIntent {
    pub principal: Principal,
    pub idempotency: Option<Idempotency>,
    pub intent: Result<NewIntent, Vec<FieldError>>,
}

/// A new intent.
#[derive(Clone, Debug)]
pub struct NewIntent {
    pub id: IntentId,
    pub status: Status,
    pub body: IntentBody,
}

/// What a write did, as the caller gets to see it; stored for replays.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Intent(Box<IntentView>),
    Suspension {
        record: Box<SuspensionRecord>,
        /// For `ETag`: the intent's where an intent was written, else the suspension's.
        version: u32,
    },
    Responded {
        response: Box<RespondResponse>,
        /// The intent's, for `ETag`.
        version: u32,
    },
    /// The event as served.
    Event(String),
    Lease(Box<Lease>),
}

/// Which events of an intent to read, newest first.
#[derive(Clone, Debug)]
pub struct EventFilter {
    pub limit: u32,
    pub offset: u32,
    pub event_type: Option<String>,
    pub since: Option<DateTime<Utc>>,
    /// Everything, or only what the OpenIntent client knows.
    pub all: bool,
}

/// Which intents to read, newest first.
#[derive(Clone, Copy, Debug)]
pub struct IntentFilter {
    pub limit: u32,
    pub offset: u32,
    /// Only those with this status.
    pub status: Option<Status>,
    /// Only those before this row.
    pub before: Option<i64>,
}

/// Which suspensions to read, newest first.
#[derive(Clone, Debug)]
pub struct SuspensionFilter {
    pub limit: u32,
    /// Open ones only.
    pub open: bool,
    /// Only those before this row.
    pub before: Option<i64>,
    /// Only the one asked under the idempotency key with this hash.
    pub asked_under: Option<[u8; 32]>,
}

/// Which messages about one question to read, in the order of `sequence`.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryFilter {
    pub limit: u32,
    /// Only those whose `sequence` is larger.
    pub after: i64,
}

/// Which failed messages to read, newest first.
#[derive(Clone, Copy, Debug)]
pub struct FailedFilter {
    pub limit: u32,
    /// Only those before this one.
    pub before: Option<DeliveryId>,
}

/// What the worker can take in one turn, channel by channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The channels there are; what is queued for any other one has failed, unless another server has it.
    pub lanes: Vec<Lane>,
    /// How many messages all lanes that share their room may take together.
    pub shared_room: u32,
}

/// One channel's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    pub channel: String,
    pub gate: Gate,
    /// Where looking through what is too much for the channel goes on; absent at the newest message.
    pub line: Option<LinePlace>,
}

/// A place in the line of messages that are due for a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinePlace {
    pub due_at: DateTime<Utc>,
    pub rid: i64,
}

/// What becomes of a channel's messages that are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// So many are leased.
    Room(u32),
    /// So many are leased, as far as the shared room goes.
    SharedRoom(u32),
    /// The channel takes nothing for so long; they wait. No point in time: whoever says so may have another clock than the store.
    Paused(TimeDelta),
    /// The channel takes nothing more; they have failed, for this reason.
    Closed(String),
}

impl Turn {
    /// A turn in which one channel takes as much as it gets.
    pub fn of(channel: &str) -> Self {
        let lane = Lane { channel: channel.to_owned(), gate: Gate::Room(u32::MAX), line: None };
        Self { lanes: vec![lane], shared_room: 0 }
    }

    /// What becomes of a channel's messages, if there is such a channel.
    pub(crate) fn lane(&self, channel: &str) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.channel == channel)
    }
}

/// A message to send, leased to one worker: only the holder of `lease` may complete it.
#[derive(Clone)]
pub struct LeasedDelivery {
    pub rid: i64,
    pub lease: [u8; 16],
    pub id: DeliveryId,
    pub channel: String,
    pub recipient: String,
    /// The attempt it was queued for, from 1.
    pub attempt: u32,
    /// The first message about this question the same recipient's mail server took, when this is a later one.
    pub first: Option<DeliveryId>,
    /// Who else was told by earlier attempts.
    pub asked_before: Vec<String>,
    /// Whether the same recipient's mail server took a message of this very attempt before.
    pub repeated: bool,
    pub tries: u32,
    /// Its place among the messages about the question, from 1.
    pub sequence: u32,
    /// What its return is known by.
    pub bounce_token: BounceToken,
    pub queued_at: DateTime<Utc>,
    /// The answer link's token, known only here and in the message.
    pub token: LinkToken,
    pub intent_title: String,
    pub agent: String,
    pub suspension: Suspension,
    pub question: Question,
    pub now: DateTime<Utc>,
}

/// What became of a leased message.
#[derive(Clone, Debug)]
pub enum DeliveryResult {
    /// Accepted, with the peer's last word.
    Sent(String),
    /// Worth another try, not before `after` if the peer said so.
    Retry { reason: String, after: Option<TimeDelta> },
    /// Never going to arrive.
    Failed(String),
}

/// A report that a message came back.
#[derive(Clone, Debug)]
pub struct BounceReport {
    /// Who reports it.
    pub principal: Principal,
    pub token: BounceToken,
    pub kind: BounceKind,
    pub detail: Option<String>,
}

/// What the holder of an answer link may see.
#[derive(Clone, Debug)]
pub struct LinkView {
    pub recipient: String,
    /// The message the link was in, if that was kept.
    pub delivery: Option<DeliveryId>,
    pub intent_title: String,
    pub agent: String,
    pub suspension: Suspension,
    pub question: Question,
    /// How many messages there were about it; counted once nobody could be reached.
    pub messages: usize,
    /// When it was looked at, by the clock that decides whether an answer is in time.
    pub now: DateTime<Utc>,
    /// Whether it can be answered, or could be as soon as deadlines wait no more: a deadline that may not come has ended nothing.
    pub is_open: bool,
}

/// A key to be kept: everything but its secret, of which only the hash goes in.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub subject: String,
    pub owner: String,
    /// The channels a gateway is tied to.
    pub tied_to: Option<Vec<String>>,
    pub hash: [u8; 32],
}

/// The result of one unit of work.
pub type Unit<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Counts a turn of the deadlines once it is on the disk: one that did not get there is none.
fn noted(watch: Arc<ClockWatch>, fired: Unit<'_, Fired>) -> Unit<'_, Fired> {
    async move {
        let fired = fired.await?;
        if let Some(began) = fired.turned {
            watch.turned(began);
        }
        Ok(fired)
    }
    .boxed()
}

/// Where intents live, with their event logs and the work those events cause.
///
/// Every write is one transaction that loads, asks [`domain::intent::decide::decide`], appends the events, and queues the timers and
/// deliveries they imply. The future resolves after the commit is durable, so a 200 is a promise. Dropping the future does not
/// cancel the write; it only stops you hearing of it. Commands on one intent are serialized.
pub trait Store: Send + Sync + 'static {
    /// Applies a command to one intent: commits everything it caused, or nothing but the refusal's own events.
    fn execute(&self, request: Request) -> Unit<'_, Outcome>;
    /// Begins an intent.
    fn create(&self, request: CreateIntent) -> Unit<'_, Outcome>;
    /// Reads an intent.
    fn intent(&self, principal: Principal, id: IntentId) -> Unit<'_, IntentView>;
    /// Lists the intents the principal may read, newest first.
    fn intents(&self, principal: Principal, filter: IntentFilter) -> Unit<'_, IntentPage>;
    /// Reads events as served.
    fn events(&self, principal: Principal, id: IntentId, filter: EventFilter) -> Unit<'_, Vec<String>>;
    /// Reads the leases of an intent.
    fn leases(&self, principal: Principal, id: IntentId) -> Unit<'_, Vec<Lease>>;
    /// Reads a suspension.
    fn suspension(&self, principal: Principal, id: SuspensionId) -> Unit<'_, SuspensionRecord>;
    /// Lists the suspensions the principal may read.
    fn suspensions(&self, principal: Principal, filter: SuspensionFilter) -> Unit<'_, SuspensionPage>;
    /// Lists the messages about a suspension, in their order.
    fn deliveries(&self, principal: Principal, id: SuspensionId, filter: DeliveryFilter) -> Unit<'_, DeliveryPage>;
    /// Opens an answer link; `None` for a token nobody minted.
    fn link(&self, token: LinkToken) -> Unit<'_, Option<LinkView>>;
    /// Reads at most `limit` questions that wait and at most `limit` messages, newest first; for the mailbox of development mode, whatever
    /// they are about.
    fn mailbox(&self, limit: u32) -> Unit<'_, MailboxView>;
    /// Mints one more link for a message that has gone out, and reads what the message says; its lease counts for nothing. For the mailbox
    /// of development mode: `None` for a message that has not gone out, on a database that was served in production, and while links wait.
    fn open_mail(&self, id: DeliveryId) -> Unit<'_, Option<LeasedDelivery>>;
    /// Fires deadlines that are due, a bounded batch at a time; returns how many rows it dealt with and when the next one is due.
    fn fire_deadlines(&self) -> Unit<'_, Fired>;
    /// Leases messages that are due, as many as each channel has room for, minting a token for each; drops those whose question ended
    /// meanwhile.
    fn lease_deliveries(&self, turn: Turn) -> Unit<'_, Leased>;
    /// Records what became of a leased message; a lease that was lost changes nothing and returns false.
    fn complete_delivery(&self, rid: i64, lease: [u8; 16], result: DeliveryResult) -> Unit<'_, bool>;
    /// Records that a message came back, and what follows from it; `NotFound` for a token nobody made.
    fn report_bounce(&self, report: BounceReport) -> Unit<'_, DeliveryView>;
    /// Lists messages that have failed, over all questions.
    fn failed_deliveries(&self, filter: FailedFilter) -> Unit<'_, DeliveryPage>;
    /// Sends a message again that has failed, and records who asked for it; `NotFound` if none has this id.
    fn redrive(&self, principal: Principal, idempotency: Option<Idempotency>, id: DeliveryId) -> Unit<'_, DeliveryView>;
    /// Makes messages due that a server leased which is gone; only for a server that starts and knows itself to be alone.
    fn release_deliveries(&self) -> Unit<'_, u64>;
    /// Finds the principal of a key by the hash of its secret; revoked keys are not found.
    fn principal(&self, key_hash: [u8; 32]) -> Unit<'_, Option<Principal>>;
    /// Keeps a new key.
    fn create_key(&self, key: NewKey) -> Unit<'_, KeyView>;
    /// Lists keys, oldest first.
    fn keys(&self) -> Unit<'_, Vec<KeyView>>;
    /// Stops a key from counting; `NotFound` if there is none.
    fn revoke_key(&self, id: KeyId) -> Unit<'_, KeyView>;
    /// From now on the deadline loop runs: that it does not turn for more than a minute is an absence of the server.
    fn attend(&self);
    /// Makes good for an absence of the server, a bounded step at a time: first it is recorded. A server that starts takes one step; the
    /// rest is the deadline loop's, which fires nothing before.
    fn recover(&self) -> Unit<'_, Recovered>;
    /// Leaves a last sign of life; for a server that stops.
    fn depart(&self) -> Unit<'_, ()>;
    /// Kills every answer link, and holds deadlines and messages until they are released; for a database that was restored.
    fn hold_after_restore(&self) -> Unit<'_, ()>;
    /// Lets go what waits after a restore, and says whether anything did; works beside a running server.
    fn release(&self) -> Unit<'_, bool>;
    /// Why nothing that time decides happens at present.
    fn hold(&self) -> Unit<'_, Option<Hold>>;
    /// Reads a secret of the server's own, made at first use and kept.
    fn secret(&self, name: &'static str) -> Unit<'_, [u8; 32]>;
    /// Whether a server in production has served this database, see [`PRODUCTION_MARK`].
    fn was_in_production(&self) -> Unit<'_, bool>;
    /// Forgets what was kept for a while, a bounded batch at a time: idempotency records older than 24 hours. Returns how many.
    fn forget_expired(&self) -> Unit<'_, u64>;
    /// Looks at a page of the open questions after a row, and gives those a timer back that have lost it.
    fn sweep_timers(&self, after: i64) -> Unit<'_, Swept>;
    /// What stands open right now, in one snapshot.
    fn standing(&self) -> Unit<'_, Standing>;
    /// Proves that a write can be committed.
    fn probe(&self) -> Unit<'_, ()>;
    /// Where commits are announced.
    fn hub(&self) -> &Hub;
    /// Writes what has queued, then nothing more, and lets go of the database.
    fn close(&self) -> BoxFuture<'_, ()>;
    /// Resolves when nothing can be written any more.
    fn closed(&self) -> BoxFuture<'_, ()>;
}

/// What stands open, read from the rows the lists are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Questions that wait for an answer.
    pub questions_open: i64,
    /// Messages that wait for their turn.
    pub deliveries_queued: i64,
    /// Messages under way.
    pub deliveries_leased: i64,
    /// When the earliest deadline is due.
    pub next_deadline: Option<DateTime<Utc>>,
    /// When the earliest message is due.
    pub next_delivery: Option<DateTime<Utc>>,
}

/// Why nothing that time decides happens at present: no deadline, no attempt, no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The wall clock jumped ahead, and has not been steady for long enough since.
    Clock,
    /// The database was restored, and its operator has not released it.
    Restore { since: DateTime<Utc> },
    /// Open questions get back the time an absence took.
    Recovery,
}

impl Hold {
    /// In words.
    pub fn why(self) -> &'static str {
        match self {
            Self::Clock => "the clock jumped ahead and must be steady for 30 seconds first",
            Self::Restore { .. } => "the database was restored; `placet release` lets them go on",
            Self::Recovery => "open questions get back the time the server was away or the clock jumped over",
        }
    }
}

/// What making good for an absence did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Whether nothing is left to do.
    pub done: bool,
    /// Since when everything waits after a restore, if it does.
    pub held_since: Option<DateTime<Utc>>,
}

/// What firing deadlines did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Timer rows dealt with.
    pub rows: usize,
    /// When the next one is due.
    pub next_due: Option<DateTime<Utc>>,
    /// When it began, since boot, if the loop did its work in it: nothing was held, and no absence goes unnoticed.
    pub turned: Option<Duration>,
}

/// What a sweep over a page of open questions did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Timers that were missing, and are there again.
    pub mended: u64,
    /// Questions that could not be looked at or mended.
    pub left_out: u64,
    /// Where the next page begins; absent at the end.
    pub next: Option<i64>,
}

/// What leasing deliveries did.
pub struct Leased {
    /// Messages to send.
    pub deliveries: Vec<LeasedDelivery>,
    /// Rows dealt with without a try: their question had ended, or their channel takes nothing.
    pub untried: usize,
    /// How many messages were given up because more than an endpoint has room for wait for it, by its channel.
    pub turned_away: Vec<(String, usize)>,
    /// For each channel that was looked through beyond what it has room for: where the next turn goes on.
    pub lines: Vec<(String, Option<LinePlace>)>,
    /// When the next one is due for which there is room.
    pub next_due: Option<DateTime<Utc>>,
}
