//! Callbacks with which a program watches the work of its client.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::asking::engagement::EngagementDecision;
use domain::base::ids::IntentId;
use domain::wire::{StopRecord, SuspensionRecord};
use serde_json::Value;
use tokio::time::Instant;

use crate::answer::{Answer, outcome};
use crate::error::{CancelReason, RequestInputError, TimeoutReason, TransportError};

/// Callbacks for events of an agent's questions (RFC-0025 §9.3) and of the connection; each does nothing unless it is
/// implemented.
///
/// [`ClientBuilder::hooks`](crate::ClientBuilder::hooks) registers them. They are plain functions, called one after the other, in
/// the order of their registration, by the task that makes the call. They are not `async` on purpose: if they were, the future
/// could be dropped after a hook was called and before the caller got the result. So a hook returns at once, and sends slow work
/// through a channel to a task of the program's own. A slow hook delays the call that runs it. A hook must not call a blocking
/// client.
///
/// A hook that panics is logged and otherwise ignored: the answer and the other hooks are not lost.
///
/// # How often
///
/// Each [`ask`](crate::Client::ask) or [`request_input`](crate::Client::request_input) that the server accepted calls
/// `on_input_requested` once; [`pending`](crate::Client::pending) asks no person and calls no hook. The wait that follows each of
/// these calls runs `on_input_requested` again whenever it sees that people were asked again. At the end it calls exactly one of
/// `on_input_received`, `on_suspension_expired` and `on_suspension_cancelled`, right before the answer is returned: once for each
/// [`Pending`](crate::Pending), however often its answer is taken. Two waits for one question each call the hooks, and a program
/// that crashes, or drops its future, gets the calls again when it asks again; so the calls come *at least once*. A program that
/// counts must count by `record.id`.
///
/// If no wait sees the end, no hook is called for it, not even by [`cancel`](crate::Client::cancel). No hook is called either for
/// a record that says that a person answered, but does not name the person; the wait only returns the error
/// [`InvalidAnswer`](crate::RequestInputError::InvalidAnswer).
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
#[expect(unused_variables, reason = "the documentation shows the parameters of a hook without underscores")]
pub trait Hooks: Send + Sync + 'static {
    /// The server has recorded the question; people are being asked (RFC-0025 §9.3).
    ///
    /// `reattached` means that the question was on record before: an earlier call asked it, or an earlier try of this call whose
    /// reply was lost. The question may have ended already.
    ///
    /// During the wait the hook is called for each further attempt to reach people, with `reattached` true. The context then has
    /// `_attempt`, the number of the attempt from 1, `_max_attempts`, and `_notify_to`, the list of the people asked (RFC-0026
    /// §4.5). Several attempts between two requests to the server lead to one call, and to none if the question ended in between.
    fn on_input_requested(&self, record: &SuspensionRecord, reattached: bool) {}

    /// A person answered (RFC-0025 §9.3); `answer` has the fields of the RFC's `InputResponse` (§10).
    ///
    /// It is called whether or not the answer fits the type that the question asked for.
    fn on_input_received(&self, record: &SuspensionRecord, answer: &Answer<Value>) {}

    /// The question ended without an answer (RFC-0025 §9.3): people did not answer until the deadline, or no person could be
    /// reached.
    fn on_suspension_expired(&self, record: &SuspensionRecord, expiry: Expiry<'_>) {}

    /// The question was taken back before a person answered. The RFC has no hook for this; without it a program that counts open
    /// questions would never see this one end.
    fn on_suspension_cancelled(&self, record: &SuspensionRecord, reason: CancelReason) {}

    /// The engagement decision is made and on record, and [`should_request_input`](crate::Client::should_request_input) returns
    /// (RFC-0025 §9.3).
    fn on_engagement_decision(&self, intent_id: IntentId, decision: &EngagementDecision) {}

    /// The work of the agent is paused, parked or being ended, and [`between_steps`](crate::Client::between_steps) has seen it. If it is
    /// paused, the agent has not told the server yet that it has stopped.
    fn on_stopped(&self, record: &StopRecord) {}

    /// A stop that `between_steps` has seen has ended: the work goes on, or the intent was abandoned.
    fn on_stop_ended(&self, record: &StopRecord) {}

    /// The server could not be reached, or answered 502, 503 or 504; this includes a program's very first call.
    ///
    /// It is called once per outage, however many calls fail. Calls that are safe to repeat go on trying for as long as their
    /// client allows, so the only thing to do is to tell a person.
    fn on_connection_lost(&self, error: &TransportError) {}

    /// The server answers again, perhaps with a refusal, `lost_for` after [`on_connection_lost`](Hooks::on_connection_lost).
    fn on_connection_restored(&self, lost_for: Duration) {}
}

/// The result of a question that ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expiry<'a> {
    /// The question's own fallback is used.
    Fallback(&'a Answer<Value>),
    /// There is no fallback, and the intent is abandoned.
    Failed(TimeoutReason),
}

/// All hooks of one client. `lost_at` is the time at which they were told that the server is away; it is `None` while the server
/// can be reached.
#[derive(Default)]
pub(crate) struct HookList {
    hooks: Vec<Arc<dyn Hooks>>,
    lost_at: Mutex<Option<Instant>>,
}

impl HookList {
    pub(crate) fn new(hooks: Vec<Arc<dyn Hooks>>) -> Self {
        Self { hooks, lost_at: Mutex::new(None) }
    }

    /// Calls every hook, whatever the hooks before it did.
    pub(crate) fn tell(&self, what: impl Fn(&dyn Hooks)) {
        for hooks in &self.hooks {
            // The panic may leave the hook's own state broken; that is the hook's own affair.
            if catch_unwind(AssertUnwindSafe(|| what(hooks.as_ref()))).is_err() {
                tracing::error!("a hook panicked; the call that ran the hook goes on");
            }
        }
    }

    /// Reports that people are asked.
    pub(crate) fn requested(&self, record: &SuspensionRecord, reattached: bool) {
        self.tell(|hooks| hooks.on_input_requested(record, reattached));
    }

    /// Reports that people are asked again; the context has the number of attempts and the people (RFC-0026 §4.5).
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

    /// Reports how a question ended; does nothing while it is open.
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
            // A record that does not name the person proves nothing, so only the error is reported.
            Some(Err(_)) | None => {}
        }
    }

    /// Reports that the server is away, once per outage. The lock is held while hooks run; otherwise two tasks could report
    /// "back" before "lost".
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
