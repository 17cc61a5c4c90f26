//! The clock from which a server reads the time. The functions of this crate get the time as an argument.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// The one source of the present time.
pub trait Clock: Send + Sync {
    /// The present, in whole microseconds, the precision of every time that the server shows or hashes.
    fn now(&self) -> DateTime<Utc>;

    /// The present time for servers that share a database; `database` is the time of the database's clock. The system's clock
    /// returns `database`, so that all servers have one clock. Other clocks (a test's, a simulator's) keep their own time.
    fn agreed(&self, _database: DateTime<Utc>) -> DateTime<Utc> {
        self.now()
    }

    /// The time since the machine was started, including the time it slept. No one can set this clock. Absent where the system
    /// does not tell the time since the start; jumps of the wall clock go unnoticed there.
    fn since_boot(&self) -> Option<Duration> {
        None
    }

    /// The clock for measuring pauses: the time since boot or, where the system does not tell it, the wall clock.
    fn running(&self) -> Duration {
        self.since_boot().unwrap_or_else(|| (self.now() - DateTime::UNIX_EPOCH).to_std().unwrap_or_default())
    }
}
