//! Why a second place does not have the newest checkpoint.

/// Why a place does not have the newest checkpoint.
#[derive(Debug)]
pub enum Failure {
    /// It may succeed later.
    Later(String),
    /// The place knows a larger or another tree: the log was rolled back or rewritten, and a person must find out why.
    Contradicts(String),
}

impl Failure {
    /// A failure that may pass.
    pub(super) fn later(error: &dyn std::error::Error) -> Self {
        Self::Later(error.to_string())
    }
}
