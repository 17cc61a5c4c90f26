//! The body of the server's configuration (RFC-0026).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::suspension::retry::PartialRetryPolicy;

/// `GET /api/v1/server/config` (RFC-0026, cascade).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ServerConfigView {
    /// The protocol's version.
    pub protocol_version: String,
    /// The part about suspensions.
    pub suspension: SuspensionConfigView,
}

/// The part of the configuration that concerns suspensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuspensionConfigView {
    /// The server's default retry policy (RFC-0026, cascade).
    pub default_retry_policy: Option<PartialRetryPolicy>,
}
