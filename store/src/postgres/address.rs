//! The address of a PostgreSQL database, read from a URL that may hold a password.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use domain::base::login::{LOGIN_RULE, is_plain};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long one host may take to answer, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How many connect timeouts each host may take in all: a name may have several addresses, and a server may accept
/// a connection and stay silent.
const TIMES_PER_HOST: u32 = 4;
/// A connection counts as broken after this long without an answer.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// Parameters that may stand behind the `?`, besides `sslmode` and `sslrootcert`.
const PARAMETERS: [&str; 12] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "keepalives",
    "keepalives_idle",
    "load_balance_hosts",
    "options",
    "port",
    "target_session_attrs",
    "user",
];

/// Where a PostgreSQL database is, and how to connect to it. `Display` shows user, hosts, ports and database, never the password.
#[derive(Clone)]
pub struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Address {
    /// Reads `postgres://user:password@host:5432/database`. Commas separate several hosts, and parameters are those of libpq.
    ///
    /// A connection over a network is encrypted, and the server's certificate and name are checked, unless the URL has
    /// `sslmode=disable`. A connection on this machine is encrypted only if the URL has `sslmode` or `sslrootcert`.
    ///
    /// # Errors
    ///
    /// A URL that cannot be used. The error does not repeat the URL, because it may hold a password.
    pub fn parse(url: &str) -> anyhow::Result<Self> {
        if !is_plain(url) {
            return Err(malformed());
        }
        let (base, parameters) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut root, mut kept) = (None, None, Vec::new());
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => root = Some(decoded(value)?),
                Some((name, _)) if PARAMETERS.contains(&name) => kept.push(parameter),
                _ => bail!(
                    "the database URL has a parameter that is not known here; known are sslmode, sslrootcert, {}",
                    PARAMETERS.join(", ")
                ),
            }
        }
        let rest = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        let mut config: Config = rest.parse().map_err(|_| malformed())?;
        if config.get_hosts().is_empty() {
            bail!("the database URL names no host; write postgres://user:password@host:5432/database");
        }
        if config.get_user().is_none() || config.get_dbname().is_none() {
            bail!("the database URL must name a user and a database: postgres://user:password@host:5432/database");
        }
        let encrypted = match mode.as_deref() {
            None => root.is_some() || !config.get_hosts().iter().all(is_here),
            Some("disable") if root.is_some() => {
                bail!("the database URL names certificates (sslrootcert) that sslmode=disable never reads; drop one of the two")
            }
            Some("disable") => false,
            // Encryption does not protect a connection to a server whose certificate is not checked. So `require` and
            // `verify-ca`, which check less in libpq, check as much as `verify-full` here.
            Some("require" | "verify-ca" | "verify-full") => true,
            Some(_) => bail!("sslmode in the database URL must be disable or verify-full (require and verify-ca mean the same)"),
        };
        config.ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("placet");
        }
        config.tcp_user_timeout(SILENCE_MAX).keepalives_idle(SILENCE_MAX);
        let tls = MakeRustlsConnect::new(client_config(encrypted, root.as_deref())?);
        Ok(Self { config, tls })
    }

    /// Whether the URL held a password.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Whether the password and everything else cross a network unencrypted.
    pub fn is_exposed(&self) -> bool {
        self.config.get_ssl_mode() == SslMode::Disable && !self.config.get_hosts().iter().all(is_here)
    }

    /// How long it may take in all until a connection can be used: `TIMES_PER_HOST` connect timeouts for each host.
    pub(super) fn patience(&self) -> Duration {
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(u32::MAX);
        let once = self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        once.saturating_mul(hosts.saturating_mul(TIMES_PER_HOST))
    }

    pub(crate) fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    pub(super) fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_default()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@", self.user())?;
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}")?,
                #[cfg(unix)]
                Host::Unix(folder) => write!(f, "{comma}{}", folder.display())?,
            }
            let ports = self.config.get_ports();
            if let Some(port) = ports.get(index).or(ports.first()) {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}", self.database())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

fn malformed() -> anyhow::Error {
    anyhow::anyhow!(
        "the database URL is no PostgreSQL URL (it is not shown: it may hold a password); write postgres://user:password@host:5432/database; \
         {LOGIN_RULE}"
    )
}

