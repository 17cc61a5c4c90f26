//! A clock that stands still until a test moves it.

use std::sync::Mutex;

use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;

/// When every test begins: a Tuesday morning.
const START: &str = "2026-11-24T08:00:00Z";

/// A clock that stands still until a test moves it.
pub struct FakeClock(Mutex<DateTime<Utc>>);

impl Default for FakeClock {
    fn default() -> Self {
        Self(Mutex::new(START.parse().unwrap()))
    }
}

impl FakeClock {
    /// Moves it, forwards or backwards.
    pub fn jump(&self, by: TimeDelta) {
        *self.0.lock().unwrap() += by;
    }
}

impl Clock for FakeClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}
