//! Why a unit of work gave no result.

use domain::problem::Rejection;
use futures_util::future::BoxFuture;
use thiserror::Error;

/// Why a unit of work gave no result.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The domain refused; state is unchanged, only the refusal's own events are committed.
    #[error("{0}")]
    Rejected(Rejection),
    /// The outcome is unknown, or the queue is full. Sending the same command again is safe where it can be recognised.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// Time would decide, and may not at present; nothing was written. Sending the same command again is safe.
    #[error("deadlines wait: {0}")]
    Held(&'static str),
    /// The database or a row in it is not what it must be.
    #[error("the store failed")]
    Failed(#[source] anyhow::Error),
}

impl From<Rejection> for StoreError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

/// What a caller wants, or what is wrong with its request. The unit authorizes the caller first: only one that may do it is told what is wrong.
pub type Wanted<T> = Result<T, Rejection>;

/// The result of one unit of work.
pub type Unit<'a, T> = BoxFuture<'a, Result<T, StoreError>>;
