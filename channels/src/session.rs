//! Checks whether the mail server would accept a mail, with a whole session in which no mail is sent.

use std::{error::Error as _, io, time::Duration};

use lettre::transport::smtp::{Error as SmtpError, commands::Noop};

use crate::{
    EmailChannel, reported,
    smtp_server::{ConnectError, Step},
};

/// Why there is no session with the mail server; each cause needs a different remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The host's name does not resolve.
    #[error("the name {host} does not resolve")]
    Name {
        /// The host as configured.
        host: String,
    },
    /// No program listens on that port.
    #[error("nothing listens on {host}, port {port}: the connection was refused")]
    Refused {
        /// The host as configured.
        host: String,
        /// The port as configured, or the usual one.
        port: u16,
    },
    /// The mail server did not answer.
    #[error("the mail server did not answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// The connection cannot be encrypted: a certificate does not verify, or there is none.
    #[error("the connection cannot be encrypted: {0}")]
    Encryption(String),
    /// The login was refused.
    #[error("the mail server refused the login: {0}")]
    Login(String),
    /// The server answered, but not as a mail server that accepts mails.
    #[error("the mail server does not take mails: {0}")]
    Unfit(String),
    /// The connection broke.
    #[error("the connection to the mail server broke: {0}")]
    Broken(String),
}

impl EmailChannel {
    /// Opens a session as a delivery does, sends only a NOOP in it, and closes it; no mail is sent.
    pub async fn check(&self, timeout: Duration) -> Result<(), SessionError> {
        tokio::time::timeout(timeout, self.try_session(timeout)).await.unwrap_or(Err(SessionError::Timeout(timeout)))
    }

    /// The mail server's host and port, for people.
    pub fn server_address(&self) -> (&str, u16) {
        self.server.address()
    }

    async fn try_session(&self, timeout: Duration) -> Result<(), SessionError> {
        let (host, port) = self.server.address();
        // Connecting to an unknown name would fail as well, but without saying why.
        let found = tokio::net::lookup_host((host, port)).await.map(|mut addresses| addresses.next());
        if !matches!(found, Ok(Some(_))) {
            return Err(SessionError::Name { host: host.to_owned() });
        }
        let mut session = self.server.connect(timeout).await.map_err(|failed| self.explain(&failed, timeout))?;
        let answered = session.command(Noop).await;
        crate::email::say_goodbye(session).await;
        answered.map(drop).map_err(|error| SessionError::Unfit(reported(&error.to_string())))
    }

    fn explain(&self, failed: &ConnectError, timeout: Duration) -> SessionError {
        let ConnectError { step, error } = failed;
        let why = reported(&error.to_string());
        let (host, port) = self.server.address();
        let io = io_error(error);
        if error.is_timeout() {
            SessionError::Timeout(timeout)
        } else if io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            SessionError::Refused { host: host.to_owned(), port }
        } else if let Some(why) = io.and_then(io::Error::get_ref).and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            SessionError::Encryption(reported(&why.to_string()))
        } else {
            match step {
                _ if io.is_some() => SessionError::Broken(why),
                Step::Greeting => SessionError::Unfit(why),
                Step::Encryption => SessionError::Encryption(why),
                Step::Login => SessionError::Login(why),
            }
        }
    }
}

fn io_error(error: &SmtpError) -> Option<&io::Error> {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            return Some(io);
        }
        source = cause.source();
    }
    None
}
