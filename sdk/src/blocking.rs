//! The client for programs without an async runtime (feature `blocking`).
//!
//! The calls are the same as in the crate itself, and each returns when it is done. Questions, answers, errors, hooks and retries
//! have the same types and behave the same.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use placet::{Question, Source, blocking::Client};
//!
//! # fn example(api_key: String) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("https://placet.example.com", api_key)?;
//! let intent = client.create_intent("Deploy 4f2a91c").active().idempotency_key("deploy-4f2a91c").send()?;
//! let question = Question::confirm("Deploy to production?").timeout(Duration::from_mins(10)).fallback(false);
//! let answer = intent.request_input(question)?;
//! match answer.source {
//!     Source::Human { by, .. } => println!("{by} said {}", answer.value),
//!     Source::Fallback { .. } => println!("no person answered: {}", answer.value),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Threads
//!
//! Threads may share a client, and each may wait for a question of its own. The calls run on a small runtime of the client's own.
//! The threads that make the calls drive this runtime; there is no thread in the background.
//!
//! # Inside an async runtime
//!
//! Calls work there too and never panic; each then uses a short-lived thread of its own. But a call blocks its thread, and with
//! it every task on that thread: from async code use [`crate::Client`], or wrap the call in `tokio::task::spawn_blocking`. A
//! [hook](crate::Hooks) must not call a blocking client: if it is the hook's own client, the new call and the call that runs the
//! hook wait for each other for ever.

mod containers;
mod failures;
mod stops;
mod tasks;

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use domain::asking::engagement::EngagementSignals;
use domain::base::ids::{IntentId, ReceiptId, SuspensionId};
use domain::base::sealed::Hash;
use domain::intent::governance::Policy;
use domain::intent::status::Status;
use domain::suspension::assignees::Assignees;
use domain::suspension::draft::DraftValues;
use domain::suspension::lease::Lease as LeaseView;
use domain::suspension::retry::PartialRetryPolicy;
use domain::wire::{
    AssignmentView, DraftList, EventView, IntentView, ReceiptView, RespondResponse, ServerConfigView, ServerEventView,
    SuspensionPage, SuspensionPreview, SuspensionRecord,
};
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;

pub use self::containers::{CreatePortfolio, Portfolio, Related};
pub use self::tasks::{Coordinate, Coordinator, CreatePlan, CreateTask, Plan, Task};
use crate::answer::Answer;
use crate::approval::Approval;
use crate::client::ClientBuilder;
use crate::engagement::Engagement;
use crate::error::{CallError, RequestInputError, SetupError};
use crate::log::{LogCheckpoint, LogError};
use crate::question::Question;
use crate::subscription::Streamed;

/// A client of one Placet server with one agent's key, for programs without a runtime. Clones share their connections.
///
/// The documentation of [`crate::Client`] says what a call does when it fails.
#[derive(Clone)]
pub struct Client {
    client: crate::Client,
    driver: Arc<Driver>,
}

/// Runs calls to their end on the thread that makes them, or, inside an async runtime, on a thread of their own.
struct Driver {
    /// Present until `drop` takes it.
    runtime: Option<Runtime>,
}

impl Driver {
    fn new() -> Result<Self, SetupError> {
        // One thread at a time drives the runtime: its only work is the calls for which threads wait.
        let runtime = Builder::new_current_thread().enable_all().build().map_err(SetupError::Runtime)?;
        Ok(Self { runtime: Some(runtime) })
    }

    fn run<F: Future<Output: Send> + Send>(&self, call: F) -> F::Output {
        // Unwrap safety: only `drop` takes the runtime, and a dropped client cannot be called.
        let runtime = self.runtime.as_ref().expect("the runtime is there until the client is dropped");
        if Handle::try_current().is_err() {
            return runtime.block_on(call);
        }
        // A runtime refuses to run within another one, so the call moves to a thread that has none.
        thread::scope(|scope| scope.spawn(|| runtime.block_on(call)).join()).unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A normal drop of the runtime would wait for its work, and this wait panics inside another runtime. No work is left
            // to wait for.
            runtime.shutdown_background();
        }
    }
}

