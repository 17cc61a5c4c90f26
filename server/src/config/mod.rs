//! The configuration: one struct, read from flags, environment and a file, validated once.
//!
//! Flags win over the environment, the environment over the file, the file over the defaults. Every key is in
//! `docs/operating.md`.

mod channels;
mod database;
mod defaults;
mod environment;
mod events;
mod file;
mod floors;
mod help;
mod inbox;
mod limits;
mod log;
mod login;
mod loopback;
mod mail;
mod mode;
mod people;
mod place;
mod protocols;
mod questions;
mod retention;
mod subscriptions;
mod wake;

use std::net::SocketAddr;
use std::path::PathBuf;

use ::channels::SignedSender;
use anyhow::{Context, bail};
use chrono::TimeDelta;
use chrono_tz::Tz;
use clap::Args;
use domain::asking::floors::Floors;
use domain::asking::policy::{AskingPolicy, CLIENT_GUARD_SECONDS, CLIENT_GUARD_SECONDS_MAX, UnknownChannel};
use domain::base::address::{self, AllowList};
use domain::base::field::FieldError;
use domain::base::login::{LOGIN_RULE, is_plain};
use domain::base::passkey::Site;
use domain::people::roster::Roster;
use domain::suspension::channel::Channels;
use domain::suspension::{FallbackPolicy, WINDOW_SECONDS_MAX};
use secrecy::{ExposeSecret, SecretString};
use store::Database;
use store::postgres::{CONNECTIONS_DEFAULT, CONNECTIONS_MAX, CONNECTIONS_MIN};
use url::Url;

pub use self::channels::WebhookConfig;
pub use self::database::{DATABASE_URL, DatabaseArgs, DatabaseUrl, dialled};
pub use self::defaults::{FALLBACK_MIN_WINDOW_SECONDS, LISTEN_DEFAULT, MIN_INTERVAL_SECONDS};
pub use self::environment::{is_set_to_nothing, secret_file, secret_from_environment};
use self::file::{FallbackSection, FileConfig, SuspensionSection};
pub use self::file::{holds_secret, secret_files};
pub use self::help::WITHOUT_FLAGS;
pub use self::inbox::{InboxConfig, Together};
pub use self::limits::{Limits, raise_files_max, use_small_pages};
use self::log::LogArgs;
pub use self::log::{LogConfig, LogMailConfig, WitnessConfig};
pub use self::login::{GroupsConfig, OPENID_CLIENT_SECRET, OpenIdConfig};
pub use self::loopback::is_loopback;
pub use self::mail::MailConfig;
use self::mail::mail;
pub use self::mode::Mode;
pub use self::people::wrong_fields;
pub use self::place::is_only_in_the_file;
pub use self::protocols::A2aConfig;
use self::questions::QuestionsSection;
pub use self::retention::RETENTION_DAYS_RECOMMENDED;
pub use self::subscriptions::SubscriptionsConfig;
pub use self::wake::WakeConfig;

