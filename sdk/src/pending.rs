//! A question that was asked, and the wait for its end.

use std::fmt;
use std::time::Duration;

use domain::ids::SuspensionId;
use domain::wire::SuspensionRecord;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::answer::{Answer, outcome};
use crate::client::Client;
use crate::error::{CallError, RequestInputError};

/// How long one request waits on the server, in seconds; the most it allows.
pub(crate) const WAIT_SECONDS: u32 = 50;
/// The least time between two requests, when the server does not wait.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// A question that was asked, from [`Client::ask`].
///
/// Dropping it changes nothing: the question stays open, people can answer it, and asking again finds it.
pub struct Pending<T> {
    client: Client,
    record: SuspensionRecord,
    read: fn(&Value) -> Result<T, String>,
    replayed: bool,
}

impl<T> Pending<T> {
    pub(crate) fn new(client: Client, record: SuspensionRecord, read: fn(&Value) -> Result<T, String>) -> Self {
        let replayed = record.resolution.is_some();
        Self { client, record, read, replayed }
    }

    /// The id of the question: a capability, not for logs.
    pub fn suspension_id(&self) -> SuspensionId {
        self.record.id
    }

    /// The question as the server last told it, with its deadline, its recipients and the server's warnings.
    pub fn record(&self) -> &SuspensionRecord {
        &self.record
    }

    /// Waits for the end, through restarts of the server and broken connections.
    ///
    /// Dropping the future is safe: call this again, or ask again.
    pub async fn answer(&mut self) -> Result<Answer<T>, RequestInputError> {
        loop {
            if let Some(outcome) = outcome(&self.record, self.read, self.replayed) {
                return outcome;
            }
            let asked_at = Instant::now();
            self.record = self.client.wait(self.record.id).await?;
            if self.record.resolution.is_none() {
                sleep(POLL_INTERVAL.saturating_sub(asked_at.elapsed())).await;
            }
        }
    }

    /// Takes the question back; see [`Client::cancel`].
    pub async fn cancel(&mut self, reason: Option<&str>) -> Result<(), CallError> {
        self.record = self.client.cancel(self.record.id, reason).await?;
        Ok(())
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("intent_id", &self.record.intent_id)
            .field("resolution", &self.record.resolution)
            .finish_non_exhaustive()
    }
}
