//! Turns a request about a plan into what is to be done with it, or names the fields that break rules. The questions that the plan may
//! ask people are made here, by the operator's rules about questions.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::asking::policy::Asking;
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::ids::{SuspensionId, TaskId};
use crate::base::{json, words};
use crate::container::condition::{CONDITIONS_MAX, Comparison, ConditionBody, FORM, WHEN_MAX};
use crate::container::plan::{
    CHECKPOINT_WORD_MAX, CHECKPOINTS_MAX, CheckpointBody, ESCALATE_HOURS_MAX, NewPlan, ON_FAILURE, Outline,
    PLAN_PROPOSALS_BYTES_MAX, PLAN_TASKS_MAX, PlanBody, PlanChange, PlanState, PlanStep, Prepared, STATE, TIMEOUT_HOURS_MAX,
    TimeoutAction, checkpoint_path,
};
use crate::container::task::DATA_BYTES_MAX;
use crate::suspension::retry::{OneOrMany, PartialRetryPolicy, Rung};
use crate::suspension::{FallbackPolicy, NOTIFY_TO_MAX, Question, ResponseType, YES};
use crate::wire::{CheckpointRequest, ConditionRequest, CreatePlanRequest, OTHERWISE, SuspendRequest, UpdatePlanRequest};

type Errors = Vec<FieldError>;
type Checkpoints = Vec<(CheckpointBody, Option<Prepared>)>;

/// A new plan. `seed` is a secret that was drawn for it.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn new_plan(asking: Asking<'_>, body: CreatePlanRequest, seed: [u8; 32]) -> Result<PlanStep, Errors> {
    let mut errors = Errors::new();
    let tasks = tasks(&body.tasks.unwrap_or_default(), &mut errors);
    let checkpoints = checkpoints(asking, body.checkpoints.unwrap_or_default(), &mut errors);
    let conditions = conditions(body.conditions.unwrap_or_default(), &mut errors);
    if body.on_complete.as_ref().is_some_and(|action| action != "notify") {
        errors.push(FieldError::new("on_complete", UNSUPPORTED, "must be notify, or be left out"));
    }
    if body.metadata.as_ref().is_some_and(|data| json::size(data) > DATA_BYTES_MAX) {
        errors.push(FieldError::new("metadata", "length", format!("must be at most {DATA_BYTES_MAX} bytes of JSON")));
    }
    let question = SuspendRequest { question: words::FAILED_TASK_QUESTION.to_owned(), ..SuspendRequest::default() };
    let on_failure_question = prepared(asking, question, ON_FAILURE, &mut errors);
    let (Some(on_failure_question), true) = (on_failure_question, errors.is_empty()) else { return Err(errors) };
    Ok(PlanStep::Create(Box::new(NewPlan {
        outline: Outline { tasks: Some(tasks), checkpoints: Some(checkpoints), conditions: Some(conditions) },
        on_failure: body.on_failure.unwrap_or_default(),
        on_failure_question,
        seeming_secret: asking.policy.seeming_secret,
        body: PlanBody { metadata: body.metadata.unwrap_or_default() },
        seed,
    })))
}

/// A change of a plan.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn changed_plan(asking: Asking<'_>, body: UpdatePlanRequest) -> Result<PlanStep, Errors> {
    let mut errors = Errors::new();
    if body == UpdatePlanRequest::default() {
        errors.push(FieldError::new("state", "required", "give state, tasks, checkpoints or conditions"));
    }
    let tasks = body.tasks.map(|given| tasks(&given, &mut errors));
    let checkpoints = body.checkpoints.map(|given| checkpoints(asking, given, &mut errors));
    let conditions = body.conditions.map(|given| conditions(given, &mut errors));
    let review = review(asking, body.state, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let outline = Outline { tasks, checkpoints, conditions };
    Ok(PlanStep::Change(Box::new(PlanChange {
        outline,
        state: body.state,
        review,
        seeming_secret: asking.policy.seeming_secret,
    })))
}

