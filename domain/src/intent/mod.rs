//! An intent, and everything that may happen to it: `decide` returns the events that a command causes, and `evolve` applies them.

mod agents;
pub mod answer;
pub mod assignment;
pub mod body;
pub mod command;
pub mod decide;
pub mod deliveries;
pub mod event;
pub mod evolve;
mod leases;
mod operator;
pub mod permit;
pub mod record;
pub mod refusal;
pub mod status;
pub mod vocabulary;

use chrono::{DateTime, Utc};

use crate::base::ids::{IntentId, SuspensionId};
use crate::base::name::is_same;
use crate::intent::status::Status;
use crate::people::principal::Principal;
use crate::suspension::lease::Lease;
use crate::suspension::{Asker, Suspension};

/// The part of an intent that decisions need.
#[derive(Clone, Debug)]
pub struct Intent {
    /// Its id.
    pub id: IntentId,
    /// Its status.
    pub status: Status,
    /// 1 at first; +1 per state patch and per change of status.
    pub version: u32,
    /// The credential that created it.
    pub created_by: Asker,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// The open suspension.
    pub open: Option<Suspension>,
    /// Ended suspensions the command names.
    pub ended: Vec<Suspension>,
    /// Its leases that are not released.
    pub leases: Vec<Lease>,
    /// The agents that are assigned to it, where a command or its caller needs them.
    pub assigned: Vec<String>,
}

impl Intent {
    /// The intent as its first event leaves it.
    pub fn born(id: IntentId, status: Status, created_by: Asker, now: DateTime<Utc>) -> Self {
        Self {
            id,
            status,
            version: 1,
            created_by,
            created_at: now,
            updated_at: now,
            open: None,
            ended: Vec::new(),
            leases: Vec::new(),
            assigned: Vec::new(),
        }
    }

    /// Whether this credential, or another one of its name, created the intent.
    pub fn is_created_by(&self, principal: &Principal) -> bool {
        is_same(&self.created_by.name, &principal.name)
    }

    /// Since when the intent waits for a person.
    pub fn suspended_since(&self) -> Option<DateTime<Utc>> {
        self.open.as_ref().map(|open| open.suspended_at)
    }

    /// The suspension with this id, open or ended.
    pub fn suspension(&self, id: SuspensionId) -> Option<&Suspension> {
        self.open.iter().chain(&self.ended).find(|suspension| suspension.id == id)
    }
}
