//! Bodies about the agents that work on an intent (RFC-0003).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::IntentId;
use crate::wire::EventView;

/// `POST /api/v1/intents/{id}/agents`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssignAgentRequest {
    /// The agent. A key acts for this agent if this is the key's name or subject, or begins with the key's name and a slash
    /// (`name/…`).
    #[schema(min_length = 1, max_length = 200, examples("refund-worker"))]
    pub agent_id: String,
    /// The part that it plays. If this is absent, the part is `worker`, or stays as it is for an agent that is assigned already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub role: Option<String>,
}

/// An agent that is assigned to an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssignmentView {
    /// Its id.
    pub id: String,
    /// The intent.
    pub intent_id: IntentId,
    /// The agent.
    pub agent_id: String,
    /// The part that it plays.
    pub role: String,
    /// The name of the credential that assigned it.
    pub assigned_by: String,
    /// When it was assigned, naive UTC.
    pub assigned_at: String,
}

/// The agents that are assigned to an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssignmentList {
    /// Ordered by the time of each agent's newest assignment, the earliest first.
    pub agents: Vec<AssignmentView>,
}

/// The reply to taking an agent off an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentUnassigned {
    /// A confirmation.
    pub message: String,
}

impl AssignmentView {
    /// The assignment that an event of the type `agent_assigned` records; `None` if the event is not in that form.
    pub fn of(event: EventView) -> Option<Self> {
        let EventView { id, intent_id, actor, payload, created_at, .. } = event;
        let word = |name: &str| payload.get(name)?.as_str().map(str::to_owned);
        let (agent_id, role) = (word("agent_id")?, word("role")?);
        Some(Self { id, intent_id, agent_id, role, assigned_by: actor, assigned_at: created_at })
    }
}