/// A plan that moves to another state.
///
/// # Errors
///
/// None, unless the server's own rules forbid its own question.
pub fn moved_plan(asking: Asking<'_>, state: PlanState) -> Result<PlanStep, Errors> {
    let mut errors = Errors::new();
    let review = review(asking, Some(state), &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let (outline, seeming_secret) = (Outline::default(), asking.policy.seeming_secret);
    Ok(PlanStep::Change(Box::new(PlanChange { outline, state: Some(state), review, seeming_secret })))
}

/// The question whether the tasks of a plan may begin, if it is to be active.
fn review(asking: Asking<'_>, state: Option<PlanState>, errors: &mut Errors) -> Option<Prepared> {
    let question = SuspendRequest { question: words::PLAN_REVIEW_QUESTION.to_owned(), ..SuspendRequest::default() };
    (state == Some(PlanState::Active)).then(|| prepared(asking, question, STATE, errors)).flatten()
}

/// The tasks of a plan. An id that is no UUID names no task.
fn tasks(given: &[String], errors: &mut Errors) -> Vec<TaskId> {
    let found: Vec<TaskId> = given.iter().filter_map(|text| text.parse().ok()).collect();
    let distinct: HashSet<_> = found.iter().collect();
    if given.len() > PLAN_TASKS_MAX {
        errors.push(FieldError::new("tasks", "count", format!("must name at most {PLAN_TASKS_MAX} tasks")));
    } else if found.len() < given.len() {
        errors.push(FieldError::new("tasks", "unknown", "must name tasks of the same intent"));
    } else if distinct.len() < found.len() {
        errors.push(FieldError::new("tasks", "unique", "must name each task once"));
    }
    found
}

fn checkpoints(asking: Asking<'_>, given: Vec<CheckpointRequest>, errors: &mut Errors) -> Checkpoints {
    let ids: Vec<&String> = given.iter().map(|checkpoint| &checkpoint.id).collect();
    if !within("checkpoints", &ids, CHECKPOINTS_MAX, errors) {
        return Vec::new();
    }
    let proposed: usize = given.iter().filter_map(|checkpoint| checkpoint.proposal.as_ref()).map(json::size).sum();
    if proposed > PLAN_PROPOSALS_BYTES_MAX {
        let message = format!("must propose actions of at most {PLAN_PROPOSALS_BYTES_MAX} bytes of JSON in all");
        errors.push(FieldError::new("checkpoints", "length", message));
    }
    given.into_iter().enumerate().filter_map(|(place, given)| checkpoint(asking, place, given, errors)).collect()
}

/// Checks the ids of a list of a plan. Returns whether the list is short enough to be read.
fn within(field: &str, ids: &[&String], most: usize, errors: &mut Errors) -> bool {
    if ids.len() > most {
        errors.push(FieldError::new(field, "count", format!("must be at most {most}")));
        return false;
    }
    if ids.iter().collect::<HashSet<_>>().len() < ids.len() {
        errors.push(FieldError::new(field, "unique", "must each have an id of their own"));
    }
    true
}

/// The rule that an id or a name in a plan breaks, with a message.
fn broken_label(text: &str) -> Option<(&'static str, String)> {
    if !(1..=CHECKPOINT_WORD_MAX).contains(&text.chars().count()) {
        return Some(("length", format!("must be 1 to {CHECKPOINT_WORD_MAX} characters")));
    }
    // A name stands in a sentence of the server's, and must not begin a paragraph of its own.
    text.chars().any(char::is_control).then(|| ("format", "must be one line, without control characters".into()))
}

fn conditions(given: Vec<ConditionRequest>, errors: &mut Errors) -> Vec<ConditionBody> {
    let ids: Vec<&String> = given.iter().map(|condition| &condition.id).collect();
    if !within("conditions", &ids, CONDITIONS_MAX, errors) {
        return Vec::new();
    }
    given.into_iter().enumerate().filter_map(|(place, given)| condition(place, given, errors)).collect()
}

fn condition(place: usize, given: ConditionRequest, errors: &mut Errors) -> Option<ConditionBody> {
    let mut error = |field: &str, rule: &str, message: String| {
        errors.push(FieldError::new(format!("conditions[{place}].{field}"), rule, message));
    };
    if let Some((rule, message)) = broken_label(&given.id) {
        error("id", rule, message);
    }
    if given.otherwise.as_ref().is_some_and(|otherwise| otherwise != OTHERWISE) {
        error("otherwise", UNSUPPORTED, format!("must be {OTHERWISE}, or be left out"));
    }
    if given.when.chars().count() > WHEN_MAX {
        error("when", "length", format!("must be at most {WHEN_MAX} characters"));
    } else if Comparison::read(&given.when).is_none() {
        error("when", "format", FORM.into());
    }
    let Ok(task_id) = given.task_id.parse() else {
        error("task_id", "unknown", "must be one of the tasks of the plan".into());
        return None;
    };
    Some(ConditionBody { id: given.id, task_id, when: given.when })
}

fn checkpoint(
    asking: Asking<'_>,
    place: usize,
    given: CheckpointRequest,
    errors: &mut Errors,
) -> Option<(CheckpointBody, Option<Prepared>)> {
    let path = checkpoint_path(place);
    let mut error =
        |field: &str, rule: &str, message: String| errors.push(FieldError::new(format!("{path}.{field}"), rule, message));
    for (field, text) in [("id", &given.id), ("name", &given.name)] {
        if let Some((rule, message)) = broken_label(text) {
            error(field, rule, message);
        }
    }
    if given.status.as_ref().is_some_and(|status| status != "pending") {
        error("status", UNSUPPORTED, "must be pending, or be left out: the server sets it".into());
    }
    if given.timeout_hours.is_some_and(|hours| !(1..=TIMEOUT_HOURS_MAX).contains(&hours)) {
        error("timeout_hours", "range", format!("must be 1 to {TIMEOUT_HOURS_MAX}"));
        return None;
    }
    let escalates = given.on_timeout.unwrap_or_default() == TimeoutAction::Escalate && given.requires_approval != Some(false);
    if escalates && given.timeout_hours.is_some_and(|hours| hours > ESCALATE_HOURS_MAX) {
        error("timeout_hours", "range", format!("must be 1 to {ESCALATE_HOURS_MAX} with on_timeout escalate"));
        return None;
    }
    let Ok(after_task) = given.after_task.parse() else {
        error("after_task", "unknown", "must be one of the tasks of the plan".into());
        return None;
    };
    let needs_approval = needs_approval(&given);
    let body = CheckpointBody {
        id: given.id,
        name: given.name,
        after_task,
        requires_approval: given.requires_approval.unwrap_or(true),
        approvers: given.approvers.unwrap_or_default(),
        timeout_hours: given.timeout_hours,
        on_timeout: given.on_timeout.unwrap_or_default(),
        assignees: None,
        quorum: None,
        required_assurance: None,
    };
    if !body.requires_approval {
        if let Some(message) = needs_approval {
            error("requires_approval", "value", message.into());
        }
        return Some((body, None));
    }
    let people = SuspendRequest {
        assignees: given.assignees,
        quorum: given.quorum,
        required_assurance: given.required_assurance,
        risk: given.risk,
        proposal: given.proposal,
        editable: given.editable,
        explanation: given.explanation,
        question_key: given.question_key,
        reversibility: given.reversibility,
        confidence: given.confidence,
        ..question(asking, &body)
    };
    let prepared = prepared(asking, people, &path, errors)?;
    let Question { assignees, required_assurance, .. } = prepared.question.clone();
    Some((CheckpointBody { assignees, quorum: prepared.quorum.clone(), required_assurance, ..body }, Some(prepared)))
}

/// Why a person must decide at a checkpoint; `None` if its description does not need one.
fn needs_approval(given: &CheckpointRequest) -> Option<&'static str> {
    let names_people = given.assignees.is_some() || given.quorum.is_some() || given.required_assurance.is_some();
    if names_people || given.risk.is_some() {
        return Some("must be true if the checkpoint says who decides at it");
    }
    let proposes = given.proposal.is_some() || given.editable.is_some();
    let explains = given.explanation.is_some() || given.reversibility.is_some() || given.confidence.is_some();
    (proposes || explains || given.question_key.is_some())
        .then_some("must be true if the checkpoint says about what people decide at it")
}