/// The settings of the command line and the environment.
#[derive(Args, Clone, Debug, Default)]
pub struct ServeArgs {
    /// Address and port to listen on.
    #[arg(long, env = "PLACET_LISTEN", value_name = "ADDRESS:PORT", help = format!("Address and port to listen on [default: {LISTEN_DEFAULT}]"))]
    pub listen: Option<SocketAddr>,
    /// Where the data is.
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// How many connections the server makes to a PostgreSQL database.
    #[arg(long, env = "PLACET_DATABASE_CONNECTIONS", value_name = "NUMBER", help = format!("How many connections the server makes to a PostgreSQL database, {CONNECTIONS_MIN} to {CONNECTIONS_MAX} [default: {CONNECTIONS_DEFAULT}]"))]
    pub database_connections: Option<u32>,
    /// The address at which people reach this server; `http://<listen>` by default.
    #[arg(long, env = "PLACET_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Development mode: mails stay in memory and are shown on a page; an admin key is printed at first start.
    #[arg(long)]
    pub dev: bool,
    /// The mail server, for example `smtps://user:password@mail.example.com`. It comes from the environment or the file only,
    /// because other users can read command lines.
    #[arg(skip)]
    pub smtp_url: Option<SecretString>,
    /// The sender of mails, for example "Placet <placet@example.com>".
    #[arg(long, env = "PLACET_MAIL_FROM", value_name = "MAILBOX")]
    pub mail_from: Option<String>,
    /// The address to which undeliverable mails return, for example bounces@example.com; the sender's address by default.
    #[arg(long, env = "PLACET_MAIL_BOUNCE_TO", value_name = "ADDRESS")]
    pub mail_bounce_to: Option<String>,
    /// The people who are asked when a question names no recipients: addresses, separated by commas.
    #[arg(long, env = "PLACET_OPERATORS", value_name = "ADDRESSES", value_delimiter = ',')]
    pub operators: Option<Vec<String>>,
    /// The people who may be asked: addresses and *@domain patterns, separated by commas; the operators by default.
    #[arg(long, env = "PLACET_NOTIFY_ALLOW", value_name = "PATTERNS", value_delimiter = ',')]
    pub notify_allow: Option<Vec<String>>,
    /// Allow a mail server without TLS that is not on this machine.
    #[arg(long, env = "PLACET_SMTP_INSECURE", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub smtp_insecure: Option<bool>,
    /// A second time zone for the times in mails, beside UTC, for example Europe/Berlin; none by default.
    #[arg(long, env = "PLACET_DISPLAY_TIME_ZONE", value_name = "ZONE")]
    pub display_time_zone: Option<String>,
    /// A collector of OpenTelemetry traces, for example `http://localhost:4318`; none by default.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL", hide_env_values = true)]
    pub otlp_endpoint: Option<String>,
    /// The file with the key to the log's signing key; beside a database file by default. All servers on one PostgreSQL database share
    /// one file.
    #[arg(long, env = "PLACET_LOG_KEY_FILE", value_name = "FILE")]
    pub log_key_file: Option<PathBuf>,
    /// The name of the log, given when it begins, for example placet.example.com/log; by default made from the public URL.
    #[arg(long, env = "PLACET_LOG_ORIGIN", value_name = "NAME")]
    pub log_origin: Option<String>,
    /// A file to which each signed checkpoint of the log is appended, best on another volume; none by default.
    #[arg(long, env = "PLACET_LOG_CHECKPOINT_FILE", value_name = "FILE")]
    pub log_checkpoint_file: Option<PathBuf>,
}

impl ServeArgs {
    /// The place of the server's database; it is found even if other settings are wrong.
    ///
    /// # Errors
    ///
    /// The errors of [`DatabaseArgs::database`], and a number of connections out of bounds.
    pub fn database(&self) -> anyhow::Result<Database> {
        self.database_in(&self.database.file()?)
    }

    fn database_in(&self, file: &FileConfig) -> anyhow::Result<Database> {
        let connections = self.database_connections.or(file.database_connections).unwrap_or(CONNECTIONS_DEFAULT);
        if !(CONNECTIONS_MIN..=CONNECTIONS_MAX).contains(&connections) {
            bail!("PLACET_DATABASE_CONNECTIONS must be {CONNECTIONS_MIN} to {CONNECTIONS_MAX}");
        }
        self.database.parse(file, connections)
    }
}

/// The settings with which the server runs.
#[derive(Clone, Debug)]
pub struct Config {
    pub listen: SocketAddr,
    pub database: Database,
    /// The URL as it was given; `None` stands for `http://<the bound address>`.
    pub public_url: Option<Url>,
    pub mode: Mode,
    pub mail: Option<MailConfig>,
    pub webhooks: Vec<WebhookConfig>,
    pub asking: AskingPolicy,
    /// The endpoints to which agents may have messages about events sent.
    pub subscriptions: SubscriptionsConfig,
    /// The endpoints that are told when a suspension is over.
    pub wakes: Vec<WakeConfig>,
    pub senders: Vec<SignedSender>,
    /// How agents may ask by A2A.
    pub a2a: A2aConfig,
    /// How long the content of intents is kept after their last event; `None` if nothing is erased for its age.
    pub retention: Option<TimeDelta>,
    /// The reasons for a no that people find ready, and the kinds of questions that they may answer together.
    pub inbox: InboxConfig,
    /// The issuer by which people may log in, if there is one.
    pub openid: Option<OpenIdConfig>,
    /// The people and groups that the file names; `None` without a file, which says nothing about people.
    pub roster: Option<Roster>,
    /// The key to the log, and its name.
    pub log: LogConfig,
    /// The second time zone in mails, beside UTC, if there is one.
    pub display_time_zone: Option<Tz>,
    /// The address to which spans are exported, if there is one.
    pub otlp_endpoint: Option<Url>,
    pub limits: Limits,
}