impl ClientBuilder {
    /// Makes a [blocking client](crate::blocking::Client); nothing is sent.
    pub fn build_blocking(self) -> Result<Client, SetupError> {
        Ok(Client { client: self.build()?, driver: Arc::new(Driver::new()?) })
    }
}

impl Client {
    /// Makes a client for the server at `base_url`, for example `https://placet.example.com`, with the defaults.
    pub fn new(base_url: impl Into<String>, api_key: impl Into<SecretString>) -> Result<Self, SetupError> {
        Self::builder(base_url, api_key).build_blocking()
    }

    /// Makes a client with other settings; finish with [`build_blocking`](ClientBuilder::build_blocking).
    pub fn builder(base_url: impl Into<String>, api_key: impl Into<SecretString>) -> ClientBuilder {
        crate::Client::builder(base_url, api_key)
    }

    /// The same client with another agent-level retry policy; see [`ClientBuilder::default_retry_policy`].
    #[must_use]
    pub fn with_default_retry_policy(mut self, policy: PartialRetryPolicy) -> Self {
        self.client = self.client.with_default_retry_policy(policy);
        self
    }

    /// Starts the creation of an intent.
    pub fn create_intent(&self, title: impl Into<String>) -> CreateIntent<'_> {
        CreateIntent { client: self, intent: self.client.create_intent(title) }
    }

    /// Finds an intent.
    pub fn intent(&self, id: IntentId) -> Result<Intent, CallError> {
        let intent = self.driver.run(self.client.intent(id))?;
        Ok(Intent { client: self.clone(), intent })
    }

    /// Changes the status of an intent to `status`; see [`crate::Client::set_status`].
    pub fn set_status(&self, id: IntentId, status: Status, reason: Option<&str>) -> Result<IntentView, CallError> {
        self.driver.run(self.client.set_status(id, status, reason))
    }

    /// Asks a person, and waits for the answer (RFC-0025 §9.1); see [`crate::Client::request_input`].
    ///
    /// It returns when the question has ended, which may take until the question's deadline. To stop waiting earlier, use
    /// [`ask`](Client::ask) and [`Pending::answer_within`]. Ending the process loses nothing: asking again finds the question.
    pub fn request_input<T: Send>(&self, intent_id: IntentId, question: Question<T>) -> Result<Answer<T>, RequestInputError> {
        self.driver.run(self.client.request_input(intent_id, question))
    }

    /// Asks several questions at a time and waits until all of them have ended; see [`crate::Client::request_many`].
    pub fn request_many<T: Send>(
        &self,
        questions: impl IntoIterator<Item = (IntentId, Question<T>)>,
    ) -> Vec<Result<Answer<T>, RequestInputError>> {
        let questions: Vec<_> = questions.into_iter().collect();
        self.driver.run(self.client.request_many(questions))
    }

    /// Asks a person, without waiting yet.
    pub fn ask<T: Send>(&self, intent_id: IntentId, question: Question<T>) -> Result<Pending<T>, RequestInputError> {
        let pending = self.driver.run(self.client.ask(intent_id, question))?;
        Ok(Pending { driver: self.driver.clone(), pending })
    }

    /// Tells which people would get messages at which times if `question` were asked now; see [`crate::Client::preview`].
    pub fn preview<T: Send>(&self, question: Question<T>) -> Result<SuspensionPreview, CallError> {
        self.driver.run(self.client.preview(question))
    }

    /// Resumes the wait for a question by its id; see [`crate::Client::pending`].
    pub fn pending<T: Send>(&self, id: SuspensionId, question: &Question<T>) -> Result<Pending<T>, RequestInputError> {
        let pending = self.driver.run(self.client.pending(id, question))?;
        Ok(Pending { driver: self.driver.clone(), pending })
    }

    /// Decides whether to ask at all (RFC-0025 §9.2); see [`crate::Client::should_request_input`].
    pub fn should_request_input(&self, id: IntentId, signals: EngagementSignals) -> Result<Engagement, CallError> {
        self.driver.run(self.client.should_request_input(id, signals))
    }

    /// All events of an intent, oldest first; see [`crate::Client::events`].
    pub fn events(&self, id: IntentId) -> Result<Vec<EventView>, CallError> {
        self.driver.run(self.client.events(id))
    }

    /// Checks that the server's log extends the checkpoint that was seen last; see [`crate::Client::check_log`].
    pub fn check_log(&self) -> Result<LogCheckpoint, LogError> {
        self.driver.run(self.client.check_log())
    }

    /// All events of the server's own log, oldest first; see [`crate::Client::server_events`].
    pub fn server_events(&self) -> Result<Vec<ServerEventView>, CallError> {
        self.driver.run(self.client.server_events())
    }

    /// Reads the present state of a question.
    pub fn suspension(&self, id: SuspensionId) -> Result<SuspensionRecord, CallError> {
        self.driver.run(self.client.suspension(id))
    }

    /// Takes a question back; see [`crate::Client::cancel`].
    pub fn cancel(&self, id: SuspensionId, reason: Option<&str>) -> Result<SuspensionRecord, CallError> {
        self.driver.run(self.client.cancel(id, reason))
    }

    /// One page of the questions this key may read, open or ended, newest first; see [`crate::Client::all_suspensions`].
    pub fn all_suspensions(&self, cursor: Option<&str>) -> Result<SuspensionPage, CallError> {
        self.driver.run(self.client.all_suspensions(cursor))
    }

    /// One page of the open questions this key may read, newest first; see [`crate::Client::open_suspensions`].
    pub fn open_suspensions(&self, cursor: Option<&str>) -> Result<SuspensionPage, CallError> {
        self.driver.run(self.client.open_suspensions(cursor))
    }

    /// Answers `question`, which another key asked; see [`crate::Client::respond`].
    pub fn respond(
        &self,
        question: &SuspensionRecord,
        value: Value,
        metadata: Option<Map<String, Value>>,
    ) -> Result<RespondResponse, CallError> {
        self.driver.run(self.client.respond(question, value, metadata))
    }

    /// Answers `question` and approves its proposal with edits; see [`crate::Client::respond_with`].
    pub fn respond_with(
        &self,
        question: &SuspensionRecord,
        value: Value,
        proposal: Option<Map<String, Value>>,
        metadata: Option<Map<String, Value>>,
    ) -> Result<RespondResponse, CallError> {
        self.driver.run(self.client.respond_with(question, value, proposal, metadata))
    }

    /// Takes back the answer of this key's person to `question`; see [`crate::Client::take_back`].
    pub fn take_back(&self, question: &SuspensionRecord) -> Result<SuspensionRecord, CallError> {
        self.driver.run(self.client.take_back(question))
    }

    /// Tells others that this key's person works on a question; see [`crate::Client::claim`].
    pub fn claim(&self, id: SuspensionId) -> Result<SuspensionRecord, CallError> {
        self.driver.run(self.client.claim(id))
    }

    /// Takes the claim of this key's person back; see [`crate::Client::release`].
    pub fn release(&self, id: SuspensionId) -> Result<SuspensionRecord, CallError> {
        self.driver.run(self.client.release(id))
    }

    /// Hands the place of this key's person to another; see [`crate::Client::delegate`].
    pub fn delegate(&self, id: SuspensionId, to: &str) -> Result<SuspensionRecord, CallError> {
        self.driver.run(self.client.delegate(id, to))
    }

    /// Assigns a question to other people; see [`crate::Client::reassign`].
    pub fn reassign(&self, id: SuspensionId, assignees: Assignees) -> Result<SuspensionRecord, CallError> {
        self.driver.run(self.client.reassign(id, assignees))
    }

    /// Saves a draft of an answer; see [`crate::Client::save_draft`].
    pub fn save_draft(&self, id: SuspensionId, values: DraftValues) -> Result<DraftList, CallError> {
        self.driver.run(self.client.save_draft(id, values))
    }

    /// The drafts of an open question; see [`crate::Client::drafts`].
    pub fn drafts(&self, id: SuspensionId) -> Result<DraftList, CallError> {
        self.driver.run(self.client.drafts(id))
    }

    /// Gives people more time for `question`; see [`crate::Client::extend`].
    pub fn extend(&self, question: &SuspensionRecord, seconds: u32, reason: Option<&str>) -> Result<SuspensionRecord, CallError> {
        self.driver.run(self.client.extend(question, seconds, reason))
    }

    /// Reminds people of a question, now; see [`crate::Client::remind`].
    pub fn remind(&self, id: SuspensionId) -> Result<SuspensionRecord, CallError> {
        self.driver.run(self.client.remind(id))
    }

    /// Gives the receipt of an answered question; see [`crate::Client::receipt_of`].
    pub fn receipt_of(&self, question: SuspensionId) -> Result<ReceiptView, CallError> {
        self.driver.run(self.client.receipt_of(question))
    }

    /// Reads a receipt; see [`crate::Client::receipt`].
    pub fn receipt(&self, id: ReceiptId) -> Result<ReceiptView, CallError> {
        self.driver.run(self.client.receipt(id))
    }

    /// Uses a receipt; see [`crate::Client::consume_receipt`].
    pub fn consume_receipt(&self, id: ReceiptId, action_digest: Hash, value: Value) -> Result<ReceiptView, CallError> {
        self.driver.run(self.client.consume_receipt(id, action_digest, value))
    }

    /// Revokes a receipt; see [`crate::Client::revoke_receipt`].
    pub fn revoke_receipt(&self, id: ReceiptId, reason: Option<&str>) -> Result<ReceiptView, CallError> {
        self.driver.run(self.client.revoke_receipt(id, reason))
    }

    /// Follows the events of an agent's intents; see [`crate::Client::subscribe`].
    pub fn subscribe(&self, agent: &str, place: Option<&str>) -> Result<Subscription, CallError> {
        let subscription = self.driver.run(self.client.subscribe(agent, place))?;
        Ok(Subscription { driver: self.driver.clone(), subscription })
    }

    /// Reads the server's public configuration, which has the server's default retry policy.
    pub fn server_config(&self) -> Result<ServerConfigView, CallError> {
        self.driver.run(self.client.server_config())
    }
}

