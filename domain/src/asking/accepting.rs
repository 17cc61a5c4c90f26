//! Turns a request into the values of a command, or names the fields that break rules.
//!
//! The API, the pages and the protocols all use these functions, so all have the same limits and the same error messages.

use std::collections::HashSet;

use chrono::TimeDelta;
use serde_json::{Map, Value, json};

use crate::asking::check::VALUE_BYTES_MAX;
use crate::asking::governing;
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::ids::{IntentId, SuspensionId, TaskId};
use crate::base::sealed::Hash;
use crate::base::{json, name};
use crate::container::task::SCOPE_PREFIX;
use crate::intent::assignment::Assign;
use crate::intent::body::{DESCRIPTION_BYTES_MAX, IntentBody, PATCHES_MAX, Patch, PatchOp, STATE_BYTES_MAX, TITLE_MAX};
use crate::intent::command::{Later, Respond};
use crate::intent::contract;
use crate::intent::dependency::DEPENDENCIES_MAX;
use crate::intent::event::ClientEvent;
use crate::intent::governance::Policy;
use crate::intent::status::Status;
use crate::intent::vocabulary::stored_as;
use crate::people::hold::HoldScope;
use crate::people::principal::Principal;
use crate::suspension::WINDOW_SECONDS_MAX;
use crate::suspension::lease::{DURATION_SECONDS_DEFAULT, DURATION_SECONDS_MAX, SCOPE_MAX};
use crate::suspension::proposal::{Named, PROPOSAL, PROPOSAL_BYTES_MAX};
use crate::wire::{
    AppendEventRequest, AssignAgentRequest, CreateIntentRequest, ExtendRequest, PatchStateRequest, PlaceHoldRequest,
    RespondRequest, SetStatusRequest, TakeBackRequest,
};

/// The longest reason for a change of status, a withdrawal or a later deadline, in characters.
pub const REASON_MAX: usize = 2_000;
/// The longest type, actor, trace id and parent id of an event that a client appends, in characters.
pub const EVENT_WORD_MAX: usize = 200;

type Errors = Vec<FieldError>;

fn one(field: impl Into<String>, rule: &str, message: impl Into<String>) -> Errors {
    vec![FieldError::new(field, rule, message)]
}

/// The first status of a new intent (`draft` unless the request says `active`) and its body. If the request names no creator,
/// `creator` is shown as the creator. `parent` is the parent in the path, if the path has one.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn new_intent(body: CreateIntentRequest, parent: Option<IntentId>, creator: &str) -> Result<(Status, IntentBody), Errors> {
    let mut errors = Vec::new();
    let mut error = |field: &str, rule: &str, message: String| errors.push(FieldError::new(field, rule, message));
    let title = body.title.chars().count();
    if title == 0 || title > TITLE_MAX {
        error("title", "length", format!("must be 1 to {TITLE_MAX} characters"));
    }
    if body.description.as_ref().is_some_and(|text| text.len() > DESCRIPTION_BYTES_MAX) {
        error("description", "length", format!("must be at most {DESCRIPTION_BYTES_MAX} bytes"));
    }
    if body.created_by.as_ref().is_some_and(|name| name.chars().count() > TITLE_MAX) {
        error("created_by", "length", format!("must be at most {TITLE_MAX} characters"));
    }
    let status = match body.status.as_deref() {
        None | Some("draft") => Status::Draft,
        Some("active") => Status::Active,
        Some(_) => {
            error("status", "value", "a new intent is draft or active".into());
            Status::Draft
        }
    };
    if body.confidence.is_some_and(|confidence| !(0.0..=100.0).contains(&confidence)) {
        error("confidence", "range", "must be 0 to 100".into());
    }
    if body.constraints.as_ref().is_some_and(|value| !value.is_object() && !value.is_array() && !value.is_null()) {
        error("constraints", "type", "must be an object or a list".into());
    }
    let depends_on = body.depends_on.unwrap_or_default();
    if depends_on.len() > DEPENDENCIES_MAX {
        error("depends_on", "count", format!("must have at most {DEPENDENCIES_MAX} intents"));
    }
    let distinct: HashSet<_> = depends_on.iter().map(|text| text.parse::<IntentId>().map_err(|_| text)).collect();
    if distinct.len() < depends_on.len() {
        error("depends_on", "unique", "must name each intent once".into());
    }
    if matches!((&body.parent_intent_id, &body.parent_id), (Some(one), Some(other)) if one != other) {
        error("parent_id", "one", "must be the same as parent_intent_id, or be left out".into());
    }
    let named = body.parent_intent_id.as_ref().or(body.parent_id.as_ref());
    if parent.is_some_and(|parent| named.is_some_and(|named| named.parse() != Ok(parent))) {
        error("parent_intent_id", "one", "must be the intent in the path, or be left out".into());
    }
    let state = body.state.unwrap_or_default();
    if serde_json::to_vec(&state).map_or(0, |bytes| bytes.len()) > STATE_BYTES_MAX {
        error("state", "length", format!("must be at most {STATE_BYTES_MAX} bytes of JSON"));
    }
    errors.extend(contract::flaws(&state));
    let policy = governing::policy(body.governance_policy.unwrap_or_default()).unwrap_or_else(|broken| {
        errors
            .extend(broken.into_iter().map(|error| FieldError { field: format!("governance_policy.{}", error.field), ..error }));
        Policy::default()
    });
    if !errors.is_empty() {
        return Err(errors);
    }
    // An id that is no UUID is treated like the id of an intent that does not exist: the store answers both with 404.
    let id = |text: &String| text.parse().unwrap_or(IntentId(uuid::Uuid::nil()));
    let body = IntentBody {
        title: body.title,
        description: body.description.unwrap_or_default(),
        created_by: body.created_by.filter(|name| !name.is_empty()).unwrap_or_else(|| creator.to_owned()),
        parent_intent_id: parent.or(body.parent_intent_id.or(body.parent_id).as_ref().map(id)),
        depends_on: depends_on.iter().map(id).collect(),
        constraints: body.constraints.filter(|value| !value.is_null()).unwrap_or_else(|| json!({})),
        state,
        governance_policy: Some(Value::Object(policy.to_object())).filter(|policy| *policy != json!({})),
        confidence: body.confidence.unwrap_or(0.0),
    };
    Ok((status, body))
}