/// The question at a checkpoint, as an agent could have asked it.
fn question(asking: Asking<'_>, body: &CheckpointBody) -> SuspendRequest {
    let timeout_seconds = body.timeout_hours.map(|hours| hours * 3_600);
    let mut request = SuspendRequest {
        question: words::checkpoint_question(&body.name),
        context: Some(Map::from_iter([("checkpoint".to_owned(), Value::from(body.id.as_str()))])),
        notify_to: (!body.approvers.is_empty()).then(|| body.approvers.clone()),
        timeout_seconds,
        fallback_policy: Some(FallbackPolicy::Fail),
        ..SuspendRequest::default()
    };
    match (body.on_timeout, timeout_seconds) {
        (TimeoutAction::AutoApprove, _) => {
            request.fallback_policy = Some(FallbackPolicy::UseDefaultAndContinue);
            request.fallback_value = Some(json!(YES));
        }
        (TimeoutAction::Escalate, Some(interval)) => {
            let everyone = body.approvers.iter().chain(&asking.policy.operators).take(NOTIFY_TO_MAX).cloned().collect();
            let rung = Rung { attempt: 2, channel_hint: None, notify_to: Some(OneOrMany(everyone)) };
            request.retry_policy = Some(PartialRetryPolicy {
                max_attempts: Some(2),
                interval_seconds: Some(interval),
                escalation_ladder: Some(if asking.policy.operators.is_empty() { Vec::new() } else { vec![rung] }),
                ..PartialRetryPolicy::default()
            });
        }
        (TimeoutAction::Escalate | TimeoutAction::Fail, _) => {}
    }
    request
}