/// A question that was asked, from [`Client::ask`] or [`Client::pending`].
///
/// Dropping it changes nothing; see [`crate::Pending`].
pub struct Pending<T> {
    driver: Arc<Driver>,
    pending: crate::Pending<T>,
}

impl<T: Send> Pending<T> {
    /// The id of the question: a capability, not for logs.
    pub fn suspension_id(&self) -> SuspensionId {
        self.pending.suspension_id()
    }

    /// The question as the server last sent it.
    pub fn record(&self) -> &SuspensionRecord {
        self.pending.record()
    }

    /// Waits for the end; see [`crate::Pending::answer`].
    pub fn answer(&mut self) -> Result<Answer<T>, RequestInputError> {
        self.driver.run(self.pending.answer())
    }

    /// Waits for the end, but no longer than `time`. `None` means that the question is still open, and this can be called again.
    pub fn answer_within(&mut self, time: Duration) -> Option<Result<Answer<T>, RequestInputError>> {
        // The timer is made inside the call, because it needs the runtime that runs it.
        self.driver.run(async { timeout(time, self.pending.answer()).await.ok() })
    }

    /// Takes the question back; see [`crate::Client::cancel`].
    pub fn cancel(&mut self, reason: Option<&str>) -> Result<(), CallError> {
        self.driver.run(self.pending.cancel(reason))
    }
}

