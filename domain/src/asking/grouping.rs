//! Turns a request about a portfolio into the values that the store keeps, or names the fields that break rules.

use serde_json::{Map, Value};

use crate::asking::accepting::EVENT_WORD_MAX;
use crate::asking::policy::VALUE_BYTES_MAX;
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::ids::{IntentId, MembershipId, PortfolioId};
use crate::base::json;
use crate::base::name::is_same;
use crate::intent::body::DESCRIPTION_BYTES_MAX;
use crate::portfolio::membership::{Join, PRIORITY_MAX};
use crate::portfolio::{NAME_MAX, PortfolioBody, PortfolioPolicy, REQUIRE_ALL_COMPLETED};
use crate::wire::{AddToPortfolioRequest, CreatePortfolioRequest};

type Errors = Vec<FieldError>;

/// A new portfolio; `creator` is the name of the credential that creates it.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn new_portfolio(body: CreatePortfolioRequest, creator: &str) -> Result<PortfolioBody, Errors> {
    let mut errors = Vec::new();
    let mut error = |field: &str, rule: &str, message: String| errors.push(FieldError::new(field, rule, message));
    let name = body.name.chars().count();
    if name == 0 || name > NAME_MAX {
        error("name", "length", format!("must be 1 to {NAME_MAX} characters"));
    }
    if body.description.as_ref().is_some_and(|text| text.len() > DESCRIPTION_BYTES_MAX) {
        error("description", "length", format!("must be at most {DESCRIPTION_BYTES_MAX} bytes"));
    }
    if body.created_by.as_ref().is_some_and(|name| name.chars().count() > EVENT_WORD_MAX) {
        error("created_by", "length", format!("must be at most {EVENT_WORD_MAX} characters"));
    }
    // Ignoring the field would be worse than refusing it, because the caller would count on an effect that never comes.
    if body.deadline.as_ref().is_some_and(|deadline| !deadline.is_null()) {
        error("deadline", UNSUPPORTED, "must be left out: portfolios have no deadlines on this server".into());
    }
    let metadata = body.metadata.unwrap_or_default();
    if json::canonical(&metadata).map_or(0, |bytes| bytes.len()) > VALUE_BYTES_MAX {
        error("metadata", "length", format!("must be at most {VALUE_BYTES_MAX} bytes of JSON"));
    }
    let mut rules = |field: &str, given: Option<Map<String, Value>>| {
        given.map(|given| policy(field, given)).transpose().unwrap_or_else(|broken| {
            errors.extend(broken);
            None
        })
    };
    let (policy, other) = (rules("governance_policy", body.governance_policy), rules("governance", body.governance));
    if matches!((policy, other), (Some(one), Some(other)) if one != other) {
        let message = "must be the same as governance_policy, or be left out";
        errors.push(FieldError::new("governance", "one", message));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(PortfolioBody {
        name: body.name,
        description: body.description,
        metadata,
        policy: policy.or(other).unwrap_or_default(),
        claimed_created_by: body.created_by.filter(|name| !name.is_empty() && !is_same(name, creator)),
    })
}

/// The rules of a portfolio: only those that the server enforces.
fn policy(field: &str, given: Map<String, Value>) -> Result<PortfolioPolicy, Errors> {
    let (mut policy, mut errors) = (PortfolioPolicy::default(), Vec::new());
    for (name, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
        match (name.as_str(), value) {
            (REQUIRE_ALL_COMPLETED, Value::Bool(rule)) => policy.require_all_completed = Some(rule),
            (REQUIRE_ALL_COMPLETED, _) => {
                errors.push(FieldError::new(format!("{field}.{name}"), "type", "must be true or false"));
            }
            _ => {
                let message = format!("must be left out: the only rule of a portfolio on this server is {REQUIRE_ALL_COMPLETED}");
                errors.push(FieldError::new(format!("{field}.{name}"), UNSUPPORTED, message));
            }
        }
    }
    if errors.is_empty() { Ok(policy) } else { Err(errors) }
}

/// The intent that is to go into a portfolio, and its place there. `id` becomes the id of the place if the place is new.
///
/// # Errors
///
/// A priority out of its range.
pub fn joining(id: MembershipId, portfolio_id: PortfolioId, body: &AddToPortfolioRequest) -> Result<(IntentId, Join), Errors> {
    let priority = i32::try_from(body.priority.unwrap_or(0)).ok().filter(|priority| priority.unsigned_abs() <= PRIORITY_MAX);
    let Some(priority) = priority else {
        return Err(vec![FieldError::new("priority", "range", format!("must be -{PRIORITY_MAX} to {PRIORITY_MAX}"))]);
    };
    // An id that is no UUID is treated like the id of an intent that does not exist: the store answers both with 404.
    let intent_id = body.intent_id.parse().unwrap_or(IntentId(uuid::Uuid::nil()));
    Ok((intent_id, Join { id, portfolio_id, role: body.role.unwrap_or_default(), priority }))
}
