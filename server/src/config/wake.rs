//! The endpoints that are told when a suspension is over: one `[[wake.webhook]]` each.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use channels::WebhookSettings;
use domain::base::name::normal;
use domain::suspension::wake::{WakeRule, WakeType};
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::channels::secret;

/// The most endpoints. Each look for messages asks for each of them.
const ENDPOINTS_MAX: usize = 20;
/// The most agents that one endpoint names.
const AGENTS_MAX: usize = 1_000;

/// `[wake]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WakeSection {
    webhook: Vec<WakeWebhookSection>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WakeWebhookSection {
    url: SecretString,
    secret: Option<SecretString>,
    secret_file: Option<PathBuf>,
    #[serde(default)]
    allow_subnets: Vec<IpNet>,
    #[serde(default)]
    agents: Vec<String>,
    #[serde(default)]
    types: Vec<WakeType>,
    #[serde(default)]
    include_value: bool,
}

/// An endpoint that is told when a suspension is over.
#[derive(Clone, Debug)]
pub struct WakeConfig {
    pub settings: WebhookSettings,
    pub rule: WakeRule,
    pub is_this_machine: bool,
}

impl WakeSection {
    /// Whether it names an address, which may be a secret.
    pub(super) fn names_addresses(&self) -> bool {
        !self.webhook.is_empty()
    }

    /// The files from which secrets are read.
    pub(super) fn secret_files(&self) -> impl Iterator<Item = PathBuf> {
        self.webhook.iter().filter_map(|webhook| webhook.secret_file.clone())
    }

    /// Checks the endpoints.
    pub(super) fn resolve(self) -> anyhow::Result<Vec<WakeConfig>> {
        if self.webhook.len() > ENDPOINTS_MAX {
            bail!("wake.webhook: at most {ENDPOINTS_MAX} endpoints");
        }
        let mut wakes: Vec<WakeConfig> = Vec::with_capacity(self.webhook.len());
        for (index, section) in self.webhook.into_iter().enumerate() {
            let wake = section.resolve(index).with_context(|| format!("wake.webhook[{index}]"))?;
            if wakes.iter().any(|known| known.rule.endpoint == wake.rule.endpoint) {
                bail!("wake.webhook[{index}]: url is that of an earlier endpoint; name its agents and types in one");
            }
            wakes.push(wake);
        }
        Ok(wakes)
    }
}

impl WakeWebhookSection {
    fn resolve(self, index: usize) -> anyhow::Result<WakeConfig> {
        let Some(secret) = secret("secret", self.secret, self.secret_file.as_deref())? else {
            bail!("set secret or secret_file");
        };
        if self.agents.len() > AGENTS_MAX {
            bail!("agents: at most {AGENTS_MAX}");
        }
        let named = |name: &String| normal(name).map_err(|(_, message)| anyhow!("agents: {message}"));
        let agents = self.agents.iter().map(named).collect::<anyhow::Result<_>>()?;
        let digest = Sha256::digest(self.url.expose_secret());
        let endpoint = format!("{:016x}", u64::from_be_bytes(digest[..8].try_into()?));
        let settings = WebhookSettings::plain(format!("wake.webhook[{index}]"), self.url, secret, self.allow_subnets);
        let is_this_machine = settings.check().map_err(|error| anyhow!("{error}"))?;
        let rule = WakeRule { endpoint, agents, types: self.types, include_value: self.include_value };
        Ok(WakeConfig { settings, rule, is_this_machine })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn resolve(text: &str) -> anyhow::Result<Vec<WakeConfig>> {
        toml::from_str::<WakeSection>(text)?.resolve()
    }

    fn endpoint(path: &str, more: &str) -> String {
        format!("[[webhook]]\nurl = 'https://harn.example/{path}'\nsecret = '{SECRET}'\n{more}\n")
    }

    #[test]
    fn every_key_of_an_endpoint_changes_something() {
        assert!(resolve("").unwrap().is_empty());
        let more = "allow_subnets = ['10.0.0.0/8']\nagents = [' bot ']\ntypes = ['suspension.resumed']\ninclude_value = true";
        let wakes = resolve(&(endpoint("a", more) + &endpoint("b", ""))).unwrap();
        let WakeRule { endpoint, agents, types, include_value } = &wakes[0].rule;
        assert_eq!(
            (agents.as_slice(), types.as_slice(), *include_value),
            (&["bot".to_owned()][..], &[WakeType::Resumed][..], true)
        );
        assert_eq!((wakes[0].settings.allow_subnets.len(), wakes[0].is_this_machine), (1, false));
        let plain = &wakes[1].rule;
        assert!(plain.agents.is_empty() && plain.types.is_empty() && !plain.include_value && plain.endpoint != *endpoint);
        let moved = resolve(&(self::endpoint("b", "") + &self::endpoint("a", ""))).unwrap();
        assert_eq!(moved[1].rule.endpoint, *endpoint, "an endpoint keeps its messages in another place of the file");
    }

    #[test]
    fn what_is_wrong_is_refused_without_the_secret() {
        for (text, words) in [
            (endpoint("s3cr3t", "types = ['suspension.asked']"), "unknown variant"),
            (endpoint("s3cr3t", "agents = [' ']"), "wake.webhook[0]"),
            (endpoint("s3cr3t", "include_value = 'yes'"), "invalid type"),
            (endpoint("s3cr3t", "secret_file = '/x'"), "both set"),
            (endpoint("s3cr3t", "").replace("https", "http"), "https://"),
            (endpoint("s3cr3t", "").replace("harn.example", "10.0.0.1"), "not a public address"),
            (endpoint("s3cr3t", "").replace(SECRET, "hunter2"), "whsec_"),
            (endpoint("s3cr3t", "").replace("secret =", "#"), "set secret or secret_file"),
            (endpoint("s3cr3t", "") + &endpoint("s3cr3t", ""), "wake.webhook[1]: url is that of an earlier endpoint"),
            (endpoint("s3cr3t", &format!("agents = {:?}", vec!["a"; AGENTS_MAX + 1])), "agents: at most"),
        ] {
            let refused = format!("{:#}", resolve(&text).unwrap_err());
            assert!(refused.contains(words), "{words}: {refused}");
            assert!(
                !refused.contains("hunter2")
                    && (words == "unknown variant" || words == "invalid type" || !refused.contains("s3cr3t")),
                "{refused}"
            );
        }
        let many = |count: usize| resolve(&(0..count).map(|index| endpoint(&index.to_string(), "")).collect::<String>());
        assert!(many(ENDPOINTS_MAX).is_ok() && many(ENDPOINTS_MAX + 1).is_err());
        assert!(resolve(&endpoint("a", &format!("agents = {:?}", vec!["a"; AGENTS_MAX]))).is_ok());
    }
}
