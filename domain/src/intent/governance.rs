//! The rules that an intent sets for the work on it (RFC-0013).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

use crate::base::name::is_same;

/// The type of the events that set a policy.
pub const POLICY_SET: &str = "governance.policy_set";
/// The type of the events that remove a policy.
pub const POLICY_REMOVED: &str = "governance.policy_removed";
/// The type of the events that record a write that broke a policy.
pub const VIOLATION: &str = "governance.violation";
/// The most agents that a policy names.
pub const ALLOWED_AGENTS_MAX: usize = 100;

/// The rules that an intent sets for the work on it. A member that is absent sets no rule. The events that set a policy contain
/// it in this form, so a member never changes its name or its form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GovernancePolicy)]
pub struct Policy {
    /// The requirement for completing the intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_mode: Option<CompletionMode>,
    /// The agents that may write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_scope: Option<WriteScope>,
    /// The agents that may write and be assigned; an empty list allows every agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_agents: Option<Vec<String>>,
    /// The largest sum of the costs that agents record, in whatever units they name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0)]
    pub max_cost: Option<Number>,
    /// Whether each change of status needs a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_status_reason: Option<bool>,
}

/// The requirement for completing an intent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletionMode {
    /// Nothing.
    #[default]
    Auto,
    /// The approval of a person.
    RequireApproval,
}

/// The agents that may write to an intent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteScope {
    /// Each agent that may write to the intent at all.
    #[default]
    Any,
    /// Agents that are assigned; the creator counts only if it is assigned, too.
    AssignedOnly,
}

/// The policy of an intent, with the facts that its rules need.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Governance {
    /// The policy; absent if none is set.
    pub policy: Option<Policy>,
    /// The sum of the costs that are recorded.
    pub spent: f64,
    /// Whether a person approved completing the intent as it is now.
    pub approved: bool,
}

impl Governance {
    /// Whether the policy limits the costs. If it does, the store keeps their sum.
    pub fn limits_cost(&self) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.max_cost.is_some())
    }
}

impl Policy {
    /// Reads a policy from the log or from a row.
    ///
    /// # Errors
    ///
    /// A member that is unknown or has another form.
    pub fn read(stored: Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(stored)
    }

    /// The policy as an object.
    pub fn to_object(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            Ok(_) | Err(_) => Map::new(),
        }
    }

    pub(super) fn allowed(&self) -> &[String] {
        self.allowed_agents.as_deref().unwrap_or_default()
    }

    /// Whether each rule of this policy is at least as strict as in `other`.
    pub fn is_as_strict_as(&self, other: &Self) -> bool {
        let cost = |policy: &Self| policy.max_cost.as_ref().and_then(Number::as_f64).unwrap_or(f64::INFINITY);
        let names_fewer = other.allowed().is_empty()
            || (!self.allowed().is_empty()
                && self.allowed().iter().all(|name| other.allowed().iter().any(|known| is_same(known, name))));
        self.completion_mode.unwrap_or_default() >= other.completion_mode.unwrap_or_default()
            && self.write_scope.unwrap_or_default() >= other.write_scope.unwrap_or_default()
            && names_fewer
            && cost(self) <= cost(other)
            && self.require_status_reason.unwrap_or_default() >= other.require_status_reason.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(value: Value) -> Policy {
        Policy::read(value).unwrap()
    }

    /// Each rule is tested alone, because an agent that could loosen one of them could complete its intent without a person.
    #[test]
    fn a_policy_is_stricter_only_if_no_rule_is_looser() {
        let pairs = [
            (json!({}), json!({"completion_mode": "require_approval"})),
            (json!({"completion_mode": "auto"}), json!({"completion_mode": "require_approval"})),
            (json!({}), json!({"write_scope": "assigned_only"})),
            (json!({}), json!({"allowed_agents": ["a"]})),
            (json!({"allowed_agents": ["a", "b"]}), json!({"allowed_agents": ["a"]})),
            (json!({}), json!({"max_cost": 10})),
            (json!({"max_cost": 10}), json!({"max_cost": 9.5})),
            (json!({"max_cost": 10}), json!({"max_cost": 0})),
            (json!({}), json!({"require_status_reason": true})),
        ];
        for (looser, stricter) in pairs {
            let (looser, stricter) = (policy(looser), policy(stricter));
            assert!(stricter.is_as_strict_as(&looser) && stricter.is_as_strict_as(&stricter), "{stricter:?}");
            assert!(!looser.is_as_strict_as(&stricter), "{looser:?}");
        }
        let (one, other) = (json!({"allowed_agents": ["a"], "max_cost": 5}), json!({"allowed_agents": ["b"], "max_cost": 4}));
        assert!(!policy(other.clone()).is_as_strict_as(&policy(one.clone())) && !policy(one).is_as_strict_as(&policy(other)));
    }

    #[test]
    fn a_policy_with_a_rule_that_is_not_enforced_is_not_read() {
        for unknown in [json!({"completion_mode": "quorum"}), json!({"quorum_threshold": 0.5}), json!({"write_scope": "none"})] {
            assert!(Policy::read(unknown.clone()).is_err(), "{unknown}");
        }
    }
}
