//! What a program may watch while its client works.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::asking::engagement::EngagementDecision;
use domain::base::ids::IntentId;
use domain::wire::SuspensionRecord;
use serde_json::Value;
use tokio::time::Instant;

use crate::answer::{Answer, outcome};
use crate::error::{CancelReason, RequestInputError, TimeoutReason, TransportError};

/// Callbacks for what happens to an agent's questions (RFC-0025 §9.3) and to the connection; each does nothing unless it is
/// implemented.
///
/// [`ClientBuilder::hooks`](crate::ClientBuilder::hooks) registers them. They are plain functions, called one after the other, in
/// the order of their registration, by the task that makes the call. Not being `async` is on purpose: what a hook is told and what
/// its caller gets cannot be torn apart by a future that is dropped in between. So a hook returns at once; what takes time goes
/// through a channel to a task of the program's own. A slow hook delays the call that tells it, and may not call a blocking client.
///
/// A hook that panics is logged and otherwise ignored: neither the answer nor the other hooks are lost.
///
/// # How often
///
/// Each [`ask`](crate::Client::ask) or [`request_input`](crate::Client::request_input) that the server accepted tells
/// `on_input_requested` once; [`pending`](crate::Client::pending) asks nobody and tells nothing. Either's wait then tells
/// `on_input_requested` again whenever it sees that people were asked again, and at the end exactly one of `on_input_received`,
/// `on_suspension_expired` and `on_suspension_cancelled`, right before the answer is returned: once for each
/// [`Pending`](crate::Pending), however often its answer is taken. Two waits for one question each tell, and a program that
/// crashes, or drops its future, is told again when it asks again; so it is *at least once*. Who counts, counts by `record.id`.
///
/// An end nobody waits for is not told, also not by [`cancel`](crate::Client::cancel), and neither is a record that says that
/// somebody answered but not who: that one is only the error it is, [`InvalidAnswer`](crate::RequestInputError::InvalidAnswer).
///
/// The record holds the context and the answer, and its id is a capability: none of them is for logs.
///
/// ```
/// use placet::{Answer, Client, Hooks, SuspensionRecord};
/// use serde_json::Value;
///
/// struct Log;
///
/// impl Hooks for Log {
///     fn on_input_requested(&self, record: &SuspensionRecord, reattached: bool) {
///         println!("waiting for a person until {:?}, asked before: {reattached}", record.expires_at);
///     }
///
///     fn on_input_received(&self, _record: &SuspensionRecord, answer: &Answer<Value>) {
///         println!("{:?} answered at {:?}", answer.responded_by, answer.responded_at);
///     }
/// }
///
/// let client = Client::builder("https://placet.example.com", "the-key").hooks(Log).build()?;
/// # Ok::<(), placet::SetupError>(())
/// ```
#[expect(unused_variables, reason = "the documentation shows what a hook is told, without underscores")]
pub trait Hooks: Send + Sync + 'static {
    /// The server has written the question down; people are being asked (RFC-0025 §9.3).
    ///
    /// `reattached` means that it was on record before: an earlier call asked it, or an earlier try of this call whose reply was
    /// lost. It may have ended already.
    ///
    /// While it is waited for, told again for each further attempt to reach people, with `reattached`; the context has `_attempt`, the
    /// number of the attempt from 1, `_max_attempts`, and `_notify_to`, the list of those who are asked, then (RFC-0026 §4.5). Attempts
    /// that pass between two looks are told once, and not at all if the question ended in between.
    fn on_input_requested(&self, record: &SuspensionRecord, reattached: bool) {}

    /// A person answered (RFC-0025 §9.3); `answer` has the fields of the RFC's `InputResponse` (§10).
    ///
    /// Told whether or not the answer fits the type the question asked for.
    fn on_input_received(&self, record: &SuspensionRecord, answer: &Answer<Value>) {}

    /// The question ended without an answer (RFC-0025 §9.3): people kept silent until the deadline, or nobody could be reached.
    fn on_suspension_expired(&self, record: &SuspensionRecord, expiry: Expiry<'_>) {}

    /// The question was taken back before anybody answered. The RFC has no such hook; without it, whoever counts open questions
    /// would never see this one end.
    fn on_suspension_cancelled(&self, record: &SuspensionRecord, reason: CancelReason) {}

    /// The engagement decision is made and on record, and [`should_request_input`](crate::Client::should_request_input) returns
    /// (RFC-0025 §9.3).
    fn on_engagement_decision(&self, intent_id: IntentId, decision: &EngagementDecision) {}

    /// The server could not be reached, or answered 502, 503 or 504; told for a program's very first call, too.
    ///
    /// Told once per outage, however many calls suffer from it. Calls that are safe to repeat go on trying for as long as their
    /// client says, so there is nothing to do but to tell somebody.
    fn on_connection_lost(&self, error: &TransportError) {}

    /// The server answers again, be it with a refusal, `lost_for` after [`on_connection_lost`](Hooks::on_connection_lost).
    fn on_connection_restored(&self, lost_for: Duration) {}
}

