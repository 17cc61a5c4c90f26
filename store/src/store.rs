//! The one store: its units of work, and how each of them runs on either database.

use std::future::ready;
use std::sync::Arc;

use domain::base::ids::{CoordinatorId, DeliveryId, IntentId, KeyId, PlanId, PortfolioId, SubscriptionId, SuspensionId, TaskId};
use domain::people::event::LogExported;
use domain::people::principal::Principal;
use domain::portfolio::membership::Join;
use domain::portfolio::{PortfolioStatus, PortfolioUpdate};
use domain::suspension::lease::Lease;
use domain::wire::{
    AclView, ChainView, ConsistencyView, CoordinatorView, DeliveryPage, DeliveryView, EventView, GraphView, IntentPage,
    IntentView, KeyView, LogCheckpointView, MerkleProofView, PlanView, PortfolioView, SubscriptionView, SuspensionPage,
    SuspensionRecord, TaskView, WholePortfolioView,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use proof::key::SigningKey;
use uuid::Uuid;

use crate::backend::Backend;
use crate::error::{StoreError, Unit, Wanted};
use crate::export::{ExportFilter, ExportPage};
use crate::filter::{
    CheckpointFilter, DeliveryFilter, EventFilter, FailedFilter, IntentFilter, PortfolioFilter, ServerEventFilter,
    SubscriptionFilter, SuspensionFilter, TaskFilter,
};
use crate::graph::{Relation, Relatives};
use crate::host::clock_watch::ClockWatch;
use crate::hub::Hub;
use crate::link::{LinkToken, LinkView};
use crate::mailbox::{MailboxView, mailbox};
use crate::posting::LeasedPosts;
use crate::proofs::CheckpointId;
use crate::request::{CreateIntent, NewKey, NewPortfolio, NewSubscription, Outcome, Redrive, Repeatable, Request};
use crate::rows::prelude::*;
use crate::rows::{CheckpointRow, LogKeyRow};
use crate::scrub::{Scrub, Scrubbed};
use crate::sending::{BounceReport, DeliveryResult, Leased, LeasedDelivery, Turn};
use crate::standing::{Fired, Hold, Recovered, Standing, Swept};
use crate::stream::{StreamCursor, StreamOf, Streamed};
use crate::work::WorkView;
use crate::{PRODUCTION_MARK, coordinators, export, graph, look, portfolios, proofs, reads, scrub, tasks, tree, units, work};

/// The error of [`Store::hold_after_restore`] if a server uses the database: the running server would go on with messages and
/// deadlines.
const IN_USE: &str = "the database is in use by a running placet; stop every server on it first, and start one with --after-restore \
                      (a server whose machine or network has failed still counts as running for half a minute)";

/// Where intents live, with their event logs and the work those events cause.
///
/// A command on an intent is one transaction that loads the intent, asks [`domain::intent::decide::decide`], appends the events,
/// and queues the timers and deliveries they imply. The future of a write resolves after its commit is durable, so a client that
/// gets a 200 can rely on the write. If the future is dropped, the write goes on, and the caller only does not learn of its
/// result. Commands on one intent are serialized.
pub trait Store: Send + Sync + 'static {
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
    /// The key that signs checkpoints.
    fn log_key(&self) -> Unit<'_, Option<LogKeyRow>>;
    /// Puts a first key in force that signs checkpoints; `text` is the public key as it is written. Returns the key in force, which is
    /// another one if there was one.
    fn adopt_log_key(&self, candidate: LogKeyRow, text: String) -> Unit<'_, LogKeyRow>;
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
    /// Whether a server in production has served this database, see [`PRODUCTION_MARK`].
    fn was_in_production(&self) -> Unit<'_, bool>;
    /// Deletes idempotency records and byte counts from before yesterday, and subscriptions that have ended, a bounded batch at a
    /// time; returns how many records and subscriptions it deleted.
    fn forget_expired(&self) -> Unit<'_, u64>;
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

impl<B: Backend> Store for B {
    fn execute(&self, request: Request) -> Unit<'_, Outcome> {
        self.apply(request)
    }

    fn create(&self, request: CreateIntent) -> Unit<'_, Outcome> {
        self.decide("create", move |rows, env| units::create::create(rows, env, &request))
    }

    fn intent(&self, principal: Principal, id: IntentId) -> Unit<'_, IntentView> {
        let (now, watch) = (self.clock().now(), self.watch().clone());
        self.authorized("intent", move |rows| reads::intent(rows, &principal, id, now, &watch))
    }

    fn intents(&self, principal: Principal, filter: Wanted<IntentFilter>) -> Unit<'_, IntentPage> {
        let now = self.clock().now();
        self.authorized("intents", move |rows| reads::intents(rows, &principal, filter, now))
    }

    fn events(&self, principal: Principal, id: IntentId, filter: Wanted<EventFilter>) -> Unit<'_, Vec<String>> {
        let now = self.clock().now();
        self.authorized("events", move |rows| reads::events(rows, &principal, id, filter, now))
    }

    fn records(
        &self,
        principal: Principal,
        id: IntentId,
        types: &'static [&'static str],
        limit: usize,
    ) -> Unit<'_, Vec<EventView>> {
        let now = self.clock().now();
        self.authorized("records", move |rows| reads::records(rows, &principal, id, types, limit, now))
    }

    fn stream(&self, principal: Principal, of: StreamOf, after: Wanted<Option<StreamCursor>>) -> Unit<'_, Streamed> {
        let now = self.clock().now();
        let place = after.as_ref().ok().copied().flatten();
        let newest = place
            .and_then(|after| self.announcements().publications().newest(&of.followed(), after, look::LOOK_EVENTS_MAX as usize));
        self.authorized("stream", move |rows| look::look(rows, &principal, &of, after, newest, now))
    }

    fn sort_published(&self) -> Unit<'_, bool> {
        let publications = self.announcements().publications();
        let Some(turn) = publications.next_turn() else { return ready(Ok(false)).boxed() };
        let read = self.read("sort_published", move |rows| look::sort(rows, turn));
        async move {
            let sorted = read.await.inspect_err(|_| publications.forget())?;
            let more = sorted.more;
            publications.keep(sorted);
            Ok(more)
        }
        .boxed()
    }

    fn leases(&self, principal: Principal, id: IntentId) -> Unit<'_, Vec<Lease>> {
        let now = self.clock().now();
        self.authorized("leases", move |rows| reads::leases(rows, &principal, id, now))
    }

    fn acl(&self, principal: Principal, id: IntentId) -> Unit<'_, AclView> {
        let now = self.clock().now();
        self.authorized("acl", move |rows| reads::acl(rows, &principal, id, now))
    }

    fn relatives(&self, principal: Principal, id: IntentId, relation: Relation) -> Unit<'_, Relatives> {
        let now = self.clock().now();
        self.authorized("relatives", move |rows| graph::relatives(rows, &principal, (id, relation), now))
    }

    fn graph(&self, principal: Principal, id: IntentId) -> Unit<'_, GraphView> {
        let now = self.clock().now();
        self.authorized("graph", move |rows| graph::graph(rows, &principal, id, now))
    }

    fn task(&self, principal: Principal, id: TaskId) -> Unit<'_, TaskView> {
        let now = self.clock().now();
        self.authorized("task", move |rows| tasks::task(rows, &principal, id, now))
    }

    fn tasks(&self, principal: Principal, id: IntentId, filter: Wanted<TaskFilter>) -> Unit<'_, Vec<TaskView>> {
        let now = self.clock().now();
        self.authorized("tasks", move |rows| tasks::tasks(rows, &principal, id, filter, now))
    }

    fn plan(&self, principal: Principal, id: PlanId) -> Unit<'_, PlanView> {
        let now = self.clock().now();
        self.authorized("plan", move |rows| tasks::plan(rows, &principal, id, now))
    }

    fn plans(&self, principal: Principal, id: IntentId) -> Unit<'_, Vec<PlanView>> {
        let now = self.clock().now();
        self.authorized("plans", move |rows| tasks::plans(rows, &principal, id, now))
    }

    fn coordinator(&self, principal: Principal, id: CoordinatorId) -> Unit<'_, CoordinatorView> {
        let now = self.clock().now();
        self.authorized("coordinator", move |rows| coordinators::coordinator(rows, &principal, id, now))
    }

    fn coordinators(&self, principal: Principal, id: IntentId) -> Unit<'_, Vec<CoordinatorView>> {
        let now = self.clock().now();
        self.authorized("coordinators", move |rows| coordinators::coordinators(rows, &principal, id, now))
    }

    fn create_portfolio(&self, principal: Principal, write: Repeatable<NewPortfolio>) -> Unit<'_, Outcome> {
        self.decide("create_portfolio", move |rows, env| units::portfolios::create(rows, env, &principal, &write))
    }

    fn update_portfolio(&self, principal: Principal, id: PortfolioId, write: Repeatable<PortfolioUpdate>) -> Unit<'_, Outcome> {
        self.decide("update_portfolio", move |rows, env| units::portfolios::update(rows, env, &principal, id, &write))
    }

    fn set_portfolio_status(
        &self,
        principal: Principal,
        id: PortfolioId,
        write: Repeatable<PortfolioStatus>,
    ) -> Unit<'_, Outcome> {
        self.decide("set_portfolio_status", move |rows, env| units::portfolios::set_status(rows, env, &principal, id, &write))
    }

    fn add_to_portfolio(&self, principal: Principal, id: PortfolioId, write: Repeatable<(IntentId, Join)>) -> Unit<'_, Outcome> {
        self.decide("add_to_portfolio", move |rows, env| units::portfolios::add(rows, env, &principal, id, &write))
    }

    fn portfolio(&self, principal: Principal, id: PortfolioId, offset: Wanted<u32>) -> Unit<'_, WholePortfolioView> {
        let now = self.clock().now();
        self.authorized("portfolio", move |rows| portfolios::portfolio(rows, &principal, id, offset, now))
    }

    fn portfolios(&self, principal: Principal, filter: Wanted<PortfolioFilter>) -> Unit<'_, Vec<PortfolioView>> {
        let now = self.clock().now();
        self.authorized("portfolios", move |rows| portfolios::portfolios(rows, &principal, filter, now))
    }

    fn portfolio_events(&self, principal: Principal, id: PortfolioId) -> Unit<'_, Vec<String>> {
        self.authorized("portfolio_events", move |rows| portfolios::portfolio_events(rows, &principal, id))
    }

    fn subscribe(&self, principal: Principal, write: Repeatable<NewSubscription>) -> Unit<'_, Outcome> {
        self.decide("subscribe", move |rows, env| units::subscriptions::create(rows, env, &principal, &write))
    }

    fn unsubscribe(&self, principal: Principal, id: Wanted<SubscriptionId>) -> Unit<'_, ()> {
        self.decide("unsubscribe", move |rows, _| units::subscriptions::end(rows, &principal, &id))
    }

    fn subscriptions(&self, principal: Principal, filter: Wanted<SubscriptionFilter>) -> Unit<'_, Vec<SubscriptionView>> {
        let now = self.clock().now();
        self.authorized("subscriptions", move |rows| units::subscriptions::list(rows, &principal, filter, now))
    }

    fn lease_posts(&self, room: u32, under_way: Vec<String>) -> Unit<'_, LeasedPosts> {
        let (now, busy) = (self.clock().now(), units::subscriptions::busy(&under_way));
        let limit = room.min(units::subscriptions::POSTS_PER_UNIT);
        let due = self.read("due_subscriptions", move |rows| rows.due_subscriptions(now, &busy, limit));
        async move {
            // The search reads many rows, so it runs before the transaction that writes. If it finds no subscription, that
            // transaction is not begun.
            let found = due.await?;
            if found.is_empty() {
                return Ok(LeasedPosts::default());
            }
            self.write("lease_posts", move |rows, env| units::subscriptions::lease_posts(rows, env, &found, &under_way)).await
        }
        .boxed()
    }

    fn complete_post(&self, rid: i64, lease: [u8; 16], sequence: u64, result: DeliveryResult) -> Unit<'_, bool> {
        self.write("complete_post", move |rows, env| {
            units::subscriptions::complete_post(rows, env, (rid, lease, sequence), &result)
        })
    }

    fn suspension(&self, principal: Principal, id: SuspensionId) -> Unit<'_, SuspensionRecord> {
        let (now, watch) = (self.clock().now(), self.watch().clone());
        self.authorized("suspension", move |rows| reads::suspension(rows, &principal, id, now, &watch))
    }

    fn suspensions(&self, principal: Principal, filter: Wanted<SuspensionFilter>) -> Unit<'_, SuspensionPage> {
        let now = self.clock().now();
        self.authorized("suspensions", move |rows| reads::suspensions(rows, &principal, filter, now))
    }

    fn deliveries(&self, principal: Principal, id: SuspensionId, filter: Wanted<DeliveryFilter>) -> Unit<'_, DeliveryPage> {
        let now = self.clock().now();
        self.authorized("deliveries", move |rows| reads::deliveries(rows, &principal, id, filter, now))
    }

    fn link(&self, token: LinkToken) -> Unit<'_, Option<LinkView>> {
        let watch = self.watch().clone();
        self.read("link", move |rows| {
            rows.look_at_the_clock()?;
            reads::link(rows, &token, &watch)
        })
    }

    fn work(&self, asker: Principal, id: IntentId) -> Unit<'_, Option<WorkView>> {
        let now = self.clock().now();
        self.read("work", move |rows| work::work(rows, &asker, id, now))
    }

    fn mailbox(&self, limit: u32) -> Unit<'_, MailboxView> {
        self.read("mailbox", move |rows| mailbox(rows, limit))
    }

    fn open_mail(&self, id: DeliveryId) -> Unit<'_, Option<LeasedDelivery>> {
        self.write("open_mail", move |rows, env| units::lease::open_mail(rows, env, id))
    }

    fn fire_deadlines(&self) -> Unit<'_, Fired> {
        noted(self.watch().clone(), self.write("fire_deadlines", |rows, env| units::timers::fire_deadlines(rows, env)))
    }

    fn lease_deliveries(&self, turn: Turn) -> Unit<'_, Leased> {
        let release = self.is_time_to_release();
        self.write("lease_deliveries", move |rows, env| {
            if release && units::complete::release_deliveries(rows, env)? > 0 {
                tracing::info!("messages that a vanished server had leased are due again");
            }
            units::lease::lease_deliveries(rows, env, &turn)
        })
    }

    fn complete_delivery(&self, rid: i64, lease: [u8; 16], result: DeliveryResult) -> Unit<'_, bool> {
        self.write("complete_delivery", move |rows, env| units::complete::complete_delivery(rows, env, rid, &lease, &result))
    }

    fn report_bounce(&self, principal: Principal, report: Wanted<BounceReport>) -> Unit<'_, DeliveryView> {
        self.decide("report_bounce", move |rows, env| units::complete::report_bounce(rows, env, &principal, &report))
    }

    fn failed_deliveries(&self, principal: Principal, filter: Wanted<FailedFilter>) -> Unit<'_, DeliveryPage> {
        self.authorized("failed_deliveries", move |rows| reads::failed_deliveries(rows, &principal, filter))
    }

    fn redrive(&self, principal: Principal, redrive: Wanted<Redrive>) -> Unit<'_, DeliveryView> {
        self.decide("redrive", move |rows, env| units::redrive::redrive(rows, env, &principal, &redrive))
    }

    fn release_deliveries(&self) -> Unit<'_, u64> {
        self.write("release_deliveries", |rows, env| units::complete::release_deliveries(rows, env))
    }

    fn principal(&self, key_hash: [u8; 32]) -> Unit<'_, Option<Principal>> {
        self.look_up("principal", move |rows| rows.principal(&key_hash))
    }

    fn create_key(&self, principal: Principal, key: Wanted<NewKey>) -> Unit<'_, KeyView> {
        self.decide("create_key", move |rows, env| units::keys::create_key(rows, env, &principal, &key))
    }

    fn keys(&self, principal: Principal) -> Unit<'_, Vec<KeyView>> {
        self.authorized("keys", move |rows| reads::keys(rows, &principal))
    }

    fn server_events(&self, principal: Principal, filter: Wanted<ServerEventFilter>) -> Unit<'_, Vec<String>> {
        self.authorized("server_events", move |rows| reads::server_events(rows, &principal, filter))
    }

    fn begin_server_log(&self) -> Unit<'_, ()> {
        self.write("begin_server_log", |rows, env| units::server_log::begin(rows, env))
    }

    fn extend_tree(&self) -> Unit<'_, bool> {
        let planned = self.read("next_leaves", tree::next_step);
        async move {
            let Some(step) = planned.await? else { return Ok(false) };
            self.write("extend_tree", move |rows, _| units::tree::extend(rows, &step)).await?;
            Ok(true)
        }
        .boxed()
    }

    fn sign_tree(&self, key: Arc<SigningKey>) -> Unit<'_, Option<CheckpointRow>> {
        self.write("sign_tree", move |rows, env| units::tree::sign(rows, env, &key))
    }

    fn log_key(&self) -> Unit<'_, Option<LogKeyRow>> {
        self.read("log_key", ReadTree::log_key)
    }

    fn adopt_log_key(&self, candidate: LogKeyRow, text: String) -> Unit<'_, LogKeyRow> {
        self.write("adopt_log_key", move |rows, env| units::tree::adopt_key(rows, env, &candidate, &text))
    }

    fn chain(&self, principal: Principal, id: IntentId) -> Unit<'_, ChainView> {
        let now = self.clock().now();
        self.authorized("chain", move |rows| proofs::chain(rows, &principal, id, now))
    }

    fn checkpoints(&self, principal: Principal, filter: Wanted<CheckpointFilter>) -> Unit<'_, Vec<LogCheckpointView>> {
        let now = self.clock().now();
        self.authorized("checkpoints", move |rows| proofs::checkpoints(rows, &principal, filter, now))
    }

    fn checkpoint(&self, principal: Principal, id: Wanted<CheckpointId>) -> Unit<'_, LogCheckpointView> {
        let now = self.clock().now();
        self.authorized("checkpoint", move |rows| proofs::checkpoint(rows, &principal, id, now))
    }

    fn inclusion(&self, principal: Principal, id: Wanted<CheckpointId>, event: Wanted<Uuid>) -> Unit<'_, MerkleProofView> {
        let now = self.clock().now();
        self.authorized("inclusion", move |rows| proofs::inclusion(rows, &principal, (id, event), now))
    }

    fn consistency(
        &self,
        principal: Principal,
        from: Wanted<CheckpointId>,
        to: Wanted<CheckpointId>,
    ) -> Unit<'_, ConsistencyView> {
        self.authorized("consistency", move |rows| proofs::consistency(rows, &principal, (from, to)))
    }

    fn begin_export(&self, principal: Principal, about: Wanted<LogExported>) -> Unit<'_, ()> {
        self.decide("begin_export", move |rows, env| units::tree::begin_export(rows, env, &principal, &about))
    }

    fn export_page(&self, principal: Principal, filter: Arc<ExportFilter>, size: u64, first: u64) -> Unit<'_, ExportPage> {
        self.authorized("export_page", move |rows| export::page(rows, &principal, &filter, (size, first)))
    }

    fn revoke_key(&self, principal: Principal, id: Wanted<KeyId>) -> Unit<'_, KeyView> {
        self.decide("revoke_key", move |rows, env| units::keys::revoke_key(rows, env, &principal, &id))
    }

    fn attend(&self) {
        self.watch().attend();
    }

    fn recover(&self) -> Unit<'_, Recovered> {
        self.write("recover", |rows, env| units::presence::recover(rows, env))
    }

    fn depart(&self) -> Unit<'_, ()> {
        self.write("depart", |rows, env| units::presence::depart(rows, env))
    }

    fn hold_after_restore(&self) -> Unit<'_, ()> {
        let held = self.write("hold_after_restore", |rows, env| {
            // A starting server takes its lock before it reads the presence. So either this transaction finds that server, or the
            // server finds the hold.
            let is_alone = rows.reads().is_alone()?;
            is_alone.then(|| units::presence::hold_after_restore(rows, env)).transpose()
        });
        async move { held.await?.ok_or_else(|| StoreError::Failed(anyhow::anyhow!(IN_USE))) }.boxed()
    }

    fn release(&self) -> Unit<'_, bool> {
        self.write("release", |rows, _| units::presence::release(rows))
    }

    fn hold(&self) -> Unit<'_, Option<Hold>> {
        let watch = self.watch().clone();
        self.read_apart("hold", move |rows| {
            rows.look_at_the_clock()?;
            reads::hold(rows, &watch)
        })
    }

    fn secret(&self, name: &'static str) -> Unit<'_, [u8; 32]> {
        self.write("secret", move |rows, env| units::secret::secret(rows, env, name))
    }

    fn was_in_production(&self) -> Unit<'_, bool> {
        self.read("was_in_production", |rows| Ok(rows.secret(PRODUCTION_MARK)?.is_some()))
    }

    fn forget_expired(&self) -> Unit<'_, u64> {
        self.write("forget_expired", |rows, env| units::upkeep::forget_expired(rows, env))
    }

    fn sweep_timers(&self, after: i64) -> Unit<'_, Swept> {
        let now = self.clock().now();
        async move {
            let look = self.read("sweep_timers", move |rows| units::sweep::look(rows, after, now)).await?;
            let mend = |rid| self.write("sweep_timers", move |rows, env| units::sweep::mend(rows, env, rid));
            Ok(units::sweep::mend_each(look, mend).await)
        }
        .boxed()
    }

    fn scrub(&self, at: Scrub) -> Unit<'_, Scrubbed> {
        let leaves = match at {
            Scrub::Begin => return self.scrub_pages(1),
            Scrub::Pages(page) => return self.scrub_pages(page),
            Scrub::Leaves(leaves) => leaves,
        };
        self.read("scrub", move |rows| scrub::step(rows, leaves))
    }

    fn standing(&self, principal: Principal) -> Unit<'_, Standing> {
        self.authorized("standing", move |rows| reads::standing(rows, &principal))
    }

    fn probe(&self) -> Unit<'_, ()> {
        self.prove()
    }

    fn hub(&self) -> &Hub {
        self.announcements()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.finish()
    }

    fn closed(&self) -> BoxFuture<'_, ()> {
        self.finished()
    }
}

/// Notes the time of a turn of the deadline loop (one run of its work) once the turn's transaction is on the disk.
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
