//! The operator's word on questions that seem to hold a secret.

/// The treatment of a question that seems to hold a secret, which `asking::secrets` looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeemingSecret {
    /// It is asked, and the answer warns.
    Warn,
    /// The call is refused.
    Refuse,
}
