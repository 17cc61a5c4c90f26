//! Leases: which agent works on which part of an intent (RFC-0003), and the effect of a suspension on them (RFC-0025 §2).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, LeaseId};
use crate::base::time::seconds;

/// The longest lease, in seconds (one day).
pub const DURATION_SECONDS_MAX: u32 = 86_400;
/// The duration of a lease that was requested without one, in seconds.
pub const DURATION_SECONDS_DEFAULT: u32 = 300;
/// The longest name of a scope, in characters.
pub const SCOPE_MAX: usize = 200;

/// The status of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeaseStatus {
    /// The agent holds it.
    Active,
    /// The agent released it.
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
    /// The part of the intent's state that it covers: a top-level key.
    pub scope: String,
    /// The status of the lease.
    pub status: LeaseStatus,
    /// When it was taken.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub acquired_at: DateTime<Utc>,
    /// The same time, under the name the OpenIntent client reads.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub created_at: DateTime<Utc>,
    /// When the lease runs out; it does not run out while the intent is suspended.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub expires_at: DateTime<Utc>,
    /// When it was released.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub released_at: Option<DateTime<Utc>>,
    /// The requested duration, in seconds; the lease gets it again when a suspension ends.
    pub duration_seconds: u32,
}

impl Lease {
    /// Whether the lease binds others at `now`. While the intent is suspended no lease runs out (RFC-0025 §2); a lease that had
    /// run out before stays so.
    pub fn holds(&self, now: DateTime<Utc>, suspended_since: Option<DateTime<Utc>>) -> bool {
        self.status == LeaseStatus::Active && suspended_since.map_or(now, |since| since.min(now)) < self.expires_at
    }

    /// Gives a lease at least its whole duration from `now` on, if it held during the suspension from `since` to `now`.
    pub fn outlive_suspension(&mut self, since: DateTime<Utc>, now: DateTime<Utc>) {
        if self.holds(now, Some(since)) {
            self.expires_at = self.expires_at.max(now + seconds(self.duration_seconds));
        }
    }

    /// The lease as shown at `now`: its status says whether it has run out.
    #[must_use]
    pub fn seen_at(mut self, now: DateTime<Utc>, suspended_since: Option<DateTime<Utc>>) -> Self {
        if self.status == LeaseStatus::Active && !self.holds(now, suspended_since) {
            self.status = LeaseStatus::Expired;
        }
        self
    }
}