/// An intent, with the client for its server.
#[derive(Clone)]
pub struct Intent {
    client: Client,
    intent: crate::Intent,
}

impl Intent {
    /// The id of the intent.
    pub fn id(&self) -> IntentId {
        self.intent.id()
    }

    /// The intent as it was last read; see [`refresh`](Intent::refresh).
    pub fn view(&self) -> &IntentView {
        self.intent.view()
    }

    /// Reads the intent again.
    pub fn refresh(&mut self) -> Result<&IntentView, CallError> {
        self.client.driver.run(self.intent.refresh())
    }

    /// Asks a person and waits; see [`Client::request_input`].
    pub fn request_input<T: Send>(&self, question: Question<T>) -> Result<Answer<T>, RequestInputError> {
        self.client.request_input(self.id(), question)
    }

    /// Decides whether to ask at all; see [`Client::should_request_input`].
    pub fn should_request_input(&self, signals: EngagementSignals) -> Result<Engagement, CallError> {
        self.client.should_request_input(self.id(), signals)
    }

    /// Changes the status of the intent; see [`Client::set_status`].
    pub fn set_status(&mut self, status: Status, reason: Option<&str>) -> Result<(), CallError> {
        self.client.driver.run(self.intent.set_status(status, reason))
    }

    /// The events of the intent, oldest first; see [`Client::events`].
    pub fn events(&self) -> Result<Vec<EventView>, CallError> {
        self.client.events(self.id())
    }

