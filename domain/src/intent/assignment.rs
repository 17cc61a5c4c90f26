//! Agents that work on an intent beside its creator (RFC-0003).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The type of the events that assign agents.
pub const ASSIGNED: &str = "agent_assigned";
/// The type of the events that take agents off.
pub const UNASSIGNED: &str = "agent_unassigned";
/// The most agents that are assigned to one intent.
pub const ASSIGNED_MAX: usize = 100;

/// An agent that is assigned; also the payload of its event, so a member never changes its name or its form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assigned {
    /// The agent. A key may act for it if this is the key's name or subject, or a name below the key's name (`name/…`).
    pub agent_id: String,
    /// The part that it plays, in the words of the agent that assigned it.
    pub role: String,
    /// The agent that hands its work on. The key that wrote the event acts for it, or a retry policy handed its work over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated_by: Option<String>,
    /// Data for the agent that is assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Map<String, Value>>,
}

/// An agent that is taken off an intent; also the payload of its event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unassigned {
    /// The agent.
    pub agent_id: String,
}

/// A key whose name and subject differ. An agent that was assigned by its subject may hold leases under the name and the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// The subject.
    pub subject: String,
}

/// A request to assign an agent. An absent member keeps the value that it has in the assignment in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assign {
    /// The agent.
    pub agent_id: String,
    /// The part that it plays; `worker` for a new assignment.
    pub role: Option<String>,
    /// The agent that hands its work on.
    pub delegated_by: Option<String>,
    /// Data for the agent that is assigned.
    pub payload: Option<Map<String, Value>>,
    /// The assignment in force; the store reads it.
    pub in_force: Option<Assigned>,
}

impl Assign {
    /// The assignment that the request leads to.
    pub(super) fn result(&self) -> Assigned {
        let in_force = self.in_force.as_ref();
        let role = self.role.clone().or_else(|| in_force.map(|assigned| assigned.role.clone()));
        Assigned {
            agent_id: self.agent_id.clone(),
            role: role.unwrap_or_else(|| "worker".to_owned()),
            delegated_by: self.delegated_by.clone().or_else(|| in_force?.delegated_by.clone()),
            payload: self.payload.clone().or_else(|| in_force?.payload.clone()),
        }
    }
}
