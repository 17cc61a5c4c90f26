//! The intents on which an intent waits (RFC-0002): their facts, and the payloads of their events.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::IntentId;
use crate::intent::status::Status;
use crate::people::principal::Credential;
use crate::suspension::{Asker, Kind};

/// The type of the events that add a dependency.
pub const ADDED: &str = "dependency_added";
/// The type of the events that remove a dependency.
pub const REMOVED: &str = "dependency_removed";
/// The type of the events that record that a dependency was completed.
pub const MET: &str = "intent.dependency_completed";
/// The most dependencies of one intent.
pub const DEPENDENCIES_MAX: usize = 100;
/// The most intents that a refusal names.
pub const BLOCKING_NAMED_MAX: usize = 100;

/// Why an intent is blocked. An intent is active again only when no reason is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockedReason {
    /// A dependency is not completed.
    Dependencies,
    /// An agent set the status.
    Manual,
    /// The intent is paused.
    Paused,
    /// Its agent parked it.
    Parked,
    /// Its work is being ended.
    Stopping,
}

impl Kind {
    /// The reason for which an intent that is stopped in this way is blocked.
    pub fn blocks_as(self) -> BlockedReason {
        match self {
            Self::Parked => BlockedReason::Parked,
            Self::Stopping => BlockedReason::Stopping,
            Self::Paused | Self::AwaitingInput | Self::Approval | Self::Escalation | Self::Arbitration => BlockedReason::Paused,
        }
    }
}

/// An intent that another one needs, or would need, with the facts by which the server decides whether the dependency may be
/// added or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Its id.
    pub id: IntentId,
    /// Its status.
    pub status: Status,
    /// The dependency as it is; absent if there is none.
    pub edge: Option<Edge>,
    /// If the new dependency would close a circle, the intents on it; each one needs the next one, and the last one is the first.
    pub cycle: Vec<IntentId>,
    /// The credentials that created it, that asked its newest question, or that asked the newest question of an intent that it
    /// needs; loaded for a removal.
    pub askers: Vec<Asker>,
    /// The intent that waits for a person: this one, or one that it needs; absent if none waits. Loaded for a removal.
    pub suspended: Option<IntentId>,
    /// The intent whose last question ended without a person's answer: this one, or one that it needs; absent if there is none.
    /// Loaded for a removal.
    pub unanswered: Option<IntentId>,
}

/// A dependency that waits for a person, and so holds up the work of an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldUp {
    /// The title of the intent that is held up.
    pub title: String,
    /// The dependency.
    pub suspended_intent_id: IntentId,
    /// The time at which its question ends at the latest.
    pub resumes_at: Option<DateTime<Utc>>,
}

/// A dependency that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Whether the intent that waits has recorded that the dependency is completed.
    pub is_met: bool,
}

/// A dependency that was added; the payload of `dependency_added`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyAdded {
    /// The intent that is needed.
    pub dependency_id: IntentId,
    /// Whether it was completed already.
    pub completed: bool,
    /// The credential that added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A dependency that was removed; the payload of `dependency_removed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyRemoved {
    /// The intent that is no longer needed.
    pub dependency_id: IntentId,
    /// Whether the intent that waited had recorded it as completed.
    pub completed: bool,
    /// If this event makes the intent active again, the agents that are assigned to it: their streams say so. Otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The credential that removed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A dependency that was completed; the payload of `intent.dependency_completed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyMet {
    /// The intent that was completed.
    pub dependency_id: IntentId,
    /// If this event makes the intent active again, the agents that are assigned to it: their streams say so. Otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
}

/// A change of the intents for which an intent waits.
#[derive(Clone, Debug)]
pub enum DependencyEvent {
    /// The intent waits for another one from now on, unless that one is completed.
    Added(DependencyAdded),
    /// The intent waits for another one no longer.
    Removed(DependencyRemoved),
    /// An intent for which this one waited was completed.
    Met(DependencyMet),
}

impl DependencyEvent {
    /// The name on the wire.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Added(_) => ADDED,
            Self::Removed(_) => REMOVED,
            Self::Met(_) => MET,
        }
    }

    /// The agents that are told that the intent is active again.
    pub fn agents(&self) -> &[String] {
        match self {
            Self::Added(_) => &[],
            Self::Removed(DependencyRemoved { agents, .. }) | Self::Met(DependencyMet { agents, .. }) => agents,
        }
    }

    /// The number of dependencies that are not completed after this event, if it was `unmet` before.
    pub(super) fn left_of(&self, unmet: u32) -> u32 {
        match self {
            Self::Added(added) => unmet + u32::from(!added.completed),
            Self::Removed(removed) => unmet.saturating_sub(u32::from(!removed.completed)),
            Self::Met(_) => unmet.saturating_sub(1),
        }
    }
}
