//! Turns a request for approval, an escalation or an arbitration into a question to people, or names the fields that break rules.

use serde_json::{Map, Value, json};

use crate::asking::accepting::named;
use crate::asking::policy::{Asking, AskingPolicy};
use crate::base::field::FieldError;
use crate::base::ids::SuspensionId;
use crate::base::text::is_blank;
use crate::base::{name, words};
use crate::container::plan::CheckpointId;
use crate::intent::command::{Respond, Suspend};
use crate::people::principal::Principal;
use crate::suspension::requested::{APPROVE, DENY, Requested};
use crate::suspension::{FallbackPolicy, Kind, NO, ResponseType, YES};
use crate::wire::{
    ApprovalRequest, ArbitrationRequest, ChoiceRequest, DecideApprovalRequest, DecideCheckpointRequest, EscalationRequest,
    ResolveEscalationRequest, SuspendRequest,
};

/// The longest action of an approval, in characters.
pub const ACTION_MAX: usize = 200;
/// The longest reason of a request, in characters.
pub const REQUEST_REASON_MAX: usize = 1_000;
/// The longest notes of a decision, in characters.
pub const NOTES_MAX: usize = 2_000;
/// How important or how urgent an escalation can be.
pub const LEVELS: [&str; 4] = ["low", "medium", "high", "critical"];

type Errors = Vec<FieldError>;

/// A request as the question that people are asked, before the question is checked.
struct Words {
    kind: Kind,
    asked: SuspendRequest,
    requested: Requested,
    errors: Errors,
}

/// The question that asks people to approve an action.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn approval(policy: &AskingPolicy, body: ApprovalRequest, by: &Principal, id: SuspensionId) -> Result<Suspend, Errors> {
    let mut errors = Errors::new();
    length(&mut errors, "action", &body.action, 1, ACTION_MAX);
    length(&mut errors, "reason", &body.reason, 0, REQUEST_REASON_MAX);
    let choice = |value: &str, label: &str, style: &str| ChoiceRequest {
        value: value.to_owned(),
        label: label.to_owned(),
        style: Some(style.to_owned()),
        ..ChoiceRequest::default()
    };
    let asked = SuspendRequest {
        question: words::approval_question(&body.action, &body.reason),
        context: body.context,
        response_type: Some(ResponseType::Choice),
        choices: Some(vec![choice(APPROVE, words::APPROVE, "primary"), choice(DENY, words::DENY, "default")]),
        confidence: body.confidence,
        required_assurance: body.required_assurance,
        assignees: body.assignees,
        quorum: body.quorum,
        risk: body.risk,
        proposal: body.proposal,
        editable: body.editable,
        question_key: body.question_key,
        explanation: body.explanation,
        reversibility: body.reversibility,
        ..SuspendRequest::default()
    };
    let requested = Requested { action: Some(body.action), ..requested(body.reason, body.requested_by, by) };
    ask(Asking { policy, by }, Words { kind: Kind::Approval, asked, requested, errors }, id)
}

/// The question that asks people how to go on.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn escalation(policy: &AskingPolicy, body: EscalationRequest, by: &Principal, id: SuspensionId) -> Result<Suspend, Errors> {
    let mut errors = Errors::new();
    length(&mut errors, "reason", &body.reason, 1, REQUEST_REASON_MAX);
    for (field, level) in [("priority", &body.priority), ("urgency", &body.urgency)] {
        if level.as_ref().is_some_and(|level| !LEVELS.contains(&level.as_str())) {
            errors.push(FieldError::new(field, "value", format!("must be one of {}", LEVELS.join(", "))));
        }
    }
    let level = |level: Option<String>| Some(level.unwrap_or_else(|| "medium".to_owned()));
    let question = words::escalation_question(&body.reason);
    let requested = requested(body.reason, body.escalated_by, by);
    let requested = Requested { priority: level(body.priority), urgency: level(body.urgency), ..requested };
    let asked = SuspendRequest {
        question,
        context: body.context,
        response_type: Some(ResponseType::Text),
        assignees: body.assignees,
        risk: body.risk,
        question_key: body.question_key,
        explanation: body.explanation,
        reversibility: body.reversibility,
        ..SuspendRequest::default()
    };
    ask(Asking { policy, by }, Words { kind: Kind::Escalation, asked, requested, errors }, id)
}

/// The question that asks people to settle a conflict.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn arbitration(policy: &AskingPolicy, body: ArbitrationRequest, by: &Principal, id: SuspensionId) -> Result<Suspend, Errors> {
    let mut errors = Errors::new();
    length(&mut errors, "reason", &body.reason, 1, REQUEST_REASON_MAX);
    let question = words::arbitration_question(&body.reason);
    let requested = requested(body.reason, body.requested_by, by);
    let asked = SuspendRequest {
        question,
        context: body.context,
        response_type: Some(ResponseType::Text),
        assignees: body.assignees,
        risk: body.risk,
        question_key: body.question_key,
        explanation: body.explanation,
        reversibility: body.reversibility,
        ..SuspendRequest::default()
    };
    ask(Asking { policy, by }, Words { kind: Kind::Arbitration, asked, requested, errors }, id)
}

