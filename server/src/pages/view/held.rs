//! How long content is kept: legal holds and retention, in the words of the audit pages.

use chrono::{DateTime, TimeDelta, Utc};
use domain::people::hold::{Hold, HoldScope};
use store::audit::Erasure;

use super::line;

/// A legal hold that is in force.
#[derive(Debug)]
pub(in crate::pages) struct Held {
    pub(in crate::pages) scope: HoldScope,
    pub(in crate::pages) reason: String,
    pub(in crate::pages) by: String,
    pub(in crate::pages) at: DateTime<Utc>,
}

impl Held {
    pub(in crate::pages) fn of(hold: Hold) -> Self {
        Self { scope: hold.scope, reason: line(&hold.reason), by: line(&hold.placed_by), at: hold.placed_at }
    }
}

/// An erasure of content.
#[derive(Debug)]
pub(in crate::pages) struct Erased {
    pub(in crate::pages) by: String,
    pub(in crate::pages) at: DateTime<Utc>,
    pub(in crate::pages) legal_basis: String,
}

impl Erased {
    pub(in crate::pages) fn of(erasure: &Erasure) -> Self {
        Self { by: line(&erasure.by), at: erasure.at, legal_basis: line(&erasure.legal_basis) }
    }
}

/// How long the content of one intent is kept, apart from legal holds.
#[derive(Debug)]
pub(in crate::pages) enum Keeping {
    /// It was erased.
    Erased,
    /// Until an admin erases it.
    UntilErased,
    /// Until some days after the last event, once the intent has ended.
    Days(i64),
    /// Until this time.
    Until(DateTime<Utc>),
}

impl Keeping {
    /// `ended_at` is the time of the last event of an intent that has ended.
    pub(in crate::pages) fn of(retention: Option<TimeDelta>, ended_at: Option<DateTime<Utc>>, is_erased: bool) -> Self {
        match (retention, ended_at) {
            _ if is_erased => Self::Erased,
            (None, _) => Self::UntilErased,
            (Some(kept), None) => Self::Days(kept.num_days()),
            (Some(kept), Some(at)) => at.checked_add_signed(kept).map_or(Self::UntilErased, Self::Until),
        }
    }
}
