//! What becomes of a question that seems to hold a secret.

/// What becomes of a question that seems to hold a secret (see [`crate::secrets`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeemingSecret {
    /// It is asked, and the answer warns.
    Warn,
    /// The call is refused.
    Refuse,
}
