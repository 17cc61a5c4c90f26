//! The one store: its units of work.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::base::ids::{
    CoordinatorId, DeliveryId, HoldId, IntentId, KeyId, PlanId, PortfolioId, ReceiptId, SubscriptionId, SuspensionId, TaskId,
};
use domain::intent::command::Suspend;
use domain::intent::receipt::{Standing as ReceiptStanding, Use};
use domain::people::event::LogExported;
use domain::people::hold::{Hold as LegalHold, HoldScope};
use domain::people::principal::Principal;
use domain::portfolio::membership::Join;
use domain::portfolio::{PortfolioStatus, PortfolioUpdate};
use domain::suspension::lease::Lease;
use domain::wire::{
    AclView, ChainView, ConsistencyView, CoordinatorView, DeliveryPage, DeliveryView, EventView, GraphView, IntentPage,
    IntentView, KeyView, LogCheckpointView, MerkleProofView, PlanView, PortfolioView, SubscriptionView, SuspensionPage,
    SuspensionRecord, TaskView, WholePortfolioView,
};
use futures_util::future::BoxFuture;
use proof::key::SigningKey;
use proof::succession::Succession;
use proof::tree::NodeHash;
use proof::witness::{Cosignature, WitnessError, WitnessKey};
use uuid::Uuid;

use crate::error::{Unit, Wanted};
use crate::export::{ExportFilter, ExportPage};
use crate::filter::{
    CheckpointFilter, DeliveryFilter, EventFilter, FailedFilter, IntentFilter, PortfolioFilter, ServerEventFilter,
    SubscriptionFilter, SuspensionFilter, TaskFilter,
};
use crate::graph::{Relation, Relatives};
use crate::hub::Hub;
use crate::link::{LinkToken, LinkView};
use crate::mailbox::MailboxView;
use crate::posting::LeasedPosts;
use crate::proofs::CheckpointId;
use crate::receipts::ProvedReceipt;
use crate::request::{CreateIntent, NewKey, NewPortfolio, NewSubscription, Outcome, Redrive, Repeatable, Request};
use crate::rows::{CheckpointRow, LogKeyRow};
use crate::scrub::{Scrub, Scrubbed};
use crate::sending::{BounceReport, DeliveryResult, Leased, LeasedDelivery, Turn};
use crate::standing::{Fired, Hold, Recovered, Standing, Swept};
use crate::stream::{StreamCursor, StreamOf, Streamed};
use crate::tree::ForWitness;
use crate::units::redact::Redacted;
use crate::units::retain::Retained;
use crate::work::WorkView;