/// What comes of a question that ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expiry<'a> {
    /// The question's own fallback stands in.
    Fallback(&'a Answer<Value>),
    /// Nothing stands in, and the intent is abandoned.
    Failed(TimeoutReason),
}

/// All hooks of one client, and whether they know the server to be away.
#[derive(Default)]
pub(crate) struct HookList {
    hooks: Vec<Arc<dyn Hooks>>,
    lost_at: Mutex<Option<Instant>>,
}

impl HookList {
    pub(crate) fn new(hooks: Vec<Arc<dyn Hooks>>) -> Self {
        Self { hooks, lost_at: Mutex::new(None) }
    }

    /// Tells every hook, whatever the ones before it did.
    pub(crate) fn tell(&self, what: impl Fn(&dyn Hooks)) {
        for hooks in &self.hooks {
            // The hook's own state may be torn by its panic; that is the hook's own affair.
            if catch_unwind(AssertUnwindSafe(|| what(hooks.as_ref()))).is_err() {
                tracing::error!("a hook panicked; the call it was told of goes on");
            }
        }
    }

    /// Tells that people are asked.
    pub(crate) fn requested(&self, record: &SuspensionRecord, reattached: bool) {
        self.tell(|hooks| hooks.on_input_requested(record, reattached));
    }

    /// Tells that people are asked again; the context says how often they were, and who they are (RFC-0026 §4.5).
    pub(crate) fn requested_again(&self, record: &SuspensionRecord) {
        if self.hooks.is_empty() {
            return;
        }
        let question = record.clone().into_question();
        let max_attempts = question.retry_policy.as_ref().map_or(record.attempt, |policy| policy.max_attempts);
        let mut told = record.clone();
        told.context.insert("_attempt".to_owned(), record.attempt.into());
        told.context.insert("_max_attempts".to_owned(), max_attempts.into());
        told.context.insert("_notify_to".to_owned(), question.recipients_at(record.attempt).into());
        self.requested(&told, true);
    }

    /// Tells how a question ended; nothing while it is open.
    pub(crate) fn ended(&self, record: &SuspensionRecord, replayed: bool) {
        if self.hooks.is_empty() {
            return;
        }
        match outcome(record, |raw| Ok(raw.clone()), replayed) {
            Some(Ok(answer)) if answer.source.is_human() => self.tell(|hooks| hooks.on_input_received(record, &answer)),
            Some(Ok(answer)) => self.tell(|hooks| hooks.on_suspension_expired(record, Expiry::Fallback(&answer))),
            Some(Err(RequestInputError::InputTimeout { reason, .. })) => {
                self.tell(|hooks| hooks.on_suspension_expired(record, Expiry::Failed(reason)));
            }
            Some(Err(RequestInputError::InputCancelled { reason, .. })) => {
                self.tell(|hooks| hooks.on_suspension_cancelled(record, reason));
            }
            // A record that does not say who answered proves nothing, so there is nothing to tell but the error.
            Some(Err(_)) | None => {}
        }
    }

    /// The lock is held while hooks run, or two tasks could tell "back" before "lost".
    pub(crate) fn connection_lost(&self, error: &TransportError) {
        let mut lost_at = self.lost_at.lock().unwrap_or_else(PoisonError::into_inner);
        if lost_at.is_none() {
            *lost_at = Some(Instant::now());
            self.tell(|hooks| hooks.on_connection_lost(error));
        }
    }

    pub(crate) fn connection_works(&self) {
        let mut lost_at = self.lost_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = lost_at.take() {
            self.tell(|hooks| hooks.on_connection_restored(at.elapsed()));
        }
    }
}
