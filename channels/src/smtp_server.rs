use std::{fmt, net::IpAddr, time::Duration};

use domain::base::login::{LOGIN_RULE, is_plain};
use lettre::transport::smtp::{
    Error as SmtpError, SMTP_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT,
    authentication::{Credentials, DEFAULT_MECHANISMS},
    client::{AsyncSmtpConnection, TlsParameters},
    extension::ClientId,
};
use url::{Host, Url};

/// Why the settings of the mail channel cannot be used; none of the texts repeats the password.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The address of the mail server cannot be read.
    #[error("the mail server's address, PLACET_SMTP_URL, is not usable: {0}")]
    Url(&'static str),
    /// The login in the address of the mail server can be read in more than one way.
    #[error("the mail server's address, PLACET_SMTP_URL, is not usable: write smtps://user:password@mail.example.com; {rule}", rule = LOGIN_RULE)]
    Login,
    /// The mails, with their answer links, would cross a network unprotected.
    #[error(
        "mail to {host} would not be encrypted; use smtps:// or ?tls=required, or set PLACET_SMTP_INSECURE=true if the network in between is yours"
    )]
    Insecure {
        /// The mail server.
        host: String,
    },
    /// The sender is not one address.
    #[error("the sender, PLACET_MAIL_FROM, is not usable: {0}")]
    From(&'static str),
    /// The address for returned mails is not one address, or leaves no room for a token.
    #[error("the address for returned mails, PLACET_MAIL_BOUNCE_TO, is not usable: {0}")]
    BounceTo(&'static str),
    /// The certificates to verify the mail server with cannot be loaded.
    #[error("encryption to the mail server cannot be set up")]
    Tls(#[source] SmtpError),
}

/// The mail server that accepts our mails, and how to connect to it.
///
/// The address has lettre's form, `smtps://user:password@host:port/ehlo-name`. We read it ourselves because lettre's transport
/// waits for replies without a time limit, and puts a connection whose future was dropped back into its pool: the next mail would
/// then take a late reply to the previous mail for its own.
#[derive(Debug)]
pub(crate) struct SmtpServer {
    host: String,
    port: u16,
    security: Security,
    credentials: Option<Credentials>,
    hello_name: ClientId,
}

enum Security {
    Plain,
    /// Encrypts if the server offers it. An attacker on the way can remove the offer.
    Opportunistic(TlsParameters),
    StartTls(TlsParameters),
    Tls(TlsParameters),
}

impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Opportunistic(_) => "Opportunistic",
            Self::StartTls(_) => "StartTls",
            Self::Tls(_) => "Tls",
        })
    }
}

impl SmtpServer {
    pub(crate) fn parse(address: &str, allow_insecure: bool) -> Result<Self, SettingsError> {
        if !is_plain(address) {
            return Err(SettingsError::Login);
        }
        let url =
            Url::parse(address).map_err(|_| SettingsError::Url("it is not a URL like smtps://user:password@mail.example.com"))?;
        let host = host(&url)?;
        let security = security(&url, &host, allow_insecure)?;
        let port = url.port().unwrap_or(match security {
            Security::Plain => SMTP_PORT,
            Security::StartTls(_) | Security::Opportunistic(_) => SUBMISSION_PORT,
            Security::Tls(_) => SUBMISSIONS_PORT,
        });
        Ok(Self { port, security, credentials: credentials(&url)?, hello_name: hello_name(&url)?, host })
    }

    /// Opens a session that is ready to take a mail: connected, encrypted as configured, authenticated.
    pub(crate) async fn connect(&self, timeout: Duration) -> Result<AsyncSmtpConnection, ConnectError> {
        let wrapper = match &self.security {
            Security::Tls(tls) => Some(tls.clone()),
            Security::Plain | Security::Opportunistic(_) | Security::StartTls(_) => None,
        };
        let server = (self.host.as_str(), self.port);
        let connected = AsyncSmtpConnection::connect_tokio1(server, Some(timeout), &self.hello_name, wrapper, None).await;
        let mut connection = connected.map_err(ConnectError::at(Step::Greeting))?;
        match &self.security {
            Security::Opportunistic(_) if !connection.can_starttls() => {}
            Security::StartTls(tls) | Security::Opportunistic(tls) => {
                let encrypted = connection.starttls(tls.clone(), &self.hello_name).await;
                encrypted.map_err(ConnectError::at(Step::Encryption))?;
            }
            Security::Plain | Security::Tls(_) => {}
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await.map_err(ConnectError::at(Step::Login))?;
        }
        Ok(connection)
    }

    /// The host and the port, for people.
    pub(crate) fn address(&self) -> (&str, u16) {
        (&self.host, self.port)
    }
}

/// Why there is no session, and at which step it failed.
#[derive(Debug)]
pub(crate) struct ConnectError {
    pub(crate) step: Step,
    pub(crate) error: SmtpError,
}

impl ConnectError {
    fn at(step: Step) -> impl FnOnce(SmtpError) -> Self {
        move |error| Self { step, error }
    }
}

/// The steps in which a session is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The connection, its encryption if the address is `smtps://`, the greeting and EHLO.
    Greeting,
    /// STARTTLS.
    Encryption,
    /// AUTH.
    Login,
}

fn host(url: &Url) -> Result<String, SettingsError> {
    match url.host() {
        // The URL's brackets are removed, because name resolution does not understand them.
        Some(Host::Ipv6(ip)) => Ok(ip.to_string()),
        Some(Host::Ipv4(ip)) => Ok(ip.to_string()),
        Some(Host::Domain(name))
            if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')) =>
        {
            Ok(name.to_owned())
        }
        Some(Host::Domain(_)) => Err(SettingsError::Url("the host may have letters, digits, dots and hyphens only")),
        None => Err(SettingsError::Url("it names no host")),
    }
}

