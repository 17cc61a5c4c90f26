//! Development or production.

/// Whether messages leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They do.
    Production,
    /// Mails stay in memory and `/dev/…` exists, because the operator said `--dev`.
    Development,
    /// The same, because no mail server is set and nobody but this machine reaches the server: what forgetting the settings looks like.
    DevelopmentByDefault,
}

impl Mode {
    /// Whether mails stay in memory.
    pub fn is_development(self) -> bool {
        self != Self::Production
    }

    /// The mode of a server that was told so or not, has a mail server or not, and is reached from this machine alone or not.
    pub(super) fn of(said: bool, has_mail_server: bool, at_home: bool) -> Self {
        match (said, has_mail_server, at_home) {
            (true, _, _) => Self::Development,
            (false, false, true) => Self::DevelopmentByDefault,
            (false, _, _) => Self::Production,
        }
    }
}