    /// Assigns an agent; see [`crate::Intent::assign`].
    pub fn assign(&self, agent: &str, role: Option<&str>) -> Result<AssignmentView, CallError> {
        self.client.driver.run(self.intent.assign(agent, role))
    }

    /// The agents that are assigned; see [`crate::Intent::assignments`].
    pub fn assignments(&self) -> Result<Vec<AssignmentView>, CallError> {
        self.client.driver.run(self.intent.assignments())
    }

    /// Takes an agent off the intent; see [`crate::Intent::unassign`].
    pub fn unassign(&self, agent: &str) -> Result<(), CallError> {
        self.client.driver.run(self.intent.unassign(agent))
    }

    /// Takes a lease on a part of the state; see [`crate::Intent::lease`].
    pub fn lease(&self, scope: &str, duration: Duration) -> Result<Lease, CallError> {
        let lease = self.client.driver.run(self.intent.lease(scope, duration))?;
        Ok(Lease { driver: self.client.driver.clone(), lease })
    }

    /// The leases that were not given back; see [`crate::Intent::leases`].
    pub fn leases(&self) -> Result<Vec<Lease>, CallError> {
        let leases = self.client.driver.run(self.intent.leases())?;
        Ok(leases.into_iter().map(|lease| Lease { driver: self.client.driver.clone(), lease }).collect())
    }

    /// Follows the events of the intent; see [`crate::Intent::subscribe`].
    pub fn subscribe(&self, place: Option<&str>) -> Result<Subscription, CallError> {
        let subscription = self.client.driver.run(self.intent.subscribe(place))?;
        Ok(Subscription { driver: self.client.driver.clone(), subscription })
    }

    /// Follows all events of the intent; see [`crate::Intent::follow_log`].
    pub fn follow_log(&self, place: Option<&str>) -> Result<Subscription, CallError> {
        let subscription = self.client.driver.run(self.intent.follow_log(place))?;
        Ok(Subscription { driver: self.client.driver.clone(), subscription })
    }

    /// The policy in force; see [`crate::Intent::policy`].
    pub fn policy(&self) -> Result<Policy, CallError> {
        self.client.driver.run(self.intent.policy())
    }

    /// Sets the policy; see [`crate::Intent::set_policy`].
    pub fn set_policy(&mut self, policy: &Policy) -> Result<(), CallError> {
        self.client.driver.run(self.intent.set_policy(policy))
    }

    /// Removes the policy; see [`crate::Intent::remove_policy`].
    pub fn remove_policy(&mut self) -> Result<(), CallError> {
        self.client.driver.run(self.intent.remove_policy())
    }

