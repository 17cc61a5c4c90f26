//! The channels of the file: `[channels]` and one `[[channels.webhook]]` per endpoint.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use channels::{TOTAL_TIMEOUT, Template, WebhookSettings};
use domain::asking::policy::UnknownChannel;
use domain::suspension::channel::{Channels, EMAIL, NamedChannel, Reach, is_channel_name};
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
    secret: Option<SecretString>,
    secret_file: Option<PathBuf>,
    previous_secret: Option<SecretString>,
    previous_secret_file: Option<PathBuf>,
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
    /// The treatment of a `channel_hint` that names no channel of this server.
    pub(super) fn unknown(&self) -> UnknownChannel {
        match self.unknown {
            Some(Unknown::Reject) => UnknownChannel::Reject,
            Some(Unknown::Warn) | None => UnknownChannel::Warn,
        }
    }

    /// The names of the channels, mails included.
    pub(super) fn names(&self) -> Vec<String> {
        std::iter::once(EMAIL.to_owned()).chain(self.webhook.iter().map(|webhook| webhook.name.clone())).collect()
    }

    /// The files from which secrets of endpoints are read. `environment` knows the files that variables name.
    pub(super) fn secret_files(&self, environment: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
        let of_one = |section: &WebhookSection| {
            let named = environment(&variable(&section.name));
            [section.secret_file.clone(), section.previous_secret_file.clone(), named]
        };
        self.webhook.iter().flat_map(of_one).flatten().collect()
    }

    /// Checks the endpoints and joins them with the mails, if this server sends any. `environment` knows the secrets that
    /// variables hold.
    pub(super) fn resolve(
        self,
        sends_mails: bool,
        environment: &dyn Fn(&str) -> anyhow::Result<Option<SecretString>>,
    ) -> anyhow::Result<(Channels, Vec<WebhookConfig>)> {
        if self.webhook.len() > WEBHOOKS_MAX {
            bail!("channels.webhook: at most {WEBHOOKS_MAX} endpoints");
        }
        let mut known = Vec::new();
        if sends_mails {
            known.push(NamedChannel { name: EMAIL.to_owned(), reach: Reach::People, links: true });
        }
        let mut webhooks = Vec::new();
        for section in self.webhook {
            let WebhookSection { name, url, allow_subnets, recipient, links, template, .. } = section;
            if name == EMAIL {
                bail!("channels.webhook: {EMAIL:?} is the name of the mails; choose another");
            }
            if let Some(wrong) = recipient.as_ref().filter(|recipient| !is_channel_name(recipient)) {
                bail!("channels.webhook {name:?}: recipient {wrong:?} is no name: 1 to 64 of a-z, 0-9 and -");
            }
            if template == Template::Slack && links && recipient.is_none() {
                bail!(
                    "channels.webhook {name:?}: template \"slack\" with links and without recipient would post each person's own \
                     link into one room; set recipient, or links = false"
                );
            }
            let in_file = |what: &str, text, file: Option<PathBuf>| {
                secret(what, text, file.as_deref()).with_context(|| format!("channels.webhook {name:?}"))
            };
            let previous_secret = in_file("previous_secret", section.previous_secret, section.previous_secret_file)?;
            // The environment comes first: if it holds the secret, a bad file that it makes superfluous must not cause a failure.
            let secret = match environment(&variable(&name))? {
                Some(secret) => Some(secret),
                None => in_file("secret", section.secret, section.secret_file)?,
            };
            let Some(secret) = secret else {
                bail!("channels.webhook {name:?}: set secret, secret_file or {}", variable(&name));
            };
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
            known.push(NamedChannel { name, reach: recipient.map_or(Reach::People, Reach::Audience), links });
            webhooks.push(WebhookConfig { settings, is_this_machine });
        }
        let default = match self.default {
            Some(default) => default,
            None if sends_mails => vec![EMAIL.to_owned()],
            None if webhooks.len() == 1 => vec![webhooks[0].settings.name.clone()],
            None => {
                bail!("channels.default must name the channels for questions that prefer none, from these: {}", names(&webhooks))
            }
        };
        let channels = Channels::new(known, default).map_err(|error| anyhow!("channels: {error}"))?;
        Ok((channels, webhooks))
    }
}

