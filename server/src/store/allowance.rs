//! How much agents may have written, and what of the disk is kept for people.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Database;

/// The bytes one agent may have written in a day, unless set otherwise.
pub const AGENT_BYTES_PER_DAY: u64 = 256 * 1024 * 1024;
/// The bytes of the volume under a SQLite database that are kept for people, unless set otherwise.
pub const RESERVE_BYTES: u64 = 64 * 1024 * 1024;
/// How long a look at the disk is believed.
const BELIEVED: Duration = Duration::from_secs(1);

/// Tells how many bytes are free; nothing where that cannot be told.
type Free = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// What is kept free of a disk.
struct Reserve {
    bytes: u64,
    free: Free,
    /// When the disk was last looked at, and whether less was free.
    seen: Mutex<Option<(Duration, bool)>>,
}

/// How much may be written. People's answers, and whatever ends a question, are never refused by it.
pub struct Allowance {
    pub(super) agent_bytes_per_day: u64,
    reserve: Option<Reserve>,
}

impl Allowance {
    /// No bound: for commands that write nothing for agents.
    pub fn unlimited() -> Self {
        Self { agent_bytes_per_day: u64::MAX, reserve: None }
    }

    /// So many bytes for each agent and day, and so many kept free of the disk `database` is on, if it is a file.
    pub fn new(agent_bytes_per_day: u64, database: &Database, reserve_bytes: u64) -> Self {
        let reserve = match database {
            Database::Sqlite(path) => {
                let path = path.clone();
                Some(Reserve { bytes: reserve_bytes, free: Box::new(move || free_bytes(&path)), seen: Mutex::default() })
            }
            Database::Postgres { .. } => None,
        };
        Self { agent_bytes_per_day, reserve }
    }

    /// Whether what is left of the disk is kept for people, at a time since boot. It is looked at once a second at most.
    pub(super) fn is_short_of_room(&self, now: Duration) -> bool {
        let Some(reserve) = self.reserve.as_ref().filter(|reserve| reserve.bytes > 0) else { return false };
        // A panic cannot leave it half changed, so a poisoned lock is as good as any.
        let mut seen = reserve.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, short)) = seen.filter(|(at, _)| now.checked_sub(*at).is_some_and(|age| age < BELIEVED)) {
            return short;
        }
        // Where nobody can tell how much is left, nothing is refused for it.
        let free = (reserve.free)();
        let short = free.is_some_and(|free| free < reserve.bytes);
        let before = seen.replace((now, short)).is_some_and(|(_, short)| short);
        match (before, short) {
            (false, true) => tracing::error!(
                free_bytes = free,
                reserve_bytes = reserve.bytes,
                "the disk has no more room than is kept for people: agents are refused (507), and nobody is asked; make room"
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn the_disk_is_looked_at_once_a_second_and_short_below_the_reserve() {
        let (free, looks) = (Arc::new(AtomicU64::new(100)), Arc::new(AtomicU64::new(0)));
        let probe: Free = {
            let (free, looks) = (free.clone(), looks.clone());
            Box::new(move || {
                looks.fetch_add(1, Ordering::SeqCst);
                Some(free.load(Ordering::SeqCst))
            })
        };
        let reserve = Reserve { bytes: 100, free: probe, seen: Mutex::default() };
        let allowance = Allowance { agent_bytes_per_day: 1, reserve: Some(reserve) };
        let short = |milliseconds| allowance.is_short_of_room(Duration::from_millis(milliseconds));
        assert!(!short(0), "exactly the reserve is left");
        free.store(99, Ordering::SeqCst);
        assert!(!short(999) && short(1_000) && short(1_999));
        free.store(100, Ordering::SeqCst);
        assert!(short(1_999) && !short(2_000));
        assert_eq!(looks.load(Ordering::SeqCst), 3);
        assert!(!Allowance::unlimited().is_short_of_room(Duration::ZERO));
    }
}
