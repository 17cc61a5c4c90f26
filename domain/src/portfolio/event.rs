//! Events of a portfolio's own log.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::json::present;
use crate::people::principal::Credential;
use crate::portfolio::{Portfolio, PortfolioPolicy, PortfolioStatus};

/// The type of the event that begins a portfolio.
pub const CREATED: &str = "portfolio_created";
/// The type of the events that change its words, data or rules.
pub const UPDATED: &str = "portfolio_updated";
/// The type of the events that change its status.
pub const STATUS_CHANGED: &str = "portfolio_status_changed";

/// A portfolio that began; the payload of `portfolio_created`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Data of its creator.
    pub metadata: Map<String, Value>,
    /// Its rules.
    pub governance_policy: PortfolioPolicy,
    /// The creator that the request named, if the credential has another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_created_by: Option<String>,
    /// The credential that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// Words, data and rules that changed; the payload of `portfolio_updated`. Members that did not change are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Updated {
    /// The name from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description from now on; null if there is none any more.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub description: Option<Option<String>>,
    /// The data from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// All rules from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governance_policy: Option<PortfolioPolicy>,
    /// The credential that changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A change of status; the payload of `portfolio_status_changed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusChanged {
    /// The status before.
    pub old_status: PortfolioStatus,
    /// The status from now on.
    pub new_status: PortfolioStatus,
    /// The credential that changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// One thing that happened to one portfolio; also the payload of its event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PortfolioEvent {
    /// The portfolio began.
    Created(Box<Created>),
    /// Its words, data or rules changed.
    Updated(Box<Updated>),
    /// Its status changed.
    StatusChanged(StatusChanged),
}

impl PortfolioEvent {
    /// The type of the event in the log.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Created(_) => CREATED,
            Self::Updated(_) => UPDATED,
            Self::StatusChanged(_) => STATUS_CHANGED,
        }
    }
}

impl Portfolio {
    /// Applies an event of its log.
    pub fn apply(&mut self, event: &PortfolioEvent) {
        match event {
            PortfolioEvent::Created(_) => {}
            PortfolioEvent::Updated(updated) => {
                let Updated { name, description, metadata, governance_policy, credential: _ } = (**updated).clone();
                let body = &mut self.body;
                body.name = name.unwrap_or_else(|| std::mem::take(&mut body.name));
                body.description = description.unwrap_or_else(|| body.description.take());
                body.metadata = metadata.unwrap_or_else(|| std::mem::take(&mut body.metadata));
                body.policy = governance_policy.unwrap_or(body.policy);
            }
            PortfolioEvent::StatusChanged(changed) => self.status = changed.new_status,
        }
    }
}
