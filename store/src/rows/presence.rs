//! Whether the server is there, and what it knows of the others.

use chrono::{DateTime, Utc};

use super::error::RowsResult;

/// What the server knows of its own presence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PresenceRow {
    /// The last sign of life.
    pub(crate) beat_at: DateTime<Utc>,
    /// Whether it waits after a restore.
    pub(crate) restore: Restore,
    /// Answer links up to this row count no more.
    pub(crate) tokens_void_to: i64,
    /// The absence being made good for. One that a restore interrupted goes on once that is released.
    pub(crate) recovery: Option<Recovery>,
}

/// Where a server stands after its database was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restore {
    /// It was not restored, or has gone on since.
    Over,
    /// Deadlines and messages wait for the operator.
    Held { since: DateTime<Utc> },
    /// They were let go, and the server has not gone on yet.
    Released,
}

impl Restore {
    /// From the two columns it is kept in.
    pub(crate) fn of(held_since: Option<DateTime<Utc>>, released: bool) -> Self {
        match held_since {
            Some(since) => Self::Held { since },
            None if released => Self::Released,
            None => Self::Over,
        }
    }

    /// Since when deadlines and messages wait.
    pub(crate) fn held_since(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Held { since } => Some(since),
            Self::Over | Self::Released => None,
        }
    }
}

impl PresenceRow {
    /// That of a server which was last there at a time.
    pub(crate) fn at(now: DateTime<Utc>) -> Self {
        Self { beat_at: now, restore: Restore::Over, tokens_void_to: 0, recovery: None }
    }
}

/// An absence being made good for, and how far that went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    pub(crate) from: DateTime<Utc>,
    pub(crate) until: DateTime<Utc>,
    /// Whether the absence ends a restore: then everybody is asked afresh.
    pub(crate) restored: bool,
    /// The last suspension dealt with.
    pub(crate) done_to: i64,
    /// The newest suspension there was when the absence was recorded; later ones lost nothing.
    pub(crate) up_to: i64,
}

/// Writes them, in one transaction.
pub(crate) trait WritePresence {
    fn save_presence(&mut self, presence: &PresenceRow) -> RowsResult<()>;
}

/// Reads them, inside a transaction that writes or outside.
pub(crate) trait ReadPresence {
    /// Reads the time again where a database other servers share has the say: this transaction does not write, so nothing else did.
    fn look_at_the_clock(&mut self) -> RowsResult<()> {
        Ok(())
    }
    /// Whether no other server lives on the same database.
    fn is_alone(&mut self) -> RowsResult<bool>;
    /// What the server knows of its own presence; absent before its first start.
    fn presence(&mut self) -> RowsResult<Option<PresenceRow>>;
}