/// Where intents live, with their event logs and the work those events cause.
///
/// A command on an intent is one transaction that loads the intent, asks [`domain::intent::decide::decide`], appends the events,
/// and queues the timers and deliveries they imply. The future of a write resolves after its commit is durable, so a client that
/// gets a 200 can rely on the write. If the future is dropped, the write goes on, and the caller only does not learn of its
/// result. Commands on one intent are serialized.
pub trait Store:
    crate::Alerts
    + crate::Audits
    + crate::Broadcasts
    + crate::Errands
    + crate::Groups
    + crate::Inboxes
    + crate::Logins
    + crate::OpenId
    + crate::Passkeys
    + crate::Personal
    + crate::Pushes
    + crate::Stops
    + crate::Wakes
    + Send
    + Sync
    + 'static
{
    /// Applies a command to one intent: commits everything it caused, or, if it is refused, only the events that record the
    /// refusal.
    fn execute(&self, request: Request) -> Unit<'_, Outcome>;
    /// Creates an intent.
    fn create(&self, request: CreateIntent) -> Unit<'_, Outcome>;
    /// Reads an intent.
    fn intent(&self, principal: Principal, id: IntentId) -> Unit<'_, IntentView>;
    /// Lists the intents the principal may read, newest first.
    fn intents(&self, principal: Principal, filter: Wanted<IntentFilter>) -> Unit<'_, IntentPage>;
    /// Reads events as served.
    fn events(&self, principal: Principal, id: IntentId, filter: Wanted<EventFilter>) -> Unit<'_, Vec<String>>;
    /// Reads the newest events of these types, at most `limit`, oldest first; refused if the log is too long to be walked.
    fn records(
        &self,
        principal: Principal,
        id: IntentId,
        types: &'static [&'static str],
        limit: usize,
    ) -> Unit<'_, Vec<EventView>>;
    /// Reads the events that a stream carries behind a place, a bounded number at a time; without a place, finds the place at the
    /// end.
    fn stream(&self, principal: Principal, of: StreamOf, after: Wanted<Option<StreamCursor>>) -> Unit<'_, Streamed>;
    /// Sorts new events by the streams that carry them, a bounded number at a time, and wakes these streams; returns whether
    /// there are more events.
    fn sort_published(&self) -> Unit<'_, bool>;
    /// Reads the leases of an intent.
    fn leases(&self, principal: Principal, id: IntentId) -> Unit<'_, Vec<Lease>>;
    /// Reads the access control list of an intent.
    fn acl(&self, principal: Principal, id: IntentId) -> Unit<'_, AclView>;
    /// Lists the intents that are related to an intent in one way.
    fn relatives(&self, principal: Principal, id: IntentId, relation: Relation) -> Unit<'_, Relatives>;
    /// Reads an intent with everything that it needs.
    fn graph(&self, principal: Principal, id: IntentId) -> Unit<'_, GraphView>;
    /// Reads a task.
    fn task(&self, principal: Principal, id: TaskId) -> Unit<'_, TaskView>;
    /// Lists the tasks of an intent, oldest first.
    fn tasks(&self, principal: Principal, id: IntentId, filter: Wanted<TaskFilter>) -> Unit<'_, Vec<TaskView>>;
    /// Reads a plan.
    fn plan(&self, principal: Principal, id: PlanId) -> Unit<'_, PlanView>;
    /// Lists the plans of an intent, oldest first.
    fn plans(&self, principal: Principal, id: IntentId) -> Unit<'_, Vec<PlanView>>;
    /// Reads the lease of a coordinator.
    fn coordinator(&self, principal: Principal, id: CoordinatorId) -> Unit<'_, CoordinatorView>;
    /// Lists the newest leases of coordinators of an intent, oldest first.
    fn coordinators(&self, principal: Principal, id: IntentId) -> Unit<'_, Vec<CoordinatorView>>;
    /// Creates a portfolio.
    fn create_portfolio(&self, principal: Principal, write: Repeatable<NewPortfolio>) -> Unit<'_, Outcome>;
    /// Changes the words, data or rules of a portfolio.
    fn update_portfolio(&self, principal: Principal, id: PortfolioId, write: Repeatable<PortfolioUpdate>) -> Unit<'_, Outcome>;
    /// Changes the status of a portfolio.
    fn set_portfolio_status(
        &self,
        principal: Principal,
        id: PortfolioId,
        write: Repeatable<PortfolioStatus>,
    ) -> Unit<'_, Outcome>;
    /// Puts an intent into a portfolio, or changes its place there.
    fn add_to_portfolio(&self, principal: Principal, id: PortfolioId, write: Repeatable<(IntentId, Join)>) -> Unit<'_, Outcome>;
    /// Reads a portfolio with its intents, from a place in their list on.
    fn portfolio(&self, principal: Principal, id: PortfolioId, offset: Wanted<u32>) -> Unit<'_, WholePortfolioView>;
    /// Lists the portfolios the principal may read, newest first.
    fn portfolios(&self, principal: Principal, filter: Wanted<PortfolioFilter>) -> Unit<'_, Vec<PortfolioView>>;
    /// Reads the own log of a portfolio, oldest first, each event as it is served.
    fn portfolio_events(&self, principal: Principal, id: PortfolioId) -> Unit<'_, Vec<String>>;
    /// Creates a subscription, by which an endpoint is told of the events of an intent.
    fn subscribe(&self, principal: Principal, write: Repeatable<NewSubscription>) -> Unit<'_, Outcome>;
    /// Ends a subscription; `NotFound` if there is none with this id.
    fn unsubscribe(&self, principal: Principal, id: Wanted<SubscriptionId>) -> Unit<'_, ()>;
    /// Lists the subscriptions the principal may read, newest first.
    fn subscriptions(&self, principal: Principal, filter: Wanted<SubscriptionFilter>) -> Unit<'_, Vec<SubscriptionView>>;
    /// Leases messages to the endpoints of subscriptions, at most `room`, one for each subscription.
    /// `under_way` names the creator of each message that is under way already.
    fn lease_posts(&self, room: u32, under_way: Vec<String>) -> Unit<'_, LeasedPosts>;
    /// Records the result of a message about the event `sequence`. If the lease is no longer valid, changes nothing and returns
    /// false.
    fn complete_post(&self, rid: i64, lease: [u8; 16], sequence: u64, result: DeliveryResult) -> Unit<'_, bool>;
    /// Reads a suspension.
    fn suspension(&self, principal: Principal, id: SuspensionId) -> Unit<'_, SuspensionRecord>;
    /// Reads a question as it would be asked now: with the people who would be told. Nothing is kept.
    fn would_ask(&self, principal: Principal, suspend: Wanted<Suspend>) -> Unit<'_, Suspend>;
    /// Lists the suspensions the principal may read.
    fn suspensions(&self, principal: Principal, filter: Wanted<SuspensionFilter>) -> Unit<'_, SuspensionPage>;
    /// Lists the messages about a suspension, in their order.
    fn deliveries(&self, principal: Principal, id: SuspensionId, filter: Wanted<DeliveryFilter>) -> Unit<'_, DeliveryPage>;
    /// Opens an answer link; `None` for a token that was never minted, or that became void when the database was restored.
    fn link(&self, token: LinkToken) -> Unit<'_, Option<LinkView>>;
    /// Reads the work around the intent of a question, as far as the agent that asks may read it; for the holder of an answer link. `None`
    /// if there is no such intent.
    fn work(&self, asker: Principal, id: IntentId) -> Unit<'_, Option<WorkView>>;
    /// Reads at most `limit` open questions and at most `limit` messages, newest first, of all agents; for the
    /// mailbox of development mode.
    fn mailbox(&self, limit: u32) -> Unit<'_, MailboxView>;
    /// Mints one more link for a message that has gone out, and reads the message; the returned lease is not valid. For the
    /// mailbox of development mode; `None` if the message has not gone out by mail, if the database was served in production, and
    /// while deadlines and messages are held.
    fn open_mail(&self, id: DeliveryId) -> Unit<'_, Option<LeasedDelivery>>;
    /// Fires deadlines that are due, a bounded batch at a time; returns how many rows it dealt with and
    /// when the next timer is due.
    fn fire_deadlines(&self) -> Unit<'_, Fired>;
    /// Leases messages that are due, as many as each channel has room for, and mints a token for each; drops messages whose
    /// question has ended meanwhile.
    fn lease_deliveries(&self, turn: Turn) -> Unit<'_, Leased>;
    /// Records the result of a leased message. If the lease is no longer valid, changes nothing and returns false.
    fn complete_delivery(&self, rid: i64, lease: [u8; 16], result: DeliveryResult) -> Unit<'_, bool>;
    /// Records that a message came back, with the consequences; `NotFound` for a token that no server made.
    fn report_bounce(&self, principal: Principal, report: Wanted<BounceReport>) -> Unit<'_, DeliveryView>;
    /// Lists messages that have failed, over all questions.
    fn failed_deliveries(&self, principal: Principal, filter: Wanted<FailedFilter>) -> Unit<'_, DeliveryPage>;
    /// Sends a failed message again, and records who asked for that; `NotFound` if no failed message has this id.
    fn redrive(&self, principal: Principal, redrive: Wanted<Redrive>) -> Unit<'_, DeliveryView>;
    /// Makes messages due again that a vanished server had leased; only for a starting server that knows it is the only one.
    fn release_deliveries(&self) -> Unit<'_, u64>;
    /// Finds the principal of a key by the hash of its secret; revoked keys are not found.
    fn principal(&self, key_hash: [u8; 32]) -> Unit<'_, Option<Principal>>;
    /// Stores a new key.
    fn create_key(&self, principal: Principal, key: Wanted<NewKey>) -> Unit<'_, KeyView>;
    /// Lists keys, oldest first.
    fn keys(&self, principal: Principal) -> Unit<'_, Vec<KeyView>>;
    /// Reads the server's own log, oldest first, each event as it is served.
    fn server_events(&self, principal: Principal, filter: Wanted<ServerEventFilter>) -> Unit<'_, Vec<String>>;
    /// Begins the server's own log with the keys that exist already, unless it has begun; for a server that starts.
    fn begin_server_log(&self) -> Unit<'_, ()>;
    /// Gives the next events their leaves in the tree over all events; returns whether events without leaves may be left.
    fn extend_tree(&self) -> Unit<'_, bool>;
    /// Signs the tree as it is; `None` if the newest checkpoint says as much already.
    fn sign_tree(&self, key: Arc<SigningKey>) -> Unit<'_, Option<CheckpointRow>>;
    /// Whether the tree has at least `size` leaves, and the first of them have this root.
    fn extends(&self, size: u64, root: NodeHash) -> Unit<'_, bool>;
    /// The checkpoints of sizes above `after`, oldest first, at most `limit`.
    fn checkpoints_after(&self, after: u64, limit: u32) -> Unit<'_, Vec<CheckpointRow>>;
    /// The newest checkpoint, if there is one.
    fn newest_checkpoint(&self) -> Unit<'_, Option<CheckpointRow>>;
    /// The newest checkpoint, and how a witness that has `old` leaves is shown that the tree grew to it. Without `old`, the number of
    /// leaves counts that is stored for the witness. `None` if there is no checkpoint.
    fn for_witness(&self, witness: WitnessKey, old: Option<u64>) -> Unit<'_, Option<ForWitness>>;
    /// Adds the cosignature of a witness to the checkpoint of `size` leaves, from the lines of its answer.
    fn add_cosignature(&self, size: u64, lines: String, witness: WitnessKey) -> Unit<'_, Result<Cosignature, WitnessError>>;
    /// The newest checkpoint, if none was mailed within the time `every`; notes that it is mailed. Of several servers one gets it.
    fn checkpoint_to_mail(&self, every: TimeDelta) -> Unit<'_, Option<CheckpointRow>>;
    /// All keys that signed or sign checkpoints, oldest first. The last one is in force.
    fn log_keys(&self) -> Unit<'_, Vec<LogKeyRow>>;
    /// Puts a first key in force that signs checkpoints; `text` is the public key as it is written. Returns the key in force, which is
    /// another one if there was one.
    fn adopt_log_key(&self, candidate: LogKeyRow, text: String) -> Unit<'_, LogKeyRow>;
    /// Puts the key `next` in force, which the key in force has named in `succession`, and records it in the server's own log. Returns
    /// false and changes nothing if another key is in force by now. For admins.
    fn pass_on_log_key(&self, principal: Principal, next: LogKeyRow, succession: Succession) -> Unit<'_, bool>;
    /// Computes the chain of events of an intent from the stored bytes.
    fn chain(&self, principal: Principal, id: IntentId) -> Unit<'_, ChainView>;
    /// Lists checkpoints, newest first.
    fn checkpoints(&self, principal: Principal, filter: Wanted<CheckpointFilter>) -> Unit<'_, Vec<LogCheckpointView>>;
    /// Reads a checkpoint.
    fn checkpoint(&self, principal: Principal, id: Wanted<CheckpointId>) -> Unit<'_, LogCheckpointView>;
    /// Proves that the log contains an event.
    fn inclusion(&self, principal: Principal, id: Wanted<CheckpointId>, event: Wanted<Uuid>) -> Unit<'_, MerkleProofView>;
    /// Proves that one checkpoint's tree is the beginning of another's.
    fn consistency(
        &self,
        principal: Principal,
        from: Wanted<CheckpointId>,
        to: Wanted<CheckpointId>,
    ) -> Unit<'_, ConsistencyView>;
    /// Makes the receipt of an answered question, unless it has one. Returns the receipt's id. `key` signs it.
    fn issue_receipt(&self, principal: Principal, id: SuspensionId, key: Option<Arc<SigningKey>>) -> Unit<'_, ReceiptId>;
    /// Reads a receipt with its proof; `None` if no checkpoint covers it yet.
    fn receipt(&self, principal: Principal, id: ReceiptId) -> Unit<'_, Option<ProvedReceipt>>;
    /// Uses a receipt: one of all calls succeeds.
    fn consume_receipt(&self, principal: Principal, id: ReceiptId, used: Wanted<Use>) -> Unit<'_, ReceiptStanding>;
    /// Revokes a receipt that was not used.
    fn revoke_receipt(&self, principal: Principal, id: ReceiptId, reason: Wanted<Option<String>>) -> Unit<'_, ReceiptStanding>;
    /// Erases the next events of an intent that has ended, and every copy of their contents, for this legal basis.
    fn redact(&self, principal: Principal, id: IntentId, legal_basis: Wanted<String>) -> Unit<'_, Redacted>;
    /// Places a legal hold.
    fn place_hold(&self, principal: Principal, hold: Wanted<(HoldScope, String)>) -> Unit<'_, LegalHold>;
    /// Lifts a legal hold, for a reason; `NotFound` if there is none with this id.
    fn lift_hold(&self, principal: Principal, id: Wanted<HoldId>, reason: Wanted<String>) -> Unit<'_, LegalHold>;
    /// Lists the legal holds in force, oldest first.
    fn holds(&self, principal: Principal) -> Unit<'_, Vec<LegalHold>>;
    /// Begins an export of the log, and records it in the server's own log. `about` is what is exported, in words of the request.
    fn begin_export(&self, principal: Principal, about: Wanted<LogExported>) -> Unit<'_, ()>;
    /// Reads a page of an export: events of the first `size` leaves, from the leaf `first` on.
    fn export_page(&self, principal: Principal, filter: Arc<ExportFilter>, size: u64, first: u64) -> Unit<'_, ExportPage>;
    /// Revokes a key; `NotFound` if there is none with this id.
    fn revoke_key(&self, principal: Principal, id: Wanted<KeyId>) -> Unit<'_, KeyView>;
    /// Notes that the deadline loop runs from now on. If the loop then does no work for more than ten seconds, the server
    /// counts as absent.
    fn attend(&self);
    /// Makes up for an absence of the server, one bounded step at a time; the absence is recorded before open questions get time
    /// back. A starting server takes steps while [`Recovered::more`] asks for them; the deadline loop takes the others, and fires
    /// nothing before they are done.
    fn recover(&self) -> Unit<'_, Recovered>;
    /// Leaves a last sign of life, for a server that stops.
    fn depart(&self) -> Unit<'_, ()>;
    /// Invalidates every answer link, and holds deadlines and messages until they are released; for a database that was restored.
    fn hold_after_restore(&self) -> Unit<'_, ()>;
    /// Releases deadlines and messages after a restore, and says whether they were held; works beside a running server.
    fn release(&self) -> Unit<'_, bool>;
    /// Why no deadline takes effect and no message leaves at present; `None` if they may.
    fn hold(&self) -> Unit<'_, Option<Hold>>;
    /// Reads a secret of the server's own, which is made at its first use and stored.
    fn secret(&self, name: &'static str) -> Unit<'_, [u8; 32]>;
    /// Whether a server in production has served this database, see [`PRODUCTION_MARK`](crate::PRODUCTION_MARK).
    fn was_in_production(&self) -> Unit<'_, bool>;
    /// Deletes idempotency records and byte counts from before yesterday, and subscriptions that have ended, a bounded batch at a
    /// time; returns how many records and subscriptions it deleted.
    fn forget_expired(&self) -> Unit<'_, u64>;
    /// Looks at the next page of intents, which begins behind the row `after`, and erases the content of those that ended and did not change
    /// for as long as `kept`, a bounded part at a time.
    fn retain(&self, after: i64, kept: TimeDelta) -> Unit<'_, Retained>;
    /// Looks at the next page of open questions, which begins behind the row `after`, and restores timers that are missing.
    fn sweep_timers(&self, after: i64) -> Unit<'_, Swept>;
    /// Reads the next records of the database, and names those that are damaged; see [`scrub`](crate::scrub).
    fn scrub(&self, at: Scrub) -> Unit<'_, Scrubbed>;
    /// How much is open now, read in one snapshot.
    fn standing(&self, principal: Principal) -> Unit<'_, Standing>;
    /// Proves that a write can be committed.
    fn probe(&self) -> Unit<'_, ()>;
    /// The hub that announces commits.
    fn hub(&self) -> &Hub;
    /// Writes the queued work, then refuses further work, and closes the database.
    fn close(&self) -> BoxFuture<'_, ()>;
    /// Resolves when no further write is possible.
    fn closed(&self) -> BoxFuture<'_, ()>;
}
