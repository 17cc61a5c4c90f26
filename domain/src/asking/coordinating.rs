//! Turns a request about a coordinator into what is to be done, or names the fields that break rules.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::asking::check::VALUE_BYTES_MAX;
use crate::asking::policy::AskingPolicy;
use crate::asking::recording::{RECORD_LINE_MAX, RECORD_TEXT_BYTES_MAX};
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::ids::{CoordinatorId, SuspensionId};
use crate::base::json;
use crate::container::coordinator::{
    CAPABILITIES_ALLOWED_MAX, CoordinatorBody, CoordinatorStep, GUARDRAIL_MAX, Guardrails, INTERVAL_SECONDS_DEFAULT,
    INTERVAL_SECONDS_MAX, INTERVAL_SECONDS_MIN, NewCoordinator, SuspensionPolicy,
};
use crate::container::task::DATA_BYTES_MAX;
use crate::intent::record::{CoordinatorDecision, Record};
use crate::people::principal::Principal;
use crate::suspension::ResponseType;
use crate::wire::{CreateCoordinatorRequest, CreateDecisionRecordRequest, GuardrailsRequest, SuspendRequest};

/// The longest name of an agent, a role or a supervisor, in characters.
pub const COORDINATOR_WORD_MAX: usize = 200;
/// The most alternatives in a decision record.
pub const ALTERNATIVES_MAX: usize = 20;
/// The kinds of decisions of coordinators (RFC-0013).
pub const DECISION_TYPES: [&str; 10] = [
    "plan_created",
    "plan_modified",
    "task_assigned",
    "task_delegated",
    "escalation_initiated",
    "escalation_resolved",
    "checkpoint_evaluated",
    "failure_handled",
    "guardrail_approached",
    "coordinator_handoff",
];

/// The longest capability that a guardrail allows, in characters.
pub const CAPABILITY_MAX: usize = 100;

type Errors = Vec<FieldError>;

fn is_word(word: &str, most: usize) -> bool {
    (1..=most).contains(&word.chars().count()) && !word.chars().any(char::is_control)
}

/// A guardrail that this server does not enforce, with the value that the OpenIntent client sends by default. That value promises
/// nothing, so it is accepted.
fn unenforced(name: &str) -> Option<Value> {
    Some(match name {
        "warn_at_percentage" => json!(80),
        "on_exceed" => json!("pause_and_escalate"),
        "checkpoint_timeout_hours" => json!(24),
        "auto_escalate_after_failures" => json!(3),
        "requires_replan_review" => json!(false),
        "require_human_for_capabilities" => json!([]),
        "memory_archive_required" => json!(true),
        _ => return None,
    })
}

