//! A question that was asked, and the wait for its end.

use std::fmt;
use std::time::Duration;

use domain::base::ids::SuspensionId;
use domain::wire::SuspensionRecord;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tracing::Instrument;

use crate::answer::{Answer, outcome};
use crate::client::Client;
use crate::error::{CallError, RequestInputError};
use crate::many::Turns;
use crate::transport::Patience;

/// How long one request waits on the server, in seconds: the most that the server allows.
pub(crate) const WAIT_SECONDS: u32 = 50;
/// The least time between two requests, for a server that replies at once instead of waiting.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How long the wait goes on after a question's deadline while the server is away. If the server is repaired in this time, the
/// agent still gets the answer.
const GRACE: Duration = Duration::from_mins(15);

/// A question that was asked, from [`Client::ask`] or [`Client::pending`].
///
/// Dropping it changes nothing: the question stays open, people can answer it, and asking again finds it. Only
/// [`cancel`](Pending::cancel) takes the question back.
pub struct Pending<T> {
    client: Client,
    record: SuspensionRecord,
    read: fn(&Value) -> Result<T, String>,
    replayed: bool,
    asked_at: Instant,
    /// The turns that the question takes with others, if `request_many` asked it.
    turns: Option<Turns>,
    /// Whether the hooks for the ending were called.
    told: bool,
}

impl<T> Pending<T> {
    pub(crate) fn new(client: Client, record: SuspensionRecord, read: fn(&Value) -> Result<T, String>) -> Self {
        let replayed = record.resolution.is_some();
        Self { client, record, read, replayed, asked_at: Instant::now(), turns: None, told: false }
    }

    /// The same question, which waits in turn with others.
    pub(crate) fn in_turn(self, turns: Turns) -> Self {
        Self { turns: Some(turns), ..self }
    }

    /// The id of the question: a capability, not for logs.
    pub fn suspension_id(&self) -> SuspensionId {
        self.record.id
    }

    /// The question as the server last sent it, with its deadline, its recipients and the server's warnings.
    pub fn record(&self) -> &SuspensionRecord {
        &self.record
    }

    /// Waits for the end, through restarts of the server and broken connections.
    ///
    /// Dropping the future is safe: call this again, or ask again. Once the question has ended, this returns at once, with the
    /// same result every time.
    ///
    /// # Errors
    ///
    /// See [`RequestInputError`]. After `Transport` and `AccessLost` the question may still be open, and this can be called
    /// again.
    pub async fn answer(&mut self) -> Result<Answer<T>, RequestInputError> {
        let span = tracing::info_span!("placet.wait", intent.id = %self.record.intent_id);
        Box::pin(self.wait()).instrument(span).await
    }

    async fn wait(&mut self) -> Result<Answer<T>, RequestInputError> {
        loop {
            if let Some(outcome) = outcome(&self.record, self.read, self.replayed) {
                // There is no await between the hooks and the return: if the future is dropped before this, the hooks have not
                // been called.
                if !std::mem::replace(&mut self.told, true) {
                    self.client.hooks().ended(&self.record, self.replayed);
                }
                return outcome;
            }
            let (newer, sent_at) = self.look().await?;
            let unchanged = newer.version <= self.record.version;
            let asked_again = newer.attempt > self.record.attempt && newer.resolution.is_none();
            self.record = newer;
            if asked_again {
                self.client.hooks().requested_again(&self.record);
            }
            if unchanged && self.record.resolution.is_none() {
                sleep(POLL_INTERVAL.saturating_sub(sent_at.elapsed())).await;
            }
        }
    }

    /// Waits until the question has changed, or until the server has waited long enough; returns the question and the time at
    /// which the server was asked.
    async fn look(&self) -> Result<(SuspensionRecord, Instant), RequestInputError> {
        let (_place, wait_seconds) = match &self.turns {
            Some(turns) => (turns.place().await, turns.wait_seconds),
            None => (None, WAIT_SECONDS),
        };
        let sent_at = Instant::now();
        let patience = patience(&self.record, self.asked_at);
        let newer = self.client.wait(&self.record, wait_seconds, patience).await.map_err(|error| self.lost(error))?;
        Ok((newer, sent_at))
    }

    fn lost(&self, error: CallError) -> RequestInputError {
        match error {
            CallError::Refused(problem) if matches!(problem.status, 401 | 403) => {
                RequestInputError::AccessLost { problem, suspension_id: self.record.id }
            }
            // A refusal because of too many waits tells nothing about the question, which stays open.
            CallError::Refused(_) | CallError::Transport(_) => error.or_unavailable().into(),
        }
    }

    /// Takes the question back; see [`Client::cancel`]. A program that waits for it then learns that it was withdrawn.
    pub async fn cancel(&mut self, reason: Option<&str>) -> Result<(), CallError> {
        self.record = self.client.cancel(self.record.id, reason).await?;
        Ok(())
    }
}

/// How long the wait goes on while the server is away: until [`GRACE`] after the question's deadline. The time to the deadline is
/// counted from `asked_at`, when this program asked. A question without a deadline waits for ever, and so does its agent.
fn patience(record: &SuspensionRecord, asked_at: Instant) -> Patience {
    let Some(expires_at) = record.expires_at else { return Patience::Endless };
    let window = (expires_at - record.suspended_at).to_std().unwrap_or_default();
    asked_at.checked_add(window.saturating_add(GRACE)).map_or(Patience::Endless, Patience::Until)
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("intent_id", &self.record.intent_id)
            .field("resolution", &self.record.resolution)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A question that was asked at eight and is open until `expires_at`.
    fn record(expires_at: Option<&str>) -> SuspensionRecord {
        let id = "0190a6c0-0000-7000-8000-000000000001";
        let record = json!({
            "id": id, "intent_id": id, "kind": "awaiting_input", "version": 1, "attempt": 1, "question": "Go?",
            "response_type": "text", "choices": [], "context": {}, "notify_to": [], "suspended_at": "2026-11-21T08:00:00Z",
            "expires_at": expires_at, "fallback_policy": "fail", "reached": true, "responded_at": null, "resolved_at": null,
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn an_agent_is_patient_until_a_while_after_the_deadline() {
        let asked_at = Instant::now();
        let hour = patience(&record(Some("2026-11-21T09:00:00Z")), asked_at);
        assert_eq!(hour, Patience::Until(asked_at + Duration::from_hours(1) + GRACE));
        // An extension of the deadline moves the end of the patience, too.
        let two_hours = patience(&record(Some("2026-11-21T10:00:00Z")), asked_at);
        assert_eq!(two_hours, Patience::Until(asked_at + Duration::from_hours(2) + GRACE));
        assert_eq!(patience(&record(None), asked_at), Patience::Endless);
    }
}
