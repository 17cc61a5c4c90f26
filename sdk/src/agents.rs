//! The agents that work on an intent beside its creator (RFC-0003).

use domain::wire::{AgentUnassigned, AssignAgentRequest, AssignmentList, AssignmentView};

use crate::backoff::Repeat;
use crate::error::CallError;
use crate::intent::Intent;
use crate::key::fresh_key;
use crate::transport::Call;

impl Intent {
    /// Assigns an agent, by its name of 1 to 200 characters: from now on it may read the intent and work on it. `role` (1 to 200
    /// characters) names the part that the agent plays; without it the role is `worker`. At most 100 agents are assigned.
    /// Assigning an agent again changes its role, or changes nothing if `role` is `None`.
    ///
    /// # Errors
    ///
    /// `Refused` with `governance_violation` if the [policy](Intent::set_policy) allows other agents only.
    pub async fn assign(&self, agent: &str, role: Option<&str>) -> Result<AssignmentView, CallError> {
        let request = AssignAgentRequest { agent_id: agent.to_owned(), role: role.map(str::to_owned) };
        let call = Call::write("/api/v1/intents/{intent_id}/agents", [self.id().to_string()], &request, Repeat::Safe)?;
        self.client.send(call.header("idempotency-key", fresh_key())).await
    }

    /// The agents that are assigned, in the order of their newest assignments.
    pub async fn assignments(&self) -> Result<Vec<AssignmentView>, CallError> {
        let call = Call::read("/api/v1/intents/{intent_id}/agents", [self.id().to_string()]);
        let list: AssignmentList = self.client.send(call).await?;
        Ok(list.agents)
    }

    /// Takes an agent off the intent and releases its leases. A question that it asked stays open.
    ///
    /// # Errors
    ///
    /// `Refused` with `forbidden` unless the key is that of the creator, of an admin, or of the agent itself.
    pub async fn unassign(&self, agent: &str) -> Result<(), CallError> {
        let ids = [self.id().to_string(), agent.to_owned()];
        let call = Call::delete("/api/v1/intents/{intent_id}/agents/{agent_id}", ids);
        let _done: AgentUnassigned = self.client.send(call.header("idempotency-key", fresh_key())).await?;
        Ok(())
    }
}
