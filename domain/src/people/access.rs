//! The permissions of agents on an intent that another agent created and to which they are not assigned (RFC-0011).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::AccessId;
use crate::people::principal::Principal;

/// The permission that an entry gives. Each level includes those before it; none of them permits answering a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Read the intent, its log and its questions.
    Read,
    /// Also work on it, as an assigned agent does, but without assigning agents.
    Write,
    /// Also manage its access control list.
    Admin,
}

impl Permission {
    /// All levels, the lowest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// The name of the level, as requests, events and messages write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

/// An entry of an access control list, as far as decisions need it. A principal has at most one for an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: AccessId,
    /// The agent. A key may act for it if this is the key's name or subject, or a name below the key's name (`name/…`).
    pub principal_id: String,
    /// The agent's permission.
    pub permission: Permission,
    /// When the entry expires.
    pub expires_at: Option<DateTime<Utc>>,
}

impl Entry {
    /// Whether the entry is still in force at `now`.
    pub fn is_in_force(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_none_or(|at| now < at)
    }

    /// Whether it names this principal. Entries give access to agents alone, but the role is not checked here.
    pub fn admits(&self, principal: &Principal) -> bool {
        principal.may_act_for(&self.principal_id)
    }
}