fn decoded(value: &str) -> anyhow::Result<String> {
    // The value is decoded like every query string: `%2F` is a slash, and `+` is a space.
    url::form_urlencoded::parse(format!("v={value}").as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .with_context(malformed)
}

/// Whether a host is this machine, so that what is sent to it crosses no network.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The TLS settings: the client trusts the certificates of `sslrootcert`, or those the system trusts.
fn client_config(encrypted: bool, root: Option<&str>) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if let (true, Some(file)) = (encrypted, root) {
        let unreadable = || format!("failed to read certificates from {file} (sslrootcert in the database URL)");
        for certificate in CertificateDer::pem_file_iter(Path::new(file)).with_context(unreadable)? {
            roots.add(certificate.with_context(unreadable)?).with_context(unreadable)?;
        }
        if roots.is_empty() {
            bail!("{file} holds no certificate (sslrootcert in the database URL)");
        }
    } else if encrypted {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            bail!(
                "the system trusts no certificates, so that of the database cannot be checked; install ca-certificates, or name a file with sslrootcert"
            );
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_who_where_and_how() {
        for (url, shown, mode) in [
            ("postgres://ann:pw@db.example:5433/placet", "postgres://ann@db.example:5433/placet", SslMode::Require),
            ("postgresql://ann@localhost/placet", "postgres://ann@localhost:5432/placet", SslMode::Disable),
            ("postgres://ann:pw@127.0.0.1:5/placet?sslmode=verify-full", "postgres://ann@127.0.0.1:5/placet", SslMode::Require),
            ("postgres://ann:pw@db.example/placet?sslmode=disable", "postgres://ann@db.example:5432/placet", SslMode::Disable),
            (
                "postgres://ann:pw@a.example:1,b.example:2/placet",
                "postgres://ann@a.example:1,b.example:2/placet",
                SslMode::Require,
            ),
            ("postgres://ann:pw@%2Frun%2Fpostgresql/placet", "postgres://ann@/run/postgresql:5432/placet", SslMode::Disable),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.to_string().as_str(), address.config.get_ssl_mode()), (shown, mode));
            assert!(!format!("{address:?}").contains("pw"));
        }
    }

    /// An address counts as exposed only if its traffic crosses a network unencrypted; the server warns of that.
    #[test]
    fn only_an_unencrypted_way_over_a_network_is_exposed() {
        for (url, exposed) in [
            ("postgres://ann:pw@db.example/placet", false),
            ("postgres://ann:pw@db.example/placet?sslmode=disable", true),
            ("postgres://ann:pw@localhost,db.example/placet?sslmode=disable", true),
            ("postgres://ann:pw@192.0.2.1/placet?sslmode=disable", true),
            ("postgres://ann:pw@localhost/placet?sslmode=disable", false),
            ("postgres://ann:pw@[::1]/placet", false),
            ("postgres://ann:pw@%2Frun%2Fpostgresql/placet?sslmode=disable", false),
        ] {
            assert_eq!(Address::parse(url).unwrap().is_exposed(), exposed, "{url}");
        }
    }

    /// A refusal does not repeat the password of the URL, because refusals end up in logs and tickets.
    #[test]
    fn a_refusal_names_what_is_wrong_but_no_password() {
        for (url, word) in [
            ("postgres://ann:hunter2@db.example:x/placet", "no PostgreSQL URL"),
            ("postgres://ann:hunter2@db.example", "a user and a database"),
            ("postgres://db.example/placet?password=hunter2", "a parameter that is not known"),
            ("postgres://ann:hunter2?x@db.example/placet", "%40"),
            ("postgres://ann:p@ss/hunter2:rd@db.example/placet", "@ is written %40, / is %2F, : is %3A"),
            ("postgres://ann:p@hunter2@db.example/placet", "%40"),
            ("postgres://ann:hunter2/x@db.example/placet", "%40"),
            ("postgres://ann:hunter2", "no PostgreSQL URL"),
            ("postgres://ann:hunter2@db.example/placet?sslmode=prefer", "sslmode"),
            ("postgres://ann:hunter2@db.example/placet?sslmode=disable&sslrootcert=/ca.pem", "drop one of the two"),
            ("postgres://ann:hunter2@localhost/placet?sslrootcert=/nowhere.pem", "/nowhere.pem"),
            ("postgres://ann:hunter2@db.example/placet?sslrootcert=/nowhere.pem", "/nowhere.pem"),
        ] {
            let refused = format!("{:#}", Address::parse(url).unwrap_err());
            assert!(refused.contains(word), "{word} is missing: {refused}");
            assert!(!refused.contains("hunter2") && !refused.contains('\n'), "{refused}");
        }
    }
}
