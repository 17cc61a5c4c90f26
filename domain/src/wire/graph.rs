//! Bodies about intents that need each other (RFC-0002).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::IntentId;
use crate::intent::dependency::BlockedReason;
use crate::intent::status::Status;
use crate::wire::{AggregateStatus, IntentView};

/// `POST /api/v1/intents/{id}/dependencies`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AddDependencyRequest {
    /// The intent that must be completed before this one can be active.
    pub dependency_id: String,
}

/// Intents that are related to another one. Only one of the lists is present: the one that has the same name as the last word of
/// the path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RelativesView {
    /// The intents whose parent it is, the oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children: Option<Vec<IntentView>>,
    /// Its children, their children, and so on, the oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descendants: Option<Vec<IntentView>>,
    /// Its parent, the parent's parent, and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ancestors: Option<Vec<IntentView>>,
    /// The intents it waits for, the oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<IntentView>>,
    /// The intents that wait for it, the oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependents: Option<Vec<IntentView>>,
    /// Its children that could be worked on now: drafts and active ones whose dependencies are completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Vec<IntentView>>,
    /// Its children that cannot go on: blocked ones, and others with a dependency that is not completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Vec<IntentView>>,
    /// Whether there are more intents than one reply holds: 1,000, or 8 MiB.
    pub truncated: bool,
}

/// An intent with everything that it needs, directly or through others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphView {
    /// The intent.
    pub root_id: IntentId,
    /// The intents, as far as the caller may read them; the first is the intent itself.
    pub nodes: Vec<GraphNodeView>,
    /// Which of them needs which.
    pub edges: Vec<GraphEdgeView>,
    /// The progress of its descendants.
    pub aggregate_status: AggregateStatus,
    /// Whether there are more intents than one reply holds: 10,000.
    pub truncated: bool,
}

/// One intent of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphNodeView {
    /// Its id.
    pub id: IntentId,
    /// Its title.
    pub title: String,
    /// Its status.
    pub status: Status,
    /// Its parent.
    pub parent_id: Option<IntentId>,
    /// The intents it depends on.
    pub depends_on: Vec<IntentId>,
    /// Those of them that are not completed.
    pub blocked_by: Vec<IntentId>,
    /// Why it is blocked; null unless it is.
    pub blocked_reason: Option<BlockedReason>,
    /// The question for which it waits; null unless it is suspended.
    pub suspension: Option<WaitingView>,
}

/// How long an intent waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingView {
    /// When it began to wait.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub suspended_since: DateTime<Utc>,
    /// When the question ends; null if it has no deadline.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<DateTime<Utc>>,
}

/// Why one intent needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GraphEdgeKind {
    /// `from` is the parent of `to`.
    Parent,
    /// `to` depends on `from`.
    Dependency,
}

/// One intent needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GraphEdgeView {
    /// The parent, or the dependency.
    pub from: IntentId,
    /// The child, or the intent that waits for the dependency.
    pub to: IntentId,
    /// Which of the two.
    #[serde(rename = "type")]
    pub kind: GraphEdgeKind,
}
