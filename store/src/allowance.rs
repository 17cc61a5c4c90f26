//! How much agents may write, and how much of the disk is kept free for people.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many bytes one agent may write in a day, unless set otherwise.
pub const AGENT_BYTES_PER_DAY: u64 = 256 * 1024 * 1024;
/// How many bytes of the volume under a SQLite database are kept free for people, unless set otherwise.
pub const RESERVE_BYTES: u64 = 64 * 1024 * 1024;

/// Tells how many bytes are free; `None` where the system cannot tell.
type Free = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// The part of a disk that is kept free.
struct Reserve {
    bytes: u64,
    free: Free,
    /// Whether less than `bytes` was free at the last check. It is remembered so that only changes are logged.
    was_short: AtomicBool,
}

/// How much may be written. An allowance never refuses people's answers, nor anything that ends a question.
pub struct Allowance {
    pub(super) agent_bytes_per_day: u64,
    reserve: Option<Reserve>,
    /// Whether the write-ahead log is longer than its bound. While it is, agents are refused, so that the rest of the disk is
    /// left for people.
    log_is_long: Arc<AtomicBool>,
}

impl Allowance {
    /// An allowance without limits, for commands that write nothing for agents.
    pub fn unlimited() -> Self {
        Self { agent_bytes_per_day: u64::MAX, reserve: None, log_is_long: Arc::default() }
    }

    /// An allowance of `agent_bytes_per_day` for each agent. If the database is a `file`, `reserve_bytes` of its disk are kept
    /// free.
    pub fn new(agent_bytes_per_day: u64, file: Option<&Path>, reserve_bytes: u64) -> Self {
        let reserve = file.map(|file| {
            let file = file.to_owned();
            Reserve { bytes: reserve_bytes, free: Box::new(move || free_bytes(&file)), was_short: AtomicBool::new(false) }
        });
        Self { agent_bytes_per_day, reserve, log_is_long: Arc::default() }
    }

    /// The flag that a store sets while its write-ahead log is too long.
    pub(crate) fn log_is_long(&self) -> Arc<AtomicBool> {
        self.log_is_long.clone()
    }

    /// Whether so little of the disk is left that the rest is kept for people. Each write of an agent checks this anew (it takes
    /// about a microsecond), because within one second agents can write more than the whole reserve.
    pub(super) fn is_short_of_room(&self) -> bool {
        if self.log_is_long.load(Ordering::Relaxed) {
            return true;
        }
        let Some(reserve) = self.reserve.as_ref().filter(|reserve| reserve.bytes > 0) else { return false };
        // Where the system cannot tell how much is free, no write is refused.
        let free = (reserve.free)();
        let short = free.is_some_and(|free| free < reserve.bytes);
        let before = reserve.was_short.swap(short, Ordering::Relaxed);
        match (before, short) {
            (false, true) => tracing::error!(
                free_bytes = free,
                reserve_bytes = reserve.bytes,
                "the disk is nearly full, so the server keeps the remaining space for people's answers: it refuses writes of agents with 507 and sends no messages; make room on the disk"
            ),
            (true, false) => tracing::info!(free_bytes = free, "the disk has room for agents again"),
            (true, true) | (false, false) => {}
        }
        short
    }
}

#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_path: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn less_than_the_reserve_is_noticed_at_once() {
        let free = Arc::new(AtomicU64::new(100));
        let probe: Free = {
            let free = free.clone();
            Box::new(move || Some(free.load(Ordering::SeqCst)))
        };
        let reserve = Reserve { bytes: 100, free: probe, was_short: AtomicBool::new(false) };
        let allowance = Allowance { agent_bytes_per_day: 1, reserve: Some(reserve), log_is_long: Arc::default() };
        assert!(!allowance.is_short_of_room(), "exactly the reserve is left");
        free.store(99, Ordering::SeqCst);
        assert!(allowance.is_short_of_room());
        free.store(100, Ordering::SeqCst);
        assert!(!allowance.is_short_of_room());
        assert!(!Allowance::unlimited().is_short_of_room());
    }
}