fn security(url: &Url, host: &str, allow_insecure: bool) -> Result<Security, SettingsError> {
    let mut tls = None;
    for (name, value) in url.query_pairs() {
        if name != "tls" || tls.is_some() {
            return Err(SettingsError::Url("the only parameter is tls, once"));
        }
        tls = Some(value);
    }
    let parameters = || TlsParameters::new(host.to_owned()).map_err(SettingsError::Tls);
    let insecure = || SettingsError::Insecure { host: host.to_owned() };
    match (url.scheme(), tls.as_deref()) {
        ("smtps", None | Some("required")) => Ok(Security::Tls(parameters()?)),
        ("smtp", Some("required")) => Ok(Security::StartTls(parameters()?)),
        ("smtp", Some("opportunistic")) if allow_insecure => Ok(Security::Opportunistic(parameters()?)),
        ("smtp", None) if allow_insecure || is_loopback(host) => Ok(Security::Plain),
        ("smtp", None | Some("opportunistic")) => Err(insecure()),
        ("smtp" | "smtps", Some(_)) => Err(SettingsError::Url("tls can only be \"required\"")),
        (_, _) => Err(SettingsError::Url("it must start with smtp:// or smtps://")),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn credentials(url: &Url) -> Result<Option<Credentials>, SettingsError> {
    let decoded = |part: &str| {
        percent_encoding::percent_decode_str(part)
            .decode_utf8()
            .map(String::from)
            .map_err(|_| SettingsError::Url("user name and password must be UTF-8"))
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        (_, None) => Err(SettingsError::Url("there is a user name but no password")),
        (user, Some(password)) => Ok(Some(Credentials::new(decoded(user)?, decoded(password)?))),
    }
}

fn hello_name(url: &Url) -> Result<ClientId, SettingsError> {
    match url.path().trim_matches('/') {
        "" => Ok(ClientId::default()),
        name if name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')) => {
            Ok(ClientId::Domain(name.to_owned()))
        }
        _ => Err(SettingsError::Url("the path must be a host name, with which this server greets the mail server")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(address: &str, allow_insecure: bool) -> String {
        match SmtpServer::parse(address, allow_insecure) {
            Ok(server) => {
                let security = format!("{:?}", server.security).to_lowercase();
                format!("{} {} {security}", server.host, server.port)
            }
            Err(SettingsError::Insecure { .. }) => "insecure".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// The mails contain answer links. Sending them unencrypted over a network must be the operator's decision.
    #[test]
    fn mail_is_plain_on_loopback_only_unless_the_operator_says_so() {
        let cases = [
            ("smtp://localhost:1025", false, "localhost 1025 plain"),
            ("smtp://LOCALHOST", false, "LOCALHOST 25 plain"),
            ("smtp://127.0.0.1", false, "127.0.0.1 25 plain"),
            ("smtp://[::1]:1025", false, "::1 1025 plain"),
            ("smtp://mail.example", false, "insecure"),
            ("smtp://localhost.mail.example", false, "insecure"),
            ("smtp://10.0.0.1", false, "insecure"),
            ("smtp://mail.example", true, "mail.example 25 plain"),
            ("smtp://mail.example?tls=opportunistic", false, "insecure"),
            ("smtp://localhost?tls=opportunistic", false, "insecure"),
            ("smtp://mail.example?tls=opportunistic", true, "mail.example 587 opportunistic"),
            ("smtp://mail.example?tls=required", false, "mail.example 587 starttls"),
            ("smtp://mail.example:2525?tls=required", true, "mail.example 2525 starttls"),
            ("smtps://mail.example", false, "mail.example 465 tls"),
            ("smtps://mail.example?tls=required", false, "mail.example 465 tls"),
        ];
        for (address, allow_insecure, expected) in cases {
            assert_eq!(outcome(address, allow_insecure), expected, "{address} {allow_insecure}");
        }
    }

    #[test]
    fn addresses_that_cannot_be_meant_are_refused() {
        for address in [
            "",
            "mail.example",
            "http://mail.example",
            "smtp://",
            "smtp:mail.example",
            "smtp://mail%0d%0a.example?tls=required",
            "smtp://mail.example?tls=none",
            "smtp://mail.example?tls=required&tls=none",
            "smtp://mail.example?starttls=1",
            "smtps://user@mail.example",
            "smtps://user:%ff@mail.example",
            "smtps://mail.example/a%0d%0ab",
        ] {
            let refused = SmtpServer::parse(address, true).unwrap_err();
            assert!(matches!(refused, SettingsError::Url(_)), "{address}: {refused}");
        }
    }

    /// A login that programs could read differently is refused. Otherwise two programs could take different parts of one address
    /// for the password, or send the password to different hosts.
    #[test]
    fn a_login_that_two_readers_read_differently_is_refused() {
        for login in ["me:hunter2@x", "me:hunter2/x", "hunter2/x", "me:hunter2:x", "me:hunter2 x", "me:hunter2%x"] {
            let refused = SmtpServer::parse(&format!("smtps://{login}@mail.example"), true).unwrap_err();
            assert!(matches!(refused, SettingsError::Login), "{login}: {refused}");
            assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn the_password_is_decoded_and_never_shown() {
        let server = SmtpServer::parse("smtps://placet%40mail:p%2Fw%20d@mail.example/me.example", false).unwrap();
        assert_eq!(server.credentials, Some(Credentials::new("placet@mail".to_owned(), "p/w d".to_owned())));
        assert_eq!(server.hello_name, ClientId::Domain("me.example".to_owned()));
        assert!(!format!("{server:?}").contains("p/w d"));
        let refused = SmtpServer::parse("smtp://user:hunter2@mail.example", false).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("hunter2"));
    }
}
