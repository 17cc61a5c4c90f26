//! Time is an argument: the trait through which the edge asks for it.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// The one source of the present time.
pub trait Clock: Send + Sync {
    /// The present, in whole microseconds (what every surface shows and every hash covers).
    fn now(&self) -> DateTime<Utc>;

    /// The present, when a database that several servers share says that it is `database`: by that time all of them have one
    /// clock. A clock other than the system's (a test's, a simulator's) keeps its own time.
    fn agreed(&self, _database: DateTime<Utc>) -> DateTime<Utc> {
        self.now()
    }

    /// The time since the machine was started, asleep or awake: no one can set it. Absent where the system does not tell it;
    /// jumps of the wall clock go unnoticed there.
    fn since_boot(&self) -> Option<Duration> {
        None
    }

    /// The clock for measuring pauses: the time since boot or, where the system does not tell it, the wall clock.
    fn running(&self) -> Duration {
        self.since_boot().unwrap_or_else(|| (self.now() - DateTime::UNIX_EPOCH).to_std().unwrap_or_default())
    }
}
