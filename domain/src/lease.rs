//! Who works on what part of an intent (RFC-0003), and what a suspension does to that (RFC-0025 §2).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::event::Event;
use crate::ids::{IntentId, LeaseId};
use crate::intent::{Intent, Refusal};
use crate::name::is_same;
use crate::problem::Rejection;
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
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub acquired_at: DateTime<Utc>,
    /// The same time, under the name the OpenIntent client reads.
    #[serde(with = "crate::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub created_at: DateTime<Utc>,
    /// When it runs out; while the intent is suspended it does not.
    #[serde(with = "crate::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub expires_at: DateTime<Utc>,
    /// When it was given back.
    #[serde(with = "crate::time::naive_option")]
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

/// Takes a scope, or prolongs it for who holds it.
pub(crate) fn acquire(
    intent: &Intent,
    id: LeaseId,
    agent_id: &str,
    scope: &str,
    duration_seconds: u32,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    let suspended = intent.suspended_since();
    if let Some(held) = intent.leases.iter().find(|lease| lease.scope == scope && lease.holds(now, suspended)) {
        if !is_same(&held.agent_id, agent_id) {
            return Err(Rejection::LeaseConflict { existing: Box::new(held.clone()) }.into());
        }
        // Asking again for what one holds prolongs it; two grants of one scope never exist.
        return Ok(vec![Event::LeaseRenewed(Box::new(prolonged(held, duration_seconds, now)))]);
    }
    if intent.open.as_ref().is_some_and(|open| !is_same(&open.asked_by.name, agent_id)) {
        return Err(Rejection::LeaseWhileSuspended.into());
    }
    Ok(vec![Event::LeaseAcquired(Box::new(Lease {
        id,
        intent_id: intent.id,
        agent_id: agent_id.to_owned(),
        scope: scope.to_owned(),
        status: LeaseStatus::Active,
        acquired_at: now,
        created_at: now,
        expires_at: now + seconds(duration_seconds),
        released_at: None,
        duration_seconds,
    }))])
}

fn prolonged(lease: &Lease, duration_seconds: u32, now: DateTime<Utc>) -> Lease {
    Lease { expires_at: now + seconds(duration_seconds), duration_seconds, ..lease.clone() }
}

/// Renewal succeeds while the intent is suspended, also when the time ran out meanwhile (RFC-0025 §2).
pub(crate) fn renew(
    intent: &Intent,
    id: LeaseId,
    agent_id: &str,
    duration_seconds: u32,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    let lease = own_lease(intent, id, agent_id)?;
    if !lease.holds(now, intent.suspended_since()) {
        return Err(Rejection::invalid("lease_id", "expired", "the lease has run out; acquire it again").into());
    }
    Ok(vec![Event::LeaseRenewed(Box::new(prolonged(lease, duration_seconds, now)))])
}

/// Gives a lease back.
pub(crate) fn release(intent: &Intent, id: LeaseId, agent_id: &str, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let lease = own_lease(intent, id, agent_id)?;
    Ok(vec![Event::LeaseReleased(Box::new(Lease { status: LeaseStatus::Released, released_at: Some(now), ..lease.clone() }))])
}

fn own_lease<'a>(intent: &'a Intent, id: LeaseId, agent_id: &str) -> Result<&'a Lease, Rejection> {
    intent.leases.iter().find(|lease| lease.id == id && is_same(&lease.agent_id, agent_id)).ok_or(Rejection::NotFound)
}
