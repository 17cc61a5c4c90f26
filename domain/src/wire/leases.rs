//! Bodies about leases (RFC-0003).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::suspension::lease::Lease;

/// `POST /api/v1/intents/{id}/leases`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AcquireLeaseRequest {
    /// The part of the state that it covers.
    #[schema(min_length = 1, max_length = 200, examples("refund"))]
    pub scope: String,
    /// The duration, 1 to 86,400 seconds; 300 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub duration_seconds: Option<u32>,
}

/// `PATCH /api/v1/intents/{id}/leases/{lease}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RenewLeaseRequest {
    /// The duration from now on, 1 to 86,400 seconds; 300 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub duration_seconds: Option<u32>,
}

/// The leases of an intent that were not released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseList {
    /// The leases, oldest first.
    pub leases: Vec<Lease>,
}

/// The reply to the release of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseReleased {
    /// A sentence that confirms the release.
    pub message: String,
}