/// The patches of a state: the list in the request, or one patch for each key that the request sets.
///
/// # Errors
///
/// The rule that the request breaks.
pub fn patches(body: PatchStateRequest) -> Result<Vec<Patch>, Errors> {
    let patches = match (body.patches, body.state) {
        (Some(patches), None) => patches,
        (None, Some(state)) => {
            // The caller means a key with a slash as one key, but the patch would read the key as a path.
            if let Some(key) = state.keys().find(|key| key.contains('/') || key.is_empty()) {
                return Err(one("state", "key", format!("the key {key:?} cannot be set this way; use patches")));
            }
            state.into_iter().map(|(path, value)| Patch { op: PatchOp::Set, path, value }).collect()
        }
        (Some(_), Some(_)) | (None, None) => return Err(one("patches", "required", "give either patches or state")),
    };
    if patches.is_empty() || patches.len() > PATCHES_MAX {
        return Err(one("patches", "length", format!("must have 1 to {PATCHES_MAX} entries")));
    }
    // The stored state nests as deep as the path and the value together, and it must be readable again.
    if let Some(index) = patches.iter().position(|patch| patch.segments().count() + json::depth(&patch.value) > json::DEPTH_MAX) {
        let message = format!("path and value together may nest at most {} levels", json::DEPTH_MAX);
        return Err(one(format!("patches[{index}].path"), "depth", message));
    }
    Ok(patches)
}

/// A change of status, with its reason.
///
/// # Errors
///
/// An unknown status, or a reason that is too long.
pub fn status(body: SetStatusRequest) -> Result<(Status, Option<String>), Errors> {
    let known = || one("status", "value", format!("must be one of {}", Status::ALL.map(Status::as_str).join(", ")));
    Ok((Status::parse(&body.status).ok_or_else(known)?, reason(body.reason)?))
}

/// The reason that a caller gives for its action.
///
/// # Errors
///
/// More than [`REASON_MAX`] characters.
pub fn reason(reason: Option<String>) -> Result<Option<String>, Errors> {
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > REASON_MAX) {
        return Err(one("reason", "length", format!("must be at most {REASON_MAX} characters")));
    }
    Ok(reason)
}

/// The legal basis of an erasure, as it will stand in the server's log.
///
/// # Errors
///
/// No words, or more than [`REASON_MAX`] characters.
pub fn legal_basis(legal_basis: String) -> Result<String, Errors> {
    explained("legal_basis", legal_basis)
}

/// The part of the log that a legal hold covers, and the reason.
///
/// # Errors
///
/// A name that no agent can have, or a reason as in [`hold_reason`].
pub fn hold(body: PlaceHoldRequest) -> Result<(HoldScope, String), Errors> {
    let scope = match body.scope {
        HoldScope::Agent(name) => {
            HoldScope::Agent(name::normal(&name).map_err(|(rule, message)| one("scope.id", rule, message))?)
        }
        scope @ (HoldScope::Everything | HoldScope::Intent(_)) => scope,
    };
    Ok((scope, hold_reason(body.reason)?))
}

