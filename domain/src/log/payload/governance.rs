//! Payloads of the events about the policy of an intent.

use serde::{Deserialize, Serialize};

use crate::intent::governance::Policy;

/// A policy that was set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicySet {
    /// The policy.
    pub governance_policy: Policy,
    /// The version of the intent from then on.
    pub version: u32,
}

/// A policy that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRemoved {
    /// The version of the intent from then on.
    pub version: u32,
}
