//! Turns a request about a portfolio into the values that the store keeps, or names the fields that break rules.

use serde_json::{Map, Value};

use crate::asking::accepting::EVENT_WORD_MAX;
use crate::asking::check::VALUE_BYTES_MAX;
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::ids::{IntentId, MembershipId, PortfolioId};
use crate::base::json;
use crate::base::name::is_same;
use crate::base::time;
use crate::intent::body::DESCRIPTION_BYTES_MAX;
use crate::portfolio::membership::{Join, PRIORITY_MAX};
use crate::portfolio::{DEADLINE, NAME_MAX, PortfolioBody, PortfolioPolicy, PortfolioUpdate, REQUIRE_ALL_COMPLETED};
use crate::wire::{AddToPortfolioRequest, CreatePortfolioRequest, UpdatePortfolioRequest};

type Errors = Vec<FieldError>;

/// A new portfolio; `creator` is the name of the credential that creates it.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn new_portfolio(body: CreatePortfolioRequest, creator: &str) -> Result<PortfolioBody, Errors> {
    let mut errors = Vec::new();
    check_words(Some(&body.name), body.description.as_ref(), body.metadata.as_ref(), &mut errors);
    if body.created_by.as_ref().is_some_and(|name| name.chars().count() > EVENT_WORD_MAX) {
        errors.push(FieldError::new("created_by", "length", format!("must be at most {EVENT_WORD_MAX} characters")));
    }
    refuse_deadline(body.deadline.as_ref(), &mut errors);
    let policy = rules(body.governance_policy, body.governance, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(PortfolioBody {
        name: body.name,
        description: body.description,
        metadata: body.metadata.unwrap_or_default(),
        policy: policy.unwrap_or_default(),
        claimed_created_by: body.created_by.filter(|name| !name.is_empty() && !is_same(name, creator)),
    })
}

/// New words, data or rules of a portfolio.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn updated_portfolio(body: UpdatePortfolioRequest) -> Result<PortfolioUpdate, Errors> {
    let mut errors = Vec::new();
    let description = body.description.as_ref().and_then(Option::as_ref);
    check_words(body.name.as_ref(), description, body.metadata.as_ref(), &mut errors);
    refuse_deadline(body.deadline.as_ref(), &mut errors);
    if body.status.as_ref().is_some_and(|status| !status.is_null()) {
        let message = "must be left out: PATCH /api/v1/portfolios/{id}/status changes the status";
        errors.push(FieldError::new("status", UNSUPPORTED, message));
    }
    let policy = rules(body.governance_policy, body.governance, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(PortfolioUpdate { name: body.name, description: body.description, metadata: body.metadata, policy })
}

fn check_words(name: Option<&String>, description: Option<&String>, metadata: Option<&Map<String, Value>>, errors: &mut Errors) {
    let mut error = |field: &str, message: String| errors.push(FieldError::new(field, "length", message));
    if name.is_some_and(|name| !(1..=NAME_MAX).contains(&name.chars().count())) {
        error("name", format!("must be 1 to {NAME_MAX} characters"));
    }
    if description.is_some_and(|text| text.len() > DESCRIPTION_BYTES_MAX) {
        error("description", format!("must be at most {DESCRIPTION_BYTES_MAX} bytes"));
    }
    if metadata.is_some_and(|metadata| json::size(metadata) > VALUE_BYTES_MAX) {
        error("metadata", format!("must be at most {VALUE_BYTES_MAX} bytes of JSON"));
    }
}

/// Refuses a `deadline` outside `governance_policy`. If it were ignored, the caller would count on a deadline that never comes.
fn refuse_deadline(deadline: Option<&Value>, errors: &mut Errors) {
    if deadline.is_some_and(|deadline| !deadline.is_null()) {
        let message = "must be left out: set governance_policy.deadline";
        errors.push(FieldError::new("deadline", UNSUPPORTED, message));
    }
}

/// The rules in a request. They may be under `governance_policy` or under `governance`; if both are given, they must be the same.
fn rules(given: Option<Map<String, Value>>, other: Option<Map<String, Value>>, errors: &mut Errors) -> Option<PortfolioPolicy> {
    let mut read = |field: &str, given: Option<Map<String, Value>>| {
        given.map(|given| policy(field, given)).transpose().unwrap_or_else(|broken| {
            errors.extend(broken);
            None
        })
    };
    let (policy, other) = (read("governance_policy", given), read("governance", other));
    if matches!((policy, other), (Some(one), Some(other)) if one != other) {
        let message = "must be the same as governance_policy, or be left out";
        errors.push(FieldError::new("governance", "one", message));
    }
    policy.or(other)
}

/// The rules of a portfolio: only those that the server enforces.
fn policy(field: &str, given: Map<String, Value>) -> Result<PortfolioPolicy, Errors> {
    let (mut policy, mut errors) = (PortfolioPolicy::default(), Vec::new());
    let mut error =
        |name: &str, rule: &str, message: String| errors.push(FieldError::new(format!("{field}.{name}"), rule, message));
    for (name, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
        match (name.as_str(), value) {
            (REQUIRE_ALL_COMPLETED, Value::Bool(rule)) => policy.require_all_completed = Some(rule),
            (REQUIRE_ALL_COMPLETED, _) => error(&name, "type", "must be true or false".into()),
            (DEADLINE, value) => match value.as_str().and_then(time::parse) {
                Some(at) => policy.deadline = Some(at),
                None => error(&name, "format", "must be a time like 2026-11-24T08:00:00Z".into()),
            },
            _ => {
                let message = format!(
                    "must be left out: the rules of a portfolio on this server are {REQUIRE_ALL_COMPLETED} and {DEADLINE}"
                );
                error(&name, UNSUPPORTED, message);
            }
        }
    }
    if errors.is_empty() { Ok(policy) } else { Err(errors) }
}

/// The intent that is to go into a portfolio, and its role and priority there. `id` becomes the id of its membership, unless the
/// intent is in the portfolio already.
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
