//! The key that signs the log's checkpoints, the name of the log, and the second places that keep its checkpoints.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use channels::{WebhookSettings, WitnessEndpoint};
use chrono::TimeDelta;
use domain::base::address;
use ipnet::IpNet;
use proof::witness::{PATH, WitnessKey};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use store::Database;
use store::sqlite::beside;

use super::channels::secret;

/// The ending that a database file's name gets for the key file beside it.
const KEY_FILE_ENDING: &str = ".log-key";
/// The most witnesses. A checkpoint has room for 64 signatures, and one is the log's own.
const WITNESSES_MAX: usize = 32;
/// How many hours lie between two mails with a checkpoint, unless the operator sets another number.
const MAIL_HOURS_DEFAULT: u32 = 24;
/// The most hours between two mails with a checkpoint.
const MAIL_HOURS_MAX: u32 = 31 * 24;
/// The most auditors who get checkpoints by mail.
const MAILED_MAX: usize = 20;
/// The variable with the secret of the webhook.
const WEBHOOK_SECRET: &str = "PLACET_LOG_WEBHOOK_SECRET";

/// `[log]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LogSection {
    witness: Vec<WitnessSection>,
    webhook: Option<LogWebhookSection>,
    mail: Option<LogMailSection>,
}

impl LogSection {
    /// Whether it names an address, which may be a secret.
    pub(super) fn names_addresses(&self) -> bool {
        self.webhook.is_some() || self.mail.is_some() || !self.witness.is_empty()
    }

