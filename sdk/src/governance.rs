//! The policy of an intent: rules for the work on it (RFC-0013).

use domain::intent::governance::Policy;
use reqwest::Method;
use serde::Deserialize;

use crate::backoff::Repeat;
use crate::error::CallError;
use crate::intent::Intent;
use crate::transport::Call;

const GOVERNANCE: &str = "/api/v1/intents/{intent_id}/governance";

/// The part of the reply that the SDK reads.
#[derive(Deserialize)]
struct Shown {
    governance_policy: Policy,
}

impl Intent {
    /// The policy in force, as it was set; each rule that is `None` is not set.
    pub async fn policy(&self) -> Result<Policy, CallError> {
        let shown: Shown = self.client.send(Call::read(GOVERNANCE, [self.id().to_string()])).await?;
        Ok(shown.governance_policy)
    }

    /// Sets the policy in place of the one in force, whatever the present version of the intent. The agent that created the intent
    /// may make each rule stricter; only an admin may loosen one.
    ///
    /// ```no_run
    /// # async fn example(mut intent: placet::Intent) -> Result<(), Box<dyn std::error::Error>> {
    /// use placet::{Approval, CompletionMode, GovernancePolicy, Status};
    ///
    /// let completion_mode = Some(CompletionMode::RequireApproval);
    /// intent.set_policy(&GovernancePolicy { completion_mode, ..GovernancePolicy::default() }).await?;
    /// // From now on the intent is completed only after a person has approved it as it is.
    /// if intent.request_approval(Approval::of_completion().reason("the refund is paid")).await?.value {
    ///     intent.set_status(Status::Completed, None).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Refused` with `forbidden` if this key may not loosen a rule, and with `invalid` for more than 100 agents or a negative
    /// cost.
    pub async fn set_policy(&mut self, policy: &Policy) -> Result<(), CallError> {
        self.change(|id| Ok(Call::write(GOVERNANCE, [id.to_string()], policy, Repeat::Safe)?.method(Method::PUT))).await
    }

    /// Removes the policy. Only an admin may do this.
    pub async fn remove_policy(&mut self) -> Result<(), CallError> {
        self.change(|id| Ok(Call::delete(GOVERNANCE, [id.to_string()]))).await
    }
}