/// The answer that approves, or refuses to approve.
///
/// # Errors
///
/// The field that breaks a rule.
pub fn decided(body: DecideApprovalRequest, approved: bool, id: SuspensionId) -> Result<Respond, Errors> {
    let value = json!(if approved { APPROVE } else { DENY });
    let named = named(body.proposal, body.based_on.as_deref())?;
    let answered = answer(Kind::Approval, id, value, body.notes, body.decided_by.as_deref(), "decided_by")?;
    Ok(Respond { named, ..answered })
}

/// The answer that resolves an escalation.
///
/// # Errors
///
/// The field that breaks a rule.
pub fn resolved(body: ResolveEscalationRequest, id: SuspensionId) -> Result<Respond, Errors> {
    answer(Kind::Escalation, id, Value::String(body.resolution), body.notes, body.resolved_by.as_deref(), "resolved_by")
}

/// The answer at a checkpoint.
///
/// # Errors
///
/// The field that breaks a rule.
pub fn decided_at(body: DecideCheckpointRequest, approved: bool, checkpoint: CheckpointId) -> Result<Respond, Errors> {
    let value = json!(if approved { YES } else { NO });
    let id = SuspensionId(uuid::Uuid::nil());
    let named = named(body.proposal, body.based_on.as_deref())?;
    let answered = answer(Kind::AwaitingInput, id, value, body.notes, body.decided_by.as_deref(), "decided_by")?;
    Ok(Respond { suspension_id: String::new(), checkpoint: Some(checkpoint), expects: None, named, ..answered })
}

fn answer(
    kind: Kind,
    id: SuspensionId,
    value: Value,
    notes: Option<String>,
    claimed: Option<&str>,
    claim: &str,
) -> Result<Respond, Errors> {
    let mut errors = Errors::new();
    length(&mut errors, "notes", notes.as_deref().unwrap_or_default(), 0, NOTES_MAX);
    let claimed_responded_by = match claimed.map(name::normal).transpose() {
        Ok(claimed) => claimed,
        Err((rule, message)) => {
            errors.push(FieldError::new(claim, rule, message));
            None
        }
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let metadata = notes.filter(|notes| !notes.is_empty()).map(|notes| Map::from_iter([("notes".to_owned(), json!(notes))]));
    let (suspension_id, value) = (id.expose(), Some(value));
    Ok(Respond { suspension_id, value, claimed_responded_by, metadata, expects: Some(kind), ..Respond::default() })
}

fn requested(reason: String, claimed: Option<String>, by: &Principal) -> Requested {
    let claimed = claimed.map(|claimed| name::form(&claimed)).filter(|claimed| !claimed.is_empty());
    let acts = claimed.as_ref().is_some_and(|claimed| by.may_act_for(claimed));
    let (requested_by, claimed_requested_by) = match claimed {
        Some(claimed) if acts => (claimed, None),
        claimed => (by.name.clone(), claimed),
    };
    // The version is written when the command is decided, because only then is the intent known.
    Requested { action: None, reason, priority: None, urgency: None, requested_by, claimed_requested_by, intent_version: 0 }
}

fn length(errors: &mut Errors, field: &str, text: &str, least: usize, most: usize) {
    let length = text.chars().count();
    if length < least || length > most {
        let from = if least == 0 { "at most".to_owned() } else { format!("{least} to") };
        errors.push(FieldError::new(field, "length", format!("must be {from} {most} characters")));
    } else if least > 0 && is_blank(text) {
        errors.push(FieldError::new(field, "characters", "must have a character that is visible"));
    }
}

/// Makes a question of a request to people, so that the operator's rules about questions hold for the request, too. Its
/// fallback policy is `fail`, so that a request that no person answers never counts as approved.
fn ask(Asking { policy, by }: Asking<'_>, words: Words, id: SuspensionId) -> Result<Suspend, Errors> {
    let Words { kind, asked, mut requested, mut errors } = words;
    if requested.claimed_requested_by.as_ref().is_some_and(|name| name.chars().count() > ACTION_MAX) {
        errors.push(FieldError::new("requested_by", "length", format!("must be at most {ACTION_MAX} characters")));
        requested.claimed_requested_by = None;
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let request = SuspendRequest { fallback_policy: Some(FallbackPolicy::Fail), ..asked };
    let mut suspend = policy.accept(request, id, by, None)?;
    suspend.kind = kind;
    suspend.question.requested = Some(Box::new(requested));
    Ok(suspend)
}
