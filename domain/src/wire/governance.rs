//! Bodies about the policy of an intent (RFC-0013).

use serde::Serialize;
use utoipa::ToSchema;

use crate::base::ids::IntentId;
use crate::intent::governance::{CompletionMode, Policy, WriteScope};

/// The policy of an intent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct GovernanceView {
    /// The intent.
    pub intent_id: IntentId,
    /// The policy as it was set; empty if none was set.
    pub governance_policy: Policy,
    /// The policy that is enforced: a rule that was not set has its default.
    pub effective_policy: Policy,
}

impl GovernanceView {
    /// The policy of this intent.
    pub fn of(intent_id: IntentId, policy: Policy) -> Self {
        let effective_policy = Policy {
            completion_mode: Some(policy.completion_mode.unwrap_or(CompletionMode::Auto)),
            write_scope: Some(policy.write_scope.unwrap_or(WriteScope::Any)),
            allowed_agents: Some(policy.allowed_agents.clone().unwrap_or_default()),
            max_cost: policy.max_cost.clone(),
            require_status_reason: Some(policy.require_status_reason.unwrap_or_default()),
        };
        Self { intent_id, governance_policy: policy, effective_policy }
    }
}
