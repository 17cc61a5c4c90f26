//! Time is an argument: the trait through which the edge asks for it.

use chrono::{DateTime, Utc};

/// The one source of the present time.
pub trait Clock: Send + Sync {
    /// The present, in whole microseconds (what every surface shows and every hash covers).
    fn now(&self) -> DateTime<Utc>;
}