    /// The file from which the secret of the webhook is read, if there is one.
    pub(super) fn secret_file(&self) -> Option<PathBuf> {
        self.webhook.as_ref().and_then(|webhook| webhook.secret_file.clone())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WitnessSection {
    url: SecretString,
    key: String,
    #[serde(default)]
    allow_subnets: Vec<IpNet>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogWebhookSection {
    url: SecretString,
    secret: Option<SecretString>,
    secret_file: Option<PathBuf>,
    #[serde(default)]
    allow_subnets: Vec<IpNet>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogMailSection {
    to: Vec<String>,
    hours: Option<u32>,
}

/// The auditors who get checkpoints by mail.
#[derive(Clone, Debug)]
pub struct LogMailConfig {
    /// Their addresses.
    pub to: Vec<String>,
    /// The time between two mails.
    pub every: TimeDelta,
}

/// A witness, and where it is.
#[derive(Clone, Debug)]
pub struct WitnessConfig {
    pub key: WitnessKey,
    /// The address to which checkpoints are posted. Its path may be a secret.
    pub url: SecretString,
    /// Subnets off the public internet in which the witness may be.
    pub allow_subnets: Vec<IpNet>,
}

/// Where the key to the log is, what the log is called, and where its checkpoints go.
#[derive(Clone, Debug, Default)]
pub struct LogConfig {
    /// The file without which the server signs nothing; absent for PostgreSQL unless the operator names one.
    pub key_file: Option<PathBuf>,
    /// The name of a log that is begun; absent for a name made from the public URL.
    pub origin: Option<String>,
    /// The file to which each checkpoint is appended, if there is one.
    pub checkpoint_file: Option<PathBuf>,
    /// The witnesses that are asked to cosign checkpoints.
    pub witnesses: Vec<WitnessConfig>,
    /// The endpoint to which checkpoints are posted, if there is one.
    pub webhook: Option<WebhookSettings>,
    /// The auditors who get checkpoints by mail, if there are any.
    pub mail: Option<LogMailConfig>,
}

/// The settings of the log that are flags, as they were given.
pub(super) struct LogArgs {
    pub(super) key_file: Option<PathBuf>,
    pub(super) origin: Option<String>,
    pub(super) checkpoint_file: Option<PathBuf>,
}

impl LogConfig {
    /// Checks the settings, and finds the key file beside a database file. `environment` knows the secrets that variables hold.
    pub(super) fn resolve(
        args: LogArgs,
        section: LogSection,
        database: &Database,
        environment: &dyn Fn(&str) -> anyhow::Result<Option<SecretString>>,
    ) -> anyhow::Result<Self> {
        let LogArgs { key_file, origin, checkpoint_file } = args;
        if let Some(name) = &origin
            && let Err(error) = proof::key::check_name(name)
        {
            bail!("PLACET_LOG_ORIGIN: {error}");
        }
        if section.witness.len() > WITNESSES_MAX {
            bail!("log.witness: at most {WITNESSES_MAX} witnesses");
        }
        let mut witnesses: Vec<WitnessConfig> = Vec::new();
        for section in section.witness {
            let witness = section.resolve()?;
            if witnesses.iter().any(|other| other.key.name() == witness.key.name()) {
                bail!("log.witness {:?}: two witnesses have this name", witness.key.name());
            }
            witnesses.push(witness);
        }
        let webhook = section.webhook.map(|webhook| webhook.resolve(environment)).transpose()?;
        let mail = section.mail.map(LogMailSection::resolve).transpose()?;
        let key_file = key_file.or_else(|| Self::beside(database).key_file);
        Ok(Self { key_file, origin, checkpoint_file, witnesses, webhook, mail })
    }

    /// The settings of a log whose operator has set nothing.
    pub fn beside(database: &Database) -> Self {
        Self { key_file: database.file().map(|file| beside(file, KEY_FILE_ENDING)), ..Self::default() }
    }
}

impl WitnessSection {
    fn resolve(self) -> anyhow::Result<WitnessConfig> {
        let key: WitnessKey = self.key.parse().map_err(|error| anyhow!("log.witness: key: {error}"))?;
        let url = SecretString::from(format!("{}{PATH}", self.url.expose_secret().trim_end_matches('/')));
        WitnessEndpoint::new(&url, &self.allow_subnets, &[]).map_err(|error| anyhow!("log.witness {:?}: {error}", key.name()))?;
        Ok(WitnessConfig { key, url, allow_subnets: self.allow_subnets })
    }
}

impl LogMailSection {
    fn resolve(self) -> anyhow::Result<LogMailConfig> {
        let hours = self.hours.unwrap_or(MAIL_HOURS_DEFAULT);
        if !(1..=MAIL_HOURS_MAX).contains(&hours) {
            bail!("log.mail: hours must be 1 to {MAIL_HOURS_MAX}");
        }
        if !(1..=MAILED_MAX).contains(&self.to.len()) {
            bail!("log.mail: to must name 1 to {MAILED_MAX} addresses");
        }
        let exact =
            |text: &String| address::exact(text).with_context(|| format!("log.mail: to: {text:?} is no plain e-mail address"));
        let to = address::each_once(self.to.iter().map(exact).collect::<anyhow::Result<Vec<_>>>()?);
        Ok(LogMailConfig { to, every: TimeDelta::hours(i64::from(hours)) })
    }
}

impl LogWebhookSection {
    fn resolve(self, environment: &dyn Fn(&str) -> anyhow::Result<Option<SecretString>>) -> anyhow::Result<WebhookSettings> {
        let secret = match environment(WEBHOOK_SECRET)? {
            Some(secret) => Some(secret),
            None => secret("secret", self.secret, self.secret_file.as_deref()).context("log.webhook")?,
        };
        let Some(secret) = secret else { bail!("log.webhook: set secret, secret_file or {WEBHOOK_SECRET}") };
        let settings = WebhookSettings::plain("log".to_owned(), self.url, secret, self.allow_subnets);
        settings.check().map_err(|error| anyhow!("log.webhook: {error}"))?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn resolve(text: &str, environment: Option<&str>) -> anyhow::Result<LogConfig> {
        let args = LogArgs { key_file: None, origin: None, checkpoint_file: Some("/mnt/checkpoints".into()) };
        let environment = |name: &str| Ok(environment.filter(|_| name == WEBHOOK_SECRET).map(SecretString::from));
        LogConfig::resolve(args, toml::from_str(text)?, &Database::Sqlite("/data/placet.db".into()), &environment)
    }

    fn witness(name: &str, url: &str) -> String {
        let key = WitnessKey::new(name, [7; 32]).unwrap();
        format!("[[witness]]\nurl = '{url}'\nkey = '{key}'\n")
    }

    #[test]
    fn every_key_of_the_second_places_changes_something() {
        let none = resolve("", None).unwrap();
        assert!(none.witnesses.is_empty() && none.webhook.is_none());
        assert_eq!(none.key_file, Some("/data/placet.db.log-key".into()));
        assert_eq!(none.checkpoint_file, Some("/mnt/checkpoints".into()));
        let text = witness("w.example/1", "https://w.example/secret/") + &witness("w2.example", "https://10.0.0.1:9000");
        let witnesses = resolve(&format!("{text}allow_subnets = ['10.0.0.0/8']"), None).unwrap().witnesses;
        assert_eq!(witnesses[0].url.expose_secret(), "https://w.example/secret/add-checkpoint");
        assert_eq!((witnesses[1].key.name(), witnesses[1].allow_subnets.len()), ("w2.example", 1));
        let webhook = format!("[webhook]\nurl = 'https://audit.example/hook'\nsecret = '{SECRET}'");
        assert_eq!(resolve(&webhook, None).unwrap().webhook.unwrap().secret.expose_secret(), SECRET);
        let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        assert_eq!(resolve(&webhook, Some(other)).unwrap().webhook.unwrap().secret.expose_secret(), other);
    }

    #[test]
    fn auditors_get_mails_within_the_limits() {
        let mail =
            |to: &str, hours: &str| resolve(&format!("[mail]\nto = [{to}]\n{hours}"), None).map(|config| config.mail.unwrap());
        let many = |count: usize| (0..count).map(|number| format!("'a{number}@example.com'")).collect::<Vec<_>>().join(",");
        let usual = mail("'ada@example.com', 'ADA@example.com', 'bo@example.com'", "").unwrap();
        assert_eq!((usual.to.len(), usual.every), (2, TimeDelta::hours(24)));
        assert_eq!(mail(&many(MAILED_MAX), "hours = 1").unwrap().every, TimeDelta::hours(1));
        assert_eq!(mail(&many(1), "hours = 744").unwrap().every, TimeDelta::hours(i64::from(MAIL_HOURS_MAX)));
        for (to, hours, words) in [
            (many(MAILED_MAX + 1), "", "log.mail: to must name 1 to 20 addresses"),
            (String::new(), "", "log.mail: to must name"),
            (many(1), "hours = 0", "log.mail: hours must be 1 to 744"),
            (many(1), "hours = 745", "log.mail: hours must be"),
            ("'Ada <ada@example.com>'".to_owned(), "", "no plain e-mail address"),
        ] {
            let refused = format!("{:#}", mail(&to, hours).unwrap_err());
            assert!(refused.contains(words), "{refused}");
        }
    }

    /// Refusals end up in logs and tickets. They name the place, and repeat nothing that must stay secret.
    #[test]
    fn places_that_cannot_be_used_are_refused_without_their_secrets() {
        let many = |count: usize| (0..count).map(|n| witness(&format!("w{n}"), "https://w.example")).collect::<String>();
        assert!(resolve(&many(WITNESSES_MAX), None).is_ok());
        for wrong in [
            many(WITNESSES_MAX + 1),
            witness("w", "http://w.example/s3cr3t"),
            witness("w", "https://10.0.0.1/s3cr3t"),
            witness("w", "https://w.example/s3cr3t") + &witness("w", "https://x.example/s3cr3t"),
            "[[witness]]\nurl = 'https://w.example/s3cr3t'\nkey = 'w+00000000+AAAA'".to_owned(),
            "[webhook]\nurl = 'https://audit.example/s3cr3t'".to_owned(),
            "[webhook]\nurl = 'https://audit.example/s3cr3t'\nsecret = 'hunter2'".to_owned(),
            format!("[webhook]\nurl = 'http://audit.example/s3cr3t'\nsecret = '{SECRET}'"),
        ] {
            let refused = format!("{:#}", resolve(&wrong, None).unwrap_err());
            assert!(refused.starts_with("log."), "{refused}");
            assert!(!["s3cr3t", "hunter2", "MfKQ"].iter().any(|secret| refused.contains(secret)), "{refused}");
        }
    }
}
