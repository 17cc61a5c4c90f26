//! The end of a suspension (RFC-0025 §5).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a suspension ended (RFC-0025 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// A person answered.
    Responded,
    /// No one answered in time.
    Expired,
    /// Withdrawn, superseded or undeliverable: [`ResolutionReason`] says which.
    Cancelled,
}

/// The kind of ending behind `cancelled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionReason {
    /// The asker or an admin withdrew the question.
    Withdrawn,
    /// A newer question replaced this one.
    Superseded,
    /// No person could be reached until the deadline.
    Undeliverable,
    /// The server was away, or its clock jumped, while the question was open, and its deadline is fixed.
    TimeLost,
    /// The deadline of a portfolio that the intent is in has passed (RFC-0026 §3, rule 5).
    PortfolioDeadline,
    /// People had answered at the deadline, and not enough of them agreed.
    QuorumUnmet,
}
