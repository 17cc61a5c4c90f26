//! Turns a request about access to an intent into a command, or names the fields that break rules.

use chrono::{DateTime, Utc};

use crate::asking::accepting::{EVENT_WORD_MAX, reason};
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::ids::AccessId;
use crate::base::name;
use crate::base::time::{MUST_BE_PLAIN, is_plain};
use crate::intent::access::{CAPABILITIES_MAX, ChangeAccess, ENTRIES_MAX, Grant, RequestAccess, Verdict};
use crate::people::access::Permission;
use crate::wire::{ApproveAccessRequest, DenyAccessRequest, GrantAccessRequest, RequestAccessRequest, SetAclRequest};

type Errors = Vec<FieldError>;

fn one(field: impl Into<String>, rule: &str, message: impl Into<String>) -> Errors {
    vec![FieldError::new(field, rule, message)]
}

/// The id of the agent in the request. Only agents get access by entries of an access control list; people have their rights by
/// their roles.
fn principal(id: &str, kind: Option<&str>) -> Result<String, Errors> {
    if kind.is_some_and(|kind| kind != "agent") {
        let message = "must be agent: people have their rights by the roles of their keys, and groups are not known";
        return Err(one("principal_type", UNSUPPORTED, message));
    }
    name::normal(id).map_err(|(rule, message)| one("principal_id", rule, message))
}

/// The end of an access, which must be a time that clients in Python can read.
fn end(expires_at: Option<DateTime<Utc>>) -> Result<Option<DateTime<Utc>>, Errors> {
    if expires_at.is_some_and(|at| !is_plain(at)) {
        return Err(one("expires_at", "range", MUST_BE_PLAIN));
    }
    Ok(expires_at)
}

/// Turns the body of a request into a new entry of an intent's access control list.
///
/// # Errors
///
/// The field that breaks a rule.
pub fn grant(id: AccessId, body: GrantAccessRequest) -> Result<Grant, Errors> {
    Ok(Grant {
        id,
        principal_id: principal(&body.principal_id, body.principal_type.as_deref())?,
        permission: body.permission.unwrap_or(Permission::Read),
        expires_at: end(body.expires_at)?,
        reason: reason(body.reason)?,
    })
}

/// Turns the body of a request into a whole new access control list. `id` is called once for each entry and makes its id.
///
/// # Errors
///
/// A policy other than `closed`, too many entries, an agent that is named twice, or the field that breaks a rule.
pub fn list(body: SetAclRequest, mut id: impl FnMut() -> AccessId) -> Result<ChangeAccess, Errors> {
    match body.default_policy.as_deref() {
        None | Some("closed") => {}
        Some("open") => {
            let message = "must be closed: this server opens no intent to all agents; name each agent in entries";
            return Err(one("default_policy", UNSUPPORTED, message));
        }
        Some(_) => return Err(one("default_policy", "value", "must be closed")),
    }
    if body.entries.len() > ENTRIES_MAX {
        return Err(one("entries", "count", format!("must be at most {ENTRIES_MAX}")));
    }
    let mut grants: Vec<Grant> = Vec::with_capacity(body.entries.len());
    for (index, entry) in body.entries.into_iter().enumerate() {
        let grant = grant(id(), entry).map_err(|mut errors| {
            for error in &mut errors {
                error.field.insert_str(0, &format!("entries[{index}]."));
            }
            errors
        })?;
        if grants.iter().any(|other| other.principal_id == grant.principal_id) {
            return Err(one(format!("entries[{index}].principal_id"), "unique", "must not be named in two entries"));
        }
        grants.push(grant);
    }
    Ok(ChangeAccess::Set(grants))
}

/// A request for access.
///
/// # Errors
///
/// The field that breaks a rule.
pub fn request(id: AccessId, body: RequestAccessRequest) -> Result<ChangeAccess, Errors> {
    let principal_id = principal(&body.principal_id, body.principal_type.as_deref())?;
    let capabilities = body.capabilities.unwrap_or_default();
    if capabilities.len() > CAPABILITIES_MAX {
        return Err(one("capabilities", "count", format!("must be at most {CAPABILITIES_MAX}")));
    }
    let is_wrong = |word: &String| word.is_empty() || word.chars().count() > EVENT_WORD_MAX || word.contains(char::is_control);
    if capabilities.iter().any(is_wrong) {
        let message = format!("each must be 1 to {EVENT_WORD_MAX} characters, none of them a control character");
        return Err(one("capabilities", "length", message));
    }
    Ok(ChangeAccess::Request(RequestAccess {
        id,
        principal_id,
        permission: body.requested_permission.unwrap_or(Permission::Write),
        reason: reason(body.reason)?.unwrap_or_default(),
        capabilities,
        open_by_caller: 0,
    }))
}

/// A person's yes to a request for access.
///
/// # Errors
///
/// The field that breaks a rule.
pub fn approval(request_id: AccessId, body: ApproveAccessRequest) -> Result<ChangeAccess, Errors> {
    let verdict = Verdict::Approve { permission: body.permission, expires_at: end(body.expires_at)? };
    decision(request_id, verdict, body.reason, body.decided_by)
}

/// A person's no to a request for access.
///
/// # Errors
///
/// The field that breaks a rule.
pub fn denial(request_id: AccessId, body: DenyAccessRequest) -> Result<ChangeAccess, Errors> {
    decision(request_id, Verdict::Deny, body.reason, body.decided_by)
}

fn decision(
    request_id: AccessId,
    verdict: Verdict,
    why: Option<String>,
    claimed_decided_by: Option<String>,
) -> Result<ChangeAccess, Errors> {
    if claimed_decided_by.as_ref().is_some_and(|name| name.chars().count() > EVENT_WORD_MAX) {
        return Err(one("decided_by", "length", format!("must be at most {EVENT_WORD_MAX} characters")));
    }
    Ok(ChangeAccess::Decide { request_id, verdict, reason: reason(why)?, claimed_decided_by })
}
