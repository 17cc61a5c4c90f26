//! Work that fails: its report, and the policy by which the server tells agents to try again (RFC-0010).

use domain::wire::{FailureList, FailureView, RecordFailureRequest, RetryPolicyView, SetRetryPolicyRequest};
use reqwest::Method;

use crate::backoff::Repeat;
use crate::error::CallError;
use crate::intent::Intent;
use crate::key::fresh_key;
use crate::transport::Call;

const FAILURES: &str = "/api/v1/intents/{intent_id}/failures";
const RETRY_POLICY: &str = "/api/v1/intents/{intent_id}/retry-policy";

impl Intent {
    /// Sets how failed work on the intent is repeated, in place of an earlier policy. Failures under the earlier one count no longer.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid` for more than 1,000 retries, and for a pause of more than 30 days.
    pub async fn set_retry_policy(&self, policy: &SetRetryPolicyRequest) -> Result<RetryPolicyView, CallError> {
        let call = Call::write(RETRY_POLICY, [self.id().to_string()], policy, Repeat::Safe)?.method(Method::PUT);
        self.client.send(call.header("idempotency-key", fresh_key())).await
    }

    /// The retry policy of the intent, if one is set.
    pub async fn retry_policy(&self) -> Result<Option<RetryPolicyView>, CallError> {
        match self.client.send(Call::read(RETRY_POLICY, [self.id().to_string()])).await {
            Ok(policy) => Ok(Some(policy)),
            Err(CallError::Refused(problem)) if problem.status == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reports that work of this agent failed. If the policy allows another attempt, `retry_scheduled_at` of the reply says when, and the
    /// stream of the agent then carries `AGENT_ASSIGNED` with `retry_attempt` and `last_error`.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid` for a text that is too long.
    pub async fn record_failure(&self, failure: &RecordFailureRequest) -> Result<FailureView, CallError> {
        let call = Call::write(FAILURES, [self.id().to_string()], failure, Repeat::Safe)?;
        self.client.send(call.header("idempotency-key", fresh_key())).await
    }

    /// The failures of the intent, the oldest first.
    pub async fn failures(&self) -> Result<Vec<FailureView>, CallError> {
        let list: FailureList = self.client.send(Call::read(FAILURES, [self.id().to_string()])).await?;
        Ok(list.failures)
    }
}