/// A question that a plan may ask, accepted by the rules of the server. An error names the member of the plan from which the question is
/// made.
fn prepared(asking: Asking<'_>, request: SuspendRequest, path: &str, errors: &mut Errors) -> Option<Prepared> {
    let request = SuspendRequest { response_type: Some(ResponseType::Confirm), ..request };
    match asking.policy.accept(request, SuspensionId(uuid::Uuid::nil()), asking.by, None) {
        Ok(asked) => Some(Prepared {
            window_seconds: asked.schedule.window_seconds,
            question: asked.question,
            choices: asked.choices,
            fallback_policy: asked.fallback_policy,
            fallback_value: asked.fallback_value,
            requires_delivery: asked.requires_delivery,
            quorum: asked.quorum,
            warnings: asked.warnings,
        }),
        Err(broken) => {
            errors.extend(broken.into_iter().map(|error| of_question(path, error)));
            None
        }
    }
}

/// An error in a question that a plan may ask, under the name of the member of the plan, at this path, from which the question was made.
pub fn of_question(path: &str, error: FieldError) -> FieldError {
    FieldError { field: format!("{path}.{}", member(&error.field)), ..error }
}

/// The member of a checkpoint from which this member of its question is made.
fn member(field: &str) -> String {
    match field.split(['[', '.']).next().unwrap_or_default() {
        "notify_to" => field.replacen("notify_to", "approvers", 1),
        "retry_policy" if field.contains("notify_to") => "approvers".to_owned(),
        "timeout_seconds" | "retry_policy" => "timeout_hours".to_owned(),
        "fallback_policy" | "fallback_value" => "on_timeout".to_owned(),
        "question" => "name".to_owned(),
        _ => field.to_owned(),
    }
}