/// The secret of an endpoint, from the file itself or from a file of its own.
pub(super) fn secret(what: &str, text: Option<SecretString>, file: Option<&Path>) -> anyhow::Result<Option<SecretString>> {
    match (text, file) {
        (Some(_), Some(_)) => bail!("{what} and {what}_file are both set; keep one of them"),
        (text, None) => Ok(text),
        (None, Some(file)) => {
            let text =
                std::fs::read_to_string(file).with_context(|| format!("failed to read {what}_file ({})", file.display()))?;
            Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned().into()))
        }
    }
}

/// The variable that holds the secret of an endpoint: `PLACET_WEBHOOK_OPS_ROOM_SECRET`. The previous secret has no variable: the
/// name `PLACET_WEBHOOK_OPS_ROOM_PREVIOUS_SECRET` would also be that of an endpoint called `ops-room-previous`.
fn variable(webhook: &str) -> String {
    format!("PLACET_WEBHOOK_{}_SECRET", webhook.replace('-', "_").to_uppercase())
}

fn names(webhooks: &[WebhookConfig]) -> String {
    webhooks.iter().map(|webhook| webhook.settings.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn resolve(text: &str, sends_mails: bool) -> anyhow::Result<(Channels, Vec<WebhookConfig>)> {
        toml::from_str::<ChannelsSection>(text)?.resolve(sends_mails, &|_| Ok(None))
    }

    fn webhook(name: &str, more: &str) -> String {
        format!("[[webhook]]\nname = '{name}'\nurl = 'https://hooks.example/s3cr3t'\nsecret = '{SECRET}'\n{more}\n")
    }

    #[test]
    fn every_key_of_a_webhook_changes_something() {
        let more = format!(
            "previous_secret = '{SECRET}'\nallow_subnets = ['10.0.0.0/8']\nrecipient = 'room'\nlinks = true\ntemplate = 'slack'"
        );
        let (channels, webhooks) = resolve(&webhook("pager", &more), true).unwrap();
        let settings = &webhooks[0].settings;
        assert!(settings.previous_secret.is_some() && settings.links && settings.template == Template::Slack);
        assert_eq!((settings.allow_subnets.len(), webhooks[0].is_this_machine), (1, false));
        assert_eq!(channels.routes(Some("pager"), &[])[0].recipient, "room");
        assert!(channels.routes(None, &[]).is_empty(), "mails are the default");
        let (channels, webhooks) = resolve(&format!("default = ['pager']\n{}", webhook("pager", "")), true).unwrap();
        assert_eq!(channels.names(), [EMAIL, "pager"]);
        assert_eq!(channels.routes(None, &["a@b.example".to_owned()])[0].channel, "pager");
        let settings = &webhooks[0].settings;
        assert!(settings.previous_secret.is_none() && !settings.links && settings.template == Template::Placet);
    }

    /// The secret of an endpoint can come from a file of its own or from a variable. So a settings file that is kept in a
    /// repository need hold no secret.
    #[test]
    fn a_secret_may_come_from_a_file_or_the_environment() {
        const OTHER: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, format!("{OTHER}\n")).unwrap();
        let from_file = format!("secret_file = '{}'", file.display());
        let plain = webhook("ops-room", "");
        let without = plain.replace(&format!("secret = '{SECRET}'"), "");
        let resolved = |text: &str, variables: &[(&str, &str)]| {
            let environment = |name: &str| {
                let set = variables.iter().find(|(known, _)| *known == name);
                Ok(set.map(|(_, value)| SecretString::from(*value)))
            };
            let (_, webhooks) = toml::from_str::<ChannelsSection>(text).unwrap().resolve(true, &environment)?;
            let settings = &webhooks[0].settings;
            let previous = settings.previous_secret.as_ref().map(|secret| secret.expose_secret().to_owned());
            anyhow::Ok((settings.secret.expose_secret().to_owned(), previous))
        };
        let variable = "PLACET_WEBHOOK_OPS_ROOM_SECRET";
        assert_eq!(resolved(&format!("{without}{from_file}"), &[]).unwrap(), (OTHER.to_owned(), None));
        assert_eq!(resolved(&without, &[(variable, OTHER)]).unwrap(), (OTHER.to_owned(), None));
        assert_eq!(resolved(&plain, &[(variable, OTHER)]).unwrap().0, OTHER, "the environment wins over the file");
        let missing = format!("{without}secret_file = '/nowhere/secret'");
        assert_eq!(resolved(&missing, &[(variable, OTHER)]).unwrap().0, OTHER, "also over one that is not there");
        let section: ChannelsSection = toml::from_str(&format!("{without}{from_file}\nprevious_secret_file = '/old'")).unwrap();
        let named = |name: &str| (name == variable).then(|| PathBuf::from("/run/secrets/ops-room"));
        let files = [file.clone(), "/old".into(), "/run/secrets/ops-room".into()];
        assert_eq!(section.secret_files(&named), files, "whoever can read one of these can send as the endpoint's server");
        let previous = resolved(&format!("{plain}previous_{from_file}"), &[]).unwrap();
        assert_eq!(previous, (SECRET.to_owned(), Some(OTHER.to_owned())));
        for (text, word) in [
            (without.clone(), variable),
            (format!("{plain}{from_file}"), "both set"),
            (format!("{without}secret_file = '/nowhere/secret'"), "/nowhere/secret"),
        ] {
            let refused = format!("{:#}", resolved(&text, &[]).unwrap_err());
            assert!(refused.contains("\"ops-room\"") && refused.contains(word) && !refused.contains("whsec_"), "{refused}");
        }
    }

    /// On a server without mails, the only webhook is the default channel. If there are several, the operator must choose one.
    #[test]
    fn a_server_without_mails_needs_a_default_that_is_clear() {
        let (channels, _) = resolve(&webhook("pager", ""), false).unwrap();
        assert_eq!(channels.names(), ["pager"]);
        let both = webhook("pager", "") + &webhook("room", "");
        assert!(resolve(&both, false).unwrap_err().to_string().contains("pager, room"));
        assert!(resolve(&format!("default = ['room']\n{both}"), false).is_ok());
        assert!(resolve(&format!("default = ['email']\n{both}"), false).is_err(), "there are no mails");
    }

    /// Refusals end up in logs and tickets. They name the endpoint, and repeat nothing that must stay secret.
    #[test]
    fn what_is_wrong_is_refused_without_its_secrets() {
        let url = |url: &str| webhook("pager", "").replace("https://hooks.example/s3cr3t", url);
        for wrong in [
            webhook("email", ""),
            webhook("Pager", ""),
            webhook(&"x".repeat(65), ""),
            webhook("pager", "") + &webhook("pager", ""),
            webhook("pager", "recipient = 'ops@example.com'"),
            webhook("pager", "previous_secret = 'whsec_short'"),
            webhook("pager", "template = 'slack'\nlinks = true"),
            webhook("pager", "").replace(SECRET, "hunter2"),
            url("http://hooks.example/s3cr3t"),
            url("https://10.0.0.1/s3cr3t"),
            url("https://user:hunter2@hooks.example/s3cr3t"),
            format!("default = []\n{}", webhook("pager", "")),
            format!("default = ['slack']\n{}", webhook("pager", "")),
            (0..=WEBHOOKS_MAX).map(|n| webhook(&format!("w{n}"), "")).collect(),
        ] {
            let refused = format!("{:#}", resolve(&wrong, true).unwrap_err());
            assert!(refused.starts_with("channels"), "{refused}");
            assert!(!["s3cr3t", "hunter2", "MfKQ"].iter().any(|secret| refused.contains(secret)), "{refused}");
        }
        assert!(resolve(&webhook(&"x".repeat(64), ""), true).is_ok());
        for right in ["template = 'slack'", "template = 'slack'\nlinks = true\nrecipient = 'room'", "links = true"] {
            assert!(resolve(&webhook("pager", right), true).is_ok(), "{right}");
        }
        assert!(resolve(&(0..WEBHOOKS_MAX).map(|n| webhook(&format!("w{n}"), "")).collect::<String>(), true).is_ok());
    }
}
