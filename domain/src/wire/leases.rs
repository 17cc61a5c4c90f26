//! Bodies about leases (RFC-0003).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::suspension::lease::Lease;

/// `POST /api/v1/intents/{id}/leases`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AcquireLeaseRequest {
    /// The part of the state it covers.
    #[schema(min_length = 1, max_length = 200, examples("refund"))]
    pub scope: String,
    /// For how long, 1 to 86,400; 300 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub duration_seconds: Option<u32>,
}

/// `PATCH /api/v1/intents/{id}/leases/{lease}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RenewLeaseRequest {
    /// For how long from now, 1 to 86,400; 300 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub duration_seconds: Option<u32>,
}

/// The leases of an intent that were not given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseList {
    /// Oldest first.
    pub leases: Vec<Lease>,
}

/// The answer to a lease given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseReleased {
    /// Says so.
    pub message: String,
}
