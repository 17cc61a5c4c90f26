//! The status of an intent, and its transitions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The lifecycle of an intent (RFC-0001, RFC-0025 §2); other protocols' states never appear here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Being written.
    #[default]
    Draft,
    /// Being worked on.
    Active,
    /// Waiting for something that is not a person.
    Blocked,
    /// Waiting for a person (RFC-0025 §2).
    SuspendedAwaitingInput,
    /// Done.
    Completed,
    /// Given up.
    Abandoned,
}

impl Status {
    /// All statuses, for parsing and for stores.
    pub const ALL: [Self; 6] =
        [Self::Draft, Self::Active, Self::Blocked, Self::SuspendedAwaitingInput, Self::Completed, Self::Abandoned];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Active => "active",
            Self::Blocked => "blocked",
            Self::SuspendedAwaitingInput => "suspended_awaiting_input",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }

    /// The status with this name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether no status follows it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Abandoned)
    }

    pub(super) fn may_become(self, next: Self) -> bool {
        match self {
            Self::Draft | Self::Blocked | Self::SuspendedAwaitingInput => matches!(next, Self::Active | Self::Abandoned),
            Self::Active => matches!(next, Self::Blocked | Self::Completed | Self::Abandoned),
            Self::Completed | Self::Abandoned => false,
        }
    }
}
