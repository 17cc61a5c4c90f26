//! Development or production.

/// Whether messages leave the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Messages leave.
    Production,
    /// Mails stay in memory and `/dev/…` exists, because the operator gave `--dev`.
    Development,
    /// The same without `--dev`, because no mail server is set and only this machine reaches the server. A production server that
    /// lost its settings starts in this mode, too.
    DevelopmentByDefault,
}

impl Mode {
    /// Whether mails stay in memory.
    pub fn is_development(self) -> bool {
        self != Self::Production
    }

    /// The mode, from three facts: whether `--dev` was given, whether there is a mail server, and whether only this machine
    /// reaches the server.
    pub(super) fn of(said: bool, has_mail_server: bool, at_home: bool) -> Self {
        match (said, has_mail_server, at_home) {
            (true, _, _) => Self::Development,
            (false, false, true) => Self::DevelopmentByDefault,
            (false, _, _) => Self::Production,
        }
    }
}
