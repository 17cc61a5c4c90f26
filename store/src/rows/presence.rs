//! The servers' sign of life, and whether other servers use the same database.

use chrono::{DateTime, Utc};

use super::error::RowsResult;

/// The one row that all servers of a database share: their sign of life, and how a restore and an absence are being dealt with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PresenceRow {
    /// The last sign of life.
    pub(crate) beat_at: DateTime<Utc>,
    /// Whether deadlines and messages wait, because the database may have been restored.
    pub(crate) restore: Restore,
    /// Answer links up to this row are void.
    pub(crate) tokens_void_to: i64,
    /// The absence that is being made good. If a restore interrupts this work, it goes on once the operator releases the
    /// database.
    pub(crate) recovery: Option<Recovery>,
}

/// The state of a server whose database may have been restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restore {
    /// The database was not restored, or the server has gone on since.
    Over,
    /// Deadlines and messages wait until the operator releases them.
    Held { since: DateTime<Utc> },
    /// The operator has released them, and the server has not gone on yet.
    Released,
}

impl Restore {
    /// Reads the state from the two columns that hold it.
    pub(crate) fn of(held_since: Option<DateTime<Utc>>, released: bool) -> Self {
        match held_since {
            Some(since) => Self::Held { since },
            None if released => Self::Released,
            None => Self::Over,
        }
    }

    /// The time since which deadlines and messages wait.
    pub(crate) fn held_since(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Held { since } => Some(since),
            Self::Over | Self::Released => None,
        }
    }
}

impl PresenceRow {
    /// The presence of a server that was last there at this time.
    pub(crate) fn at(now: DateTime<Utc>) -> Self {
        Self { beat_at: now, restore: Restore::Over, tokens_void_to: 0, recovery: None }
    }
}

/// An absence of the server for which open questions get time back, and how far that work has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    pub(crate) from: DateTime<Utc>,
    pub(crate) until: DateTime<Utc>,
    /// Whether the absence was recorded after a restore of the database. If so, each person who had a message about an open
    /// question gets a new one.
    pub(crate) restored: bool,
    /// The last suspension that was dealt with.
    pub(crate) done_to: i64,
    /// The newest suspension when the absence was recorded; later ones lost no time.
    pub(crate) up_to: i64,
}

/// Writes the presence, in one transaction.
pub(crate) trait WritePresence {
    fn save_presence(&mut self, presence: &PresenceRow) -> RowsResult<()>;
}

/// Reads the presence, inside a transaction that writes or outside.
pub(crate) trait ReadPresence {
    /// Reads the time from the database, if the database's clock decides (on PostgreSQL): a transaction that only reads has not
    /// read that time yet.
    fn look_at_the_clock(&mut self) -> RowsResult<()> {
        Ok(())
    }
    /// Whether no other server lives on the same database.
    fn is_alone(&mut self) -> RowsResult<bool>;
    /// Reads the row; `None` before the first start of a server.
    fn presence(&mut self) -> RowsResult<Option<PresenceRow>>;
}
