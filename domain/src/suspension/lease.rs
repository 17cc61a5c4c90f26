//! Who works on what part of an intent (RFC-0003), and what a suspension does to that (RFC-0025 §2).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, LeaseId};
use crate::base::time::seconds;

/// The longest lease, in seconds (one day).
pub const DURATION_SECONDS_MAX: u32 = 86_400;
/// How long a lease lasts that was taken without a time, in seconds.
pub const DURATION_SECONDS_DEFAULT: u32 = 300;
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
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub acquired_at: DateTime<Utc>,
    /// The same time, under the name the OpenIntent client reads.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub created_at: DateTime<Utc>,
    /// When it runs out; while the intent is suspended it does not.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub expires_at: DateTime<Utc>,
    /// When it was given back.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub released_at: Option<DateTime<Utc>>,
    /// How long it was asked for, in seconds; a suspension's end gives it this long again.
    pub duration_seconds: u32,
}

impl Lease {
    /// Whether it binds others at `now`. From the moment the intent is suspended no lease runs out (RFC-0025 §2); one whose time had run
    /// out before stays so.
    pub fn holds(&self, now: DateTime<Utc>, suspended_since: Option<DateTime<Utc>>) -> bool {
        self.status == LeaseStatus::Active && suspended_since.map_or(now, |since| since.min(now)) < self.expires_at
    }

    /// Keeps the holder's claim alive over a suspension that lasted from `since` to `now`.
    pub fn outlive_suspension(&mut self, since: DateTime<Utc>, now: DateTime<Utc>) {
        if self.holds(now, Some(since)) {
            self.expires_at = self.expires_at.max(now + seconds(self.duration_seconds));
        }
    }

    /// The lease as it reads at `now`: one whose time ran out says so.
    #[must_use]
    pub fn seen_at(mut self, now: DateTime<Utc>, suspended_since: Option<DateTime<Utc>>) -> Self {
        if self.status == LeaseStatus::Active && !self.holds(now, suspended_since) {
            self.status = LeaseStatus::Expired;
        }
        self
    }
}