impl Config {
    /// Reads and checks everything.
    ///
    /// # Errors
    ///
    /// One or two lines that tell what is wrong and what to do.
    pub fn load(args: &ServeArgs) -> anyhow::Result<Self> {
        let file = args.database.file()?;
        let database = args.database_in(&file)?;
        let listen = match args.listen.or(file.listen) {
            Some(listen) => listen,
            None => LISTEN_DEFAULT.parse()?,
        };
        let public_url = args.public_url.clone().or(file.public_url).map(|url| check_public_url(&url)).transpose()?;
        let smtp_url = args.smtp_url.clone().or(file.smtp_url).filter(|url| !url.expose_secret().is_empty());
        let at_home = listen.ip().is_loopback() && public_url.as_ref().is_none_or(is_loopback);
        let mode = Mode::of(args.dev, smtp_url.is_some(), at_home);
        // In development the server finds its own address in the network, for a phone nearby.
        if public_url.is_none() && !listen.ip().is_loopback() && !args.dev {
            bail!(
                "the server listens beyond this machine, so links need an address that people can open; set PLACET_PUBLIC_URL=https://…"
            );
        }
        let bounce_to = args.mail_bounce_to.clone().or(file.mail_bounce_to).filter(|address| !address.is_empty());
        let mail =
            mail(smtp_url, args.mail_from.clone().or(file.mail_from), bounce_to, args.smtp_insecure.or(file.smtp_insecure))?;
        if !mode.is_development() && mail.is_none() && file.channels.webhook.is_empty() {
            bail!(
                "a server that is not for development needs a channel: set PLACET_SMTP_URL and PLACET_MAIL_FROM, or name a [[channels.webhook]] in the file, or start it with --dev"
            );
        }
        let operators = args.operators.clone().or(file.operators).unwrap_or_default();
        let notify_allow = args.notify_allow.clone().or(file.notify_allow);
        // Development keeps mails in memory, so there the e-mail channel always exists.
        let unknown = file.channels.unknown();
        let (channels, webhooks) = file.channels.resolve(mode.is_development() || mail.is_some(), &secret_from_environment)?;
        let openid = file.login.resolve(&secret_from_environment)?;
        let (passkeys, recent_logins) = (public_url.as_ref().and_then(site).is_some(), openid.is_some());
        let (able, floors) = ((passkeys, recent_logins), floors::resolve(file.agents, file.floors, passkeys, recent_logins)?);
        let rules = Rules { suspension: file.suspension, fallback: file.fallback, questions: file.questions, able, floors };
        let asking = asking(mode, &operators, notify_allow, rules, channels, unknown)?;
        let otlp_endpoint = args.otlp_endpoint.clone().filter(|url| !url.is_empty()).or(file.otlp_endpoint);
        let otlp_endpoint = otlp_endpoint.map(|url| check_collector(&url)).transpose()?;
        let display_time_zone = args.display_time_zone.clone().or(file.display_time_zone).filter(|zone| !zone.is_empty());
        let display_time_zone = display_time_zone.map(|zone| time_zone(&zone)).transpose()?;
        let (limits, subscriptions) = (file.limits.resolve()?, file.subscriptions.resolve()?);
        let (retention, inbox) = (file.retention.resolve()?, file.inbox.resolve()?);
        let roster = args.database.config.is_some().then_some(people::resolve(file.people, &file.groups, openid.as_ref())?);
        let named = |flag: &Option<PathBuf>, file| flag.clone().or(file).filter(|path: &PathBuf| !path.as_os_str().is_empty());
        let of_log = LogArgs {
            key_file: named(&args.log_key_file, file.log_key_file),
            origin: args.log_origin.clone().or(file.log_origin).filter(|name| !name.is_empty()),
            checkpoint_file: named(&args.log_checkpoint_file, file.log_checkpoint_file),
        };
        let log = LogConfig::resolve(of_log, file.log, &database, &secret_from_environment)?;
        if log.mail.is_some() && mail.is_none() && !mode.is_development() {
            bail!("log.mail: a mail server must carry the checkpoints: set PLACET_SMTP_URL and PLACET_MAIL_FROM");
        }
        Ok(Self {
            listen,
            database,
            public_url,
            mode,
            mail,
            webhooks,
            asking,
            subscriptions,
            wakes: file.wake.resolve()?,
            senders: file.events.resolve()?,
            a2a: file.agent_to_agent.resolve()?,
            retention,
            inbox,
            openid,
            roster,
            log,
            display_time_zone,
            otlp_endpoint,
            limits,
        })
    }
}