/// The reason for which a legal hold is placed or lifted.
///
/// # Errors
///
/// No words, or more than [`REASON_MAX`] characters.
pub fn hold_reason(reason: String) -> Result<String, Errors> {
    explained("reason", reason)
}

/// The words that a member must have.
fn explained(member: &str, words: String) -> Result<String, Errors> {
    if words.trim().is_empty() || words.chars().count() > REASON_MAX {
        return Err(one(member, "length", format!("must be 1 to {REASON_MAX} characters, and more than spaces")));
    }
    Ok(words)
}

/// An answer, before it is checked against its question.
///
/// # Errors
///
/// The first field that breaks a rule which does not depend on the question.
pub fn answer(body: RespondRequest) -> Result<Respond, Errors> {
    if body.suspension_id.is_empty() {
        return Err(one("suspension_id", "required", "suspension_id is required"));
    }
    // A gateway names here the person who answered. The log shows this name beside the names of keys, so the same rules hold.
    let claimed = body.responded_by.as_deref().map(name::normal).transpose();
    let claimed_responded_by = claimed.map_err(|(rule, message)| one("responded_by", rule, message))?;
    if body.metadata.as_ref().is_some_and(|metadata| json::size(metadata) > VALUE_BYTES_MAX) {
        return Err(one("metadata", "length", format!("must be at most {VALUE_BYTES_MAX} bytes of JSON")));
    }
    let named = named(body.proposal, body.based_on.as_deref())?;
    Ok(Respond {
        suspension_id: body.suspension_id,
        value: body.value,
        claimed_responded_by,
        metadata: body.metadata,
        named,
        ..Respond::default()
    })
}

/// The action about which an answer decides, before it is checked against the question.
///
/// # Errors
///
/// The field that breaks a rule.
pub(super) fn named(action: Option<Map<String, Value>>, based_on: Option<&str>) -> Result<Named, Errors> {
    if action.as_ref().is_some_and(|action| json::size(action) > PROPOSAL_BYTES_MAX) {
        return Err(one(PROPOSAL, "length", format!("must be at most {PROPOSAL_BYTES_MAX} bytes of JSON")));
    }
    let based_on = based_on.map(|digest| Hash::parse(digest).ok_or(())).transpose();
    let based_on = based_on.map_err(|()| {
        one("based_on", "digest", "must be the action_digest of the question's record, sha256: and 43 characters")
    })?;
    Ok(Named { action, based_on })
}

/// A person takes an answer back that counts towards a quorum.
///
/// # Errors
///
/// A name that no person can have.
pub fn taking_back(suspension_id: SuspensionId, body: TakeBackRequest) -> Result<Respond, Errors> {
    let TakeBackRequest { responded_by } = body;
    let named = RespondRequest { suspension_id: suspension_id.expose(), responded_by, ..RespondRequest::default() };
    Ok(Respond { takes_back: true, ..answer(named)? })
}

/// An event that a client appends. Whether the client may append this type depends on its role, and is decided later.
///
/// # Errors
///
/// Every text that is empty, too long, or contains control characters.
pub fn client_event(body: AppendEventRequest) -> Result<ClientEvent, Errors> {
    let words = [
        ("event_type", Some(&body.event_type)),
        ("actor", body.actor.as_ref()),
        ("trace_id", body.trace_id.as_ref()),
        ("parent_event_id", body.parent_event_id.as_ref()),
    ];
    let errors: Errors = words
        .into_iter()
        .filter_map(|(field, word)| match word?.as_str() {
            word if word.is_empty() || word.chars().count() > EVENT_WORD_MAX => {
                Some(FieldError::new(field, "length", format!("must be 1 to {EVENT_WORD_MAX} characters")))
            }
            word if word.contains(char::is_control) => Some(FieldError::new(field, "characters", "holds no control characters")),
            _ => None,
        })
        .collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(ClientEvent {
        event_type: stored_as(body.event_type),
        payload: body.payload.unwrap_or_default(),
        claimed_actor: body.actor,
        trace_id: body.trace_id,
        parent_event_id: body.parent_event_id,
    })
}

/// An agent that is to be assigned.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn assign(body: AssignAgentRequest) -> Result<Assign, Errors> {
    let agent_id = name::normal(&body.agent_id).map_err(|(rule, message)| one("agent_id", rule, message))?;
    let is_wrong = |role: &String| role.is_empty() || role.chars().count() > EVENT_WORD_MAX || role.contains(char::is_control);
    if body.role.as_ref().is_some_and(is_wrong) {
        return Err(one("role", "length", format!("must be 1 to {EVENT_WORD_MAX} characters, none of them a control character")));
    }
    Ok(Assign { agent_id, role: body.role, ..Assign::default() })
}