    /// Asks people to approve an action, and waits; see [`crate::Intent::request_approval`].
    pub fn request_approval(&self, approval: Approval) -> Result<Answer<bool>, RequestInputError> {
        self.client.driver.run(self.intent.request_approval(approval))
    }

    /// Asks people to approve an action, without waiting yet; see [`crate::Intent::ask_approval`].
    pub fn ask_approval(&self, approval: Approval) -> Result<Pending<bool>, RequestInputError> {
        let pending = self.client.driver.run(self.intent.ask_approval(approval))?;
        Ok(Pending { driver: self.client.driver.clone(), pending })
    }
}

/// A lease, from [`Intent::lease`] or [`Intent::leases`]. Dropping it does not give it back; see [`crate::Lease`].
#[must_use = "a lease that is dropped is held until its time runs out; `release` gives it back"]
#[derive(Clone)]
pub struct Lease {
    driver: Arc<Driver>,
    lease: crate::Lease,
}

impl Lease {
    /// The lease as the server last sent it.
    pub fn view(&self) -> &LeaseView {
        self.lease.view()
    }

    /// Holds the lease for `duration` from now on; see [`crate::Lease::renew`].
    pub fn renew(&mut self, duration: Duration) -> Result<(), CallError> {
        self.driver.run(self.lease.renew(duration))
    }

    /// Gives the lease back; see [`crate::Lease::release`].
    pub fn release(self) -> Result<(), CallError> {
        self.driver.run(self.lease.release())
    }
}

/// An intent to be created, from [`Client::create_intent`].
#[must_use = "nothing is created before send"]
pub struct CreateIntent<'a> {
    client: &'a Client,
    intent: crate::CreateIntent<'a>,
}

impl CreateIntent<'_> {
    /// Sets the description of the intent.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.intent = self.intent.description(description);
        self
    }

    /// Sets one entry of the intent's state.
    pub fn state(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.intent = self.intent.state(key, value);
        self
    }

    /// Creates the intent as `active`; see [`crate::CreateIntent::active`].
    pub fn active(mut self) -> Self {
        self.intent = self.intent.active();
        self
    }

    /// Sets the rules for the work on the intent; see [`crate::CreateIntent::policy`].
    pub fn policy(mut self, policy: &Policy) -> Self {
        self.intent = self.intent.policy(policy);
        self
    }

    /// Makes the creation safe to repeat; see [`crate::CreateIntent::idempotency_key`].
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.intent = self.intent.idempotency_key(key);
        self
    }

    /// Creates the intent.
    pub fn send(self) -> Result<Intent, CallError> {
        let intent = self.client.driver.run(self.intent.send())?;
        Ok(Intent { client: self.client.clone(), intent })
    }
}

/// Events of one intent or of one agent as they happen, from [`Intent::subscribe`] or [`Client::subscribe`]; see
/// [`crate::Subscription`].
pub struct Subscription {
    driver: Arc<Driver>,
    subscription: crate::Subscription,
}

impl Subscription {
    /// Waits for the next event; see [`crate::Subscription::next`].
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator can end, and this cannot; the name is that of the other client"
    )]
    pub fn next(&mut self) -> Result<Streamed, CallError> {
        self.driver.run(self.subscription.next())
    }

    /// Waits for the next event, but no longer than `time`. `None` means that none came, and this can be called again.
    pub fn next_within(&mut self, time: Duration) -> Option<Result<Streamed, CallError>> {
        self.driver.run(async { timeout(time, self.subscription.next()).await.ok() })
    }

    /// The place in the stream right after the event that `next` returned last; see [`crate::Subscription::place`].
    pub fn place(&self) -> Option<&str> {
        self.subscription.place()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}

impl fmt::Debug for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.intent.fmt(f)
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lease.fmt(f)
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.subscription.fmt(f)
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pending.fmt(f)
    }
}
