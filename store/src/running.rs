//! How each unit of work of the store runs on either database.

use std::future::ready;
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
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use proof::key::SigningKey;
use proof::succession::Succession;
use proof::tree::NodeHash;
use proof::witness::{Cosignature, WitnessError, WitnessKey};
use uuid::Uuid;

use crate::backend::Backend;
use crate::error::{StoreError, Unit, Wanted};
use crate::export::{ExportFilter, ExportPage};
use crate::filter::{
    CheckpointFilter, DeliveryFilter, EventFilter, FailedFilter, IntentFilter, PortfolioFilter, ServerEventFilter,
    SubscriptionFilter, SuspensionFilter, TaskFilter,
};
use crate::graph::{Relation, Relatives};
use crate::hub::Hub;
use crate::link::{LinkToken, LinkView};
use crate::mailbox::{MailboxView, mailbox};
use crate::posting::LeasedPosts;
use crate::proofs::CheckpointId;
use crate::receipts::ProvedReceipt;
use crate::request::{CreateIntent, NewKey, NewPortfolio, NewSubscription, Outcome, Redrive, Repeatable, Request};
use crate::rows::prelude::*;
use crate::rows::{CheckpointRow, LogKeyRow};
use crate::scrub::{Scrub, Scrubbed};
use crate::sending::{BounceReport, DeliveryResult, Leased, LeasedDelivery, Turn};
use crate::standing::{Fired, Hold, Recovered, Standing, Swept, noted};
use crate::store::Store;
use crate::stream::{StreamCursor, StreamOf, Streamed};
use crate::tree::ForWitness;
use crate::units::redact::Redacted;
use crate::units::retain::Retained;
use crate::work::WorkView;
use crate::{
    PRODUCTION_MARK, assigning, coordinators, export, graph, look, portfolios, proofs, reads, receipts, scrub, tasks, tree,
    units, work,
};

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

    fn would_ask(&self, principal: Principal, suspend: Wanted<Suspend>) -> Unit<'_, Suspend> {
        self.authorized("would_ask", move |rows| assigning::would_ask(rows, &principal, suspend))
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
            crate::question::behind(rows, &token, &watch)
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
        let fired = self.write("fire_deadlines", |rows, env| units::timers::fire_deadlines(rows, env));
        noted(self.watch().clone(), fired)
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

    fn extends(&self, size: u64, root: NodeHash) -> Unit<'_, bool> {
        self.read("extends", move |rows| tree::extends(rows, size, &root))
    }

    fn checkpoints_after(&self, after: u64, limit: u32) -> Unit<'_, Vec<CheckpointRow>> {
        self.read("checkpoints_after", move |rows| rows.checkpoints_after(after, limit))
    }

    fn newest_checkpoint(&self) -> Unit<'_, Option<CheckpointRow>> {
        self.read("newest_checkpoint", tree::newest_checkpoint)
    }

    fn for_witness(&self, witness: WitnessKey, old: Option<u64>) -> Unit<'_, Option<ForWitness>> {
        self.read("for_witness", move |rows| tree::for_witness(rows, &witness, old))
    }

    fn add_cosignature(&self, size: u64, lines: String, witness: WitnessKey) -> Unit<'_, Result<Cosignature, WitnessError>> {
        self.write("add_cosignature", move |rows, _| units::tree::add_cosignature(rows, (size, &lines), &witness))
    }

    fn checkpoint_to_mail(&self, every: TimeDelta) -> Unit<'_, Option<CheckpointRow>> {
        self.write("checkpoint_to_mail", move |rows, env| units::tree::to_mail(rows, env, every))
    }

    fn log_keys(&self) -> Unit<'_, Vec<LogKeyRow>> {
        self.read("log_keys", ReadTree::log_keys)
    }

    fn adopt_log_key(&self, candidate: LogKeyRow, text: String) -> Unit<'_, LogKeyRow> {
        self.write("adopt_log_key", move |rows, env| units::tree::adopt_key(rows, env, &candidate, &text))
    }

    fn pass_on_log_key(&self, principal: Principal, next: LogKeyRow, succession: Succession) -> Unit<'_, bool> {
        self.decide("pass_on_log_key", move |rows, env| units::tree::pass_on_key(rows, env, &principal, (&next, &succession)))
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

    fn issue_receipt(&self, principal: Principal, id: SuspensionId, key: Option<Arc<SigningKey>>) -> Unit<'_, ReceiptId> {
        self.decide("issue_receipt", move |rows, env| units::receipts::issue(rows, env, &principal, id, key.as_deref()))
    }

    fn receipt(&self, principal: Principal, id: ReceiptId) -> Unit<'_, Option<ProvedReceipt>> {
        let now = self.clock().now();
        self.authorized("receipt", move |rows| receipts::receipt(rows, &principal, id, now))
    }

    fn consume_receipt(&self, principal: Principal, id: ReceiptId, used: Wanted<Use>) -> Unit<'_, ReceiptStanding> {
        self.decide("consume_receipt", move |rows, env| units::receipts::consume(rows, env, &principal, id, &used))
    }

    fn revoke_receipt(&self, principal: Principal, id: ReceiptId, reason: Wanted<Option<String>>) -> Unit<'_, ReceiptStanding> {
        self.decide("revoke_receipt", move |rows, env| units::receipts::revoke(rows, env, &principal, id, &reason))
    }

    fn redact(&self, principal: Principal, id: IntentId, legal_basis: Wanted<String>) -> Unit<'_, Redacted> {
        self.decide("redact", move |rows, env| units::redact::redact(rows, env, &principal, id, &legal_basis))
    }

    fn place_hold(&self, principal: Principal, hold: Wanted<(HoldScope, String)>) -> Unit<'_, LegalHold> {
        self.decide("place_hold", move |rows, env| units::holds::place(rows, env, &principal, &hold))
    }

    fn lift_hold(&self, principal: Principal, id: Wanted<HoldId>, reason: Wanted<String>) -> Unit<'_, LegalHold> {
        self.decide("lift_hold", move |rows, env| units::holds::lift(rows, env, &principal, &id, &reason))
    }

    fn holds(&self, principal: Principal) -> Unit<'_, Vec<LegalHold>> {
        self.authorized("holds", move |rows| units::holds::list(rows, &principal))
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
        let held = self.write("hold_after_restore", |rows, env| units::presence::hold_if_alone(rows, env));
        async move { held.await?.ok_or_else(|| StoreError::Failed(anyhow::anyhow!(units::presence::IN_USE))) }.boxed()
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

    fn retain(&self, after: i64, kept: TimeDelta) -> Unit<'_, Retained> {
        self.write("retain", move |rows, env| units::retain::retain(rows, env, after, kept))
    }

    fn sweep_timers(&self, after: i64) -> Unit<'_, Swept> {
        let now = self.clock().now();
        async move {
            let look = self.read("sweep_timers", move |rows| units::sweep::look(rows, after, now)).await?;
            let mend = |rid| self.write("sweep_timers", move |rows, env| units::sweep::mend(rows, env, rid));
            let tell = |rid| self.write("queue_alerts", move |rows, env| units::alerts::queue(rows, env, rid));
            Ok(units::sweep::mend_each(look, mend, tell).await)
        }
        .boxed()
    }

    fn scrub(&self, at: Scrub) -> Unit<'_, Scrubbed> {
        let leaves = match at {
            Scrub::Begin => return self.scrub_pages(1),
            Scrub::Somewhere(random) => return self.read("scrub", move |rows| scrub::somewhere(rows, random)),
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
