//! The senders that may tell of events by a signature in place of a key: one `[[events.webhook]]` each.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use channels::SignedSender;
use domain::suspension::channel::is_channel_name;
use secrecy::SecretString;
use serde::Deserialize;

use super::channels::secret;

/// The most senders: each of them is tried for each signed message.
const SENDERS_MAX: usize = 20;

/// `[events]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EventsSection {
    webhook: Vec<SenderSection>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SenderSection {
    name: String,
    secret: Option<SecretString>,
    secret_file: Option<PathBuf>,
    previous_secret: Option<SecretString>,
    previous_secret_file: Option<PathBuf>,
}

impl EventsSection {
    /// Whether it holds a secret.
    pub(super) fn holds_secret(&self) -> bool {
        self.webhook.iter().any(|sender| sender.secret.is_some() || sender.previous_secret.is_some())
    }

    /// The files from which secrets are read.
    pub(super) fn secret_files(&self) -> impl Iterator<Item = PathBuf> {
        self.webhook.iter().flat_map(|sender| [sender.secret_file.clone(), sender.previous_secret_file.clone()]).flatten()
    }

    /// Checks the senders.
    pub(super) fn resolve(self) -> anyhow::Result<Vec<SignedSender>> {
        if self.webhook.len() > SENDERS_MAX {
            bail!("events.webhook: at most {SENDERS_MAX} senders");
        }
        let mut senders: Vec<SignedSender> = Vec::with_capacity(self.webhook.len());
        for SenderSection { name, secret: text, secret_file, previous_secret, previous_secret_file } in self.webhook {
            if !is_channel_name(&name) {
                bail!("events.webhook: {name:?} is no name: 1 to 64 of a-z, 0-9 and -");
            }
            if senders.iter().any(|known| known.name() == name) {
                bail!("events.webhook: {name:?} is named twice");
            }
            let of = || format!("events.webhook {name:?}");
            let current = secret("secret", text, secret_file.as_deref()).with_context(of)?;
            let Some(current) = current else { bail!("events.webhook {name:?}: set secret or secret_file") };
            let previous = secret("previous_secret", previous_secret, previous_secret_file.as_deref()).with_context(of)?;
            let sender = SignedSender::new(name.clone(), &current, previous.as_ref());
            senders.push(sender.map_err(|error| anyhow!("events.webhook {name:?}: {error}"))?);
        }
        Ok(senders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn resolve(text: &str) -> anyhow::Result<Vec<SignedSender>> {
        toml::from_str::<EventsSection>(text)?.resolve()
    }

    fn sender(name: &str, more: &str) -> String {
        format!("[[webhook]]\nname = '{name}'\nsecret = '{SECRET}'\n{more}\n")
    }

    #[test]
    fn senders_are_named_and_have_one_secret_or_two() {
        assert!(resolve("").unwrap().is_empty());
        let senders = resolve(&(sender("ci", &format!("previous_secret = '{SECRET}'")) + &sender("harn-1", ""))).unwrap();
        assert_eq!(senders.iter().map(SignedSender::name).collect::<Vec<_>>(), ["ci", "harn-1"]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, format!("{SECRET}\n")).unwrap();
        let from_file = format!("[[webhook]]\nname = 'ci'\nsecret_file = '{}'", file.display());
        assert_eq!(resolve(&from_file).unwrap().len(), 1);
    }

    #[test]
    fn what_is_wrong_is_refused_without_the_secret() {
        for (text, words) in [
            (sender("CI", ""), "is no name"),
            (sender("", ""), "is no name"),
            (sender("ci", "") + &sender("ci", ""), "is named twice"),
            (sender("ci", "").replace(SECRET, "hunter2"), "secret must be whsec_"),
            (sender("ci", "previous_secret = 'hunter2'"), "previous_secret must be whsec_"),
            (sender("ci", "").replace("secret =", "#"), "set secret or secret_file"),
            (sender("ci", "secret_file = '/x'"), "both set"),
        ] {
            let refused = format!("{:#}", resolve(&text).unwrap_err());
            assert!(refused.contains(words) && !refused.contains("hunter2"), "{words}: {refused}");
        }
        let many = |count: usize| resolve(&(0..count).map(|number| sender(&format!("s{number}"), "")).collect::<String>());
        assert!(many(SENDERS_MAX).is_ok() && many(SENDERS_MAX + 1).is_err());
    }
}
