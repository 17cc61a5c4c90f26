//! The configuration file as it is written.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use domain::suspension::FallbackPolicy;
use domain::suspension::retry::PartialRetryPolicy;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use store::postgres::Address;
use url::Url;

use super::channels::ChannelsSection;
use super::environment::secret_file;
use super::events::EventsSection;
use super::floors::{AgentSection, FloorsSection};
use super::inbox::InboxSection;
use super::limits::LimitsSection;
use super::log::LogSection;
use super::login::LoginSection;
use super::people::PersonSection;
use super::place::{Place, without_values};
use super::protocols::A2aSection;
use super::questions::QuestionsSection;
use super::retention::RetentionSection;
use super::subscriptions::SubscriptionsSection;
use super::wake::WakeSection;

/// The file. Unknown keys are refused, because otherwise the server would silently ignore a misspelt setting.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileConfig {
    pub(super) listen: Option<SocketAddr>,
    pub(super) database_url: Option<String>,
    pub(super) database_connections: Option<u32>,
    pub(super) public_url: Option<String>,
    pub(super) smtp_url: Option<SecretString>,
    pub(super) smtp_insecure: Option<bool>,
    pub(super) mail_from: Option<String>,
    pub(super) mail_bounce_to: Option<String>,
    pub(super) operators: Option<Vec<String>>,
    pub(super) notify_allow: Option<Vec<String>>,
    pub(super) display_time_zone: Option<String>,
    pub(super) otlp_endpoint: Option<String>,
    pub(super) log_key_file: Option<PathBuf>,
    pub(super) log_origin: Option<String>,
    pub(super) log_checkpoint_file: Option<PathBuf>,
    pub(super) log: LogSection,
    pub(super) login: LoginSection,
    pub(super) suspension: SuspensionSection,
    pub(super) fallback: FallbackSection,
    pub(super) channels: ChannelsSection,
    pub(super) questions: QuestionsSection,
    pub(super) subscriptions: SubscriptionsSection,
    pub(super) agent_to_agent: A2aSection,
    pub(super) wake: WakeSection,
    pub(super) events: EventsSection,
    pub(super) retention: RetentionSection,
    pub(super) inbox: InboxSection,
    pub(super) limits: LimitsSection,
    pub(super) agents: Vec<AgentSection>,
    pub(super) floors: FloorsSection,
    pub(super) people: Vec<PersonSection>,
    pub(super) groups: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SuspensionSection {
    pub(super) default_retry_policy: Option<PartialRetryPolicy>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FallbackSection {
    pub(super) allowed: Option<Vec<FallbackPolicy>>,
    pub(super) min_window_seconds: Option<u32>,
    pub(super) requires_delivery: Option<bool>,
    pub(super) client_guard_seconds: Option<u32>,
}

/// Reads the file.
///
/// # Errors
///
/// A file that cannot be read or understood; no value of it is repeated.
pub(super) fn read_file(path: &Path) -> anyhow::Result<FileConfig> {
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    // The parser can also show the line itself. That is left out, because the line may hold a password.
    toml::from_str(&text).map_err(|error| {
        let why = without_values(&error.message().trim().replace('\n', "; "));
        let file = path.display();
        let Some(place) = error.span().map(|span| Place::of(&text, span.start)) else {
            return anyhow::anyhow!("failed to understand {file}: {why}");
        };
        anyhow::anyhow!("failed to understand {file}: {place}: {why}{}", place.hint())
    })
}

/// Whether a file holds a secret, or an address that may contain one: an address of the mail server or of PostgreSQL with a password, or the
/// address of a webhook. A file or an address that cannot be understood counts as one that holds a secret.
pub fn holds_secret(path: &Path) -> bool {
    read_file(path).map_or(true, |file| {
        file.smtp_url.as_ref().is_some_and(|url| mail_address_may_hold_secret(url.expose_secret()))
            || !file.channels.webhook.is_empty()
            || file.log.names_addresses()
            || file.wake.names_addresses()
            || file.events.holds_secret()
            || file.login.holds_secret()
            || file.database_url.as_deref().is_some_and(database_address_may_hold_secret)
    })
}

/// The files from which secrets of the endpoints and the issuer in a file are read; none if the file cannot be understood.
pub fn secret_files(path: &Path) -> Vec<PathBuf> {
    let of = |file: FileConfig| {
        let of_endpoints = file
            .channels
            .secret_files(&secret_file)
            .into_iter()
            .chain(file.log.secret_file())
            .chain(file.wake.secret_files())
            .chain(file.events.secret_files());
        of_endpoints.chain(file.login.secret_file()).collect()
    };
    read_file(path).map_or_else(|_| Vec::new(), of)
}

/// Whether the address of a mail server may hold a secret: one that is mistyped may hold it at any place.
fn mail_address_may_hold_secret(url: &str) -> bool {
    let is_plain = |url: Url| {
        let is_known = matches!(url.scheme(), "smtp" | "smtps") && url.has_host() && matches!(url.path(), "" | "/");
        let has_no_more = url.password().is_none() && url.fragment().is_none() && !url.username().contains('%');
        is_known && has_no_more && url.query_pairs().all(|(name, _)| name == "tls")
    };
    !url.is_empty() && !Url::parse(url).is_ok_and(is_plain)
}

/// Whether the address of a database may hold a secret. The path of a file of SQLite holds none.
fn database_address_may_hold_secret(url: &str) -> bool {
    let is_plain = |address: Address| !address.has_password() && !url.contains('%');
    !url.starts_with("sqlite:") && !Address::parse(url).is_ok_and(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The doctor fails a file with a secret that others can read: an address without a password must not fail it.
    #[test]
    fn only_an_address_with_a_password_is_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("placet.toml");
        for (text, expected) in [
            ("smtp_url = 'smtp://127.0.0.1:25'", false),
            ("smtp_url = 'smtps://placet@mail.example.com?tls=required'", false),
            ("smtp_url = 'smtps://placet:hunter2@mail.example.com'", true),
            ("smtp_url = 'hunter2'", true),
            ("smtp_url = 'smtp:placet:hunter2@127.0.0.1'", true),
            ("smtp_url = 'smtp:///placet:hunter2@127.0.0.1'", true),
            ("smtp_url = 'smtp://127.0.0.1/placet:hunter2'", true),
            ("smtp_url = 'smtp://127.0.0.1?password=hunter2'", true),
            ("smtp_url = 'smtp://127.0.0.1#hunter2'", true),
            ("smtp_url = 'smtp://placet%3Ahunter2@127.0.0.1'", true),
            ("database_url = 'sqlite://placet.db'", false),
            ("database_url = 'postgres://placet@127.0.0.1/placet'", false),
            ("database_url = 'postgres://placet:hunter2@127.0.0.1/placet'", true),
            ("database_url = 'postgres://127.0.0.1/placet?user=placet&password=hunter2'", true),
            ("database_url = 'POSTGRES://placet:hunter2@127.0.0.1/placet'", true),
            ("database_url = ' postgres://placet:hunter2@127.0.0.1/placet'", true),
            ("database_url = 'host=127.0.0.1 password=hunter2'", true),
            ("database_url = 'mysql://placet:hunter2@127.0.0.1'", true),
            ("smtp_url = ", true),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(holds_secret(&file), expected, "{text}");
        }
    }
}
