//! Turns the policy in a request into the rules that this server enforces, or names the rules that it does not know.

use serde_json::{Map, Number, Value};

use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::name;
use crate::intent::governance::{ALLOWED_AGENTS_MAX, CompletionMode, Policy, WriteScope};

/// The policy in a request. A member that is null sets no rule.
///
/// # Errors
///
/// Every member that this server does not enforce, or whose value has the wrong form.
pub fn policy(members: Map<String, Value>) -> Result<Policy, Vec<FieldError>> {
    let mut policy = Policy::default();
    let mut errors = Vec::new();
    for (name, value) in members {
        if value.is_null() {
            continue;
        }
        if let Err(error) = set(&mut policy, &name, &value) {
            errors.push(error);
        }
    }
    if errors.is_empty() { Ok(policy) } else { Err(errors) }
}

fn set(policy: &mut Policy, name: &str, value: &Value) -> Result<(), FieldError> {
    let error = |rule: &str, message: String| Err(FieldError::new(name, rule, message));
    match name {
        "completion_mode" => match value.as_str() {
            Some("auto") => policy.completion_mode = Some(CompletionMode::Auto),
            Some("require_approval") => policy.completion_mode = Some(CompletionMode::RequireApproval),
            Some("quorum") => return error(UNSUPPORTED, "must be auto or require_approval: this server counts no quorum".into()),
            _ => return error("value", "must be auto or require_approval".into()),
        },
        "write_scope" => match value.as_str() {
            Some("any") => policy.write_scope = Some(WriteScope::Any),
            Some("assigned_only") => policy.write_scope = Some(WriteScope::AssignedOnly),
            _ => return error("value", "must be any or assigned_only".into()),
        },
        "allowed_agents" => policy.allowed_agents = Some(agents(name, value)?),
        "max_cost" => match value.as_number().filter(|cost| is_cost(cost)) {
            Some(cost) => policy.max_cost = Some(cost.clone()),
            None => return error("range", "must be a number that is not negative".into()),
        },
        "require_status_reason" => match value.as_bool() {
            Some(required) => policy.require_status_reason = Some(required),
            None => return error("type", "must be true or false".into()),
        },
        _ => return error(UNSUPPORTED, "must be absent: this server does not enforce this rule".into()),
    }
    Ok(())
}

fn is_cost(cost: &Number) -> bool {
    cost.as_f64().is_some_and(|cost| cost.is_finite() && cost >= 0.0)
}

fn agents(name: &str, value: &Value) -> Result<Vec<String>, FieldError> {
    let texts = value.as_array().map(|list| list.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>());
    let Some(Some(agents)) = texts else { return Err(FieldError::new(name, "type", "must be a list of names of agents")) };
    if agents.len() > ALLOWED_AGENTS_MAX {
        return Err(FieldError::new(name, "length", format!("must have at most {ALLOWED_AGENTS_MAX} entries")));
    }
    let normal = |(index, agent_id): (usize, &String)| {
        name::normal(agent_id).map_err(|(rule, message)| FieldError::new(format!("{name}[{index}]"), rule, message))
    };
    agents.iter().enumerate().map(normal).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_has_only_rules_that_are_enforced() {
        let read = |value: Value| policy(value.as_object().unwrap().clone());
        let whole = json!({"completion_mode": "require_approval", "write_scope": "assigned_only", "allowed_agents": ["a", "b/1"],
            "max_cost": 12.5, "require_status_reason": true});
        assert_eq!(Value::Object(read(whole.clone()).unwrap().to_object()), whole);
        assert_eq!(read(json!({"max_cost": null})), Ok(Policy::default()));
        for (refused, field, rule) in [
            (json!({"completion_mode": "quorum"}), "completion_mode", "unsupported"),
            (json!({"completion_mode": "invalid_mode"}), "completion_mode", "value"),
            (json!({"completion_mode": 1}), "completion_mode", "value"),
            (json!({"quorum_threshold": 0.5}), "quorum_threshold", "unsupported"),
            (json!({"write_scope": "none"}), "write_scope", "value"),
            (json!({"allowed_agents": "a"}), "allowed_agents", "type"),
            (json!({"allowed_agents": ["a", 1]}), "allowed_agents", "type"),
            (json!({"allowed_agents": ["a", ""]}), "allowed_agents[1]", "length"),
            (json!({"allowed_agents": vec!["a"; 101]}), "allowed_agents", "length"),
            (json!({"max_cost": -0.01}), "max_cost", "range"),
            (json!({"max_cost": "9"}), "max_cost", "range"),
            (json!({"require_status_reason": "yes"}), "require_status_reason", "type"),
            (json!({"approvers": ["me"]}), "approvers", "unsupported"),
        ] {
            let errors = read(refused.clone()).unwrap_err();
            assert_eq!((errors[0].field.as_str(), errors[0].rule.as_str()), (field, rule), "{refused}");
        }
        assert!(read(json!({"allowed_agents": vec!["a"; 100]})).is_ok() && read(json!({"max_cost": 0})).is_ok());
    }
}
