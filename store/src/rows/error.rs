//! Why a row could not be read or written.

use domain::problem::Rejection;
use thiserror::Error;

use crate::damage::Damaged;

/// Why a row could not be read or written. The transaction cannot go on, unless [`is_unreadable`](Self::is_unreadable).
#[derive(Debug, Error)]
pub(crate) enum RowsError {
    #[error("a database statement failed")]
    Database(#[from] diesel::result::Error),
    /// A row is not what the schema promises.
    #[error("inconsistent row: {0}")]
    Inconsistent(&'static str),
    #[error("a row holds JSON that cannot be read")]
    Json(#[from] serde_json::Error),
    /// A stored record has changed since it was written.
    #[error("{0}")]
    Damaged(Box<Damaged>),
    /// The unit of work would have to decide something by the clock, and that is not allowed now; the text says why.
    #[error("deadlines wait: {0}")]
    Held(&'static str),
    /// The domain refuses the unit after it has written, so nothing of it may stay.
    #[error("{0}")]
    Refused(Box<Rejection>),
}

impl RowsError {
    /// Whether only this row is missing or damaged, so that other rows can still be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        match self {
            Self::Inconsistent(_) | Self::Json(_) | Self::Damaged(_) => true,
            Self::Database(diesel::result::Error::DatabaseError(_, said)) => Damaged::said(said.message()).is_some(),
            Self::Database(error) => {
                matches!(error, diesel::result::Error::NotFound | diesel::result::Error::DeserializationError(_))
            }
            Self::Held(_) | Self::Refused(_) => false,
        }
    }
}

pub(crate) type RowsResult<T> = Result<T, RowsError>;

/// The result of a unit that the domain may refuse. A refusal is no error: it may have recorded something that must be committed.
pub(crate) type Decided<T> = RowsResult<Result<T, Rejection>>;
