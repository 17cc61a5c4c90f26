//! Approvals: people approve an action while the intent goes on (RFC-0013).

use std::fmt;

use domain::base::field::FieldError;
use domain::base::ids::{IntentId, SuspensionId};
use domain::suspension::RequiredAssurance;
use domain::suspension::assignees::AssignedRole;
use domain::suspension::demand::Risk;
use domain::suspension::grounds::{Explanation, Reversibility};
use domain::suspension::requested::{APPROVE, COMPLETE, DENY};
use domain::wire::ApprovalRequest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::answer::Answer;
use crate::backoff::Repeat;
use crate::error::{CallError, RequestInputError};
use crate::intent::Intent;
use crate::key::derived_key;
use crate::pending::Pending;
use crate::problem::Problem;
use crate::transport::{Call, Reply};

/// An approval to ask people for, with [`Intent::request_approval`].
///
/// A person approves one version of the intent: the version that it has when the approval is asked for. Asking again for the same
/// approval at the same version finds the first request, as with a [`Question`](crate::Question).
///
/// The server's default people are asked, unless the approval is assigned. Deadline and reminders are the server's defaults; if it has no
/// default retry policy, an approval has no deadline. There is no fallback: without an answer nothing is approved.
#[derive(Clone)]
#[must_use = "no person is asked before request_approval"]
pub struct Approval {
    request: ApprovalRequest,
    occasion: Option<String>,
    errors: Vec<FieldError>,
}

/// The data from which the idempotency key of an approval is derived.
#[derive(Serialize)]
struct Covered<'a> {
    intent_id: IntentId,
    version: u32,
    request: &'a ApprovalRequest,
    #[serde(skip_serializing_if = "Option::is_none")]
    occasion: Option<&'a str>,
}

/// The part of the reply that the SDK reads.
#[derive(Deserialize)]
struct Asked {
    id: SuspensionId,
}

impl Approval {
    /// Asks to approve `action`, 1 to 200 characters.
    pub fn of(action: impl Into<String>) -> Self {
        Self {
            request: ApprovalRequest { action: action.into(), ..ApprovalRequest::default() },
            occasion: None,
            errors: Vec::new(),
        }
    }

    /// Asks to approve the completion of the intent, which a [policy](Intent::set_policy) can demand.
    pub fn of_completion() -> Self {
        Self::of(COMPLETE)
    }

    /// Sets the reason that people read, at most 1,000 characters.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.request.reason = reason.into();
        self
    }

    /// Shows the person one more fact for the decision; all of them together are at most 64 KiB of JSON.
    pub fn context(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.request.context.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// Proposes the action: its arguments, an object of at most 64 KiB of JSON. The person approves these, and
    /// [`Answer::proposal`](crate::Answer::proposal) is the action as the person approved it.
    pub fn proposal(mut self, action: Value) -> Self {
        self.request.proposal = self.object("proposal", action);
        self
    }

    /// Lets people edit members of the [proposal](Approval::proposal), as [`Question::editable`](crate::Question::editable) does.
    ///
    /// ```
    /// # use placet::Approval;
    /// # use serde_json::json;
    /// let approval = Approval::of("pay")
    ///     .reason("Invoice 7 is due.")
    ///     .proposal(json!({"amount": 2500, "iban": "DE02 1203 0000"}))
    ///     .editable(json!({"type": "object", "properties": {"amount": {"type": "integer", "maximum": 5000}}}))
    ///     .assign_to_group("finance")
    ///     .require_approvals(2);
    /// ```
    pub fn editable(mut self, schema: Value) -> Self {
        self.request.editable = self.object("editable", schema);
        self
    }

    fn object(&mut self, field: &str, value: Value) -> Option<Map<String, Value>> {
        if let Value::Object(members) = value {
            return Some(members);
        }
        self.errors.push(FieldError::new(field, "type", "must be an object"));
        None
    }

    /// Explains the action: people read it before the context, and it is covered by the hash of what was shown.
    pub fn explanation(mut self, explanation: Explanation) -> Self {
        self.request.explanation = Some(explanation);
        self
    }

    /// Says whether the action can be taken back.
    pub fn reversibility(mut self, reversibility: Reversibility) -> Self {
        self.request.reversibility = Some(reversibility);
        self
    }

    /// Says how much is at stake. People see it, and the server may demand more of a decision with a high risk.
    pub fn risk(mut self, risk: Risk) -> Self {
        self.request.risk = Some(risk);
        self
    }

    /// Sets how sure the agent is, 0 to 1.
    pub fn confidence(mut self, confidence: f64) -> Self {
        if confidence.is_nan() {
            // JSON would turn it into null, and the approval would look as if it had no confidence.
            self.errors.push(FieldError::new("confidence", "range", "must be a number from 0 to 1"));
        } else {
            self.request.confidence = Some(confidence);
        }
        self
    }

    /// Names the kind of approval, in 1 to 200 characters: people see how the newest ones of this agent with the same key were decided.
    pub fn question_key(mut self, key: impl Into<String>) -> Self {
        self.request.question_key = Some(key.into());
        self
    }

    /// Takes only a decision that a passkey of the person has signed, as [`Question::require_passkey`](crate::Question::require_passkey)
    /// does.
    pub fn require_passkey(mut self) -> Self {
        self.request.required_assurance = Some(RequiredAssurance::Passkey);
        self
    }

    /// Takes only the decision of a person who has logged in, or whose passkey has signed it.
    pub fn require_login(mut self) -> Self {
        self.request.required_assurance = self.request.required_assurance.max(Some(RequiredAssurance::Session));
        self
    }

    /// Takes only the decision of a person who has logged in by the server's issuer of identities a few minutes before, or whose passkey has
    /// signed it.
    pub fn require_recent_login(mut self) -> Self {
        self.request.required_assurance = self.request.required_assurance.max(Some(RequiredAssurance::RecentLogin));
        self
    }

    /// Assigns the approval to a listed person, by address: only people to whom it is assigned may decide, and they are asked in place of
    /// the server's default operators. May be called for up to 20 people.
    pub fn assign_to_person(mut self, address: impl Into<String>) -> Self {
        self.request.assignees.get_or_insert_default().people.push(address.into());
        self
    }

    /// Assigns the approval to the members of a group. May be called for up to 20 groups.
    pub fn assign_to_group(mut self, name: impl Into<String>) -> Self {
        self.request.assignees.get_or_insert_default().groups.push(name.into());
        self
    }

    /// Assigns the approval to all listed people with a role.
    pub fn assign_to_role(mut self, role: AssignedRole) -> Self {
        self.request.assignees.get_or_insert_default().roles.push(role);
        self
    }

    /// Needs the approval of so many people, 1 to 20, as [`Question::require_approvals`](crate::Question::require_approvals) does.
    pub fn require_approvals(mut self, people: u32) -> Self {
        self.request.quorum.get_or_insert_default().required_approvals = people;
        self
    }

    /// Needs the refusals of so many people, 1 to 20, before the approval is denied; without this, one refusal is enough. Only beside
    /// [`require_approvals`](Self::require_approvals).
    pub fn require_refusals(mut self, people: u32) -> Self {
        self.request.quorum.get_or_insert_default().required_refusals = Some(people);
        self
    }

    /// Needs so many members of a group among the people who approve. Only beside [`require_approvals`](Self::require_approvals), and at
    /// most as many.
    pub fn require_from_group(mut self, group: impl Into<String>, people: u32) -> Self {
        let quorum = self.request.quorum.get_or_insert_default();
        quorum.required_by_group.get_or_insert_default().insert(group.into(), people);
        self
    }

    /// Asks once more for an approval that was denied, or that no person answered; see [`Question::again`](crate::Question::again).
    pub fn again(mut self, occasion: impl Into<String>) -> Self {
        self.occasion = Some(occasion.into());
        self
    }
}

