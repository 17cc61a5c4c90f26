//! A clock that stands still until a test moves it.

use std::sync::Mutex;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock;

/// The time at which every test begins: a Tuesday morning.
const START: &str = "2026-11-24T08:00:00Z";

/// A clock that stands still until a test moves it.
pub struct FakeClock(Mutex<Hands>);

/// The time on the wall clock, and how long the machine has run.
struct Hands {
    wall: DateTime<Utc>,
    since_boot: Duration,
    /// How far the wall clock is set back once it has been read.
    set_back_by: TimeDelta,
}

impl Hands {
    fn at(wall: DateTime<Utc>) -> Self {
        Self { wall, since_boot: Duration::from_hours(1), set_back_by: TimeDelta::zero() }
    }
}

impl Default for FakeClock {
    fn default() -> Self {
        Self::at(START.parse().unwrap())
    }
}

impl FakeClock {
    /// A clock that stands at `wall`.
    pub fn at(wall: DateTime<Utc>) -> Self {
        Self(Mutex::new(Hands::at(wall)))
    }

    /// Lets time pass; only setting the clock can move it back.
    pub fn jump(&self, by: TimeDelta) {
        let mut hands = self.0.lock().unwrap();
        hands.wall += by;
        hands.since_boot += by.to_std().unwrap_or_default();
    }

    /// Sets the wall clock, forwards or backwards, while no time passes.
    pub fn set_by(&self, by: TimeDelta) {
        self.0.lock().unwrap().wall += by;
    }

    /// Arranges that the next reading of the wall clock sets it back right afterwards.
    pub fn set_back_after_a_look(&self, by: TimeDelta) {
        self.0.lock().unwrap().set_back_by = by;
    }
}

impl Clock for FakeClock {
    fn now(&self) -> DateTime<Utc> {
        let mut hands = self.0.lock().unwrap();
        let wall = hands.wall;
        let set_back_by = std::mem::take(&mut hands.set_back_by);
        hands.wall -= set_back_by;
        wall
    }

    fn since_boot(&self) -> Option<Duration> {
        Some(self.0.lock().unwrap().since_boot)
    }
}
