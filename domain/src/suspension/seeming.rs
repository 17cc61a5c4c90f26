//! The operator's setting for questions that seem to hold a secret.

/// The treatment of a question that seems to hold a secret, which `asking::secrets` looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeemingSecret {
    /// The question is asked, and the reply has a warning.
    Warn,
    /// The call is refused.
    Refuse,
}