impl Intent {
    /// Asks people to approve an action, and waits: `true` if a person approved it, `false` if a person denied it.
    ///
    /// The intent goes on meanwhile. Dropping the future is safe, as with [`Client::request_input`](crate::Client::request_input).
    ///
    /// # Errors
    ///
    /// See [`RequestInputError`]. An approval that no person answers is `InputTimeout`; the intent is not abandoned for it.
    pub async fn request_approval(&self, approval: Approval) -> Result<Answer<bool>, RequestInputError> {
        self.ask_approval(approval).await?.answer().await
    }

    /// Asks people to approve an action, without waiting yet. One intent has at most 20 open requests at a time.
    pub async fn ask_approval(&self, approval: Approval) -> Result<Pending<bool>, RequestInputError> {
        let span = tracing::info_span!("placet.ask", intent.id = %self.id());
        self.ask_or_find_approval(approval).instrument(span).await
    }

    async fn ask_or_find_approval(&self, approval: Approval) -> Result<Pending<bool>, RequestInputError> {
        let Approval { request, occasion, errors } = approval;
        if !errors.is_empty() {
            return Err(CallError::Refused(Box::new(Problem::invalid(errors))).into());
        }
        let intent_id = self.id();
        let version = self.client.intent_view(intent_id).await?.version;
        let covered = Covered { intent_id, version, request: &request, occasion: occasion.as_deref() };
        let key = derived_key("placet-approval-1", "context", &covered)?;
        let call = Call::write("/api/v1/intents/{intent_id}/approvals", [intent_id.to_string()], &request, Repeat::Safe)?;
        let reply: Reply<Asked> = self.client.reply(call.header("idempotency-key", key)).await?;
        let record = self.client.suspension(reply.body.id).await.map_err(CallError::or_unavailable)?;
        self.client.hooks().requested(&record, reply.replayed);
        Ok(Pending::new(self.client.clone(), record, read))
    }
}

fn read(raw: &Value) -> Result<bool, String> {
    match raw.as_str() {
        Some(APPROVE) => Ok(true),
        Some(DENY) => Ok(false),
        Some(_) | None => Err("it neither approves nor denies".to_owned()),
    }
}

impl fmt::Debug for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The context is left out, because it is not for logs.
        f.debug_struct("Approval").field("action", &self.request.action).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_word_of_approval_approves() {
        assert_eq!((read(&json!("approve")), read(&json!("deny"))), (Ok(true), Ok(false)));
        for other in [json!("Approve"), json!("yes"), json!(true), json!(null), json!("")] {
            assert!(read(&other).is_err(), "{other}");
        }
    }
}