fn check_public_url(text: &str) -> anyhow::Result<Url> {
    // The URL is not repeated: a password that was put into it by mistake must not appear in the log.
    if !is_plain(text) {
        bail!("the public URL must be a scheme, a host and perhaps a port, nothing else, and no @");
    }
    let url = Url::parse(text).context("the public URL is not a URL; write https://placet.example.com")?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        bail!("the public URL must begin with https:// and name a host");
    }
    if url.query().is_some() || url.fragment().is_some() || !matches!(url.path(), "" | "/") || has_login(&url) {
        bail!("the public URL must be a scheme, a host and perhaps a port, nothing else");
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        bail!("the public URL would carry answer links unencrypted; use https:// (http:// is for this machine only)");
    }
    Ok(url)
}

fn check_collector(text: &str) -> anyhow::Result<Url> {
    // The URL is not repeated: it may hold a password.
    match Url::parse(text) {
        Ok(_) if !is_plain(text) => bail!("OTEL_EXPORTER_OTLP_ENDPOINT must hold no login and no @; {LOGIN_RULE}"),
        // A login in the URL would never be sent.
        Ok(url) if has_login(&url) => {
            bail!("OTEL_EXPORTER_OTLP_ENDPOINT must hold no login; give it in OTEL_EXPORTER_OTLP_HEADERS")
        }
        Ok(url)
            if matches!(url.scheme(), "http" | "https")
                && url.host().is_some()
                && url.query().is_none()
                && url.fragment().is_none() =>
        {
            Ok(url)
        }
        _ => bail!(
            "OTEL_EXPORTER_OTLP_ENDPOINT must be the base URL of a collector that speaks OTLP over HTTP: http://localhost:4318"
        ),
    }
}

fn time_zone(name: &str) -> anyhow::Result<Tz> {
    name.parse().map_err(|_| {
        anyhow::anyhow!("display_time_zone: {name:?} is no time zone; write it as Europe/Berlin or America/New_York")
    })
}

