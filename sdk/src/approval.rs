//! Approvals: people approve an action while the intent goes on (RFC-0013).

use std::fmt;

use domain::base::field::FieldError;
use domain::base::ids::{IntentId, SuspensionId};
use domain::suspension::requested::{APPROVE, COMPLETE, DENY};
use domain::wire::ApprovalRequest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::Instrument;

use crate::answer::Answer;
use crate::backoff::Repeat;
use crate::demand::demanding;
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

    /// Asks once more for an approval that was denied, or that no person answered; see [`Question::again`](crate::Question::again).
    pub fn again(mut self, occasion: impl Into<String>) -> Self {
        self.occasion = Some(occasion.into());
        self
    }
}

demanding!(Approval);

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
