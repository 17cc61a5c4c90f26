//! Legal holds over HTTP.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::HoldId;
use crate::people::hold::{Hold, HoldScope};

/// `POST /api/v1/holds`. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceHoldRequest {
    /// The part of the log that the hold covers: `{"kind": "everything"}`, or `agent` or `intent` with an `id`.
    pub scope: HoldScope,
    /// The reason, 1 to 2,000 characters.
    #[schema(min_length = 1, max_length = 2_000, examples("Litigation 2026-7"))]
    pub reason: String,
}

/// A legal hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HoldView {
    /// Its id.
    pub id: HoldId,
    /// The part of the log that it covers.
    pub scope: HoldScope,
    /// The reason for which it was placed.
    pub reason: String,
    /// The name of the key that placed it.
    pub placed_by: String,
    /// When it was placed.
    #[serde(with = "crate::base::time::z")]
    pub placed_at: DateTime<Utc>,
}

/// A legal hold that was lifted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HoldLifted {
    /// The hold, as it was.
    pub hold: HoldView,
    /// The reason for which it was lifted.
    pub reason: String,
}

/// The legal holds that are in force, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HoldList {
    /// The holds.
    pub holds: Vec<HoldView>,
}

impl From<Hold> for HoldView {
    fn from(hold: Hold) -> Self {
        let Hold { id, scope, reason, placed_by, placed_at } = hold;
        Self { id, scope, reason, placed_by, placed_at }
    }
}
