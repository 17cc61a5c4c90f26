//! The endpoints that agents may subscribe to the events of intents.

use std::net::SocketAddr;

use anyhow::bail;
use channels::Subscribers;
use ipnet::IpNet;
use serde::Deserialize;
use url::Host;

/// The most hosts.
const HOSTS_MAX: usize = 100;

/// `[subscriptions]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SubscriptionsSection {
    hosts: Vec<String>,
    allow_subnets: Vec<IpNet>,
}

/// Where the endpoints may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionsConfig {
    /// The hosts, as they are in URLs; none unless the operator names some.
    pub hosts: Vec<String>,
    /// Subnets off the public internet in which the endpoints may be, on any port.
    pub allow_subnets: Vec<IpNet>,
}

impl SubscriptionsConfig {
    /// The endpoints that may be called, by a server with this address.
    pub(crate) fn subscribers(self, own: SocketAddr) -> Subscribers {
        Subscribers::new(self.hosts, self.allow_subnets, &[own])
    }
}

impl SubscriptionsSection {
    /// Checks the hosts.
    pub(super) fn resolve(self) -> anyhow::Result<SubscriptionsConfig> {
        Ok(SubscriptionsConfig { hosts: hosts("subscriptions.hosts", self.hosts)?, allow_subnets: self.allow_subnets })
    }
}

/// Gives each host of a setting the form in which the host of an endpoint's URL is compared with it.
///
/// # Errors
///
/// Too many hosts, and one that is no host.
pub(super) fn hosts(setting: &str, named: Vec<String>) -> anyhow::Result<Vec<String>> {
    if named.len() > HOSTS_MAX {
        bail!("{setting}: at most {HOSTS_MAX} hosts");
    }
    let mut hosts = Vec::with_capacity(named.len());
    for host in named {
        // An IPv6 address is parsed first, because a setting may name it without brackets, and `Host::parse` needs them.
        let read = host.parse().map_or_else(|_| Host::parse(&host), |address| Ok(Host::Ipv6(address)));
        match read {
            Ok(Host::Domain(name)) if !name.ends_with('.') && !name.contains('*') => hosts.push(name),
            Ok(Host::Ipv4(address)) => hosts.push(address.to_string()),
            Ok(Host::Ipv6(address)) => hosts.push(address.to_string()),
            Ok(Host::Domain(_)) | Err(_) => {
                bail!("{setting}: {host:?} is no host; write hooks.example.com, without https://, a port or a *")
            }
        }
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_the_spelling_of_urls() {
        let resolved = |text: &str| toml::from_str::<SubscriptionsSection>(text).map_err(anyhow::Error::from)?.resolve();
        assert_eq!(resolved("").unwrap(), SubscriptionsConfig::default());
        let hosts = resolved("hosts = ['Hooks.Example.com', '127.1', '::1', '[2001:db8::1]']").unwrap().hosts;
        assert_eq!(hosts, ["hooks.example.com", "127.0.0.1", "::1", "2001:db8::1"]);
        assert_eq!(resolved("allow_subnets = ['10.0.0.0/8']").unwrap().allow_subnets.len(), 1);
        for wrong in ["https://hooks.example.com", "hooks.example.com:443", "hooks.example.com.", "*.example.com", "a b", ""] {
            let refused = resolved(&format!("hosts = ['{wrong}']")).unwrap_err().to_string();
            assert!(refused.starts_with("subscriptions.hosts"), "{refused}");
        }
        let many = |count: usize| resolved(&format!("hosts = {:?}", vec!["a.example"; count]));
        assert!(many(HOSTS_MAX).is_ok() && many(HOSTS_MAX + 1).is_err());
    }
}
