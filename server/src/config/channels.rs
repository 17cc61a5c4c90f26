//! The channels of the file: `[channels]` and one `[[channels.webhook]]` per endpoint.

use anyhow::{anyhow, bail};
use channels::{TOTAL_TIMEOUT, Template, WebhookSettings};
use domain::asking::UnknownChannel;
use domain::channel::{Channels, EMAIL, NamedChannel, Reach, is_channel_name};
use ipnet::IpNet;
use secrecy::SecretString;
use serde::Deserialize;

/// The most webhooks one server has.
const WEBHOOKS_MAX: usize = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ChannelsSection {
    unknown: Option<Unknown>,
    default: Option<Vec<String>>,
    pub(super) webhook: Vec<WebhookSection>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Unknown {
    Warn,
    Reject,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WebhookSection {
    name: String,
    url: SecretString,
    secret: SecretString,
    previous_secret: Option<SecretString>,
    #[serde(default)]
    allow_subnets: Vec<IpNet>,
    recipient: Option<String>,
    #[serde(default)]
    links: bool,
    #[serde(default)]
    template: Template,
}

/// A webhook, and whether it is on this machine.
#[derive(Clone, Debug)]
pub struct WebhookConfig {
    pub settings: WebhookSettings,
    pub is_this_machine: bool,
}

impl ChannelsSection {
    /// What becomes of a hint that names none of them.
    pub(super) fn unknown(&self) -> UnknownChannel {
        match self.unknown {
            Some(Unknown::Reject) => UnknownChannel::Reject,
            Some(Unknown::Warn) | None => UnknownChannel::Warn,
        }
    }

    /// Checks the endpoints and joins them with the mails, if this server sends any.
    pub(super) fn resolve(self, sends_mails: bool) -> anyhow::Result<(Channels, Vec<WebhookConfig>)> {
        if self.webhook.len() > WEBHOOKS_MAX {
            bail!("channels.webhook: at most {WEBHOOKS_MAX} endpoints");
        }
        let mut known = Vec::new();
        if sends_mails {
            known.push(NamedChannel { name: EMAIL.to_owned(), reach: Reach::People });
        }
        let mut webhooks = Vec::new();
        for section in self.webhook {
            let WebhookSection { name, url, secret, previous_secret, allow_subnets, recipient, links, template } = section;
            if name == EMAIL {
                bail!("channels.webhook: {EMAIL:?} is the name of the mails; choose another");
            }
            if let Some(wrong) = recipient.as_ref().filter(|recipient| !is_channel_name(recipient)) {
                bail!("channels.webhook {name:?}: recipient {wrong:?} is no name: 1 to 64 of a-z, 0-9 and -");
            }
            let settings = WebhookSettings {
                name: name.clone(),
                url,
                secret,
                previous_secret,
                allow_subnets,
                links,
                template,
                timeout: TOTAL_TIMEOUT,
            };
            let is_this_machine = settings.check().map_err(|error| anyhow!("channels.webhook {name:?}: {error}"))?;
            known.push(NamedChannel { name, reach: recipient.map_or(Reach::People, Reach::Audience) });
            webhooks.push(WebhookConfig { settings, is_this_machine });
        }
        let default = match self.default {
            Some(default) => default,
            None if sends_mails => vec![EMAIL.to_owned()],
            None if webhooks.len() == 1 => vec![webhooks[0].settings.name.clone()],
            None => bail!("channels.default must say which of these is used when a question prefers none: {}", names(&webhooks)),
        };
        let channels = Channels::new(known, default).map_err(|error| anyhow!("channels: {error}"))?;
        Ok((channels, webhooks))
    }
}

fn names(webhooks: &[WebhookConfig]) -> String {
    webhooks.iter().map(|webhook| webhook.settings.name.as_str()).collect::<Vec<_>>().join(", ")
}
