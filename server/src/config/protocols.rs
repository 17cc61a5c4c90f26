//! The protocols of other agents that the server speaks.

use serde::Deserialize;

/// `[agent_to_agent]` in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct A2aSection {
    /// Whether agents may ask by A2A.
    pub(super) enabled: bool,
}

impl Default for A2aSection {
    /// The door is open: a caller needs a key there as everywhere.
    fn default() -> Self {
        Self { enabled: true }
    }
}
