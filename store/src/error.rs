//! Why a unit of work gave no result.

use domain::problem::Rejection;
use futures_util::future::BoxFuture;
use thiserror::Error;

use crate::damage::Damaged;

/// Why a unit of work gave no result.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The domain refused the command. The state is unchanged; only the events that record the refusal are committed.
    #[error("{0}")]
    Rejected(Rejection),
    /// It is unknown whether the command was carried out, or the store could not take it, for example because too many others
    /// wait. Sending the same command again is safe if it carries an `Idempotency-Key`, by which the store recognises the
    /// repetition.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The command depends on the time, and at present nothing may be decided by the clock, for example because the clock has
    /// just jumped. Nothing was written. Sending the same command again is safe.
    #[error("deadlines wait: {0}")]
    Held(&'static str),
    /// A stored record has changed since it was written, so nothing is decided from it, and it is not shown. Trying again does not
    /// help; other records are as they were.
    #[error("{0}")]
    Damaged(Damaged),
    /// The database or a row in it is not as it must be.
    #[error("the store failed")]
    Failed(#[source] anyhow::Error),
}

impl From<Rejection> for StoreError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

/// A caller's request, or the error in it. The unit authorizes the caller first: only a caller with the
/// permission learns of the error.
pub type Wanted<T> = Result<T, Rejection>;

/// The result of one unit of work.
pub type Unit<'a, T> = BoxFuture<'a, Result<T, StoreError>>;