/// The assignment that `by` asks for by appending an event of the type `agent_assigned`, as the OpenIntent client does.
///
/// # Errors
///
/// The member that breaks a rule. The assigned agent sees the name in `delegated_by`, so `by` must be able to act for that name.
pub fn delegated(body: AppendEventRequest, by: &Principal) -> Result<Assign, Errors> {
    const KNOWN: [&str; 3] = ["agent_id", "delegated_by", "payload"];
    if body.trace_id.is_some() || body.parent_event_id.is_some() {
        return Err(one("trace_id", UNSUPPORTED, "an assignment has no trace_id and no parent_event_id"));
    }
    let mut members = body.payload.unwrap_or_default();
    if let Some(unknown) = members.keys().find(|member| !KNOWN.contains(&member.as_str())) {
        return Err(one(
            format!("payload.{unknown}"),
            "unknown",
            format!("must be left out: this event has {}", KNOWN.join(", ")),
        ));
    }
    let mut word = |name: &str| match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) => Ok(Some(word)),
        Some(_) => Err(one(format!("payload.{name}"), "type", "must be a string")),
    };
    let agent_id = word("agent_id")?.unwrap_or_default();
    let delegated_by = word("delegated_by")?.map(|name| name::form(&name));
    if delegated_by.as_ref().is_some_and(|name| !by.may_act_for(name)) {
        return Err(one("payload.delegated_by", "value", "must be an agent for which the key may act"));
    }
    let payload = match members.remove("payload") {
        None | Some(Value::Null) => None,
        Some(Value::Object(payload)) => Some(payload).filter(|payload| !payload.is_empty()),
        Some(_) => return Err(one("payload.payload", "type", "must be an object")),
    };
    let assign = assign(AssignAgentRequest { agent_id, role: None }).map_err(|mut errors| {
        for error in &mut errors {
            error.field.insert_str(0, "payload.");
        }
        errors
    })?;
    Ok(Assign { delegated_by, payload, ..assign })
}

/// The words of an agent in a segment of a path, in which slashes and percent signs are still encoded.
pub fn words_in_path(segment: &str) -> String {
    segment.replace("%2F", "/").replace("%2f", "/").replace("%25", "%")
}

/// The agent that a segment of a path names, in the form in which it was assigned.
pub fn agent_in_path(segment: &str) -> String {
    name::form(&words_in_path(segment))
}

/// The scope of a lease.
///
/// # Errors
///
/// An empty scope, or one of more than [`SCOPE_MAX`] characters.
pub fn scope(scope: String) -> Result<String, Errors> {
    let length = scope.chars().count();
    if length == 0 || length > SCOPE_MAX {
        return Err(one("scope", "length", format!("must be 1 to {SCOPE_MAX} characters")));
    }
    // Otherwise an agent could keep all others from a task without claiming it.
    if scope.strip_prefix(SCOPE_PREFIX).is_some_and(|id| id.parse::<TaskId>().is_ok()) {
        return Err(one("scope", "value", "is the scope of a task; claim the task instead"));
    }
    Ok(scope)
}

/// How long a lease lasts, in seconds; [`DURATION_SECONDS_DEFAULT`] where the request does not say.
///
/// # Errors
///
/// Zero, or more than [`DURATION_SECONDS_MAX`].
pub fn duration(seconds: Option<u32>) -> Result<u32, Errors> {
    let seconds = seconds.unwrap_or(DURATION_SECONDS_DEFAULT);
    if seconds == 0 || seconds > DURATION_SECONDS_MAX {
        return Err(one("duration_seconds", "range", format!("must be 1 to {DURATION_SECONDS_MAX} seconds")));
    }
    Ok(seconds)
}

/// A later deadline, with its reason.
///
/// # Errors
///
/// Every field that breaks a rule which does not depend on the question.
pub fn later(body: ExtendRequest) -> Result<(Later, Option<String>), Errors> {
    let later = match (body.expires_at, body.seconds) {
        (Some(at), None) => Ok(Later::Until(at)),
        (None, Some(seconds)) if (1..=WINDOW_SECONDS_MAX).contains(&seconds) => {
            Ok(Later::By(TimeDelta::seconds(i64::from(seconds))))
        }
        (None, Some(_)) => Err(one("seconds", "range", format!("must be 1 to {WINDOW_SECONDS_MAX} seconds"))),
        (None, None) | (Some(_), Some(_)) => Err(one("expires_at", "one", "give either expires_at or seconds")),
    };
    match (reason(body.reason), later) {
        (Ok(reason), Ok(later)) => Ok((later, reason)),
        (Err(mut errors), Err(others)) => {
            errors.extend(others);
            Err(errors)
        }
        (Err(errors), Ok(_)) | (Ok(_), Err(errors)) => Err(errors),
    }
}
