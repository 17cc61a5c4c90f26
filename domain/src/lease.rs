//! Who works on what part of an intent (RFC-0003), and what a suspension does to that (RFC-0025 §2).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{IntentId, LeaseId};
use crate::time::seconds;

/// The longest lease, in seconds (one day).
pub const DURATION_SECONDS_MAX: u32 = 86_400;
/// The longest name of a scope, in characters.
pub const SCOPE_MAX: usize = 200;

/// Where a lease stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeaseStatus {
    /// Held.
    Active,
    /// Given back.
    Released,
    /// Its time ran out.
    Expired,
}

/// A lease, as stored and as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lease {
    /// Its id.
    pub id: LeaseId,
    /// The intent.
    pub intent_id: IntentId,
    /// The holder.
    pub agent_id: String,
    /// The part of the intent's state it covers: a top-level key.
    pub scope: String,
    /// Where it stands.
    pub status: LeaseStatus,
    /// When it was taken.
    #[serde(with = "crate::time::naive_form")]
    pub acquired_at: DateTime<Utc>,
    /// The same time, under the name the OpenIntent client reads.
    #[serde(with = "crate::time::naive_form")]
    pub created_at: DateTime<Utc>,
    /// When it runs out; while the intent is suspended it does not.
    #[serde(with = "crate::time::naive_form")]
    pub expires_at: DateTime<Utc>,
    /// When it was given back.
    #[serde(with = "crate::time::naive_option")]
    pub released_at: Option<DateTime<Utc>>,
    /// How long it was asked for, in seconds; a suspension's end gives it this long again.
    pub duration_seconds: u32,
}

impl Lease {
    /// Whether it binds others at `now`. A lease that was held when the intent was suspended does not run out until the suspension
    /// ends (RFC-0025 §2); one that had run out before stays so, or two agents could come to hold one scope.
    pub fn holds(&self, now: DateTime<Utc>, suspended_at: Option<DateTime<Utc>>) -> bool {
        let counts = suspended_at.map_or(now, |at| at.min(now));
        self.status == LeaseStatus::Active && counts < self.expires_at
    }

    /// Keeps the holder's claim alive over a suspension that began at `suspended_at` and ends at `now`.
    pub fn outlive_suspension(&mut self, suspended_at: DateTime<Utc>, now: DateTime<Utc>) {
        if self.holds(now, Some(suspended_at)) {
            self.expires_at = self.expires_at.max(now + seconds(self.duration_seconds));
        }
    }

    /// The lease as it reads at `now`: one whose time ran out says so.
    #[must_use]
    pub fn seen_at(mut self, now: DateTime<Utc>, suspended_at: Option<DateTime<Utc>>) -> Self {
        if self.status == LeaseStatus::Active && !self.holds(now, suspended_at) {
            self.status = LeaseStatus::Expired;
        }
        self
    }
}
