//! Time is an argument: the trait through which the edge asks for it.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// The one source of the present time.
pub trait Clock: Send + Sync {
    /// The present, in whole microseconds (what every surface shows and every hash covers).
    fn now(&self) -> DateTime<Utc>;

    /// The present, where a database that several servers share says it is `database`: then they all have one clock. A clock that is
    /// not the system's (a test's, a simulator's) keeps its own time.
    fn agreed(&self, _database: DateTime<Utc>) -> DateTime<Utc> {
        self.now()
    }

    /// The time since the machine was started, asleep or awake: nobody can set it. Absent where a system does not tell; jumps of the
    /// wall clock go unnoticed there.
    fn since_boot(&self) -> Option<Duration> {
        None
    }
}
