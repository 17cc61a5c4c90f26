//! The rows that a list is to show.

use chrono::{DateTime, Utc};
use domain::base::ids::{DeliveryId, IntentId};
use domain::container::task::TaskStatus;
use domain::intent::status::Status;
use domain::suspension::Kind;

/// Which events of an intent to read, newest first.
#[derive(Clone, Debug)]
pub struct EventFilter {
    pub limit: u32,
    pub offset: u32,
    pub event_type: Option<String>,
    pub since: Option<DateTime<Utc>>,
    /// Whether all events are read; otherwise only those that the OpenIntent client knows.
    pub all: bool,
    /// Whether the request is refused if it reaches further back in the log than one request may read; otherwise the events found
    /// by then are returned.
    pub refuse_far: bool,
}

/// Which intents to read, newest first.
#[derive(Clone, Copy, Debug)]
pub struct IntentFilter {
    pub limit: u32,
    pub offset: u32,
    /// Only intents with this status.
    pub status: Option<Status>,
    /// Only intents before this row.
    pub before: Option<i64>,
}

/// Which suspensions to read, newest first.
#[derive(Clone, Debug)]
pub struct SuspensionFilter {
    pub limit: u32,
    /// Only open suspensions.
    pub open: bool,
    /// Only suspensions before this row.
    pub before: Option<i64>,
    /// Only requests of this kind: for approval, escalation or arbitration. They do not stop their intent.
    pub requests: Option<Kind>,
    /// Only requests of these three kinds, about this intent.
    pub beside: Option<IntentId>,
    /// Only the suspension asked under the idempotency key with this hash.
    pub asked_under: Option<[u8; 32]>,
}

/// Which messages about one question to read, in the order of `sequence`.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryFilter {
    pub limit: u32,
    /// Only messages whose `sequence` is larger.
    pub after: i64,
}

/// Which failed messages to read, newest first.
#[derive(Clone, Copy, Debug)]
pub struct FailedFilter {
    pub limit: u32,
    /// Only messages before this one.
    pub before: Option<DeliveryId>,
}

/// Which events of the server's own log to read, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct ServerEventFilter {
    pub limit: u32,
    /// Only those whose `sequence` is larger.
    pub after: u64,
}

/// Which tasks of an intent to list, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskFilter {
    pub status: Option<TaskStatus>,
    pub limit: u32,
    pub offset: u32,
}

/// Which portfolios to read, newest first.
#[derive(Clone, Debug)]
pub struct PortfolioFilter {
    pub limit: u32,
    pub offset: u32,
    /// Only those that this principal created.
    pub created_by: Option<String>,
    /// Only those that this intent is in.
    pub intent: Option<IntentId>,
}

/// Which subscriptions to read, newest first.
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionFilter {
    pub limit: u32,
    pub offset: u32,
    /// Only those to this intent.
    pub intent: Option<IntentId>,
}

/// Which checkpoints are wanted.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointFilter {
    /// The newest checkpoint with events of this intent; without it, checkpoints of the tree over all events.
    pub intent: Option<IntentId>,
    /// Only checkpoints with fewer leaves.
    pub before: Option<u64>,
    /// How many.
    pub limit: u32,
}
