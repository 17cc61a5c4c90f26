//! The place of the data: the settings of every command that works on the database.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use secrecy::ExposeSecret;
use store::Database;
use store::postgres::{Address, CONNECTIONS_MIN};
use url::Url;

use super::defaults::LISTEN_DEFAULT;
use super::environment::{environment, secret_from_environment};
use super::file::{FileConfig, read_file};
use super::log::LogConfig;

/// The variable that names the database; with `_FILE`, a file that holds the URL.
pub const DATABASE_URL: &str = "PLACET_DATABASE_URL";
/// The default place of the data.
const DATABASE_URL_DEFAULT: &str = "sqlite://placet-data/placet.db";

/// The refusal of a password on a command line.
const PASSWORD_SEEN: &str = "a database URL with a password must not be given on the command line, where others see it; put it into \
     PLACET_DATABASE_URL, or into a file that PLACET_DATABASE_URL_FILE names, and change the password if others use this machine";

#[derive(Args)]
struct UrlFlag {
    /// The database: `sqlite://PATH`, or `postgres://user@host/database`.
    #[arg(long, env = "PLACET_DATABASE_URL", value_name = "URL", hide_env_values = true, help = format!("The database: sqlite://PATH or postgres://USER@HOST/DATABASE (with a password in the environment only) [default: {DATABASE_URL_DEFAULT}]"))]
    database_url: Option<String>,
}

/// The database's URL, and its origin.
#[derive(Clone, Debug, Default)]
pub struct DatabaseUrl {
    url: Option<String>,
    /// Whether it stands on the command line, where others see it; this is true even if the environment holds the same.
    is_typed: bool,
}

impl DatabaseUrl {
    /// The URL of a flag, if it was given.
    pub fn typed(url: Option<String>) -> Self {
        Self { is_typed: url.is_some(), url }
    }
}

impl FromArgMatches for DatabaseUrl {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        let is_typed = matches.value_source("database_url") == Some(ValueSource::CommandLine);
        let UrlFlag { database_url: url } = UrlFlag::from_arg_matches_mut(matches)?;
        Ok(Self { url, is_typed })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for DatabaseUrl {
    fn augment_args(command: Command) -> Command {
        UrlFlag::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        UrlFlag::augment_args_for_update(command)
    }
}

/// The place of the data, for every command that needs it.
#[derive(Args, Clone, Debug, Default)]
pub struct DatabaseArgs {
    /// The database.
    #[command(flatten)]
    pub url: DatabaseUrl,
    /// A TOML file with the settings of docs/operating.md.
    #[arg(long, env = "PLACET_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl DatabaseArgs {
    /// The database, for a command that does one thing with it; it is found even if other settings are wrong.
    ///
    /// # Errors
    ///
    /// A file that cannot be understood or read, a URL of another kind of database, or a URL that names no database.
    pub fn database(&self) -> anyhow::Result<Database> {
        self.parse(&self.file()?, CONNECTIONS_MIN)
    }

    /// The file without which nothing signs the log: the one that was given, or the one in the settings' file, or the one beside a
    /// database file.
    ///
    /// # Errors
    ///
    /// The errors of [`DatabaseArgs::database`].
    pub fn log_key_file(&self, given: Option<PathBuf>) -> anyhow::Result<Option<PathBuf>> {
        let named = given.or(self.file()?.log_key_file).filter(|path| !path.as_os_str().is_empty());
        Ok(named.or(LogConfig::beside(&self.database()?).key_file))
    }

    /// The names of the channels in the settings' file, if there is one.
    ///
    /// # Errors
    ///
    /// A file that cannot be understood or read.
    pub fn channels(&self) -> anyhow::Result<Option<Vec<String>>> {
        Ok(self.config.as_deref().map(read_file).transpose()?.map(|file| file.channels.names()))
    }

    /// The flags that another command needs to find the same database. Values from the environment are left out, because both
    /// commands share it.
    pub fn flags(&self) -> String {
        let config = self.config.as_ref().map(|path| path.display().to_string());
        let given = [("--config", "PLACET_CONFIG", config), ("--database-url", DATABASE_URL, self.url.url.clone())];
        let said = given.into_iter().filter_map(|(flag, variable, value)| {
            Some((flag, value.filter(|value| environment(variable).as_ref() != Some(value))?))
        });
        // A password is not repeated; the person who typed it knows it.
        let words =
            said.map(|(flag, value)| if value.contains('@') { format!(" {flag} …") } else { format!(" {flag} '{value}'") });
        words.collect::<Vec<_>>().concat()
    }

    /// The addresses at which a server may be found from here: the one in `PLACET_URL`, and the one at which a server with these
    /// settings would listen on this machine.
    pub fn servers(&self) -> Vec<Url> {
        let listen = environment("PLACET_LISTEN")
            .or_else(|| Some(self.file().ok()?.listen?.to_string()))
            .unwrap_or_else(|| LISTEN_DEFAULT.to_owned());
        let listen = listen.parse().map_or(listen, |listen: SocketAddr| dialled(listen).to_string());
        let named = [environment("PLACET_URL"), Some(format!("http://{listen}"))].into_iter().flatten();
        named.filter_map(|url| Url::parse(&url).ok()).filter(|url| matches!(url.scheme(), "http" | "https")).collect()
    }

    pub(super) fn file(&self) -> anyhow::Result<FileConfig> {
        Ok(self.config.as_deref().map(read_file).transpose()?.unwrap_or_default())
    }

    /// The URL that was given, or else the one in the environment's file or the settings' file, or else the default.
    pub(super) fn parse(&self, file: &FileConfig, connections: u32) -> anyhow::Result<Database> {
        let kept = secret_from_environment(DATABASE_URL)?;
        let given = self.url.url.as_deref().or(kept.as_ref().map(ExposeSecret::expose_secret));
        let url = given.or(file.database_url.as_deref()).unwrap_or(DATABASE_URL_DEFAULT);
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let address = Address::parse(url)?;
            if self.url.is_typed && address.has_password() {
                bail!(PASSWORD_SEEN);
            }
            return Ok(Database::Postgres { address: Box::new(address), connections });
        }
        let path = url
            .strip_prefix("sqlite://")
            .context("the database URL must begin with sqlite:// or postgres:// (it is not shown: it may hold a password)")?;
        if path.is_empty() {
            bail!("the database URL names no file; write sqlite://placet-data/placet.db, or sqlite:///absolute/path.db");
        }
        Ok(Database::Sqlite(PathBuf::from(path)))
    }
}

/// The address at which this machine reaches a server that listens on `listen`: "every address" becomes a loopback address.
pub fn dialled(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V4(_) | IpAddr::V6(_) => listen.ip(),
    };
    SocketAddr::new(ip, listen.port())
}
