//! The system's time and randomness. No other module asks the system for either.

use std::cell::RefCell;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock;
use domain::base::ids::Entropy;
use domain::base::time::to_micros;

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
///
/// Ids and salts are drawn a few hundred bytes at a time by each thread: every event needs an id and a salt, and a system call
/// for each of them was a twentieth of the writer's cost. Ids and salts may wait in memory, because they are shown anyway. A
/// secret is drawn when it is needed: if it waited in memory, a copy of the running machine would give out the same secret.
#[derive(Clone, Copy, Debug)]
pub struct SystemEntropy;

/// The bytes a thread has drawn, and how many of them it has used.
struct Drawn {
    bytes: [u8; 512],
    used: usize,
}

thread_local! {
    static DRAWN: RefCell<Drawn> = const { RefCell::new(Drawn { bytes: [0; 512], used: 512 }) };
}

impl Drawn {
    fn take(&mut self, buffer: &mut [u8]) {
        for part in buffer.chunks_mut(self.bytes.len()) {
            if self.bytes.len() - self.used < part.len() {
                SystemEntropy.fill(&mut self.bytes);
                self.used = 0;
            }
            part.copy_from_slice(&self.bytes[self.used..self.used + part.len()]);
            self.used += part.len();
        }
    }
}

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        // Unwrap safety: a system without randomness must not mint tokens, and the server cannot work without them.
        getrandom::fill(buffer).expect("the system has no randomness to give");
    }

    fn fill_shown(&self, buffer: &mut [u8]) {
        DRAWN.with_borrow_mut(|drawn| drawn.take(buffer));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// No eight random bytes come twice, whatever length is drawn and whichever thread draws. Each thread cuts all its ids and
    /// salts from one buffer, so a mistake there could give out the same bytes twice.
    #[test]
    fn nothing_random_comes_twice() {
        let draw = || {
            let mut drawn = Vec::new();
            for length in [8, 10, 32, 32, 511, 512, 513, 1_300].repeat(50) {
                let mut buffer = vec![0; length];
                SystemEntropy.fill_shown(&mut buffer);
                drawn.extend(buffer.as_chunks::<8>().0.to_vec());
            }
            drawn
        };
        let threads = [std::thread::spawn(draw), std::thread::spawn(draw)];
        let drawn: Vec<[u8; 8]> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), drawn.len());
    }
}