/// A new lease of a coordinator.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn new_coordinator(
    asking: &AskingPolicy,
    body: CreateCoordinatorRequest,
    now: DateTime<Utc>,
) -> Result<CoordinatorStep, Errors> {
    let mut errors = Errors::new();
    word("agent_id", Some(&body.agent_id), &mut errors);
    word("role", body.role.as_ref(), &mut errors);
    word("supervisor_id", body.supervisor_id.as_ref(), &mut errors);
    if body.portfolio_id.is_some() {
        let message = "must be left out: a coordinator directs one intent";
        errors.push(FieldError::new("portfolio_id", UNSUPPORTED, message));
    }
    if body.scope.as_ref().is_some_and(|scope| scope != "intent") {
        errors.push(FieldError::new("scope", UNSUPPORTED, "must be intent, or be left out"));
    }
    let interval = body.heartbeat_interval_seconds.unwrap_or(INTERVAL_SECONDS_DEFAULT);
    if !(INTERVAL_SECONDS_MIN..=INTERVAL_SECONDS_MAX).contains(&interval) {
        let message = format!("must be {INTERVAL_SECONDS_MIN} to {INTERVAL_SECONDS_MAX}");
        errors.push(FieldError::new("heartbeat_interval_seconds", "range", message));
    }
    if body.expires_at.is_some_and(|end| end <= now) {
        errors.push(FieldError::new("expires_at", "past", "must be in the future"));
    }
    if body.metadata.as_ref().is_some_and(|data| json::size(data) > DATA_BYTES_MAX) {
        errors.push(FieldError::new("metadata", "length", format!("must be at most {DATA_BYTES_MAX} bytes of JSON")));
    }
    let suspension_policy = body.suspension_policy.unwrap_or_default();
    let mut escalates_to = Vec::new();
    if suspension_policy == SuspensionPolicy::Escalate {
        escalates_to = people(asking, body.supervisor_id.as_ref(), &mut errors);
    }
    let guardrails = guardrails(body.guardrails.unwrap_or_default(), &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(CoordinatorStep::Grant(Box::new(NewCoordinator {
        agent_id: body.agent_id,
        role: body.role.unwrap_or_else(|| "coordinator".to_owned()),
        supervisor_id: body.supervisor_id,
        coordinator_type: body.coordinator_type.unwrap_or_default(),
        suspension_policy,
        escalates_to,
        guardrails,
        heartbeat_interval_seconds: interval,
        expires_at: body.expires_at,
        body: CoordinatorBody { metadata: body.metadata.unwrap_or_default() },
    })))
}

fn word(field: &str, word: Option<&String>, errors: &mut Errors) {
    let Some(word) = word else { return };
    if !(1..=COORDINATOR_WORD_MAX).contains(&word.chars().count()) {
        errors.push(FieldError::new(field, "length", format!("must be 1 to {COORDINATOR_WORD_MAX} characters")));
    } else if word.chars().any(char::is_control) {
        errors.push(FieldError::new(field, "format", "must be one line, without control characters"));
    }
}

/// The people who are asked as well if the policy is to escalate: the supervisor if it is an address, or else the operators of the server.
/// The rules about the people that an agent may ask are those for its questions.
fn people(asking: &AskingPolicy, supervisor: Option<&String>, errors: &mut Errors) -> Vec<String> {
    let address = supervisor.filter(|name| name.contains('@'));
    let question = SuspendRequest {
        question: "?".to_owned(),
        response_type: Some(ResponseType::Confirm),
        notify_to: address.map(|one| vec![one.clone()]),
        ..SuspendRequest::default()
    };
    let people = match asking.accept(question, SuspensionId(uuid::Uuid::nil()), &Principal::server(), None) {
        Ok(asked) => asked.question.recipients,
        Err(broken) => {
            errors.extend(broken.into_iter().map(|error| FieldError { field: "supervisor_id".to_owned(), ..error }));
            return Vec::new();
        }
    };
    if people.is_empty() {
        let message = "must be an address with the policy escalate, because this server has no operators to ask";
        errors.push(FieldError::new("supervisor_id", "required", message));
    }
    people
}

fn guardrails(given: GuardrailsRequest, errors: &mut Errors) -> Guardrails {
    let standard = Guardrails::default();
    let mut limit = |name: &str, given: Option<u32>, least: u32, standard: u32| {
        if given.is_some_and(|limit| !(least..=GUARDRAIL_MAX).contains(&limit)) {
            errors.push(FieldError::new(format!("guardrails.{name}"), "range", format!("must be {least} to {GUARDRAIL_MAX}")));
        }
        given.unwrap_or(standard)
    };
    let limits = Guardrails {
        max_tasks_per_plan: limit("max_tasks_per_plan", given.max_tasks_per_plan, 1, standard.max_tasks_per_plan),
        max_concurrent_tasks: limit("max_concurrent_tasks", given.max_concurrent_tasks, 1, standard.max_concurrent_tasks),
        max_delegation_depth: limit("max_delegation_depth", given.max_delegation_depth, 0, standard.max_delegation_depth),
        max_plan_versions: limit("max_plan_versions", given.max_plan_versions, 1, standard.max_plan_versions),
        allowed_capabilities: given.allowed_capabilities,
        requires_plan_review: given.requires_plan_review.unwrap_or_default(),
    };
    let words = limits.allowed_capabilities.as_deref().unwrap_or_default();
    if words.len() > CAPABILITIES_ALLOWED_MAX || words.iter().any(|word| !is_word(word, CAPABILITY_MAX)) {
        let message = format!(
            "must be at most {CAPABILITIES_ALLOWED_MAX} words of 1 to {CAPABILITY_MAX} characters, without control characters"
        );
        errors.push(FieldError::new("guardrails.allowed_capabilities", "length", message));
    }
    for (name, value) in given.others {
        if !value.is_null() && unenforced(&name).as_ref() != Some(&value) {
            let message = "must be left out, or have the default of the OpenIntent client: this server does not enforce it";
            errors.push(FieldError::new(format!("guardrails.{name}"), UNSUPPORTED, message));
        }
    }
    limits
}

/// A decision of a coordinator.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn decision_record(body: CreateDecisionRecordRequest) -> Result<Record, Errors> {
    let mut errors = Errors::new();
    if !DECISION_TYPES.contains(&body.decision_type.as_str()) {
        errors.push(FieldError::new("decision_type", "choice", format!("must be one of {}", DECISION_TYPES.join(", "))));
    }
    if !(1..=RECORD_LINE_MAX).contains(&body.summary.chars().count()) {
        errors.push(FieldError::new("summary", "length", format!("must be 1 to {RECORD_LINE_MAX} characters")));
    }
    if body.rationale.len() > RECORD_TEXT_BYTES_MAX {
        errors.push(FieldError::new("rationale", "length", format!("must be at most {RECORD_TEXT_BYTES_MAX} bytes")));
    }
    let alternatives_considered = body.alternatives_considered.unwrap_or_default();
    if alternatives_considered.len() > ALTERNATIVES_MAX || json::size(&alternatives_considered) > VALUE_BYTES_MAX {
        let message = format!("must be at most {ALTERNATIVES_MAX} objects, and at most {VALUE_BYTES_MAX} bytes of JSON");
        errors.push(FieldError::new("alternatives_considered", "length", message));
    }
    let is_percentage = |number: f64| (0.0..=100.0).contains(&number);
    if body.confidence.as_ref().and_then(serde_json::Number::as_f64).is_some_and(|number| !is_percentage(number)) {
        errors.push(FieldError::new("confidence", "range", "must be 0 to 100"));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Record::CoordinatorDecision(CoordinatorDecision {
        // An id that is no UUID names no lease.
        coordinator_id: body.coordinator_id.parse().unwrap_or(CoordinatorId(uuid::Uuid::nil())),
        decision_type: body.decision_type,
        summary: body.summary,
        rationale: body.rationale,
        alternatives_considered,
        confidence: body.confidence,
    }))
}