fn has_login(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Where passkeys belong on a server with this public address. `None` if its host is an IP address: browsers make passkeys for domain
/// names alone.
pub(crate) fn site(public_url: &Url) -> Option<Site> {
    let Some(url::Host::Domain(domain)) = public_url.host() else { return None };
    Some(Site { rp_id: domain.to_owned(), origin: public_url.origin().ascii_serialization() })
}

/// The rules about questions: those of the file, and the one that follows from the public address.
struct Rules {
    suspension: SuspensionSection,
    fallback: FallbackSection,
    questions: QuestionsSection,
    /// Whether people can have passkeys, and whether an issuer says when they logged in.
    able: (bool, bool),
    floors: Floors,
}

fn asking(
    mode: Mode,
    operators: &[String],
    notify_allow: Option<Vec<String>>,
    Rules { suspension, fallback, questions, able: (passkeys, recent_logins), floors }: Rules,
    channels: Channels,
    unknown_channel: UnknownChannel,
) -> anyhow::Result<AskingPolicy> {
    let named = operators.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
    let read =
        |text: &str| address::exact(text).with_context(|| format!("PLACET_OPERATORS: {text:?} is no plain e-mail address"));
    let operators = address::each_once(named.map(read).collect::<anyhow::Result<Vec<_>>>()?);
    let allowed = notify_allow.unwrap_or_else(|| operators.clone());
    let notify_allow =
        AllowList::parse(allowed.iter().map(String::as_str)).map_err(|why| anyhow::anyhow!("PLACET_NOTIFY_ALLOW: {why}"))?;
    let min_window_default = if mode.is_development() { 1 } else { FALLBACK_MIN_WINDOW_SECONDS };
    let min_window_seconds = fallback.min_window_seconds.unwrap_or(min_window_default);
    if min_window_seconds > WINDOW_SECONDS_MAX {
        bail!("fallback.min_window_seconds must be at most {WINDOW_SECONDS_MAX}");
    }
    let client_guard_seconds = fallback.client_guard_seconds.unwrap_or(CLIENT_GUARD_SECONDS);
    if !(1..=CLIENT_GUARD_SECONDS_MAX).contains(&client_guard_seconds) {
        bail!("fallback.client_guard_seconds must be 1 to {CLIENT_GUARD_SECONDS_MAX}");
    }
    let asking = AskingPolicy {
        default_retry_policy: suspension.default_retry_policy,
        operators,
        notify_allow,
        channels,
        unknown_channel,
        min_interval_seconds: questions.min_interval_seconds(mode)?,
        pressing: questions.pressing(mode)?,
        seeming_secret: questions.seeming_secret(),
        fallback_allowed: fallback.allowed.unwrap_or_else(|| FallbackPolicy::ALL.to_vec()),
        fallback_min_window_seconds: min_window_seconds,
        fallback_requires_delivery: fallback.requires_delivery.unwrap_or(true),
        client_guard_seconds,
        passkeys,
        recent_logins,
        floors,
    };
    // A policy that breaks the server's own rules would make the server refuse every call that relies on it.
    if let Err(errors) = asking.check_default_retry_policy() {
        let name = |error: &FieldError| error.field.trim_start_matches("retry_policy.").to_owned();
        let first = errors.first().map(|error| format!("{} {}", name(error), error.message)).unwrap_or_default();
        bail!("suspension.default_retry_policy.{first}");
    }
    Ok(asking)
}

#[cfg(test)]
mod tests {
    use domain::suspension::seeming::SeemingSecret;

    use super::place::{FLAGS, KEYS};
    use super::*;

    fn load(change: impl FnOnce(&mut ServeArgs)) -> anyhow::Result<Config> {
        let mut args = ServeArgs::default();
        change(&mut args);
        Config::load(&args)
    }

    fn file(text: &str) -> anyhow::Result<Config> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("placet.toml");
        std::fs::write(&path, text)?;
        load(|args| args.database.config = Some(path))
    }

    fn smtp(args: &mut ServeArgs) {
        args.smtp_url = Some("smtps://mail.example.com".to_owned().into());
        args.mail_from = Some("Placet <placet@example.com>".into());
    }

    #[test]
    fn development_is_what_wire_says_it_is() {
        assert_eq!(load(|_| {}).unwrap().mode, Mode::DevelopmentByDefault);
        assert_eq!(load(|args| args.dev = true).unwrap().mode, Mode::Development);
        assert_eq!(load(smtp).unwrap().mode, Mode::Production);
        let said = load(|args| {
            smtp(args);
            args.dev = true;
        });
        assert_eq!(said.unwrap().mode, Mode::Development);
        let everywhere = |args: &mut ServeArgs| args.listen = Some("0.0.0.0:7420".parse().unwrap());
        assert!(load(everywhere).is_err());
        let on_purpose = load(|args| {
            everywhere(args);
            args.dev = true;
        });
        assert_eq!(on_purpose.unwrap().mode, Mode::Development);
        assert!(load(|args| args.public_url = Some("https://placet.example.com".into())).is_err());
    }

    /// In production, a fallback needs a window in which a person can have read the question: silence must not be taken for
    /// consent before that. In development one second is enough, because a person who tries Placet out does not want to wait five
    /// minutes.
    #[test]
    fn a_server_in_production_gives_people_five_minutes_before_a_fallback() {
        assert_eq!(load(smtp).unwrap().asking.fallback_min_window_seconds, FALLBACK_MIN_WINDOW_SECONDS);
        assert_eq!(load(|args| args.dev = true).unwrap().asking.fallback_min_window_seconds, 1);
        assert_eq!(load(|_| {}).unwrap().asking.fallback_min_window_seconds, 1);
    }

    #[test]
    fn a_public_url_that_would_leak_links_is_refused() {
        for wrong in [
            "http://placet.example.com",
            "ftp://x.example",
            "https://a.example/path",
            "https://a.example/?q",
            "no url",
            "https://u@a.example",
        ] {
            assert!(
                load(|args| {
                    smtp(args);
                    args.public_url = Some(wrong.into());
                })
                .is_err(),
                "{wrong}"
            );
        }
        for right in ["https://placet.example.com", "http://localhost:7420", "http://127.0.0.1", "http://[::1]:80/"] {
            assert!(
                load(|args| {
                    smtp(args);
                    args.public_url = Some(right.into());
                })
                .is_ok(),
                "{right}"
            );
        }
    }

    #[test]
    fn every_key_of_the_file_changes_something() {
        assert_eq!(file("listen = '127.0.0.1:1'").unwrap().listen.port(), 1);
        assert_eq!(file("database_url = 'sqlite:///a/b.db'").unwrap().database.to_string(), "/a/b.db");
        let url = "postgres://ann:pw@db.example/placet?sslmode=disable";
        let Database::Postgres { connections, .. } =
            file(&format!("database_url = '{url}'\ndatabase_connections = 7")).unwrap().database
        else {
            panic!("no PostgreSQL database")
        };
        assert_eq!(connections, 7);
        assert!(file("database_connections = 5").is_ok() && file("database_connections = 200").is_ok());
        assert_eq!(file("public_url = 'http://localhost:1'").unwrap().public_url.unwrap().port(), Some(1));
        let mail =
            file("smtp_url = 'smtp://127.0.0.1:25'\nmail_from = 'a@b.example'\nsmtp_insecure = true").unwrap().mail.unwrap();
        assert_eq!(mail.bounce_to, None);
        let with_bounces =
            file("smtp_url = 'smtp://127.0.0.1:25'\nmail_from = 'a@b.example'\nmail_bounce_to = 'c@b.example'").unwrap().mail;
        assert_eq!(with_bounces.unwrap().bounce_to.as_deref(), Some("c@b.example"));
        assert!(mail.allow_insecure && mail.from == "a@b.example" && mail.smtp_url.expose_secret() == "smtp://127.0.0.1:25");
        assert_eq!(file("operators = ['a@b.example']").unwrap().asking.operators, ["a@b.example"]);
        assert!(file("operators = ['a@b.example']").unwrap().asking.notify_allow.allows("A@b.example"));
        assert!(file("notify_allow = ['*@c.example']").unwrap().asking.notify_allow.allows("x@c.example"));
        let policy = file("[suspension.default_retry_policy]\nmax_attempts = 3\ninterval_seconds = 60")
            .unwrap()
            .asking
            .default_retry_policy;
        assert_eq!(policy.unwrap().max_attempts, Some(3));
        assert_eq!(file("otlp_endpoint = 'http://localhost:4318'").unwrap().otlp_endpoint.unwrap().port(), Some(4318));
        assert_eq!(file("display_time_zone = 'Europe/Berlin'").unwrap().display_time_zone, Some(Tz::Europe__Berlin));
        assert_eq!(file("display_time_zone = ''").unwrap().display_time_zone, None);
        assert_eq!(file("[fallback]\nallowed = ['fail']").unwrap().asking.fallback_allowed, [FallbackPolicy::Fail]);
        assert_eq!(file("[fallback]\nmin_window_seconds = 300").unwrap().asking.fallback_min_window_seconds, 300);
        assert!(!file("[fallback]\nrequires_delivery = false").unwrap().asking.fallback_requires_delivery);
        assert_eq!(file("[channels]\nunknown = 'reject'").unwrap().asking.unknown_channel, UnknownChannel::Reject);
        assert_eq!(file("[questions]\nsecrets = 'refuse'").unwrap().asking.seeming_secret, SeemingSecret::Refuse);
        assert_eq!(file("[limits]\nconcurrent_requests = 7").unwrap().limits.concurrent_requests, 7);
        assert_eq!(file("[limits]\nconnections = 7").unwrap().limits.connections, 7);
        assert_eq!(file("[limits]\nagent_bytes_per_day = 7").unwrap().limits.agent_bytes_per_day, 7);
        assert_eq!(file("[limits]\nreserve_bytes = 0").unwrap().limits.reserve_bytes, 0);
        assert_eq!(
            file("[limits]\nkey_requests_per_minute = 7").unwrap().limits.key_requests_per_minute,
            std::num::NonZero::new(7)
        );
    }

    #[test]
    fn what_is_wrong_in_the_file_is_refused() {
        for wrong in [
            "unknown_key = 1",
            "operators = ['no address']",
            "notify_allow = ['*@']",
            "database_url = 'postgres://x'",
            "database_url = 'mysql://ann@db.example/placet'",
            "database_connections = 4", // Five are needed: two for keys, one to listen, one to read, one to write.
            "database_connections = 201",
            "database_url = 'sqlite://'",
            "[suspension.default_retry_policy]\nmax_attempts = 0\ninterval_seconds = 60",
            "[fallback]\nallowed = ['maybe']",
            "[fallback]\nallowed = ['fail']\n[suspension.default_retry_policy]\ninterval_seconds = 60\nfinal_fallback_policy = 'use_default_and_continue'",
            "[questions]\nsecrets = 'ask'",
            "[limits]\nconcurrent_requests = 0",
            "[limits]\nkey_requests_per_minute = 0",
            "[limits]\nagent_bytes_per_day = 0",
            "[limits]\nreserve_bytes = -1",
            "smtp_url = 'smtps://x.example'",
            "mail_bounce_to = 'c@b.example'",
            "display_time_zone = 'Berlin'",
            "otlp_endpoint = 'localhost:4318'",
            "otlp_endpoint = 'grpc://localhost:4317'",
            "otlp_endpoint = 'https://pass/word@collector.example'", // Its host would be `pass`.
        ] {
            assert!(file(wrong).is_err(), "{wrong}");
        }
    }

    /// Refusals end up in logs and tickets, so they name the line and the key, but never a password.
    #[test]
    fn a_refusal_names_the_line_and_the_key_but_no_password() {
        for (text, words) in [
            (
                "operators = ['a@b.example']\n\nlistem = '127.0.0.1:1'",
                vec!["line 3, listem: unknown field, expected one of `listen`"],
            ),
            (
                "[suspension.default_retry_policy]\nmax_attempts = 2\ninterval_seconds = 60\nescalation_ladder = [{attempt = 2, notify_to = 'x@y.example'}]",
                vec!["suspension.default_retry_policy.escalation_ladder[0].notify_to is not on the server's allow-list"],
            ),
            ("[fallback]\nmin_window_seconds = 'soon'", vec!["line 2, min_window_seconds: invalid type: string, expected u32"]),
            ("[channels]\nwebhook = 'https://hooks.slack.com/hunter2'", vec!["line 2, webhook: invalid type: string, expected"]),
            ("operators = 'a \"hunter2\", expected ` hunter2'", vec!["line 1, operators: invalid type: string, expected a seq"]),
            ("smtp_url = 4711_20222", vec!["line 1, smtp_url: invalid type: integer, expected a string"]),
            ("[[channels.webhook]]\nname = 'a'\ntemplate = 'hunter2'", vec!["line 3, template: unknown variant, expected"]),
            ("[[channels.webhook]]\nname = 'a'", vec!["missing field `url`"]),
            ("hunter2 = 1", vec!["line 1: unknown field"]),
            ("listen = 127.0.0.1:7420", vec!["line 1, listen:", "write it like this: listen = \"127.0.0.1:7420\""]),
            ("listen = 7420", vec!["line 1, listen:", "listen = \"127.0.0.1:7420\""]),
            ("listen = 'localhost'", vec!["line 1, listen:", "listen = \"127.0.0.1:7420\""]),
            ("mail_from = hunter2@example.com", vec!["line 1, mail_from:", "put the text in quotes: mail_from = \"…\""]),
            ("\n[fallbak]\nallowed = ['fail']", vec!["line 2, [fallbak]: unknown field"]),
            ("[[channel.webhook]]\nname = 'a'", vec!["line 1, [[channel.webhook]]", "unknown field"]),
            ("[channels] webhook = [{name = 'a', url = 'https://a.example', secret = 'hunter2'}]", vec!["line 1, [channels]: "]),
            ("[[channels.webhook]] secrets = ['hunter2']", vec!["line 1, [[channels.webhook]]: "]),
            ("[[channels.webhook] secrets = ['hunter2']]", vec!["line 1, [[channels.webhook]: "]),
            ("[channels] # [hunter2]\nx = 1", vec!["line 2, x: unknown field"]),
            ("[fallbak] # [hunter2]\nallowed = ['fail']", vec!["line 1, [fallbak]: unknown field"]),
            ("[hunter2]\nx = 1", vec!["line 1: unknown field"]),
            ("[fallback.hunter2]\nx = 1", vec!["line 1: unknown field"]),
            ("whsec_hunter2=", vec!["line 1:"]),
            ("smtp_url = 'smtps://user:hunter2@mail.example", vec!["line 1, smtp_url"]),
            ("smtp_url = smtps://user:hunter2@mail.example", vec!["line 1, smtp_url"]),
            ("smtps://user:hunter2@mail.example", vec!["line 1:"]),
            ("database_url = 'mysql://user:hunter2@db.example/placet'", vec!["sqlite://", "postgres://"]),
            ("database_url = 'postgres://user:hunter2@db.example:x/placet'", vec!["no PostgreSQL URL"]),
            ("public_url = 'https://user:hunter2@placet.example'", vec!["the public URL"]),
            ("public_url = 'https://user:hunter2'", vec!["the public URL"]),
            ("public_url = 'https://user:p/hunter2@placet.example'", vec!["the public URL"]),
            ("database_url = 'mysql://user:hunter2'", vec!["sqlite://", "postgres://"]),
            ("database_url = 'postgres://user:p@hunter2/w:rd@db.example/placet'", vec!["@ is written %40"]),
            ("public_url = 'ftp://user:hunter2@placet.example'", vec!["the public URL"]),
        ] {
            let refused = format!("{:#}", file(text).unwrap_err());
            for word in words {
                assert!(refused.contains(word), "{word} is missing: {refused}");
            }
            assert!(!["hunter2", "471120222", "\n"].iter().any(|part| refused.contains(part)), "{refused}");
        }
    }

    /// The tables of the file.
    const SECTIONS: [&str; 28] = [
        "",
        "[suspension]",
        "[suspension.default_retry_policy]",
        "[fallback]",
        "[channels]",
        "[[channels.webhook]]",
        "[questions]",
        "[subscriptions]",
        "[agent_to_agent]",
        "[agent_to_agent.push]",
        "[wake]",
        "[[wake.webhook]]",
        "[events]",
        "[[events.webhook]]",
        "[retention]",
        "[inbox]",
        "[[inbox.together]]",
        "[limits]",
        "[log]",
        "[[log.witness]]",
        "[log.webhook]",
        "[log.mail]",
        "[login]",
        "[login.openid]",
        "[[people]]",
        "[groups]",
        "[[agents]]",
        "[floors]",
    ];

    /// `KEYS`, the names that an error message about the file may always repeat, holds exactly the keys that the parser accepts.
    #[test]
    fn the_keys_a_refusal_may_name_are_those_of_the_file() {
        let mut keys = std::collections::BTreeSet::new();
        for section in SECTIONS {
            let refused = format!("{:#}", file(&format!("{section}\nx = 1")).unwrap_err());
            let (_, expected) = refused.split_once(", expected").unwrap();
            keys.extend(expected.split('`').skip(1).step_by(2).map(str::to_owned));
        }
        assert_eq!(keys, KEYS.map(str::to_owned).into());
    }

    /// A misspelt key or table is refused, and the refusal names it with its line: a setting that the server silently ignored
    /// would be hard to find. Each key is misspelt in two ways, each table in one.
    #[test]
    fn every_key_and_table_misspelt_is_named() {
        let mut misspelt = 0;
        for section in SECTIONS {
            let refused = format!("{:#}", file(&format!("{section}\nx = 1")).unwrap_err());
            let (_, expected) = refused.split_once(", expected").unwrap();
            for key in expected.split('`').skip(1).step_by(2) {
                for wrong in [format!("{key}x"), key[1..].to_owned()] {
                    let refused = format!("{:#}", file(&format!("{section}\n{wrong} = 'a'")).unwrap_err());
                    assert!(refused.contains(&format!("line 2, {wrong}: unknown field")), "{refused}");
                    misspelt += 1;
                }
            }
            if !section.is_empty() {
                let wrong = section.replacen(']', "x]", 1);
                let refused = format!("{:#}", file(&format!("{wrong}\nx = 1")).unwrap_err());
                assert!(refused.contains(&format!("line 1, {}", wrong.trim_end_matches(']'))), "{refused}");
            }
        }
        assert!(misspelt >= 2 * KEYS.len(), "{misspelt}");
    }

    /// A person can find every key of the file in two places: in `--help`, as a flag or in the part about settings without flags,
    /// and in docs/operating.md.
    #[test]
    fn help_and_documents_know_every_key_of_the_file() {
        let command = ServeArgs::augment_args(clap::Command::new("serve"));
        let flags: Vec<String> = command.get_arguments().filter_map(|flag| Some(flag.get_long()?.replace('-', "_"))).collect();
        let words = |text: &str| -> std::collections::BTreeSet<String> {
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map(str::to_owned).collect()
        };
        let (said, documented) = (words(WITHOUT_FLAGS), words(include_str!("../../../docs/operating.md")));
        for key in KEYS {
            assert!(flags.iter().any(|flag| flag == key) || said.contains(key), "{key} is not in the help");
            assert!(documented.contains(key), "{key} is not in docs/operating.md");
        }
        for flag in flags.iter().filter(|flag| !["config", "dev"].contains(&flag.as_str())) {
            assert!(KEYS.contains(&flag.as_str()), "--{flag} is no key of the file, though the help says so");
            assert!(FLAGS.contains(&flag.as_str()), "--{flag}");
        }
        assert!(FLAGS.iter().all(|name| flags.iter().any(|flag| flag == name)));
    }

    #[test]
    fn a_flag_wins_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("placet.toml");
        std::fs::write(&path, "listen = '127.0.0.1:1'").unwrap();
        let config = load(|args| {
            args.database.config = Some(path);
            args.listen = Some("127.0.0.1:2".parse().unwrap());
        });
        assert_eq!(config.unwrap().listen.port(), 2);
    }
}
