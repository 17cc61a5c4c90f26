//! Failures for programs without a runtime; the documentation of each call is that of the asynchronous one.

use domain::wire::{FailureView, RecordFailureRequest, RetryPolicyView, SetRetryPolicyRequest};

use super::Intent;
use crate::error::CallError;

impl Intent {
    /// Sets how failed work is repeated; see [`crate::Intent::set_retry_policy`].
    pub fn set_retry_policy(&self, policy: &SetRetryPolicyRequest) -> Result<RetryPolicyView, CallError> {
        self.client.driver.run(self.intent.set_retry_policy(policy))
    }

    /// The retry policy of the intent, if one is set.
    pub fn retry_policy(&self) -> Result<Option<RetryPolicyView>, CallError> {
        self.client.driver.run(self.intent.retry_policy())
    }

    /// Reports that work failed; see [`crate::Intent::record_failure`].
    pub fn record_failure(&self, failure: &RecordFailureRequest) -> Result<FailureView, CallError> {
        self.client.driver.run(self.intent.record_failure(failure))
    }

    /// The failures of the intent, the oldest first.
    pub fn failures(&self) -> Result<Vec<FailureView>, CallError> {
        self.client.driver.run(self.intent.failures())
    }
}
