//! The protocols of other agents that the server speaks.

use ipnet::IpNet;
use serde::Deserialize;

use super::subscriptions::{SubscriptionsConfig, hosts};

/// `[agent_to_agent]` in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct A2aSection {
    /// Whether agents may ask by A2A.
    enabled: bool,
    push: PushSection,
}

/// `[agent_to_agent.push]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PushSection {
    allow: Vec<String>,
    allow_subnets: Vec<IpNet>,
}

impl Default for A2aSection {
    /// The door is open: a caller needs a key there as everywhere.
    fn default() -> Self {
        Self { enabled: true, push: PushSection::default() }
    }
}

/// How the server speaks A2A.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct A2aConfig {
    /// Whether agents may ask by A2A.
    pub enabled: bool,
    /// The endpoints to which the changes of tasks may be pushed; none unless the operator names hosts.
    pub push: SubscriptionsConfig,
}

impl Default for A2aConfig {
    fn default() -> Self {
        Self { enabled: true, push: SubscriptionsConfig::default() }
    }
}

impl A2aSection {
    /// Checks the hosts.
    pub(super) fn resolve(self) -> anyhow::Result<A2aConfig> {
        let hosts = hosts("agent_to_agent.push.allow", self.push.allow)?;
        let push = SubscriptionsConfig { hosts, allow_subnets: self.push.allow_subnets };
        Ok(A2aConfig { enabled: self.enabled, push })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_pushed_unless_the_operator_names_hosts() {
        let resolved = |text: &str| toml::from_str::<A2aSection>(text).map_err(anyhow::Error::from)?.resolve();
        assert_eq!(resolved("").unwrap(), A2aConfig::default());
        assert!(!resolved("enabled = false").unwrap().enabled);
        let push = resolved("[push]\nallow = ['Hooks.Example.com']\nallow_subnets = ['10.0.0.0/8']").unwrap().push;
        assert_eq!((push.hosts.as_slice(), push.allow_subnets.len()), (&["hooks.example.com".to_owned()][..], 1));
        for wrong in ["https://hooks.example.com", "*.example.com", ""] {
            let refused = resolved(&format!("[push]\nallow = ['{wrong}']")).unwrap_err().to_string();
            assert!(refused.starts_with("agent_to_agent.push.allow"), "{refused}");
        }
    }
}
