//! The system's time and randomness: the only place that asks for either.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::ids::Entropy;
use domain::time::to_micros;

/// The system's wall clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the edge where time comes in")]
    fn now(&self) -> DateTime<Utc> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let since = TimeDelta::from_std(since).unwrap_or(TimeDelta::MAX);
        to_micros(DateTime::UNIX_EPOCH.checked_add_signed(since).unwrap_or(DateTime::<Utc>::MAX_UTC))
    }

    fn agreed(&self, database: DateTime<Utc>) -> DateTime<Utc> {
        to_micros(database)
    }

    #[cfg(target_os = "linux")]
    fn since_boot(&self) -> Option<Duration> {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
    }
}

/// The system's random number generator.
#[derive(Clone, Copy, Debug)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        // Unwrap safety: a system without randomness must not mint tokens; there is nothing sensible to go on with.
        getrandom::fill(buffer).expect("the system has no randomness to give");
    }
}
